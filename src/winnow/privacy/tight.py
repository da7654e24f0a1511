"""The tight accountant: what a closed plan of rounds really leaks, as nearly as a grid can say.

For neighbours with output laws P and Q, (epsilon, delta)-DP means D(epsilon) <= delta with

    D(a) = sup over sets S of P(S) - e^a Q(S) = E_P[(1 - e^(a - L))+],   L = log(P/Q).

A plan is a fixed sequence of mechanisms; which query each one asks may depend on what was
released before. From the last step back, with D_0(a) = (1 - e^a)+ for the empty plan,

    D_j(a) = sup over the laws (p, q) that step j may have of E_p[D_(j-1)(a - log(p/q))]

bounds D for everything from step j on, against every adaptive adversary: the sup is taken
inside the recursion, anew at every a. Written in x = e^a, D_j is a sup of averages of
F(x q/p) with F convex and falling from F(0) = 1, hence so again.

- *Measurement*: one law dominates all (``loss_laws``); D_j is a convolution with it. Discrete
  Gaussian noise is dominated by two normals (``discrete_gaussian``); a plan of nothing else is
  two normals again, at the distance mu with mu^2 summed up, and needs no grid.
- *Bounded range* r: log(p/q) lies in [t - r, t] for some t in [0, r]. F is convex, so the
  sup over laws is reached at the two ends, at the losses t and t - r; the masses add up to
  1 under P and under Q, so that of t is p_t = (1 - e^(t-r))/(1 - e^-r)
  [Dong-Durfee-Rogers 2020]. The sup over t stays. (A single t for all rounds is what a
  non-adaptive adversary can do; as a bound on adaptive ones it is wrong.)

- *AnyOf*: which event runs depends on what was released before, so the sup of the recursion
  runs over the laws of all of them: D_j is the largest of theirs, point by point. A largest of
  convex functions that fall from 1 is one again. Choices after which nothing follows, and that are
  too long for the recursion, have D(a) <= d + the delta of their rho at a, and below 0
  D(a) = 1 - e^a (1 - D(-a)).
- *CappedRounds*: by the value iteration of ``capped_value``. A run that is alone has its own
  lattice there, and at most the lost mass beside the composition of its steps.
- *Truncated*: P >= P~ = f P* and Q >= Q~ = f Q*, with laws P*, Q* of the inner event, 0 <= f <= 1
  a function of the output, and P~ of mass 1 - delta or more. p F(x q/p) is convex and homogeneous
  in (p, q), so it is subadditive; and it is at most p F(0) = p. So

      E_P[F(x q/p)] <= E_P*[f F(x q*/p*)] + (1 - mass of P~) <= E_P*[F(x q*/p*)] + delta.

The family of each step is closed under exchanging P and Q, so one D serves both.

*On a grid* a_k = a_0 + k h only upper bounds on D at the nodes are kept. Why every rounding
is upward:

1. Between two nodes D lies below the chord in x, because it is convex in x; below the
   grid, under the chord from D = 1 at x = 0; above the grid, under its last value. So a
   bound at the nodes is a bound everywhere, and enlarging D_(j-1) enlarges D_j.
2. A range is rounded up to a multiple of h; bounded range r implies every larger range.
3. Sup over t: let t lie in [i h, (i+1) h] and w = e^-t. On this cell the chords at a - t
   and a - t + r are straight in w, say A + B w and A' + B' w, and with e = e^-r

       p_t (A + B w) + (1 - p_t)(A' + B' w) = const + C w - e (A - A')/((1 - e) w).

   Where A <= A' it is convex, largest at an end of the cell. Otherwise it is concave and
   above the larger end by at most (cell)^2/8 times its largest second derivative, which is
   added: e (A - A') (w_0 - w_1)^2/(4 (1 - e) w_1^3). Both ends are on the grid.
4. All terms of sums and products are nonnegative, so float64 errors are relative; after
   every step the result is multiplied by 1 plus more than they can amount to. Sums are
   direct, not by Fourier transform, whose error is not relative.

Valid for plans that were fixed beforehand. A ``Budget`` never uses it: no filter for
adaptively chosen events is known that would.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

import numpy as np

from winnow.core.checks import Real, exact, nonnegative, probability
from winnow.errors import GuaranteeError
from winnow.privacy.accountants import zcdp_cost, zcdp_epsilon
from winnow.privacy.capped import lost_mass, optimal_composition
from winnow.privacy.capped_value import capped_delta, capped_epsilon, capped_step
from winnow.privacy.discrete_gaussian import normal_delta, normal_epsilon
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
    check_event,
    describe,
    refuse_unknown,
)
from winnow.privacy.loss_laws import LossLaw, gaussian_losses, randomized_response_losses
from winnow.privacy.rounding import SLACK, at_least, at_most
from winnow.privacy.tight_grid import LossGrid, Single, grid_for, mu_squared
from winnow.privacy.tight_steps import (
    Floats,
    Step,
    bounded_range_step,
    measurement_step,
    summed_bound,
)

_SLACK = float(SLACK)
MOST_WORK = 1e9
"""Vector elements touched by one run of the recursion: about a second."""

QUICK_WORK = 1e8
"""Vector elements touched where nobody asked for this accountant: a tenth of a second."""

WORTH = Fraction(1, 100)
"""Unless it gains so much, relatively, pure privacy is preferred."""


def tight_delta(event: Event, epsilon: Real, *, work: float = MOST_WORK) -> float:
    """A delta at which the closed plan is (epsilon, delta)-DP; rounded up, at most 1.

    ``work`` limits how fine the grid is; a plan that is too long for it is refused.
    """
    check_event(event)
    nonnegative(epsilon=epsilon)
    return _tight_delta(event, exact("epsilon", epsilon), work)


def tight_epsilon(event: Event, delta: Real, *, work: float = MOST_WORK) -> float:
    """An epsilon at which the closed plan is (epsilon, delta)-DP, rounded up."""
    check_event(event)
    probability(delta=delta)
    return _tight_epsilon(event, exact("delta", delta), work)


@lru_cache(maxsize=64)
def _tight_delta(event: Event, epsilon: Fraction, work: float) -> float:
    match event:
        case AnyOf(events):  # nothing came before it: the dearest
            return max(_tight_delta(part, epsilon, work) for part in events)
        case Truncated(inner, lost):
            whole = (_tight_delta(inner, epsilon, work) + at_least(exact("delta", lost))) * (
                1 + _SLACK
            )
            return min(1.0, whole)
        case CappedRounds(updates, size, steps):
            e = exact("epsilon", size)
            summed = at_least(lost_mass(updates, e, steps)) + optimal_composition(e, steps, epsilon)
            return min(summed * (1 + _SLACK), capped_delta(updates, e, epsilon))
    normals = _normals(event)
    if normals is not None:
        return normal_delta(normals, epsilon)
    anchor = at_most(epsilon)
    grid = grid_for(event, anchor, anchor, work)
    return min(1.0, float(_run(event, grid)[-grid.low]))


@lru_cache(maxsize=64)
def _tight_epsilon(event: Event, delta: Fraction, work: float) -> float:
    match event:
        case AnyOf(events):
            return max(_tight_epsilon(part, delta, work) for part in events)
        case Truncated(inner, lost) if exact("delta", lost) < delta:
            return _tight_epsilon(inner, delta - exact("delta", lost), work)
        case CappedRounds(updates, size, _):
            known = math.inf
            with suppress(GuaranteeError):
                known = _on_grid(event, delta, work)
            epsilon_found = capped_epsilon(updates, exact("epsilon", size), delta)
            if min(epsilon_found, known) < math.inf:
                return min(epsilon_found, known)
            raise GuaranteeError(
                f"{describe(event)} is too long or too costly for the tight accountant; the zcdp "
                "accountant takes it"
            )
    normals = _normals(event)
    if normals is not None:
        return normal_epsilon(normals, delta)
    return _on_grid(event, delta, work)


def _on_grid(event: Event, delta: Fraction, work: float) -> float:
    """The epsilon at a delta by the recursion."""
    cost = zcdp_cost(event)
    if cost.delta >= delta:
        raise GuaranteeError(
            f"{describe(event)} has a delta of its own that leaves no room; ask for a larger delta"
        )
    grid = grid_for(event, 0.0, zcdp_epsilon(cost.rho, delta - cost.delta), work)
    bound = _run(event, grid)[-grid.low :]  # at 0, h, 2 h, ...
    target = at_most(delta)
    below = np.flatnonzero(bound <= target)
    if not below.size:
        raise GuaranteeError(
            f"the tight accountant's grid does not reach delta={target:g} for {describe(event)}; "
            "the zcdp accountant does"
        )
    k = int(below[0])
    if k == 0:
        return 0.0
    # Where the chord in x = e^a from above delta to below it meets delta.
    part = float((bound[k - 1] - target) / (bound[k - 1] - bound[k])) * (1 + _SLACK)
    inside = math.log1p(min(1.0, part) * math.expm1(grid.h)) * (1 + _SLACK)
    return ((k - 1) * grid.h + inside) * (1 + _SLACK)


def _run(event: Event, grid: LossGrid) -> Floats:
    """Upper bounds on D of the whole plan at the nodes."""
    steps: dict[Single, Step] = {}
    offsets = grid.h * np.arange(grid.low, grid.high + 1)
    # The node may be this much lower than its float64 says.
    nodes = grid.anchor + offsets - 4 * _SLACK * (abs(grid.anchor) + np.abs(offsets))
    bound: Floats = -np.expm1(np.minimum(nodes, 0.0)) * (1 + _SLACK)

    def before(event: Event, after: Floats) -> Floats:
        """Bounds on D of an event and all that follows it, from bounds on what follows."""
        match event:
            case Repeat(inner, count):
                for _ in range(count):
                    after = before(inner, after)
                return after
            case Compose(events):
                for part in reversed(events):
                    after = before(part, after)
                return after
            case AnyOf(events):
                kinds = [
                    summed_bound(zcdp_cost(part), nodes)
                    if part in grid.summed and after is bound
                    else before(part, after)
                    for part in events
                ]
                choices: Floats = np.max(kinds, axis=0)
                return choices
            case Truncated(inner, delta):
                lost = at_least(exact("delta", delta))
                return np.minimum((before(inner, after) + lost) * (1 + _SLACK), 1.0)
            case (
                PureDP()
                | BoundedRange()
                | DiscreteLaplace()
                | Gaussian()
                | DiscreteGaussian()
                | ApproxDP()
                | CappedRounds()
            ):
                if event not in steps:
                    steps[event] = _step(event, grid)
                return np.minimum(steps[event](after), 1.0)
            case _:
                refuse_unknown(event)

    return before(event, bound)


def _normals(event: Event) -> Fraction | None:
    """mu^2 of a plan that is nothing but Gaussian noise."""
    match event:
        case Gaussian() | DiscreteGaussian():
            return mu_squared(event)
        case Repeat(inner, count):
            one = _normals(inner)
            return None if one is None else count * one
        case Compose(events):
            total = Fraction(0)
            for part in events:
                one = _normals(part)
                if one is None:
                    return None
                total += one
            return total
        case _:
            return None


def _step(single: Single, grid: LossGrid) -> Step:
    h = grid.h
    match single:
        case BoundedRange(epsilon):
            return bounded_range_step(math.ceil(exact("epsilon", epsilon) / Fraction(h)), h)
        case PureDP(epsilon):
            return measurement_step(randomized_response_losses(exact("epsilon", epsilon), h), h)
        case DiscreteLaplace(multiplier):
            x = 1 / exact("noise_multiplier", multiplier)
            return measurement_step(randomized_response_losses(x, h), h)
        case Gaussian() | DiscreteGaussian():
            return measurement_step(gaussian_losses(mu_squared(single), h), h)
        case ApproxDP(epsilon, delta):
            law = randomized_response_losses(exact("epsilon", epsilon), h)
            lost = at_least(exact("delta", delta))
            return measurement_step(LossLaw(law.first, law.masses, lost), h)
        case CappedRounds(updates, epsilon, _):
            return capped_step(updates, exact("epsilon", epsilon), h, grid.negative)
        case never:
            assert_never(never)
