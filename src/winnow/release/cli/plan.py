"""``winnow plan release``: the errors of every method of a release, from public numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from winnow.cli.options import (
    ASKED,
    AssumedRowsOption,
    AssumedRowsPerPersonOption,
    DeltaOfPlanOption,
    JsonOption,
    OutOption,
    SchemaOption,
    relation_of_people,
)
from winnow.cli.reporting import reported
from winnow.core.relation import Relation
from winnow.release.cli.command import MethodOption, ReleaseMethod, WorkloadOption

if TYPE_CHECKING:
    from winnow.answers.plan import ReleasePlan


EXAMPLES = """\
Examples:

winnow plan release --schema schema.json --workload marginals:3 -n 30000 --epsilon 1 --delta 1e-6

winnow plan release --schema schema.json --workload marginals:2+ranges:age -n 30000 --error 50 \
--delta 1e-6
"""


@reported()
def release(
    schema: SchemaOption,
    workload: WorkloadOption,
    n: AssumedRowsOption,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", metavar="E", help="The privacy budget.", rich_help_panel=ASKED),
    ] = None,
    delta: DeltaOfPlanOption = 0.0,
    error: Annotated[
        float | None,
        typer.Option(
            "--error",
            metavar="R",
            help="Instead of epsilon: the largest error that is wanted, in rows.",
            rich_help_panel=ASKED,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,...",
            help="Only these columns of the schema.",
            rich_help_panel=ASKED,
        ),
    ] = None,
    max_rows: AssumedRowsPerPersonOption = 1,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION,
    method: MethodOption = ReleaseMethod.AUTO,
    json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """Say what to expect of a release; no data are read and nothing is spent.

    One line for each method: the errors to expect over all queries, in rows.
    """
    from winnow import plan
    from winnow.cli.files import refuse_overwriting
    from winnow.cli.printing import show_json
    from winnow.core.saving import check_target, save
    from winnow.core.schema import Schema
    from winnow.release.cli.view import workload_files, workload_of

    if out is not None:
        check_target(out)
        refuse_overwriting([schema, *workload_files(workload)], "--out", out)
    declared = Schema.parse(schema)
    if columns is not None:
        declared = declared.subset([name.strip() for name in columns.split(",")])
    planned = plan.release(
        declared,
        workload_of(workload),
        n=n,
        epsilon=epsilon,
        delta=delta,
        error=error,
        method=str(method),
        rows_per_person=max_rows,
        relation=relation,
    )
    document = planned.to_dict()
    if json:
        show_json(document)
    else:
        _show(planned)
    if out is not None:
        left = ("rows", "refused", "reason", "scope", "method")
        about = {name: value for name, value in document.items() if name not in left}
        save(out, document, [{**row, **about} for row in document["rows"]])


def _show(planned: ReleasePlan) -> None:
    from rich.text import Text

    from winnow.cli.printing import console, grid, pairs
    from winnow.core.schema import cells_text

    table = pairs()
    for name, text in (
        ("domain", f"{cells_text(planned.cells)} cells"),
        ("queries", f"{planned.queries:,}"),
        ("table", f"{planned.n:,} rows, at most {planned.rows_per_person:,} of one person"),
        ("asked", f"epsilon {planned.epsilon:.6g}, delta {planned.delta:.6g}, "
                  f"{Relation(planned.relation).sentence}"),
        ("taken", planned.reason),
    ):  # fmt: skip
        table.add_row(name, Text(text))
    for word, why in planned.refused:
        table.add_row(f"not {word}", Text(why, style="dim"))
    show = console()
    show.print(table)
    first, *lines = planned.table()
    rows = [
        [Text(cell, style="bold green" if line is lines[0] else "") for cell in line]
        for line in lines
    ]
    sides = ("left", "right", "right", "right", "right", "left", "left")
    show.print(grid(list(zip(first, sides, strict=True)), rows))
    show.print(planned.scope, style="dim")
