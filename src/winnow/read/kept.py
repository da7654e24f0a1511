"""Counts that stay in the engine: a draw asks how many items have each count, and a few names.

Nothing else travels. The counts are private like those in memory, and are sealed like them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from winnow.core.borders import Border
from winnow.core.noisy_top.count_classes import CountClasses, Place
from winnow.core.noisy_top.universe import Drawn
from winnow.errors import DataError, ParameterError
from winnow.read.engine import refusing
from winnow.read.scores import Scores

if TYPE_CHECKING:  # they need sqlglot
    from winnow.core.baskets import Baskets
    from winnow.read.engine import Engine
    from winnow.read.engines.basket_query import BasketQuery

MOST_COLLECTED = Border(
    1_000_000,
    "items collected",
    decides="how many different items the data have",
    ways="counts in memory; counts that stay in their engine",
    same="law",
    because="noise is exact and independent for each item either way, and equal noisy counts are "
    "listed by lot: a draw from classes of equal counts with uniform members is that of all counts",
)
"""So many items at most are brought to this process where the user does not say."""
MOST_PAIRS = Border(
    5_000_000,
    "pairs brought",
    decides="how many pairs of a basket and an item an engine has",
    ways="baskets mined in memory; itemsets counted in their engine",
    same="law",
    because="every mechanism of itemsets sees only how many of them have each support, and takes "
    "uniform members of a support; which mechanisms there are follows from the kind of source",
)
"""So many pairs at most are brought from an engine where the user does not say."""


def changed() -> DataError:
    """What is said of a source that did not stand still."""
    return DataError(
        "the source changed between two questions about its counts; nothing is released and the "
        "charge stands. Ask again when nobody writes to it, or count with keep='memory'"
    )


class Snapshot(ABC):
    """The counts as they are during one release, or a part of it."""

    @abstractmethod
    def sizes(self) -> dict[int, int]:
        """How many items have each count."""

    @abstractmethod
    def members(self, places: Sequence[Place]) -> list[Any]:
        """The items at some places: their texts, or their positions in the public list.

        The place of an item among those of its count goes by the public list, or else by MD5
        and text: a fixed order, so that a uniform place is a uniform item.
        """

    @abstractmethod
    def counts_of(self, items: Sequence[Any]) -> list[int]:
        """The counts of some items, told as ``members`` tells them."""


class KeptCounts(ABC):
    """Counts of people per item that an engine holds."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """One state of the source for all questions of a release."""

    def drawn(self, draw: Callable[[CountClasses], Drawn]) -> tuple[list[Any], list[int] | None]:
        """What ``draw`` makes of the classes: its members, and its noisy counts if released."""
        with self.snapshot() as asked:
            drawn = draw(CountClasses(asked.sizes()))
            return asked.members(drawn.members), drawn.noisy


class KeptBaskets:
    """Baskets that an engine holds: asked in how many of them the itemsets of some sizes are."""

    def __init__(
        self,
        engine: Engine,
        query: BasketQuery,
        bring: Callable[[], tuple[Baskets, list[str]] | None] | None,
    ) -> None:
        """``bring`` gives the baskets themselves; None: the user wants them to stay."""
        self._engine, self._query, self._bring = engine, query, bring

    def brought(self) -> tuple[Baskets, list[str]]:
        """The baskets themselves, and their labels."""
        with refusing("the baskets cannot be read"):
            here = None if self._bring is None else self._bring()
        if here is None:
            raise ValueError("these baskets stay where they are")
        return here

    def itemsets(self, *sizes: int) -> KeptCounts:
        """The numbers of baskets of all itemsets of some sizes, each told by one text."""
        return self._engine.keep(replace(self._query, sizes=sizes), None, None)


class KeptRows(ABC):
    """The rows of a table that an engine holds: asked for whole tables of some of its columns."""

    @abstractmethod
    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[tuple[tuple[Any, ...], Any]]:
        """For each set of columns their codes in its cells, and the number of rows in each.

        All of them in one question, so in one state of the source.
        """


def held(content: Scores | KeptCounts) -> Scores:
    """Scores in memory, for what needs every one of them."""
    if isinstance(content, KeptCounts):
        raise ParameterError(
            "these counts stay in their engine, and this needs each of them; count with "
            "keep='memory'"
        )
    return content
