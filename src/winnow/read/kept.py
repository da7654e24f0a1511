"""Counts that stay in the engine: a draw asks how many items have each count, and a few names.

Nothing else travels. The counts are private like those in memory, and are sealed like them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from winnow.core.noisy_top.count_classes import CountClasses, Drawn, Place
from winnow.errors import DataError, ParameterError
from winnow.read.scores import Scores

KEEP = ("auto", "engine", "memory")
MOST_COLLECTED = 1_000_000
"""So many items at most are brought to this process where the user does not say."""


def changed() -> DataError:
    """What is said of a source that did not stand still."""
    return DataError(
        "the source changed between two questions about its counts; nothing is released and the "
        "charge stands. Ask again when nobody writes to it, or count with keep='memory'"
    )


class Snapshot(ABC):
    """The counts as they are during one release."""

    @abstractmethod
    def sizes(self) -> dict[int, int]:
        """How many items have each count."""

    @abstractmethod
    def members(self, places: Sequence[Place]) -> list[Any]:
        """The items at some places: their texts, or their positions in the public list.

        The place of an item among those of its count goes by the public list, or else by MD5
        and text: a fixed order, so that a uniform place is a uniform item.
        """


class KeptCounts(ABC):
    """Counts of people per item that an engine holds."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """One state of the source for all questions of a release."""

    def drawn(self, draw: Callable[[CountClasses], Drawn]) -> tuple[list[Any], list[int] | None]:
        """What ``draw`` makes of the classes: its members, and its noisy counts if released."""
        with self.snapshot() as asked:
            drawn = draw(CountClasses(asked.sizes()))
            return asked.members(drawn.places), drawn.noisy


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
