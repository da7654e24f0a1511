"""Budgets and grants: never past the cap, never twice, never for something else."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow import (
    Budget,
    BudgetError,
    BudgetExceeded,
    GrantError,
    GuaranteeError,
    InputError,
    Relation,
    RelationMismatch,
    as_substitution,
)
from winnow.privacy import (
    ApproxDP,
    BoundedRange,
    DiscreteLaplace,
    Event,
    Gaussian,
    Grant,
    PureDP,
    Repeat,
    pure_cost,
    single_use_grant,
    zcdp_cost,
    zcdp_rho,
)

ADD = Relation.ADD_REMOVE
SUB = Relation.SUBSTITUTION

sizes = st.floats(1e-4, 0.5)
some_events = st.one_of(
    st.builds(PureDP, sizes, st.just(ADD)),
    st.builds(BoundedRange, sizes, st.just(ADD)),
    st.builds(DiscreteLaplace, st.floats(2, 1000), st.just(ADD)),
    st.builds(Gaussian, st.floats(2, 1000), st.just(ADD)),
    st.builds(ApproxDP, sizes, st.floats(1e-9, 1e-6), st.just(ADD)),
)


@given(st.lists(some_events, max_size=40), st.sampled_from([0.0, 2e-6]))
def test_no_sequence_of_charges_passes_the_caps_of_zcdp(
    charges: list[Event], reserved: float
) -> None:
    budget = Budget(1.0, 1e-5, accountant="zcdp", delta_for_events=reserved)
    cap = Fraction(repr(zcdp_rho(1.0, Fraction(1, 10**5) - Fraction(repr(reserved)))))
    for event in charges:
        before = budget.spent
        cost = zcdp_cost(event)
        try:
            budget.charge(event)
        except BudgetExceeded:
            assert budget.spent == before
            paid = sum((zcdp_cost(e).rho for e in budget.events), Fraction(0))
            lost = sum((zcdp_cost(e).delta for e in budget.events), Fraction(0))
            assert paid + cost.rho > cap or lost + cost.delta > Fraction(repr(reserved))
    assert sum(zcdp_cost(event).rho for event in budget.events) <= cap
    assert sum(zcdp_cost(event).delta for event in budget.events) <= Fraction(repr(reserved))


@given(st.lists(some_events, max_size=40), st.sampled_from([0.0, 1e-6]))
def test_no_sequence_of_charges_passes_the_caps_of_pure(charges: list[Event], delta: float) -> None:
    budget = Budget(1.0, delta, accountant="pure")
    for event in charges:
        try:
            budget.charge(event)
        except BudgetExceeded:
            continue
        except GuaranteeError:
            assert isinstance(event, Gaussian)
    assert sum(pure_cost(event).epsilon for event in budget.events) <= 1
    assert sum(pure_cost(event).delta for event in budget.events) <= Fraction(repr(delta))


def test_ten_charges_of_a_tenth_fit_exactly_and_the_eleventh_is_refused() -> None:
    budget = Budget(1.0)
    for _ in range(10):
        budget.charge(PureDP(0.1, ADD))
    assert budget.left.amount == 0.0 and budget.spent.amount == 1.0
    with pytest.raises(BudgetExceeded, match=r"asks for epsilon 0\.1, and epsilon 0 of 1 is left"):
        budget.charge(PureDP(0.1, ADD))
    with pytest.raises(BudgetExceeded):
        budget.charge(PureDP(1e-12, ADD))


def test_what_is_left_can_be_spent_to_the_end() -> None:
    budget = Budget(1)
    budget.charge(PureDP(Fraction(1, 3), ADD))
    budget.charge(PureDP(budget.left.amount, ADD))
    assert 0 <= budget.left.amount < 1e-15


@given(some_events, st.integers(1, 20))
def test_one_repeated_charge_equals_single_charges(event: Event, count: int) -> None:
    together, apart = (Budget(50, 1e-2, delta_for_events=1e-3) for _ in range(2))
    together.charge(Repeat(event, count))
    for _ in range(count):
        apart.charge(event)
    assert together.spent == apart.spent and together.left == apart.left


def test_a_refused_charge_costs_nothing() -> None:
    budget = Budget(1.0)
    budget.charge(PureDP(0.5, ADD))
    state = (budget.spent, budget.left, budget.events)
    for bad in (
        PureDP(0.6, ADD),
        PureDP(0.1, SUB),
        Gaussian(1, ADD),
        ApproxDP(0.1, 1e-9, ADD),
        0.1,
    ):
        with pytest.raises((BudgetError, GuaranteeError, InputError)):
            budget.charge(bad)  # type: ignore[arg-type]
        assert (budget.spent, budget.left, budget.events) == state
    budget.charge(PureDP(0.5, ADD))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_threads_cannot_overspend(delta: float) -> None:
    budget = Budget(1.0, delta, accountant="pure")
    barrier = Barrier(16)

    def grab(_: int) -> int:
        barrier.wait()
        granted = 0
        for _ in range(100):
            try:
                budget.charge(PureDP(0.01, ADD))
                granted += 1
            except BudgetExceeded:
                pass
        return granted

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(grab, range(16))) == 100
    assert budget.spent.amount == 1.0 and len(budget.events) == 100


def test_the_accountant_follows_from_delta() -> None:
    assert Budget(1).accountant == "pure"
    assert Budget(1, 1e-6).accountant == "combined"
    assert Budget(1, 1e-6, delta_for_events=1e-7).accountant == "zcdp"
    assert Budget(1, 1e-6, accountant="pure").accountant == "pure"
    with pytest.raises(InputError, match="zcdp"):
        Budget(1, accountant="zcdp")
    with pytest.raises(InputError, match="accountant"):
        Budget(1, accountant="tight")


def test_the_guarantee_is_the_cap_and_does_not_move() -> None:
    budget = Budget(1, 1e-6, accountant="zcdp")
    before = budget.guarantee
    assert str(before) == "(1, 1e-06)-DP, protects each person (add or remove one)"
    assert before.rho == pytest.approx(zcdp_rho(1, 1e-6), rel=1e-12)
    budget.charge(BoundedRange(0.1, ADD))
    assert budget.guarantee == before
    assert Budget(1, 1e-6, delta_for_events=1e-7).guarantee.rho is None
    assert Budget(1).guarantee.rho is None


def test_usage_is_shown_in_the_unit_of_the_accountant() -> None:
    pure, zcdp = Budget(2.0), Budget(2.0, 1e-6, delta_for_events=1e-7)
    pure.charge(PureDP(0.5, ADD))
    zcdp.charge(Gaussian(10, ADD))
    assert str(pure.spent) == "epsilon 0.5 of 2" and str(pure.left) == "epsilon 1.5 of 2"
    assert str(zcdp.spent).startswith("rho 0.005 of 0.0")
    assert str(zcdp.spent).endswith("delta of events 0 of 1e-07")
    assert (
        repr(pure)
        == "<Budget 2-DP, protects each person (add or remove one); used epsilon 0.5 of 2>"
    )


def test_events_with_a_delta_need_their_part_set_aside() -> None:
    event = ApproxDP(0.01, 1e-8, ADD)
    with pytest.raises(BudgetExceeded, match="delta 1e-08, and delta 0 is left"):
        Budget(1, 1e-6, accountant="zcdp").charge(event)
    budget = Budget(1, 1e-6, delta_for_events=2e-8)
    budget.charge(event)
    budget.charge(event)
    with pytest.raises(BudgetExceeded, match="a delta of their own"):
        budget.charge(event)
    budget.charge(BoundedRange(0.01, ADD))
    with pytest.raises(InputError, match="delta_for_events"):
        Budget(1, 1e-6, delta_for_events=1e-6)
    with pytest.raises(InputError, match="delta_for_events"):
        Budget(1, 1e-6, accountant="pure", delta_for_events=1e-7)


def test_a_large_charge_to_a_zcdp_budget_is_told_what_would_fit() -> None:
    budget = Budget(1, 1e-6, accountant="zcdp")
    with pytest.raises(BudgetExceeded, match=r"left; about epsilon 0\.22 would fit"):
        budget.charge(PureDP(1, ADD))
    budget.charge(PureDP(0.22, ADD))
    Budget(1, 1e-6).charge(PureDP(1, ADD))


def test_a_budget_keeps_to_one_relation() -> None:
    budget = Budget(1.0, relation="substitution")
    with pytest.raises(RelationMismatch, match=r"add-remove.*substitution.*as_substitution"):
        budget.charge(PureDP(0.1, ADD))
    budget.charge(as_substitution(PureDP(0.1, ADD)))
    assert budget.spent.amount == 0.2 and budget.relation is SUB


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "1", None])
def test_a_budget_needs_a_positive_epsilon(bad: object) -> None:
    with pytest.raises(InputError, match="epsilon"):
        Budget(bad)  # type: ignore[arg-type]


def test_a_budget_needs_a_delta_below_one_and_a_known_relation() -> None:
    for delta in (-1e-6, 1, 2.0, float("nan")):
        with pytest.raises(InputError, match="delta"):
            Budget(1, delta)
    with pytest.raises(InputError, match="relation"):
        Budget(1, relation="swap")


def test_a_budget_is_not_copied() -> None:
    budget = Budget(1)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(BudgetError, match="copied"):
            duplicate(budget)


def test_a_grant_is_redeemed_once() -> None:
    event = PureDP(0.1, ADD)
    grant = Budget(1).charge(event)
    assert grant.event == event and not grant.used
    grant.redeem(PureDP(Fraction(1, 10), ADD))
    assert grant.used
    with pytest.raises(GrantError, match="used before"):
        grant.redeem(event)


def test_a_grant_is_for_the_event_that_was_charged() -> None:
    grant = Budget(1).charge(PureDP(0.1, ADD))
    for other in (PureDP(0.2, ADD), BoundedRange(0.1, ADD), PureDP(0.1, SUB)):
        with pytest.raises(GrantError, match="asked for"):
            grant.redeem(other)
    assert not grant.used
    grant.redeem(PureDP(0.1, ADD))


def test_a_grant_is_redeemed_by_one_thread_only() -> None:
    event = PureDP(0.1, ADD)
    grant = single_use_grant(event)
    barrier = Barrier(8)

    def redeem(_: int) -> bool:
        barrier.wait()
        try:
            grant.redeem(event)
        except GrantError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(redeem, range(8))) == 1


def test_a_grant_is_not_made_by_hand_copied_or_pickled() -> None:
    with pytest.raises(GrantError, match="by hand"):
        Grant(PureDP(1, ADD))
    grant = single_use_grant(PureDP(1, ADD))
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(GrantError, match="copied"):
            duplicate(grant)
    with pytest.raises(InputError, match="not an event"):
        single_use_grant(1.0)  # type: ignore[arg-type]


def test_reprs_show_public_parameters_only() -> None:
    grant = single_use_grant(PureDP(1, ADD))
    assert repr(grant) == "<Grant for PureDP(epsilon=1) under add-remove, unused>"
    grant.redeem(PureDP(1, ADD))
    assert repr(grant).endswith("used>")
