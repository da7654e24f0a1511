"""``winnow bounds`` and ``winnow plan bounds``: private bounds of a column, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from winnow.numbers.bounds.request import Bounds, PlannedBounds

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.numbers.bounds.result import ReleasedBounds

EXAMPLES = """\
Examples:

winnow bounds people.csv --schema schema.json --column income --epsilon 0.5 --one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 100000000, "step": 0.01, \
"clip": true}}
"""


@reported()
def bounds(
    private: PrivateTable,
    asked: Typed[Bounds],
    seed: SeedOption = None,
    record: Record = UNRECORDED,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Release two numbers between which nearly all values of a column lie.

    For columns of which little is known: declare a wide range, and let the data choose a narrower
    one, at a small cost.
    """
    from winnow.cli.files import check_targets, refuse_overwriting
    from winnow.core.saving import receipt_path

    relation, budget = private.account(record)
    read = [*private.files(), private.schema]
    check_targets(read, out, None)
    if out is not None and out.suffix.lower() == ".csv":
        refuse_overwriting(read, "--out", receipt_path(out))
    declared = private.declared(asked.column).subset([asked.column])
    request = asked(budget=budget, seed=seed)
    request.plan(private.about(declared, relation))
    with private.busy():
        sealed = private.read(declared, relation, seed=seed)
    warn_of_other_labels(budget, sealed)
    released = request.plan(sealed).run(sealed, budget=budget, seed=seed)
    with saved_then_shown(
        released, json, lambda: _show(released, out), "the bounds are released and printed"
    ):
        if out is not None:
            released.value.save(out, about=released.to_about())


def _show(released: Released[ReleasedBounds], out: Path | None) -> None:
    from rich.text import Text

    from winnow.cli.printing import add_receipt, console, pairs, visible

    value, show, lines = released.value, console(), pairs()
    lines.add_row("low", f"{value.low:,}")
    lines.add_row("high", f"{value.high:,}")
    lines.add_row("beyond", f"at most {value.beyond:,} rows each, with probability 0.95")
    if out is not None:
        lines.add_row("bounds", Text(visible(out), style="bold green"))
    add_receipt(lines, released)
    show.print(lines)


PLAN_EXAMPLES = """\
Examples:

winnow plan bounds --schema schema.json --column income --epsilon 0.5
"""


@reported()
def plan(
    schema: SchemaOption,
    asked: Typed[PlannedBounds],
    max_rows: AssumedRowsPerPersonOption = 1,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION,
    json: JsonOption = False,
) -> None:
    """Predict how many rows may lie beyond private bounds; nothing is read or spent."""
    from winnow.cli.printing import console, show_json
    from winnow.core.schema import Schema
    from winnow.read.about import table as about_table

    declared = Schema.parse(schema).subset([asked.column])
    public = about_table(declared, relation=relation, max_rows=max_rows)
    planned = asked().plan(public)
    show_json(planned.to_dict()) if json else console().print(str(planned), markup=False)
