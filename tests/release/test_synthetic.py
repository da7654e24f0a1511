"""A synthetic distribution answers workloads, gives rows with labels, and saves whole files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from winnow.release.factors import Factor
from winnow.release.query_errors import QueryErrors, RunErrors
from winnow.release.synthetic import MeasuredQuery

SCHEMA = wn.Schema.parse(
    {
        "sex": {"values": ["Female", "Male"]},
        "age": {"edges": [0, 40, 60, 120]},
        "rank": 4,
        "vote": {"values": [True, False, None]},
    }
)
WEIGHTS = np.random.default_rng(4).dirichlet(np.full(SCHEMA.cells, 0.3))
WORKLOADS = [
    wn.marginals([1, 2, 3]),
    wn.prefixes("rank"),
    wn.ranges("age"),
    wn.where(age=(40, 60), sex="Female"),
    wn.where(sex="Male"),
    wn.marginals(1) + wn.where(sex="Male") + wn.prefixes("age"),
    wn.random_queries(5),
]


def whole() -> wn.SyntheticDistribution:
    factor = Factor((0, 1, 2, 3), SCHEMA.shape, WEIGHTS)
    return wn.SyntheticDistribution(SCHEMA, (factor,), 1000)


def product() -> wn.SyntheticDistribution:
    """Columns out of order, on purpose."""
    rng = np.random.default_rng(2)
    first = Factor((3, 1), (3, 3), rng.dirichlet(np.ones(9)))
    second = Factor((0, 2), (2, 4), rng.dirichlet(np.ones(8)))
    return wn.SyntheticDistribution(SCHEMA, (first, second), 1000)


def on_points() -> wn.SyntheticDistribution:
    rng = np.random.default_rng(3)
    points = np.unique(np.stack([rng.integers(0, k, 20) for k in SCHEMA.shape], axis=1), axis=0)
    weights = rng.dirichlet(np.ones(len(points)))
    return wn.SyntheticDistribution(
        SCHEMA, (Factor((0, 1, 2, 3), SCHEMA.shape, weights, points),), 1000
    )


@pytest.mark.parametrize("made", [whole, product, on_points])
@pytest.mark.parametrize("workload", WORKLOADS, ids=range(len(WORKLOADS)))
def test_answers_are_sums_over_the_cells(made, workload: object) -> None:
    synthetic = made()
    bound = workload.over(SCHEMA)  # type: ignore[attr-defined]
    rows = np.array([bound.row(i) for i in range(bound.size)])
    wanted = rows @ synthetic.weights()
    np.testing.assert_allclose(synthetic.answers(workload), wanted, atol=1e-12)
    np.testing.assert_allclose(synthetic.answers(bound), wanted, atol=1e-12)
    np.testing.assert_allclose(synthetic.counts(bound), 1000 * wanted, atol=1e-9)


def test_the_weights_of_a_product_are_products() -> None:
    synthetic = product()
    table = synthetic.weights().reshape(SCHEMA.shape)
    vote_age = synthetic.factors[0].weights.reshape(3, 3)
    sex_rank = synthetic.factors[1].weights.reshape(2, 4)
    np.testing.assert_allclose(table, np.einsum("va,sr->sarv", vote_age, sex_rank))


def test_marginals_have_an_axis_for_each_name_in_order() -> None:
    synthetic = whole()
    table = WEIGHTS.reshape(SCHEMA.shape)
    np.testing.assert_allclose(synthetic.marginal("rank", "sex"), table.sum(axis=(1, 3)).T)


def test_values_declared_in_minus_c_to_c_are_answered_there() -> None:
    values = np.random.default_rng(8).integers(-20, 21, (3, SCHEMA.cells)) / 10
    workload = wn.queries(values, grid=40, bound=2).over(SCHEMA)
    np.testing.assert_allclose(whole().answers(workload), values @ WEIGHTS, atol=1e-9)


def test_rows_carry_the_labels_of_the_schema_and_follow_the_weights() -> None:
    synthetic = whole()
    rows = synthetic.sample(40_000, seed=1)
    assert list(rows) == ["sex", "age", "rank", "vote"]
    assert set(rows["sex"]) == {"Female", "Male"}
    assert set(rows["age"]) <= {"[0, 40)", "[40, 60)", "[60, 120]"}
    assert rows["rank"].dtype.kind == "i"
    assert set(rows["vote"]) == {True, False, None}
    share = np.mean(rows["sex"] == "Female")
    # Six standard deviations of a proportion of 40,000: one false alarm in 10^8.
    assert abs(share - synthetic.marginal("sex")[0]) < 6 * 0.5 / 200
    both = np.mean((rows["sex"] == "Female") & (rows["rank"] == 2))
    assert abs(both - synthetic.marginal("sex", "rank")[0, 2]) < 6 * 0.5 / 200


@pytest.mark.parametrize("made", [product, on_points])
def test_sampled_rows_of_every_kind_of_factor_have_positive_weight(made) -> None:
    synthetic = made()
    table = synthetic.weights().reshape(SCHEMA.shape)
    rows = synthetic.sample(200, seed=1)
    for place in range(200):
        codes = tuple(column.labels.index(rows[column.name][place]) for column in SCHEMA.columns)
        assert table[codes] > 0


def test_a_seed_repeats_the_rows_and_no_seed_does_not() -> None:
    synthetic = whole()
    one, two = synthetic.sample(50, seed=3), synthetic.sample(50, seed=3)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    three, four = synthetic.sample(500), synthetic.sample(500)
    assert any(not np.array_equal(three[name], four[name]) for name in three)
    assert len(synthetic.sample()["sex"]) == 1000


def test_rows_come_as_the_frame_that_is_asked_for() -> None:
    synthetic = whole()
    assert synthetic.sample(5, frame="pandas").shape == (5, 4)
    assert synthetic.sample(5, frame="polars").shape == (5, 4)
    assert synthetic.sample(5, frame="arrow").num_rows == 5
    with pytest.raises(wn.InputError, match="numpy"):
        synthetic.sample(5, frame="numpy")


def test_files_are_saved_whole(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    synthetic = whole()
    synthetic.save(tmp_path / "s.csv", rows=30, seed=1)
    with (tmp_path / "s.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["sex", "age", "rank", "vote"] and len(lines) == 31
    assert lines[1][0] in ("Female", "Male")
    synthetic.save(tmp_path / "s.parquet", seed=1, about={"guarantee": {"epsilon": 1}})
    table = pq.read_table(tmp_path / "s.parquet")
    assert table.num_rows == 1000 and table.column_names == ["sex", "age", "rank", "vote"]
    assert json.loads(table.schema.metadata[b"winnow"]) == {"guarantee": {"epsilon": 1}}
    synthetic.save(tmp_path / "s.json")
    again = wn.SyntheticDistribution.from_dict(json.loads((tmp_path / "s.json").read_text()))
    np.testing.assert_allclose(again.weights(), synthetic.weights(), rtol=1e-12)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.csv", "s.json", "s.parquet"]
    for wrong in ("s.txt", "missing/s.csv"):
        with pytest.raises(wn.InputError, match="cannot save"):
            synthetic.save(tmp_path / wrong)
    with pytest.raises(wn.InputError, match="rows"):
        synthetic.save(tmp_path / "t.json", rows=3)


@pytest.mark.parametrize("made", [product, on_points])
def test_plain_data_makes_the_same_distribution_again(made) -> None:
    synthetic = made()
    again = wn.SyntheticDistribution.from_dict(json.loads(json.dumps(synthetic.to_dict())))
    np.testing.assert_allclose(again.weights(), synthetic.weights(), rtol=1e-12)
    for wrong in ({}, {"schema": {"a": 2}, "total": 1, "factors": [{"columns": ["a"]}]}, {"x": 1}):
        with pytest.raises(wn.InputError):
            wn.SyntheticDistribution.from_dict(wrong)


def measured_distribution() -> wn.SyntheticDistribution:
    workload = wn.marginals(1).over(SCHEMA)
    told = (MeasuredQuery(workload.label(0), 700, 0.7, 0, 1),)
    run = RunErrors(np.array([0.2, -0.1]), 0.03, False, 0.001, workload.size, False, 0.01)
    factor = Factor((0, 1, 2, 3), SCHEMA.shape, WEIGHTS)
    return wn.SyntheticDistribution(SCHEMA, (factor,), 1000, told, QueryErrors((run,)), workload)


def test_the_table_has_a_label_an_answer_and_an_error_for_each_query() -> None:
    synthetic = measured_distribution()
    rows = synthetic.table()
    assert len(rows) == synthetic.workload.size
    assert rows[0]["query"] == "sex=Female"
    assert rows[0]["count"] == pytest.approx(1000 * rows[0]["answer"])
    assert rows[0]["error"] == pytest.approx(np.hypot(0.7 - rows[0]["answer"], 0.03))
    assert rows[1]["error"] == pytest.approx(0.1)
    assert all(row["error"] is None for row in synthetic.table(wn.marginals(2)))


def test_the_bound_is_the_gap_with_noise_selection_and_drift() -> None:
    errors = measured_distribution().errors
    assert errors is not None
    size, share = errors.runs[0].queries, 0.05 / 2
    noise, missed = 0.03 * np.sqrt(2 * np.log(2 / share)), 0.001 * np.log(2 * size / share)
    assert errors.bound(0.95) == pytest.approx(0.1 + noise + missed + 0.01)
    assert errors.bound(0.99) > errors.bound(0.9)
    mean = RunErrors(np.array([0.2, -0.1]), 0.03, True, 0.001, size, True, 0.0)
    assert mean.estimate == pytest.approx(0.15 + 0.03)
    assert 0.15 < mean.bound(0.9) < 1
    with pytest.raises(wn.InputError):
        errors.bound(1.0)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(wn.InputError, match="cover"):
        wn.SyntheticDistribution(SCHEMA, (Factor((0,), (2,), np.ones(2)),), 10)
    with pytest.raises(wn.InputError, match="weights"):
        Factor((0,), (2,), np.ones(3))
    with pytest.raises(wn.InputError, match="negative"):
        Factor((0,), (2,), np.array([1.0, -1.0]))
    with pytest.raises(wn.InputError, match="workload"):
        whole().answers()
    with pytest.raises(wn.InputError, match="workload"):
        whole().answers([1])
    with pytest.raises(wn.InputError, match="different schema"):
        whole().answers(wn.marginals(1).over({"a": 2}))
    with pytest.raises(wn.InputError, match="errors"):
        whole().error_estimates()
    wide = wn.Schema.parse({f"c{i}": 100 for i in range(6)})
    factors = tuple(Factor((i,), (100,), np.ones(100)) for i in range(6))
    product_of_six = wn.SyntheticDistribution(wide, factors, 10)
    with pytest.raises(wn.InputError, match="fit"):
        product_of_six.weights()
    assert product_of_six.marginal("c1", "c4").shape == (100, 100)


def test_no_error_estimate_is_larger_than_what_is_possible() -> None:
    """With noise far above the counts, measured queries were said to be off by more than all."""
    import pyarrow as pa

    sealed = wn.read_table(pa.table({"x": [0, 1] * 5}), schema={"x": 2})
    found = wn.release(
        sealed, wn.marginals(1), epsilon=0.01, delta=1e-6, seed=1, method=wn.MWEM(rounds=2)
    ).value
    most = np.maximum(found.answers(), 1 - found.answers())
    assert (np.array(found.error_estimates()) <= most).all()
