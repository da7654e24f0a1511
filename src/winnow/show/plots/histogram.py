"""Released histograms: a bar over each bin, as wide as the bin, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from winnow.show.plots.figures import STYLES, as_file, mark_numbers, new_figure, say_counted

if TYPE_CHECKING:
    from winnow.numbers.histogram.result import ReleasedHistogram

_BLUE, _RED = STYLES[0]["color"], STYLES[1]["color"]
_MOST_WHISKERS = 60
"""Beyond so many bins a band shows the intervals."""
_NEEDLE = 1 / 400
"""A bin narrower than this part of the axis is less than two pixels wide."""
_MOST_NEEDLES = 5


def draw_histogram(histogram: ReleasedHistogram, *, title: str = "", ending: str = ".png") -> bytes:
    """The bins as the content of a file; of uneven bins areas stand for rows.

    A bin of one number, or of few, beside wide ones would be a needle: it is a line with its count
    where that is more than noise.
    """
    figure, axes = new_figure(height=4.2, width=8.5)
    bins = len(histogram.starts)
    low, high = (each[:bins] for each in histogram.interval(0.95))
    counts, widths = np.asarray(histogram.estimate[:bins], np.float64), histogram.widths
    starts = histogram.positions
    even = bins < 2 or np.ptp(widths) <= 2 * histogram.step
    lone = (widths < _NEEDLE * widths.sum()) & (not even)
    wide = ~lone
    per = np.where(even, 1.0, widths)
    heights = counts / per
    axes.bar(starts[wide], heights[wide], widths[wide], align="edge", color=_BLUE,
             edgecolor="white", linewidth=0.5 if bins <= _MOST_WHISKERS else 0)  # fmt: skip
    middles, reach = starts + widths / 2, np.array([counts - low, high - counts]) / per
    if bins <= _MOST_WHISKERS:
        axes.errorbar(middles[wide], heights[wide], yerr=reach[:, wide], fmt="none",
                      ecolor="#8c8c8c", capsize=3)  # fmt: skip
    else:
        axes.fill_between(middles[wide], (heights - reach[0])[wide], (heights + reach[1])[wide],
                          step="mid", color="#8c8c8c", alpha=0.45, linewidth=0)  # fmt: skip
    most = float(np.max(heights[wide], initial=0.0))
    axes.set_ylim(min(0.0, float(np.min(heights[wide], initial=0.0))) * 1.1, 1.2 * most or 1.0)
    needles = [i for i in np.argsort(-counts).tolist() if lone[i] and low[i] > 0]
    for row, i in enumerate(needles[:_MOST_NEEDLES]):
        axes.axvline(middles[i], color=_RED, linestyle="--", linewidth=1.4)
        axes.annotate(
            f" {histogram.labels[i]}: {counts[i]:,.0f} ± {(high[i] - low[i]) / 2:,.0f} rows",
            (middles[i], 0.95 - 0.07 * row), xycoords=("data", "axes fraction"), color=_RED,
            fontsize=11, parse_math=False,
        )  # fmt: skip
    axes.set_xlabel(histogram.column, parse_math=False)
    unit = f"{histogram.time_unit}," if histogram.time_unit else "width of 1,"
    axes.set_ylabel("rows, with noise" if even else f"rows for a {unit} with noise")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    mark_numbers(axes, histogram.time_unit)
    heading = title or f"Histogram of {histogram.column} (whiskers: 95 %)"
    axes.set_title(heading, loc="left", fontsize=12, parse_math=False)
    say_counted(figure, histogram.counted)
    return as_file(figure, ending)
