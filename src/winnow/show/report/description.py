"""The report of a description as a page: every column, how wrong it may be, what is promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from winnow.show.report.frame import Frame
from winnow.show.report.page import heading, paragraph, table
from winnow.show.report.tables import RED_LINES, ReaderTable

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.describe.result import ColumnSummary, Description


def description_page(
    released: Released[Description],
    *,
    title: str = "A description",
    date: str = "",
    rows_per_person: int = 1,
) -> bytes:
    """The page as the content of an .html file; all of it comes from released numbers.

    ``title`` is the public name of the dataset, ``date`` the day of the release.
    """
    value = released.value
    known = "public" if not value.rows.standard_error else f"{value.rows}"
    parts = [
        paragraph(f"The table has {value.rows.value:,.0f} rows ({known})."),
        _numbers(value),
        heading("Every column"),
        paragraph(f"In rows. {RED_LINES} Noise may carry a count below 0."),
        f'<div class="grid">\n{"".join(_counts(each).markup() for each in value.columns)}</div>\n',
    ]
    what = f"{len(value.columns):,} columns of a private table"
    return Frame(released, title, date, rows_per_person).page(what, parts)


def _numbers(value: Description) -> str:
    """Missing values, means and quantiles, a line for each column that has any."""
    heads, lines = value.table()
    told = [line[:-1] for line in lines if any(line[1:-1])]
    if not told:
        return ""
    kept = [i for i in range(len(heads) - 1) if i == 0 or any(line[i] for line in told)]
    named = [(heads[i], i > 0) for i in kept]
    says = paragraph(f"{value.note}.")
    return heading("Numbers") + says + table(named, [[line[i] for i in kept] for line in told])


def _counts(each: ColumnSummary) -> ReaderTable:
    if each.histogram is not None:
        number = each.histogram
        _, high = number.interval(0.95)
        counts = np.asarray(number.estimate, np.float64)
        return ReaderTable(each.name, (number.labels,), counts, high - counts)
    labels = tuple(label for label, _ in each.top)
    counts = np.array([number.value for _, number in each.top])
    reach = np.array([number.high - number.value for _, number in each.top])
    left = each.values - len(labels)
    title = (
        each.name if left <= 0 else f"{each.name}: the {len(labels)} most common of {each.values:,}"
    )
    return ReaderTable(title, (labels,), counts, reach)
