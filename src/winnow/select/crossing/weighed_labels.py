"""Draws among private labels by the weights of people, and by how many people have them."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from operator import neg
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.key import Key
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
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
        """What a round tells of, at most k, in order, with the noisy weights."""

    @abstractmethod
    def threshold(self, relation: Relation, number: int = 0) -> int:
        """The least noisy weight that is released in a round."""

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
        if self.rounds > 1 and counts.weighed is not None and not counts.weighed.names_travel:
            raise ParameterError(
                "the second of two rounds takes the names of labels from the source and back, and "
                "these stay where they are (keep='engine', or a warehouse); use rounds=1"
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
        people, first = key.open(counts.weighed.people), counts.weighed.first
        summed = people.summed(most) if first is None else key.open(first)
        if self.rounds == 1:
            return self._told(summed, counts.utility, tape.child("0"), 0, k)[0]
        told, noisy = self._told(summed, counts.utility, tape.child("0"), 0, EVERY)
        threshold = self.threshold(counts.utility.relation, 0)
        released = bisect_right(noisy, -threshold, key=neg)  # the largest come first
        summed = people.summed(most, told[released:])
        last, _ = self._told(summed, counts.utility, tape.child("1"), 1, k)
        return told[:released] + last

    def _of(self, counts: SealedCounts, key: Key, k: int) -> list[Any]:
        """Labels of counts that are weighed as they are."""
        content, tape = key.open(counts.values), key.tape.child("weights").child("0")
        values = content if isinstance(content, KeptCounts) else np.asarray(content, np.int64)
        return self._told(ItemWeights(_opened(counts, key), values), counts.utility, tape, 0, k)[0]

    def _told(
        self, summed: ItemWeights, utility: Utility, tape: Tape, number: int, k: int
    ) -> tuple[list[Any], list[int]]:
        """The labels that a round tells of, in order, and their noisy weights."""
        values = summed.values
        if not isinstance(values, KeptCounts):
            values = np.minimum(values, MOST_COUNTS)
        told, noisy = opened(values, lambda all_of: self.among(all_of, utility, tape, number, k))
        labels = told if isinstance(values, KeptCounts) else [summed.items[place] for place in told]
        return labels, noisy or []


def _opened(counts: SealedCounts, key: Key) -> Sequence[Any]:
    labels = counts.labels
    return key.open(labels) if isinstance(labels, Sealed) else labels


def _people(chosen: list[Any], counts: SealedCounts, key: Key) -> Integers:
    """How many people have each of the labels."""
    content = key.open(counts.values)
    if isinstance(content, KeptCounts):
        with content.snapshot() as asked:
            return np.array(asked.counts_of(chosen), np.int64)
    labels, wanted = _opened(counts, key), set(chosen)
    values = np.minimum(np.asarray(content, np.int64), MOST_COUNTS).tolist()
    pairs = zip(labels, values, strict=True)
    people = {label: number for label, number in pairs if label in wanted}
    return np.array([people.get(label, 0) for label in chosen], np.int64)
