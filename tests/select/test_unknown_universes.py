"""Lazily listed universes: their laws, exactly and by draws, and twins that must be caught."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from reference.audited import Case, enumerate_case, every_row_is_enumerated, model_of
from reference.audited import counts as counts_of
from reference.inside import Law, Tape
from winnow import Relation
from winnow.core.noisy_top.universe import ExplicitRanks
from winnow.select.audit.ranked import OnUnknownUniverse, broken_on_unknown_universes
from winnow.select.kernels import first_passing as kernel
from winnow.select.kernels.first_passing import Piece, first_passing
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.conditional import Choosing, DistanceToInstability
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.margin_search import laplace_tests

PEOPLE = counts_of(Relation.ADD_REMOVE).utility
FALSE_ALARM = 1e-6
"""Of every statistical test here; the seeds are fixed."""


class StepRanks(ExplicitRanks):
    """Explicit counts that are listed step by step, as mined itemsets are."""

    def __init__(self, counts, *, endless: bool = False) -> None:
        super().__init__(counts, endless=endless)
        self.floor = max(counts) + 1

    def top(self, reach: int = 0) -> int:
        self.lower(super().top() - min(reach, 1))
        return super().top()

    def lower(self, floor: int, most: int | None = None) -> None:
        counts, sizes = super().classes()
        if most is None or sum(sizes[: int((counts >= floor).sum())]) <= most:
            self.floor = max(1, min(self.floor, floor))

    def classes(self):
        counts, sizes = super().classes()
        listed = int((counts >= self.floor).sum())
        return counts[:listed], sizes[:listed]


def fits(observed: dict, expected: dict, draws: int) -> bool:
    """Chi-square with rare outcomes pooled until 5 are expected."""
    rows = sorted(expected, key=lambda outcome: expected[outcome])
    assert set(observed) <= set(rows)
    statistic, cells, seen, mean = 0.0, 0, 0.0, 0.0
    for outcome in rows:
        seen, mean = seen + observed.get(outcome, 0), mean + draws * expected[outcome]
        if mean >= 5:
            statistic, cells, seen, mean = statistic + (seen - mean) ** 2 / mean, cells + 1, 0, 0
    if mean > 0:  # what is left over
        statistic += (seen - mean) ** 2 / max(mean, 1.0)
    return bool(chi2.sf(statistic, max(1, cells)) > FALSE_ALARM)


@pytest.mark.parametrize(("broken", "honest"), [twin[1:] for twin in broken_on_unknown_universes()])
def test_enumeration_catches_the_broken_twins_and_only_those(broken, honest) -> None:
    for mechanism, fine in ((broken, False), (honest, True)):
        case = Case(mechanism, counts_of(Relation.ADD_REMOVE))
        assert all(result.passed for result in enumerate_case(case, quick=True)) is fine


def test_the_new_rows_are_enumerated() -> None:
    assert "instability" not in every_row_is_enumerated().detail
    assert "growth" not in every_row_is_enumerated().detail


def test_the_noise_scales_are_those_of_the_paper() -> None:
    tests = laplace_tests(Fraction(3, 4), Tape.seeded(0))
    assert tests.common == (4, 8) and tests.scale == 16  # 3, 6 and 12 over alpha [LMM, Alg 1]
    mechanism = LargeMargin(Fraction(3, 4), 0.1)
    assert mechanism._choice_scale(PEOPLE) == Fraction(3, 4) / 6 / PEOPLE.half_width


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scores", "thresholds"),
    [((9, 4, 2), "tight"), ((12, 11, 3, 1), "printed"), ((14, 9, 5, 2, 1), "tight")],
)
def test_the_lazy_mechanism_has_the_law_of_the_explicit_one(scores, thresholds) -> None:
    explicit = LargeMargin(5.0, 0.3, thresholds)
    law = np.exp(model_of(explicit, PEOPLE).log_probabilities(np.array([scores])))[0]
    for one_by_one in (0, 8192):
        mechanism = LargeMargin(5.0, 0.3, thresholds, one_by_one)
        root, draws = Tape.seeded(len(scores)), 100
        found = Counter(
            mechanism._draw(StepRanks(scores), PEOPLE, root.child(f"{r}")).members[0]
            for r in range(draws)
        )
        assert fits(found, dict(enumerate(law)), draws)


def test_the_stopping_rank_in_the_zero_block_is_that_of_a_loop() -> None:
    """Against one test after another, in float64, on 100 candidates of count 0 (seed 5)."""
    mechanism, draws, size = LargeMargin(4.0, 0.9, one_by_one=0), 200, 100
    model = model_of(LargeMargin(4.0, 0.9), PEOPLE)
    scores = np.array([7] + [0] * size)
    margins = (scores[0] - scores[1:]) / float(PEOPLE.half_width)
    expected = model.stopping_probabilities(margins[None, :])[0]
    root = Tape.seeded(5)
    lazily = Counter(
        mechanism.search(PEOPLE).stopping_rank(ExplicitRanks(scores), root.child(f"{r}"))
        for r in range(draws)
    )
    assert fits(lazily, {rank + 1: p for rank, p in enumerate(expected)}, draws)
    uniforms = (Tape.seeded(6).words(0, draws * (size + 2)) + 0.5) * 2.0**-32
    noise = Law.LAPLACE.formulas.inv_log_sf(np.log(uniforms.reshape(draws, size + 2)))
    shared = 0.75 * noise[:, :1] - 1.5 * noise[:, 1:2]
    needed = model.thresholds(np.arange(1, size + 1))
    passed = np.hstack([margins + shared > 3.0 * noise[:, 2:] + needed, np.ones((draws, 1), bool)])
    looped = Counter((passed.argmax(axis=1) + 1).tolist())
    assert fits(looped, {rank + 1: p for rank, p in enumerate(expected)}, draws)


def test_a_wrong_hazard_is_caught() -> None:
    """The twin forgets to thin: every test of a piece passes at the piece's bound."""
    root, draws, size = Tape.seeded(8), 160, 30
    expected = _law_of_pieces(size)
    pieces = cut([Piece(1, size, Fraction(-1, 2))])
    honest, broken = Counter(), Counter()
    for r in range(draws):
        tests = laplace_tests(Fraction(12), root.child(f"t{r}"))
        bits = root.child(f"h{r}")
        honest[first_passing(tests, 1, pieces, lambda t: Fraction(-t, 2), bits)] += 1
        broken[first_passing(tests, 1, pieces, lambda _: Fraction(-1, 2), bits)] += 1
    assert fits(honest, expected, draws)
    assert not fits(broken, expected, draws)


@pytest.mark.parametrize("sign", [1, -1])
def test_tests_far_above_zero_need_no_more_digits_than_others(monkeypatch, sign) -> None:
    """1 - q is about e^-600 there: digits of q would be in vain."""
    asked = []

    class Recorded(kernel.Arithmetic):
        def __init__(self, digits: int) -> None:
            asked.append(digits)
            super().__init__(digits)

    monkeypatch.setattr(kernel, "Arithmetic", Recorded)
    whole = [Piece(1, 10**12, Fraction(sign * 600)), Piece(10**12 + 1, 1, Fraction(600))]
    for seed in range(5):
        tests = laplace_tests(Fraction(12), Tape.seeded(seed).child("tests"))
        found = first_passing(tests, 1, cut(whole), lambda _: Fraction(600), Tape.seeded(seed))
        assert found == (1 if sign > 0 else 10**12 + 1)
    assert max(asked, default=0) <= 160


def test_the_hazard_of_tests_above_zero_is_that_of_the_quick_one() -> None:
    a = kernel.Arithmetic(40)
    tests = laplace_tests(Fraction(12), Tape.seeded(3))
    search = kernel._Search(tests, Tape.seeded(4), {})
    for offset in (*range(-9, 10), 30, 3000):
        x = search._point(a, Fraction(offset), 128)
        exact = search._hazard_interval(a, Fraction(offset), 128)
        assert 0 < exact.hi - exact.lo <= Decimal("1e-25")
        quick = float(kernel._hazard(np.array([float(x.lo)]))[0])
        assert quick == pytest.approx(float(exact.lo), rel=1e-12)


def cut(pieces: list[Piece]) -> Callable[[int], list[Piece]]:
    """The pieces from a test on."""

    def left(first: int) -> list[Piece]:
        ends = [piece.first + piece.size for piece in pieces]
        starts = [max(first, piece.first) for piece in pieces]
        return [
            Piece(start, end - start, piece.bound)
            for start, end, piece in zip(starts, ends, pieces, strict=True)
            if start < end
        ]

    return left


def _law_of_pieces(size: int) -> dict:
    """By quadrature over the two shared noises, scales 1/4 and 1/2; the tests have scale 1."""
    grid = (np.arange(4000) + 0.5) / 4000
    z = Law.LAPLACE.formulas.inv_log_sf(np.log(grid))
    first, second = np.meshgrid(z[::40] / 4, z[::40] / 2)
    w = (first + second).ravel()[:, None]
    x = w - np.arange(1, size + 1) / 2
    passes = np.where(x > 0, 1 - 0.5 * np.exp(-np.abs(x)), 0.5 * np.exp(-np.abs(x)))
    reached = np.cumprod(np.hstack([np.ones((len(w), 1)), 1 - passes]), axis=1)
    law = (reached[:, :-1] * passes).mean(axis=0)
    return {**{test + 1: p for test, p in enumerate(law)}, None: float(reached[:, -1].mean())}


@pytest.mark.parametrize("law", [Law.GUMBEL, Law.EXPONENTIAL, Law.LAPLACE])
def test_noise_on_lazy_classes_has_the_law_of_noise_on_every_candidate(law) -> None:
    scores, draws, root = (4, 4, 2, 1, 0, 0, 0), 300, Tape.seeded(9)
    model = model_of(LipschitzMechanism(1.0, law), PEOPLE)
    expected = np.exp(model.log_probabilities(np.array([scores])))[0]
    mechanism = LipschitzMechanism(1.0, law)
    found = Counter(
        mechanism._draw(StepRanks(scores), PEOPLE, root.child(f"{law}{r}")).members[0]
        for r in range(draws)
    )
    assert fits(found, dict(enumerate(expected)), draws)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lazy", "explicit"),
    [(Joint(1.0, 2), Joint(1.0, 2)), (Canonical(1.0, 2), Canonical(1.0, 2))],
)
def test_lists_and_sets_of_lazy_classes_have_the_explicit_law(lazy, explicit) -> None:
    scores, draws, root = (6, 4, 3, 1, 0), 300, Tape.seeded(10)
    model = model_of(explicit, PEOPLE)
    outcomes = [tuple(row) for row in model.outcomes(len(scores)).tolist()]
    expected = np.exp(model.log_probabilities(np.array([scores])))[0]
    found = Counter()
    for r in range(draws):
        labels = lazy._draw(StepRanks(scores), PEOPLE, root.child(f"{r}")).members
        found[tuple(labels) if explicit.ordered else tuple(sorted(labels))] += 1
    assert fits(found, dict(zip(outcomes, expected, strict=True)), draws)


@pytest.mark.parametrize("mechanism", [Joint(0.003, 3), Canonical(0.003, 3)])
def test_ranks_beyond_what_is_listed_are_listed_when_a_list_has_them(mechanism) -> None:
    """Nearly uniform draws: rows that take anything ask for no count, so nothing is listed."""
    scores = [19, 0, 19, 7, 3, 5]
    for seed in range(60):
        lazy, whole = (
            mechanism._draw(ranks(scores), PEOPLE, Tape.seeded(seed))
            for ranks in (StepRanks, ExplicitRanks)
        )
        assert [count for count, _ in lazy.found] == [scores[member] for member in lazy.members]
        assert lazy == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [DistanceToInstability(2.0, 0.1), Choosing(2.0, 0.1, 1), LargeMargin(5.0, 0.5)],
)
def test_draws_on_unknown_universes_follow_their_model(mechanism) -> None:
    if isinstance(mechanism, LargeMargin):
        mechanism = LargeMargin(5.0, 0.5, one_by_one=3, last_rank=6)
    case, scores, draws = OnUnknownUniverse(mechanism, 1), np.array([6, 3, 0]), 300
    model = case.model(PEOPLE)
    expected = np.exp(model.log_probabilities(scores[None, :]))[0]
    found = Counter(case.simulate(scores, PEOPLE, draws, seed=11)[:, 0].tolist())
    assert fits(found, dict(enumerate(expected, start=-1)), draws)


@pytest.mark.parametrize("mechanism", [DistanceToInstability(2.0, 0.1), Choosing(2.0, 0.1, 1)])
def test_listing_step_by_step_changes_no_answer(mechanism) -> None:
    for seed in range(20):
        for endless in (False, True):
            lazy, whole = (
                mechanism._draw(ranks([6, 3, 0], endless=endless), PEOPLE, Tape.seeded(seed))
                for ranks in (StepRanks, ExplicitRanks)
            )
            assert lazy == whole


def test_an_endless_universe_may_never_stop_and_then_answers_none() -> None:
    mechanism = LargeMargin(0.5, 1e-6)
    assert mechanism._draw(ExplicitRanks([3, 1], endless=True), PEOPLE, Tape.seeded(1)).found == []
    far = ExplicitRanks([100_000, 1], endless=True)
    assert mechanism._draw(far, PEOPLE, Tape.seeded(1)).found == [(100_000, 0)]
