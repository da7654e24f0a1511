"""The options that several commands share, each with its help text.

Options of a verb are fields of its request (``winnow.cli.derived``); here is what commands add.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import number_or_pair
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.foreign import instead

if TYPE_CHECKING:
    from winnow.core.schema import Schema


def option(flag: str, metavar: str, help: str, panel: str) -> Any:
    """An option that takes a value, with its help, in a panel of the help page."""
    return typer.Option(flag, metavar=metavar, help=help, rich_help_panel=panel)


SCHEMA_EXAMPLE = """
A schema is a JSON file: {"age": {"edges": [0, 40, 60, 120]}, "sex": {"values": ["Female", \
"Male"]}, "rooms": 10}. Everything in it is public.
"""


class Labels(StrEnum):
    """Where the labels of ready counts come from."""

    PUBLIC = "public"
    PRIVATE = "private"


_SCORES = "What one person can do to a score"
_OUTPUT = "Output"
TABLE = "Table and people"
"""The panel of whose rows a table holds."""

ASKED = "What is asked"
"""The panel of what a plan is asked for."""

EpsilonOfPlanOption = Annotated[
    float,
    option("--epsilon", "E", "The privacy loss to plan for.", ASKED),
]
AssumedRowsOption = Annotated[
    int,
    typer.Option(
        "-n",
        "--rows",
        metavar="N",
        help="How many rows the table has; a public or assumed number.",
        rich_help_panel=ASKED,
    ),
]
AssumedRowsPerPersonOption = Annotated[
    int,
    option("--max-rows", "L", "The most rows of one person.", ASKED),
]
ConfidenceOption = Annotated[
    float,
    option("--confidence", "P", "The probability with which errors and bounds hold.", ASKED),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Makes the result repeatable and NOT private: for tests only. The receipt says so.",
    ),
]

PadToOption = Annotated[
    str | None,
    typer.Option(
        "--pad-to",
        metavar="SECONDS|plan",
        help="Hold the result back until a fixed time, so that the running time reveals nothing; "
        "'plan': a public estimate.",
    ),
]
PadToSecondsOption = Annotated[
    float | None,
    typer.Option(
        "--pad-to",
        metavar="SECONDS",
        help="Hold the result back until a fixed time, so that the running time reveals nothing.",
    ),
]

HeaderOption = Annotated[
    bool,
    typer.Option(
        "--header",
        help="The file has a header row; error messages may quote it. Without this they quote "
        "only names that you gave.",
    ),
]

SensitivitiesOption = Annotated[
    str,
    option(
        "--sensitivity",
        "S",
        "The most by which one person can move any score, or DOWN,UP for what adding a person "
        "does, such as 0.25,1.",
        _SCORES,
    ),
]
MonotoneOption = Annotated[
    bool,
    typer.Option(
        "--monotone",
        help="Adding a person never lowers a score, as with counts: half the noise.",
        rich_help_panel=_SCORES,
    ),
]
RelationOption = Annotated[
    Relation,
    option(
        "--relation",
        "NAME",
        "Neighbours: add-remove (one person more or less) or substitution (one record replaced).",
        _SCORES,
    ),
]
SchemaOption = Annotated[
    Path,
    option("--schema", "FILE", "The public schema of the table, a JSON file.", TABLE),
]
ColumnsOption = Annotated[
    str | None,
    option("--columns", "A,B,...", "Only these columns of the schema.", TABLE),
]
OneRowOption = Annotated[
    bool,
    typer.Option(
        "--one-row-per-person",
        help="Nobody has two rows: one row is what is protected.",
        rich_help_panel=TABLE,
    ),
]


def some_of(schema: Schema, columns: str | None, *also: str) -> Schema:
    """The schema of the columns that ``--columns`` names, and of those needed besides."""
    if columns is None:
        return schema
    named = [name.strip() for name in columns.split(",")]
    return schema.subset([*named, *(name for name in also if name not in named)])


def check_unit_said(column: str | None, one_each: bool, option: str, what: str = "row") -> None:
    """Stop unless the command says whose presence is protected."""
    flag = f"--one-{what}-per-person"
    if column is not None and one_each:
        raise ParameterError(f"{option} and {flag} contradict each other; give one of them")
    if column is None and not one_each:
        raise ParameterError(
            f"say whose privacy is protected: {option} COLUMN names the column of people, who are "
            f"protected with all their {what}s; {flag} says that nobody has two {what}s. Without "
            f"either, somebody with ten {what}s would be protected ten times less than stated"
        )


def bound_of(flag: str, text: str | None) -> int | str | None:
    """A bound on what one person counts for: a whole number, or auto."""
    if text is None or text == "auto":
        return text
    with instead(ParameterError(f"{flag} {text!r} is neither a whole number nor auto"), ValueError):
        most = int(text)
    if most < 1:
        raise ParameterError(f"{flag} {most} is below 1; give at least 1, or auto")
    return most


@dataclass(frozen=True)
class JoinedFiles:
    """Tables that are joined to the first one: options of every command that reads people."""

    join: Annotated[
        list[str] | None,
        option(
            "--join",
            "FILE",
            "Another private table of the same people, joined on the column of --person. May be "
            "given several times.",
            TABLE,
        ),
    ] = None
    join_public: Annotated[
        list[str] | None,
        option(
            "--join-public",
            "COLUMN=FILE",
            "A public table, joined on this column. May be given several times.",
            TABLE,
        ),
    ] = None

    @property
    def public(self) -> dict[str, str]:
        """The public tables by their columns."""
        tables: dict[str, str] = {}
        for text in self.join_public or ():
            name, _, file = text.partition("=")
            if not (name and file) or name in tables:
                raise ParameterError(
                    f"--join-public {text} does not name one public table for one column; write "
                    "COLUMN=FILE, each column once"
                )
            tables[name] = file
        return tables

    def files(self, file: str) -> list[Path]:
        """All files that are read."""
        from winnow.cli.files import named_by

        tables = (file, *(self.join or ()), *self.public.values())
        return [path for table in tables for path in named_by(table)]

    def with_first(self, file: str, person: str | None) -> Any:
        """The file, or its join with the others."""
        from winnow.read.joins import Join

        if not self.join and not self.join_public:
            return file
        if person is None:
            raise ParameterError("a join is of tables of people; name their column with --person")
        return Join(file, *(self.join or ()), on=person, public=self.public)


ONE_FILE = JoinedFiles()


JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print JSON and nothing else.", rich_help_panel=_OUTPUT),
]
OutOption = Annotated[
    Path | None,
    option("--out", "FILE", "Save the result, too: .csv, .json or .parquet.", _OUTPUT),
]


def padding_of(text: str | None) -> float | str | None:
    """Seconds where the text is a number; the verb refuses other words than 'plan'."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def relation_of_people(panel: str, usual: Relation | None = None) -> Any:
    """The option for the neighbours of counts of people; ``usual`` where no ledger says them."""
    told = "" if usual is None else f" Default: as the dataset of the ledger, or {usual}."
    return option(
        "--relation",
        "NAME",
        f"Neighbours: add-remove (one person more or less) or substitution (one replaced).{told}",
        panel,
    )


def plot_of(what: str) -> Any:
    """The option for a figure of something."""
    return option(
        "--plot",
        "[FILE]",
        f"{what}: .png, .svg or .pdf; without a name, a PNG called after the command.",
        _OUTPUT,
    )


def sensitivity_of(said: str) -> float | tuple[float, float]:
    """One number, or two: how far adding a person lowers and raises a score."""
    return number_or_pair("--sensitivity", said)
