"""What is asked of ``winnow.describe``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from winnow.core.checks import Real
from winnow.core.options import EPSILON, LEVEL, Option
from winnow.core.request import PlannedRequest, Run, VerbRequest
from winnow.numbers.request import Quantiles

if TYPE_CHECKING:
    from winnow.describe.plan import DescribePlan
    from winnow.privacy import Budget


@dataclass(frozen=True, kw_only=True)
class AskedDescription(VerbRequest):
    """What a description and its plan are asked for alike."""

    no_rounds = "a description has none"

    epsilon: Annotated[Real | None, EPSILON] = None
    quantiles: Annotated[
        Sequence[Real],
        Option(
            "Which quantiles of columns of numbers, from 0 to 1; an empty list leaves them out.",
            "Q,...",
        ),
    ] = (0.25, 0.5, 0.75)
    bins: Annotated[
        int,
        Option("How many bins the histogram of a column of numbers has.", "N", least=1, most=1000),
    ] = 20
    top: Annotated[
        int,
        Option(
            "How many of the most common values of a column are listed.", "N", least=1, most=1000
        ),
    ] = 10
    level: Annotated[Real, LEVEL] = 0.95
    budget: Budget | None = None
    run: Run | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.quantiles):
            Quantiles("x", self.quantiles, epsilon=1)  # refuses what are no quantiles


@dataclass(frozen=True, kw_only=True)
class Describe(AskedDescription):
    """Every column of a table, in one charge."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> DescribePlan:
        """What is charged, drawn and promised, from what is public of the table."""
        from winnow.describe.plan import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedDescription(PlannedRequest["DescribePlan"], AskedDescription):
    """A description that is to be planned, by its epsilon or by the error that is wanted."""

    of = Describe

    error: Annotated[
        Real | None,
        Option(
            "Instead of epsilon=: the largest standard error of a count to reach, in rows.",
            "ROWS",
            above=0,
        ),
    ] = None
