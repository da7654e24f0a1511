"""A few people with their labels, as the people of a log: for audits and replays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.spread import GRID, weight
from winnow.core.utility import Utility
from winnow.read.counts import SealedCounts
from winnow.read.weights import ItemWeights, WeighedItems, Weights

Owned = tuple[str, ...]
"""The labels of a person."""
Group = tuple[Owned, ...]


@dataclass(frozen=True)
class ListedPeople(Weights):
    """A few people and their labels, weighed as an engine would."""

    people: Group

    def summed(self, most: int, within: Sequence[str] | None = None) -> ItemWeights:
        """Those of a person that stay are the first by their text."""
        totals: Counter[str] = Counter()
        for owned in self.people:
            left = sorted(set(owned))[:most]
            if within is not None:
                left = [each for each in left if each in within]
            if left:
                totals.update(dict.fromkeys(left, self.each(len(left))))
        items = sorted(totals)
        return ItemWeights(items, np.array([totals[item] for item in items], np.int64))

    def each(self, labels: int) -> int:
        """What someone with so many labels adds to each."""
        return weight(labels)


class BrokenWholeWeight(ListedPeople):
    """BROKEN: everybody adds the whole weight to every label."""

    def each(self, labels: int) -> int:
        """That of one label."""
        return GRID


class BrokenChosenAnew(ListedPeople):
    """BROKEN: of what stays for a second round people choose their labels anew."""

    def summed(self, most: int, within: Sequence[str] | None = None) -> ItemWeights:
        """Those that do not stay make room for others."""
        if within is None:
            return super().summed(most)
        left = tuple(tuple(each for each in owned if each in within) for owned in self.people)
        return ListedPeople(left).summed(most)


def counts_of(
    people: Group, relation: Relation, kind: type[ListedPeople] = ListedPeople
) -> SealedCounts:
    """Counts of private labels, with the people behind them."""
    counts = Counter(label for owned in people for label in owned)
    labels = sorted(counts)
    values = np.array([counts[label] for label in labels], np.int64)
    weighed = WeighedItems(Sealed(kind(people), "people"))
    utility = Utility.declare(1, monotone=True, relation=relation)
    return SealedCounts(
        Sealed(values, "counts"), Sealed(labels, "labels"), utility, None, weighed=weighed
    )
