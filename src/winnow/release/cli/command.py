"""``winnow release``: a synthetic table and the answers to many queries, privately."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import (
    PLAIN_TEXT,
    SCHEMA_EXAMPLE,
    TABLE,
    ColumnsOption,
    JsonOption,
    MaxRowsPerPersonOption,
    OneRowOption,
    PadToOption,
    PersonOption,
    SchemaOption,
    SeedOption,
    TableArgument,
    TextOptions,
    check_unit_said,
    padding_of,
    plot_of,
    relation_of_people,
)
from winnow.cli.recording import UNRECORDED, Record, warn_of_other_labels
from winnow.cli.reporting import report as say
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.release.request import Release

_METHOD = "Method"
_OUTPUT = "Output"

EXAMPLES = """\
Examples:

winnow release people.csv --schema schema.json --workload marginals:3 --epsilon 1 --delta 1e-6 \
--out synthetic.parquet --report report.html --one-row-per-person

winnow release visits.parquet --schema schema.json --workload marginals:2+ranges:age \
--columns age,town,sex --person id --max-rows 3 --epsilon 1 --delta 1e-6 \
--answers answers.csv

winnow plan release --schema schema.json --workload marginals:3 -n 30000 --epsilon 1 --delta 1e-6
"""
EXAMPLES += SCHEMA_EXAMPLE


WorkloadOption = Annotated[
    str,
    typer.Option(
        "--workload",
        metavar="W",
        help="What to be accurate about: marginals:3, marginals:2,3, prefixes:COLUMN, "
        "ranges:COLUMN, random:M (M random sets of cells; M,SEED) or a JSON file of predicates; "
        "several joined by +.",
    ),
]


@reported()
def release(
    table: TableArgument,
    schema: SchemaOption,
    workload: WorkloadOption,
    asked: Typed[Release],
    seed: SeedOption = None,
    text: TextOptions = PLAIN_TEXT,
    pad_to: PadToOption = None,
    columns: ColumnsOption = None,
    person: PersonOption = None,
    one_row: OneRowOption = False,
    max_rows: MaxRowsPerPersonOption = 1,
    relation: Annotated[Relation | None, relation_of_people(TABLE, Relation.SUBSTITUTION)] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            metavar="N",
            help="A public number of rows that counts refer to, where theirs is private. Without "
            "it 2 % of the budget measure it.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Refuse domains and workloads that need more.",
            rich_help_panel=_METHOD,
        ),
    ] = "4GB",
    record: Record = UNRECORDED,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Synthetic rows as .csv or .parquet, or the distribution as .json.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            metavar="N",
            help="How many synthetic rows; as many as the table has by default.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="The answer to every query of the workload: .csv, .json or .parquet.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="A page with plots, errors and the receipt, in one .html file.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(
            "--title",
            metavar="TEXT",
            help="The public name of the data, for the report; the name of the file by default.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    plot: Annotated[Path | None, plot_of("Draw a summary")] = None,
    json: JsonOption = False,
    unsafe_show_private: Annotated[
        bool,
        typer.Option(
            "--unsafe-show-private",
            help="For the owner of the data: put TRUE answers into the report, which then must "
            "not be published.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
) -> None:
    """Release a synthetic table that answers many queries about a private one.

    Noisy measurements of tables, or of queries selected in rounds, fit a distribution over the
    cells of a public schema. Rows drawn from it, and all answers, may be published.
    """
    from winnow.cli.files import are_large, named_by
    from winnow.cli.printing import working
    from winnow.core.request import Run
    from winnow.core.schema import Schema
    from winnow.read.about import table as about_table
    from winnow.read.table import read_table
    from winnow.release.cli.run import (
        Targets,
        check_before,
        public_files,
        with_cells,
        write_targets,
    )
    from winnow.release.cli.view import RoundsBar, show_plan, show_result, workload_of

    check_unit_said(person, one_row, "--person")
    relation, budget = record.account(relation, Relation.SUBSTITUTION)
    read = named_by(table)
    if title is not None and report is None:
        raise ParameterError("--title stands in the --report; give one, or leave it out")
    name = title or (read[0].stem if len(read) == 1 else "Synthetic table")
    targets = Targets(out, answers, report, plot, sample, unsafe_show_private, name)
    targets.check([*read, *public_files(asked, schema, workload)], printed=json)
    declared = Schema.parse(schema)
    if columns is not None:
        declared = declared.subset([column.strip() for column in columns.split(",")])
    held = padding_of(pad_to)
    bar = RoundsBar()
    request = asked(
        workload=workload_of(workload),
        method=with_cells(asked, declared),
        budget=budget,
        run=Run(memory, held, bar if held is None else None),
        seed=seed,
    )
    check_before(request, about_table(declared, rows=rows, relation=relation, max_rows=max_rows))
    with working(f"reading {table}") if are_large(read) else nullcontext():
        sealed = read_table(
            table,
            schema=declared,
            person=person,
            max_rows=max_rows,
            relation=relation,
            rows=rows,
            **text.said(),
            memory=memory,
            salt=None if seed is None else f"seed {seed}",  # repeatable, too
        )
    plan = request.plan(sealed)
    warn_of_other_labels(budget, sealed)
    if not json:
        show_plan(plan)
    with bar.over(plan) if held is None else nullcontext():
        released = plan.run(sealed, budget=budget, seed=seed)
    written: list[tuple[str, Path]] | None = None

    def show() -> None:
        show_result(released, written or [], with_measurements=written is None)

    printed = "the result is released and its counts are printed"
    with saved_then_shown(released, json, show, printed):
        written = write_targets(targets, released, sealed, seed=seed)
    if unsafe_show_private:
        say(f"{report} shows TRUE answers of the private table: do not publish it")
