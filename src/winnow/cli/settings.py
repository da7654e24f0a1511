"""Options from the environment and from a file, for what the command line does not say.

``--max-rows`` of ``winnow learn`` is, in this order, what stands on the command line, in
WINNOW_LEARN_MAX_ROWS, in WINNOW_MAX_ROWS, in the table [learn] of the settings file as
``max-rows``, or at the file's top, where options stand that several commands share.

A few options are said on the command line or not at all: those that end privacy (a seed, true
answers in a report) must not be turned on by a line that somebody forgot in a file.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

from winnow.errors import DataError, ParameterError
from winnow.foreign import instead, reason

PREFIX = "WINNOW"
ON_THE_LINE = frozenset({"seed", "unsafe_show_private", "yes", "help"})
"""The parameters that are said on the command line alone."""

elsewhere: ContextVar[Mapping[str, str]] = ContextVar("elsewhere", default=MappingProxyType({}))
"""Where the parameters of the command that runs come from, if not from the command line."""


def found_elsewhere(
    params: list[Any], words: tuple[str, ...], file: Path | None
) -> Iterator[tuple[str, Any, str]]:
    """Parameters with their values and where these stand: a variable, or the file."""
    read = {} if file is None else _read(file, words, params)
    for param in params:
        if param.param_type_name != "option" or param.name in ON_THE_LINE:
            continue
        for name in map(_words_of, param.opts):
            variable = next((v for v in _variables(words, name) if os.environ.get(v)), None)
            if variable is not None:
                text = os.environ[variable]
                several = param.multiple or param.nargs != 1
                yield param.name, shlex.split(text) if several else text, variable
                break
            if name in read:
                yield param.name, _as_typed(read[name], param), str(file)
                break


def _as_typed(value: Any, param: Any) -> Any:
    """A value of a file as the option takes it: a list where it may be given often, else a text."""
    if param.nargs != 1:
        return value.split() if isinstance(value, str) else value
    if param.multiple:
        return [value] if isinstance(value, str) else value
    return ",".join(value) if isinstance(value, list) else value


def _words_of(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def _variables(words: tuple[str, ...], name: str) -> tuple[str, str]:
    """Of this command alone, and of all."""
    own = "_".join((PREFIX, *words, name)).replace("-", "_").upper()
    return own, f"{PREFIX}_{name}".upper()


def _read(file: Path, words: tuple[str, ...], params: list[Any]) -> dict[str, Any]:
    """What a settings file says of a command."""
    with instead(
        lambda error: DataError(
            f"--settings {file} cannot be read: {reason(error)}; name a TOML file"
        ),
        OSError, UnicodeError, tomllib.TOMLDecodeError,
    ):  # fmt: skip
        document: Any = tomllib.loads(file.read_text("utf-8"))
    _check_secrets(file, document)
    mine = {_words_of(flag) for param in params for flag in param.opts}
    shared = {_words_of(name): _value(value, name, file)
              for name, value in document.items() if not isinstance(value, dict)}  # fmt: skip
    _check_known(file, document, set(shared) - mine)
    table = document
    for word in words:
        table = table.get(word, {}) if isinstance(table, dict) else {}
    own: dict[str, Any] = {}
    for name, value in table.items() if table is not document else ():
        if isinstance(value, dict):  # of a command below this word
            continue
        if _words_of(name) not in mine:
            raise ParameterError(
                f"{name} in [{'.'.join(words)}] of {file} is not an option of winnow "
                f"{' '.join(words)}; see winnow {' '.join(words)} --help"
            )
        own[_words_of(name)] = _value(value, name, file)
    for name in {**shared, **own}:
        if name in ON_THE_LINE:
            raise ParameterError(
                f"{name} in {file} is for the command line alone, where everybody sees it; take "
                "it out of the file"
            )
    return {**shared, **own}


def _value(value: Any, name: str, file: Path) -> Any:
    """A value as it would be typed; what it has to be is checked with the option."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return [str(each) for each in value]
    if isinstance(value, str | int | float):
        return str(value)
    raise ParameterError(
        f"{name} in {file} is not a text, a number, true, false, or a list of these"
    )


def _check_known(file: Path, document: dict[str, Any], strange: set[str]) -> None:
    """Refuse a name that is an option of no command, or a table that is of none."""
    if not strange and not any(isinstance(value, dict) for value in document.values()):
        return
    from typer.main import get_command

    from winnow.cli.app import app

    root: Any = get_command(app)
    tables = {name: value for name, value in document.items() if isinstance(value, dict)}
    _check_tables(file, tables, root, ())
    if strange:
        known = {_words_of(flag) for param in _params(root.commands) for flag in param.opts}
        for name in sorted(strange - known):
            raise ParameterError(
                f"{name} in {file} is not an option of any command; check its name"
            )


def _check_tables(file: Path, table: dict[str, Any], node: Any, words: tuple[str, ...]) -> None:
    """Refuse tables that are of no command, and options of a word that is no whole command."""
    below = getattr(node, "commands", {})
    for name, value in table.items():
        here = ".".join((*words, name))
        if isinstance(value, dict):
            if name not in below:
                raise ParameterError(f"[{here}] in {file} is not a command; see winnow --help")
            _check_tables(file, value, below[name], (*words, name))
        elif below:
            known = ", ".join(f"[{'.'.join((*words, each))}]" for each in below)
            raise ParameterError(
                f"{name} in [{'.'.join(words)}] of {file} does not belong to one command; write "
                f"it at the top, or in one of {known}"
            )


def _params(commands: Mapping[str, Any]) -> Iterator[Any]:
    for command in commands.values():
        inner = getattr(command, "commands", None)
        yield from command.params if inner is None else _params(inner)


def _check_secrets(file: Path, document: Any) -> None:
    """Refuse a file with a password that others can read."""
    from winnow.privacy.ledger.addresses import has_password
    from winnow.privacy.ledger.keys import check_private

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for each in value.values():
                yield from texts(each)
        elif isinstance(value, str):
            yield value

    if any("://" in text and has_password(text) for text in texts(document)):
        check_private(file, "an address with a password")
