"""The exact chance that a top-k mechanism releases the true top k, on public scores.

Ties count as right everywhere: any k items with the k highest scores are the top k, and any
order of equal scores is their order.

| mechanism | the top k as a set | the top k in order |
|---|---|---|
| joint | sum over classes, ``topk_joint`` | the same |
| canonical, Gumbel noise | sum over classes, ``topk_canonical`` | releases a set |
| canonical, other noises | sum and one integral, ``topk_canonical`` | releases a set |
| oneshot, oneshot-approximate | one integral, ``sets`` | releases a set |
| oneshot with Gumbel noise, peel-gumbel | one integral, ``sets`` | product of softmaxes |
| peel-permute-and-flip | not known | product of k integrals, ``chances`` |
| gamma, laplace | not known | not known |

Sums are good to about 1e-11 relatively and integrals to 1e-13 absolutely; both are called
exact here. Where nothing is known the functions return None, and only simulation is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from winnow.core.checks import exact, probability
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import Scores
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.select.crossing import Selection
from winnow.select.mechanism import ExponentialMechanism, LipschitzMechanism
from winnow.select.plan.bounds import top_set_chance
from winnow.select.plan.chances import Floats, win_chances
from winnow.topk.mechanisms.approximate_oneshot import ApproximateOneshot
from winnow.topk.mechanisms.canonical import Canonical
from winnow.topk.mechanisms.joint import Joint
from winnow.topk.mechanisms.peeling import PeelGumbel, PeelPermuteAndFlip
from winnow.topk.plan.canonical import CanonicalChances, canonical_chances
from winnow.topk.plan.joint import JointChances, joint_chances
from winnow.topk.plan.profile import grouped, public_scores, stepped
from winnow.topk.plan.subsets import Loss
from winnow.topk.table import TopKOptions, top_k_named

COUNTS = Utility.declare(1, monotone=True)
"""Counts of people under add/remove, the default of ``top_k``."""


def chances_of_joint(mechanism: Joint, scores: Scores, utility: Utility = COUNTS) -> JointChances:
    """How a draw of Joint ends; utilities are in steps (1 for integer scores)."""
    steps, in_steps, _ = stepped(scores, utility)
    return joint_chances(steps, mechanism.k, float(mechanism.scale(in_steps)))


def chances_of_canonical(
    mechanism: Canonical, scores: Scores, utility: Utility = COUNTS
) -> CanonicalChances:
    """How a draw of Canonical ends; gaps are in steps (1 for integer scores)."""
    steps, in_steps, _ = stepped(scores, utility)
    if mechanism.rounded:
        loss = Loss.rounded(in_steps.one_sided, exact("epsilon", mechanism.epsilon))
    else:
        loss = Loss.canonical(exact("gamma", mechanism.gamma), mechanism.scale(in_steps))
    return canonical_chances(steps, mechanism.k, loss, mechanism.noise)


@guarded
def top_chance(mechanism: Selection, scores: Scores, utility: Utility = COUNTS) -> float | None:
    """Pr[the released items are k of the highest scores]; None where it is not known."""
    match mechanism:
        case Joint():
            return math.exp(chances_of_joint(mechanism, scores, utility).log_top_set)
        case Canonical():
            return chances_of_canonical(mechanism, scores, utility).top
        case LipschitzMechanism():
            groups = grouped(scores, float(mechanism.scale(utility)))
            return top_set_chance(mechanism.noise, *groups, mechanism.kappa)
        case PeelGumbel():
            return top_chance(as_one_draw(mechanism), scores, utility)
        case ApproximateOneshot():
            groups = grouped(scores, float(mechanism.scale(utility, len(scores))))
            return top_set_chance(Law.LAPLACE, *groups, mechanism.k)
        case _:
            return None


@guarded
def top_sequence_chance(
    mechanism: Selection, scores: Scores, utility: Utility = COUNTS
) -> float | None:
    """Pr[the list is that of the k highest scores in order]; None: no order, or not known."""
    match mechanism:
        case Joint():
            return math.exp(chances_of_joint(mechanism, scores, utility).log_top_sequence)
        case LipschitzMechanism(noise=Law.GUMBEL):
            groups = grouped(scores, float(mechanism.scale(utility)))
            return _peeled(Law.GUMBEL, *groups, mechanism.kappa)
        case LipschitzMechanism(kappa=1):
            return top_chance(mechanism, scores, utility)
        case PeelGumbel():
            return top_sequence_chance(as_one_draw(mechanism), scores, utility)
        case PeelPermuteAndFlip():
            groups = grouped(scores, float(mechanism.scale(utility)))
            return _peeled(Law.EXPONENTIAL, *groups, mechanism.k)
        case _:
            return None


def as_one_draw(mechanism: PeelGumbel) -> ExponentialMechanism:
    """The oneshot exponential mechanism that peel-gumbel is, calibrated once."""
    per_round = exact("epsilon", mechanism.calibrated().parameter)
    return ExponentialMechanism(per_round * mechanism.k, kappa=mechanism.k)


def _peeled(law: Law, scores: Floats, counts: Floats, k: int) -> float:
    """The chance that k rounds each take a best item of those left.

    The rounds' chances multiply: after a right round, up to ties, the scores left are known.
    """
    left = counts.copy()
    chance, group = 1.0, 0
    for _ in range(k):
        if left[group] == 0:
            group += 1
        chance *= float(win_chances(law, scores[group:] - scores[group], left[group:])[0])
        left[group] -= 1
        if chance == 0.0:
            break
    return chance


@guarded
def epsilon_for_top(
    mechanism: Selection | str,
    scores: Any,
    k: int,
    target: float,
    *,
    utility: Utility = COUNTS,
    delta: float = 0.0,
    options: TopKOptions | None = None,
) -> float | None:
    """The epsilon at which Pr[the top k as a set] reaches a target, on public scores.

    For a name, or for a mechanism, whose own epsilon is then of no matter. 0 means that a
    blind draw reaches it; None that the chance is not known or that no allowed epsilon
    reaches it. The chance grows with epsilon for all mechanisms here but joint, for which
    that is not proven: there the result reaches the target, and a smaller one might too.
    """
    probability(target=target)
    values = public_scores(scores)
    if isinstance(mechanism, str):
        start = 0.1 if mechanism == "oneshot-approximate" else 1
        mechanism = top_k_named(
            mechanism, epsilon=start, delta=delta, k=k, options=options or TopKOptions()
        )
    chosen: Any = mechanism  # a dataclass with epsilon and k
    own = chosen.kappa if isinstance(mechanism, LipschitzMechanism) else chosen.k
    if own != k:
        raise ParameterError(f"k={k} differs from the k={own} of the mechanism; give one k")
    if k > len(values):
        raise ParameterError(f"k={k} exceeds {len(values)} candidates; lower k")
    highest = 0.2 if isinstance(mechanism, ApproximateOneshot) else math.inf
    ranked = np.sort(values)[::-1]
    worse = ranked[ranked < ranked[k - 1]]
    if worse.size == 0:
        return 0.0
    gap = float(ranked[k - 1]) - float(worse[0])

    def chance(epsilon: float) -> float | None:
        return top_chance(replace(chosen, epsilon=epsilon), values, utility)

    start = min(2.0 * float(utility.half_width) / max(gap, 1e-300), highest)
    if chance(start) is None:
        return None
    return _least(lambda e: _log_odds(chance(e) or 0.0) - _log_odds(target), start, highest)


def _log_odds(p: float) -> float:
    if p <= 0.0:
        return -800.0
    return math.log(p) - math.log1p(-p) if p < 1.0 else 40.0


def _least(excess: Callable[[float], float], start: float, highest: float) -> float | None:
    """The least epsilon at which an increasing function is not negative, to 1e-9 relatively.

    Regula falsi in ln(epsilon), with a bisection whenever it does not halve the bracket.
    """
    low = high = start
    value = excess(start)
    if value >= 0:
        at_low = at_high = value
        for _ in range(40):
            low /= 4.0
            at_low = excess(low)
            if at_low < 0:
                break
            high, at_high = low, at_low
        else:
            return 0.0
    else:
        at_low = at_high = value
        for _ in range(40):
            if high >= highest:
                return None
            high = min(4.0 * high, highest)
            at_high = excess(high)
            if at_high >= 0:
                break
            low, at_low = high, at_high
        else:
            return None
    bisect = False
    while high > low * (1.0 + 1e-9):
        share = 0.5 if bisect else min(max(at_low / (at_low - at_high), 0.02), 0.98)
        width = math.log(high / low)
        middle = low * math.exp(share * width)
        at_middle = excess(middle)
        if at_middle >= 0:
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle
        bisect = math.log(high / low) > 0.5 * width
    return high
