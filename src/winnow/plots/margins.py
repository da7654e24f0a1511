"""The margin that each mechanism needs against the size of the universe, with the crossover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winnow.errors import InputError
from winnow.plots.figures import STYLES, as_file, new_figure


@dataclass(frozen=True)
class MarginFigure:
    """Public numbers of a plan, ready to be drawn."""

    powers: Sequence[float]
    """log10 of the number of candidates."""
    margins: Mapping[str, Sequence[float]]
    """The needed margin of each mechanism at each of them, in score units."""
    crossings: Mapping[str, tuple[float, float]]
    """(log10 of the universe, margin) where a mechanism begins to need less."""
    limits: Mapping[str, Sequence[float]]
    """Lower bounds, in score units; they are drawn thin."""


def draw_margins(content: MarginFigure, *, title: str, chance: float, ending: str) -> bytes:
    """The figure as the content of a file."""
    if not 1 <= len(content.margins) <= len(STYLES) - 2:
        raise InputError(f"{len(content.margins)} curves cannot be drawn; give 1 to 4")
    figure, axes = new_figure(height=6.4)
    gap = max(1, len(content.powers) // 8)
    for i, (name, values) in enumerate(content.margins.items()):
        axes.plot(
            content.powers,
            values,
            label=name,
            linewidth=2.2,
            markersize=7,
            markeredgecolor="white",
            markeredgewidth=0.7,
            markevery=(i * gap // len(content.margins), gap),
            **STYLES[i],
        )
    for i, (name, values) in enumerate(content.limits.items()):
        style = {"color": "#6b6b6b", "linestyle": ("-", (0, (2, 2)))[i % 2], "linewidth": 1.2}
        axes.plot(content.powers, values, label=name, **style)
    for i, (power, margin) in enumerate(content.crossings.values()):
        axes.plot([power], [margin], "o", ms=12, mfc="none", mec="#222222", mew=1.6, zorder=5)
        axes.annotate(
            f"crossover\n10^{power:.0f}",
            (power, margin),
            xytext=(0, 14 if i else -14),
            textcoords="offset points",
            ha="center",
            va="bottom" if i else "top",
            fontsize=12,
        )
    axes.set_xlim(content.powers[0], content.powers[-1])
    axes.set_ylim(bottom=0)
    axes.margins(y=0.12)
    axes.xaxis.set_major_formatter(lambda value, _: f"$10^{{{value:.0f}}}$")
    axes.set_xlabel("candidates (log scale)")
    axes.set_ylabel(f"margin for a chance of {100 * chance:.3g} % (score units)")
    axes.set_title(title, loc="left")
    axes.grid(color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, handlelength=4.5)
    return as_file(figure, ending)
