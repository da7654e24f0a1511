"""Columns of dates, calendars, equal bins, buckets and missing values; comments and marks."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

import winnow as wn

KINDS: dict[str, Any] = {
    "day": {"edges": ["2024-01-01", "2024-07-01T12:30", datetime.date(2025, 1, 1)]},
    "month": {"calendar": "month", "missing": True},
    "year": {"calendar": "year", "values": [2024, 2025], "drop": True},
    "income": {"range": [0, 1], "bins": 3, "clip": True, "missing": "unknown", "na": ["NA"]},
    "street": {"buckets": 64, "trim": True, "other": True},
    "rooms": {"codes": 4, "missing": True, "other": True},
    "town": {"values": ["a", "b"], "missing": True, "chosen_by_looking": True},
}


def test_every_kind_has_one_label_for_each_code_and_survives_its_file(tmp_path: Any) -> None:
    schema = wn.Schema.parse(KINDS)
    assert schema.shape == (2, 13, 2, 4, 65, 6, 3)
    for column in schema.columns:
        assert len(column.labels) == len(set(column.labels)) == column.cardinality
    assert schema.column("day").labels == (
        "[2024-01-01, 2024-07-01T12:30:00)",
        "[2024-07-01T12:30:00, 2025-01-01]",
    )
    assert schema.column("income").edges == (0, 1 / 3, 2 / 3, 1)
    assert schema.column("income").labels[-1] == "unknown"
    assert schema.column("rooms").labels == (0, 1, 2, 3, "missing", "other")
    schema.save(tmp_path / "schema.json")
    assert wn.Schema.parse(tmp_path / "schema.json") == schema


def test_comments_are_passed_over_and_a_column_of_that_name_is_still_one() -> None:
    declared = {"_comment": ["a", "b"], "age": {"_comment": "years", "codes": 3}}
    assert wn.Schema.parse(declared) == wn.Schema.parse({"age": 3})
    assert wn.Schema.parse({"_comment": 3}).names == ("_comment",)
    with pytest.raises(wn.InputError, match="is for texts"):
        wn.Schema.parse({"age": {"_comment": 3, "codes": 3}})


def test_all_problems_of_a_schema_are_told_at_once() -> None:
    with pytest.raises(wn.InputError) as caught:
        wn.Schema.parse({"a": {}, "b": {"values": []}, "c": 3, "d": {"edges": [2, 1]}})
    said = str(caught.value)
    assert said.startswith("3 columns are not declared well")
    assert "'a' is still to be filled in" in said
    assert "'b' has no values" in said and "'d': the edges do not increase" in said


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"edges": ["2024-02-30", "2025-01-01"]}, "not a date or time"),
        ({"edges": ["2024-01-01", 3]}, "not a number"),
        ({"edges": ["2024-01-01T00:00:00+01:00", "2025-01-01"]}, "without a time zone"),
        ({"edges": ["2025-01-01", "2024-01-01"]}, "do not increase"),
        ({"calendar": "decade"}, "one of year, quarter, month, weekday, hour"),
        ({"calendar": "year"}, "which years"),
        ({"calendar": "month", "values": [1, 13]}, "is not a month"),
        ({"range": [0, 1]}, "give one of"),
        ({"range": [1, 0], "bins": 2}, "do not increase"),
        ({"range": [0, "1"], "bins": 2}, "pair of numbers"),
        ({"range": [0, 1], "bins": 0}, "1 or more"),
        ({"values": ["a"], "missing": "none"}, "as null among its values"),
        ({"values": ["a"], "missing": True, "na": ["a"]}, "choose one"),
        ({"values": ["a"], "na": [1]}, "not a list of texts"),
        ({"codes": 3, "other": True, "drop": True}, "give one"),
        ({"codes": 3, "other": "x", "missing": "x"}, "different labels"),
        ({"buckets": 0}, "1 or more"),
        ({"buckets": 3, "clip": True}, "clip is for edges"),
    ],
)
def test_wrong_declarations_are_refused_with_the_reason(declared: Any, message: str) -> None:
    with pytest.raises(wn.InputError, match=message):
        wn.Schema.parse({"x": declared})


def test_conditions_speak_of_dates_calendars_and_missing_values() -> None:
    schema = wn.Schema.parse(KINDS)

    def codes(**conditions: Any) -> Any:
        (name,) = conditions
        small = schema.subset([name])
        query = wn.where(**conditions).over(small)
        size = small.cells
        return [i for i in range(size) if query.answers([float(i == j) for j in range(size)])[0]]

    assert codes(day=("2024-01-01", datetime.datetime(2024, 7, 1, 12, 30))) == [0]
    assert codes(month=(6, 9)) == [5, 6, 7]
    assert codes(month=None) == [12]
    assert codes(income="unknown") == [3]
    assert codes(rooms=["missing", "other"]) == [4, 5]
    assert codes(street="other") == [64]
    for wrong in ({"day": ("2024-03-01", None)}, {"street": (1, 3)}, {"month": "June"}):
        with pytest.raises(wn.InputError):
            codes(**wrong)


def test_buckets_and_times_have_no_ranges_sums_or_rules_where_these_mean_nothing() -> None:
    schema = wn.Schema.parse(KINDS)
    with pytest.raises(wn.InputError, match="buckets, which have no order"):
        wn.prefixes("street").over(schema)
    assert wn.prefixes("day").over(schema).size == 2
    for name in ("day", "month", "income", "street", "rooms"):
        with pytest.raises(wn.InputError, match="values that are not numbers"):
            wn.plan.tabulate(wn.plan.table(schema), [["town"]], epsilon=1, values=[name])


def test_the_notes_say_what_becomes_of_values_outside() -> None:
    notes = wn.Schema.parse(KINDS).notes
    assert "chosen by looking at the private data, outside the guarantee: 'town'" in notes
    assert "clipped: 'income'" in notes and "left out: 'year'" in notes
    assert "count as 'other': 'street', 'rooms'" in notes
    assert wn.Schema.parse({"a": 3}).notes == ""


def test_a_bucket_is_that_of_the_public_hash() -> None:
    column = wn.Schema.parse({"x": {"buckets": 10}}).columns[0]
    counted = [0] * 10
    for i in range(2000):
        counted[column.bucket(f"name {i}")] += 1
    assert min(counted) > 120 and max(counted) < 290  # 200 expected, 6 standard deviations
    assert json.dumps(column.to_dict()) == '{"buckets": 10}'
