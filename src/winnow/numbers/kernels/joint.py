"""Logarithms of weights of all lists of quantiles that end in a gap, one quantile after another.

Gaps stand in order. Of gap k it is known how many rows lie below its points: lo[k] .. hi[k]. With s
the rows that are wanted between two quantiles, a step from gap k' to k weighs exp(-c d), d being
how far s is from what can lie between: lo[k] - hi[k'] .. hi[k] - lo[k'].

Sums are of positive numbers only, so nothing cancels: an error of a logarithm is at most that of
the longest chain of additions. The far gaps are one running sum; of the near ones, which leave a
window, sums from both sides of a moving border are kept. So a level takes time in proportion to
its gaps.

Only + - * / and exact scaling are used, as in ``core.arithmetic``: a logarithm of a sum is known
to 2^-45, and to 2^-50 of its size.
"""

from __future__ import annotations

import math

import numpy as np

from winnow.core.kernels.compiled import bare, compiled

_LN2 = 0.6931471805599453
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10
_ATANH = tuple(1.0 / odd for odd in range(21, 1, -2))
_EXP = tuple(1.0 / math.factorial(j) for j in range(16, -1, -1))
_FAR = 60.0


def _exp_of(y):  # type: ignore[no-untyped-def]
    """exp y for -60 <= y <= 0, as ``core.arithmetic.exp``."""
    n = math.floor(y * 1.4426950408889634 + 0.5)
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    p = 0.0
    for coefficient in _EXP:
        p = p * r + coefficient
    return math.ldexp(p, int(n))


exp_of = bare(_exp_of)


def _log_one_plus(t):  # type: ignore[no-untyped-def]
    """log(1 + t) for 0 <= t <= 1."""
    whole, s = 0.0, t / (2.0 + t)
    if t > 0.41421356237309503:
        whole, s = _LN2, (t - 1.0) / (t + 3.0)
    z = s * s
    p = _ATANH[0] * z
    for coefficient in _ATANH[1:]:
        p = (p + coefficient) * z
    return whole + 2.0 * s * (p + 1.0)


log_one_plus = bare(_log_one_plus)


def _log_sum(x, y):  # type: ignore[no-untyped-def]
    """log(e^x + e^y); what is e^-60 of the other or less is left out."""
    top, least = max(x, y), min(x, y)
    if least < top - _FAR or least == -np.inf:
        return top
    return top + log_one_plus(exp_of(least - top))


log_sum = bare(_log_sum)


def _entered(before, lo, hi, slot, c, front, sums):  # type: ignore[no-untyped-def]
    """found[k] = log of the sum over k' < k of exp(before[k']) times the weight of the step."""
    far, back = -np.inf, -np.inf
    a, b, border = 0, 0, 0
    for k in range(len(lo)):
        if k > 0:
            far -= c * (lo[k] - lo[k - 1])
        while a < k and hi[a] <= lo[k] - slot:
            far = log_sum(far, before[a] - c * (lo[k] - slot - hi[a]))
            a += 1
        b = max(a, b)
        while b < k and lo[b] < hi[k] - slot:
            b += 1
        whole = far
        for between in range(a, b):
            whole = log_sum(whole, before[between])
        if b < k:
            if b >= border:  # what came since is turned into sums from this side
                front[k - 1] = before[k - 1]
                for i in range(k - 2, b - 1, -1):
                    front[i] = log_sum(before[i], front[i + 1] - c * (lo[i + 1] - lo[i]))
                border, back = k, -np.inf
            near = front[b] - c * (lo[b] - (hi[k] - slot))
            if border < k:
                near = log_sum(near, back - c * (lo[border] - (hi[k] - slot)))
            whole = log_sum(whole, near)
        elif border < k:
            border, back = k, -np.inf
        back = log_sum(back, before[k] - c * (lo[k] - lo[border]))
        sums[k] = whole


entered = bare(_entered)


def _lists(lo, hi, lists, slots, c, slack, first, ended, front):  # type: ignore[no-untyped-def]
    """first[j]: of lists whose quantile j is the first in a gap; ended[j]: that end there with it.

    ``lists[t - 1]``: the logarithm of how many ascending lists of t points a gap has. A gap's own
    lists are not in ``first``. Every sum is raised by ``slack``, the most that it can be off.
    """
    many, gaps = first.shape
    for j in range(many):
        if j == 0:
            for k in range(gaps):
                first[0, k] = -c * max(0.0, lo[k] - slots[0], slots[0] - hi[k])
        else:
            entered(ended[j - 1], lo, hi, slots[j], c, front, first[j])
            for k in range(gaps):
                first[j, k] += slack
        for k in range(gaps):
            front[k] = 0.0  # what a step inside the gap costs, so far
            ended[j, k] = first[j, k] + lists[0, k]
        for t in range(2, j + 2):
            within = slots[j - t + 2]
            for k in range(gaps):
                front[k] += c * max(0.0, within - (hi[k] - lo[k]))
                own = first[j - t + 1, k] + lists[t - 1, k] - front[k]
                if own > ended[j, k] - _FAR:
                    ended[j, k] = log_sum(ended[j, k], own)
        for k in range(gaps):
            ended[j, k] += slack


lists_by_gap = compiled(_lists)
