"""How a command is made: its bundles become options, its docstring its help.

Bundles: options that several commands share, taken by each of them as one value.

A bundle is a frozen dataclass whose fields are options. A command has one parameter of that type;
``unbundled`` shows Typer the fields in its place. So an option that is added to a bundle is on
every command that takes the bundle.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from importlib import import_module
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand
from typer.main import get_command

from winnow.cli.derived import parameters, record_in, typed
from winnow.cli.lazy import CommandRow
from winnow.cli.reporting import (
    Manner,
    failed,
    manner,
    options_of_command,
    report,
    reported,
    weak_promises,
    words_of_command,
)
from winnow.cli.running import Running, split
from winnow.cli.settings import PREFIX, elsewhere, found_elsewhere
from winnow.errors import ParameterError
from winnow.read.databases import names_database


def unbundled(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its bundles as parameters of its own."""
    hints = get_type_hints(command, include_extras=True)
    shown: list[Parameter] = []
    bundles: dict[str, type[Any]] = {}
    requests: dict[str, type[Any]] = {}
    for name, parameter in signature(command).parameters.items():
        record = record_in(hints[name])
        if record is not None:
            requests[name] = record
            shown += [each.replace(kind=parameter.kind) for each in parameters(record)]
        elif is_dataclass(hints[name]):
            bundles[name] = hints[name]
            shown += _options(hints[name], parameter.kind)
        else:
            shown.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def called(**given: Any) -> None:
        with reported():
            for name, bundle in bundles.items():
                given[name] = _bundled(bundle, given)
            for name, record in requests.items():
                given[name] = typed(record, given)
        command(**given)

    # In a signature what has no default comes first; the help keeps this order.
    shown.sort(key=lambda parameter: parameter.default is not Parameter.empty)
    called.__signature__ = signature(command).replace(parameters=shown)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return called


def _options(bundle: type[Any], kind: Any) -> list[Parameter]:
    hints = get_type_hints(bundle, include_extras=True)
    shown: list[Parameter] = []
    for f in fields(bundle):
        record = record_in(hints[f.name])
        if record is not None:
            shown += [each.replace(kind=kind) for each in parameters(record)]
        elif is_dataclass(hints[f.name]):
            shown += _options(hints[f.name], kind)
        else:
            default = Parameter.empty if f.default is MISSING else f.default
            shown.append(Parameter(f.name, kind, default=default, annotation=hints[f.name]))
    return shown


def _bundled(bundle: type[Any], given: dict[str, Any]) -> Any:
    """A bundle of what was given for its options, which are taken out; bundles may hold others."""
    hints = get_type_hints(bundle, include_extras=True)
    values: dict[str, Any] = {}
    for f in fields(bundle):
        record = record_in(hints[f.name])
        if record is not None:
            values[f.name] = typed(record, given)
        elif is_dataclass(hints[f.name]):
            values[f.name] = _bundled(hints[f.name], given)
        else:
            values[f.name] = given.pop(f.name)
    return bundle(**values)


SOURCES = """
A table may also lie in a database: duckdb:FILE#TABLE, spark:TABLE, or env:NAME#TABLE and \
file:PATH#TABLE, where a variable or a private file holds the address postgresql://... One SELECT \
may take the place of TABLE.
"""


class OwnCommand(TyperCommand):
    """A command whose messages speak of its options, and whose ``--plot`` may stand alone.

    It does where nothing or another option follows it, so it comes last or before an option;
    ``winnow lp --plot model.mps`` names the figure model.mps, which is refused by its ending.
    What the command line does not say may stand in the environment or in a settings file.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Fill in the name of a figure and what stands elsewhere, then parse as ever."""
        filled: list[str] = []
        for place, argument in enumerate(args):
            filled.append(argument)
            following = args[place + 1] if place + 1 < len(args) else None
            if argument == "--plot" and (following is None or following.startswith("-")):
                filled.append(f"{self.name}.png")
        before = manner.set(Manner(json="--json" in args or "--log-json" in args))
        sources: dict[str, str] = {}
        try:
            if any(param.name == "settings" for param in self.params):
                with reported():
                    _check_queries(filled)
                    sources = self._look_elsewhere(ctx, filled)
                if {"json", "log_json"} & set(sources):
                    manner.set(Manner(json=True))
            return super().parse_args(ctx, filled)
        except Exception as error:
            if not hasattr(error, "format_message"):  # no mistake of whoever typed it
                raise
            source = sources.get(getattr(getattr(error, "param", None), "name", ""))
            if source is not None:
                error.message += f" (from {source})"  # type: ignore[attr-defined]
            if not manner.get().json:
                raise
            message = error.format_message().rstrip(".")
            code = failed("UsageError", f"{message}; see {ctx.command_path} --help", 2)
        finally:
            manner.reset(before)
        raise typer.Exit(code)

    def _look_elsewhere(self, ctx: Any, args: list[str]) -> dict[str, str]:
        """Give the context what the environment and the settings file say, and remember where."""
        typed_options: dict[str, Any] = {}
        with suppress(Exception):  # what is wrong with them is said by whoever parses them
            typed_options = self.make_parser(ctx).parse_args(list(args))[0]
        named = typed_options.get("settings") or os.environ.get(f"{PREFIX}_SETTINGS")
        words = tuple(ctx.command_path.split()[1:])
        file = Path(named) if named else None
        settings = [
            each
            for each in found_elsewhere(self.params, words, file)
            if each[0] not in typed_options
        ]
        ctx.default_map = {name: value for name, value, _ in settings}
        ctx.meta["elsewhere"] = sources = {name: source for name, _, source in settings}
        return sources

    def invoke(self, ctx: Any) -> Any:
        """Run it, with its options known to messages."""
        flags = {param.name: max(param.opts, key=len) for param in self.params if param.name}
        options_of_command.set({name: flag for name, flag in flags.items() if flag[0] == "-"})
        elsewhere.set(ctx.meta.get("elsewhere", {}))
        words_of_command.set(" ".join(ctx.command_path.split()[1:]))
        return super().invoke(ctx)


def _check_queries(args: list[str]) -> None:
    """Refuse a query that a path cannot hold: of a // b it would make a / b."""
    for argument in args:
        if names_database(argument) and str(Path(argument)) != argument:
            raise ParameterError(
                "the query of a database holds //, /./ or a / at its end, which paths do not keep; "
                "write it as a view, and name that"
            )


def _run(command: Callable[..., None], *, releases: bool) -> Callable[..., None]:
    """The command with the options that all have.

    One that releases warns first where its epsilon or delta protects nobody.
    """

    @wraps(command)
    def called(**given: Any) -> None:
        running = split(given)
        with running.run(words_of_command.get(), given, releases=releases):
            if releases:
                said = given.get("epsilon"), given.get("delta"), given.get("rows")
                for warning in weak_promises(*said):
                    report(f"warning: {warning}")
            if given.get("request_key") is None:
                command(**given)
            else:
                from winnow.cli.retrying import once

                once(command, given)

    own = signature(command)
    shown = [*own.parameters.values(), *_options(Running, Parameter.KEYWORD_ONLY)]
    shown.sort(key=lambda parameter: parameter.default is not Parameter.empty)
    whole = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in shown]
    called.__signature__ = own.replace(parameters=whole)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in whole}
    return called


def made(row: CommandRow, *, releases: bool, alone: bool = False) -> Any:
    """Import a command and make it, with its docstring as help.

    One that stands ``alone`` has no options but its own.
    """
    module, _, function = row.place.partition(":")
    home = import_module(module)
    command: Callable[..., None] = getattr(home, function)
    # Without the line breaks of the source.
    paragraphs = (getdoc(command) or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    shown = unbundled(command)
    maker = typer.Typer(rich_markup_mode="rich", add_completion=False)
    maker.command(
        row.name,
        cls=OwnCommand,
        help=text,
        epilog=getattr(home, row.examples) + (SOURCES if row.tables else ""),
        rich_help_panel=row.panel,
    )(shown if alone else _run(shown, releases=releases))
    return get_command(maker)
