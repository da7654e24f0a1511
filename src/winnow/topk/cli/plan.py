"""``winnow plan topk``: the top-k mechanisms side by side, on public or assumed counts."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import (
    ASKED,
    ConfidenceOption,
    HeaderOption,
    JsonOption,
    LineBreaksOption,
    OutOption,
    PlannedEpsilonOption,
    SizeOption,
    TopKNoiseOption,
    option,
    plot_of,
    relation_of_people,
)
from winnow.cli.reporting import reported
from winnow.core.relation import Relation
from winnow.errors import ParameterError

if TYPE_CHECKING:
    from winnow.topk.plan.verb import TopKPlan


_ASSUMED = "What is assumed about the counts (public numbers only)"
_MECHANISM = "Mechanism"
_SLOW = 2_000_000
"""Simulated items, of all draws together, that take long enough to show a spinner."""

EXAMPLES = """\
Examples:

winnow plan topk --zipf 1 --top 5000 --candidates 1000 -k 10 --epsilon 0.1

winnow plan topk --counts last-year.csv -k 10 --target-chance 0.9 --any-order

winnow plan topk --counts last-year.csv -k 10 --epsilon 1 --delta 1e-6 --plot chances.png
"""


@reported()
def topk(
    k: SizeOption,
    counts: Annotated[
        Path | None,
        option(
            "--counts",
            "FILE",
            "Public counts, such as last year's: CSV, TSV, JSON or Parquet with a column of "
            "items and one of counts. Never the private ones.",
            _ASSUMED,
        ),
    ] = None,
    item: Annotated[
        str | None,
        option(
            "--item",
            "COLUMN",
            "The column of items; not needed if there are two columns.",
            _ASSUMED,
        ),
    ] = None,
    count: Annotated[
        str | None,
        option(
            "--count",
            "COLUMN",
            "The column of counts; not needed if there are two columns.",
            _ASSUMED,
        ),
    ] = None,
    header: HeaderOption = False,
    zipf: Annotated[
        float | None,
        option(
            "--zipf",
            "S",
            "Made-up counts instead: the item of rank i has TOP/i^S people.",
            _ASSUMED,
        ),
    ] = None,
    top: Annotated[
        int | None,
        option("--top", "COUNT", "With --zipf: the largest count.", _ASSUMED),
    ] = None,
    candidates: Annotated[
        int | None,
        option("--candidates", "D", "With --zipf: how many items there are.", _ASSUMED),
    ] = None,
    epsilon: PlannedEpsilonOption = None,
    delta: Annotated[
        float,
        option("--delta", "D", "For the mechanisms that need it, e.g. 1e-6.", ASKED),
    ] = 0.0,
    target_chance: Annotated[
        float | None,
        option(
            "--target-chance", "P", "Which epsilon releases the true top K with this chance?", ASKED
        ),
    ] = None,
    confidence: ConfidenceOption = 0.99,
    ordered: Annotated[
        bool | None,
        typer.Option(
            "--ordered/--any-order",
            help="Judge lists in their order, or all as sets.",
            rich_help_panel=ASKED,
            show_default=False,
        ),
    ] = None,
    max_items: Annotated[
        int | None,
        option(
            "--max-items",
            "L",
            "How many items one person is counted for at most: for laplace and gaussian.",
            ASKED,
        ),
    ] = None,
    with_counts: Annotated[
        bool,
        typer.Option(
            "--with-counts",
            help="Plan for noisy counts of the winners, too, which may need half of epsilon.",
            rich_help_panel=ASKED,
        ),
    ] = False,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.ADD_REMOVE,
    mechanism: Annotated[
        str,
        option(
            "--mechanism",
            "NAME",
            "One mechanism by its name; compare shows all that apply.",
            _MECHANISM,
        ),
    ] = "compare",
    noise: TopKNoiseOption = None,
    gamma: Annotated[
        str | None,
        option(
            "--gamma",
            "G",
            "For canonical: how much the last item counts against the first one missed, 0 to 1 "
            "(default 0.6), or best, which finds the one with the highest chance.",
            _MECHANISM,
        ),
    ] = None,
    draws: Annotated[
        int,
        option(
            "--draws", "N", "How many draws to simulate for the errors; 0 for none.", _MECHANISM
        ),
    ] = 200,
    seed: Annotated[
        int,
        option("--seed", "N", "Of the simulated draws.", _MECHANISM),
    ] = 0,
    line_breaks: LineBreaksOption = False,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[
        Path | None, plot_of("Draw the chance of the true top K against epsilon")
    ] = None,
) -> None:
    """Say what to expect of a top-k release; no private data are read and nothing is spent.

    Give public or made-up counts, never the private ones: what is shown is computed from them
    without noise. Say --epsilon, --target-chance, or both.
    """
    from winnow import plan
    from winnow.cli.files import check_figure
    from winnow.cli.printing import show_json, working
    from winnow.core.saving import check_target, save
    from winnow.topk.cli.view import check_curves, draw_curves, plan_rows, show_plan

    if plot is not None:
        check_figure(plot)
    if out is not None:
        check_target(out)
    assumed = _assumed(counts, item, count, zipf, top, candidates, line_breaks, header)
    question: dict[str, Any] = {
        "k": k,
        "delta": delta,
        "mechanism": mechanism,
        "ordered": ordered,
        "noise": None if noise is None else str(noise),
        "max_items": max_items,
        "with_counts": with_counts,
        "relation": relation,
        "confidence": confidence,
        "gamma": _gamma(gamma),
    }
    slow = len(assumed) * max(draws, 1) > _SLOW
    with working("planning") if slow else nullcontext():
        planned: TopKPlan = plan.top_k(
            assumed,
            epsilon=epsilon,
            target_chance=target_chance,
            draws=draws,
            seed=seed,
            **question,
        )
    if not planned.rows:
        why = "; ".join(f"{name}: {reason}" for name, reason in planned.skipped.items())
        raise ParameterError(f"no mechanism can be planned; {why}")
    if plot is not None:
        check_curves(planned)
    if json:
        show_json(planned.to_dict())
    else:
        show_plan(planned)
    if out is not None:
        save(out, planned.to_dict(), plan_rows(planned))
    if plot is not None:
        with working("drawing") if slow else nullcontext():
            draw_curves(plot, planned, assumed, question)


def _gamma(said: str | None) -> float | str | None:
    """The number, or the word."""
    from winnow.foreign import instead

    if said is None or said == "best":
        return said
    number = None
    with instead(ParameterError("--gamma is a number from 0 to 1, or best"), ValueError):
        number = float(said)
    return number


def _assumed(
    counts: Path | None,
    item: str | None,
    count: str | None,
    zipf: float | None,
    top: int | None,
    candidates: int | None,
    line_breaks: bool,
    header: bool,
) -> Any:
    """The public counts of a file, or made-up ones."""
    import numpy as np

    from winnow.core.checks import count as whole
    from winnow.core.checks import nonnegative
    from winnow.read.files import read_scores

    made_up = (zipf, top, candidates)
    if counts is not None:
        if any(part is not None for part in made_up):
            raise ParameterError(
                "--counts and made-up counts are both given; leave out one of them"
            )
        return read_scores(
            counts,
            label_column=item,
            score_column=count,
            line_breaks=line_breaks,
            header=header,
            options=("--item", "--count"),
        )[1]
    if item is not None or count is not None or line_breaks or header:
        raise ParameterError(
            "--item, --count, --line-breaks and --header are for --counts FILE; give the file, too"
        )
    if zipf is None or top is None or candidates is None:
        raise ParameterError(
            "there are no counts to plan with; give --counts FILE, or --zipf with --top and "
            "--candidates"
        )
    nonnegative(zipf=zipf)
    whole(top=top, candidates=candidates)
    if top > 2**53 or candidates > 2**25:
        raise ParameterError("--top or --candidates is too large; plan for fewer")
    return np.rint(top / np.arange(1, candidates + 1) ** zipf).astype(np.int64)
