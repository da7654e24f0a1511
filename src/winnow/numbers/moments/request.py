"""What is asked of ``winnow.moments``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from winnow.core.checks import Real, exact, probability
from winnow.core.options import EPSILON, Option
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
    level: Annotated[
        Real,
        Option(
            "The probability with which each interval holds; it costs nothing.",
            "P",
            above=0,
            below=1,
        ),
    ] = 0.95
    budget: Budget | None = None
    run: Run | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, default in (("values", ()), ("statistics", ("count", "sum", "mean"))):
            said = getattr(self, name)
            if isinstance(said, str):
                object.__setattr__(self, name, (said,))
            elif not isinstance(said, Sequence) or not all(isinstance(n, str) for n in said):
                raise ParameterError(f"{name}={shown(said)} is not a list of names; give one")
            else:
                object.__setattr__(self, name, tuple(said) or default)
            names = getattr(self, name)
            if not names:
                raise ParameterError(f"{name}= is empty; name at least one")
            if len(set(names)) < len(names):
                raise ParameterError(f"{name}={list(names)} names one twice; name each once")
        if self.by is None:
            object.__setattr__(self, "by", ())
        if isinstance(self.by, str) or not isinstance(self.by, Sequence):
            raise ParameterError(f"by={shown(self.by)} is not a list; give a list of columns")
        for each in self.statistics:
            if each not in STATISTICS:
                raise ParameterError(
                    f"the statistic {shown(each)} is unknown; choose among {', '.join(STATISTICS)}"
                )
        probability(level=self.level)
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
