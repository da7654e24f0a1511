"""What was spent so far without a cap: an epsilon at any delta that is valid at any time.

Theorem. Fix neighbours with output laws P and Q of the whole interaction, in which each event, and
the moment to stop, may depend on everything released before. Let L be the privacy loss so far, and
K(u) the sum of what the events so far have at the order u: log E_P[e^(u l)] <= k(u) for the loss l
of one event, given the past. Fix u_j > 0 and weights w_j > 0 that sum to 1, before anything is
released. Then M = sum_j w_j e^(u_j L - K(u_j)) is a nonnegative supermartingale under P that starts
at 1, since k(u) is known when the event is asked. So E_P[M] <= 1 at every stopping time. Read an
epsilon for which

    (1 - e^(epsilon - L))+ <= delta M                                                       (1)

whatever L is. Then for every set S of outcomes, at whatever time somebody stops and reads,

    P(S) <= E_Q[e^epsilon; S] + E_P[(1 - e^(epsilon - L))+] <= E_Q[e^epsilon; S] + delta.

(Where L is below a sum of pure epsilons for certain, that sum is such an epsilon, too.) So a set of
outcomes on all of which the reading is at most epsilon has P(S) <= e^epsilon Q(S) +
delta: an odometer [Rogers-Roth-Ullman-Vadhan 2016; Whitehouse-Ramdas-Rogers-Wu 2023; Lecuyer 2021].
A filter spends a cap that was fixed beforehand; the mixture over orders is the price of having
none, some 10 % of epsilon. Events with a delta of their own leave that mass out at their step, as
in ``cap``: their deltas so far come on top.

(1) from one number: log M is convex in L, with the slope v at L = epsilon, the mean of the u_j
under the terms of M there. So M(epsilon + x) >= M(epsilon) e^(v x), and (1 - e^-x) e^(-v x) is at
most v^v/(1 + v)^(1 + v): it is enough that delta M(epsilon) is at least that.

The k(u) of events, with Renyi divergence of order 1 + u: of *PureDP* that of randomized response
[Kairouz-Oh-Viswanath 2015]; of *BoundedRange* r the largest over two losses t and t - r, where the
mass of t is (1 - e^(t-r))/(1 - e^-r) [Dong-Durfee-Rogers 2020]: with a = 1 - e^(-r (1+u)) and
b = e^-r (1 - e^(-u r)) it is (a e^(u t) - b e^((1+u) t))/(1 - e^-r), largest at
e^t = a u/(b (1 + u)); of *Gaussian noise* u (1 + u) rho. None is above u (1 + u) rho. Compositions
add; of choices the largest counts, order by order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, probability
from winnow.core.relation import Relation
from winnow.errors import GuaranteeError
from winnow.privacy.accountants import pure_cost, zcdp_cost
from winnow.privacy.capped import lost_mass
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
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.rounding import SLACK, at_least, at_most, stated_at_least, text_up

Floats = NDArray[np.float64]

ORDERS: Floats = 2.0 ** (np.arange(-4, 31) / 2)
"""From 1/4 to 2^15, for epsilons from hundreds down to a ten-thousandth."""
_CENTRE = 7
"""The order 11 serves epsilons around 2 at a delta of 10^-6 best."""
_SHARES: Floats = 1 / (1 + np.abs(np.arange(-4, 31) - _CENTRE) / 4) ** 2
WEIGHTS: Floats = _SHARES / _SHARES.sum() * (1 - 2.0**-40)
_ERROR = 16 * float(SLACK)
_LARGEST = 1e6
_HALVINGS = 80
_HALF = math.log(2)


@dataclass(frozen=True)
class SpentSoFar:
    """What a series of events has at every order, and their own deltas."""

    relation: Relation
    sums: tuple[float, ...] = (0.0,) * len(ORDERS)
    delta: Fraction = Fraction(0)
    """Of events, besides what is read."""
    pure: Fraction | None = Fraction(0)
    """The sum of pure epsilons: no loss is larger; None: some event has none."""
    charges: int = 0

    def after(self, event: Event) -> SpentSoFar:
        """With one more event."""
        sums = (np.array(self.sums) + orders_of(event)) * (1 + float(SLACK))
        own = self.delta + zcdp_cost(event).delta
        pure = self.pure
        if pure is not None:
            try:
                pure += pure_cost(event).epsilon
            except GuaranteeError:
                pure = None
        return SpentSoFar(self.relation, tuple(sums.tolist()), own, pure, self.charges + 1)

    def epsilon(self, delta: Real) -> float:
        """What was spent at a delta besides the deltas of events; rounded up."""
        probability(delta=delta)
        most = math.inf if self.pure is None else stated_at_least(self.pure)
        if not self.charges:
            return 0.0
        wanted = math.log(at_most(exact("delta", delta)))
        low, high = 0.0, 1.0
        while not self._serves(high, wanted):
            low, high = high, 2 * high
            if high > _LARGEST:
                return most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._serves(middle, wanted) else (middle, high)
        return min(stated_at_least(Fraction(high)), most)

    def _serves(self, epsilon: float, wanted: float) -> bool:
        """Whether (1) holds, with more than all roundings to spare."""
        sums = np.array(self.sums)
        exponents = np.log(WEIGHTS) + ORDERS * epsilon - sums
        terms = exponents - _ERROR * (ORDERS * epsilon + np.where(sums < math.inf, sums, 0) + 40)
        largest = float(np.max(terms))
        parts = np.exp(terms - largest)
        slope = float(np.dot(parts, ORDERS) / np.sum(parts))
        found = largest + math.log(float(np.sum(parts)))
        most = -math.log1p(slope) - slope * math.log1p(1 / slope)
        return wanted + found - most >= _ERROR * (abs(wanted) + abs(found) + abs(most) + 1)

    def guarantee(self, delta: Real) -> Guarantee:
        """The statement at a delta, to which the deltas of events so far are added."""
        total = exact("delta", delta) + self.delta
        return Guarantee(self.epsilon(delta), min(1.0, stated_at_least(total)), self.relation)

    def reading(self, delta: Real) -> dict[str, float]:
        """The reading at a delta as plain data."""
        stated = self.guarantee(delta)
        return {"epsilon": stated.epsilon, "delta": stated.delta}

    def told(self, delta: Real) -> str:
        """The reading at a delta in words."""
        stated = self.guarantee(delta)
        epsilon, total = exact("epsilon", stated.epsilon), exact("delta", stated.delta)
        return f"epsilon {text_up(epsilon)} at delta {text_up(total)}, valid at any time"


def orders_of(event: Event) -> Floats:
    """The k(u) of an event at all orders; rounded up."""
    match event:
        case Repeat(inner, count):
            return count * orders_of(inner) * (1 + float(SLACK))
        case Compose(events):
            whole: Floats = np.sum([orders_of(each) for each in events], axis=0)
            return whole * (1 + len(events) * float(SLACK))
        case AnyOf(events):
            most: Floats = np.max([orders_of(each) for each in events], axis=0)
            return most
        case Truncated(inner, _):
            return orders_of(inner)
        case CappedRounds(updates, epsilon, steps):
            lost_mass(updates, exact("epsilon", epsilon), steps)  # what is lost comes on top
            return orders_of(Repeat(PureDP(epsilon, event.relation), steps))
        case PureDP(epsilon) | ApproxDP(epsilon, _):
            return _least(event, _responses(at_least(exact("epsilon", epsilon))))
        case DiscreteLaplace(multiplier):
            return _least(event, _responses(at_least(1 / exact("noise_multiplier", multiplier))))
        case BoundedRange(epsilon):
            return _least(event, _ranges(at_least(exact("epsilon", epsilon))))
        case Gaussian() | DiscreteGaussian():
            return _least(event, np.full(len(ORDERS), math.inf))
        case _:
            refuse_unknown(event)


def _least(event: Event, found: Floats) -> Floats:
    rho = at_least(zcdp_cost(event).rho)
    least: Floats = np.minimum(found, ORDERS * (1 + ORDERS) * rho * (1 + 4 * float(SLACK)))
    return least


def _responses(e: float) -> Floats:
    """log((e^((1+u) e) + e^(-u e))/(1 + e^e))."""
    u = ORDERS
    found = u * e + np.log1p(np.exp(-(1 + 2 * u) * e)) - math.log1p(math.exp(-e))
    return np.minimum(found + _ERROR * (u * e + 2), u * e * (1 + _ERROR))


def _ranges(r: float) -> Floats:
    """The largest over t."""
    u = ORDERS
    above, part = _log_of_rest(r * (1 + u)), _log_of_rest(u * r)
    ratio, whole = -np.log1p(1 / u), math.log(-math.expm1(-r))
    t = above + ratio + r - part
    found = above + u * t - np.log1p(u) - whole
    size = (1 + u) * (np.abs(above) + np.abs(part) - ratio + r) + abs(whole) + np.log1p(u)
    return np.minimum(found + _ERROR * size, u * r * (1 + _ERROR))


def _log_of_rest(x: Floats) -> Floats:
    """log(1 - e^-x), to a relative error: where it is near 0, u times it is not."""
    far = np.log1p(-np.exp(-np.maximum(x, _HALF)))
    return np.where(x < _HALF, np.log(-np.expm1(-np.minimum(x, _HALF))), far)
