"""``--columns`` keeps some columns of a schema, the same for every command that reads a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reference.commands import invoke

SCHEMA = {"sex": {"values": ["f", "m"]}, "bird": {"values": ["0", "1"]}, "town": 7}
TABLE = ["people.csv", "--one-row-per-person"]
LINES: dict[str, list[object]] = {
    "learn": ["learn", *TABLE, "--target", "bird", "--seed", 1],
    "tabulate": ["tabulate", *TABLE, "--workload", "marginals:2", "--seed", 1],
    "release": ["release", *TABLE, "--workload", "marginals:2", "--seed", 1],
    "plan learn": ["plan", "learn", "--target", "bird", "-n", 300],
    "plan tabulate": ["plan", "tabulate", "--workload", "marginals:2"],
    "plan release": ["plan", "release", "--workload", "marginals:2", "-n", 300],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["sex,bird,town"] + [f"{'fm'[i % 2]},{i % 3 % 2},{i % 7}" for i in range(300)]
    Path("people.csv").write_text("\n".join(rows) + "\n")
    Path("all.json").write_text(json.dumps(SCHEMA))
    Path("two.json").write_text(json.dumps({name: SCHEMA[name] for name in ("sex", "bird")}))


@pytest.mark.parametrize("name", LINES)
def test_some_columns_of_a_schema_are_a_schema_of_those(name: str) -> None:
    asked = [*LINES[name], "--epsilon", 1, "--json", "--schema"]
    some = invoke([*asked, "all.json", "--columns", "sex,bird"])
    assert some.exit_code == 0, some.stderr
    assert some.stdout == invoke([*asked, "two.json"]).stdout
    assert some.stdout != invoke([*asked, "all.json"]).stdout


@pytest.mark.parametrize("name", LINES)
def test_a_column_that_is_not_in_the_schema_is_refused(name: str) -> None:
    asked = [*LINES[name], "--epsilon", 1, "--schema", "all.json", "--columns", "sex,none"]
    done = invoke([*asked, "--json"])
    assert done.exit_code == 2 and "none" in done.stderr


def test_the_column_of_classes_needs_no_mention() -> None:
    asked = [*LINES["learn"], "--epsilon", 1, "--json", "--schema"]
    some = invoke([*asked, "all.json", "--columns", "sex"])
    assert some.exit_code == 0, some.stderr
    assert some.stdout == invoke([*asked, "two.json"]).stdout


def test_columns_without_a_schema_are_refused() -> None:
    line = ["plan", "learn", "--hypotheses", 50, "-n", 300, "--epsilon", 1, "--columns", "sex"]
    done = invoke(line)
    assert done.exit_code == 2 and "--columns" in done.stderr
