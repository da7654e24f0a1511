"""What is asked of ``winnow.regress``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from winnow.core.checks import Real
from winnow.core.options import EPSILON, LEVEL, Option
from winnow.core.request import PlannedRequest, Run, VerbRequest

if TYPE_CHECKING:
    from winnow.numbers.regress.plan import RegressionPlan
    from winnow.privacy import Budget


@dataclass(frozen=True, kw_only=True)
class AskedRegression(VerbRequest):
    """What a regression and its plan are asked for alike."""

    no_rounds = "a regression has none"

    target: Annotated[str, Option("The column of numbers that is explained.", "COLUMN")] = field(
        kw_only=False
    )
    features: Annotated[
        Sequence[str],
        Option("By which columns; all others if none is named.", "A,B,...", served=20),
    ] = field(default=(), kw_only=False)
    epsilon: Annotated[Real | None, EPSILON] = None
    delta: Annotated[
        Real, Option("E.g. 1e-6: less noise on several features.", "D", least=0, below=1)
    ] = 0.0
    level: Annotated[Real, LEVEL] = 0.95
    budget: Budget | None = None
    run: Run | None = None

    def __post_init__(self) -> None:
        if isinstance(self.features, str):
            object.__setattr__(self, "features", (self.features,))
        super().__post_init__()
        object.__setattr__(self, "features", tuple(self.features))

    @property
    def used(self) -> list[str] | None:
        """The columns of the table that it is about: all, where no features are named."""
        return [*self.features, self.target] if self.features else None


@dataclass(frozen=True, kw_only=True)
class Regression(AskedRegression):
    """A column of numbers as a linear function of others."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> RegressionPlan:
        """What is charged, drawn and promised, from what is public of the table."""
        from winnow.numbers.regress.plan import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedRegression(PlannedRequest["RegressionPlan"], AskedRegression):
    """A regression that is to be planned, by its epsilon or by the error that is wanted."""

    of = Regression
    unknown = (
        "the error of a regression depends on the number of rows, which is not known; state it "
        "where the table is described (rows=), or give epsilon="
    )

    error: Annotated[
        Real | None,
        Option(
            "Instead of epsilon=: by how much noise may move a prediction, in the unit of the "
            "target.",
            "E",
            above=0,
        ),
    ] = None
