"""``winnow moments`` and ``winnow plan moments``: means and other moments, from a file."""

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
from winnow.numbers.moments.request import Moments, PlannedMoments

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.numbers.moments.result import ReleasedMoments

_MOST_SHOWN = 200
"""Numbers that the terminal shows."""

EXAMPLES = """\
Examples:

winnow moments people.csv --schema schema.json --values income --epsilon 1 --one-row-per-person

winnow moments people.csv --schema schema.json --values income,age --statistics mean,deviation \
--by region --epsilon 1 --out means.csv --one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 200000, "step": 1, \
"clip": true}, "region": {"values": ["north", "south"]}}
"""


@reported()
def moments(
    private: PrivateTable,
    asked: Typed[Moments],
    seed: SeedOption = None,
    record: Record = UNRECORDED,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Release counts, sums, means, variances and deviations of columns of numbers.

    All are charged once, each with an error and an interval. Groups do not share the
    budget, since a row is in one group only.
    """
    from winnow.cli.files import check_targets, refuse_overwriting
    from winnow.core.saving import receipt_path

    relation, budget = private.account(record)
    read = [*private.files(), private.schema]
    check_targets(read, out, None)
    if out is not None and out.suffix.lower() == ".csv":
        refuse_overwriting(read, "--out", receipt_path(out))
    request = asked(budget=budget, seed=seed)
    used = list(dict.fromkeys([*request.by, *request.values]))
    declared = private.declared(*used).subset(used)
    planned = request.plan(private.about(declared, relation))
    if out is None and not json and planned.answers > _MOST_SHOWN:
        raise ParameterError(
            f"these are more than {_MOST_SHOWN} numbers, too many to show; give --out or --json"
        )
    with private.busy():
        sealed = private.read(declared, relation, seed=seed)
    warn_of_other_labels(budget, sealed)
    released = request.plan(sealed).run(sealed, budget=budget, seed=seed)
    with saved_then_shown(
        released, json, lambda: _show(released, out), "the moments are released and printed"
    ):
        if out is not None:
            released.value.save(out, about=released.to_about())


def _show(released: Released[ReleasedMoments], out: Path | None) -> None:
    from rich.text import Text

    from winnow.cli.printing import add_receipt, console, grid, pairs, visible
    from winnow.core.notebook import number_text

    value = released.value
    columns = value.to_columns()
    labels = len(value.by) + 2
    show, lines = console(), pairs()
    if out is None:
        heads = [(name, "left" if i < labels else "right") for i, name in enumerate(columns)]
        plain: list[list[Any]] = [
            [str(v) if i < labels else number_text(v) for v in column.tolist()]
            for i, column in enumerate(columns.values())
        ]
        show.print(grid(heads, zip(*plain, strict=True)))
    else:
        lines.add_row("moments", Text(visible(out), style="bold green"))
    lines.add_row("intervals", f"{100 * value.level:g} %, each by itself")
    for note in value.notes:
        lines.add_row("note", note)
    add_receipt(lines, released)
    show.print(lines)


PLAN_EXAMPLES = """\
Examples:

winnow plan moments --schema schema.json --values income --rows 4000 --epsilon 1

winnow plan moments --schema schema.json --values income --rows 4000 --error 100
"""

RowsOption = Annotated[
    int | None,
    typer.Option(
        "--rows",
        help="How many rows the table has; a public or assumed number. The error of a mean "
        "depends on it.",
        rich_help_panel=ASKED,
    ),
]


@reported()
def plan(
    schema: SchemaOption,
    asked: Typed[PlannedMoments],
    rows: RowsOption = None,
    max_rows: AssumedRowsPerPersonOption = 1,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION,
    json: JsonOption = False,
) -> None:
    """Predict the errors of means and other moments; no data are read and nothing is spent."""
    from winnow.cli.printing import console, show_json
    from winnow.core.schema import Schema
    from winnow.read.about import table as about_table

    request = asked()
    used = list(dict.fromkeys([*request.by, *request.values]))
    declared = Schema.parse(schema).subset(used)
    public = about_table(declared, rows=rows, relation=relation, max_rows=max_rows)
    planned = request.plan(public)
    show_json(planned.to_dict()) if json else console().print(str(planned), markup=False)
