"""``winnow audit``: the verdicts as a table, as JSON, as a file and as the exit code."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from reference.commands import invoke
from winnow.audit import AuditResult

GOOD = AuditResult(
    kind="enumeration",
    claim="exponential, counts: no log-probability moves by more than epsilon.",
    mechanism="exponential",
    relation="add-remove",
    citation="Canonical, Thm A.7",
    claimed=1.0,
    measured=0.9312,
    passed=True,
    detail="over 312 pairs of neighbours",
)
BAD = AuditResult(
    kind="sampling",
    claim="noisy-max, counts: the measured epsilon is below the claimed one.",
    mechanism="noisy-max",
    relation="substitution",
    citation="Canonical, Thm A.9",
    claimed=1.0,
    measured=1.25,
    passed=False,
    detail="at [0, 1]",
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Two results in place of the audits; the test fills in which."""
    state: dict[str, Any] = {"results": [GOOD]}

    def fake(*, quick: bool = False, progress: Any = None, **_: Any) -> list[AuditResult]:
        state["quick"] = quick
        for result in state["results"]:
            progress(result.claim)
        return list(state["results"])

    monkeypatch.setattr("winnow.audit.run_audits", fake)
    return state


def run(*arguments: object) -> Result:
    return invoke(["audit", *map(str, arguments)])


def test_the_table_has_one_line_for_each_kind_mechanism_and_relation(
    asked: dict[str, Any],
) -> None:
    closer = replace(GOOD, mechanism="exponential, k=2", measured=0.98765, citation="Joint, Thm 1")
    elsewhere = replace(GOOD, relation="substitution", measured=0.5)
    asked["results"] = [GOOD, elsewhere, closer, replace(GOOD, kind="accounting", measured=1.0)]
    result = run()
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines() if "passed" in line]
    assert lines[:-1] == [
        ["exponential", "add-remove", "2", "1", "0.9877", "passed"],
        ["exponential", "substitution", "1", "1", "0.5", "passed"],
        ["exponential", "add-remove", "1", "1", "1", "passed"],
    ]
    assert "Canonical, Thm A.7; Joint, Thm 1" in result.stdout
    assert "all 4 audits passed" in result.stdout


def test_a_failure_stands_for_its_group_and_is_shown_in_full(asked: dict[str, Any]) -> None:
    barely = replace(BAD, measured=1.01, detail="at [1, 1]")
    asked["results"] = [replace(BAD, measured=1.0, passed=True), barely, BAD]
    result = run()
    assert result.exit_code == 1
    shown = " ".join(result.stdout.split())
    assert "noisy-max substitution 3 1 1.25 2 FAILED" in shown
    assert "at [0, 1]" in shown and "at [1, 1]" in shown and "2 of 3 audits failed" in shown


def test_odd_numbers_do_not_break_the_table(asked: dict[str, Any]) -> None:
    odd = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, float("inf")), (1.0, float("nan"))]
    asked["results"] = [replace(GOOD, claimed=c, measured=m) for c, m in odd]
    assert run().exit_code == 0


def test_verbose_shows_every_claim_and_its_verdict(asked: dict[str, Any]) -> None:
    result = run("--verbose")
    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    for part in ("exponential [Canonical, Thm A.7]", "- counts: no", "add-remove", "0.9312"):
        assert part in shown
    assert "all 1 audits passed" in shown
    assert asked["quick"] is False


def test_quick_is_passed_on(asked: dict[str, Any]) -> None:
    run("--quick")
    assert asked["quick"] is True


def test_a_failed_audit_is_exit_code_1(asked: dict[str, Any]) -> None:
    asked["results"] = [GOOD, BAD]
    result = run()
    assert result.exit_code == 1
    for part in ("FAILED", "1 of 2 audits failed", "at [0, 1]"):
        assert part in result.stdout
    assert run("--json").exit_code == 1


def test_json_is_the_results_and_nothing_else(asked: dict[str, Any]) -> None:
    result = run("--json")
    (only,) = json.loads(result.stdout)
    assert only == vars(GOOD)


@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet"])
def test_out_saves_the_results(asked: dict[str, Any], tmp_path: Path, ending: str) -> None:
    asked["results"] = [GOOD, BAD]
    out = tmp_path / f"audit{ending}"
    assert run("--out", out).exit_code == 1
    if ending == ".json":
        rows = json.loads(out.read_text())
    elif ending == ".csv":
        with out.open(newline="") as file:
            rows = [
                {
                    **row,
                    "claimed": float(row["claimed"]),
                    "measured": float(row["measured"]),
                    "passed": row["passed"] == "true",
                }
                for row in csv.DictReader(file)
            ]
    else:
        rows = pq.read_table(out).to_pylist()
    assert rows == [vars(GOOD), vars(BAD)]


def test_a_bad_target_is_refused_before_the_audits_run(asked: dict[str, Any]) -> None:
    result = run("--out", "none/audit.json")
    assert result.exit_code == 2 and "there is no folder" in result.stderr
    assert "quick" not in asked
