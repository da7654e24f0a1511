"""The exact chances of top-k mechanisms, and the theorems about their errors."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from reference.inside import Law
from reference.mechanisms import (
    Canonical,
    GammaMechanism,
    GaussianCounts,
    Joint,
    LipschitzMechanism,
    NoisyCounts,
    PeelGumbel,
    PeelPermuteAndFlip,
)
from winnow import Utility
from winnow.core.noisy_top.classes import JointClasses
from winnow.core.noisy_top.ranking import Ranking
from winnow.select import errors as topk_error
from winnow.select.about import AboutScores
from winnow.select.audit.top_k import CanonicalModel, JointModel, PeeledModel
from winnow.select.crossing.selection import Selection
from winnow.select.methods import Sizes
from winnow.select.plan.top_k import canonical as topk_canonical
from winnow.select.plan.top_k import joint as topk_joint
from winnow.select.plan.top_k.bounds import _gamma_quantile
from winnow.select.plan.top_k.canonical import canonical_chances
from winnow.select.plan.top_k.joint import joint_chances
from winnow.select.plan.top_k.known import (
    COUNTS,
    KNOWN,
    chances_of_canonical,
    chances_of_joint,
    top_k_bound,
)
from winnow.select.plan.top_k.probabilities import epsilon_for_top, top_chance, top_sequence_chance
from winnow.select.plan.top_k.subsets import LogFactorials, Loss, good, great
from winnow.select.top_k_methods import OF_LISTS

RNG_SEED = 20
GAMMAS = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)]


def profiles(number, seed=RNG_SEED):
    """Small profiles with many ties, and a k of at most 3."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        d = int(rng.integers(1, 7))
        k = int(rng.integers(1, min(d, 3) + 1))
        yield rng.integers(0, 7, d) * int(rng.choice([1, 12])), k


def made(word: str, k: int, delta: float = 0.0, epsilon: float = 0.1) -> Selection:
    """The mechanism of a method by its word."""
    method = next(each for each in OF_LISTS if each.word() == word)
    about = AboutScores(utility=COUNTS, max_items=2 if word in ("laplace", "gaussian") else None)
    return method().mechanism(about, Sizes(epsilon=epsilon, delta=delta, k=k))


def zipf(d, top, power=0.8):
    return np.floor(top / np.arange(1, d + 1) ** power).astype(np.int64)


# Enumeration: every sequence, every subset, d <= 6, k <= 3, ties included.


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.01, 0.4, 3.0])
def test_joint_chances_are_those_of_all_sequences(scale):
    for counts, k in profiles(60):
        model = JointModel(scale, k)
        sequences = model.outcomes(len(counts))
        chances = np.exp(model.log_probabilities(counts[None])[0])
        found = joint_chances(counts, k, scale)
        errors = topk_error.signed_maximum(counts, sequences)
        for error in range(0, 90):
            assert found.error_chance(error) == pytest.approx(chances[errors <= error].sum())
        assert set(-found.utilities) <= {0, *errors}
        top_set = chances[topk_error.is_top_set(counts, sequences)].sum()
        in_order = chances[topk_error.is_top_sequence(counts, sequences)].sum()
        assert math.exp(found.log_top_set) == pytest.approx(top_set, abs=1e-13)
        assert math.exp(found.log_top_sequence) == pytest.approx(in_order, abs=1e-13)
        assert found.chances.sum() == pytest.approx(1, abs=1e-13)
        assert found.missed < math.exp(-45)


def ranks_of(scores):
    """The rank of each position from 1, ties by position."""
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


@pytest.mark.parametrize("law", list(Law))
def test_canonical_chances_are_those_of_all_subsets(law):
    for number, (scores, k) in enumerate(profiles(48)):
        scale, gamma = Fraction(("1/50", "2/5", "3")[number % 3]), GAMMAS[number % 4]
        person = Fraction(2) if number % 8 == 2 else None
        if person is None:
            loss = Loss.canonical(gamma, scale)
            model = CanonicalModel(law, float(scale), k, float(gamma))
        else:
            loss = Loss.rounded(person, 2 * scale)
            model = CanonicalModel(law, float(scale / person), k, 0.5, float(person))
        subsets = model.outcomes(len(scores))
        chances = np.exp(model.log_probabilities(scores[None])[0])
        found = canonical_chances(scores, k, loss, law)
        top = chances[topk_error.is_top_set(scores, subsets)].sum()
        assert found.top == pytest.approx(top, abs=1e-12)
        gaps = topk_error.k_relative(scores, subsets)
        for gap in {*gaps.tolist()}:
            assert found.gap_chance(gap) == pytest.approx(chances[gaps <= gap].sum(), abs=1e-12)
        assert found.gap_chances.sum() == pytest.approx(1, abs=1e-12)
        ranks = ranks_of(scores)[subsets]
        for (head, tail), chance in ((great(k), found.great), (good(k), found.good)):
            inside = (ranks <= head).sum(axis=1) == head
            inside &= ranks.max(axis=1) <= tail
            assert chance == pytest.approx(chances[inside].sum(), abs=1e-12)


def test_peeled_sequences_multiply_their_rounds():
    for counts, k in profiles(40):
        for epsilon in (0.3, 4.0):
            peeling = PeelPermuteAndFlip(epsilon, k)
            model = PeeledModel(float(peeling.scale(COUNTS)), k)
            chances = np.exp(model.log_probabilities(counts[None])[0])
            right = topk_error.is_top_sequence(counts, model.outcomes(len(counts)))
            expected = chances[right].sum()
            assert top_sequence_chance(peeling, counts) == pytest.approx(expected, abs=1e-12)


def test_gumbel_sequences_multiply_softmaxes_and_their_sets_add_up():
    counts, k, scale = np.array([9, 7, 7, 4, 0]), 2, 0.35
    mechanism = LipschitzMechanism(2 * scale * k / 2, Law.GUMBEL, k)
    assert float(mechanism.scale(COUNTS)) == pytest.approx(scale)
    weights = np.exp(scale * counts)
    sequence = weights[0] / weights.sum() * 2 * weights[1] / weights[1:].sum()
    swapped = 2 * weights[1] / weights.sum() * weights[0] / (weights.sum() - weights[1])
    assert top_sequence_chance(mechanism, counts) == pytest.approx(sequence, abs=1e-13)
    assert top_chance(mechanism, counts) == pytest.approx(sequence + swapped, abs=1e-12)


# Large classes: against integers of any length.


def test_joint_classes_agree_with_exact_integers_where_counts_have_hundreds_of_digits():
    rng = np.random.default_rng(3)
    counts = np.sort(rng.zipf(1.5, 400).clip(max=900))[::-1].astype(np.int64)
    k, scale = 60, 0.02
    exact = JointClasses(Ranking(counts), k, Fraction(1))
    found = joint_chances(counts, k, scale)
    log_weights = []
    for utility in found.utilities:
        number = exact.count((int(utility), int(utility)))
        log_weights.append(math.log(number) + scale * utility)
    log_weights = np.array(log_weights)
    shifted = log_weights - log_weights.max()
    expected = shifted - math.log(np.exp(shifted).sum())
    np.testing.assert_allclose(found.log_chances, expected, atol=2e-11)


@pytest.mark.parametrize("gamma", [Fraction(1, 2), Fraction(1), Fraction(0)])
def test_canonical_sums_agree_with_exact_integers(gamma):
    d, k = 70, 25
    scores = zipf(d, 500)
    scale = Fraction(1, 30)
    weights = {(k - 1, k): 1.0}
    for h in range(k):
        for t in range(k + 1, d + 1):
            loss = (1 - gamma) * int(scores[h] - scores[k - 1])
            loss += gamma * int(scores[k - 1] - scores[t - 1])
            weights[h, t] = math.comb(t - h - 2, k - 1 - h) * math.exp(-scale * loss)
    total = math.fsum(weights.values())
    found = canonical_chances(scores, k, Loss.canonical(gamma, scale), Law.GUMBEL)
    assert found.log_top_class == pytest.approx(-math.log(total), abs=1e-11)
    for (head, tail), chance in ((great(k), found.great), (good(k), found.good)):
        inside = [w for (h, t), w in weights.items() if h >= head and t <= tail]
        assert chance == pytest.approx(math.fsum(inside) / total, rel=1e-10)


def test_log_factorials_keep_small_differences_of_large_logarithms():
    table = LogFactorials(20_000)
    tails = np.array([20_000, 19_000, 1_001])
    for chosen in (1, 2, 999):
        truth = [math.log(math.comb(int(t), chosen)) for t in tails]
        np.testing.assert_allclose(table.choose(tails, 0, chosen), truth, rtol=0, atol=2e-12)


def test_what_is_left_out_is_below_its_bound(monkeypatch):
    counts, k = zipf(500, 3000), 30
    monkeypatch.setattr(topk_joint, "EVENTS", 1 << 10)
    joint = joint_chances(counts, k, 0.05)
    loss = Loss.canonical(Fraction(1, 2), Fraction(1, 20))
    canonical = canonical_chances(counts, k, loss, Law.GUMBEL)
    assert 0 < joint.missed < math.exp(-45) and 0 < canonical.missed < math.exp(-45)
    monkeypatch.setattr(topk_joint, "DROPPED", 5.0)
    monkeypatch.setattr(topk_canonical, "CUT", -math.log(30 * 128.0))
    blunt = joint_chances(counts, k, 0.05)
    assert blunt.utilities.size < joint.utilities.size
    lost = 1 - math.exp(joint.log_top_set - blunt.log_top_set)
    assert 1e-9 < lost <= blunt.missed
    blunt = canonical_chances(counts, k, loss, Law.GUMBEL)
    assert 0 <= 1 - math.exp(canonical.log_top - blunt.log_top) <= blunt.missed


def test_merged_utilities_keep_the_total_and_round_errors_up(monkeypatch):
    counts, k = zipf(3000, 10**6), 20
    fine = joint_chances(counts, k, 1e-4)
    monkeypatch.setattr(topk_joint, "CLASSES", 4096)
    coarse = joint_chances(counts, k, 1e-4)
    assert fine.coarseness == 0 and coarse.coarseness > 0
    assert coarse.utilities.size < 4096 < fine.utilities.size
    assert coarse.log_top_set == pytest.approx(fine.log_top_set, abs=1e-11)
    for q in (0.1, 0.5, 0.99):
        assert 0 <= coarse.error_quantile(q) - fine.error_quantile(q) <= coarse.coarseness


@pytest.mark.parametrize("law", list(Law))
def test_all_noises_agree_where_ties_are_many_and_differ_where_they_are_few(law, monkeypatch):
    """Beyond ln Z = 36 the other laws are taken for Gumbel noise: integrate there to see."""
    scores, k = zipf(40, 40), 20
    loss = Loss.canonical(Fraction(1, 2), Fraction(1, 10))
    gumbel = canonical_chances(scores, k, loss, Law.GUMBEL)
    assert -gumbel.log_top_class < 36
    monkeypatch.setattr(topk_canonical, "ALIKE", 24.0)  # now they are taken to agree
    assert -gumbel.log_top_class > 24.0
    taken = canonical_chances(scores, k, loss, law)
    monkeypatch.setattr(topk_canonical, "ALIKE", 36.0)
    integrated = canonical_chances(scores, k, loss, law)
    assert integrated.log_top == pytest.approx(taken.log_top, abs=20 * math.exp(-24.0))
    sharp = Loss.canonical(Fraction(1, 2), Fraction(10))
    tops = [canonical_chances(scores, k, sharp, one).log_top for one in (law, Law.GUMBEL)]
    assert (abs(tops[0] - tops[1]) < 1e-12) == (law is Law.GUMBEL)


# The mechanisms themselves.


@pytest.mark.slow
def test_the_samplers_have_these_chances():
    """Chi-square by error, fixed seeds; a correct sampler fails at a rate of 1e-4."""
    counts = np.array([30, 27, 27, 20, 19, 12, 12, 5])
    joint = Joint(0.5, 3)
    errors = topk_error.signed_maximum(counts, joint.simulate(counts, COUNTS, 1000, seed=1))
    found = chances_of_joint(joint, counts)
    observed = [np.sum(errors == -u) for u in found.utilities]
    assert pooled_p_value(observed, 1000 * found.chances) > 1e-4
    canonical = Canonical(0.5, 3, noise=Law.LAPLACE)
    gaps = topk_error.k_relative(counts, canonical.simulate(counts, COUNTS, 1000, seed=2))
    chances = chances_of_canonical(canonical, counts)
    observed = [np.sum(gaps == g) for g in chances.gaps]
    assert pooled_p_value(observed, 1000 * chances.gap_chances) > 1e-4
    wrong = chances_of_canonical(Canonical(0.6, 3, noise=Law.LAPLACE), counts)
    assert pooled_p_value(observed, 1000 * wrong.gap_chances) < 1e-4


def pooled_p_value(observed, expected):
    """Chi-square with rare classes put together."""
    observed, expected = np.asarray(observed, float), np.asarray(expected, float)
    rare = expected < 8
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def test_real_scores_are_planned_on_the_grid_of_the_mechanism():
    scores = np.array([3.75, 2.5, 2.5, 1.0, 0.25])
    whole = (4 * scores).astype(np.int64)
    utility, in_quarters = Utility.declare(1.0), Utility.declare(4)
    for mechanism in (Joint(0.7, 2), Canonical(0.7, 2), LipschitzMechanism(0.7, kappa=2)):
        real, integer = (
            top_chance(mechanism, scores, utility),
            top_chance(mechanism, whole, in_quarters),
        )
        assert real == pytest.approx(integer, abs=1e-13)


# Errata.


def test_the_printed_gamma_1_start_would_make_the_top_k_certain():
    """Canonical Alg 1 starts from x[k] + noise where (eps/2 Delta) x[k] + noise is meant."""
    scores, k, epsilon = zipf(30, 600), 5, 0.1
    mechanism = Canonical(epsilon, k, gamma=1, noise=Law.GUMBEL)
    scale = float(mechanism.scale(COUNTS))
    assert scale == pytest.approx(0.1)
    sizes = {t: math.comb(t - 1, k - 1) for t in range(k, 31)}
    log_weights = {t: math.log(n) + scale * scores[t - 1] for t, n in sizes.items()}
    log_total = np.logaddexp.reduce(list(log_weights.values()))
    ours = top_chance(mechanism, scores)
    assert ours == pytest.approx(math.exp(scale * scores[k - 1] - log_total), abs=1e-13)
    printed = dict(log_weights)
    printed[k] = float(scores[k - 1])  # not multiplied by the scale
    wrong = math.exp(printed[k] - np.logaddexp.reduce(list(printed.values())))
    assert wrong > 1 - 1e-12
    assert ours < 0.9
    simulated = mechanism.simulate(scores, COUNTS, 1000, seed=5)
    share = topk_error.is_top_set(scores, simulated).mean()
    assert share == pytest.approx(ours, abs=4 * math.sqrt(ours * (1 - ours) / 1000))


def test_the_printed_class_sizes_would_not_add_up():
    """Canonical Alg 1 has (t-(h+1))/(k-(h+1)) where (t-(h+2)) is meant."""
    d, k = 9, 3
    right = 1 + sum(math.comb(t - h - 2, k - 1 - h) for h in range(k) for t in range(k + 1, d + 1))
    printed = 1 + sum(
        math.comb(t - h - 1, k - 1 - h) for h in range(k) for t in range(k + 1, d + 1)
    )
    assert right == math.comb(d, k) < printed
    equal = canonical_chances(
        np.zeros(d, np.int64), k, Loss.canonical(Fraction(1, 2), Fraction(1)), Law.GUMBEL
    )
    assert equal.log_top_class == pytest.approx(-math.log(right), abs=1e-13)
    assert equal.top == pytest.approx(1, abs=1e-12)  # all tied: every set is a top k


def test_great_and_good_are_the_sets_that_the_text_describes():
    """Equal scores make all subsets equally likely, so these are counts by hand."""
    loss = Loss.canonical(Fraction(1, 2), Fraction(1))
    found = canonical_chances(np.zeros(12, np.int64), 10, loss, Law.GUMBEL)
    # k = 10: hold rank 1, nothing beyond 11; hold rank 1, nothing beyond 15
    assert found.great == pytest.approx(math.comb(10, 9) / math.comb(12, 10), rel=1e-12)
    assert found.good == pytest.approx(math.comb(11, 9) / math.comb(12, 10), rel=1e-12)
    found = canonical_chances(np.zeros(130, np.int64), 100, loss, Law.EXPONENTIAL)
    # 'inclusion of all top-10 items and the remaining 90 items must come from top-110'
    assert great(100) == (10, 110) and good(100) == (1, 150)
    assert found.great == pytest.approx(math.comb(100, 90) / math.comb(130, 100), rel=1e-10)
    assert found.good == pytest.approx(math.comb(129, 99) / math.comb(130, 100), rel=1e-10)
    assert great(1) == (1, 1) and good(1) == (1, 1) and great(15) == (2, 16)
    sure = canonical_chances(zipf(30, 10**6), 1, loss, Law.GUMBEL)
    assert sure.great == sure.good == pytest.approx(1)


def test_theorem_5_6_holds_with_its_sign_mended_and_says_nothing_as_printed():
    rng = np.random.default_rng(8)
    for _ in range(60):
        d = int(rng.integers(2, 40))
        k = int(rng.integers(1, d + 1))
        scores = rng.integers(0, int(rng.choice([3, 100, 5000])), d)
        gamma, epsilon = Fraction(int(rng.integers(1, 5)), 4), float(rng.choice([0.05, 1.0]))
        miss = float(rng.choice([0.01, 0.3]))
        for law in (Law.GUMBEL, Law.EXPONENTIAL, Law.LOGISTIC):
            mechanism = Canonical(epsilon, k, gamma, law)
            bound = top_k_bound(mechanism, d, COUNTS, miss)
            found = chances_of_canonical(mechanism, scores)
            assert bound.tail is not None
            assert found.gap_chance(bound.tail) >= 1 - miss  # x_T >= x_k - E
            assert found.gap_chance(0) <= 1  # x_T <= x_k < x_k + E: true of any subset at all
            assert np.all(found.gaps >= 0)
        printed = 2 * 0.5 / (float(gamma) * epsilon)
        printed *= k * math.log(d / k) + k + math.log(1 / miss)
        gumbel = top_k_bound(Canonical(epsilon, k, gamma, Law.GUMBEL), d, COUNTS, miss)
        assert gumbel.tail <= printed + 1e-9  # ln C(d, k) <= k ln(d/k) + k


def test_the_bound_of_theorem_5_6_needs_its_gamma():
    """Equal scores below the top k, far away: gamma = 1/2 pays twice for the same distance."""
    scores = np.array([40] * 3 + [0] * 60)
    miss = 0.5
    bound = top_k_bound(Canonical(0.3, 3, Fraction(1, 2), Law.GUMBEL), 63, COUNTS, miss)
    found = chances_of_canonical(Canonical(0.3, 3, Fraction(1, 2), Law.GUMBEL), scores)
    assert found.gap_quantile(1 - miss) <= bound.tail
    without_gamma = bound.tail / 2
    assert without_gamma < 40 <= found.gap_quantile(1 - miss)


def test_joint_theorem_3_3_holds_on_exact_distributions():
    rng = np.random.default_rng(9)
    for _ in range(150):
        d = int(rng.integers(2, 60))
        k = int(rng.integers(1, d + 1))
        counts = rng.integers(0, int(rng.choice([3, 100, 5000])), d)
        mechanism = Joint(float(rng.choice([0.05, 1.0, 10.0])), k)
        miss = float(rng.choice([0.01, 0.3]))
        bound = top_k_bound(mechanism, d, COUNTS, miss)
        found = chances_of_joint(mechanism, counts)
        assert found.error_chance(bound.signed) >= 1 - miss
        assert found.error_quantile(1 - miss) <= bound.signed
    at_99 = top_k_bound(Joint(1.0, 4), 50, COUNTS, 0.01).signed
    assert at_99 == pytest.approx(2 * (4 * math.log(50) + math.log(100)))
    assert at_99 <= 2 * (4 * math.log(50) + 5)


def test_joint_theorem_3_3_is_nearly_attained():
    """One list right and all others E behind: half the bound is already exceeded often."""
    d, k = 200, 1
    counts = np.zeros(d, np.int64)
    counts[0] = 9
    mechanism = Joint(1.0, k)
    bound = top_k_bound(mechanism, d, COUNTS, 0.5).signed
    assert bound / 2 < chances_of_joint(mechanism, counts).error_quantile(0.5) <= bound


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        Canonical(1.0, 3, noise=Law.LAPLACE),
        Canonical(1.0, 3, rounded=True),
        PeelPermuteAndFlip(1.0, 3),
        PeelGumbel(1.0, 1e-3, 3),
        LipschitzMechanism(1.0, Law.GUMBEL, 3),
        LipschitzMechanism(1.0, Law.EXPONENTIAL, 3),
        LipschitzMechanism(1.0, Law.LAPLACE, 3),
        GammaMechanism(1.0, 3),
        NoisyCounts(0.2, 3, 2),
        GaussianCounts(0.2, 3, 2, delta=1e-3),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_bounds_on_the_signed_error_hold_in_simulation(mechanism):
    """On scores that lie as far apart as the bound itself; 300 draws, fixed seed."""
    miss, draws = 0.3, 300
    bound = top_k_bound(mechanism, 8, COUNTS, miss)
    assert 0 < bound.tail <= bound.signed
    for far in (bound.signed, bound.signed / 3):
        step = math.ceil(far)
        scores = np.array([2 * step, step, step, 0, 0, 0, 0, 0])
        rows = mechanism.simulate(scores, COUNTS, draws, seed=4)
        if not mechanism.ordered:
            rows = topk_error.best_order(scores, rows)
        signed = topk_error.signed_maximum(scores, rows)
        tail = topk_error.k_relative(scores, rows)
        slack = 3 * math.sqrt(miss * (1 - miss) / draws)
        assert np.mean(signed > bound.signed) <= miss + slack
        assert np.mean(tail > bound.tail) <= miss + slack


def test_bounds_by_hand():
    """Lemma A.21 per round, and the pairs of the union bound: (best k) x (those after it)."""
    d, k, miss = 12, 4, 0.1
    each = 1 - (1 - miss) ** (1 / k)
    peeled = top_k_bound(PeelPermuteAndFlip(2.0, k), d, COUNTS, miss)
    scale = 2.0 / k  # epsilon/(2 k half_width)
    assert peeled.signed == peeled.tail == pytest.approx(math.log(d / each) / scale)
    assert peeled.signed <= (math.log(d * k / miss)) / scale  # r_{alpha,k} >= 1
    oneshot = top_k_bound(LipschitzMechanism(2.0, Law.EXPONENTIAL, k), d, COUNTS, miss)
    pairs = sum(1 for a in range(k) for b in range(a + 1, d))
    assert oneshot.signed == pytest.approx(math.log(pairs / 2 / miss) / scale)
    assert oneshot.tail == pytest.approx(math.log(k * (d - k) / 2 / miss) / scale)
    whole = top_k_bound(NoisyCounts(0.5, 3, 1), 3, COUNTS, miss)
    assert whole.tail == 0 < whole.signed  # all items are released; their order may be wrong
    canonical = top_k_bound(Canonical(2.0, k, Fraction(1, 4), Law.GUMBEL), d, COUNTS, miss)
    excess = (math.log(math.comb(d, k)) + math.log(1 / miss)) / 2.0
    assert canonical.signed == canonical.tail == pytest.approx(4 * excess)
    steep = top_k_bound(Canonical(2.0, k, Fraction(3, 4), Law.GUMBEL), d, COUNTS, miss)
    assert (steep.signed, steep.tail) == pytest.approx((4 * excess, 4 / 3 * excess))


def test_without_a_protected_head_the_signed_error_has_no_bound():
    scores = np.array([10**6, 5, 5, 5, 5, 5])
    for gamma in (0, 1):
        bound = top_k_bound(Canonical(1.0, 2, gamma), 6, COUNTS, 0.1)
        assert bound.signed is None
    rows = Canonical(1.0, 2, gamma=1).simulate(scores, COUNTS, 50, seed=0)
    assert topk_error.signed_maximum(scores, topk_error.best_order(scores, rows)).max() > 10**5


# The tails behind the bounds.


@pytest.mark.parametrize("law", list(Law))
def test_the_tail_of_a_difference_continues_where_float64_ends(law):
    slope = law.formulas.log_difference_tail(600.0) - law.formulas.log_difference_tail(599.999)
    assert slope == pytest.approx(-0.001, abs=1e-5)
    assert law.formulas.log_difference_tail(9000.0) == pytest.approx(-9000.0, abs=10)


@pytest.mark.parametrize("scale", [0.2, 1.0, 30.0])
def test_the_bound_of_noisy_counts_is_the_union_bound_over_pairs(scale):
    d, k, miss = 30, 4, 0.05
    mechanism = NoisyCounts(1 / scale, k, 1)
    bound = top_k_bound(mechanism, d, COUNTS, miss)
    y = np.arange(-4000, 4001)
    mass = np.exp(-np.abs(y) / scale) * np.tanh(0.5 / scale)

    def tail(m):
        """Pr[Z - Z' >= m], term by term."""
        return sum(mass[4000 + z] * mass[y >= m + z].sum() for z in range(-1500, 1501))

    for error, pairs in ((bound.signed, k * (2 * d - k - 1) / 2), (bound.tail, k * (d - k))):
        assert pairs * tail(int(error) + 1) <= miss * (1 + 1e-9)
        assert error == 0 or pairs * tail(int(error)) > miss


@pytest.mark.parametrize("shape", [2, 30, 10_000])
def test_the_gamma_quantile_is_on_the_safe_side_and_close(shape):
    for miss in (0.3, 0.01, 1e-6):
        exact = stats.gamma(shape).isf(miss)
        assert exact <= _gamma_quantile(shape, miss) <= exact + 2.5 * math.sqrt(shape) + 4


# The epsilon for a chance.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [("joint", 0), ("canonical", 0), ("oneshot", 0), ("peel-gumbel", 1e-6)],
)
def test_the_epsilon_for_a_target_reaches_it_and_a_smaller_one_does_not(mechanism, delta):
    counts = zipf(200, 900)
    for target in (0.2, 0.999):
        needed = epsilon_for_top(made(mechanism, 6, delta), counts, 6, target)
        for epsilon, reached in ((needed, True), (needed * (1 - 1e-6), False)):
            planned = made(mechanism, 6, delta, epsilon)
            assert (top_chance(planned, counts) >= target) == reached


def test_the_epsilon_for_a_target_knows_its_limits():
    counts = zipf(50, 900)
    assert epsilon_for_top(made("gamma", 3), counts, 3, 0.9) is None  # no formula
    approximate = made("oneshot-approximate", 3, 1e-6)
    assert epsilon_for_top(approximate, np.arange(50), 3, 0.9) is None
    assert epsilon_for_top(approximate, counts * 1000, 3, 0.9) < 0.2
    assert epsilon_for_top(made("canonical", 2), np.array([5, 5, 5]), 2, 0.9) == 0
    assert epsilon_for_top(made("canonical", 3), np.array([7, 5, 5, 4]), 3, 0.2) == 0  # of 4 sets


def test_a_larger_epsilon_makes_the_top_k_likelier():
    counts = zipf(100, 200)
    for make in (Joint, Canonical, lambda e, k: LipschitzMechanism(e, kappa=k)):
        chances = [top_chance(make(epsilon, 5), counts) for epsilon in np.geomspace(0.01, 100, 25)]
        assert np.all(np.diff(chances) >= -1e-12)
        assert chances[0] < 0.01 and chances[-1] > 0.99


# Speed: what the planner promises to do while one waits.


def test_canonical_top_1000_of_17770_takes_seconds():
    scores = zipf(17_770, 2e5)
    start = time.perf_counter()
    found = chances_of_canonical(Canonical(12.0, 1000, noise=Law.GUMBEL), scores)
    chances_of_canonical(Canonical(0.3, 1000, noise=Law.EXPONENTIAL), scores)
    assert time.perf_counter() - start < 8
    assert 0.5 < found.top < 1


def test_joint_top_200_of_166000_takes_seconds():
    counts = zipf(166_000, 2e4)
    start = time.perf_counter()
    for epsilon in (10.0, 1.0, 0.01):
        found = chances_of_joint(Joint(epsilon, 200), counts)
        assert found.chances.sum() == pytest.approx(1, abs=1e-10)
        assert found.utilities.size < 10**5
    assert time.perf_counter() - start < 8
    assert found.log_top_sequence < -2000  # and still a number
    pairs = itertools.pairwise(found.utilities.tolist())
    assert all(a > b for a, b in pairs)


@pytest.mark.parametrize("method", OF_LISTS)
def test_every_mechanism_on_public_labels_says_what_is_known_of_it(method):
    assert type(made(method.word(), 3, 1e-6)) in KNOWN
