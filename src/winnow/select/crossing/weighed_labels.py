"""Draws among private labels by the weights of people, and by how many people have them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.key import Key
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.read.counts import SealedCounts
from winnow.read.kept import KeptCounts
from winnow.read.weights import ItemWeights
from winnow.select.crossing.private_labels import EVERY, UnknownDomain
from winnow.select.crossing.selection import opened

Integers = NDArray[np.int64]

MOST_COUNTS = 1 << 50
"""Counts beyond are cut, which moves none of them by more: sums stay below 2^62."""


class ByWeights(UnknownDomain):
    """What opens the people of a log, or counts, for a mechanism on weights."""

    spread: bool
    """Whether the log is at hand, so that a person's weight goes by how many labels they have."""
    rounds: int
    peel: Fraction

    @abstractmethod
    def among(self, universe: Universe, utility: Utility, tape: Tape, number: int, k: int) -> Drawn:
        """What passes in a round, at most k, in order."""

    @abstractmethod
    def peeled(self, people: Integers, utility: Utility, tape: Tape) -> list[int]:
        """The places of the k labels with the largest noisy numbers of people."""

    def check(self, counts: SealedCounts) -> None:
        """Refuse what cannot be released, before anything is charged."""
        super().check(counts)
        if self.spread and counts.weighed is None:
            raise ParameterError(
                "the plan spreads the weight of people over their labels, and ready counts do not "
                "say who has what; count the log itself with wn.counts(log, item=, person=)"
            )

    def ready(self, counts: SealedCounts) -> SealedCounts:
        """The counts with their weights, read now and sealed again."""
        if not self.spread or counts.weighed is None:
            return counts
        return replace(counts, weighed=counts.weighed.read(self.max_items or 1))

    def _labels(self, counts: SealedCounts, key: Key) -> tuple[list[Any], list[int] | None]:
        k = EVERY if self.peel else self.k
        labels = self._spread(counts, key, k) if self.spread else self._of(counts, key, k)
        if not self.peel:
            return labels[: self.k], None
        people = _people(labels, counts, key)
        order = self.peeled(people, counts.utility, key.tape.child("peel"))
        return [labels[place] for place in order], None

    def _spread(self, counts: SealedCounts, key: Key, k: int) -> list[Any]:
        """Labels by the weights that people spread over them."""
        assert counts.weighed is not None  # by ``check``
        most, tape = self.max_items or 1, key.tape.child("weights")
        people, labels = key.open(counts.weighed.people), list[Any]()
        for number in range(self.rounds):
            first = counts.weighed.first if number == 0 else None
            summed = people.summed(most, labels) if first is None else key.open(first)
            labels += self._passing(summed, counts.utility, tape.child(f"{number}"), number, k)
        return labels

    def _of(self, counts: SealedCounts, key: Key, k: int) -> list[Any]:
        """Labels of counts that are weighed as they are."""
        content, tape = key.open(counts.values), key.tape.child("weights").child("0")
        values = content if isinstance(content, KeptCounts) else np.asarray(content, np.int64)
        return self._passing(ItemWeights(_opened(counts, key), values), counts.utility, tape, 0, k)

    def _passing(
        self, summed: ItemWeights, utility: Utility, tape: Tape, number: int, k: int
    ) -> list[Any]:
        """The labels that pass the threshold of a round."""
        values = summed.values
        if not isinstance(values, KeptCounts):
            values = np.minimum(values, MOST_COUNTS)
        chosen, _ = opened(values, lambda all_of: self.among(all_of, utility, tape, number, k))
        if isinstance(values, KeptCounts):
            return chosen
        return [summed.items[place] for place in chosen]


def _opened(counts: SealedCounts, key: Key) -> Sequence[Any]:
    labels = counts.labels
    return key.open(labels) if isinstance(labels, Sealed) else labels


def _people(found: list[Any], counts: SealedCounts, key: Key) -> Integers:
    """How many people have each of the labels."""
    content = key.open(counts.values)
    if isinstance(content, KeptCounts):
        with content.snapshot() as asked:
            return np.array(asked.counts_of(found), np.int64)
    labels, wanted = _opened(counts, key), set(found)
    values = np.minimum(np.asarray(content, np.int64), MOST_COUNTS).tolist()
    pairs = zip(labels, values, strict=True)
    people = {label: number for label, number in pairs if label in wanted}
    return np.array([people.get(label, 0) for label in found], np.int64)
