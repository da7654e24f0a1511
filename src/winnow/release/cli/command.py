"""``winnow release``: a synthetic table and the answers to many queries, privately."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import (
    SCHEMA_EXAMPLE,
    JsonOption,
    PadToOption,
    SeedOption,
    padding_of,
    plot_of,
)
from winnow.cli.private_table import PrivateTable
from winnow.cli.recording import UNRECORDED, Record, warn_of_other_labels
from winnow.cli.reporting import report as say
from winnow.cli.reporting import reported, saved_then_shown
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
    private: PrivateTable,
    workload: WorkloadOption,
    asked: Typed[Release],
    seed: SeedOption = None,
    pad_to: PadToOption = None,
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
    from winnow.core.request import Run
    from winnow.release.cli.run import (
        Targets,
        check_before,
        public_files,
        with_cells,
        write_targets,
    )
    from winnow.release.cli.view import RoundsBar, show_plan, show_result, workload_of

    relation, budget = private.account(record)
    read = private.files()
    if title is not None and report is None:
        raise ParameterError("--title stands in the --report; give one, or leave it out")
    name = title or (read[0].stem if len(read) == 1 else "Synthetic table")
    targets = Targets(out, answers, report, plot, sample, unsafe_show_private, name)
    targets.check([*read, *public_files(asked, private.schema, workload)], printed=json)
    declared = private.declared()
    padding = padding_of(pad_to)
    bar = RoundsBar()
    request = asked(
        workload=workload_of(workload),
        method=with_cells(asked, declared),
        budget=budget,
        run=Run(memory, padding, bar if padding is None else None),
        seed=seed,
    )
    check_before(request, private.about(declared, relation))
    with private.busy():
        sealed = private.read(declared, relation, seed=seed, memory=memory)
    plan = request.plan(sealed)
    warn_of_other_labels(budget, sealed)
    if not json:
        show_plan(plan)
    with bar.over(plan) if padding is None else nullcontext():
        released = plan.run(sealed, budget=budget, seed=seed)
    written: list[tuple[str, Path]] | None = None

    def show() -> None:
        show_result(released, written or [], with_measurements=written is None)

    printed = "the result is released and its counts are printed"
    with saved_then_shown(released, json, show, printed):
        written = write_targets(targets, released, sealed, seed=seed)
    if unsafe_show_private:
        say(f"{report} shows TRUE answers of the private table: do not publish it")
