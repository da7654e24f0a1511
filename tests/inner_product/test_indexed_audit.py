"""What an index may answer: adversarial heads within and without the slack, and broken twins.

False alarms: chi-square bounds are rejected below 1e-8.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.audited import Case, chi_square_p_value, enumerate_case, general
from winnow import Relation, Utility
from winnow.inner_product.audit import (
    ADVERSARIES,
    AdversarialIndexed,
    AdversarialSlack,
    BrokenAbsoluteScores,
    BrokenNoCertificate,
    BrokenPrintedBinomial,
    lazy_law,
)

UTILITY = Utility.declare(1)


def softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max())
    return weights / weights.sum()


def p_value_of(mechanism, scores: list[int], draws: int, expected: np.ndarray) -> float:  # type: ignore[no-untyped-def]
    rows = mechanism.simulate(np.array(scores), UTILITY, draws, 5)
    observed = np.append(np.bincount(rows[:, 0], minlength=len(scores)), 0)
    return chi_square_p_value(observed, expected)


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_no_adversary_moves_the_exact_variant_from_the_exponential_mechanism(
    adversary: str,
) -> None:
    scores = [4, 0, 3, 3, 1]
    expected = softmax(np.array(scores) * 1.0)
    mechanism = AdversarialIndexed(2.0, adversary=adversary)
    assert p_value_of(mechanism, scores, 300, expected) > 1e-8
    log_p = mechanism.model(UTILITY).log_probabilities(np.array([scores]))[0]
    np.testing.assert_allclose(np.exp(log_p), expected, rtol=1e-12)


def test_within_the_slack_the_printed_law_is_drawn_and_beyond_it_the_exponential_mechanism() -> (
    None
):
    near, far = [2, 1, 2, 1], [9, 0, 9, 0]
    mechanism = AdversarialSlack(3.0, slack=1.0, adversary="worst")  # scale 1/2, gap 1/2 or 4.5
    x = 0.5 * np.array(near)
    head = np.array([[False, True, False, True]])
    expected = lazy_law(x[None], head, ~head, np.array([0.5]))[0]
    assert np.abs(expected - softmax(x)).max() > 0.01
    assert p_value_of(mechanism, near, 600, expected) > 1e-8
    assert p_value_of(mechanism, far, 150, softmax(0.5 * np.array(far))) > 1e-8


def test_the_law_lies_within_an_interval_of_length_c_of_the_softmax() -> None:
    """Sharper than Lemma G.4, and tight; see the proof in SlackExponential."""
    generator = np.random.default_rng(8)
    tightest = 0.0
    for d in range(2, 8):
        x = generator.normal(size=(500, d)) * generator.choice([0.1, 1, 4], (500, 1))
        head = np.arange(d) < generator.integers(1, d, (500, 1))
        least = np.min(x, axis=1, where=head, initial=np.inf)
        c = np.maximum(0.0, np.max(x, axis=1, where=~head, initial=-np.inf) - least)
        ratio = np.log(lazy_law(x, head, ~head, least) / np.apply_along_axis(softmax, 1, x))
        assert np.all(np.ptp(ratio, axis=1) <= c + 1e-9)
        assert np.all(np.abs(ratio).max(axis=1) <= c + 1e-9)
        tightest = max(tightest, float((np.ptp(ratio, axis=1)[c > 0] / c[c > 0]).max()))
    assert tightest > 0.99


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("slack", [Fraction(1, 10), Fraction(2, 5)])
def test_the_charge_of_the_slack_holds_by_enumeration(relation: Relation, slack: Fraction) -> None:
    for adversary in ("worst", "turning"):
        case = Case(AdversarialSlack(1.0, slack=slack, adversary=adversary), general(relation))
        for result in enumerate_case(case, quick=True):
            assert result.passed, result


def test_an_index_that_is_trusted_without_a_certificate_breaks_the_claim() -> None:
    case = Case(
        BrokenNoCertificate(1.0, slack=0.1, adversary="worst"), general(Relation.ADD_REMOVE)
    )
    result = next(enumerate_case(case, quick=True))
    assert not result.passed and result.measured > 1.4


def test_the_printed_binomial_is_caught() -> None:
    scores = [3, 2, 2, 1, 1, 0, 0, 0]
    expected = softmax(np.array(scores) * 1.0)
    assert p_value_of(BrokenPrintedBinomial(2.0), scores, 4000, expected) < 1e-8
    assert p_value_of(AdversarialIndexed(2.0), scores, 300, expected) > 1e-8


def test_absolute_scores_with_a_signed_head_are_caught() -> None:
    scores = [2, 1, 1, -4, -3]
    expected = softmax(np.abs(np.array(scores)) * 1.0)
    assert p_value_of(BrokenAbsoluteScores(2.0), scores, 4000, expected) < 1e-8
