"""winnow.plan.select: what it accepts, what it reports, and the numbers behind it."""

from __future__ import annotations

import itertools
import json
import math
import time
from decimal import Decimal
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from scipy import integrate

from reference import planned as plan
from reference.inside import Law
from reference.mechanisms import LipschitzMechanism
from winnow import InputError, Utility
from winnow.select.mechanisms.margin_search import stopping_margin, three_laplace_tail
from winnow.select.plan import bounds
from winnow.select.plan.bounds import set_chance, top_set_chance
from winnow.select.plan.chances import GapProfile, win_chances
from winnow.select.plan.margin import margin_chances

LAWS = list(Law)
FAMILY = [
    {"method": "exponential"},
    {"method": "permute-and-flip"},
    {"method": "noisy-max"},
    {"method": "lipschitz", "noise": "logistic"},
    {"method": "lipschitz", "noise": "half-logistic"},
    {"method": "large-margin", "delta": 1e-6},
]


def chances(law, scores, counts=None):
    counts = np.ones(len(scores)) if counts is None else np.array(counts, float)
    return win_chances(law, np.array(scores, float), counts)


# The chances against closed forms.


@pytest.mark.parametrize("gap", [1e-6, 0.3, 2.0, 15.0, 80.0])
def test_two_candidates_have_the_closed_form_of_a_difference_of_two_noises(gap):
    q = math.exp(-gap)
    half = (1 - q) / 2
    loser = {
        Law.GUMBEL: q / (1 + q),
        Law.EXPONENTIAL: q / 2,
        Law.LAPLACE: (1 + gap / 2) * q / 2,
        Law.LOGISTIC: q * (gap - 1 + q) / (1 - q) ** 2 if gap > 1e-3 else 0.5 - gap / 6,
        Law.HALF_LOGISTIC: q * sum(half**j / (j + 2) for j in range(60)),
    }
    for law in LAWS:
        assert chances(law, [0, -gap]) == pytest.approx([1 - loser[law], loser[law]], abs=1e-14)


def test_gumbel_noise_gives_a_softmax():
    scores, counts = np.array([0, -0.5, -3, -900.0]), np.array([2, 1, 50, 1e6])
    weights = counts * np.exp(scores)
    assert win_chances(Law.GUMBEL, scores, counts) == pytest.approx(weights / weights.sum())


def test_exponential_noise_gives_permute_and_flip_by_enumeration():
    heads = np.exp([0, -0.2, -0.7, -0.7001, -2.5, -6.0])
    expected = np.zeros(6)
    for order in itertools.permutations(range(6)):
        reached = 1.0
        for i in order:
            expected[i] += reached * heads[i] / math.factorial(6)
            reached *= 1 - heads[i]
    assert chances(Law.EXPONENTIAL, np.log(heads)) == pytest.approx(expected, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_chances_match_adaptive_quadrature(law):
    scores = np.array([0.0, -0.4, -0.41, -2.0, -7.5])

    def density(x, i):
        x = np.array([x])
        others = sum(law.formulas.log_cdf(x - s) for j, s in enumerate(scores) if j != i)
        own = np.exp(law.formulas.log_sf(x - scores[i])) * law.formulas.hazard(x - scores[i])
        return float((np.exp(others) * own)[0])

    edges = np.unique(np.concatenate((scores, [-45, -20, -10, 3, 8, 20, 45])))
    expected = [
        sum(
            integrate.quad(density, a, b, (i,), epsabs=1e-14, epsrel=1e-12, limit=200)[0]
            for a, b in itertools.pairwise(edges)
        )
        for i in range(5)
    ]
    assert chances(law, scores) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0, 1e5])
def test_chances_sum_to_one_and_grouping_changes_nothing(law, spread):
    rng = np.random.default_rng(7)
    scores = -np.sort(np.append(0.0, rng.random(400) * spread))
    single = win_chances(law, scores, np.ones(401))
    assert single.sum() == pytest.approx(1, abs=1e-13)
    assert np.all(np.diff(single) <= 1e-16)
    coarse = -np.unique(np.round(-scores / spread, 1)) * spread
    counts = np.histogram(np.round(-scores / spread, 1), np.arange(12) / 10 - 0.05)[0]
    grouped = win_chances(law, coarse, counts.astype(float))
    repeated = np.repeat(coarse - 1e-9 * np.arange(coarse.size), counts)
    apart = win_chances(law, repeated - 1e-13 * np.arange(401), np.ones(401))
    starts = np.append(0, np.cumsum(counts)[:-1])
    assert np.add.reduceat(apart, starts) == pytest.approx(grouped, abs=1e-8)


@pytest.mark.parametrize("law", LAWS)
def test_a_million_distinct_gaps_sum_to_one_within_two_seconds(law):
    scores = -np.concatenate(([0.0], np.sort(np.random.default_rng(1).random(999_999)))) * 60
    began = time.process_time()
    won = win_chances(law, scores, np.ones(scores.size))
    assert time.process_time() - began < 2
    assert won.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_a_hundred_tied_groups_of_1e12_candidates_are_as_exact(law):
    scores = -np.arange(100.0) / 7
    won = win_chances(law, scores, np.full(100, 1e12))
    assert won.sum() == pytest.approx(1, abs=1e-12)
    # Maxima of this many draws are Gumbel, whatever the law.
    assert won == pytest.approx(chances(Law.GUMBEL, scores), rel=1e-9)


# The chance of the top-k set.


def plackett_luce_set(weights, members):
    total = 0.0
    for order in itertools.permutations(members):
        left, chance = weights.sum(), 1.0
        for i in order:
            chance *= weights[i] / left
            left -= weights[i]
        total += chance
    return total


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_gumbel_top_set_is_the_peeled_exponential_mechanism(k):
    scores = np.array([0, -0.3, -1, -1.5, -4, -9.0])
    expected = plackett_luce_set(np.exp(scores), range(k))
    assert top_set_chance(Law.GUMBEL, scores, np.ones(6), k) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("law", LAWS)
def test_top_one_set_is_the_winner_and_the_top_all_is_certain(law):
    scores, counts = np.array([0, -0.1, -3.0]), np.array([3.0, 1, 2000])
    won = win_chances(law, scores, counts)[0]
    assert top_set_chance(law, scores, counts, 1) == pytest.approx(won, abs=1e-13)
    assert top_set_chance(law, scores, counts, 2004) == 1.0


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("d", "k"), [(4, 2), (10, 3), (1000, 400), (10**6, 1000)])
def test_every_set_is_right_when_all_scores_are_tied(law, d, k):
    chance = top_set_chance(law, np.zeros(1), np.array([float(d)]), k)
    assert chance == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("law", LAWS)
def test_the_chances_of_all_sets_sum_to_one(law):
    # Sets are told apart by (how many of group 0, of group 1, of group 2).
    scores, sizes, k = np.array([0, -0.7, -2.0]), [2, 2, 1], 2

    def chance(inside):
        outside = [n - m for n, m in zip(sizes, inside, strict=True)]
        ways = math.prod(math.comb(n, m) for n, m in zip(sizes, inside, strict=True))

        def density(x):
            x = np.array([x])
            log = sum(
                m * law.formulas.log_sf(x - s) for s, m in zip(scores, inside, strict=True) if m
            )
            log = log + sum(
                m * law.formulas.log_cdf(x - s) for s, m in zip(scores, outside, strict=True) if m
            )
            rate = sum(m * law.formulas.hazard(x - s) for s, m in zip(scores, inside, strict=True))
            return ways * float((np.exp(log) * rate)[0])

        edges = np.unique(np.concatenate((scores, [-45, -15, -5, 5, 15, 45])))
        return sum(
            integrate.quad(density, a, b, epsabs=1e-13, limit=200)[0]
            for a, b in itertools.pairwise(edges)
        )

    all_sets = [m for m in itertools.product(*(range(n + 1) for n in sizes)) if sum(m) == k]
    found = {m: chance(m) for m in all_sets}
    assert sum(found.values()) == pytest.approx(1, abs=1e-11)
    top = top_set_chance(law, scores, np.array(sizes, float), k)
    assert top == pytest.approx(found[(2, 0, 0)], abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_a_set_that_is_far_ahead_is_certain_at_any_distance(law):
    for lead in (200.0, 1e5, 1e14):
        inside = (np.array([0.0, -3.0]) + lead, np.array([1.0, 30.0]))
        assert set_chance(law, inside, (np.zeros(1), np.array([1e9]))) == pytest.approx(1)


# The large margin mechanism.


@pytest.mark.parametrize("thresholds", ["tight", "printed"])
@pytest.mark.parametrize("gap", [0.5, 50.0, 180.0, 300.0, 500.0])
def test_large_margin_with_two_candidates_has_a_closed_form(gap, thresholds):
    epsilon, delta = 1.0, 1e-3
    excess = float(stopping_margin(np.array([1]), epsilon, delta, thresholds)[0]) - gap
    stop = float(three_laplace_tail(np.array(abs(excess)), epsilon))
    stop = stop if excess > 0 else 1 - stop
    expected = stop + (1 - stop) / (1 + math.exp(-epsilon * gap / 6))
    profile = GapProfile.parse([gap], None)
    found = margin_chances(profile, 1.0, epsilon, delta, thresholds).chances
    assert found == pytest.approx([expected, 1 - expected], abs=1e-13)


def test_large_margin_matches_adaptive_quadrature():
    epsilon, delta = 2.0, 0.05
    gaps = np.array([0.0, 0.0, 12.0, 40.0, 41.0, 70.0])
    threshold = stopping_margin(np.arange(1, 6), epsilon, delta, "tight")
    margin = (gaps[1:] - threshold) * epsilon / 12

    def cdf(z):
        return math.exp(z) / 2 if z < 0 else 1 - math.exp(-z) / 2

    def density(t, rank):
        chance = 4 / 3 * math.exp(-2 * abs(t)) - 2 / 3 * math.exp(-4 * abs(t))
        for r in range(min(rank, 5)):
            stop = cdf(margin[r] + t)
            chance *= stop if r == rank - 1 else 1 - stop
        return chance

    expected = np.zeros(6)
    edges = np.unique(np.concatenate((-margin, [-22, -10, 0, 10, 22])))
    edges = edges[np.abs(edges) <= 22]
    weights = np.exp(-epsilon * gaps / 6)
    for rank in range(1, 7):
        chance = sum(
            integrate.quad(density, a, b, (rank,), epsabs=1e-14, epsrel=1e-12)[0]
            for a, b in itertools.pairwise(edges)
        )
        expected[:rank] += chance * weights[:rank] / weights[:rank].sum()
    profile = GapProfile.parse(gaps[1:], None)
    found = margin_chances(profile, 1.0, epsilon, delta, "tight")
    assert found.chances[0] == pytest.approx(expected[:2].sum(), abs=1e-12)
    assert found.chances[1:] == pytest.approx(expected[2:], abs=1e-12)


def test_large_margin_on_universes_nobody_can_list_is_quick_and_a_lower_bound():
    profile = GapProfile.parse({150.0: 10**15}, None)
    began = time.process_time()
    found = margin_chances(profile, 1.0, 1.0, 1e-6, "tight")
    assert time.process_time() - began < 3
    assert found.chances.sum() == pytest.approx(1, abs=1e-12)
    assert found.missed < 1e-9
    smaller = margin_chances(GapProfile.parse({150.0: 10**6}, None), 1.0, 1.0, 1e-6, "tight")
    assert found.chances[0] < smaller.chances[0]


def test_large_margin_with_capped_work_errs_on_the_safe_side(monkeypatch):
    gaps = {200.0: 10**12}
    full = margin_chances(GapProfile.parse(gaps, None), 1.0, 1.0, 1e-6, "tight")
    monkeypatch.setattr(import_module("winnow.select.plan.margin"), "MOST_RANKS", 1)
    capped = margin_chances(GapProfile.parse(gaps, None), 1.0, 1.0, 1e-6, "tight")
    assert capped.chances.sum() == pytest.approx(1, abs=1e-13)
    assert full.missed < 1e-9 < full.chances[0] - capped.chances[0] <= capped.missed
    report = plan.select(gaps, epsilon=1, delta=1e-6, method="large-margin")
    assert report.chance == capped.chances[0]
    assert "lower bound" in report.caution


# Inputs.


def test_a_list_a_mapping_an_array_and_one_number_describe_the_same_gaps():
    as_list = plan.select([2, 2, 2, 0], epsilon=1)
    for gaps in (
        {2: 3, 0: 1},
        {Decimal(2): np.int64(3), 0.0: 1},
        np.array([0, 2, 2, 2], np.uint8),
        (Fraction(g) for g in (2, 0, 2, 2)),
    ):
        assert plan.select(gaps, epsilon=1) == as_list
    assert plan.select(2, candidates=4, epsilon=1) == plan.select([2, 2, 2], epsilon=1)


def test_one_candidate_always_wins():
    for setting in FAMILY:
        report = plan.select(candidates=1, epsilon=1, **setting)
        assert report.chance == 1 and report.error_quantile == report.expected_error == 0


def test_monotone_counts_are_planned_with_half_the_sensitivity():
    halved = plan.select([4, 9], epsilon=1, monotone=True)
    assert halved.sensitivity == 0.5
    assert halved.chance == pytest.approx(plan.select([4, 9], epsilon=2).chance)
    replaced = plan.select([4, 9], epsilon=1, monotone=True, relation="substitution")
    assert replaced.chance == pytest.approx(plan.select([4, 9], epsilon=1).chance)


def test_scores_in_other_units_change_errors_in_proportion_and_no_chance():
    for setting in FAMILY:
        one = plan.select([3, 50, 90], epsilon=1, **setting)
        ten = plan.select([30, 500, 900], epsilon=1, sensitivity=10, **setting)
        assert ten.chance == pytest.approx(one.chance)
        assert ten.expected_error == pytest.approx(10 * one.expected_error)
        assert ten.bound == pytest.approx(10 * one.bound)


@pytest.mark.parametrize("k", [1, 3])
def test_the_plan_uses_the_scale_of_the_mechanism_that_would_run(k):
    utility = Utility.declare(4, monotone=True)
    scale = float(LipschitzMechanism(1.5, Law.LAPLACE, k).scale(utility))
    assert scale == 1.5 / (2 * k * 2)
    scores, counts = -scale * np.array([0, 5, 30.0]), np.array([1, 2, 40.0])
    report = plan.select(
        {5: 2, 30: 40}, epsilon=1.5, k=k, method="noisy-max", sensitivity=4, monotone=True
    )
    assert report.chance == pytest.approx(top_set_chance(Law.LAPLACE, scores, counts, k))
    assert report.worst_case == pytest.approx(
        bounds.worst_case(Law.LAPLACE, 43, 1, k, 0.05) / scale
    )


@pytest.mark.parametrize("setting", FAMILY)
def test_extreme_but_valid_numbers_give_finite_answers(setting):
    for gaps, epsilon, sensitivity in [
        ([1e308, 1e-308, 0], 1e3, 1e-3),
        ({1e300: 10**15}, 1e-6, 1e6),
        ([1e-9], 1e9, 1e-3),
    ]:
        report = plan.select(gaps, epsilon=epsilon, sensitivity=sensitivity, **setting)
        assert 0 <= report.chance <= 1
        assert math.isfinite(report.error_quantile) and math.isfinite(report.bound)


def test_the_named_mechanisms_are_their_noises():
    for mechanism, noise in [
        ("exponential", "gumbel"),
        ("permute-and-flip", "exponential"),
        ("noisy-max", "laplace"),
    ]:
        named = plan.select([1, 5], epsilon=1, method=mechanism)
        lipschitz = plan.select([1, 5], epsilon=1, method="lipschitz", noise=noise)
        assert named.chance == lipschitz.chance and named.bound == lipschitz.bound


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gaps": [1, -2]}, r"gaps\[1\]=-2.0 is negative"),
        ({"gaps": []}, "gaps is empty"),
        ({"gaps": {}}, "gaps is empty"),
        ({"gaps": [1, math.nan]}, r"gaps\[1\]=nan is not finite"),
        ({"gaps": [math.inf]}, r"gaps\[0\]=inf is not finite"),
        ({"gaps": ["near"]}, r"gaps\[0\] is not a number"),
        ({"gaps": [True]}, r"gaps\[0\] is not a number"),
        ({"gaps": "12"}, "not a list of numbers"),
        ({"gaps": [[1, 2]]}, "2 dimensions"),
        ({"gaps": [[1], [1, 2]]}, "ragged"),
        ({"gaps": {1.0: 0}}, r"gaps\[1.0\]=0 is below 1"),
        ({"gaps": {1.0: 2.5}}, r"gaps\[1.0\]=2.5 is not a whole number"),
        ({"gaps": {1.0: 2**60}}, "more than 2"),
        ({"gaps": 3.0}, "candidates is missing"),
        ({"gaps": -3.0, "candidates": 4}, "gaps=-3.0 is negative"),
        ({"gaps": [1, 2], "candidates": 2}, "candidates=2 does not match gaps.* 3 candidates"),
        ({"candidates": 0}, "candidates=0 is below 1"),
        ({"candidates": 2.5}, "candidates=2.5 is not a whole number"),
        ({"candidates": 2**60}, "exceeds 2"),
        ({"gaps": [1], "k": 3}, "k=3 exceeds 2 candidates; lower k"),
        ({"gaps": [1], "k": 0}, "k=0 is below 1"),
        ({"gaps": [1], "method": "magic"}, "method='magic' is unknown"),
        ({"gaps": [1], "method": "large-margin"}, "needs delta"),
        ({"gaps": [1], "method": "large-margin", "delta": 0.1, "k": 2}, "selects one"),
        ({"gaps": [1], "method": "lipschitz"}, "needs noise"),
        ({"gaps": [1], "method": "lipschitz", "noise": "white"}, "noise='white' is unknown"),
        ({"gaps": [1], "noise": "gumbel"}, "noise=.gumbel. is for lipschitz"),
        ({"gaps": [1], "delta": 1e-6}, "delta"),
        ({"gaps": [1], "thresholds": "printed"}, "thresholds"),
        ({"gaps": [1], "confidence": 1}, "confidence=1 is not below 1"),
        ({"gaps": [1], "epsilon": 0}, "epsilon=0 is not above 0"),
        ({"gaps": [1], "epsilon": 1e-300}, "280 orders of magnitude"),
        ({"gaps": [1], "epsilon": None}, "epsilon is missing"),
        ({"gaps": [1], "sensitivity": 0}, "sensitivity=0 is not positive"),
        ({"gaps": [1], "relation": "cousins"}, "relation='cousins' is unknown"),
        ({"gaps": [1], "chance": 1.5}, "chance=1.5 is not below 1"),
        ({"gaps": [1], "error": -1}, "error=-1 is negative"),
        ({"candidates": 9, "error": 0}, "error=0 is not positive"),
        ({"candidates": 9, "chance": 0.5}, "chance needs gaps"),
        ({"gaps": [1], "chance": 0.9, "error": 1}, "both given"),
        ({"gaps": [1], "chance": 0.4, "epsilon": None}, "random guess"),
    ],
)
def test_bad_input_is_refused_with_what_and_how_to_mend_it(arguments, message):
    arguments = {"epsilon": 1.0, **arguments}
    with pytest.raises(InputError, match=message):
        plan.select(arguments.pop("gaps", None), **arguments)


# The report.


def test_the_report_is_plain_data_and_a_readable_table():
    report = plan.select([3, 5, 10], epsilon=1, chance=0.95, confidence=0.9)
    again = json.loads(json.dumps(report.to_dict()))
    assert again["chance"] == report.chance
    assert again["citation"] == list(report.citation)
    text = str(report)
    assert max(len(line) for line in text.splitlines()) <= 100
    for part in ("permute-and-flip", "chance of the best", "error at 90 %", "no data were read"):
        assert part in text
    assert any("Lemma A.19" in line for line in report.citation)


def test_without_gaps_there_are_bounds_only():
    for setting in FAMILY:
        report = plan.select(candidates=50, epsilon=1, **setting)
        assert report.chance is report.error_quantile is report.expected_error is None
        assert report.bound > 0
        assert "chance of" not in str(report)


def test_the_curve_has_the_chance_and_the_bound_of_each_epsilon():
    report = plan.select([3, 5], epsilon=1)
    for epsilon, chance, bound in report.curve([0.5, 1, Fraction(5, 2)]):
        alone = plan.select([3, 5], epsilon=epsilon)
        assert (chance, bound) == (alone.chance, alone.bound)
    assert plan.select(candidates=9, epsilon=1).curve([1])[0][1] is None
    with pytest.raises(InputError, match="epsilons=0 is not positive"):
        report.curve([0])


def test_a_chance_close_to_one_is_shown_by_what_is_missing():
    report = plan.select([40], epsilon=1)
    assert "1 - 1e-09" in str(report)


# Targets.


@pytest.mark.slow
@pytest.mark.parametrize("setting", FAMILY)
@pytest.mark.parametrize("gaps", [[3, 5, 10, 20], {0: 2, 7: 1000}, {120: 10**6}])
def test_the_epsilon_for_a_target_reaches_it_and_is_the_smallest(setting, gaps):
    report = plan.select(gaps, chance=0.9, **setting)
    assert report.epsilon == report.epsilon_for_target
    assert report.chance >= 0.9
    assert plan.select(gaps, epsilon=report.epsilon * (1 - 1e-6), **setting).chance < 0.9

    report = plan.select(gaps, error=4, confidence=0.8, **setting)
    assert report.error_quantile <= 4
    less = plan.select(gaps, epsilon=report.epsilon * (1 - 1e-6), confidence=0.8, **setting)
    assert less.error_quantile > 4


@pytest.mark.slow
@pytest.mark.parametrize("setting", FAMILY[:-1])
def test_the_epsilon_for_a_top_set_reaches_its_target_and_is_the_smallest(setting):
    gaps = {0: 1, 6: 3, 15: 500}
    report = plan.select(gaps, k=3, chance=0.7, **setting)
    assert report.chance >= 0.7
    assert plan.select(gaps, k=3, epsilon=report.epsilon * (1 - 1e-6), **setting).chance < 0.7
    report = plan.select(gaps, k=3, error=2, **setting)
    assert report.error_quantile <= 2 and "upper bound" in report.target_basis


@pytest.mark.parametrize("setting", FAMILY)
def test_without_gaps_the_error_is_met_by_the_bound_exactly(setting):
    report = plan.select(candidates=1000, error=5, **setting)
    assert report.bound == pytest.approx(5)
    assert report.target_basis == "the bound for any data"


def test_a_target_that_a_blind_draw_reaches_needs_no_epsilon():
    assert plan.select([1], epsilon=1, chance=0.4).epsilon_for_target == 0
    assert plan.select([1], epsilon=1, error=2).epsilon_for_target == 0


def test_a_chance_that_is_not_monotone_in_epsilon_is_announced():
    # Accidental stops at rank 1 are likeliest for tiny epsilon when delta is absurd.
    report = plan.select(
        1, candidates=10_001, method="large-margin", delta=0.3, epsilon=1, chance=0.9
    )
    tiny, small, _ = (chance for _, chance, _ in report.curve([0.001, 10, 100]))
    assert tiny > small
    assert "not monotone" in report.target_basis
