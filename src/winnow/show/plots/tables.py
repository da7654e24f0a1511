"""Released tables: bars with intervals, curves with bands, heat maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.show.plots.figures import STYLES, add_axes, as_file, empty_figure, say_counted, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from winnow.release.tables.result import ReleasedTable, ReleasedTables

MOST_TABLES = 6
_MOST_BARS = 40
_MOST_ROWS = 40
_MOST_NUMBERS = 12
"""Columns of a heat map that are wide enough for numbers."""
_FEW, _SHORT = 8, 10
"""Rows and columns that leave room for large letters, and letters of a name that fit below one."""

_BLUE = STYLES[0]["color"]


def draw_table(table: ReleasedTable, *, title: str = "", ending: str = ".png") -> bytes:
    """One table as the content of a file."""
    figure = empty_figure(9, _height(table))
    _draw(add_axes(figure, (1, 1, 1)), table)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, parse_math=False)
    say_counted(figure, table.counted)
    return as_file(figure, ending)


def draw_tables(tables: ReleasedTables, *, title: str, ending: str = ".png") -> bytes:
    """The first tables in one figure."""
    shown = list(tables)[:MOST_TABLES]
    wide = min(2, len(shown))
    lines = -(-len(shown) // wide)
    figure = empty_figure(8.5 * wide, 0.6 + lines * max(map(_height, shown)))
    for place, table in enumerate(shown, 1):
        _draw(add_axes(figure, (lines, wide, place)), table)
    more = len(tables) - len(shown)
    heading = f"{title} (and {more} more tables)" if more else title
    figure.suptitle(heading, x=0.01, ha="left", fontsize=13, parse_math=False)
    say_counted(figure, tables.counted)
    return as_file(figure, ending)


def _height(table: ReleasedTable) -> float:
    shape = table.estimate.shape
    lines = int(np.prod(shape[:-1])) if len(shape) > 1 else shape[0]
    return 2.0 + 0.3 * min(max(lines, 6), _MOST_ROWS)


def _draw(axes: Axes, table: ReleasedTable) -> None:
    if table.estimate.ndim > 1:
        _heat_map(axes, table)
    elif table.estimate.size <= _MOST_BARS:
        _bars(axes, table)
    elif table.part.of_cells:
        _histogram(axes, table)
    else:
        _curve(axes, table)
    axes.set_title(table.part.title, loc="left", fontsize=12, parse_math=False)


def _bars(axes: Axes, table: ReleasedTable) -> None:
    low, high = table.interval(0.95)
    places = np.arange(table.estimate.size)
    axes.barh(places, table.estimate, height=0.72, color=_BLUE)
    reach = (high - low) / 2
    axes.errorbar(table.estimate, places, xerr=reach, fmt="none", ecolor="#8c8c8c", capsize=3)
    axes.set_yticks(places, _names(table.labels[0]), parse_math=False)
    axes.set_ylim(max(len(places), 4) - 0.4, -0.6)
    axes.set_xlabel("rows, with noise (whiskers: 95 %)", loc="right", fontsize=11)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _histogram(axes: Axes, table: ReleasedTable) -> None:
    """Counts of many codes: bars without gaps, with a band for their intervals."""
    low, high = table.interval(0.95)
    places = np.arange(table.estimate.size)
    axes.bar(places, table.estimate, width=1.0, color=_BLUE, label="estimate")
    axes.fill_between(
        places, low, high, step="mid", color="#8c8c8c", alpha=0.45, linewidth=0,
        label="95 % interval",
    )  # fmt: skip
    _below(axes, table)


def _curve(axes: Axes, table: ReleasedTable) -> None:
    low, high = table.interval(0.95)
    places = np.arange(table.estimate.size)
    axes.fill_between(places, low, high, color="#c9d6e6", linewidth=0, label="95 % interval")
    axes.plot(places, table.estimate, color=_BLUE, linewidth=1.4, label="estimate")
    _below(axes, table)


def _below(axes: Axes, table: ReleasedTable) -> None:
    """Some labels below the codes, and what the numbers are."""
    places = np.arange(table.estimate.size)
    shown = np.unique(np.linspace(0, len(places) - 1, 6).astype(int))
    names = _names(table.labels[0])
    axes.set_xticks(shown, [names[i] for i in shown], parse_math=False, rotation=20, ha="right")
    axes.set_ylabel("rows, with noise")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.legend(frameon=False, loc="upper right")


def _heat_map(axes: Axes, table: ReleasedTable) -> None:
    numbers = table.estimate.reshape(-1, table.estimate.shape[-1])[:_MOST_ROWS]
    lowest, highest = min(0.0, float(numbers.min())), max(1.0, float(numbers.max()))
    image = axes.imshow(numbers, aspect="auto", cmap="Blues", vmin=lowest, vmax=highest)
    axes.figure.colorbar(image, ax=axes, label="rows, with noise", shrink=0.9)
    rows = _joined(table.labels[:-1])[:_MOST_ROWS]
    columns = _names(table.labels[-1])
    shown = np.unique(np.linspace(0, len(columns) - 1, min(len(columns), 20)).astype(int))
    small = len(columns) <= _FEW and len(rows) <= _FEW
    size = 12 if small else 9
    axes.set_yticks(range(len(rows)), rows, parse_math=False, fontsize=size)
    names = [columns[i] for i in shown]
    turned = not small or max(map(len, names)) > _SHORT
    axes.set_xticks(shown, names, parse_math=False, fontsize=size, rotation=40 if turned else 0,
                    ha="right" if turned else "center")  # fmt: skip
    if numbers.shape[1] <= _MOST_NUMBERS:
        dark = lowest + 0.55 * (highest - lowest)
        for (y, x), value in np.ndenumerate(numbers):
            ink = "white" if value > dark else "black"
            axes.text(x, y, f"{value:,.0f}", ha="center", va="center", color=ink, fontsize=size - 1)


def _names(labels: Any) -> list[str]:
    return [wrapped(label, 24) for label in labels]


def _joined(labels: list[tuple[Any, ...]]) -> list[str]:
    lines = [""]
    for names in labels:
        lines = [f"{before}, {name}" if before else name for before in lines
                 for name in _names(names)][: 4 * _MOST_ROWS]  # fmt: skip
    return lines
