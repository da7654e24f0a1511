"""Sessions and commands that charge to a ledger."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import winnow as wn
from reference.commands import invoke
from winnow import BudgetExceeded, InputError, RelationMismatch
from winnow.privacy.ledger import Ledger, RecordedBudget

TABLE = pd.DataFrame({"job": ["a", "b", "b", "c"] * 25, "age": [20, 30, 40, 50] * 25})
SCHEMA = {"job": {"values": ["a", "b", "c"]}, "age": {"edges": [0, 35, 100]}}


def sealed(relation: str = "add-remove", frame: pd.DataFrame = TABLE) -> wn.SealedTable:
    return wn.read_table(frame, schema=SCHEMA, relation=relation)


def test_a_session_on_a_ledger_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with wn.Session(sealed(), epsilon=1.0, ledger=place, dataset="census") as first:
        released = first.top_k("job", k=1, epsilon=0.6)
        assert released.value[0] in ("a", "b", "c")
    budget = RecordedBudget(Ledger.open(place), "census", analyst="bo")
    with wn.Session(sealed(), budget=budget) as second:
        assert second.budget.spent.amount == 0.6
        with pytest.raises(BudgetExceeded):
            second.top_k("job", k=1, epsilon=0.6)
        second.select({"x": 1, "y": 2}, epsilon=0.4)
    assert Ledger.open(place).verify(released.receipt.ledger).ok


def test_the_counts_of_a_column_are_those_of_the_table() -> None:
    with wn.Session(sealed(), epsilon=4000.0) as session:
        top = session.top_k("job", k=3, epsilon=2000.0, with_counts=True)
        assert top.value[0][0] == "b"
        assert all(abs(n - {"a": 25, "b": 50, "c": 25}[label]) <= 1 for label, n in top.value)


def test_more_rows_per_person_mean_more_noise() -> None:
    frame = TABLE.assign(who=[str(i // 4) for i in range(100)])
    table = wn.read_table(frame, schema=SCHEMA, person="who", max_rows=4, relation="add-remove")
    from winnow.read.crossing import column_counts

    assert column_counts(table, "job").utility.width == 4
    assert column_counts(sealed(), "job").utility.width == 1


def test_a_column_needs_a_table_and_a_ledger_needs_a_label(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without a table"):
        wn.Session(epsilon=1.0).top_k("job", k=1, epsilon=0.1)
    with pytest.raises(InputError, match="dataset="):
        wn.Session(epsilon=1.0, ledger=tmp_path / "l.db")
    with pytest.raises(InputError, match="belongs to a ledger"):
        wn.Session(epsilon=1.0, dataset="x")
    with pytest.raises(InputError, match="give epsilon="):
        wn.Session()
    with pytest.raises(InputError, match="says delta= already"):
        wn.Session(delta=1e-6, budget=wn.Budget(1.0))
    with pytest.raises(RelationMismatch):
        wn.Session(relation="substitution", budget=wn.Budget(1.0))
    with pytest.raises(InputError, match="is not a budget"):
        wn.Session(budget=1.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ledger init"):
        wn.Session(ledger=tmp_path / "l.db", dataset="x")
    with pytest.raises(InputError, match="read_table"):
        wn.Session(TABLE, epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no column"):
        wn.Session(sealed(), epsilon=1.0).top_k("jobs", k=1, epsilon=0.1)


def test_the_relation_of_a_recorded_dataset_stays(tmp_path: Path) -> None:
    place = tmp_path / "l.db"
    wn.Session(sealed("substitution"), epsilon=1.0, ledger=place, dataset="census")
    assert wn.Session(ledger=place, dataset="census").relation == "substitution"
    with pytest.raises(RelationMismatch):
        wn.Session(ledger=place, dataset="census", relation="add-remove")


def test_the_same_table_under_another_label_is_warned_about(tmp_path: Path) -> None:
    place = tmp_path / "l.db"
    wn.Session(sealed(), epsilon=1.0, ledger=place, dataset="census")
    shuffled = TABLE.sample(frac=1.0, random_state=1)
    with pytest.warns(UserWarning, match="other labels"):
        wn.Session(sealed(frame=shuffled), epsilon=1.0, ledger=place, dataset="again")


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text("city,votes\noak,41\nelm,3\n")
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = invoke(arguments)
    return result.exit_code, result.output


@pytest.mark.parametrize("command", ["select", "top-k", "itemsets"])
def test_commands_record_and_are_refused_with_exit_code_3(
    tmp_path: Path, votes: Path, command: str
) -> None:
    place = tmp_path / "l.db"
    assert run("ledger", "init", place, "--dataset", "v", "--epsilon", 1)[0] == 0
    extra: list[object] = {
        "select": [],
        "top-k": ["--item", "city", "--count", "votes", "--labels", "public", "-k", 1],
        "itemsets": [
            "--size",
            1,
            "--items",
            tmp_path / "items.txt",
            "--method",
            "exponential",
            "--one-basket-per-person",
        ],
    }[command]
    if command == "itemsets":
        votes.write_text("oak elm\noak\n")
        (tmp_path / "items.txt").write_text("oak\nelm\n")
        extra += ["--relation", "add-remove"]
    asked = [command, votes, *extra, "--epsilon", 0.7, "--ledger", place, "--dataset", "v"]
    code, output = run(*asked, "--json", "--analyst", "ann")
    assert code == 0, output
    head = json.loads(output)["receipt"]["ledger"]
    assert run("ledger", "verify", place, "--head", head)[0] == 0
    code, output = run(*asked)
    assert code == 3 and "is left" in output
    shown = json.loads(run("ledger", "show", place, "--json")[1])
    assert shown["datasets"][0]["used"] == 0.7
    charges = [entry for entry in shown["entries"] if entry["kind"] == "charge"]
    assert [charge["body"]["analyst"] for charge in charges] == ["ann"]
    assert run("ledger", "init", place, "--dataset", "w", "--epsilon", 1)[0] == 0
    code, output = run(*asked[:-1], "w")
    assert code == 0 and "the same data came under other labels before ('v')" in output


def test_bad_ledger_options_are_explained(tmp_path: Path, votes: Path) -> None:
    place = tmp_path / "l.db"
    base = ["select", votes, "--epsilon", 1]
    assert run(*base, "--dataset", "v")[0] == 2
    code, output = run(*base, "--ledger", place, "--dataset", "v")
    assert code == 2 and "ledger init" in output
    run("ledger", "init", place, "--dataset", "v", "--epsilon", 1, "--relation", "substitution")
    code, output = run(*base, "--ledger", place, "--dataset", "v")
    assert code == 2 and "--relation substitution" in output
    assert run(*base, "--ledger", place)[0] == 2
    again = ["ledger", "init", place, "--dataset", "v", "--relation", "substitution"]
    assert run(*again, "--epsilon", 2)[0] == 2


def test_a_ledger_is_shown_exported_and_its_damage_is_exit_code_1(tmp_path: Path) -> None:
    place = tmp_path / "l.db"
    run("ledger", "init", place, "--dataset", "v", "--epsilon", 1)
    code, output = run("ledger", "show", place)
    assert code == 0 and re.search(r"v +epsilon +0 +1 +1", output)
    for ending in ("csv", "json", "parquet"):
        assert run("ledger", "export", place, "--out", tmp_path / f"e.{ending}")[0] == 0
        assert (tmp_path / f"e.{ending}").stat().st_size > 0
    code, output = run("ledger", "verify", place, "--head", "9:" + "0" * 64)
    assert code == 1 and "NOT GENUINE" in output


def test_every_mechanism_hands_the_record_of_its_charge_to_the_receipt() -> None:
    """A receipt made without it would say 'unrecorded' for a charge that is recorded."""
    folder = Path(wn.__file__).parent / "mechanisms"
    for path in sorted(folder.glob("*.py")):
        text = path.read_text()
        for start in (m.start() for m in re.finditer(r"= Receipt\(", text)):
            call = text[start : text.index("\n        )", start)]
            assert "ledger=" in call, path.name
