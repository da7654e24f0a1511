"""The report of released tables as a page: the tables, how wrong they may be, what is promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.show.report.frame import Frame
from winnow.show.report.page import heading, paragraph, table
from winnow.show.report.tables import MOST_CELLS, MOST_TABLES, RED_LINES, ReaderTable

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.release.tables.result import ReleasedTable, ReleasedTables


def tables_page(
    released: Released[ReleasedTables],
    *,
    title: str = "Tables",
    date: str = "",
    rows_per_person: int = 1,
) -> bytes:
    """The page as the content of an .html file; all of it comes from released numbers.

    ``title`` is the public name of the dataset, ``date`` the day of the release.
    """
    value = released.value
    numbers = sum(part.size for part in value.parts)
    shown = [each for each in value if each.part.size <= MOST_CELLS][:MOST_TABLES]
    parts = [_counts(value, shown), *map(_values, shown if value.values else ())]
    parts += map(paragraph, value.notes)
    what = f"{numbers:,} counts about a private table"
    return Frame(released, title, date, rows_per_person).page(what, parts)


def _counts(value: ReleasedTables, shown: list[ReleasedTable]) -> str:
    """Bars with their intervals, or shaded cells."""
    left = len(value) - len(shown)
    more = f" {left:,} further tables are in the file of tables." if left else ""
    readable = [ReaderTable.of(each.part.title, each.chart()) for each in shown]
    drawn = f"{RED_LINES} " if any(each.lined for each in readable) else ""
    total = value.total
    rows = "" if total is None else f"In rows, of {float(total.estimate):,.0f} counted. "
    return (
        heading("The tables")
        + paragraph(f"{rows}{drawn}Noise may carry a count below 0.{more}")
        + f'<div class="grid">\n{"".join(each.markup() for each in readable)}</div>\n'
    )


def _values(each: ReleasedTable) -> str:
    """The sums and means of one table with their intervals: a table for each, to fit the page."""
    columns = list(each.readable().items())
    labels, rest = columns[: len(each.columns)], columns[len(each.columns) + 4 :]
    lines = [heading(f"Sums and means: {each.part.title}")]
    for start in range(0, len(rest), 4):
        shown = rest[start : start + 4]
        heads = [(name, False) for name, _ in labels]
        heads.append((shown[0][0].replace("_", " "), True))
        heads += [("standard error", True), ("low", True), ("high", True)]
        rows = zip(*(column.tolist() for _, column in (*labels, *shown)), strict=True)
        lines.append(table(heads, rows))
    return "".join(lines)
