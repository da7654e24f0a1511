"""What is asked of ``winnow.release``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from winnow.core.checks import Real
from winnow.core.options import AUTO, EPSILON, Methods, Option
from winnow.core.request import PlannedRequest, Run, VerbRequest
from winnow.release.methods import METHODS, ReleaseMethod

if TYPE_CHECKING:
    from winnow.privacy import Budget
    from winnow.read.about import AboutTable
    from winnow.read.crossing import SealedTable
    from winnow.release.plan import ReleasePlan


@dataclass(frozen=True, kw_only=True)
class AskedRelease(VerbRequest):
    """What a release and its plan are asked for alike."""

    workload: Annotated[Any, Option("What to be accurate about.", where=("body",))] = field(
        kw_only=False
    )
    epsilon: Annotated[Real | None, EPSILON] = None
    delta: Annotated[
        Real, Option("E.g. 1e-6: much less noise than without it.", "D", least=0, below=1)
    ] = 0.0
    method: Annotated[
        ReleaseMethod | str,
        Methods(
            "auto takes the method with the least predicted error, which is never above that of "
            "plain noise.",
            METHODS,
        ),
    ] = AUTO
    accountant: Annotated[
        Literal["best", "pure", "zcdp", "tight"],
        Option(
            "How the privacy loss of rounds is added up; a budget has its own way.",
            "NAME",
            panel="Method",
            where=("command",),
        ),
    ] = "best"
    budget: Budget | None = None
    run: Run | None = None


@dataclass(frozen=True, kw_only=True)
class Release(AskedRelease):
    """Answers to all queries of a workload, and a synthetic table."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: AboutTable | SealedTable) -> ReleasePlan:
        """What is charged, drawn and promised, from what is public of the table."""
        from winnow.release.plan import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedRelease(PlannedRequest["ReleasePlan"], AskedRelease):
    """A release that is to be planned, by its epsilon or by the error that is wanted."""

    of = Release

    error: Annotated[
        Real | None,
        Option("Instead of epsilon=: the largest error to reach, in rows.", "R", above=0),
    ] = None

    def _errors(self, about: AboutTable | SealedTable) -> Callable[[float], float | None]:
        from winnow.release.plan import errors_of

        return errors_of(self, about)
