"""Every stated epsilon against privacy losses that dp_accounting composes: never below them.

Losses are those of a pair of neighbours for each event, rounded down (``benchmarks/accounting``).
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import winnow as wn
from contracts.test_whole_budget import PURE, VERBS
from winnow.privacy import (
    AnyOf,
    ApproxDP,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    guarantee_of,
)

pytest.importorskip("dp_accounting")
pytestmark = pytest.mark.extras

HERE, DELTA = "add-remove", 1e-6


def oracle() -> Any:
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        import accounting
    finally:
        sys.path.pop(0)
    return accounting


def least(event: Event, delta: float) -> float:
    """What a pair of neighbours reaches, the best of a few."""
    pairs = ((0.35, 0), (0.5, 0), (0.65, 3))
    return max(
        float(oracle().losses(event, t, which).get_epsilon_for_delta(delta)) for t, which in pairs
    )


EXACT = [
    Repeat(PureDP(0.1, HERE), 30),
    Repeat(DiscreteLaplace(16, HERE), 200),
    Repeat(Gaussian(30, HERE), 50),
    DiscreteGaussian(Fraction(1, 20), 400, HERE),
    Repeat(ApproxDP(0.2, 1e-8, HERE), 10),
    Truncated(Repeat(DiscreteLaplace(8, HERE), 40), Fraction(1, 10**7)),
    Compose((Repeat(Gaussian(20, HERE), 6), Repeat(DiscreteLaplace(10, HERE), 12))),
    # Sums of moments beside their bounds, a described table, and lists by group with counts.
    Compose((DiscreteLaplace(4, HERE), DiscreteGaussian(Fraction(1, 30), 900, HERE))),
    Compose((Repeat(PureDP(0.1, HERE), 5), Repeat(DiscreteLaplace(20, HERE), 20))),
    Repeat(Compose((PureDP(0.05, HERE), Repeat(DiscreteLaplace(40, HERE), 4))), 6),
    CappedRounds(20, 0.1, 110, HERE),
    Compose((Gaussian(10, HERE), CappedRounds(34, 0.0145, 124, HERE))),
    Compose((DiscreteLaplace(5, HERE), AnyOf((Gaussian(8, HERE), Repeat(PureDP(0.05, HERE), 9))))),
]


@pytest.mark.parametrize("event", EXACT, ids=lambda event: type(event).__name__)
def test_the_tight_accountant_is_never_below_and_at_most_two_percent_above(event: Event) -> None:
    """Nothing is lost to adaptive choices here: one law dominates in every step."""
    stated = guarantee_of(event, DELTA, "tight").epsilon
    assert least(event, DELTA) <= stated <= 1.02 * least(event, DELTA) + 1e-3


@pytest.mark.parametrize("verb", [*VERBS, *PURE])
def test_what_a_receipt_states_is_not_below_what_its_event_reaches(verb: str) -> None:
    if verb in VERBS:
        done = VERBS[verb](epsilon=1.0, delta=DELTA, seed=1)
    elif verb.startswith("open_"):
        pytest.skip("is charged while it is open")
    else:
        done = PURE[verb](epsilon=1.0, seed=1)
    stated = done.guarantee
    delta = stated.delta * (1 + 1e-6) or 1e-12  # a lost mass of exactly delta is a rounding away
    assert least(done.receipt.event, delta) <= stated.epsilon + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("event", EXACT, ids=lambda event: type(event).__name__)
def test_an_odometer_reads_no_less_than_is_reached(event: Event) -> None:
    odometer = wn.Odometer()
    odometer.charge(event)
    read = odometer.spent_at(DELTA)
    assert least(event, read.delta) <= read.epsilon


MIXES = [
    [BoundedRange(0.1, HERE)] * 5 + [Gaussian(30, HERE)] * 10,
    [ApproxDP(0.2, 1e-8, HERE), Repeat(DiscreteLaplace(40, HERE), 8), Gaussian(12, HERE)],
    [DiscreteGaussian(Fraction(1, 200), 900, HERE), PureDP(0.3, HERE)] * 3,
    [AnyOf((PureDP(0.2, HERE), Gaussian(20, HERE))), Truncated(Gaussian(10, HERE), 1e-8)] * 2,
    [CappedRounds(3, 0.02, 40, HERE), Gaussian(15, HERE), DiscreteLaplace(10, HERE)],
]


@pytest.mark.slow
@pytest.mark.parametrize("accountant", ["combined", "gaussian", "zcdp"])
@pytest.mark.parametrize("events", MIXES)
def test_a_budget_is_never_used_less_than_its_charges_reach(
    events: list[Event], accountant: str
) -> None:
    """The smallest cap that takes them, to a hundredth."""
    reserved = {} if accountant == "combined" else {"delta_for_events": 4e-7}

    def fits(cap: float) -> bool:
        budget = wn.Budget(cap, DELTA, accountant=accountant, **reserved)
        try:
            for event in events:
                budget.charge(event)
        except wn.BudgetExceeded:
            return False
        return True

    low, high = 0.0, 16.0
    assert fits(high)
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    assert least(Compose(tuple(events)), DELTA) <= high


@pytest.mark.slow
@pytest.mark.parametrize("place", range(12))
def test_a_year_is_charged_no_less_than_it_reaches(place: int) -> None:
    programme, closed = list(oracle().programmes().values())[place]
    charged = oracle().now(programme, DELTA, closed=closed)
    assert oracle().below(programme, DELTA) <= charged <= oracle().before(programme, DELTA) + 1e-9
