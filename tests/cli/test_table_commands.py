"""Commands about a private table share their options, and check, save and show in one way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reference.commands import invoke

COMMANDS = {
    "quantiles": ["--column", "x", "--quantiles", "0.25,0.5"],
    "moments": ["--values", "x"],
    "bounds": ["--column", "x"],
    "regress": ["--target", "x"],
    "histogram": ["--column", "x", "--bins", 3],
    "describe": [],
    "tabulate": ["--by", "g"],
}
DRAWN = ("histogram", "describe", "tabulate")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"p{i // 3},{i % 10},{'ab'[i % 2]}" for i in range(90))
    Path("people.csv").write_text(f"who,x,g\n{rows}\n")
    schema = {"x": {"type": "number", "low": 0, "high": 9}, "g": {"values": ["a", "b"]}}
    Path("schema.json").write_text(json.dumps(schema))
    return tmp_path


def line(command: str, *more: object) -> list[object]:
    table = [command, "people.csv", "--schema", "schema.json", "--person", "who", "--max-rows", 2]
    return [*table, *COMMANDS[command], "--epsilon", 1, *more]


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_writes_a_page_and_a_file(folder: Path, command: str) -> None:
    done = invoke(line(command, "--report", "page.html", "--out", "numbers.csv"))
    assert done.exit_code == 0, done.stderr
    page = Path("page.html").read_text()
    for said in ("What is promised", "Receipt", "at most 2 rows of each who", "<h1>"):
        assert said in page
    head = Path("numbers.csv").read_text().splitlines()[0]
    assert head.endswith("counted") and Path("numbers.csv.receipt.json").exists()
    assert "page.html" in done.stdout and "numbers.csv" in done.stdout


@pytest.mark.parametrize("command", list(COMMANDS))
def test_what_cannot_be_written_is_refused_before_a_charge(folder: Path, command: str) -> None:
    assert invoke(["ledger", "init", "l.db", "--dataset", "d", "--epsilon", 1]).exit_code == 0
    recorded = ["--ledger", "l.db", "--dataset", "d"]
    for wrong in (["--report", "page.pdf"], ["--out", "people.csv"], ["--out", "no/where.csv"]):
        done = invoke(line(command, *wrong, *recorded))
        assert done.exit_code == 2 and done.stderr.startswith("error:"), done.stderr
    shown = json.loads(invoke(["ledger", "show", "l.db", "--json"]).stdout)
    assert shown["datasets"][0]["charges"] == 0
    assert invoke(line(command, "--out", "n.json", *recorded)).exit_code == 0


@pytest.mark.parametrize("command", DRAWN)
def test_commands_with_a_figure_draw_it(folder: Path, command: str) -> None:
    done = invoke(line(command, "--plot", "drawn.svg"))
    assert done.exit_code == 0 and "drawn.svg" in done.stdout
    assert Path("drawn.svg").read_text().lstrip().startswith("<?xml")


def test_too_many_numbers_for_a_terminal_go_to_a_file_or_a_page(folder: Path) -> None:
    wide = {"x": {"type": "number", "low": 0, "high": 999}}
    Path("schema.json").write_text(json.dumps(wide))
    asked = line("histogram", "--bins", 300)
    refused = invoke(asked)
    assert refused.exit_code == 2 and "--report" in refused.stderr
    assert invoke([*asked, "--report", "page.html"]).exit_code == 0
    assert Path("page.html").read_text().count("<tr>") > 250


def test_tables_are_counted_with_the_estimate_of_what_was_cut(folder: Path) -> None:
    done = invoke(line("tabulate", "--with-cut", 0.1))
    assert done.exit_code == 0 and "left out" in done.stdout
