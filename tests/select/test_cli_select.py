"""``winnow select``: what it prints, saves and refuses."""

from __future__ import annotations

import csv
import errno
import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from reference.commands import invoke

SECRET = "73519"


def run(*arguments: object, stdin: str | None = None) -> Result:
    return invoke(arguments, input=stdin)


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(f"tree,n\nalder,1\n[red]oak[/red],{SECRET}\nelm,2\n")
    return path


def test_the_table_shows_value_guarantee_and_receipt(votes: Path) -> None:
    result = run("select", votes, "--epsilon", 1)
    assert result.exit_code == 0 and result.stderr == ""
    for part in (
        "[red]oak[/red]",
        "1-DP, protects each person (add or remove one)",
        "permute-and-flip",
    ):
        assert part in result.stdout
    assert "operating system" in result.stdout
    assert SECRET not in result.stdout


def test_json_is_the_release_and_nothing_else(votes: Path) -> None:
    result = run("select", votes, "--epsilon", 0.5, "--json")
    assert result.exit_code == 0 and result.stderr == ""
    released = json.loads(result.stdout)
    assert set(released) == {"value", "guarantee", "receipt"}
    assert released["value"] == "[red]oak[/red]"
    assert released["guarantee"] == {
        "epsilon": 0.5,
        "delta": 0.0,
        "relation": "add-remove",
        "rho": pytest.approx(0.1224593312018546),
        "unit": "person",
    }
    receipt = released["receipt"]
    assert receipt["mechanism"] == "permute-and-flip"
    assert receipt["event"] == {"type": "PureDP", "epsilon": 0.5, "relation": "add-remove"}
    assert receipt["randomness"] == "os" and receipt["exact"] is True
    assert {"citation", "version"} <= set(receipt)
    assert SECRET not in result.stdout


@pytest.mark.parametrize(
    ("options", "mechanism", "guarantee"),
    [
        (["--method", "exponential"], "exponential", {}),
        (["--method", "noisy-max", "--monotone"], "noisy-max", {}),
        (
            ["--method", "lipschitz", "--noise", "half-logistic"],
            "lipschitz (half-logistic noise)",
            {},
        ),
        (
            ["--method", "large-margin", "--delta", 1e-6],
            "large-margin (tight thresholds)",
            {"delta": 1e-6},
        ),
        (
            ["--method", "large-margin", "--delta", 1e-6, "--thresholds", "printed"],
            "large-margin (printed thresholds)",
            {"delta": 1e-6},
        ),
        (["--relation", "substitution"], "permute-and-flip", {"relation": "substitution"}),
        (["-k", 2, "--sensitivity", 2], "oneshot permute-and-flip, k=2", {}),
    ],
)
def test_options_reach_the_mechanism(
    votes: Path, options: list[Any], mechanism: str, guarantee: dict[str, Any]
) -> None:
    result = run("select", votes, "--epsilon", 1, "--json", *options)
    assert result.exit_code == 0, result.stderr
    released = json.loads(result.stdout)
    assert released["receipt"]["mechanism"] == mechanism
    assert released["guarantee"] | guarantee == released["guarantee"]


def test_sensitivity_and_monotone_change_the_noise(tmp_path: Path) -> None:
    path = tmp_path / "close.csv"
    path.write_text("label,score\n" + "".join(f"c{i},{i}\n" for i in range(50)))

    def picks(*options: object) -> list[str]:
        results = [
            run("select", path, "--epsilon", 1, "--json", "--seed", s, *options) for s in range(5)
        ]
        return [json.loads(result.stdout)["value"] for result in results]

    plain = picks()
    assert picks() == plain  # seeded
    assert picks("--sensitivity", 1e9) != plain
    monotone = picks("--monotone")
    assert monotone == picks("--sensitivity", 0.5) != plain
    assert picks("--monotone", "--relation", "substitution") == plain


def test_leads_and_two_sided_sensitivities_reach_the_mechanism(votes: Path) -> None:
    options = ["--epsilon", 5, "--method", "noisy-max", "--with-leads", "-k", 2, "--seed", 1]
    found = run("select", votes, *options, "--sensitivity", "0.25,1", "--json")
    assert found.exit_code == 0, found.stderr
    document = json.loads(found.stdout)
    assert all(len(pair) == 2 for pair in document["value"])
    assert "with leads" in document["receipt"]["mechanism"]
    assert "best first" in run("select", votes, *options).stdout
    for wrong in ("x", "1,2,3", "-1,1"):
        refused = run("select", votes, "--epsilon", 1, "--sensitivity", wrong)
        assert refused.exit_code == 2 and "sensitivity" in refused.stderr


def test_a_seeded_result_says_that_it_is_not_private(votes: Path) -> None:
    assert "not private" in run("select", votes, "--epsilon", 1, "--seed", 1).stdout
    result = run("select", votes, "--epsilon", 1, "--seed", 1, "--json")
    assert json.loads(result.stdout)["receipt"]["randomness"] == "seeded"


def test_the_top_k_say_whether_they_are_in_order(votes: Path) -> None:
    ordered = run("select", votes, "--epsilon", 1, "-k", 2, "--method", "exponential")
    assert "best first" in ordered.stdout
    assert "in the order of the file" in run("select", votes, "--epsilon", 1, "-k", 2).stdout


def test_scores_come_from_standard_input_with_a_dash() -> None:
    result = run("select", "-", "--epsilon", 5, "--json", stdin=f"tree,n\noak,{SECRET}\nelm,1\n")
    assert json.loads(result.stdout)["value"] == "oak"


def test_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("id,tree,n\n1,oak,90000\n2,elm,3\n")
    result = run("select", path, "--epsilon", 9, "--json", "--label", "tree", "--score", "n")
    assert json.loads(result.stdout)["value"] == "oak"


def test_control_characters_in_a_label_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"\x1b[31mred\x07": 90000, "b": 1}))
    result = run("select", path, "--epsilon", 9)
    assert "\x1b" not in result.stdout and "\x07" not in result.stdout
    assert "\\x1b[31mred\\x07" in result.stdout


@pytest.mark.parametrize("options", [[], ["-k", 2]])
@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet"])
def test_out_saves_what_is_printed(
    votes: Path, tmp_path: Path, ending: str, options: list[Any]
) -> None:
    out = tmp_path / f"result{ending}"
    result = run("select", votes, "--epsilon", 1, "--json", "--out", out, *options)
    assert result.exit_code == 0, result.stderr
    printed = json.loads(result.stdout)
    if ending == ".json":
        assert json.loads(out.read_text()) == printed
    else:
        values = printed["value"] if options else [printed["value"]]
        rows = _csv_rows(out) if ending == ".csv" else pq.read_table(out).to_pylist()
        assert [row["value"] for row in rows] == values
        for row in rows:
            row["event"] = json.loads(row["event"])
            del row["value"]
            assert row == printed["guarantee"] | printed["receipt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [out.name, "votes.csv"]


def _csv_rows(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    for row in rows:
        row["exact"] = row["exact"] == "true"
        for name in ("epsilon", "delta", "rho"):
            row[name] = float(row[name])
    return rows


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("result.txt", "use one of .csv, .json, .parquet"),
        ("result", "use one of .csv, .json, .parquet"),
        ("none/result.json", "there is no folder"),
        ("folder.json", "this is a folder"),
        ("pipe.json", "this is a device or a pipe"),
        ("nowhere.json", "No such file or directory"),
        ("votes.csv", "is the file that is read"),
        ("a" * 300 + ".json", "File name too long"),
    ],
)
def test_a_target_that_cannot_be_written_is_refused_before_reading(
    votes: Path, tmp_path: Path, out: str, message: str
) -> None:
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe")  # a link to it would be followed, and the pipe replaced
    (tmp_path / "pipe.json").symlink_to(tmp_path / "pipe")
    (tmp_path / "nowhere.json").symlink_to(tmp_path / "none" / "result.json")
    before = votes.read_bytes()
    result = run("select", votes, "--epsilon", 1, "--out", tmp_path / out)
    assert result.exit_code == 2 and result.stdout == ""
    assert message in result.stderr
    assert votes.read_bytes() == before


def test_a_folder_that_cannot_be_written_to_is_refused_before_spending(
    votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(
        import_module("winnow.core.run"), "run", lambda *_, **__: pytest.fail("spent")
    )
    result = run("select", votes, "--epsilon", 1, "--out", tmp_path / "result.json")
    assert result.exit_code == 2
    assert "Read-only file system" in result.stderr


@pytest.mark.parametrize("broken", ["replace", "fsync"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_does_not_lose_the_result(
    votes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
    options: list[str],
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, broken, full)
    out = tmp_path / "result.json"
    result = run("select", votes, "--epsilon", 1, "--out", out, *options)
    assert result.exit_code == 2
    assert "oak" in result.stdout
    assert "the result is released and printed, but" in result.stderr
    assert "No space left on device" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["votes.csv"]


REFUSED = {
    "missing file": (["none.csv", "--epsilon", 1], "there is no such file"),
    "long name": (["a" * 300 + ".csv", "--epsilon", 1], "File name too long"),
    "epsilon zero": (["votes.csv", "--epsilon", 0], "--epsilon 0.0 is not above 0"),
    "epsilon nan": (["votes.csv", "--epsilon", "nan"], "not finite"),
    "k too large": (["votes.csv", "--epsilon", 1, "-k", 4], "-k 4 exceeds 3 candidates"),
    "k zero": (["votes.csv", "--epsilon", 1, "-k", 0], "-k 0 is below 1"),
    "delta": (["votes.csv", "--epsilon", 1, "--delta", 1e-6], "has no use for it"),
    "no delta": (["votes.csv", "--epsilon", 1, "--method", "large-margin"], "delta > 0"),
    "noise": (
        ["votes.csv", "--epsilon", 1, "--noise", "gumbel"],
        "gumbel is for lipschitz",
    ),
    "column": (["votes.csv", "--epsilon", 1, "--score", "x"], "no column 'x'"),
    "sensitivity": (["votes.csv", "--epsilon", 1, "--sensitivity", -1], "not positive"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_one_line_and_exit_code_2(
    votes: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    arguments, message = REFUSED[case]
    monkeypatch.chdir(votes.parent)
    result = run("select", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert message in result.stderr
    assert SECRET not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["votes.csv"],
        ["--epsilon", 1],
        ["votes.csv", "--epsilon", "one"],
        ["votes.csv", "--epsilon", 1, "--method", "best"],
        ["votes.csv", "--epsilon", 1, "--unknown"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[Any]) -> None:
    result = run("select", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert "Usage" in result.stderr


def test_an_unexpected_error_does_not_show_its_text(
    votes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"the score was {SECRET}")

    monkeypatch.setattr(import_module("winnow.core.run"), "run", broken)
    result = run("select", votes, "--epsilon", 1)
    assert result.exit_code == 2
    assert "unexpected RuntimeError" in result.stderr and "report" in result.stderr
    assert SECRET not in result.stderr and "Traceback" not in result.stderr
