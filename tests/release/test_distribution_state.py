"""The public distribution: tables that follow every step, answers, and the running mean."""

import numpy as np
import pytest
from numba import njit

from winnow import InputError, Schema, Workload, marginals, prefixes, ranges
from winnow.core.workloads.bits import BitsPart, pack
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.real import GridPart
from winnow.release.rounds.kernels.dense import masked_sum
from winnow.release.rounds.kernels.distribution import uniform_distribution

SCHEMA = Schema.parse({"a": 3, "b": 4, "c": 2, "d": 5})
CELLS = 120


def maintained() -> Workload:
    masks = (
        {0: np.array([1, 0, 1], bool), 3: np.array([0, 1, 1, 0, 1], bool)},
        {2: np.array([0, 1], bool)},
        {1: np.zeros(4, bool)},
        {},
    )
    parts = (
        MarginalPart(SCHEMA, (3, 0)),
        MarginalPart(SCHEMA, (3, 0)),
        ConjunctionPart(SCHEMA, masks),
    )
    tables = marginals(1).over(SCHEMA) + marginals(2).over(SCHEMA) + marginals(3).over(SCHEMA)
    return (
        tables
        + prefixes("d").over(SCHEMA)
        + ranges("b").over(SCHEMA)
        + marginals(4).over(SCHEMA)
        + Workload(SCHEMA, parts)
    )


def mixed() -> Workload:
    rng = np.random.default_rng(1)
    parts = (
        GridPart(SCHEMA, rng.integers(0, 11, (7, CELLS)).astype(np.uint8), 10),
        BitsPart(SCHEMA, pack(rng.random((9, CELLS)) < 0.3)),
        GridPart(SCHEMA, rng.integers(0, 1001, (5, CELLS)).astype(np.uint16), 1000),
    )
    return Workload(SCHEMA, parts) + marginals(2).over(SCHEMA) + Workload(SCHEMA, parts[1:2])


@pytest.mark.parametrize("make", [maintained, mixed])
def test_after_a_thousand_steps_everything_equals_what_is_computed_anew(make) -> None:
    workload = make()
    rng = np.random.default_rng(2)
    distribution = uniform_distribution(workload, 1000)
    p = np.full(CELLS, 1 / CELLS)
    total = p.copy()
    for step in range(1000):
        query, factor = int(rng.integers(workload.size)), float(rng.normal() * 0.7)
        distribution.update(query, factor)
        p = p * np.exp(factor * workload.row(query))
        p /= p.sum()
        total += p
        if step % 100 == 99:
            np.testing.assert_allclose(distribution.weights(), p, rtol=0, atol=1e-10)
            answers = workload.answers(p)
            np.testing.assert_allclose(distribution.answers(), answers, rtol=0, atol=1e-10)
            assert abs(distribution.answer(query) - answers[query]) < 1e-10
    np.testing.assert_allclose(distribution.average(), total / 1001, rtol=0, atol=1e-10)
    without = (total - 1 / CELLS) / 1000
    np.testing.assert_allclose(distribution.average(start=False), without, rtol=0, atol=1e-10)


def test_steps_in_one_direction_move_the_mass_far_and_lose_nothing() -> None:
    workload = marginals(2).over(SCHEMA)
    distribution = uniform_distribution(workload, 1000)
    p = np.full(CELLS, 1 / CELLS)
    total = p.copy()
    for step in range(200):
        query, factor = 3, 2.0 if step < 100 else -3.0
        distribution.update(query, factor)
        p = p * np.exp(factor * workload.row(query))
        p /= p.sum()
        total += p
    np.testing.assert_allclose(distribution.answers(), workload.answers(p), rtol=0, atol=1e-10)
    np.testing.assert_allclose(distribution.average(), total / 201, rtol=0, atol=1e-10)


def test_whole_weights_are_the_distribution_on_a_grid() -> None:
    distribution = uniform_distribution(mixed(), 1000)
    distribution.update(8, 0.5)
    for units, kind in ((1 << 29, np.int32), (1 << 40, np.int64)):
        whole = distribution.whole_weights(units)
        assert whole.dtype == kind and len(whole) % 64 == 0 and not whole[CELLS:].any()
        expected = distribution.weights() * units
        np.testing.assert_allclose(whole[:CELLS], expected, rtol=0, atol=0.5 + 1e-12 * units)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_masked_sums_are_exact(kind: type) -> None:
    rng = np.random.default_rng(3)
    inside = rng.random((50, 200)) < 0.4
    whole = np.zeros(256, kind)
    whole[:200] = rng.integers(0, 10**6, 200)
    sum_of = njit(lambda row, numbers: masked_sum(row, numbers))
    sums = np.array([sum_of(row, whole) for row in pack(inside)])
    assert (sums == inside.astype(np.int64) @ whole[:200].astype(np.int64)).all()


def test_what_cannot_be_answered_is_refused() -> None:
    with pytest.raises(InputError, match="total"):
        uniform_distribution(maintained(), 0)
    distribution = uniform_distribution(maintained(), 10)
    with pytest.raises(InputError, match="outside"):
        distribution.update(10**6, 0.1)
    with pytest.raises(InputError, match="step"):
        distribution.update(0, float("nan"))
    with pytest.raises(InputError, match="no step"):
        distribution.average(start=False)
