"""What the papers promise about the error of a selection, on exact distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference import planned as plan
from reference.inside import Law
from winnow.select.mechanisms.margin_search import stopping_margin
from winnow.select.plan import bounds
from winnow.select.plan.bounds import top_set_chance
from winnow.select.plan.chances import GapProfile, win_chances
from winnow.select.plan.margin import margin_chances

LAWS = list(Law)
fixed = settings(max_examples=30, deadline=None, derandomize=True)
fewer = settings(fixed, max_examples=12)

profiles = st.dictionaries(
    st.floats(0, 400).map(lambda gap: round(gap, 2)),
    st.one_of(st.integers(1, 9), st.integers(1, 10**9)),
    min_size=1,
    max_size=8,
)
epsilons = st.floats(-2, 2).map(lambda log10: 10.0**log10)
confidences = st.sampled_from([0.5, 0.9, 0.95, 0.999])
families = st.sampled_from(
    [
        {"method": "exponential"},
        {"method": "permute-and-flip"},
        {"method": "noisy-max"},
        {"method": "lipschitz", "noise": "logistic"},
        {"method": "lipschitz", "noise": "half-logistic"},
    ]
)


def scaled(gaps, factor):
    profile = GapProfile.parse(gaps, None)
    return -factor * profile.values, profile.counts.astype(float)


# FastMWEM, Theorem 2.3 and Canonical, Lemma A.19


@fixed
@given(profiles, epsilons, st.floats(0.01, 20))
def test_theorem_2_3_bounds_the_error_of_the_exponential_mechanism(gaps, epsilon, t):
    profile = GapProfile.parse(gaps, None)
    won = win_chances(Law.GUMBEL, *scaled(gaps, epsilon / 2))
    error = 2 * (math.log(profile.candidates) + t) / epsilon
    assert won[profile.values >= error].sum() <= math.exp(-t)


def test_lemma_a_19_is_the_bound_of_a_plan_and_counts_the_optima():
    report = plan.select({0: 4, 10: 995}, epsilon=0.5, method="exponential", confidence=0.99)
    assert report.bound == pytest.approx(2 / 0.5 * (math.log(1000 / 5) + math.log(100)))
    alone = plan.select(candidates=1000, epsilon=0.5, method="exponential", confidence=0.99)
    assert alone.bound == pytest.approx(2 / 0.5 * (math.log(1000) + math.log(100)))


@fixed
@given(profiles, epsilons)
def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism(gaps, epsilon):
    flip = np.cumsum(win_chances(Law.EXPONENTIAL, *scaled(gaps, epsilon / 2)))
    exponential = np.cumsum(win_chances(Law.GUMBEL, *scaled(gaps, epsilon / 2)))
    assert np.all(flip >= exponential - 1e-12)


# The bounds that winnow.select.plan.bounds proves


@fixed
@given(profiles, epsilons, confidences, families)
def test_bounds_hold_on_exact_distributions(gaps, epsilon, confidence, family):
    report = plan.select(gaps, epsilon=epsilon, confidence=confidence, **family)
    assert report.error_quantile <= report.worst_case * (1 + 1e-9)
    assert report.worst_case <= report.bound * (1 + 1e-9)


@pytest.mark.slow
@fewer
@given(profiles, epsilons, confidences, families, st.integers(2, 12))
def test_bounds_hold_for_the_worst_of_k_reported(gaps, epsilon, confidence, family, k):
    assume(k <= 1 + sum(gaps.values()))
    report = plan.select(gaps, epsilon=epsilon, confidence=confidence, k=k, **family)
    assert report.error_quantile <= report.worst_case * (1 + 1e-9)
    assert report.worst_case <= report.bound * (1 + 1e-9)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("d", "best"), [(2, 1), (1000, 1), (1000, 30), (10**9, 1)])
def test_the_worst_case_is_attained_when_all_others_lie_just_that_far_behind(law, d, best):
    report = plan.select(candidates=d, epsilon=1, method="lipschitz", noise=law, confidence=0.9)
    if best > 1:
        gaps = {0: best - 1, 1: d - best}
        report = plan.select(gaps, epsilon=1, method="lipschitz", noise=law, confidence=0.9)
    counts = np.array([best, d - best], float)
    for shift, smaller in ((1e-6, True), (-1e-6, False)):
        miss = win_chances(law, np.array([0.0, -report.worst_case / 2 - shift]), counts)[1]
        assert bool(miss < 0.1) is smaller


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("d", "k"), [(3, 2), (200, 5), (10**6, 100)])
def test_the_worst_case_for_k_is_attained_by_k_equal_leaders(law, d, k):
    multiple = bounds.worst_case(law, d, 1, k, 0.1)
    counts = np.array([k, d - k], float)
    for shift, larger in ((1e-6, True), (-1e-6, False)):
        chance = top_set_chance(law, np.array([0.0, -multiple - shift]), counts, k)
        assert bool(chance > 0.9) is larger


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("t", [0.0, 1e-5, 0.01, 1.0, 7.0, 30.0])
def test_the_tail_of_a_difference_is_the_chance_of_the_loser_of_two(law, t):
    if t == 0:
        assert law.formulas.difference_tail(t) == 0.5
    else:
        loser = win_chances(law, np.array([0.0, -t]), np.ones(2))[1]
        assert law.formulas.difference_tail(t) == pytest.approx(loser, abs=1e-13)


def test_the_union_bound_alone_would_do_for_two_candidates():
    for law in LAWS:
        union = bounds.union(law, 2, 1, 1, 0.05)
        assert union == pytest.approx(bounds.worst_case(law, 2, 1, 1, 0.05), rel=1e-9)


# More budget never hurts


@pytest.mark.slow
@fewer
@given(profiles, epsilons, st.floats(1.001, 4), families, st.integers(1, 5))
def test_chance_and_error_improve_with_epsilon(gaps, epsilon, factor, family, k):
    assume(k <= 1 + sum(gaps.values()))
    less = plan.select(gaps, epsilon=epsilon, k=k, **family)
    more = plan.select(gaps, epsilon=epsilon * factor, k=k, **family)
    assert more.chance >= less.chance - 1e-10
    assert more.error_quantile <= less.error_quantile
    assert more.bound < less.bound or less.bound == 0


@pytest.mark.slow
@fixed
@given(profiles, epsilons, families)
def test_a_further_candidate_never_helps_the_best(gaps, epsilon, family):
    before = plan.select(gaps, epsilon=epsilon, **family)
    after = plan.select({**gaps, 500: 3}, epsilon=epsilon, **family)
    assert after.chance <= before.chance + 1e-12


# LMM, Theorem 3


@fixed
@given(
    profiles,
    st.floats(-1, 1.5).map(lambda log10: 10.0**log10),
    st.floats(-9, -0.5).map(lambda log10: 10.0**log10),
    confidences,
    st.sampled_from(["tight", "printed"]),
    st.floats(1, 40),
)
def test_theorem_3_holds_with_tight_and_with_printed_thresholds(
    gaps, epsilon, delta, confidence, thresholds, stretch
):
    report = plan.select(
        {gap * stretch: n for gap, n in gaps.items()},
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
        method="large-margin",
        thresholds=thresholds,
    )
    assert report.error_quantile <= report.bound


def test_theorem_3_uses_the_smallest_rank_with_a_wide_margin():
    def report(far):
        return plan.select(
            {1: 9, far: 10**6}, epsilon=1, delta=1e-6, method="large-margin", confidence=0.9
        )

    needed = 21 * math.log(30) + float(stopping_margin(np.array([10]), 1, 1e-6, "tight")[0])
    assert report(needed * 1.001).bound == pytest.approx(6 * math.log(20 * 10))
    assert "l* = 10," in report(needed * 1.001).bound_statement
    everybody = 10 + 10**6
    assert report(needed * 0.999).bound == pytest.approx(6 * math.log(20 * everybody))
    assert "for any data" in report(needed * 0.999).bound_statement


def test_theorem_3_as_printed_fails_almost_surely():
    """The printed margin has ln(3/n), negative for n > 3, where the proof has ln(3/eta)."""
    n, epsilon, delta, eta = 10**8, 1.0, 1e-6, 0.05
    threshold = float(stopping_margin(np.array([1]), epsilon, delta, "printed")[0])
    printed = 21 / epsilon * math.log(3 / n) + threshold
    mended = 21 / epsilon * math.log(3 / eta) + threshold
    promised = 6 / epsilon * math.log(2 / eta)  # l* = 1
    assert 0 < printed < mended

    for margin, holds in ((printed, False), (mended, True)):
        gap = max(margin, promised) * 1.01
        profile = GapProfile.parse({gap: 10**7}, None)
        chances = margin_chances(profile, 1.0, epsilon, delta, "printed").chances
        failure = chances[profile.values >= promised].sum()
        assert bool(failure <= eta) is holds
        if not holds:
            assert failure > 0.99


def test_the_large_margin_mechanism_does_not_depend_on_the_range():
    """Proposition 1 and Remark 1: pure mechanisms pay for the universe, this one does not."""

    margin = {"method": "large-margin", "delta": 1e-6}
    for gap, enough in ((300, False), (3000, True)):
        for candidates in (10**9, 10**14):
            report = plan.select(gap, candidates=candidates, epsilon=0.1, **margin)
            assert (report.chance > 0.99) is enough
    # Permute-and-flip needs a gap that grows with the universe.
    chances = [
        plan.select(560, candidates=candidates, epsilon=0.1).chance
        for candidates in (10**9, 10**14)
    ]
    assert chances[0] > 0.99 > 0.05 > chances[1]
