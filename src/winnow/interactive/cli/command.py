"""``winnow ask``: questions about a private table, one after another under one charge."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import (
    PLAIN_TEXT,
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
    relation_of_people,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import report, reported
from winnow.cli.universe import distance_from, universe_file, universe_from
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.interactive.cli.plan import share_of

if TYPE_CHECKING:
    from winnow.read.crossing import SealedTable


_METHOD = "Method"
_OUTPUT = "Output"

EXAMPLES = """\
Examples:

winnow ask people.csv --schema schema.json --epsilon 1 --delta 1e-6 --state people.session \
--one-row-per-person

winnow ask people.csv --schema schema.json --epsilon 1 --delta 1e-6 --batch questions.txt \
--out answers.csv --one-row-per-person

A question is a line such as: sex = Female, age = 40..60, town = Ulm|Bonn. At the prompt the \
TAB key completes columns and values; :help lists the commands.
"""


class SessionMethod(StrEnum):
    """How a session answers."""

    WEIGHTS = "multiplicative-weights"
    INDEPENDENT = "independent"
    RECOMMENDED = "recommended"


class NoiseProof(StrEnum):
    """Which proof sizes the noise of a hypothesis."""

    TARGET = "target-charging"
    PAPER = "paper"


@reported()
def ask(
    table: TableArgument,
    schema: SchemaOption,
    epsilon: EpsilonOption,
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="E.g. 1e-6.")],
    max_queries: Annotated[
        int,
        typer.Option(
            "--max-queries", metavar="K", help="For how many questions errors are to be bounded."
        ),
    ] = 10_000,
    seed: SeedOption = None,
    text: TextOptions = PLAIN_TEXT,
    pad_to: PadToOption = None,
    columns: ColumnsOption = None,
    person: PersonOption = None,
    one_row: OneRowOption = False,
    max_rows: MaxRowsPerPersonOption = 1,
    salt: Annotated[
        str | None,
        option(
            "--salt",
            "TEXT",
            "With --person: secret, and the same whenever a --state is gone on with.",
            TABLE,
        ),
    ] = None,
    relation: Annotated[Relation | None, relation_of_people(TABLE, Relation.SUBSTITUTION)] = None,
    rows: Annotated[
        int | None,
        option("--rows", "N", "A public number of rows, where theirs is private.", TABLE),
    ] = None,
    method: Annotated[
        SessionMethod,
        typer.Option(
            "--method",
            help="A hypothesis that learns (for very many questions), noise on every answer (for "
            "few), or what usually has the smaller errors.",
            rich_help_panel=_METHOD,
        ),
    ] = SessionMethod.RECOMMENDED,
    threshold: Annotated[
        float | None,
        option(
            "--threshold",
            "T",
            "How far off, as a fraction of the rows, the hypothesis may be before it learns.",
            _METHOD,
        ),
    ] = None,
    updates: Annotated[
        int | None,
        option(
            "--updates",
            "C",
            "How often it may learn; chosen from public numbers by default.",
            _METHOD,
        ),
    ] = None,
    warm_start: Annotated[
        str,
        option(
            "--warm-start",
            "SHARE",
            "A share of the charge for noisy counts of pairs of columns to start from; auto "
            "takes one where it should help, 0 none.",
            _METHOD,
        ),
    ] = "auto",
    fallback: Annotated[
        str,
        option(
            "--fallback",
            "SHARE",
            "A share of the charge for independent answers when updates have run out; auto takes "
            "one where it lowers the error bound, 0 none.",
            _METHOD,
        ),
    ] = "auto",
    beta: Annotated[
        float,
        option(
            "--beta", "B", "Bounds hold for all answers together with probability 1 - B.", _METHOD
        ),
    ] = 0.05,
    alpha: Annotated[
        float | None,
        option("--alpha", "A", "An error bound to aim at, as a fraction of the rows.", _METHOD),
    ] = None,
    calibration: Annotated[
        NoiseProof,
        typer.Option("--calibration", help="Which proof sizes the noise.", rich_help_panel=_METHOD),
    ] = NoiseProof.TARGET,
    universe: Annotated[
        str | None,
        option(
            "--universe",
            "CELLS|FILE",
            "Keep the hypothesis on so many sampled cells (with --smoothness; alpha: as many "
            "as --alpha needs), or on those of a public list: a CSV file, a label for each column.",
            _METHOD,
        ),
    ] = None,
    smoothness: Annotated[
        float | None,
        option(
            "--smoothness",
            "XI",
            "With --universe: no cell holds more than this part of the rows.",
            _METHOD,
        ),
    ] = None,
    phi: Annotated[
        str | None,
        option(
            "--phi",
            "PHI",
            "With --universe: how far, as a fraction of the rows, the data may be from what "
            "such cells can carry, on any question; rows: as far as independent draws are.",
            _METHOD,
        ),
    ] = None,
    memory: Annotated[
        str,
        option(
            "--memory",
            "SIZE",
            "Hold every cell while they fit; beyond it the list of updates.",
            _METHOD,
        ),
    ] = "1GB",
    synthesise: Annotated[
        str | None,
        option(
            "--synthesise",
            "W",
            "Ask a workload (marginals:2, as in winnow release) again and again until the "
            "hypothesis follows it, and save that with --out as a synthetic table.",
            _OUTPUT,
        ),
    ] = None,
    passes: Annotated[
        int,
        option("--passes", "N", "With --synthesise: how often at most.", _OUTPUT),
    ] = 10,
    state: Annotated[
        Path | None,
        option(
            "--state",
            "FILE",
            "Keep the session in this file, or go on with the one that is there.",
            _METHOD,
        ),
    ] = None,
    batch: Annotated[
        Path | None,
        option("--batch", "FILE", "Ask the lines of a file instead of prompting.", _OUTPUT),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out",
            "FILE",
            "With --batch: the answers as .csv or .json. With --synthesise: rows as .csv or "
            ".parquet, the distribution as .json.",
            _OUTPUT,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Open the session without asking.")] = False,
    record: Record = UNRECORDED,
    json: JsonOption = False,
) -> None:
    """Ask questions about a private table, one after another.

    A public hypothesis answers; a private test after each question finds out whether it is near
    the data, and it learns where it is not. With --method independent every answer has noise of
    its own. The whole session is charged when it is opened; before that, both are compared.
    """
    from winnow.cli.files import named_by, refuse_overwriting
    from winnow.cli.printing import working
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.saving import FORMATS, check_target
    from winnow.interactive.cli.prompt import prompt, read_batch, write_answers
    from winnow.interactive.opening import resumed_session
    from winnow.interactive.state_files import key_path
    from winnow.interactive.verb import open_interactive
    from winnow.read.table import read_table

    if synthesise is not None:
        workload = _workload_to_save(synthesise, batch, out, json)
        if method is SessionMethod.INDEPENDENT:
            raise ParameterError("noise on every answer keeps no hypothesis to --synthesise")
        method = SessionMethod.WEIGHTS
    elif batch is None and (out is not None or json):
        raise ParameterError("--out and --json are for a --batch; at the prompt answers are shown")
    if out is not None and json:
        raise ParameterError("give --out or --json, not both")
    if out is not None:
        check_target(out, FORMATS if batch is None else (".csv", ".json"))
        kept = [] if state is None else [state, key_path(state)]
        named = [*named_by(table), schema, batch, universe_file(universe), *kept]
        refuse_overwriting([path for path in named if path is not None], "--out", out)
    check_unit_said(person, one_row, "--person")
    relation, budget = record.account(relation, Relation.SUBSTITUTION)
    if person is not None and state is not None and salt is None:
        raise ParameterError(
            "with --person and --state give --salt, so that the same rows are kept"
        )
    with working(f"reading {table}"):
        sealed = read_table(
            table,
            schema=schema,
            columns=None if columns is None else [c.strip() for c in columns.split(",")],
            person=person,
            max_rows=max_rows,
            relation=relation,
            **text.said(),
            salt=salt,
        )
    lines = None if batch is None else read_batch(batch, sealed.schema)
    if state is not None and state.exists():
        session = resumed_session(sealed, state, record.ledger, record.ledger_key, record.dataset)
        session.padded(padding_of(pad_to))
        report(f"going on with {session!r}; {session.guarantee}, charged when it was opened")
    else:
        sizing: dict[str, Any] = {
            "threshold": threshold,
            "updates": updates,
            "warm_start": share_of("--warm-start", warm_start),
            "fallback": share_of("--fallback", fallback),
            "alpha": alpha,
            "universe": universe_from(universe, sealed.schema),
            "smoothness": smoothness,
            "phi": distance_from(phi),
        }
        if calibration is not NoiseProof.TARGET:
            sizing["calibration"] = str(calibration)
        prompted = batch is None and synthesise is None
        _agree(sealed, rows, epsilon, delta, max_queries, sizing, ask=not yes and prompted)
        warn_of_other_labels(budget, sealed)
        session = open_interactive(
            sealed,
            epsilon=epsilon,
            delta=delta,
            method=method,
            max_queries=max_queries,
            rows=rows,
            threshold=threshold,
            updates=updates,
            warm_start=sizing["warm_start"],
            fallback=sizing["fallback"],
            beta=beta,
            alpha=alpha,
            calibration=str(calibration),
            universe=sizing["universe"],
            smoothness=smoothness,
            phi=0.0 if phi is None else sizing["phi"],
            memory=memory,
            state=state,
            budget=budget,
            pad_to=padding_of(pad_to),
            seed=seed,
        )
    with session:
        if synthesise is not None and out is not None:
            _synthesised(session, workload, passes, out)
        elif lines is None:
            prompt(session, budget)
        else:
            write_answers(session, lines, out, json=json)


def _workload_to_save(text: str, batch: Path | None, out: Path | None, json: bool) -> Any:
    """The workload of --synthesise."""
    from winnow.release.cli.view import workload_of

    if batch is not None or json:
        raise ParameterError("--synthesise saves a table; leave out --batch and --json")
    if out is None:
        raise ParameterError("--synthesise needs --out FILE: .csv, .parquet or .json")
    return workload_of(text)


def _synthesised(session: Any, workload: Any, passes: int, out: Path) -> None:
    """Passes over the workload, and the synthetic table in a file."""
    if not hasattr(session, "synthesise"):  # one that was opened before
        raise ParameterError("this session has noise on every answer, and keeps no hypothesis")
    found = session.synthesise(workload, passes=passes)
    about = {"guarantee": session.guarantee.to_dict(), "receipt": session.receipt.to_dict()}
    found.synthetic.save(out, about=about)
    report(f"{found.status} after {found.passes} passes and {found.updates} updates: {out}")


def _agree(
    table: SealedTable,
    rows: int | None,
    epsilon: float,
    delta: float,
    max_queries: int,
    sizing: dict[str, Any],
    *,
    ask: bool,
) -> None:
    """Show what to expect; on a terminal ask whether to go on."""
    from winnow.interactive.plan import interactive

    number = rows if rows is not None else table.n
    if number is None:
        return  # opening the session says what is missing
    comparison = interactive(
        table.schema,
        n=number,
        epsilon=epsilon,
        delta=delta,
        max_queries=max_queries,
        rows_per_person=table.rows_per_person,
        relation=table.relation,
        **{name: value for name, value in sizing.items() if value is not None},
    )
    typer.echo(f"{comparison} (--method {comparison.recommended_method})", err=True)
    if not ask or not sys.stdin.isatty():
        return
    if not typer.confirm("\nOpen the session and spend this?", err=True):
        raise typer.Exit(0)
