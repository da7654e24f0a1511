"""``winnow plan``: what to expect, from public or assumed numbers, before spending."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import (
    JsonOption,
    MonotoneOption,
    OutOption,
    RelationOption,
    SensitivitiesOption,
    option,
    plot_of,
    sensitivity_of,
)
from winnow.cli.reporting import reported
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.foreign import instead
from winnow.select.request import PlannedSelect

if TYPE_CHECKING:
    from winnow.cli.comparison import Plans


_ASSUMED = "What is assumed about the scores (public numbers only)"

EXAMPLES = """\
Examples:

winnow plan select --gaps 5,5,3 --epsilon 1

winnow plan select --candidates 100 --gap 20 --chance 0.95 --monotone

winnow plan select --gaps 5,5,3 --epsilon 1 --compare --plot chances.png
"""


@reported()
def select(
    asked: Typed[PlannedSelect],
    gaps: Annotated[
        str | None,
        option("--gaps", "G,G,...", "How far each other candidate lies behind the best.", _ASSUMED),
    ] = None,
    candidates: Annotated[
        int | None,
        option(
            "--candidates",
            "N",
            "How many candidates there are; alone, it gives bounds that hold for any data.",
            _ASSUMED,
        ),
    ] = None,
    gap: Annotated[
        float | None,
        option(
            "--gap", "G", "With --candidates: how far all others lie behind the best.", _ASSUMED
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="All methods side by side.", rich_help_panel="Method"),
    ] = False,
    sensitivity: SensitivitiesOption = "1",
    monotone: MonotoneOption = False,
    relation: RelationOption = Relation.ADD_REMOVE,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[Path | None, plot_of("Draw the chance against epsilon")] = None,
) -> None:
    """Predict what a selection would give; no data are read and nothing is spent.

    Give public or assumed numbers, such as last year's published counts, never gaps of
    the private scores. Say either --epsilon, --chance or --error.
    """
    from winnow.cli.comparison import show_comparison
    from winnow.cli.printing import console, pairs, show_json, visible
    from winnow.core.saving import check_target, save
    from winnow.select.methods import LargeMargin, PermuteAndFlip
    from winnow.select.plan.about import scores
    from winnow.select.plan.verb import compared

    _check_figure(plot, has_gaps=gaps is not None or gap is not None)
    if out is not None:
        check_target(out)
    assumed = _gaps(gaps, gap, candidates)
    if assumed is None and candidates is None:
        raise ParameterError("gaps and candidates are both missing; give --gaps or --candidates")
    about = scores(
        candidates,
        gaps=assumed,
        sensitivity=sensitivity_of(sensitivity),
        monotone=monotone,
        relation=relation,
    )
    request = asked()
    if compare:
        if not isinstance(request.method, PermuteAndFlip | LargeMargin):
            raise ParameterError("--compare shows all methods; leave out --method and --noise")
        plans = compared(request, about)
        document: Any = {"plans": [each.to_dict() for each in plans.values()]}
    else:
        planned = request.plan(about)
        if planned.expected is None:
            raise ParameterError("its error cannot be predicted; choose another method")
        only = planned.expected
        plans, document = {planned.name: only}, only.to_dict()
    if json:
        show_json(document)
    elif compare:
        show_comparison(plans)
        if not request.delta:
            console().print("large-margin is left out: it needs --delta", style="dim")
    else:
        table = pairs()
        for name, value in only.lines():
            table.add_row(name, visible(value))
        console().print(table)
    if out is not None:
        save(out, document, [each.to_dict() for each in plans.values()])
    if plot is not None:
        nearest = min(assumed) if isinstance(assumed, list) else assumed
        _draw(plot, plans, f", the next best {nearest:.6g} behind")


def _gaps(
    gaps: str | None, gap: float | None, candidates: int | None
) -> float | list[float] | None:
    if gap is not None and gaps is not None:
        raise ParameterError("--gap and --gaps are both given; leave out one of them")
    if gap is not None and candidates is None:
        raise ParameterError("--gap needs --candidates, or give a list with --gaps")
    if gaps is None:
        return gap
    with instead(
        ParameterError(
            f"--gaps {gaps!r} is not a list of numbers; write them with commas, as in 5,5,3"
        ),
        ValueError,
    ):
        return [float(piece) for piece in gaps.split(",")]


def _check_figure(plot: Path | None, *, has_gaps: bool) -> None:
    if plot is None:
        return
    from winnow.cli.files import check_figure

    if not has_gaps:
        raise ParameterError("--plot draws chances, which need --gaps, or --gap with --candidates")
    check_figure(plot)


def _draw(plot: Path, plans: Plans, about_gaps: str) -> None:
    from winnow.cli.comparison import chance_curves, true_answer
    from winnow.core.saving import write_whole
    from winnow.show.plots.curves import draw_chances

    every = list(plans.values())
    first = every[0]
    image = draw_chances(
        chance_curves(plans),
        title=f"{first.candidates:,} candidates{about_gaps}\n"
        f"sensitivity {first.sensitivity:.6g} ({first.relation})",
        event=true_answer(first),
        marked=first.epsilon if len({each.epsilon for each in every}) == 1 else None,
        ending=plot.suffix.lower(),
    )
    write_whole(plot, image)
