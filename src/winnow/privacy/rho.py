"""The least rho of a bound on log ratios: of pure privacy, and of bounded range."""

from __future__ import annotations

import math
from fractions import Fraction

from winnow.privacy.rounding import SLACK, at_least, rounded_up

_ERROR = float(SLACK)
"""Of a float64 formula, relative to the sum of the magnitudes of its terms."""
_LARGE = 1e15
"""The logarithm of a larger epsilon is lost in its rounding."""


def randomized_response_rho(epsilon: Fraction) -> Fraction:
    """The rho of pure epsilon-DP: epsilon tanh(epsilon/2), rounded up; never above epsilon^2/2.

    Proof. Every epsilon-DP pair is a post-processing of randomized response, whose loss
    is +epsilon or -epsilon [Kairouz-Oh-Viswanath 2015], so its Renyi divergence D_a is
    largest there:

        exp((a-1) D_a) = (e^(a eps) + e^((1-a) eps))/(1 + e^eps)
                       = cosh((a - 1/2) eps)/cosh(eps/2).

    f(v) = log cosh(eps sqrt(v)) has slope eps tanh(eps sqrt(v))/(2 sqrt(v)), which
    decreases, so f is concave and lies below its tangent at v = 1/4, of slope
    eps tanh(eps/2). At v = (a - 1/2)^2, where v - 1/4 = a (a-1):

        (a-1) D_a = f(v) - f(1/4) <= a (a-1) eps tanh(eps/2).

    It is the best possible: as a -> 1 both sides become the Kullback-Leibler divergence.
    """
    half = epsilon / 2
    # tanh is 1 in float64 long before 40, and tanh(x) <= x absorbs the slack for small x.
    tanh = Fraction(math.tanh(min(at_least(half), 40.0))) * (1 + SLACK)
    return rounded_up(epsilon * min(tanh, half, Fraction(1)))


def bounded_range_rho(epsilon: Fraction) -> Fraction:
    """The least rho of epsilon-bounded range: y - 1 + e^-y, y = log((e^epsilon - 1)/epsilon).

    Rounded up; about epsilon^2/8 - epsilon^4/576.

    Proof. Let the log ratios of P to Q lie in [t - eps, t]. x^a is convex, so of all laws with this
    range E_Q[(P/Q)^a] is largest for the two that sit at its ends, with the losses t and t - eps.
    Let K(a) be the logarithm of that moment: K(0) = K(1) = 0, and (a - 1) D_a = K(a). So D_a/a is
    the divided difference K(a)/(a (a - 1)) = K[0, 1, a] = E[K''(S)]/2, where S has the triangular
    density on [0, a] with its peak at 1 (Peano). K'' is the variance of a loss with two values eps
    apart, K''(s) = eps^2 g(c + eps s), where g(z) = 1/(2 + 2 cosh z) falls with |z|, and c runs
    over all reals as t runs over (0, eps).

    The sup over c of E[g(c + eps S)] falls in a. The density of S at its u-quantile is
    2 sqrt(u/a) for u <= 1/a and 2 sqrt((1 - u)/(a (a - 1))) otherwise, which falls in a: for a
    larger a, S is phi(S) of the smaller one with phi' >= 1. Take the best c for phi(S), and let s*
    be where c + eps phi is nearest to 0. Then eps |s - s*| <= |c + eps phi(s)| for all s, so that
    the shift -eps s* is at least as good for S.

    So the sup of D_a/a over a > 1 is that of a -> 1, the largest Kullback-Leibler divergence of
    the two-point laws: the maximum over t of t - eps (e^t - 1)/(e^eps - 1), at t = y. It is
    reached, so it is the best possible. [exact constant: arXiv 2510.25746]
    """
    if epsilon < Fraction(1, 2):  # the formula below would cancel
        # log(sinh(z)/z) is below these terms of its series, which alternates for z < pi.
        z = epsilon / 2
        y = z + z**2 / 6 - z**4 / 180 + z**6 / 2835 - z**8 / 37800 + z**10 / 467775
        # The series of y - 1 + e^-y alternates, too, and ends with a positive term here.
        rho = sum(((-y) ** n / math.factorial(n) for n in range(2, 13)), Fraction(0))
        return rounded_up(rho)
    size = at_least(epsilon)
    if size > _LARGE:  # y is below epsilon
        return rounded_up(epsilon)
    y_up = (size + math.log1p(-math.exp(-size)) - math.log(size)) * (1 + 8 * _ERROR)
    # y - 1 + e^-y grows with y; all terms are at most size + 2.
    return rounded_up(Fraction(y_up - 1 + math.exp(-y_up)) + Fraction(8 * _ERROR) * (epsilon + 2))
