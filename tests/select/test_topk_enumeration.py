"""Joint and Canonical against enumeration of every sequence and every subset."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import winnow as wn
from reference.audited import Case, counts, enumerate_case
from reference.inside import Law, Tape
from reference.mechanisms import Canonical, Joint, LipschitzMechanism
from winnow import Relation, Utility
from winnow.core.noisy_top.best_class import best_class
from winnow.core.noisy_top.classes import CanonicalClasses, JointClasses
from winnow.core.noisy_top.grid import on_grid
from winnow.core.noisy_top.log_counts import log_binomial, log_difference, log_product
from winnow.core.noisy_top.ranking import Ranking
from winnow.select.audit.top_k import BrokenOneItem

COUNTS = st.lists(st.integers(0, 5), min_size=1, max_size=6)


def utility_of(counts: list[int], sequence: tuple[int, ...]) -> int:
    """u*(S) of Joint, by definition."""
    ranked = sorted(counts, reverse=True)
    return -max(ranked[i] - counts[s] for i, s in enumerate(sequence))


def loss_of(scores: list[int], subset: tuple[int, ...], gamma: Fraction) -> Fraction:
    """The canonical loss, by definition; at gamma = 1/2 the distance to being the top k.

    The top k itself lies at distance 0, so nothing is missing above its own last item.
    """
    last = min(scores[i] for i in subset)
    missing = [scores[i] for i in range(len(scores)) if i not in subset]
    return (1 - gamma) * max([last, *missing]) - gamma * last


@given(counts=COUNTS, k=st.integers(1, 3), scale=st.sampled_from([1, 20]))
def test_joint_classes_hold_exactly_the_sequences_of_their_utility(
    counts: list[int], k: int, scale: int
) -> None:
    """At scale 20 utilities below about -3 hardly ever win, and begin as a block of their own."""
    k = min(k, len(counts))
    counts = sorted(counts, reverse=True)
    classes = JointClasses(Ranking(np.array(counts)), k, Fraction(scale))
    sizes = Counter(utility_of(counts, s) for s in itertools.permutations(range(len(counts)), k))
    todo = classes.roots()
    assert sum(map(classes.count, todo)) == sum(sizes.values())
    assert len(todo) == 1 + (scale == 20 and counts[0] - counts[-1] > 3)
    leaves = {}
    while todo:
        block = todo.pop()
        low, high = classes.log_count(block)
        assert low <= math.log(classes.count(block)) <= high
        if classes.is_class(block):
            leaves[block[0]] = classes.count(block)
        else:
            parts = classes.split(block)
            assert sum(classes.count(part) for part in parts) == classes.count(block)
            todo += parts
    assert leaves == dict(sizes)


@given(
    scores=COUNTS,
    k=st.integers(1, 4),
    gamma=st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(1, 3)]),
)
def test_canonical_classes_hold_exactly_the_subsets_of_their_loss(
    scores: list[int], k: int, gamma: Fraction
) -> None:
    k = min(k, len(scores))
    scores = sorted(scores, reverse=True)
    classes = CanonicalClasses(Ranking(np.array(scores)), k, gamma, Fraction(1))
    subsets = list(itertools.combinations(range(len(scores)), k))
    best = min(loss_of(scores, s, gamma) for s in subsets)
    sizes = Counter(best - loss_of(scores, s, gamma) for s in subsets)
    found: Counter[Fraction] = Counter()
    todo = classes.roots()
    assert sum(map(classes.count, todo)) == len(subsets)
    while todo:
        block = todo.pop()
        low, high = classes.log_count(block)
        assert low <= math.log(classes.count(block)) <= high
        if classes.is_class(block):
            found[classes.score(block)] += classes.count(block)
        else:
            parts = classes.split(block)
            assert all(classes.score(part) <= classes.score(block) for part in parts)
            assert sum(classes.count(part) for part in parts) == classes.count(block)
            todo += parts
    shift = max(found) if found else Fraction(0)
    assert {score - shift: n for score, n in found.items()} == dict(sizes)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "divided"), [(1, False), (2, False), (3, False), (2, True)])
def test_joint_draws_the_enumerated_exponential_mechanism(
    k: int, divided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chi-square over all sequences, fixed seed; a correct sampler fails at rate 1e-4.

    Divided: where the block of unlikely sequences does win, it is searched like the others.
    """
    if divided:
        monkeypatch.setattr(JointClasses, "roots", lambda self: [(self._lowest, -2), (-1, 0)])
    counts = [4, 4, 2, 1, 1]
    utility = wn.Utility.declare(1, monotone=True)
    draws = 2000
    rows = Joint(1.3, k).simulate(np.array(counts), utility, draws, seed=k)
    seen = Counter(map(tuple, rows.tolist()))
    sequences = list(itertools.permutations(range(5), k))
    weights = np.exp([1.3 / 2 * utility_of(counts, s) for s in sequences])
    observed = [seen[s] for s in sequences]
    assert stats.chisquare(observed, weights / weights.sum() * draws).pvalue > 1e-4
    wrong = weights**1.3
    assert stats.chisquare(observed, wrong / wrong.sum() * draws).pvalue < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("noise", list(Law))
@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_canonical_draws_noise_on_every_subset(noise: Law, gamma: Fraction) -> None:
    """The top-down search against noise on each subset one by one, on many tapes."""
    scores = [5, 3, 3, 1, 0]
    utility = wn.Utility.declare(1, monotone=True)
    draws, epsilon, k = 500, 0.8, 2
    rows = Canonical(epsilon, k, gamma, noise).simulate(np.array(scores), utility, draws, seed=3)
    subsets = list(itertools.combinations(range(5), k))
    seen = Counter(map(tuple, rows.tolist()))
    # one by one: the Lipschitz mechanism over the list of subsets, with the same scale
    losses = np.array([float(loss_of(scores, s, gamma)) for s in subsets])
    plain = LipschitzMechanism(epsilon, noise).simulate(-losses, utility, 20 * draws, seed=4)
    expected = np.bincount(plain[:, 0], minlength=len(subsets)) / 20
    observed = np.array([seen[s] for s in subsets])
    assert stats.chi2_contingency([observed, expected]).pvalue > 1e-4


@pytest.mark.slow
def test_canonical_with_gumbel_noise_is_the_exponential_mechanism_over_subsets() -> None:
    scores = [5, 3, 3, 1, 0, 0]
    utility = wn.Utility.declare(1, monotone=True)
    for k, gamma in ((2, Fraction(1, 2)), (3, Fraction(1)), (3, Fraction(1, 4))):
        rows = Canonical(1.0, k, gamma, Law.GUMBEL).simulate(
            np.array(scores), utility, 2000, seed=k
        )
        seen = Counter(map(tuple, rows.tolist()))
        subsets = list(itertools.combinations(range(6), k))
        weights = np.exp([-1.0 * float(loss_of(scores, s, gamma)) for s in subsets])
        observed = [seen[s] for s in subsets]
        assert stats.chisquare(observed, weights / weights.sum() * 2000).pvalue > 1e-4


def test_the_rounded_loss_counts_whole_people_and_is_not_halved() -> None:
    """Lemma 3.1 with the erratum: with the halving the loss at d = 4, k = 2 is 1.057."""
    scores = [3, 2, 1, 0]
    utility = wn.Utility.declare(1, monotone=True)
    mechanism = Canonical(1.0, 2, noise=Law.GUMBEL, rounded=True)
    rows = mechanism.simulate(np.array(scores), utility, 4000, seed=1)
    seen = Counter(map(tuple, rows.tolist()))
    subsets = list(itertools.combinations(range(4), 2))
    losses = [math.ceil(max(0, loss_of(scores, s, Fraction(1, 2)))) for s in subsets]
    weights = np.exp([-0.5 * loss for loss in losses])
    observed = [seen[s] for s in subsets]
    assert stats.chisquare(observed, weights / weights.sum() * 4000).pvalue > 1e-4
    assert mechanism.scale(utility) == Fraction(1, 2)
    with pytest.raises(wn.InputError, match="gamma"):
        Canonical(1.0, 2, gamma=1, rounded=True)


def test_every_item_is_released_when_k_is_d() -> None:
    utility = wn.Utility.declare(1, monotone=True)
    scores = np.array([3, 1, 2])
    assert np.all(Canonical(1.0, 3).simulate(scores, utility, 5, seed=1) == [0, 1, 2])
    orders = {tuple(row) for row in Joint(0.1, 3).simulate(scores, utility, 200, seed=1).tolist()}
    assert orders == set(itertools.permutations(range(3)))


def test_counts_up_to_2_to_the_62_and_large_gaps_are_exact() -> None:
    utility = wn.Utility.declare(1, monotone=True)
    scores = np.array([2**62, 2**62 - 1, 2**61, 0, 7])
    rows = Joint(1.0, 3).simulate(scores, utility, 200, seed=2)
    assert set(map(tuple, rows.tolist())) <= {(0, 1, 2), (1, 0, 2)}
    assert np.all(Canonical(1.0, 3).simulate(scores, utility, 50, seed=2) == [0, 1, 2])


def test_real_scores_are_floored_to_a_public_grid_that_keeps_the_sensitivity() -> None:
    utility = wn.Utility.declare(0.3)
    rng = np.random.default_rng(0)
    one = rng.normal(size=1000) * 10
    other = one + rng.uniform(-0.3, 0.3, 1000)
    steps, in_steps = on_grid(one, utility)
    moved = on_grid(other, utility)[0]
    assert np.abs(moved - steps).max() <= in_steps.one_sided
    assert float(in_steps.one_sided * Fraction(3, 10) / Fraction(3, 10)) < 2**22
    ratio = in_steps.one_sided / (Fraction(3, 10) / (Fraction(1, 4) / 2**20))
    assert 1 <= ratio < 1 + 2e-6
    for whole in (np.array([1, -2]), np.array([1.0, -2.0])):
        integers, same = on_grid(whole, utility)
        assert same == in_steps
        assert integers.tolist() == [2**22, -(2**23)]


@given(n=st.integers(0, 10**6), k=st.integers(0, 10**6))
def test_log_binomial_bounds_hold(n: int, k: int) -> None:
    low, high = log_binomial(n, k)
    if k > n:
        assert low == high == -math.inf
        return
    if n < 3000:
        truth = math.log(math.comb(n, k))
    else:
        truth = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    slack = 1e-9 * (1 + math.lgamma(n + 1)) if n >= 3000 else 1e-13 * (1 + truth)
    assert low - slack <= truth <= high + slack
    assert high - low < 1e-8


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=700))
@settings(max_examples=50)
def test_log_product_bounds_hold(factors: list[int]) -> None:
    low, high = log_product(np.array(factors))
    assert low <= math.fsum(map(math.log, factors)) <= high
    assert high - low < 1e-8


@given(a=st.integers(1, 10**12), b=st.integers(0, 10**12))
def test_log_difference_bounds_hold(a: int, b: int) -> None:
    larger, smaller = a + b, b
    logs = [(math.log(n), math.log(n)) if n else (-math.inf, -math.inf) for n in (larger, smaller)]
    low, high = log_difference(*logs)
    assert low <= math.log(larger - smaller) <= high


def test_a_coarse_filter_does_not_change_the_class_that_wins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With blunt bounds every decision is refined exactly, and the answers are the same."""
    from winnow.core.noisy_top import best_class as module

    ranked = np.array([9, 7, 7, 5, 5, 4, 2, 1, 0, 0])
    tapes = [Tape.seeded(seed) for seed in range(60)]

    def winners(law: Law) -> list[object]:
        result: list[object] = []
        for tape in tapes:
            canonical = CanonicalClasses(Ranking(ranked), 4, Fraction(1, 2), Fraction(1, 3))
            result.append(canonical.score(best_class(canonical, law, tape)))
            joint = JointClasses(Ranking(ranked), 3, Fraction(1, 3))
            result.append(best_class(joint, law, tape))
        return result

    sharp = {law: winners(law) for law in Law}
    down, up = module._down, module._up
    monkeypatch.setattr(module, "_down", lambda x: down(x) - 1e-3)
    monkeypatch.setattr(module, "_up", lambda x: up(x) + 1e-3)
    for law in Law:
        same = sum(a == b for a, b in zip(sharp[law], winners(law), strict=True))
        assert same >= 0.9 * len(sharp[law])


def test_wide_ranges_and_odd_sensitivities_do_not_overflow() -> None:
    symmetric = wn.Utility.declare(1)
    scores = np.array([2**62, -(2**62) + 2, -(2**62) + 2])
    assert Joint(1.0, 2).simulate(scores, symmetric, 3, seed=1)[:, 0].tolist() == [0, 0, 0]
    odd = wn.Utility.declare(0.3000000001)
    near = np.array([10**9, 10**9 - 10**4, 5])
    rounded = Canonical(1.0, 2, rounded=True)
    assert np.all(rounded.simulate(near, odd, 5, seed=1) == [0, 1])
    too_wide = wn.seal_scores([2**63 - 1, -(2**63)], symmetric)
    for mechanism in (Joint(1.0, 1), Canonical(1.0, 1)):
        with pytest.raises(wn.InputError, match="64-bit"):
            mechanism.check(too_wide)


def test_one_item_per_person_halves_the_noise_of_canonical_and_no_more() -> None:
    """Enumerated under both relations; for people with many items the same noise is too little."""
    honest = Canonical(1.0, 2, one_item=True)
    for relation in Relation:
        people = counts(relation)
        assert honest.scale(people.utility) == 2 * Canonical(1.0, 2).scale(people.utility)
        results = list(enumerate_case(Case(honest, people), quick=True))
        assert all(result.passed for result in results)
        assert max(result.measured for result in results) > 0.99
        broken = Case(BrokenOneItem(1.0, 2, one_item=True), people)
        assert not all(result.passed for result in enumerate_case(broken, quick=True))
    general = Utility.declare(1)  # scores that a person can lower, too
    assert honest.scale(general) == Canonical(1.0, 2).scale(general)
