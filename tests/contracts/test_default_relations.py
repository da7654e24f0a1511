"""One kind of data has one default relation, in the library, in plans, commands and the server."""

from __future__ import annotations

from inspect import Parameter, isclass, signature
from typing import Any, get_args

import pytest
from typer.main import get_command

import winnow as wn
from winnow.cli.app import app
from winnow.serve.declarations import Declaration, Kind

OF_TABLES = {
    "read_table",
    "SealedTable",
    "PrivateClassifier",
    "table",
    "labelled",
    "learning_bound",
}
"""Whose default is substitution: with one row of each person the number of rows is public."""
COMMANDS_OF_TABLES = {
    "release", "tabulate", "quantiles", "moments", "bounds", "histogram", "describe", "regress",
    "ask", "learn",
}  # fmt: skip


def usual(of_tables: bool) -> str:
    return "substitution" if of_tables else "add-remove"


def defaults(home: Any) -> dict[str, str]:
    """The default relation of every public name that has one; None leaves it to the data."""
    found = {}
    for name in dir(home):
        made = getattr(home, name)
        if name.startswith("_") or not callable(made):
            continue
        if isclass(made) and issubclass(made, Exception):
            continue  # errors have no signature of their own
        parameter = signature(made).parameters.get("relation")
        if parameter is not None and parameter.default not in (Parameter.empty, None):
            found[name] = str(parameter.default)
    return found


@pytest.mark.parametrize("home", [wn, wn.plan], ids=["library", "plans"])
def test_tables_have_one_default_and_all_other_data_the_other(home: Any) -> None:
    found = defaults(home)
    assert len(found) > 3
    assert found == {name: usual(name in OF_TABLES) for name in found}


def options_of_relation() -> dict[str, Any]:
    """The option of every command that has it."""
    found = {}
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for group, several in [("", commands), ("plan ", commands["plan"].commands)]:
        for name, command in several.items():
            for parameter in command.params:
                if parameter.name == "relation":
                    found[group + name] = parameter
    return found


def test_commands_have_the_default_of_their_data() -> None:
    found = options_of_relation()
    assert set(found) >= COMMANDS_OF_TABLES
    for words, parameter in found.items():
        own = usual(words.removeprefix("plan ") in COMMANDS_OF_TABLES)
        if parameter.default is None:
            assert parameter.help.endswith(f"or {own}."), words
        else:
            assert str(parameter.default) == own, words


@pytest.mark.parametrize("kind", get_args(Kind))
def test_datasets_of_a_server_have_the_default_of_their_kind(kind: Any) -> None:
    declared = Declaration(path="data.csv", epsilon=1, kind=kind)
    assert declared.neighbours == usual(kind == "table")
