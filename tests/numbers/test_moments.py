"""Counts, sums, means, variances and deviations: exact sums, honest intervals, clear refusals."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from winnow.audit.replay.numbers import SCHEMA as REPLAYED
from winnow.core.box_noise import box_noise
from winnow.core.checks import exact
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.numbers.moments.crossing import in_parts
from winnow.numbers.moments.measured import PARTS
from winnow.numbers.moments.noise import SumNoise
from winnow.numbers.moments.sensitivity import Exchanged, squared_move

ALL = ["count", "sum", "mean", "variance", "deviation"]
HUGE = 2.0**40
AGE = {"type": "number", "low": 0, "high": 100}
both = pytest.mark.parametrize("relation", list(Relation))


def sealed(columns: dict[str, Any], schema: dict[str, Any], **said: Any) -> Any:
    import pandas as pd

    return wn.read_table(pd.DataFrame(columns), schema=schema, **said)


def in_groups(values: list[int], groups: int, **said: Any) -> Any:
    """The same rows in every group: as many releases as groups, in one call."""
    columns = {"x": values * groups, "g": np.repeat(np.arange(groups), len(values))}
    return sealed(columns, {"x": AGE, "g": groups}, **said)


# --- what is summed ---


@both
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_with_nearly_no_noise_every_statistic_is_that_of_the_rows(
    relation: Relation, delta: float
) -> None:
    rng = np.random.default_rng(1)
    x, cents = rng.integers(0, 101, 400), rng.integers(-5000, 20_001, 400)
    schema = {"x": AGE, "pay": {"type": "number", "low": -50, "high": 200, "step": 0.01}}
    table = sealed({"x": x, "pay": cents / 100}, schema, relation=relation)
    found = wn.moments(table, ["x", "pay"], ALL, epsilon=HUGE, delta=delta, seed=1).value
    for name, true in (("x", x), ("pay", cents / 100)):
        wanted = [400, true.sum(), true.mean(), true.var(), true.std()]
        seen = [float(found.of(name, each).value) for each in ALL]
        assert seen == pytest.approx(wanted, rel=2e-4)


def test_sums_of_the_widest_grid_are_exact_whole_numbers() -> None:
    top = 2**31 - 4
    x = np.array([0, 1, 77, 65_535, 65_536, top // 2, top - 1, top, top])
    table = sealed({"x": x}, {"x": {"type": "number", "low": 0, "high": top}})
    found = wn.moments(table, "x", ALL, epsilon=HUGE, seed=1).value
    assert found.of("x", "sum").value == pytest.approx(int(x.sum()), rel=1e-4)
    assert found.of("x", "variance").value == pytest.approx(np.var(x.astype(float)), rel=1e-4)


def test_exact_sums_do_not_round_where_floats_would() -> None:
    from winnow.numbers.moments.audit import column
    from winnow.numbers.moments.crossing import _Powers, in_parts
    from winnow.numbers.moments.measured import second
    from winnow.read.crossing import Rows, RowsFor

    top = 2**31 - 4
    wide = column("x")
    grid = wide.grid.__class__(Fraction(0), Fraction(top), Fraction(1))
    wide = wide.__class__("x", 0, grid, optional=False)
    codes, weights = np.array([0, 3, top - 1, top], np.int32), np.array([5, 7, 2**28 - 1, 3])
    rows = RowsFor({(0,): Rows((codes,), weights)})
    each = second(wide)
    total = _Powers(rows, (), (top + 1,), 1).total(each)
    a, b, c = each.factors
    true = sum(
        w * (a + b * k + c * k * k) for k, w in zip(codes.tolist(), weights.tolist(), strict=True)
    )
    assert total.tolist() == [true]
    assert in_parts(total, each, PARTS).tolist() == [true * PARTS // top**2]


@both
def test_missing_and_other_values_count_nowhere(relation: Relation) -> None:
    x = [10.0, 20.0, float("nan"), 60.0, float("nan")]
    schema = {"x": AGE | {"missing": True}, "y": {"codes": 3}}
    table = sealed({"x": x, "y": [0, 1, 2, 2, 2]}, schema, relation=relation)
    found = wn.moments(table, ["x", "y"], ALL, epsilon=HUGE, seed=1).value
    assert float(found.of("x", "count").value) == pytest.approx(3, rel=1e-4)
    assert float(found.of("x", "mean").value) == pytest.approx(30, rel=1e-4)
    assert float(found.of("y", "mean").value) == pytest.approx(7 / 5, rel=1e-4)


def test_groups_of_several_columns_have_their_own_numbers() -> None:
    schema = {"x": AGE, "g": 2, "h": {"values": ["a", "b"]}}
    rows = {"x": [10, 20, 30, 90], "g": [0, 0, 1, 1], "h": ["a", "b", "b", "b"]}
    found = wn.moments(sealed(rows, schema), "x", "mean", by=["h", "g"], epsilon=HUGE, seed=1).value
    assert found.groups == (("a", 0), ("a", 1), ("b", 0), ("b", 1))
    means = found.of("x", "mean").value
    assert means[[0, 2, 3]] == pytest.approx([10, 20, 60], rel=1e-4)
    frame = found.to_columns()
    assert list(frame) == [
        "h",
        "g",
        "column",
        "statistic",
        "value",
        "standard_error",
        "low",
        "high",
    ]


def test_an_engine_that_keeps_its_rows_gives_the_same_numbers() -> None:
    rows = {"x": [10, 20, 30, 90] * 25, "g": [0, 0, 1, 1] * 25}
    schema = {"x": AGE, "g": 2}
    seen = [
        wn.moments(
            sealed(rows, schema, reading=wn.Reading(keep=keep)),
            "x",
            ALL,
            by=["g"],
            epsilon=1,
            seed=5,
        ).value
        for keep in ("memory", "engine")
    ]
    assert seen[0].to_dict() == seen[1].to_dict()


# --- errors and intervals ---

SETTINGS: list[tuple[Relation, float, list[str]]] = [
    (relation, delta, statistics)
    for relation in Relation
    for delta in (0, 1e-6)
    for statistics in (["count", "sum", "mean"], ALL)
]


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "delta", "statistics"), SETTINGS)
@pytest.mark.parametrize("values", [[20, 40, 90] * 30, [0] * 30, [3, 97]], ids=str)
def test_intervals_hold_and_errors_are_as_said(
    relation: Relation, delta: float, statistics: list[str], values: list[int]
) -> None:
    """4,000 releases of each: at level .9 more than 460 misses have a chance below 1e-5."""
    groups = 4000
    table = in_groups(values, groups, relation=relation)
    given: dict[str, Any] = {"by": ["g"], "epsilon": 1, "delta": delta, "level": 0.9}
    found = wn.moments(table, "x", statistics, seed=3, **given).value
    x = np.array(values)
    true = dict(zip(ALL, [len(x), x.sum(), x.mean(), x.var(), x.std()], strict=True))
    for name in statistics:
        held = found.of("x", name)
        assert np.isfinite([held.value, held.standard_error, held.low, held.high]).all()
        slack = 1e-6 * max(1.0, abs(float(true[name])))
        missed = (held.low > true[name] + slack) | (held.high < true[name] - slack)
        assert missed.sum() <= 460, name
        assert (held.low <= held.value + slack).all() and (held.value <= held.high + slack).all()
        if name in ("count", "sum"):
            off = np.sqrt(np.mean((held.value - true[name]) ** 2))
            assert off == pytest.approx(held.standard_error[0], rel=0.06)


def error_of(found: Any, name: str, true: float) -> float:
    return float(np.sqrt(np.mean((found.of("x", name).value - true) ** 2)))


def test_one_mean_is_as_near_as_the_best_formula_and_two_cost_less_than_two() -> None:
    """Root mean squares, from what plans say; ``test_intervals_hold`` shows that they hold."""
    rows, reach = 1000, 100
    schema = {"x": AGE, "y": AGE}
    for relation in Relation:
        about = wn.plan.table(schema, rows=rows, relation=relation)
        span = reach if relation is Relation.SUBSTITUTION else reach / 2
        plan = wn.plan.moments(about, "x", "mean", epsilon=1)
        assert plan.error == pytest.approx(math.sqrt(2) * span / rows, rel=1e-6)
        gaussian = wn.plan.moments(about, "x", "mean", epsilon=1, delta=1e-6)
        assert gaussian.error == pytest.approx(plan.error, rel=1e-6)  # Laplace noise is less here
        two = wn.plan.moments(about, ["x", "y"], "mean", epsilon=1)
        assert two.error == pytest.approx(2 * span / rows, rel=1e-6) and two.error < 2 * plan.error
        spread = wn.plan.moments(about, "x", ["mean", "deviation"], epsilon=1)
        alone = wn.plan.moments(about, "x", ["deviation"], epsilon=1)
        assert spread.error < 2 * plan.error
        assert spread.expected[1].standard_error == alone.expected[0].standard_error


def test_a_private_number_of_rows_costs_less_than_half_of_the_budget() -> None:
    """On sums of x and of U - x the mean's absolute error is .0755 for ages: .099 with one sum."""
    groups, values = 4000, [20, 40, 90] * 30
    table = in_groups(values, groups, relation="add-remove")
    found = wn.moments(table, "x", "mean", by=["g"], epsilon=1, seed=4).value
    off = np.abs(found.of("x", "mean").value - 50).mean()
    assert off < 0.8 * 100 / len(values)


def test_gaussian_noise_has_a_variance_for_nothing_where_the_number_of_rows_is_public() -> None:
    about = wn.plan.table({"x": AGE}, rows=1000)
    given = {"epsilon": 0.1, "delta": 1e-3, "budget": wn.Budget(1, 1e-2, "substitution", "zcdp")}
    alone = wn.plan.moments(about, "x", "mean", **given)
    with_spread = wn.plan.moments(about, "x", ["mean", "variance"], **given)
    assert with_spread.mechanism.law == alone.mechanism.law == "gaussian"
    assert with_spread.error == pytest.approx(alone.error, rel=1e-5)


@given(st.fractions(Fraction(1, 50), 50), st.integers(0, 40), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_two_rows_never_move_squares_more_than_is_proved(p: Fraction, one: int, two: int) -> None:
    from winnow.numbers.moments.audit import column
    from winnow.numbers.moments.measured import first, second

    z, w = Fraction(one, 20) - 1, Fraction(two, 20) - 1
    moved = p * (z - w) ** 2 + (2 * z * z - 2 * w * w) ** 2
    sums = (first(column("x")), second(column("x")))
    who = Exchanged(Relation.SUBSTITUTION)
    assert moved <= squared_move(sums, [p, Fraction(1)], who, PARTS)


def test_more_epsilon_is_never_worse_and_a_delta_neither() -> None:
    about = wn.plan.table({"x": AGE, "y": AGE}, rows=500, relation="add-remove")
    errors = [
        wn.plan.moments(about, ["x", "y"], ALL, epsilon=epsilon, delta=delta).error
        for epsilon in (0.01, 0.1, 1, 10, 1e4, 1e8)
        for delta in (0, 1e-9, 1e-3)
    ]
    pure = errors[::3]
    assert pure == sorted(pure, reverse=True)


def test_an_empty_table_and_one_row_answer_without_a_nan() -> None:
    schema = {"x": AGE | {"missing": True}}
    for x in ([], [7.0], [float("nan")]):
        for relation in Relation:
            table = sealed({"x": np.array(x, float)}, schema, relation=relation)
            found = wn.moments(table, "x", ALL, epsilon=0.1, seed=1).value
            assert np.isfinite(np.concatenate([found.to_columns()["value"],
                                               found.to_columns()["high"]])).all()  # fmt: skip
            assert any("the whole range" in note for note in found.notes)


def test_clipped_values_are_said_to_be_clipped() -> None:
    table = sealed({"x": [50, 400]}, {"x": AGE | {"clip": True}})
    assert "above 100 count as these" in wn.moments(table, "x", epsilon=1).value.notes[0]


def test_a_factor_of_box_noise_is_at_least_that_of_every_direction_that_was_tried() -> None:
    """With 60,000 draws a tail of .05 is seen within .004."""
    noise = box_noise(Tape.seeded(1), 60_000, 3, Fraction(5000)) / 5000
    error = math.sqrt(4 * 5 / 3)
    held = SumNoise({}, "box", 3).factor(0.05)
    for direction in np.random.default_rng(0).normal(size=(30, 3)):
        unit = direction / np.linalg.norm(direction)
        assert (np.abs(noise @ unit) > held * error).mean() < 0.054


# --- plans, what is written, what is refused ---


def test_a_plan_finds_the_epsilon_for_an_error_and_says_what_it_needs() -> None:
    about = wn.plan.table({"x": AGE}, rows=1000)
    plan = wn.plan.moments(about, "x", error=0.5)
    assert plan.error == pytest.approx(0.5, rel=1e-3) and plan.error <= 0.5
    with pytest.raises(wn.ParameterError, match="rows="):
        wn.plan.moments(wn.plan.table({"x": AGE}), "x", error=0.5)
    unknown = wn.plan.moments(wn.plan.table({"x": AGE}, relation="add-remove"), "x", epsilon=1)
    assert unknown.error is None and "/ rows" in str(unknown)


def test_released_moments_come_back_from_json(tmp_path: Any) -> None:
    for by in ([], ["g"]):
        table = sealed({"x": [1, 2, 3], "g": [0, 1, 1]}, {"x": AGE, "g": 2})
        found = wn.moments(table, "x", ALL, by=by, epsilon=1, seed=1).value
        found.save(tmp_path / "m.json")
        again = type(found).from_dict(json.loads((tmp_path / "m.json").read_text()))
        assert again.to_dict() == found.to_dict() and again.groups == found.groups


Refused = Callable[[Any], Any]
REFUSED: list[tuple[str, Refused]] = [
    ("there is no column", lambda t: wn.moments(t, "z", epsilon=1)),
    ("statistic 'median' is unknown", lambda t: wn.moments(t, "x", ["median"], epsilon=1)),
    ("twice", lambda t: wn.moments(t, ["x", "x"], epsilon=1)),
    ("holds the column 'x' itself", lambda t: wn.moments(t, "x", by=["x"], epsilon=1)),
    ("declare its numbers", lambda t: wn.moments(t, "town", epsilon=1)),
    ("not a list", lambda t: wn.moments(t, "x", by="g", epsilon=1)),
    ("empty", lambda t: wn.moments(t, [], epsilon=1)),
    ("nothing to count", lambda t: wn.moments(t, "x", "count", epsilon=1)),
    ("level", lambda t: wn.moments(t, "x", epsilon=1, level=1)),
    ("epsilon", lambda t: wn.moments(t, "x", epsilon=0)),
    ("too small", lambda t: wn.moments(t, "x", epsilon=1e-8)),
    ("progress", lambda t: wn.moments(t, "x", epsilon=1, run=wn.Run(progress=print))),
    ("epsilon is missing", lambda t: wn.plan.moments(t, "x")),
]


@pytest.mark.parametrize(("said", "call"), REFUSED, ids=[said for said, _ in REFUSED])
def test_bad_input_is_refused_before_anything_is_charged(said: str, call: Refused) -> None:
    schema = {"x": AGE, "g": 2, "town": {"values": ["a", "b"]}}
    table = sealed({"x": [1, 2], "g": [0, 1], "town": ["a", "b"]}, schema)
    with pytest.raises(wn.WinnowError, match=said):
        call(table)


def test_the_schema_of_the_replays_has_missing_values() -> None:
    assert REPLAYED.column("pay").missing_code is not None


# --- private bounds ---


def test_bounds_hold_nearly_all_values_and_are_near_the_largest() -> None:
    """2,000 incomes between 0 and 10^7: at most 2T lie beyond, and the end is near; 200 draws."""
    rng = np.random.default_rng(2)
    pay, warm = rng.lognormal(7, 0.5, 2000), rng.normal(0, 10, 2000)
    schema = {
        "pay": {"type": "number", "low": 0, "high": 10_000_000, "step": 0.01},
        "warm": {"type": "number", "low": -1000, "high": 1000, "step": 0.1},
    }
    table = sealed({"pay": pay, "warm": warm}, schema)
    plan = wn.plan.bounds(table, "pay", epsilon=1)
    found = [plan.run(table, seed=seed).value for seed in range(100)]
    beyond = np.array([(pay > each.high).sum() for each in found])
    assert (beyond > plan.error).sum() <= 6  # .01 of 100, at a false alarm of 10^-4
    assert all(each.low == 0 for each in found)
    assert sum(each.high > 4 * pay.max() for each in found) <= 6
    both_ends = wn.bounds(table, "warm", epsilon=1, seed=1).value
    assert -200 < both_ends.low < -10 and 10 < both_ends.high < 200


def test_too_few_rows_leave_the_declared_bounds() -> None:
    table = sealed({"x": [3.0, 4.0]}, {"x": AGE})
    found = [wn.bounds(table, "x", epsilon=1, seed=seed).value for seed in range(20)]
    assert sum(each.high == 100 for each in found) >= 18
    plan = wn.plan.bounds(table, "x", epsilon=1)
    assert "uninformative" in str(plan) and plan.error > 2


@both
def test_moments_within_private_bounds_are_nearer_and_say_what_was_clipped(
    relation: Relation,
) -> None:
    rng = np.random.default_rng(3)
    pay = rng.lognormal(7, 0.5, 3000)
    schema = {
        "pay": {"type": "number", "low": 0, "high": 10_000_000, "step": 0.01, "missing": True}
    }
    table = sealed({"pay": pay}, schema, relation=relation)
    for statistics in ([], ["sum"], ["mean", "deviation"]):
        found = wn.moments(table, "pay", statistics, epsilon=2, bounds="auto", seed=1)
        name = "sum" if statistics == ["sum"] else "mean"
        true = pay.sum() if name == "sum" else pay.mean()
        assert float(found.value.of("pay", name).value) == pytest.approx(true, rel=0.05)
        assert "bounded privately to 0 .." in found.value.notes[0]
        assert wn.privacy.pure_cost(found.receipt.event).epsilon == 2


def test_errors_of_private_bounds_are_refused_where_nothing_is_known() -> None:
    about = wn.plan.table({"x": AGE}, rows=100)
    with pytest.raises(wn.ParameterError, match="not known beforehand"):
        wn.plan.moments(about, "x", error=1, bounds="auto")
    with pytest.raises(wn.ParameterError, match="takes no delta"):
        wn.plan.moments(about, "x", epsilon=1, delta=1e-6, bounds="auto")
    assert wn.plan.bounds(about, "x", error=50).error <= 50


def test_sums_of_values_far_from_zero_move_by_whole_parts() -> None:
    """One value of the grouping column: no row leaves its group, and the number is not public."""
    far = {"type": "number", "low": 10**9, "high": 10**9 + 1}
    about = wn.plan.table({"g": {"values": ["a"]}, "x": far})
    budget = wn.Budget(1, 1e-5, "substitution", "zcdp")
    given = {"by": ["g"], "epsilon": 0.001, "delta": 1e-6, "budget": budget}
    plan = wn.plan.moments(about, "x", "sum", **given)
    (total,), (variance,) = plan.sums.measured, plan.sums.noise
    low, high = in_parts(np.array([5 * 10**9 + 4, 5 * 10**9 + 5], object), total, PARTS).tolist()
    assert high - low == 1  # though a thousand-millionth of the reach is far less than a part
    assert plan.sums.law == "gaussian"
    assert exact("ratio", plan.event.squared_ratio) * variance >= 1


def test_no_groups_are_none_of_them() -> None:
    table = sealed({"g": [0, 1], "x": [1, 2]}, {"g": 2, "x": 4})
    none = wn.moments(table, "x", by=None, epsilon=1, seed=1).value  # type: ignore[arg-type]
    assert none.to_dict() == wn.moments(table, "x", epsilon=1, seed=1).value.to_dict()
    median = wn.quantiles(table, "x", by=None, epsilon=1, seed=1).value  # type: ignore[arg-type]
    assert median.values.shape == (1,)
