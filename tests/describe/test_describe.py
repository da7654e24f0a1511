"""Descriptions: what is told of every column, how it is planned, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.privacy.accountants import pure_cost

RNG = np.random.default_rng(7)
N = 3000
PEOPLE = pd.DataFrame(
    {
        "pay": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(500, 100, N).round(1)),
        "age": RNG.integers(18, 90, N),
        "town": RNG.choice(["A", "B", "C"], N, p=[0.6, 0.3, 0.1]),
        "sex": RNG.choice(["f", "m", None], N, p=[0.5, 0.4, 0.1]),
    }
)
SCHEMA: dict[str, Any] = {
    "pay": {"type": "number", "low": 0, "high": 1000, "step": 0.1, "clip": True, "missing": True},
    "age": {"type": "number", "low": 0, "high": 110},
    "town": {"values": ["A", "B", "C", "D"]},
    "sex": {"values": ["f", "m", None]},
}


def table_of(relation: str = "add-remove", frame: Any = PEOPLE, **more: Any) -> Any:
    return wn.read_table(frame, schema=SCHEMA, relation=relation, **more)


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
def test_every_column_is_told_within_its_errors(relation: str) -> None:
    """At epsilon 4 and one seed, within intervals that miss once in 10^6."""
    found = wn.describe(table_of(relation), epsilon=4, level=1 - 1e-6, seed=3).value
    assert found.rows.low <= N <= found.rows.high
    assert (found.rows.standard_error == 0) == (relation == "substitution")
    pay, age, town, sex = (found.column(name) for name in SCHEMA)
    for held, true in (
        (pay.missing, PEOPLE.pay.isna().sum()),
        (pay.mean, PEOPLE.pay.mean()),
        (pay.deviation, PEOPLE.pay.std(ddof=0)),
        (age.mean, PEOPLE.age.mean()),
        (sex.missing, PEOPLE.sex.isna().sum()),
    ):
        assert held is not None and held.low <= true <= held.high
    assert age.missing is None and town.missing is None
    for column, values in ((pay, PEOPLE.pay.dropna()), (age, PEOPLE.age)):
        for each in column.quantiles:
            below, until = (values < each.value).sum(), (values <= each.value).sum()
            wanted = each.quantile * len(values)
            assert max(0, below - wanted, wanted - until) <= each.bound
    assert [value for value, _ in town.top[:3]] == ["A", "B", "C"] and town.values == 4
    for value, held in (*town.top, *sex.top):
        name = "town" if value in "ABCD" else "sex"
        assert held.low <= (PEOPLE[name] == value).sum() <= held.high
    low, high = age.histogram.interval(1 - 1e-6)
    edges = [*age.histogram.starts, 111]
    counts = np.histogram(PEOPLE.age, edges)[0]
    assert ((low <= counts) & (counts <= high)).all()


def test_all_of_it_is_one_charge_that_is_the_epsilon() -> None:
    budget = wn.Budget(epsilon=1, relation="substitution")
    table = table_of("substitution")
    released = wn.describe(table, epsilon=1, budget=budget, seed=1)
    assert budget.events == (released.receipt.event,)
    cost = float(pure_cost(released.receipt.event).epsilon)
    assert 0.99 < cost <= 1 and released.guarantee.epsilon <= 1
    plan = wn.plan.describe(table, epsilon=1)
    assert plan.event == released.receipt.event
    names = [what for what, _ in plan.mechanism.parts]
    assert names == ["counts", "means and deviations", "quantiles of pay", "quantiles of age"]


def test_a_plan_says_the_errors_that_are_released() -> None:
    table = table_of("substitution")
    plan = wn.plan.describe(table, epsilon=1)
    found = plan.run(table, seed=2).value
    errors = {(row.column, row.what): row.error for row in plan.expected}
    counted = found.column("town").top[0][1].standard_error
    assert errors["town", "counts"] == pytest.approx(counted)
    seen = [each.rank_error for each in found.column("age").quantiles]
    assert max(seen) == errors["age", "quantiles"]
    assert "quantiles" in str(plan) and plan.error >= counted


def test_an_empty_table_and_one_row_are_described_like_any_other() -> None:
    for rows in (0, 1):
        found = wn.describe(table_of(frame=PEOPLE[:rows]), epsilon=1, seed=1).value
        assert abs(found.rows.value) < 200 and len(found.columns) == 4
        assert 0 <= found.column("age").quantiles[1].value <= 110


def test_quantiles_may_be_left_out_and_tables_may_have_no_numbers() -> None:
    table = table_of()
    found = wn.describe(table, epsilon=1, quantiles=[], seed=1).value
    assert found.column("pay").quantiles == () and found.column("pay").mean is not None
    words = wn.describe(table.restrict(["town"]), epsilon=1, top=2, seed=1).value
    assert len(words.column("town").top) == 2 and words.columns[0].histogram is None
    assert "rows with A" in words.to_columns()["statistic"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"epsilon": -1}, "not above 0"),
        ({"quantiles": [2]}, "not between 0 and 1"),
        ({"bins": 0}, "below 1"),
        ({"top": 1.5}, "top"),
        ({"level": 1}, "level"),
    ],
)
def test_what_is_asked_badly_is_refused_before_the_charge(asked: Any, says: str) -> None:
    budget = wn.Budget(epsilon=5)
    with pytest.raises(wn.ParameterError, match=says):
        wn.describe(table_of(), **{"epsilon": 1, "budget": budget, **asked})
    assert not budget.events


def test_a_column_of_too_many_values_is_refused_by_name() -> None:
    about = wn.plan.table({"a": 2, "word": {"buckets": 2_000_000}})
    with pytest.raises(wn.ParameterError, match=r"'word' has 2,000,000 values"):
        wn.plan.describe(about, epsilon=1)


def test_a_description_is_written_read_drawn_and_shown(tmp_path: Any) -> None:
    released = wn.describe(table_of(), epsilon=1, seed=2)
    found = released.value
    again = wn.Description.from_dict(found.to_dict())
    assert again.to_dict() == found.to_dict() and again.table() == found.table()
    released.value.save(tmp_path / "d.csv", about=released.to_about())
    assert (tmp_path / "d.csv").read_text().startswith("column,statistic,value")
    assert "median" in released._repr_html_() and len(found.column("age").shape) == 19
    with pytest.raises(wn.ParameterError, match="there is no column 'x'"):
        found.column("x")
    from winnow.show.report.card import card_page

    page = card_page(released, title="<People>").decode()
    assert "&lt;People&gt;" in page and "rank error" in page and "Receipt" in page
    pytest.importorskip("matplotlib")
    assert found.plot(tmp_path / "d.png").stat().st_size > 1000


def test_a_plan_finds_the_epsilon_for_a_wanted_error_of_counts() -> None:
    about = wn.plan.table({"x": {"type": "number", "low": 0, "high": 99}, "g": 3}, rows=1000)
    plan = wn.plan.describe(about, error=3)
    assert plan.error == pytest.approx(3, rel=1e-3) and plan.error <= 3
    assert wn.plan.describe(about, epsilon=plan.epsilon).error == plan.error
    with pytest.raises(wn.ParameterError, match="both given"):
        wn.plan.describe(about, epsilon=1, error=3)
