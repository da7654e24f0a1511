"""``winnow plan`` and ``winnow demo``: what they print, save, draw and refuse."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from reference import planned as plan
from reference.commands import invoke

ENDINGS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def run(*arguments: object) -> Result:
    return invoke(arguments)


def test_json_is_the_plan_and_nothing_else() -> None:
    result = run("plan", "select", "--gaps", "5,5,3", "--epsilon", 1, "--json")
    assert result.exit_code == 0 and result.stderr == ""
    assert json.loads(result.stdout) == plan.select([5, 5, 3], epsilon=1.0).to_dict()


@pytest.mark.parametrize(
    ("arguments", "same_as"),
    [
        (["--candidates", 50, "--epsilon", 1], {"candidates": 50}),
        (["--candidates", 50, "--gap", 9, "--epsilon", 1], {"candidates": 50, "gaps": 9.0}),
        (
            ["--gaps", "4, 8", "--epsilon", 1, "-k", 2, "--monotone"],
            {"gaps": [4, 8], "k": 2, "monotone": True},
        ),
        (
            ["--gaps", "4", "--epsilon", 1, "--method", "lipschitz", "--noise", "laplace"],
            {"gaps": [4], "method": "lipschitz", "noise": "laplace"},
        ),
        (
            ["--gaps", "90", "--epsilon", 1, "--method", "large-margin", "--delta", 1e-6,
             "--thresholds", "printed", "--confidence", 0.9],
            {"gaps": [90], "method": "large-margin", "delta": 1e-6, "thresholds": "printed",
             "confidence": 0.9},
        ),
        (
            ["--gaps", "4", "--epsilon", 1, "--sensitivity", 3, "--relation", "substitution"],
            {"gaps": [4], "sensitivity": 3.0, "relation": "substitution"},
        ),
    ],
)  # fmt: skip
def test_options_reach_the_plan(arguments: list[Any], same_as: dict[str, Any]) -> None:
    result = run("plan", "select", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == plan.select(**same_as, epsilon=1.0).to_dict()


def test_a_target_gives_an_epsilon() -> None:
    for option, value in (("--chance", 0.9), ("--error", 2)):
        result = run("plan", "select", "--gaps", "5,3", option, value, "--json")
        planned = json.loads(result.stdout)
        assert planned["epsilon"] == planned["epsilon_for_target"] > 0


def test_the_table_shows_every_line_of_the_plan() -> None:
    result = run("plan", "select", "--gaps", "5,5,3", "--epsilon", 1)
    assert result.exit_code == 0
    for name, _ in plan.select([5, 5, 3], epsilon=1.0).lines():
        assert name.strip() in result.stdout


def test_compare_shows_all_mechanisms() -> None:
    question = ["plan", "select", "--candidates", 20, "--gap", 9, "--epsilon", 1, "--compare"]
    result = run(*question)
    assert result.exit_code == 0
    for name in ("permute-and-flip", "exponential", "noisy-max", "logistic", "half-logistic"):
        assert name in result.stdout
    assert "large-margin is left out: it needs --delta" in result.stdout
    result = run(*question, "--delta", 1e-6, "--json")
    names = [each["mechanism"] for each in json.loads(result.stdout)["plans"]]
    assert len(names) == 6 and names[-1] == "large-margin (tight thresholds)"
    assert "for target" not in run(*question).stdout


def test_compare_shows_the_epsilon_for_a_target() -> None:
    question = ["plan", "select", "--candidates", 20, "--gap", 9, "--compare"]
    planned = plan.select(9.0, candidates=20, chance=0.9)
    result = run(*question, "--chance", 0.9)
    assert f"{planned.epsilon:.4g}" in result.stdout
    result = run(*question, "--chance", 0.9, "--epsilon", 3)
    assert f"{planned.epsilon:.4g}" in result.stdout and "chance=0.9" in result.stdout


@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet"])
def test_out_saves_the_plans(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"plan{ending}"
    result = run("plan", "select", "--gaps", "5", "--epsilon", 1, "--compare", "--out", out)
    assert result.exit_code == 0, result.stderr
    if ending == ".json":
        rows = json.loads(out.read_text())["plans"]
    elif ending == ".csv":
        with out.open(newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = pq.read_table(out).to_pylist()
    wanted = plan.select([5], epsilon=1.0)
    assert len(rows) == 5
    assert rows[0]["mechanism"] == wanted.mechanism
    assert float(rows[0]["chance"]) == wanted.chance


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "options"),
    [(".png", []), (".svg", []), (".pdf", []), (".png", ["--compare", "--delta", 1e-6])],
)
def test_plot_draws_a_figure(tmp_path: Path, ending: str, options: list[Any]) -> None:
    path = tmp_path / f"chances{ending}"
    result = run("plan", "select", "--gaps", "5,5,3", "--epsilon", 1, "--plot", path, *options)
    assert result.exit_code == 0, result.stderr
    assert path.read_bytes().startswith(ENDINGS[ending])
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", 1], "gaps and candidates are both missing"),
        (["--gaps", "5"], "epsilon is missing"),
        (["--gaps", "5,x", "--epsilon", 1], "--gaps '5,x' is not a list of numbers"),
        (["--gaps", "5,-1", "--epsilon", 1], "gaps[1]=-1.0 is negative"),
        (["--gap", 5, "--epsilon", 1], "--gap needs --candidates"),
        (["--gap", 5, "--gaps", "5", "--epsilon", 1], "--gap and --gaps are both given"),
        (["--gaps", "5,5", "--candidates", 9, "--epsilon", 1], "does not match gaps"),
        (["--gaps", "5", "--chance", 2], "--chance 2.0 is not below 1"),
        (["--gaps", "5", "--epsilon", 1, "--confidence", 1], "--confidence 1.0 is not below 1"),
        (["--gaps", "5", "--epsilon", 1, "-k", 3], "exceeds 2 candidates"),
        (["--gaps", "5", "--epsilon", 1, "--thresholds", "printed"], "thresholds"),
        (
            ["--gaps", "5", "--epsilon", 1, "--compare", "--thresholds", "tight"],
            "--thresholds tight is for large-margin",
        ),
        (
            ["--gaps", "5", "--epsilon", 1, "--compare", "--method", "exponential"],
            "leave out --method",
        ),
        (
            ["--gaps", "5,5", "--epsilon", 1, "-k", 2, "--compare", "--delta", 1e-6],
            "large-margin selects one",
        ),
        (["--candidates", 9, "--epsilon", 1, "--plot", "a.png"], "--plot draws chances"),
        (["--gaps", "5", "--epsilon", 1, "--plot", "a.gif"], "use one of .png, .svg, .pdf"),
        (["--gaps", "5", "--epsilon", 1, "--out", "a.txt"], "use one of .csv, .json, .parquet"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[Any], message: str) -> None:
    result = run("plan", "select", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert message in result.stderr


def test_a_plot_without_matplotlib_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    path = tmp_path / "a.png"
    result = run("plan", "select", "--gaps", "5", "--epsilon", 1, "--plot", path)
    assert result.exit_code == 2
    assert "winnow-dp[plots]" in result.stderr


ZIPF = ["plan", "top-k", "--zipf", 1, "--top", 3000, "--candidates", 40, "-k", 4]


def zipf_counts() -> list[int]:
    return [round(3000 / rank) for rank in range(1, 41)]


def test_the_top_k_plan_is_that_of_the_library() -> None:
    result = run(*ZIPF, "--epsilon", 1, "--draws", 20, "--seed", 3, "--json")
    assert result.exit_code == 0 and result.stderr == ""
    planned = plan.top_k(zipf_counts(), k=4, epsilon=1.0, draws=20, seed=3)
    assert json.loads(result.stdout) == planned.to_dict()


@pytest.mark.parametrize(
    ("arguments", "same_as"),
    [
        (["--method", "joint"], {"method": "joint"}),
        (
            ["--method", "canonical", "--noise", "laplace", "--gamma", 0.25],
            {"method": "canonical", "noise": "laplace", "gamma": 0.25},
        ),
        (
            ["--delta", 1e-6, "--max-items", 2, "--confidence", 0.9, "--any-order"],
            {"delta": 1e-6, "max_items": 2, "confidence": 0.9, "ordered": False},
        ),
        (
            ["--relation", "substitution", "--ordered", "--chance", 0.8],
            {"relation": "substitution", "ordered": True, "chance": 0.8},
        ),
    ],
)
def test_options_reach_the_top_k_plan(arguments: list[Any], same_as: dict[str, Any]) -> None:
    result = run(*ZIPF, "--epsilon", 0.2, "--draws", 0, *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    planned = plan.top_k(zipf_counts(), k=4, epsilon=0.2, draws=0, **same_as)
    assert json.loads(result.stdout) == planned.to_dict()


def test_the_top_k_plan_takes_public_counts_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "last-year.csv"
    path.write_text("id,tree,n\n1,oak,900\n2,elm,30\n3,ash,800\n")
    asked = ["plan", "top-k", "--counts", path, "--item", "tree", "--count", "n"]
    result = run(*asked, "-k", 2, "--epsilon", 1, "--draws", 0, "--json")
    assert result.exit_code == 0, result.stderr
    planned = plan.top_k([900, 30, 800], k=2, epsilon=1.0, draws=0)
    assert json.loads(result.stdout) == planned.to_dict()


def test_the_top_k_table_shows_the_mechanisms_side_by_side() -> None:
    result = run(*ZIPF, "--epsilon", 0.2, "--draws", 10, "--max-items", 2)
    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    for part in ("joint list 0.2", "canonical, exponential set", "laplace list", "gives", "bound"):
        assert part in shown
    assert "peel-gumbel is left out: it needs delta > 0" in shown
    assert "target" not in shown and "nothing was spent" in shown
    shown = " ".join(run(*ZIPF, "--chance", 0.9, "--draws", 0).stdout.split())
    assert "joint list" in shown and "error" not in shown.split("Computed")[0]


@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet"])
def test_out_saves_the_top_k_plan(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"plan{ending}"
    result = run(*ZIPF, "--epsilon", 0.2, "--draws", 10, "--out", out)
    assert result.exit_code == 0, result.stderr
    planned = plan.top_k(zipf_counts(), k=4, epsilon=0.2, draws=10)
    if ending == ".json":
        assert json.loads(out.read_text()) == planned.to_dict()
        return
    if ending == ".csv":
        with out.open(newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = pq.read_table(out).to_pylist()
    assert [row["name"] for row in rows] == [row.name for row in planned.rows]
    first = planned.rows[0]
    assert first.simulated is not None
    assert float(rows[0]["l_infinity_median"]) == first.simulated["l_infinity"].median
    assert float(rows[0]["top_chance"]) == first.top_chance and int(rows[0]["k"]) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "given"),
    [
        (".png", ["--method", "canonical", "--gamma", 0.4]),
        (".svg", ["--delta", 1e-6, "--ordered"]),
        (".pdf", ["--method", "joint"]),
    ],
)
def test_plot_draws_the_chances_of_the_top_k(tmp_path: Path, ending: str, given: list[Any]) -> None:
    path = tmp_path / f"chances{ending}"
    few = ["--candidates", 8, "-k", 2]  # a curve of every mechanism is drawn
    result = run(*ZIPF, *few, "--epsilon", 0.2, "--draws", 0, "--plot", path, *given)
    assert result.exit_code == 0, result.stderr
    assert path.read_bytes().startswith(ENDINGS[ending])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", 2, "--epsilon", 1], "there are no counts to plan with"),
        (["-k", 2, "--epsilon", 1, "--zipf", 1, "--top", 9], "--zipf with --top and --candidates"),
        ([*ZIPF[2:]], "epsilon is missing"),
        ([*ZIPF[2:-1], 41, "--epsilon", 1], "-k 41 exceeds 40 candidates"),
        ([*ZIPF[2:-1], 0, "--epsilon", 1], "-k 0 is below 1"),
        ([*ZIPF[2:], "--epsilon", 0], "--epsilon 0.0 is not above 0"),
        ([*ZIPF[2:], "--epsilon", 1, "--gamma", 0.5], "--gamma 0.5 is for canonical"),
        ([*ZIPF[2:], "--epsilon", 1, "--method", "joint", "--best-gamma"], "for canonical"),
        ([*ZIPF[2:], "--error", 5, "--chance", 0.5], "--error and --chance are both given"),
        ([*ZIPF[2:], "--error", 5, "--epsilon", 1], "both given"),
        ([*ZIPF[2:], "--epsilon", 1, "--draws", -1], "--draws -1"),
        ([*ZIPF[2:], "--epsilon", 1, "--zipf", -1], "--zipf -1.0 is negative"),
        ([*ZIPF[2:], "--epsilon", 1, "--top", 0], "--top 0 is below 1"),
        ([*ZIPF[2:], "--epsilon", 1, "--candidates", 10**9], "is too large"),
        ([*ZIPF[2:], "--epsilon", 1, "--counts", "a.csv"], "are both given"),
        ([*ZIPF[2:], "--epsilon", 1, "--item", "a"], "are for --counts FILE"),
        (["-k", 2, "--epsilon", 1, "--counts", "none.csv"], "there is no such file"),
        (["-k", 2, "--epsilon", 1, "--counts", "wide.csv"], "with --item and --count"),
        ([*ZIPF[2:], "--epsilon", 1, "--plot", "a.gif"], "use one of .png, .svg, .pdf"),
        ([*ZIPF[2:], "--epsilon", 1, "--out", "a.txt"], "use one of .csv, .json, .parquet"),
        (
            [*ZIPF[2:], "--epsilon", 1, "--method", "gamma", "--draws", 0, "--plot", "a.png"],
            "no formula is known",
        ),
        (
            ["--zipf", 1, "--top", 9, "--candidates", 2, "-k", 2, "--chance", 0.5],
            "no mechanism can be planned",
        ),
    ],
)
def test_bad_input_of_the_top_k_plan_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wide.csv").write_text("a,b,c\n1,2,3\n")
    result = run("plan", "top-k", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert message in result.stderr


@pytest.mark.extras  # which also `make demo` runs
def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "demo"
    result = run("demo", "--out", folder)
    assert result.exit_code == 0, result.stderr
    for part in (
        "made-up people",
        "before spending",
        "guarantee",
        "operating system",
        "refused:",
        "private pick",
        "chances.png",
        "the list of birds is private",
        "noisy count",
        "labels are private, and their counts are wanted",
        "top.png",
        "The workload is all two-way tables",
        "part of the workload",
        "report.html",
        "all genuine",
        "Look at",
        "Now you",
    ):
        assert part in result.stdout
    assert sorted(path.name for path in folder.iterdir()) == [
        "chances.png",
        "counts.csv",
        "demo-ledger.db",
        "demo-ledger.db-journal",
        "demo-ledger.db.key",
        "demo-ledger.db.turn",
        "people.csv",
        "pick.json",
        "report.html",
        "schema.json",
        "sightings.csv",
        "synthetic.csv",
        "top.json",
        "top.png",
    ]
    released = json.loads((folder / "pick.json").read_text())
    again = run("select", folder / "counts.csv", "--epsilon", 1, "--monotone", "--json")
    assert json.loads(again.stdout).keys() == released.keys()
    lines = (folder / "sightings.csv").read_text().splitlines()
    assert len(lines) == 20_001 and len({line.split(",")[1] for line in lines[1:]}) == 60
    top = json.loads((folder / "top.json").read_text())
    assert len(top["value"]) == 10 and top["guarantee"]["delta"] == 1e-6
    assert top["receipt"]["ledger"].startswith("demo-ledger.db#4:")
    asked = ("--item", "bird", "--person", "person", "-k", 5, "--epsilon", 1, "--delta", 1e-6)
    again = run("top-k", folder / "sightings.csv", *asked, "--json")
    assert again.exit_code == 0 and len(json.loads(again.stdout)["value"]) <= 5
    people = (folder / "people.csv").read_text().splitlines()
    synthetic = (folder / "synthetic.csv").read_text().splitlines()
    assert len(people) == len(synthetic) == 4_001 and people[0] == synthetic[0]
    page = (folder / "report.html").read_text()
    assert "What is promised" in page and "http://" not in page and "PRIVATE" not in page


@pytest.mark.slow
def test_the_demo_is_repeatable_with_a_seed_and_goes_on_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    results = [run("demo", "--seed", 5, "--out", tmp_path) for _ in range(2)]
    assert [result.exit_code for result in results] == [0, 0], results[0].stderr
    changing = re.compile(r"[0-9a-f]{8,}|\d\d:\d\d(:\d\d)?")  # what a ledger draws, and when
    first, second = (changing.sub("", result.stdout) for result in results)
    assert first == second
    assert "not private" in first
    assert first.count("refused:") == 1  # a second run starts with a ledger of its own
    assert "No picture" in first and "winnow-dp[plots]" in first.replace("\n", "")
    assert not (tmp_path / "chances.png").exists() and not (tmp_path / "top.png").exists()
    assert (tmp_path / "synthetic.csv").exists() and (tmp_path / "report.html").exists()


def test_the_data_of_the_demo_can_be_written_alone(tmp_path: Path) -> None:
    result = run("demo", "--write", tmp_path / "tour")
    assert result.exit_code == 0, result.stderr
    names = sorted(path.name for path in (tmp_path / "tour").iterdir())
    assert names == ["counts.csv", "people.csv", "schema.json", "sightings.csv"]
    both = run("demo", "--write", tmp_path / "tour", "--seed", 1)
    assert both.exit_code == 2 and "leave --seed and --out out" in both.stderr


def test_the_demo_refuses_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("demo", "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert "cannot make the folder" in result.stderr
