"""Linear regression: coefficients near the true ones, intervals that hold, refusals, views."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.core.relation import Relation
from winnow.numbers.regress.crossing import numbers_of, summed
from winnow.numbers.regress.design import ONE, designed
from winnow.numbers.regress.estimates import LeastSquares, NoiseOnProducts, combinations, matrix_of
from winnow.numbers.regress.request import Regression

SCHEMA = {
    "income": {"type": "number", "low": 0, "high": 100_000, "step": 0.01, "clip": True},
    "age": {"type": "number", "low": 0, "high": 110},
    "town": {"values": ["north", "south", "west"]},
    "smokes": 2,
}


def people(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "town": rng.choice(["north", "south", "west"], rows),
            "smokes": rng.integers(0, 2, rows),
        }
    )
    noise = rng.normal(0, 8000, rows)
    frame["income"] = 20_000 + 300 * frame.age + 5000 * (frame.town == "south") + noise
    frame["income"] -= 4000 * frame.smokes
    return frame


def least_squares(frame: pd.DataFrame) -> Any:
    columns = [
        np.ones(len(frame)), frame.age, frame.town == "south", frame.town == "west", frame.smokes,
    ]  # fmt: skip
    matrix = np.column_stack([np.asarray(each, float) for each in columns])
    return np.linalg.lstsq(matrix, frame.income.to_numpy(), rcond=None)[0]


FEATURES = ["age", "town", "smokes"]


@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_little_noise_brings_the_least_squares_of_the_rows(relation: str, delta: float) -> None:
    frame = people()
    table = wn.read_table(frame, schema=SCHEMA, relation=relation)
    found = wn.regress(table, "income", FEATURES, epsilon=1e5, delta=delta, seed=1).value
    assert found.terms == ("intercept", "age", "town = south", "town = west", "smokes")
    assert np.allclose(found.coefficient, least_squares(frame), rtol=1e-3, atol=5)
    assert found.rows == pytest.approx(3000, abs=1)
    usual = 8000 / math.sqrt(3000 / 4)  # two halves of the rows are compared
    assert found.sampling_error[-1] == pytest.approx(usual, rel=0.1)


def test_coefficients_lie_within_intervals_at_a_usual_epsilon() -> None:
    frame = people()
    table = wn.read_table(frame, schema=SCHEMA)
    released = wn.regress(table, "income", FEATURES, epsilon=1, delta=1e-6, level=0.999, seed=3)
    found = released.value
    assert (found.low <= least_squares(frame)).all() and (least_squares(frame) <= found.high).all()
    assert (found.low < found.coefficient).all() and (found.coefficient < found.high).all()
    assert released.guarantee.epsilon <= 1


@pytest.mark.parametrize("law", ["box", "gaussian"])
@pytest.mark.parametrize(("rows", "endless"), [(4000, False), (60, True)])
def test_intervals_hold_as_often_as_they_say(law: str, rows: int, endless: bool) -> None:
    """1,000 draws; chances of a false alarm are below 1e-4 for each coefficient."""
    frame = people(rows)
    schema = wn.Schema.parse(SCHEMA)
    design = designed(schema, "income", FEATURES)
    about = wn.plan.table(SCHEMA, rows=rows, relation="add-remove")
    asked = Regression("income", FEATURES, epsilon=1, delta=0.0 if law == "box" else 1e-6)
    mechanism = asked.plan(about).mechanism
    if mechanism.law != law:  # what is less noise is taken
        mechanism = Regression("income", FEATURES, epsilon=0.05, delta=1e-3).plan(about).mechanism
    codes = [
        frame.age.to_numpy(),
        pd.Categorical(frame.town, categories=["north", "south", "west"]).codes,
        frame.smokes.to_numpy(),
        np.rint(frame.income * 100).to_numpy(),
    ]
    sums = summed(design, [np.asarray(each, np.int32) for each in codes], np.ones(rows, np.int64))
    noise, rng = NoiseOnProducts.of(mechanism), np.random.default_rng(5)
    exact = sums / ONE**2
    units, _ = combinations(design)
    true = units @ np.linalg.solve(exact[:-1, :-1], exact[:-1, -1])
    missed, none = np.zeros(len(true)), 0
    for _ in range(1000):
        many = len(noise.errors)
        drawn = rng.normal(0, 1, many)
        if mechanism.law == "box":
            drawn = rng.gamma(many + 1) * rng.uniform(-1, 1, many)
            drawn *= math.sqrt(3 / (many + 1) / (many + 2))
        fit = LeastSquares(exact + np.tensordot(drawn * noise.errors, noise.parts, 1), noise, 0.05)
        values = (units @ fit.coefficients).tolist()
        ends = [fit.interval(row, value) for row, value in zip(units, values, strict=True)]
        missed += [not low <= each <= high for (low, high), each in zip(ends, true, strict=True)]
        none += math.isinf(ends[0][0])
    assert (missed <= 50 + 4 * math.sqrt(50)).all(), missed
    assert (none > 900) is endless


def test_the_noisy_matrix_says_what_follows_from_what_was_measured() -> None:
    frame = people(500)
    schema = wn.Schema.parse(SCHEMA)
    codes = [
        np.asarray(each, np.int32)
        for each in (
            frame.age,
            pd.Categorical(frame.town, categories=["north", "south", "west"]).codes,
            frame.smokes,
            np.rint(frame.income * 100),
        )
    ]
    for relation in Relation:
        for delta in (0.0, 1e-6):
            about = wn.plan.table(SCHEMA, rows=500, relation=relation)
            asked = Regression("income", FEATURES, epsilon=4, delta=delta)
            mechanism = asked.plan(about).mechanism
            design = designed(schema, "income", FEATURES)
            sums = summed(design, codes, np.ones(500, np.int64))
            exact = np.array(
                [
                    2 * sums[i, i] - sums[0, 0] if mechanism.law == "box" and i == j > 0
                    else sums[i, j]
                    for i, j in mechanism.products
                ]
            )  # fmt: skip
            rows = 500 if mechanism.rows_are_public else None
            assert np.allclose(matrix_of(exact, mechanism, rows), sums / ONE**2)


def test_numbers_of_a_row_lie_between_minus_one_and_one() -> None:
    schema = {"y": {"type": "number", "low": -5, "high": 2**30, "step": 1}, "x": 2}
    design = designed(wn.Schema.parse(schema), "y", ["x"])
    last = 2**30 + 5
    codes = [np.array([0, 1, 1], np.int32), np.array([0, last // 2, last], np.int32)]
    numbers, kept = numbers_of(design, codes)
    assert numbers.tolist() == [[ONE, -ONE, -ONE], [ONE, ONE, 0], [ONE, ONE, ONE]] and kept.all()


def test_rows_without_a_number_are_left_out_and_missing_values_are_values() -> None:
    frame = people(2000).astype({"age": float})
    frame.loc[:99, "age"] = np.nan
    frame.loc[100:299, "town"] = None
    schema = dict(SCHEMA, age={**SCHEMA["age"], "missing": True})  # type: ignore[dict-item]
    schema["town"] = {"values": ["north", "south", "west", None]}
    table = wn.read_table(frame, schema=schema)
    found = wn.regress(table, "income", FEATURES, epsilon=1e4, seed=1).value
    assert found.rows == pytest.approx(1900, abs=1)
    assert "town = missing" in found.terms
    told = found.predict({"age": [30, 30], "town": ["missing", None], "smokes": [1, 1]})
    assert told[0] == told[1]
    assert any("age are left out" in note for note in found.notes)


def test_too_few_rows_give_endless_intervals_and_say_so(tmp_path: Path) -> None:
    table = wn.read_table(people(20), schema=SCHEMA)
    released = wn.regress(table, "income", epsilon=0.1, seed=1)
    found = released.value
    assert np.isinf(found.low).all() and np.isfinite(found.coefficient).all()
    assert any("without ends" in note for note in found.notes)
    assert any("shrunk" in note for note in found.notes)
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert type(found).from_dict(written).to_dict() == found.to_dict()
    assert "without ends" in repr(found._repr_html_())
    found.save(tmp_path / "found.json")


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
def test_hardly_any_rows_answer_by_the_same_law(rows: int, relation: str) -> None:
    table = wn.read_table(people(5).head(rows), schema=SCHEMA, relation=relation)
    found = wn.regress(table, "income", epsilon=1, seed=1).value
    assert np.isfinite(found.coefficient).all() and np.isfinite(found.standard_error).all()


def test_predictions_follow_from_the_coefficients() -> None:
    table = wn.read_table(people(), schema=SCHEMA)
    found = wn.regress(table, "income", FEATURES, epsilon=1, seed=1).value
    one = {"age": [40, 40], "town": ["north", "west"], "smokes": [0, 1]}
    b = found.coefficient
    wanted = [b[0] + 40 * b[1], b[0] + 40 * b[1] + b[3] + b[4]]
    assert found.predict(pd.DataFrame(one)).tolist() == pytest.approx(wanted)
    again = type(found).from_dict(found.to_dict())
    assert again.predict(one).tolist() == pytest.approx(wanted)
    with pytest.raises(wn.ParameterError, match="'east' is no value of 'town'; there are south"):
        found.predict({**one, "town": ["north", "east"]})
    with pytest.raises(wn.ParameterError, match="no column 'age'"):
        found.predict({"town": ["north"]})


def test_a_plan_says_the_errors_and_finds_the_epsilon() -> None:
    about = wn.plan.table(SCHEMA, rows=4000)
    plan = wn.plan.regress(about, "income", FEATURES, epsilon=1)
    assert [row.term for row in plan.expected][:2] == ["intercept", "age"]
    assert plan.error is not None and "Noise moves a prediction" in str(plan)
    wanted = wn.plan.regress(about, "income", FEATURES, error=plan.error / 2)
    assert wanted.epsilon == pytest.approx(2, rel=0.05)
    gaussian = wn.plan.regress(about, "income", FEATURES, epsilon=1, delta=1e-3)
    assert "Gaussian" in gaussian.name and gaussian.error < plan.error
    unknown = wn.plan.regress(wn.plan.table(SCHEMA), "income", epsilon=1)
    assert unknown.error is None and "rows=" in str(unknown)
    with pytest.raises(wn.ParameterError, match="depends on the number of rows"):
        wn.plan.regress(wn.plan.table(SCHEMA), "income", error=3)


def test_a_plan_predicts_the_error_of_evenly_spread_rows() -> None:
    rng = np.random.default_rng(2)
    schema = {name: {"type": "number", "low": -1, "high": 1, "step": 0.001} for name in "xzy"}
    frame = pd.DataFrame({name: rng.uniform(-1, 1, 5000) for name in "xzy"})
    table = wn.read_table(frame, schema=schema)
    plan = wn.plan.regress(table, "y", epsilon=1)
    runs = [wn.regress(table, "y", epsilon=1, seed=seed).value.coefficient for seed in range(200)]
    seen = np.std(runs, axis=0)
    assert seen == pytest.approx([row.standard_error for row in plan.expected], rel=0.25)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"target": "town"}, "not as numbers"),
    ({"target": "none"}, "none"),
    ({"target": 3}, "is not a name"),
    ({"features": ["income"]}, "holds the target"),
    ({"features": ["age", "age"]}, "names one twice"),
    ({"features": 3}, "is not a list"),
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": float("nan")}, "epsilon"),
    ({"epsilon": 1e-30}, "too small"),
    ({"level": 1}, "level"),
]


@pytest.mark.parametrize(("options", "says"), BAD)
def test_what_cannot_be_met_is_refused_before_the_charge(
    options: dict[str, Any], says: str
) -> None:
    table, budget = wn.read_table(people(50), schema=SCHEMA), wn.Budget(9)
    asked = {"target": "income", "features": (), "epsilon": 1, **options}
    with pytest.raises(wn.ParameterError, match=says):
        wn.regress(table, asked.pop("target"), asked.pop("features"), budget=budget, **asked)
    assert not budget.events


def test_columns_of_too_many_values_are_refused() -> None:
    wide = {"y": 5, "x": {"values": [str(each) for each in range(200)]}}
    with pytest.raises(wn.ParameterError, match="200 values"):
        wn.plan.regress(wn.plan.table(wide), "y", epsilon=1)
    dates = {"y": 5, "d": {"type": "date", "low": "2024-01-01", "high": "2024-12-31"}}
    with pytest.raises(wn.ParameterError, match="dates or times; put it in bins"):
        wn.plan.regress(wn.plan.table(dates), "y", epsilon=1)
    many = {f"x{i}": 2 for i in range(120)}
    with pytest.raises(wn.ParameterError, match="more than 99"):
        wn.plan.regress(wn.plan.table(many), "x0", epsilon=1)


def test_a_table_in_an_engine_answers_alike() -> None:
    frame = people(500)
    held = wn.read_table(frame, schema=SCHEMA)
    kept = wn.read_table(frame, schema=SCHEMA, reading=wn.Reading(keep="engine"))
    one, other = (wn.regress(each, "income", epsilon=1, seed=4).value for each in (held, kept))
    assert one.to_dict() == other.to_dict()
