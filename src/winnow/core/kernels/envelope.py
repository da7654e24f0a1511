"""Compiled pieces of exact envelope samplers: propose by integers, accept by a proven filter.

The loop of them all is ``rejection``; ``draw_state.run_on`` brings it words of the tape and decides
what its filter leaves open. Rejections elsewhere have proposals of another kind, and a proof beside
them:

- ``core.exponential_choice``: a class by whole weights a little too large, then its member;
- ``numbers.crossing.joint``: a way through gaps by whole weights, then points in these;
- ``core.noise``: discrete Laplace for discrete Gaussian numbers; ``core.box_noise``: a sum of
  geometric numbers; ``core.noisy_top.integer_noise``: anew, beyond a bound;
- ``core.noisy_top.rounds``: the first noise of a block, then a coin for the item's own score;
- ``select.kernels.first_passing``: the first rank by a hazard that is too high;
- ``lp.kernels.lazy_columns``: columns by 2^bound as here, in batches of NumPy, which needs no
  compiled loop; ``lp.kernels.scalar_uniform``: rows under one bound as here, fetched ahead.

A candidate i has the exponent x_i = beta s_i, s_i a whole number, and a certified bound
x_i <= b_i ln 2 with whole b_i. Propose i with probability ~ 2^(b_i), accept it with probability
exp(x_i - b_i ln 2), else start again: an attempt returns i with probability e^(x_i)/W, where
W = sum 2^(b_i), so what is returned has the law e^(x_i)/Z, whatever the bounds are and however
they were changed between attempts. Signed candidates (i, s), s = +1 or -1 with the exponent
s x_i and |x_i| <= b_i ln 2, work the same way: the sign is one more bit of the proposal.

Integers only: relative to the largest bound e the weight of i is 2^max(0, b_i - e + r), where
r is such that all weights sum to less than 2^61; raising a bound is always allowed. A uniform
whole number below the total picks candidate and sign.

Acceptance: V uniform in (0, 1), accept iff V <= exp(-g), g = b ln 2 - x. One tape item gives
the first 32 bits of V. The filter uses + - * / of doubles only; u = 2^-53.

    x:        |fl(beta) fl(s) - x| <= 3.01 u |x|        (three roundings)
    b ln 2:   error <= 2.01 u |b| ln 2
    sum:      rounding <= 1.01 u (|x| + |b| ln 2)
    together  < 2^-50 (|x| + |b| ln 2); `margin` allows 2^-48 (|x| + |b| ln 2 + 1)
    exp:      Cody-Waite reduction to |r| <= 0.35, Taylor to order 13 (0.35^14/14! < 2^-57),
              relative error < 2^-48 in all; 2^-46 is allowed.

What the filter leaves open, about once in 2^31 tests, is decided by ``exact_acceptance``.
"""

from __future__ import annotations

import math

import numpy as np

from winnow.core.kernels.compiled import bare

LN2 = 0.6931471805599453
_LN2_HIGH = 0.6931471803691238  # 33 bits: products with small whole numbers are exact
_LN2_LOW = 1.9082149292705877e-10
_TAYLOR = tuple(1.0 / math.factorial(j) for j in range(13, -1, -1))
_POWERS = np.array([2.0**n for n in range(-8, 40)])

REJECT, ACCEPT, OPEN = 0, 1, 2


@bare
def exponent_bound(score, per_unit):  # type: ignore[no-untyped-def]
    """A whole b with beta |score| <= b ln 2; `per_unit` is beta/ln 2, rounded up by 2^-48."""
    return np.int64(np.ceil(abs(np.float64(score)) * per_unit))


@bare
def _scaled_exp(y):  # type: ignore[no-untyped-def]
    """2^32 exp(y) for -24 <= y <= 4, with a relative error below 2^-46."""
    n = np.floor(y * 1.4426950408889634 + 0.5)
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    p = 0.0
    for coefficient in _TAYLOR:
        p = p * r + coefficient
    return p * _POWERS[np.int64(n) + 40]


@bare
def decide(word, score, beta, bound):  # type: ignore[no-untyped-def]
    """Whether V <= exp(beta score - bound ln 2), from the first 32 bits of V."""
    x = beta * np.float64(score)
    shift = np.float64(bound) * LN2
    y = x - shift
    margin = 2.0**-48 * (abs(x) + abs(shift) + 1.0)
    if margin > 2.0**-10 or y > 1.0:
        return OPEN
    if y < -24.0:  # exp(y) < 2^-34
        return REJECT if word > 0 else OPEN
    chance = _scaled_exp(y)
    error = chance * (2.0 * margin + 2.0**-46)
    k = np.float64(word)
    if k + 1.0 <= chance - error:
        return ACCEPT
    if k >= chance + error:
        return REJECT
    return OPEN


@bare
def surely_rejected(word, y):  # type: ignore[no-untyped-def]
    """Whether V > exp(z) for every z <= y + 2^-30, from the first 32 bits of V."""
    if y > -0.001:
        return False
    if y < -24.0:
        return word > 0
    return np.float64(word) >= _scaled_exp(y) * (1.0 + 2.0**-20)


@bare
def raised(x):  # type: ignore[no-untyped-def]
    """x, raised by more than the rounding of a few sums of that size."""
    return x + (abs(x) * 2.0**-48 + 1e-9)


@bare
def mask_for(bound):  # type: ignore[no-untyped-def]
    """The smallest 2^n - 1 that is at least bound - 1."""
    mask = np.uint64(bound - 1)
    mask |= mask >> np.uint64(1)
    mask |= mask >> np.uint64(2)
    mask |= mask >> np.uint64(4)
    mask |= mask >> np.uint64(8)
    mask |= mask >> np.uint64(16)
    mask |= mask >> np.uint64(32)
    return mask


@bare
def below(bound, words, place):  # type: ignore[no-untyped-def]
    """A uniform whole number below `bound` < 2^62, and the next unused word.

    Each trial takes two words. Returns -1 when the words do not suffice.
    """
    mask = mask_for(bound)
    while place + 2 <= words.shape[0]:
        value = (np.uint64(words[place]) << np.uint64(32)) | np.uint64(words[place + 1])
        place += 2
        value &= mask
        if value < np.uint64(bound):
            return np.int64(value), place
    return np.int64(-1), place
