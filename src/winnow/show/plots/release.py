"""A released synthetic distribution in figures: its columns, its rounds and its errors.

Everything is drawn from released numbers, except where a function takes ``true``: those are
the owner's own answers, and a figure with them must not be published.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winnow.release.query_errors import QueryErrors
from winnow.show.plots.figures import (
    STYLES,
    add_axes,
    as_file,
    empty_figure,
    new_figure,
    say_counted,
    wrapped,
)
from winnow.show.report.numbers import PartErrors, errors_by_part

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from winnow.core.column import Column
    from winnow.release.synthetic import SyntheticDistribution


Floats = NDArray[np.float64]

MOST_PARTS = 25
"""Parts of a workload that are drawn; the page's table has all of them."""
MOST_LABELS = 24
"""Codes of a column up to which each has a bar with its label."""
_MOST_BARS = 400
"""Bars of a column with many codes; more codes share bars."""
_LONGEST = 26
_SIDE_BY_SIDE = 9
"""Letters of a label, five of which fit below a figure of 4.4 inches; longer ones are slanted."""
_BLUE, _RED, _GREY = STYLES[0]["color"], STYLES[1]["color"], "#8c8c8c"
_SUMMARY_COLUMNS = 6
_PAGE = 5.8
"""Inches: so wide that text is readable on a page of 380 pixels."""


def draw_gaps(errors: QueryErrors, ending: str = ".svg") -> bytes:
    """How far the distribution was from each round's measurement, round by round."""
    figure, axes = new_figure(height=3.8, width=_PAGE)
    _gaps(axes, errors)
    figure.legend(loc="outside lower left", ncols=1, frameon=False, fontsize=11)
    return as_file(figure, ending)


def draw_parts(
    parts: Sequence[PartErrors], *, noise: float, estimate: float, ending: str = ".svg"
) -> bytes:
    """The distance of the distribution from what was measured, part by part."""
    shown = [part for part in parts if part.distances][:MOST_PARTS]
    figure, axes = new_figure(height=1.9 + 0.4 * max(4, len(shown)), width=_PAGE)
    _parts(axes, shown, noise, estimate, longest=24)
    figure.legend(loc="outside lower left", ncols=1, frameon=False, fontsize=11)
    return as_file(figure, ending)


def draw_column(
    column: Column, fractions: Floats, *, true: Floats | None = None, ending: str = ".svg"
) -> bytes:
    """The distribution of one column as bars; ``true`` beside it is private."""
    few = column.cardinality <= MOST_LABELS
    rows = column.cardinality * (1.0 if true is None else 1.5)
    extra = 1.15 if true is None else 1.5
    figure, axes = new_figure(height=extra + 0.3 * max(3.0, rows) if few else 3.2, width=4.4)
    _column(axes, column, fractions, true)
    if true is not None:
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    return as_file(figure, ending)


def draw_truth(true: Floats, fitted: Floats, *, total: int, ending: str = ".svg") -> bytes:
    """True against synthetic answers of all queries: private, for the owner only."""
    figure, axes = new_figure(height=5.4, width=8.0)
    floor = 0.5 / total
    axes.plot([floor, 1], [floor, 1], color=_GREY, linewidth=1.2, zorder=1)
    axes.scatter(
        np.maximum(true, floor), np.maximum(fitted, floor), s=9, alpha=0.45, color=_RED,
        linewidths=0, rasterized=True,
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(floor / 1.3, 1.3)
    axes.set_ylim(floor / 1.3, 1.3)
    axes.tick_params(labelsize=11)
    axes.set_xlabel("true fraction of the rows (log scale): PRIVATE", fontsize=12)
    axes.set_ylabel("synthetic fraction (log scale)", fontsize=12)
    axes.set_title("Answers below half a row are drawn at the edge", loc="left", fontsize=11)
    axes.grid(color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    return as_file(figure, ending)


def draw_release(synthetic: SyntheticDistribution, *, title: str, ending: str = ".png") -> bytes:
    """One summary figure: rounds, errors by part, and the first columns."""
    errors, columns = synthetic.errors, synthetic.schema.columns[:_SUMMARY_COLUMNS]
    lines = -(-len(columns) // 3)
    if not isinstance(errors, QueryErrors):
        figure = empty_figure(14, 1.0 + 3.4 * lines)
        _first_columns(figure, synthetic, lines)
        figure.suptitle(title, x=0.01, ha="left", fontsize=14, parse_math=False)
        say_counted(figure, synthetic.counted)
        return as_file(figure, ending)
    shown = [part for part in errors_by_part(synthetic) if part.distances][:12]
    figure = empty_figure(14, 6.0 + 3.4 * lines)
    grid = figure.add_gridspec(2, 1, height_ratios=[5.6, 3.4 * lines])
    upper, lower = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    first, second = add_axes(upper, (1, 2, 1)), add_axes(upper, (1, 2, 2))
    _gaps(first, errors)
    _parts(second, shown, errors.noise, errors.estimate, longest=26)
    upper.legend(
        *second.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False,
        fontsize=11,
    )  # fmt: skip
    _first_columns(lower, synthetic, lines)
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, parse_math=False)
    say_counted(figure, synthetic.counted)
    return as_file(figure, ending)


def draw_columns(synthetic: SyntheticDistribution, *, ending: str = ".png") -> bytes:
    """The first columns as bars, in one figure."""
    lines = -(-len(synthetic.schema.columns[:_SUMMARY_COLUMNS]) // 3)
    figure = empty_figure(14, 0.4 + 3.4 * lines)
    _first_columns(figure, synthetic, lines)
    say_counted(figure, synthetic.counted)
    return as_file(figure, ending)


def _first_columns(figure: Any, synthetic: SyntheticDistribution, lines: int) -> None:
    for place, column in enumerate(synthetic.schema.columns[:_SUMMARY_COLUMNS], 1):
        axes = add_axes(figure, (lines, 3, place))
        _column(axes, column, synthetic.marginal(column.name), None, most=10)


def _gaps(axes: Axes, errors: QueryErrors) -> None:
    sizes = [np.abs(run.gaps) for run in errors.runs]
    every = np.concatenate(sizes) if sizes else np.zeros(0)
    noise = errors.noise
    smallest = float(every.min()) if len(every) else noise
    floor = max(noise / 20, min(noise / 2, smallest), 1e-12)
    axes.axhspan(floor / 1.3, noise, color="#e4e7ec", zorder=0, label="within the noise (1 sd)")
    axes.plot(
        np.arange(1, len(every) + 1),
        np.maximum(every, floor),
        linestyle="none",
        marker="o",
        markersize=5 if len(every) <= 150 else 3,
        color=_BLUE,
        label="|measured - distribution|",
    )
    if np.isfinite(errors.estimate):
        axes.axhline(
            max(errors.estimate, floor), color=_RED, linestyle="--", linewidth=1.8,
            label="estimate of the largest error",
        )  # fmt: skip
    for end in np.cumsum([len(each) for each in sizes])[:-1]:
        axes.axvline(end + 0.5, color=_GREY, linewidth=1)
    axes.set_yscale("log")
    axes.set_ylim(floor / 1.3, max([2 * noise, errors.estimate, *every]) * 1.6)
    axes.set_xlim(0, len(every) + 1)
    axes.tick_params(axis="x", labelsize=11)
    _percent_axis(axes.yaxis)
    axes.set_xlabel("round", fontsize=12)
    axes.set_ylabel("gap, % of rows (log)", fontsize=12)
    axes.set_title("What each round found", loc="left", fontsize=13)
    axes.grid(color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)


def _parts(
    axes: Axes,
    parts: Sequence[PartErrors],
    noise: float,
    estimate: float,
    longest: int = 34,
) -> None:
    axes.axvspan(0, noise, color="#e4e7ec", zorder=0, label="noise of one measurement (1 sd)")
    for place, part in enumerate(parts):
        sizes = np.abs(part.distances)
        axes.plot(
            sizes, np.full(len(sizes), place), linestyle="none", marker="o", markersize=5,
            alpha=0.6, markeredgewidth=0, color=_BLUE,
            label="a measured query" if place == 0 else None,
        )  # fmt: skip
    far = max([1.5 * noise, *(part.largest for part in parts)])
    if np.isfinite(estimate):
        far = max(far, estimate)
        axes.axvline(
            estimate, color=_RED, linestyle="--", linewidth=1.8,
            label="estimate of the largest error",
        )  # fmt: skip
    axes.set_xlim(0, 1.06 * far)
    axes.set_ylim(max(4, len(parts)) - 0.4, -0.6)
    axes.set_yticks(
        range(len(parts)),
        [wrapped(part.name, longest) for part in parts],
        parse_math=False,
        fontsize=11,
    )
    axes.tick_params(axis="y", length=0)
    _percent_axis(axes.xaxis)
    axes.set_xlabel("distance from what was measured, % of rows", fontsize=12)
    axes.set_title("Error by part of the workload", loc="left", fontsize=13)
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    if not parts:
        axes.text(0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center")


def _column(
    axes: Axes, column: Column, fractions: Floats, true: Floats | None, most: int = MOST_LABELS
) -> None:
    labels = column.labels
    places = np.arange(len(labels))
    axes.set_title(wrapped(column.name, 40), loc="left", fontsize=13, parse_math=False)
    if len(labels) <= most:
        height = 0.74 if true is None else 0.38
        shift = 0.0 if true is None else 0.2
        axes.barh(places - shift, fractions, height=height, color=_BLUE, label="synthetic")
        if true is not None:
            axes.barh(places + shift, true, height=height, color=_RED, label="true: PRIVATE")
        names = [wrapped(label, _LONGEST) for label in labels]
        axes.set_yticks(places, names, parse_math=False, fontsize=11)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(max(3, len(labels)) - 0.4, -0.6)
        axes.set_xlim(0, 1.08 * max(float(np.max(fractions)), _top(true), 1e-9))
        _percent_axis(axes.xaxis)
        axes.set_xlabel("% of rows", fontsize=11)
        axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    else:
        width = -(-len(labels) // _MOST_BARS)  # so many codes make one bar
        edges = np.append(np.arange(0, len(labels), width), len(labels)) - 0.5
        fractions = np.add.reduceat(fractions, np.arange(0, len(labels), width))
        axes.stairs(fractions, edges, fill=True, color=_BLUE, label="synthetic")
        if true is not None:
            true = np.add.reduceat(true, np.arange(0, len(labels), width))
            axes.stairs(true, edges, color=_RED, linewidth=1.2, label="true: PRIVATE")
        some = np.unique(np.linspace(0, len(labels) - 1, 5).round().astype(int))
        names = [wrapped(labels[i], 24) for i in some]
        axes.set_xticks(some, names, parse_math=False, fontsize=10)
        if max(map(len, names)) > _SIDE_BY_SIDE:
            axes.tick_params(axis="x", rotation=20)
            for name in axes.get_xticklabels():
                name.set_horizontalalignment("right")
        axes.set_ylim(0, 1.08 * max(float(np.max(fractions)), _top(true), 1e-9))
        _percent_axis(axes.yaxis)
        axes.set_ylabel("% of rows" if width == 1 else f"% of rows in {width} codes", fontsize=11)
        axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)


def _top(true: Floats | None) -> float:
    return 0.0 if true is None else float(np.max(true))


def _percent_axis(axis: Any) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    if axis.get_scale() == "log":
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(nbins=5))
    axis.set_major_formatter(lambda value, _: f"{100 * value:.3g}")
    axis.set_tick_params(labelsize=11)
