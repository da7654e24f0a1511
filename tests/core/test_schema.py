"""The public schema: what may be declared, and that nothing else is taken."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import winnow as wn

LONG = {
    "age": {"edges": [0, 40, 60.5, 120], "clip": True},
    "sex": {"values": ["Female", "Male", None], "other": "anything else"},
    "code": {"codes": 3, "other": True},
    "rank": 7,
    "ok": {"values": [False, True]},
    "size": {"values": [1, 2.5]},
}


def test_the_short_form_declares_integer_codes() -> None:
    schema = wn.Schema.parse({"a": 3, "b": np.int64(2)})
    assert schema.shape == (3, 2) and schema.cells == 6 and schema.names == ("a", "b")
    assert schema.columns[0].labels == (0, 1, 2) and schema.columns[0].kind == "codes"


def test_the_long_forms_have_labels_for_every_code() -> None:
    schema = wn.Schema.parse(LONG)
    assert schema.shape == (3, 4, 4, 7, 2, 2)
    assert schema.column("age").labels == ("[0, 40)", "[40, 60.5)", "[60.5, 120]")
    assert schema.column("sex").labels == ("Female", "Male", None, "anything else")
    assert schema.column("code").labels == (0, 1, 2, "other")
    for column in schema.columns:
        assert len(column.labels) == column.cardinality == len(set(column.labels))


def test_a_schema_survives_its_file(tmp_path) -> None:
    schema = wn.Schema.parse(LONG)
    schema.save(tmp_path / "schema.json")
    assert wn.Schema.parse(tmp_path / "schema.json") == schema
    assert wn.Schema.parse(str(tmp_path / "schema.json")) == schema
    assert wn.Schema.parse(schema) is schema


@given(
    st.dictionaries(
        st.text(min_size=1).filter(str.strip),
        st.one_of(
            st.integers(1, 50),
            st.lists(st.text(), min_size=1, max_size=5, unique=True)
            .filter(lambda values: "other" not in values)
            .map(lambda values: {"values": values, "other": True}),
            st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=6, unique=True).map(
                lambda edges: {"edges": sorted(edges)}
            ),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_what_is_declared_comes_back(declared) -> None:
    schema = wn.Schema.parse(declared)
    again = wn.Schema.parse(json.loads(json.dumps(schema.to_dict())))
    assert again == schema and again.cells == math.prod(schema.shape)


def test_true_and_one_are_different_schemas() -> None:
    assert wn.Schema.parse({"a": {"values": [0, 1]}}) != wn.Schema.parse(
        {"a": {"values": [False, True]}}
    )


def test_a_wide_domain_is_counted_in_python_integers() -> None:
    schema = wn.Schema.parse({f"c{i}": 100 for i in range(12)})
    assert schema.cells == 10**24 and "10^24.0" in repr(schema)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({}, "no columns"),
        ([1], "give a dict"),
        ({"": 3}, "not the name of a column"),
        ({7: 3}, "not the name of a column"),
        ({"a": 0}, "1 or more"),
        ({"a": -2}, "1 or more"),
        ({"a": True}, "number of codes"),
        ({"a": 2.0}, "number of codes"),
        ({"a": "3"}, "number of codes"),
        ({"a": None}, "number of codes"),
        ({"a": [1, 2]}, "number of codes"),
        ({"a": {}}, "still to be filled in"),
        ({"a": {"valeus": [1]}}, "valeus"),
        ({"a": {"values": [1], "edges": [0, 1]}}, "give one of"),
        ({"a": {"values": []}}, "no values"),
        ({"a": {"values": "abc"}}, "give a list"),
        ({"a": {"values": [1, "1"]}}, "different things"),
        ({"a": {"values": [1, True]}}, "different things"),
        ({"a": {"values": ["x", "y", "x"]}}, "'x' appears more than once"),
        ({"a": {"values": [1, 1.0]}}, "more than once"),
        ({"a": {"values": [float("nan")]}}, "cannot be declared|can be declared"),
        ({"a": {"values": [[1], [2]]}}, "is a list"),
        ({"a": {"values": ["other"], "other": True}}, "adds it again"),
        ({"a": {"values": ["x"], "other": 3}}, "not true, false or a label"),
        ({"a": {"values": ["x"], "clip": True}}, "clip is for edges"),
        ({"a": {"edges": [1]}}, "at least two"),
        ({"a": {"edges": [1, 1]}}, "do not increase"),
        ({"a": {"edges": [2, 1]}}, "do not increase"),
        ({"a": {"edges": [0, float("inf")]}}, "not finite"),
        ({"a": {"edges": [0, float("nan")]}}, "not finite"),
        ({"a": {"edges": [0, "1"]}}, "not a number"),
        ({"a": {"edges": [False, True]}}, "not a number"),
        ({"a": {"edges": [0, 1], "clip": "yes"}}, "not true or false"),
    ],
)
def test_wrong_schemas_are_refused_with_the_reason(declared, message: str) -> None:
    with pytest.raises(wn.InputError, match=message):
        wn.Schema.parse(declared)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 3', "cut off"),
        ("", "cut off"),
        ("[1]", "not one JSON object"),
        ('{"a": 3, "a": 4}', "more than once"),
        ('{"a": {"edges": [0, NaN]}}', "not finite"),
    ],
)
def test_wrong_files_are_refused_with_the_reason(tmp_path, text: str, message: str) -> None:
    file = tmp_path / "schema.json"
    file.write_text(text)
    with pytest.raises(wn.InputError, match=message):
        wn.Schema.parse(file)


def test_files_that_cannot_be_read_or_written_are_said(tmp_path) -> None:
    with pytest.raises(wn.InputError, match="no schema file"):
        wn.Schema.parse(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(wn.InputError, match="cannot be read"):
        wn.Schema.parse(tmp_path / "bytes.json")
    with pytest.raises(wn.InputError, match="cannot be written"):
        wn.Schema.parse({"a": 1}).save(tmp_path / "no" / "folder.json")


def test_columns_are_found_by_name() -> None:
    schema = wn.Schema.parse({"a": 2, "b": 3, "c": 4})
    assert schema.position("b") == 1 and schema.subset(["c", "a"]).shape == (4, 2)
    for wrong, message in ((["d"], "no column 'd'"), (["a", "a"], "more than once"),
                           ([], "no column is named"), ("ab", "not a list")):  # fmt: skip
        with pytest.raises(wn.InputError, match=message):
            schema.subset(wrong)
    with pytest.raises(wn.InputError, match="more than once"):
        wn.Schema((schema.columns[0], schema.columns[0]))
