"""What is asked of ``winnow.moments``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from winnow.core.checks import Real, exact
from winnow.core.options import EPSILON, LEVEL, Option
from winnow.core.request import PlannedRequest, Run, VerbRequest
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.numbers.moments.measured import STATISTICS

if TYPE_CHECKING:
    from winnow.numbers.moments.plan import MomentsPlan
    from winnow.privacy import Budget


@dataclass(frozen=True, kw_only=True)
class AskedMoments(VerbRequest):
    """What moments and their plan are asked for alike."""

    no_rounds = "moments have none"

    values: Annotated[
        Sequence[str], Option("The columns of numbers, or one of them.", "A,B,...", served=20)
    ] = field(kw_only=False)
    statistics: Annotated[
        Sequence[str],
        Option(
            "Which numbers: count, sum, mean, variance, deviation; the first three by default.",
            "NAME,...",
            served=5,
        ),
    ] = field(default=(), kw_only=False)
    by: Annotated[
        Sequence[str],
        Option(
            "Compute them for each group of rows with equal values in these columns.",
            "A,B,...",
            served=20,
        ),
    ] = ()
    epsilon: Annotated[Real | None, EPSILON] = None
    delta: Annotated[
        Real, Option("E.g. 1e-6: less noise on several numbers.", "D", least=0, below=1)
    ] = 0.0
    bounds: Annotated[
        Literal["declared", "auto"],
        Option(
            "Where values are clipped: at the declared range, or (auto) at private bounds, for a "
            "third of epsilon=.",
            "WHERE",
        ),
    ] = "declared"
    level: Annotated[Real, LEVEL] = 0.95
    budget: Budget | None = None
    run: Run | None = None

    def __post_init__(self) -> None:
        for name in ("values", "statistics"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        if self.by is None:
            object.__setattr__(self, "by", ())
        super().__post_init__()
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "statistics", tuple(self.statistics) or STATISTICS[:3])
        if not self.values:
            raise ParameterError("values= is empty; name at least one")
        for each in self.statistics:
            if each not in STATISTICS:
                raise ParameterError(
                    f"the statistic {shown(each)} is unknown; choose among {', '.join(STATISTICS)}"
                )
        if self.bounds == "auto" and exact("delta", self.delta):
            raise ParameterError(
                'bounds="auto" is pure epsilon-DP and takes no delta; leave out delta='
            )

    @property
    def used(self) -> list[str]:
        """The columns of the table that it is about."""
        return list(dict.fromkeys([*self.by, *self.values]))


@dataclass(frozen=True, kw_only=True)
class Moments(AskedMoments):
    """Counts, sums, means and variances of columns of numbers."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> MomentsPlan:
        """What is charged, drawn and promised, from what is public of the table."""
        from winnow.numbers.moments.plan import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedMoments(PlannedRequest["MomentsPlan"], AskedMoments):
    """Moments that are to be planned, by their epsilon or by the error that is wanted."""

    of = Moments
    unknown = (
        "the error of a mean depends on the number of rows, which is not known; state it where the "
        "table is described (rows=), or give epsilon="
    )

    error: Annotated[
        Real | None,
        Option(
            "Instead of epsilon=: the largest standard error to reach, in the unit of the "
            "column; of means if they are asked for.",
            "E",
            above=0,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bounds == "auto" and self.error is not None:
            raise ParameterError(
                "the error within private bounds is not known beforehand; give epsilon="
            )
