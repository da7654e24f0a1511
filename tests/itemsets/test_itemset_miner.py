"""The lazy miner lists what counting every itemset of every basket lists."""

from __future__ import annotations

import _thread
import threading
from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.inside import Tape
from reference.itemset_supports import baskets_of, supports_by_counting
from winnow.core.noisy_top.universe import Left
from winnow.itemsets.kernels import borders
from winnow.itemsets.kernels import mine as miner
from winnow.itemsets.kernels.mine import ItemsetRanks


def random_rows(n: int, items: int, mean: float, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    weights = 1 / (1 + np.arange(items)) ** 0.8
    lengths = rng.poisson(mean, n)
    weights /= weights.sum()
    return [sorted(set(rng.choice(items, size=k, p=weights).tolist())) for k in lengths]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["plain", "occurrences", "intersect", "pairs", "kept bits"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 9])
def test_itemsets_come_by_support_and_ties_in_lexicographic_order(size, kernel, monkeypatch):
    rows = random_rows(150, 18, 6, seed=size)
    if kernel != "plain":
        monkeypatch.setattr(borders.PLAIN, "_at", -1)
        monkeypatch.setattr(borders.BITSET_BYTES, "_at", 0 if kernel == "occurrences" else 1 << 28)
        monkeypatch.setattr(borders.KEPT_BYTES, "_at", 1 << 22 if kernel == "kept bits" else 0)
        monkeypatch.setattr(borders.FEW_ITEMS, "_at", 0 if kernel == "pairs" else 256)
    ranks = ItemsetRanks(baskets_of(rows, 18), size, known_items=True)
    assert list(ranks.stream()) == supports_by_counting(rows, size)


@given(
    rows=st.lists(st.sets(st.integers(0, 8), max_size=6).map(sorted), max_size=12),
    size=st.integers(1, 6),
    floor=st.integers(1, 6),
)
@settings(max_examples=60, deadline=None)
def test_any_floor_counts_the_classes_above_it(rows, size, floor):
    expected = Counter(s for s, _ in supports_by_counting(rows, size))
    ranks = ItemsetRanks(baskets_of(rows, 9), size, known_items=True)
    ranks.lower(floor)
    counts, sizes = ranks.classes()
    assert (
        dict(zip(counts.tolist(), sizes, strict=True)).items()
        >= {s: n for s, n in expected.items() if s >= floor}.items()
    )
    assert ranks.top() == max(expected, default=0)


def test_a_first_guess_too_high_or_too_low_changes_nothing(monkeypatch):
    rows = random_rows(200, 30, 5, seed=3)
    monkeypatch.setattr(borders.PLAIN, "_at", -1)
    best = supports_by_counting(rows, 3)[0]
    for guess in (1, best[0], 10 * best[0]):
        ranks = ItemsetRanks(baskets_of(rows, 30), 3, known_items=True)
        monkeypatch.setattr(ranks, "_guess", lambda guess=guess: guess)
        assert ranks.top() == best[0] and ranks.listing(1) == [best]


@pytest.mark.parametrize("kept", [0, 1 << 22])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_first_guess_is_the_support_of_an_itemset(size, kept, monkeypatch):
    """So it is never above the top, and here, where all items are leaders, near it."""
    monkeypatch.setattr(borders.KEPT_BYTES, "_at", kept)
    for seed in range(5):
        rows = random_rows(120, 14, 6, seed=seed)
        supports = [support for support, _ in supports_by_counting(rows, size)]
        guess = ItemsetRanks(baskets_of(rows, 14), size, known_items=True)._guess()
        assert guess in supports and 2 * guess > supports[0]


def test_a_sample_finds_what_the_most_frequent_items_hide(monkeypatch):
    """Eight rare items that are always together, among forty frequent ones that never are."""
    monkeypatch.setattr(borders.KEPT_BYTES, "_at", 0)
    monkeypatch.setattr(miner, "_SAMPLE", 200)
    monkeypatch.setattr(borders.SAMPLE, "_at", 1600)
    rows = [[i % 40] for i in range(4000)] + [list(range(50, 58))] * 90
    rng = np.random.default_rng(0)
    order = rng.permutation(len(rows))
    ranks = ItemsetRanks(baskets_of([rows[place] for place in order], 60), 4, known_items=True)
    monkeypatch.setattr(miner, "_TELLING", 2)
    assert ranks._guess() == 90
    assert ranks.top() == 90 and ranks.listing(1) == [(90, (50, 51, 52, 53))]


def test_unseen_itemsets_are_uniform():
    """Chi-square over all unseen pairs; seed 4, false alarms below 1e-6."""
    rows = [[0, 1, 2], [2, 3], [0, 4]]
    ranks = ItemsetRanks(baskets_of(rows, 6), 2, known_items=True)
    seen = {pair for _, pair in supports_by_counting(rows, 2)}
    unseen = [pair for pair in combinations(range(6), 2) if pair not in seen]
    stream, draws = Tape.seeded(4).stream(), 3000
    found = Counter(ranks.unseen(stream) for _ in range(draws))
    assert set(found) == set(unseen)
    mean = draws / len(unseen)
    statistic = sum((found[pair] - mean) ** 2 / mean for pair in unseen)
    assert statistic < 55  # chi-square with 9 degrees of freedom


def test_what_is_taken_is_gone():
    rows = [[0, 1], [0, 1], [1, 2], [0, 2], [3]]
    universe = Left(ItemsetRanks(baskets_of(rows, 4), 2, known_items=True))
    stream = Tape.seeded(0).stream()
    assert universe.top() == 2
    taken = [universe.taken(2, stream), *(universe.taken(1, stream) for _ in range(2))]
    assert taken[0] == (0, 1) and set(taken[1:]) == {(0, 2), (1, 2)}
    assert universe.top() == 0 and universe.total == 3
    rest = {universe.taken(0, stream) for _ in range(3)}
    assert rest == {(0, 3), (1, 3), (2, 3)} and universe.total == 0


def test_a_universe_of_8e11_itemsets_stays_small(monkeypatch):
    """17,000 items, triples: only what is above the floor is ever counted."""
    rng = np.random.default_rng(0)
    rows = [sorted(set(rng.zipf(1.3, 8).clip(1, 17_000) - 1)) for _ in range(2000)]
    ranks = ItemsetRanks(baskets_of(rows, 17_000), 3, known_items=True)
    assert ranks.total == comb(17_000, 3) > 8e11
    assert ranks.top(5) == max(s for s, _ in supports_by_counting(rows, 3))
    found = ranks.unseen(Tape.seeded(1).stream())
    assert found is not None and ranks.support(found) == 0


@pytest.mark.parametrize("kernel", ["occurrences", "intersect"])
def test_ctrl_c_stops_a_long_search(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadruples of a basket of 2,000 items: 7e11 of them, which no walk would ever finish."""
    if kernel == "occurrences":
        monkeypatch.setattr(borders.BITSET_BYTES, "_at", 0)
    ranks = ItemsetRanks(baskets_of([list(range(2000))], 2000), 4, known_items=True)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ranks.lower(1)
