"""Learning from what people have: dates, missing codes, buckets, and numbers in private bins."""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.inside import open_sealed
from winnow.learn.audit.binned import binned_faithful, fidelity_of_cuts
from winnow.learn.binned import BINS, SHARE, cut_at
from winnow.learn.crossing.bins import BinnedColumns, apart
from winnow.learn.features import Feature
from winnow.learn.values import WIDE
from winnow.privacy import pure_cost

ROWS = 6_000
SCHEMA: dict[str, Any] = {
    "pay": {"type": "number", "low": 0, "high": 10_000, "step": 0.01, "clip": True},
    "since": {"type": "date", "low": "2020-01-01", "high": "2024-12-31"},
    "grade": {"codes": 4, "missing": True},
    "job": {"buckets": 8},
    "month": {"calendar": "month"},
    "rich": {"values": ["no", "yes"]},
}


def people(seed: int = 1) -> pd.DataFrame:
    """Who is rich follows from pay and a date, or from a missing grade."""
    rng = np.random.default_rng(seed)
    pay = np.round(np.exp(rng.normal(3.5, 1.2, ROWS)), 2)
    days = rng.integers(0, 1500, ROWS)
    grade = rng.integers(0, 4, ROWS).astype(float)
    grade[rng.random(ROWS) < 0.1] = np.nan
    when = pd.to_datetime(np.datetime64("2020-01-01") + days)
    rich = ((pay > 40) & (days > 400)) | np.isnan(grade)
    return pd.DataFrame(
        {"pay": pay, "since": when, "grade": grade, "job": rng.choice(list("abc"), ROWS),
         "month": when, "rich": np.where(rich, "yes", "no")},
        index=[f"r{i}" for i in range(ROWS)],
    )  # fmt: skip


@pytest.mark.parametrize("method", ["auto", "boosted", "additive", "conjunctions:2"])
def test_numbers_dates_and_missing_values_are_learned_from(method: str, tmp_path: Path) -> None:
    """Seeds are fixed; the least accuracy leaves ten points to what other seeds bring."""
    frame = people()
    table = wn.read_table(frame, schema=SCHEMA)
    found = wn.learn(table, "rich", epsilon=1.0, method=method, seed=1)
    assert found.guarantee.epsilon <= 1.0 and found.receipt.mechanism.startswith("15 quantiles of")
    new = people(2)
    least = 0.75 if method.startswith("conj") else 0.83
    assert found.value.score(new, new["rich"]) > least
    path = tmp_path / "model.json"
    path.write_text(found.to_json())
    again = wn.load_predictor(path)
    pd.testing.assert_series_equal(again.predict(new), found.value.predict(new))
    assert again.text == found.value.text and found.value.bound is None


def test_a_frame_with_a_schema_is_read_as_a_table_is() -> None:
    frame = people()
    table = wn.read_table(frame, schema=SCHEMA)
    own = {name: each for name, each in SCHEMA.items() if name != "rich"}
    rows = wn.labelled(frame, frame["rich"].to_numpy(), schema=own, classes=("no", "yes"))
    features = wn.plan.labelled(SCHEMA, "rich").schema
    assert features is not None
    columns = [Feature.of_column(column) for column in features.columns]
    ours = np.stack(open_sealed(rows.coded(columns).rows).codes)
    codes, weights = open_sealed(table.rows)
    theirs = np.repeat(np.stack(codes[:-1]), weights, axis=1)
    assert (ours[:, np.lexsort(ours)] == theirs[:, np.lexsort(theirs)]).all()


def test_predictions_keep_the_index_of_a_pandas_frame_alone() -> None:
    frame = people()
    found = wn.learn(wn.read_table(frame, schema=SCHEMA), "rich", epsilon=1.0, seed=1).value
    said = found.predict(frame.sample(100, random_state=1))
    assert isinstance(said, pd.Series)
    assert list(said.index) == list(frame.sample(100, random_state=1).index)
    columns = {name: frame[name].to_numpy() for name in SCHEMA if name != "rich"}
    assert isinstance(found.predict(columns), np.ndarray)


def test_how_wide_a_column_is_decides_whether_it_is_cut() -> None:
    """Both sides of the border; a plan knows without a row."""
    for points, cut in ((WIDE, False), (WIDE + 1, True)):
        schema = {"x": {"type": "number", "low": 1, "high": points}, "y": 2}
        plan = wn.plan.learn(wn.plan.labelled(schema, "y", rows=5_000), epsilon=1)
        assert isinstance(plan.mechanism, BinnedColumns) == cut


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(wn.Relation))
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_bins_are_charged_with_what_is_learned(relation: wn.Relation, delta: float) -> None:
    about = wn.plan.labelled(SCHEMA, "rich", rows=ROWS, relation=relation)
    plan = wn.plan.learn(about, epsilon=1.0, delta=delta)
    assert plan.guarantee.epsilon <= 1.0 and plan.guarantee.delta <= delta
    assert isinstance(plan.mechanism, BinnedColumns)
    assert plan.event.events[:2] == tuple(  # type: ignore[attr-defined]
        each.promise(relation).event for each in plan.mechanism.quantiles
    )
    spent = sum(float(pure_cost(each.promise(relation).event).epsilon)
                for each in plan.mechanism.quantiles)  # fmt: skip
    assert spent == pytest.approx(float(SHARE))
    assert plan.expected is None and "private quantiles cut pay, since" in plan.reason
    with pytest.raises(wn.ParameterError, match="nothing is promised"):
        plan.near(3)


def test_cuts_increase_wherever_quantiles_fall() -> None:
    for codes in ([0] * 15, [99] * 15, list(range(15)), [50] * 15, [0, 99] * 7 + [3]):
        cuts = apart(codes, 100)
        assert len(cuts) == 15 and cuts[0] >= 1 and cuts[-1] <= 98
        assert all(np.diff(cuts) > 0)
    assert apart([20, 40, 60], 100) == (20, 40, 60)
    about = wn.plan.labelled(SCHEMA, "rich")
    binned = cut_at(about, {0: tuple(range(1, BINS)), 1: tuple(range(1, BINS))}).schema
    assert binned is not None
    assert binned.column("pay").codes == binned.column("since").codes == BINS
    assert binned.column("since").edges[:2] == ("2020-01-01", "2020-01-02")


def test_cuts_have_their_law() -> None:
    (found,) = binned_faithful(seed=5)
    assert found.passed
    assert not fidelity_of_cuts(5, Fraction(3)).passed


def test_values_that_mean_nothing_are_missing_or_unknown() -> None:
    def codes(declared: Any, values: Any) -> list[int]:
        feature = Feature.of_column(wn.Column.parse("x", declared))
        assert feature.kind == "grid" or Feature.from_dict(feature.to_dict()) == feature
        return feature.encode(values).tolist()

    nothing = [None, float("nan"), pd.NA]
    assert codes({"codes": 3, "missing": True}, [2, *nothing, 7]) == [2, 3, 3, 3, -1]
    both = {"codes": 3, "missing": True, "other": True}
    assert codes(both, [2, *nothing, 7]) == [2, 3, 3, 3, 4]
    assert codes({"codes": 3, "missing": True, "na": ["?"]}, np.array([1, "?"], object)) == [1, 3]
    assert codes({"values": ["a", None]}, ["a", *nothing, "b"]) == [0, 1, 1, 1, -1]
    bucket = wn.Column.parse("x", {"buckets": 5}).bucket("a")
    assert codes({"buckets": 5, "missing": True}, ["a", None]) == [bucket, 5]
    days = [datetime.date(2024, 5, 2), "2024-05-03T10:00", pd.Timestamp("2024-05-01"), None]
    grid = {"type": "date", "low": "2024-05-01", "high": "2024-05-03", "missing": True}
    assert codes(grid, days) == [1, 2, 0, 3]
    edges = {"edges": ["2024-05-01", "2024-05-02", "2024-05-04"], "clip": True}
    assert codes(edges, np.array(["2024-04-01", "2024-05-02", "2030-01-01"], "datetime64[us]")) == [
        0, 1, 1
    ]  # fmt: skip
    assert codes({"calendar": "weekday", "missing": True}, [*days[:2], None]) == [3, 4, 7]
    wide = {"type": "number", "low": 0, "high": 1, "step": 0.001}
    assert codes(wide | {"other": True}, [-1, 0, 0.0004, 0.0006, 1, 2]) == [
        1001, 0, 0, 1, 1000, 1001
    ]  # fmt: skip
    assert codes(wide | {"clip": True}, [-1, 2]) == [0, 1000]


@pytest.mark.parametrize(
    ("declared", "values", "message"),
    [
        ({"type": "date", "low": "2024-05-01", "high": "2024-05-03"}, ["soon"], "dates or times"),
        ({"type": "date", "low": "2024-05-01", "high": "2024-05-03"},
         [pd.Timestamp("2024-05-01", tz="UTC")], "time zone"),
        ({"buckets": 3}, [1], "give texts"),
        ({"type": "number", "low": 0, "high": 100}, ["7"], "give numbers"),
    ],
)  # fmt: skip
def test_values_of_another_kind_are_refused(declared: Any, values: Any, message: str) -> None:
    with pytest.raises(wn.DataError, match=message):
        Feature.of_column(wn.Column.parse("x", declared)).encode(values)


def test_texts_name_what_is_known_and_when() -> None:
    both = {"codes": 3, "missing": True, "other": "odd"}
    feature = Feature.of_column(wn.Column.parse("x", both))
    assert feature.text((0, 3, False)) == "x is known" and feature.text((0, 3, True)) == (
        "x is not known"
    )
    assert feature.text((3, 4, False)) == "x = missing" and feature.text((4, 5, True)) == "x != odd"
    assert feature.text((3, 5, False)) == "x is not known"
    edges = {"edges": ["2024-05-01", "2024-05-02T06:00", "2024-05-04"]}
    timed = Feature.of_column(wn.Column.parse("x", edges))
    assert timed.text((1, 2, False)) == "x >= 2024-05-02T06:00:00"


def test_the_command_learns_from_such_columns(tmp_path: Path) -> None:
    import json

    from typer.testing import CliRunner

    from winnow.cli.app import app

    people().to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    words = ["learn", str(tmp_path / "rows.csv"), "--target", "rich", "--schema",
             str(tmp_path / "schema.json"), "--epsilon", "1", "--one-row-per-person", "--seed", "1",
             "--test", str(tmp_path / "rows.csv"), "--json"]  # fmt: skip
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["test_accuracy"] > 0.83
