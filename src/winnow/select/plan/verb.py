"""``winnow.plan.select``: the plan that ``winnow.select`` runs, from public numbers alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from winnow.core.checks import Real, exact, kept
from winnow.core.key import Key
from winnow.core.notebook import Card, pairs_card
from winnow.core.options import takes
from winnow.core.plan import Plan, plan_of
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.read.score_source import ScoreSource
from winnow.read.scores import SealedScores
from winnow.select.about import About, AboutClasses, AboutScores, about
from winnow.select.crossing.selection import Selection, check_scale
from winnow.select.mechanisms.lipschitz import LipschitzMechanism, NoisyTopWithLeads
from winnow.select.mechanisms.sparse_vector import AboveAnswer
from winnow.select.methods import (
    SELECT_METHODS,
    Exponential,
    Lipschitz,
    NoisyMax,
    PermuteAndFlip,
    PickMethod,
    SelectMethod,
    Sizes,
)
from winnow.select.methods import LargeMargin as LargeMarginMethod
from winnow.select.of_classes import one_of_classes
from winnow.select.open_selection import selected_of
from winnow.select.plan.pick import PickPlan
from winnow.select.request import Above, PlannedSelect, Select, WantedSelect
from winnow.select.table import check_promised, selection_of

if TYPE_CHECKING:  # a selection runs without them
    from winnow.select.plan.expected import SelectExpected, SelectTarget
    from winnow.select.plan.setting import Setting

PURE: dict[str, PickMethod] = {
    "permute-and-flip": PermuteAndFlip(),
    "exponential": Exponential(),
    "noisy-max": NoisyMax(),
    "logistic noise": Lipschitz(noise="logistic"),
    "half-logistic noise": Lipschitz(noise="half-logistic"),
}
"""Every mechanism of the Lipschitz family once: its other noises are those of the first three."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectPlan(PickPlan):
    """What ``winnow.select`` charges, draws and promises, before scores are looked at."""

    asked: Select = field(repr=False)
    confidence: float = 0.95
    target: SelectTarget | None = None

    def _drawing(self, data: Any) -> Plan[Any, Any]:
        """Of scores that stay in their source, contenders come from its parts."""
        return _of_source(self) if isinstance(data, ScoreSource) else self

    @cached_property
    def expected(self) -> SelectExpected | None:
        """Chances on the assumed gaps, and bounds for any data; None: nothing is known."""
        setting = self.setting()
        if setting is None:
            return None
        from winnow.select.plan.expected import expected_of

        return expected_of(setting, self.epsilon, self.asked.delta, self.target)

    @property
    def error(self) -> float | None:
        """What the error does not exceed at the confidence, for any data; None: not known."""
        return None if self.expected is None else self.expected.bound

    @property
    def chance(self) -> float | None:
        """That the best wins, or the k best are selected, on the assumed gaps; None: no gaps."""
        return None if self.expected is None else self.expected.chance

    @cached_property
    def compared(self) -> dict[str, SelectExpected]:
        """What to expect of every method for this question, where candidates are known."""
        if self.expected is None:
            return {}
        asked = self.asked
        same = PlannedSelect(
            epsilon=asked.epsilon, delta=asked.delta, k=asked.k, method=asked.method,
            confidence=self.confidence,
        )  # fmt: skip
        return compared(same, self.about)

    def setting(self) -> Setting | None:
        """The question that is planned for, whatever the epsilon; None: no bounds are known."""
        from winnow.select.mechanisms.large_margin import LargeMargin
        from winnow.select.plan.setting import Setting

        if not isinstance(self.about, AboutScores) or self.about.candidates is None:
            return None
        if not isinstance(self.mechanism, LipschitzMechanism | LargeMargin):
            return None
        utility = self.about.utility
        if not 1e-280 < exact("epsilon", self.asked.epsilon) / utility.half_width < 1e280:
            raise ParameterError(
                "epsilon and sensitivity differ by more than 280 orders of magnitude; "
                "give scores in other units"
            )
        return Setting(
            self.mechanism, utility, self.about.candidates, self.about.gaps, self.confidence
        )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        if self.expected is not None:
            return self.expected.to_dict()
        return {"mechanism": self.name, "guarantee": self.guarantee.to_dict()}

    def _card(self) -> Card:
        lines = [("mechanism", self.name), ("promise", str(self.guarantee))]
        shown = lines if self.expected is None else self.expected.lines()
        return pairs_card("Plan of a selection", shown)

    def __str__(self) -> str:
        if self.expected is None:
            return f"{super().__str__()}\nnothing is known of its error beforehand"
        bounds = [(word, row.bound) for word, row in self.compared.items()]
        others = ", ".join(f"{word} {bound:.4g}" for word, bound in bounds if bound is not None)
        return f"{self.expected}\n{'bounds of all':<16}{others}"


def _of_source(plan: SelectPlan) -> SelectPlan:
    """The plan for scores that stay in their source: contenders come from its parts."""
    mechanism, single = plan.mechanism, plan.asked.k is None
    if isinstance(mechanism, NoisyTopWithLeads):
        raise ParameterError("with_leads needs all scores in one place; leave it out")
    if not isinstance(mechanism, LipschitzMechanism):
        raise ParameterError(f"{plan.name} needs all scores in one place; use permute-and-flip")
    selection = mechanism

    def draw(source: ScoreSource, key: Key) -> Any:
        return selected_of(selection, source, key, single=single)

    def check(source: ScoreSource) -> None:
        check_scale(selection.scale(source.utility))

    return replace(plan, draw=draw, check=check)


def planned(asked: Select, given: Any) -> SelectPlan:
    """The plan of a selection, by what is public of the scores."""
    public, method = about(given), asked.method
    if not isinstance(method, SelectMethod):
        raise ParameterError(
            f"method={shown(method)} is not for winnow.select; choose one of: "
            f"{', '.join(each.word() for each in SELECT_METHODS)}"
        )
    k = None if asked.k is None else int(asked.k)
    bare = public  # plans are kept for what is public, whatever gaps are assumed
    if isinstance(public, AboutScores) and public.gaps is not None:
        bare = replace(public, gaps=None)
    plan = _planned(method, repr(method), bare, asked.epsilon, asked.delta, k, asked.with_leads)
    return plan if bare is public else replace(plan, about=public)


@kept(AboutScores, AboutClasses, *SELECT_METHODS)
def _planned(
    method: PickMethod,
    options: str,
    public: About,
    epsilon: Real,
    delta: Real,
    k: int | None,
    with_leads: bool,
) -> SelectPlan:
    """The plan by its parameters, none of them private.

    ``options`` is the method as it is written: 1 and 1.0 are equal and written differently.
    """
    asked = Select(epsilon=epsilon, delta=delta, k=k, method=method, with_leads=with_leads)
    sizes = Sizes(epsilon=epsilon, delta=delta, k=k or 1)
    selection: Any
    if isinstance(public, AboutClasses):
        if k is not None:
            raise ParameterError("several candidates of classes are for winnow.top_k(..., k=)")
        if with_leads:
            raise ParameterError("with_leads is not for classes; leave it out")
        selection = one_of_classes(method, public, sizes)
    else:
        selection = _of_scores(method, public, sizes, with_leads)
    plan: Plan[Any, list[Any]] = plan_of(selection, public.relation)
    if type(method) not in SELECT_METHODS:
        check_promised(method, plan, epsilon, delta)

    def first(data: Any, key: Key) -> Any:
        labels = plan.draw(data, key)
        return labels[0] if labels else None

    return SelectPlan(
        mechanism=selection,
        relation=plan.relation,
        guarantee=plan.guarantee,
        draw=plan.draw if k is not None else first,
        check=plan.check,
        about=public,
        asked=asked,
    )


def _of_scores(
    method: PickMethod, public: AboutScores, sizes: Sizes, with_leads: bool
) -> Selection:
    if public.private:
        raise ParameterError(
            "select is for public candidates; for one of the labels found in the data use "
            "winnow.top_k(..., k=1, delta=...)"
        )
    if public.candidates is not None and sizes.k > public.candidates:
        raise ParameterError(f"k={sizes.k} exceeds {public.candidates} candidates; lower k")
    return selection_of(method, public, sizes, with_leads)


def planned_for(
    asked: WantedSelect,
    given: Any,
    *,
    error: Real | None = None,
    chance: Real | None = None,
    confidence: Real = 0.95,
) -> SelectPlan:
    """The plan at an epsilon, or at the least one that reaches what is wanted."""
    from winnow.select.plan.expected import target_of

    plan = planned(asked.at(1 if asked.epsilon is None else asked.epsilon), given)
    plan = replace(plan, confidence=float(confidence))
    if chance is None and error is None:
        if asked.epsilon is None:
            raise ParameterError("epsilon is missing; give epsilon, chance or error")
        return plan
    setting = plan.setting()
    if setting is None:
        raise ParameterError(
            "this error cannot be predicted; give epsilon, or the number of candidates: "
            "wn.plan.scores(candidates=)"
        )
    target = target_of(setting, chance, error)
    assert target is not None
    if asked.epsilon is not None:
        return replace(plan, target=target)
    if target.epsilon == 0:
        raise ParameterError(
            f"{target.said} is reached by a random guess, so there is no smallest epsilon; give "
            "epsilon, or ask for more"
        )
    plan = planned(asked.at(target.epsilon), given)
    return replace(plan, confidence=float(confidence), target=target)


def compared(asked: PlannedSelect, given: Any) -> dict[str, SelectExpected]:
    """Every method asked for these numbers; large-margin takes part if there is a delta."""
    methods = {name: replace(asked, method=method, delta=0.0) for name, method in PURE.items()}
    if asked.delta:
        own = asked.method
        known = own if isinstance(own, LargeMarginMethod) else LargeMarginMethod()
        methods["large-margin"] = replace(asked, method=known)
    rows = {}
    for name, wanted in methods.items():
        row = replace(wanted, with_leads=False).plan(given).expected
        if row is not None:
            rows[name] = row
    return rows


@takes(PlannedSelect)
def select(about: Any, asked: PlannedSelect) -> SelectPlan:
    """Say what ``winnow.select`` does with such scores; nothing is read and nothing is spent.

    ``about`` is ``wn.plan.scores(candidates=, gaps=, sensitivity=, ...)``, or data that are sealed,
    of which only what is public is looked at. The options are those of ``winnow.select``;
    ``plan.run(scores, budget=)`` releases it.

    With ``gaps`` the plan says the exact chance that a best candidate wins (ties count as best),
    the error that the winner does not exceed with probability ``confidence``, and the expected
    error. With ``k > 1``: the chance that the release is a set of k candidates with the k highest
    scores; its error is how far the worst of them lies behind the k-th best. With the number of
    candidates alone there are bounds that hold for any data.

    ``chance`` asks for the smallest epsilon with that chance on the given gaps. ``error`` asks for
    the smallest epsilon with that error at the confidence: on the given gaps, or for any data by
    the theorem's bound if no gaps are given. Without ``epsilon`` the plan is made for that epsilon.
    """
    return asked.plan(about)


@takes(Above)
def above(about: AboutScores | SealedScores, asked: Above) -> Plan[SealedScores, AboveAnswer]:
    """Say what ``winnow.above`` is charged and promises; nothing is read and nothing is spent.

    ``about`` is ``wn.plan.scores(sensitivity=, ...)``, or sealed values.
    """
    return asked.plan(about)
