"""The prompt of ``winnow ask``, and its batches."""

from __future__ import annotations

import csv
import io
import json as json_module
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from winnow.cli.printing import console, pairs, show_json, visible
from winnow.cli.reporting import report
from winnow.errors import DataError, InputError, ParameterError, SavingError
from winnow.foreign import instead, reason

if TYPE_CHECKING:
    from winnow.ask.open_session import Answer
    from winnow.ask.opening import Opened
    from winnow.core.column import Column
    from winnow.core.schema import Schema
    from winnow.core.workloads.conditions import Predicates
    from winnow.privacy import Budget


FORMS = "column = value, column = value|value, column = low..high; joined by ','"
_PIECE = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|,|&|=|\||\.\.|[^\s",&=|.]+(?:\.(?!\.)[^\s",&=|.]*)*|\.)'
)
_JOINERS = {",", "&", "and"}


def question_from(text: str, schema: Schema) -> Predicates:
    """The predicate that a line describes, checked against the schema."""
    from winnow.core.workloads.conditions import where

    conditions: dict[str, Any] = {}
    for pieces in _conditions(_pieces(text), text):
        if "=" not in pieces:
            raise _unreadable(text, "a condition has no '='")
        split = pieces.index("=")
        name = " ".join(_plain(piece) for piece in pieces[:split])
        if name in conditions:
            raise ParameterError(f"the column {name!r} has two conditions; give one")
        conditions[name] = _condition(schema.column(name), pieces[split + 1 :], text)
    query = where(conditions)
    query.over(schema)
    return query


def completions(text: str, schema: Schema) -> list[str]:
    """Lines that the started one can become: names of columns, or values of one."""
    start = max(text.rfind(","), text.rfind("&")) + 1
    head, rest = text[:start], text[start:]
    space = rest[: len(rest) - len(rest.lstrip())]
    name, equals, value = rest.strip().partition("=") if "=" in rest else (rest.strip(), "", "")
    if not equals:
        return [
            f"{head}{space}{_quoted(column)} = "
            for column in schema.names
            if column.startswith(name.strip('"'))
        ]
    column = name.strip().strip('"')
    if column not in schema.names:
        return []
    before, bar, last = value.rpartition("|")
    last = last.strip().strip('"')
    return [
        f"{head}{space}{_quoted(column)} = {before.strip()}{bar}{_quoted(str(label))}"
        for label in schema.column(column).labels
        if str(label).startswith(last)
    ]


def _pieces(text: str) -> list[str]:
    pieces, place = [], 0
    while place < len(text.rstrip()):
        match = _PIECE.match(text, place)
        if match is None:
            raise _unreadable(text, "a quotation mark is not closed")
        pieces.append(match.group(1))
        place = match.end()
    if not pieces:
        raise ParameterError(f"there is no question; write {FORMS}")
    return pieces


def _conditions(pieces: list[str], text: str) -> list[list[str]]:
    conditions: list[list[str]] = [[]]
    for piece in pieces:
        if piece in _JOINERS:
            conditions.append([])
        else:
            conditions[-1].append(piece)
    if not all(conditions):
        raise _unreadable(text, "a condition is empty; write column=value")
    return conditions


def _condition(column: Column, pieces: list[str], text: str) -> Any:
    if ".." in pieces:
        split = pieces.index("..")
        low, high = pieces[:split], pieces[split + 1 :]
        if ".." in high or "=" in high or "|" in pieces:
            raise _unreadable(text, "write a range as low..high")
        return _bound(column, low), _bound(column, high)
    values: list[list[str]] = [[]]
    for piece in pieces:
        if piece == "=":
            raise _unreadable(text, "a condition has two '='")
        if piece == "|":
            values.append([])
        else:
            values[-1].append(piece)
    if not all(values):
        raise _unreadable(text, "a value is missing")
    return [_value(column, " ".join(map(_plain, value))) for value in values]


def _value(column: Column, text: str) -> Any:
    """The declared value that reads like this."""
    for label in column.labels:
        if str(label) == text:
            return label
    shown = ", ".join(str(label) for label in column.labels[:10])
    more = " and others" if len(column.labels) > 10 else ""
    raise ParameterError(
        f"{text!r} is not a declared value of the column {column.name!r}; it has {shown}{more}"
    )


def _bound(column: Column, pieces: list[str]) -> int | float | str | None:
    if not pieces:
        return None
    text = " ".join(map(_plain, pieces))
    if column.content == "time" and not column.calendar:
        return text
    with instead(
        ParameterError(f"column {column.name!r}: the bound {text!r} is not a number; write 40..60"),
        ValueError,
    ):
        number = float(text)
    return int(number) if number == int(number) else number


def _plain(piece: str) -> str:
    if piece.startswith('"'):
        return re.sub(r"\\(.)", r"\1", piece[1:-1])
    return piece


def _quoted(text: str) -> str:
    simple = re.fullmatch(r'[^\s",&=|.\\]+(?:\.(?!\.)[^\s",&=|.\\]*)*', text)
    if simple and text not in _JOINERS:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _unreadable(text: str, why: str) -> InputError:
    return ParameterError(f"{text!r}: {why}; write {FORMS}")


HELP = f"""\
a question:  {FORMS}
:budget      what was charged, and how much of the session is left
:plan        the session's constants and error bounds, and the alternatives
:columns     the columns and their values
:help        this list
:quit        end (the end of the input does too)"""

_COLUMNS = ("question", "value", "count", "kind", "error", "confidence")


def prompt(session: Opened, budget: Budget | None) -> None:
    """Read questions and show answers until the end of the input."""
    terminal = sys.stdin.isatty()
    for name, text in session.receipt.note():
        report(f"{name}: {visible(text)}")
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
                typer.echo(f"{session.sizes.told(session.guarantee)}\n\n{session.plan}")
            case ":columns":
                for column in session.schema.columns:
                    shown = ", ".join(str(label) for label in column.labels[:12])
                    more = ", ..." if column.cardinality > 12 else ""
                    typer.echo(visible(f"{column.name}: {shown}{more}"))
            case ":budget":
                _show_budget(session, budget)
            case _ if line.startswith(":"):
                raise ParameterError(f"{line!r} is not a command; :help lists them")
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
        f"{answer.value:.4f}  about {answer.count:,.0f} of {session.sizes.rows:,}  "
        f"({answer.kind}; {off})"
    )


def _show_budget(session: Opened, budget: Budget | None) -> None:
    from winnow.ask.session import WeightsSession

    table = pairs()
    for name, text in session.receipt.note():
        table.add_row(name, visible(text))
    table.add_row("guarantee", str(session.guarantee))
    table.add_row("session", session.status)
    asked = "rounds" if session.method == "multiplicative-weights" else "questions"
    table.add_row(asked, f"{session.rounds:,} of {session.sizes.max_queries:,}")
    if isinstance(session, WeightsSession):
        table.add_row("updates", f"{session.updates:,} of {session.sizes.rounds.updates:,}")
        if session.sizes.fallback is not None:
            table.add_row("independent answers left", f"{session.fallback_left:,}")
    if session.late:
        table.add_row("late answers", f"{session.late:,}")
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
            matching = [command for command in commands if command.startswith(text)]
        else:
            matching = completions(text, schema)
        return matching[number] if number < len(matching) else None

    readline.set_completer_delims("")  # the whole line is completed
    readline.set_completer(complete)
    editline = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if editline else "tab: complete")


def read_batch(path: Path, schema: Schema) -> list[Any]:
    """The questions of a file, all checked before anything is charged."""
    from winnow.read.records import lines_of, text_of

    unreadable = f"the questions {str(path)!r} cannot be read"
    with instead(lambda error: DataError(f"{unreadable} ({reason(error)})"), OSError):
        data = path.read_bytes()
    with instead(lambda error: DataError(f"{unreadable} ({error})"), InputError):
        lines = lines_of(text_of(data))
    questions = []
    for number, line in enumerate(lines, 1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        questions.append((content, _question(content, schema, f"{path.name}, line {number}")))
    if not questions:
        raise DataError(f"the file {str(path)!r} has no questions; write one on each line")
    return questions


def _question(content: str, schema: Schema, place: str) -> Any:
    with instead(lambda error: DataError(f"{place}: {error}"), InputError):
        return question_from(content, schema)


def write_answers(session: Opened, lines: list[Any], out: Path | None, *, json: bool) -> None:
    """Answer a batch; what is paid for is shown even where it cannot be saved."""
    from winnow.core.saving import write_whole
    from winnow.core.workloads.conditions import predicates

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
    if out is None:
        typer.echo(_csv(rows, session.receipt.counted), nl=False)
    else:
        as_json = out.suffix.lower() == ".json"
        table = _csv(rows, session.receipt.counted)
        content = json_module.dumps(document, indent=2, default=str) if as_json else table
        try:
            write_whole(out, content.encode())
        except SavingError:
            typer.echo(content)
            raise
    kinds = ", ".join(
        f"{sum(row['kind'] == kind for row in rows)} {kind}"
        for kind in dict.fromkeys(row["kind"] for row in rows)
    )
    counted = "".join(f" counted: {visible(text)};" for _, text in session.receipt.note())
    told = f"{len(rows)} answers ({kinds});{counted} {session.guarantee}"
    report(f"{told}; ledger {session.receipt.ledger}")


def _csv(rows: list[dict[str, Any]], counted: str) -> str:
    """The answers, and what was counted beside each, where a bound may have cut it."""
    from winnow.core.saving import with_counted

    shown = {name: ["" if row[name] is None else row[name] for row in rows] for name in _COLUMNS}
    columns = with_counted(shown, counted)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
