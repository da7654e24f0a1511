"""Noisy counts from classes: noise for each candidate, a block of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.noisy_top.count_classes import CountClasses, Drawn, uniform_places
from winnow.core.tape import Tape

Integers = NDArray[np.int64]
Noise = Callable[[Tape, int], Integers]
"""So many independent integers of one law."""

AT_ONCE = Border(
    1 << 20,
    "noise drawn at once",
    decides="how many items of an engine have one count",
    ways="their noise from one tape; from a tape for each block of them",
    same="law",
    because="tapes are independent, and each item has noise of its own",
)
"""Counts whose noise is drawn at once, where they stay in an engine."""
LEAST = -(1 << 63)
"""Every noisy count is at or above it."""


def blocks_of(classes: CountClasses, tape: Tape) -> Iterator[tuple[int, int, Tape]]:
    """The count of a block, how many candidates are in it, and a tape of its own."""
    block, of_classes = int(AT_ONCE.at), tape.child("class")
    for place, (count, size) in enumerate(zip(classes.counts.tolist(), classes.sizes, strict=True)):
        of_class = of_classes.child(f"place-{place}")
        for first in range(0, size, block):
            yield count, min(block, size - first), of_class.child(f"from-{first}")


def largest_in_blocks(
    classes: CountClasses, tape: Tape, noise: Noise, k: int, least: int = LEAST, factor: int = 1
) -> Drawn:
    """The k largest of ``factor`` times a count plus noise, those at ``least`` or above.

    Ties of noisy counts are in random order, whatever the true counts are: all that reach the
    k-th largest are kept, and those that are equal are shuffled.
    """
    best: list[tuple[int, int]] = []
    for count, members, of_block in blocks_of(classes, tape):
        noisy = factor * count + noise(of_block, members)
        noisy = noisy[noisy >= least]
        if len(noisy) > k:
            noisy = noisy[noisy >= np.partition(noisy, len(noisy) - k)[len(noisy) - k]]
        best += [(each, count) for each in noisy.tolist()]
        if len(best) > k:  # the k-th largest noisy count so far
            least = sorted((each for each, _ in best), reverse=True)[k - 1]
            best = [each for each in best if each[0] >= least]
    stream, largest = tape.child("ties").stream(), []
    by_noisy = sorted(best, key=lambda each: -each[0])
    for _, equal in groupby(by_noisy, key=lambda each: each[0]):
        left = list(equal)
        while left:
            largest.append(left.pop(stream.below(len(left))))
    places = uniform_places(classes, [count for _, count in largest[:k]], tape)
    return Drawn(places, [each for each, _ in largest[:k]])
