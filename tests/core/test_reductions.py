"""Smaller domains: queries inside a group of columns, and queries on sampled cells."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from winnow.core.workloads.reductions import (
    group_columns,
    inside,
    on_points,
    sample_cells,
    sub_universe_alpha,
    sub_universe_size,
)

SCHEMA = wn.Schema.parse({"a": 3, "b": 4, "c": 2, "d": 5})
WORKLOAD = (
    wn.marginals([1, 2]) + wn.prefixes("d") + wn.where(a=[0, 2], d=(1, 3)) + wn.where(b=[1])
).over(SCHEMA)


def test_queries_inside_a_group_keep_their_meaning() -> None:
    for columns in ((0, 3), (1, 2), (0, 1, 2, 3)):
        found = inside(WORKLOAD, columns)
        assert found is not None
        whole, own = found
        assert own.schema.names == tuple(SCHEMA.names[c] for c in columns)
        for i in range(whole.size):
            assert whole.label(i) == own.label(i)
        p = np.random.default_rng(1).dirichlet(np.ones(SCHEMA.cells))
        dropped = tuple(i for i in range(4) if i not in columns)
        mine = p.reshape(SCHEMA.shape).sum(axis=dropped).ravel()
        np.testing.assert_allclose(whole.answers(p), own.answers(mine), atol=1e-12)
    assert inside(wn.marginals(2).over(SCHEMA), (0,)) is None


def test_groups_hold_every_column_once() -> None:
    assert group_columns(SCHEMA, [["d", "a"], ["b", "c"]]) == [(0, 3), (1, 2)]
    for wrong in ([], "ab", [["a"]], [["a", "b", "c", "d"], ["a"]]):
        with pytest.raises(wn.InputError):
            group_columns(SCHEMA, wrong)
    bits = wn.random_queries(3).over(SCHEMA)
    with pytest.raises(wn.InputError, match="cell by cell"):
        inside(bits, (0, 1))


def test_queries_on_sampled_cells_are_the_queries_on_those_cells() -> None:
    points = sample_cells(SCHEMA, 70, seed=3)
    small = on_points(WORKLOAD, points)
    flat = np.ravel_multi_index(tuple(points.T), SCHEMA.shape)
    assert small.size == WORKLOAD.size
    for i in range(small.size):
        np.testing.assert_array_equal(small.row(i), WORKLOAD.row(i)[flat])
    with pytest.raises(wn.InputError, match="memory"):
        on_points(WORKLOAD, points, 500)
    with pytest.raises(wn.InputError, match="cell by cell"):
        on_points(wn.random_queries(3).over(SCHEMA), points)


def test_sampled_cells_are_different_uniform_and_public() -> None:
    points = sample_cells(SCHEMA, 100, seed=0)
    assert len(np.unique(points, axis=0)) == len(points)
    np.testing.assert_array_equal(points, sample_cells(SCHEMA, 100, seed=0))
    assert not np.array_equal(points, sample_cells(SCHEMA, 100, seed=1))
    wide = wn.Schema.parse({"x": 1000, "y": 1000})
    many = sample_cells(wide, 20_000, seed=5)
    # The mean of 20,000 uniform codes: six standard deviations are 12.3.
    assert abs(many[:, 0].mean() - 499.5) < 12.3 and abs(many[:, 1].mean() - 499.5) < 12.3
    assert abs(np.corrcoef(many.T)[0, 1]) < 6 / np.sqrt(20_000)


def test_the_size_of_the_sample_is_that_of_the_lemma() -> None:
    size = sub_universe_size(cells=10**9, queries=1000, smoothness=1e-9, alpha=0.1, beta=0.05)
    assert size == int(np.ceil(4 * (np.log(20) + np.log(1000)) / 0.01))
    back = sub_universe_alpha(sampled=size, queries=1000, beta=0.05)
    assert back == pytest.approx(0.1, rel=1e-3)
    few = sub_universe_size(cells=100, queries=1, smoothness=1e-9, alpha=0.5)
    assert few == int(np.ceil(4 * np.log(20)))
