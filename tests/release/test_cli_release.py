"""``winnow release`` and ``winnow plan release``: what they print, save, report and refuse."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from reference.commands import app, invoke
from winnow import (
    BudgetExceeded,
    InputError,
    MultiplicativeWeights,
    Schema,
    SyntheticDistribution,
    marginals,
    plan,
)
from winnow.core import run as running
from winnow.core.measurement import MEASUREMENTS
from winnow.core.options import options
from winnow.inner_product.index.building import INDEX_NAMES
from winnow.privacy.guarantee import CLOSED_ACCOUNTANTS
from winnow.release.cli.view import workload_files, workload_of
from winnow.release.methods import MWEM
from winnow.release.request import Release
from winnow.release.rounds.mwem import RESULTS, UPDATES

SECRET = "Quetzalcoatl"
"""A value that stands in a bad table and nowhere in its schema."""
PEOPLE = 600
SCHEMA = {
    "age": {"edges": [0, 30, 50, 120]},
    "sex": {"values": ["Female", "Male"]},
    "town": {"values": ["north", "<script>alert('x')</script>", "$s_{o}$uth & co"]},
}


def run(*arguments: object) -> Result:
    return invoke(arguments)


def rows_of(people: int = PEOPLE) -> list[list[Any]]:
    towns = SCHEMA["town"]["values"]
    return [
        [f"p{i // 2}", 20 + i % 60, "Female" if i % 3 else "Male", towns[(i % 60) // 20]]
        for i in range(people)
    ]


def write_csv(path: Path, rows: list[list[Any]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "age", "sex", "town"], *rows])
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "people.csv", rows_of())
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Result, str]:
    """A report, one with true answers, what was printed with it, and a summary figure."""
    folder = tmp_path_factory.mktemp("pages")
    table = write_csv(folder / "people.csv", rows_of())
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    asked = ["release", table, "--schema", folder / "schema.json", *ASKED[4:], "--seed", 1]
    first = run(*asked, "--report", folder / "a.html", "--plot", folder / "a.svg")
    assert first.exit_code == 0, first.stderr
    second = run(*asked, "--report", folder / "b.html", "--unsafe-show-private")
    assert second.exit_code == 0, second.stderr
    plain, private = ((folder / name).read_text() for name in ("a.html", "b.html"))
    return plain, private, second, (folder / "a.svg").read_text()


READ = {"people.csv", "schema.json"}
ASKED = (
    "release", "people.csv", "--schema", "schema.json", "--workload", "marginals:2",
    "--epsilon", 2, "--delta", 1e-6, "--method", "mwem", "--rounds", 6, "--accountant", "zcdp",
    "--one-row-per-person",
)  # fmt: skip


def made(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - READ


# ---------------------------------------------------------------- what comes out


def test_index_alpha_and_the_law_of_measurements_are_options(folder: Path) -> None:
    words = [word for word in ASKED if word not in ("--rounds", 6)]
    words[words.index("--epsilon") + 1] = 40
    found = run(*words, "--alpha", 0.4, "--measurement", "laplace", "--json", "--seed", 1)
    assert found.exit_code == 0, found.stderr
    mechanism = json.loads(found.stdout)["receipt"]["mechanism"]
    assert "update=sign" in mechanism and "discrete Laplace" in mechanism
    found = run(*ASKED, "--index", "p-stable", "--slack", 0.01, "--json", "--seed", 1)
    assert "over an index: p-stable, slack 0.01" in json.loads(found.stdout)["receipt"]["mechanism"]
    for wrong, named in (
        (("--index", "tree"), "tree"),
        (("--index", "lsh", "--method", "adaptive"), "index"),
        (("--slack", 0.1), "name one"),
        (("--alpha", 0.4), "leave out update, rounds"),
        (("--measurement", "cauchy"), "cauchy"),
    ):
        found = run(*ASKED, *wrong, "--out", "rows.csv")
        assert found.exit_code == 2 and named in found.output, found.output
    assert not made(folder)


def test_plan_results_files_and_receipt_are_shown(folder: Path) -> None:
    result = run(*ASKED, "--out", "rows.csv", "--answers", "answers.csv")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    shown = " ".join(result.stdout.split())
    for part in (
        "3 columns, 18 cells, 600 rows, one row per person",
        "each round",
        "(2, 1e-06)-DP, protects each person (replace one record)",
        "part of the workload",
        "age × sex",
        "rows.csv",
        "answers.csv",
        "about",
        "operating system",
        "FastMWEM, Alg 1",
    ):
        assert part in shown, part
    assert shown.index("each round") < shown.index("part of the workload")
    beside = {"rows.csv.receipt.json", "answers.csv.receipt.json"}
    assert made(folder) == {"rows.csv", "answers.csv"} | beside


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_synthetic_rows_have_the_labels_of_the_schema(folder: Path, ending: str) -> None:
    result = run(*ASKED, "--out", f"rows{ending}", "--sample", 50)
    assert result.exit_code == 0, result.stderr
    if ending == ".csv":
        with open("rows.csv", newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        table = pq.read_table("rows.parquet")
        rows = table.to_pylist()
        about = json.loads(table.schema.metadata[b"winnow"])
        assert about["guarantee"]["epsilon"] <= 2 and about["receipt"]["exact"] is True
    assert len(rows) == 50
    schema = Schema.parse(SCHEMA)
    for name in schema.names:
        assert {row[name] for row in rows} <= set(schema.column(name).labels)


def test_as_many_rows_as_the_table_has_unless_asked(folder: Path) -> None:
    assert run(*ASKED, "--out", "rows.csv").exit_code == 0
    assert len(Path("rows.csv").read_text().splitlines()) == PEOPLE + 1


def test_json_is_the_release_and_nothing_else(folder: Path) -> None:
    result = run(*ASKED, "--json", "--out", "all.json")
    assert result.exit_code == 0 and result.stderr == ""
    released = json.loads(result.stdout)
    assert set(released) == {"value", "guarantee", "receipt"}
    assert released["guarantee"]["relation"] == "substitution"
    saved = json.loads(Path("all.json").read_text())
    assert saved.pop("about") == {k: released[k] for k in ("guarantee", "receipt")}
    assert saved == released["value"]
    again = SyntheticDistribution.from_dict(released["value"])
    assert abs(again.weights().sum() - 1) < 1e-9 and len(again.measurements) == 6


@pytest.mark.parametrize("ending", [".csv", ".json", ".parquet"])
def test_answers_have_a_row_for_each_query(folder: Path, ending: str) -> None:
    assert run(*ASKED, "--answers", f"answers{ending}").exit_code == 0
    if ending == ".json":
        rows = json.loads(Path("answers.json").read_text())["answers"]
    elif ending == ".parquet":
        rows = pq.read_table("answers.parquet").to_pylist()
    else:
        with open("answers.csv", newline="") as file:
            rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 2 + 3 * 3 + 2 * 3
    plain = {"query", "answer", "count", "error"}
    long = {"query", "age", "sex", "town", "estimate", "error"}
    assert set(rows[0]) == (plain if ending == ".json" else long)
    assert rows[0]["query"] == "age=[0, 30), sex=Female"
    number, whole = ("answer", 1) if ending == ".json" else ("estimate", len(rows_of()))
    assert abs(sum(float(row[number]) for row in rows) - 3 * whole) < 1e-6 * whole


def test_a_seeded_release_is_repeatable_and_says_that_it_is_not_private(folder: Path) -> None:
    asked = (*ASKED, "--seed", 3, "--out", "rows.csv")
    shown, files = [], []
    for _ in range(2):
        shown.append(run(*asked).stdout)
        files.append(Path("rows.csv").read_bytes())
    assert shown[0] == shown[1] and files[0] == files[1]
    assert "not private" in shown[0]


@pytest.mark.extras
def test_a_seeded_report_says_that_it_is_not_private(pages: tuple[Any, ...]) -> None:
    assert "It is not private." in pages[0] and "(seeded: not private)" in pages[3]


def test_options_reach_the_release(folder: Path) -> None:
    asked = ["release", "people.csv", "--schema", "schema.json", "--epsilon", 2, "--json"]
    result = run(
        *asked, "--workload", "marginals:1+prefixes:age", "--columns", "age,sex", "--person", "id",
        "--max-rows", 2, "--relation", "add-remove", "--rows", 500, "--method", "mwem",
        "--rounds", 4, "--update", "sign", "--delta", 1e-5,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    released = json.loads(result.stdout)
    assert list(released["value"]["schema"]) == ["age", "sex"]
    assert released["value"]["total"] == 500
    assert released["guarantee"]["relation"] == "add-remove"
    assert "update=sign" in released["receipt"]["mechanism"]
    assert "4 rounds as asked" in released["receipt"]["reason"]
    asked.insert(-1, "--one-row-per-person")
    two_rounds = ("--workload", "marginals:1", "--method", "mwem", "--rounds", 2)
    result = run(
        *asked,
        "--workload",
        "marginals:1",
        "--method",
        "mwem",
        "--rounds",
        2,
        "--groups",
        "age,sex/town",
    )
    released = json.loads(result.stdout)
    assert len(released["value"]["factors"]) == 2 and released["guarantee"]["delta"] == 0
    shown = run(
        *asked[:-1], *two_rounds, "--groups", "age,sex/town",
        "--out", "rows.csv",
    ).stdout  # fmt: skip
    assert "taken to be independent" in shown and "expected" not in shown
    result = run(*asked, *two_rounds, "--universe", 12)
    assert "Lemma V.2" in json.loads(result.stdout)["value"]["rests_on"]
    Path("cells.csv").write_text('sex,town,age\nMale,north,"[0, 30)"\nFemale,north,"[30, 50)"\n')
    result = run(
        *asked,
        "--workload",
        "marginals:1",
        "--method",
        "mwem",
        "--rounds",
        2,
        "--universe",
        "cells.csv",
    )
    assert "cells of a public list" in json.loads(result.stdout)["value"]["rests_on"]


@pytest.mark.parametrize("method", ["mwem", "adaptive"])
def test_nothing_above_all_rows_is_printed(folder: Path, method: str) -> None:
    write_csv(folder / "people.csv", rows_of(20))
    asked = ["--epsilon", 0.001, "--delta", 1e-6, "--method", method, "--one-row-per-person"]
    table = ["people.csv", "--schema", "schema.json", "--workload", "marginals:1"]
    shown = run("release", *table, *asked, "--seed", 1, "--out", "rows.csv").stdout
    assert "all rows" in shown and "e+0" not in shown.split("guarantee")[0]
    schema = Schema.parse("schema.json")
    small: dict[str, Any] = {"epsilon": 0.001, "delta": 1e-6}
    about = plan.table(schema, rows=20)
    plans = [
        plan.mwem_bounds(about, marginals(1), **small),
        plan.release(about, marginals(2), method="graphical", **small).expected,
        plan.ask(
            plan.table(schema, rows=20),
            epsilon=0.001,
            delta=1e-6,
            max_queries=10,
            method=MultiplicativeWeights(calibration="paper"),
        ),
    ]
    for each in plans:
        numbers = re.findall(r"[0-9][0-9,.e+]*", str(each).split("\n", 2)[2].split("Computed")[0])
        assert all(float(n.strip(",.").replace(",", "")) <= 20 for n in numbers), str(each)


def test_a_private_number_of_rows_is_measured(folder: Path) -> None:
    result = run(*ASKED, "--relation", "add-remove", "--json", "--seed", 1)
    released = json.loads(result.stdout)
    assert released["value"]["total"] != PEOPLE
    assert "2 % of the budget for the number of rows" in released["receipt"]["reason"]
    shown = run(*ASKED, "--relation", "add-remove", "--out", "rows.csv")
    assert "measured first" in " ".join(shown.stdout.split())


# ---------------------------------------------------------------- the report


class Links(HTMLParser):
    """Everything in a page that could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.names.add(name)
            if name in ("src", "href", "xlink:href", "action", "data", "srcset"):
                self.targets.append(value or "")


def links_of(page: str) -> Links:
    found = Links()
    found.feed(page)
    return found


def test_the_report_is_one_page_that_loads_nothing(pages: tuple[Any, ...]) -> None:
    page = pages[0]
    assert "http://" not in page and "https://" not in page and "@import" not in page
    found = links_of(page)
    assert not found.tags & {"script", "link", "iframe", "object", "embed", "base", "form"}
    assert all(target.startswith("#") for target in found.targets)
    assert not any(name.startswith("on") for name in found.names)
    assert "default-src 'none'" in page
    assert 40_000 < len(page) < 400_000


def test_labels_in_the_report_are_text_and_not_markup(pages: tuple[Any, ...]) -> None:
    page, private, _, figure = pages
    assert not any("<script" in each for each in (page, private, figure))
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in page
    assert "$s_{o}$uth &amp; co" in page


def test_the_report_says_what_was_released_and_promised(pages: tuple[Any, ...]) -> None:
    page = pages[0]
    for part in (
        "What is promised",
        "(2, 1e-06)-differential privacy",
        "One person contributes one row",
        "e^2 = 7.39",
        "How accurate is it?",
        "estimated largest error",
        "not a bound",
        "age × sex",
        "The synthetic table, column by column",
        "What was measured",
        "noisy count",
        "Receipt",
        "6 rounds as asked",
    ):
        assert part in page, part
    assert page.count("<svg") == 2
    assert "PRIVATE" not in page and 'class="danger"' not in page


def test_true_answers_are_in_the_report_only_when_asked_for_and_in_red(
    pages: tuple[Any, ...],
) -> None:
    _, page, result, _ = pages
    assert "do not publish" in result.stderr
    assert '<div class="danger">PRIVATE: NOT FOR PUBLICATION' in page
    assert "<title>PRIVATE: NOT FOR PUBLICATION" in page
    assert "true largest error (PRIVATE)" in page
    assert "released numbers." not in page.split("<h2>")[0]
    assert page.count("<svg") == 2 + 1 + 3
    assert "http://" not in page and "https://" not in page
    images = [t for t in links_of(page).targets if not t.startswith("#")]
    assert all(target.startswith("data:image/png;base64,") for target in images)


def test_only_the_command_goes_around_the_seal() -> None:
    source = Path(sys.modules["winnow"].__file__ or "").parent
    users = [
        str(f.relative_to(source))
        for f in source.rglob("*.py")
        if "import unsafe_true_answers" in f.read_text()
    ]
    assert users == ["release/cli/run.py"]


def test_without_the_flag_nothing_private_is_looked_at_or_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "winnow.read.crossing.unsafe_true_answers", lambda *_: pytest.fail("went around the seal")
    )
    rows = [[f"person-{i}", *row[1:]] for i, row in enumerate(rows_of())]
    write_csv(folder / "people.csv", rows)
    targets = ("--out", "rows.csv", "--answers", "answers.csv", "--report", "page.html")
    result = run(*ASKED[:-1], *targets, "--person", "id", "--plot", "sum.svg")
    assert result.exit_code == 0, result.stderr
    written = [(folder / name).read_text() for name in made(folder)]
    assert len(written) == 6  # two of them are the receipts of CSV files
    for text in (result.stdout, *written):
        assert "person-" not in text


# ---------------------------------------------------------------- nothing is spent


@pytest.fixture
def unspent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "charge", lambda *_, **__: pytest.fail("spent"))


B = ["people.csv", "--schema", "schema.json", "--workload", "marginals:2", "--epsilon", 1,
     "--delta", 1e-6, "--method", "mwem", "--rounds", 3, "--one-row-per-person"]  # fmt: skip
OUT = ["--out", "rows.csv"]
REFUSED: dict[str, tuple[list[Any], str]] = {
    "missing table": (["none.csv", *B[1:], *OUT], "none.csv"),
    "missing schema": ([*B[:2], "none.json", *B[3:], *OUT], "there is no schema file"),
    "schema is no JSON": ([*B[:2], "people.csv", *B[3:], *OUT], "not JSON"),
    "unknown column": ([*B, *OUT, "--columns", "age,size"], "no column 'size'"),
    "column not in the table": ([*B[:2], "wide.json", *B[3:], *OUT], "size"),
    "person column": ([*B[:-1], *OUT, "--person", "who", "--rows", 9], "who"),
    "outside the schema": (["outside.csv", *B[1:], *OUT], "outside"),
    "words for numbers": (["words.csv", *B[1:], *OUT], "age"),
    "empty table": (["empty.csv", *B[1:], *OUT], "no rows"),
    "workload kind": ([*B, *OUT, "--workload", "cubes:3"], "is not a workload"),
    "workload empty": ([*B, *OUT, "--workload", ""], "is not a workload"),
    "workload half": ([*B, *OUT, "--workload", "marginals:2+prefixes:"], "is not a workload"),
    "workload number": ([*B, *OUT, "--workload", "marginals:two"], "no column 'two'"),
    "workload mixed": ([*B, *OUT, "--workload", "marginals:two,2"], "write marginals:3"),
    "workload zero": ([*B, *OUT, "--workload", "marginals:0"], "ways=0 is below 1"),
    "workload twice": ([*B, *OUT, "--workload", "marginals:2,2"], "names a number twice"),
    "workload wide": ([*B, *OUT, "--workload", "marginals:4"], "exceeds the 3 columns"),
    "workload column": ([*B, *OUT, "--workload", "prefixes:size"], "no column 'size'"),
    "workload order": ([*B, *OUT, "--workload", "ranges:sex"], "have no order"),
    "workload file": ([*B, *OUT, "--workload", "none.json"], "cannot read the workload"),
    "workload list": ([*B, *OUT, "--workload", "where:schema.json"], "not a list of predicates"),
    "workload JSON": ([*B, *OUT, "--workload", "where:people.csv"], "is not JSON"),
    "epsilon zero": ([*B, *OUT, "--epsilon", 0], "--epsilon 0.0 is not above 0"),
    "epsilon negative": ([*B, *OUT, "--epsilon", -1], "is not above 0"),
    "epsilon nan": ([*B, *OUT, "--epsilon", "nan"], "not finite"),
    "delta one": ([*B, *OUT, "--delta", 1], "--delta 1.0 is not below 1"),
    "delta missing": ([*B, *OUT, "--delta", 0, "--accountant", "tight"], "delta"),
    "rounds zero": ([*B, *OUT, "--rounds", 0], "--rounds 0 is below 1"),
    "rows differ": ([*B, *OUT, "--rows", 17], "leave rows out"),
    "bound without person": ([*B, *OUT, "--max-rows", 2, "--rows", 9], "person"),
    "bound zero": ([*B[:-1], *OUT, "--person", "id", "--max-rows", 0], "is below 1"),
    "memory": ([*B, *OUT, "--memory", "1kB"], "--memory 1kB"),
    "memory size": ([*B, *OUT, "--memory", "much"], "is not a size"),
    "groups": ([*B, *OUT, "--groups", "age/sex"], "town"),
    "nothing kept": (B, "nothing would be kept"),
    "unsafe without report": ([*B, *OUT, "--unsafe-show-private"], "--report"),
    "sample without out": ([*B, "--answers", "a.csv", "--sample", 9], "--sample"),
    "sample of JSON": ([*B, "--out", "a.json", "--sample", 9], "--sample"),
    "sample zero": ([*B, *OUT, "--sample", 0], "--sample 0 is below 1"),
    "out ending": ([*B, "--out", "rows.txt"], "use one of .csv, .json, .parquet"),
    "out folder": ([*B, "--out", "folder.csv"], "this is a folder"),
    "no folder": ([*B, "--out", "none/rows.csv"], "there is no folder"),
    "out is the table": ([*B, "--out", "people.csv"], "is the file that is read"),
    "answers is the schema": ([*B, "--answers", "schema.json"], "is the file that is read"),
    "report ending": ([*B, "--report", "page.pdf"], "use one of .html"),
    "plot ending": ([*B, *OUT, "--plot", "sum.gif"], "use one of .png, .svg, .pdf"),
    "the same file": ([*B, *OUT, "--answers", "rows.csv"], "both name"),
    "dataset without ledger": ([*B, *OUT, "--dataset", "x"], "--ledger"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.usefixtures("unspent")
def test_bad_input_is_one_line_and_exit_code_2(folder: Path, case: str) -> None:
    arguments, message = REFUSED[case]
    write_csv(folder / "outside.csv", [*rows_of(60), ["p", 30, SECRET, "north"]])
    write_csv(folder / "words.csv", [*rows_of(60), ["p", SECRET, "Male", "north"]])
    write_csv(folder / "empty.csv", [])
    (folder / "wide.json").write_text(json.dumps({**SCHEMA, "size": 4}))
    (folder / "folder.csv").mkdir()
    before = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    result = run("release", *arguments)
    assert result.exit_code == 2 and result.stdout == "", result.stderr
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert message in result.stderr
    assert SECRET not in result.stderr
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()} == before


@pytest.mark.parametrize("case", ["epsilon zero", "workload wide", "memory", "delta missing"])
def test_a_request_is_checked_before_the_table_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr(
        "winnow.read.table.read_table", lambda *_, **__: pytest.fail("read the table")
    )
    assert run("release", *REFUSED[case][0]).exit_code == 2


@pytest.mark.usefixtures("unspent")
@pytest.mark.parametrize("given", [["--report", "page.html"], [*OUT, "--plot", "sum.png"]])
def test_a_page_without_matplotlib_is_refused_before_spending(
    folder: Path, monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("release", *B, *given)
    assert result.exit_code == 2 and "winnow-dp[plots]" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["people.csv"],
        ["people.csv", "--schema", "schema.json", "--epsilon", 1],
        [*B, *OUT, "--update", "best"],
        [*B, *OUT, "--accountant", "rdp"],
        [*B, *OUT, "--unknown"],
    ],
)
def test_wrong_usage_is_exit_code_2(folder: Path, arguments: list[Any]) -> None:
    result = run("release", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert "Usage" in result.stderr


def test_a_refused_budget_is_exit_code_3(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BudgetExceeded("epsilon 1 is asked for, and 0.5 is left; ask for less")

    monkeypatch.setattr(running, "charge", refuse)
    result = run("release", *B, *OUT, "--report", "page.html")
    assert result.exit_code == 3
    assert result.stderr == "error: epsilon 1 is asked for, and 0.5 is left; ask for less\n"
    assert made(folder) == set()


def test_a_ledger_records_the_release_and_refuses_the_next(folder: Path) -> None:
    made_ledger = run(
        "ledger", "init", "ledger.db", "--dataset", "people", "--epsilon", 2.5, "--delta", 1e-6,
        "--relation", "substitution",
    )  # fmt: skip
    assert made_ledger.exit_code == 0, made_ledger.stderr
    record = ("--ledger", "ledger.db", "--dataset", "people")
    first = run(*ASKED, "--json", *record)
    assert first.exit_code == 0, first.stderr
    assert "unrecorded" not in json.loads(first.stdout)["receipt"]["ledger"]
    assert first.stderr == ""
    second = run(*ASKED, "--out", "rows.csv", *record)
    assert second.exit_code == 3 and second.stderr.startswith("error: ")
    assert not Path("rows.csv").exists()
    tight = run(*ASKED, "--out", "rows.csv", *record, "--accountant", "tight")
    assert tight.exit_code == 2 and "cannot size a release" in tight.stderr
    other = run(*ASKED, "--out", "rows.csv", *record, "--relation", "add-remove")
    assert other.exit_code == 2 and "--relation substitution" in other.stderr


def test_a_ledger_tells_that_the_data_came_under_another_label(folder: Path) -> None:
    for label in ("people", "folk"):
        run(
            "ledger", "init", "ledger.db", "--dataset", label, "--epsilon", 2.5, "--delta", 1e-6,
            "--relation", "substitution",
        )  # fmt: skip
        result = run(*ASKED, "--json", "--ledger", "ledger.db", "--dataset", label)
        assert result.exit_code == 0, result.stderr
    assert "came under other labels before ('people')" in result.stderr


# ---------------------------------------------------------------- trouble on the way


def test_ctrl_c_leaves_nothing_half_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow.release.cli.view import RoundsBar

    def stop(_: object, done: int, every: int) -> None:
        assert every == 6
        if done == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(RoundsBar, "__call__", stop)
    result = run(*ASKED, "--out", "rows.csv", "--report", "page.html", "--answers", "a.csv")
    assert result.exit_code == 130
    assert result.stderr == "interrupted; nothing further was released\n"
    assert made(folder) == set()


@pytest.mark.parametrize("given", [[], ["--json"]])
def test_a_full_disk_does_not_lose_the_result(
    folder: Path, monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    result = run(*ASKED, "--out", "rows.csv", "--answers", "answers.csv", *given)
    assert result.exit_code == 2
    assert "the result is released and its counts are printed, but" in result.stderr
    if given:
        assert len(json.loads(result.stdout)["value"]["measurements"]) == 6
    else:
        assert "noisy count" in result.stdout and "guarantee" in result.stdout
    assert made(folder) == set()


def test_one_file_that_fails_does_not_keep_the_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def picky(source: Any, target: Any) -> None:
        if str(target).endswith(".csv"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    monkeypatch.setattr(os, "replace", picky)
    assert run(*ASKED, "--out", "rows.csv", "--answers", "answers.json").exit_code == 2
    assert made(folder) == {"answers.json"}


def test_an_unexpected_error_does_not_show_its_text(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"the count was {SECRET}")

    monkeypatch.setattr(running, "charge", broken)
    result = run("release", *B, *OUT)
    assert result.exit_code == 2 and "unexpected RuntimeError" in result.stderr
    assert SECRET not in result.stderr and "Traceback" not in result.stderr


# ---------------------------------------------------------------- workloads in words


def test_workload_texts_are_the_makers_of_the_library(tmp_path: Path) -> None:
    schema = Schema.parse(SCHEMA)
    file = tmp_path / "queries.json"
    file.write_text(
        json.dumps(
            [
                {"sex": "Female", "age": {"from": 30, "to": 50}},
                {"age": {"to": 50}},
                {"town": ["north", SCHEMA["town"]["values"][1]]},
            ]
        )
    )
    sizes = {
        "marginals:1": 8,
        "marginals:2,3": 21 + 18,
        "prefixes:age": 3,
        "ranges:age": 6,
        "random:7": 7,
        "marginals:1+random:7,3": 15,
        " marginals:1 + ranges:age ": 14,
        str(file): 3,
        f"where:{file}": 3,
        f"marginals:1+where:{file}": 11,
    }
    for text, size in sizes.items():
        assert workload_of(text).size(schema) == size, text
    bound = workload_of(str(file)).over(schema)
    assert [bound.label(i) for i in range(2)] == ["age=[30, 50), sex=Female", "age in [0, 50)"]
    assert workload_files(f"marginals:1+where:{file}") == workload_files(str(file)) == [file]
    assert workload_files("ranges:age") == []
    with pytest.raises(InputError, match="M,SEED"):
        workload_of("random:many")
    file.write_text('[{"age": {"above": 3}}]')
    with pytest.raises(InputError, match="'from' and 'to'"):
        workload_of(str(file))


def test_a_column_with_a_plus_in_its_name_is_no_union() -> None:
    schema = Schema.parse({"a+b": 4, "c": 2})
    assert workload_of("ranges:a+b+prefixes:a+b").size(schema) == 10 + 4


def test_the_words_of_options_are_those_of_the_code_that_takes_them() -> None:
    words = {each.name: each.words for each in (*options(MWEM), *options(Release))}
    assert words["update"] == UPDATES and words["result"] == RESULTS
    assert words["index"] == INDEX_NAMES and set(words["measurement"]) == set(MEASUREMENTS)
    assert words["accountant"] == ("best", *CLOSED_ACCOUNTANTS)


@pytest.mark.parametrize("command", [["release"], ["plan", "release"]])
def test_every_option_has_a_help_text(command: list[str]) -> None:
    from typer.main import get_command

    node: Any = get_command(app)
    for name in command:
        node = node.commands[name]
    for parameter in node.params:
        assert getattr(parameter, "help", None), parameter.name
    assert "Examples:" in run(*command, "--help").stdout


# ---------------------------------------------------------------- the plan

PLAN = ("plan", "release", "--schema", "schema.json", "--workload", "marginals:2", "-n", 5000)


def test_the_plan_shows_every_method(folder: Path) -> None:
    result = run(*PLAN, "--epsilon", 1, "--delta", 1e-6)
    assert result.exit_code == 0, result.stderr
    shown = " ".join(result.stdout.split())
    for part in ("18 cells", "5,000 rows", "tables: predicted", "noise on each cell",
                 "exact formula", "mwem", "rule of thumb", "graphical"):  # fmt: skip
        assert part in shown, part
    planned = json.loads(run(*PLAN, "--epsilon", 1, "--method", "mwem", "--json").stdout)
    assert planned["compared"][0]["method"] == planned["method"] == "mwem"
    assert planned["compared"][-1]["method"] == "noise on each cell"
    assert planned["queries"] == 21
    wanted = json.loads(run(*PLAN, "--error", 30, "--json").stdout)
    assert 0 < wanted["epsilon"] < 1 and wanted["compared"][0]["largest"] <= 30


def test_the_plan_is_saved(folder: Path) -> None:
    asked = (*PLAN, "--epsilon", 1, "--delta", 1e-6, "--columns", "age,sex")
    assert run(*asked, "--out", "plan.csv").exit_code == 0
    with open("plan.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["method"] == "tables" and rows[-1]["method"] == "noise on each cell"
    assert {row["cells"] for row in rows} == {"6"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--epsilon", 0], "--epsilon 0.0 is not above 0"),
        (["--epsilon", 1, "-n", 0], "--rows 0 is below 1"),
        (["--epsilon", 1, "--workload", "marginals:9"], "exceeds the 3 columns"),
        (["--epsilon", 1, "--schema", "none.json"], "there is no schema file"),
        (["--epsilon", 1, "--out", "schema.json"], "is the file that is read"),
        (["--epsilon", 1, "--max-rows", 0], "is below 1"),
    ],
)
def test_a_bad_plan_is_one_line(folder: Path, given: list[Any], message: str) -> None:
    result = run(*PLAN, *given)
    assert result.exit_code == 2 and result.stdout == ""
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_a_title_names_the_data_in_the_report(folder: Path) -> None:
    refused = run(*ASKED, "--title", "Birds", "--out", "rows.csv")
    assert refused.exit_code == 2 and "--title stands in the --report" in refused.stderr
    assert run(*ASKED, "--title", "Birds <1>", "--report", "page.html").exit_code == 0
    assert "<h1>Birds &lt;1&gt;</h1>" in Path("page.html").read_text()
