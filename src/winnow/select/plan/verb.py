"""Plan a selection: which epsilon gives which chance and which error."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from winnow.core.checks import Real, count, exact, nonnegative, positive, probability
from winnow.core.laws import Law
from winnow.core.notebook import Card, InNotebook, pairs_card
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.select.plan.chances import MOST_CANDIDATES, GapProfile, Gaps
from winnow.select.plan.setting import Setting
from winnow.select.table import selection_named

_SCOPE = (
    "Computed from public or assumed numbers: no data were read, nothing was spent. "
    "The chance and the error hold if the gaps are as assumed; the bounds hold for any data "
    "with this number of candidates, under the condition stated with them if there is one."
)
_CHANCES = {
    "one": "chances by integration, see winnow.select.plan.chances; Canonical, Def 2.1",
    "softmax": "chances in closed form: Canonical, Lemma A.19",
    "set": "chance of the set: Canonical, proof of Thm 4.1",
    "margin": "chances by integration over LMM, Alg 1",
}


@dataclass(frozen=True)
class SelectPlan(InNotebook):
    """What to expect of one selection, before it is paid for."""

    mechanism: str
    epsilon: float
    delta: float
    k: int
    candidates: int
    sensitivity: float
    """Half the width of the interval in which one person moves a score."""
    relation: str
    confidence: float
    chance: float | None
    """That a best candidate wins, or that the k best are reported, on the given gaps."""
    error_quantile: float | None
    """At the confidence, on the given gaps, in score units: how far the winner lies behind
    the best; for k > 1, the worst of the reported behind the k-th best (an upper bound)."""
    expected_error: float | None
    bound: float
    """The theorem's bound on the same error at the confidence, for any data."""
    bound_statement: str
    worst_case: float | None
    """The least bound that holds for all data; None for the large margin mechanism."""
    target: str | None
    epsilon_for_target: float | None
    """The smallest epsilon that reaches the target; 0 if a blind draw reaches it."""
    target_basis: str | None
    citation: tuple[str, ...]
    scope: str
    caution: str | None
    """Why the numbers for the given gaps are on the safe side rather than exact, if so."""
    _setting: Setting = field(repr=False, compare=False)

    def curve(self, epsilons: Iterable[Real]) -> list[tuple[float, float | None, float]]:
        """(epsilon, chance, theorem bound) for each epsilon, for plots."""
        points = []
        for epsilon in epsilons:
            positive(epsilons=epsilon)
            value = float(epsilon)
            outcome = self._setting.outcome(value)
            bound = self._setting.bound(value).error
            points.append((value, None if outcome is None else outcome.chance, bound))
        return points

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name[0] != "_"}
        return {**plain, "citation": list(self.citation)}

    def lines(self) -> list[tuple[str, str]]:
        """The plan as rows of a table."""
        confident = f"{100 * self.confidence:.6g} %"
        rows = [
            ("mechanism", self.mechanism),
            ("epsilon", f"{self.epsilon:.6g}"),
            ("delta", f"{self.delta:.6g}" if self.delta else None),
            ("candidates", f"{self.candidates:,}"),
            ("sensitivity", f"{self.sensitivity:.6g} ({Relation(self.relation).sentence})"),
            ("chance of the best" if self.k == 1 else f"chance of the top {self.k}", self._odds()),
            (f"error at {confident}", _shown(self.error_quantile)),
            ("expected error", _shown(self.expected_error)),
            (f"bound at {confident}", f"{self.bound:.6g}"),
            ("  from", self.bound_statement),
            ("sharpest bound", _shown(self.worst_case)),
            ("target", self.target),
            ("  epsilon for it", _shown(self.epsilon_for_target)),
            ("  judged by", self.target_basis),
            ("note", self.caution),
            ("scope", self.scope),
            ("citation", "; ".join(self.citation)),
        ]
        return [(name, value) for name, value in rows if value is not None]

    def _odds(self) -> str | None:
        if self.chance is not None and 0 < 1.0 - self.chance < 1e-5:
            return f"1 - {1.0 - self.chance:.2g}"
        return _shown(self.chance)

    def _card(self) -> Card:
        return pairs_card("Plan of a selection", self.lines())

    def __str__(self) -> str:
        rows = self.lines()
        width = max(len(name) for name, _ in rows) + 2
        return "\n".join(
            textwrap.fill(
                value,
                100,
                initial_indent=name.ljust(width),
                subsequent_indent=" " * width,
                break_on_hyphens=False,
            )
            for name, value in rows
        )


@guarded
def select(
    gaps: Gaps | None = None,
    *,
    candidates: int | None = None,
    epsilon: Real | None = None,
    delta: Real = 0.0,
    mechanism: str = "permute-and-flip",
    noise: str | Law | None = None,
    k: int = 1,
    sensitivity: Real | tuple[Real, Real] = 1.0,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    confidence: Real = 0.95,
    target_chance: Real | None = None,
    target_error: Real | None = None,
    thresholds: str = "tight",
) -> SelectPlan:
    """Say what to expect of ``winnow.select`` before spending anything.

    ``gaps`` is how far each *other* candidate is assumed to lie behind the best, in score
    units: a list with one number for each, ``{gap: how many}``, or one number together
    with ``candidates``. These are public or hypothetical numbers, such as last year's
    published counts or a guess; gaps of the private scores themselves would leak through
    the plan. With ``candidates`` alone there are bounds that hold for any data.

    With ``gaps``: the exact chance that a best candidate wins (ties count as best), the
    error that the winner does not exceed with probability ``confidence``, and the expected
    error. With ``k > 1``: the chance that the oneshot release is a set of k candidates with
    the k highest scores; its error is how far the worst of them lies behind the k-th best.

    ``target_chance`` asks for the smallest epsilon with that chance on the given gaps.
    ``target_error`` asks for the smallest epsilon with that error at the confidence: on
    the given gaps, or for any data by the theorem's bound if no gaps are given;
    ``target_basis`` says which. Without ``epsilon`` the plan is made for that epsilon.

    ``mechanism``, ``noise``, ``sensitivity``, ``monotone`` and ``relation`` are those of
    ``winnow.select``; ``thresholds`` is for "large-margin", which needs ``delta``.
    """
    probability(confidence=confidence)
    count(k=k)
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    chosen = selection_named(
        mechanism,
        epsilon=1 if epsilon is None else epsilon,
        delta=delta,
        k=k,
        noise=noise,
        thresholds=thresholds if mechanism == "large-margin" or thresholds != "tight" else None,
    )
    if epsilon is not None and not 1e-280 < exact("epsilon", epsilon) / utility.half_width < 1e280:
        raise ParameterError(
            "epsilon and sensitivity differ by more than 280 orders of magnitude; "
            "give scores in other units"
        )
    total, profile = _question(gaps, candidates)
    if k > total:
        raise ParameterError(f"k={k} exceeds {total} candidates; lower k")
    setting = Setting(chosen, utility, total, profile, float(confidence))
    target, needed, basis = _target(setting, target_chance, target_error)
    planned = _epsilon(epsilon, needed, target)
    outcome, bound = setting.outcome(planned), setting.bound(planned)
    return SelectPlan(
        mechanism=chosen.name,
        epsilon=planned,
        delta=float(delta),
        k=k,
        candidates=total,
        sensitivity=setting.sensitivity,
        relation=str(utility.relation),
        confidence=float(confidence),
        chance=outcome.chance if outcome else None,
        error_quantile=outcome.error_quantile if outcome else None,
        expected_error=outcome.expected_error if outcome else None,
        bound=bound.error,
        bound_statement=bound.statement,
        worst_case=setting.worst_case(planned),
        target=target,
        epsilon_for_target=needed,
        target_basis=basis,
        citation=(bound.citation, *([_CHANCES[setting.kind]] if outcome else [])),
        scope=_SCOPE,
        caution=outcome.caution if outcome else None,
        _setting=setting,
    )


def _question(gaps: Gaps | None, candidates: int | None) -> tuple[int, GapProfile | None]:
    """How many candidates there are, and their gaps where these are given."""
    if candidates is not None:
        count(candidates=candidates)
        if candidates > MOST_CANDIDATES:
            raise ParameterError(f"candidates={candidates} exceeds 2**53; plan for fewer")
    if gaps is not None:
        profile = GapProfile.parse(gaps, candidates)
        return profile.candidates, profile
    if candidates is None:
        raise ParameterError("gaps and candidates are both missing; give one of them")
    return candidates, GapProfile.alone() if candidates == 1 else None


def _target(
    setting: Setting, target_chance: Real | None, target_error: Real | None
) -> tuple[str | None, float | None, str | None]:
    """The target in words, the smallest epsilon that reaches it, and on what basis."""
    if target_chance is not None and target_error is not None:
        raise ParameterError(
            "target_chance and target_error are both given; one epsilon answers one target: "
            "drop one of them"
        )
    if target_chance is not None:
        probability(target_chance=target_chance)
        if setting.profile is None:
            raise ParameterError(
                "target_chance needs gaps: without them no chance is known; "
                "give gaps, or ask for target_error"
            )
        needed = setting.epsilon_for_success(float(target_chance), 0.0)
        basis = "the chance on the given gaps" + _proviso(setting)
        return f"target_chance={target_chance}", needed, basis
    if target_error is None:
        return None, None, None
    target = f"target_error={target_error} at confidence {setting.confidence:.6g}"
    if setting.profile is None:
        positive(target_error=target_error)
        return target, setting.epsilon_for_bound(float(target_error)), "the bound for any data"
    nonnegative(target_error=target_error)
    needed = setting.epsilon_for_success(setting.confidence, float(target_error))
    kind = "the exact error" if setting.k == 1 else "an upper bound on the error"
    return target, needed, f"{kind} on the given gaps" + _proviso(setting)


def _proviso(setting: Setting) -> str:
    """Accidental early stops make the large margin mechanism not quite monotone."""
    if setting.law is not None:
        return ""
    return "; large-margin is not monotone in epsilon, so a smaller one may reach it too"


def _epsilon(epsilon: Real | None, needed: float | None, target: str | None) -> float:
    """The epsilon to plan for: the given one, or the one that reaches the target."""
    if epsilon is not None:
        return float(epsilon)
    if needed is None:
        raise ParameterError("epsilon is missing; give epsilon, target_chance or target_error")
    if needed == 0:
        raise ParameterError(
            f"{target} is reached by a blind draw, so there is no smallest epsilon; "
            "give epsilon, or ask for more"
        )
    return needed


def _shown(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"
