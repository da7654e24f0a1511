"""Capped rounds: the decomposition behind them, exact sums, and adaptive adversaries."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from reference.adaptive_adversary import capped_delta
from winnow import Budget, BudgetExceeded, InputError, Relation, as_substitution
from winnow.privacy import (
    CappedRounds,
    Compose,
    Gaussian,
    PureDP,
    Repeat,
    calibrate_capped,
    describe,
    from_json,
    guarantee_of,
    pure_cost,
    tight_delta,
    to_json,
    zcdp_cost,
    zcdp_delta,
)
from winnow.privacy.capped import lost_mass, optimal_composition
from winnow.privacy.capped_value import capped_delta as iterated

SUB = Relation.SUBSTITUTION
ADD = Relation.ADD_REMOVE

# The decomposition, in exact fractions; g stands for e^epsilon.

parts = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)


@given(st.fractions(Fraction(101, 100), 20, max_denominator=100), parts, parts)
def test_a_round_is_a_free_part_and_an_access(g: Fraction, p: Fraction, other: Fraction) -> None:
    """p and p' are the probabilities of "no update"; the round allows ratios up to g."""
    lowest = max(p / g, 1 - g * (1 - p), Fraction(0))
    p_other = lowest + other * (p - lowest)  # every p' <= p that the round allows
    free = (g * p_other - p) / (g - 1)
    assert 0 <= free <= p_other
    quiet, quiet_other = (p - free) / (1 - free), (p_other - free) / (1 - free)
    assert quiet <= g * quiet_other  # with equality: the access is epsilon-DP
    assert min(1 - quiet, 1 - quiet_other) >= 1 / (1 + g)


# The two sums.


@pytest.mark.parametrize(("updates", "steps"), [(1, 1), (1, 22), (10, 55), (500, 1184)])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 2.0])
def test_the_lost_mass_is_the_binomial_tail_rounded_up(
    updates: int, steps: int, epsilon: float
) -> None:
    exact = stats.binom.cdf(updates - 1, steps, 1 / (1 + math.exp(epsilon)))
    found = float(lost_mass(updates, Fraction(repr(epsilon)), steps))
    assert exact * (1 - 1e-10) <= found <= min(1.0, exact * (1 + 1e-9)) + 1e-280


def test_the_lost_mass_is_above_the_exact_one() -> None:
    """In exact fractions, with odds that are certainly too large for e^-epsilon."""
    updates, steps, epsilon = 3, 12, Fraction(1, 2)
    odds = Fraction(math.exp(-0.5)) * (1 + Fraction(1, 2**52))
    terms = [math.comb(steps, i) * odds**i for i in range(steps + 1)]
    assert lost_mass(updates, epsilon, steps) >= sum(terms[:updates]) / sum(terms)


@pytest.mark.parametrize(("epsilon", "steps"), [(0.5, 1), (0.1, 60), (0.01, 1500)])
def test_the_optimal_composition_is_that_of_randomized_responses(
    epsilon: float, steps: int
) -> None:
    wins = np.arange(steps + 1)
    loss = (2 * wins - steps) * epsilon
    mass = stats.binom.pmf(wins, steps, 1 / (1 + math.exp(-epsilon)))
    size = Fraction(repr(epsilon))
    for a in (0.0, 0.2, 0.45, 1.0):
        exact = float(np.sum(mass * -np.expm1(np.minimum(a - loss, 0))))
        found = optimal_composition(size, steps, Fraction(repr(a)))
        assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-8) + 1e-280


# Adversaries that choose every round by what they saw.

Claim = Callable[[float, int, float], float]


@cache
def adversaries() -> list[tuple[float, int, float, float]]:
    """Their epsilon, updates and level, and the delta that they reach."""
    return [
        (epsilon, updates, a, capped_delta(epsilon, updates, rounds, a))
        for epsilon, updates, rounds, levels in (
            (0.5, 1, 40, (0.25, 1.0, 2.0)),
            (0.5, 2, 60, (0.5, 1.5)),
            (1.0, 1, 60, (0.5, 2.0, 4.0)),
            (0.2, 2, 80, (0.2, 0.6)),
        )
        for a in levels
    ]


def claimed(epsilon: float, updates: int, a: float) -> float:
    size, target = Fraction(repr(epsilon)), Fraction(repr(a))
    return min(
        float(lost_mass(updates, size, steps)) + optimal_composition(size, steps, target)
        for steps in range(updates, 40 * updates + 40)
    )


def by_iteration(epsilon: float, updates: int, a: float) -> float:
    return iterated(updates, Fraction(repr(epsilon)), Fraction(repr(a)))


def by_rho(epsilon: float, updates: int, a: float) -> float:
    def total(steps: int) -> float:
        cost = zcdp_cost(CappedRounds(updates, epsilon, steps, SUB))
        return float(cost.delta) + zcdp_delta(cost.rho, a)

    return min(map(total, range(updates, 40 * updates + 40)))


def only_updates_cost(epsilon: float, updates: int, a: float) -> float:
    """As if quiet rounds were free."""
    return optimal_composition(Fraction(repr(epsilon)), updates, Fraction(repr(a)))


def twice_the_updates_cost(epsilon: float, updates: int, a: float) -> float:
    """The expected number of accesses, and no lost mass."""
    return optimal_composition(Fraction(repr(epsilon)), 2 * updates, Fraction(repr(a)))


def understated(claim: Claim) -> list[tuple[float, int, float]]:
    return [(e, c, a) for e, c, a, reached in adversaries() if reached > claim(e, c, a)]


@pytest.mark.slow
@pytest.mark.parametrize("claim", [claimed, by_rho, by_iteration])
def test_no_adversary_does_better_than_claimed(claim: Claim) -> None:
    assert understated(claim) == []


def test_the_claim_is_within_a_factor_of_the_best_adversary_found() -> None:
    assert all(claimed(e, c, a) < 2.5 * reached for e, c, a, reached in adversaries())


def reached_by_accesses(
    epsilon: float, updates: int, a: float, rounds: int, *, first: int = 0, last: int = 0
) -> float:
    """What so many accesses reach, played for real: all outcomes of all of them, point by point.

    An access is a round itself: "no update" has the odds e^epsilon or e^-epsilon, and the
    exception the others. Randomized response of ``first`` times epsilon may come before, and of
    ``last`` times epsilon after them.
    """

    def ray(times: int) -> float:
        return 1 / (1 + math.exp(-times * epsilon))

    def nothing(place: int) -> float:
        return max(0.0, -math.expm1(a + place * epsilon))

    def response(after: Callable[[int], float], times: int, place: int) -> float:
        return ray(times) * after(place - times) + (1 - ray(times)) * after(place + times)

    @cache
    def best(left: int, place: int, moves: int) -> float:
        stop = response(nothing, last, place) if last else nothing(place)
        if not left or not moves:
            return stop
        near, far = place - 1, place + 1
        return max(
            stop,
            ray(1) * best(left, near, moves - 1) + ray(-1) * best(left - 1, far, moves - 1),
            ray(-1) * best(left, far, moves - 1) + ray(1) * best(left - 1, near, moves - 1),
        )

    def begun(place: int) -> float:
        return best(updates, place, rounds)

    return response(begun, first, 0) if first else begun(0)


@pytest.mark.parametrize(
    ("epsilon", "updates", "a"), [(0.5, 1, 1.0), (0.3, 4, 1.1), (2.0, 2, 3.5), (0.1, 3, 0.0)]
)
def test_value_iteration_claims_what_an_adversary_reaches(
    epsilon: float, updates: int, a: float
) -> None:
    reached = reached_by_accesses(epsilon, updates, a, 90)
    claim = by_iteration(epsilon, updates, a)
    assert reached <= claim <= reached * (1 + 1e-8)


BESIDE = [(0.3, 2, 0.7, 3, 0), (0.3, 2, 0.7, 0, 3), (0.1, 4, 0.75, 2, 5), (0.8, 1, 2.1, 1, 1)]


def plan_beside(epsilon: float, updates: int, first: int, last: int) -> Compose:
    """Capped rounds with randomized responses before and after them."""
    size = Fraction(repr(epsilon))
    rounds = CappedRounds(updates, size, 80, ADD)
    before, after = ((PureDP(times * size, ADD),) if times else () for times in (first, last))
    return Compose((*before, rounds, *after))


@pytest.mark.parametrize(("epsilon", "updates", "a", "first", "last"), BESIDE)
def test_in_a_closed_plan_value_iteration_goes_on_with_what_follows(
    epsilon: float, updates: int, a: float, first: int, last: int
) -> None:
    reached = reached_by_accesses(epsilon, updates, a, 90, first=first, last=last)
    plan = plan_beside(epsilon, updates, first, last)
    assert reached <= tight_delta(plan, a) <= reached * (1 + 1e-3)
    stepwise = Compose(
        tuple(
            Repeat(PureDP(each.epsilon, ADD), updates) if isinstance(each, CappedRounds) else each
            for each in plan.events
        )
    )
    assert tight_delta(stepwise, a) < reached  # as if quiet rounds were free


def test_a_session_after_tables_costs_less_than_its_lost_mass_and_steps() -> None:
    """A sixth less than by rhos; and beside what is next to nothing, no more than alone."""
    rounds = CappedRounds(34, 0.0145, 124, ADD)
    plan = Compose((Gaussian(10, ADD), rounds))
    stated = guarantee_of(plan, 1e-6).epsilon
    assert stated < 0.86 * guarantee_of(plan, 1e-6, "zcdp").epsilon
    alone = guarantee_of(rounds, 1e-6).epsilon
    assert alone < stated < guarantee_of(Compose((rounds, plan)), 1e-6).epsilon
    little = guarantee_of(Compose((rounds, PureDP(1e-6, ADD))), 1e-6).epsilon
    assert alone <= little < alone + 2e-6


@given(
    st.lists(st.tuples(st.floats(0.02, 1), st.floats(-1, 1)), min_size=2, max_size=4),
    st.integers(1, 3),
    st.floats(0, 3),
)
def test_no_round_gains_on_what_value_iteration_claims(
    outcomes: list[tuple[float, float]], updates: int, a: float
) -> None:
    """Any law of a round with ratios within e^epsilon; the first outcome is "no update"."""
    epsilon = 0.8
    q = np.array([mass for mass, _ in outcomes])
    p = q * np.exp([epsilon * part for _, part in outcomes])
    loss = np.log((p / p.sum()) / (q / q.sum()))
    p = p / p.sum()
    if np.abs(loss).max() > epsilon:
        return

    def value(left: int, b: float) -> float:
        if b < 0:  # the mirrored adversary
            return 1 - math.exp(b) * (1 - value(left, -b))
        return by_iteration(epsilon, left, b) if left else 0.0

    rest = sum(m * value(updates - 1, float(a - x)) for m, x in zip(p[1:], loss[1:], strict=True))
    assert p[0] * value(updates, float(a - loss[0])) + rest <= value(updates, a) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("delta", "epsilon", "before"), [(1e-3, 2.3776, 2.585), (1e-5, 3.6973, 3.935)]
)
def test_twenty_updates_at_a_tenth_cost_what_value_iteration_says(
    delta: float, epsilon: float, before: float
) -> None:
    """Before: the sum of lost mass and composition, at the best number of steps."""
    stated = guarantee_of(CappedRounds(20, 0.1, 120, ADD), delta).epsilon
    assert stated == pytest.approx(epsilon, abs=1e-4) and stated < 0.95 * before


@pytest.mark.parametrize("broken", [only_updates_cost, twice_the_updates_cost])
def test_the_same_check_catches_broken_claims(broken: Claim) -> None:
    assert understated(broken)


# The event and its calibration.


def test_the_event_costs_its_steps_and_its_lost_mass() -> None:
    event = CappedRounds(500, 0.00686, 1184, SUB)
    lost = lost_mass(500, Fraction("0.00686"), 1184)
    steps = zcdp_cost(Repeat(PureDP(0.00686, SUB), 1184))
    assert zcdp_cost(event).rho == steps.rho and zcdp_cost(event).delta == lost
    assert pure_cost(event).epsilon == 1184 * Fraction("0.00686")
    assert pure_cost(event).delta == lost < Fraction(1, 10**7)
    assert describe(event) == (
        "CappedRounds(updates=500, epsilon=0.00686, steps=1184) under substitution"
    )


def test_the_event_is_stored_and_read() -> None:
    event = CappedRounds(np.int64(5), Fraction(1, 3), np.int64(40), ADD)
    stored = json.dumps(to_json(event))
    assert json.loads(stored) == {
        "type": "CappedRounds",
        "updates": 5,
        "epsilon": "1/3",
        "steps": 40,
        "relation": "add-remove",
    }
    assert from_json(json.loads(stored)) == event
    assert as_substitution(event) == CappedRounds(5, Fraction(2, 3), 40, SUB)
    with pytest.raises(InputError, match="updates"):
        from_json({**to_json(event), "updates": 5.5})


@pytest.mark.parametrize("bad", [(0, 0.1, 5), (2, 0.0, 5), (6, 0.1, 5), (1, 0.1, 10**8)])
def test_bad_events_are_refused(bad: tuple[int, float, int]) -> None:
    with pytest.raises(InputError):
        CappedRounds(*bad, SUB)


def test_five_hundred_updates_at_one_and_a_millionth() -> None:
    plan = calibrate_capped(500, epsilon=1, delta=1e-6, relation=SUB)
    assert plan.epsilon == pytest.approx(0.00699, abs=1e-5)
    assert plan.event == CappedRounds(500, plan.epsilon, plan.steps, SUB)
    assert str(plan.guarantee) == "(1, 1e-06)-DP, protects each person (replace one record)"


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(1, 100), st.floats(0.1, 4), st.floats(1e-10, 1e-3))
def test_plans_keep_to_their_target_and_use_it_up(
    updates: int, epsilon: float, delta: float
) -> None:
    target, allowed = Fraction(repr(epsilon)), Fraction(repr(delta))
    tight = calibrate_capped(updates, epsilon=epsilon, delta=delta, relation=SUB)
    size = Fraction(repr(tight.epsilon))
    lost = lost_mass(updates, size, tight.steps)
    both = lost + optimal_composition(size, tight.steps, target)
    assert min(both, Fraction(iterated(updates, size, target))) <= allowed
    assert guarantee_of(tight.event, delta).epsilon <= epsilon * (1 + 1e-9)
    more = calibrate_capped(updates + 1, epsilon=epsilon, delta=delta, relation=SUB)
    assert more.epsilon <= tight.epsilon * 1.001
    zcdp = calibrate_capped(updates, epsilon=epsilon, delta=delta, relation=SUB, accountant="zcdp")
    assert zcdp.epsilon <= tight.epsilon * 1.001
    own = zcdp_cost(zcdp.event).delta
    Budget(epsilon, delta, SUB, delta_for_events=own).charge(zcdp.event)


def test_a_budget_needs_room_for_the_lost_mass() -> None:
    plan = calibrate_capped(20, epsilon=1, delta=1e-6, relation=ADD, accountant="zcdp")
    with pytest.raises(BudgetExceeded, match="delta"):
        Budget(1, 1e-6, accountant="zcdp").charge(plan.event)
    Budget(1, 1e-6).charge(plan.event)  # the combined accountant makes room by itself
    with pytest.raises(InputError, match="accountant"):
        calibrate_capped(20, epsilon=1, delta=1e-6, relation=ADD, accountant="pure")
    with pytest.raises(InputError, match="delta"):
        calibrate_capped(20, epsilon=1, delta=0, relation=ADD)


@pytest.mark.parametrize(("updates", "epsilon", "steps"), [(50, 0.5, 130), (16050, 0.003, 32500)])
def test_the_masses_far_from_the_mode_are_bounded_and_not_forgotten(
    updates: int, epsilon: float, steps: int
) -> None:
    """Against the whole sum of logarithms; what is far away is rounded up, never down."""
    p = 1 / (1 + math.exp(epsilon))
    i = np.arange(updates)
    logs = [math.lgamma(steps + 1) - math.lgamma(k + 1) - math.lgamma(steps - k + 1) for k in i]
    true = float(np.sum(np.exp(np.array(logs) + i * math.log(p) + (steps - i) * math.log1p(-p))))
    found = float(lost_mass(updates, Fraction(repr(epsilon)), steps))
    assert true * (1 - 1e-8) <= found <= true * (1 + 1e-8)
    tiny = lost_mass(1, Fraction(1, 10), 1000)  # further away than the law is computed
    assert (1 / (1 + math.exp(-0.1))) ** 1000 <= float(tiny) < 1e-100
