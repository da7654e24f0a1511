"""What is checked of counts before a charge, and draws among private labels."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, positive, set_counts
from winnow.core.key import Key
from winnow.core.noise import discrete_laplace_array
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.noisy_top.grid import check_grid
from winnow.core.noisy_top.in_memory import InMemory
from winnow.core.sealed import PublicFact, Sealed
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import DataError, ParameterError
from winnow.privacy import Guarantee, Promise, guarantee_of
from winnow.read.counts import SealedCounts
from winnow.read.kept import KeptCounts
from winnow.read.people import People, PersonBound
from winnow.read.scores import Scores, SealedScores
from winnow.select.crossing.selection import Pick, check_delta, opened
from winnow.select.lists import CountedItems

EVERY = 1 << 62
"""The k of a list of all labels that pass: nobody has so many."""


def check_on_grid(scores: SealedScores) -> None:
    """Refuse scores that do not fit the public grid, before anything is charged."""

    def check(values: Scores | KeptCounts) -> None:
        if not isinstance(values, KeptCounts):  # those are whole numbers of people
            check_grid(values, scores.utility)

    scores.values.publish(PublicFact.REFUSED_DATA, check)


def check_whole(scores: SealedScores) -> None:
    """Refuse scores that do not add up to a 64-bit integer with noise."""

    def check(values: Scores | KeptCounts) -> None:
        if isinstance(values, KeptCounts):
            return
        if values.dtype != np.int64:
            raise DataError("noisy counts are for whole numbers, and these scores are real")
        if max(int(values.max()), -int(values.min())) > 2**62:
            raise DataError("counts reach beyond 2^62; give them in larger units")

    scores.values.publish(PublicFact.REFUSED_DATA, check)


def check_noise(scale: Fraction) -> None:
    """Refuse noise that does not fit 64 bits."""
    if not SMALLEST_SCALE < scale < 2**50:
        raise ParameterError("epsilon is too small or too large for noisy counts of 64 bits")


def people_now(people: Sealed[People]) -> Sealed[dict[int, int]]:
    """How many people have 1, 2, ... rows or items, read from their source and sealed again."""
    return people.map(lambda source: source.numbers(), "numbers of people")


def noisy_cut(
    numbers: Sealed[dict[int, int]],
    bound: PersonBound,
    people_scale: Fraction,
    left_out_scale: Fraction,
    key: Key,
) -> tuple[int, int, int]:
    """People kept whole, people cut, and what was left out, with noise.

    Whatever is in the source, a person counts once, and for at most ``looked_at``.
    """
    content, tape = key.open(numbers), key.tape
    cut = {have: people for have, people in content.items() if have > bound.most}
    left_out = sum(
        (min(have, bound.looked_at) - bound.most) * people for have, people in cut.items()
    )
    counted = np.array([sum(content.values()) - sum(cut.values()), sum(cut.values())], np.int64)
    noisy = counted + discrete_laplace_array(tape.child("people"), 2, people_scale)
    further = discrete_laplace_array(tape.child("left out"), 1, left_out_scale)
    return int(noisy[0]), int(noisy[1]), left_out + int(further[0])


def noisy_people(
    numbers: Sealed[dict[int, int]], grid: tuple[int, ...], scale: Fraction, key: Key
) -> list[int]:
    """How many people have up to each bound and more than the one before, or more than all.

    Whatever is in the source, a person counts once.
    """
    content, tape = key.open(numbers), key.tape
    counted = np.zeros(len(grid) + 1, np.int64)
    for have, people in content.items():
        counted[bisect_left(grid, have)] += people
    noise = discrete_laplace_array(tape.child("numbers"), len(counted), scale)
    return [int(number) for number in counted + noise]


@dataclass(frozen=True)
class UnknownDomain(Pick):
    """What the two procedures share; counts are sealed together with their labels."""

    epsilon: Real
    delta: Real
    k: int
    max_items: int | None = None
    with_counts: bool = False

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        check_delta(self.delta)
        set_counts(self, k="k")
        if self.max_items is not None:
            set_counts(self, max_items="max_items")

    def check(self, counts: SealedCounts) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.check_public(counts.utility, None)

    def ready(self, counts: SealedCounts) -> SealedCounts:
        """The counts with what the draw needs of their source, which is read before a charge."""
        return counts

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return guarantee_of(promised.event, self.delta)

    def drawn(self, counts: SealedCounts, key: Key) -> list[Any]:
        """At most k labels in order, with their noisy counts where these are released."""
        labels, noisy = self._labels(counts, key)
        return labels if noisy is None else CountedItems(zip(labels, noisy, strict=True))

    def _labels(self, counts: SealedCounts, key: Key) -> tuple[list[Any], list[int] | None]:
        content, utility, tape = key.open(counts.values), counts.utility, key.tape
        chosen, noisy = opened(content, lambda universe: self._draw(universe, utility, tape))
        if isinstance(content, KeptCounts):
            return chosen, noisy
        labels = counts.labels
        if isinstance(labels, Sealed):
            labels = key.open(labels)
        return [labels[position] for position in chosen], noisy

    def simulate(
        self, counts: NDArray[np.int64], utility: Utility, draws: int, seed: int
    ) -> list[list[int]]:
        """Draws on public or made-up counts, for audits: the released positions of each."""
        root, universe = Tape.seeded(seed), InMemory(counts)
        return [
            self._draw(universe, utility, root.child(f"draw-{r}")).members for r in range(draws)
        ]
