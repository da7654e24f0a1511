"""Each law and sampler against its exact distribution, and a wrong scale must be noticed.

All seeds are fixed. A test rejects at p < 1e-4, so a fresh seed would fail a correct
sampler once in ten thousand runs.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reference.inside import (
    Law,
    Tape,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
)
from reference.rigged_tape import RiggedTape
from winnow.core.bounded import noise
from winnow.core.noisy_top.rows import noisy_top_rows

REJECT = 1e-4
SAMPLES = 100_000


def p_value(uniforms: np.ndarray) -> float:
    """Chi-square of values that should be uniform on (0, 1), in 50 cells."""
    counts = np.histogram(uniforms, bins=50, range=(0, 1))[0]
    return float(stats.chisquare(counts).pvalue)


def integer_p_value(samples: list[int], log_weight: Callable[[int], float]) -> float:
    """Chi-square of integers against weights, the tails merged."""
    values = np.arange(-400, 401)
    weights = np.exp([log_weight(int(v)) for v in values])
    expected = weights / weights.sum() * len(samples)
    seen = Counter(samples)
    observed = np.array([seen[int(v)] for v in values], float)
    cells = expected >= 8
    observed = np.append(observed[cells], len(samples) - observed[cells].sum())
    expected = np.append(expected[cells], max(len(samples) - expected[cells].sum(), 1e-9))
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("log_count", [None, 0.0, 2.5, 30.0])
def test_noise_from_the_tape_follows_its_law(law: Law, log_count: float | None) -> None:
    tape = Tape.seeded(21)
    words, ids = tape.words(0, SAMPLES), np.arange(SAMPLES)
    logs = None if log_count is None else np.full(SAMPLES, log_count)
    z, _ = noise(law, words, tape.extension(ids, 0)[:, 0], logs)
    count = 1.0 if log_count is None else np.exp(log_count)
    assert p_value(np.exp(count * law.formulas.log_cdf(z))) > REJECT
    assert p_value(np.exp(count * law.formulas.log_cdf(1.05 * z))) < REJECT


@pytest.mark.parametrize("law", list(Law))
def test_the_inverse_undoes_the_log_survival_function(law: Law) -> None:
    x = np.linspace(0.01, 60, 500)
    np.testing.assert_allclose(
        law.formulas.inv_log_sf(law.formulas.log_sf(x)), x, rtol=1e-9, atol=1e-9
    )


@given(
    law=st.sampled_from(list(Law)),
    x=st.floats(-500, 500),
    c=st.floats(0, 50),
)
def test_log_survival_functions_are_one_lipschitz(law: Law, x: float, c: float) -> None:
    """Canonical, Def 2.1: |log S(x + c) - log S(x)| <= c."""
    near, far = law.formulas.log_sf(np.array([x, x + c]))
    assert -1e-9 * (1 + abs(x) + c) <= near - far <= c + 1e-9 * (1 + abs(x) + c)


def test_a_law_that_is_not_lipschitz_would_be_noticed() -> None:
    gaussian = stats.norm.logsf(np.array([5.0, 6.0]))
    assert gaussian[0] - gaussian[1] > 1.0


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("log_count", [0.0, 3.0, 700.0, 1e5])
def test_the_maximum_of_many_draws_has_the_closed_form(law: Law, log_count: float) -> None:
    e = np.array([0.01, 0.7, 3.0])
    z, _ = law.formulas.largest(log_count - np.log(e))
    # F(z)^N = exp(-E): in the far tail log(1 - F) = log E - log N
    if log_count >= 700:
        np.testing.assert_allclose(law.formulas.log_sf(z), np.log(e) - log_count, rtol=1e-9)
    else:
        np.testing.assert_allclose(law.formulas.log_cdf(z) * np.exp(log_count), -e, rtol=1e-9)


def test_the_exponential_mechanism_at_1e16_sees_a_gap_of_two() -> None:
    """Naive float noise gives 0.269 here; the exact answer is 1/(1 + e^2) = 0.119."""
    winners = noisy_top_rows(
        np.array([1e16, 1e16 + 2]), Tape.seeded(4), Law.GUMBEL, Fraction(1), SAMPLES
    )
    lower = int(np.count_nonzero(winners == 0))
    assert stats.binomtest(lower, SAMPLES, 1 / (1 + np.exp(2))).pvalue > REJECT


@pytest.mark.slow
@pytest.mark.parametrize("law", [Law.EXPONENTIAL, Law.GUMBEL, Law.LOGISTIC])
def test_an_outcome_42_units_behind_is_reached(law: Law) -> None:
    """NumPy's Gumbel noise ends at 36.7: there this outcome has probability exactly 0.

    Given 64 leading zero bits the noise of item 1 is 64 ln 2 + Exp(1) up to 1e-19, so it
    wins with probability E[F(64 ln 2 - 42 + Exp(1))].
    """
    trials = 1000
    wins = 0
    for seed in range(trials):
        tape = RiggedTape(seed, {1: "0" * 64})
        wins += int(noisy_top_rows(np.array([42, 0]), tape, law, Fraction(1), 1)[0, 0] == 1)
    e = stats.expon.ppf((np.arange(20_000) + 0.5) / 20_000)
    chance = float(np.exp(law.formulas.log_cdf(64 * np.log(2) - 42 + e)).mean())
    assert stats.binomtest(wins, trials, chance).pvalue > REJECT


@pytest.mark.slow
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction("10.1")])
def test_discrete_laplace_follows_its_law(scale: Fraction) -> None:
    stream = Tape.seeded(31).stream()
    samples = [discrete_laplace(stream, scale) for _ in range(20_000)]
    assert integer_p_value(samples, lambda x: -abs(x) / float(scale)) > REJECT
    assert integer_p_value(samples, lambda x: -abs(x) / (1.08 * float(scale))) < REJECT


@pytest.mark.slow
@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(2), Fraction("30.7")])
def test_discrete_gaussian_follows_its_law(variance: Fraction) -> None:
    stream = Tape.seeded(32).stream()
    samples = [discrete_gaussian(stream, variance) for _ in range(20_000)]
    assert integer_p_value(samples, lambda x: -x * x / (2 * float(variance))) > REJECT
    assert integer_p_value(samples, lambda x: -x * x / (2.3 * float(variance))) < REJECT


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(31, 10)])
def test_bernoulli_exp_has_probability_exp_of_minus_gamma(gamma: Fraction) -> None:
    stream = Tape.seeded(33).stream()
    hits = sum(bernoulli_exp(stream, gamma) for _ in range(20_000))
    assert stats.binomtest(hits, 20_000, np.exp(-float(gamma))).pvalue > REJECT
    if gamma:
        assert stats.binomtest(hits, 20_000, np.exp(-1.4 * float(gamma))).pvalue < REJECT


def test_integers_below_a_bound_are_uniform() -> None:
    stream = Tape.seeded(35).stream()
    counts = np.bincount([stream.below(7) for _ in range(21_000)], minlength=7)
    assert stats.chisquare(counts).pvalue > REJECT
    assert stream.below(1) == 0
