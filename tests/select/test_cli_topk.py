"""``winnow top-k``: what it prints, saves, draws and refuses."""

from __future__ import annotations

import csv
import errno
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

import winnow
from reference.commands import app, invoke
from winnow import InputError
from winnow.select.cli.source import read_items
from winnow.select.plan.top_k.verb import TopKPlan

SECRET = "73519"
PERSON = "Ada Lovelace"
RARE = "a very rare bird"
PAGES = {"home": 400, "search": 300, "cart": 200, "help": 100}
"""How many people have each page in the log; then there is one rare page."""


def run(*arguments: object, stdin: str | None = None) -> Result:
    return invoke(arguments, input=stdin)


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(f"tree,n\nalder,1000\n[red]oak[/red],{SECRET}\nelm,31000\nlime,2\nash,3\n")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """An event log in which everybody has at most one page, most of them twice."""
    path = tmp_path / "log.csv"
    rows, person = ["visitor,page", f"{PERSON},{RARE}"], 0
    for page, people in PAGES.items():
        for _ in range(people):
            rows += [f"v{person},{page}"] * (1 + person % 2)
            person += 1
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    path = tmp_path / "pages.txt"
    path.write_text("\n".join([*PAGES, "about", "jobs"]) + "\n")
    return path


COUNTS = ("--item", "tree", "--count", "n", "--labels", "public")
LOG = ("--item", "page", "--person", "visitor")


# ---------------------------------------------------------------- ready counts


def test_the_table_shows_items_guarantee_and_receipt(votes: Path) -> None:
    result = run("top-k", votes, *COUNTS, "-k", 2, "--epsilon", 1)
    assert result.exit_code == 0 and result.stderr == ""
    shown = " ".join(result.stdout.split())
    assert "rank item" in shown and "1 [red]oak[/red]" in shown and "2 elm" in shown
    for part in ("1-DP, protects each person (add or remove one)", "gamma, k=2", "the least error"):
        assert part in shown
    assert "operating system" in shown
    assert SECRET not in result.stdout


def test_json_is_the_release_and_nothing_else(votes: Path) -> None:
    result = run("top-k", votes, *COUNTS, "-k", 2, "--epsilon", 0.5, "--json")
    assert result.exit_code == 0 and result.stderr == ""
    released = json.loads(result.stdout)
    assert set(released) == {"value", "guarantee", "receipt"}
    assert released["value"] == ["[red]oak[/red]", "elm"]
    assert released["guarantee"]["epsilon"] == 0.5 and released["guarantee"]["delta"] == 0
    receipt = released["receipt"]
    assert receipt["event"] == {"type": "PureDP", "epsilon": 0.5, "relation": "add-remove"}
    assert receipt["reason"] and receipt["randomness"] == "os" and receipt["exact"] is True
    assert SECRET not in result.stdout


@pytest.mark.parametrize(
    ("given", "mechanism"),
    [
        (["--method", "joint"], "joint, k=2"),
        (["--any-order"], "canonical (exponential noise, gamma=0.6), k=2"),
        (["--ordered"], "gamma, k=2"),
        (
            ["--method", "canonical", "--noise", "gumbel", "--gamma", 1],
            "canonical (gumbel noise, gamma=1), k=2",
        ),
        (
            ["--method", "canonical", "--rounded"],
            "canonical (exponential noise, rounded loss), k=2",
        ),
        (
            ["--method", "oneshot", "--noise", "laplace"],
            "oneshot lipschitz (laplace noise), k=2",
        ),
        (["--method", "peel-permute-and-flip"], "peel-permute-and-flip, k=2"),
        (["--method", "peel-gumbel", "--delta", 1e-6], "peel-gumbel, k=2, epsilon per round "),
        (["--method", "gamma"], "gamma, k=2"),
        (["--max-items", 1], "laplace, k=2, at most 1 item per person"),
        (["--delta", 1e-6], "gamma, k=2"),
    ],
)
def test_options_reach_the_mechanism(votes: Path, given: list[Any], mechanism: str) -> None:
    result = run("top-k", votes, *COUNTS, "-k", 2, "--epsilon", 1, "--json", *given)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["receipt"]["mechanism"].startswith(mechanism)


def test_the_relation_reaches_the_guarantee(votes: Path) -> None:
    result = run(
        "top-k", votes, *COUNTS, "-k", 2, "--epsilon", 1, "--json", "--relation", "substitution"
    )
    assert json.loads(result.stdout)["guarantee"]["relation"] == "substitution"


def test_a_set_says_that_its_order_means_nothing(votes: Path) -> None:
    asked = ("top-k", votes, *COUNTS, "-k", 2, "--epsilon", 1)
    shown = run(*asked, "--any-order").stdout
    assert "a set: the order says nothing" in shown and "rank" not in shown
    assert "says nothing" not in run(*asked, "--ordered").stdout


def test_noisy_counts_are_shown_with_the_size_of_the_noise(votes: Path) -> None:
    asked = ("top-k", votes, *COUNTS, "-k", 2, "--epsilon", 1, "--with-counts")
    shown = run(*asked).stdout
    assert "noisy count" in shown and "within 12 of what was counted" in shown
    ((oak, most), (elm, less)) = json.loads(run(*asked, "--json").stdout)["value"]
    assert (oak, elm) == ("[red]oak[/red]", "elm")
    assert abs(most - int(SECRET)) < 200 and abs(less - 31000) < 200


def test_the_margin_covers_the_noise_and_not_one_less() -> None:
    from math import exp

    for epsilon, bound, relation in ((1.0, 1, "add-remove"), (0.1, 2, "substitution")):
        about = winnow.plan.counts(max_items=bound, relation=relation)
        planned = winnow.plan.top_k(about, k=10, epsilon=epsilon, with_counts=True)
        margin = planned.expected.counts_margin
        assert margin is not None
        scale = bound * (2 if relation == "substitution" else 1) / epsilon
        q = exp(-1 / scale)
        beyond = [2 * q ** (m + 1) / (1 + q) for m in (margin - 1, margin)]
        assert beyond[0] > 0.05 >= beyond[1]


def test_a_seeded_result_is_repeatable_and_says_that_it_is_not_private(votes: Path) -> None:
    asked = ("top-k", votes, *COUNTS, "-k", 3, "--epsilon", 0.001, "--seed", 1)
    assert "not private" in run(*asked).stdout
    first, second = (run(*asked, "--json").stdout for _ in range(2))
    assert first == second and json.loads(first)["receipt"]["randomness"] == "seeded"


def test_counts_come_from_standard_input_with_a_dash() -> None:
    text = f"tree,n\noak,{SECRET}\nelm,1\n"
    result = run("top-k", "-", *COUNTS, "-k", 1, "--epsilon", 5, "--json", stdin=text)
    assert json.loads(result.stdout)["value"] == ["oak"]


def test_counts_come_from_records_and_parquet(tmp_path: Path) -> None:
    records = [{"tree": "oak", "n": 90000, "x": 1}, {"tree": "elm", "n": 3, "x": 2}]
    (tmp_path / "a.json").write_text(json.dumps(records))
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    for name in ("a.json", "a.parquet"):
        result = run("top-k", tmp_path / name, *COUNTS, "-k", 1, "--epsilon", 9, "--json")
        assert json.loads(result.stdout)["value"] == ["oak"], result.stderr


def test_control_characters_in_a_label_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps([{"tree": "\x1b[31mred\x07", "n": 90000}, {"tree": "b", "n": 1}]))
    plot = tmp_path / "a.png"
    result = run("top-k", path, *COUNTS, "-k", 1, "--epsilon", 9, "--with-counts", "--plot", plot)
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stdout and "\x07" not in result.stdout
    assert "\\x1b[31mred\\x07" in result.stdout


# ---------------------------------------------------------------- event logs


def test_people_are_counted_once_for_each_item(log: Path, pages: Path) -> None:
    result = run(
        "top-k", log, *LOG, "--items", pages, "--max-items", 1, "-k", 4,
        "--epsilon", 50, "--with-counts", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    released = json.loads(result.stdout)
    assert [tuple(pair) for pair in released["value"]] == list(PAGES.items())
    assert released["guarantee"]["delta"] == 0
    assert released["receipt"]["mechanism"].startswith("laplace, k=4")


def test_a_public_list_needs_no_delta_and_no_bound(log: Path, pages: Path) -> None:
    result = run("top-k", log, *LOG, "--items", pages, "-k", 2, "--epsilon", 5, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["value"] == ["home", "search"]
    assert json.loads(result.stdout)["receipt"]["mechanism"] == "joint, k=2"


@pytest.mark.parametrize(
    ("given", "mechanism"),
    [
        ([], "limited-domain, at most 2 of the 1200 largest"),
        (
            ["--method", "limited-domain", "--reach", 7],
            "limited-domain, at most 2 of the 7 largest",
        ),
        (["--max-items", 1], "truncated-laplace, at most 2, 1 item per person"),
        (
            ["--max-items", 1, "--method", "limited-domain"],
            "limited-domain, at most 2 of the 1200 largest",
        ),
        (["--max-items", 1, "--with-counts"], "truncated-laplace, at most 2, 1 item per person"),
    ],
)
def test_private_labels_take_a_delta(log: Path, given: list[Any], mechanism: str) -> None:
    asked = ("top-k", log, *LOG, "-k", 2, "--epsilon", 5, "--delta", 1e-6, *given)
    result = run(*asked, "--json")
    assert result.exit_code == 0, result.stderr
    released = json.loads(result.stdout)
    assert released["receipt"]["mechanism"] == mechanism
    assert 0 < released["guarantee"]["delta"] <= 1e-6
    found = [pair[0] if "--with-counts" in given else pair for pair in released["value"]]
    assert found == ["home", "search"]
    assert RARE not in result.stdout and PERSON not in result.stdout


@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet"])
@pytest.mark.parametrize("given", [[], ["--with-counts"]])
def test_nothing_may_be_released_and_is_saved_with_its_receipt(
    tmp_path: Path, ending: str, given: list[str]
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("visitor,page\n" + "".join(f"v{i},p{i}\n" for i in range(20)))
    out = tmp_path / f"top{ending}"
    asked = [
        "top-k", log, *LOG, "-k", 3, "--epsilon", 1, "--delta", 1e-6, "--max-items", 1,
        "--out", out, *given,
    ]  # fmt: skip
    result = run(*asked)
    assert result.exit_code == 0, result.stderr
    assert "none of up to 3" in result.stdout
    rows = _rows(out) if ending != ".json" else json.loads(out.read_text())["value"]
    assert rows == []
    if given:
        plot = tmp_path / "top.png"
        assert run(*asked, "--plot", plot).exit_code == 0
        assert plot.read_bytes().startswith(b"\x89PNG")


def test_without_a_user_every_row_is_a_person_with_one_item(log: Path, pages: Path) -> None:
    asked = ("top-k", log, "--item", "page", "--one-row-per-person", "-k", 2, "--epsilon", 50,
             "--with-counts")  # fmt: skip
    released = json.loads(run(*asked, "--items", pages, "--json").stdout)
    assert released["value"] == [["home", 600], ["search", 450]]
    assert released["receipt"]["mechanism"] == "laplace, k=2, at most 1 item per person"
    result = run(*asked, "--delta", 1e-6)
    assert "truncated-laplace, at most 2, 1 item per person" in result.stdout
    assert "within 0 of what was counted" in result.stdout


def test_a_seed_repeats_which_items_of_a_person_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"v{person},p{page}" for person in range(300) for page in range(4)]
    path.write_text("\n".join(["visitor,page", *rows]))
    asked = (
        "top-k", path, *LOG, "-k", 4, "--epsilon", 50, "--delta", 1e-6, "--with-counts",
        "--max-items", 1, "--json",
    )  # fmt: skip
    seeded = [run(*asked, "--seed", 7).stdout for _ in range(2)]
    assert seeded[0] == seeded[1] != run(*asked).stdout


def test_a_large_file_is_counted_under_a_bar(
    log: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.cli.files._LARGE", 10)
    seen: list[tuple[int, int]] = []
    real = winnow.counts

    def watched(*arguments: Any, reading: Any, **options: Any) -> Any:
        def both(done: int, parts: int) -> None:
            seen.append((done, parts))
            reading.progress(done, parts)

        return real(*arguments, reading=replace(reading, progress=both), **options)

    monkeypatch.setattr("winnow.counts", watched)
    result = run("top-k", log, *LOG, "--items", pages, "-k", 1, "--epsilon", 9, "--json")
    assert result.exit_code == 0 and seen == [(1, 1)]
    assert json.loads(result.stdout)["value"] == ["home"]


def test_a_pattern_names_several_files(log: Path, pages: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    head, *rows = log.read_text().splitlines()
    for part in range(2):
        (folder / f"{part}.csv").write_text("\n".join([head, *rows[part::2]]) + "\n")
    result = run(
        "top-k", folder / "*.csv", *LOG, "--items", pages, "--max-items", 1, "-k", 4,
        "--epsilon", 50, "--with-counts", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert [tuple(pair) for pair in json.loads(result.stdout)["value"]] == list(PAGES.items())


def test_a_log_may_be_parquet_or_tsv(log: Path, pages: Path, tmp_path: Path) -> None:
    with log.open(newline="") as file:
        rows = list(csv.DictReader(file))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    (tmp_path / "log.tsv").write_text(log.read_text().replace(",", "\t"))
    for name in ("log.parquet", "log.tsv"):
        asked = ("top-k", tmp_path / name, *LOG, "--items", pages, "-k", 2, "--epsilon", 5)
        result = run(*asked, "--json", "--memory", "500MB")
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["value"] == ["home", "search"]


# ---------------------------------------------------------------- files out


@pytest.mark.parametrize("given", [[], ["--with-counts"]])
@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet"])
def test_out_saves_what_is_printed(
    votes: Path, tmp_path: Path, ending: str, given: list[Any]
) -> None:
    out = tmp_path / f"top{ending}"
    result = run("top-k", votes, *COUNTS, "-k", 2, "--epsilon", 1, "--json", "--out", out, *given)
    assert result.exit_code == 0, result.stderr
    printed = json.loads(result.stdout)
    if ending == ".json":
        assert json.loads(out.read_text()) == printed
    else:
        rows = _rows(out)
        names = ["item", "count"] if given else ["item"]
        released = [[row.pop(name) for name in names] for row in rows]
        assert released == (printed["value"] if given else [[item] for item in printed["value"]])
        assert not any(rows)  # nothing else stands in them
        about = {"guarantee": printed["guarantee"], "receipt": printed["receipt"]}
        beside = tmp_path / f"{out.name}.receipt.json"
        if ending == ".csv":
            held = beside.read_text()
            beside.unlink()
        else:
            held = pq.read_schema(out).metadata[b"winnow"]
        assert json.loads(held) == about
    assert sorted(path.name for path in tmp_path.iterdir()) == [out.name, "votes.csv"]


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row.get("count"):
            row["count"] = int(row["count"])
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")]
)
@pytest.mark.parametrize("given", [[], ["--any-order"], ["--max-items", 1]])
def test_plot_draws_the_noisy_counts(
    votes: Path, tmp_path: Path, ending: str, start: bytes, given: list[Any]
) -> None:
    plot = tmp_path / f"top{ending}"
    asked = ("top-k", votes, *COUNTS, "-k", 3, "--epsilon", 1, "--with-counts", "--plot", plot)
    result = run(*asked, *given)
    assert result.exit_code == 0, result.stderr
    assert plot.read_bytes().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == [plot.name, "votes.csv"]


@pytest.mark.parametrize("after", [[], ["--json"]])
def test_a_plot_without_a_name_is_called_after_the_command(
    votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("top-k", votes, *COUNTS, "-k", 3, "--epsilon", 1, "--plot", *after)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "top-k.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--with-counts", "--plot", "top.gif"], "use one of .png, .svg, .pdf"),
        (["--with-counts", "--plot", "none/top.png"], "there is no folder"),
        (["--with-counts", "--plot", "top.png", "-k", 201], "--plot draws up to 200 bars"),
        (["--out", "top.txt"], "use one of .csv, .json, .parquet"),
        (["--out", "none/top.json"], "there is no folder"),
        (["--out", "votes.csv"], "--out votes.csv is the file that is read"),
    ],
)
def test_a_target_that_cannot_be_written_is_refused_before_spending(
    votes: Path, monkeypatch: pytest.MonkeyPatch, given: list[Any], message: str
) -> None:
    monkeypatch.chdir(votes.parent)
    monkeypatch.setattr("winnow.core.plan.Plan.run", lambda *_, **__: pytest.fail("spent"))
    before = votes.read_bytes()
    result = run("top-k", "votes.csv", *COUNTS, "-k", 2, "--epsilon", 1, *given)
    assert result.exit_code == 2 and result.stdout == ""
    assert message in result.stderr
    assert votes.read_bytes() == before


def test_the_lists_that_are_read_are_not_overwritten(
    log: Path, pages: Path, tmp_path: Path
) -> None:
    items = tmp_path / "items.csv"
    items.write_text("page\n" + pages.read_text())
    for read in (items, log):
        result = run(
            "top-k", tmp_path / "l*.csv", *LOG, "--items", items, "-k", 1, "--epsilon", 1,
            "--out", read,
        )  # fmt: skip
        assert result.exit_code == 2 and "is the file that is read" in result.stderr


def test_a_plot_without_matplotlib_is_refused_before_spending(
    votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("winnow.core.plan.Plan.run", lambda *_, **__: pytest.fail("spent"))
    asked = ("top-k", votes, *COUNTS, "-k", 1, "--epsilon", 1, "--with-counts")
    result = run(*asked, "--plot", tmp_path / "top.png")
    assert result.exit_code == 2
    assert "winnow-dp[plots]" in result.stderr


@pytest.mark.parametrize("target", ["--out", "--plot"])
@pytest.mark.parametrize("given", [[], ["--json"]])
def test_a_full_disk_does_not_lose_the_result(
    votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, given: list[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    name = tmp_path / ("top.json" if target == "--out" else "top.png")
    asked = ("top-k", votes, *COUNTS, "-k", 1, "--epsilon", 1, "--with-counts", target, name)
    result = run(*asked, *given)
    assert result.exit_code == 2
    assert "oak" in result.stdout
    assert "the result is released and printed, but" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["votes.csv"]


# ---------------------------------------------------------------- bad input

V = ["votes.csv", "--item", "tree", "--count", "n", "--labels", "public", "--epsilon", 1]
L = ["log.csv", "--item", "page", "--person", "visitor", "--epsilon", 1]
REFUSED = {
    "missing file": (["none.csv", *V[1:], "-k", 1], "there is no such file"),
    "missing log": (["none.csv", *L[1:], "-k", 1, "--delta", 1e-6], "none.csv"),
    "no match": (["none*.csv", *L[1:], "-k", 1, "--delta", 1e-6], "none*.csv"),
    "item column": (["votes.csv", "--item", "x", *V[3:], "-k", 1], "no column 'x'"),
    "count column": ([*V[:4], "x", *V[5:], "-k", 1], "no column 'x'"),
    "same column": ([*V[:4], "tree", *V[5:], "-k", 1], "cannot be both"),
    "log item column": (["log.csv", "--item", "x", *L[3:], "-k", 1, "--delta", 1e-6], "'x'"),
    "log user column": ([*L[:4], "x", *L[5:], "-k", 1, "--delta", 1e-6], "'x'"),
    "words": (["words.csv", *V[1:], "-k", 1], "name other columns with --item and --count"),
    "decimals": (["decimals.csv", *V[1:], "-k", 1], "negative or not a whole number"),
    "negative": (["negative.csv", *V[1:], "-k", 1], "negative or not a whole number"),
    "one object": (["object.json", *V[1:], "-k", 1], "leave out --item and --count"),
    "epsilon zero": ([*V, "-k", 1, "--epsilon", 0], "--epsilon 0.0 is not above 0"),
    "epsilon nan": ([*V, "-k", 1, "--epsilon", "nan"], "not finite"),
    "delta": ([*V, "-k", 1, "--delta", 1], "--delta 1.0 is not below 1"),
    "k zero": ([*V, "-k", 0], "-k 0 is below 1"),
    "k too large": ([*V, "-k", 6], "-k 6 exceeds 5 candidates"),
    "k above the items": ([*L, "-k", 7, "--items", "pages.txt"], "-k 7 exceeds the 6 items"),
    "bound zero": ([*V, "-k", 1, "--max-items", 0], "--max-items 0 is below 1"),
    "no delta": ([*L, "-k", 1], "give --delta, for example 1e-6, or a public list"),
    "counts without bound": (
        [*L, "-k", 1, "--delta", 1e-6, "--with-counts"],
        "give --max-items",
    ),
    "limited-domain has no counts": (
        [*L, "-k", 1, "--delta", 1e-6, "--with-counts", "--max-items", 1, "--method",
         "limited-domain"],
        "limited-domain releases no counts",
    ),
    "bound without user": (
        ["log.csv", "--item", "page", "--one-row-per-person", "--epsilon", 1, "-k", 1,
         "--max-items", 2],
        "--max-items needs --person",
    ),
    "memory size": ([*L, "-k", 1, "--delta", 1e-6, "--memory", "a lot"], "is not a size"),
    "stability without bound": (
        [*L, "-k", 1, "--delta", 1e-6, "--method", "stability"],
        "needs a bound on the items of one person",
    ),
    "public mechanism": (
        [*L, "-k", 1, "--delta", 1e-6, "--method", "joint"],
        "joint needs a public list of items",
    ),
    "private mechanism": (
        [*V, "-k", 1, "--delta", 1e-6, "--method", "stability"],
        "this list of items is public",
    ),
    "laplace without bound": ([*V, "-k", 1, "--method", "laplace"], "--max-items"),
    "peel-gumbel without delta": (
        [*V, "-k", 1, "--method", "peel-gumbel"],
        "peel-gumbel needs delta > 0",
    ),
    "delta for joint": (
        [*V, "-k", 1, "--method", "joint", "--delta", 1e-6],
        "has no use for it",
    ),
    "ordered set": (
        [*V, "-k", 1, "--method", "canonical", "--ordered"],
        "ask for no order",
    ),
    "any order of a list": ([*V, "-k", 1, "--method", "joint", "--any-order"], "--any-order"),
    "any order of a log": ([*L, "-k", 1, "--delta", 1e-6, "--any-order"], "--any-order"),
    "noise": ([*V, "-k", 1, "--method", "joint", "--noise", "gumbel"], "is for canonical and"),
    "gamma": ([*V, "-k", 1, "--gamma", 0.5], "is for canonical"),
    "rounded": ([*V, "-k", 1, "--rounded"], "is for canonical"),
    "gamma range": (
        [*V, "-k", 1, "--method", "canonical", "--gamma", 2],
        "--gamma 2.0 is above 1",
    ),
    "reach": ([*V, "-k", 1, "--reach", 9], "--reach 9 is for limited-domain"),
    "user": ([*V, "-k", 1, "--person", "x"], "--person is for event logs"),
    "items": ([*V, "-k", 1, "--items", "pages.txt"], "--items is for event logs"),
    "memory": ([*V, "-k", 1, "--memory", "1GB"], "--memory is for event logs"),
    "log on stdin": (["-", *L[1:], "-k", 1, "--delta", 1e-6], "on standard input give --count"),
    "no items": ([*L, "-k", 1, "--items", "none.txt"], "No such file"),
    "items twice": ([*L, "-k", 1, "--items", "twice.txt"], "line 1 appears again in line"),
    "items empty": ([*L, "-k", 1, "--items", "empty.txt"], "there are no items"),
    "items wide": ([*L, "-k", 1, "--items", "votes.csv"], "line 1 has 2 fields"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_one_line_and_exit_code_2(
    votes: Path, log: Path, pages: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    arguments, message = REFUSED[case]
    monkeypatch.chdir(votes.parent)
    Path("words.csv").write_text(f"tree,n\noak,{SECRET} people\n")
    Path("decimals.csv").write_text(f"tree,n\noak,{SECRET}.5\n")
    Path("negative.csv").write_text(f"tree,n\noak,-{SECRET}\n")
    Path("object.json").write_text(f'{{"oak": {SECRET}}}')
    Path("twice.txt").write_text("a\nb\na\n")
    Path("empty.txt").write_text("\n \n")
    result = run("top-k", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert message in result.stderr
    for private in (SECRET, PERSON, RARE):
        assert private not in result.stderr


@pytest.mark.parametrize("case", ["no delta", "public mechanism", "gamma", "k above the items"])
def test_a_request_is_checked_before_the_log_is_counted(
    log: Path, pages: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.chdir(log.parent)
    monkeypatch.setattr("winnow.counts", lambda *_, **__: pytest.fail("counted"), raising=False)
    arguments = list(REFUSED[case][0])
    if case == "gamma":
        arguments = [*L, "-k", 1, "--items", "pages.txt", "--gamma", 0.5]
    assert run("top-k", *arguments).exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["votes.csv"],
        ["votes.csv", "--item", "tree", "--count", "n", "--epsilon", 1],
        ["votes.csv", "--item", "tree", "-k", 1],
        [*V, "-k", 1, "--method", "best"],
        [*V, "-k", "one"],
        [*V, "-k", 1, "--unknown"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[Any]) -> None:
    result = run("top-k", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert "Usage" in result.stderr


def test_an_unexpected_error_does_not_show_its_text(
    votes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"the count was {SECRET}")

    monkeypatch.setattr(TopKPlan, "run", broken)
    result = run("top-k", votes, *COUNTS, "-k", 1, "--epsilon", 1)
    assert result.exit_code == 1
    assert "unexpected RuntimeError" in result.stderr
    assert SECRET not in result.stderr and "Traceback" not in result.stderr


# ---------------------------------------------------------------- the public list, names


def test_items_are_read_line_by_line_or_from_one_column(tmp_path: Path) -> None:
    wanted = ["a b", "c,d", " e", "é"]
    lines = tmp_path / "items.txt"
    lines.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(["a b", "", "c,d", " e", "é"]).encode())
    assert read_items(lines) == wanted
    column = tmp_path / "items.csv"
    column.write_text('page\na b\n\n"c,d"\n e\né\n')
    assert read_items(column) == wanted
    lines.write_text("\n".join(wanted), encoding="utf-16")
    assert read_items(lines) == wanted
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_items(tmp_path / "bad.txt")
    (tmp_path / "bad.csv").write_text('page\n"a\n')
    with pytest.raises(InputError, match="double quotes"):
        read_items(tmp_path / "bad.csv")


@pytest.mark.parametrize("command", [["top-k"], ["plan", "top-k"]])
def test_every_option_has_a_help_text(command: list[str]) -> None:
    from typer.main import get_command

    node: Any = get_command(app)
    for name in command:
        node = node.commands[name]
    for parameter in node.params:
        assert getattr(parameter, "help", None), parameter.name
    assert "Examples:" in run(*command, "--help").stdout


def test_the_threshold_of_private_labels_is_shown(log: Path, pages: Path) -> None:
    asked = ["top-k", log, "--item", "page", "--person", "visitor", "-k", 2, "--epsilon", 1]
    asked += ["--delta", 1e-6, "--seed", 1]
    bounded = run(*asked, "--max-items", 1).stdout
    assert "Labels with a noisy count below 15 were suppressed." in " ".join(bounded.split())
    assert "1 item per person" in bounded and "1 items" not in bounded
    domain = run(*asked, "--method", "limited-domain", "--reach", 3).stdout
    assert "the count at rank 4 plus" in " ".join(domain.split())
    public = run(*asked, "--items", pages, "--max-items", 1).stdout
    assert "home" in public and "suppressed" not in public


def test_ready_counts_may_move_by_more_or_both_ways(votes: Path) -> None:
    words = ("top-k", votes, "--item", "tree", "--count", "n", "--labels", "public", "-k", 2)
    words = (*words, "--epsilon", 1, "--seed", 3, "--json")
    one, two, both = (
        run(*words, "--with-counts", "--sensitivity", s).stdout for s in ("1", "2.5", "0.25,2.5")
    )
    assert json.loads(one)["guarantee"] == json.loads(two)["guarantee"]
    assert one != two and json.loads(both)["guarantee"]
    counts = {"alder": 1000, "[red]oak[/red]": int(SECRET), "elm": 31000, "lime": 2, "ash": 3}
    sealed = winnow.seal_counts(counts, sensitivity=2.5)
    direct = winnow.top_k(sealed, k=2, epsilon=1, with_counts=True, seed=3)
    assert json.loads(two)["value"] == json.loads(direct.to_json())["value"]


@pytest.mark.parametrize("said", ["0", "-1", "1,2,3", "few", "0,0", "nan"])
def test_a_senseless_sensitivity_is_refused(votes: Path, said: str) -> None:
    words = ("top-k", votes, "--item", "tree", "--count", "n", "--labels", "public", "-k", 2)
    found = run(*words, "--epsilon", 1, f"--sensitivity={said}")
    assert found.exit_code == 2 and "sensitivity" in found.output


def test_people_of_a_log_count_once(log: Path) -> None:
    words = ("top-k", log, "--item", "page", "--person", "visitor", "-k", 2, "--epsilon", 1)
    found = run(*words, "--delta", 1e-6, "--sensitivity", 2)
    assert found.exit_code == 2 and "--sensitivity is for ready counts" in found.output
