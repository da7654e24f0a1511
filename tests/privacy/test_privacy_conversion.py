"""zCDP and (epsilon, delta): against brute force, and on the safe side everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from winnow import InputError
from winnow.privacy import zcdp_delta, zcdp_epsilon, zcdp_rho


def log_delta_at(log_u: float, rho: float, epsilon: float) -> float:
    """Prop. 12 of Canonne-Kamath-Steinke 2020 at the order a = 1 + e^log_u, as printed."""
    a = 1 + math.exp(log_u)
    return (a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1)


def brute_log_delta(rho: float, epsilon: float) -> float:
    grid = np.linspace(-32, 20, 700)
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

    grid = np.linspace(-32, 20, 700)
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


class HighPrecision:
    """The same three quantities at the best order, in 400-bit ball arithmetic."""

    def __init__(self) -> None:
        self.flint = pytest.importorskip("flint")
        self.flint.ctx.prec = 400

    def number(self, value: float, binary: bool = False) -> Any:
        q = Fraction(value) if binary else Fraction(repr(value))
        return self.flint.arb(q.numerator) / q.denominator

    def best_order(self, sign: Callable[[Any], Any]) -> Any:
        low, high = self.flint.arb(-690), self.flint.arb(690)
        for _ in range(200):
            middle = ((low + high) / 2).mid()
            low, high = (middle, high) if sign(middle.exp()) < 0 else (low, middle)
        return low.exp()

    @staticmethod
    def c(u: Any) -> Any:
        return (1 + u).log() + u * (1 + 1 / u).log()

    def log_delta(self, rho: float, epsilon: float) -> Any:
        r, e = self.number(rho), self.number(epsilon)
        u = self.best_order(lambda u: (1 + 2 * u) * r - e - (1 + 1 / u).log())
        return u * ((1 + u) * r - e) - self.c(u)

    def epsilon(self, rho: float, delta: float) -> Any:
        r, loss = self.number(rho), -self.number(delta).log()
        u = self.best_order(lambda u: r * u * u - loss + (1 + u).log())
        return (1 + u) * r + (loss - self.c(u)) / u

    def rho(self, epsilon: float, delta: float) -> Any:
        e, loss = self.number(epsilon), -self.number(delta).log()
        u = self.best_order(
            lambda u: (
                -loss + u * e + self.c(u) - (e + (1 + 1 / u).log()) * u * (1 + u) / (1 + 2 * u)
            )
        )
        return (-loss + u * e + self.c(u)) / (u * (1 + u))


def test_results_are_on_the_safe_side_of_the_exact_optimum_and_close_to_it() -> None:
    """However the returned float is read, as its binary value or as its shortest decimal."""
    high = HighPrecision()
    rng = np.random.default_rng(11)
    points = [(13.0, 0.0625, 0.5)]  # an optimum at a very small order
    points += [
        (float(10.0**r), float(10.0**e), float(10.0**d))
        for r, e, d in zip(
            rng.uniform(-12, 4, 60), rng.uniform(-8, 4, 60), rng.uniform(-250, 0, 60), strict=True
        )
    ]
    for rho, epsilon, delta in points:
        log_delta, found = high.log_delta(rho, epsilon), zcdp_delta(rho, epsilon)
        if log_delta > -740 and found < 1:
            scale = 1 + abs(log_delta)
            for binary in (True, False):
                assert 0 <= high.number(found, binary).log() - log_delta <= 1e-11 * scale
        best_epsilon = high.epsilon(rho, delta)
        best_rho = high.rho(epsilon, delta)
        for binary in (True, False):
            if best_epsilon > 0:
                excess = high.number(zcdp_epsilon(rho, delta), binary) / best_epsilon - 1
                assert 0 <= excess <= 1e-11
            shortfall = 1 - high.number(zcdp_rho(epsilon, delta), binary) / best_rho
            assert 0 <= shortfall <= 1e-11


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
