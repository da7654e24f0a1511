"""Ranks that are sorted as far as needed only: the same answers as a full sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.core.noisy_top import ranking as module
from winnow.core.noisy_top.ranking import Ranking


def by_definition(values: list[int]) -> list[int]:
    """Positions, largest value first, equal ones by position."""
    return sorted(range(len(values)), key=lambda i: (-values[i], i))


@pytest.fixture(autouse=True)
def small_tops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts, single counts and searches by value at sizes that can be checked by hand."""
    monkeypatch.setattr(module, "_SMALL", 4)
    monkeypatch.setattr(module, "_TOP", 2)
    monkeypatch.setattr(module.FEW_VALUES, "_at", 3)
    monkeypatch.setattr(module, "_CHUNK", 5)


VALUES = st.lists(st.integers(-4, 9) | st.integers(-(2**61), 2**61), min_size=1, max_size=60)


@settings(max_examples=200)
@given(values=VALUES, data=st.data())
def test_positions_are_those_of_a_stable_sort(values: list[int], data: st.DataObject) -> None:
    d = len(values)
    k = data.draw(st.integers(1, d))
    ranks = data.draw(st.lists(st.integers(0, d - 1), min_size=1, max_size=8, unique=True))
    order = by_definition(values)
    ranking = Ranking(np.array(values), min(k, 2))
    assert ranking.positions(ranks) == [order[rank] for rank in ranks]
    assert (ranking.leaders(k) + ranking.lowest).tolist() == [values[i] for i in order[:k]]
    assert (ranking.ascending() + ranking.lowest).tolist() == sorted(values)
    assert ranking.positions(ranks) == [order[rank] for rank in ranks]


@settings(max_examples=200)
@given(values=VALUES, data=st.data())
def test_thresholds_count_what_reaches_them(values: list[int], data: st.DataObject) -> None:
    ranking = Ranking(np.array(values))
    near = st.sampled_from(values).map(lambda v: v - min(values)) | st.integers(-3, 12)
    for _ in range(4):  # the first few are counted one by one, then everything is sorted
        asked = sorted(data.draw(st.lists(near, min_size=1, max_size=4)), reverse=True)
        expected = [sum(v - min(values) >= t for v in values) for t in asked]
        assert ranking.at_least(np.array(asked)).tolist() == expected


def test_only_the_top_is_sorted_until_somebody_asks_for_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    values = np.random.default_rng(5).permutation(100_000)
    ranking = Ranking(values, 10)
    assert 1_000 < len(ranking._top) < 10_000
    assert values[ranking.positions([0, 9, 400])].tolist() == [99_999, 99_990, 99_599]
    assert ranking.at_least(np.array([99_990, 50_000, 0])).tolist() == [10, 50_000, 100_000]
    assert len(ranking._top) < 10_000
    assert values[ranking.positions([50_000])].tolist() == [49_999]
    assert len(ranking._top) == 100_000


def test_a_misleading_sample_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value of the sample is large, or small: too little or too much above the cut."""
    monkeypatch.undo()
    d = 1 << 16
    for others in (-1, 10**6):
        values = np.arange(d) + others
        values[:: d // 1024] = np.arange(1024) + (10**6 if others < 0 else 0)
        ranking = Ranking(values, 20)
        order = by_definition(values.tolist())
        ranks = [0, 5, 19, 2_000, 60_000]
        assert ranking.positions(ranks) == [order[rank] for rank in ranks]
