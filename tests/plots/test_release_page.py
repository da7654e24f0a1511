"""The figures and the page of a release: what they show, escape and refuse."""

from __future__ import annotations

import io
import math
import re
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from PIL import Image

import winnow as wn
from reference.inside import unsafe_true_answers
from reference.releasing import flat_release
from winnow import InputError, Released, SyntheticDistribution
from winnow.core.notebook import escaped as text
from winnow.show.plots.figures import ENDINGS
from winnow.show.plots.release import (
    MOST_LABELS,
    draw_column,
    draw_gaps,
    draw_parts,
    draw_release,
    draw_truth,
)
from winnow.show.report.frame import promise_in_words
from winnow.show.report.numbers import errors_by_part, fitted_fractions, measured_rows
from winnow.show.report.page import inline_svg
from winnow.show.report.release import release_page
from winnow.show.report.tables import workload_tables

COLUMNS = {
    "city": [["north", "south"][i % 2] for i in range(400)],
    "year": [i % 40 for i in range(400)],
    "a very long name of a column, which no figure has room for $x$": [i % 3 for i in range(400)],
}
SCHEMA = {
    "city": {"values": ["north", "south"]},
    "year": 40,
    "a very long name of a column, which no figure has room for $x$": 3,
}
NAMES = list(SCHEMA)


def table() -> wn.SealedTable:
    import pyarrow as pa

    return wn.read_table(pa.table(COLUMNS), schema=SCHEMA)


@cache
def released(**options: Any) -> Released[SyntheticDistribution]:
    """A seeded release; the same options give the same one."""
    queries: Any = wn.marginals([1, 2]) + wn.ranges("year", count=20) + wn.where(city="north")
    settings: dict[str, Any] = {"rounds": 8, "accountant": "zcdp", "seed": 5, **options}
    return flat_release(table(), queries, epsilon=2.0, delta=1e-6, **settings)


@pytest.mark.slow
def test_the_summary_is_drawn_in_every_format_and_repeatably() -> None:
    value = released().value
    for ending in {*ENDINGS} - {".png"}:  # which is drawn below
        assert len(draw_release(value, title="A table", ending=ending)) > 1000
    assert value.errors is not None
    assert draw_gaps(value.errors) == draw_gaps(value.errors)


@pytest.mark.slow
def test_the_summary_is_large_and_not_blank_and_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = Image.open(io.BytesIO(draw_release(released().value, title="A table")))
    grey = image.convert("L")
    assert image.width >= 2000 and grey.getextrema()[0] < 80 and grey.getextrema()[1] == 255


@pytest.mark.slow
def test_axes_of_the_figures_are_labelled() -> None:
    import matplotlib

    value = released().value
    assert value.errors is not None
    column = value.schema.column("city")
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text as text
        gaps = draw_gaps(value.errors).decode()
        parts = draw_parts(errors_by_part(value), noise=0.01, estimate=0.03).decode()
        bars = draw_column(column, value.marginal("city")).decode()
        both = draw_column(column, value.marginal("city"), true=np.array([0.5, 0.5])).decode()
        truth = draw_truth(np.array([0.0, 0.5]), np.array([0.1, 0.5]), total=400).decode()
    for drawn, names in (
        (gaps, ("round", "gap, % of rows (log)", "within the noise (1 sd)", "largest error")),
        (parts, ("distance from what was measured, % of rows", "a measured query")),
        (bars, ("city", "north", "south", "% of rows")),
        (both, ("synthetic", "true: PRIVATE")),
        (truth, ("true fraction of the rows (log scale): PRIVATE", "synthetic fraction")),
    ):
        for name in names:
            assert name in drawn, name
    assert "PRIVATE" not in bars + gaps + parts


def test_a_column_with_many_codes_has_few_labels() -> None:
    import matplotlib

    column = released().value.schema.column("year")
    assert column.cardinality > MOST_LABELS
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        drawn = draw_column(column, released().value.marginal("year")).decode()
    labels = set(re.findall(r">(\d+)</text>", drawn))
    assert {"0", "39"} <= labels and "17" not in labels


def test_a_column_with_very_many_codes_keeps_the_figure_small() -> None:
    import matplotlib

    column = wn.Schema.parse({"x": 50_000}).columns[0]
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        drawn = draw_column(column, np.full(50_000, 1 / 50_000)).decode()
    assert "% of rows in 125 codes" in drawn and len(drawn) < 100_000


def test_errors_by_part_are_the_distances_from_the_measurements() -> None:
    value = released().value
    parts = errors_by_part(value)
    assert sum(part.measurements for part in parts) == 8
    assert sum(part.queries for part in parts) == value.workload.size
    assert [part.largest for part in parts] == sorted((p.largest for p in parts), reverse=True)
    assert {"city", "ranges of year", "predicates", f"city × {NAMES[2]}"} <= {
        part.name for part in parts
    }
    rows = measured_rows(value)
    seen: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        seen.setdefault(row.label, []).append((row.answer, row.fitted))
    expected = sorted(
        pairs[0][1] - sum(answer for answer, _ in pairs) / len(pairs) for pairs in seen.values()
    )
    found = sorted(distance for part in parts for distance in part.distances)
    assert np.allclose(found, expected)
    assert value.errors is not None
    for part in parts:
        if not part.distances:
            assert part.estimate == value.errors.estimate


def test_answers_declared_in_an_interval_are_brought_back_to_fractions() -> None:
    values = np.array([[-2.0, 0.0, 2.0], [2.0, 2.0, -2.0]])
    people = {"x": [0, 1, 2] * 100}
    import pyarrow as pa

    sealed = wn.read_table(pa.table(people), schema={"x": 3})
    found = wn.release(
        sealed,
        wn.queries(values, grid=4, bound=2),
        epsilon=2.0,
        delta=1e-6,
        seed=1,
        accountant="zcdp",
        method=wn.MWEM(rounds=2),
    )
    fractions = fitted_fractions(found.value)
    assert np.allclose(found.value.answers(), 2 * (2 * fractions - 1))
    assert (fractions >= 0).all() and (fractions <= 1).all()
    assert b"queries given as arrays" in release_page(found)


def test_the_page_shows_every_part_of_a_release() -> None:
    page = release_page(released(), title="People <b>2020</b>").decode()
    assert "People &lt;b&gt;2020&lt;/b&gt;" in page and "<b>2020" not in page
    assert page.count("<svg") == 2 + 1  # rounds, parts, and one column of many codes
    order = ["The tables", "column by column", "How accurate", "How it was made", "Receipt"]
    assert [page.index(each) for each in order] == sorted(page.index(each) for each in order)
    assert page.count('role="img"') == page.count("<svg")
    for measured in released().value.measurements:
        assert text(measured.label) in page
    for _, line in released().receipt.lines():
        assert text(line) in page
    assert page == release_page(released(), title="People <b>2020</b>").decode()


def test_the_page_says_what_accuracy_rests_on() -> None:
    grouped = released(groups=((NAMES[0], NAMES[1]), (NAMES[2],)), rounds=4)
    page = release_page(grouped).decode()
    assert "Accuracy also rests on this" in page and "taken to be independent" in page
    assert "Accuracy also rests on this" not in release_page(released()).decode()


def test_a_distribution_from_a_file_has_no_page() -> None:
    again = SyntheticDistribution.from_dict(released().value.to_dict())
    with pytest.raises(InputError, match="a report needs the release itself"):
        release_page(Released(again, released().guarantee, released().receipt))


def test_the_promise_is_told_for_the_declared_person() -> None:
    one = " ".join(promise_in_words(wn.Guarantee(1.0, 0.0, wn.Relation.SUBSTITUTION), 1))
    assert "one row" in one and "replaced" in one and "e^1 = 2.72." in one
    many = " ".join(promise_in_words(wn.Guarantee(math.log(2), 1e-6, wn.Relation.ADD_REMOVE), 5))
    assert "at most 5 rows" in many and "left out or added" in many
    assert "= 2, but for a probability of at most delta = 1e-06" in many


def test_text_of_a_page_is_escaped() -> None:
    assert text("<a href='x'>&\"") == "&lt;a href=&#x27;x&#x27;&gt;&amp;&quot;"
    assert text("a\x1b[31m\nb") == "a\\x1b[31m\\nb"
    assert text("\ud800").encode()  # half a character does not break the page


def test_an_inline_figure_has_no_header_and_no_outside_names() -> None:
    value = released().value
    svg = draw_column(value.schema.columns[2], value.marginal(NAMES[2]))
    drawn = inline_svg(svg, 'about "this" <one>')
    assert drawn.startswith("<svg") and drawn.rstrip().endswith("</svg>")
    assert "http" not in drawn and "<!--" not in drawn and "<metadata" not in drawn
    assert 'aria-label="about &quot;this&quot; &lt;one&gt;"' in drawn
    assert 'viewBox="' in drawn


def test_true_answers_go_around_the_seal_and_are_exact() -> None:
    sealed = table()
    workload = wn.marginals(1, columns=["city"]).over(sealed.schema)
    assert unsafe_true_answers(sealed, workload).tolist() == [0.5, 0.5]


def test_the_page_names_the_data_and_the_day_and_whom_it_is_for() -> None:
    page = release_page(released(), title="Birds", date="2026-01-31").decode()
    assert "<h1>Birds</h1>" in page and "a release of 2026-01-31" in page
    assert "may be published" in page


def test_tables_are_drawn_as_bars_and_shades_with_whole_labels_and_errors() -> None:
    import pyarrow as pa

    sealed = wn.read_table(
        pa.table({"town": ["<north>"] * 3000 + ["south"] * 2000, "age": [30, 50] * 2500}),
        schema={"town": {"values": ["<north>", "south"]}, "age": {"edges": [0, 40, 99]}},
    )
    found = wn.release(sealed, wn.marginals([1, 2]), epsilon=1.0, method="tables", seed=1)
    page = release_page(found).decode()
    assert "<north>" not in page and "<th>&lt;north&gt;</th>" in page
    assert 'class="heat"' in page and 'class="bars"' in page
    first = workload_tables(found.value)[0]
    assert f"{first.estimate[0]:,.0f}<small> ± " in page
    assert first.reach is not None and (first.reach > 0).all()
    assert [each.title for each in workload_tables(found.value)] == ["town", "age", "town × age"]


def test_a_bound_that_says_nothing_is_not_shown() -> None:
    import pyarrow as pa

    sealed = wn.read_table(pa.table({"x": [0, 1] * 5}), schema={"x": 2})
    found = wn.release(
        sealed, wn.marginals(1), epsilon=0.01, delta=1e-6, seed=1, method=wn.MWEM(rounds=2)
    )
    page = release_page(found).decode()
    assert "proven" not in page and "100 %), whatever" not in page
    assert "The noise is larger than the counts" in page
