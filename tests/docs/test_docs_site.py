"""What the pages say about themselves: links, the API list, figures, and numbers from benchmarks.

`make docs` needs Sphinx; these tests do not, and catch most of what it would.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import winnow
import winnow.plan

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("evidence/*.md")),
]
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]* src=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
INCLUDE = re.compile(r"^```\{include\} (?:\.\./)?_generated/(\w+)\.md$", re.MULTILINE)
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@cache
def pages_of_the_reference() -> tuple[Any, ...]:
    sys.path.insert(0, str(DOCS))
    try:
        import reference_contents
    finally:
        sys.path.remove(str(DOCS))
    return reference_contents.PAGES


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
        if target.parent == DOCS / "reference":  # written when the pages are built
            assert target.stem in {each.name for each in pages_of_the_reference()}, address
            continue
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


def test_every_public_name_lies_on_a_page_of_the_reference(docs: ModuleType) -> None:
    named = {name for name, module in docs.public().items() if docs.page_of(name, module)}
    public = {f"winnow.{name}" for name in {*winnow.__all__} - {"__version__", "plan"}}
    public |= {f"winnow.plan.{name}" for name in winnow.plan.__all__}
    assert not sorted(public - named)


def test_a_public_name_without_a_page_is_noticed(docs: ModuleType) -> None:
    with pytest.raises(LookupError, match="lies on no page"):
        docs.page_of("winnow.new", "winnow_elsewhere.new")


@pytest.mark.slow
@pytest.mark.parametrize("name", [page.name for page in pages_of_the_reference()])
def test_a_page_of_the_reference_has_every_name_and_an_example_that_runs(
    docs: ModuleType, name: str
) -> None:
    page = next(page for page in docs.PAGES if page.name == name)
    text = docs.page_text(page)
    assert all(f":: {each}\n" in text for each in docs.names_on(page))
    assert all(f"Usage: winnow {command}" in text for command in page.commands)
    exec(compile(page.example, page.name, "exec"), {})


WORDS = (
    "median", "quantile", "mean", "histogram", "heavy hitters", "partition selection",
    "synthetic data", "noisy max",
)  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_whoever_searches_with_the_word_of_the_field_finds_a_guide(word: str) -> None:
    """The search of the site looks for words in pages; the glossary leads on from there."""
    found = [page.stem for page in DOCS.glob("*.md") if word in page.read_text().lower()]
    assert "glossary" in found and len(found) > 2


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
def docs() -> ModuleType:
    """The module that writes the reference."""
    sys.path.insert(0, str(DOCS))
    try:
        import reference_pages
    finally:
        sys.path.remove(str(DOCS))
    return reference_pages


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


def selection_figures(method: str, d: int, scores: str = "") -> list[float]:
    document = json.loads((ROOT / "benchmarks" / "selection.json").read_text())
    rows: list[dict[str, Any]] = document["results"]
    return [
        row["ns_per_item"]
        for row in rows
        if row["method"] == method and row["d"] == d and scores in ("", row["scores"])
    ]


def test_the_figures_of_the_readme_are_those_of_the_benchmarks() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    million = 10**6
    ours = max(selection_figures("winnow permute-and-flip", million, "normal"))
    theirs = max(selection_figures("opendp noisy max (gumbel)", million, "normal"))
    assert f"1,000,000 candidates takes {ours:.1f} ms (OpenDP {theirs:.0f} ms)" in text
    rows = json.loads((ROOT / "benchmarks" / "speed.json").read_text())["after"]["rows"]
    middle, small = rows["select, d = 1,000"], rows["select, d = 3"]
    assert (
        f"1,000 candidates {middle['ms']:.2f} ms (OpenDP {middle['opendp_ms']:.2f} ms, "
        f"diffprivlib {middle['diffprivlib_ms']:.2f} ms)" in text
    )
    assert f"3 candidates {small['ms']:.2f} ms" in text
    assert f"is faster ({small['diffprivlib_ms']:.2f} ms)" in text
    runs = json.loads((ROOT / "benchmarks" / "wide.json").read_text())["results"]
    adult = [row for row in runs if row["data"] == "adult" and row["epsilon"] == 1]
    for loop, verb in (("wn.Graphical", "takes"), ("AIM over mbi's fit", "takes")):
        its = [row for row in adult if row["loop"] == loop]
        cpu = sum(row["cpu"] for row in its) / len(its)
        error = sum(row["mean_2way"] for row in its) / len(its)
        seconds = f"{cpu:.0f}" if cpu > 10 else f"{cpu:.1f}"
        assert f"{verb} {seconds} s and is off by {error:.3f}" in text


def test_the_figures_of_the_paper_are_those_of_the_benchmarks() -> None:
    text = " ".join((ROOT / "paper" / "paper.md").read_text().split())
    million = 10**6
    ours = max(selection_figures("winnow permute-and-flip", million, "normal"))
    naive = max(selection_figures("numpy gumbel argmax", million, "normal"))
    assert f"1,000,000 candidates takes {ours:.1f} ms" in text and f"takes {naive:.1f} ms" in text
    summary = json.loads((ROOT / "benchmarks" / "utility.json").read_text())["summary"]
    plain = summary["auto_over"]["plain"]
    assert f"In {plain['settings']} settings" in text
    assert (
        f"{plain['largest']:.2f} times the largest and {plain['mean']:.2f} times the mean" in text
    )
    worst = max(plain["largest_ratios"][1], plain["mean_ratios"][1])
    assert f"at most {worst:.2f} times either" in text


def test_the_speed_sentences_of_the_pages_hold_in_the_benchmarks() -> None:
    million = 10**6
    ours = selection_figures("winnow permute-and-flip", million)
    assert max(ours) < 3.5
    assert min(selection_figures("numpy gumbel argmax", million)) > 6 * max(ours)
    assert max(selection_figures("winnow permute-and-flip", 10_000)) * 10_000 < 1e5
    adult = json.loads((ROOT / "benchmarks" / "release.json").read_text())["adult"]["24k"]
    assert adult["select_seconds"] < 1e-4 and adult["ratio_select"] > 500
    rows = json.loads((ROOT / "benchmarks" / "accuracy.json").read_text())["rows"]
    worst = {row["queries"]: row["release"]["max"] for row in rows}
    assert worst[100_000] < 2 * worst[1000]
