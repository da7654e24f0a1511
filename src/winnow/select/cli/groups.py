"""Options of commands that count a log: joined tables, groups, and their lists on a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import ONE_FILE, JoinedFiles, option, relation_of_people
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.read.options import TextFormat

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.read.groups import Groups
    from winnow.select.lists import ListsByGroup

COLUMNS, _GROUPS = "Columns and people", "Groups"


@dataclass(frozen=True)
class LogOptions:
    """An event log, whose event each row is, and lists for each group of its rows."""

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="An event log: CSV, TSV or Parquet, or a pattern such as 'logs/*.parquet'.",
        ),
    ]
    item: Annotated[str, option("--item", "COLUMN", "The column of items.", COLUMNS)]
    text: Typed[TextFormat]
    joined: JoinedFiles = ONE_FILE
    person: Annotated[
        str | None,
        option("--person", "COLUMN", "The column of people: whose event it is.", COLUMNS),
    ] = None
    one_row: Annotated[
        bool,
        typer.Option(
            "--one-row-per-person",
            help="Nobody has two rows: one row is what is protected.",
            rich_help_panel=COLUMNS,
        ),
    ] = False
    max_items: Annotated[
        str | None,
        option(
            "--max-items",
            "L",
            "Count each person for at most L items; of ready counts: how they were counted. auto: "
            "where a bound helps, a tenth of epsilon looks at how many items people have and "
            "chooses it.",
            COLUMNS,
        ),
    ] = None
    relation: Annotated[Relation | None, relation_of_people(COLUMNS, Relation.ADD_REMOVE)] = None
    memory: Annotated[
        str | None,
        option(
            "--memory",
            "SIZE",
            "For counting: how much memory to use, e.g. 2GB. Nothing goes to disk.",
            "Output",
        ),
    ] = None
    by: Annotated[
        str | None,
        option("--by", "COLUMN", "A list for each group: the column of the groups.", _GROUPS),
    ] = None
    groups: Annotated[
        Path | None,
        option(
            "--groups",
            "FILE",
            "With --by: the public list of groups, one on each line. Without it they are found in "
            "the data, and are as private as the items.",
            _GROUPS,
        ),
    ] = None
    max_groups: Annotated[
        int | None,
        option("--max-groups", "G", "With --by: count each person in at most G groups.", _GROUPS),
    ] = None

    @property
    def source(self) -> Any:
        """The log, or its join with other tables."""
        return self.joined.with_first(self.file, self.person)

    @property
    def files(self) -> list[Path]:
        """All files that are read."""
        return self.joined.files(self.file)

    def said(self) -> Groups | None:
        """The groups as ``winnow.counts`` takes them."""
        from winnow.read.groups import Groups
        from winnow.select.cli.source import read_items

        if self.by is None:
            for flag, given in (("--groups", self.groups), ("--max-groups", self.max_groups)):
                if given is not None:
                    raise ParameterError(f"{flag} is for lists of groups; give --by COLUMN, too")
            return None
        names = None
        if self.groups is not None:
            breaks = self.text.line_breaks
            names = read_items(self.groups, line_breaks=breaks, option="--groups")
        return Groups(self.by, names=names, most=self.max_groups)


def show_lists(released: Released[ListsByGroup], *, k: int, threshold: str | None) -> None:
    """The lists of all groups in one table, then the receipt."""
    from winnow.cli.printing import add_receipt, console, grid, pairs
    from winnow.core.unit import within_counted

    lists, show = released.value, console()
    columns = lists.to_columns()
    heads = [(name, "left") for name in columns]
    for place, name in enumerate(columns):
        if columns[name].dtype.kind == "i":
            heads[place] = (name, "right")
    rows = list(zip(*(list(map(_text, column)) for column in columns.values()), strict=True))
    if rows:
        show.print(grid(heads, rows))
    about = [] if lists.ordered else ["sets: the order says nothing"]
    short = [group for group, items in lists.items() if len(items) < k]
    if short:
        about.append(f"{len(short):,} of {len(lists):,} lists have fewer than {k}")
    if not lists:
        about.append("none: no item of any group passed the threshold")
    if threshold is not None:
        about.append(threshold)
    if lists.margin is not None:
        about.append(f"each count: {within_counted(f'{lists.margin:,}')}, with probability 0.95")
    for line in about:
        show.print(line, style="dim")
    table = pairs()
    add_receipt(table, released)
    show.print(table)


def _text(value: Any) -> str:
    return f"{value:,}" if hasattr(value, "dtype") else str(value)


def save_lists(path: Path, released: Released[ListsByGroup]) -> None:
    """Save the lists in long form; the guarantee and the receipt lie beside or inside."""
    from winnow.core.saving import save_columns, with_counted, write_whole

    if path.suffix.lower() == ".json":
        write_whole(path, f"{released.to_json()}\n".encode())
        return
    columns = with_counted(released.value.to_columns(), released.receipt.counted)
    save_columns(path, columns, released.to_about())
