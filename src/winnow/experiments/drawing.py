"""Figures of several panels in one style, with one legend below them.

Every curve has its own colour, dashes and marker, so it is told apart in grey, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from winnow.show.plots.figures import STYLES, add_axes, empty_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MARKERS = 7
"""Markers on a curve, so that many points do not become a band."""


@dataclass(frozen=True)
class Series:
    """A line of a panel; `low` and `high` shade a band around it."""

    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None


def panels(
    rows: int, columns: int, *, title: str, width: float = 4.4, height: float = 3.5
) -> tuple[Figure, list[Axes]]:
    """An empty grid of panels, row by row; sizes are in inches for each panel."""
    figure = empty_figure(max(width * columns, 8.0), height * rows + 1.3)
    figure.suptitle(title, fontsize=14, x=0.01, ha="left")
    return figure, [add_axes(figure, (rows, columns, i + 1)) for i in range(rows * columns)]


def style_of(place: int) -> dict[str, Any]:
    """The line style of curve number `place`, from 0."""
    return dict(STYLES[place % len(STYLES)])


def draw_curves(axes: Axes, curves: Mapping[str, Series], names: Sequence[str]) -> None:
    """Draw curves; the style of each is given by the place of its name among all names."""
    for label, curve in curves.items():
        place = names.index(label)
        style = style_of(place)
        x, y = np.asarray(curve.x), np.asarray(curve.y)
        if curve.low is not None and curve.high is not None:
            axes.fill_between(
                x, curve.low, curve.high, color=style["color"], alpha=0.16, linewidth=0
            )
        gap = max(1, len(x) // _MARKERS)
        axes.plot(
            x,
            y,
            label=label,
            # Earlier curves are thicker, so that they show behind later ones.
            linewidth=3.0 - 0.3 * place,
            markersize=9.5 - 0.9 * place,
            markeredgecolor="white",
            markeredgewidth=0.6,
            markevery=(place * gap // max(1, len(names)), gap),
            **style,
        )


def bound(axes: Axes, x: ArrayLike, y: ArrayLike, label: str, place: int = 0) -> None:
    """A thin grey line for what a theorem says."""
    dashes: Any = ("-", (0, (2, 2)), (0, (6, 2, 1, 2)))[place % 3]
    axes.plot(x, y, color="#6b6b6b", linestyle=dashes, linewidth=1.5, label=label, zorder=1)


def finish(axes: Axes, **settings: Any) -> None:
    """Labels and scales as for ``Axes.set``, and a light grid."""
    axes.set(**settings)
    axes.grid(color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)


def legend(figure: Figure, axes: Sequence[Axes], columns: int = 3) -> None:
    """One legend below all panels, each name once."""
    handles: dict[str, Any] = {}
    for each in axes:
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=4.2,
        fontsize=12,
    )


def mark(figure: Figure, what: str) -> None:
    """Say in the title and in the legend what the data are."""
    title = figure.get_suptitle()
    figure.suptitle(f"{title}\n{what}", fontsize=14, x=0.01, ha="left")
    for place in [*figure.legends, *(axes.get_legend() for axes in figure.axes)]:
        if place is not None:
            place.set_title(what)
            place.get_title().set_fontsize(12)
    if not figure.legends:
        figure.supxlabel(what, fontsize=12)


def draw_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Figure:
    """A table as a figure, as papers print them."""
    longest = [max(len(row[i]) for row in (heads, *rows)) + 3 for i in range(len(heads))]
    figure = empty_figure(max(8.0, 0.115 * sum(longest)), 0.9 + 0.36 * (len(rows) + 1))
    figure.suptitle(title, fontsize=14, x=0.01, ha="left")
    axes = add_axes(figure, (1, 1, 1))
    axes.set_axis_off()
    whole: Any = (0.0, 0.0, 1.0, 1.0)
    table = axes.table(
        cellText=[list(row) for row in rows],
        colLabels=list(heads),
        colWidths=[width / sum(longest) for width in longest],
        cellLoc="center",
        bbox=whole,
    )
    table.auto_set_font_size(False)
    table.set_fontsize(12)
    for (row, _), cell in table.get_celld().items():
        cell.set_edgecolor("#bbbbbb")
        if row == 0:
            cell.set_text_props(weight="bold")
            cell.set_facecolor("#eeeeee")
    return figure


def ticks_at(axes: Axes, values: Sequence[int]) -> None:
    """Marks at exactly these places of the x axis."""
    axes.set_xticks(list(values), [f"{value:,}" for value in values])
    axes.xaxis.set_minor_formatter(lambda value, _: "")
    axes.tick_params(axis="x", which="minor", length=0)
