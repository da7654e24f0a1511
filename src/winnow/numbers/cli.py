"""``winnow quantiles`` and ``winnow plan quantiles``: medians and other quantiles, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import (
    ASKED,
    AssumedRowsPerPersonOption,
    JsonOption,
    OutOption,
    SchemaOption,
    SeedOption,
    relation_of_people,
)
from winnow.cli.private_table import PrivateTable
from winnow.cli.recording import UNRECORDED, Record, warn_of_other_labels
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.foreign import instead, shown
from winnow.numbers.request import PlannedQuantiles, Quantiles

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.numbers.result import ReleasedQuantiles

_MOST_SHOWN = 200
"""Quantiles that the terminal shows."""

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
    seed: SeedOption = None,
    record: Record = UNRECORDED,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Release quantiles of a column of numbers: its median, quartiles, or others.

    Every released number is one of the public grid that the schema declares. Groups do not
    share the budget, since a row is in one group only.
    """
    from winnow.cli.files import check_targets, refuse_overwriting
    from winnow.core.saving import receipt_path

    relation, budget = private.account(record)
    read = [*private.files(), private.schema]
    check_targets(read, out, None)
    if out is not None and out.suffix.lower() == ".csv":
        refuse_overwriting(read, "--out", receipt_path(out))
    declared = private.declared(asked.column, *asked.by).subset(_needed(asked))
    request = asked(quantiles=_numbers(which), budget=budget, seed=seed)
    planned = request.plan(private.about(declared, relation))
    if out is None and not json and planned.answers > _MOST_SHOWN:
        raise ParameterError(
            f"these are more than {_MOST_SHOWN} quantiles, too many to show; give --out or --json"
        )
    with private.busy():
        sealed = private.read(declared, relation, seed=seed)
    warn_of_other_labels(budget, sealed)
    released = request.plan(sealed).run(sealed, budget=budget, seed=seed)
    with saved_then_shown(
        released, json, lambda: _show(released, out), "the quantiles are released and printed"
    ):
        if out is not None:
            released.value.save(out, about=released.to_about())


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


def _show(released: Released[ReleasedQuantiles], out: Path | None) -> None:
    from rich.text import Text

    from winnow.cli.printing import add_receipt, console, grid, pairs, visible
    from winnow.core.notebook import number_text

    columns = released.value.to_columns()
    labels = len(released.value.by)
    show, lines = console(), pairs()
    if out is None:
        heads = [(name, "left" if i < labels else "right") for i, name in enumerate(columns)]
        plain = [
            [str(v) if i < labels else number_text(v) for v in column.tolist()]
            for i, column in enumerate(columns.values())
        ]
        show.print(grid(heads, zip(*plain, strict=True)))
    else:
        lines.add_row("quantiles", Text(visible(out), style="bold green"))
    if released.value.level is not None:
        lines.add_row("intervals", f"{100 * released.value.level:g} %, all of a group at once")
    add_receipt(lines, released)
    show.print(lines)


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
    max_rows: AssumedRowsPerPersonOption = 1,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION,
    json: JsonOption = False,
) -> None:
    """Predict by how many rows quantiles would be off; no data are read and nothing is spent."""
    from winnow.cli.printing import console, show_json
    from winnow.core.schema import Schema
    from winnow.read.about import table as about_table

    declared = Schema.parse(schema).subset(_needed(asked))
    public = about_table(declared, relation=relation, max_rows=max_rows)
    planned = asked(quantiles=_numbers(which)).plan(public)
    show_json(planned.to_dict()) if json else console().print(str(planned), markup=False)
