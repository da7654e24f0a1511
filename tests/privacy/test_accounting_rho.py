"""The rho of every event, against the exact Renyi divergences of the laws it speaks of.

rho-zCDP says D_a <= a rho for all orders a > 1 (in both directions), so each test takes
the largest D_a/a over many orders and neighbours, and compares.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

from winnow import Relation
from winnow.privacy import ApproxDP, BoundedRange, DiscreteLaplace, Gaussian, PureDP, zcdp_cost

ADD = Relation.ADD_REMOVE
ORDERS = 1 + np.geomspace(1e-5, 1e5, 400)
SIZES = [1e-3, 0.05, 0.3, 1.0, 2.0, 5.0, 7.9, 8.1, 20.0]

Logs = NDArray[np.float64]


def largest_divergence(log_p: Logs, log_q: Logs, mass: float = 1.0) -> float:
    """The largest D_a/a over the orders, in both directions, for measures of this mass."""
    return max(
        float(np.max(_log_moments(p, p - q, mass) / (ORDERS - 1) / ORDERS))
        for p, q in ((log_p, log_q), (log_q, log_p))
    )


def _log_moments(log_p: Logs, loss: Logs, mass: float) -> Logs:
    """log of the sum of p e^((a-1) loss), for every order."""
    tilts = (ORDERS - 1)[:, None] * loss
    plain = logsumexp(log_p + tilts, axis=1)
    # Near a = 1 the sum is close to its mass and the division by a - 1 would magnify the
    # rounding errors of a plain sum, so there only the difference is summed.
    near = np.max(np.abs(tilts), axis=1) < 0.1
    excess = np.sum(np.exp(log_p) * np.expm1(np.where(near[:, None], tilts, 0.0)), axis=1)
    return np.where(near, math.log(mass) + np.log1p(excess / mass), plain)


def randomized_response(epsilon: float) -> tuple[Logs, Logs]:
    yes, no = -np.logaddexp(0, -epsilon), -np.logaddexp(0, epsilon)
    return np.array([yes, no]), np.array([no, yes])


@pytest.mark.parametrize("epsilon", SIZES)
def test_pure_dp_rho_is_the_best_bound_for_randomized_response(epsilon: float) -> None:
    rho = float(zcdp_cost(PureDP(epsilon, ADD)).rho)
    worst = largest_divergence(*randomized_response(epsilon))
    assert worst <= rho * (1 + 1e-9)
    assert worst >= rho * (1 - 1e-3)


@pytest.mark.parametrize("epsilon", SIZES)
def test_the_closed_form_of_randomized_response_in_the_proof(epsilon: float) -> None:
    log_p, log_q = randomized_response(epsilon)
    exponents = ORDERS[:, None] * log_p + (1 - ORDERS)[:, None] * log_q
    v = (ORDERS - 0.5) * epsilon

    def log_cosh(x: Logs) -> Logs:
        return np.abs(x) + np.log1p(np.exp(-2 * np.abs(x))) - math.log(2)

    closed = log_cosh(v) - log_cosh(np.array(epsilon / 2))
    np.testing.assert_allclose(logsumexp(exponents, axis=1), closed, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("epsilon", SIZES)
def test_pure_dp_rho_holds_for_other_pure_pairs(epsilon: float) -> None:
    rng = np.random.default_rng(7)
    rho = float(zcdp_cost(PureDP(epsilon, ADD)).rho)
    for _ in range(30):
        log_q = np.log(rng.dirichlet(np.ones(6)))
        half = rng.uniform(-epsilon / 2, epsilon / 2, 6)
        log_p = log_q + half
        log_p -= logsumexp(log_p)  # moves every log ratio by at most epsilon/2
        assert largest_divergence(log_p, log_q) <= rho * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", SIZES)
def test_bounded_range_rho_holds_for_the_two_point_family(epsilon: float) -> None:
    rho = float(zcdp_cost(BoundedRange(epsilon, ADD)).rho)
    worst = 0.0
    for t in np.linspace(0, epsilon, 202)[1:-1]:
        # Losses t and t - epsilon, the extreme pairs of bounded range.
        log_p = np.array([math.log(-math.expm1(t - epsilon)), t - epsilon + _log1mexp(t)])
        log_p -= math.log(-math.expm1(-epsilon))
        log_q = log_p - np.array([t, t - epsilon])
        assert logsumexp(log_q) == pytest.approx(0, abs=1e-9)
        worst = max(worst, largest_divergence(log_p, log_q))
    assert worst <= rho * (1 + 1e-9)
    if epsilon <= 0.3:
        assert worst >= rho * (1 - 5e-3)


def _log1mexp(t: float) -> float:
    return math.log(-math.expm1(-t))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_bounded_range_rho_holds_for_exponential_mechanisms(epsilon: float) -> None:
    rng = np.random.default_rng(8)
    rho = float(zcdp_cost(BoundedRange(epsilon, ADD)).rho)
    for _ in range(50):
        scores = rng.uniform(0, 5, 5)
        moved = scores + rng.choice([0, 1], 5)  # monotone, sensitivity 1: half_width 1/2
        log_p, log_q = epsilon * scores, epsilon * moved
        assert largest_divergence(log_p - logsumexp(log_p), log_q - logsumexp(log_q)) <= rho * (
            1 + 1e-9
        )


@pytest.mark.parametrize(
    ("x", "sensitivity"),
    [*((x, s) for x in (0.1, 0.5, 1.0, 3.0) for s in (1, 2, 5)), (0.02, 1)],
)
def test_discrete_laplace_rho_holds_for_its_exact_law(x: float, sensitivity: int) -> None:
    scale = sensitivity / x
    reach = int(40 * scale) + 60
    support = np.arange(-reach, reach + 1)
    log_p = -np.abs(support) / scale + math.log(math.tanh(1 / (2 * scale)))
    log_q = -np.abs(support - sensitivity) / scale + math.log(math.tanh(1 / (2 * scale)))
    rho = float(zcdp_cost(DiscreteLaplace(scale / sensitivity, ADD)).rho)
    worst = largest_divergence(log_p, log_q)
    assert worst <= rho * (1 + 1e-9)
    if sensitivity == 1:
        assert worst >= rho * (1 - 1e-3)
        assert worst > (x + math.expm1(-x)) * (1 - 1e-3)  # the continuous rho would be too small


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("sensitivity", [1, 2, 3])
def test_discrete_gaussian_rho_holds_for_its_exact_law(sigma: float, sensitivity: int) -> None:
    orders = 1 + np.geomspace(1e-3, 50, 60)
    reach = int(12 * sigma + 60 * sensitivity)
    support = np.arange(-reach, reach + 1)
    constant = logsumexp(-(support**2) / (2 * sigma**2))
    log_p = -(support**2) / (2 * sigma**2) - constant
    log_q = -((support - sensitivity) ** 2) / (2 * sigma**2) - constant
    rho = float(zcdp_cost(Gaussian(sigma / sensitivity, ADD)).rho)
    exponents = orders[:, None] * log_p + (1 - orders)[:, None] * log_q
    divergences = logsumexp(exponents, axis=1) / (orders - 1)
    assert np.max(divergences / orders) <= rho * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-6, 0.05, 0.5])
def test_approx_dp_is_truncated_zcdp(epsilon: float, delta: float) -> None:
    """The dominating pair minus its failures meets the definition, in both orders."""
    cost = zcdp_cost(ApproxDP(epsilon, delta, ADD))
    log_p, log_q = (side + math.log1p(-delta) for side in randomized_response(epsilon))
    assert math.exp(logsumexp(log_p)) == pytest.approx(1 - float(cost.delta))
    assert largest_divergence(log_p, log_q, 1 - delta) <= float(cost.rho) * (1 + 1e-9)
