"""What is asked of ``winnow.tabulate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from winnow.core.checks import Real
from winnow.core.options import EPSILON, Option
from winnow.core.request import PlannedRequest, Run, VerbRequest

if TYPE_CHECKING:
    from winnow.privacy import Budget
    from winnow.release.tables.plan import TabulatePlan
    from winnow.select.auto_bound import AutoBoundPlan

WITH_CUT = Option(
    "A share of epsilon=, e.g. 0.05, for an estimate of what the bound on a person left out.",
    "SHARE",
    least=0,
    below=1,
)


@dataclass(frozen=True, kw_only=True)
class AskedTables(VerbRequest):
    """What tables and their plan are asked for alike."""

    no_rounds = "tables have none"

    by: Annotated[
        Any, Option("Which tables; counts of items are one by themselves.", where=("body",))
    ] = field(default=None, kw_only=False)
    epsilon: Annotated[Real | None, EPSILON] = None
    delta: Annotated[
        Real, Option("E.g. 1e-6: less noise on many tables.", "D", least=0, below=1)
    ] = 0.0
    values: Annotated[
        Sequence[str],
        Option(
            "Columns of numbers whose sums and means are released for every cell, too.",
            "A,B,...",
            served=20,
        ),
    ] = ()
    objective: Annotated[
        Literal["balanced", "mean", "max"],
        Option(
            "What to keep small: the mean error, the largest (max), or both (balanced).",
            "NAME",
            panel="Method",
        ),
    ] = "balanced"
    with_cut: Annotated[Real, WITH_CUT] = 0.0
    budget: Budget | None = None
    run: Run | None = None

    def __post_init__(self) -> None:
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class Tabulate(AskedTables):
    """Tables of counts, sums and means."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> TabulatePlan | AutoBoundPlan:
        """What is charged, drawn and promised, from what is public of the table or the counts."""
        from winnow.release.tables.plan import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedTabulate(PlannedRequest["TabulatePlan | AutoBoundPlan"], AskedTables):
    """Tables that are to be planned, by their epsilon or by the error that is wanted."""

    of = Tabulate

    # The command plans from a schema alone, where nobody's rows were bounded yet.
    with_cut: Annotated[Real, replace(WITH_CUT, where=("body",))] = 0.0
    error: Annotated[
        Real | None,
        Option("Instead of epsilon=: the largest error to reach, in rows.", "ROWS", above=0),
    ] = None
