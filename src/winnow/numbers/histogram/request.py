"""What is asked of ``winnow.histogram``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from winnow.core.checks import Real
from winnow.core.options import COLUMN, EPSILON, Option
from winnow.core.request import PlannedRequest, Run, VerbRequest
from winnow.errors import ParameterError
from winnow.foreign import shown

if TYPE_CHECKING:
    from winnow.numbers.histogram.plan import HistogramPlan
    from winnow.privacy import Budget

MOST_BINS = 10_000
"""A picture shows fewer, and a table of counts takes more."""


def checked_bins(bins: Any) -> int | Sequence[Any]:
    """How many bins, or their edges; an array of them as a list."""
    if hasattr(bins, "tolist"):
        bins = bins.tolist()
    if isinstance(bins, bool | str) or not isinstance(bins, int | Sequence):
        raise ParameterError(
            f"bins={shown(bins)} is neither a number of bins nor a list of edges; give 20, "
            "or [0, 10, 20]"
        )
    number = bins if isinstance(bins, int) else len(bins) - 1
    if not 1 <= number <= MOST_BINS:
        raise ParameterError(
            f"bins={shown(bins)} makes {number:,} bins; give 1 to {MOST_BINS:,} of them, or "
            "one edge more"
        )
    return bins


@dataclass(frozen=True, kw_only=True)
class AskedHistogram(VerbRequest):
    """What a histogram and its plan are asked for alike."""

    no_rounds = "a histogram has none"

    column: Annotated[str, COLUMN] = field(kw_only=False)
    bins: Annotated[
        int | Sequence[Real],
        Option("How many bins, or their public edges, such as 0,20000,50000.", "N|EDGES"),
    ] = 20
    split: Annotated[
        Literal["equal", "quantiles", "adaptive"],
        Option(
            "Where the bins lie: equal widths; private quantiles, so that about as many rows are "
            "in each; or adaptive, narrow where the density changes.",
            "NAME",
        ),
    ] = "equal"
    epsilon: Annotated[Real | None, EPSILON] = None
    budget: Budget | None = None
    run: Run | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_bins()

    def _check_bins(self) -> None:
        bins = checked_bins(self.bins)
        object.__setattr__(self, "bins", bins)
        if self.split != "equal" and (not isinstance(bins, int) or bins < 2):
            raise ParameterError(
                f'split="{self.split}" finds the edges itself; give bins= as a number of at least 2'
            )

    @property
    def used(self) -> list[str]:
        """The columns of the table that it is about."""
        return [self.column]


@dataclass(frozen=True, kw_only=True)
class Histogram(AskedHistogram):
    """Counts of the rows in the bins of a column of numbers."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> HistogramPlan:
        """What is charged, drawn and promised, from what is public of the table."""
        from winnow.numbers.histogram.plan import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedHistogram(PlannedRequest["HistogramPlan"], AskedHistogram):
    """A histogram that is to be planned, by its epsilon or by the error that is wanted."""

    of = Histogram

    error: Annotated[
        Real | None,
        Option(
            "Instead of epsilon=: the standard error of a count to reach, in rows.",
            "ROWS",
            above=0,
        ),
    ] = None
