"""``winnow plan top-k``: the top-k mechanisms side by side, on public or assumed counts."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import (
    ASKED,
    ConfidenceOption,
    HeaderOption,
    JsonOption,
    OutOption,
    option,
    plot_of,
    relation_of_people,
)
from winnow.cli.reporting import reported
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.read.options import TextFormat
from winnow.select.methods import PickMethod, Sizes
from winnow.select.request import PlannedTopK
from winnow.select.top_k_methods import Canonical

if TYPE_CHECKING:
    from winnow.select.about import AboutScores

_ASSUMED = "What is assumed about the counts (public numbers only)"
_METHOD = "Method"
_SLOW = 2_000_000
"""Simulated items, of all draws together, that take long enough to show a spinner."""

EXAMPLES = """\
Examples:

winnow plan top-k --zipf 1 --top 5000 --candidates 1000 -k 10 --epsilon 0.1

winnow plan top-k --counts last-year.csv -k 10 --chance 0.9 --any-order

winnow plan top-k --counts last-year.csv -k 10 --epsilon 1 --delta 1e-6 --plot chances.png
"""


@reported()
def top_k(
    text: Typed[TextFormat],
    asked: Typed[PlannedTopK],
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
    chance: Annotated[
        float | None,
        option("--chance", "P", "Which epsilon releases the true top K with this chance?", ASKED),
    ] = None,
    confidence: ConfidenceOption = 0.99,
    max_items: Annotated[
        int | None,
        option(
            "--max-items",
            "L",
            "How many items one person is counted for at most: for laplace and gaussian.",
            ASKED,
        ),
    ] = None,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.ADD_REMOVE,
    best_gamma: Annotated[
        bool,
        typer.Option(
            "--best-gamma",
            help="For canonical: find the gamma with the highest chance on these counts.",
            rich_help_panel=_METHOD,
        ),
    ] = False,
    draws: Annotated[
        int,
        option("--draws", "N", "How many draws to simulate for the errors; 0 for none.", _METHOD),
    ] = 200,
    seed: Annotated[
        int,
        option("--seed", "N", "The seed of the simulated draws.", _METHOD),
    ] = 0,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[
        Path | None, plot_of("Draw the chance of the true top K against epsilon")
    ] = None,
) -> None:
    """Predict the errors of a top-k release; no private data are read and nothing is spent.

    Give public or made-up counts, never the private ones: what is shown is computed from them
    without noise. Say --epsilon, --error or --chance. auto compares all methods that apply.
    """
    from winnow.cli.files import check_figure
    from winnow.cli.printing import show_json, working
    from winnow.core.saving import check_target, save
    from winnow.select.cli.view import check_curves, draw_curves, plan_rows, show_plan
    from winnow.select.plan.about import counts as about_counts
    from winnow.select.plan.top_k.simulation import simulated

    if plot is not None:
        check_figure(plot)
    if out is not None:
        check_target(out)
    assumed = _assumed(counts, item, count, zipf, top, candidates, text(), header)
    about = about_counts(len(assumed), max_items=max_items, relation=relation)
    request = asked()
    if request.with_cut:
        raise ParameterError("--with-cut belongs to a release of a log; leave it out of a plan")
    epsilon = request.epsilon
    if request.error is not None:
        if chance is not None:
            raise ParameterError("--error and --chance are both given; leave out one of them")
        epsilon = request.plan(about).epsilon
    sizes = Sizes(
        epsilon=1 if epsilon is None else epsilon,
        delta=request.delta,
        k=request.k,
        with_counts=request.with_counts,
    )
    method, gamma = _with_gamma(request.method, best_gamma, assumed, about, sizes, epsilon, chance)
    slow = len(assumed) * max(draws, 1) > _SLOW
    with working("planning") if slow else nullcontext():
        planned = simulated(
            assumed,
            about,
            sizes,
            method,
            epsilon=epsilon,
            ordered=request.ordered,
            gamma=gamma,
            chance=chance,
            confidence=confidence,
            draws=draws,
            seed=seed,
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
            draw_curves(plot, planned, assumed, about, sizes)


def _with_gamma(
    method: PickMethod | str,
    best: bool,
    assumed: Any,
    about: AboutScores,
    sizes: Sizes,
    epsilon: Any,
    chance: float | None,
) -> tuple[PickMethod | str, Any]:
    """The method, and the gamma of canonical among all, with the best gamma where it is asked."""
    from winnow.select.plan.top_k.simulation import best_gamma

    if not best:
        return method, None
    if not isinstance(method, str) and not isinstance(method, Canonical):
        raise ParameterError("--best-gamma is for canonical; leave it out")
    if isinstance(method, Canonical) and method.gamma is not None:
        raise ParameterError("--gamma and --best-gamma are both given; leave out one of them")
    gamma = best_gamma(assumed, about, sizes, epsilon, chance)
    return (method if isinstance(method, str) else replace(method, gamma=gamma)), gamma


def _assumed(
    counts: Path | None,
    item: str | None,
    count: str | None,
    zipf: float | None,
    top: int | None,
    candidates: int | None,
    text: TextFormat,
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
            text=text,
            header=header,
            options=("--item", "--count"),
        )[1]
    if item is not None or count is not None or text.said or header:
        raise ParameterError(
            "--item, --count, --header and what is said of text files are for --counts FILE; give "
            "the file, too"
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
