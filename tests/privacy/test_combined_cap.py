"""The combined accountant: sums of epsilon and sums of rho, and a charge fits while either does."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import winnow as wn
from reference.adaptive_adversary import Floats, Law, discrete_gaussian
from winnow import Budget, BudgetExceeded, GuaranteeError, InputError, Relation
from winnow.privacy import (
    AnyOf,
    ApproxDP,
    BoundedRange,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    Guarantee,
    PureDP,
    Repeat,
    Truncated,
    calibrate_capped,
    pure_cost,
    tight_delta,
    zcdp_cost,
    zcdp_delta,
    zcdp_rho,
)
from winnow.privacy.accountants import epsilon_at
from winnow.privacy.cap import Amount, Cap
from winnow.privacy.discrete_gaussian import normal_delta
from winnow.privacy.refusals import scaled
from winnow.privacy.residue import needed

ADD, SUB = Relation.ADD_REMOVE, Relation.SUBSTITUTION

sizes = st.floats(1e-3, 0.6)
any_event = st.one_of(
    st.builds(PureDP, sizes, st.just(ADD)),
    st.builds(BoundedRange, sizes, st.just(ADD)),
    st.builds(Gaussian, st.floats(2, 500), st.just(ADD)),
    st.builds(DiscreteLaplace, st.floats(2, 500), st.just(ADD)),
    st.builds(ApproxDP, sizes, st.floats(1e-9, 9e-6), st.just(ADD)),
    st.builds(Truncated, st.builds(Gaussian, st.floats(5, 500), st.just(ADD)), st.just(1e-6)),
)


@pytest.mark.parametrize(
    "whole",
    [
        PureDP(1, ADD),
        BoundedRange(1, ADD),
        ApproxDP(1, 1e-5, ADD),
        ApproxDP(1, 4e-6, ADD),
        Gaussian(math.sqrt(0.5 / zcdp_rho(1, 1e-5)) * (1 + 1e-9), ADD),
        calibrate_capped(20, epsilon=1, delta=1e-5, relation=ADD, accountant="zcdp").event,
        Truncated(PureDP(1, ADD), 1e-5),
    ],
)
def test_one_charge_may_take_the_whole_cap(whole: Event) -> None:
    budget = Budget(1, 1e-5)
    budget.charge(whole)
    assert budget.spent.amount <= 1
    with pytest.raises(BudgetExceeded):
        budget.charge(PureDP(0.1, ADD))


def test_a_first_charge_is_counted_in_the_way_that_fits() -> None:
    """Its rho implies a smaller epsilon, but leaves no room for the delta of its own."""
    Budget(5, 1e-6).charge(Truncated(Repeat(PureDP(0.05, ADD), 100), 1e-6))


@pytest.mark.parametrize("event", [Repeat(PureDP(1, ADD), 10**400), Gaussian(1e-200, ADD)])
def test_what_can_never_fit_is_refused_as_such(event: Event) -> None:
    with pytest.raises(BudgetExceeded):
        Budget(1, 1e-6).charge(event)


def test_numbers_at_the_edge_are_refused_when_the_cap_is_declared_or_shown_in_range() -> None:
    with pytest.raises(InputError, match="too small to be split"):
        Budget(1, 1e-323)
    wide = Budget(1, 0.9999999999999999)
    wide.charge(Gaussian(5, ADD))
    assert 0 <= wide.spent.amount <= 1 and 0 <= wide.left.amount <= 1
    assert Budget(0.1, 0.5).left.amount <= 0.1


def test_what_a_steward_would_do_fits_an_unspent_budget() -> None:
    """A private list, a pure list and a Gaussian table: no split of delta has to be known."""
    budget = Budget(1, 1e-5)
    budget.charge(Truncated(BoundedRange(0.1, ADD), 1e-6))
    budget.charge(PureDP(0.4, ADD))
    budget.charge(Gaussian(math.sqrt(0.5 / zcdp_rho(0.4, 1e-6)), ADD))
    assert 0.85 < budget.spent.amount < 1


def test_many_small_charges_cost_little_of_what_the_expert_option_allows() -> None:
    """Composing normals at a sixteenth of delta, against rhos at all of it."""
    small = Gaussian(100, ADD)
    counts = []
    for accountant in ("combined", "zcdp"):
        budget, charged = Budget(1, 1e-6, accountant=accountant), 0
        with suppress(BudgetExceeded):
            while charged < 1000:
                budget.charge(small)
                charged += 1
        counts.append(charged)
    assert counts[0] >= 0.9 * counts[1]


@given(st.lists(any_event, max_size=30))
def test_every_path_ends_within_one_of_the_ways_of_the_proof(charges: list[Event]) -> None:
    """The parts of the proof, recomputed from the events that were granted."""
    delta = Fraction(1, 10**5)
    budget = Budget(1, 1e-5)
    for event in charges:
        with suppress(BudgetExceeded):
            budget.charge(event)
    if not budget.events:
        return
    used = budget._used()
    own = sum((zcdp_cost(event).delta for event in budget.events), Fraction(0))
    pooled = used.delta + used.converted
    if not used.rho:
        assert used.size <= 1 and own <= used.delta + used.converted <= delta
        return
    assert own == used.delta and pooled <= delta * 15 / 16
    squared = needed(Compose(budget.events), 0.0)
    composed = normal_delta(Fraction(squared) * (1 - Fraction(1, 10**9)), Fraction(1))
    assert used.size <= 1 or composed <= delta / 16


@given(st.lists(any_event, min_size=1, max_size=12))
def test_every_charge_is_counted_at_an_epsilon_and_a_delta_that_hold(charges: list[Event]) -> None:
    """Pure sums, or what rho implies: recomputed for each charge, while epsilons still count."""
    budget = Budget(1, 1e-5)
    for event in charges:
        before = budget._used()
        with suppress(BudgetExceeded):
            budget.charge(event)
            after = budget._used()
            size, converted = after.size - before.size, after.converted - before.converted
            if after.size > 1:
                return
            cost = zcdp_cost(event)
            lost = after.delta - before.delta + converted
            assert lost >= cost.delta and converted >= 0
            known = [Fraction(zcdp_delta(cost.rho, size)) + cost.delta]
            with suppress(GuaranteeError):
                known.append(Fraction(tight_delta(event, size)))
            with suppress(GuaranteeError):
                known += [pure_cost(event).delta] * (pure_cost(event).epsilon <= size)
            assert lost * (1 + Fraction(1, 10**6)) >= min(known)


def test_the_epsilon_of_choices_is_that_of_the_dearest_for_the_same_delta() -> None:
    """Laplace noise, then a pure or a Gaussian release, each with epsilon 1 - 1/40."""
    delta, rest = Fraction(1, 10**6), Fraction(39, 40)
    gaussian = DiscreteGaussian(2 * zcdp_rho(rest, delta), 10**6, ADD)
    choice = AnyOf((PureDP(rest, ADD), gaussian))
    whole = Compose((DiscreteLaplace(40, ADD), choice))
    epsilon = epsilon_at(whole, delta)
    assert epsilon is not None and 1 <= epsilon <= 1 + Fraction(1, 10**9)
    dearer = AnyOf((PureDP(2, ADD), gaussian))
    assert epsilon_at(dearer, delta) == 2
    assert epsilon_at(gaussian, Fraction(0)) is None
    two = epsilon_at(Compose((gaussian, AnyOf((PureDP(1, ADD), gaussian)))), delta)
    half = epsilon_at(gaussian, delta / 2)
    assert two is not None and half is not None and half < two <= 2 * half


def _gaussian(event: Event) -> bool:
    try:
        pure_cost(event)
    except GuaranteeError:
        return True
    return False


def test_the_split_is_decided_by_the_first_charge_alone() -> None:
    """A first charge of little keeps a sixteenth of delta for composition, whatever comes later."""
    budget = Budget(1, 1e-5)
    budget.charge(PureDP(0.01, ADD))
    with pytest.raises(BudgetExceeded, match=r"delta 9\.375e-06 is left"):
        budget.charge(ApproxDP(0.1, 9.9e-6, ADD))
    budget.charge(ApproxDP(0.1, 8e-6, ADD))
    budget.charge(Gaussian(100, ADD))
    alone = Budget(1, 1e-5)
    alone.charge(ApproxDP(0.1, 6e-6, ADD))
    alone.charge(ApproxDP(0.1, 4e-6, ADD))
    with pytest.raises(BudgetExceeded):  # nothing of delta is left for it
        alone.charge(Gaussian(100, ADD))


def test_a_first_charge_that_composition_could_not_take_twice_leaves_all_of_delta_to_sums() -> None:
    """Whatever was charged first, parts that add up to the cap fit."""
    for first, parts in ((PureDP(0.25, ADD), 3), (Truncated(PureDP(0.5, ADD), 5e-7), 1)):
        budget = Budget(1, 1e-6)
        budget.charge(first)
        left = (1 - pure_cost(first).epsilon) / parts
        own = (Fraction(1, 10**6) - pure_cost(first).delta) / parts
        for _ in range(parts):
            budget.charge(ApproxDP(left, own, ADD))
        assert budget.left.amount == budget.left.delta == 0


# Exact enumeration of adaptive adversaries.

EPSILON, DELTA = 1.0, 0.06
CHOICES = [PureDP(0.5, ADD), PureDP(0.25, ADD), Gaussian(4, ADD), ApproxDP(0.25, 0.02, ADD)]


def _law(event: PureDP | Gaussian | ApproxDP) -> Law:
    """The worst pair of laws: randomized response, or an integer moved by 1."""
    if isinstance(event, Gaussian):
        return discrete_gaussian(4.0, 1, 16)
    e, lost = float(event.epsilon), float(getattr(event, "delta", 0.0))
    p = (1 - lost) / (1 + math.exp(-e))
    high, low = p, 1 - lost - p
    tiny = 1e-300  # the outcome that gives everything away, in one law only
    return np.array([high, low, lost + tiny, tiny]), np.array([low, high, tiny, lost + tiny])


def _reached(
    after: Callable[[Amount, Event], Amount | None], used: Amount, a: Floats, depth: int
) -> Floats:
    """The largest delta at epsilon a that an adversary reaches, who chooses each charge."""
    best: Floats = -np.expm1(np.minimum(a, 0.0))
    if depth == 0:
        return best
    for event in CHOICES:
        total = after(used, event)
        if total is None:
            continue
        p, q = _law(event)
        follows = _reached(after, total, a[..., None] - np.log(p / q), depth - 1)
        best = np.maximum(best, follows @ p)
    return best


def test_no_adaptive_adversary_passes_the_cap() -> None:
    """All adaptive strategies of four charges, pure, Gaussian and with a delta, enumerated."""
    cap = Cap.declare(EPSILON, DELTA)

    def after(used: Amount, event: Event) -> Amount | None:
        try:
            return cap.after(used, event, cap.cost(event, used))
        except BudgetExceeded:
            return None

    reached = float(_reached(after, Amount(), np.array(EPSILON), 4))
    assert 0.02 < reached <= DELTA


def test_a_twin_that_counts_every_event_in_the_cheaper_sum_only_passes_the_cap() -> None:
    """Epsilon of pure events and rho of the others, each up to its own limit: not a filter."""
    cap = Cap.declare(EPSILON, DELTA)
    rho = Fraction(zcdp_rho(EPSILON, DELTA))

    def after(used: Amount, event: Event) -> Amount | None:
        cost = cap.cost(event, used)
        own = Amount(Fraction(0), cost.delta, cost.rho) if _gaussian(event) else Amount(cost.size)
        total = used + own
        fits = total.size <= 1 and total.rho <= rho and total.delta <= Fraction(DELTA)
        return total if fits else None

    assert float(_reached(after, Amount(), np.array(EPSILON), 4)) > DELTA


def test_a_refusal_says_what_was_asked_what_is_left_and_what_would_fit() -> None:
    budget = Budget(1, 1e-5)
    budget.charge(PureDP(0.7, ADD))
    with pytest.raises(BudgetExceeded) as refused:
        budget.charge(PureDP(0.5, ADD))
    said = str(refused.value)
    assert "asks for epsilon 0.5, and epsilon 0.3 of 1 is left; epsilon 0.3 would fit" in said
    budget.charge(PureDP(0.3, ADD))


@given(any_event, st.fractions(Fraction(1, 100), Fraction(99, 100)))
def test_a_smaller_part_of_an_event_costs_less(event: Event, part: Fraction) -> None:
    smaller = scaled(event, part)
    assert zcdp_cost(smaller).rho <= zcdp_cost(event).rho
    assert zcdp_cost(smaller).delta == zcdp_cost(event).delta


def test_scaling_reaches_into_sums() -> None:
    both = Compose((DiscreteGaussian(1, 4, ADD), Repeat(PureDP(0.5, ADD), 2)))
    half = scaled(both, Fraction(1, 2))
    expected = Compose((DiscreteGaussian(Fraction(1, 4), 4, ADD), Repeat(PureDP(0.25, ADD), 2)))
    assert half == expected


def test_a_thousand_gaussian_charges_keep_short_numbers() -> None:
    budget = Budget(10, 1e-5)
    for _ in range(1000):
        budget.charge(Gaussian(100, ADD))
    used = budget._used()
    assert used.converted.denominator < 2**120 and budget.left.amount > 0


def test_a_sum_that_an_older_version_kept_for_composition_alone_stays_so() -> None:
    """Over half of delta in events, and a conversion: no later event has a delta of its own."""
    cap = Cap.declare(0.1, Fraction(1, 2**16), earlier=True)
    delta = Fraction(1, 2**16)
    used = Amount(Fraction(9, 100), Fraction(101, 200) * delta, Fraction(1, 4000), delta / 32)
    later = Amount(Fraction(1, 1000), Fraction(9, 20) * delta)
    assert not cap.follows(used, used + later)
    assert cap.follows(used, used + Amount(Fraction(1, 1000), Fraction(0), Fraction(1, 10**7)))
    unconverted = Amount(Fraction(9, 100), Fraction(101, 200) * delta)
    assert cap.follows(unconverted, unconverted + later)


def test_a_release_is_refused_in_the_epsilon_that_it_states() -> None:
    """What is said to fit is granted."""
    ask = partial(wn.plan.release, wn.plan.table({"a": 3, "b": 4}, rows=300), wn.marginals(2))
    budget = Budget(1, 1e-6, "substitution")
    for used, left in ((PureDP(0.6, SUB), r"0\.4"), (Gaussian(25, SUB), r"0\.2\d*")):
        budget.charge(used)
        asked = ask(epsilon=0.7, delta=5e-7, method=wn.MWEM(rounds=3), budget=budget)
        said = (
            rf"this release asks for epsilon 0\.7 and delta 5e-07, and .*; epsilon ({left}) would"
        )
        with pytest.raises(BudgetExceeded, match=said) as refused:
            budget.charge(asked.event, stated=asked.guarantee)
        (fitting,) = re.findall(said, str(refused.value))
        fits = ask(epsilon=float(fitting), delta=5e-7, method=wn.MWEM(rounds=3), budget=budget)
        assert budget._fits(fits.event, fits.guarantee)


def test_where_nothing_is_left_what_states_no_epsilon_is_refused_or_granted_by_its_delta() -> None:
    """Noise so large that epsilon is 0 at this delta, asked of a budget whose epsilon is used."""
    budget = Budget(1, 1e-6, ADD)
    budget.charge(PureDP(1, ADD))
    little = Guarantee(0, 1e-6, ADD)
    budget.charge(Gaussian(5 * 10**5, ADD), stated=little)
    with pytest.raises(BudgetExceeded, match="of 1 is left"):
        budget.charge(Gaussian(5 * 10**5, ADD), stated=little)
