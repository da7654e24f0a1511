"""``winnow plan interactive``: a hypothesis that learns, or noise on every answer?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import (
    ASKED,
    AssumedRowsOption,
    AssumedRowsPerPersonOption,
    DeltaOfPlanOption,
    EpsilonOfPlanOption,
    JsonOption,
    OutOption,
    option,
    relation_of_people,
)
from winnow.cli.reporting import reported
from winnow.cli.universe import distance_from, universe_from
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.foreign import instead, shown

if TYPE_CHECKING:
    from winnow.interactive.plan import InteractiveComparison


EXAMPLES = """\
Examples:

winnow plan interactive --schema schema.json -n 48842 --epsilon 1 --delta 1e-6

winnow plan interactive --cells 120960 -n 48842 --epsilon 1 --delta 1e-6 --max-queries 10000 \
--max-queries 1000000
"""

_AS_ASKED = "As in winnow ask."
_SHORT = {"multiplicative-weights": "hypothesis", "independent": "independent", "none": "neither"}
_USUAL = (1_000, 10_000, 100_000, 1_000_000)


def share_of(name: str, typed: str) -> float | str:
    """A share of the charge, or the word for one that is chosen."""
    from winnow.interactive.warm_start import AUTO

    if typed == AUTO:
        return typed
    with instead(
        ParameterError(f"{name} {shown(typed)} is no share; give auto, 0, or one like 0.2"),
        ValueError,
    ):
        return float(typed)


@reported()
def interactive(
    n: AssumedRowsOption,
    epsilon: EpsilonOfPlanOption,
    delta: DeltaOfPlanOption,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="The public schema of the table, a JSON file.",
            rich_help_panel=ASKED,
        ),
    ] = None,
    cells: Annotated[
        int | None,
        typer.Option(
            "--cells",
            metavar="M",
            help="Instead of a schema: how many different rows there could be.",
            rich_help_panel=ASKED,
        ),
    ] = None,
    max_queries: Annotated[
        list[int] | None,
        typer.Option(
            "--max-queries",
            metavar="K",
            help="For how many questions; may be given often. 1,000 to 1,000,000 by default.",
            rich_help_panel=ASKED,
        ),
    ] = None,
    beta: Annotated[
        float,
        typer.Option(
            "--beta",
            metavar="B",
            help="The chance that a bound may fail, for all answers together.",
            rich_help_panel=ASKED,
        ),
    ] = 0.05,
    max_rows: AssumedRowsPerPersonOption = 1,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION,
    threshold: Annotated[
        float | None,
        option("--threshold", "T", _AS_ASKED, ASKED),
    ] = None,
    updates: Annotated[
        int | None,
        option("--updates", "C", _AS_ASKED, ASKED),
    ] = None,
    warm_start: Annotated[
        str,
        typer.Option(
            "--warm-start", metavar="SHARE", help="As in winnow ask.", rich_help_panel=ASKED
        ),
    ] = "auto",
    fallback: Annotated[str, option("--fallback", "SHARE", _AS_ASKED, ASKED)] = "auto",
    alpha: Annotated[float | None, option("--alpha", "A", _AS_ASKED, ASKED)] = None,
    universe: Annotated[str | None, option("--universe", "CELLS|FILE", _AS_ASKED, ASKED)] = None,
    smoothness: Annotated[float | None, option("--smoothness", "XI", _AS_ASKED, ASKED)] = None,
    phi: Annotated[str | None, option("--phi", "PHI", _AS_ASKED, ASKED)] = None,
    json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """Compare the two ways to answer many questions; no data are read and nothing is spent.

    Noise on every single answer grows with the square root of their number, a hypothesis that
    learns (private multiplicative weights) with its logarithm. Bounds hold for all answers
    together.
    """
    from winnow import plan
    from winnow.cli.files import refuse_overwriting
    from winnow.cli.printing import show_json
    from winnow.core.saving import check_target, save
    from winnow.core.schema import Schema

    if (schema is None) == (cells is None):
        raise ParameterError("give --schema FILE or --cells M, one of them")
    if out is not None:
        check_target(out)
        refuse_overwriting([] if schema is None else [schema], "--out", out)
    sizing: dict[str, Any] = {
        "threshold": threshold, "updates": updates, "alpha": alpha, "smoothness": smoothness,
        "warm_start": share_of("--warm-start", warm_start),
        "fallback": share_of("--fallback", fallback), "phi": distance_from(phi),
        "universe": universe_from(universe, None if schema is None else Schema.parse(schema)),
    }  # fmt: skip
    found = [
        plan.interactive(
            schema if schema is not None else _number(cells),
            n=n,
            epsilon=epsilon,
            delta=delta,
            max_queries=k,
            beta=beta,
            rows_per_person=max_rows,
            relation=relation,
            **{name: value for name, value in sizing.items() if value is not None},
        )
        for k in max_queries or _USUAL
    ]
    documents = [comparison.to_dict() for comparison in found]
    if json:
        show_json(documents)
    else:
        _show(found)
    if out is not None:
        rows = [{k: v for k, v in d.items() if k != "session"} for d in documents]
        save(out, documents, rows)


def _number(cells: int | None) -> int:
    assert cells is not None
    return cells


def _show(found: list[InteractiveComparison]) -> None:
    from rich.text import Text

    from winnow.cli.printing import console, grid, pairs
    from winnow.core.schema import cells_text

    first = found[0]
    table = pairs()
    table.add_row("table", Text(f"{first.n:,} rows, {cells_text(first.cells)} cells"))
    table.add_row(
        "asked",
        Text(
            f"epsilon {first.epsilon:.6g}, delta {first.delta:.6g}, "
            f"{Relation(first.relation).sentence}"
        ),
    )
    table.add_row("bounds", Text(f"for all answers together, with probability {1 - first.beta:g}"))
    screen = console()
    screen.print(table)
    rows: list[list[str | Text]] = [
        [
            f"{c.max_queries:,}",
            _percent(c.interactive_bound),
            "-" if c.session is None else f"{c.session.updates:,}",
            _percent(c.independent_bound),
            _percent(c.independent_deviation),
            Text(_SHORT[c.recommended_method], style="bold green"),
        ]
        for c in found
    ]
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


def _percent(fraction: float) -> str:
    return "none" if fraction >= 1 else f"{100 * fraction:.3g} %"
