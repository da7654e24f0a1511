"""Histograms: where their bins lie, what is counted, what is planned and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.audit.fidelity import chi_square_p_value
from winnow.core.relation import Relation
from winnow.numbers.histogram import audit
from winnow.numbers.histogram.adapting import fitted_stops

CENTS = {"type": "number", "low": 0, "high": 100, "step": 0.01, "clip": True}
SURE = 1e4
"""An epsilon at which noise is 0."""


def table_of(values: Any, form: Any = CENTS, relation: str = "add-remove", **more: Any) -> Any:
    frame = pd.DataFrame({"x": np.asarray(values, float)})
    return wn.read_table(frame, schema={"x": form}, relation=relation, **more)


def counted(values: Any, form: Any = CENTS, relation: str = "add-remove", **asked: Any) -> Any:
    asked = {"epsilon": SURE, "seed": 1, **asked}
    return wn.histogram(table_of(values, form, relation), "x", **asked).value


def test_equal_bins_hold_what_lies_in_them() -> None:
    values = [0, 9.99, 10, 55.5, 99.99, 100]
    found = counted(values, bins=10)
    assert found.starts.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert found.ends.tolist()[-2:] == [89.99, 100] and found.labels[0] == "0 to 9.99"
    assert found.estimate.tolist() == [2, 1, 0, 0, 0, 1, 0, 0, 0, 2]


def test_equal_bins_of_few_numbers_differ_by_one_number() -> None:
    found = counted([0, 1, 2, 3, 4, 5, 6], {"codes": 7}, bins=3)
    assert found.labels == ("0 to 1", "2 to 3", "4 to 6")
    assert found.estimate.tolist() == [2, 2, 3]


def test_given_edges_begin_bins_and_the_last_one_ends_its_bin() -> None:
    found = counted([5, 10, 19.99, 20, 20.01, 90], bins=[10, 15, 20])
    assert found.labels == ("0 to 9.99", "10 to 14.99", "15 to 20", "20.01 to 100")
    assert found.estimate.tolist() == [1, 1, 2, 2]


def test_missing_values_and_others_are_counted_beside_the_bins() -> None:
    form = {"type": "number", "low": 0, "high": 9, "missing": True, "other": "strange"}
    found = counted([1, np.nan, np.nan, 77, 2, 3], form, bins=2)
    assert found.labels == ("0 to 4", "5 to 9", "missing", "strange")
    assert found.estimate.tolist() == [3, 0, 2, 1]
    assert np.isnan(found.to_columns()["from"][2:]).all()


def test_private_edges_hold_equally_many_rows_each() -> None:
    values = np.random.default_rng(0).lognormal(2, 0.6, 2000)
    found = counted(values, bins=5, split="quantiles", epsilon=100)
    assert len(found.labels) == 5 and np.ptp(found.widths) > 20
    assert np.all(np.abs(found.estimate - 400) < 40)


def test_a_number_of_many_rows_has_a_bin_of_its_own() -> None:
    values = np.r_[np.zeros(500), np.full(900, 7.5), np.linspace(20, 90, 600)]
    found = counted(values, bins=8, split="quantiles", epsilon=200)
    lone = {
        start: count
        for start, end, count in zip(found.starts, found.ends, found.estimate, strict=True)
        if start == end
    }
    assert abs(lone[7.5] - 900) <= 2 and abs(lone[0] - 500) <= 2


def test_the_number_of_rows_is_used_where_it_is_public() -> None:
    found = counted(np.linspace(0, 100, 300), relation="substitution", bins=4, epsilon=1)
    assert found.estimate.sum() == pytest.approx(300)
    assert (found.standard_error < np.sqrt(2) * 2).all()


def test_counts_have_the_law_of_the_plan() -> None:
    """Discrete Laplace noise of scale 1 on each count, drawn 300 times; a false alarm in 10^6."""
    table = table_of([1.0] * 20 + [60.0] * 5)
    drawn = np.array(
        [wn.histogram(table, "x", bins=2, epsilon=1, seed=i).value.estimate for i in range(300)]
    )
    noise = np.clip((drawn - [20, 5]).ravel(), -4, 4)
    q = np.exp(-1.0)
    law = (1 - q) / (1 + q) * q ** np.abs(np.arange(-4, 5))
    law[[0, -1]] = q**4 / (1 + q)
    observed = np.append(np.bincount(noise + 4, minlength=9), 0)
    assert chi_square_p_value(observed, law) >= 1e-6


@pytest.mark.parametrize("split", ["equal", "quantiles"])
def test_an_empty_table_is_counted_like_any_other(split: Any) -> None:
    found = counted([], bins=3, split=split, epsilon=1)
    assert found.estimate.sum() < 60 and len(found.to_columns()["count"]) == len(found.labels)


def test_a_plan_says_the_error_and_an_error_finds_its_epsilon() -> None:
    table = table_of(np.linspace(0, 100, 300))
    plan = wn.plan.histogram(table, "x", error=3)
    assert plan.error <= 3 < 1.001 * plan.error
    errors = [wn.plan.histogram(table, "x", epsilon=e).error for e in (0.1, 1, 10)]
    assert errors == sorted(errors, reverse=True)
    private = wn.plan.histogram(table, "x", split="quantiles", epsilon=1)
    assert private.edge_error and private.guarantee.epsilon <= 1
    assert wn.plan.histogram(table, "x", error=3, split="quantiles").epsilon > 1.9 * plan.epsilon


@pytest.mark.parametrize("relation", list(Relation))
def test_edges_and_counts_of_neighbours_are_as_close_as_charged(relation: Relation) -> None:
    assert audit.enumerate_histogram(audit.histogram(relation), relation, 1).passed


def test_broken_histograms_are_caught() -> None:
    assert all(twin.passed for twin in audit.histogram_twins())


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"bins": 0}, "makes 0 bins"),
        ({"bins": True}, "neither a number of bins"),
        ({"bins": "20"}, "neither a number of bins"),
        ({"bins": [5]}, "makes 0 bins"),
        ({"bins": [5, 3]}, "do not ascend"),
        ({"bins": [0, 5, 101]}, "reach beyond"),
        ({"bins": [0, 0.001, 0.002]}, "no number of the grid between"),
        ({"bins": 10_001}, "give 1 to 10,000"),
        ({"bins": [0, float("nan")]}, "edge"),
        ({"bins": [0, 50], "split": "quantiles"}, "finds the edges itself"),
        ({"bins": 1, "split": "quantiles"}, "at least 2"),
        ({"split": "even"}, "unknown"),
        ({"column": "y"}, "there is no column"),
        ({"epsilon": 0}, "not above 0"),
    ],
)
def test_what_is_asked_badly_is_refused_before_the_charge(asked: Any, says: str) -> None:
    budget = wn.Budget(epsilon=5)
    given = {"column": "x", "epsilon": 1, "budget": budget, **asked}
    table = table_of([1.0, 2.0])
    with pytest.raises(wn.ParameterError, match=says):
        wn.histogram(table, given.pop("column"), **given)
    assert not budget.events


def test_more_bins_than_numbers_are_refused() -> None:
    with pytest.raises(wn.ParameterError, match="more than the 7 numbers"):
        counted([1], {"codes": 7}, bins=8)
    with pytest.raises(wn.ParameterError, match="not as numbers"):
        counted([1], {"values": [1.0, 2.0]}, bins=2)


def test_a_histogram_is_written_read_drawn_and_shown(tmp_path: Any) -> None:
    released = wn.histogram(table_of([1, 50, 50.5]), "x", bins=4, epsilon=1, seed=2)
    found = released.value
    again = wn.ReleasedHistogram.from_dict(found.to_dict())
    assert again.to_dict() == found.to_dict() and again.labels == found.labels
    released.value.save(tmp_path / "h.csv", about=released.to_about())
    assert (tmp_path / "h.csv").read_text().startswith("bin,from,to,count")
    assert "0 to 24.99" in released._repr_html_() and "<histogram of x" in repr(found)
    pytest.importorskip("matplotlib")
    assert found.plot(tmp_path / "h.png").stat().st_size > 1000


def test_adaptive_bins_are_narrow_where_the_density_changes() -> None:
    rng = np.random.default_rng(3)
    spread = rng.integers(0, 100_000, 4000)
    held = np.where(rng.random(4000) < 0.25, 30_000, spread)
    table = table_of(held, {"type": "number", "low": 0, "high": 100_000})
    found = wn.histogram(table, "x", bins=20, split="adaptive", epsilon=1, seed=1).value
    assert len(found.starts) <= 20 and found.starts[0] == 0 and found.ends[-1] == 100_000
    assert (found.starts[1:] == found.ends[:-1] + 1).all()
    place = int(np.searchsorted(found.ends, 30_000))
    assert found.widths[place] < 1000 and found.estimate[place] > 900
    truth = [
        ((held >= a) & (held <= b)).sum() for a, b in zip(found.starts, found.ends, strict=True)
    ]
    low, high = found.interval(0.999)
    assert (low <= truth).all() and (truth <= high).all()


def test_rows_that_are_spread_evenly_get_few_adaptive_bins() -> None:
    rng = np.random.default_rng(4)
    form = {"type": "number", "low": 0, "high": 99_999}
    table = table_of(rng.integers(0, 100_000, 20_000), form)
    asked: dict[str, Any] = {"bins": 40, "split": "adaptive", "epsilon": 1}
    found = [wn.histogram(table, "x", **asked, seed=seed).value for seed in range(5)]
    many = [len(each.starts) for each in found]
    assert np.median(many) <= 8


@pytest.mark.parametrize("most", [1, 2, 5, 9])
def test_the_fit_is_the_best_of_all_partitions(most: int) -> None:
    rng = np.random.default_rng(most)
    counts, widths = rng.normal(0, 3, 9), rng.integers(1, 3, 9).astype(float)

    def price(stops: Sequence[int]) -> float:
        total = 8.0 * (1 + max(counts.mean(), 0)) * len(stops)
        for low, high in pairwise((0, *stops)):
            own, wide = counts[low:high], widths[low:high]
            total += float(np.sum((own - wide * (own @ wide) / (wide @ wide)) ** 2))
        return total

    every = [
        (*inner, 9) for size in range(most) for inner in combinations(range(1, 9), size)
    ]  # fmt: skip
    found = fitted_stops(counts, widths, 1.0, most)
    assert price(found) == pytest.approx(min(map(price, every)))
