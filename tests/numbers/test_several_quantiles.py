"""Several quantiles at once: joint draws, cumulative counts, and the choice among all ways."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.audit.fidelity import FALSE_ALARM, chi_square_p_value
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.numbers.audit.joint import (
    JointListsModel,
    enumerate_joint,
    faithful_lists,
    joint_twins,
    models,
)
from winnow.numbers.crossing import joint
from winnow.numbers.crossing.joint import JointTarget, drawn_lists
from winnow.numbers.crossing.segment import WINDOW, Segment
from winnow.numbers.joint import JointQuantiles

WIDE = {"type": "number", "low": 0, "high": 1_000_000}
AGES = {"type": "number", "low": 0, "high": 100}
TENTHS = [i / 10 for i in range(1, 10)]


def table_of(values: Any, form: Any = WIDE, relation: str = "substitution", **more: Any) -> Any:
    frame = pd.DataFrame({"x": np.asarray(values, float)})
    return wn.read_table(frame, schema={"x": form}, relation=relation, **more)


def rank_errors(values: Any, found: Any, quantiles: Any) -> Any:
    data = np.sort(np.asarray(values))
    below, until = np.searchsorted(data, found), np.searchsorted(data, found, side="right")
    wanted = np.asarray(quantiles) * len(data)
    return np.maximum(0, np.maximum(below - wanted, wanted - until))


@pytest.mark.slow
@pytest.mark.parametrize("window", [WINDOW.number, -12.0, -1e3])
def test_a_list_has_its_exact_law_whether_gaps_are_single_or_put_together(window: float) -> None:
    with WINDOW.moved_to(window):
        assert faithful_lists(1500, 3).passed


def test_lists_of_no_rows_are_all_as_likely() -> None:
    target, tape = JointTarget((1, 2), 3, Fraction(1)), Tape.seeded(2)
    empty = Segment(np.zeros(0, np.int64), 0, 5)
    lists = list(combinations_with_replacement(range(5), 2))
    drawn = [tuple(drawn_lists(empty, target, tape.child(str(i))).tolist()) for i in range(600)]
    observed = np.array([drawn.count(each) for each in lists] + [0])
    assert observed.sum() == 600
    assert chi_square_p_value(observed, np.full(len(lists), 1 / len(lists))) >= FALSE_ALARM


def test_weights_are_never_below_the_true_ones() -> None:
    """For every list: kept with probability at most 1, and nearly 1 where gaps are single."""
    rng = np.random.default_rng(4)
    rows = np.sort(rng.integers(0, 40, 25))
    for window in (WINDOW.number, -30.0):
        with WINDOW.moved_to(window):
            target = JointTarget((1, 2, 5), 8, Fraction(2, 3))
            segment = Segment(rows, 0, 40)
            weights = joint._Weights(joint._gaps(segment, target), target, len(rows))
            ratios = []
            for draw in range(200):
                stream = Tape.seeded(draw).stream()
                way, chance = weights.way(stream)
                points, lists = joint._points(weights.gaps, way, stream)
                lost = joint.loss(np.searchsorted(rows, points), len(rows), target)
                exponent = float(target.rate) * lost / target.whole + weights.ceiling
                ratios.append(np.log(float(lists / chance)) - exponent)
            assert max(ratios) <= 0
            if window > 0:
                assert min(ratios) > -1e-6


@pytest.mark.parametrize(("model", "most"), list(models())[::3])
def test_neighbours_are_as_close_as_was_charged(model: JointListsModel, most: int) -> None:
    assert enumerate_joint(model, most).passed


@pytest.mark.extras
def test_every_broken_twin_is_caught() -> None:
    twins = list(joint_twins(seed=1))
    assert len(twins) == 4 and all(twin.passed for twin in twins)


def test_the_width_is_met_exactly_by_some_neighbours() -> None:
    model = JointListsModel(JointQuantiles(1, (3, 8), 10, 3, 1), Relation.SUBSTITUTION)
    found = enumerate_joint(model, 7)
    assert found.measured == pytest.approx(found.claimed, rel=0.3)


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
def test_the_planned_rank_error_is_the_one_that_is_seen(relation: str) -> None:
    values = np.random.default_rng(1).permutation(1_000_000)[:4000]
    table = table_of(values, relation=relation)
    plan = wn.plan.quantiles(table, "x", TENTHS, epsilon=1, method=wn.Joint())
    runs = (plan.run(table, seed=seed).value.values for seed in range(40))
    seen = [rank_errors(values, found, TENTHS) for found in runs]
    planned = [row.rank_error for row in plan.expected]
    ratio = np.sqrt(np.mean(np.square(seen), axis=0)) / planned
    assert 1 / 1.35 < np.exp(np.log(ratio).mean()) < 1.35
    assert np.all(np.max(seen, axis=0) < [row.bound for row in plan.expected])


def test_cumulative_counts_are_as_far_off_as_planned() -> None:
    values = np.random.default_rng(1).integers(0, 101, 20_000)
    table = table_of(values, AGES)
    many = [i / 50 for i in range(1, 50)]
    plan = wn.plan.quantiles(table, "x", many, epsilon=0.05, method=wn.Cumulative())
    seen = [rank_errors(values, plan.run(table, seed=i).value.values, many) for i in range(20)]
    assert np.sqrt(np.mean(np.square(seen))) < 1.3 * plan.expected[0].rank_error
    assert np.max(seen) < plan.expected[0].bound


def test_missing_values_count_in_no_way() -> None:
    form = {**AGES, "missing": True}
    values = np.random.default_rng(3).integers(20, 60, 3000)
    held = table_of(np.r_[values, np.full(3000, np.nan)], form)
    for method in (wn.Joint(), wn.Cumulative(), wn.Halving()):
        found = wn.quantiles(held, "x", [0.25, 0.5, 0.75], epsilon=3, seed=1, method=method)
        assert np.all(rank_errors(values, found.value.values, [0.25, 0.5, 0.75]) < 40)


def test_groups_have_lists_of_their_own_and_empty_ones_too() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": np.r_[rng.integers(0, 1000, 2000), rng.integers(5000, 6000, 2000)],
                          "town": ["north"] * 2000 + ["south"] * 2000})  # fmt: skip
    schema = {"x": WIDE, "town": {"values": ["north", "south", "east"]}}
    table = wn.read_table(frame, schema=schema, relation="add-remove")
    found = wn.quantiles(
        table, "x", [0.75, 0.25], by=["town"], epsilon=4, seed=1, method=wn.Joint()
    ).value.values
    assert found[0] == pytest.approx([750, 250], abs=40)
    assert found[1] == pytest.approx([5750, 5250], abs=40)
    assert np.all((found[2] >= 0) & (found[2] <= 1_000_000))


@pytest.mark.parametrize(
    ("form", "relation", "rows", "many", "taken"),
    [
        (WIDE, "substitution", 10_000, 9, "joint"),
        (WIDE, "substitution", 100, 9, "halving"),
        (WIDE, "substitution", 10_000, 1, "exponential"),
        (WIDE, "add-remove", None, 9, "halving"),
        (AGES, "add-remove", None, 99, "cumulative"),
        (AGES, "substitution", 10_000, 99, "cumulative"),
    ],
)
def test_the_least_predicted_error_is_taken_from_public_numbers(
    form: Any, relation: str, rows: int | None, many: int, taken: str
) -> None:
    about = wn.plan.table({"x": form}, rows=rows, relation=relation)
    wanted = [round(i / (many + 1), 4) for i in range(1, many + 1)]
    plan = wn.plan.quantiles(about, "x", wanted, epsilon=1)
    assert plan.name.startswith(taken)
    assert (many == 1) or taken == "halving" or "against" in plan.reason


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
def test_no_row_and_one_row_have_quantiles(relation: str) -> None:
    for values in ([], [5.0]):
        for form in (WIDE, AGES):
            table = table_of(values, form, relation)
            found = wn.quantiles(table, "x", TENTHS, epsilon=0.1, seed=1).value.values
            assert np.all(np.diff(found) >= 0)


def test_too_many_rows_for_the_precision_of_a_joint_draw_are_refused_before_the_charge() -> None:
    table = table_of(np.arange(40_000), relation="add-remove")
    budget = wn.Budget(10**9, relation="add-remove")
    asked = {"epsilon": 10**8, "method": wn.Joint(), "budget": budget}
    with pytest.raises(wn.DataError, match="too many for a joint draw"):
        wn.quantiles(table, "x", TENTHS, **asked)
    assert budget.events == ()


def test_an_error_finds_its_epsilon_whatever_is_taken() -> None:
    about = wn.plan.table({"x": WIDE}, rows=10_000)
    for error in (2.0, 20.0, 100.0):
        plan = wn.plan.quantiles(about, "x", TENTHS, error=error)
        assert error / 1.5 < plan.error <= error * 1.000001


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"method": "joint", "delta": 1e-6}, "no use for a delta"),
        ({"method": "joint", "quantiles": [i / 200 for i in range(1, 150)]}, "at most 100"),
        ({"method": "cumulative"}, "at most 20,000"),
        ({"method": "cumulative", "column": "age", "by": ["town"]}, "leave out by="),
        ({"method": wn.Canonical()}, "does not find quantiles"),
        ({"method": "fast"}, "method='fast' is unknown"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_charge(
    asked: dict[str, Any], problem: str
) -> None:
    schema = {"x": WIDE, "town": {"values": ["n", "s"]}, "age": AGES}
    frame = pd.DataFrame({"x": [1.0], "town": ["n"], "age": [4]})
    budget = wn.Budget(1, relation="substitution")
    given: dict[str, Any] = {"column": "x", "epsilon": 1.0, "budget": budget, **asked}
    with pytest.raises(wn.ParameterError, match=problem):
        wn.quantiles(wn.read_table(frame, schema=schema), **given)
    assert budget.events == ()


def test_a_joint_draw_ends_where_most_rows_are_tied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Around the targets there may be no point: then the nearest ones decide what lies far away."""
    tries: list[int] = []
    kept = joint.kept_exactly

    def counted(*given: Any) -> bool:
        tries.append(1)
        assert len(tries) < 100
        return kept(*given)

    monkeypatch.setattr(joint, "kept_exactly", counted)
    tied = np.sort(np.concatenate([np.repeat(np.arange(300), 117), np.arange(300, 9000)]))
    for rows, parts in ((np.zeros(50, np.int64), (10,)), (tied, (2, 4, 7, 9)), (tied, (0, 5, 10))):
        for rate in (Fraction(1, 100), Fraction(5), Fraction(200)):
            segment = Segment(rows, 0, 10_000)
            tries.clear()
            drawn_lists(segment, JointTarget(parts, 10, rate), Tape.seeded(3))
