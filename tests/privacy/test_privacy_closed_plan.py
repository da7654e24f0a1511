"""Rounds of selection and measurement as one closed plan: calibrated, checked, never worse."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow import Budget, BudgetExceeded, GuaranteeError, InputError, Relation, calibrate
from winnow.privacy import (
    BoundedRange,
    Compose,
    DiscreteLaplace,
    Gaussian,
    PureDP,
    Repeat,
    RoundsPlan,
    calibrate_rounds,
    from_json,
    guarantee_of,
    paper_round_epsilon,
    tight_delta,
    to_json,
    zcdp_cost,
)
from winnow.privacy.closed_plan import stage_lengths

SUB = Relation.SUBSTITUTION
ADD = Relation.ADD_REMOVE


def zcdp(rounds: int, epsilon: float = 1, delta: float = 1e-6, **more: object) -> RoundsPlan:
    return calibrate_rounds(
        rounds, epsilon=epsilon, delta=delta, relation=SUB, accountant="zcdp", **more
    )  # type: ignore[arg-type]


def test_a_plan_says_what_each_round_does() -> None:
    plan = zcdp(100)
    assert (plan.selection_epsilon, plan.noise_multiplier) == (0.0312129, 64.0761)
    assert plan.event == Repeat(Compose((plan.selected, plan.measured)), 100)
    assert plan.selected == BoundedRange(0.0312129, SUB)
    assert plan.measured == Gaussian(64.0761, SUB)
    assert (plan.rounds, plan.measurement, plan.accountant) == (100, "gaussian", "zcdp")
    assert str(plan.guarantee) == "(1, 1e-06)-DP, protects each person (replace one record)"
    assert from_json(to_json(plan.event)) == plan.event


@pytest.mark.parametrize("accountant", ["zcdp", "tight", "best"])
def test_a_plan_in_stages_is_sized_for_all_of_them(accountant: str) -> None:
    plan = calibrate_rounds(
        20, epsilon=1, delta=1e-6, relation=SUB, accountant=accountant, stages=5
    )
    flat = calibrate_rounds(20, epsilon=1, delta=1e-6, relation=SUB, accountant=accountant)
    assert plan.stages == 5 and flat.stages == 1
    loops = plan.event.events  # type: ignore[union-attr]
    assert [loop.count for loop in loops] == [4] * 5
    assert loops[0] == Repeat(Compose((plan.selected, plan.measured)), 4)
    costs = [zcdp_cost(loop).rho for loop in loops]
    assert all(b / a == pytest.approx(1.96, rel=1e-4) for a, b in pairwise(map(float, costs)))
    assert guarantee_of(plan.event, 1e-6).epsilon <= 1 and plan.guarantee.epsilon <= 1
    # the same rho in all: the first stage is less precise than a flat plan, the last more
    assert plan.noise_multiplier > flat.noise_multiplier > plan.noise_multiplier / 1.4**4
    assert stage_lengths(7, 3) == [2, 2, 3] and stage_lengths(2, 3) == [0, 1, 1]
    assert from_json(to_json(plan.event)) == plan.event


def test_half_of_rho_goes_to_each_part() -> None:
    plan = zcdp(100)
    selected, measured = (zcdp_cost(event).rho for event in (plan.selected, plan.measured))
    assert float(selected / measured) == pytest.approx(1, rel=2e-5)
    third = zcdp(100, share=Fraction(1, 3))
    selected, measured = (zcdp_cost(event).rho for event in (third.selected, third.measured))
    assert float(selected / measured) == pytest.approx(0.5, rel=2e-5)


def test_without_delta_costs_are_summed_and_noise_is_laplace() -> None:
    plan = calibrate_rounds(10, epsilon=1, relation=ADD)
    assert (plan.accountant, plan.measurement) == ("pure", "laplace")
    assert plan.measured == DiscreteLaplace(plan.noise_multiplier, ADD)
    spent = guarantee_of(plan.event).epsilon
    assert 0.99999 < spent <= 1
    assert str(plan.guarantee) == "1-DP, protects each person (add or remove one)"
    Budget(1).charge(plan.event)


def test_the_best_accountant_is_never_worse_than_any_other() -> None:
    for rounds, noise in ((1, "gaussian"), (3, "laplace"), (10, "gaussian"), (10, "laplace")):
        plans = {
            name: calibrate_rounds(
                rounds, epsilon=1, delta=1e-6, relation=SUB, measurement=noise, accountant=name
            )
            for name in ("best", "zcdp", "tight")
        }
        best = plans["best"]
        assert best.accountant == "tight" and best == plans["tight"]
        assert best.noise_multiplier < plans["zcdp"].noise_multiplier
        assert best.selection_epsilon > plans["zcdp"].selection_epsilon
        assert tight_delta(best.event, 1) <= 1e-6


def test_tight_gains_seven_percent_on_a_hundred_rounds() -> None:
    plan = calibrate_rounds(100, epsilon=1, delta=1e-6, relation=SUB)
    gain = zcdp(100).noise_multiplier / plan.noise_multiplier
    assert plan.accountant == "tight" and 1.06 < gain < 1.09
    # The paper: Laplace at epsilon_0/2 has standard deviation 149.
    paper = paper_round_epsilon(1, 1e-6, 100) / 2
    assert round(math.sqrt(2) / paper) == 149 and round(paper, 4) == 0.0095


def test_a_tight_plan_takes_what_it_states_of_a_budget_and_a_zcdp_budget_its_rho() -> None:
    plan = calibrate_rounds(10, epsilon=1, delta=1e-6, relation=SUB)
    Budget(1, 1e-6, SUB).charge(plan.event, stated=plan.guarantee)
    with pytest.raises(BudgetExceeded):
        Budget(1, 1e-6, SUB, accountant="zcdp").charge(plan.event)
    budget = Budget(1.2, 1e-6, SUB, accountant="zcdp")
    budget.charge(plan.event)
    assert budget.spent.amount == plan.guarantee.rho
    with pytest.raises(InputError, match="accountant"):
        Budget(1, 1e-6, SUB, accountant="tight")
    Budget(1, 1e-6, SUB).charge(zcdp(10).event)


def test_a_first_measurement_is_paid_before_the_rounds() -> None:
    first = Gaussian(30, SUB)
    for accountant in ("zcdp", "tight"):
        plan = calibrate_rounds(
            10, epsilon=1, delta=1e-6, relation=SUB, accountant=accountant, initial=first
        )
        assert isinstance(plan.event, Compose) and plan.event.events[0] == first
        assert guarantee_of(plan.event, 1e-6, accountant).epsilon <= 1.0005
        without = calibrate_rounds(10, epsilon=1, delta=1e-6, relation=SUB, accountant=accountant)
        assert plan.noise_multiplier > without.noise_multiplier
    with pytest.raises(InputError, match="more noise"):
        zcdp(10, initial=Gaussian(1, SUB))
    with pytest.raises(InputError, match="same relation"):
        zcdp(10, initial=Gaussian(30, ADD))


def test_where_tight_gives_up_zcdp_is_used() -> None:
    long = calibrate_rounds(10**5, epsilon=1, delta=1e-6, relation=SUB)
    assert long.accountant == "zcdp"
    loud = calibrate_rounds(1, epsilon=20, delta=1e-6, relation=SUB)
    assert loud.accountant == "zcdp"
    with pytest.raises(GuaranteeError, match="too long"):
        calibrate_rounds(10**5, epsilon=1, delta=1e-6, relation=SUB, accountant="tight")


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 300),
    st.floats(0.05, 10),
    st.one_of(st.just(0.0), st.floats(1e-12, 1e-2)),
    st.floats(0.05, 0.95),
)
def test_plans_keep_to_their_target_and_use_it_up(
    rounds: int, epsilon: float, delta: float, share: float
) -> None:
    accountant = "zcdp" if delta else "pure"
    plan = calibrate_rounds(
        rounds, epsilon=epsilon, delta=delta, relation=SUB, share=share, accountant=accountant
    )
    stated = guarantee_of(plan.event, delta, accountant)
    assert epsilon * (1 - 1e-4) <= stated.epsilon <= epsilon and stated.delta <= delta
    Budget(epsilon, delta, SUB, accountant=accountant).charge(plan.event)


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.integers(1, 8), st.floats(0.5, 2), st.floats(1e-8, 1e-3))
def test_more_rounds_get_less_each_and_more_budget_gets_more(
    rounds: int, epsilon: float, delta: float
) -> None:
    def precision(rounds: int, epsilon: float, delta: float) -> float:
        plan = calibrate_rounds(rounds, epsilon=epsilon, delta=delta, relation=SUB)
        return 1 / plan.noise_multiplier

    here = precision(rounds, epsilon, delta)
    close = 1 + 1e-3  # tight plans are found to about four digits
    assert precision(rounds + 1, epsilon, delta) <= here * close
    assert precision(rounds, epsilon * 1.1, delta) * close >= here
    assert precision(rounds, epsilon, delta * 2) * close >= here


def test_calibrate_takes_the_tight_accountant_for_any_plan() -> None:
    def plan(size: float) -> Repeat:
        return Repeat(PureDP(size, ADD), 20)

    found = calibrate(plan, epsilon=1, delta=1e-6, accountant="tight")
    assert found.accountant == "tight"
    summed = calibrate(plan, epsilon=1, delta=1e-6, accountant="summed").parameter
    assert 1.03 * summed < found.parameter
    assert (
        tight_delta(plan(found.parameter), 1)
        <= 1e-6
        < tight_delta(plan(found.parameter * 1.001), 1)
    )
    capped = calibrate(plan, epsilon=1, delta=1e-6, accountant="tight", high=0.05)
    assert capped.parameter == 0.05
    with pytest.raises(InputError, match="low"):
        calibrate(plan, epsilon=1, delta=1e-6, accountant="tight", low=1.0)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="rounds"):
        zcdp(0)
    with pytest.raises(InputError, match="share"):
        zcdp(10, share=1)
    with pytest.raises(InputError, match="measurement"):
        zcdp(10, measurement="normal")
    with pytest.raises(InputError, match="accountant"):
        calibrate_rounds(10, epsilon=1, relation=SUB, accountant="loose")
    with pytest.raises(InputError, match="zcdp"):
        calibrate_rounds(10, epsilon=1, relation=SUB, accountant="zcdp")
    with pytest.raises(InputError, match="tight"):
        calibrate_rounds(10, epsilon=1, relation=SUB, accountant="tight")
    with pytest.raises(GuaranteeError, match="delta"):
        calibrate_rounds(10, epsilon=1, relation=SUB, measurement="gaussian")
    with pytest.raises(GuaranteeError, match="no pure epsilon"):
        calibrate_rounds(
            10, epsilon=1, delta=1e-6, relation=SUB, accountant="pure", measurement="gaussian"
        )
