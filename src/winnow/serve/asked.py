"""What is asked of a server: the requests of the library, and where in a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from winnow.answers.request import PlannedRelease
from winnow.core.options import Option


@dataclass(frozen=True, kw_only=True)
class ReleaseOf(PlannedRelease):
    """Answers to all queries of a workload, and a synthetic table."""

    rows: Annotated[
        int | None,
        Option("A public number of rows, where theirs is private.", "N", least=1, most=10**9),
    ] = None
