"""``winnow histogram`` and ``winnow plan histogram``: counts in bins of numbers, from a file."""

from __future__ import annotations

from fractions import Fraction
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
    plot_of,
    relation_of_people,
)
from winnow.cli.private_table import PrivateTable
from winnow.cli.recording import UNRECORDED, Record, warn_of_other_labels
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.foreign import instead, shown
from winnow.numbers.histogram.request import Histogram, PlannedHistogram

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.numbers.histogram.result import ReleasedHistogram

_MOST_SHOWN = 200
"""Bins that the terminal shows."""
_LONGEST_BAR = 30

EXAMPLES = """\
Examples:

winnow histogram people.csv --schema schema.json --column income --bins 12 --epsilon 1 \
--one-row-per-person

winnow histogram people.csv --schema schema.json --column income --bins 0,20000,50000,200000 \
--epsilon 1 --out incomes.csv --plot incomes.png --one-row-per-person

winnow histogram people.csv --schema schema.json --column income --split quantiles --epsilon 1 \
--one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 200000, "step": 1, \
"clip": true}}
"""

BinsOption = Annotated[
    str,
    typer.Option(
        "--bins",
        metavar="N|EDGES",
        help="How many bins, or their edges, such as 0,20000,50000.",
    ),
]


@reported()
def histogram(
    private: PrivateTable,
    asked: Typed[Histogram],
    bins: BinsOption = "20",
    seed: SeedOption = None,
    record: Record = UNRECORDED,
    out: OutOption = None,
    plot: Annotated[Path | None, plot_of("Draw the histogram")] = None,
    json: JsonOption = False,
) -> None:
    """Release a histogram of a column of numbers: how many rows lie in each bin, with errors.

    Bins have equal widths, public edges, or private quantiles as edges, so that about as many
    rows are in each.
    """
    from winnow.cli.files import check_targets, refuse_overwriting
    from winnow.core.saving import receipt_path

    relation, budget = private.account(record)
    read = [*private.files(), private.schema]
    check_targets(read, out, plot)
    if out is not None and out.suffix.lower() == ".csv":
        refuse_overwriting(read, "--out", receipt_path(out))
    declared = private.declared(asked.column).subset([asked.column])
    request = asked(bins=_bins(bins), budget=budget, seed=seed)
    planned = request.plan(private.about(declared, relation))
    if out is None and not json and planned.answers > _MOST_SHOWN:
        raise ParameterError(
            f"these are more than {_MOST_SHOWN} bins, too many to show; give --out or --json"
        )
    with private.busy():
        sealed = private.read(declared, relation, seed=seed)
    warn_of_other_labels(budget, sealed)
    released = request.plan(sealed).run(sealed, budget=budget, seed=seed)
    written: list[tuple[str, Path]] = []
    with saved_then_shown(
        released, json, lambda: _show(released, written), "the counts are released and printed"
    ):
        if out is not None:
            released.value.save(out, about=released.to_about())
            written.append(("counts", out))
        if plot is not None:
            released.value.plot(plot)
            written.append(("figure", plot))


def _bins(text: str) -> Any:
    """A number of bins, or edges with commas between them, as they are written."""
    wrong = ParameterError(
        f"--bins {shown(text)} is neither a number of bins nor a list of edges; give 20, or "
        "0,20000,50000"
    )
    with instead(wrong, ValueError, ZeroDivisionError):
        if "," not in text:
            return int(text)
        return [Fraction(part.strip()) for part in text.split(",")]


def _show(released: Released[ReleasedHistogram], written: list[tuple[str, Path]]) -> None:
    from rich.text import Text

    from winnow.cli.printing import add_receipt, console, grid, pairs, visible

    show, lines = console(), pairs()
    value = released.value
    if not any(what == "counts" for what, _ in written):
        columns = value.readable()
        most = max(1.0, float(value.estimate.max(initial=0)))
        bars = ["█" * round(_LONGEST_BAR * max(0.0, each) / most) for each in value.estimate]
        heads = ("bin", "rows", "standard error", "low", "high")
        named = [(head, "left" if head == "bin" else "right") for head in heads]
        plain = [*(column.tolist() for column in columns.values()), bars]
        show.print(grid([*named, ("", "left")], zip(*plain, strict=True)))
    for what, path in written:
        lines.add_row(what, Text(visible(path), style="bold green"))
    add_receipt(lines, released)
    show.print(lines)


PLAN_EXAMPLES = """\
Examples:

winnow plan histogram --schema schema.json --column income --bins 12 --epsilon 1

winnow plan histogram --schema schema.json --column income --split quantiles --error 10
"""


@reported()
def plan(
    schema: SchemaOption,
    asked: Typed[PlannedHistogram],
    bins: BinsOption = "20",
    max_rows: AssumedRowsPerPersonOption = 1,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION,
    json: JsonOption = False,
) -> None:
    """Predict the errors of a histogram; no data are read and nothing is spent."""
    from winnow.cli.printing import console, show_json
    from winnow.core.schema import Schema
    from winnow.read.about import table as about_table

    declared = Schema.parse(schema).subset([asked.column])
    public = about_table(declared, relation=relation, max_rows=max_rows)
    planned = asked(bins=_bins(bins)).plan(public)
    show_json(planned.to_dict()) if json else console().print(str(planned), markup=False)
