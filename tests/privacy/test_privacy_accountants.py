"""Costs add up exactly, grow with what is asked, and are rounded up."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow import GuaranteeError, Relation
from winnow.privacy import (
    ApproxDP,
    BoundedRange,
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    pure_cost,
    zcdp_cost,
)

ADD = Relation.ADD_REMOVE

sizes = st.floats(1e-6, 50)
deltas = st.floats(1e-12, 0.1)
with_pure_cost = st.one_of(
    st.builds(PureDP, sizes, st.just(ADD)),
    st.builds(BoundedRange, sizes, st.just(ADD)),
    st.builds(DiscreteLaplace, sizes, st.just(ADD)),
    st.builds(ApproxDP, sizes, deltas, st.just(ADD)),
)
every_event = st.one_of(with_pure_cost, st.builds(Gaussian, sizes, st.just(ADD)))


@given(every_event, st.integers(1, 12))
def test_repeat_equals_that_many_single_charges(event: Event, count: int) -> None:
    repeated = zcdp_cost(Repeat(event, count))
    assert repeated == zcdp_cost(Compose((event,) * count))
    assert repeated.rho == sum(zcdp_cost(event).rho for _ in range(count))
    assert repeated.delta == count * zcdp_cost(event).delta


@given(with_pure_cost, st.integers(1, 12))
def test_pure_repeat_equals_that_many_single_charges(event: Event, count: int) -> None:
    repeated = pure_cost(Repeat(event, count))
    assert repeated == pure_cost(Compose((event,) * count))
    assert repeated.epsilon == count * pure_cost(event).epsilon


@given(with_pure_cost, st.integers(1, 5), st.integers(1, 5))
def test_nested_repeats_multiply(event: Event, outer: int, inner: int) -> None:
    assert zcdp_cost(Repeat(Repeat(event, inner), outer)) == zcdp_cost(Repeat(event, inner * outer))
    assert pure_cost(Repeat(Repeat(event, inner), outer)) == pure_cost(Repeat(event, inner * outer))


@given(sizes, st.floats(1, 3))
def test_costs_grow_with_epsilon_and_fall_with_noise(size: float, more: float) -> None:
    for kind in (PureDP, BoundedRange):
        assert zcdp_cost(kind(size, ADD)).rho <= zcdp_cost(kind(size * more, ADD)).rho
        assert pure_cost(kind(size, ADD)).epsilon <= pure_cost(kind(size * more, ADD)).epsilon
    for noise in (DiscreteLaplace, Gaussian):
        assert zcdp_cost(noise(size * more, ADD)).rho <= zcdp_cost(noise(size, ADD)).rho


@given(st.floats(1e-150, 1e9))
def test_bounded_range_never_costs_more_than_pure(size: float) -> None:
    ranged, pure = zcdp_cost(BoundedRange(size, ADD)), zcdp_cost(PureDP(size, ADD))
    assert 0 < ranged.rho <= pure.rho
    assert pure.rho <= Fraction(repr(size)) ** 2 / 2 * (1 + Fraction(1, 2**50))
    assert zcdp_cost(ApproxDP(size, 0.1, ADD)).rho == pure.rho


@pytest.mark.parametrize(
    ("event", "rho"),
    [
        (BoundedRange(1, ADD), math.log(math.e - 1) - 1 + 1 / (math.e - 1)),
        (PureDP(1, ADD), math.tanh(0.5)),
        (DiscreteLaplace(4, ADD), 0.25 * math.tanh(0.125)),
        (Gaussian(10, ADD), 1 / 200),
        (ApproxDP(1, 1e-6, ADD), math.tanh(0.5)),
        (PureDP(1000, ADD), 1000),
        (BoundedRange(1000, ADD), 999 - math.log(1000)),
    ],
)
def test_rho_of_each_event(event: Event, rho: float) -> None:
    assert float(zcdp_cost(event).rho) == pytest.approx(rho, rel=1e-12)


@given(st.fractions(Fraction(1, 10**6), Fraction(50)))
def test_rounding_is_up(size: Fraction) -> None:
    assert zcdp_cost(Gaussian(size, ADD)).rho >= 1 / (2 * size**2)
    flint = pytest.importorskip("flint")
    flint.ctx.prec = 200
    x = flint.arb(size.numerator) / size.denominator
    rho = zcdp_cost(PureDP(size, ADD)).rho
    assert flint.arb(rho.numerator) / rho.denominator >= x * (x / 2).tanh()
    range_rho = zcdp_cost(BoundedRange(size, ADD)).rho
    y = ((x.exp() - 1) / x).log()
    stated, least = flint.arb(range_rho.numerator) / range_rho.denominator, y - 1 + (-y).exp()
    assert least <= stated <= least * flint.arb("1.00000001")


def test_extreme_parameters_stay_finite_and_positive() -> None:
    for size in (Fraction(1, 10**400), 5e-324, 1e300, 10**400):
        for kind in (PureDP, BoundedRange, DiscreteLaplace, Gaussian):
            assert zcdp_cost(kind(size, ADD)).rho > 0


def test_discrete_laplace_is_pure_with_the_inverse_multiplier() -> None:
    assert pure_cost(DiscreteLaplace(3, ADD)).epsilon == Fraction(1, 3)
    assert zcdp_cost(DiscreteLaplace(3, ADD)) == zcdp_cost(PureDP(Fraction(1, 3), ADD))


def test_gaussian_has_no_pure_cost_and_the_error_says_what_to_do() -> None:
    for event in (Gaussian(3, ADD), Repeat(Compose((PureDP(1, ADD), Gaussian(3, ADD))), 2)):
        with pytest.raises(GuaranteeError, match="delta > 0"):
            pure_cost(event)
