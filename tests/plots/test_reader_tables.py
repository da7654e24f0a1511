"""Tables of a report: no wider than the page, whole, and explained only by what is there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.serve import charts
from winnow.show.report.release import release_page
from winnow.show.report.tables import ReaderTable
from winnow.show.report.tabulated import tables_page

STATES = [f"State number {number:02d} of the union" for number in range(30)]
TOWNS = [f"Town {number:02d}" for number in range(25)]
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def table_of(*columns: str) -> wn.SealedTable:
    draw = np.random.default_rng(1)
    values = {"state": STATES, "town": TOWNS, "sex": ["F", "M"]}
    frame = pd.DataFrame({name: draw.choice(values[name], 900) for name in columns})
    return wn.read_table(frame, schema={name: {"values": values[name]} for name in columns})


def with_sums() -> str:
    """Sums and means by columns whose names are long and have no space."""
    names = [f"a_column_with_a_long_name_{number}" for number in range(3)]
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({name: draw.integers(0, 3, 900) for name in (*names, "v")})
    table = wn.read_table(frame, schema={name: {"codes": 3} for name in (*names, "v")})
    return tables_page(wn.tabulate(table, [names], values=["v"], epsilon=1, seed=1)).decode()


def tabulated(*columns: str) -> str:
    made = wn.tabulate(table_of(*columns), [list(columns)], epsilon=1, seed=1)
    return tables_page(made).decode()


@pytest.mark.parametrize("shape", [(2, 30), (30, 2), (10, 11), (11, 12), (25, 30), (2, 3, 30)])
def test_a_heat_table_has_at_most_ten_columns_and_every_cell_in_its_place(
    shape: tuple[int, ...],
) -> None:
    labels = tuple(tuple(f"{axis}{i}." for i in range(size)) for axis, size in enumerate(shape))
    held = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    markup = ReaderTable("made up", labels, held, None).markup()
    seen: dict[frozenset[str], float] = {}
    for block in markup.split('<table class="heat">')[1:]:
        head, body = block.split("<tbody>")
        across = re.findall(r'<th class="number">(.*?)</th>', head)
        assert len(across) <= 10
        for name, cells in re.findall(r"<tr><th>(.*?)</th>(.*?)</tr>", body):
            numbers = re.findall(r">([\d,]+)</td>", cells)
            for label, number in zip(across, numbers, strict=True):
                seen[frozenset([*name.split(", "), label])] = float(number.replace(",", ""))
    expected = {
        frozenset(names[i] for names, i in zip(labels, place, strict=True)): value
        for place, value in np.ndenumerate(held)
    }
    assert seen == expected


@pytest.mark.parametrize(("columns", "lines"), [(("sex",), True), (("state", "sex"), False)])
def test_a_report_speaks_of_red_lines_where_there_are_some(
    columns: tuple[str, ...], lines: bool
) -> None:
    made = wn.release(table_of(*columns), wn.marginals(len(columns)), epsilon=1, seed=1)
    for page in (tabulated(*columns), release_page(made).decode()):
        assert ("Red line" in page) is lines is ('<i style="left:' in page)


CUT_OFF = """() => [...document.querySelectorAll('svg.plot')].flatMap(plot => {
    const frame = plot.getBoundingClientRect();
    return [...plot.querySelectorAll('text')].filter(text => {
        const box = text.getBoundingClientRect();
        return box.left < frame.left - 1 || box.right > frame.right + 1
            || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    }).map(text => text.textContent);
}).concat([...document.querySelectorAll('.scroll')]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => box.textContent.slice(0, 80)))"""


@pytest.mark.extras
@pytest.mark.skipif(BROWSER is None, reason="there is no browser: apt-get install chromium")
def test_a_browser_cuts_off_no_label_and_no_table(tmp_path: Path) -> None:
    playwright: Any = pytest.importorskip("playwright.sync_api")
    letters = [letter * 60 for letter in "mwOQGDNAoadg0%@&_é"]
    labels = ["W" * 19, *letters, "東京" * 30, *STATES, "a, b"]
    plot = charts.bars([charts.Bar(label, 1e6, 0.0, 2e6) for label in labels], "bars")
    style = Path(charts.__file__).with_name("static") / "style.css"
    pages = {
        "plot": f'<meta charset="utf-8"><link rel="stylesheet" href="{style.as_uri()}">{plot}',
        "wide": tabulated("sex", "state"),
        "large": tabulated("town", "state"),
        "long names": with_sums(),
    }
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        for name, content in pages.items():
            (tmp_path / f"{name}.html").write_text(content, encoding="utf-8")
            page.goto((tmp_path / f"{name}.html").as_uri())
            for width in (1280, 1000) if name == "long names" else (1280,):
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate(CUT_OFF) == []
        browser.close()
