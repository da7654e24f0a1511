"""Composition as Gaussian privacy: what a charge takes of a budget of two normals.

A budget of squared distance s allows whatever tells neighbours apart no better than two unit
normals at distance sqrt(s): (epsilon, F_s(epsilon))-DP at every epsilon at once [Dong-Roth-Su
2022], with, for x = e^a,

    F_s(a) = Phi(-a/sqrt(s) + sqrt(s)/2) - x Phi(-a/sqrt(s) - sqrt(s)/2),   F_0(a) = (1 - x)+.

*The filter.* A charge is granted if it leaves a residue s' >= 0 such that the event, followed by
two normals at distance sqrt(s'), is no worse than normals at distance sqrt(s): for all its laws
(p, q) and all a, E_p[F_s'(a - log(p/q))] <= F_s(a). Then s' takes the place of s [Regehr et al.
2026]. By induction from the last charge back, D(a) <= F_s(a) for everything from now on, whatever
an adversary chooses: D_j(a) = sup E_p[D_(j-1)(a - log(p/q))] <= E_p[F_s'(a - log(p/q))] <=
F_s(a). At the start s is the cap.

An event's own squared distance, added up, would be valid as well (the naive filter), and takes up
to pi/2 times as much: noise that follows smooths what an event does, and the residue counts that.
What an event takes never grows with the residue: normals that follow both sides change nothing.

``needed`` gives the least s that is proved for an event and a residue:

- *Gaussian noise*: s = s' + mu^2, exactly (``discrete_gaussian``).
- *PureDP*, epsilon = e. Its worst law is randomized response. With v_s(a) = e^(-a/2) F_s(a) +
  sinh(a/2), which is even in a (neighbours change places), E_p[F_s'(a - log(p/q))] <= F_s(a) reads

      U(a) = (v_s'(a - e) + v_s'(a + e))/(2 cosh(e/2)) - v_s(a) <= 0.

  v_s'' - v_s/4 = e^(-s/8) n_s, n_s the density of a normal of variance s. So U'' = U/4 + delta(a),
  with delta the difference of f1 = e^(-s'/8) (n_s'(a - e) + n_s'(a + e))/(2 cosh(e/2)) and
  f2 = e^(-s/8) n_s(a). log(f1/f2) = const - (1/s' - 1/s) a^2/2 + log cosh(e a/s') is concave in
  a^2, and f1 < f2 far out as s > s'. There U < 0: it is the integral of (e^b - e^a)(f1 - f2)
  e^(b/2) up to a factor. Let U(0) <= 0, and U be positive somewhere. At its largest value
  U'' <= 0, so delta < 0: it lies where f1 < f2, not far out, so in an interval around 0 with
  delta < 0 all over it. From 0, where U <= 0 and U' = 0, up to the first zero of U,
  U'' = U/4 + delta < 0: U falls and has no zero. So U <= 0 everywhere if and only if U(0) <= 0,
  which says that the total variation is no larger: tanh(e/2) + 2 F_s'(e)/(1 + e^e) <= F_s(0), which
  is erf(sqrt(s/8)). The least such s is taken. It is the best possible. (s - s' is pi/2 e^2 at
  s' = 0, 1.08 e^2 at s' = 2 e^2, and tends to e^2.)
- *BoundedRange* r, e = r/2: the worst laws have two losses at a distance of r. Let s > s' and
  c = s - s'. The loss is followed by a normal of variance s'; in the measure between the neighbours
  the log of its density over that of a normal of variance s has the second derivative
  -c/(s' s) + (variance of the loss given the sum)/s'^2, and that variance is at most e^2. So it is
  concave where e^2 s <= c s': two crossings, with equal masses and means, and the law of larger
  tails is above for every convex function [Karlin-Novikoff 1963]. That is c = e^2 s'/(s' - e^2).
  At s' = 0: two points (p, 1 - p) and (q, 1 - q) have log-odds r apart. They are two normals at the
  distance h(y + e) - h(y - e) at most, for h = Phi^-1 of the logistic function and some y. h is odd
  and concave above 0 (below), so the distance is largest at y = 0: that of PureDP(e). It serves for
  every s'; the smaller of the two counts.

  (With z = h(y) > 0, h'' has the sign of z Phi (1 - Phi) - phi (2 Phi - 1) at z. Of phi (2 Phi - 1)
  - z Phi (1 - Phi), which is 0 at 0 and at infinity, the slope is 2 phi^2 - Phi (1 - Phi), positive
  at 0, whose slope has the sign of 2 Phi - 1 - 4 z phi: it falls and then rises, from 0, once. So
  the first rises and then falls to 0, and is positive.)
- *Compose, Repeat*: from the last step back. *AnyOf*: the largest, which is enough for each.
- *ApproxDP, Truncated, CappedRounds*: what is left after the lost mass, which is counted beside.

A session that is charged as a whole may go on beside others: an interaction with such a bound is
one draw of a pair of laws with that bound, post-processed [Vadhan-Zhang 2023].
"""

from __future__ import annotations

import math
from fractions import Fraction

from winnow.core.checks import exact
from winnow.errors import GuaranteeError
from winnow.privacy.discrete_gaussian import normal_delta
from winnow.privacy.events import (
    AnyOf,
    ApproxDP,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    refuse_unknown,
)
from winnow.privacy.rounding import SLACK, at_least, at_most
from winnow.privacy.tight_grid import mu_squared

_SLACK = float(SLACK)
_FAR = 1000
"""Times e^2: at such a residue the bound for a range is within a thousandth of the best one."""
_LARGEST = 25.0
"""No normals at a distance that floats tell from others are no better than so large an epsilon."""
_ONE_BY_ONE = 64
"""Repetitions that are counted singly; then in groups of twice the size, at the group's residue."""
_HALVINGS = 60


def taken(event: Event, left: Fraction) -> Fraction:
    """What an event takes of a squared distance that is left; more than that: it does not fit."""
    high = at_most(left)
    least = needed(event, 0.0)
    if least > high:
        return _exactly(least)
    low, high = 0.0, high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if needed(event, middle) <= at_most(left) else (low, middle)
    return left - Fraction(low)


def needed(event: Event, residue: float) -> float:
    """The squared distance that pays for an event and leaves the residue; rounded up."""
    match event:
        case PureDP(epsilon) | ApproxDP(epsilon, _):
            return _responses(at_least(exact("epsilon", epsilon)), residue)
        case DiscreteLaplace(multiplier):
            return _responses(at_least(1 / exact("noise_multiplier", multiplier)), residue)
        case BoundedRange(epsilon):
            return _ranges(at_least(exact("epsilon", epsilon) / 2), residue)
        case Gaussian() | DiscreteGaussian():
            return (residue + at_least(mu_squared(event))) * (1 + _SLACK)
        case CappedRounds(_, epsilon, steps):
            return needed(Repeat(PureDP(epsilon, event.relation), steps), residue)
        case Repeat(inner, count):
            return _repeated(inner, count, residue)
        case Compose(events):
            for part in reversed(events):
                residue = needed(part, residue)
            return residue
        case AnyOf(events):
            return max(needed(part, residue) for part in events)
        case Truncated(inner, _):
            return needed(inner, residue)
        case _:
            refuse_unknown(event)


def _repeated(inner: Event, count: int, residue: float) -> float:
    group = 1
    done = 0
    while done < count and residue < math.inf:
        if done >= _ONE_BY_ONE:
            group = min(2 * group, count - done)
        each = needed(inner, residue) - residue
        if each == math.inf:
            return math.inf
        # ``needed`` is rounded up by more than what the difference loses.
        residue = (residue + at_least(group * Fraction(max(each, 0.0)))) * (1 + _SLACK)
        done += group
    return residue


def _responses(epsilon: float, residue: float) -> float:
    """For randomized response."""
    if epsilon > _LARGEST:
        return math.inf
    if residue > _FAR * epsilon**2:
        return _far(epsilon, residue)
    # p F(-e) + (1 - p) F(e), where F(-e) = 1 - e^-e (1 - F(e)).
    follows = normal_delta(Fraction(residue), Fraction(epsilon)) if residue else 0.0
    variation = (math.tanh(epsilon / 2) + 2 * follows / (1 + math.exp(epsilon))) * (1 + 4 * _SLACK)
    low, high = residue, residue + 1.6 * epsilon**2
    while _variation(high) < variation:
        low, high = high, 2 * high
        if high > _LARGEST**2:
            return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _variation(middle) < variation else (low, middle)
    return high


def _ranges(half: float, residue: float) -> float:
    """For a bounded range of twice ``half``."""
    if half > _LARGEST:
        return math.inf
    naive = residue + _responses(half, 0.0)
    bound = naive if residue <= half**2 else min(naive, _far(half, residue))
    return bound * (1 + _SLACK)


def _far(half: float, residue: float) -> float:
    squared = half**2 * (1 + _SLACK)
    if residue <= squared * (1 + _SLACK):
        return math.inf
    return residue + squared / (1 - squared / residue) * (1 + 4 * _SLACK) + residue * _SLACK


def _variation(squared: float) -> float:
    """The total variation of two normals, rounded down."""
    return math.erf(math.sqrt(squared / 8)) * (1 - 2 * _SLACK)


def _exactly(value: float) -> Fraction:
    if math.isinf(value):
        raise GuaranteeError(
            "no pair of normal distributions bounds this event; use the zcdp accountant"
        )
    return Fraction(value)
