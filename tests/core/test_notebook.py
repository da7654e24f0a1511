"""What notebooks show: public, escaped, with the guarantee; and results as frames."""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference import planned
from reference.releasing import flat_release
from winnow.core.frames import Framed
from winnow.core.notebook import MOST_ROWS, InNotebook, number_text
from winnow.select.lists import CountedItems

EVIL = "<script>alert(1)</script>"
SCHEMA = {"town": {"values": [EVIL, "b & c"]}, "year": {"values": [1999, 2024]}}
ROWS = {"town": [EVIL] * 30 + ["b & c"] * 70, "year": [1999, 2024] * 50}


def table(relation: str = "substitution") -> wn.SealedTable:
    import pandas as pd

    return wn.read_table(pd.DataFrame(ROWS), schema=SCHEMA, relation=relation)


def released(**options: Any) -> Any:
    return flat_release(table(), wn.marginals(2), epsilon=1.0, delta=1e-6, seed=1, **options)


def number_plans() -> dict[str, Any]:
    about = wn.plan.table({"x": {"type": "number", "low": 0, "high": 9}}, rows=100)
    return {
        "histogram": wn.plan.histogram(about, "x", bins=3, epsilon=1),
        "regression": wn.plan.regress(wn.plan.table({"x": 4, "y": 4}, rows=100), "x", epsilon=1),
        "bounds": wn.plan.bounds(about, "x", epsilon=1),
        "quantiles": wn.plan.quantiles(about, "x", epsilon=1),
        "moments": wn.plan.moments(about, "x", epsilon=1),
        "describe": wn.plan.describe(about, epsilon=1),
    }


@cache
def shown() -> dict[str, Any]:
    """One of every kind that notebooks show."""
    votes = {EVIL: 50, "b & c": 40, "d": 3}
    budget = wn.Budget(epsilon=1)
    top = {"k": 2, "epsilon": 1, "seed": 1}
    tables = wn.tabulate(table(), by=[["town", "year"], ["year"]], epsilon=1, seed=1)
    return {
        "select": wn.select(wn.seal_scores(votes, labels="public"), epsilon=1, seed=1),
        "top": wn.top_k(votes, **top),
        "counted": wn.top_k(votes, with_counts=True, **top),
        "above": wn.above(votes, threshold=1, epsilon=9, seed=1),
        "tables": tables,
        "table": tables.value.tables[0],
        "answers": released(),
        "rounds": released(method="mwem", rounds=2),
        "receipt": tables.receipt,
        "guarantee": tables.guarantee,
        "budget": budget,
        "schema": wn.Schema.parse(SCHEMA),
        "sealed": table(),
        "top plan": wn.plan.top_k(wn.plan.counts(3), k=1, epsilon=1),
        "top simulation": planned.top_k([50, 40, 3], k=1, epsilon=1, draws=10),
        "select plan": wn.plan.select(wn.plan.scores(gaps=[50, 40, 3]), epsilon=1),
        "release plan": wn.plan.release(
            wn.plan.table(SCHEMA, rows=100), wn.marginals(2), epsilon=1
        ),
        "tabulate plan": wn.plan.tabulate(wn.plan.table(SCHEMA), [["town"]], epsilon=1),
        "mwem plan": wn.plan.mwem_bounds(
            wn.plan.table(SCHEMA, rows=100), wn.marginals(2), epsilon=1, delta=1e-6
        ),
        **{f"{name} plan": plan for name, plan in number_plans().items()},
        "learn plan": wn.plan.learn(wn.plan.labelled({"x": 2, "y": 2}, "y", rows=100), epsilon=1),
    }


KINDS = (
    "select", "top", "counted", "above", "tables", "table", "answers", "rounds", "receipt",
    "guarantee", "budget", "schema", "sealed", "top plan", "top simulation", "select plan",
    "release plan", "tabulate plan", "mwem plan", "learn plan", "histogram plan", "bounds plan",
    "quantiles plan", "moments plan", "describe plan", "regression plan",
)  # fmt: skip


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(thing: Any) -> _Tags:
    tags = _Tags()
    tags.feed(thing._repr_html_())
    return tags


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_label_never_becomes_markup(kind: str) -> None:
    allowed = {"div", "table", "thead", "tbody", "tr", "th", "td", "b", "img", "details", "summary"}
    assert set(parsed(shown()[kind]).seen) <= allowed


@pytest.mark.parametrize("kind", ["select", "top", "counted", "above", "tables", "answers"])
def test_a_result_shows_its_guarantee_and_its_receipt(kind: str) -> None:
    texts = " ".join(parsed(shown()[kind]).texts)
    assert str(shown()[kind].guarantee) in texts
    assert shown()[kind].receipt.citation in texts
    assert "not private" in texts  # these are seeded


def test_labels_are_shown_as_they_are_and_numbers_with_separators() -> None:
    texts = parsed(shown()["table"]).texts
    assert EVIL in texts
    assert "1999" in texts  # a label, not a number
    assert number_text(12345.6) == "12,346"
    assert [number_text(x) for x in (1234, 0.01234, None, float("nan"))] == [
        "1,234", "0.0123", "-", "-",
    ]  # fmt: skip


def test_a_picture_is_shown_where_matplotlib_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "img" in parsed(shown()["table"]).seen
    assert "img" in parsed(shown()["answers"]).seen
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "img" not in parsed(shown()["table"]).seen


def test_long_results_are_cut_and_counted() -> None:
    many = wn.top_k(np.arange(100), k=50, epsilon=1, seed=1)
    tags = parsed(many)
    assert f"{MOST_ROWS} of 50 rows are shown" in tags.texts


def test_a_sealed_table_shows_its_schema_and_no_row() -> None:
    other = {"town": ["b & c"] * 100, "year": [2024] * 100}
    import pandas as pd

    alike = wn.read_table(pd.DataFrame(other), schema=SCHEMA)
    assert alike._repr_html_() == table()._repr_html_()


def test_everything_public_that_is_a_result_or_a_plan_is_shown() -> None:
    for name in dir(wn.plan):
        held = getattr(wn.plan, name)
        if isinstance(held, type) and name.endswith("Plan"):
            assert issubclass(held, InNotebook), name
    for held in (wn.Released, wn.Receipt, wn.Budget, wn.Schema, wn.SealedTable, wn.Guarantee):
        assert issubclass(held, InNotebook)
    for held in (wn.ReleasedTable, wn.ReleasedTables, wn.SyntheticDistribution, wn.LpSolution):
        assert issubclass(held, InNotebook)
        assert issubclass(held, Framed)


def test_lists_are_frames_of_any_package() -> None:
    plain, counted = shown()["top"], shown()["counted"]
    assert plain.to_pandas().item.tolist() == plain.value
    assert counted.to_polars()["count"].to_list() == [noisy for _, noisy in counted.value]
    assert counted.to_arrow().column_names == ["item", "count"]
    assert isinstance(counted.value, CountedItems)
    assert counted.to_pandas()["count"].dtype == np.int64


def test_a_single_value_is_no_frame_and_a_list_takes_no_options() -> None:
    with pytest.raises(wn.ParameterError, match="not a list or a table"):
        shown()["select"].to_pandas()
    with pytest.raises(wn.ParameterError, match="level"):
        shown()["top"].to_pandas(level=0.9)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(wn.DataError, match="polars"):
        shown()["top"].to_polars()


def test_itemsets_are_not_taken_for_counts() -> None:
    found = wn.top_k(
        wn.seal_counts({(1, 2): 50, (1, 3): 40}, labels="public"), k=2, epsilon=9, seed=1
    )
    assert found.to_pandas().item.tolist() == ["1 + 2", "1 + 3"]
