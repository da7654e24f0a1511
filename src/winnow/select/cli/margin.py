"""``winnow plan margin``: when the large margin mechanism is worth it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from winnow.cli.options import (
    ASKED,
    EpsilonOfPlanOption,
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

if TYPE_CHECKING:
    from winnow.select.plan.large_margin import MarginPlan


_ASSUMED = "What is assumed about the scores (public numbers only)"
POINTS = 25
"""Universes for which the curves of a figure are computed."""

EXAMPLES = """\
Examples:

winnow plan margin --epsilon 1 --delta 1e-6

winnow plan margin --epsilon 0.5 --delta 1e-6 --candidates 1000000 --near 10 --plot margins.png
"""


@reported()
def margin(
    epsilon: EpsilonOfPlanOption,
    delta: Annotated[
        float,
        option("--delta", "D", "For large-margin, e.g. 1e-6.", ASKED),
    ],
    candidates: Annotated[
        int | None,
        option("--candidates", "N", "How many candidates there are.", _ASSUMED),
    ] = None,
    near: Annotated[
        int,
        option(
            "--near",
            "L",
            "How many share the best score; all others lie one margin behind.",
            _ASSUMED,
        ),
    ] = 1,
    gaps: Annotated[
        str | None,
        option(
            "--gaps",
            "G,G,...",
            "An assumed profile: how far each other candidate lies behind the best.",
            _ASSUMED,
        ),
    ] = None,
    chance: Annotated[
        float,
        option("--chance", "P", "How often one of the best should win.", ASKED),
    ] = 0.95,
    sensitivity: SensitivitiesOption = "1",
    monotone: MonotoneOption = False,
    relation: RelationOption = Relation.ADD_REMOVE,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[Path | None, plot_of("Draw the needed margins against the universe")] = None,
) -> None:
    """Predict the margin that large-margin needs, and the universe from which it pays.

    It is compared with permute-and-flip and the exponential mechanism, with the thresholds
    of the paper and with tight ones. No data are read and nothing is spent.
    """
    from winnow import plan
    from winnow.cli.files import check_figure
    from winnow.cli.printing import console, show_json, working
    from winnow.core.saving import check_target, save, write_whole
    from winnow.select.cli.plan import _gaps

    if plot is not None:
        check_figure(plot)
    if out is not None:
        check_target(out)
    expected = plan.large_margin(
        _gaps(gaps, None, candidates),
        epsilon=epsilon,
        delta=delta,
        candidates=candidates,
        near=near,
        chance=chance,
        sensitivity=sensitivity_of(sensitivity),
        monotone=monotone,
        relation=relation,
    )
    document = expected.to_dict()
    if json:
        show_json(document)
    else:
        _show(expected)
        if expected.candidates is None:
            console().print("give --candidates for the margins at one size", style="dim")
    if out is not None:
        save(out, document, _rows(expected))
    if plot is not None:
        with working("computing the margins"):
            image = draw(expected, plot.suffix.lower())
        write_whole(plot, image)


def _rows(expected: MarginPlan) -> list[dict[str, float | str | None]]:
    from winnow.select.plan.margin import COMPARED

    rows: list[dict[str, float | str | None]] = []
    for name in COMPARED:
        crossing = expected.crossover.get(name, {})
        rows.append(
            {
                "mechanism": name,
                "margin": None if expected.needed is None else expected.needed[name],
                "margin_for_any_universe": expected.bounded.get(name),
                "log10_crossover_permute_and_flip": _finite(crossing.get("permute-and-flip")),
                "log10_crossover_exponential": _finite(crossing.get("exponential")),
                "chance": None if expected.outcomes is None else expected.outcomes[name]["chance"],
            }
        )
    return rows


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value


def _show(expected: MarginPlan) -> None:
    from winnow.cli.printing import console, grid, notes

    def cell(value: float | str | None, power: bool = False) -> str:
        if value is None:
            return "-"
        return str(value) if isinstance(value, str) else f"{'10^' * power}{value:.4g}"

    heads = [
        ("mechanism", "left"),
        ("margin", "right"),
        ("any universe", "right"),
        ("beats permute-\nand-flip from", "right"),
        ("chance", "right"),
    ]
    rows = [
        [
            str(row["mechanism"]),
            cell(row["margin"]),
            cell(row["margin_for_any_universe"]),
            cell(row["log10_crossover_permute_and_flip"], power=True),
            cell(row["chance"]),
        ]
        for row in _rows(expected)
    ]
    show = console()
    show.print(grid(heads, rows))
    about = [
        (
            "margin",
            f"for a chance of {expected.chance:.4g} that one of the best wins, in score units",
        ),
        ("any universe", "the margin that suffices, however many candidates there are"),
        ("chance", "on the assumed gaps"),
    ]
    limits = [
        ("Prop 1", expected.pure_limit, "no epsilon-DP mechanism can promise it with less"),
        ("Thm 1", expected.approximate_limit, "no (epsilon, delta)-DP mechanism can"),
    ]
    about += [(name, f"{x:.4g}: {words}") for name, x, words in limits if x is not None]
    about += _shell_paid_for(expected)
    show.print(notes(about if expected.outcomes is not None else [*about[:2], *about[3:]]))
    show.print(expected.verdict)


def _shell_paid_for(expected: MarginPlan) -> list[tuple[str, str]]:
    """The first shell of the assumed gaps whose next gap is wide enough [LMM, Section 4.2]."""
    for shell in expected.shells:
        if shell.next_gap > shell.needed:
            words = f"the next lies {shell.next_gap:.4g} behind, {shell.needed:.4g} are needed"
            return [("Thm 3", f"large-margin pays for {shell.size:,} candidates: {words}")]
    words = "large-margin pays for all candidates: no gap is as wide as its shell needs"
    return [("Thm 3", words)] if expected.shells else []


def draw(expected: MarginPlan, ending: str) -> bytes:
    """The needed margins against the size of the universe."""
    from winnow.select.plan.margin import COMPARED
    from winnow.show.plots.curves import MarginFigure, draw_margins

    opponent = {name: row["permute-and-flip"] for name, row in expected.crossover.items()}
    ends = [power for power in opponent.values() if not math.isinf(power)]
    first = max(1.0, math.log10(expected.near + 1.0))
    last = min(max([*ends, first + 10.0]) * 1.12, 250.0)
    powers = [first + (last - first) * i / (POINTS - 1) for i in range(POINTS)]
    limits = {}
    if expected.epsilon < 1:
        unit = expected.sensitivity / expected.epsilon
        limits["pure DP needs at least [LMM, Prop 1]"] = [
            max(0.0, unit * (power * math.log(10.0) - math.log(2.0))) for power in powers
        ]
        if expected.approximate_limit is not None:
            limits["any DP needs at least [LMM, Thm 1]"] = [expected.approximate_limit] * len(
                powers
            )
    content = MarginFigure(
        powers,
        {name: expected.curve(name, powers) for name in COMPARED},
        {n: (p, expected.bounded[n]) for n, p in opponent.items() if p <= last},
        limits,
        [(shell.size, shell.next_gap, shell.needed) for shell in expected.shells],
    )
    best = "one leader" if expected.near == 1 else f"{expected.near:,} share the best score"
    title = (
        f"{best}, all others one margin behind\n"
        f"ε = {expected.epsilon:.4g}, δ = {expected.delta:.3g}, "
        f"sensitivity {expected.sensitivity:.4g}"
    )
    return draw_margins(content, title=title, chance=expected.chance, ending=ending)
