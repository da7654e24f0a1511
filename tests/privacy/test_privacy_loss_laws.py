"""Loss laws on a grid dominate the exact laws that they stand for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from reference.adaptive_adversary import hockey_stick
from winnow import GuaranteeError
from winnow.privacy.discrete_gaussian import continuous_ratio
from winnow.privacy.loss_laws import LossLaw, gaussian_losses, randomized_response_losses


def delta(law: LossLaw, h: float, a: float) -> float:
    loss = h * (law.first + np.arange(len(law.masses)))
    return float(np.sum(law.masses * -np.expm1(np.minimum(a - loss, 0)))) + law.infinite


def masses(law: LossLaw, h: float) -> tuple[float, float]:
    """The total mass under P and under Q."""
    loss = h * (law.first + np.arange(len(law.masses)))
    total = float(law.masses.sum()) + law.infinite
    return total, float(np.sum(law.masses * np.exp(-loss)))


def discrete_gaussians(sigma: float, shift: tuple[int, ...]) -> list[NDArray[np.float64]]:
    """Both laws of an integer vector with discrete Gaussian noise, all outcomes in a row."""
    reach = math.ceil(14 * sigma) + max(shift)
    z = np.arange(-reach, reach + 1)
    found = []
    for by in (0, 1):
        law = np.ones(1)
        for step in shift:
            weights = np.exp(-((z - by * step) ** 2) / (2 * sigma**2))
            law = np.multiply.outer(law, weights / weights.sum()).ravel()
        found.append(law)
    return found


def _mu_squared(multiplier: float) -> Fraction:
    squared = Fraction(multiplier) ** 2
    return continuous_ratio(1 / squared, squared)


@pytest.mark.parametrize("multiplier", [0.7, 1.6, 10.0])
@pytest.mark.parametrize("shift", [(1,), (2,), (3,), (1, 1), (2, 1)])
@pytest.mark.parametrize("cells", [8, 64])
def test_the_gaussian_law_dominates_the_discrete_one_at_every_sensitivity(
    multiplier: float, shift: tuple[int, ...], cells: int
) -> None:
    sensitivity = math.hypot(*shift)
    p, q = discrete_gaussians(multiplier * sensitivity, shift)
    h = 2 / multiplier / cells
    law = gaussian_losses(_mu_squared(multiplier), h)
    for a in np.linspace(-3 / multiplier, 6 / multiplier, 19):
        assert hockey_stick(p, q, a) <= delta(law, h, a) + 1e-15
        assert hockey_stick(q, p, a) <= delta(law, h, a) + 1e-15


def test_a_continuous_law_of_the_same_variance_would_not_dominate() -> None:
    """Why the variance is lowered: without it the bound fails between lattice points."""
    multiplier = 3.0
    p, q = discrete_gaussians(multiplier, (1,))
    mu = 1 / multiplier
    broken = 0
    for a in np.linspace(0, 1.5, 61):
        upper, lower = (math.erfc((a / mu + s * mu / 2) / math.sqrt(2)) / 2 for s in (-1, 1))
        broken += hockey_stick(p, q, a) > upper - math.exp(a) * lower
    assert broken


@settings(max_examples=30, deadline=None)
@given(st.floats(0.4, 500), st.floats(0.005, 0.3))
def test_gaussian_laws_have_mass_one_and_no_more_than_one(multiplier: float, cell: float) -> None:
    h = cell / multiplier
    law = gaussian_losses(_mu_squared(multiplier), h)
    under_p, under_q = masses(law, h)
    assert np.all(law.masses >= 0) and 0 < law.infinite < 1e-18
    assert 1 <= under_p <= 1 + 1e-6
    assert 1 - 1e-6 <= under_q <= 1
    # The spread costs little: the mean of the loss is that of the lowered variance.
    loss = h * (law.first + np.arange(len(law.masses)))
    mean = float(_mu_squared(multiplier)) / 2
    assert mean <= law.masses @ loss <= mean + h**2 / 4 + 1e-6


@settings(max_examples=100, deadline=None)
@given(st.fractions(Fraction(1, 1000), 5), st.floats(0.001, 0.7))
def test_randomized_response_is_dominated_by_its_law(epsilon: Fraction, h: float) -> None:
    law = randomized_response_losses(epsilon, h)
    x = float(epsilon)
    p = np.array([1 / (1 + math.exp(-x)), 1 / (1 + math.exp(x))])
    under_p, under_q = masses(law, h)
    assert 1 <= under_p <= 1 + 1e-12 and under_q == pytest.approx(1)
    for a in np.linspace(-1.2 * x, 1.2 * x, 13):
        assert hockey_stick(p, p[::-1], a) <= delta(law, h, a) + 1e-14


def test_losses_on_the_grid_are_kept_as_they_are() -> None:
    law = randomized_response_losses(Fraction(1, 2), 0.125)
    support = law.first + np.flatnonzero(law.masses > 1e-12)
    assert support.tolist() == [-4, 4]


def test_too_little_noise_is_refused() -> None:
    with pytest.raises(GuaranteeError, match="too little"):
        gaussian_losses(Fraction(300), 0.01)
    with pytest.raises(GuaranteeError, match="above 1/11"):
        continuous_ratio(Fraction(1), Fraction(1, 11))
