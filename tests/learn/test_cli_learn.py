"""``winnow learn``: what it prints, saves, records and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from typer.testing import Result

import winnow as wn
from reference.commands import invoke
from winnow.learn.bound import MECHANISMS
from winnow.learn.methods import Selection

SCHEMA = {
    "age": {"edges": [0, 30, 50, 100]},
    "sex": {"values": ["f", "m"]},
    "rich": {"values": ["no", "yes"]},
}


def run(*arguments: object) -> Result:
    return invoke(arguments)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    generator = np.random.default_rng(4)
    age, sex = generator.integers(0, 100, 1717), generator.choice(["f", "m"], 1717)
    rich = np.where((age >= 50) & (sex == "m"), "yes", "no")
    frame = pd.DataFrame({"age": age, "sex": sex, "rich": rich, "who": np.arange(1717) // 2})
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path / "people.csv", tmp_path / "schema.json"


def words(files: tuple[Path, Path], *more: object, kind: str = "conjunctions:2") -> list[Any]:
    unit = [] if "--person" in more else ["--one-row-per-person"]
    return [
        "learn", files[0], "--target", "rich", "--method", kind, "--schema", files[1],
        *unit, *more,
    ]  # fmt: skip


def test_the_command_knows_every_mechanism() -> None:
    assert set(get_args(Selection)) == set(MECHANISMS)


def test_the_rule_the_bound_and_the_receipt_are_shown(files: tuple[Path, Path]) -> None:
    result = run(*words(files, "--epsilon", 3, "--delta", 1e-6, "--seed", 1))
    assert result.exit_code == 0 and result.stderr == ""
    for part in ("yes if age >= 50 and sex = m", "permute-and-flip", "on new rows", "3-DP"):
        assert part in result.stdout
    hidden = run(*words(files, "--epsilon", 3, "--relation", "add-remove"))
    assert hidden.exit_code == 0 and "1717" not in hidden.stdout + hidden.stderr
    assert "on new rows" not in hidden.stdout
    told = run(*words(files, "--epsilon", 3, "--relation", "add-remove", "--rows", 1700))
    assert told.exit_code == 0 and "on new rows" in told.stdout


def test_a_model_is_saved_and_tested_on_public_rows(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "model.json"
    result = run(
        *words(files, "--epsilon", 3, "--test", files[0], "--out", out, "--json", "--with-accuracy")
    )
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["test_accuracy"] == 1.0
    assert abs(document["value"]["correct"] - 1717) < 60
    loaded = wn.load_predictor(out)
    assert loaded.predict([[70, "m"], [70, "f"]]).tolist() == ["yes", "no"]


def test_an_additive_model_is_weighed_saved_and_tested(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "model.json"
    more = ("--epsilon", 8, "--delta", 1e-6, "--class-weights", "balanced", "--seed", 1)
    result = run(*words(files, *more, "--test", files[0], "--out", out, kind="additive"))
    assert result.exit_code == 0, result.output
    assert "classes balanced" in result.stdout and "balanced" in result.stdout
    assert wn.load_predictor(out).kind == "additive"
    weighed = run(*words(files, "--epsilon", 3, "--class-weights", "no=1,yes=3", "--json"))
    assert weighed.exit_code == 0, weighed.output
    for wrong in ("no=1", "no=1,maybe=2", "no=1,yes=much", "x"):
        refused = run(*words(files, "--epsilon", 3, "--class-weights", wrong))
        assert refused.exit_code == 2 and "Traceback" not in refused.output


def test_persons_with_several_rows_are_declared(files: tuple[Path, Path]) -> None:
    result = run(*words(files, "--epsilon", 3, "--person", "who", "--max-rows", 2))
    assert result.exit_code == 0 and "on new rows" not in result.stdout


def test_a_ledger_is_charged(files: tuple[Path, Path], tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    made = run(
        "ledger", "init", ledger, "--dataset", "people", "--epsilon", 1, "--relation",
        "substitution",
    )  # fmt: skip
    assert made.exit_code == 0, made.stderr
    record = ("--ledger", ledger, "--dataset", "people")
    first = run(*words(files, "--epsilon", 0.75, *record, "--json"))
    assert first.exit_code == 0, first.stderr
    assert json.loads(first.stdout)["receipt"]["ledger"] != "unrecorded"
    assert run(*words(files, "--epsilon", 0.75, *record)).exit_code == 3


@pytest.mark.parametrize(
    ("more", "kind", "message"),
    [
        (("--epsilon", 0), "stumps", "epsilon"),
        (("--epsilon", 1), "trees", "unknown"),
        (("--epsilon", 1, "--selection", "large-margin"), "stumps", "needs delta"),
        (("--epsilon", 1, "--out", "model.csv"), "stumps", "cannot save"),
        (("--epsilon", 1, "--test", "nowhere.csv"), "stumps", "no file"),
        (("--epsilon", 1, "--target", "age"), "stumps", "3 classes"),
        (("--epsilon", 1, "--dataset", "x"), "stumps", "ledger"),
        (("--epsilon", 1, "--max-rows", 2), "stumps", "needs --person"),
    ],
)
def test_bad_input_is_refused_without_a_traceback(
    files: tuple[Path, Path], more: tuple[object, ...], kind: str, message: str
) -> None:
    result = run(*words(files, *more, kind=kind))
    assert result.exit_code == 2 and message in result.stderr
    assert "Traceback" not in result.output


def test_without_a_word_the_better_of_two_models_is_saved_and_read_back(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "vote.json"
    given = ["learn", files[0], "--target", "rich", "--schema", files[1], "--one-row-per-person"]
    result = run(*given, "--epsilon", 2, "--seed", 1, "--out", out, "--test", files[0])
    assert result.exit_code == 0 and "boosting" in result.stdout and "tables" in result.stdout
    assert wn.load_predictor(out).kind in ("boosted:2", "additive")
    shown = json.loads(run(*given, "--epsilon", 2, "--seed", 1, "--json").stdout)
    assert shown["value"] == json.loads(out.read_text())["value"]
    planned = run(
        "plan", "learn", "--schema", files[1], "--target", "rich", "-n", 1717, "--epsilon", 2,
        "--json",
    )  # fmt: skip
    assert json.loads(planned.stdout)["mechanism"] == shown["receipt"]["mechanism"]


@pytest.mark.parametrize(
    ("weights", "said"),
    [("no=1,yes=2,yes=3", "twice"), ("no=1", "lack 'yes'"), ("no=1,maybe=2", "CLASS=WEIGHT")],
)
def test_weights_that_do_not_fit_are_refused(
    files: tuple[Path, Path], weights: str, said: str
) -> None:
    result = run(*words(files, "--epsilon", 1, "--class-weights", weights))
    assert result.exit_code != 0 and said in result.stderr


def test_a_target_with_one_class_is_refused_before_the_table_is_read(
    files: tuple[Path, Path],
) -> None:
    files[1].write_text(json.dumps(SCHEMA | {"rich": {"values": ["no"]}}))
    result = run(*words(files, "--epsilon", 1))
    assert result.exit_code != 0 and "has 1 label" in result.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--method", "stumps", "--rounds", 3), "is for boosted; one-rule has none"),
        (("--method", "boosted", "--with-accuracy"), "is for one-rule; boosted has none"),
        (("--confidence", 0.9), "is for one-rule; choose it with"),
        (("--method", "boosted:2", "--size", 2), "leave out one"),
        (("--method", "boosted", "--rounds", 0), "below 1"),
        (("--method", "conjunctions"), "conjunctions:N"),
    ],
)
def test_an_option_of_another_method_is_refused_by_name(
    files: tuple[Path, Path], more: tuple[object, ...], message: str
) -> None:
    given = ["learn", files[0], "--target", "rich", "--schema", files[1], "--one-row-per-person"]
    result = run(*given, "--epsilon", 1, *more)
    assert result.exit_code == 2 and message in result.stderr
    planned = run(
        "plan", "learn", "--schema", files[1], "--target", "rich", "-n", 9, "--epsilon", 1, *more
    )
    assert planned.exit_code == 2 and message in planned.stderr


def test_a_plan_is_of_a_schema_or_of_a_number_of_rules(files: tuple[Path, Path]) -> None:
    numbers = ("plan", "learn", "--hypotheses", 500, "-n", 3000, "--epsilon", 1)
    shown = run(*numbers, "--delta", 1e-6, "--near", 3)
    assert shown.exit_code == 0 and "rows behind" in shown.stdout
    half = json.loads(run(*numbers, "--method", "one-rule", "--with-accuracy", "--json").stdout)
    assert half["epsilon"] == 0.5
    schema = ("--schema", files[1], "--target", "rich")
    stumps = run("plan", "learn", *schema, "-n", 3000, "--epsilon", 1, "--method", "stumps")
    assert stumps.exit_code == 0 and "permute-and-flip" in stumps.stdout
    for wrong, message in (
        (("plan", "learn", "-n", 9, "--epsilon", 1), "--schema"),
        ((*numbers, *schema), "leave it out"),
        ((*numbers, "--method", "boosted"), "leave it out"),
        (
            ("plan", "learn", *schema, "-n", 3000, "--epsilon", 1, "--near", 3),
            "nothing is promised",
        ),
    ):
        refused = run(*wrong)
        assert refused.exit_code == 2 and message in refused.stderr
