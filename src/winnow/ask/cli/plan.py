"""``winnow plan ask``: a hypothesis that learns, or noise on every answer?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from winnow.ask.cli.cells import with_cells
from winnow.ask.request import Ask
from winnow.cli.derived import Typed
from winnow.cli.options import (
    ASKED,
    AssumedRowsOption,
    AssumedRowsPerPersonOption,
    JsonOption,
    OutOption,
    option,
    relation_of_people,
)
from winnow.cli.reporting import reported
from winnow.core.relation import Relation
from winnow.errors import InputError, ParameterError

if TYPE_CHECKING:
    from winnow.ask.compared import AskRow
    from winnow.ask.plan import AskPlan


EXAMPLES = """\
Examples:

winnow plan ask --schema schema.json -n 48842 --epsilon 1 --delta 1e-6

winnow plan ask --cells 120960 -n 48842 --epsilon 1 --delta 1e-6 --max-queries 50000
"""

_SHORT = {"multiplicative-weights": "hypothesis", "independent": "independent", "none": "neither"}
_USUAL = (1_000, 10_000, 100_000, 1_000_000)
"""Numbers of questions that are compared beside the one that was asked for."""

Compared = list[tuple[int, "tuple[AskRow, ...]"]]


@reported()
def ask(
    n: AssumedRowsOption,
    asked: Typed[Ask],
    schema: Annotated[
        Path | None,
        option("--schema", "FILE", "The public schema of the table, a JSON file.", ASKED),
    ] = None,
    cells: Annotated[
        int | None,
        option(
            "--cells", "M", "Instead of a schema: how many different rows there could be.", ASKED
        ),
    ] = None,
    max_rows: AssumedRowsPerPersonOption = 1,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION,
    json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """Compare the two ways to answer many questions; no data are read and nothing is spent.

    Noise on every single answer grows with the square root of their number, a hypothesis that
    learns (private multiplicative weights) with its logarithm. Bounds hold for all answers
    together.
    """
    from winnow.ask.compared import the_better
    from winnow.ask.plan import compared
    from winnow.cli.files import refuse_overwriting
    from winnow.cli.printing import show_json
    from winnow.core.saving import check_target, save
    from winnow.read.about import table

    known = schema if schema is not None else cells
    if known is None or (schema is not None and cells is not None):
        raise ParameterError("give --schema FILE or --cells M, one of them")
    if out is not None:
        check_target(out)
        refuse_overwriting([] if schema is None else [schema], "--out", out)
    about = table(known, rows=n, relation=relation, max_rows=max_rows)
    request = asked(method=with_cells(asked.method, about.schema))
    plan: AskPlan | None = None
    try:
        plan = request.plan(about)
    except InputError:
        compared(request, about)  # options that are wrong, and not merely too much to ask, are said
    sizes = sorted({int(request.max_queries), *_USUAL})
    answers: Compared = []
    for size in sizes:
        typed = asked(method=request.method, max_queries=size)
        answers.append((size, compared(typed, about)))
    rows = [
        {"max_queries": size, "recommended": the_better(each)}
        | {f"{row.method} {name}": value for row in each for name, value in _stated(row)}
        for size, each in answers
    ]
    document: dict[str, Any] = {"plan": None if plan is None else plan.to_dict(), "compared": rows}
    if json:
        show_json(document)
    else:
        _show(request, plan, answers, n, about.cells, relation)
    if out is not None:
        save(out, document, rows)


def _stated(row: AskRow) -> list[tuple[str, Any]]:
    """What a method says of itself; what it has not is left out."""
    return [
        (name, value) for name, value in row.to_dict().items() if isinstance(value, float | int)
    ]


def _show(
    asked: Ask, plan: AskPlan | None, compared: Compared, n: int, cells: int, relation: Relation
) -> None:
    from rich.text import Text

    from winnow.ask.compared import the_better
    from winnow.cli.printing import console, grid, pairs
    from winnow.core.schema import cells_text

    table = pairs()
    table.add_row("table", Text(f"{n:,} rows, {cells_text(cells)} cells"))
    promise = f"epsilon {float(asked.epsilon):.6g}, delta {float(asked.delta):.6g}"
    table.add_row("asked", Text(f"{promise}, {relation.sentence}"))
    sure = f"for all answers together, with probability {1 - float(asked.beta):g}"
    table.add_row("bounds", Text(sure))
    screen = console()
    screen.print(table)
    rows: list[list[str | Text]] = []
    for size, (weights, single) in compared:
        rows.append(
            [
                f"{size:,}",
                _percent(weights.bound),
                "-" if weights.updates is None else f"{weights.updates:,}",
                _percent(single.bound),
                _percent(single.deviation or 0.0),
                Text(_SHORT[the_better((weights, single))], style="bold green"),
            ]
        )
    heads = [
        ("questions", "right"), ("hypothesis", "right"), ("updates", "right"),
        ("independent", "right"), ("typical", "right"), ("recommended", "left"),
    ]  # fmt: skip
    screen.print(grid(heads, rows))
    screen.print(
        "hypothesis (--method multiplicative-weights) and independent (--method independent): "
        "bounds on all errors, of the rows; typical: the standard deviation of an independent "
        "answer. What a hypothesis reaches is usually better than its bound.",
        style="dim",
    )
    if plan is not None:
        told = plan.expected.told(plan.guarantee)
        screen.print(f"\nwinnow ask would take {plan.method}:\n{told}", markup=False)


def _percent(fraction: float) -> str:
    return "none" if fraction >= 1 else f"{100 * fraction:.3g} %"
