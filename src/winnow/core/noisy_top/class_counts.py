"""Noisy counts of classes: how many candidates have each count, and nothing of who they are.

Where the law of the largest noise of a class is known, candidates come in the order of their noisy
counts. Else noise is drawn for each candidate, a block of them at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.noisy_top.best_class import LargestNoise, Winner
from winnow.core.noisy_top.integer_noise import IntegerNoise
from winnow.core.noisy_top.ranked import CountListing
from winnow.core.noisy_top.support_classes import Block
from winnow.core.tape import Tape

Integers = NDArray[np.int64]
Trial = Callable[[Integers, Tape], NDArray[np.bool_]]
"""Which of some candidates pass, by their counts."""
Pair = tuple[int, int]
"""A noisy count, and the count."""

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


class Noisy(CountListing, Protocol):
    """Classes, in the order of the noise of their members too."""

    def noisy_members(
        self, noise: LargestNoise, scale: Fraction, tape: Tape
    ) -> Iterator[Winner[Block]]:
        """All candidates by decreasing ``scale`` count + noise, each by its class."""
        ...


def largest_by_class(
    universe: Noisy, noise: IntegerNoise, k: int, tape: Tape, least: int | None, factor: int
) -> list[Pair]:
    """The k largest of ``factor`` times a count plus noise, those at ``least`` or above.

    Ties of noisy counts are in random order, whatever the true counts are.
    """
    of_class = noise.of_class
    if of_class is None or factor != 1:
        return _in_blocks(universe, noise, k, tape, least, factor)
    pairs: list[Pair] = []
    for winner in universe.noisy_members(of_class, Fraction(1), tape.child("class")):
        noisy = winner.floor()
        if least is not None and noisy < least:
            break
        if least is None or winner.block[0] > 0:
            pairs.append((noisy, winner.block[0]))
        if len(pairs) == k:
            break
    return pairs


def _in_blocks(
    universe: CountListing, noise: IntegerNoise, k: int, tape: Tape, least: int | None, factor: int
) -> list[Pair]:
    """All that reach the k-th largest are kept, and those that are equal are shuffled."""
    best: list[Pair] = []
    lowest = LEAST if least is None else least
    for count, members, of_block in _blocks(universe, tape):
        if least is not None and count <= 0:
            continue
        noisy = factor * count + noise.array(of_block, members)
        noisy = noisy[noisy >= lowest]
        if len(noisy) > k:
            noisy = noisy[noisy >= np.partition(noisy, len(noisy) - k)[len(noisy) - k]]
        best += [(each, count) for each in noisy.tolist()]
        if len(best) > k:  # the k-th largest noisy count so far
            lowest = sorted((each for each, _ in best), reverse=True)[k - 1]
            best = [each for each in best if each[0] >= lowest]
    stream, largest = tape.child("ties").stream(), list[Pair]()
    by_noisy = sorted(best, key=lambda each: -each[0])
    for _, equal in groupby(by_noisy, key=lambda each: each[0]):
        left = list(equal)
        while left:
            largest.append(left.pop(stream.below(len(left))))
    return largest[:k]


def passing_by_class(universe: CountListing, trial: Trial, tape: Tape) -> Iterator[int]:
    """The count of each candidate for which a trial of its own succeeds."""
    for count, members, of_block in _blocks(universe, tape):
        passing = int(trial(np.full(members, count), of_block).sum())
        yield from [count] * passing


def _blocks(universe: CountListing, tape: Tape) -> Iterator[tuple[int, int, Tape]]:
    """The count of a block, how many candidates are in it, and a tape of its own."""
    if universe.total is None:
        raise ValueError("an endless universe has no noise for each candidate")
    block, of_classes = int(AT_ONCE.at), tape.child("class")
    universe.lower(1)
    counts, sizes = universe.classes()
    classes = [*zip(counts.tolist(), sizes, strict=True), (0, universe.total - sum(sizes))]
    for place, (count, size) in enumerate(classes):
        of_class = of_classes.child(f"place-{place}")
        for first in range(0, size, block):
            yield count, min(block, size - first), of_class.child(f"from-{first}")
