"""Discrete Gaussian noise is no worse than continuous noise with a variance smaller by 1/11.

Claim. Integers with independent discrete Gaussian noise of parameters s_k^2 > 1/11, that
neighbours move by whole numbers m_k, are mu-GDP [Dong-Roth-Su 2022] with

    mu^2 = sum of m_k^2/(s_k^2 - 1/11):

no test tells the neighbours apart better than two unit normals at distance mu. So every
number that holds for these normals holds for the integers: delta at every epsilon, and the
tight accountant's recursion. (With the same variance it would be false: between the points of
the lattice the discrete law is a little worse. The least that would do is 1/12 for large s.)

Proof for one integer. Let p be the discrete law around 0, Pr[X >= z] = Pr[N >= y_z] with N
normal, and d_z = y_(z+1) - y_z. The likelihood ratio of X + m and X is monotone, so the best
tests are thresholds, with errors that are corners of the trade-off curve; corners above a
convex curve have their chords above it, too. So X is mu-GDP for a shift by m if y_(z+m) - y_z
<= mu for every z, which follows from d_z <= mu/m. Let d be the sup of the d_z; claimed is
d^2 <= 1/(s^2 - 1/11).

1. y_(1-z) = -y_z, and log Pr[X >= z] = -z^2/2s^2 + O(1), so y_z = z/s + O(log z/z) and d_z
   tends to 1/s. The sup is 1/s, and the claim holds, or it is reached at some z.
2. There let q(c) be the mass of a normal in the interval of length d around c. The cell of z
   has mass p(z) = q(c); its neighbours are no longer than d, so p(z+1) <= q(c+d) and
   p(z-1) <= q(c-d). With f = -log q:

       1/s^2 = -log(p(z+1) p(z-1)/p(z)^2) >= f(c+d) + f(c-d) - 2 f(c).

3. f'' = 1 - V, V the variance of u with density ~ exp(-u^2/2 - c u) on [-d/2, d/2]. V falls
   as |c| grows: take two copies, r = (u-u')/sqrt 2 and t = (u+u')/sqrt 2; then V = E[r^2], r
   given t has density ~ exp(-r^2/2) on |r| <= d/sqrt 2 - |t|, so that E[r^2 | t] falls with
   |t|, and |t| has a density ~ cosh(sqrt 2 c t) times what does not depend on c, so it grows
   with |c| in the order of likelihood ratios. Hence f'' grows with |c|, and so does the right
   side of (2), an average of f'' with a weight that falls from the middle. At c = 0 it is

       B(d) = 2 log(q(0)/q(d)) <= 1/s^2.

4. B grows with d: as a function of d, log of the mass in [i d, j d] has the slope 1/d minus d
   times the mean of u^2 over u in [i, j], and this mean is below 1/4 for q(0), above for q(d).
5. B(d) >= d^2/(1 + d^2/11). For d <= 1: V <= d^2/12 in (3) gives B(d) >= d^2 (1 - d^2/12),
   which is at least that. For d >= 6: B(6) > 13, and the right side is below 11. Between
   them both sides grow, and a table of B in small steps decides it
   (tests/privacy/test_discrete_gaussian.py).
6. Would d^2 be larger than D^2 = 1/(s^2 - 1/11), then B(d) > B(D) >= D^2/(1 + D^2/11) = 1/s^2,
   against (3).

Several integers: mu^2 adds up for independent ones, also when each is chosen by what was
released before [Dong-Roth-Su 2022, Cor 3.3].
"""

from __future__ import annotations

import math
from fractions import Fraction

from winnow.core.checks import Real, exact, positive, probability
from winnow.errors import GuaranteeError
from winnow.privacy.accountants import zcdp_epsilon, zcdp_rho
from winnow.privacy.rounding import SLACK, at_least, at_most, stated_at_most

LOWERED = Fraction(1, 11)
"""How much smaller the variance of the continuous noise is."""

_SLACK = float(SLACK)
_HALVINGS = 60
_LARGEST = 2.0**60


def continuous_ratio(squared_ratio: Fraction, least_variance: Fraction) -> Fraction:
    """mu^2 for integers whose m_k^2/s_k^2 sum to the ratio, with no s_k^2 below the least."""
    if least_variance <= LOWERED:
        raise GuaranteeError(
            f"the tight accountant needs Gaussian noise with a variance above {LOWERED}, and "
            f"{float(least_variance):g} was given; the zcdp accountant takes it"
        )
    return squared_ratio * least_variance / (least_variance - LOWERED)


def largest_squared_ratio(epsilon: Real, delta: Real, *, least_variance: Real) -> float:
    """The largest ``DiscreteGaussian.squared_ratio`` that is (epsilon, delta)-DP, rounded down.

    For integers with discrete Gaussian noise of different variances, none below
    ``least_variance``: what neighbours move them by, squared and divided by the variance, may
    add up to this. The better of two proofs: zCDP with rho = ratio/2, which holds for every
    variance [Canonne-Kamath-Steinke 2020], and the normals above.
    """
    positive(epsilon=epsilon, least_variance=least_variance)
    probability(delta=delta)
    target, allowed = exact("epsilon", epsilon), exact("delta", delta)
    least = exact("least_variance", least_variance)
    by_rho = 2 * exact("rho", zcdp_rho(target, allowed))
    ratio = by_rho
    if least > LOWERED:
        share = 1 - LOWERED / least
        ratio = max(ratio, Fraction(largest_distance(target, allowed)) * share)
    return stated_at_most(ratio)


def largest_distance(epsilon: Fraction, delta: Fraction) -> float:
    """The largest mu^2 for which two unit normals at distance mu are (epsilon, delta)-DP.

    Rounded down.
    """
    bound, low, high = at_most(delta), 0.0, 4.0 * zcdp_rho(epsilon, delta) + math.ulp(0.0)
    while high < _LARGEST and normal_delta(Fraction(high), epsilon) <= bound:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if normal_delta(Fraction(middle), epsilon) <= bound:
            low = middle
        else:
            high = middle
    return low


def normal_delta(mu_squared: Fraction, epsilon: Fraction) -> float:
    """delta of two unit normals at distance mu, rounded up [Balle-Wang 2018, Thm 8].

    Pr[N > a] - e^epsilon Pr[N > b] with a, b = epsilon/mu -+ mu/2; it grows with mu and falls
    with epsilon. a and b are off by less than 2^-50 b, which moves a tail by at most b + 1
    times that, relatively. A second term that no float can hold is left out.
    """
    if mu_squared == 0:
        return 0.0
    mu = math.sqrt(at_least(mu_squared)) * (1 + _SLACK)
    e = at_most(epsilon)
    a, b = e / mu - mu / 2, e / mu + mu / 2
    error = _SLACK * (4 + b * (b + 1))
    less = math.exp(e) * _tail(b) * max(0.0, 1 - error) if e < 700 else 0.0
    return min(1.0, max(0.0, _tail(a) * (1 + error) - less) + math.ulp(0.0))


def normal_epsilon(mu_squared: Fraction, delta: Fraction) -> float:
    """epsilon of two unit normals at distance mu, rounded up."""
    bound = at_most(delta)
    if normal_delta(mu_squared, Fraction(0)) <= bound:
        return 0.0
    low, high = 0.0, zcdp_epsilon(mu_squared / 2, delta)
    while normal_delta(mu_squared, Fraction(high)) > bound:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if normal_delta(mu_squared, Fraction(middle)) <= bound:
            high = middle
        else:
            low = middle
    return high


def _tail(z: float) -> float:
    """The mass of a standard normal above z."""
    return math.erfc(z / math.sqrt(2)) / 2
