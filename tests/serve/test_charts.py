"""Plots of the pages: nothing leaves its frame, no label is cut off, numbers are for people."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from winnow.serve import charts
from winnow.serve.replies import ReleaseAnswer
from winnow.serve.results import shown


def test_a_plot_escapes_labels_and_stays_in_its_frame() -> None:
    rows = [charts.Bar('<script>"&', 3.0, -1.0, 7.0), charts.Bar("b", -2.0), charts.Bar("c", 0.0)]
    charges = [
        charts.Spent(datetime(2026, 1, 1 + i, tzinfo=UTC), who, 1.0 + i)
        for i, who in enumerate(("<i>ann", "bob", "<i>ann"))
    ]
    plots = [
        charts.bars(rows, 'said "so"'),
        charts.interval(5.0, -3.0, 20.0, 10.0, "an <answer>"),
        charts.spending(charges, 5.0, "epsilon"),
        charts.error_curve([(0.1, 50.0), (4.0, 1.5)], (1.0, 5.0), 2.0),
    ]
    for plot in plots:
        drawn = ElementTree.fromstring(str(plot))  # well formed, whatever the labels are
        assert drawn.get("aria-label") and {each.tag for each in drawn.iter()} <= {
            "svg", "text", "line", "rect", "path", "circle",
        }  # fmt: skip
        for each in drawn.iter():
            places = [float(each.get(name, "0")) for name in ("x", "x1", "x2", "cx")]
            assert all(0 <= place <= 400 for place in places)
    assert charts.legend(charges) == [("<i>ann", 0), ("bob", 1)]
    assert charts.spending([], 5.0, "epsilon") is None
    assert charts.error_curve([(0.1, None)], (1.0, None)) is None


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 4000.0), (0.0, 1e-7), (3.0, 3.0)])
def test_ticks_are_few_and_round(low: float, high: float) -> None:
    ticks = charts.nice_ticks(low, high)
    assert 1 <= len(ticks) <= 11 and all(low <= tick <= high * (1 + 1e-9) for tick in ticks)
    for start, end in ((1e-3, 2e4), (0.4, 0.45), (2.0, 2.0)):
        assert 1 <= len(charts.log_ticks(start, end)) <= 8


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"), (1e-7, "1e-07"), (0.0012, "0.001"), (0.5, "0.5"), (9.9996, "10"),
        (39.984, "39.98"), (999.94, "999.9"), (999.96, "1,000"), (9999.6, "10,000"),
        (10_000.0, "10,000"), (-12_345.6, "-12,346"), (1_234_567.0, "1,234,567"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_people_write_them(number: float, text: str) -> None:
    assert charts.short(number) == text


def test_the_total_of_tables_is_written_out() -> None:
    total = {"estimate": 10_000.0, "standard_error": 0}
    value = {"tables": [], "total": total}
    released = ReleaseAnswer("id", "people", "tabulate", {}, value, {}, {}, [])
    assert shown(released, None, {}).note == "rows: 10,000 in all"


LABELS = [
    "a",
    "a rather long name of something that people buy, in a second column as well",
    "W" * 70,
    "東京都の南にある小さな島々 " * 3,
    "word " * 100,
]


def texts(plot: object) -> list[tuple[float, float, str]]:
    """From where to where each text reaches."""
    drawn = []
    for each in ElementTree.fromstring(str(plot)).iter("text"):
        text, x = each.text or "", float(each.get("x", "0"))
        width = charts._width(text)
        start = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[each.get("text-anchor", "")] * width
        drawn.append((start, start + width, text))
    return drawn


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("value", [3.0, 123_456_789.0, -1e6])
def test_labels_of_bars_are_whole_and_inside_the_frame(label: str, value: float) -> None:
    plot = charts.bars([charts.Bar(label, value, value - 2, value + 2)], "bars")
    found = texts(plot)
    assert all(start >= -0.1 and end <= 400.1 for start, end, _ in found)
    lines = "".join(text for _, _, text in found[:-1])
    whole = label.replace(" ", "")
    if lines.endswith("…"):  # only what would fill more than four lines
        assert whole.startswith(lines[:-1].replace(" ", "")) and len(found) == 5
    else:
        assert lines.replace(" ", "") == whole
    assert found[-1][2] == charts.short(value)


@pytest.mark.parametrize("large", [1.0, 1e4, 1e8])
def test_axes_with_large_numbers_stay_in_the_frame(large: float) -> None:
    charge = charts.Spent(datetime(2026, 1, 1, tzinfo=UTC), "ann", large)
    plots = [
        charts.error_curve([(0.1, 50 * large), (4.0, large)], (1.0, 5 * large), 3.9),
        charts.interval(large, 0.9 * large, large, large, "all"),
        charts.interval(0.0, 0.0, 0.1 * large, large, "none"),
        charts.spending([charge], large, "epsilon"),
    ]
    for plot in plots:
        assert all(start >= 0 and end <= 400 for start, end, _ in texts(plot))
