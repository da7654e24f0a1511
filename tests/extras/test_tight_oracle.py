"""The tight accountant against dp-accounting's privacy loss distributions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from winnow import Relation
from winnow.privacy import DiscreteLaplace, Gaussian, PureDP, Repeat, tight_delta, tight_epsilon
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
    h = 2 / multiplier / 64
    law = gaussian_losses(Fraction(multiplier), h)
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
    lowered = multiplier / math.sqrt(multiplier**2 - 2)
    assert exact * (1 - 1e-3) <= ours <= exact * lowered * (1 + 5e-3)


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
