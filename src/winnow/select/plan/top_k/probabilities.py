"""The exact chance that a top-k mechanism releases the true top k, and the epsilon for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from winnow.core.checks import probability
from winnow.core.noisy_top.filter import Scores
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.privacy.rounding import at_least
from winnow.select.crossing.selection import Selection
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.noisy_counts import WithCounts
from winnow.select.plan.top_k.known import COUNTS, chances_of, known
from winnow.select.plan.top_k.profile import public_scores


@guarded
def top_chance(mechanism: Selection, scores: Scores, utility: Utility = COUNTS) -> float | None:
    """Pr[the released items are k of the highest scores]; None where it is not known."""
    return chances_of(mechanism, scores, utility).top


@guarded
def top_sequence_chance(
    mechanism: Selection, scores: Scores, utility: Utility = COUNTS
) -> float | None:
    """Pr[the list is that of the k highest scores in order]; None: no order, or not known."""
    return chances_of(mechanism, scores, utility).sequence


@guarded
def epsilon_for_top(
    mechanism: Selection,
    scores: Any,
    k: int,
    target: float,
    *,
    utility: Utility = COUNTS,
) -> float | None:
    """The epsilon at which Pr[the top k as a set] reaches a target, on public scores.

    The mechanism's own epsilon is of no matter; with noisy counts it is the epsilon of both,
    shared as in the mechanism. 0 means that a blind draw reaches it; None that the chance is not
    known or that no allowed epsilon reaches it. Where only the chance of the list in order is
    known (peel-permute-and-flip), that has to reach it; then so does the set. The chance grows
    with epsilon for all mechanisms here but joint, for which that is not proven: there the result
    reaches the target, and a smaller one might too.
    """
    probability(target=target)
    values = public_scores(scores)
    if isinstance(mechanism, WithCounts):
        needed = epsilon_for_top(mechanism.selection, values, k, target, utility=utility)
        return at_least(mechanism.total(needed)) if needed else needed
    chosen: Any = mechanism  # a dataclass with epsilon and k
    own = chosen.kappa if isinstance(mechanism, LipschitzMechanism) else chosen.k
    if own != k:
        raise ParameterError(f"k={k} differs from the k={own} of the mechanism; give one k")
    if k > len(values):
        raise ParameterError(f"k={k} exceeds {len(values)} candidates; lower k")
    highest = known(mechanism).highest_epsilon
    ranked = np.sort(values)[::-1]
    worse = ranked[ranked < ranked[k - 1]]
    if worse.size == 0:
        return 0.0
    gap = float(ranked[k - 1]) - float(worse[0])

    def chance(epsilon: float) -> float | None:
        exactly = chances_of(replace(chosen, epsilon=epsilon), values, utility)
        return exactly.sequence if exactly.top is None else exactly.top

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
