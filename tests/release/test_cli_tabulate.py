"""``winnow tabulate`` and ``winnow plan tabulate`` on files."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from reference.commands import invoke


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(4)
    data = {"town": rng.choice(["Ulm", "Bonn"], 500), "age": rng.integers(0, 60, 500)}
    pd.DataFrame(data).to_csv(tmp_path / "people.csv", index=False)
    schema = {"town": {"values": ["Bonn", "Ulm"]}, "age": {"edges": [0, 20, 40, 60]}, "unused": 3}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str):
    return invoke(line.split())


TABLE = "tabulate people.csv --schema schema.json --epsilon 1 --one-row-per-person"


def test_tables_are_saved_with_their_receipt_and_drawn(folder) -> None:
    result = run(f"{TABLE} --by town,age --by age --out t.csv --plot t.png")
    assert result.exit_code == 0, result.stderr
    rows = pd.read_csv("t.csv")
    assert rows.table.tolist() == ["town x age"] * 6 + ["age"] * 3
    assert rows[rows.table == "age"].estimate.sum() == pytest.approx(500)
    assert json.loads((folder / "t.csv.receipt.json").read_text())["receipt"]["randomness"] == "os"
    assert (folder / "t.png").read_bytes()[:4] == b"\x89PNG"
    assert "measure-tables" in result.stdout


def test_json_alone_and_small_tables_on_the_terminal(folder) -> None:
    found = json.loads(run(f"{TABLE} --by town --json --seed 3").stdout)
    assert found["value"]["total"] == {"estimate": 500.0, "standard_error": 0.0}
    assert [row["town"] for row in found["value"]["tables"][0]["rows"]] == ["Bonn", "Ulm"]
    shown = run(f"{TABLE} --by town --seed 3").stdout
    assert "Bonn" in shown and "standard error" in shown and "seeded" in shown


def test_a_ledger_is_charged(folder) -> None:
    assert run("ledger init l.db --dataset d --epsilon 2 --relation substitution").exit_code == 0
    record = "--ledger l.db --dataset d"
    assert run(f"{TABLE} --by town {record}").exit_code == 0
    refused = run(f"{TABLE.replace('epsilon 1', 'epsilon 1.5')} --by town {record}")
    assert refused.exit_code == 3


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("", "say which tables"),
        ("--by town --workload marginals:1", "say which tables"),
        ("--by nowhere", "there is no column"),
        ("--by town --values town", "not numbers"),
        ("--by town --out people.csv", "is the file that is read"),
        ("--by town --out t.txt", "use one of"),
        ("--workload nothing", "is not a workload"),
        ("--by town --rows 7", "leave rows out"),
        ("--by town --epsilon -1", "not above 0"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(folder, rest: str, message: str) -> None:
    result = run(f"{TABLE} {rest}")
    assert result.exit_code == 2 and message in result.stderr
    assert "Traceback" not in result.stderr and result.stderr.count("\n") == 1


def test_a_report_has_the_tables_the_means_and_what_bins_do_to_them(folder) -> None:
    line = f"{TABLE} --by town --by age --values age --epsilon 1 --seed 3"
    result = run(f"{line} --report report.html")
    assert result.exit_code == 0 and "report.html" in result.stdout
    page = (folder / "report.html").read_text()
    for text in ("Bonn", "mean age", "middle of its bin", "What is promised", "Seeded", "Receipt"):
        assert text in page, text
    assert "middle of its bin" in json.loads(run(f"{line} --json").stdout)["value"]["notes"][0]
    assert "notes" not in json.loads(run(f"{TABLE} --by town --epsilon 1 --json").stdout)["value"]
    refused = run(f"{TABLE} --by town --report people.csv")
    assert refused.exit_code == 2 and "use one of .html" in refused.stderr


def test_the_plan_needs_no_data(folder) -> None:
    (folder / "people.csv").unlink()
    line = "plan tabulate --schema schema.json --by town,age"
    assert "plain noise" in run(f"{line} --epsilon 1").stdout
    found = json.loads(run(f"{line} --error 12 --json --out plan.csv").stdout)
    assert found["rows"][0]["largest"] <= 12 and len(pd.read_csv("plan.csv")) == 1
    assert run(line).exit_code == 2


def test_counts_are_shown_whole_and_intervals_outwards(folder) -> None:
    shown = run(f"{TABLE} --by town --epsilon 0.1 --seed 3").stdout
    rows = [line.split() for line in shown.split("\n") if line.split()[:1] in (["Bonn"], ["Ulm"])]
    held = json.loads(run(f"{TABLE} --by town --epsilon 0.1 --seed 3 --json").stdout)
    exact = held["value"]["tables"][0]["rows"]
    assert len(rows) == len(exact) == 2
    for (_, estimate, _, low, high), row in zip(rows, exact, strict=True):
        assert int(estimate) == round(row["estimate"])
        assert int(low) <= row["low"] < int(low) + 1 and int(high) - 1 < row["high"] <= int(high)
