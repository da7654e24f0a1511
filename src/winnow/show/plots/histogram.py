"""Released histograms: a bar over each bin, as wide as the bin, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from winnow.show.plots.figures import STYLES, as_file, new_figure

if TYPE_CHECKING:
    from winnow.numbers.histogram.result import ReleasedHistogram

_BLUE = STYLES[0]["color"]
_MOST_WHISKERS = 60
"""Beyond so many bins a band shows the intervals."""


def draw_histogram(histogram: ReleasedHistogram, *, title: str = "", ending: str = ".png") -> bytes:
    """The bins as the content of a file; of uneven bins areas stand for rows."""
    figure, axes = new_figure(height=4.2, width=8.5)
    bins = len(histogram.starts)
    low, high = (each[:bins] for each in histogram.interval(0.95))
    counts, widths = np.asarray(histogram.estimate[:bins], np.float64), histogram.widths
    even = bins < 2 or np.ptp(widths) <= 2 * histogram.step
    per = np.ones(bins) if even else widths
    starts = np.asarray(histogram.starts, np.float64)
    axes.bar(starts, counts / per, widths, align="edge", color=_BLUE, edgecolor="white",
             linewidth=0.5 if bins <= _MOST_WHISKERS else 0)  # fmt: skip
    middles = starts + widths / 2
    if bins <= _MOST_WHISKERS:
        reach = np.array([counts - low, high - counts]) / per
        axes.errorbar(middles, counts / per, yerr=reach, fmt="none", ecolor="#8c8c8c", capsize=3)
    else:
        axes.fill_between(
            middles, low / per, high / per, step="mid", color="#8c8c8c", alpha=0.45, linewidth=0
        )
    axes.set_xlabel(histogram.column, parse_math=False)
    axes.set_ylabel("rows, with noise" if even else "rows for a width of 1, with noise")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    heading = title or f"Histogram of {histogram.column} (whiskers: 95 %)"
    axes.set_title(heading, loc="left", fontsize=12, parse_math=False)
    return as_file(figure, ending)
