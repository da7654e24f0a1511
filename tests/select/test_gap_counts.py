"""The search of large margin by counting: the same ranks and draws as by sorting."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.inside import Tape
from reference.mechanisms import LargeMargin
from winnow import Utility
from winnow.core.noisy_top.filter import gaps_to
from winnow.core.noisy_top.grid import largest
from winnow.core.noisy_top.laplace_tests import LaplaceTests
from winnow.select.kernels.gap_bins import count_bins
from winnow.select.mechanisms import large_margin as module
from winnow.select.mechanisms.margin_counts import GapCounts, MarginCounts, _runs, nearest_above
from winnow.select.mechanisms.margin_search import laplace_tests

SCORES = (
    st.lists(st.integers(-40, 40), min_size=2, max_size=50).map(np.array)
    | st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50).map(np.array)
    | st.lists(st.sampled_from([0, 500, 501, -(2**62), 2**62]), min_size=2, max_size=50).map(
        lambda values: np.array(values, np.int64)
    )
)


@given(scores=SCORES, low=st.floats(0, 30), wide=st.floats(0.1, 1e3), bins=st.integers(1, 40))
def test_counts_bound_the_truth_and_ranks_are_exact(
    scores: np.ndarray, low: float, wide: float, bins: int
) -> None:
    counts = GapCounts(scores, low, low + wide, bins)
    gaps = [Fraction(scores.max().item()) - Fraction(score.item()) for score in scores]
    asked = np.array([-1.0, 0.0, low, low + wide / 3, low + wide, 2.0 * (low + wide), 1e12])
    for distance, bound in zip(asked.tolist(), counts.at_least(asked).tolist(), strict=True):
        assert bound <= sum(gap < Fraction(distance) for gap in gaps)
        assert counts.within(Fraction(distance)) == sum(gap <= Fraction(distance) for gap in gaps)
    wanted = np.arange(len(scores) + 1)
    for number, distance in zip(wanted.tolist(), counts.enough(wanted).tolist(), strict=True):
        if np.isfinite(distance):
            assert counts.at_least(np.array([distance]))[0] > number
    ranked = sorted(scores.tolist(), reverse=True)
    assert [counts.at_rank(rank).item() for rank in range(len(ranked))] == ranked


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_the_compiled_pass_counts_like_the_plain_one(kind: type) -> None:
    rng = np.random.default_rng(1)
    whole = np.concatenate([rng.integers(-500, 500, 3000), np.full(2000, 7)])
    scores: np.ndarray = whole.astype(kind)
    if kind is np.float64:
        scores *= 0.1
    counts = GapCounts(scores, 3.0, 71.0, 333)
    compiled, plain = np.zeros(335, np.int64), np.zeros(335, np.int64)
    count_bins(scores, counts.top, counts.factor, counts.shift, compiled)
    np.add.at(plain, counts.bins_of(gaps_to(counts.top, scores)), 1)
    assert compiled.tolist() == plain.tolist() == np.diff(counts.before).tolist()


SETTINGS = [
    (1.0, 1e-6, "tight"), (8.0, 1e-3, "printed"), (0.05, 1e-9, "tight"), (1e7, 0.1, "tight"),
    (1e-6, 0.3, "printed"), (300.0, 1e-90, "tight"),
]  # fmt: skip


@settings(max_examples=150)
@given(
    scores=SCORES,
    stretch=st.sampled_from([1, 20, 400]),
    how=st.sampled_from(SETTINGS),
    seed=st.integers(0, 10**6),
)
def test_counting_stops_where_sorting_stops(
    scores: np.ndarray, stretch: int, how: tuple[float, float, str], seed: int
) -> None:
    if np.abs(scores.astype(float)).max() < 1e9:
        scores = scores * stretch
    mechanism, utility = LargeMargin(*how), Utility.declare(1, monotone=True)
    tape = Tape.seeded(seed)
    tests = laplace_tests(Fraction(str(how[0])), tape)
    search = MarginCounts(scores, utility.half_width, tests, mechanism._thresholds)
    order = largest(scores, len(scores))
    stopped = mechanism._stopping_rank(scores, order, utility, tape)
    assert search.stopping_rank() == stopped
    for size in {1, stopped, len(scores)}:
        assert np.flatnonzero(search.best(size)).tolist() == sorted(order[:size].tolist())


@pytest.mark.parametrize("shape", ["equal", "one ahead", "clusters", "spread", "floats"])
def test_draws_are_the_same_by_counting_and_by_sorting(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    scores = {
        "equal": np.full(4000, 9),
        "one ahead": np.where(np.arange(4000) == 17, 10, 9),
        "clusters": rng.choice([0, 400, 3000], 4000, p=[0.7, 0.2, 0.1]),
        "spread": rng.integers(0, 3000, 4000),
        "floats": rng.normal(size=4000) * 300,
    }[shape]
    utility = Utility.declare(1)
    drawn = []
    for limit in (0, 5000):
        monkeypatch.setattr(module, "SORTED", limit)
        mechanism = LargeMargin(1.0, 1e-6)
        drawn.append(mechanism.simulate(scores, utility, 12, seed=3).tolist())
    assert drawn[0] == drawn[1]


def test_a_bar_too_close_for_float64_is_decided_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """With errors as large as the noise every rank is open, and the exact test decides."""
    scores = np.random.default_rng(6).integers(0, 900, 60)
    mechanism, utility = LargeMargin(1.0, 1e-3), Utility.declare(1)
    sharp_bars = LaplaceTests.bars

    def blurred(self: LaplaceTests, tests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bars, errors = sharp_bars(self, tests)
        return bars, errors + 50.0

    def stops() -> list[int]:
        return [
            MarginCounts(
                scores, utility.half_width, laplace_tests(Fraction(1), Tape.seeded(seed)),
                mechanism._thresholds,
            ).stopping_rank()
            for seed in range(20)
        ]  # fmt: skip

    sharp = stops()
    monkeypatch.setattr(LaplaceTests, "bars", blurred)
    assert stops() == sharp


def test_runs_cover_all_ranks_once() -> None:
    for ranks in (1, 2, 63, 64, 65, 1000, 10**6):
        starts, sizes = _runs(ranks)
        assert starts[0] == 1 and sizes.min() >= 1
        assert (starts[1:] == starts[:-1] + sizes[:-1]).all() and sizes.sum() == ranks


def test_the_nearest_float_above_is_not_below() -> None:
    for number in (
        Fraction(1, 3),
        Fraction(-1, 3),
        Fraction(1, 10),
        Fraction(2**60 + 1),
        Fraction(0),
    ):
        found = nearest_above(number)
        assert Fraction(found) >= number > Fraction(float(np.nextafter(found, -np.inf)))
    assert nearest_above(Fraction(10) ** 400) == np.inf
    assert nearest_above(-(Fraction(10) ** 400)) == -np.finfo(np.float64).max
