"""Simulations of a plan of a top k: what they take, what they report, and their errors."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import winnow as wn
from reference import planned
from reference.inside import Law
from reference.mechanisms import Canonical, Joint, LipschitzMechanism
from winnow import InputError, Utility
from winnow.select import errors as topk_error
from winnow.select.methods import Sizes
from winnow.select.plan.chances import GapProfile
from winnow.select.plan.top_k.probabilities import epsilon_for_top, top_chance
from winnow.select.plan.top_k.profile import grouped, public_scores, stepped
from winnow.select.plan.top_k.simulation import best_gamma

COUNTS = [90, 70, 70, 52, 40, 31, 20, 12, 5, 0]
EVERYTHING = {"epsilon": 0.2, "delta": 1e-6, "max_items": 2, "draws": 40}
WORDS = [
    "joint",
    "canonical",
    "canonical",
    "oneshot",
    "peel-permute-and-flip",
    "peel-gumbel",
    "gamma",
    "laplace",
    "gaussian",
    "oneshot-approximate",
]


@pytest.fixture(scope="module")
def compared():
    return planned.top_k(COUNTS, k=3, chance=0.9, **EVERYTHING)


# Errors of released lists.


def test_errors_of_lists_are_those_of_joint_definition_2_2():
    counts = np.array([10, 40, 20, 30, 5])  # ranked: 40 30 20 10 5
    rows = np.array([[1, 3, 2], [2, 3, 1], [1, 2, 4], [4, 0, 2]])
    # listed counts: 40 30 20 | 20 30 40 | 40 20 5 | 5 10 20
    assert topk_error.l_infinity(counts, rows).tolist() == [0, 20, 15, 35]
    assert topk_error.l_1(counts, rows).tolist() == [0, 40, 25, 55]
    assert topk_error.k_relative(counts, rows).tolist() == [0, 0, 15, 15]
    assert topk_error.signed_maximum(counts, rows).tolist() == [0, 20, 15, 35]
    assert topk_error.index_of_maximum(counts, rows).tolist() == [0, 0, 2, 0]
    assert topk_error.is_top_set(counts, rows).tolist() == [True, True, False, False]
    assert topk_error.is_top_sequence(counts, rows).tolist() == [True, False, False, False]


def test_the_example_of_joint_tells_signed_and_absolute_errors_apart():
    """Counts 100, 90, ..., 10: S1 = (1, 3, 4, 5, 2) and S2 = (1, 3, 4, 5, 6)."""
    counts = np.arange(100, 0, -10)
    rows = np.array([[0, 2, 3, 4, 1], [0, 2, 3, 4, 5]])
    assert topk_error.signed_maximum(counts, rows).tolist() == [10, 10]
    assert topk_error.l_infinity(counts, rows).tolist() == [30, 10]
    assert topk_error.index_of_maximum(counts, rows).tolist() == [4, 1]
    assert topk_error.index_of_maximum(counts, rows, signed=True).tolist() == [1, 1]
    in_order = topk_error.best_order(counts, rows)
    assert in_order.tolist() == [[0, 1, 2, 3, 4], [0, 2, 3, 4, 5]]
    assert topk_error.l_infinity(counts, in_order).tolist() == [0, 10]


def test_errors_are_ordered_and_the_best_order_makes_them_smallest():
    rng = np.random.default_rng(1)
    for _ in range(30):
        counts = rng.integers(0, 30, 12)
        rows = np.array([rng.permutation(12)[:5] for _ in range(20)])
        listed = {name: getattr(topk_error, name)(counts, rows) for name in topk_error.METRICS}
        best = topk_error.best_order(counts, rows)
        for name, errors in listed.items():
            assert np.all(getattr(topk_error, name)(counts, best) <= errors)
        assert np.all(listed["k_relative"] >= 0)
        assert np.all(listed["k_relative"] <= listed["signed_maximum"])
        assert np.all(listed["signed_maximum"] <= listed["l_infinity"])
        assert np.all(listed["l_infinity"] <= listed["l_1"])
        signed = topk_error.signed_maximum(counts, best)
        assert np.array_equal(signed, topk_error.l_infinity(counts, best))


def test_errors_take_real_scores_one_list_and_large_counts():
    assert topk_error.l_1([0.5, 2.25, 1.0], [1, 0]) == pytest.approx([0.5])
    huge = np.array([2**62, 2**62 - 5, 0, 0])
    assert topk_error.l_infinity(huge, [[2, 0]]).tolist() == [2**62]
    assert topk_error.l_1(huge, [[2, 3]])[0] == pytest.approx(2.0**63)
    assert topk_error.l_1([3, 2, 1], np.empty((0, 2), np.int64)).size == 0


@pytest.mark.parametrize(
    ("scores", "rows", "message"),
    [
        ([[1, 2]], [[0]], "flat"),
        (["a", "b"], [[0]], "flat"),
        ([1, 2], [[0.5]], "positions"),
        ([1, 2], [[0, 1, 1]], "exceed 2 items"),
        ([1, 2], [[2]], "outside 0..1"),
        ([1, 2], [[-1]], "outside 0..1"),
    ],
)
def test_errors_refuse_what_is_not_a_list_of_positions(scores, rows, message):
    with pytest.raises(InputError, match=message):
        topk_error.l_infinity(scores, rows)


# The plan.


def test_a_comparison_has_a_row_for_every_mechanism(compared):
    assert [row.method for row in compared.rows] == WORDS
    assert compared.skipped == {}
    assert compared.judged == "sets"
    exact = {row.name.split(" ")[0].rstrip(","): row.top_chance for row in compared.rows}
    unknown = {name for name, chance in exact.items() if chance is None}
    assert unknown == {"peel-permute-and-flip", "gamma", "laplace", "gaussian"}
    for row in compared.rows:
        assert row.epsilon == 0.2
        assert row.signed_bound >= row.tail_bound > 0
        assert row.simulated["l_infinity"].median <= row.simulated["l_infinity"].upper
        assert row.simulated["signed_maximum"] == row.simulated["l_infinity"]  # of sets
        if row.top_chance is not None:
            spread = math.sqrt(row.top_chance * (1 - row.top_chance) / 40)
            assert abs(row.simulated_top - row.top_chance) <= 4.5 * spread + 1e-9


def test_guarantees_are_those_of_the_releases(compared):
    assert compared.row("joint").guarantee == "0.2-DP, protects each person (add or remove one)"
    assert (
        compared.row("peel-gumbel").guarantee
        == "(0.2, 1e-06)-DP, protects each person (add or remove one)"
    )
    many = planned.top_k(range(400), k=200, epsilon=1, delta=1e-6, method="peel-gumbel", draws=0)
    assert many.rows[0].guarantee == "(1, 1e-06)-DP, protects each person (add or remove one)"
    assert (
        compared.row("gaussian").guarantee
        == "(0.2, 1e-06)-DP, protects each person (add or remove one)"
    )
    assert compared.row("laplace").guarantee == "0.2-DP, protects each person (add or remove one)"
    assert [row.ordered for row in compared.rows] == [
        True,
        False,
        False,
        False,
        True,
        True,
        True,
        True,
        True,
        False,
    ]
    substituted = planned.top_k(COUNTS, k=3, epsilon=0.2, relation="substitution", draws=0)
    assert substituted.row("joint").guarantee == "0.2-DP, protects each person (replace one record)"
    assert substituted.row("joint").signed_bound == 2 * compared.row("joint").signed_bound


def test_the_numbers_of_a_row_are_those_of_the_mechanism(compared):
    counts = np.array(COUNTS)
    joint = compared.row("joint")
    assert joint.top_chance == top_chance(Joint(0.2, 3), counts)
    assert joint.top_chance >= joint.sequence_chance > 0
    assert joint.signed_quantile <= joint.signed_bound
    assert joint.great_chance is None and joint.tail_quantile is None
    gumbel = compared.rows[2]
    assert gumbel.name == "canonical (gumbel noise, gamma=0.6), k=3"
    assert gumbel.top_chance == top_chance(Canonical(0.2, 3, 0.6, Law.GUMBEL), counts)
    assert gumbel.top_chance <= gumbel.great_chance <= gumbel.good_chance <= 1
    assert gumbel.tail_quantile <= gumbel.tail_bound
    assert gumbel.sequence_chance is None
    rows = Joint(0.2, 3).simulate(counts, Utility.declare(1, monotone=True), 40, seed=0)
    errors = topk_error.l_1(counts, topk_error.best_order(counts, rows))
    assert joint.simulated["l_1"].mean == errors.mean()


def test_the_epsilon_for_the_target_is_in_every_row_that_knows_its_chance(compared):
    counts = np.array(COUNTS)
    for row in compared.rows:
        if row.method in ("joint", "oneshot"):
            made = Joint(1, 3) if row.method == "joint" else LipschitzMechanism(1, kappa=3)
            needed = epsilon_for_top(made, counts, 3, 0.9)
            assert row.epsilon_for_target == pytest.approx(needed, rel=1e-6)
        if row.top_chance is None:
            assert row.for_list == (row.method == "peel-permute-and-flip")
            assert (row.epsilon_for_target is None) != row.for_list
    alone = planned.top_k(COUNTS, k=3, chance=0.9, draws=0)
    assert alone.epsilon is None
    for row in alone.rows:
        assert row.epsilon == pytest.approx(row.epsilon_for_target, rel=1e-6)
        reached = row.sequence_chance if row.for_list else row.top_chance
        assert reached == pytest.approx(0.9, abs=1e-6)
    assert "no epsilon is known" in alone.skipped["gamma"]


def test_the_best_gamma_is_that_of_a_plain_search() -> None:
    counts = [round(5000 / rank) for rank in range(1, 101)]
    gammas = [step / 20 for step in range(1, 21)]

    def at(gamma, **how):
        return planned.top_k(counts, k=5, method="canonical", noise="gumbel", gamma=gamma,
                             draws=0, **how).rows[0]  # fmt: skip

    about = wn.plan.counts(len(counts))
    best = wn.plan.top_k(about, k=5, epsilon=0.02).best_gamma(counts)
    top = max(at(gamma, epsilon=0.02).top_chance for gamma in gammas)
    assert at(best, epsilon=0.02).top_chance == top
    for_target = best_gamma(counts, about, Sizes(epsilon=1, k=5), None, 0.9)
    least = min(at(gamma, chance=0.9).epsilon for gamma in gammas)
    assert at(for_target, chance=0.9).epsilon == least


def test_shares_of_great_and_good_draws_are_those_of_their_chances() -> None:
    """Canonical's events are known exactly; the simulated shares agree (400 draws, seed 0)."""
    counts = [round(3000 / rank**0.5) for rank in range(1, 200)]
    row = planned.top_k(counts, k=20, epsilon=0.3, method="canonical", draws=400).rows[0]
    for exactly, share in (
        (row.great_chance, row.simulated_great),
        (row.good_chance, row.simulated_good),
    ):
        assert abs(exactly - share) < 5 * (exactly * (1 - exactly) / 400) ** 0.5 + 1e-9
    assert row.top_chance < row.great_chance < row.good_chance
    table = planned.top_k(counts, k=20, epsilon=0.3, draws=20).table()
    assert table[0][4:6] == ["GREAT", "GOOD"]
    assert all(line[4].startswith("~") for line in table[1:] if "canonical" not in line[0])


def test_the_best_row_has_the_smallest_simulated_error(compared):
    found = compared.best()
    for row in compared.rows:
        assert found.simulated["l_infinity"].median <= row.simulated["l_infinity"].median
    with pytest.raises(InputError, match="draws > 0"):
        planned.top_k(COUNTS, k=3, epsilon=1, draws=0).best()


def test_a_plan_is_repeatable_and_its_seed_matters():
    first, again, other = (
        planned.top_k(COUNTS, k=2, epsilon=0.1, method="oneshot", draws=50, seed=seed)
        for seed in (3, 3, 4)
    )
    assert first == again
    assert first.rows[0].simulated != other.rows[0].simulated


def test_a_plan_is_plain_data_and_a_readable_table(compared):
    plain = json.loads(json.dumps(compared.to_dict()))
    assert plain["rows"][0]["simulated"]["l_1"]["median"] >= 0
    assert plain["k"] == 3 and plain["candidates"] == 10
    text = str(compared)
    assert text.startswith(
        "top 3 of 10, epsilon=0.2, delta=1e-06; protects each person (add or remove one)"
    )
    assert "epsilon for 0.9" in text and "bound 99 %" in text and "nothing was spent" in text
    assert len({len(line) for line in compared.table()}) == 1
    assert "~" in next(line for line in text.splitlines() if line.startswith("gamma"))
    quiet = str(planned.top_k(COUNTS, k=3, epsilon=0.2, draws=0))
    assert "Nothing was simulated" in quiet
    with pytest.raises(InputError, match="not simulated; there is: joint, canonical"):
        compared.row("sparse")


def test_mechanisms_that_do_not_apply_are_left_out_with_a_reason():
    pure = planned.top_k(COUNTS, k=3, epsilon=1.0, draws=0)
    assert pure.skipped == {
        "peel-gumbel": "it needs delta > 0",
        "laplace": "it needs max_items",
        "gaussian": "it needs delta > 0",
        "oneshot-approximate": "it needs delta > 0",
    }
    large = planned.top_k(COUNTS, k=3, epsilon=1.0, delta=1e-6, draws=0)
    assert "0.2" in large.skipped["oneshot-approximate"]
    assert large.skipped["gaussian"] == "it needs max_items"
    loose = planned.top_k(COUNTS, k=3, epsilon=0.1, delta=0.1, draws=0)
    assert loose.skipped["oneshot-approximate"] == "it needs delta up to 0.05"
    real = planned.top_k([3.5, 1.25, 0.5], k=1, epsilon=1.0, max_items=1, draws=0)
    assert "real" in real.skipped["laplace"]


def test_lists_are_judged_in_their_order_and_sets_without():
    lists = planned.top_k(COUNTS, k=3, epsilon=0.3, ordered=True, draws=60)
    assert lists.judged == "lists" and all(row.ordered for row in lists.rows)
    assert "set" in lists.skipped["canonical"]
    assert lists.row("oneshot").name == "oneshot lipschitz (exponential noise), in order, k=3"
    sets = planned.top_k(COUNTS, k=3, epsilon=0.3, ordered=False, method="joint", draws=60)
    alone = planned.top_k(COUNTS, k=3, epsilon=0.3, method="joint", draws=60)
    assert sets.judged == "sets" and alone.judged == "lists"
    assert alone.rows[0].simulated == lists.row("joint").simulated
    assert sets.rows[0].simulated["l_1"].mean < alone.rows[0].simulated["l_1"].mean
    with pytest.raises(InputError, match="no order"):
        planned.top_k(COUNTS, k=3, epsilon=0.3, ordered=True, method="canonical")


def test_one_mechanism_with_its_options():
    found = planned.top_k(
        COUNTS, k=3, epsilon=0.3, method="canonical", gamma=1, noise="laplace", draws=0
    )
    (row,) = found.rows
    assert row.name == "canonical (laplace noise, gamma=1), k=3"
    assert row.signed_bound is None and row.tail_bound > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "epsilon is missing"),
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": 1, "k": 0}, "k=0"),
        ({"epsilon": 1, "k": 11}, "k=11 exceeds 10 candidates; lower k"),
        ({"epsilon": 1, "method": "magic"}, "method='magic' is unknown"),
        ({"epsilon": 1, "method": "laplace"}, "max_items"),
        ({"epsilon": 1, "method": "peel-gumbel"}, "delta > 0"),
        ({"epsilon": 1, "method": "joint", "delta": 1e-6}, "no use for it"),
        ({"epsilon": 1, "method": "joint", "noise": "gumbel"}, "noise"),
        ({"epsilon": 1, "method": "joint", "gamma": 1}, "gamma"),
        ({"epsilon": 1, "method": "oneshot", "noise": "cauchy"}, "cauchy"),
        ({"epsilon": 1, "method": "canonical", "gamma": 2}, "gamma=2"),
        ({"epsilon": 1, "confidence": 1}, "confidence=1"),
        ({"epsilon": 1, "delta": 1}, "delta=1"),
        ({"epsilon": 1, "draws": -1}, "draws=-1"),
        ({"epsilon": 1, "ordered": "yes"}, "ordered='yes'"),
        ({"chance": 2}, "chance=2"),
        ({"epsilon": 1e-300, "method": "joint"}, "280 orders"),
        ({"chance": 0.9, "method": "gamma"}, "no epsilon is known"),
        ({"chance": 1e-9, "method": "oneshot"}, "random guess"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_mend(options, message):
    with pytest.raises(InputError, match=message):
        planned.top_k(COUNTS, **{"k": 3, **options})


def test_sealed_scores_are_never_planned_on():
    sealed = wn.seal_scores(COUNTS, Utility.declare(1, monotone=True))
    made = wn.plan.top_k(sealed, k=2, epsilon=1)  # of which only the public part is looked at
    for private in (sealed, sealed.values):
        with pytest.raises(InputError, match="public"):
            made.simulate(private)


# The scores.


def test_scores_are_taken_as_people_have_them():
    import pandas as pd

    expected = np.array([3, 1, 2])
    for scores in ([3, 1, 2], {"a": 3, "b": 1, "c": 2}, pd.Series([3, 1, 2]), expected):
        assert np.array_equal(public_scores(scores), expected)
    assert public_scores(expected.astype(np.uint8)).dtype == np.int64
    assert public_scores([1, 2.5]).dtype == np.float64
    profile = GapProfile.parse({2: 3, 7: 1}, None)
    assert public_scores(profile).tolist() == [0, -2, -2, -2, -7]
    assert planned.top_k(profile, k=1, epsilon=1, draws=0).candidates == 5
    assert public_scores(GapProfile.parse([0.5], None)).tolist() == [0.0, -0.5]


@pytest.mark.parametrize(
    "scores",
    [[], [[1, 2]], [1, math.nan], [1, math.inf], ["a"], "ab", [True], [[1], [2, 3]], [2**64 - 1]],
)
def test_scores_that_are_not_numbers_are_refused(scores):
    with pytest.raises(InputError):
        public_scores(scores)


def test_the_grid_step_is_the_one_that_the_mechanisms_use():
    utility = Utility.declare(0.3)
    scores = np.array([0.1, 1.7, -0.4])
    steps, in_steps, step = stepped(scores, utility)
    assert step == 2.0**-22
    assert np.array_equal(
        steps * step, np.floor(scores / step) * step - np.floor(1.7 / step) * step
    )
    assert float(in_steps.width) * step == pytest.approx(0.6, rel=1e-5)
    assert stepped(np.array([5, 3]), utility)[2] == 2.0**-22
    assert stepped(np.array([5, 3]), Utility.declare(3))[2] == 1.0
    for coarse in (np.array([1e9]), np.array([10**9])):
        assert stepped(coarse, Utility.declare(Fraction(2**40)))[2] == 2.0**20
    with pytest.raises(InputError, match="2\\^61"):
        stepped(np.array([0, 2**62]), Utility.declare(1))
    with pytest.raises(InputError, match="64-bit"):
        stepped(np.array([0, 2**62]), utility)


def test_bounds_of_real_scores_allow_for_the_grid():
    whole = planned.top_k(COUNTS, k=3, epsilon=0.5, method="joint", draws=0).rows[0]
    real = planned.top_k([float(c) for c in COUNTS], k=3, epsilon=0.5, method="joint", draws=0)
    assert 0 < real.rows[0].signed_bound - whole.signed_bound < 1e-3
    assert real.rows[0].top_chance == pytest.approx(whole.top_chance, abs=1e-5)
    assert real.rows[0].signed_quantile == pytest.approx(whole.signed_quantile, abs=1e-5)


def test_groups_decrease_from_zero():
    scores, counts = grouped(np.array([4, 9, 9, -(2**62)]), 2.0)
    assert scores.tolist() == [0.0, -10.0, -2.0 * (2.0**62 + 9)]
    assert counts.tolist() == [2, 1, 1]


def test_extreme_scores_and_parameters_plan_without_warnings():
    far = planned.top_k([2**60, 2**59, 5, 0], k=2, epsilon=1.0, draws=5)
    assert all(row.top_chance in (None, pytest.approx(1)) for row in far.rows)
    equal = planned.top_k([7] * 50, k=10, epsilon=0.01, draws=5)
    assert all(row.top_chance in (None, pytest.approx(1)) for row in equal.rows)
    everything = planned.top_k([5, 3, 1], k=3, epsilon=1.0, draws=5, ordered=False)
    assert all(row.simulated_top == 1 for row in everything.rows)
    one = planned.top_k([5], k=1, epsilon=1.0, draws=5)
    assert {row.simulated["l_infinity"].upper for row in one.rows} == {0.0}
    tiny = planned.top_k(COUNTS, k=3, epsilon=1e-9, draws=0)
    sets = math.comb(10, 3)
    assert tiny.rows[1].top_chance == pytest.approx(1 / sets, rel=1e-5)


# With noisy counts of the winners.


@pytest.mark.parametrize("word", dict.fromkeys(WORDS))
def test_a_plan_with_counts_is_that_of_the_mechanism_that_top_k_runs_with_counts(word):
    delta = 1e-6 if word in ("peel-gumbel", "gaussian", "oneshot-approximate") else 0.0
    asked = {"k": 3, "delta": delta, "method": word, "max_items": 2}
    with_counts = planned.top_k(COUNTS, epsilon=0.2, with_counts=True, draws=40, **asked).rows[0]
    free = word in ("laplace", "gaussian")
    alone = planned.top_k(COUNTS, epsilon=0.2 if free else 0.1, draws=40, **asked).rows[0]
    counts = wn.seal_counts(COUNTS, max_items=asked.pop("max_items"))
    released = wn.top_k(counts, epsilon=0.2, with_counts=True, seed=1, **asked)
    assert with_counts.name == released.receipt.mechanism
    assert with_counts.guarantee == str(released.guarantee)
    same = ("signed_bound", "tail_bound", "top_chance", "sequence_chance", "signed_quantile")
    for name in same:
        assert getattr(with_counts, name) == getattr(alone, name), name
    assert with_counts.simulated == alone.simulated
    assert with_counts.counts_margin is not None and alone.counts_margin is None


def test_the_epsilon_for_a_chance_counts_what_noisy_counts_take():
    asked = {"k": 3, "chance": 0.9, "method": "canonical", "draws": 0}
    alone = planned.top_k(COUNTS, **asked).rows[0]
    both = planned.top_k(COUNTS, with_counts=True, **asked).rows[0]
    assert both.epsilon == pytest.approx(2 * alone.epsilon)
    assert both.top_chance == pytest.approx(0.9, abs=1e-6)
    about = wn.plan.counts(len(COUNTS))
    best = wn.plan.top_k(about, k=3, epsilon=0.4).best_gamma(COUNTS)
    assert wn.plan.top_k(about, k=3, epsilon=0.8, with_counts=True).best_gamma(COUNTS) == best
    with pytest.raises(InputError, match="with_counts"):
        planned.top_k(COUNTS, k=3, epsilon=1, with_counts="yes")


def test_a_list_with_counts_can_be_released_in_order_by_oneshot():
    released = wn.top_k(
        COUNTS, k=3, epsilon=5.0, method="oneshot", ordered=True, with_counts=True, seed=1
    )
    assert "in order" in released.receipt.mechanism
