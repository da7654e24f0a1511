"""What is asked of ``winnow.bounds``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from winnow.core.checks import Real
from winnow.core.options import COLUMN, EPSILON, Option
from winnow.core.request import PlannedRequest, Run, VerbRequest

if TYPE_CHECKING:
    from winnow.numbers.bounds.plan import BoundsPlan
    from winnow.privacy import Budget


@dataclass(frozen=True, kw_only=True)
class AskedBounds(VerbRequest):
    """What bounds and their plan are asked for alike."""

    no_rounds = "bounds have none"

    column: Annotated[str, COLUMN] = field(kw_only=False)
    epsilon: Annotated[Real | None, EPSILON] = None
    budget: Budget | None = None
    run: Run | None = None

    def __post_init__(self) -> None:
        super().__post_init__()

    @property
    def used(self) -> list[str]:
        """The columns of the table that it is about."""
        return [self.column]


@dataclass(frozen=True, kw_only=True)
class Bounds(AskedBounds):
    """Private bounds of a column of numbers."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> BoundsPlan:
        """What is charged, drawn and promised, from what is public of the table."""
        from winnow.numbers.bounds.plan import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedBounds(PlannedRequest["BoundsPlan"], AskedBounds):
    """Bounds that are to be planned, by their epsilon or by the rows that may lie beyond."""

    of = Bounds

    error: Annotated[
        Real | None,
        Option("Instead of epsilon=: how many rows may lie beyond a bound.", "ROWS", above=0),
    ] = None
