"""``winnow ask``: the language of questions, batches, the prompt, and refusals."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.commands import invoke
from winnow import InputError
from winnow.ask.cli.prompt import _complete_with, completions, question_from
from winnow.privacy.ledger import Ledger

WEIGHTS = ["--method", "multiplicative-weights"]
SCHEMA = wn.Schema.parse(
    {
        "sex": {"values": ["Female", "Male"]},
        "age": {"edges": [0, 40, 60, 120]},
        "hours per week": 99,
        "town": {"values": ["Ulm", "Bad Urach", "A, B"]},
        "rate": {"values": [1.5, 2.5]},
    }
)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("sex = Female, age = 40..60", "sex=Female, age=[40, 60)"),
        ("sex=Male and hours per week=..40", "sex=Male, hours per week in 0 to 39"),
        ('town = "A, B"|Bad Urach & rate=2.5', "town in Bad Urach, A, B, rate=2.5"),
        ("age = 60..", "age=[60, 120]"),
        ('age = "[40, 60)"', "age=[40, 60)"),
        ("hours per week = 7", "hours per week=7"),
    ],
)
def test_questions_are_read(text: str, label: str) -> None:
    assert question_from(text, SCHEMA).over(SCHEMA).label(0) == label


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sex", "no '='"),
        ("sex = Fe = x", "two '='"),
        ("foo = 1", "no column 'foo'"),
        ("age = 41..50", "not an edge"),
        ("sex = |", "missing"),
        ("sex = Female,", "empty"),
        ('town = "A', "not closed"),
        ("age = a..b", "not a number"),
        ("age = 1..2..3", "low..high"),
        ("sex = Other", "not a declared value"),
        ("sex = Male, sex = Female", "two conditions"),
        ("", "no question"),
    ],
)
def test_what_is_no_question_is_explained(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        question_from(text, SCHEMA)


def test_started_lines_are_completed() -> None:
    assert completions("se", SCHEMA) == ["sex = "]
    assert completions("sex = Female, to", SCHEMA) == ["sex = Female, town = "]
    assert completions("town = ", SCHEMA) == [
        "town = Ulm", 'town = "Bad Urach"', 'town = "A, B"'
    ]  # fmt: skip
    assert completions("town = Ulm|B", SCHEMA) == ['town = Ulm|"Bad Urach"']
    assert completions("nothing = ", SCHEMA) == []
    for line in completions("town = ", SCHEMA):
        question_from(line, SCHEMA)


def test_the_line_editor_completes(monkeypatch: pytest.MonkeyPatch) -> None:
    readline = pytest.importorskip("readline")
    _complete_with(SCHEMA)
    complete = readline.get_completer()
    try:
        assert complete(":b", 0) == ":budget" and complete(":b", 1) is None
        assert complete("ra", 0) == "rate = "
    finally:
        readline.set_completer(None)
    monkeypatch.setitem(sys.modules, "readline", None)
    _complete_with(SCHEMA)  # no line editor: nothing happens


@pytest.fixture
def files(tmp_path: Path) -> Path:
    random = np.random.default_rng(3)
    lines = ["sex,age"]
    for sex, age in zip(
        random.choice(["Female", "Male"], 4000, p=[0.3, 0.7]), random.integers(0, 120, 4000),
        strict=True,
    ):  # fmt: skip
        lines.append(f"{sex},{age}")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    schema = SCHEMA.subset(["sex", "age"])
    schema.save(tmp_path / "schema.json")
    (tmp_path / "questions.txt").write_text("# two\nsex = Female\n\nsex = Male, age = 40..60\n")
    return tmp_path


def run(folder: Path, *more: str, text: str | None = None) -> Any:
    arguments = [
        "ask", str(folder / "people.csv"), "--schema", str(folder / "schema.json"),
        "--epsilon", "8", "--delta", "1e-6", "--max-queries", "100",
    ]  # fmt: skip
    if "--method" not in more:
        arguments += [*WEIGHTS, "--updates", "20"]
    unit = [] if "--person" in more else ["--one-row-per-person"]
    return invoke([*arguments, *unit, *more], input=text)


def test_a_batch_becomes_csv_or_json(files: Path) -> None:
    shown = run(files, "--batch", str(files / "questions.txt"), "--seed", "1")
    assert shown.exit_code == 0, shown.output
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert [row["question"] for row in rows] == ["sex = Female", "sex = Male, age = 40..60"]
    assert all(abs(float(r["value"]) - t) <= float(r["error"]) for r, t in zip(
        rows, (0.3, 0.117), strict=True))  # fmt: skip
    assert "recommended" in shown.stderr and "2 answers" in shown.stderr
    as_json = run(files, "--batch", str(files / "questions.txt"), "--seed", "1", "--json")
    document = json.loads(as_json.stdout)
    assert [a["value"] for a in document["answers"]] == [float(row["value"]) for row in rows]
    assert document["status"] == "open" and document["guarantee"]["epsilon"] == 8
    for name in ("a.csv", "a.json"):
        saved = run(files, "--batch", str(files / "questions.txt"), "--out", str(files / name))
        assert saved.exit_code == 0 and (files / name).read_text()
    assert len(json.loads((files / "a.json").read_text())["answers"]) == 2


def test_answers_about_bounded_people_say_what_was_counted(files: Path) -> None:
    """Beside each answer of a file, and before the first of a prompt; without a bound nowhere."""
    text = (files / "people.csv").read_text().splitlines()
    named = [f"{line},{'who' if number == 0 else number // 3}" for number, line in enumerate(text)]
    (files / "people.csv").write_text("\n".join(named) + "\n")
    people = ["--person", "who", "--max-rows", "2", "--rows", "2600", "--method", "independent"]
    batch = ["--batch", str(files / "questions.txt")]
    counted = "at most 2 rows of each who"
    listed = list(csv.DictReader(io.StringIO(run(files, *people, *batch).stdout)))
    assert [row["counted"] for row in listed] == [counted] * 2
    saved = run(files, *people, *batch, "--out", str(files / "a.csv"))
    assert saved.exit_code == 0 and (files / "a.csv").read_text().count(counted) == 2
    asked = run(files, *people, "--yes", text="sex = Male\n")
    assert f"counted: {counted}; errors and intervals are about what was counted" in asked.stderr
    plain = run(files, "--method", "independent", *batch).stdout
    assert "counted" not in plain.splitlines()[0]


def test_a_hypothesis_is_saved_as_a_synthetic_table(files: Path) -> None:
    out = files / "synthetic.csv"
    made = run(files, "--synthesise", "marginals:2", "--out", str(out), "--seed", "1",
               "--beta", "0.1", "--memory", "100MB")  # fmt: skip
    assert made.exit_code == 0, made.output
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(rows) == 4000 and set(rows[0]) == {"sex", "age"}
    assert abs(sum(row["sex"] == "Female" for row in rows) / 4000 - 0.3) < 0.1
    assert "passes" in made.stderr and (files / "synthetic.csv.receipt.json").exists()


def test_the_prompt_answers_and_knows_its_commands(files: Path) -> None:
    typed = "sex = Female\n:budget\n:plan\n:columns\n:help\n\n:nonsense\nsex = Other\n:quit\n"
    shown = run(files, text=typed)
    assert shown.exit_code == 0, shown.output
    assert "of 4,000" in shown.stdout and "for all answers together" in shown.stdout
    assert "1 of 100" in shown.stdout and "unrecorded" in shown.stdout
    assert "100 questions about 4,000 rows" in shown.stdout
    assert "sex: Female, Male" in shown.stdout and ":columns" in shown.stdout
    assert "not a command" in shown.stderr and "not a declared value" in shown.stderr


def test_a_session_is_gone_on_with(files: Path) -> None:
    state = str(files / "session")
    first = run(files, "--state", state, text="sex = Female\n")
    again = run(files, "--state", state, text=":budget\nsex = Male\n")
    assert first.exit_code == again.exit_code == 0
    assert "continuing" in again.stderr and "1 of 100" in again.stdout
    assert "recommended" not in again.stderr


def test_independent_answers_are_asked_for_and_gone_on_with(files: Path) -> None:
    asked = ["ask", str(files / "people.csv"), "--schema", str(files / "schema.json"),
             "--one-row-per-person",
             "--epsilon", "8", "--delta", "1e-6", "--max-queries", "3", "--method"]  # fmt: skip
    state = ["--state", str(files / "s")]
    typed = "sex = Female\nsex = Female\n:budget\n:plan\n"
    first = invoke([*asked, "auto", *state], input=typed)
    assert first.exit_code == 0, first.output
    lines = first.stdout.splitlines()
    assert lines[0] == lines[1] and "independent" in lines[0]
    assert "1 of 3" in first.stdout and "recommended: independent" in first.stdout
    batch = ["--batch", str(files / "questions.txt"), "--json"]
    again = invoke([*asked, "independent", *state, *batch])
    found = json.loads(again.stdout)
    assert [a["kind"] for a in found["answers"]] == ["independent"] * 2
    assert [a["number"] for a in found["answers"]] == [None, 1]
    (files / "questions.txt").write_text("sex = Male\nage = 0..40\n")
    over = invoke([*asked, "independent", *state, *batch])
    assert over.exit_code == 2 and "2 new questions were asked, and only 1 of the 3" in over.stderr


def test_a_plan_of_both_methods_is_shown_and_saved(files: Path) -> None:
    plan = ["plan", "ask", "-n", "48842", "--epsilon", "1", "--delta", "1e-6"]
    sizes = ["--cells", "120960", "--max-queries", "20000"]
    shown = invoke([*plan, *sizes, "--out", str(files / "plan.csv")])
    assert shown.exit_code == 0, shown.output
    last = [line.split()[-1] for line in shown.stdout.splitlines() if ",000 " in line]
    assert last[:5] == ["independent", "independent", "independent", "hypothesis", "hypothesis"]
    assert "20,000 questions about 48,842 rows" in shown.stdout
    saved = list(csv.DictReader((files / "plan.csv").open()))
    assert [row["max_queries"] for row in saved] == ["1000", "10000", "20000", "100000", "1000000"]
    assert {row["recommended"] for row in saved} == {"independent", "multiplicative-weights"}
    tiny = ["plan", "ask", "-n", "10", "--epsilon", "0.01", "--delta", "1e-6", "--json"]
    hopeless = json.loads(invoke([*tiny, "--schema", str(files / "schema.json")]).stdout)
    assert hopeless["plan"] is None
    assert {row["recommended"] for row in hopeless["compared"]} == {"none"}
    for wrong in ([], ["--cells", "5", "--schema", str(files / "schema.json")], ["--cells", "0"]):
        assert invoke([*plan, *wrong]).exit_code == 2


def test_a_session_can_be_recorded(files: Path) -> None:
    ledger = str(files / "ledger.db")
    Ledger.open(ledger, create=True).open_dataset(
        "people", epsilon=8, delta=1e-6, delta_for_events=1e-7, relation="substitution"
    )
    options = ["--ledger", ledger, "--dataset", "people", "--batch", str(files / "questions.txt")]
    recorded = run(files, *options, "--json")
    assert recorded.exit_code == 0, recorded.output
    receipt = json.loads(recorded.stdout)["receipt"]
    opened = Ledger.open(ledger)
    assert opened.verify(head=receipt["ledger"]).ok
    refused = run(files, *options, "--json")
    assert refused.exit_code == 3 and "asks for epsilon 8 and delta 1e-06" in refused.stderr
    opened.open_dataset(
        "again", epsilon=8, delta=1e-6, delta_for_events=1e-7, relation="substitution"
    )
    options[3] = "again"
    state = ["--state", str(files / "s")]
    assert "other labels before ('people')" in run(files, *options, *state).stderr
    options[3] = "people"
    assert "recorded under the dataset 'again'" in run(files, *options, *state).stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--json"], "for a --batch"),
        (["--batch", "missing.txt"], "cannot be read"),
        (["--batch", "QUESTIONS", "--out", "a.txt"], "use one of .csv, .json"),
        (["--batch", "QUESTIONS", "--out", "no/a.csv"], "there is no folder"),
        (["--batch", "QUESTIONS", "--json", "--out", "a.csv"], "not both"),
        (["--delta", "0"], "delta"),
        (["--synthesise", "marginals:1"], "needs --out"),
        (["--synthesise", "marginals:1", "--out", "a.txt"], "use one of"),
        (["--synthesise", "marginals:1", "--json"], "leave out"),
        (["--synthesise", "marginals:1", "--out", "a.csv", "--method", "independent"], "no hypo"),
        (["--smoothness", "1", *WEIGHTS], "universe"),
        (["--phi", "0.1", *WEIGHTS], "universe"),
        (["--universe", "12", "--smoothness", "1", "--phi", "far"], "not a number"),
        (["--universe", "missing.csv", *WEIGHTS], "nor a file with a list"),
        (["--universe", "QUESTIONS", *WEIGHTS], "give the columns"),
        (["--warm-start", "much", *WEIGHTS], "is not a number; give one, or auto"),
        (
            ["--threshold", "0.1", "--method", "auto"],
            "choose it with --method mult",
        ),
        (["--threshold", "0.1", "--method", "independent"], "independent has none"),
        (["--relation", "add-remove"], "public number"),
        (["--dataset", "people"], "--ledger"),
        (["--person", "sex", "--state", "s"], "--salt"),
    ],
)
def test_bad_options_are_refused(
    files: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], why: str
) -> None:
    monkeypatch.chdir(files)
    named = [str(files / "questions.txt") if o == "QUESTIONS" else o for o in options]
    result = run(files, *named, text="")
    assert result.exit_code == 2 and why in result.stderr and "Traceback" not in result.output


@pytest.mark.parametrize("options", [["--batch", "questions.txt"], ["--synthesise", "marginals:1"]])
@pytest.mark.parametrize("target", ["people.csv", "schema.json", "kept.csv", "linked.csv"])
def test_results_never_replace_the_data_the_schema_or_the_state(
    files: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], target: str
) -> None:
    monkeypatch.chdir(files)
    (files / "linked.csv").symlink_to("people.csv")
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    result = run(files, *options, "--out", target, "--state", "kept.csv", text="")
    assert result.exit_code == 2 and "is the file that is read" in result.stderr
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_a_universe_is_a_number_or_a_file_with_a_list_of_cells(files: Path) -> None:
    """The columns of the file may have any order; its cells alone carry weight."""
    cells = ["age,sex", '"[0, 40)",Male', '"[40, 60)",Male', '"[60, 120]",Male']
    (files / "cells.csv").write_text("\n".join(cells) + "\n")
    method = ["--method", "multiplicative-weights"]
    batch = ["--batch", str(files / "questions.txt"), "--json", *method, "--updates", "20"]
    listed = run(files, *batch, "--universe", str(files / "cells.csv"), "--phi", "0.4")
    assert listed.exit_code == 0, listed.output
    sampled = run(files, *batch, "--universe", "4", "--smoothness", "1", "--phi", "rows")
    assert sampled.exit_code == 2 and "nothing would be learned" in sampled.stderr
    plan = [
        "plan",
        "ask",
        "-n",
        4000,
        "--epsilon",
        1,
        "--delta",
        1e-6,
        "--max-queries",
        99,
        *method,
    ]
    cells_of = ["--universe", files / "cells.csv"]
    planned = invoke([*plan, "--schema", files / "schema.json", *cells_of, "--json"])
    assert json.loads(planned.stdout)["plan"]["expected"]["universe"]["kept"] == 3
    assert "needs --schema" in invoke([*plan, "--cells", 6, *cells_of]).stderr
    onto = run(files, "--batch", str(files / "questions.txt"), "--out", str(files / "cells.csv"),
               "--universe", str(files / "cells.csv"), *method)  # fmt: skip
    assert onto.exit_code == 2 and "--out" in onto.stderr


def test_a_bad_line_of_a_batch_is_named_before_anything_is_charged(files: Path) -> None:
    (files / "questions.txt").write_text("sex = Female\nsex = 7\n")
    result = run(files, "--batch", str(files / "questions.txt"), "--state", str(files / "s"))
    assert result.exit_code == 2 and "line 2" in result.stderr and not (files / "s").exists()
    (files / "questions.txt").write_text("# nothing\n")
    assert "no questions" in run(files, "--batch", str(files / "questions.txt")).stderr
