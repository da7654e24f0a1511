"""``winnow tabulate`` and ``winnow plan tabulate``: tables with errors, from a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed
from winnow.cli.of_table import DRAWN, AssumedTable, DrawnRun
from winnow.cli.options import (
    SCHEMA_EXAMPLE,
    OutOption,
    some_of,
)
from winnow.cli.private_table import PrivateTable
from winnow.cli.reporting import reported
from winnow.cli.with_cut import check_cut
from winnow.errors import ParameterError
from winnow.release.tables.request import PlannedTabulate, Tabulate
from winnow.select.auto_bound import AutoBoundPlan

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.core.schema import Schema
    from winnow.release.tables.result import ReleasedTable, ReleasedTables

EXAMPLES = """\
Examples:

winnow tabulate people.csv --schema schema.json --by race,age --epsilon 1 --one-row-per-person

winnow tabulate people.csv --schema schema.json --by race,age --by sex --values hours --epsilon 1 \
--delta 1e-6 --out tables.parquet --report report.html --one-row-per-person

winnow tabulate people.csv --schema schema.json --workload marginals:2+prefixes:age --epsilon 1 \
--delta 1e-6 --out tables.csv --one-row-per-person

winnow tabulate people.csv --schema schema.json --workload "prefixes:age*marginals:sex" \
--epsilon 1 --delta 1e-6 --out tables.csv --one-row-per-person

winnow plan tabulate --schema schema.json --by race,age --epsilon 1
"""
EXAMPLES += SCHEMA_EXAMPLE


ByOption = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="A,B,...", help="The columns of one table; may be repeated."),
]
WorkloadOption = Annotated[
    str | None,
    typer.Option(
        "--workload",
        metavar="W",
        help="Instead of --by: marginals:2, prefixes:COLUMN or ranges:COLUMN, joined by +; "
        "prefixes:age*marginals:sex are prefixes within each cell of a table.",
    ),
]


@reported()
def tabulate(
    private: PrivateTable,
    asked: Typed[Tabulate],
    by: ByOption = None,
    workload: WorkloadOption = None,
    run: DrawnRun = DRAWN,
) -> None:
    """Release tables of counts, sums and means, with a standard error for every number.

    Tables that overlap agree with each other. What is measured, and how precisely, is chosen
    from public numbers so that errors are small, and never larger than with plain noise.
    """
    from winnow.show.report.tabulated import tables_page

    check_cut(asked.with_cut, private.person is not None, "--person and --max-rows")
    declared, tables = _tables(private.schema, private.columns, by, workload, asked.values)
    run.release(
        "tables",
        private,
        partial(asked, by=tables),
        declared,
        title="Tables",
        page=tables_page,
        show=_show,
        draw=_draw,
    )


def _tables(
    schema: Path, columns: str | None, by: list[str] | None, workload: str | None,
    values: list[str],
) -> tuple[Schema, Any]:  # fmt: skip
    """The schema of the columns that are needed, and the tables."""
    from winnow.core.schema import Schema
    from winnow.release.cli.view import workload_of

    declared = some_of(Schema.parse(schema), columns)
    if (not by) is (workload is None):
        raise ParameterError("say which tables: give --by A,B (as often as needed) or --workload W")
    if workload is not None:
        return declared, workload_of(workload)
    tables = [_names(text) for text in by or ()]
    needed = dict.fromkeys(name for names in (*tables, values) for name in names)
    return declared.subset(list(needed)), tables


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _draw(released: Released[ReleasedTables], ending: str) -> bytes:
    from winnow.show.plots.tables import draw_tables

    seeded = "" if released.receipt.randomness == "os" else " (seeded: not private)"
    return draw_tables(released.value, title=f"{released.guarantee}{seeded}", ending=ending)


def _show(released: Released[ReleasedTables], written: Sequence[tuple[str, Path]]) -> None:
    from rich.text import Text

    from winnow.cli.printing import add_receipt, console, pairs, visible

    show = console()
    for table in released.value:
        for each in () if any(what != "figure" for what, _ in written) else _grids(table):
            show.print(each)
    lines = pairs()
    for what, path in written:
        lines.add_row(what, Text(visible(path), style="bold green"))
    total = released.value.total
    assert total is not None
    error = float(total.standard_error)
    known = "public" if not error else f"±{error:,.3g} (1 sd)"
    lines.add_row("rows", f"{float(total.estimate):,.0f}, {known}")
    for note in released.value.notes:
        lines.add_row("note", Text(note))
    add_receipt(lines, released)
    show.print(lines)


def _grids(table: ReleasedTable) -> Iterator[Any]:
    """The counts, then the sums and means: a grid for each, so that it fits a terminal."""
    from winnow.cli.printing import grid

    columns = list(table.readable().items())
    labels, answers = columns[: len(table.columns)], columns[len(table.columns) :]
    for start in range(0, len(answers), 4):
        shown = [*labels, *answers[start : start + 4]]
        heads = ("standard error", "low", "high")
        named = [(name, "left") for name, _ in labels]
        named += [(answers[start][0].replace("_", " "), "right"), *((h, "right") for h in heads)]
        yield grid(named, zip(*(column.tolist() for _, column in shown), strict=True))


PLAN_EXAMPLES = """\
Examples:

winnow plan tabulate --schema schema.json --by race,age --by sex --epsilon 1 --delta 1e-6

winnow plan tabulate --schema schema.json --workload marginals:2 --error 50 --delta 1e-6
"""


@reported()
def plan(
    assumed: AssumedTable,
    asked: Typed[PlannedTabulate],
    by: ByOption = None,
    workload: WorkloadOption = None,
    out: OutOption = None,
) -> None:
    """Predict the errors of tables; no data are read and nothing is spent."""
    from winnow.cli.files import refuse_overwriting
    from winnow.cli.printing import show_plan
    from winnow.core.saving import check_target, save

    if out is not None:
        check_target(out)
        refuse_overwriting([assumed.schema], "--out", out)
    declared, tables = _tables(assumed.schema, assumed.columns, by, workload, asked.values)
    planned = asked(by=tables).plan(assumed.about(declared))
    document = planned.to_dict()
    show_plan(planned, json=assumed.json)
    if out is not None and isinstance(planned, AutoBoundPlan):
        save(out, document, document["bounds"])
    elif out is not None:
        names = ("epsilon", "delta", "relation", "rows_per_person", "total", "strategy")
        about = {name: document[name] for name in names}
        save(out, document, [{**row, **about} for row in document["rows"]])
