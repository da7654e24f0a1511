"""Options that commands share are added in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from winnow.cli.app import COMMANDS, RELEASE, app
from winnow.cli.making import unbundled
from winnow.cli.options import JoinedFiles
from winnow.cli.private_table import PrivateTable
from winnow.cli.recording import Record
from winnow.read.options import TextFormat

MADE = get_command(app).commands  # type: ignore[attr-defined]
RELEASING = sorted(row.name for row in COMMANDS if row.panel == RELEASE)


@pytest.mark.parametrize("name", RELEASING)
def test_a_command_that_releases_has_every_option_of_the_record(name: str) -> None:
    options = {parameter.name for parameter in MADE[name].params}
    assert {field.name for field in fields(Record)} <= options


@pytest.mark.parametrize("name", ["ask", "learn", "release", "tabulate"])
def test_a_command_that_reads_a_table_has_every_option_of_one(name: str) -> None:
    options = {parameter.name for parameter in MADE[name].params}
    assert {field.name for field in fields(PrivateTable)} - {"text", "joined"} <= options
    for bundle in (TextFormat, JoinedFiles):
        assert {field.name for field in fields(bundle)} <= options


def test_there_are_commands_that_release() -> None:
    assert {"select", "top-k", "release", "ask"} <= set(RELEASING)


@dataclass(frozen=True)
class Pair:
    left: Annotated[int, typer.Option("--left")] = 1
    right: Annotated[str, typer.Option("--right")] = "r"


NOTHING = Pair()


def test_a_bundle_is_taken_as_one_value_and_shown_as_options() -> None:
    def command(
        name: str, pair: Pair = NOTHING, last: Annotated[int, typer.Option("--last")] = 3
    ) -> None:
        """Say what was given."""
        typer.echo(f"{name} {pair} {last}")

    own = typer.Typer()
    own.command()(unbundled(command))
    run = CliRunner().invoke
    assert run(own, ["a"]).output == "a Pair(left=1, right='r') 3\n"
    given = run(own, ["a", "--right", "x", "--last", "5", "--left", "2"]).output
    assert given == "a Pair(left=2, right='x') 5\n"
    assert [p.name for p in get_command(own).params][:4] == ["name", "left", "right", "last"]
