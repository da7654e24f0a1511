"""``winnow ask``: questions about a private table, one after another under one charge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.ask.cli.cells import cells_file, with_cells
from winnow.ask.methods import Independent, MultiplicativeWeights
from winnow.ask.request import Ask
from winnow.cli.derived import Typed
from winnow.cli.options import (
    TABLE,
    JsonOption,
    PadToOption,
    SeedOption,
    option,
    padding_of,
)
from winnow.cli.private_table import PrivateTable
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import report, reported
from winnow.core.options import AUTO
from winnow.errors import ParameterError

if TYPE_CHECKING:
    from winnow.ask.plan import AskPlan


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


@reported()
def ask(
    private: PrivateTable,
    asked: Typed[Ask],
    seed: SeedOption = None,
    pad_to: PadToOption = None,
    salt: Annotated[
        str | None,
        option(
            "--salt",
            "TEXT",
            "With --person: a secret, the same whenever a --state is continued.",
            TABLE,
        ),
    ] = None,
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
        option("--passes", "N", "With --synthesise: the most passes over the workload.", _OUTPUT),
    ] = 10,
    state: Annotated[
        Path | None,
        option(
            "--state",
            "FILE",
            "Keep the session in this file, or continue the one that is there.",
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
    from winnow.ask.cli.prompt import prompt, read_batch, write_answers
    from winnow.ask.opening import resumed_session
    from winnow.ask.state_files import key_path
    from winnow.cli.files import refuse_overwriting
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.saving import FORMATS, check_target

    method = asked.method
    if synthesise is not None:
        workload = _workload_to_save(synthesise, batch, out, json)
        if isinstance(method, Independent):
            raise ParameterError(
                "independent noise keeps no hypothesis that could be saved; leave out "
                "--synthesise, or choose --method multiplicative-weights"
            )
        method = MultiplicativeWeights() if method == AUTO else method
    elif batch is None and (out is not None or json):
        raise ParameterError("--out and --json are for a --batch; at the prompt answers are shown")
    if out is not None and json:
        raise ParameterError("give --out or --json, not both")
    if out is not None:
        check_target(out, FORMATS if batch is None else (".csv", ".json"))
        kept = [] if state is None else [state, key_path(state)]
        named = [*private.files(), private.schema, batch, cells_file(method), *kept]
        refuse_overwriting([path for path in named if path is not None], "--out", out)
    relation, budget = private.account(record)
    if private.person is not None and state is not None and salt is None:
        raise ParameterError(
            "with --person and --state give --salt, so that the same rows are kept"
        )
    with private.busy():
        sealed = private.read(private.declared(), relation, seed=seed, salt=salt)
    lines = None if batch is None else read_batch(batch, sealed.schema)
    if state is not None and state.exists():
        session = resumed_session(sealed, state, record.ledger, record.ledger_key, record.dataset)
        session.padded(padding_of(pad_to))
        report(f"continuing {session!r}; {session.guarantee}, charged when it was opened")
    else:
        prompted = batch is None and synthesise is None
        request = asked(
            method=with_cells(method, sealed.schema),
            state=state,
            pad_to=padding_of(pad_to),
            budget=budget,
            seed=seed,
        )
        plan = request.plan(sealed)
        _agree(plan, ask=not yes and prompted)
        warn_of_other_labels(budget, sealed)
        session = plan.run(sealed, budget=budget, seed=seed, state=state).padded(request.pad_to)
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
        raise ParameterError(
            "this session adds noise to every answer and keeps no hypothesis; leave out "
            "--synthesise"
        )
    synthesis = session.synthesise(workload, passes=passes)
    about = {"guarantee": session.guarantee.to_dict(), "receipt": session.receipt.to_dict()}
    synthesis.synthetic.save(out, about=about)
    report(
        f"{synthesis.status} after {synthesis.passes} passes and {synthesis.updates} updates: {out}"
    )


def _agree(plan: AskPlan, *, ask: bool) -> None:
    """Show what to expect; on a terminal ask whether to go on."""
    typer.echo(f"{plan} (--method {plan.method})", err=True)
    if not ask or not sys.stdin.isatty():
        return
    if not typer.confirm("\nOpen the session and spend this?", err=True):
        raise typer.Exit(0)
