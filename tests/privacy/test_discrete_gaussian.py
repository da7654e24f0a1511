"""Discrete Gaussian noise against continuous noise with the variance smaller by 1/11."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from reference.adaptive_adversary import hockey_stick
from winnow import InputError, Relation, as_substitution, calibrate
from winnow.privacy import (
    Compose,
    DiscreteGaussian,
    Gaussian,
    Repeat,
    from_json,
    guarantee_of,
    largest_squared_ratio,
    promise,
    tight_delta,
    tight_epsilon,
    to_json,
    zcdp_cost,
    zcdp_delta,
)
from winnow.privacy.discrete_gaussian import LOWERED, normal_delta, normal_epsilon

ADD = Relation.ADD_REMOVE
Floats = NDArray[np.float64]


def _law(variance: float, shift: int) -> Floats:
    reach = math.ceil(14 * math.sqrt(variance)) + 4
    weights = np.exp(-((np.arange(-reach, reach + 1) - shift) ** 2) / (2 * variance))
    return np.asarray(weights / weights.sum())


def _pair(variances: list[float], shifts: list[int]) -> tuple[Floats, Floats]:
    """Both laws of several integers, all outcomes in a row."""
    p, q = np.ones(1), np.ones(1)
    for variance, shift in zip(variances, shifts, strict=True):
        p = np.multiply.outer(p, _law(variance, shift)).ravel()
        q = np.multiply.outer(q, _law(variance, 0)).ravel()
    return p, q


# The proof.


def _bend(d: Floats) -> Floats:
    """B of the proof: the least second difference of -log of a normal's mass in cells of d."""
    middle = special.erf(d / 2**1.5)
    beside = (special.erfc(d / 2**1.5) - special.erfc(3 * d / 2**1.5)) / 2
    return np.asarray(2 * np.log(middle / beside))


def test_the_table_that_decides_the_last_step_of_the_proof() -> None:
    """Both sides grow, so the left end of each step against the right end of the other side."""
    d = np.linspace(1, 6, 100_001)
    bend, needed = _bend(d), d**2 / (1 + d**2 / 11)
    assert np.all(bend[:-1] > needed[1:] * (1 + 1e-9))
    assert np.all(np.diff(bend) > 0) and bend[-1] > 13
    # It is nearly the best constant: a smaller one fails.
    assert np.any(bend < d**2 / (1 + d**2 * 0.0900))


@pytest.mark.parametrize("variance", [0.1, 0.16, 0.36, 1.0, 4.0, 50.0])
def test_normal_quantiles_of_the_discrete_law_are_no_further_apart(variance: float) -> None:
    """The claim for one integer; the widest cell is the one in the middle."""
    tail = np.cumsum(_law(variance, 0)[::-1])[::-1]  # Pr[X >= z]
    reach = len(tail) // 2
    y = special.ndtri(tail[reach + 1 : reach + 1 + math.ceil(6 * math.sqrt(variance)) + 1]) * -1
    widths = np.concatenate([[2 * y[0]], np.diff(y[np.isfinite(y)])])
    assert widths.argmax() == 0
    assert widths.max() ** 2 <= 1 / (variance - float(LOWERED))
    if variance >= 0.16:
        assert widths.max() ** 2 >= 1 / (variance - 0.078)  # 1/12 for large ones


# Exact enumeration: different variances, different shifts, all levels.

CASES = [
    ([0.36], [1]), ([0.5], [2]), ([2.0], [3]), ([1.0, 3.0], [1, 1]), ([0.4, 2.5], [1, -2]),
    ([1.0, 1.0], [1, -1]), ([0.5, 0.75, 1.25], [1, 1, 1]), ([2.0, 0.3, 1.0], [2, 0, 1]),
]  # fmt: skip


def _event(variances: list[float], shifts: list[int]) -> DiscreteGaussian:
    squares = (Fraction(m) ** 2 / Fraction(v) for v, m in zip(variances, shifts, strict=True))
    return DiscreteGaussian(sum(squares), Fraction(min(variances)), ADD)


def _understated(lowered: float) -> bool:
    """Whether some delta of some case passes that of normals with so much less variance."""
    for variances, shifts in CASES:
        event = _event(variances, shifts)
        least = min(variances)
        mu = math.sqrt(float(event.squared_ratio) * least / (least - lowered))
        p, q = _pair(variances, shifts)
        for a in np.linspace(0, mu * mu / 2 + 4 * mu, 60):
            normal = stats.norm.sf(a / mu - mu / 2) - math.exp(a) * stats.norm.sf(a / mu + mu / 2)
            if max(hockey_stick(p, q, a), hockey_stick(q, p, a)) > normal + 1e-13:
                return True
    return False


def test_no_outcome_of_several_integers_passes_the_normals() -> None:
    assert not _understated(float(LOWERED))


def test_the_same_check_catches_noise_that_is_not_lowered() -> None:
    assert _understated(0.0)


@pytest.mark.parametrize(("variances", "shifts"), CASES)
def test_the_accountants_state_no_less_than_enumeration_finds(
    variances: list[float], shifts: list[int]
) -> None:
    event = _event(variances, shifts)
    p, q = _pair(variances, shifts)
    rho = zcdp_cost(event).rho
    assert rho == pytest.approx(float(event.squared_ratio) / 2, rel=1e-15)
    for a in np.linspace(0, 8, 17):
        reached = max(hockey_stick(p, q, a), hockey_stick(q, p, a))
        assert reached <= tight_delta(event, float(a)) * (1 + 1e-9) + 1e-13
        assert reached <= zcdp_delta(rho, float(a)) * (1 + 1e-9) + 1e-13


def test_integers_chosen_by_earlier_answers_stay_below() -> None:
    """An adversary that picks how the second integer moves, with what variance, after the first.

    Each integer has its part of the sum fixed beforehand: 1 and 1/2.
    """
    first, choices = _pair([1.0], [1]), [_pair([2.0], [1]), _pair([8.0], [2]), _pair([2.0], [-1])]
    event = DiscreteGaussian(Fraction(3, 2), 1, ADD)
    for a in np.linspace(0, 5, 11):
        reached = 0.0
        for one, other in zip(*first, strict=True):
            if one > 1e-15 and other > 0:
                level = a - math.log(one / other)
                reached += one * max(hockey_stick(p, q, level) for p, q in choices)
        assert reached <= tight_delta(event, float(a)) + 1e-12


# The numbers of two normals.


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 5.0])
def test_the_delta_of_normals_is_exact_and_rounded_up(mu: float) -> None:
    squared = Fraction(mu) ** 2
    for a in np.linspace(0, mu * mu / 2 + 6 * mu, 13):
        exact = special.ndtr(mu / 2 - a / mu) - math.exp(a) * special.ndtr(-mu / 2 - a / mu)
        stated = normal_delta(squared, Fraction(float(a)))
        assert exact - 1e-15 <= stated <= exact * (1 + 1e-9) + 1e-13
    epsilon = normal_epsilon(squared, Fraction(1, 10**6))
    assert normal_delta(squared, Fraction(epsilon)) <= 1e-6
    assert epsilon == 0 or normal_delta(squared, Fraction(epsilon * (1 - 1e-6))) > 1e-6


def test_extreme_numbers_stay_on_the_safe_side() -> None:
    assert normal_delta(Fraction(10**9), Fraction(1)) == 1.0
    assert 0 < normal_delta(Fraction(1, 10**12), Fraction(1)) < 1e-300
    assert normal_epsilon(Fraction(10**6), Fraction(1, 10**300)) > 10**5
    assert normal_delta(Fraction(2000), Fraction(900)) > 0.5


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1, 1e-6), (4, 1e-6), (8, 1e-3)])
@pytest.mark.parametrize("least", [Fraction(1, 12), Fraction(1, 2), 1, 1000])
def test_the_largest_ratio_meets_its_target_and_nothing_larger_does(
    epsilon: float, delta: float, least: Fraction | int
) -> None:
    ratio = largest_squared_ratio(epsilon, delta, least_variance=least)
    event = DiscreteGaussian(ratio, least, ADD)
    assert guarantee_of(event, delta).epsilon <= epsilon * (1 + 1e-9)
    larger = DiscreteGaussian(ratio * 1.001, least, ADD)
    assert guarantee_of(larger, delta).epsilon > epsilon
    by_rho = 2 * calibrate(
        lambda x: DiscreteGaussian(2 * x, least, ADD), epsilon=epsilon, delta=delta,
        accountant="zcdp",
    ).parameter  # fmt: skip
    assert ratio >= by_rho * (1 - 1e-12)
    if least == 1000:
        assert ratio > 1.05 * by_rho


# The event.


def test_the_event_survives_storage_exactly() -> None:
    event = DiscreteGaussian(Fraction(7, 12) + Fraction(1, 9), Fraction(22, 7), "substitution")
    stored = to_json(event)
    assert stored == {
        "type": "DiscreteGaussian", "squared_ratio": "25/36", "least_variance": "22/7",
        "relation": "substitution",
    }  # fmt: skip
    assert from_json(stored) == event
    assert zcdp_cost(DiscreteGaussian(Fraction(1, 4), 1, ADD)).rho == Fraction(1, 8)


def test_events_that_were_stored_without_a_variance_keep_their_meaning() -> None:
    old = from_json({"type": "Gaussian", "noise_multiplier": 3, "relation": "add-remove"})
    assert old == Gaussian(3, ADD)
    same = DiscreteGaussian(Fraction(1, 9), 9, ADD)
    for a in (0, 0.3, 1):
        assert tight_delta(old, a) == tight_delta(same, a)
    assert zcdp_cost(old) == zcdp_cost(same)


def test_a_replaced_person_moves_twice_as_far() -> None:
    event = DiscreteGaussian(Fraction(1, 9), 5, ADD)
    assert as_substitution(event) == DiscreteGaussian(Fraction(4, 9), 5, "substitution")


def test_gaussian_plans_add_up_without_a_grid() -> None:
    one, other = DiscreteGaussian(Fraction(1, 50), 10, ADD), Gaussian(9, ADD)
    plan = Compose((Repeat(one, 10**6), other))
    mu = 10**6 / 50 * 10 / (10 - Fraction(1, 11)) + 1 / (81 - Fraction(1, 11))
    assert tight_epsilon(plan, 1e-6) == normal_epsilon(mu, Fraction(1, 10**6))
    orders = itertools.permutations((one, other, one))
    assert len({tight_delta(Compose(order), 0.5) for order in orders}) == 1


def test_the_promise_of_a_joint_release() -> None:
    promised = promise(
        "discrete-gaussian", "additive-joint", ADD, squared_ratio=Fraction(1, 3), least_variance=2
    )
    assert promised.event == DiscreteGaussian(Fraction(1, 3), 2, ADD)
    with pytest.raises(InputError, match="squared_ratio and least_variance"):
        promise("discrete-gaussian", "additive-joint", ADD, squared_ratio=1)
    with pytest.raises(InputError, match="only"):
        promise(
            "discrete-gaussian", "additive-joint", ADD, squared_ratio=1, least_variance=1, epsilon=1
        )
    with pytest.raises(InputError, match="takes no squared_ratio"):
        promise("discrete-gaussian", "additive", ADD, noise_multiplier=1, squared_ratio=1)
