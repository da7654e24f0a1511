"""Released counts beside the true ones: for made-up people only, since the truth is shown.

It is the picture of ``winnow demo`` and of the documentation. No command draws it of a user's data.
"""

from __future__ import annotations

from collections.abc import Sequence

from winnow.plots.figures import STYLES, as_file, new_figure


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
