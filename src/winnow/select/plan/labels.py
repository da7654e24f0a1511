"""``winnow.plan.labels``: the plan that ``winnow.labels`` runs, from public numbers alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, TypeGuard

from winnow.core.checks import Real, kept
from winnow.core.notebook import Card, Printed, lines_card
from winnow.core.options import AUTO, takes
from winnow.core.plan import Plan, plan_of
from winnow.core.relation import Relation
from winnow.errors import InputError, ParameterError
from winnow.foreign import shown
from winnow.privacy.sizing import as_all_there_is, rounds_accountant
from winnow.read.counts import SealedCounts
from winnow.select.about import AboutScores, about
from winnow.select.auto_bound import AutoBoundPlan
from winnow.select.crossing.groups import pairs_of
from winnow.select.crossing.private_labels import EVERY, UnknownDomain
from winnow.select.label_choice import chosen_for_labels, losses_of_methods
from winnow.select.label_methods import OF_LABELS, TOP_K_METHODS
from winnow.select.label_methods import TruncatedLaplace as TruncatedLaplaceMethod
from winnow.select.mechanisms.optimal_rule import OptimalRule
from winnow.select.mechanisms.truncated_laplace import TruncatedLaplace
from winnow.select.mechanisms.weighted_gaussian import WeightedGaussian
from winnow.select.methods import PRIVATE_LABELS, Sizes, check_kind
from winnow.select.plan.auto_bound import labels_with_auto_bound
from winnow.select.request import FindLabels
from winnow.select.table import check_built, check_promised
from winnow.select.top_k_methods import PrivateLabelsMethod

HELD = (1, 10, 100)
"""A plan says how many people a label needs where each of them has so many labels."""


@dataclass(frozen=True)
class LabelsRow:
    """What one method needs to find a label."""

    method: str
    """The word that a user gives."""
    name: str
    """What the receipt will call it."""
    people: tuple[float | None, ...]
    """Of whom a label is found as often as not, where each has 1, 10 or 100 labels; None: its
    people are not counted for all of so many."""
    loss: float | None
    """What the automatic choice goes by: the part of the labels that it misses and the best method
    finds, in the mean over generated logs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelsPlan(Printed, Plan[SealedCounts, list[Any]]):
    """What ``winnow.labels`` charges, draws and promises, before a log is looked at."""

    mechanism: UnknownDomain
    about: AboutScores = field(repr=False)
    """What is public of the log."""
    asked: FindLabels = field(repr=False)
    method: PrivateLabelsMethod
    """What draws, with its options: what was asked for, or what Winnow chose."""
    sizes: Sizes = field(repr=False)

    def ready(self, data: Any) -> SealedCounts:
        """The counts with all that is read of their source; those of another plan are refused."""
        sealed = self.about.read(data)
        self.about.check(sealed)
        assert isinstance(sealed, SealedCounts)  # labels are private
        self.mechanism.check(sealed)
        return self.mechanism.ready(sealed)

    @property
    def epsilon(self) -> float:
        """The privacy loss in total."""
        return float(self.asked.epsilon)

    @cached_property
    def expected(self) -> LabelsRow:
        """What the method that runs needs."""
        return self._row(self.method, self.mechanism)

    @property
    def error(self) -> float | None:
        """So many people with one label each, of whom it is found as often as not."""
        return self.expected.people[0]

    @cached_property
    def compared(self) -> tuple[LabelsRow, ...]:
        """Every method that may run on such counts; those that do not, with their defaults."""
        rows = []
        for kind in OF_LABELS:
            if isinstance(self.method, kind):
                rows.append(self.expected)
                continue
            try:
                rows.append(self._row(kind(), kind().among_private(self.about, self.sizes)))
            except InputError:
                continue  # it is not for these counts
        return tuple(rows)

    def _row(self, method: PrivateLabelsMethod, mechanism: UnknownDomain) -> LabelsRow:
        needed = tuple(_people_needed(mechanism, labels, self.about) for labels in HELD)
        loss = losses_of_methods(self.about, self.sizes).get(method.word())
        return LabelsRow(method.word(), mechanism.name, needed, loss)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "method": self.method.word(),
            "mechanism": self.name,
            "epsilon": self.epsilon,
            "guarantee": self.guarantee.to_dict(),
            "reason": self.reason,
            "relation": str(self.relation),
            "error": self.error,
            "held": list(HELD),
            "compared": [asdict(row) for row in self.compared],
        }

    def table(self) -> list[list[str]]:
        """What was compared as a table, its first line the headings."""
        lines = [["method", *(f"people with {labels}" for labels in HELD), "missed"]]
        for row in self.compared:
            mark = " *" if row.method == self.method.word() and len(self.compared) > 1 else ""
            needed = ["-" if people is None else f"{people:,.0f}" for people in row.people]
            loss = "-" if row.loss is None else f"{100 * row.loss:.0f} %"
            lines.append([row.method + mark, *needed, loss])
        return lines

    def _card(self) -> Card:
        why = [f"why: {self.reason}"] if self.reason else []
        title = f"labels, {self.guarantee}: {self.name}"
        return lines_card(title, self.table(), _MEANINGS, lead=why)


_MEANINGS = (
    "people with d: a label of this many people, with d labels each (in two rounds: of those that "
    "are left in the second), is found half of the time. missed: of the labels that the best "
    "method finds, in the mean over generated logs. *: what runs. No data were read, nothing was "
    "spent."
)


def _people_needed(mechanism: UnknownDomain, labels: int, about: AboutScores) -> float | None:
    relation: Relation = about.relation
    if about.max_items is not None and labels > about.max_items:
        return None
    match mechanism:
        case WeightedGaussian():
            return mechanism.people_needed(labels, relation)
        case TruncatedLaplace():
            return float(mechanism.threshold(about.utility))
        case OptimalRule():
            return float(mechanism.people_needed(relation))
    return None


@as_all_there_is
def planned(asked: FindLabels, given: Any) -> LabelsPlan | AutoBoundPlan:
    """The plan of a discovery, by what is public of the log."""
    public, method = about(given), asked.method
    if not isinstance(public, AboutScores) or not public.private:
        raise ParameterError(
            "the list of these labels is public, so that there is nothing to find; give "
            "wn.counts(log, item=, person=), or wn.seal_counts(counts, labels='private')"
        )
    if method != AUTO and not isinstance(method, OF_LABELS) and not _is_own(method):
        words = ", ".join(each.word() for each in OF_LABELS)
        raise ParameterError(f"method={shown(method)} does not find labels; choose one of: {words}")
    if public.choice is not None:
        if isinstance(method, TruncatedLaplaceMethod):
            return labels_with_auto_bound(asked, public, planned)
        public = replace(public, choice=None)
    accountant = rounds_accountant(asked.budget)
    return _planned(method, repr(method), public, asked.epsilon, asked.delta, accountant)


def _is_own(method: Any) -> TypeGuard[PrivateLabelsMethod]:
    """Whether a method for private labels is somebody's own."""
    return isinstance(method, PrivateLabelsMethod) and type(method) not in TOP_K_METHODS


@kept(AboutScores, *OF_LABELS)
def _planned(
    method: PrivateLabelsMethod | str,
    options: str,
    public: AboutScores,
    epsilon: Real,
    delta: Real,
    accountant: str,
) -> LabelsPlan:
    """The plan by its parameters, none of them private.

    ``options`` is the method as it is written: 1 and 1.0 are equal and written differently.
    """
    asked = FindLabels(epsilon=epsilon, delta=delta, method=method)
    sizes = Sizes(epsilon=epsilon, delta=delta, k=EVERY, accountant=accountant)
    reason = ""
    if isinstance(method, str):
        method, reason = chosen_for_labels(public, sizes)
    check_kind(method, PRIVATE_LABELS, OF_LABELS)
    mechanism = method.among_private(public, sizes)
    check_built(method, mechanism)
    mechanism.check_public(public.utility, None)
    plan = plan_of(mechanism, public.relation, reason=reason)
    if _is_own(method):
        check_promised(method, plan, sizes.epsilon, sizes.delta)
    plan = plan.map(lambda found: pairs_of(found, public.groups))
    return LabelsPlan(
        **plan.fixed(),
        about=public,
        asked=asked,
        method=method,
        sizes=sizes,
    )


@takes(FindLabels)
def labels(about: AboutScores | SealedCounts, asked: FindLabels) -> LabelsPlan | AutoBoundPlan:
    """Say what ``winnow.labels`` does with such a log; nothing is read and nothing is spent.

    ``about`` is ``wn.plan.counts(labels="log")``, with ``max_items=`` where items are bounded, or
    ``labels="private"`` for ready counts; or data that are sealed, of which only what is public is
    looked at. The options are those of ``winnow.labels``; ``plan.run(counts, budget=)`` releases.

    Printed, the plan compares the methods by how many people a label needs to be found.
    """
    return asked.plan(about)
