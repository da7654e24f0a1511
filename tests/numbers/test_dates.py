"""Columns of dates and times: the same codes from every source, quantiles and means as dates."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from winnow.core.number_grid import instant_at, place_at

DAY = {"type": "date", "low": "2020-01-01", "high": "2024-12-31"}
MINUTE = {"type": "time", "low": "2024-01-01T00:00", "high": "2024-12-31T23:59", "unit": "minute"}
HUGE = 2.0**40


def sealed(columns: dict[str, Any], schema: dict[str, Any], **said: Any) -> Any:
    import pandas as pd

    return wn.read_table(pd.DataFrame(columns), schema=schema, **said)


def test_dates_and_times_count_as_the_last_point_before_them() -> None:
    seen = ["2024-01-01T00:00:00", "2024-02-29T23:59:59.9", "2024-12-31T23:59:59"]
    times = np.array(seen, "datetime64[us]")
    table = sealed({"d": times, "t": times}, {"d": DAY, "t": MINUTE})
    for name, wanted in (("d", "2024-02-29"), ("t", "2024-02-29T23:59:00")):
        found = wn.quantiles(table, name, [0, 0.5, 1], epsilon=400, seed=1).value
        assert found.values[1] == wanted
        assert found.values[2].startswith("2024-12-31")


def test_means_of_dates_are_dates_and_deviations_are_days() -> None:
    days = np.array(["2022-03-01", "2022-03-03", "2022-03-11"], "datetime64[us]")
    found = wn.moments(
        sealed({"d": days}, {"d": DAY}), "d", ["mean", "deviation"], epsilon=HUGE, seed=1
    )
    mean, spread = found.value.of("d", "mean"), found.value.of("d", "deviation")
    assert mean.value == "2022-03-05" and mean.low <= mean.value <= mean.high
    assert float(spread.value) == pytest.approx(np.std([0, 2, 10]), rel=0.05)
    again = type(found.value).from_dict(json.loads(json.dumps(found.value.to_dict())))
    assert again.to_dict() == found.value.to_dict()
    assert found.value.to_columns()["value"].dtype == object


def test_every_source_gives_the_same_numbers(tmp_path: Any) -> None:
    import duckdb
    import pandas as pd

    rng = np.random.default_rng(1)
    seconds = rng.integers(0, 366 * 86_400, 300)
    times = np.datetime64("2024-01-01T00:00:00") + seconds.astype("timedelta64[s]")
    frame = pd.DataFrame({"d": times, "t": times})
    frame.loc[:9, "d"] = pd.NaT
    frame.to_csv(tmp_path / "x.csv", index=False)
    connection = duckdb.connect()
    connection.register("x", frame)
    schema = {"d": DAY | {"missing": True}, "t": MINUTE}
    sources: list[Any] = [frame, tmp_path / "x.csv", (connection, "x")]
    seen = [
        wn.moments(wn.read_table(each, schema=schema), ["d", "t"], ["count", "mean"], epsilon=1,
                   seed=5).value.to_dict()
        for each in sources
    ]  # fmt: skip
    assert seen[0] == seen[1] == seen[2]
    passed = (times - np.datetime64("2024-01-01")).astype("timedelta64[m]").astype(int)
    table = wn.read_table(frame, schema=schema)
    mean = wn.moments(table, "t", "mean", epsilon=HUGE, seed=1).value.of("t", "mean").value
    wanted = np.datetime64("2024-01-01") + np.timedelta64(round(passed.mean() * 60), "s")
    assert abs(np.datetime64(mean) - wanted) < np.timedelta64(30, "s")


def test_dates_outside_are_refused_clipped_or_left_out() -> None:
    days = np.array(["2019-12-31T23:59", "2025-01-01", "2024-12-31T12:00"], "datetime64[us]")
    with pytest.raises(wn.DataError, match="outside the schema"):
        sealed({"d": days}, {"d": DAY})
    given = {"epsilon": HUGE, "seed": 1}
    clipped = wn.quantiles(sealed({"d": days}, {"d": DAY | {"clip": True}}), "d", [0, 1], **given)
    assert clipped.value.values.tolist() == ["2020-01-01", "2024-12-31"]
    kept = sealed({"d": days}, {"d": DAY | {"drop": True}}, relation="add-remove")
    assert float(wn.moments(kept, "d", "count", **given).value.of("d", "count").value) == (
        pytest.approx(1, rel=1e-3)
    )


def test_zones_are_named_and_refused() -> None:
    days = np.array(["2022-03-01"], "datetime64[us]")
    import pandas as pd

    zoned = pd.DataFrame({"d": pd.Series(days).dt.tz_localize("Europe/Vienna")})
    with pytest.raises(wn.DataError, match="convert it to one time zone"):
        wn.read_table(zoned, schema={"d": DAY})
    for low in ("2020-01-01Z", "2020-01-01T00:00+01:00"):
        with pytest.raises(wn.ParameterError, match="without a time zone"):
            wn.Schema.parse({"d": DAY | {"low": low}})


BAD: list[tuple[str, dict[str, Any]]] = [
    ("not a whole day", DAY | {"low": "2020-01-01T08:00"}),
    ("is unknown; give one of day, hour", MINUTE | {"unit": "week"}),
    ("is not below", DAY | {"low": "2025-01-01"}),
    ("takes no unit", DAY | {"unit": "day"}),
    ("has no high", {"type": "date", "low": "2020-01-01"}),
    ("is not a date or time", DAY | {"low": 2020}),
    ("not whole days", DAY | {"step": 0.5}),
    ("does not divide", DAY | {"step": 7}),
    ('give "number", "date" or "time"', {"type": "day", "low": 0, "high": 1}),
]


@pytest.mark.parametrize(("said", "declared"), BAD, ids=[said for said, _ in BAD])
def test_a_wrong_declaration_says_what_is_wrong(said: str, declared: dict[str, Any]) -> None:
    with pytest.raises(wn.ParameterError, match=said):
        wn.Schema.parse({"d": declared})


def test_what_dates_do_not_have_is_refused_before_the_charge() -> None:
    table = sealed({"d": np.array(["2022-03-01"], "datetime64[us]")}, {"d": DAY})
    for call in (
        lambda: wn.moments(table, "d", epsilon=1),
        lambda: wn.moments(table, "d", "mean", epsilon=1, bounds="auto"),
        lambda: wn.bounds(table, "d", epsilon=1),
    ):
        with pytest.raises(wn.ParameterError, match="holds dates or times"):
            call()


@pytest.mark.parametrize("declared", [DAY, MINUTE])
@pytest.mark.parametrize("split", ["equal", "quantiles"])
def test_histograms_of_dates_have_dates_at_their_edges(
    declared: Any, split: Any, tmp_path: Path
) -> None:
    start = np.datetime64("2024-03-01T08:00")
    moments = start + np.arange(3000) % 90 * np.timedelta64(1, "D")
    declared = declared | {"low": "2024-01-01", "high": "2024-12-31", "missing": True}
    table = sealed({"d": np.append(moments, np.datetime64("NaT"))}, {"d": declared})
    found = wn.histogram(table, "d", bins=6, split=split, epsilon=50, seed=1).value
    assert found.starts[0] == str(found.starts[0]) and found.starts[0].startswith("2024-01-01")
    assert found.ends[-1].startswith("2024-12-31") and found.labels[-1] == "missing"
    days = found.widths.sum() / (1 if declared["type"] == "date" else 24 * 60)
    assert 365 <= days <= 366
    again = type(found).from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict() and (again.widths == found.widths).all()
    for ending in ("csv", "parquet", "json"):
        found.save(tmp_path / f"found.{ending}")
    assert found.figure(".png").startswith(b"\x89PNG")
    assert "2024-01-01" in found._repr_html_()


def test_edges_of_a_histogram_may_be_dates() -> None:
    days = np.datetime64("2024-01-01") + np.arange(366) * np.timedelta64(1, "D")
    table = sealed({"d": days}, {"d": DAY | {"low": "2024-01-01", "high": "2024-12-31"}})
    quarters = ["2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01", "2024-12-31"]
    found = wn.histogram(table, "d", bins=quarters, epsilon=100, seed=1).value
    assert found.labels[0] == "2024-01-01 to 2024-03-31"
    assert np.rint(found.estimate).tolist() == [91, 91, 92, 92] == found.widths.tolist()


def test_a_description_tells_dates() -> None:
    days = np.datetime64("2024-01-01") + np.arange(366) * np.timedelta64(1, "D")
    table = sealed({"d": days, "x": np.arange(366)}, {"d": DAY | {"low": "2024-01-01"}, "x": 366})
    found = wn.describe(table, epsilon=200, seed=1).value
    column = found.column("d")
    assert column.unit == "day" and column.mean.value in ("2024-07-01", "2024-07-02")
    assert column.mean.low <= column.mean.value <= column.mean.high
    assert column.quantiles[1].value.startswith("2024-0")
    assert column.deviation.value == pytest.approx(105.7, abs=3)
    assert "days" in found.table()[1][0][3]
    again = type(found).from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
    assert found.figure(".png").startswith(b"\x89PNG")
    assert found.to_arrow().num_rows == len(found.to_columns()["value"])


def test_conditions_and_tables_speak_of_dates() -> None:
    schema = wn.Schema.parse({"d": DAY | {"low": "2024-12-01"}, "g": 2})
    workload = wn.predicates([wn.where(d=("2024-12-24", "2024-12-27")), wn.where(d="2024-12-31")])
    bound = workload.over(schema)
    codes = [np.arange(31, dtype=np.int32), np.zeros(31, np.int32)]
    assert bound.counts(codes, np.ones(31, np.int64)).tolist() == [3, 1]
    assert schema.column("d").labels[23] == "2024-12-24"
    assert wn.Schema.parse(schema.to_dict()) == schema
    with pytest.raises(wn.ParameterError, match="is not a time of the column"):
        wn.where(d="2023-01-01").over(schema)


@given(st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1)))
@settings(max_examples=60, deadline=None)
def test_a_place_and_its_text_are_one(moment: datetime.datetime) -> None:
    whole = moment.replace(microsecond=0)
    text = instant_at(place_at(whole.isoformat(), "second"), "second")
    assert datetime.datetime.fromisoformat(text) == whole
    assert instant_at(place_at(whole.isoformat()[:10], "day"), "day") == whole.isoformat()[:10]
