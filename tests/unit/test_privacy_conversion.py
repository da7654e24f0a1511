"""zCDP and (epsilon, delta): against brute force, and on the safe side everywhere."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from winnow.errors import InputError
from winnow.privacy import zcdp_delta, zcdp_epsilon, zcdp_rho


def log_delta_at(log_u: float, rho: float, epsilon: float) -> float:
    """Prop. 12 of Canonne-Kamath-Steinke 2020 at the order a = 1 + e^log_u, as printed."""
    a = 1 + math.exp(log_u)
    return (a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1)


def brute_log_delta(rho: float, epsilon: float) -> float:
    grid = np.linspace(-12, 20, 400)
    start = min(grid, key=lambda t: log_delta_at(t, rho, epsilon))
    found = optimize.minimize_scalar(
        log_delta_at,
        bounds=(start - 0.2, start + 0.2),
        args=(rho, epsilon),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return min(0.0, float(found.fun))


ordinary_rho = st.floats(1e-5, 20)
ordinary_epsilon = st.floats(1e-2, 30)
ordinary_delta = st.floats(1e-12, 0.5)


@given(ordinary_rho, ordinary_epsilon)
def test_delta_matches_brute_force_minimisation(rho: float, epsilon: float) -> None:
    expected = brute_log_delta(rho, epsilon)
    delta = zcdp_delta(rho, epsilon)
    if expected > -700:
        assert math.log(delta) == pytest.approx(expected, abs=1e-6, rel=1e-7)


@given(ordinary_rho, ordinary_delta)
def test_epsilon_matches_brute_force_minimisation(rho: float, delta: float) -> None:
    def epsilon_at(t: float) -> float:
        u = math.exp(t)
        constant = (1 + u) * math.log1p(-1 / (1 + u)) - math.log(u)
        return (1 + u) * rho + (math.log(1 / delta) + constant) / u

    grid = np.linspace(-12, 20, 400)
    start = min(grid, key=epsilon_at)
    found = optimize.minimize_scalar(
        epsilon_at, bounds=(start - 0.2, start + 0.2), method="bounded", options={"xatol": 1e-10}
    )
    expected = max(0.0, float(found.fun))
    assert zcdp_epsilon(rho, delta) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(ordinary_epsilon, ordinary_delta)
def test_rho_matches_root_finding(epsilon: float, delta: float) -> None:
    expected = optimize.brentq(
        lambda log_rho: brute_log_delta(math.exp(log_rho), epsilon) - math.log(delta), -18, 6
    )
    assert math.log(zcdp_rho(epsilon, delta)) == pytest.approx(expected, abs=1e-5)


@given(ordinary_rho, ordinary_epsilon)
def test_the_three_solve_the_same_line(rho: float, epsilon: float) -> None:
    delta = zcdp_delta(rho, epsilon)
    if 1e-280 < delta < 1 - 1e-6:
        assert zcdp_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-8, abs=1e-8)
        assert zcdp_rho(epsilon, delta) == pytest.approx(rho, rel=1e-8)


def exact_log_delta(rho: Fraction, epsilon: Fraction) -> float:
    """The bound at one thousand orders in 200-bit arithmetic: no order beats it by much."""
    flint = pytest.importorskip("flint")
    flint.ctx.prec = 200
    r = flint.arb(rho.numerator) / rho.denominator
    e = flint.arb(epsilon.numerator) / epsilon.denominator
    center = max(float(epsilon / rho), 1e-6)
    best = math.inf
    for t in np.linspace(-6, 6, 1000):
        u = flint.arb(center * math.exp(t))
        one = flint.arb(1)
        value = u * ((1 + u) * r - e) - (one + u).log() - u * (one + 1 / u).log()
        best = min(best, float(value.mid()))
    return best


@pytest.mark.parametrize("rho", [1e-9, 1e-3, 0.0243, 0.5, 3.0])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0])
def test_delta_is_an_upper_bound_in_high_precision(rho: float, epsilon: float) -> None:
    delta = zcdp_delta(rho, epsilon)
    reference = exact_log_delta(Fraction(repr(rho)), Fraction(repr(epsilon)))
    if reference > -740 and delta < 1:
        assert math.log(delta) >= reference - 1e-4 * abs(reference) - 1e-3
        assert math.log(delta) <= reference + 1e-9 * (1 + abs(reference))


def test_the_optimal_conversion_is_used_and_not_the_loose_one() -> None:
    assert round(zcdp_rho(1, 1e-6), 4) == 0.0244
    loose = (math.sqrt(math.log(1e6) + 1) - math.sqrt(math.log(1e6))) ** 2
    assert round(loose, 4) == 0.0175


positive = st.floats(5e-324, 1e300)


@given(positive, st.one_of(st.just(0.0), positive))
def test_delta_is_always_a_probability(rho: float, epsilon: float) -> None:
    assert 0 < zcdp_delta(rho, epsilon) <= 1


@given(positive, st.floats(5e-324, 1 - 1e-9))
def test_epsilon_is_always_finite(rho: float, delta: float) -> None:
    assert 0 <= zcdp_epsilon(rho, delta) < math.inf


@given(st.one_of(st.just(0.0), positive), st.floats(0, 1 - 1e-9))
def test_rho_is_always_finite(epsilon: float, delta: float) -> None:
    assert 0 <= zcdp_rho(epsilon, delta) < math.inf


@given(st.floats(1e-6, 10), st.floats(1, 2), st.floats(0.01, 20), st.floats(1e-12, 0.3))
def test_more_rho_is_less_private(rho: float, more: float, epsilon: float, delta: float) -> None:
    slack = 1 + 1e-9
    assert zcdp_delta(rho, epsilon) <= zcdp_delta(rho * more, epsilon) * slack
    assert zcdp_delta(rho, epsilon * more) <= zcdp_delta(rho, epsilon) * slack
    assert zcdp_epsilon(rho, delta) <= zcdp_epsilon(rho * more, delta) * slack
    assert zcdp_rho(epsilon, delta) <= zcdp_rho(epsilon * more, delta) * slack
    assert zcdp_rho(epsilon, delta) <= zcdp_rho(epsilon, delta * more) * slack


def test_nothing_spent_is_nothing_lost() -> None:
    assert zcdp_delta(0, 1) == 0.0
    assert zcdp_delta(0, 0) == 0.0
    assert zcdp_epsilon(0, 1e-6) == 0.0
    assert zcdp_rho(1, 0) == 0.0


def test_a_delta_that_underflows_is_not_reported_as_zero() -> None:
    assert 0 < zcdp_delta(1e-6, 1) <= 1e-300


def test_tiny_deltas_and_huge_rhos_convert() -> None:
    assert zcdp_epsilon(1, 1e-300) == pytest.approx(1 + 2 * math.sqrt(300 * math.log(10)), rel=0.02)
    assert zcdp_epsilon(1e6, 1e-6) == pytest.approx(1e6 + 2 * math.sqrt(1e6 * 13.8), rel=0.02)
    assert zcdp_rho(1e-9, 1e-6) > 0


def test_fractions_are_converted_without_losing_safety() -> None:
    third = Fraction(1, 3)
    assert zcdp_delta(third, 1) >= zcdp_delta(1 / 3, 1) * (1 - 1e-15)
    assert zcdp_rho(third, 1e-6) <= zcdp_rho(1 / 3, 1e-6) * (1 + 1e-15)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="rho"):
        zcdp_delta(-1, 1)
    with pytest.raises(InputError, match="epsilon"):
        zcdp_delta(1, math.nan)
    with pytest.raises(InputError, match="delta"):
        zcdp_epsilon(1, 0)
    with pytest.raises(InputError, match="delta"):
        zcdp_epsilon(1, 1)
    with pytest.raises(InputError, match="delta"):
        zcdp_epsilon(1, Fraction(1, 10**400))
    with pytest.raises(InputError, match="delta"):
        zcdp_rho(1, 1)
    with pytest.raises(InputError, match="epsilon"):
        zcdp_rho(-1, 0.1)
