"""Options of every command: quiet, logs of JSON, and errors as JSON, without private values."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import winnow as wn
from reference.commands import app, invoke
from winnow.cli.logs import public

CANARY = 918273
PERSON = "mallory-4711"
MADE: Any = get_command(app)


def walk(node: Any, words: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    inner = getattr(node, "commands", None)
    if inner is None:
        return [(words, node)]
    return [each for name, below in inner.items() for each in walk(below, (*words, name))]


EVERY = [(words, node) for words, node in walk(MADE) if words[0] != "serve"]


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(f"tree,n\nalder,1\noak,{CANARY}\nelm,2\n")
    return path


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    rows = [f"p{i},home" for i in range(300)] + [f"{PERSON},secret-page", f"{PERSON},home"]
    path.write_text("visitor,page\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def people(tmp_path: Path) -> tuple[Path, Path]:
    table, schema = tmp_path / "people.csv", tmp_path / "schema.json"
    rows = ["f,0" if i % 3 else "m,1" for i in range(400)]
    table.write_text("sex,bird\n" + "\n".join(rows) + "\n")
    schema.write_text(json.dumps({"sex": {"values": ["f", "m"]}, "bird": {"values": ["0", "1"]}}))
    return table, schema


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    made = invoke(["ledger", "init", path, "--dataset", "trees", "--epsilon", 1])
    assert made.exit_code == 0
    return path


def events(stderr: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stderr.splitlines()]


@pytest.mark.parametrize(("words", "node"), EVERY, ids=[" ".join(words) for words, _ in EVERY])
def test_every_command_has_the_options_of_a_run(words: tuple[str, ...], node: Any) -> None:
    flags = [flag for param in node.params for flag in param.opts]
    assert {"--quiet", "--log-json", "--settings"} <= set(flags)
    assert len(flags) == len(set(flags))


def test_a_quiet_command_saves_and_shows_nothing(votes: Path, tmp_path: Path) -> None:
    out = tmp_path / "top.json"
    done = invoke(["select", votes, "--epsilon", 1, "--quiet", "--out", out])
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert json.loads(out.read_text())["value"] == "oak"


def test_a_quiet_command_prints_the_json_that_was_asked_for(votes: Path) -> None:
    done = invoke(["select", votes, "--epsilon", 1, "--quiet", "--json"])
    assert json.loads(done.stdout)["value"] == "oak" and done.stderr == ""


def test_what_nobody_would_see_is_refused_before_it_is_paid_for(votes: Path, ledger: Path) -> None:
    recorded = ["--ledger", ledger, "--dataset", "trees"]
    done = invoke(["select", votes, "--epsilon", 1, "--quiet", *recorded])
    assert done.exit_code == 2 and "--json or --out" in done.stderr
    shown = json.loads(invoke(["ledger", "show", ledger, "--json"]).stdout)
    assert shown["datasets"][0]["charges"] == 0


def test_a_warning_is_shown_all_the_same(votes: Path) -> None:
    done = invoke(["select", votes, "--epsilon", 50, "--quiet", "--json"])
    assert done.stderr.startswith("warning: --epsilon 50")


def test_a_check_can_be_quiet_and_tells_by_its_exit_code(ledger: Path) -> None:
    done = invoke(["ledger", "verify", ledger, "--quiet"])
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


def test_a_log_says_what_was_asked_charged_released_and_written(
    votes: Path, ledger: Path, tmp_path: Path
) -> None:
    out = tmp_path / "top.json"
    recorded = ["--ledger", ledger, "--dataset", "trees", "--analyst", "ann"]
    done = invoke(["select", votes, "--epsilon", 0.5, "--out", out, "--log-json", *recorded])
    assert done.exit_code == 0 and "oak" in done.stdout
    told = events(done.stderr)
    assert [line["event"] for line in told] == ["asked", "charged", "released", "written", "ended"]
    asked, charged, released, written, ended = told
    assert asked["command"] == "select" and asked["options"]["epsilon"] == 0.5
    assert asked["options"]["ledger"] == "(given)" and asked["options"]["analyst"] == "ann"
    assert charged["charge"] == "PureDP(epsilon=0.5) under add-remove"
    assert charged["ledger"].startswith("ledger.db#")
    assert released["mechanism"] == "permute-and-flip" and released["randomness"] == "os"
    assert written["file"] == str(out) and ended["exit_code"] == 0
    assert all(line["seconds"] >= 0 and line["time"].endswith("+00:00") for line in told)


def test_a_log_ends_with_what_went_wrong(votes: Path, ledger: Path) -> None:
    recorded = ["--ledger", ledger, "--dataset", "trees"]
    done = invoke(["select", votes, "--epsilon", 3, "--log-json", *recorded])
    assert done.exit_code == 3
    *_, failed, ended = events(done.stderr)
    assert failed["event"] == "failed" and failed["kind"] == "BudgetExceeded"
    assert failed["level"] == "error" and ended["exit_code"] == 3


def test_logs_hold_no_private_value(
    votes: Path, visits: Path, people: tuple[Path, Path], tmp_path: Path
) -> None:
    table = [people[0], "--schema", people[1], "--one-row-per-person", "--log-json", "--json"]
    log = [visits, "--item", "page", "--person", "visitor", "-k", 1, "--delta", 1e-6, "--log-json"]
    for line in (
        ["select", votes, "--epsilon", 1, "--log-json"],
        ["select", votes, "--epsilon", 1, "--label", "none", "--log-json"],
        ["top-k", *log, "--epsilon", 1, "--max-items", 1],
        ["top-k", *log, "--epsilon", 1, "--count", "page", "--labels", "public"],
        ["tabulate", *table, "--by", "sex", "--epsilon", 1],
        ["tabulate", *table, "--by", "sex", "--epsilon", 1, "--names", "bird,sex"],
        ["learn", *table, "--target", "bird", "--epsilon", 1],
    ):
        done = invoke(line)
        told = events(done.stderr)
        assert told[-1]["event"] == "ended" and told[-1]["exit_code"] == done.exit_code
        said = str([{**each, "time": "", "seconds": 0} for each in told])
        said = said.replace(str(tmp_path), "")
        for private in (str(CANARY), PERSON, "secret-page", "266", "267", "133", "134"):
            assert private not in said, (line, private)
        released = [each for each in told if each["event"] == "released"]
        assert not released or set(released[0]) == {
            "time", "seconds", "level", "event", "mechanism", "guarantee", "randomness"
        }  # fmt: skip


def test_the_library_tells_python_s_logging_and_no_value(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "winnow"):
        wn.select({"oak-canary": CANARY, "elm": 1}, epsilon=1)
    charged, released = caplog.records
    assert charged.name == released.name == "winnow"
    assert charged.facts["charge"] == "PureDP(epsilon=1) under add-remove"  # type: ignore[attr-defined]
    assert released.getMessage().startswith("released: mechanism permute-and-flip")
    assert "canary" not in caplog.text and str(CANARY) not in caplog.text


def test_a_log_names_whom_the_data_are_about(
    visits: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("tail,late\n" + "\n".join(f"t{i // 3},{i % 2}" for i in range(60)) + "\n")
    planes = wn.read_table(
        rows, schema={"late": {"values": ["0", "1"]}}, person="tail", max_rows=2, rows=60
    )
    with caplog.at_level(logging.INFO, "winnow"):
        counts = wn.counts(visits, item="page", person="visitor", max_items=2)
        top = wn.top_k(counts, k=1, epsilon=1, delta=1e-6)
        wn.ask(planes, epsilon=1, delta=1e-6, max_queries=3, method="independent")
    facts: list[dict[str, Any]] = [vars(record)["facts"] for record in caplog.records]
    released, opened = (each["guarantee"] for each in facts if "guarantee" in each)
    assert released == str(top.guarantee)
    assert "protects each visitor" in released
    assert released.endswith("at most 2 pages of each are counted")
    assert "protects each tail" in opened and "at most 2 rows" in opened


def test_the_library_is_silent_unless_somebody_listens(capfd: pytest.CaptureFixture[str]) -> None:
    wn.select({"oak": 5, "elm": 1}, epsilon=1)
    assert capfd.readouterr() == ("", "")


def test_an_address_and_a_salt_are_not_logged() -> None:
    told = public(
        {"ledger": "postgresql://u:pw@h/d", "salt": "s3cret", "file": "x://u:pw@h", "k": 3}
    )
    assert told == {"ledger": "(given)", "salt": "(given)", "file": "(given)", "k": 3}


def test_errors_are_json_where_json_was_asked_for(votes: Path, ledger: Path) -> None:
    recorded = ["--ledger", ledger, "--dataset", "trees"]
    for line, kind, code, mend in (
        (["select", "none.csv", "--epsilon", 1], "DataError", 2, "check the path"),
        (["select", votes, "--epsilon", -1], "ParameterError", 2, None),
        (["select", votes, "--epsilon", 3, *recorded], "BudgetExceeded", 3, None),
        (["select", votes], "UsageError", 2, "see winnow select --help"),
        (["select", votes, "--epsilon", "much"], "UsageError", 2, "see winnow select --help"),
        (["select", votes, "--epsilom", 1], "UsageError", 2, "see winnow select --help"),
    ):
        done = invoke([*line, "--json"])
        assert done.exit_code == code and done.stdout == ""
        error = json.loads(done.stderr)["error"]
        assert error["kind"] == kind and error["exit_code"] == code
        assert error["message"].endswith(error["mend"]) and error["mend"]
        assert mend is None or error["mend"] == mend


def test_an_unexpected_error_is_json_without_its_text(
    votes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"private {CANARY}")

    monkeypatch.setattr("winnow.read.files.read_scores", broken)
    done = invoke(["select", votes, "--epsilon", 1, "--json"])
    error = json.loads(done.stderr)["error"]
    assert done.exit_code == 1 and error["kind"] == "Unexpected"
    assert str(CANARY) not in done.stderr
