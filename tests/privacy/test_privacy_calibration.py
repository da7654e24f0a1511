"""Calibration: the largest parameter that meets the target, on the safe side."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow import Budget, GuaranteeError, InputError, Relation, calibrate
from winnow.privacy import (
    ApproxDP,
    BoundedRange,
    Compose,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    guarantee_of,
    zcdp_rho,
)

ADD = Relation.ADD_REMOVE


def rounds(count: int):  # type: ignore[no-untyped-def]
    return lambda size: Repeat(PureDP(size, ADD), count)


def test_pure_calibration_divides_exactly() -> None:
    found = calibrate(rounds(10), epsilon=1)
    assert (found.parameter, found.accountant) == (0.1, "pure")
    assert str(found.guarantee) == "1-DP, protects each person (add or remove one)"


def test_the_better_accountant_is_found() -> None:
    assert calibrate(rounds(2), epsilon=1, delta=1e-6).accountant == "pure"
    many = calibrate(rounds(1000), epsilon=1, delta=1e-6, accountant="summed")
    assert many.accountant == "zcdp"
    assert many.parameter > 6 * calibrate(rounds(1000), epsilon=1).parameter
    some = calibrate(rounds(100), epsilon=1, delta=1e-6, accountant="summed")
    best = calibrate(rounds(100), epsilon=1, delta=1e-6)
    assert best.accountant == "tight" and best.parameter > 1.05 * some.parameter
    assert guarantee_of(rounds(100)(best.parameter), 1e-6).epsilon <= 1 + 1e-9
    too_long = calibrate(rounds(10**6), epsilon=1, delta=1e-6)
    assert too_long.accountant == "zcdp"
    assert calibrate(rounds(1000), epsilon=1, delta=1e-6, accountant="pure").parameter == 0.001


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 500),
    st.floats(0.05, 10),
    st.one_of(st.just(0.0), st.floats(1e-12, 0.1)),
)
def test_the_result_meets_the_target_and_a_little_more_does_not(
    count: int, epsilon: float, delta: float
) -> None:
    def plan(size: float) -> Event:
        return Repeat(Compose((BoundedRange(size, ADD), PureDP(size, ADD))), count)

    found = calibrate(plan, epsilon=epsilon, delta=delta, accountant="summed")
    assert found.guarantee.epsilon <= epsilon and found.guarantee.delta <= delta
    more = plan(found.parameter * (1 + 1e-9))
    for name in ("pure", "zcdp") if delta else ("pure",):
        assert guarantee_of(more, delta, name).epsilon > epsilon
    # And so the calibrated plan fits into a budget of the same size, in one charge.
    Budget(epsilon, delta, accountant=found.accountant).charge(plan(found.parameter))


@settings(max_examples=15, deadline=None)
@given(st.floats(0.05, 5), st.floats(1e-9, 1e-2), st.integers(1, 50))
def test_more_rounds_get_less_each(epsilon: float, delta: float, count: int) -> None:
    def each(count: int, epsilon: float, delta: float) -> float:
        found = calibrate(rounds(count), epsilon=epsilon, delta=delta, accountant="summed")
        return found.parameter

    one = each(count, epsilon, delta)
    assert each(count + 1, epsilon, delta) <= one
    assert each(count, epsilon * 1.1, delta) >= one
    assert each(count, epsilon, delta * 1.1) >= one


def test_own_deltas_are_respected() -> None:
    def plan(size: float) -> Event:
        return Repeat(ApproxDP(size, 1e-9, ADD), 100)

    found = calibrate(plan, epsilon=1, delta=1e-6, accountant="summed")
    assert found.guarantee.delta <= 1e-6
    Budget(1, 1e-6, delta_for_events=1e-7).charge(plan(found.parameter))
    with pytest.raises(InputError):
        calibrate(plan, epsilon=1, delta=1e-8)


def test_noise_is_calibrated_through_its_inverse() -> None:
    found = calibrate(lambda x: Gaussian(1 / x, ADD), epsilon=1, delta=1e-6, accountant="zcdp")
    assert found.parameter**2 / 2 == pytest.approx(zcdp_rho(1, 1e-6), rel=1e-9)
    best = calibrate(lambda x: Gaussian(1 / x, ADD), epsilon=1, delta=1e-6)
    assert best.accountant == "tight"
    assert 1 / best.parameter**2 == pytest.approx(4.224679**2 + 1 / 11, rel=1e-3)
    for start in ({}, {"low": 1.0}, {"high": 50.0}, {"low": 1.0, "high": 50.0}):
        with pytest.raises(InputError, match=r"costs? more"):
            calibrate(lambda m: Gaussian(m, ADD), epsilon=1, delta=1e-6, **start)


def test_bounds_of_the_search() -> None:
    free = calibrate(rounds(10), epsilon=1)
    assert calibrate(rounds(10), epsilon=1, low=0.01, high=0.02).parameter == 0.02
    assert calibrate(rounds(10), epsilon=1, high=0.02).parameter == 0.02
    assert calibrate(rounds(10), epsilon=1, low=0.01) == free
    assert calibrate(rounds(10), epsilon=1, high=5.0) == free
    with pytest.raises(InputError, match="low"):
        calibrate(rounds(10), epsilon=1, low=0.2)
    with pytest.raises(InputError, match="exchange"):
        calibrate(rounds(10), epsilon=1, low=0.2, high=0.1)
    with pytest.raises(InputError, match="high"):
        calibrate(rounds(10), epsilon=1, high=-1.0)


def test_targets_that_no_theorem_reaches_are_refused() -> None:
    with pytest.raises(GuaranteeError, match="no pure epsilon"):
        calibrate(lambda x: Gaussian(1 / x, ADD), epsilon=1)
    with pytest.raises(InputError, match="zcdp"):
        calibrate(rounds(1), epsilon=1, accountant="zcdp")
    with pytest.raises(InputError, match="accountant"):
        calibrate(rounds(1), epsilon=1, accountant="tight")
    with pytest.raises(InputError, match="epsilon"):
        calibrate(rounds(1), epsilon=0)


@pytest.mark.parametrize("epsilon", [1e3, 1e6, 1e9])
def test_an_epsilon_beyond_every_grid_is_sized_without_the_tight_accountant(
    epsilon: float,
) -> None:
    found = calibrate(lambda x: Repeat(BoundedRange(x, ADD), 3), epsilon=epsilon, delta=1e-6)
    assert found.accountant != "tight" and found.parameter > 0
