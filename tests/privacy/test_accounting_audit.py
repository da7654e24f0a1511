"""Audit 4: the accountant adds up, rounds up, and agrees with numbers computed elsewhere."""

from fractions import Fraction

import pytest

from winnow.audit import AuditResult
from winnow.audit.accounting import ROUNDS, accounted
from winnow.audit.closed_plans import costs_dominate_divergences, integers_stay_below
from winnow.privacy import DiscreteGaussian, tight_delta
from winnow.privacy.discrete_gaussian import normal_delta


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
