"""What is asked of a server: the requests of the library, and where in a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from winnow.core.options import Option
from winnow.release.request import PlannedRelease
from winnow.release.tables.request import PlannedTabulate
from winnow.select.request import PlannedTopK, WantedSelect

COLUMN = Option("The column of a table; events have their items.", "COLUMN")
ROWS = Option("A public number of rows, where theirs is private.", "N", least=1, most=10**9)


@dataclass(frozen=True, kw_only=True)
class SelectOf(WantedSelect):
    """The value of a column, or the item, that most people have; or the best k."""

    column: Annotated[str | None, COLUMN] = None


@dataclass(frozen=True, kw_only=True)
class TopKOf(PlannedTopK):
    """The k most common values of a column, or items."""

    column: Annotated[str | None, COLUMN] = None


@dataclass(frozen=True, kw_only=True)
class TabulateOf(PlannedTabulate):
    """Tables of counts, sums and means."""

    rows: Annotated[int | None, ROWS] = None


@dataclass(frozen=True, kw_only=True)
class ReleaseOf(PlannedRelease):
    """Answers to all queries of a workload, and a synthetic table."""

    rows: Annotated[int | None, ROWS] = None
