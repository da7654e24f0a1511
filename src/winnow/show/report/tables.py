"""The tables of a workload for readers: bars with their errors, or cells shaded by their size.

They are markup and not pictures: labels are never cut, and they are as readable on a phone as on
a wide screen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.notebook import Chart, number_text
from winnow.core.notebook import escaped as text
from winnow.core.unit import within_counted
from winnow.core.workloads.forms import RangeTable, WholeTable
from winnow.core.workloads.range_table import axis_labels
from winnow.show.report.page import paragraph, scrolled

if TYPE_CHECKING:
    from winnow.core.column import Column
    from winnow.core.workloads.part import Part
    from winnow.release.synthetic import SyntheticDistribution

Floats = NDArray[np.float64]

MOST_TABLES = 12
"""Tables that stand on the page; the file of answers has all of them."""
MOST_BARS = 200
MOST_CELLS = 2000
RED_LINES = "Red lines are 95 % confidence intervals (noise only)."
_FEW = 3
"""Columns of a table that fit into half of the page."""
_ACROSS = 10
"""Columns of numbers that fit beside labels on the page, and on a printed one."""


@dataclass(frozen=True, eq=False)
class ReaderTable:
    """One table with labels along its axes, in rows; ``reach`` is how far off it may be."""

    title: str
    labels: tuple[tuple[Any, ...], ...]
    estimate: Floats
    reach: Floats | None
    counts: bool = True
    """Whether they count something: then they are shown without decimals."""

    @classmethod
    def of(cls, title: str, chart: Chart) -> ReaderTable:
        """The table of a chart; intervals are as long on either side."""
        values = np.asarray(chart.values, np.float64)
        reach = None if chart.high is None else np.asarray(chart.high, np.float64) - values
        return cls(title, tuple(map(tuple, chart.labels)), values, reach, chart.counts)

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return self.estimate.size

    @property
    def lined(self) -> bool:
        """Whether bars have a red line: a confidence interval."""
        return self.estimate.ndim == 1 and self.reach is not None and bool(np.any(self.reach > 0))

    def markup(self) -> str:
        """The table as an element of a page."""
        drawn, across = (_bars(self), 1) if self.estimate.ndim == 1 else _heat(self)
        wide = " wide" if across > _FEW else ""
        return f'<section class="card{wide}"><h3>{text(self.title)}</h3>\n{drawn}</section>\n'


def workload_tables(synthetic: SyntheticDistribution) -> list[ReaderTable]:
    """The first tables of the workload that are not too large to be read."""
    columns = synthetic.to_columns()
    estimate = synthetic.counts()
    reach = _reach(columns, estimate)
    tables: list[ReaderTable] = []
    starts = synthetic.workload.offsets
    for part, start in zip(synthetic.workload.parts, starts[:-1], strict=True):
        if part.size > MOST_CELLS or len(tables) == MOST_TABLES:
            continue
        labels = _labels(part)
        shape, stop = tuple(map(len, labels)), start + part.size
        margins = None if reach is None else reach[start:stop].reshape(shape)
        tables.append(ReaderTable(part.title, labels, estimate[start:stop].reshape(shape), margins))
    return tables


def column_table(column: Column, rows: Floats) -> ReaderTable:
    """The distribution of one column, in rows."""
    return ReaderTable(column.name, (tuple(column.labels),), rows, None)


def _labels(part: Part) -> tuple[tuple[Any, ...], ...]:
    form = part.form
    if isinstance(form, WholeTable):
        return tuple(tuple(part.schema.columns[place].labels) for place in form.columns)
    if isinstance(form, RangeTable):
        return tuple(axis_labels(part.schema, axis) for axis in form.axes)
    return (tuple(part.label(query) for query in range(part.size)),)


def _reach(columns: dict[str, NDArray[Any]], estimate: Floats) -> Floats | None:
    """The longer part of a 95 % interval where there is one, else the estimated error."""
    (_, before), (name, last) = list(columns.items())[-2:]  # attributes come before these
    if name.startswith("high"):
        return np.asarray(np.maximum(last - estimate, estimate - before), np.float64)
    return np.asarray(last, np.float64) if name.startswith("error") else None


def _bars(table: ReaderTable) -> str:
    labels, values = table.labels[0][:MOST_BARS], table.estimate[:MOST_BARS]
    reach = np.zeros(len(values)) if table.reach is None else table.reach[:MOST_BARS]
    far = max(float(np.max(values + reach, initial=0.0)), 1e-9)
    number, wrong = (_whole, _error) if table.counts else (number_text, number_text)
    lines = []
    for label, value, off in zip(labels, values.tolist(), reach.tolist(), strict=True):
        width = _percent(value / far)
        low, high = _percent((value - off) / far), _percent((value + off) / far)
        whisker = f'<i style="left:{low};right:calc(100% - {high})"></i>' if off > 0 else ""
        error = f"<small> ± {text(wrong(off))}</small>" if off > 0 else ""
        lines.append(
            f'<tr><th>{text(label)}</th><td class="number">{text(number(value))}{error}</td>'
            f'<td class="bar"><div><b style="width:{width}"></b>{whisker}</div></td></tr>\n'
        )
    more = table.size - len(lines)
    left = paragraph(f"{more:,} further values are in the file of answers.") if more else ""
    return scrolled(f'<table class="bars">\n{"".join(lines)}</table>') + left


def _heat(table: ReaderTable) -> tuple[str, int]:
    """Shaded cells, and how many of them stand side by side: no more than fit on the page.

    The last axis goes across if it fits, else one that does; if none does, the shortest goes
    across in blocks, one below the other.
    """
    axis = _axis_across(table.labels)
    across = table.labels[axis]
    rows = np.moveaxis(table.estimate, axis, -1).reshape(-1, len(across))
    far = max(float(rows.max(initial=0.0)), 1e-9)
    names = _joined([*table.labels[:axis], *table.labels[axis + 1 :]])
    width = -(-len(across) // -(-len(across) // _ACROSS))  # blocks of about one width
    blocks = []
    for start in range(0, len(across), width):
        labels = across[start : start + width]
        top = "".join(f'<th class="number">{text(label)}</th>' for label in labels)
        lines = []
        for name, row in zip(names, rows[:, start : start + width].tolist(), strict=True):
            cells = "".join(_cell(value, far) for value in row)
            lines.append(f"<tr><th>{text(name)}</th>{cells}</tr>\n")
        blocks.append(
            scrolled(
                f'<table class="heat">\n<thead><tr><th></th>{top}</tr></thead>\n'
                f"<tbody>\n{''.join(lines)}</tbody>\n</table>"
            )
        )
    off = 0.0 if table.reach is None else float(np.nanmax(table.reach))
    near = within_counted(f"about {_error(off)}")
    below = paragraph(f"Each number is {near}.") if off > 0 else ""
    return "".join(blocks) + below, width


def _axis_across(labels: Sequence[tuple[Any, ...]]) -> int:
    sizes = [len(names) for names in labels]
    fitting = [axis for axis, size in enumerate(sizes) if size <= _ACROSS]
    return fitting[-1] if fitting else sizes.index(min(sizes))


def _cell(value: float, far: float) -> str:
    share = min(max(value / far, 0.0), 1.0)
    ink = ";color:#fff" if share > 0.55 else ""
    shade = f"background:rgba(11,60,111,{share:.2f}){ink}"
    return f'<td class="number" style="{shade}">{text(_whole(value))}</td>'


def _joined(labels: Sequence[tuple[Any, ...]]) -> list[str]:
    lines = [""]
    for names in labels:
        lines = [f"{before}, {name}" if before else str(name) for before in lines for name in names]
    return lines


def _whole(value: float) -> str:
    """Rows are whole: what lies between is noise."""
    return f"{value:,.0f}".replace("-0", "0") if abs(value) < 0.5 else f"{value:,.0f}"


def _error(value: float) -> str:
    """An error, rounded up to a whole row."""
    return f"{math.ceil(value):,}"


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"
