"""What to expect of a selection: which epsilon gives which chance and which error."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from winnow.core.checks import Real, nonnegative, positive, probability
from winnow.core.notebook import Card, InNotebook, pairs_card
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.select.plan.setting import Setting

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
class SelectExpected(InNotebook):
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


@dataclass(frozen=True)
class SelectTarget:
    """What is to be reached, the least epsilon that reaches it, and on what basis."""

    said: str
    epsilon: float
    basis: str


def expected_of(
    setting: Setting, epsilon: float, delta: Real, target: SelectTarget | None
) -> SelectExpected:
    """What to expect of a setting at an epsilon."""
    outcome, bound = setting.outcome(epsilon), setting.bound(epsilon)
    return SelectExpected(
        mechanism=setting.mechanism.name,
        epsilon=epsilon,
        delta=float(delta),
        k=setting.k,
        candidates=setting.candidates,
        sensitivity=setting.sensitivity,
        relation=str(setting.utility.relation),
        confidence=setting.confidence,
        chance=outcome.chance if outcome else None,
        error_quantile=outcome.error_quantile if outcome else None,
        expected_error=outcome.expected_error if outcome else None,
        bound=bound.error,
        bound_statement=bound.statement,
        worst_case=setting.worst_case(epsilon),
        target=target.said if target else None,
        epsilon_for_target=target.epsilon if target else None,
        target_basis=target.basis if target else None,
        citation=(bound.citation, *([_CHANCES[setting.kind]] if outcome else [])),
        scope=_SCOPE,
        caution=outcome.caution if outcome else None,
        _setting=setting,
    )


def target_of(setting: Setting, chance: Real | None, error: Real | None) -> SelectTarget | None:
    """What is wanted, with the smallest epsilon that reaches it; None: nothing is."""
    if chance is not None and error is not None:
        raise ParameterError(
            "chance and error are both given; one epsilon answers one of them: drop the other"
        )
    if chance is not None:
        probability(chance=chance)
        if setting.profile is None:
            raise ParameterError(
                "chance needs gaps: without them no chance is known; give them as in "
                "wn.plan.scores(gaps=[5, 3]), or ask for an error"
            )
        needed = setting.epsilon_for_success(float(chance), 0.0)
        return SelectTarget(
            f"chance={chance}", needed, "the chance on the given gaps" + _proviso(setting)
        )
    if error is None:
        return None
    said = f"error={error} at confidence {setting.confidence:.6g}"
    if setting.profile is None:
        positive(error=error)
        return SelectTarget(said, setting.epsilon_for_bound(float(error)), "the bound for any data")
    nonnegative(error=error)
    needed = setting.epsilon_for_success(setting.confidence, float(error))
    kind = "the exact error" if setting.k == 1 else "an upper bound on the error"
    return SelectTarget(said, needed, f"{kind} on the given gaps" + _proviso(setting))


def _proviso(setting: Setting) -> str:
    """Accidental early stops make the large margin mechanism not quite monotone."""
    if setting.law is not None:
        return ""
    return "; large-margin is not monotone in epsilon, so a smaller one may reach it too"


def _shown(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"
