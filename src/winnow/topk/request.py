"""What is asked of ``winnow.top_k``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any

from winnow.core.checks import Real
from winnow.core.options import AUTO, Checked, Methods, Option
from winnow.select.methods import PickMethod
from winnow.select.request import EPSILON
from winnow.topk.methods import OF_CLASSES_TOO, OF_LISTS, OF_PRIVATE_LABELS

if TYPE_CHECKING:
    from winnow.privacy import Budget
    from winnow.topk.plan.verb import TopKPlan


@dataclass(frozen=True, kw_only=True)
class AskedTopK(Checked):
    """What a top k and its plan are asked for alike."""

    k: Annotated[int, Option("How many items to release.", "K", least=1, served=10_000, flag="-k")]
    epsilon: Annotated[Real | None, EPSILON] = None
    delta: Annotated[
        Real,
        Option(
            "Needed where the items are found in the data, e.g. 1e-6; also for peel-gumbel, "
            "gaussian and oneshot-approximate.",
            "D",
            least=0,
            below=1,
        ),
    ] = 0.0
    method: Annotated[
        PickMethod | str,
        Methods(
            "auto goes by public numbers. laplace and gaussian need a bound on the items of a "
            "person; limited-domain and stability are for private labels.",
            (*OF_LISTS, *OF_PRIVATE_LABELS),
            also=OF_CLASSES_TOO,
        ),
    ] = AUTO
    ordered: Annotated[
        bool | None,
        Option(
            "A list in order is needed, or a set is enough.",
            flag="--ordered/--any-order",
            panel="Method",
        ),
    ] = None
    with_counts: Annotated[
        bool, Option("Release noisy counts of the winners, too, which may need half of epsilon=.")
    ] = False
    with_cut: Annotated[
        Real,
        Option(
            "A share of epsilon=, e.g. 0.05, for an estimate of what the bound on a person left "
            "out.",
            "SHARE",
            least=0,
            below=1,
        ),
    ] = 0.0
    budget: Budget | None = None

    def at(self, epsilon: Real) -> TopK:
        """The release at an epsilon."""
        said = {each.name: getattr(self, each.name) for each in fields(AskedTopK)}
        return TopK(**{**said, "epsilon": epsilon})


@dataclass(frozen=True, kw_only=True)
class TopK(AskedTopK):
    """The k most common items, or the k candidates with the highest scores."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> TopKPlan:
        """What is charged, drawn and promised, from what is public of the counts."""
        from winnow.topk.plan.verb import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedTopK(AskedTopK):
    """A top k that is to be planned, by its epsilon or by the error that is wanted."""

    error: Annotated[
        Real | None,
        Option("The error that is wanted in the place of epsilon=, in people.", "X", above=0),
    ] = None

    def plan(self, about: Any) -> TopKPlan:
        """The plan at epsilon=, or at the least epsilon that brings the error."""
        from winnow.topk.plan.verb import planned_for

        return planned_for(self, about)
