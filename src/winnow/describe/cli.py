"""``winnow describe`` and ``winnow plan describe``: a first look at a table, from a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winnow.cli.derived import Typed
from winnow.cli.of_table import ASSUMED, DRAWN, AssumedTable, DrawnRun
from winnow.cli.options import (
    ColumnsOption,
    SchemaOption,
    some_of,
)
from winnow.cli.private_table import PrivateTable
from winnow.cli.reporting import reported
from winnow.describe.request import Describe
from winnow.errors import ParameterError
from winnow.foreign import instead, shown

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.describe.result import Description

EXAMPLES = """\
Examples:

winnow describe people.csv --schema schema.json --epsilon 1 --one-row-per-person

winnow describe people.csv --schema schema.json --epsilon 1 --report people.html --out people.json \
--one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 200000, "clip": true}, \
"region": {"values": ["north", "south"]}}. 'winnow schema draft' writes a draft.
"""

QuantilesOption = Annotated[
    str,
    typer.Option(
        "--quantiles",
        metavar="Q,...",
        help="Which quantiles of columns of numbers, from 0 to 1; '' leaves them out.",
    ),
]


@reported()
def describe(
    private: PrivateTable,
    asked: Typed[Describe],
    quantiles: QuantilesOption = "0.25,0.5,0.75",
    run: DrawnRun = DRAWN,
) -> None:
    """Describe every column of a table: missing values, means, quantiles, common values.

    Run it first. Everything is one charge, and every number has a standard error.
    """
    from winnow.show.report.description import description_page

    run.release(
        "description",
        private,
        partial(asked, quantiles=_numbers(quantiles)),
        private.declared(),
        title="A description",
        page=description_page,
        show=_show,
    )


def _numbers(text: str) -> list[float]:
    """Numbers with commas between them; none of an empty text."""
    wrong = ParameterError(
        f"--quantiles {shown(text)} are not numbers; give some from 0 to 1, such as 0.25,0.5,0.75"
    )
    with instead(wrong, ValueError):
        return [float(part) for part in text.split(",")] if text.strip() else []


def _show(released: Released[Description], written: Sequence[tuple[str, Path]]) -> None:
    from rich.text import Text

    from winnow.cli.printing import add_receipt, console, grid, pairs, visible

    show, lines = console(), pairs()
    value = released.value
    heads, rows = value.table()
    words = (heads[0], heads[-1])
    kept = [i for i in range(len(heads)) if i in (0, len(heads) - 1) or any(row[i] for row in rows)]
    named = [(heads[i], "left" if heads[i] in words else "right") for i in kept]
    show.print(grid(named, [[row[i] for i in kept] for row in rows]))
    for what, path in written:
        lines.add_row(what, Text(visible(path), style="bold green"))
    public = f"{value.rows.value:,.0f}, public"
    lines.add_row("rows", Text(str(value.rows) if value.rows.standard_error else public))
    lines.add_row("errors", Text(value.note))
    add_receipt(lines, released)
    show.print(lines)


PLAN_EXAMPLES = """\
Examples:

winnow plan describe --schema schema.json --epsilon 1
"""


@reported()
def plan(
    schema: SchemaOption,
    asked: Typed[Describe],
    quantiles: QuantilesOption = "0.25,0.5,0.75",
    columns: ColumnsOption = None,
    assumed: AssumedTable = ASSUMED,
) -> None:
    """Predict the errors of a description; no data are read and nothing is spent."""
    from winnow.core.schema import Schema

    declared = some_of(Schema.parse(schema), columns)
    assumed.show(declared, asked(quantiles=_numbers(quantiles)))
