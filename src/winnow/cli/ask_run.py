"""The prompt of ``winnow ask``, and its batches."""

from __future__ import annotations

import csv
import io
import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from winnow.cli.ask_language import FORMS, completions, question_from
from winnow.cli.printing import console, pairs, show_json, visible
from winnow.cli.reporting import report
from winnow.errors import InputError, WinnowError

if TYPE_CHECKING:
    from winnow.algorithms.interactive_answer import Answer
    from winnow.domain.schema import Schema
    from winnow.privacy import Budget
    from winnow.verbs.interactive_session import Opened

HELP = f"""\
a question:  {FORMS}
:budget      what was charged, and how much of the session is left
:plan        the session's constants and error bounds, and what else there would have been
:columns     the columns and their values
:help        this list
:quit        end (the end of the input does too)"""

_COLUMNS = ("question", "value", "count", "kind", "error", "confidence")


def prompt(session: Opened, budget: Budget | None) -> None:
    """Read questions and show answers until the end of the input."""
    terminal = sys.stdin.isatty()
    if terminal:
        _complete_with(session.schema)
        typer.echo(":help lists the commands, TAB completes", err=True)
    while True:
        try:
            line = input("? " if terminal else "").strip()
        except EOFError:
            return
        if line in (":quit", ":q", ":exit"):
            return
        if line:
            _respond(session, budget, line)


def _respond(session: Opened, budget: Budget | None, line: str) -> None:
    try:
        match line:
            case ":help":
                typer.echo(HELP)
            case ":plan":
                typer.echo(f"{session.plan}\n\n{_comparison(session)}")
            case ":columns":
                for column in session.schema.columns:
                    shown = ", ".join(str(label) for label in column.labels[:12])
                    more = ", ..." if column.cardinality > 12 else ""
                    typer.echo(visible(f"{column.name}: {shown}{more}"))
            case ":budget":
                _show_budget(session, budget)
            case _ if line.startswith(":"):
                raise InputError(f"{line!r} is not a command; :help lists them")
            case _:
                _show(session.ask(question_from(line, session.schema)), session)
    except InputError as error:
        report(f"error: {error}")  # nothing was asked; the session goes on


def _show(answer: Answer, session: Opened) -> None:
    if answer.error is None:
        off = "no error bound: the session is exhausted, the last hypothesis answers untested"
    else:
        off = f"within {answer.error:.3g}, {100 * answer.confidence:g} % for all answers together"
        if not answer.adaptive:
            off += ", for questions that do not depend on earlier answers"
    typer.echo(
        f"{answer.value:.4f}  about {answer.count:,.0f} of {session.plan.rows:,}  "
        f"({answer.kind}; {off})"
    )


def _comparison(session: Opened) -> str:
    """The same as ``winnow plan interactive``, for this session's numbers."""
    from winnow.plan import interactive

    plan, stated = session.plan, session.guarantee
    return str(
        interactive(
            session.schema,
            n=plan.rows,
            epsilon=stated.epsilon,
            delta=stated.delta,
            max_queries=plan.max_queries,
            beta=plan.beta,
            rows_per_person=plan.rows_per_person,
            relation=plan.event.relation,
        )
    )


def _show_budget(session: Opened, budget: Budget | None) -> None:
    from winnow.algorithms.interactive import Interactive

    table = pairs()
    table.add_row("guarantee", str(session.guarantee))
    table.add_row("session", session.status)
    asked = "rounds" if session.method == "multiplicative-weights" else "questions"
    table.add_row(asked, f"{session.rounds:,} of {session.plan.max_queries:,}")
    if isinstance(session, Interactive):
        table.add_row("updates", f"{session.updates:,} of {session.plan.updates:,}")
    table.add_row("ledger", visible(session.receipt.ledger))
    if budget is not None:
        table.add_row("budget used", str(budget.spent))
    console().print(table)


def _complete_with(schema: Schema) -> None:
    """Completion and history by the terminal's own line editor, where there is one."""
    try:
        import readline
    except ImportError:
        return
    commands = [":budget", ":plan", ":columns", ":help", ":quit"]

    def complete(text: str, number: int) -> str | None:
        if text.startswith(":"):
            found = [command for command in commands if command.startswith(text)]
        else:
            found = completions(text, schema)
        return found[number] if number < len(found) else None

    readline.set_completer_delims("")  # the whole line is completed
    readline.set_completer(complete)
    editline = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if editline else "tab: complete")


def read_batch(path: Path, schema: Schema) -> list[Any]:
    """The questions of a file, all checked before anything is charged."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the questions {str(path)!r} cannot be read ({type(error).__name__})") \
            from None  # fmt: skip
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        try:
            found.append((content, question_from(content, schema)))
        except InputError as error:
            raise InputError(f"{path.name}, line {number}: {error}") from None
    if not found:
        raise InputError(f"the file {str(path)!r} has no questions; write one on each line")
    return found


def check_output(out: Path | None) -> None:
    """Refuse a file that cannot be written as asked, before anything is charged."""
    if out is None:
        return
    if out.suffix not in (".csv", ".json"):
        raise InputError(f"--out {str(out)!r} is neither .csv nor .json; name one of these")
    if not out.parent.is_dir():
        raise InputError(f"--out {str(out)!r}: there is no such folder; make it first")


def write_answers(session: Opened, lines: list[Any], out: Path | None, *, json: bool) -> None:
    """Answer a batch; what is paid for is shown even where it cannot be saved."""
    from winnow.domain.workloads import predicates

    answers = session.ask_all(predicates([question for _, question in lines]))
    rows = [a.to_dict() | {"question": text} for a, (text, _) in zip(answers, lines, strict=True)]
    document = {
        "answers": rows,
        "status": session.status,
        "guarantee": session.guarantee.to_dict(),
        "receipt": session.receipt.to_dict(),
    }
    if json:
        show_json(document)
        return
    content = _csv(rows) if out is None or out.suffix == ".csv" else json_module.dumps(
        document, indent=2, default=str
    )  # fmt: skip
    if out is None:
        typer.echo(content, nl=False)
    else:
        try:
            out.write_text(content, encoding="utf-8")
        except OSError as error:
            typer.echo(content)
            raise WinnowError(
                f"the answers are released and printed, but {out} cannot be written: "
                f"{error.strerror}"
            ) from None
    kinds = ", ".join(
        f"{sum(row['kind'] == kind for row in rows)} {kind}"
        for kind in dict.fromkeys(row["kind"] for row in rows)
    )
    report(f"{len(rows)} answers ({kinds}); {session.guarantee}; ledger {session.receipt.ledger}")


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: "" if row[name] is None else row[name] for name in _COLUMNS})
    return text.getvalue()
