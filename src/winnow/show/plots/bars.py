"""Released numbers as bars: counts of items, and the variables of a linear program."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from winnow.core.notebook import visible
from winnow.core.released import Released
from winnow.errors import ParameterError
from winnow.lp.solution import LpSolution
from winnow.show.plots.figures import STYLES, as_file, new_figure, wrapped

MOST_BARS = 200
_LONGEST = 36
"""Letters of a label that fit beside the bars."""


def below_title(method: str, released: Released[Any]) -> str:
    """What a figure says of its numbers: method, guarantee, what was counted, and a seed."""
    told = [f"{method}: {released.guarantee}"]
    if released.receipt.counted:
        told.append(f"counted: {released.receipt.counted}")
    seeded = "" if released.receipt.randomness == "os" else " (seeded: not private)"
    return "; ".join(told) + seeded


def draw_top(
    bars: Sequence[tuple[str, int]],
    *,
    title: str,
    subtitle: str,
    margin: int | None = None,
    ending: str = ".png",
) -> bytes:
    """Labels and noisy counts, the first on top, as the content of a file.

    ``margin`` draws whiskers of that length: how far the noise reaches either way.
    """
    if len(bars) > MOST_BARS:
        raise ParameterError(f"{len(bars)} bars cannot be drawn; give up to {MOST_BARS}")
    figure, axes = new_figure(height=1.9 + 0.34 * max(len(bars), 4))
    from matplotlib.ticker import MaxNLocator

    places, counts = range(len(bars)), [count for _, count in bars]
    axes.barh(places, counts, height=0.72, color=STYLES[0]["color"])
    reach = margin or 0
    if margin is not None and bars:
        axes.errorbar(
            counts,
            places,
            xerr=margin,
            fmt="none",
            ecolor="#8c8c8c",
            elinewidth=1.8,
            capsize=3.5,
            capthick=1.8,
        )
    span = max([1, *(abs(count) + reach for count in counts)])
    for place, count in zip(places, counts, strict=True):
        end = max(count, 0) + reach + 0.012 * span
        axes.text(end, place, f"{count:,}", va="center", fontsize=12, parse_math=False)
    axes.set_yticks(places, [short(label) for label, _ in bars], parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(len(bars), 4) - 0.4, -0.6)
    lowest = min([0, *(count - reach for count in counts)])
    widest = max(len(f"{count:,}") for count in (*counts, 0))
    axes.set_xlim(1.02 * lowest, (1.04 + 0.02 * widest) * span)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True))
    whiskers = "" if margin is None else f" (whiskers: 95 % of the noise, ±{margin:,})"
    axes.set_xlabel(f"noisy count{whiskers}", loc="right", fontsize=12)
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    if not bars:
        axes.text(0.5, 0.5, "nothing was released", transform=axes.transAxes, ha="center")
    heading = "\n".join([visible(title), *wrap(visible(subtitle), 76)])
    figure.suptitle(heading, x=0.015, ha="left", fontsize=13, linespacing=1.4, parse_math=False)
    return as_file(figure, ending)


def short(label: str, most: int = _LONGEST) -> str:
    """A label that fits beside a bar."""
    label = visible(label)
    return label if len(label) <= most else f"{label[: most - 1]}…"


def draw_made_up_top(
    bars: Sequence[tuple[str, int, int]],
    *,
    title: str,
    subtitle: str,
    margin: int | None = None,
    ending: str = ".png",
) -> bytes:
    """Labels, noisy counts as bars and true counts as diamonds, the first on top."""
    figure, axes = new_figure(height=1.9 + 0.34 * max(len(bars), 4))
    places = range(len(bars))
    noisy, true = [bar[1] for bar in bars], [bar[2] for bar in bars]
    axes.barh(places, noisy, height=0.72, color=STYLES[0]["color"], label="released, with noise")
    axes.scatter(
        true,
        places,
        marker="D",
        s=72,
        color=STYLES[1]["color"],
        edgecolors="white",
        linewidths=1.2,
        zorder=3,
        label="the truth (known because made up)",
    )
    axes.set_yticks(places, [bar[0] for bar in bars], parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(len(bars), 4) - 0.4, -0.6)
    axes.set_xlim(min([0, *noisy]), 1.06 * max([1, *noisy, *true]))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    noise = "" if margin is None else f" (noise: ±{margin:,} in 95 %)"
    axes.set_xlabel(f"people who report it{noise}", loc="right", fontsize=12)
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(loc="lower right", frameon=True, framealpha=1, edgecolor="none")
    heading = f"{title}\n{subtitle}"
    figure.suptitle(heading, x=0.015, ha="left", fontsize=13, linespacing=1.4, parse_math=False)
    return as_file(figure, ending)


MOST_VARIABLES = 40


def draw_solution(solution: LpSolution, *, title: str, ending: str = ".png") -> bytes:
    """The largest variables, largest first, as the content of a file."""
    bars = sorted(solution.variables(), key=lambda pair: -pair[1])[:MOST_VARIABLES]
    figure, axes = new_figure(height=1.9 + 0.3 * max(len(bars), 4))
    places = range(len(bars))
    axes.barh(places, [value for _, value in bars], height=0.72, color=STYLES[0]["color"])
    axes.set_yticks(places, [wrapped(name, 36, 1) for name, _ in bars], parse_math=False)
    axes.set_ylim(max(len(bars), 4) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    for place, (_, value) in zip(places, bars, strict=True):
        axes.text(
            value, place, f" {_short_name(value)}", va="center", fontsize=11, parse_math=False
        )
    axes.margins(x=0.12)
    more = "" if len(bars) == len(solution.x) else f" ({len(bars)} of {len(solution.x)} variables)"
    axes.set_xlabel(f"value{more}", loc="right", fontsize=12)
    rest = f", all but {solution.exceptions} rows" if solution.exceptions else ""
    axes.set_title(
        f"{title}\nobjective {_short_name(solution.objective)}; violation at most "
        f"{_short_name(solution.violation)} with probability {solution.confidence:g}{rest}",
        loc="left",
        fontsize=12,
        parse_math=False,
    )
    return as_file(figure, ending)


def _short_name(value: float) -> str:
    """A few digits, and no powers of ten where whole numbers do."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.3g}"
