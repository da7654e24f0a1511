"""Composition: the published table, exact compositions, and adaptive adversaries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from winnow import Budget, BudgetExceeded, Relation, as_substitution, calibrate
from winnow.privacy import (
    ApproxDP,
    BoundedRange,
    Compose,
    DiscreteLaplace,
    Event,
    PureDP,
    Repeat,
    guarantee_of,
    zcdp_rho,
)

ADD = Relation.ADD_REMOVE


# The largest epsilon_0 for (1, delta) with T rounds of [exponential mechanism at
# epsilon_0/2, Laplace at epsilon_0/2].


@pytest.mark.parametrize(
    ("delta", "rounds", "printed"),
    [
        (1e-3, 100, 0.0619),
        (1e-6, 10, 0.1259),
        (1e-6, 50, 0.0560),
        (1e-6, 100, 0.0396),
        (1e-6, 500, 0.0177),
        (1e-6, 1000, 0.0125),
        (1e-9, 100, 0.0310),
    ],
)
def test_table_of_round_budgets_with_continuous_laplace(
    delta: float, rounds: int, printed: float
) -> None:
    """The continuous law is never released here; its rho, x - 1 + e^-x, is local to the test."""
    cap = zcdp_rho(1, delta) / rounds
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        x = middle / 2
        if x**2 / 8 + x + math.expm1(-x) <= cap:
            low = middle
        else:
            high = middle
    assert round(low, 4) == printed


def _rounds(count: int) -> Callable[[float], Event]:
    def plan(size: float) -> Event:
        half = Fraction(repr(size)) / 2
        return Repeat(Compose((BoundedRange(half, ADD), DiscreteLaplace(1 / half, ADD))), count)

    return plan


def test_table_of_round_budgets_with_discrete_laplace() -> None:
    ten = calibrate(_rounds(10), epsilon=1, delta=1e-6, accountant="zcdp")
    assert round(ten.parameter, 4) == 0.1249
    for count, continuous in ((50, 0.0560), (100, 0.0396), (500, 0.0177), (1000, 0.0125)):
        found = calibrate(_rounds(count), epsilon=1, delta=1e-6, accountant="summed")
        assert found.accountant == "zcdp"
        assert found.parameter == pytest.approx(continuous, abs=2e-4)


def test_basic_composition_is_the_first_column() -> None:
    assert calibrate(_rounds(100), epsilon=1).parameter == 0.01


# Exact compositions.


@pytest.mark.parametrize("count", [1, 5, 30, 200])
@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("own_delta", [0.0, 1e-5])
def test_the_stated_epsilon_holds_for_the_optimal_composition(
    count: int, epsilon: float, own_delta: float
) -> None:
    """k identical (epsilon, delta)-DP mechanisms, exactly [Kairouz-Oh-Viswanath 2015]."""
    delta = 0.01
    single: Event = ApproxDP(epsilon, own_delta, ADD) if own_delta else PureDP(epsilon, ADD)
    stated = guarantee_of(Repeat(single, count), delta, "zcdp").epsilon
    wins = np.arange(count + 1)
    loss = (2 * wins - count) * epsilon
    mass = stats.binom.pmf(wins, count, 1 / (1 + math.exp(-epsilon)))
    composed = float(np.sum(mass * -np.expm1(np.minimum(stated - loss, 0))))
    survives = (1 - own_delta) ** count
    assert 1 - survives + survives * composed <= delta * (1 + 1e-9)


# Adaptive adversaries: every node of a tree chooses its event from what was released.

Law = list[tuple[float, float]]
"""Outcomes of one mechanism: probability under each of two neighbours."""


def worst_law(event: Event, tilt: float) -> Law:
    match event:
        case PureDP(epsilon):
            p = 1 / (1 + math.exp(-float(epsilon)))
            return [(p, 1 - p), (1 - p, p)]
        case BoundedRange(epsilon):
            size = float(epsilon)
            t = tilt * size
            p = math.expm1(t - size) / math.expm1(-size)
            return [(p, p * math.exp(-t)), (1 - p, (1 - p) * math.exp(size - t))]
        case ApproxDP(epsilon, delta):
            p, d = 1 / (1 + math.exp(-float(epsilon))), float(delta)
            return [
                (d, 0.0),
                ((1 - d) * p, (1 - d) * (1 - p)),
                ((1 - d) * (1 - p), (1 - d) * p),
                (0.0, d),
            ]
    raise AssertionError(event)


def leaves(
    open_budget: Callable[[], Budget], choices: list[tuple[Event, float]], depth: int
) -> Law:
    """The law of the whole interaction; a refused event is skipped for a smaller one or nothing."""
    nodes: list[tuple[float, float, tuple[Event, ...], tuple[int, ...]]] = [(1.0, 1.0, (), ())]
    for _ in range(depth):
        grown = []
        for p, q, paid, history in nodes:
            # The choice depends on the released history, in an arbitrary way.
            code = sum((outcome + 1) * 5**i for i, outcome in enumerate(history))
            event, tilt = choices[code % len(choices)]
            budget = open_budget()
            for earlier in paid:
                budget.charge(earlier)
            try:
                budget.charge(event)
            except BudgetExceeded:
                grown.append((p, q, paid, (*history, 9)))
                continue
            for outcome, (a, b) in enumerate(worst_law(event, tilt)):
                if a or b:
                    grown.append((p * a, q * b, (*paid, event), (*history, outcome)))
        nodes = grown
    return [(p, q) for p, q, _, _ in nodes]


sizes = st.floats(0.02, 0.45)
chosen = st.tuples(
    st.one_of(
        st.builds(PureDP, sizes, st.just(ADD)),
        st.builds(BoundedRange, sizes, st.just(ADD)),
        st.builds(ApproxDP, sizes, st.floats(1e-3, 1e-2), st.just(ADD)),
    ),
    st.floats(0.05, 0.95),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(chosen, min_size=1, max_size=12), st.sampled_from(["pure", "zcdp", "zcdp-split"]))
def test_the_cap_holds_against_adaptive_adversaries(
    choices: list[tuple[Event, float]], kind: str
) -> None:
    epsilon, delta = 0.6, 0.05

    def open_budget() -> Budget:
        if kind == "zcdp-split":
            return Budget(epsilon, delta, delta_for_events=0.015)
        return Budget(epsilon, delta, accountant=kind)

    law = leaves(open_budget, choices, 5)
    assert sum(p for p, _ in law) == pytest.approx(1)
    assert sum(q for _, q in law) == pytest.approx(1)
    grow = math.exp(epsilon)
    assert sum(max(0.0, p - grow * q) for p, q in law) <= delta * (1 + 1e-9)
    assert sum(max(0.0, q - grow * p) for p, q in law) <= delta * (1 + 1e-9)


def test_the_harness_catches_a_cap_that_is_too_large() -> None:
    """The same tree under three times the epsilon breaks the smaller claim."""
    choices: list[tuple[Event, float]] = [(PureDP(0.45, ADD), 0.5)]
    law = leaves(lambda: Budget(1.8, 0.05, accountant="pure"), choices, 4)
    assert sum(max(0.0, p - math.exp(0.6) * q) for p, q in law) > 0.05


# Group privacy: what as_substitution claims, on chains P - R - Q.


@settings(deadline=None)
@given(st.floats(0.05, 2), st.lists(st.integers(0, 1), min_size=8, max_size=8), st.integers(0, 99))
def test_substitution_doubles_the_range_of_the_exponential_mechanism(
    epsilon: float, moves: list[int], seed: int
) -> None:
    middle = np.random.default_rng(seed).uniform(0, 3, 4)
    before, after = (epsilon * (middle + np.array(side)) for side in (moves[:4], moves[4:]))
    ratios = (before - np.logaddexp.reduce(before)) - (after - np.logaddexp.reduce(after))
    converted = as_substitution(BoundedRange(epsilon, ADD))
    assert isinstance(converted, BoundedRange)
    assert np.ptp(ratios) <= float(converted.epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("delta", [1e-3, 0.05])
def test_substitution_delta_holds_on_chains_and_is_reached(epsilon: float, delta: float) -> None:
    converted = as_substitution(ApproxDP(epsilon, delta, ADD))
    assert isinstance(converted, ApproxDP)
    grow = math.exp(epsilon)
    # On one event S: Q(S) -> R(S) = e^eps Q(S) + delta -> P(S) = e^eps R(S) + delta.
    q = 0.001
    p = grow * (grow * q + delta) + delta
    assert p - grow**2 * q == pytest.approx(float(converted.delta))
    assert p - grow**2 * q <= float(converted.delta) * (1 + 1e-12)


def test_orders_of_composition_do_not_matter() -> None:
    parts = (PureDP(0.3, ADD), BoundedRange(0.7, ADD), DiscreteLaplace(3, ADD))
    stated = {guarantee_of(Compose(order), 1e-6) for order in itertools.permutations(parts)}
    assert len(stated) == 1
