"""``winnow schema``: drafts from public names, marks of what was looked at, the owner's check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import winnow as wn
from winnow.audit.replay.commands import shown

SECRET = "Zzyzx 73519"
TABLE = f"age,sex,town,visit\n23,F,Ulm,2024-01-05\nold,M,{SECRET},2024-03-05\n44,,Ulm,2025-02-07\n"
BOOK = """\
column,type,values,range,bins,outside,missing
age,integer,,0..120,6,other,
sex,text,F|M,,,,yes
visit,month,,,,,
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE)
    Path("book.csv").write_text(BOOK)


def test_a_draft_holds_the_names_and_nothing_else_of_the_file() -> None:
    drafted = shown("schema", "draft", "t.csv")
    assert drafted.exit == 0
    document = json.loads(drafted.stdout)
    assert [name for name in document if name != "_comment"] == ["age", "sex", "town", "visit"]
    assert "Ulm" not in drafted.stdout and "2024-03-05" not in drafted.stdout
    Path("t.csv").write_text('age,sex,town,visit\n"a stray" quote and \xff\n')
    assert shown("schema", "draft", "t.csv").stdout == drafted.stdout  # the rest is not even read
    with pytest.raises(wn.InputError, match="are still to be filled in"):
        wn.Schema.parse(document)


def test_a_first_line_that_looks_like_data_is_not_written_down() -> None:
    Path("none.csv").write_text(f"23,{SECRET}\n44,Ulm\n")
    refused = shown("schema", "draft", "none.csv")
    assert refused.exit == 2 and "looks like data" in refused.stderr
    assert SECRET not in refused.stdout + refused.stderr
    assert SECRET in shown("schema", "draft", "none.csv", "--header").stdout


def test_a_draft_from_a_codebook_holds_what_it_declares_and_is_ready_for_use() -> None:
    done = shown("schema", "draft", "t.csv", "--from-codebook", "book.csv", "--out", "s.json")
    assert done.exit == 0 and "3 columns, 0 to be filled in" in done.stdout
    assert "gives no values for them: 'town'" in done.stderr
    declared = json.loads(Path("s.json").read_text())
    assert any("'town'" in line for line in declared["_comment"])
    schema = wn.Schema.parse(declared)
    assert schema.shape == (7, 3, 12)
    assert schema.notes == "values outside count as 'other': 'age'"
    assert shown("schema", "check", "t.csv", "--schema", "s.json").exit == 0
    again = shown("schema", "draft", "t.csv", "--out", "s.json")
    assert again.exit == 2 and "exists already" in again.stderr


def test_a_codebook_without_values_leaves_all_columns_to_be_filled_in() -> None:
    Path("open.csv").write_text("column,type\nage,integer\nsex,text\n")
    drafted = shown("schema", "draft", "t.csv", "--from-codebook", "open.csv")
    document = json.loads(drafted.stdout)
    assert [name for name in document if name != "_comment"] == ["age", "sex", "town", "visit"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("Age,text,a|b,,,,", "did you mean 'age'?"),
        ("age,number,a|b,,,,", "'a' is not a number"),
        ("age,blob,a|b,,,,", "type='blob' is unknown"),
        ("age,integer,,5,,,", "low..high"),
        ("age,integer,,9..1,3,,", "do not increase"),
        ("age,text,a|a,,,,", "appears more than once"),
        ("age,text,a|b,,,burn,", "give other, clip or drop"),
        ("age,text,a|b", "has 3 fields"),
    ],
)
def test_a_wrong_codebook_is_refused_with_its_line(row: str, said: str) -> None:
    Path("book.csv").write_text(BOOK.partition("\n")[0] + f"\n{row}\n")
    refused = shown("schema", "draft", "t.csv", "--from-codebook", "book.csv")
    assert refused.exit == 2 and "line 2" in refused.stderr and said in refused.stderr


def test_a_range_with_a_step_keeps_its_numbers_and_dates() -> None:
    Path("book.csv").write_text(
        "column,type,range,step\nage,real,0..200,0.5\nvisit,date,2024-01-01..2024-12-31,1\n"
        "town,time,2024-01-01T00:00..2024-01-02T00:00,hour\n"
    )
    document = json.loads(shown("schema", "draft", "t.csv", "--from-codebook", "book.csv").stdout)
    assert document["age"] == {"type": "number", "low": 0, "high": 200, "step": 0.5}
    assert document["visit"]["type"] == "date"
    held = wn.Schema.parse({name: document[name] for name in ("age", "visit", "town")})
    assert held.shape == (401, 366, 25)


@pytest.mark.parametrize(
    ("said", "problem"),
    [("real,0..1,0.3,", "does not divide"), ("real,0..1,0.1,5", "give one of them"),
     ("time,2024-01-01..2024-02-01,year,", "unit='year' is unknown")],
)  # fmt: skip
def test_a_step_that_makes_no_grid_is_refused_with_its_line(said: str, problem: str) -> None:
    Path("book.csv").write_text(f"column,type,range,step,bins\nage,{said}\n")
    refused = shown("schema", "draft", "t.csv", "--from-codebook", "book.csv")
    assert refused.exit == 2 and "line 2" in refused.stderr and problem in refused.stderr


def test_what_was_looked_at_is_marked_to_the_receipt() -> None:
    looked = shown("schema", "draft", "t.csv", "--unsafe-look", "--out", "s.json")
    assert looked.exit == 0 and "warning" in looked.stderr and SECRET not in looked.stderr
    schema = wn.Schema.parse("s.json")
    assert all(column.chosen_by_looking for column in schema.columns)
    assert "chosen by looking at the private data" in Path("s.json").read_text()
    words = ("tabulate", "t.csv", "--schema", "s.json", "--one-row-per-person", "--by", "sex")
    released = shown(*words, "--epsilon", 1, "--seed", 1, "--json")
    assert "chosen by looking" in json.loads(released.stdout)["receipt"]["schema"]
    assert shown("schema", "check", "t.csv", "--schema", "s.json").exit == 0


def test_a_proposal_fits_the_data_it_was_made_of(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "real": [i / 7 for i in range(100)],
            "few": [i % 3 for i in range(100)],
            "many": [f"name {i}" for i in range(100)],
            "day": pd.date_range("2024-01-01", periods=100),
            "nothing": [None] * 100,
        }
    )
    for name in ("t.csv", "t.parquet"):
        write = frame.to_parquet if name.endswith("parquet") else frame.to_csv
        write(name, index=False)
        found = shown("schema", "draft", name, "--unsafe-look")
        forms = json.loads(found.stdout)
        assert forms["few"]["values"] == [0, 1, 2] and forms["many"]["buckets"] == 64
        assert forms["real"]["clip"] and forms["day"]["edges"] == ["2024-01-01", "2024-04-09"]
        Path("s.json").write_text(found.stdout)
        checked = shown("schema", "check", name, "--schema", "s.json")
        assert checked.exit == 0, checked


def test_a_check_tells_all_problems_at_once_and_says_that_they_are_private() -> None:
    declared: dict[str, Any] = {
        "age": {"edges": [0, 30], "clip": True},
        "sex": {"values": ["F"]},
        "Town": {"values": ["Ulm"]},
        "visit": {"edges": ["2024-01-01", "2025-01-01"], "drop": True},
        "rooms": {},
    }
    Path("s.json").write_text(json.dumps(declared))
    checked = shown("schema", "check", "t.csv", "--schema", "s.json", "--json")
    assert checked.exit == 1 and SECRET not in checked.stdout
    document = json.loads(checked.stdout)
    assert document["private"].startswith("PRIVATE")
    assert len(document["problems"]) == 1 and "'rooms'" in document["problems"][0]
    found = {each.pop("column"): each for each in document["columns"]}
    assert found["age"]["outside"] == 2 and found["age"]["refused"]  # 'old' is no number
    assert found["sex"] == {
        "outside": 1,
        "missing": 1,
        "consequence": "the table is refused",
        "refused": True,
    }
    assert "did you mean 'town'?" in found["Town"]["consequence"]
    assert found["visit"]["outside"] == 1 and not found["visit"]["refused"]
    for_people = shown("schema", "check", "t.csv", "--schema", "s.json")
    assert for_people.stdout.startswith("PRIVATE") and for_people.exit == 1


def test_a_check_agrees_with_the_reader() -> None:
    forms: list[Any] = [
        {"edges": [0, 100]},
        {"edges": [0, 30], "clip": True},
        {"edges": [0, 100], "other": True},
        {"edges": [0, 30], "drop": True},
        {"values": ["23", "old", "44"]},
        {"values": ["23", "44"]},
        {"codes": 50, "missing": True},
        {"buckets": 3},
        {"calendar": "month"},
    ]
    for form in forms:
        Path("s.json").write_text(json.dumps({"age": form}))
        checked = shown("schema", "check", "t.csv", "--schema", "s.json")
        try:
            wn.read_table("t.csv", schema="s.json", relation="add-remove")
        except wn.InputError:
            assert checked.exit == 1, form
        else:
            assert checked.exit == 0, form


def test_blanks_around_values_and_columns_left_open_are_said_once() -> None:
    Path("b.csv").write_text("sex, town, x, y\nF, Ulm, 1, 2\nM, Bonn, 1, 2\nF, Rom, 1, 2\n")
    Path("b.json").write_text(
        json.dumps({"town": {"values": ["Ulm", "Bonn"], "other": True}, "x": {}, "y": {}})
    )
    document = json.loads(shown("schema", "check", "b.csv", "--schema", "b.json", "--json").stdout)
    assert document["columns"][0]["outside"] == 3
    assert '2 would fit with "trim": true' in document["columns"][0]["consequence"]
    assert len(document["problems"]) == 1
    assert "columns 'x', 'y' are still to be filled in" in document["problems"][0]
    Path("c.csv").write_text("column,type,values,trim\ntown,text,Ulm|Bonn,yes\n")
    drafted = shown("schema", "draft", "b.csv", "--from-codebook", "c.csv")
    assert json.loads(drafted.stdout)["town"]["trim"] is True
