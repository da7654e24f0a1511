"""Items by the weights of their people, asked for where the log lies when a release needs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winnow.core.sealed import Sealed
from winnow.read.engine import refusing
from winnow.read.kept import MOST_COLLECTED, KeptCounts

if TYPE_CHECKING:  # they need sqlglot
    from winnow.read.engine import Engine
    from winnow.read.engines.query import CountQuery


@dataclass(frozen=True)
class ItemWeights:
    """Items with the weights of their people, added up; private."""

    items: Sequence[str]
    """Sorted; empty where an engine keeps them."""
    values: NDArray[np.int64] | KeptCounts


_NOTHING = ItemWeights((), np.zeros(0, np.int64))


class Weights(ABC):
    """The people of a log and their items; private."""

    @abstractmethod
    def summed(self, most: int, within: Sequence[str] | None = None) -> ItemWeights:
        """Someone of whom d items stay, ``most`` at most, adds ``weight(d)`` to each of these.

        Those that stay are chosen among all that the person has; of these only the ones ``within``
        count then, and d is how many they are.
        """


class WeightsOfSource(Weights):
    """The people of a source that an engine reads."""

    def __init__(self, engine: Engine, counted: CountQuery, keep: str, parts: int | None) -> None:
        self._engine, self._counted = engine, counted
        self._keep, self._parts = keep, parts

    def summed(self, most: int, within: Sequence[str] | None = None) -> ItemWeights:
        """Asked of the engine now: of rows that changed since they were counted, the new ones."""
        from winnow.read.engines.weight_query import WeightQuery

        if within is not None and not within:
            return _NOTHING
        counted, listed = self._counted, None if within is None else tuple(sorted(within))
        query = WeightQuery(
            counted.item, counted.person, None, counted.salt, listed, group=counted.group,
            most=most,
        )  # fmt: skip
        with refusing("the items of the source cannot be weighed"):
            totals = None
            if self._keep != "engine":
                collected = int(MOST_COLLECTED.at) if self._keep == "auto" else None
                totals = self._engine.count(query, self._parts, None, collected)
            if totals is None:
                return ItemWeights((), self._engine.keep(query, self._parts, None))
        items = sorted(totals)
        return ItemWeights(items, np.array([totals[item] for item in items], np.int64))


class NoWeights(Weights):
    """Nobody: for plans and prices, which see no data."""

    def summed(self, most: int, within: Sequence[str] | None = None) -> ItemWeights:
        """Nothing."""
        return _NOTHING


@dataclass(frozen=True)
class WeighedItems:
    """The people of a log and their items, to be weighed by whoever paid."""

    people: Sealed[Weights] = field(repr=False)
    first: Sealed[ItemWeights] | None = field(default=None, repr=False)
    """The weights of all items, where they have been read."""
    names_travel: bool = True
    """Whether a release may take names of items from the source and back; public."""

    def read(self, most: int) -> WeighedItems:
        """With the weights of all items, read from the source now and sealed again."""
        first = self.people.map(lambda people: people.summed(most), "weighed items")
        return replace(self, first=first)

    def made_up(self) -> WeighedItems:
        """Nobody in the place of the people: for prices, which see no data."""
        return replace(self, people=Sealed(NoWeights(), "weights"), first=None)
