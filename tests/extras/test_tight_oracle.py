"""The tight accountant against dp-accounting's privacy loss distributions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from winnow import Relation, calibrate
from winnow.privacy import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    PureDP,
    Repeat,
    tight_delta,
    tight_epsilon,
)
from winnow.privacy.discrete_gaussian import continuous_ratio
from winnow.privacy.loss_laws import gaussian_losses

pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
pytestmark = pytest.mark.extras

ADD = Relation.ADD_REMOVE
GRID = 1e-4


@pytest.mark.parametrize("multiplier", [3.0, 10.0, 40.0])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_one_measurement_dominates_the_discrete_gaussian(
    multiplier: float, sensitivity: int
) -> None:
    theirs = pld.from_discrete_gaussian_mechanism(
        multiplier * sensitivity,
        sensitivity=sensitivity,
        value_discretization_interval=GRID,
        pessimistic_estimate=False,
    )
    h, squared = 2 / multiplier / 64, Fraction(multiplier) ** 2
    law = gaussian_losses(continuous_ratio(1 / squared, squared), h)
    loss = h * (law.first + np.arange(len(law.masses)))
    for epsilon in np.linspace(0, 4 / multiplier, 9):
        ours = float(np.sum(law.masses * -np.expm1(np.minimum(epsilon - loss, 0)))) + law.infinite
        assert theirs.get_delta_for_epsilon(epsilon) <= ours * (1 + 1e-6)


@pytest.mark.parametrize(("multiplier", "count"), [(10.0, 1), (20.0, 20), (60.0, 100)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_rounds_of_gaussian_noise_agree(multiplier: float, count: int, delta: float) -> None:
    exact = pld.from_gaussian_mechanism(
        multiplier / math.sqrt(count),
        value_discretization_interval=GRID,
        pessimistic_estimate=False,
    ).get_epsilon_for_delta(delta)
    ours = tight_epsilon(Repeat(Gaussian(multiplier, ADD), count), delta)
    lowered = multiplier / math.sqrt(multiplier**2 - 1 / 11)
    assert exact * (1 - 1e-3) <= ours <= exact * lowered * (1 + 1e-3)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_calibrated_noise_keeps_to_its_target_by_the_discrete_law(
    epsilon: float, sensitivity: int
) -> None:
    found = calibrate(
        lambda x: DiscreteGaussian(x * x, sensitivity**2 / x**2, ADD), epsilon=epsilon, delta=1e-6
    )
    theirs = pld.from_discrete_gaussian_mechanism(
        sensitivity / found.parameter,
        sensitivity=sensitivity,
        value_discretization_interval=GRID,
        pessimistic_estimate=False,
    )
    # dp-accounting cuts the tails of the law, which it counts as lost
    assert theirs.get_delta_for_epsilon(epsilon) <= 1e-6 * (1 + 1e-3)


@pytest.mark.parametrize("variances", [(1.0, 2.0, 5.0), (0.5, 0.75), (3.0,) * 6])
def test_tables_with_different_noise_stay_below_the_event_of_all_of_them(
    variances: tuple[float, ...],
) -> None:
    """One cell of each table moves by 1, as when a person is added."""
    parts = [
        pld.from_discrete_gaussian_mechanism(
            math.sqrt(v), sensitivity=1, value_discretization_interval=1e-3,
            pessimistic_estimate=False,
        )
        for v in variances
    ]  # fmt: skip
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    ratio = sum(1 / Fraction(v) for v in variances)
    event = DiscreteGaussian(ratio, Fraction(min(variances)), ADD)
    for epsilon in (0.0, 1.0, 3.0, 6.0):
        ours = tight_delta(event, epsilon)
        theirs = whole.get_delta_for_epsilon(epsilon)
        assert theirs <= ours * (1 + 1e-3) + 1e-9
        if ours > 1e-6 and min(variances) >= 1:
            assert ours <= 4 * theirs  # some percent of noise, and the least variance for all


@pytest.mark.parametrize(("multiplier", "count"), [(2.0, 1), (5.0, 10), (20.0, 100)])
def test_rounds_of_discrete_laplace_noise_agree(multiplier: float, count: int) -> None:
    theirs = pld.from_discrete_laplace_mechanism(
        1 / multiplier, sensitivity=1, value_discretization_interval=GRID
    ).self_compose(count)
    for epsilon in (0.0, 0.2, 1.0):
        ours = tight_delta(Repeat(DiscreteLaplace(multiplier, ADD), count), epsilon)
        assert ours == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=0.01, abs=1e-9)


def test_rounds_of_randomized_response_agree() -> None:
    theirs = pld.from_randomized_response(
        2 / (1 + math.exp(0.1)), 2, value_discretization_interval=GRID
    ).self_compose(50)
    ours = tight_epsilon(Repeat(PureDP(0.1, ADD), 50), 1e-6)
    assert ours == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=2e-3)
