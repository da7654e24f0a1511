"""Options from the environment and from a file: the command line first, then they, in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reference.commands import invoke

PASSWORD = "hunter2"


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text("tree,n\nalder,1\noak,73519\nelm,2\n")
    return path


def settings(folder: Path, text: str) -> Path:
    path = folder / "nightly.toml"
    path.write_text(text)
    return path


def epsilon_of(*words: object, **environment: str) -> float:
    done = invoke([*words, "--json"], env=environment)
    assert done.exit_code == 0, done.stderr
    return float(json.loads(done.stdout)["guarantee"]["epsilon"])


def test_the_line_comes_before_the_environment_and_that_before_the_file(
    votes: Path, tmp_path: Path
) -> None:
    file = settings(tmp_path, "epsilon = 1\n[select]\nepsilon = 2\n")
    asked = ["select", votes, "--settings", file]
    own = {"WINNOW_SELECT_EPSILON": "4"}
    assert epsilon_of(*asked, "--epsilon", 5, WINNOW_EPSILON="3", **own) == 5
    assert epsilon_of(*asked, WINNOW_EPSILON="3", **own) == 4
    assert epsilon_of(*asked, WINNOW_EPSILON="3") == 3
    assert epsilon_of(*asked) == 2
    assert epsilon_of("select", votes, "--settings", settings(tmp_path, "epsilon = 1\n")) == 1


def test_the_file_can_be_named_in_the_environment(votes: Path, tmp_path: Path) -> None:
    file = settings(tmp_path, "epsilon = 0.25\n")
    assert epsilon_of("select", votes, WINNOW_SETTINGS=str(file)) == 0.25


def test_flags_lists_and_pairs_can_be_set_everywhere(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"a": 2, "b": 3}))
    asked: list[object] = ["plan", "tabulate", "--schema", schema, "--epsilon", 1]

    def document(*words: object, **environment: str) -> Any:
        done = invoke([*asked, *words], env=environment)
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    typed = document("--by", "a", "--by", "b", "--json")
    assert document(WINNOW_BY="a b", WINNOW_JSON="true") == typed
    file = settings(tmp_path, 'json = true\n[plan.tabulate]\nby = ["a", "b"]\n')
    assert document("--settings", file) == typed
    one = document("--by", "a,b", "--json")
    assert document("--settings", settings(tmp_path, 'json = true\nby = "a,b"\n')) == one
    some = document("--workload", "marginals:1", "--columns", "b,a", "--json")
    text = 'json = true\nworkload = "marginals:1"\ncolumns = ["b", "a"]\n'
    assert document("--settings", settings(tmp_path, text)) == some


def test_a_pair_of_numbers_can_be_set_everywhere(tmp_path: Path) -> None:
    for name, text in {"A": "1,2\n2,1\n", "b": "30\n40\n", "c": "1\n1\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    line = ["plan", "lp", tmp_path / "A.csv", "--b", tmp_path / "b.csv", "--c", tmp_path / "c.csv",
            "--method", "scalar-sides", "--sensitivity", 1, "--epsilon", 1,
            "--json"]  # fmt: skip
    typed = invoke([*line, "--opt", "10,30"])
    assert typed.exit_code == 0, typed.stderr
    assert invoke(line, env={"WINNOW_OPT": "10,30"}).stdout == typed.stdout
    for text in ("opt = [10, 30]\n", 'opt = "10,30"\n'):
        assert invoke([*line, "--settings", settings(tmp_path, text)]).stdout == typed.stdout


def test_a_command_takes_of_the_top_what_it_has(votes: Path, tmp_path: Path) -> None:
    file = settings(tmp_path, 'epsilon = 1\nmax-rows = 3\n[top-k]\nk = 5\nitem = "page"\n')
    assert epsilon_of("select", votes, "--settings", file) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("epsilom = 1\n", "epsilom"),
        ("[select]\nepsilom = 1\n", "not an option of winnow select"),
        ("[selekt]\nepsilon = 1\n", "[selekt]"),
        ("[plan.selekt]\nepsilon = 1\n", "[plan.selekt]"),
        ("[plan]\nepsilon = 1\n", "[plan.select]"),
        ("[select.more]\nepsilon = 1\n", "[select.more]"),
        ("seed = 1\n", "command line alone"),
        ("[select]\nseed = 1\n", "command line alone"),
        ("epsilon = [[1]]\n", "not a text, a number"),
        ("epsilon = = 1\n", "cannot be read"),
    ],
)
def test_what_no_command_takes_is_refused_by_name(
    votes: Path, tmp_path: Path, text: str, says: str
) -> None:
    done = invoke(["select", votes, "--epsilon", 1, "--settings", settings(tmp_path, text)])
    assert done.exit_code == 2 and done.stdout == ""
    assert says in done.stderr and "Traceback" not in done.stderr


def test_a_file_that_is_not_there_is_refused(votes: Path, tmp_path: Path) -> None:
    done = invoke(["select", votes, "--epsilon", 1, "--settings", tmp_path / "none.toml", "--json"])
    assert done.exit_code == 2 and json.loads(done.stderr)["error"]["kind"] == "DataError"


def test_a_seed_is_not_taken_from_the_environment(votes: Path) -> None:
    done = invoke(["select", votes, "--epsilon", 1, "--json"], env={"WINNOW_SEED": "1"})
    assert json.loads(done.stdout)["receipt"]["randomness"] == "os"


def test_a_wrong_value_is_refused_with_where_it_stands(votes: Path) -> None:
    done = invoke(["select", votes, "--json"], env={"WINNOW_EPSILON": "much"})
    assert done.exit_code == 2
    assert "(from WINNOW_EPSILON)" in json.loads(done.stderr)["error"]["message"]


def test_a_ledger_can_be_named_once_for_all_commands(votes: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    invoke(["ledger", "init", ledger, "--dataset", "trees", "--epsilon", 1])
    file = settings(tmp_path, f'ledger = "{ledger}"\ndataset = "trees"\n')
    done = invoke(["select", votes, "--epsilon", 1, "--settings", file, "--json"])
    assert json.loads(done.stdout)["receipt"]["ledger"].startswith("ledger.db#")


ADDRESS = f"postgresql://ann:{PASSWORD}@127.0.0.1:1/none"
ASKED = ("--epsilon", 1, "--dataset", "trees")


def test_a_password_is_refused_on_the_line_and_shown_nowhere(votes: Path, tmp_path: Path) -> None:
    on_the_line = invoke(["select", votes, *ASKED, "--ledger", ADDRESS])
    assert "list of processes" in on_the_line.stderr
    variable = invoke(["select", votes, *ASKED, "--log-json"], env={"WINNOW_LEDGER": ADDRESS})
    file = settings(tmp_path, f'ledger = "{ADDRESS}"\n')
    file.chmod(0o600)
    named = invoke(["select", votes, *ASKED, "--settings", file, "--json"])
    for done in (variable, named):
        assert done.exit_code in (2, 3) and "list of processes" not in done.stderr
    for done in (on_the_line, variable, named):
        assert PASSWORD not in done.output


def test_a_file_with_a_password_that_others_can_read_is_refused(
    votes: Path, tmp_path: Path
) -> None:
    file = settings(tmp_path, f'ledger = "{ADDRESS}"\n')
    file.chmod(0o644)
    done = invoke(["select", votes, *ASKED, "--settings", file])
    assert done.exit_code == 3 and "chmod 600" in done.stderr and PASSWORD not in done.stderr
