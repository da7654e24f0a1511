"""What the pages say about themselves: links, the API list, figures, and numbers from benchmarks.

`make docs` needs Sphinx; these tests do not, and catch most of what it would.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import winnow
import winnow.plan

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))]
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]* src=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
INCLUDE = re.compile(r"^```\{include\} _generated/(\w+)\.md$", re.MULTILINE)
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    found = (heading.replace("`", "").lower() for heading in HEADING.findall(prose))
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in found}


def links(page: Path) -> list[str]:
    """Every address that the prose of a page links to or shows as a picture."""
    return [first or second for first, second in LINK.findall(CODE.sub("", page.read_text()))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_the_page_leads_somewhere(page: Path) -> None:
    for address in links(page):
        if "://" in address:
            assert re.fullmatch(r"https://[\w.-]+\.[a-z]{2,}(/[^\s]*)?", address), address
            continue
        name, _, anchor = address.partition("#")
        target = page if not name else (page.parent / name).resolve()
        assert target.is_relative_to(ROOT) and target.exists(), f"{page.name}: {address}"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {address}"


def test_a_dead_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](#one) ![b](c.png) `[not](a-link)`\n")
    assert links(page) == ["#one", "c.png"] and anchors(page) == {"one"}


MECHANISMS = (
    "selection", "top-k", "large-margin", "sparse-vector", "query-release", "wide-tables",
    "interactive", "itemsets", "learning", "linear-programs", "private-mips",
)  # fmt: skip
EVERY_MECHANISM_HAS = {
    "promise": r"[Pp]romise|guarantee",
    "neighbours": r"add-remove|add or remove|one row more or less",
    "citation": r"LMM|Canonical|Joint|PMW|FastMWEM|[A-Z][a-z]+-[A-Z][A-Za-z-]+ \d{4}",
    "cost": r"^## .*(fast|Speed|Time|cost)|performance\.md|_speed\.md",
    "plot": r"figures/\w+\.png",
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_page_of_a_mechanism_says_what_all_of_them_say(name: str) -> None:
    text = (DOCS / f"{name}.md").read_text()
    for what, pattern in EVERY_MECHANISM_HAS.items():
        assert re.search(pattern, text, re.MULTILINE), f"{name}.md has no {what}"


def test_every_page_is_in_the_table_of_contents() -> None:
    trees = TREE.findall((DOCS / "index.md").read_text())
    listed = [name for tree in trees for name in tree.split() if not name.startswith(":")]
    listed = [name for name in listed if (DOCS / f"{name}.md").exists()]
    assert sorted(listed) == sorted(path.stem for path in DOCS.glob("*.md") if path.stem != "index")


def test_every_public_name_is_in_the_api_reference() -> None:
    text = (DOCS / "api.md").read_text()
    documented = set(re.findall(r"^\.\. auto\w+:: (?:[\w.]+\.)?(\w+)", text, re.MULTILINE))
    public = {*winnow.__all__, *winnow.plan.__all__} - {"__version__", "plan"}
    assert not sorted(public - documented)


def test_figures_are_used_and_small() -> None:
    shown = {Path(address).name for page in PAGES for address in links(page)}
    for figure in (DOCS / "figures").glob("*.[ps]*g"):
        assert figure.name in shown, f"{figure.name} is shown nowhere"
        assert figure.stat().st_size < 200_000, f"{figure.name}: make figures reduces it"


def test_every_figure_that_is_drawn_is_there() -> None:
    drawn = re.findall(r"^def (\w+)\(\) -> bytes:", (DOCS / "draw_figures.py").read_text(), re.M)
    assert len(drawn) > 5
    for name in drawn:
        assert (DOCS / "figures" / f"{name}.png").exists(), f"{name}: make figures"


@pytest.fixture(scope="module")
def tables() -> dict[str, ModuleType]:
    """The modules behind the generated tables; they need no Sphinx."""
    sys.path.insert(0, str(DOCS))
    try:
        import benchmark_tables
        import ledger_tables
        import scale_tables
        import timing_tables
    finally:
        sys.path.remove(str(DOCS))
    return {
        "benchmark": benchmark_tables,
        "ledger": ledger_tables,
        "scale": scale_tables,
        "timing": timing_tables,
    }


def test_every_included_table_is_written_by_a_function(tables: dict[str, ModuleType]) -> None:
    included = {name for page in PAGES for name in INCLUDE.findall(page.read_text())}
    sources = "".join(path.read_text() for path in DOCS.glob("*.py"))
    for name in sorted(included):
        assert f"def {name}(" in sources, f"{name}.md is included and not written"
    written = {make.__name__ for part in tables.values() for make in part.TABLES}
    assert written <= included


def test_every_benchmark_table_has_figures(tables: dict[str, ModuleType]) -> None:
    for make in (make for part in tables.values() for make in part.TABLES):
        text = make()
        assert "No figures" not in text, make.__name__
        assert text.count("\n| ") > 2, make.__name__
        assert "nan" not in text and "None" not in text, make.__name__


def test_a_table_of_a_missing_benchmark_says_so(
    tables: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables["benchmark"], "BENCHMARKS", tmp_path)
    for make in (*tables["benchmark"].TABLES, *tables["timing"].TABLES):
        assert make().startswith("No figures: `benchmarks/")
    for make in tables["scale"].TABLES:
        assert make().startswith("| ")
    for name in ("selection", "lp", "topk", "release", "counting", "interactive", "wide", "timing"):
        (tmp_path / f"{name}.json").write_text('{"machine": {}}')
    for make in (make for part in tables.values() for make in part.TABLES):
        make()


def selection_figures(method: str, d: int) -> list[float]:
    document = json.loads((ROOT / "benchmarks" / "selection.json").read_text())
    rows: list[dict[str, Any]] = document["results"]
    return [row["ns_per_item"] for row in rows if row["method"] == method and row["d"] == d]


def test_the_speed_sentences_of_the_readme_hold_in_the_benchmarks() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    million = 10**6
    ours = selection_figures("winnow permute-and-flip", million)
    naive = selection_figures("numpy gumbel argmax", million)
    other = [
        cost
        for method in ("opendp noisy max (gumbel)", "opendp noisy max (permute-and-flip)")
        for cost in selection_figures(method, million)
    ]
    assert "some 2 to 3 ns per candidate" in text and 1.5 < max(ours) < 3.5
    assert "more than 6 times faster than a naive NumPy" in text and min(naive) > 6 * max(ours)
    assert "more than 20 times faster than OpenDP's" in text and min(other) > 20 * max(ours)
    small = selection_figures("winnow permute-and-flip", 10_000)
    assert "fixed cost of less than a millisecond" in text and max(small) * 10_000 < 1e6
    adult = json.loads((ROOT / "benchmarks" / "release.json").read_text())["adult"]["24k"]
    assert f"among {adult['m']:,} marginals of ADULT" in text
    rows = json.loads((ROOT / "benchmarks" / "accuracy.json").read_text())["rows"]
    worst = {row["queries"]: row["release"]["max"] for row in rows}
    assert "100,000 queries with less than twice the largest error of 1,000" in text
    assert worst[100_000] < 2 * worst[1000]
    assert "less than 100 µs" in text and adult["select_seconds"] < 1e-4
    assert "more than 500 times less than the dense scan" in text and adult["ratio_select"] > 500
