"""Our accountant against Google's dp_accounting, used as an independent oracle.

Its event accountants are not used: release 0.6.0 ignores ``count`` for some events. The
privacy loss distributions themselves are built and composed here.
"""

from __future__ import annotations

import math

import pytest

from winnow import Relation
from winnow.privacy import (
    BoundedRange,
    Compose,
    DiscreteLaplace,
    Gaussian,
    PureDP,
    Repeat,
    guarantee_of,
    zcdp_delta,
    zcdp_epsilon,
)

pytestmark = pytest.mark.extras

dp_accounting = pytest.importorskip("dp_accounting")
pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")

ADD = Relation.ADD_REMOVE
GRID = 1e-4


@pytest.mark.parametrize("multiplier", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_gaussian_epsilon_is_above_the_exact_one_and_within_a_quarter(
    multiplier: float, count: int, delta: float
) -> None:
    loss = pld.from_gaussian_mechanism(
        multiplier / math.sqrt(count),
        value_discretization_interval=GRID,
        pessimistic_estimate=False,
    )
    exact = loss.get_epsilon_for_delta(delta)
    ours = guarantee_of(Repeat(Gaussian(multiplier, ADD), count), delta).epsilon
    assert exact <= ours <= 1.25 * exact + 1e-3


@pytest.mark.parametrize("multiplier", [2.0, 10.0])
@pytest.mark.parametrize("count", [1, 30])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_discrete_laplace_epsilon_is_above_the_exact_one(
    multiplier: float, count: int, delta: float
) -> None:
    loss = pld.from_discrete_laplace_mechanism(
        1 / multiplier,
        sensitivity=1,
        value_discretization_interval=GRID,
        pessimistic_estimate=False,
    ).self_compose(count)
    exact = loss.get_epsilon_for_delta(delta)
    ours = guarantee_of(Repeat(DiscreteLaplace(multiplier, ADD), count), delta).epsilon
    assert exact <= ours + 1e-3 <= 1.5 * exact + 0.02


@pytest.mark.parametrize("epsilon", [0.05, 0.5])
@pytest.mark.parametrize("count", [10, 100])
def test_pure_epsilon_is_above_the_exact_composition(epsilon: float, count: int) -> None:
    noise = 2 / (1 + math.exp(epsilon))  # probability of a uniform answer among two
    loss = pld.from_randomized_response(
        noise, 2, value_discretization_interval=GRID, pessimistic_estimate=False
    ).self_compose(count)
    exact = loss.get_epsilon_for_delta(1e-6)
    ours = guarantee_of(Repeat(PureDP(epsilon, ADD), count), 1e-6).epsilon
    assert exact <= ours + 1e-3 <= 1.3 * exact + 0.02


@pytest.mark.parametrize("rho", [1e-4, 0.0244, 0.5, 5.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_the_conversion_matches_theirs_over_many_orders(rho: float, delta: float) -> None:
    orders = [1 + math.exp(i / 40) for i in range(-200, 480)]
    theirs, _ = rdp.compute_epsilon(orders, [a * rho for a in orders], delta)
    ours = zcdp_epsilon(rho, delta)
    assert ours == pytest.approx(theirs, rel=1e-3)
    their_delta, _ = rdp.compute_delta(orders, [a * rho for a in orders], ours)
    assert zcdp_delta(rho, ours) == pytest.approx(min(1.0, their_delta), rel=1e-2)


def test_selection_and_measurement_composed_is_above_a_nonadaptive_oracle() -> None:
    """One bounded-range pair per round, the same t in all: a lower bound on the truth."""
    size, count, delta = 0.05, 50, 1e-6
    plan = Repeat(Compose((BoundedRange(size, ADD), DiscreteLaplace(1 / size, ADD))), count)
    measured = pld.from_discrete_laplace_mechanism(
        size, sensitivity=1, value_discretization_interval=GRID, pessimistic_estimate=False
    )
    ours = guarantee_of(plan, delta, "zcdp").epsilon
    worst = 0.0
    for t in (0.3 * size, 0.5 * size, 0.7 * size):
        p = math.expm1(t - size) / math.expm1(-size)
        lower = {0: math.log(p * math.exp(-t)), 1: math.log((1 - p) * math.exp(size - t))}
        upper = {0: math.log(p), 1: math.log(1 - p)}
        pair = pld.from_two_probability_mass_functions(
            lower, upper, value_discretization_interval=GRID, pessimistic_estimate=False
        )
        worst = max(worst, pair.compose(measured).self_compose(count).get_epsilon_for_delta(delta))
    assert worst <= ours <= 1.5 * worst
