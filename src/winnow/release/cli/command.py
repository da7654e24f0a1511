"""``winnow release``: a synthetic table and the answers to many queries, privately."""

from __future__ import annotations

from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from winnow.cli.options import (
    PLAIN_TEXT,
    SCHEMA_EXAMPLE,
    TABLE,
    ColumnsOption,
    EpsilonOption,
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
    option,
    padding_of,
    plot_of,
    relation_of_people,
)
from winnow.cli.recording import UNRECORDED, Record, warn_of_other_labels
from winnow.cli.reporting import report as say
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.errors import ParameterError

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


class ReleaseMethod(StrEnum):
    """How a workload is answered."""

    AUTO = "auto"
    TABLES = "tables"
    TOEPLITZ = "toeplitz"
    EXPLICIT = "explicit"
    ADAPTIVE = "adaptive"
    MWEM = "mwem"
    GRAPHICAL = "graphical"


class Update(StrEnum):
    """How the distribution follows a measurement."""

    GAP = "gap"
    HARDT = "hardt"
    SIGN = "sign"


class MeasurementLaw(StrEnum):
    """The noise of a measured count."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"


class Accountant(StrEnum):
    """What adds up the privacy loss of the rounds."""

    BEST = "best"
    PURE = "pure"
    ZCDP = "zcdp"
    TIGHT = "tight"


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
MethodOption = Annotated[
    ReleaseMethod,
    typer.Option(
        "--method",
        metavar="NAME",
        help=f"{', '.join(ReleaseMethod)}. auto takes the least predicted error.",
        rich_help_panel=_METHOD,
    ),
]
RoundsOption = Annotated[
    int | None,
    typer.Option(
        "--rounds",
        metavar="T",
        help="Of mwem: how many queries to measure; chosen from public numbers by default.",
        rich_help_panel=_METHOD,
    ),
]


@reported()
def release(
    table: TableArgument,
    schema: SchemaOption,
    workload: WorkloadOption,
    epsilon: EpsilonOption,
    delta: Annotated[
        float,
        typer.Option(
            "--delta",
            metavar="D",
            help="E.g. 1e-6: much less noise than without it.",
        ),
    ] = 0.0,
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
    method: MethodOption = ReleaseMethod.AUTO,
    rounds: RoundsOption = None,
    alpha: Annotated[
        float | None,
        option(
            "--alpha", "A", "Of mwem: a largest error to be promised; sets the rounds.", _METHOD
        ),
    ] = None,
    measurement: Annotated[
        MeasurementLaw | None,
        option("--measurement", "NAME", "Of mwem: gaussian (with --delta) or laplace.", _METHOD),
    ] = None,
    update: Annotated[
        Update | None,
        typer.Option(
            "--update",
            metavar="NAME",
            help="gap (most accurate), hardt or sign (the one with a theorem). Asks for MWEM.",
            rich_help_panel=_METHOD,
        ),
    ] = None,
    warm_start: Annotated[
        float | None,
        option(
            "--warm-start",
            "SHARE",
            "Of mwem: a share of the budget for noisy tables of single columns to start from; a "
            "tenth where it should help, 0 for none.",
            _METHOD,
        ),
    ] = None,
    accountant: Annotated[
        Accountant,
        typer.Option(
            "--accountant",
            metavar="NAME",
            help="best, pure, zcdp or tight.",
            rich_help_panel=_METHOD,
        ),
    ] = Accountant.BEST,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="A,B/C,D",
            help="For large domains: fit groups of columns apart; they come out independent.",
            rich_help_panel=_METHOD,
        ),
    ] = None,
    universe: Annotated[
        str | None,
        typer.Option(
            "--universe",
            metavar="N|FILE",
            help="For large domains: fit on N sampled cells (for smooth data only), or on those of "
            "a public list, a CSV file with a label for each column.",
            rich_help_panel=_METHOD,
        ),
    ] = None,
    index: Annotated[
        str | None,
        option(
            "--index",
            "NAME",
            "Of mwem: select over an index, as the paper does: flat, lsh, p-stable, ivf or hnsw. "
            "The law is the same; it is slower.",
            _METHOD,
        ),
    ] = None,
    slack: Annotated[
        float | None,
        option(
            "--slack", "C", "With --index: trust it by C nats, for 2 C of each selection.", _METHOD
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
    from winnow.release.cli.run import ReleaseOrder, Targets, write_targets
    from winnow.release.cli.view import running, show_plan, show_result

    check_unit_said(person, one_row, "--person")
    relation, budget = record.account(relation, Relation.SUBSTITUTION)
    order = ReleaseOrder(
        table=table,
        schema=schema,
        workload=workload,
        epsilon=epsilon,
        delta=delta,
        columns=columns,
        person=person,
        max_rows=max_rows,
        relation=relation,
        rows=rows,
        method=str(method),
        rounds=rounds,
        alpha=alpha,
        measurement=None if measurement is None else str(measurement),
        groups=groups,
        universe=universe,
        update=None if update is None else str(update),
        warm_start=warm_start,
        index=index,
        slack=slack,
        accountant=str(accountant),
        memory=memory,
        pad_to=padding_of(pad_to),
        seed=seed,
        text=text,
    )
    read = named_by(table)
    if title is not None and report is None:
        raise ParameterError("--title stands in the --report; give one, or leave it out")
    name = title or (read[0].stem if len(read) == 1 else "Synthetic table")
    targets = Targets(out, answers, report, plot, sample, unsafe_show_private, name)
    targets.check([*read, *order.files()], printed=json)
    request = order.request(budget)
    with working(f"reading {table}") if are_large(read) else nullcontext():
        sealed = order.read(request)
    planned = order.plan(request, sealed)
    warn_of_other_labels(budget, sealed)
    if not json:
        show_plan(planned)
    with running(planned) if pad_to is None else nullcontext() as progress:
        released = order.run(request, sealed, budget, progress)
    written: list[tuple[str, Path]] | None = None

    def show() -> None:
        show_result(released, written or [], with_measurements=written is None)

    printed = "the result is released and its counts are printed"
    with saved_then_shown(released, json, show, printed):
        written = write_targets(targets, released, sealed, seed=seed)
    if unsafe_show_private:
        say(f"{report} shows TRUE answers of the private table: do not publish it")
