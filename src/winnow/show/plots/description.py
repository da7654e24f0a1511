"""A released description: a small picture for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from winnow.core.number_grid import place_at
from winnow.show.plots.figures import (
    STYLES,
    add_axes,
    as_file,
    empty_figure,
    mark_numbers,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from winnow.describe.result import ColumnSummary, Description

_BLUE, _RED = STYLES[0]["color"], STYLES[1]["color"]
_ACROSS, _MOST = 3, 18
"""Pictures side by side, and in all."""


def draw_description(value: Description, *, ending: str = ".png") -> bytes:
    """The columns as the content of a file: histograms with their quantiles, or bars."""
    shown = value.columns[:_MOST]
    across = 2 if len(shown) == 4 else min(_ACROSS, len(shown))
    lines = -(-len(shown) // across)
    figure = empty_figure(4.6 * across, 3.0 * lines)
    for place, each in enumerate(shown, 1):
        axes = add_axes(figure, (lines, across, place))
        _histogram(axes, each) if each.histogram is not None else _bars(axes, each)
        axes.set_title(wrapped(each.name, 36, 1), loc="left", fontsize=12, parse_math=False)
        axes.tick_params(labelsize=9)
    said = "rows, with 95 % intervals (grey)"
    if any(each.quantiles for each in shown):
        said += "; dashed: quantiles"
    figure.supxlabel(said, fontsize=11)
    return as_file(figure, ending)


def _histogram(axes: Axes, each: ColumnSummary) -> None:
    histogram = each.histogram
    assert histogram is not None
    bins = len(histogram.starts)
    low, high = (end[:bins] for end in histogram.interval(0.95))
    counts = np.asarray(histogram.estimate[:bins], np.float64)
    starts, widths = histogram.positions, histogram.widths
    axes.bar(starts, counts, widths, align="edge", color=_BLUE, edgecolor="white", linewidth=0.4)
    axes.errorbar(
        starts + widths / 2, counts, yerr=[counts - low, high - counts], fmt="none",
        ecolor="#8c8c8c", elinewidth=1,
    )  # fmt: skip
    for quantile in each.quantiles:
        place = (
            place_at(quantile.value, histogram.time_unit) if histogram.time_unit else quantile.value
        )
        axes.axvline(float(place), color=_RED, linestyle="--", linewidth=1)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    mark_numbers(axes, histogram.time_unit, most=4)


def _bars(axes: Axes, each: ColumnSummary) -> None:
    labels = [wrapped(label, 18, 1) for label, _ in each.top]
    counts = [number.value for _, number in each.top]
    reach = [[number.value - number.low for _, number in each.top],
             [number.high - number.value for _, number in each.top]]  # fmt: skip
    places = np.arange(len(labels))
    axes.barh(places, counts, height=0.7, color=_BLUE)
    axes.errorbar(counts, places, xerr=reach, fmt="none", ecolor="#8c8c8c", elinewidth=1)
    axes.set_yticks(places, labels, parse_math=False)
    axes.set_ylim(max(len(places), 4) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    axes.locator_params(axis="x", nbins=4)
