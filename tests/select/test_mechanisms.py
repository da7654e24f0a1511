"""Mechanisms: grants, names, large margin and sparse vector on easy cases."""

import os
import threading
from fractions import Fraction

import numpy as np
import pytest

import winnow as wn
from reference.inside import Tape
from reference.mechanisms import (
    AboveThreshold,
    ExponentialMechanism,
    LargeMargin,
    PermuteAndFlip,
    SparseVector,
)
from reference.running import released
from winnow import Relation
from winnow.core.run import single_run
from winnow.privacy import BoundedRange, PureDP, Repeat, single_use_grant
from winnow.select.crossing.selection import SparseVectorStream
from winnow.select.mechanisms.margin_search import (
    needed_margin,
    stopping_margin,
    three_laplace_quantile,
    three_laplace_tail,
)

ADD = Relation.ADD_REMOVE
UTILITY = wn.Utility.declare(1.0)


def test_events_follow_the_guarantee_table() -> None:
    assert ExponentialMechanism(0.5).promise(ADD).event == BoundedRange(0.5, ADD)
    assert PermuteAndFlip(0.5).promise(ADD).event == PureDP(0.5, ADD)
    oneshot = ExponentialMechanism(0.5, kappa=5).promise(ADD).event
    assert oneshot == Repeat(BoundedRange(Fraction(1, 10), ADD), 5)
    assert PermuteAndFlip(0.5, kappa=5).promise(ADD).event == PureDP(0.5, ADD)


def test_the_scale_is_epsilon_over_two_kappa_sensitivity() -> None:
    """Canonical Alg 2 divides by the sensitivity twice; Def 2.1 once."""
    utility = wn.Utility.declare(4.0)
    assert PermuteAndFlip(0.6, kappa=3).scale(utility) == Fraction(6, 10) / (2 * 3 * 4)
    counts = wn.Utility.declare(1.0, monotone=True)
    assert PermuteAndFlip(1.0).scale(counts) == 1
    replaced = wn.Utility.declare(1.0, monotone=True, relation="substitution")
    assert PermuteAndFlip(1.0).scale(replaced) == Fraction(1, 2)


def test_tightened_thresholds_have_the_figures_of_the_errata() -> None:
    ranks = np.array([1])
    printed = stopping_margin(ranks, 1.0, 1e-6, "printed")[0]
    tight = stopping_margin(ranks, 1.0, 1e-6, "tight")[0]
    assert round(printed) == 415
    assert round(tight) == 177
    # the quantile alone, with the printed t(1)
    assert round(tight - 2 + needed_margin(ranks, 1.0, 1e-6, "printed")[0]) == 270


def test_tight_thresholds_are_never_above_the_printed_ones() -> None:
    ranks = np.unique(np.geomspace(1, 1e9, 200).astype(np.int64))
    for epsilon in (0.01, 1.0, 20.0):
        for delta in (1e-12, 1e-6, 0.3):
            tight = stopping_margin(ranks, epsilon, delta, "tight")
            assert np.all(tight <= stopping_margin(ranks, epsilon, delta, "printed"))
            assert np.all(np.diff(tight) >= 0)


def test_the_three_laplace_tail_is_that_of_the_sum() -> None:
    rng = np.random.default_rng(0)
    size = 400_000
    total = sum(rng.laplace(scale=b, size=size) for b in (3.0, 6.0, 12.0))
    for x in (0.0, 5.0, 20.0, 60.0):
        share = float(three_laplace_tail(np.array(x), 1.0))
        assert abs(np.mean(total > x) - share) < 5 * np.sqrt(share / size)
    p = np.array([1e-12, 1e-6, 0.1, 0.4])
    covered = three_laplace_tail(three_laplace_quantile(p, 0.7), 0.7)
    assert np.all(covered <= p)
    assert np.all(covered >= p * (1 - 1e-9))


@pytest.mark.slow
def test_large_margin_ignores_a_huge_universe_behind_a_large_margin() -> None:
    scores = np.zeros(200_000, np.int64)
    scores[77] = 400
    picks = LargeMargin(1.0, 1e-6).simulate(scores, UTILITY, 5, seed=1)
    assert np.all(picks == 77)
    # the exponential mechanism needs ln(200,000)/0.5 = 24 more than nothing; here margin 400
    scores[77] = 12
    lost = ExponentialMechanism(1.0).simulate(scores, UTILITY, 20, seed=1)
    assert np.mean(lost == 77) < 0.5


@pytest.mark.parametrize("size", [1, 2, 3, 70, 2000])
def test_large_margin_answers_for_any_number_of_candidates(size: int) -> None:
    scores = np.arange(size) * 0.5
    picks = LargeMargin(0.5, 1e-3).simulate(scores, UTILITY, 20, seed=2)
    assert np.all((picks >= 0) & (picks < size))


def opened_stream(mechanism: SparseVector, seed: int = 1) -> SparseVectorStream:
    key, receipt = single_run(mechanism, ADD, Tape.seeded(seed))
    guarantee = mechanism.guarantee(mechanism.promise(ADD))
    return SparseVectorStream(mechanism, UTILITY, guarantee, key, receipt)


def test_sparse_vector_finds_the_values_above_and_stops_at_the_cutoff() -> None:
    values = np.array([-500, 500, -500, 500, 500, -500])
    mechanism = SparseVector(1.0, 0, cutoff=2)
    scores = wn.seal_scores(values, UTILITY, labels=list("abcdef"))
    grant = single_use_grant(mechanism.promise(ADD).event)
    answer = released(mechanism, scores, grant, Tape.seeded(1)).value
    assert answer.above == ["b", "d"]
    assert answer.answered == 4


def test_a_stream_of_questions_equals_the_list_on_the_same_tape() -> None:
    values = np.array([1, 4, -3, 9, 2, 8, 7, 3])
    mechanism = SparseVector(0.7, 5, cutoff=3)
    event = mechanism.promise(ADD).event
    scores = wn.seal_scores(values, UTILITY)
    whole = released(mechanism, scores, single_use_grant(event), Tape.seeded(5)).value
    stream = opened_stream(mechanism, 5)
    reports: list[bool] = []
    for value in values:
        if stream.exhausted:
            break
        reports += stream.ask(wn.seal_scores([int(value)], UTILITY)).value
    assert [i for i, above in enumerate(reports) if above] == whole.above
    assert stream.answered == whole.answered


def test_an_exhausted_or_mismatched_stream_refuses() -> None:
    mechanism = AboveThreshold(1.0, 0)
    stream = opened_stream(mechanism)
    with pytest.raises(wn.InputError, match="another sensitivity"):
        stream.ask(wn.seal_scores([1], wn.Utility.declare(2.0)))
    answer = stream.ask(wn.seal_scores([10**6], UTILITY))
    assert answer.value == [True]
    assert answer.receipt.randomness == "seeded"
    assert "exhausted" in repr(stream)
    with pytest.raises(wn.InputError, match="cutoff"):
        stream.ask(wn.seal_scores([1], UTILITY))


def test_sparse_vector_scales_spend_exactly_epsilon() -> None:
    for utility in (UTILITY, wn.Utility.declare(1.0, monotone=True), wn.Utility.declare((1, 3))):
        for cutoff in (1, 2, 50):
            first, second = SparseVector(0.3, 0, cutoff=cutoff).scales(utility)
            spent = utility.one_sided / first + cutoff * utility.width / second
            assert spent == Fraction(3, 10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PermuteAndFlip(-1.0),
        lambda: PermuteAndFlip(1.0, kappa=0),
        lambda: LargeMargin(1.0, 0.0),
        lambda: LargeMargin(1.0, 1e-6, "loose"),
        lambda: SparseVector(1.0, float("nan")),
        lambda: SparseVector(1.0, 0, cutoff=0),
        lambda: SparseVector(0.0, 0),
    ],
)
def test_impossible_parameters_are_refused_when_a_mechanism_is_made(make) -> None:
    with pytest.raises(wn.InputError):
        make()


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16, np.uint16])
def test_small_numpy_integers_do_not_wrap_around(kind) -> None:
    """2 * np.uint8(129) is 2: the noise would be 129 times too small."""
    k = kind(120)
    assert PermuteAndFlip(0.5, kappa=k).scale(UTILITY) == Fraction(1, 2) / 240
    assert type(PermuteAndFlip(0.5, kappa=k).kappa) is int
    assert type(SparseVector(0.5, 0, cutoff=k).cutoff) is int
    assert len(wn.select(np.zeros(200), epsilon=0.5, k=k).value) == 120


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_uses_no_budget_grant_or_stream_of_its_parent() -> None:
    """Both would spend what was paid once, and answer with the same noise."""
    mechanism = AboveThreshold(1.0, 0)
    event = mechanism.promise(ADD).event
    budget = wn.Budget(epsilon=2.0)
    grant = budget.charge(event)
    stream = opened_stream(mechanism)
    tape, bits = Tape.fresh(), Tape.fresh().stream()
    attempts = (
        lambda: budget.charge(event),
        lambda: grant.redeem(event),
        lambda: stream.ask(1),
        lambda: tape.child("a round"),
        lambda: tape.words(0, 1),
        lambda: bits.bits(8),
        lambda: tape.extension(np.zeros(1, np.int64), 0),
    )
    child = os.fork()
    if child == 0:  # pragma: no cover
        refused = 0
        for attempt in attempts:
            try:
                attempt()
            except wn.GrantError:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    for attempt in attempts:
        attempt()


def test_threads_that_share_a_stream_get_at_most_cutoff_reports() -> None:
    mechanism = SparseVector(1.0, 0, cutoff=3)
    for seed in range(10):
        stream = opened_stream(mechanism, seed)
        reports: list[bool] = []

        def ask(stream=stream, reports=reports) -> None:
            try:
                while True:
                    reports.extend(stream.ask(wn.seal_scores([10**6], UTILITY)).value)
            except wn.InputError:
                return

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(reports) == 3


@pytest.mark.parametrize(
    ("make", "sensitivity"),
    [
        (lambda: LargeMargin(1e-310, 1e-6), 1e-310),
        (lambda: LargeMargin(1.0, 1e-6), 1e300),
        (lambda: LargeMargin(1.0, 1e-320), 1.0),
        (lambda: SparseVector(1.0, 10**400), 1.0),
        (lambda: PermuteAndFlip(10**400), 10**200),
    ],
)
def test_parameters_out_of_range_are_refused_before_the_charge(make, sensitivity) -> None:
    utility = wn.Utility.declare(sensitivity)
    scores = wn.seal_scores([1.0, 2.0], utility)
    grants = []

    def attempt() -> None:
        mechanism = make()
        grants.append(single_use_grant(mechanism.promise(ADD).event))
        released(mechanism, scores, grants[0], Tape.seeded(1))

    with pytest.raises(wn.InputError):
        attempt()
    assert not any(grant.used for grant in grants)


def test_no_warning_or_floating_point_error_depends_on_the_scores() -> None:
    with np.errstate(all="raise"):
        for scores in ([1e-320, 0.0, 5.0], [1e300, -1e300, 0.0], [0.0, 0.0]):
            for mechanism in ("permute-and-flip", "exponential", "noisy-max", "large-margin"):
                delta = 1e-6 if mechanism == "large-margin" else 0.0
                wn.select(scores, epsilon=1.0, delta=delta, method=mechanism)


def test_scores_sealed_for_later_do_not_follow_the_callers_array() -> None:
    array = np.array([1000.0, 0.0])
    sealed = wn.seal_scores(array, UTILITY)
    array[:] = np.nan
    assert wn.select(sealed, epsilon=1.0).value == 0


def test_the_verb_above_reports_labels_and_charges_once() -> None:
    budget = wn.Budget(1.0)
    answer = wn.above(
        {"mon": 5, "tue": 900, "wed": 7}, threshold=400, epsilon=0.5, budget=budget, seed=1
    )
    assert answer.value.above == ["tue"]
    assert answer.value.answered == 2
    assert budget.spent.amount == 0.5
    assert answer.to_dict()["value"] == {"above": ["tue"], "answered": 2}


def test_a_session_opens_a_stream_that_takes_plain_numbers() -> None:
    session = wn.Session(epsilon=1.0, seed=2)
    stream = session.open_above(threshold=400, epsilon=0.5, cutoff=2)
    assert stream.ask(3).value == [False]
    assert stream.ask([5, 900]).value == [False, True]
    assert stream.ask(np.float64(1000)).value == [True]
    assert stream.exhausted
    assert session.above([900], threshold=1, epsilon=0.5).value.above == [0]
    with pytest.raises(wn.BudgetExceeded):
        session.open_above(threshold=1, epsilon=0.1)
