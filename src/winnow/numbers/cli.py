"""``winnow quantiles`` and ``winnow plan quantiles``: medians and other quantiles, from a file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed
from winnow.cli.of_table import ASSUMED, SHOWN, AssumedTable, TableRun
from winnow.cli.options import (
    SchemaOption,
)
from winnow.cli.private_table import PrivateTable
from winnow.cli.reporting import reported
from winnow.errors import ParameterError
from winnow.foreign import instead, shown
from winnow.numbers.request import PlannedQuantiles, Quantiles

if TYPE_CHECKING:
    pass

EXAMPLES = """\
Examples:

winnow quantiles people.csv --schema schema.json --column income --quantiles 0.25,0.5,0.75 \
--epsilon 1 --one-row-per-person

winnow quantiles people.csv --schema schema.json --column income --by region --level 0.95 \
--epsilon 1 --out medians.csv --one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 200000, "step": 1, \
"clip": true}, "region": {"values": ["north", "south"]}}
"""

QuantilesOption = Annotated[
    str,
    typer.Option(
        "--quantiles",
        metavar="Q,...",
        help="Which quantiles, from 0 to 1, such as 0.25,0.5,0.75; 0.5 is the median.",
    ),
]


@reported()
def quantiles(
    private: PrivateTable,
    asked: Typed[Quantiles],
    which: QuantilesOption = "0.5",
    run: TableRun = SHOWN,
) -> None:
    """Release quantiles of a column of numbers: its median, quartiles, or others.

    Every released number is one of the public grid that the schema declares. Groups do not
    share the budget, since a row is in one group only.
    """
    run.release(
        "quantiles",
        private,
        partial(asked, quantiles=_numbers(which)),
        private.declared(asked.column, *asked.by).subset(_needed(asked)),
        title="Quantiles",
        answers=lambda request, about: request.plan(about).answers,
    )


def _needed(asked: Typed[Any]) -> list[str]:
    """The columns that are read."""
    return list(dict.fromkeys([*asked.by, asked.column]))


def _numbers(text: str) -> list[Any]:
    """Numbers with commas between them, as they are written."""
    from fractions import Fraction

    wrong = ParameterError(
        f"--quantiles {shown(text)} are not numbers; give some from 0 to 1, such as 0.25,0.5,0.75"
    )
    with instead(wrong, ValueError, ZeroDivisionError):
        return [Fraction(part.strip()) for part in text.split(",")]


PLAN_EXAMPLES = """\
Examples:

winnow plan quantiles --schema schema.json --column income --quantiles 0.25,0.5,0.75 --epsilon 1

winnow plan quantiles --schema schema.json --column income --error 10
"""


@reported()
def plan(
    schema: SchemaOption,
    asked: Typed[PlannedQuantiles],
    which: QuantilesOption = "0.5",
    assumed: AssumedTable = ASSUMED,
) -> None:
    """Predict by how many rows quantiles would be off; no data are read and nothing is spent."""
    from winnow.core.schema import Schema

    declared = Schema.parse(schema).subset(_needed(asked))
    assumed.show(declared, asked(quantiles=_numbers(which)))
