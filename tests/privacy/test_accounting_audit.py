"""Audit 4: the accountant adds up, rounds up, and agrees with numbers computed elsewhere."""

import math
from fractions import Fraction

import pytest

from winnow.audit import AuditResult
from winnow.audit.accounting import ROUNDS, accounted
from winnow.audit.closed_plans import (
    choices_stay_below,
    costs_dominate_divergences,
    integers_stay_below,
    several_counts_stay_below,
)
from winnow.core.relation import Relation
from winnow.privacy import (
    AnyOf,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Truncated,
    pure_cost,
    tight_delta,
    zcdp_cost,
    zcdp_epsilon,
)
from winnow.privacy.charges import laplace_event
from winnow.privacy.discrete_gaussian import normal_delta
from winnow.select.mechanisms.noisy_counts import NoisyCounts


@pytest.fixture(scope="module")
def results() -> list[AuditResult]:
    return [*accounted(), *costs_dominate_divergences()]


def test_the_accountant_holds(results: list[AuditResult]) -> None:
    assert [result for result in results if not result.passed] == []
    assert {result.kind for result in results} == {"accounting"}


def test_the_table_of_rounds_is_checked_entry_by_entry(results: list[AuditResult]) -> None:
    claims = " ".join(result.claim for result in results)
    for (delta, rounds), expected in ROUNDS.items():
        assert f"{rounds} rounds of selection and continuous Laplace noise at (1, {delta:g})" in (
            claims
        )
        assert f"{expected:.4f} each" in claims


def test_no_charge_is_wasteful_by_more_than_a_third_at_epsilon_of_one_or_less(
    results: list[AuditResult],
) -> None:
    charges = [result for result in results if result.claim.startswith("The rho charged for")]
    assert len(charges) == len(list(costs_dominate_divergences()))
    for result in charges:
        if "(0.1)" in result.claim or "(1)" in result.claim:
            assert result.measured > 0.66 * result.claimed


def test_gaussian_noise_that_is_taken_as_continuous_is_caught() -> None:
    def broken(event: DiscreteGaussian, epsilon: float) -> float:
        return normal_delta(Fraction(event.squared_ratio), Fraction(epsilon))

    assert integers_stay_below(tight_delta).passed
    assert not integers_stay_below(broken).passed


def test_a_choice_that_is_accounted_for_outside_is_caught() -> None:
    def broken(event: Event, a: float) -> float:
        """The dearest of the plans as wholes: which one runs would be fixed beforehand."""
        assert isinstance(event, Compose)
        first, rest = event.events
        assert isinstance(rest, Truncated) and isinstance(rest.event, AnyOf)
        return max(tight_delta(Compose((first, way)), a) for way in rest.event.events)

    assert choices_stay_below(tight_delta).passed
    assert not choices_stay_below(broken).passed


def test_counts_that_move_together_are_not_charged_for_one_of_them() -> None:
    def broken(multiplier: Fraction, moved: int, relation: Relation) -> Event:
        return DiscreteLaplace(moved * multiplier, relation)

    assert several_counts_stay_below(laplace_event).passed
    assert not several_counts_stay_below(broken).passed


def test_twenty_lists_of_eight_items_cost_what_eight_counts_move() -> None:
    """Noise on L counts is L measurements of sensitivity 1, not one of sensitivity L."""
    event = NoisyCounts(1, k=10, max_items=8).promise(Relation.ADD_REMOVE).event
    assert pure_cost(event).epsilon == 1
    assert float(zcdp_cost(event).rho) == pytest.approx(math.tanh(1 / 16), rel=1e-12)
    as_one = zcdp_cost(DiscreteLaplace(1, Relation.ADD_REMOVE))
    assert float(as_one.rho) == pytest.approx(0.462, rel=1e-3)
    year = zcdp_epsilon(20 * zcdp_cost(event).rho, 1e-6)
    assert year < 8.9 < 27 < zcdp_epsilon(20 * as_one.rho, 1e-6)
