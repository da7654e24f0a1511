"""What is asked of ``winnow.select``, ``winnow.top_k``, ``winnow.labels`` and ``winnow.above``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from winnow.core.checks import Real
from winnow.core.options import AUTO, EPSILON, Checked, Methods, Option
from winnow.core.request import PlannedRequest, VerbRequest
from winnow.select.label_methods import OF_LABELS, OF_PRIVATE_LABELS
from winnow.select.methods import OF_CLASSES, OF_SCORES, PickMethod
from winnow.select.top_k_methods import OF_CLASSES_TOO, OF_LISTS

if TYPE_CHECKING:
    from winnow.core.plan import Plan
    from winnow.privacy import Budget
    from winnow.read.scores import SealedScores
    from winnow.select.about import AboutScores
    from winnow.select.auto_bound import AutoBoundPlan
    from winnow.select.mechanisms.sparse_vector import AboveAnswer
    from winnow.select.plan.labels import LabelsPlan
    from winnow.select.plan.top_k.verb import TopKPlan
    from winnow.select.plan.verb import SelectPlan


@dataclass(frozen=True, kw_only=True)
class AskedSelect(VerbRequest):
    """What a selection and its plan are asked for alike."""

    epsilon: Annotated[Real | None, EPSILON] = None
    delta: Annotated[
        Real, Option("For large-margin, which needs it, e.g. 1e-6.", "D", least=0, below=1)
    ] = 0.0
    k: Annotated[
        int | None,
        Option("Select K candidates instead of one.", "K", least=1, served=10_000, flag="-k"),
    ] = None
    method: Annotated[
        PickMethod | str,
        Methods(
            "lipschitz needs noise=, and large-margin needs delta=.",
            OF_SCORES,
            auto=False,
            also=OF_CLASSES,
        ),
    ] = "permute-and-flip"
    with_leads: Annotated[
        bool,
        Option(
            "The list in order, and by how much each noisy score leads the next, at no cost.",
            panel="Method",
            where=("command",),
        ),
    ] = False
    budget: Budget | None = None


@dataclass(frozen=True, kw_only=True)
class Select(AskedSelect):
    """The candidate with the (nearly) highest score, or k of them."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> SelectPlan:
        """What is charged, drawn and promised, from what is public of the scores."""
        from winnow.select.plan.verb import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class WantedSelect(PlannedRequest["SelectPlan"], AskedSelect):
    """A selection by its epsilon, or by the error that is wanted."""

    of = Select

    error: Annotated[
        Real | None,
        Option("Instead of epsilon=: the error to reach, in units of a score.", "X"),
    ] = None

    def plan(self, about: Any) -> SelectPlan:
        """The plan at epsilon=, or at the least epsilon that brings the error."""
        from winnow.select.plan.verb import planned_for

        return planned_for(self, about, error=self.error)


@dataclass(frozen=True, kw_only=True)
class PlannedSelect(WantedSelect):
    """A selection that is to be planned, by its epsilon or by what it is to reach."""

    chance: Annotated[
        Real | None,
        Option(
            "Instead of epsilon=: the chance to reach, on the assumed gaps.",
            "P",
            above=0,
            below=1,
            where=("command",),
        ),
    ] = None
    confidence: Annotated[
        Real,
        Option(
            "The probability with which errors and bounds hold.",
            "P",
            above=0,
            below=1,
            where=("command",),
        ),
    ] = 0.95

    def plan(self, about: Any) -> SelectPlan:
        """The plan at epsilon=, or at the least epsilon that reaches what is wanted."""
        from winnow.select.plan.verb import planned_for

        return planned_for(
            self, about, error=self.error, chance=self.chance, confidence=self.confidence
        )


@dataclass(frozen=True, kw_only=True)
class AskedTopK(VerbRequest):
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
            "auto decides by public numbers. laplace and gaussian need a bound on the items of a "
            "person; limited-domain, stability, weighted-gaussian and truncated-laplace are for "
            "private labels.",
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


@dataclass(frozen=True, kw_only=True)
class TopK(AskedTopK):
    """The k most common items, or the k candidates with the highest scores."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> TopKPlan | AutoBoundPlan:
        """What is charged, drawn and promised, from what is public of the counts."""
        from winnow.select.plan.top_k.verb import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedTopK(PlannedRequest["TopKPlan | AutoBoundPlan"], AskedTopK):
    """A top k that is to be planned, by its epsilon or by the error that is wanted."""

    of = TopK

    error: Annotated[
        Real | None,
        Option("Instead of epsilon=: the error to reach, in people.", "X", above=0),
    ] = None


@dataclass(frozen=True, kw_only=True)
class FindLabels(Checked):
    """Which labels there are in a log, where nobody listed them."""

    epsilon: Annotated[Real, EPSILON]
    delta: Annotated[
        Real,
        Option(
            "The chance that a label which only one person has is released, e.g. 1e-6.",
            "D",
            above=0,
            below=1,
        ),
    ]
    method: Annotated[
        PickMethod | str,
        Methods("auto decides by the labels to expect in generated logs.", OF_LABELS),
    ] = AUTO
    budget: Budget | None = None
    seed: Any = None

    def plan(self, about: Any) -> LabelsPlan | AutoBoundPlan:
        """What is charged, drawn and promised, from what is public of the log."""
        from winnow.select.plan.labels import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class Above(Checked):
    """Which of a list of private values lie above a public threshold."""

    threshold: Annotated[Real, Option("The public threshold.", "T")]
    epsilon: Annotated[Real, EPSILON]
    cutoff: Annotated[int, Option("How many reports are paid for.", "N", least=1)] = 1
    budget: Budget | None = None
    seed: Any = None

    def plan(self, about: AboutScores | SealedScores) -> Plan[SealedScores, AboveAnswer]:
        """What is charged, drawn and promised, from what is public of the values."""
        from winnow.core.plan import plan_of
        from winnow.select.crossing.selection import check_in_memory
        from winnow.select.mechanisms.sparse_vector import SparseVector

        mechanism = SparseVector(self.epsilon, self.threshold, self.cutoff)
        mechanism.check_scales(about.utility)

        def check(values: SealedScores) -> None:
            mechanism.check(values)
            check_in_memory(values)

        return replace(plan_of(mechanism, about.relation), check=check)
