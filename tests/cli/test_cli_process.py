"""The command as a process of its own: cold start, exit codes, signals, pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import winnow
from reference.commands import app, invoke
from reference.inside import Law
from winnow import BudgetExceeded
from winnow.core.options import options as winnow_options
from winnow.select.mechanisms.margin_search import THRESHOLDS
from winnow.select.methods import LargeMargin, NoiseName

INTERRUPTIBLE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from winnow.cli import main; main()"
)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(winnow.__file__).parents[1])}


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "winnow", *map(str, arguments)]
    settings: dict[str, object] = {"capture_output": True, "text": True, "timeout": 120}
    return subprocess.run(command, env=environment(), **{**settings, **options})  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text("tree,n\nalder,1\noak,73519\nelm,2\n")
    return path


def test_a_cold_start_selects(votes: Path) -> None:
    done = run("select", votes, "--epsilon", 1, "--json")
    assert done.returncode == 0 and done.stderr == ""
    assert json.loads(done.stdout)["value"] == "oak"


def test_bad_input_ends_with_2_and_no_traceback(tmp_path: Path) -> None:
    done = run("select", tmp_path / "none.csv", "--epsilon", 1)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: ") and "Traceback" not in done.stderr


def test_help_does_not_load_the_heavy_packages() -> None:
    code = (
        "import sys; from winnow.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'scipy', 'matplotlib', 'pyarrow', 'cryptography', 'narwhals'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_small_selection_does_not_load_numba_or_scipy(votes: Path) -> None:
    code = (
        "import sys; from winnow.cli.app import app\n"
        f"try: app(['select', {str(votes)!r}, '--epsilon', '1', '--json'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'scipy', 'matplotlib', 'pyarrow', 'pandas', 'polars', 'narwhals'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_is_a_message_and_130(tmp_path: Path) -> None:
    pipe = tmp_path / "slow.csv"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", INTERRUPTIBLE, "select", str(pipe), "--epsilon", "1"]
    with (
        subprocess.Popen(
            command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child,
        pipe.open("w"),
    ):  # waits until the child reads, and keeps it waiting
        child.send_signal(signal.SIGINT)
        stdout, stderr = child.communicate(timeout=120)
    assert child.returncode == 130
    assert stdout == ""
    assert stderr == "interrupted; nothing further was released\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_cannot_be_written_is_a_message_and_2(votes: Path) -> None:
    with open("/dev/full", "w") as full:
        done = run(
            "select", votes, "--epsilon", 1, "--json",
            stdout=full, stderr=subprocess.PIPE, capture_output=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    error = json.loads(done.stderr)["error"]
    assert error["kind"] == "OutputError"
    assert error["message"].startswith("the output could not be written: No space left")


def test_a_label_that_the_terminal_cannot_show_does_not_lose_the_result(tmp_path: Path) -> None:
    path = tmp_path / "votes.json"
    path.write_text('{"ch\\u00eane \\ud800": 90000, "b": 1}')
    done = subprocess.run(
        [sys.executable, "-m", "winnow", "select", str(path), "--epsilon", "9"],
        env={**environment(), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "ch\\xeane \\ud800" in done.stdout


def test_the_version_is_shown() -> None:
    result = invoke(["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"winnow {winnow.__version__}\n"


def test_help_lists_every_command_with_an_example() -> None:
    result = invoke(["--help"])
    assert result.exit_code == 0
    for word in ("select", "plan", "audit", "demo", "Examples:", "Exit codes"):
        assert word in result.stdout


@pytest.mark.parametrize("command", [["select"], ["plan", "select"], ["audit"], ["demo"]])
def test_every_option_has_a_help_text(command: list[str]) -> None:
    node = _click_command()
    for name in command:
        node = node.commands[name]
    for parameter in node.params:
        assert getattr(parameter, "help", None), parameter.name


def _click_command() -> object:
    from typer.main import get_command

    return get_command(app)


def test_the_choices_are_those_of_the_library() -> None:
    assert set(get_args(NoiseName)) == {str(law) for law in Law}
    (thresholds,) = winnow_options(LargeMargin)
    assert set(thresholds.words) == set(THRESHOLDS)


def test_a_refused_budget_is_exit_code_3(votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BudgetExceeded("epsilon 1 is asked for, and 0.5 is left; ask for less")

    monkeypatch.setattr(import_module("winnow.core.run"), "run", refuse)
    result = invoke(["select", str(votes), "--epsilon", "1"])
    assert result.exit_code == 3
    assert result.stderr == "error: epsilon 1 is asked for, and 0.5 is left; ask for less\n"
