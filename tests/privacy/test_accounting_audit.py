"""Audit 4: the accountant adds up, rounds up, and agrees with numbers computed elsewhere."""

from fractions import Fraction

import pytest

from winnow.audit import AuditResult
from winnow.audit.accounting import ROUNDS, accounted
from winnow.audit.closed_plans import costs_dominate_divergences, integers_stay_below
from winnow.privacy import DiscreteGaussian, tight_delta
from winnow.privacy.discrete_gaussian import normal_delta

RESULTS = [*accounted(), *costs_dominate_divergences()]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.claim)
def test_the_accountant_holds(result: AuditResult) -> None:
    assert result.passed, result
    assert result.kind == "accounting"


def test_the_table_of_rounds_is_checked_entry_by_entry() -> None:
    claims = " ".join(result.claim for result in RESULTS)
    for (delta, rounds), expected in ROUNDS.items():
        assert f"{rounds} rounds of selection and continuous Laplace noise at (1, {delta:g})" in (
            claims
        )
        assert f"{expected:.4f} each" in claims


def test_no_charge_is_wasteful_by_more_than_a_third_at_epsilon_of_one_or_less() -> None:
    for result in costs_dominate_divergences():
        if "(0.1)" in result.claim or "(1)" in result.claim:
            assert result.measured > 0.66 * result.claimed


def test_gaussian_noise_that_is_taken_as_continuous_is_caught() -> None:
    def broken(event: DiscreteGaussian, epsilon: float) -> float:
        return normal_delta(Fraction(event.squared_ratio), Fraction(epsilon))

    assert integers_stay_below(tight_delta).passed
    assert not integers_stay_below(broken).passed
