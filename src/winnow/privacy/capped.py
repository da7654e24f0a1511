"""Rounds that mostly say "no update" and end after c exceptions: what they really cost.

Private multiplicative weights answers queries one after the other. Each round adds noise to
one answer and is e-DP as a whole; it releases "no update" or an exception (a new answer),
and the session ends after c exceptions, however many queries came before.

Theorem (target charging, after [Cohen-Lyu 2023]). Up to a lost mass of

    Pr[Bin(m, 1/(1 + e^e)) <= c - 1]

the whole run is a post-processing of m adaptive e-DP mechanisms, for every m.

Proof. Fix neighbours and what was released so far. Let a round say "no update" with
probability p under one of them and p' under the other, p >= p'. It is e-DP, so
w = (e^e p' - p)/(e^e - 1) lies in [0, p']. Split the round: with probability w, under both,
it says "no update" without looking at the data; otherwise it makes an *access*, which says
"no update" with the remaining probability and makes each exception as before, all divided
by 1 - w.

- An access is e-DP: on "no update" the ratio is (p - w)/(p' - w) = e^e, by the choice of w;
  on exceptions it is the ratio of the round.
- An access makes an exception with probability at least 1/(1 + e^e) under both: the smaller
  of the two is (1 - p)/(1 - w) = (e^e - 1)/(e^e r - 1) with r = (1 - p')/(1 - p), and
  r <= e^e because the round is e-DP.

So after m accesses fewer than c exceptions were made with at most the binomial probability,
under either neighbour. Leave these runs out of both laws; what is left makes at most m
accesses, and rounds without an access are post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.privacy.rounding import SLACK, at_least, at_most, rounded_up

_SLACK = float(SLACK)
_UNDERFLOW = 1e-290
"""More than all masses together that underflow to 0."""


@lru_cache(maxsize=1024)
def lost_mass(updates: int, epsilon: Fraction, steps: int) -> Fraction:
    """Pr[Bin(steps, 1/(1 + e^epsilon)) <= updates - 1], rounded up; at most 1."""
    # Fewer exceptions are likelier when the odds are smaller: round them down.
    odds = math.exp(-min(at_least(epsilon), 740.0)) * (1 - _SLACK)
    law = _binomial(steps, odds)
    inside = float(np.sum(law.masses[: max(0, updates - law.first)]))
    tail = (inside + law.left) / law.total * (1 + law.error) + _UNDERFLOW
    return rounded_up(min(Fraction(1), Fraction(tail)))


@lru_cache(maxsize=1024)
def optimal_composition(epsilon: Fraction, steps: int, target: Fraction) -> float:
    """The delta of `steps` adaptive epsilon-DP mechanisms at the target; rounded up.

    The worst are randomized responses, whose losses +epsilon and -epsilon add up
    [Kairouz-Oh-Viswanath 2015, Thm 3.3].
    """
    x = at_least(epsilon)
    odds = math.exp(min(x, 700.0)) * (1 + _SLACK)  # larger odds of a larger loss are worse
    law = _binomial(steps, odds)
    loss = (2.0 * (law.first + np.arange(len(law.masses))) - steps) * x
    over = loss + np.abs(loss) * _SLACK - at_most(target)
    gains = -np.expm1(-np.maximum(over, 0.0))
    gained = float(np.sum(law.masses * gains)) + law.left + law.right  # no gain is above 1
    return min(1.0, gained / law.total * (1 + law.error) + _UNDERFLOW)


@dataclass(frozen=True)
class _Binomial:
    """The masses of a binomial law near its mode, up to a factor, and what lies outside."""

    first: int
    """The number that the first mass belongs to."""
    masses: NDArray[np.float64]
    total: float
    """Their sum, not above the sum of all masses."""
    left: float
    """Not below the sum of the masses before the first."""
    right: float
    error: float
    """Of ratios, relative."""


def _binomial(steps: int, odds: float) -> _Binomial:
    """The law near its mode: further than 14 standard deviations hardly anything is left.

    Neighbouring masses have the ratio (steps - i)/(i + 1) odds. Multiplying up from the
    mode makes at most 4 roundings a step, sums one for each term, and nothing cancels. The
    ratios fall, so that outside the masses fall at least as fast as a geometric series.
    """
    middle, reach = int((steps + 1) * (odds / (1 + odds))), int(7 * math.sqrt(steps)) + 200
    first, last = max(0, middle - reach), min(steps, middle + reach)
    i = np.arange(first, last, dtype=np.float64)
    ratios = (steps - i) / (i + 1) * odds
    mode = int(np.searchsorted(-ratios, -1.0))  # the last one above 1
    up = np.cumprod(ratios[mode:])
    down = np.cumprod(1 / ratios[:mode][::-1])[::-1]
    masses = np.concatenate([down, [1.0], up])
    error = (8 * len(masses) + 64) * 2.0**-52
    left = 0.0 if first == 0 else _rest(masses[0], 1 / ratios[0])
    right = 0.0 if last == steps else _rest(masses[-1], ratios[-1])
    return _Binomial(first, masses, float(np.sum(masses)), left, right, error)


def _rest(mass: float, ratio: float) -> float:
    """A geometric series that falls at least as fast as this; all of it is below the mode."""
    if ratio >= 1:
        return math.inf
    return float(mass * ratio / (1 - ratio) * (1 + _SLACK)) + _UNDERFLOW
