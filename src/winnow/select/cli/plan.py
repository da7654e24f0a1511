"""``winnow plan``: what to expect, from public or assumed numbers, before spending."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import (
    ASKED,
    ConfidenceOption,
    DeltaOption,
    JsonOption,
    Mechanism,
    MonotoneOption,
    NoiseOption,
    OutOption,
    PlannedEpsilonOption,
    RelationOption,
    SensitivitiesOption,
    Thresholds,
    ThresholdsOption,
    option,
    plot_of,
    sensitivity_of,
)
from winnow.cli.reporting import reported
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.foreign import instead

if TYPE_CHECKING:
    from winnow.cli.comparison import Plans


_ASSUMED = "What is assumed about the scores (public numbers only)"

EXAMPLES = """\
Examples:

winnow plan select --gaps 5,5,3 --epsilon 1

winnow plan select --candidates 100 --gap 20 --target-chance 0.95 --monotone

winnow plan select --gaps 5,5,3 --epsilon 1 --compare --plot chances.png
"""


@reported()
def select(
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
    epsilon: PlannedEpsilonOption = None,
    target_chance: Annotated[
        float | None,
        option("--target-chance", "P", "Which epsilon lets the best win with this chance?", ASKED),
    ] = None,
    target_error: Annotated[
        float | None,
        option(
            "--target-error",
            "X",
            "Which epsilon keeps the error within this many score units?",
            ASKED,
        ),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    k: Annotated[
        int,
        option("-k", "K", "Select K items.", ASKED),
    ] = 1,
    mechanism: Annotated[
        Mechanism | None,
        option(
            "--mechanism",
            "NAME",
            "permute-and-flip (default), exponential, noisy-max, lipschitz (with --noise) or "
            "large-margin (with --delta).",
            "Mechanism",
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="All mechanisms side by side.", rich_help_panel="Mechanism"),
    ] = False,
    noise: NoiseOption = None,
    delta: DeltaOption = 0.0,
    thresholds: ThresholdsOption = None,
    sensitivity: SensitivitiesOption = "1",
    monotone: MonotoneOption = False,
    relation: RelationOption = Relation.ADD_REMOVE,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[Path | None, plot_of("Draw the chance against epsilon")] = None,
) -> None:
    """Say what to expect of a selection; no data are read and nothing is spent.

    Give public or assumed numbers, such as last year's published counts, never gaps of
    the private scores. Say either --epsilon or a target.
    """
    from winnow import plan
    from winnow.cli.comparison import compared, show_comparison
    from winnow.cli.printing import console, pairs, show_json, visible
    from winnow.core.saving import check_target, save

    _check_figure(plot, has_gaps=gaps is not None or gap is not None)
    if out is not None:
        check_target(out)
    assumed = _gaps(gaps, gap, candidates)
    question: dict[str, Any] = {
        "gaps": assumed,
        "candidates": candidates,
        "epsilon": epsilon,
        "k": k,
        "sensitivity": sensitivity_of(sensitivity),
        "monotone": monotone,
        "relation": relation,
        "confidence": confidence,
        "target_chance": target_chance,
        "target_error": target_error,
    }
    if compare:
        if mechanism is not None or noise is not None:
            raise ParameterError(
                "--compare shows all mechanisms; leave out --mechanism and --noise"
            )
        if thresholds is not None and not delta:
            raise ParameterError("--thresholds are for large-margin, which needs --delta, too")
        plans = compared(delta, None if thresholds is None else str(thresholds), question)
        document: Any = {"plans": [each.to_dict() for each in plans.values()]}
    else:
        name = str(mechanism or "permute-and-flip")
        only = plan.select(
            **question,
            mechanism=name,
            noise=None if noise is None else str(noise),
            delta=delta,
            thresholds=str(thresholds or Thresholds.TIGHT),
        )
        plans, document = {name: only}, only.to_dict()
    if json:
        show_json(document)
    elif compare:
        show_comparison(plans)
        if not delta:
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
    from winnow.plots.curves import draw_chances

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
