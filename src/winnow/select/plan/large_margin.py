"""When is the large margin mechanism worth it? Against the exponential mechanism and
permute-and-flip, by the margin that each needs.

The question: `near` candidates share the best score, all others lie a margin behind. How large
must the margin be for a best candidate to win with the wanted chance? In units of Delta/epsilon:

    exponential        2 (ln(others/near) + ln(chance/(1 - chance))): grows with the universe
    permute-and-flip   a little less, by integration; grows as fast
    large margin       bounded, however many others there are; by integration over LMM, Alg 1

The crossover is the universe from which on the bounded margin is the smaller one. It is given
as a power of ten, because no list is that long. [LMM, Section 3]

Reference lines. No epsilon-DP mechanism can promise, on all data, more than chance 1/2 at a
margin below Delta ln((K - 1)/2)/epsilon [LMM, Prop 1]; no (epsilon, delta)-DP one at a margin
below Delta ln((near - 1)/2)/epsilon, for delta <= (1 - e^-epsilon)/(2 (near - 1)) [LMM, Thm 1].
Both are stated there for epsilon < 1.

Shells [LMM, Section 4.2]: on an assumed profile, l(t) candidates lie within t of the best. The
mechanism pays for the smallest l whose next gap exceeds what Theorem 3 asks for at that l.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from winnow.core.checks import Real, count, exact, nonnegative, positive, probability
from winnow.core.notebook import Card, InNotebook, text_card
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.select.mechanisms.margin_search import stopping_margin
from winnow.select.plan.chances import MOST_CANDIDATES, GapProfile, Gaps
from winnow.select.plan.margin import COMPARED, MarginQuestion, is_pure
from winnow.select.plan.setting import Setting
from winnow.select.table import selection_named

MOST_NEAR = 1_000_000


@dataclass(frozen=True)
class Shell:
    """The candidates within some distance of the best."""

    size: int
    """l: how many they are."""
    next_gap: float
    """How far candidate l + 1 lies behind the best."""
    needed: float
    """What LMM Theorem 3 asks of that gap, at this l and the wanted chance."""


@dataclass(frozen=True)
class MarginPlan(InNotebook):
    """Which mechanism is worth it, before anything is paid for."""

    epsilon: float
    delta: float
    near: int
    chance: float
    sensitivity: float
    relation: str
    candidates: int | None
    needed: dict[str, float] | None
    """The margin that each mechanism needs with these candidates; None without them."""
    bounded: dict[str, float]
    """The margin that suffices for the large margin mechanism, however many candidates."""
    crossover: dict[str, dict[str, float]]
    """log10 of the universe from which on it needs less, by thresholds and by opponent."""
    pure_limit: float | None
    """No epsilon-DP mechanism can do with less on all data [LMM, Prop 1]."""
    approximate_limit: float | None
    """No (epsilon, delta)-DP mechanism can do with less on all data [LMM, Thm 1]."""
    outcomes: dict[str, dict[str, float]] | None
    """On the assumed gaps: chance of a best one, expected error, error at the chance."""
    shells: tuple[Shell, ...]
    """On the assumed gaps, where the gap grows."""
    best: str | None
    """The mechanism with the largest chance on the gaps, or the least needed margin."""
    _question: MarginQuestion = field(repr=False, compare=False)

    def _card(self) -> Card:
        return text_card(str(self))

    def curve(self, mechanism: str, log10_candidates: Iterable[float]) -> list[float]:
        """The margin that a mechanism needs, for universes given as powers of ten."""
        if mechanism not in COMPARED:
            raise ParameterError(
                f"{mechanism!r} is not compared; choose one of: {', '.join(COMPARED)}"
            )
        margins = []
        most = self.bounded.get(mechanism, math.inf)
        for power in log10_candidates:
            others = max(0.0, 10.0 ** min(float(power), 300.0) - self.near)
            margin = self._question.needed(mechanism, others, at_most=most, within=1e-4)
            margins.append(margin)
        return margins

    def chances(self, margin: Real, log10_candidates: Real) -> dict[str, float]:
        """The chance of a best candidate for each mechanism, at a margin and a universe.

        Who wins there is the one with the largest.
        """
        nonnegative(margin=margin, log10_candidates=log10_candidates)
        others = max(0.0, 10.0 ** min(float(log10_candidates), 300.0) - self.near)
        question = self._question
        return {name: question.chance_at(name, others, float(margin)) for name in COMPARED}

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        tight = self.crossover["large-margin"]["permute-and-flip"]
        printed = self.crossover["large-margin (printed)"]["permute-and-flip"]
        return (
            f"large-margin needs a smaller margin than permute-and-flip only from {_power(tight)} "
            f"candidates on ({_power(printed)} with the printed thresholds)"
        )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name[0] != "_"}
        plain["shells"] = [vars(shell) for shell in self.shells]
        plain["crossover"] = {
            name: {other: None if math.isinf(x) else x for other, x in row.items()}
            for name, row in self.crossover.items()
        }
        return {**plain, "verdict": self.verdict}

    def __str__(self) -> str:
        lines = [self.verdict, ""]
        for name in COMPARED:
            parts = []
            if self.needed is not None:
                parts.append(f"needs {self.needed[name]:.6g}")
            if name in self.bounded:
                parts.append(f"never more than {self.bounded[name]:.6g}")
            if self.outcomes is not None:
                parts.append(f"chance {self.outcomes[name]['chance']:.4g} on the gaps")
            lines.append(f"{name:<24}{', '.join(parts)}")
        return "\n".join(lines)


@guarded
def large_margin(
    gaps: Gaps | None = None,
    *,
    epsilon: Real,
    delta: Real,
    candidates: int | None = None,
    near: int = 1,
    chance: Real = 0.95,
    sensitivity: Real | tuple[Real, Real] = 1.0,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> MarginPlan:
    """Say whether the large margin mechanism is worth its delta.

    ``near`` candidates are assumed to share the best score and all others to lie one margin
    behind. For permute-and-flip, the exponential mechanism and the large margin mechanism
    (tight and printed thresholds) the plan gives the margin that lets a best candidate win
    with ``chance``, and the size of the universe at which the large margin mechanism begins
    to need less than the others. With ``candidates`` the margins are for that number.

    ``gaps`` is an assumed profile as in ``winnow.plan.select``: then the chances and errors
    on it are compared as well, and its shells are listed. Public or assumed numbers only.
    """
    positive(epsilon=epsilon)
    probability(delta=delta, chance=chance)
    count(near=near)
    if near > MOST_NEAR:
        raise ParameterError(f"near={near} exceeds {MOST_NEAR:,}; plan for fewer")
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    half = float(utility.half_width)
    if not 1e-200 < float(exact("epsilon", epsilon)) / half < 1e200:
        raise ParameterError("epsilon and sensitivity differ too much; give scores in other units")
    profile = _profile(gaps, candidates)
    total = candidates if profile is None else profile.candidates
    if total is not None and near > total:
        raise ParameterError(f"near={near} exceeds {total} candidates; lower it")
    question = MarginQuestion(int(near), float(epsilon), float(delta), float(chance), half)
    bounded = {name: question.needed(name, math.inf) for name in COMPARED[2:]}
    crossover = {
        name: {pure: question.crossover(pure, bounded[name]) for pure in COMPARED[:2]}
        for name in COMPARED[2:]
    }
    needed = None
    if total is not None:
        needed = {name: question.needed(name, float(total - near)) for name in COMPARED}
    outcomes = None if profile is None else _outcomes(profile, utility, question)
    return MarginPlan(
        epsilon=float(epsilon),
        delta=float(delta),
        near=int(near),
        chance=float(chance),
        sensitivity=half,
        relation=str(utility.relation),
        candidates=total,
        needed=needed,
        bounded=bounded,
        crossover=crossover,
        pure_limit=None if total is None else _limit(question, total, 0.0),
        approximate_limit=_limit(question, int(near), float(delta)),
        outcomes=outcomes,
        shells=() if profile is None else _shells(profile, question),
        best=_best(outcomes, needed),
        _question=question,
    )


def _profile(gaps: Gaps | None, candidates: int | None) -> GapProfile | None:
    if candidates is not None:
        count(candidates=candidates)
        if candidates > MOST_CANDIDATES:
            raise ParameterError(
                f"candidates={candidates} exceeds 2**53; leave it out: the crossover is for any "
                "number, and curve() takes powers of ten"
            )
    return None if gaps is None else GapProfile.parse(gaps, candidates)


def _limit(question: MarginQuestion, size: int, delta: float) -> float | None:
    """The lower bound at this size, where the paper states one."""
    if not 0 < question.epsilon < 1 or size <= 3:
        return None
    if delta > -math.expm1(-question.epsilon) / (2.0 * (size - 1)):
        return None
    return question.sensitivity * math.log((size - 1) / 2.0) / question.epsilon


def _outcomes(
    profile: GapProfile, utility: Utility, question: MarginQuestion
) -> dict[str, dict[str, float]]:
    outcomes = {}
    for name in COMPARED:
        pure = is_pure(name)
        mechanism = selection_named(
            name if pure else "large-margin",
            epsilon=question.epsilon,
            delta=0.0 if pure else question.delta,
            thresholds=None if pure else "printed" if "printed" in name else "tight",
        )
        setting = Setting(mechanism, utility, profile.candidates, profile, question.chance)
        outcome = setting.outcome(question.epsilon)
        assert outcome is not None and outcome.expected_error is not None
        outcomes[name] = {
            "chance": outcome.chance,
            "expected_error": outcome.expected_error,
            "error": outcome.error_quantile,
        }
    return outcomes


def _shells(profile: GapProfile, question: MarginQuestion) -> tuple[Shell, ...]:
    """The sizes at which the next gap is larger, at most about forty of them."""
    sizes, gaps = np.cumsum(profile.counts)[:-1], profile.values[1:]
    if not len(sizes):
        return ()
    kept = np.unique(np.rint(np.geomspace(1, len(sizes), 40)).astype(np.int64) - 1)
    sizes, gaps = sizes[kept], gaps[kept]
    noise = 21.0 * math.log(3.0 / (1.0 - question.chance)) / question.epsilon
    stop = stopping_margin(sizes, question.epsilon, question.delta, "tight")
    needed = question.sensitivity * (noise + stop)
    rows = zip(sizes.tolist(), gaps.tolist(), needed.tolist(), strict=True)
    return tuple(Shell(size, gap, asked) for size, gap, asked in rows)


def _best(
    outcomes: dict[str, dict[str, float]] | None, needed: dict[str, float] | None
) -> str | None:
    if outcomes is not None:
        return max(COMPARED, key=lambda name: outcomes[name]["chance"])
    return None if needed is None else min(COMPARED, key=lambda name: needed[name])


def _power(exponent: float) -> str:
    return "more than 10^260" if math.isinf(exponent) else f"10^{exponent:.1f}"
