"""Commands that are imported when they are called: a list of them needs no more than their words.

``winnow --help`` shows a line for each command. To import them all for it would take longer than
the rest of it together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class CommandRow(NamedTuple):
    """A command by its words, and where it is."""

    name: str
    place: str
    """Its module and its function, as in ``winnow.cli.demo:demo``."""
    panel: str
    help: str = ""
    """The first paragraph of its help, for a list that does not import it."""
    examples: str = "EXAMPLES"
    """The name of its examples in the module."""
    tables: bool = False
    """Whether it reads a table, which may lie in a database."""


class Loaded(MutableMapping[str, Any]):
    """Commands by name, each made when it is asked for, once."""

    def __init__(
        self, rows: Mapping[str, CommandRow], load: Callable[[CommandRow], Any], groups: Any
    ) -> None:
        self._rows, self._load = rows, load
        self._made: dict[str, Any] = dict(groups)
        self._names = dict.fromkeys((*rows, *groups))

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._load(self._rows[name])
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command
        self._names[name] = None

    def __delitem__(self, name: str) -> None:
        del self._names[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class LazyGroup(TyperGroup):
    """A group whose commands stand in a table; ``lazy`` makes one for a table."""

    rows: ClassVar[Mapping[str, CommandRow]] = {}
    load: ClassVar[Callable[[CommandRow], Any]]

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = Loaded(self.rows, type(self).load, self.commands)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, of commands that nobody asked for, too."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command for a list: where its help is known, no more than that."""
        row = self.rows.get(cmd_name)
        if row is not None and row.help:
            return TyperCommand(cmd_name, help=row.help, rich_help_panel=row.panel)
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The list as a page."""
        from winnow.cli.listing import listing

        formatter.write(listing(self, ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is to run, imported now."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else self.commands[name], rest


def lazy(
    rows: tuple[CommandRow, ...], load: Callable[[CommandRow], Any], **settings: Any
) -> typer.Typer:
    """A Typer whose commands are those of a table."""
    about = {"rows": {row.name: row for row in rows}, "load": staticmethod(load)}
    kind = type("Commands", (LazyGroup,), about)
    return typer.Typer(cls=kind, rich_markup_mode="rich", **settings)
