"""What a page shows of a release: tables with headers, and pictures; all from what was released."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from winnow.core.unit import within_counted
from winnow.describe.result import Description
from winnow.numbers.regress.result import ReleasedRegression
from winnow.serve import charts, replies

_MOST_ROWS = 200
"""Of a table on a page; the rest is in the file."""
_MOST_TABLES = 12
_SAMPLED = 20_000
"""So many synthetic rows are counted for the pictures."""
_MOST_VALUES = 12


@dataclass(frozen=True)
class ResultGrid:
    """A table with a caption; the names of its columns are headers."""

    caption: str
    heads: list[str]
    rows: list[list[Any]]
    picture: Markup | None = None
    left_out: int = 0


@dataclass(frozen=True)
class ResultView:
    """A release as a page shows it."""

    headline: str = ""
    ranked: list[str] = field(default_factory=list)
    """Items in their order, where they have no counts."""
    grids: list[ResultGrid] = field(default_factory=list)
    note: str = ""


def shown(
    release: replies.ReleaseAnswer, synthetic: str | None, labels: dict[str, list[Any]]
) -> ResultView:
    """The parts of a page for the value of a release; labels give columns their order."""
    value = release.value
    if isinstance(value, dict) and "tables" in value:
        return _tables(value)
    if isinstance(value, dict) and "level" in value and "rows" in value:
        return _described(Description.from_dict(value))
    if isinstance(value, dict) and "lists" in value:
        return _lists(value)
    if isinstance(value, dict) and "bins" in value:
        return _histogram(value)
    if isinstance(value, dict) and "moments" in value:
        return _moments(value)
    if isinstance(value, dict) and "quantiles" in value:
        return _quantiles(value)
    if isinstance(value, dict) and "coefficients" in value:
        return _regression(value)
    if isinstance(value, dict) and "itemsets" in value:
        return _itemsets(value)
    if synthetic is not None and isinstance(value, dict):
        return _synthetic(value, synthetic, labels)
    if isinstance(value, list):
        return _ranking(value, release.margin)
    return ResultView(headline=str(value))


def _ranking(value: list[Any], margin: int | None) -> ResultView:
    if not value:
        return ResultView(headline="No item passed the threshold that the noise asks for")
    if all(_counted(each) for each in value):
        rows = [[_name(item), count] for item, count in value]
        drawn = [charts.Bar(name, count) for name, count in rows]
        heads, note = ["item", "count"], ""
        if margin is not None:
            drawn = [charts.Bar(name, n, n - margin, n + margin) for name, n in rows]
            rows = [[name, n, max(0, n - margin), n + margin] for name, n in rows]
            heads, note = (
                [*heads, "low", "high"],
                f"Each count is {within_counted(f'{margin:,}')} with probability 0.95.",
            )
        grid = _grid(
            "Items with their noisy counts", heads, rows, charts.bars(drawn, "Noisy counts")
        )
        return ResultView(grids=[grid], note=note)
    return ResultView(ranked=[_name(each) for each in value])


def _lists(value: dict[str, Any]) -> ResultView:
    if not value["lists"]:
        return ResultView(headline="No item passed the threshold that the noise asks for")
    margin, note = value["margin"], ""
    if margin is not None:
        note = f"Each count is {within_counted(f'{margin:,}')} with probability 0.95."
    grids = []
    for row in value["lists"]:
        pairs = row["items"] if value["with_counts"] else [[item] for item in row["items"]]
        rows = [[place, *pair] for place, pair in enumerate(pairs, start=1)]
        heads, drawn = ["rank", "item", *(["count"] if value["with_counts"] else [])], None
        if value["with_counts"]:
            off = margin or 0
            bars = [charts.Bar(_name(item), n, n - off, n + off) for item, n in pairs]
            drawn = charts.bars(bars, f"Noisy counts of {row['group']}")
        grids.append(_grid(f"{value['by']}: {row['group']}", heads, rows, drawn))
    left = len(grids) - _MOST_TABLES
    if left > 0:
        note = f"{note} {left} more groups are in the file.".strip()
    return ResultView(grids=grids[:_MOST_TABLES], note=note)


def _counted(each: Any) -> bool:
    """Whether something is an item with its count, and no itemset of two."""
    return (
        isinstance(each, list)
        and len(each) == 2
        and isinstance(each[1], int | float)
        and not isinstance(each[1], bool)
    )


def _name(item: Any) -> str:
    return " + ".join(map(str, item)) if isinstance(item, list) else str(item)


def _itemsets(value: dict[str, Any]) -> ResultView:
    supports = {_name(items): noisy for items, noisy in value["supports"]}
    error = float(value["standard_error"])
    rows = [[_name(items), supports[_name(items)], error] for items in value["itemsets"]]
    drawn = [charts.Bar(name, n, n - 2 * error, n + 2 * error) for name, n, _ in rows]
    heads = ["itemset", "support", "standard error"]
    picture = charts.bars(drawn, "Noisy supports")
    return ResultView(grids=[_grid("Itemsets with their noisy supports", heads, rows, picture)])


def _moments(value: dict[str, Any]) -> ResultView:
    """A grid for each column and statistic; one of the whole table for all of them."""
    kinds = [(column, name) for column in value["columns"] for name in value["statistics"]]
    heads = [name for name in value["moments"][0] if name not in ("column", "statistic")]
    grids = []
    if not value["by"]:
        every = ["column", "statistic", *heads]
        rows = [[row[name] for name in every] for row in value["moments"]]
        grids.append(_grid(f"Moments of {', '.join(value['columns'])}", every, rows, None))
    for place, (column, name) in enumerate(kinds if value["by"] else []):
        own = value["moments"][place :: len(kinds)]
        rows = [[row[head] for head in heads] for row in own]
        labels = [", ".join(str(row[head]) for head in value["by"]) for row in own]
        title = f"{name.capitalize()} of {column}"
        picture = None
        if not isinstance(rows[0][-4], str):
            bars = zip(labels, rows, strict=True)
            drawn = [charts.Bar(label, row[-4], row[-2], row[-1]) for label, row in bars]
            picture = charts.bars(drawn, title)
        grids.append(_grid(title, heads, rows, picture))
    note = f"Each interval holds with probability {value['level']:g}."
    return ResultView(grids=grids, note=" ".join([note, *value.get("notes", [])]))


def _regression(value: dict[str, Any]) -> ResultView:
    found = ReleasedRegression.from_dict(value)
    columns = found.to_columns()
    rows = [list(row) for row in zip(*(held.tolist() for held in columns.values()), strict=True)]
    note = f"Each interval holds with probability {found.level:g}, for the rows that were counted."
    grid = _grid(f"Linear regression of {found.target}", list(columns), rows, None)
    return ResultView(grids=[grid], note=" ".join([note, *found.notes]))


def _quantiles(value: dict[str, Any]) -> ResultView:
    heads = [*value["by"], *(name for name in value["quantiles"][0] if name not in value["by"])]
    rows = [[row[name] for name in heads] for row in value["quantiles"]]
    named = len(value["by"]) + 1
    picture = None
    if not isinstance(rows[0][named], str):  # dates and times have no bars
        drawn = [charts.Bar(", ".join(map(str, row[:named])), *row[named:]) for row in rows]
        picture = charts.bars(drawn, f"Quantiles of {value['column']}")
    note = ""
    if value.get("level"):
        note = f"All intervals of a group hold with probability {value['level']:g}."
    return ResultView(
        grids=[_grid(f"Quantiles of {value['column']}", heads, rows, picture)], note=note
    )


def _histogram(value: dict[str, Any]) -> ResultView:
    heads = ["bin", "count", "standard_error", "low", "high"]
    rows = [[row[name] for name in heads] for row in value["bins"]]
    drawn = [charts.Bar(row[0], row[1], row[3], row[4]) for row in rows]
    picture = charts.bars(drawn, f"Rows by {value['column']}")
    return ResultView(grids=[_grid(f"Histogram of {value['column']}", heads, rows, picture)])


def _described(value: Description) -> ResultView:
    heads, lines = value.table()
    grids = [_grid("Every column", heads, lines, None)]
    for each in value.columns[:_MOST_TABLES]:
        if each.histogram is None:
            drawn = [charts.Bar(str(is_), n.value, n.low, n.high) for is_, n in each.top]
        else:
            low, high = each.histogram.interval(value.level)
            numbers = (each.histogram.labels, each.histogram.estimate.tolist(), low, high)
            drawn = [charts.Bar(*row) for row in zip(*numbers, strict=True)]
        rows = [[bar.label, bar.value, bar.low, bar.high] for bar in drawn]
        picture = charts.bars(drawn, f"Rows by {each.name}")
        grids.append(_grid(each.name, ["is", "rows", "low", "high"], rows, picture))
    return ResultView(headline=f"{value.rows} rows", grids=grids)


def _tables(value: dict[str, Any]) -> ResultView:
    grids = []
    for table in value["tables"][:_MOST_TABLES]:
        columns, rows = table["columns"], table["rows"]
        further = [name for name in (rows[0] if rows else {}) if name not in columns]
        drawn = [
            charts.Bar(
                ", ".join(str(row[name]) for name in columns),
                row["estimate"], row.get("low"), row.get("high"),
            )
            for row in rows
        ]  # fmt: skip
        picture = charts.bars(drawn, f"Estimated counts by {table['table']}") if drawn else None
        cells = [[row.get(name) for name in (*columns, *further)] for row in rows]
        grids.append(_grid(table["table"], [*columns, *further], cells, picture))
    left_out = len(value["tables"]) - len(grids)
    note = f"{left_out:,} further tables are in the file." if left_out else ""
    total = value.get("total")
    headline = ""
    if total:
        headline = f"{charts.short(total['estimate'])} in all"
        if total["standard_error"]:
            headline += f", standard error {charts.short(total['standard_error'])}"
    return ResultView(headline=headline, grids=grids, note=note)


def _synthetic(value: dict[str, Any], content: str, labels: dict[str, list[Any]]) -> ResultView:
    """The columns of a synthetic table, one picture for each: counting it again costs nothing."""
    reader = csv.reader(io.StringIO(content))
    heads = next(reader, [])
    counted: list[Counter[str]] = [Counter() for _ in heads]
    number = 0
    for row in reader:
        if number == _SAMPLED:
            break
        number += 1
        for column, cell in zip(counted, row, strict=False):
            column[cell] += 1
    grids = []
    for name, column in list(zip(heads, counted, strict=True))[:_MOST_TABLES]:
        order = {str(label): place for place, label in enumerate(labels.get(name, []))}
        common = column.most_common(_MOST_VALUES)
        common.sort(key=lambda each: order.get(each[0], len(order)))
        drawn = [charts.Bar(label, count) for label, count in common]
        picture = charts.bars(drawn, f"Synthetic rows by {name}")
        grids.append(
            ResultGrid(name, [name, "synthetic rows"], [list(each) for each in common], picture)
        )
    headline = f"A synthetic table of {value['rows']:,} rows and {len(heads)} columns"
    note = f"The pictures count the first {number:,} synthetic rows."
    return ResultView(headline=headline, grids=grids, note=note if number == _SAMPLED else "")


def _grid(
    caption: str, heads: list[str], rows: Sequence[Any], picture: Markup | None
) -> ResultGrid:
    kept = list(rows[:_MOST_ROWS])
    return ResultGrid(caption, heads, kept, picture, len(rows) - len(kept))
