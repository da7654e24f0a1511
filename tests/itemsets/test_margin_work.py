"""Large-margin lists mine what their tests ask for, and stop where testing every rank stops."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import winnow as wn
from reference.audited import model_of
from reference.inside import Law, Tape
from reference.itemset_supports import baskets_of, supports_by_counting
from winnow.core.noisy_top.ranked import First, count_at
from winnow.core.noisy_top.support_classes import NEAR_ZERO
from winnow.core.noisy_top.universe import ExplicitRanks, Left
from winnow.itemsets.kernels import borders
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.margin_search import MarginSearch, laplace_tests, stopping_margin

PEOPLE = wn.Utility.declare(1, monotone=True)
ITEMS, MANY = 60, 2000
"""So many items are in baskets, and so many are public where they are."""
TESTED = 2000
"""So many ranks are tested one after another for comparison."""
FALSE_ALARM = 1e-6
"""Of every statistical test here; the seeds are fixed."""


def rows_of(power: float, n: int = 1500) -> list[list[int]]:
    """Baskets of up to 9 items; the r-th item has a share of r^-power."""
    weights = 1 / (1 + np.arange(ITEMS)) ** power
    codes = np.random.default_rng(7).choice(ITEMS, size=(n, 9), p=weights / weights.sum())
    return [sorted(set(row)) for row in codes.tolist()]


ROWS = {"zipf": rows_of(1.0), "flat": rows_of(0.0)}


@pytest.fixture
def tallied(monkeypatch) -> list[int]:
    """How many itemsets each pass of the miner counts; even small baskets are mined."""
    monkeypatch.setattr(borders.PLAIN, "_at", -1)
    monkeypatch.setattr(borders.AHEAD, "_at", 64)
    found: list[int] = []
    walk = ItemsetRanks._walk

    def recorded(self, low, high, histogram, *rest):
        result = walk(self, low, high, histogram, *rest)
        found.append(int(histogram.sum()))
        return result

    monkeypatch.setattr(ItemsetRanks, "_walk", recorded)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("items", [None, range(MANY)])
@pytest.mark.parametrize(("size", "k"), [(2, 3), (3, 1), (3, 2), (3, 20)])
@pytest.mark.parametrize("shape", ["zipf", "flat"])
def test_a_list_without_a_margin_is_not_mined_to_the_end(shape, size, k, items, tallied) -> None:
    """Epsilon is so small that no margin passes; all supports would be thousands of itemsets."""
    rows = ROWS[shape]
    names = None if items is None else list(items)
    baskets = wn.read_baskets(rows, unit="basket", items=names)
    wn.itemsets(baskets, size=size, k=k, epsilon=0.01, delta=1e-6, method="large-margin", seed=k)
    supports = [support for support, _ in supports_by_counting(rows, size)]
    top = supports.count(supports[0])
    near = sum(support >= supports[0] * 0.8 for support in supports)
    assert len(tallied) <= 3 and sum(tallied) <= 2 * near + top < len(supports) / 4


@pytest.mark.parametrize("method", ["exponential", "permute-and-flip"])
def test_itemsets_of_nobody_win_without_a_count_of_all_others(method, tallied) -> None:
    """Epsilon is so small that nearly every one of 1.3e9 triples may win."""
    baskets = wn.read_baskets(ROWS["zipf"], unit="basket", items=list(range(MANY)))
    wn.itemsets(baskets, size=3, epsilon=0.001, method=method, k=1, seed=3)
    assert sum(tallied) < 1500 < len(supports_by_counting(ROWS["zipf"], 3)) / 4


def first_that_passes(supports: list[int], search: MarginSearch, tape: Tape) -> int | None:
    """Every rank tested with its own margin and noise, in float64; None: none of them passes."""
    tests = laplace_tests(Fraction(search.epsilon), tape)
    ranks = np.arange(1, TESTED + 1)
    counts = np.zeros(len(ranks))
    counts[: len(supports) - 1] = supports[1 : len(ranks) + 1]
    margins = (supports[0] - counts) / float(search.sensitivity)
    needed = stopping_margin(ranks, float(search.epsilon), float(search.delta), search.thresholds)
    passed = np.flatnonzero(margins - needed > tests.bars(ranks)[0])
    return int(passed[0]) + 1 if len(passed) else None


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["bitsets", "occurrences"])
@pytest.mark.parametrize("shape", ["zipf", "flat"])
@pytest.mark.parametrize("size", [2, 3])
def test_the_search_stops_where_testing_every_rank_stops(size, shape, kernel, monkeypatch) -> None:
    """The same tape, from margins that pass at the first rank to those that never pass."""
    monkeypatch.setattr(borders.PLAIN, "_at", -1)
    if kernel == "occurrences":
        monkeypatch.setattr(borders.BITSET_BYTES, "_at", 0)
    rows = ROWS[shape]
    supports = [support for support, _ in supports_by_counting(rows, size)]
    scale = 20 / (supports[0] - supports[-1])
    stopped = set()
    for step in range(24):
        search = LargeMargin(scale * 1.25**step, 1e-3).search(PEOPLE)
        lazy = Left(ItemsetRanks(baskets_of(rows, ITEMS), size, known_items=False))
        found = search.stopping_rank(lazy, Tape.seeded(step))
        expected = first_that_passes(supports, search, Tape.seeded(step))
        assert found == expected or (expected is None and (found or TESTED + 1) > TESTED)
        stopped.add(found)
    assert None in stopped and len(stopped) > 2


class Lazily(ExplicitRanks):
    """Counts that are listed as far as asked; `sampled`: candidates can be drawn unlisted."""

    def __init__(self, counts, *, sampled: bool = False, endless: bool = False) -> None:
        super().__init__(counts, endless=endless)
        self._all, self._sampled, self.floor = list(counts), sampled, max(counts) + 1

    def top(self, reach: int = 0) -> int:
        self.lower(max(self._all))
        return max(self._all)

    def lower(self, floor: int, most: int | None = None) -> None:
        if most is None or sum(count >= floor for count in self._all) <= most:
            self.floor = max(1, min(self.floor, floor))

    def classes(self):
        counts, sizes = super().classes()
        known = int((counts >= self.floor).sum())
        return counts[:known], sizes[:known]

    def sample(self, stream):
        place = stream.below(len(self._all))
        return (self._all[place], place) if self._sampled else None


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.data())
@settings(max_examples=80, deadline=None)
def test_counts_at_ranks_and_the_first_candidates_are_those_of_the_sorted_list(counts, data):
    ordered, size = sorted(counts, reverse=True), data.draw(st.integers(1, len(counts)))
    assert count_at(Lazily(counts), size - 1) == ordered[size - 1]
    first = First(Lazily(counts), size)
    first.top()
    first.lower(data.draw(st.integers(1, 31)))
    found, sizes = first.classes()
    expected = Counter(count for count in ordered[:size] if count >= first.floor)
    assert dict(zip(found.tolist(), sizes, strict=True)) == expected | Counter(
        {0: sizes[-1]} if len(found) and found[-1] == 0 else {}
    )


def fits(observed: Counter, expected: dict, draws: int) -> bool:
    """Chi-square of all outcomes; each is expected five times or more."""
    assert set(observed) <= set(expected) and min(expected.values()) * draws >= 5
    statistic = sum(
        (observed[outcome] - draws * p) ** 2 / (draws * p) for outcome, p in expected.items()
    )
    return bool(chi2.sf(statistic, len(expected) - 1) > FALSE_ALARM)


@pytest.mark.parametrize("border", [-1.0, 1.5, 5.0])
@pytest.mark.parametrize("law", [Law.GUMBEL, Law.EXPONENTIAL, Law.LAPLACE])
def test_unlisted_candidates_drawn_one_by_one_have_the_law_of_listed_ones(law, border) -> None:
    """Listed to the end, up to a border between the counts, and not at all (seed 9)."""
    scores, draws, root = (5, 4, 2, 2, 1, 0, 0, 0), 800, Tape.seeded(9)
    model = model_of(LipschitzMechanism(0.7, law), PEOPLE)
    expected = dict(enumerate(np.exp(model.log_probabilities(np.array([scores])))[0]))
    with NEAR_ZERO.moved_to(border):
        found = Counter(
            LipschitzMechanism(0.7, law)
            ._draw(Lazily(scores, sampled=True), PEOPLE, root.child(f"{law}{r}"))
            .members[0]
            for r in range(draws)
        )
    assert fits(found, expected, draws)


@pytest.mark.parametrize("one_by_one", [0, 2, 8192])
def test_a_lazy_list_has_the_law_of_the_explicit_mechanism(one_by_one) -> None:
    """Bounds in place of margins, ranks near and far, and candidates drawn unlisted (seed 4)."""
    scores, draws, root = (5, 4, 3, 1, 0, 0), 300, Tape.seeded(4)
    law = np.exp(model_of(LargeMargin(1.2, 0.5), PEOPLE).log_probabilities(np.array([scores])))[0]
    mechanism = LargeMargin(1.2, 0.5, one_by_one=one_by_one)
    found = Counter(
        mechanism._draw(Lazily(scores, sampled=True), PEOPLE, root.child(f"{r}")).members[0]
        for r in range(draws)
    )
    assert fits(found, dict(enumerate(law)), draws)


@pytest.mark.parametrize("kernel", ["bitsets", "occurrences"])
@pytest.mark.parametrize("size", [2, 3])
def test_a_limited_pass_lists_all_or_shows_that_there_are_more(size, kernel, tallied, monkeypatch):
    if kernel == "occurrences":
        monkeypatch.setattr(borders.BITSET_BYTES, "_at", 0)
    supports = [support for support, _ in supports_by_counting(ROWS["zipf"], size)]
    for floor in (1, 5, 20, supports[0]):
        many = sum(support >= floor for support in supports)
        for most in (0, 1, many // 2, many - 1, many, 10**30):
            ranks = ItemsetRanks(baskets_of(ROWS["zipf"], ITEMS), size, known_items=True)
            tallied.clear()
            ranks.lower(floor, most)
            assert sum(tallied) <= 2 * most + 1
            if ranks.floor > floor:
                assert many > most
                ranks.lower(floor, most)  # is known by now
                assert len(tallied) == 1
            else:
                assert sum(ranks.classes()[1]) == many
