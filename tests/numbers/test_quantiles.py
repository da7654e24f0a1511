"""Quantiles by halving: their law, ties, groups, intervals, what is planned and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.reading import as_options
from winnow.audit.fidelity import FALSE_ALARM, chi_square_p_value
from winnow.core import exponential_choice as choosing
from winnow.core.exponential_choice import exponential_choice
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.numbers.audit import halving as audit
from winnow.numbers.audit.halving import HalvingModel, faithful_points, made
from winnow.numbers.crossing import segment
from winnow.numbers.tree import QuantileTree

CENTS = {"type": "number", "low": 0, "high": 1000, "step": 0.01, "clip": True}
TENTHS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


def table_of(values: Any, form: Any = CENTS, relation: str = "add-remove", **more: Any) -> Any:
    frame = pd.DataFrame({"x": np.asarray(values, float)})
    return wn.read_table(frame, schema={"x": form}, relation=relation, **as_options(more))


def spread(n: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).uniform(0, 1000, n)


def rank_errors(values: Any, found: Any, quantiles: Any) -> Any:
    """How many rows lie between each released value and its quantile."""
    data = np.sort(np.round(np.asarray(values), 2))
    below, until = np.searchsorted(data, found), np.searchsorted(data, found, side="right")
    wanted = np.asarray(quantiles) * len(data)
    return np.maximum(0, np.maximum(below - wanted, wanted - until))


@pytest.mark.parametrize("window", [segment.WINDOW.number, -2.0, -1e3])
def test_a_quantile_has_its_exact_law_whether_points_are_listed_or_far(window: float) -> None:
    """With a window of one or two rows most points are one class, thinned by their own losses."""
    with segment.WINDOW.moved_to(window):
        assert faithful_points(1500, 3).passed


def test_what_float64_leaves_open_is_decided_by_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, losses, rate = np.array([1, 50, 4]), np.array([0, 3, 9]), Fraction(2, 3)
    tapes = [Tape.seeded(5).child(str(i)) for i in range(600)]
    quick = [exponential_choice(sizes, losses, rate, tape) for tape in tapes]
    monkeypatch.setattr(choosing, "_UNSURE", 1e9)
    exact = [exponential_choice(sizes, losses, rate, tape) for tape in tapes]
    assert quick == exact
    weights = sizes * np.exp(-float(rate) * losses)
    observed = np.append(np.bincount([each.place for each in exact], minlength=3), 0)
    assert chi_square_p_value(observed, weights / weights.sum()) >= FALSE_ALARM


def test_whole_lists_have_the_law_that_is_enumerated() -> None:
    """All sub-positions, levels and groups of the crossing, against the model of the audits."""
    form = {"type": "number", "low": 0, "high": 2}
    table = table_of([0, 1, 1, 2], form)
    drawn = [
        tuple(
            wn.quantiles(
                table, "x", [0.1, 0.2, 0.9], epsilon=2, seed=i, method="halving"
            ).value.values.tolist()
        )
        for i in range(600)
    ]
    model = HalvingModel(made((1, 2, 9)), Relation.ADD_REMOVE, parts=3)
    law = model.law((0, 1, 1, 2))  # of 3 sub-positions: nearly that of 1,024
    lists = sorted(law)
    observed = np.array([drawn.count(each) for each in lists] + [0])
    assert observed.sum() == len(drawn)
    assert chi_square_p_value(observed, np.array([law[each] for each in lists])) >= 1e-6


def test_an_empty_table_answers_by_the_same_law() -> None:
    table = table_of([], {"type": "number", "low": 0, "high": 3})
    drawn = [int(wn.quantiles(table, "x", epsilon=1, seed=i).value.values[0]) for i in range(400)]
    observed = np.append(np.bincount(drawn, minlength=4), 0)
    assert chi_square_p_value(observed, np.full(4, 0.25)) >= FALSE_ALARM


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
def test_tied_rows_are_split_between_both_sides(relation: str) -> None:
    tied = np.r_[np.full(1500, 40.0), np.full(1500, 80.0)]
    found = wn.quantiles(table_of(tied, relation=relation), "x", TENTHS, epsilon=2, seed=4)
    assert found.value.values.tolist()[:4] == [40.0] * 4
    assert found.value.values.tolist()[5:] == [80.0] * 4


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
def test_the_planned_rank_error_is_the_one_that_is_seen(relation: str) -> None:
    values = spread(4000)
    table = table_of(values, relation=relation)
    plan = wn.plan.quantiles(table, "x", TENTHS, epsilon=1, method="halving")
    seen = [
        rank_errors(values, plan.run(table, seed=seed).value.values, TENTHS) for seed in range(60)
    ]
    planned = [row.rank_error for row in plan.expected]
    ratio = np.sqrt(np.mean(np.square(seen), axis=0)) / planned
    assert np.all((ratio > 1 / 1.6) & (ratio < 1.6)), ratio
    assert 1 / 1.3 < np.exp(np.log(ratio).mean()) < 1.3
    assert np.all(np.max(seen, axis=0) < [row.bound for row in plan.expected])


def test_an_error_finds_its_epsilon_and_more_epsilon_is_a_smaller_error() -> None:
    about = wn.plan.table({"x": CENTS}, relation="add-remove")
    found = wn.plan.quantiles(about, "x", TENTHS, error=3)
    assert 3 >= found.error == pytest.approx(3, rel=3e-4)
    errors = [wn.plan.quantiles(about, "x", TENTHS, epsilon=e).error for e in (0.1, 1, 10)]
    assert errors[0] > errors[1] > errors[2]
    many = [i / 200 for i in range(1, 200)]
    pure, approximate = (
        wn.plan.quantiles(about, "x", many, epsilon=0.5, delta=d) for d in (0, 1e-6)
    )
    assert approximate.error <= pure.error
    assert approximate.guarantee.epsilon <= 0.5 and approximate.guarantee.delta <= 1e-6


def test_intervals_hold_all_quantiles_at_once() -> None:
    """At 0.5 half of 80 runs may miss one: more than 62 with probability below 1e-6."""
    values = spread(600, seed=2)
    table = table_of(values)
    data = np.sort(np.round(values, 2))
    missed = 0
    for seed in range(80):
        found = wn.quantiles(
            table, "x", [0.1, 0.5, 0.9], method=wn.Halving(level=0.5), epsilon=6, seed=seed
        ).value
        assert found.low is not None and found.high is not None
        assert np.all((found.low <= found.values) & (found.values <= found.high))
        low = np.searchsorted(data, found.low) <= np.array([60, 300, 540])
        high = np.searchsorted(data, found.high, side="right") >= np.array([60, 300, 540])
        missed += not np.all(low & high)
    assert missed <= 62
    assert found.high[1] - found.low[1] < 300, "and they say something"


def test_too_few_rows_have_the_whole_grid_as_their_interval() -> None:
    found = wn.quantiles(
        table_of([7.0, 8.0]), "x", method=wn.Halving(level=0.95), epsilon=0.1, seed=1
    ).value
    assert (found.low[0], found.high[0]) == (0.0, 1000.0)


def test_groups_have_quantiles_of_their_own_and_empty_ones_too() -> None:
    frame = pd.DataFrame({"x": np.r_[spread(2000) / 10, 900 + spread(2000) / 10],
                          "town": ["north"] * 2000 + ["south"] * 2000})  # fmt: skip
    schema = {"x": CENTS, "town": {"values": ["north", "south", "east"]}}
    table = wn.read_table(frame, schema=schema, relation="add-remove")
    found = wn.quantiles(table, "x", [0.75, 0.25], by=["town"], epsilon=2, seed=1)
    assert found.value.groups == (("north",), ("south",), ("east",))
    assert found.value.values[0] == pytest.approx([75, 25], abs=3)
    assert found.value.values[1] == pytest.approx([975, 925], abs=3)
    columns = found.to_columns()
    assert list(columns) == ["town", "quantile", "value"]
    assert columns["quantile"].tolist() == [0.75, 0.25] * 3
    assert columns["town"].tolist() == ["north"] * 2 + ["south"] * 2 + ["east"] * 2
    again = wn.ReleasedQuantiles.from_dict(found.value.to_dict())
    assert again.to_dict() == found.value.to_dict() and again.groups == found.value.groups


def test_rows_with_a_missing_value_count_nowhere() -> None:
    form = {**CENTS, "missing": True}
    values = spread(500)
    one = wn.quantiles(table_of(values, form), "x", TENTHS, epsilon=1, seed=3)
    held = table_of(np.r_[values, np.full(300, np.nan)], form)
    other = wn.quantiles(held, "x", TENTHS, epsilon=1, seed=3)
    assert one.value.values.tolist() == other.value.values.tolist()


def test_a_person_with_more_rows_is_given_more_noise() -> None:
    schema = {"x": CENTS}
    about: Callable[[int], Any] = lambda rows: wn.plan.table(  # noqa: E731
        schema, relation="add-remove", max_rows=rows
    )
    one, three = (wn.plan.quantiles(about(rows), "x", TENTHS, epsilon=1) for rows in (1, 3))
    assert three.error == pytest.approx(3 * one.error)
    assert one.event == three.event


def test_a_table_in_its_engine_releases_what_a_table_in_memory_does() -> None:
    tables = [table_of(spread(300), keep=keep) for keep in ("memory", "engine")]
    found = [wn.quantiles(t, "x", TENTHS, epsilon=1, seed=8).value.values for t in tables]
    assert found[0].tolist() == found[1].tolist()


def test_codes_have_quantiles_as_whole_numbers() -> None:
    found = wn.quantiles(table_of([3.0] * 500, 10), "x", epsilon=3, seed=1).value.values
    assert found.tolist() == [3] and found.dtype == np.int64


def test_the_middle_quantile_comes_first_and_levels_are_few() -> None:
    for many, levels in ((1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (99, 7)):
        tree = QuantileTree(tuple(range(1, many + 1)), many + 1)
        assert tree.levels == levels
        assert sorted(node.place for node in tree.root) == list(range(many))
    assert QuantileTree((0, 3, 10), 10).mirrored().parts == (0, 7, 10)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"quantiles": []}, "give at least one"),
        ({"quantiles": [1.01]}, "not between 0 and 1"),
        ({"quantiles": [-0.1]}, "not between 0 and 1"),
        ({"quantiles": [float("nan")]}, "not finite"),
        ({"quantiles": [0.5, 0.5]}, "appears twice"),
        ({"quantiles": [0.12345678]}, "six decimals"),
        ({"quantiles": "0.5"}, "not a list"),
        ({"quantiles": ["a"]}, "not a number"),
        ({"column": "y"}, "no column"),
        ({"column": "town"}, "not as numbers"),
        ({"by": ["x"]}, "holds the column"),
        ({"by": "town"}, "give a list"),
        ({"by": ["town", "wide"]}, "at most 1,000,000"),
        ({"epsilon": 0}, "not above 0"),
        ({"run": wn.Run(progress=print)}, "progress= is for rounds"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_charge(
    asked: dict[str, Any], problem: str
) -> None:
    schema = {"x": CENTS, "town": {"values": ["n", "s"]}, "wide": 600_000}
    frame = pd.DataFrame({"x": [1.0], "town": ["n"], "wide": [0]})
    budget = wn.Budget(1, relation="substitution")
    given: dict[str, Any] = {"column": "x", "epsilon": 1.0, "budget": budget, **asked}
    with pytest.raises(wn.ParameterError, match=problem):
        wn.quantiles(wn.read_table(frame, schema=schema), **given)
    assert budget.events == ()


def test_a_level_is_a_probability_below_one() -> None:
    with pytest.raises(wn.ParameterError, match="not below 1"):
        wn.Halving(level=1)


def test_the_ends_and_one_row_are_quantiles_as_any_other() -> None:
    for values in ([5.0], [5.0, 6.0]):
        found = wn.quantiles(table_of(values), "x", [0, 0.5, 1], epsilon=1, seed=2).value.values
        assert np.all(np.diff(found) >= 0)


def test_every_broken_twin_is_caught() -> None:
    twins = list(audit.quantiles_twins(quick=True, seed=1))
    assert len(twins) == 3 and all(twin.passed for twin in twins)
