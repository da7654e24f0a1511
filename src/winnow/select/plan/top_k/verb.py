"""``winnow.plan.top_k``: the plan that ``winnow.top_k`` runs, from public numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from winnow.core.checks import Real, kept
from winnow.core.notebook import Card, Printed, lines_card
from winnow.core.options import AUTO, takes
from winnow.core.padding import Padding
from winnow.core.plan import Plan, plan_of
from winnow.core.released import Released
from winnow.core.utility import Utility
from winnow.errors import InputError, ParameterError
from winnow.foreign import guarded, shown
from winnow.privacy import Budget
from winnow.privacy.sizing import as_all_there_is, rounds_accountant
from winnow.read.counts import SealedCounts
from winnow.select.about import About, AboutClasses, AboutScores, about
from winnow.select.auto_bound import AutoBoundPlan
from winnow.select.beside import charged_with, cut_of, run_beside
from winnow.select.by_group import lists_by_group
from winnow.select.counts_margin import counts_margin
from winnow.select.crossing.groups import EachGroup, OverPairs
from winnow.select.crossing.private_labels import UnknownDomain
from winnow.select.crossing.selection import FromClasses
from winnow.select.label_methods import TOP_K_METHODS
from winnow.select.lists import CountedItems
from winnow.select.mechanisms.cut_away import MeasureCut
from winnow.select.methods import SELECT_METHODS, PickMethod, Sizes
from winnow.select.of_classes import chosen_for_classes
from winnow.select.plan.auto_bound import needs_bound, top_k_with_auto_bound
from winnow.select.plan.pick import PickPlan
from winnow.select.plan.top_k.simulation import TopKSimulation, Wishes, best_gamma, simulated
from winnow.select.plan.top_k.stated import MISS, TopKStated, stated
from winnow.select.request import PlannedTopK, TopK
from winnow.select.table import check_promised, choose, noises, unit_of

_READING = (UnknownDomain, OverPairs, EachGroup)
"""Mechanisms that take sealed counts, and may read more of their source."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TopKPlan(Printed, PickPlan):
    """What ``winnow.top_k`` charges, draws and promises, before counts are looked at."""

    asked: TopK = field(repr=False)
    method: PickMethod
    """What draws, with its options: what was asked for, or what Winnow chose."""
    release: Plan[Any, Any] = field(repr=False)
    """The plan of the list alone, where an estimate of what was left out stands beside it."""
    sizes: Sizes = field(repr=False)
    """What the list alone is drawn for."""
    cut: MeasureCut | None = field(default=None, repr=False)

    @guarded
    def run(
        self,
        data: Any,
        *,
        budget: Budget | None = None,
        seed: Any = None,
        padding: Padding | None = None,
    ) -> Released[Any]:
        """Charge the budget, draw once, and release the items."""
        return _run(self, data, budget, seed, padding)

    def ready(self, data: Any) -> Any:
        """The data with what the draw needs of their source; those of another plan are refused."""
        mechanism = self.release.mechanism
        if self.by_group:
            sealed = self.about.read(data)
            self.about.check(sealed)
        else:
            sealed = super().ready(data)
        if isinstance(sealed, SealedCounts) and isinstance(mechanism, _READING):
            mechanism.check(sealed)
            return mechanism.ready(sealed)
        return sealed

    @property
    def by_group(self) -> bool:
        """Whether a list for each group is released."""
        return isinstance(self.about, AboutScores) and self.about.groups is not None

    @cached_property
    def expected(self) -> TopKStated:
        """What is stated of the mechanism that runs, for any data."""
        size = self.about.candidates if isinstance(self.about, AboutScores) else None
        mechanism = self.release.mechanism
        if isinstance(mechanism, OverPairs | EachGroup):
            inner = stated(self._word, mechanism.inner, None, self.about.utility)
            return replace(inner, name=mechanism.name)
        return stated(self._word, mechanism, size, self.about.utility)

    @property
    def error(self) -> float | None:
        """How far a released item lies behind at most, with probability 0.99; None: not known."""
        return self.expected.error

    @cached_property
    def compared(self) -> tuple[TopKStated, ...]:
        """Every method that could run on such counts, with what is stated of it."""
        if not isinstance(self.about, AboutScores) or self.about.private or self.by_group:
            return (self.expected,)
        losses, rows = self._losses(), []
        wishes = Wishes(self.about, self.sizes, self.asked.ordered is True)
        for each in wishes.all()[0]:
            if (
                not isinstance(each.method, PickMethod)
                or getattr(each.method, "noise", "") == "gumbel"
            ):
                continue  # one row for each method
            word, size = each.method.word(), self.about.candidates
            try:
                made = each.at(self.sizes.epsilon)
                row = stated(word, made, size, self.about.utility, losses.get(word))
            except InputError:
                continue  # it has no proof at these numbers
            rows.append(row)
        return tuple(rows)

    def _losses(self) -> dict[str, float]:
        """What the automatic choice compares, where it has something to compare."""
        from winnow.select.choice import USUAL_ITEMS, mean_losses, undominated

        assert isinstance(self.about, AboutScores)
        may_run = noises(self.about, self.sizes, self.asked.ordered)
        left = undominated({each.word(): noise for each, noise in may_run.items()})
        d, k = self.about.candidates, self.sizes.k
        items = [max(n, 2 * k) for n in USUAL_ITEMS] if d is None else [max(d, k)]
        unit, ordered = unit_of(self.sizes.epsilon), self.asked.ordered is not False
        each = [mean_losses(left, n, k, unit, ordered=ordered) for n in items]
        return {word: sum(losses[word] for losses in each) / len(each) for word in left}

    def simulate(
        self,
        scores: Any,
        *,
        chance: Real | None = None,
        confidence: Real = 0.99,
        draws: int = 200,
        seed: int = 0,
    ) -> TopKSimulation:
        """What to expect on public scores: the method, or all that apply where Winnow chooses.

        ``scores`` are public or hypothetical: last year's published counts, a guess, a worst
        case. Never the private ones: chances, quantiles and simulated errors are computed from
        them without noise and would give them away. A list, an array, a column, a dict of scores,
        or a ``GapProfile``.

        For each method: the guarantee, whether it gives a list or a set, the exact chance of the
        true top k where a formula is known, the bounds that hold for any data at ``confidence``,
        and errors over ``draws`` simulated draws with ``seed`` (0 draws: none are simulated).
        ``chance`` asks for the epsilon at which the chance of the true top k reaches it; for
        peel-permute-and-flip, whose chance is known for the list in order alone, the epsilon at
        which that does, which is enough for the set, too.

        With ``ordered=True`` in the plan, lists are judged in their order; with ``ordered=False``
        all are judged as sets, each listed by true score. By default lists are judged if every
        method gives one, and sets otherwise.
        """
        return simulated(
            scores,
            self._scores(),
            self.sizes,
            self.asked.method,
            epsilon=self.sizes.epsilon,
            ordered=self.asked.ordered,
            chance=chance,
            confidence=confidence,
            draws=draws,
            seed=seed,
        )

    def best_gamma(self, scores: Any) -> Fraction:
        """The gamma of ``wn.Canonical`` with the best chance of the top k on public scores."""
        return best_gamma(scores, self._scores(), self.sizes, self.sizes.epsilon, None)

    def _scores(self) -> AboutScores:
        if not isinstance(self.about, AboutScores) or self.about.private or self.by_group:
            raise ParameterError(
                "only a public list of items can be simulated; plan for wn.plan.counts(candidates=)"
            )
        return self.about

    @property
    def _word(self) -> str:
        return self.method.word()

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "method": self._word,
            "mechanism": self.name,
            "k": self.sizes.k,
            "epsilon": self.epsilon,
            "guarantee": self.guarantee.to_dict(),
            "reason": self.reason,
            "relation": str(self.relation),
            "error": self.error,
            "expected": asdict(self.expected),
            "compared": [asdict(row) for row in self.compared],
        }

    def table(self) -> list[list[str]]:
        """What was compared as a table, its first line the headings."""
        lines = [["method", "gives", f"bound {100 * (1 - MISS):g} %", "counts 95 %", "loss"]]
        for row in self.compared:
            mark = " *" if row.method == self._word and len(self.compared) > 1 else ""
            cells = [row.error, row.counts_margin, row.loss]
            lines.append([row.method + mark, "list" if row.ordered else "set", *map(_shown, cells)])
        return lines

    def _card(self) -> Card:
        why = [f"why: {self.reason}"] if self.reason else []
        title = f"top {self.sizes.k}, {self.guarantee}: {self.name}"
        return lines_card(title, self.table(), _MEANINGS, texts=2, lead=why)


_MEANINGS = (
    "bound: how far a released item lies behind at most, for any data, in units of a score. "
    "counts: within what the noise of each released count lies. loss: what auto goes by, against "
    "the best on public profiles of counts. *: what runs. No data were read, nothing was spent."
)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


@guarded
def _run(
    plan: TopKPlan, data: Any, budget: Budget | None, seed: Any, padding: Padding | None
) -> Released[Any]:
    if plan.cut is None:
        return Plan.run(plan, data, budget=budget, seed=seed, padding=padding)
    people = data.people if isinstance(data, SealedCounts) else None
    return run_beside(
        plan.cut, plan.release, plan.ready(data), people, budget=budget, seed=seed, padding=padding
    )


@as_all_there_is
def planned(asked: TopK, given: Any) -> TopKPlan | AutoBoundPlan:
    """The plan of a top k, by what is public of the counts."""
    public, method = about(given), asked.method
    if method != AUTO and not isinstance(method, PickMethod):
        raise ParameterError(
            f"method={shown(method)} is not a method of top_k; give wn.Joint() or a word such as "
            "'joint'"
        )
    if isinstance(public, AboutScores) and public.choice is not None:
        if needs_bound(asked, public):
            return top_k_with_auto_bound(asked, public, planned)
        public = replace(public, choice=None)
    return _planned(
        method, repr(method), public, asked.epsilon, asked.delta, int(asked.k), asked.ordered,
        asked.with_counts, asked.with_cut, rounds_accountant(asked.budget),
    )  # fmt: skip


@kept(AboutScores, AboutClasses, *TOP_K_METHODS)
def _planned(
    method: PickMethod | str,
    options: str,
    public: About,
    epsilon: Real,
    delta: Real,
    k: int,
    ordered: bool | None,
    with_counts: bool,
    with_cut: Real,
    accountant: str,
) -> TopKPlan:
    """The plan by its parameters, none of them private.

    ``options`` is the method as it is written: 1 and 1.0 are equal and written differently.
    """
    sizes = Sizes(epsilon=epsilon, delta=delta, k=k, with_counts=with_counts, accountant=accountant)
    asked = TopK(
        k=k, epsilon=epsilon, delta=delta, method=method, ordered=ordered,
        with_counts=with_counts, with_cut=with_cut,
    )  # fmt: skip
    if isinstance(public, AboutClasses):
        return _from_classes(asked, public, sizes)
    if public.candidates is not None:
        groups = 1 if public.groups is None else len(public.groups.names or ())
        if k > public.candidates // groups:
            raise ParameterError(f"k={k} exceeds {public.candidates // groups} candidates; lower k")
    cut, rest = cut_of(with_cut, epsilon, public.bound)
    sizes = replace(sizes, epsilon=rest)
    plan: Plan[Any, Any]
    if public.groups is None:
        choice = choose(method, public, sizes, ordered)
        chosen, plan = choice.method, choice.plan(public.relation)
    else:
        chosen, lists, reason = lists_by_group(method, public, sizes, ordered)
        plan = plan_of(lists, public.relation, reason=reason)
    if with_counts and public.groups is None:
        plan = plan.map(_stating(choice.mechanism, public.utility))
    charged = charged_with(cut, plan)
    return TopKPlan(
        **charged.fixed(),
        about=public,
        asked=asked,
        method=chosen,
        release=plan,
        sizes=sizes,
        cut=cut,
    )


def _stating(mechanism: Any, utility: Utility) -> Callable[[Any], CountedItems]:
    """What says of released counts within what their noise lies."""
    margin, ordered = counts_margin(mechanism, utility), bool(getattr(mechanism, "ordered", True))
    return lambda found: CountedItems(found, margin=margin, ordered=ordered)


def _from_classes(asked: TopK, public: AboutClasses, sizes: Sizes) -> TopKPlan:
    if asked.with_counts or asked.with_cut:
        raise ParameterError("with_counts and with_cut are not for classes; leave them out")
    method, selection, reason = chosen_for_classes(asked.method, public, sizes, asked.ordered)
    plan = plan_of(FromClasses(selection), public.relation, reason=reason)
    if type(method) not in (*SELECT_METHODS, *TOP_K_METHODS):
        check_promised(method, plan, sizes.epsilon, sizes.delta)
    return TopKPlan(
        **plan.fixed(),
        about=public,
        asked=asked,
        method=method,
        release=plan,
        sizes=sizes,
    )


@takes(PlannedTopK)
def top_k(about: Any, asked: PlannedTopK) -> TopKPlan | AutoBoundPlan:
    """Say what ``winnow.top_k`` does with such counts; nothing is read and nothing is spent.

    ``about`` is ``wn.plan.counts(candidates=, max_items=, ...)``, or data that are sealed, of which
    only what is public is looked at. The options are those of ``winnow.top_k``;
    ``plan.run(counts, budget=)`` releases it. ``error`` in the place of ``epsilon`` asks for the
    least epsilon with which no released item lies further behind, with probability 0.99.

    Printed, the plan compares the methods: bounds for any data, and what the automatic choice goes
    by. ``plan.simulate(scores)`` says what to expect on public or assumed scores.
    """
    return asked.plan(about)
