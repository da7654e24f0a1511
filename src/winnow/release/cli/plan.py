"""``winnow plan release``: the noise and the error of a query release, from public numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from winnow.cli.options import (
    ASKED,
    AssumedRowsOption,
    AssumedRowsPerPersonOption,
    DeltaOfPlanOption,
    EpsilonOfPlanOption,
    JsonOption,
    OutOption,
    relation_of_people,
)
from winnow.cli.reporting import reported
from winnow.core.relation import Relation
from winnow.release.cli.command import RoundsOption, SchemaOption, WorkloadOption

if TYPE_CHECKING:
    from winnow.release.plan import ReleasePlan


EXAMPLES = """\
Examples:

winnow plan release --schema schema.json --workload marginals:3 -n 30000 --epsilon 1 --delta 1e-6

winnow plan release --schema schema.json --workload marginals:2+ranges:age -n 30000 --epsilon 1 \
--rounds 50
"""


@reported()
def release(
    schema: SchemaOption,
    workload: WorkloadOption,
    n: AssumedRowsOption,
    epsilon: EpsilonOfPlanOption,
    delta: DeltaOfPlanOption = 0.0,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,...",
            help="Only these columns of the schema.",
            rich_help_panel=ASKED,
        ),
    ] = None,
    max_rows_per_person: AssumedRowsPerPersonOption = 1,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION,
    rounds: RoundsOption = None,
    json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """Say what to expect of a query release; no data are read and nothing is spent.

    One line for each accountant: what each round gets, and the error that is proven for any
    table whatever.
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
        rounds=rounds,
        rows_per_person=max_rows_per_person,
        relation=relation,
    )
    document = planned.to_dict()
    if json:
        show_json(document)
    else:
        _show(planned)
    if out is not None:
        about = {name: value for name, value in document.items() if name not in ("rows", "scope")}
        save(out, document, [{**row, **about} for row in document["rows"]])


def _show(planned: ReleasePlan) -> None:
    from rich.text import Text

    from winnow.cli.printing import console, grid, pairs
    from winnow.core.process import memory_text
    from winnow.core.schema import cells_text

    table = pairs()
    for name, text in (
        ("domain", f"{cells_text(planned.cells)} cells, about {memory_text(planned.memory)}"),
        ("queries", f"{planned.queries:,}"),
        ("table", f"{planned.n:,} rows, at most {planned.rows_per_person:,} of one person"),
        ("asked", f"epsilon {planned.epsilon:.6g}, delta {planned.delta:.6g}, "
                  f"{Relation(planned.relation).sentence}"),
        ("rounds", f"{planned.rounds:,} (recommended: {planned.recommended_rounds:,})"),
    ):  # fmt: skip
        table.add_row(name, Text(text))
    show = console()
    show.print(table)
    best = planned.best()
    rows = []
    for row in planned.rows:
        cells = [
            row.accountant,
            row.measurement,
            f"{row.selection_epsilon:.4g}",
            f"±{row.noise_rows:,.4g} ({100 * row.noise:.3g} %)",
            _percent(row.selection_slack),
            _percent(row.bound),
        ]
        style = "bold green" if row is best and len(planned.rows) > 1 else ""
        rows.append([Text(cell, style=style) for cell in cells])
    heads = [
        ("accountant", "left"), ("noise", "left"), ("eps/selection", "right"),
        ("noise of a count", "right"), ("slack", "right"), ("bound", "right"),
    ]  # fmt: skip
    show.print(grid(heads, rows))
    show.print(
        "slack: by how much a selected query may miss the worst one, in the mean; bound: on the "
        "expected largest error, whatever the data are, for the sign update. The gap update is "
        "usually several times better.",
        style="dim",
    )


def _percent(fraction: float) -> str:
    return "none" if fraction >= 1 else f"{100 * fraction:.3g} %"
