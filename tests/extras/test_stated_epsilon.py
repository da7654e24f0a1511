"""Every stated epsilon against privacy losses that dp_accounting composes: never below them.

Losses are those of a pair of neighbours for each event, rounded down (``benchmarks/accounting``).
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from contracts.test_whole_budget import VERBS
from winnow.privacy import (
    AnyOf,
    ApproxDP,
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
    Compose((DiscreteLaplace(5, HERE), AnyOf((Gaussian(8, HERE), Repeat(PureDP(0.05, HERE), 9))))),
]


@pytest.mark.parametrize("event", EXACT, ids=lambda event: type(event).__name__)
def test_the_tight_accountant_is_never_below_and_at_most_two_percent_above(event: Event) -> None:
    """Nothing is lost to adaptive choices here: one law dominates in every step."""
    stated = guarantee_of(event, DELTA, "tight").epsilon
    assert least(event, DELTA) <= stated <= 1.02 * least(event, DELTA) + 1e-3


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_receipt_states_is_not_below_what_its_event_reaches(verb: str) -> None:
    done = VERBS[verb](epsilon=1.0, delta=DELTA, seed=1)
    stated = done.guarantee
    if stated.delta:
        assert least(done.receipt.event, stated.delta) <= stated.epsilon


@pytest.mark.parametrize("place", range(12))
def test_a_year_is_charged_no_less_than_it_reaches(place: int) -> None:
    programme, closed = list(oracle().programmes().values())[place]
    charged = oracle().now(programme, DELTA, closed=closed)
    assert oracle().below(programme, DELTA) <= charged <= oracle().before(programme, DELTA) + 1e-9
