"""How a command is made: its bundles become options, its docstring its help.

Bundles: options that several commands share, taken by each of them as one value.

A bundle is a frozen dataclass whose fields are options. A command has one parameter of that type;
``unbundled`` shows Typer the fields in its place. So an option that is added to a bundle is on
every command that takes the bundle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from importlib import import_module
from inspect import Parameter, getdoc, signature
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand
from typer.main import get_command

from winnow.cli.derived import parameters, record_in, typed
from winnow.cli.lazy import Row
from winnow.cli.reporting import options_of_command, report, reported, weak_promises


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
        for name, bundle in bundles.items():
            given[name] = bundle(**{f.name: given.pop(f.name) for f in fields(bundle)})
        with reported():
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
    return [
        Parameter(f.name, kind, default=f.default, annotation=hints[f.name]) for f in fields(bundle)
    ]


class OwnCommand(TyperCommand):
    """A command whose messages speak of its options, and whose ``--plot`` may stand alone.

    It does where nothing or another option follows it, so it comes last or before an option;
    ``winnow lp --plot model.mps`` names the figure model.mps, which is refused by its ending.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Fill in the name, then parse as ever."""
        filled: list[str] = []
        for place, argument in enumerate(args):
            filled.append(argument)
            following = args[place + 1] if place + 1 < len(args) else None
            if argument == "--plot" and (following is None or following.startswith("-")):
                filled.append(f"{self.name}.png")
        return super().parse_args(ctx, filled)

    def invoke(self, ctx: Any) -> Any:
        """Run it, with its options known to messages."""
        flags = {param.name: max(param.opts, key=len) for param in self.params if param.name}
        options_of_command.set({name: flag for name, flag in flags.items() if flag[0] == "-"})
        return super().invoke(ctx)


def _warned(command: Callable[..., None]) -> Callable[..., None]:
    """The command, after a warning where its epsilon or delta protects nobody."""

    @wraps(command)
    def called(**given: Any) -> None:
        for warning in weak_promises(given.get("epsilon"), given.get("delta"), given.get("rows")):
            report(f"warning: {warning}")
        command(**given)

    return called


def made(row: Row, *, warns: bool) -> Any:
    """Import a command and make it, with its docstring as help."""
    module, _, function = row.place.partition(":")
    home = import_module(module)
    command: Callable[..., None] = getattr(home, function)
    # Without the line breaks of the source.
    paragraphs = (getdoc(command) or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    shown = unbundled(command)
    alone = typer.Typer(rich_markup_mode="rich", add_completion=False)
    alone.command(
        row.name,
        cls=OwnCommand,
        help=text,
        epilog=getattr(home, row.examples),
        rich_help_panel=row.panel,
    )(_warned(shown) if warns else shown)
    return get_command(alone)
