"""What every engine can do: the one protocol behind `counts`, `read_table` and `read_baskets`.

A new engine is a subclass in `engines/`, listed in `engines.registry.ENGINES`: mypy refuses
there one that lacks a method. Whatever goes wrong inside an engine leaves through `refusing`, which
lets no message of another library out.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from winnow.errors import DataError, ForeignError
from winnow.foreign import instead, reason, shown
from winnow.read.options import PLAIN, TextFormat

if TYPE_CHECKING:  # they need sqlglot
    from winnow.core.noisy_top.keyed import Worker
    from winnow.read.engines.histogram import HistogramQuery
    from winnow.read.engines.query import CountQuery
    from winnow.read.engines.row_sources import RowSource
    from winnow.read.kept import KeptCounts


def own_name(what: str) -> str:
    """A name that nobody else has: a fixed one would be shared by threads, or be the user's."""
    return f"winnow_{what}_{os.urandom(8).hex()}"


Counts = dict[str, int]
Progress = Callable[[int, int], None]
"""Called with (parts done, parts in all)."""
Distinct = tuple[list[NDArray[Any]], NDArray[np.int64]]
"""The values of each column (masked where null), and how often each row stands there."""


@dataclass(frozen=True)
class Source:
    """What a user gave to be read."""

    given: Any
    memory: str
    used: Sequence[str]
    """The columns that will be read."""
    text: TextFormat = PLAIN

    @property
    def module(self) -> str:
        """The package that the source comes from."""
        return _package(self.given)

    @property
    def paths(self) -> list[str | Path] | None:
        """The paths and patterns, if it is made of them."""
        listed = self.given if isinstance(self.given, list) else [self.given]
        return listed if listed and all(isinstance(p, str | Path) for p in listed) else None

    @property
    def connected(self) -> tuple[Any, str] | None:
        """The connection and its table or query, if it is such a pair."""
        if not isinstance(self.given, tuple) or len(self.given) != 2:
            return None
        connection, what = self.given
        if not isinstance(what, str):
            raise DataError("give (connection, 'table name or SELECT') as the source")
        return connection, what

    def connected_by(self, package: str) -> tuple[Any, str] | None:
        """The engine, if the connection is one of this package."""
        pair = self.connected
        return pair if pair is not None and _package(pair[0]) == package else None


def _package(value: Any) -> str:
    return type(value).__module__.split(".")[0].lstrip("_")


class Engine(ABC):
    """One source, seen by what can run queries over it. Texts are compared by their bytes."""

    here: ClassVar[bool] = False
    """Whether what runs them is a database of this process."""
    takes_names: ClassVar[bool] = True
    """Whether it can be handed any number of private names, out of sight of its logs."""

    @classmethod
    @abstractmethod
    def of(cls, source: Source) -> Self | None:
        """The engine on this source; None where it is not for this engine to read."""

    @abstractmethod
    def count(
        self,
        query: CountQuery,
        parts: int | None,
        progress: Progress | None,
        most: int | None = None,
    ) -> Counts | None:
        """People per item, in parts where the engine does not split the work itself.

        None where there are more than ``most`` items.
        """

    @abstractmethod
    def keep(self, query: CountQuery, parts: int | None, progress: Progress | None) -> KeptCounts:
        """Counts that are left where they are."""

    @abstractmethod
    def distinct(self, query: HistogramQuery) -> tuple[Distinct, bool]:
        """The distinct rows, and whether their values were read as text."""

    @abstractmethod
    def check_scores(self, id: str, score: str) -> None:
        """Refuse columns that cannot be ids and scores."""

    @abstractmethod
    def contenders(self, worker: Worker, id: str, score: str) -> list[bytes]:
        """What a worker of a draw answers for each part of the source, encrypted."""

    @abstractmethod
    def rows(self, private: Any, used: Sequence[str]) -> AbstractContextManager[RowSource]:
        """The columns with their types, and rows streamed into a private DuckDB.

        ``used`` are the columns on whose types several files must agree.
        """


FILES = "check that the file is whole and that its first line names the columns"
FRAME = "check that its columns hold one type"
TABLE = "check that the table or query exists and runs by itself"
SPARK = "check that it can be read by itself"
ANY = (
    "check that a file is whole and that its first line names the columns, or that a table or "
    "query exists and runs by itself"
)


def refusing(what: str, check: str = ANY, memory: str | None = None) -> instead:
    """Around the work of an engine, which may quote rows when it fails.

    ``what`` is the sentence to say, such as 'the source cannot be read'.
    """

    def refusal(error: BaseException) -> ForeignError:
        if type(error).__name__ == "OutOfMemoryException":  # DuckDB's
            given = "the memory" if memory is None else f"memory={shown(memory)}"
            return ForeignError(f"{what}: {given} is not enough; allow more, or name less")
        return ForeignError(f"{what} ({reason(error)}); {check}")

    return instead(refusal)
