"""A list of commands imports none of them; a command that is called is imported."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command

from winnow.cli.app import COMMANDS, app
from winnow.cli.lazy import CommandRow

MADE: Any = get_command(app)
ROOMS = sorted({row.place.partition(":")[0] for row in COMMANDS})


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: str(row.name))
def test_the_list_says_of_a_command_what_its_own_help_begins_with(row: CommandRow) -> None:
    assert MADE.commands[row.name].help.split("\n\n")[0] == row.help


def test_help_imports_no_command_and_nothing_that_draws() -> None:
    code = (
        "import sys; from winnow.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        f"print(sorted({{*{ROOMS!r}, 'rich', 'numpy'}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_a_command_is_made_once() -> None:
    assert MADE.commands["select"] is MADE.commands["select"]


def test_every_command_can_be_made() -> None:
    def walk(node: Any) -> list[str]:
        inner = getattr(node, "commands", None)
        return (
            [node.name]
            if inner is None
            else [name for each in inner.values() for name in walk(each)]
        )

    assert len(walk(MADE)) >= 30


def test_a_command_that_is_misspelt_is_refused_with_the_one_that_was_meant() -> None:
    from reference.commands import invoke

    result = invoke(["selct", "votes.csv"])
    assert result.exit_code == 2 and "select" in result.stderr
