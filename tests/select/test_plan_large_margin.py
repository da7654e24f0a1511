"""``wn.plan.large_margin``: needed margins, crossovers, limits, shells, and the command."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference import planned
from reference.commands import invoke
from winnow.select.plan.chances import GapProfile
from winnow.select.plan.margin import margin_chances, two_level_chance


@pytest.fixture(scope="module")
def plan() -> wn.plan.MarginPlan:
    return wn.plan.large_margin(epsilon=0.5, delta=1e-6, candidates=10_000, near=10)


@pytest.mark.parametrize(
    ("near", "total", "margin"), [(1, 1000, 80), (3, 40, 100), (1, 10**15, 200)]
)
def test_two_levels_agree_with_the_integration_over_a_profile(
    near: int, total: int, margin: float
) -> None:
    gaps = {0.0: near - 1, margin: total - near} if near > 1 else {margin: total - near}
    whole = margin_chances(GapProfile.parse(gaps, None), 1.0, 1.0, 1e-6, "tight").chances[0]
    found = two_level_chance(near, total - near, margin, 1.0, 1e-6, "tight")
    assert whole - 1e-5 < found <= whole + 1e-9


def test_the_needed_margins_reach_the_wanted_chance(plan: wn.plan.MarginPlan) -> None:
    assert plan.needed is not None
    for name, margin in plan.needed.items():
        words: dict[str, Any] = {"method": name.partition(" ")[0]}
        if words["method"] == "large-margin":
            words |= {"delta": 1e-6, "thresholds": "printed" if "(" in name else "tight"}
        gaps = {0: 9, margin: 9990}
        reached = planned.select(gaps, epsilon=0.5, **words).chance
        assert reached == pytest.approx(0.95, abs=1e-3)


def test_the_exponential_mechanism_has_its_closed_form(plan: wn.plan.MarginPlan) -> None:
    expected = 2 / 0.5 * (math.log(9990 / 10) + math.log(0.95 / 0.05))
    assert plan.needed is not None
    assert plan.needed["exponential"] == pytest.approx(expected)
    unit = plan.bounded["large-margin"] * 0.5 / 2
    power = (unit - math.log(0.95 / 0.05) + math.log(10)) / math.log(10)
    assert plan.crossover["large-margin"]["exponential"] == pytest.approx(power, abs=1e-4)


def test_large_margin_is_bounded_and_crosses_only_beyond_any_list() -> None:
    plan = wn.plan.large_margin(epsilon=1, delta=1e-6, candidates=10**6)
    assert plan.needed is not None and plan.best == "permute-and-flip"
    assert plan.needed["permute-and-flip"] < plan.needed["exponential"]
    assert plan.needed["exponential"] < plan.needed["large-margin"]
    tight, printed = (plan.crossover[name] for name in plan.bounded)
    assert 40 < tight["permute-and-flip"] < 50 and 85 < printed["permute-and-flip"] < 100
    curve = plan.curve("large-margin", [10, 100, 200])
    assert curve[0] < curve[1] and curve[1:] == pytest.approx(
        [plan.bounded["large-margin"]] * 2, rel=1e-3
    )
    flip = plan.curve("permute-and-flip", [tight["permute-and-flip"]])
    assert flip[0] == pytest.approx(plan.bounded["large-margin"], rel=1e-3)
    assert "10^4" in plan.verdict and "never more than" in str(plan)


def test_each_wins_somewhere_at_some_margin_and_universe() -> None:
    plan = wn.plan.large_margin(epsilon=1, delta=1e-6)
    small, huge = plan.chances(60, 9), plan.chances(230, 60)
    assert max(small, key=lambda name: small[name]) == "permute-and-flip"
    assert max(huge, key=lambda name: huge[name]) == "large-margin"
    assert huge["exponential"] < 1e-6 and huge["large-margin"] > 0.95
    immense = plan.chances(500, 120)
    assert immense["large-margin (printed)"] > 0.95 > immense["permute-and-flip"]
    assert set(plan.chances(0, 0).values()) == {1.0}


@pytest.mark.slow
def test_a_larger_delta_moves_the_crossover_down() -> None:
    powers = [
        wn.plan.large_margin(epsilon=1, delta=delta).crossover["large-margin"]["permute-and-flip"]
        for delta in (1e-9, 1e-6, 1e-3)
    ]
    assert powers == sorted(powers, reverse=True)


def test_the_lower_bounds_are_given_where_the_paper_states_them(plan: wn.plan.MarginPlan) -> None:
    assert plan.pure_limit == pytest.approx(math.log(9999 / 2) / 0.5)
    assert plan.approximate_limit == pytest.approx(math.log(9 / 2) / 0.5)
    assert plan.needed is not None
    assert min(plan.needed["exponential"], plan.needed["permute-and-flip"]) > plan.pure_limit
    beyond = wn.plan.large_margin(epsilon=1, delta=1e-6, candidates=10_000, near=10)
    assert beyond.pure_limit is None and beyond.approximate_limit is None
    loose = wn.plan.large_margin(epsilon=0.5, delta=0.1, candidates=10_000, near=10)
    assert loose.approximate_limit is None and loose.pure_limit is not None
    assert loose.needed is not None


def test_a_profile_is_compared_and_its_shells_are_listed() -> None:
    gaps = {0: 4, 50: 100, 2000: 10_000}
    plan = wn.plan.large_margin(gaps, epsilon=1, delta=1e-6)
    assert plan.candidates == 10_105 and plan.outcomes is not None
    assert [(shell.size, shell.next_gap) for shell in plan.shells] == [(5, 50), (105, 2000)]
    assert plan.shells[0].needed > 50 and plan.shells[1].needed < 2000
    chance = planned.select(gaps, epsilon=1, method="large-margin", delta=1e-6).chance
    assert plan.outcomes["large-margin"]["chance"] == pytest.approx(chance)
    many = wn.plan.large_margin(np.arange(1.0, 5000), epsilon=1, delta=1e-6)
    assert len(many.shells) <= 40
    one = wn.plan.large_margin(candidates=1, epsilon=1, delta=1e-6)
    assert one.needed is not None and set(one.needed.values()) == {0.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"near": 0}, "near"),
        ({"near": 10**7}, "plan for fewer"),
        ({"near": 7, "candidates": 5}, "exceeds 5 candidates"),
        ({"candidates": 2**60}, "leave it out"),
        ({"chance": 1}, "chance"),
        ({"gaps": "abc"}, "gaps"),
        ({"sensitivity": 1e250}, "other units"),
    ],
)
def test_bad_questions_are_refused(change: dict[str, Any], message: str) -> None:
    question: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
    with pytest.raises(wn.InputError, match=message):
        wn.plan.large_margin(**(question | change))
    with pytest.raises(wn.InputError, match="not compared"):
        wn.plan.large_margin(**question).curve("joint", [3])


def run(*words: object) -> Any:
    return invoke(["plan", "margin", *map(str, words)])


@pytest.mark.slow
def test_the_command_shows_saves_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("winnow.select.cli.margin"), "POINTS", 4)
    shown = run("--epsilon", 0.5, "--delta", 1e-6, "--near", 5, "--candidates", 1000)
    assert shown.exit_code == 0 and "beats permute-" in shown.stdout and "Prop 1" in shown.stdout
    document = json.loads(run("--epsilon", 0.5, "--delta", 1e-6, "--json").stdout)
    assert document["needed"] is None and "10^" in document["verdict"]
    out, plot = tmp_path / "margins.csv", tmp_path / "margins.svg"
    drawn = run(
        "--epsilon", 0.9, "--delta", 1e-3, "--gaps", "1,900,900", "--out", out, "--plot", plot
    )
    assert drawn.exit_code == 0, drawn.stderr
    assert out.read_text().startswith("mechanism,margin,")
    assert b"<svg" in plot.read_bytes()


def test_the_command_refuses_bad_input() -> None:
    for words in (
        ("--epsilon", -1, "--delta", 1e-6),
        ("--epsilon", 1, "--delta", 1e-6, "--gaps", "a,b"),
        ("--epsilon", 1, "--delta", 1e-6, "--plot", "x.txt"),
    ):
        result = run(*words)
        assert result.exit_code == 2 and "error:" in result.stderr
        assert "Traceback" not in result.output


def test_the_command_says_for_how_many_it_pays(plan: wn.plan.MarginPlan) -> None:
    from winnow.select.cli.margin import _shell_paid_for

    narrow, wide = wn.plan.Shell(6, 400.0, 800.0), wn.plan.Shell(8, 900.0, 818.0)
    ((_, words),) = _shell_paid_for(replace(plan, shells=(narrow, wide)))
    assert "pays for 8 candidates: the next lies 900 behind, 818 are needed" in words
    ((_, words),) = _shell_paid_for(replace(plan, shells=(narrow,)))
    assert "pays for all candidates" in words
    assert _shell_paid_for(replace(plan, shells=())) == []
