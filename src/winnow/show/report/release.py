"""The report of a release as a page: what was released, what is promised, how wrong it may be.

The page is made of released numbers only, so it may be published beside the synthetic table.
With ``private`` (the owner's true answers) it gets a section that may not, and says so in red.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winnow.core.schema import cells_text
from winnow.errors import ParameterError
from winnow.release.query_errors import QueryErrors
from winnow.show.plots.release import (
    MOST_LABELS,
    MOST_PARTS,
    draw_column,
    draw_gaps,
    draw_parts,
    draw_truth,
)
from winnow.show.report.frame import Frame
from winnow.show.report.numbers import (
    PartErrors,
    accuracy_by_part,
    errors_by_part,
    fitted_fractions,
    measured_rows,
)
from winnow.show.report.page import figure, heading, paragraph, table, tiles
from winnow.show.report.tables import RED_LINES, column_table, workload_tables

if TYPE_CHECKING:
    from winnow.core.column import Column
    from winnow.core.released import Released
    from winnow.release.synthetic import SyntheticDistribution


Floats = NDArray[np.float64]

MOST_COLUMNS = 40
"""Columns that are drawn; the synthetic table has all of them."""
MOST_ROWS = 1000
"""Parts that stand in the table of errors."""
PRIVATE = "PRIVATE: NOT FOR PUBLICATION"


@dataclass(frozen=True, eq=False)
class TrueAnswers:
    """What the owner of the data may look at, and nobody else: no noise was added."""

    workload: Floats
    """The answers to the workload that was released for, as fractions."""
    columns: tuple[Floats, ...]
    """The distribution of each column."""


def release_page(
    released: Released[SyntheticDistribution],
    *,
    title: str = "Synthetic table",
    date: str = "",
    rows_per_person: int = 1,
    private: TrueAnswers | None = None,
) -> bytes:
    """The page as the content of an .html file.

    ``title`` is the public name of the dataset, ``date`` the day of the release.
    """
    synthetic = released.value
    errors = synthetic.errors
    if synthetic.workload is None:
        raise ParameterError(
            "this distribution was read from a file, and a report needs the release itself; make "
            "it of that"
        )
    parts, after = [_tables(synthetic), _columns(synthetic)], [_method(synthetic)]
    if isinstance(errors, QueryErrors):
        parts.append(_accuracy(synthetic, errors))
        after += [_rounds(errors), _measured(synthetic, errors)]
    else:
        parts.append(_answer_accuracy(synthetic))
    numbers = synthetic.workload.size
    what = f"{numbers:,} numbers" if numbers > 1 else "One number"
    what += " about a private table, and a synthetic table to work with"
    frame = Frame(released, title, date, rows_per_person)
    if private is None:
        whom = "It is for everyone: all of it comes from released numbers, and may be published."
        return frame.page(what, parts, whom=whom, after="".join(after))
    whom = "The framed section at the end shows true answers: this copy is for the owner only."
    owned = _private(synthetic, private)
    return frame.page(what, parts, whom=whom, after="".join(after), banner=PRIVATE, private=owned)


def _tables(synthetic: SyntheticDistribution) -> str:
    """The tables that were asked for, which is what readers come for."""
    tables = workload_tables(synthetic)
    if not tables:
        return ""
    left = len(synthetic.workload.parts) - len(tables)
    more = f" {left:,} further tables are in the file of answers." if left else ""
    lined = any(each.lined for each in tables)
    bars = RED_LINES
    if isinstance(synthetic.errors, QueryErrors):
        bars = "Red lines estimate the error of each number."
    about = f"In rows, of {synthetic.total:,} counted. {bars if lined else ''}{more}"
    return (
        heading("The tables")
        + paragraph(about)
        + f'<div class="grid">\n{"".join(each.markup() for each in tables)}</div>\n'
    )


def _method(synthetic: SyntheticDistribution) -> str:
    workload, errors = synthetic.workload, synthetic.errors
    lines = [
        ("columns", f"{len(synthetic.schema.columns)}"),
        ("cells of the domain", cells_text(synthetic.schema.cells)),
        ("rows that counts refer to", f"{synthetic.total:,}"),
        ("queries in the workload", f"{workload.size:,}"),
    ]
    if isinstance(errors, QueryErrors):
        lines.append(("noisy measurements", f"{len(synthetic.measurements):,}"))
        lines.append(("noise of one count (1 sd)", f"±{errors.noise * synthetic.total:,.3g} rows"))
    if errors is not None:
        if errors.estimate < 1:
            lines.append(("estimated largest error", _percent(errors.estimate)))
        if errors.bound(0.95) < 1:
            lines.append(("largest error, proven with 95 %", f"≤ {_percent(errors.bound(0.95))}"))
    return (
        heading("How it was made")
        + paragraph(
            "A distribution over all combinations of values was fitted to noisy measurements of "
            "the private table. The synthetic rows are drawn from it."
        )
        + tiles(lines)
    )


def _answer_accuracy(synthetic: SyntheticDistribution) -> str:
    """Errors of a method without rounds: standard errors, known before anything was spent."""
    parts = accuracy_by_part(synthetic)
    heads = [("part of the workload", False), ("queries", True), ("error (1 sd)", True)]
    rows = [
        (part.name, f"{part.queries:,}",
         "not known" if part.error is None else f"±{part.error * synthetic.total:,.3g} rows")
        for part in parts[:MOST_ROWS]
    ]  # fmt: skip
    left = len(parts) - len(rows)
    more = f" {left:,} further parts are not listed." if left else ""
    errors = synthetic.errors
    about = "The error of this method depends on the data, and nothing is known of it here."
    if errors is not None:
        about = (
            "Answers to the workload are unbiased estimates, and their standard errors follow from "
            "the noise alone. The synthetic rows come from a distribution fitted to them, without "
            f"negative counts: it is biased. {bound_in_words(synthetic)}"
        )
    rests = paragraph(f"Accuracy also rests on this: {synthetic.rests_on}.", "warning")
    return (
        heading("How accurate is it?")
        + paragraph(about + more)
        + (rests if synthetic.rests_on else "")
        + _about_fit(synthetic)
        + table(heads, rows)
    )


def _about_fit(synthetic: SyntheticDistribution) -> str:
    note = synthetic.fit_note
    return paragraph(f"About the fit: {note}.", "warning") if note else ""


def _accuracy(synthetic: SyntheticDistribution, errors: QueryErrors) -> str:
    parts = errors_by_part(synthetic)
    measured = sum(bool(part.distances) for part in parts)
    shown = f" The {MOST_PARTS} farthest are drawn." if measured > MOST_PARTS else ""
    rests = paragraph(f"Accuracy also rests on this: {synthetic.rests_on}.", "warning")
    return "".join(
        [
            heading("How accurate is it?"),
            paragraph(
                f"All errors are in % of the {synthetic.total:,} rows, and all are judged from "
                "released numbers. The estimate is the size of the gaps that the last rounds "
                "found where they looked for the worst answer; it is not a bound. "
                f"{bound_in_words(synthetic)}"
            ),
            rests if synthetic.rests_on else "",
            _about_fit(synthetic),
            figure(
                draw_parts(parts, noise=errors.noise, estimate=errors.estimate),
                "Distance of the final distribution from the measurements, by part of the workload",
                "Each point is a measured query: how far the final distribution lies from its "
                f"noisy measurement.{shown}",
            ),
            _parts_table(parts, errors),
        ]
    )


def _rounds(errors: QueryErrors) -> str:
    return figure(
        draw_gaps(errors),
        "Size of the gap between measurement and distribution in each round",
        "Each round measures a query that the distribution answered badly, then moves the "
        "distribution. Gaps within the noise mean that little is left to find.",
    )


def bound_in_words(synthetic: SyntheticDistribution) -> str:
    """What is proven of the largest error, or that nothing useful is."""
    errors = synthetic.errors
    assert errors is not None
    most = errors.bound(0.95)
    if most < 1:
        return (
            f"With probability 95 % no answer to the {synthetic.workload.size:,} queries is off by "
            f"more than {_rows(most, synthetic.total)}, whatever the data are."
        )
    if errors.estimate >= 1:
        return "The noise is larger than the counts: take no single number for more than a hint."
    return (
        "A bound that holds whatever the data are would say nothing at this budget; expect the "
        f"largest error to be about {_rows(errors.estimate, synthetic.total)}."
    )


def _parts_table(parts: list[PartErrors], errors: QueryErrors) -> str:
    heads = [
        ("part of the workload", False),
        ("queries", True),
        ("measurements", True),
        ("farthest from measured", True),
        ("error estimate", True),
    ]
    rows = [
        (
            part.name,
            f"{part.queries:,}",
            f"{part.measurements:,}",
            _percent(part.largest) if part.distances else "not measured",
            _percent(part.estimate),
        )
        for part in parts[:MOST_ROWS]
    ]
    left = len(parts) - len(rows)
    more = f" {left:,} further parts are not listed." if left else ""
    return table(heads, rows) + paragraph(
        "Error estimate of a measured query: its distance and the noise of its measurement "
        f"together. Where nothing was measured it is that of the whole workload, "
        f"{_percent(errors.estimate)}.{more}"
    )


def _columns(synthetic: SyntheticDistribution) -> str:
    columns = synthetic.schema.columns
    cards = [_column(synthetic, column) for column in columns[:MOST_COLUMNS]]
    more = len(columns) - len(cards)
    about = "The distribution of each column, as the synthetic table has it."
    if more:
        about += f" {more} further columns are not drawn."
    return (
        heading("The synthetic table, column by column")
        + paragraph(about)
        + f'<div class="grid">\n{"".join(cards)}</div>\n'
    )


def _column(synthetic: SyntheticDistribution, column: Column) -> str:
    fractions = synthetic.marginal(column.name)
    if column.cardinality <= MOST_LABELS:
        return column_table(column, synthetic.total * fractions).markup()
    return figure(
        draw_column(column, fractions), f"Synthetic distribution of the column {column.name}"
    )


def _measured(synthetic: SyntheticDistribution, errors: QueryErrors) -> str:
    heads = [
        ("round", True),
        ("query", False),
        ("noisy count", True),
        ("noise (1 sd)", True),
        ("synthetic count", True),
        ("difference", True),
    ]
    total, noise = synthetic.total, errors.noise * synthetic.total
    rows = []
    for row in measured_rows(synthetic):
        count, fitted = row.count / row.grid, row.fitted * total
        exact = f"{row.count:,}" if row.grid == 1 else f"{count:,.6g}"
        rows.append(
            (row.round, row.label, exact, f"±{noise:,.3g}", f"{fitted:,.1f}",
             f"{fitted - count:+,.1f}")
        )  # fmt: skip
    return (
        heading("What was measured")
        + paragraph(
            "Each round's query was selected privately, and its count was released with noise. "
            "Nothing else about the data was looked at by the fit."
        )
        + table(heads, rows)
    )


def _private(synthetic: SyntheticDistribution, private: TrueAnswers) -> str:
    fitted = fitted_fractions(synthetic)
    error = np.abs(fitted - private.workload)
    cards = [
        figure(
            draw_column(column, synthetic.marginal(column.name), true=true),
            f"True and synthetic distribution of the column {column.name}",
        )
        for column, true in list(
            zip(synthetic.schema.columns, private.columns, strict=True)
        )[:MOST_COLUMNS]
    ]  # fmt: skip
    return (
        '<section class="private">\n'
        + heading(f"True answers - {PRIVATE}")
        + paragraph(
            "For the owner of the data only. Nothing in this frame is private or covered by the "
            "guarantee. Choosing parameters by it is a release without noise."
        )
        + tiles(
            [
                ("true largest error (PRIVATE)", _percent(float(error.max()))),
                ("true mean error (PRIVATE)", _percent(float(error.mean()))),
            ]
        )
        + figure(
            draw_truth(private.workload, fitted, total=synthetic.total),
            "True against synthetic answers of all queries",
        )
        + f'<div class="grid">\n{"".join(cards)}</div>\n</section>\n'
    )


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g} %" if fraction < 1 else "all rows"


def _rows(fraction: float, total: int) -> str:
    return f"{fraction * total:,.0f} rows ({_percent(fraction)})"
