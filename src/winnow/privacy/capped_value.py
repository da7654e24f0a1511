"""The best that an adversary can do with capped rounds, by value iteration on a lattice.

``capped`` says what capped rounds are, and splits every round into one that does not look at the
data and an *access* that is e-DP. Let F_k(b) be the largest delta that an adversary can still
reach, by any number of rounds and choosing each by what it saw, when k exceptions are left and
b = a - L is the level minus the privacy loss so far:

    F_0(b) = (1 - e^b)+,    F_k(b) = sup over rounds of E_P[F_next(b - log(p/q))].

The delta of a run with c exceptions at the level a is F_c(a).

Claim. With r = 1/(1 + e^-e), whoever has numbers G_k on the lattice b = a + j e such that
G_0 >= F_0, G_k >= G_(k-1) and

    G_k(b) >= A = r G_k(b - e) + (1 - r) G_(k-1)(b + e),
    G_k(b) >= B = (1 - r) G_k(b + e) + r G_(k-1)(b - e)

has F_k <= G_k there.

Proof. By induction over the number n of rounds that may still come; let F_k be the sup over these.
In x = e^b it is a sup of averages, hence convex, and p F(x q/p) is subadditive in (p, q). Let
"no update" have the probabilities p >= p' under the neighbours (the other case is the mirrored
one). In parts: w (1, 1) without looking, and 1 - w times an access whose "no update" has the ratio
e^e; its exceptions have ratios between e^-e and e^e, so each pair is a sum of two with those two.
All of the access together has probabilities that sum to 1 under both, so those with the ratio e^e
have r under P, those with e^-e have 1 - r. With p0 <= r for "no update" the round reaches at most

    w F_k(b) + (1 - w) (p0 F_k(b - e) + (r - p0) F_(k-1)(b - e) + (1 - r) F_(k-1)(b + e)),

F for n - 1 rounds. It is no larger with G for F, with p0 = r, as G_k >= G_(k-1), and so at most
w G_k(b) + (1 - w) A <= G_k(b). In the mirrored case "no update" has the ratio e^-e, and B stands
for A.

So any such G is a bound, however it was found. Here it is found by the best policy: above b = 0
an adversary takes A, which keeps its exceptions while it comes nearer, below it B. Then G_k follows
from G_(k-1) by two sums in opposite directions, which meet at b = 0. What is found is enlarged by
more than all roundings, and then the inequalities of the claim are checked at every point; where
one fails, G is raised until it holds. Beyond the upper end of the lattice G is its last value;
below the lower end it is on the chord in x = e^b from 1 at x = 0 to the first value,
G_k = 1 - g_k e^b. Both inequalities hold there: r e^-e = 1 - r, so that A is
1 - ((1 - r) g_k + r g_(k-1)) e^b, at most G_k because g falls with k, and likewise B.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.privacy.rounding import SLACK, at_least, at_most

Floats = NDArray[np.float64]

_ENLARGED = 1 + 2.0**-40
"""More than the rounding of a sum along the lattice; a thousand times c of it is nothing."""
_CHECK = 1 + float(SLACK)
_RAISES = 64
_FARTHER = 150
"""A run that keeps its exceptions so often has a probability of 2^-150, as long as e is small."""
_LARGEST_WORK = 1 << 21
"""Points of the lattice times exceptions: about a thousand of these, and a third of a second. Of
more the gain on the sum of both bounds is below 2 % of epsilon (it is 8 % for 20 exceptions)."""
_LOOKS = 80
_LARGEST_EPSILON = 100.0
_WIDTH = 1e-6
"""Of epsilon, relatively, when the search for it ends."""


@lru_cache(maxsize=1024)
def capped_delta(updates: int, epsilon: Fraction, target: Fraction) -> float:
    """The delta at the target of rounds that end after so many exceptions; rounded up.

    1 where the lattice would be too long, or a round may tell nearly all.
    """
    e, a = at_least(epsilon), at_most(target)
    if not a >= 0 or e > 30:
        return 1.0
    # Farther from the start, or from b = 0, a run comes with a probability of e^-72 at most.
    spread = math.ceil(12 * math.sqrt(2 * updates)) + 40
    reach = min(updates + 2, spread)
    zero = math.ceil(-a / e)  # the first point with b >= 0, nearly
    toward = spread + _FARTHER + math.ceil(4 * updates * math.tanh(e / 2))
    low, high = max(zero - reach, -toward) - 2, reach + 2
    if (high - low) * updates > _LARGEST_WORK:
        return 1.0
    j = np.arange(low, high + 1, dtype=np.float64)
    levels = a + j * e
    levels -= 4 * float(SLACK) * (a + np.abs(j) * e)  # a point may be this much lower
    bound: Floats = -np.expm1(np.minimum(levels, 0.0)) * _CHECK
    ray, rest = 1 / (1 + math.exp(-e)), 1 / (1 + math.exp(e))
    for _ in range(updates):
        following = _with_one_more(bound, ray, rest, max(zero - low, 1))
        if following is None:
            return 1.0
        bound = following
    return min(1.0, float(bound[-low]))


def _with_one_more(before: Floats, ray: float, rest: float, zero: int) -> Floats | None:
    """G_k from G_(k-1), with every inequality of the claim; None: it did not settle."""

    def lower(values: Floats) -> Floats:  # at b - e
        end = min(1.0, (1 - rest / ray * (1 - values[0])) * _CHECK)
        return np.append(end, values[:-1])

    def higher(values: Floats) -> Floats:  # at b + e
        return np.append(values[1:], values[-1])

    above, under = higher(before), lower(before)
    r, s = ray * _ENLARGED, rest * _ENLARGED
    nearer, farther = s * above, r * under
    # The two points around b = 0 refer to each other.
    first = (r * farther[zero - 1] + nearer[zero]) / (1 - r * s) * _ENLARGED
    last = s * first + farther[zero - 1]
    up = _summed(np.concatenate([[first], nearer[zero + 1 :]]), r)
    down = _summed(np.concatenate([[last], farther[: zero - 1][::-1]]), s)[::-1]
    raised: Floats = np.minimum(np.maximum(np.concatenate([down, up]), before), 1.0)
    for _ in range(_RAISES):
        one = ray * lower(raised) + rest * above
        other = rest * higher(raised) + ray * under
        needed = np.minimum(np.maximum(one, other) * _CHECK, 1.0)
        if np.all(needed <= raised):
            return raised
        raised = np.maximum(raised, needed * _CHECK).clip(max=1.0)
    return None


def _summed(values: Floats, ratio: float) -> Floats:
    """y_0 = x_0, y_i = ratio y_(i-1) + x_i, by doubling."""
    sums, step = values.copy(), 1
    while step < len(sums) and ratio > 0:
        sums[step:] += ratio * sums[:-step]
        ratio, step = ratio * ratio, 2 * step
    return sums


def capped_epsilon(updates: int, epsilon: Fraction, delta: Fraction) -> float:
    """The epsilon at a delta of rounds that end after so many exceptions; rounded up.

    Infinite where there is none up to ``_LARGEST_EPSILON``, or the lattice would be too long.
    """
    allowed = math.log(at_most(delta))

    def surplus(level: float) -> float:
        delta = capped_delta(updates, epsilon, Fraction(level))
        return math.log(delta) - allowed if delta > 0 else -1e4

    low = high = (0.0, surplus(0.0))
    while high[1] > 0:
        level = 2 * high[0] or at_least(epsilon)
        if level > _LARGEST_EPSILON:
            return math.inf
        low, high = high, (level, surplus(level))
    for turn in range(_LOOKS):
        width = _WIDTH * high[0]
        if high[0] - low[0] <= width:
            break
        # log delta is nearly straight in epsilon; a little to both sides of where it meets
        level = low[0] + (high[0] - low[0]) * low[1] / (low[1] - high[1])
        if turn % 4 == 3:
            level = (low[0] + high[0]) / 2
        level += width / 3 if turn % 2 else -width / 3
        level = min(max(level, low[0] + width / 4), high[0] - width / 4)
        over = surplus(level)
        low, high = ((level, over), high) if over > 0 else (low, (level, over))
    return high[0]
