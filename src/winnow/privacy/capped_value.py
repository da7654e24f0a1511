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

Nothing is used of F_0 but that it is convex in x, falls and is 1 at x = 0. So all this holds with
what follows the run in a closed plan in the place of (1 - e^b)+, from bounds on it at the nodes of
a grid (``capped_step``): every residue of the nodes by e is a lattice of its own.

So any such G is a bound, however it was found. Here it is found by the best policy: above b = 0
an adversary takes A, which keeps its exceptions while it comes nearer, below it B. Then G_k follows
from G_(k-1) by two sums in opposite directions, which meet at b = 0. What is found is enlarged by
more than all roundings, and then the inequalities of the claim are checked at every point; where
one fails, as what follows the run may ask for another policy, G is raised by sweeps in both
directions until they hold. Beyond the upper end of the lattice G is its last value;
below the lower end it is on the chord in x = e^b from 1 at x = 0 to the first value,
G_k = 1 - g_k e^b. Both inequalities hold there: r e^-e = 1 - r, so that A is
1 - ((1 - r) g_k + r g_(k-1)) e^b, at most G_k because g falls with k, and likewise B.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from winnow.privacy.rounding import SLACK, at_least, at_most
from winnow.privacy.tight_steps import Floats, Step, padded

_ENLARGED = 1 + 2.0**-40
"""More than the rounding of a sum along the lattice; a thousand times c of it is nothing."""
_CHECK = 1 + float(SLACK)
_SWEEPS = 40
"""Each leaves at most r (1 - r), a quarter, of what is missing."""
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
    return min(1.0, float(_with_all(bound[:, None], updates, e, max(zero - low, 1))[-low, 0]))


def capped_step(updates: int, epsilon: Fraction, h: float, negative: int) -> Step:
    """From bounds on what follows capped rounds to bounds with them, on a grid of losses.

    ``negative`` is the number of nodes below 0. Epsilon is rounded up to whole cells.
    """
    cells = math.ceil(epsilon / Fraction(h))
    below = -negative % cells  # then 0 lies between the same rows of all lattices

    def step(after: Floats) -> Floats:
        above = -(len(after) + below) % cells
        rows = padded(after, below, above, h).reshape(-1, cells)
        zero = min(max((negative + below) // cells, 1), len(rows) - 1)
        found = _with_all(rows, updates, cells * h, zero).reshape(-1)
        return found[below : below + len(after)]

    return step


def _with_all(bound: Floats, updates: int, e: float, zero: int) -> Floats:
    """G_c from G_0, for a lattice in every column; 1 where it did not settle."""
    ray, rest = 1 / (1 + math.exp(-e)), 1 / (1 + math.exp(min(e, 700.0)))
    for _ in range(updates):
        following = _with_one_more(bound, ray, rest, zero)
        if following is None:
            return np.ones_like(bound)
        bound = following
    return bound


def _with_one_more(before: Floats, ray: float, rest: float, zero: int) -> Floats | None:
    """G_k from G_(k-1), with every inequality of the claim; None: it did not settle."""

    def lower(values: Floats) -> Floats:  # at b - e
        end = np.minimum((1 - rest / ray * (1 - values[:1])) * _CHECK, 1.0)
        return np.concatenate([end, values[:-1]])

    def higher(values: Floats) -> Floats:  # at b + e
        return np.concatenate([values[1:], values[-1:]])

    above, under = higher(before), lower(before)
    r, s = ray * _ENLARGED, rest * _ENLARGED
    nearer, farther = s * above, r * under
    # The two points around b = 0 refer to each other.
    first = (r * farther[zero - 1] + nearer[zero]) / (1 - r * s) * _ENLARGED
    last = s * first + farther[zero - 1]
    first, last = np.maximum(first, before[zero]), np.maximum(last, before[zero - 1])
    up = _followed(np.concatenate([first[None], before[zero + 1 :]]), r, nearer[zero:])
    down = _followed(
        np.concatenate([last[None], before[: zero - 1][::-1]]), s, farther[:zero][::-1]
    )
    found: Floats = np.minimum(np.concatenate([down[::-1], up]), 1.0)
    for _ in range(_SWEEPS):
        one = ray * lower(found) + rest * above
        other = rest * higher(found) + ray * under
        needed = np.minimum(np.maximum(one, other) * _CHECK, 1.0)
        if np.all(needed <= found):
            return found
        found = _followed(np.maximum(found, needed), r, nearer * _ENLARGED)
        found = _followed(found[::-1], s, farther[::-1] * _ENLARGED)[::-1]
        found = np.minimum(found * _ENLARGED, 1.0)
    return None


def _followed(least: Floats, ratio: float, values: Floats) -> Floats:
    """y_0 = c_0, y_i = the larger of c_i and ratio y_(i-1) + x_i, by doubling."""
    found, sums, step = least.copy(), values.copy(), 1
    while step < len(found) and ratio > 0:
        found[step:] = np.maximum(found[step:], ratio * found[:-step] + sums[step:])
        sums[step:] += ratio * sums[:-step]
        ratio, step = ratio * ratio, 2 * step
    return found


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
