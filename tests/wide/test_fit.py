"""The fit of a graphical model, against the joint table written out and its own certificate."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.tree_potentials import tree_tables
from winnow.wide.descent import minimise
from winnow.wide.fit import Estimator, NoisyTable, TreeFit, fit, merged
from winnow.fit.junction_tree import junction_tree
from winnow.wide.kernels.tree_layout import TreeLayout
from winnow.wide.objective import TreeObjective

Columns = tuple[int, ...]

SHAPE = (2, 3, 2, 4, 2)
SETS = st.lists(
    st.sets(st.integers(0, 4), min_size=1, max_size=3).map(lambda c: tuple(sorted(c))),
    min_size=1,
    max_size=6,
)
SEEDS = st.integers(0, 1000)
ONE_CLIQUE = [(0, 1, 2, 3, 4)]
DISCONNECTED = [(0, 1), (2, 4)]
CYCLE = [(0, 1), (1, 2), (2, 3), (0, 3), (0,), (3,)]


def joint_of(layout: TreeLayout, theta: np.ndarray) -> np.ndarray:
    """The model written out."""
    log = np.zeros(SHAPE)
    for columns, place in layout.places.items():
        log += theta[place].reshape([SHAPE[i] if i in columns else 1 for i in range(5)])
    joint = np.exp(log - log.max())
    return joint / joint.sum()


def summed(joint: np.ndarray, columns: Columns) -> np.ndarray:
    return np.einsum(joint, list(range(joint.ndim)), list(columns))


def flat(layout: TreeLayout, joint: np.ndarray) -> np.ndarray:
    """The marginals of all tables, as ``propagate`` writes them."""
    return np.concatenate([summed(joint, columns).ravel() for columns in layout.sets])


def noisy(
    sets: list[Columns], seed: int, total: int = 1000, sigma: float = 9.0
) -> list[NoisyTable]:
    """Tables of one random distribution, with noise."""
    generator = np.random.default_rng(seed)
    joint = generator.dirichlet(np.full(math.prod(SHAPE), 0.3)).reshape(SHAPE)
    found = []
    for columns in sets:
        table = total * summed(joint, columns)
        counts = np.rint(table + generator.normal(0, sigma, table.shape)).astype(np.int64)
        found.append(NoisyTable(columns, counts, sigma))
    return found


def same(one: TreeFit, two: TreeFit) -> bool:
    beliefs = zip(one.model.beliefs, two.model.beliefs, strict=True)
    return one.quality == two.quality and all((a == b).all() for a, b in beliefs)


def loss_of(model: TreeFit, tables: list[NoisyTable], total: int) -> float:
    return sum(
        0.5 * float(np.sum((total * model.model.marginal(t.columns) - t.counts) ** 2)) / t.sigma**2
        for t in tables
    )


@settings(max_examples=60, deadline=None)
@given(SETS, SEEDS)
def test_marginals_equal_those_of_the_joint_table(sets: list[Columns], seed: int) -> None:
    layout = TreeLayout(SHAPE, sets)
    theta = 2 * np.random.default_rng(seed).normal(size=layout.size)
    marginals = np.empty(layout.size)
    log_z = layout.propagate(theta, marginals)
    assert np.allclose(marginals, flat(layout, joint_of(layout, theta)), atol=1e-13)
    potentials = [(c, theta[p].reshape([SHAPE[i] for i in c])) for c, p in layout.places.items()]
    reference = tree_tables(junction_tree(SHAPE, sets), potentials)
    for ours, theirs in zip(layout.model().beliefs, reference.beliefs, strict=True):
        assert np.allclose(ours, theirs, atol=1e-13)
    log = sum(
        theta[p].reshape([SHAPE[i] if i in c else 1 for i in range(5)])
        for c, p in layout.places.items()
    )
    whole = np.broadcast_to(np.asarray(log), SHAPE)
    assert log_z == pytest.approx(float(np.log(np.exp(whole).sum())), abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(SETS, SEEDS)
def test_the_tangent_is_the_derivative_of_the_marginals(sets: list[Columns], seed: int) -> None:
    layout = TreeLayout(SHAPE, sets)
    generator = np.random.default_rng(seed)
    theta, direction = generator.normal(size=(2, layout.size))
    ahead, behind, here = np.empty((3, layout.size))
    layout.propagate(theta + 1e-5 * direction, ahead)
    layout.propagate(theta - 1e-5 * direction, behind)
    layout.propagate(theta, here)
    assert np.allclose(layout.tangent(direction), (ahead - behind) / 2e-5, atol=1e-8)


def objective_of(sets: list[Columns], seed: int, tau: float) -> TreeObjective:
    generator = np.random.default_rng(seed)
    layout = TreeLayout(SHAPE, sets)
    observed = flat(layout, generator.dirichlet(np.ones(96)).reshape(SHAPE))
    for place in layout.places.values():
        noise = generator.normal(0, 0.02, observed[place].size)
        observed[place] += noise - noise.mean()
    variances = np.full(layout.size, 0.02**2)
    return TreeObjective(layout, observed, variances, 0.3 * generator.normal(size=layout.size), tau)


@settings(max_examples=25, deadline=None)
@given(SETS, SEEDS, st.sampled_from([0.0, 0.5, 50.0]))
def test_descent_is_minus_the_gradient(sets: list[Columns], seed: int, tau: float) -> None:
    objective = objective_of(sets, seed, tau)
    generator = np.random.default_rng(seed + 1)
    theta, direction = 0.5 * generator.normal(size=(2, objective.layout.size))
    ahead = objective.at(theta + 1e-5 * direction).value
    behind = objective.at(theta - 1e-5 * direction).value
    point = objective.at(theta)
    slope = float(objective.descent(point) @ direction)
    assert (behind - ahead) / 2e-5 == pytest.approx(slope, abs=1e-5 * (1 + abs(point.value)))
    assert point.divergence >= -1e-12


@settings(max_examples=25, deadline=None)
@given(SETS, SEEDS, st.sampled_from([0.0, 0.5, 50.0]))
def test_the_gap_bounds_the_distance_from_the_minimum(
    sets: list[Columns], seed: int, tau: float
) -> None:
    """At every point, also far from the minimum; and it closes near it."""
    objective = objective_of(sets, seed, tau)
    start = 0.5 * np.random.default_rng(seed + 1).normal(size=objective.layout.size)
    near, _ = minimise(objective, start, most=2000, tolerance=1e-13)
    for steps in (0, 1, 5, 20):
        early, _ = minimise(objective, start, most=steps, tolerance=1e-13)
        assert early.value - near.value <= objective.gap(early) + 1e-9 * (1 + early.value)
    assert objective.gap(near) < 0.05 * (1 + near.value)


@pytest.mark.parametrize("sets", [ONE_CLIQUE, DISCONNECTED, CYCLE, [(2,)]])
def test_tables_that_agree_are_met_exactly(sets: list[Columns]) -> None:
    generator = np.random.default_rng(3)
    layout = TreeLayout(SHAPE, sets)
    observed = flat(layout, generator.dirichlet(np.full(96, 2.0)).reshape(SHAPE))
    variances = np.full(layout.size, 1e-6)
    objective = TreeObjective(layout, observed, variances, np.zeros(layout.size), 0.0)
    point, _ = minimise(objective, np.zeros(layout.size), most=1000, tolerance=1e-14)
    assert np.abs(point.marginals - observed).max() < 1e-6
    assert objective.gap(point) < 1e-2


def test_the_same_tables_give_the_same_bits_in_any_thread() -> None:
    tables = noisy(CYCLE, 1)
    once = fit(SHAPE, tables, 1000, tau=3.0)
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(lambda _: fit(SHAPE, tables, 1000, tau=3.0), range(8)):
            assert same(once, other)


def test_the_loss_is_that_of_the_released_tables() -> None:
    tables = noisy(CYCLE, 2)
    found = fit(SHAPE, tables, 1000, tau=1.0)
    assert found.quality.loss == pytest.approx(loss_of(found, tables, 1000), rel=1e-9)


def test_a_warm_fit_equals_a_cold_one_within_the_certificates() -> None:
    sets = [(0,), (1,), (2,), (3,), (4,), (0, 1), (1, 2, 3), (0, 3), (2, 4)]
    tables = noisy(sets, 4)
    before = fit(SHAPE, tables[:-3], 1000, tau=2.0)
    warm = fit(SHAPE, tables, 1000, tau=2.0, start=before.theta).quality
    cold = fit(SHAPE, tables, 1000, tau=2.0).quality
    assert abs(warm.objective - cold.objective) <= max(warm.gap, cold.gap)
    assert max(warm.gap, cold.gap) < 0.1 * cold.objective


def test_theta_is_the_same_model_when_a_table_changes_the_tree() -> None:
    tables = noisy([(0, 1), (1, 2), (2, 3)], 5)
    found = fit(SHAPE, tables, 1000, tau=1.0)
    larger = TreeLayout(SHAPE, [(0, 1), (1, 2), (2, 3), (0, 3)])
    theta = np.zeros(larger.size)
    for columns, values in found.theta.items():
        theta[larger.places[columns]] = values
    larger.propagate(theta, np.empty(larger.size))
    assert np.allclose(larger.model().marginal(range(5)), found.model.marginal(range(5)))


def test_tables_of_zeros_and_below_zero_are_fitted() -> None:
    zeros = fit(SHAPE, [NoisyTable((0, 1), np.zeros((2, 3), np.int64), 5.0)], 100, tau=1.0)
    assert np.allclose(zeros.model.marginal((0, 1)), 1 / 6)
    below = [
        NoisyTable((0, 1), np.full((2, 3), -50), 5.0),
        NoisyTable((1,), np.array([-300, 40, 500]), 5.0),
        NoisyTable((3,), np.array([-5, -6, -700, 1000]), 5.0),
    ]
    found = fit(SHAPE, below, 100, tau=0.0)
    for columns in ((0,), (1,), (3,), (0, 1, 3)):
        table = found.model.marginal(columns)
        assert np.isfinite(table).all() and table.min() >= 0 and table.sum() == pytest.approx(1)
    assert found.model.marginal((1,))[0] < 1e-3 and found.model.marginal((3,))[3] > 0.999
    assert np.isfinite(found.quality.gap)


def test_noise_that_differs_by_a_million_is_weighed() -> None:
    truth = np.random.default_rng(6).dirichlet(np.full(96, 2.0)).reshape(SHAPE)
    total = 10**7
    tables = []
    for columns, sigma in (((0, 1), 1.0), ((1, 3), 1e6), ((1,), 1e3), ((3,), 10.0)):
        counts = np.rint(total * summed(truth, columns)).astype(np.int64)
        tables.append(NoisyTable(columns, counts, sigma))
    spoiled = NoisyTable((1, 3), tables[1].counts[::-1, ::-1].copy(), 1e6)
    found = fit(SHAPE, [tables[0], spoiled, *tables[2:]], total, tau=0.0)
    for columns, allowed in (((0, 1), 1e-5), ((3,), 1e-4)):
        assert np.abs(found.model.marginal(columns) - summed(truth, columns)).max() < allowed


def test_repeated_tables_are_merged_by_their_accuracy() -> None:
    tables = [
        NoisyTable((0,), np.array([10, 20]), 1.0),
        NoisyTable((1,), np.array([5]), 3.0),
        NoisyTable((0,), np.array([20, 40]), 2.0),
    ]
    found = merged(tables)
    values, sigma = found[0,]
    assert values == pytest.approx([12, 24]) and sigma == pytest.approx((1 + 1 / 4) ** -0.5)
    assert found[1,][0] == pytest.approx([5]) and found[1,][1] == pytest.approx(3)


def test_the_pull_grows_when_columns_are_independent() -> None:
    """Two columns with noise only, and the same columns as copies of each other."""
    generator = np.random.default_rng(7)
    columns = [NoisyTable((c,), np.full(8, 1000), 20.0) for c in (0, 1)]
    pulls = {}
    for name, truth in (("apart", np.full((8, 8), 125.0)), ("copies", 1000.0 * np.eye(8))):
        noise = generator.normal(0, 20, truth.shape)
        pair = NoisyTable((0, 1), np.rint(truth + noise).astype(np.int64), 20.0)
        estimator = Estimator((8, 8), 8000)
        estimator.fit(columns)
        for _ in range(6):
            found = estimator.fit([*columns, pair], last=True)
        pulls[name] = found.quality.pull
        drawn = found.model.marginal((0, 1))
        error = 0.5 * np.abs(drawn - truth / 8000).sum()
        assert error < 0.6 * 0.5 * np.abs(noise).sum() / 8000
    assert 1 < pulls["copies"] < 100 < pulls["apart"] < 1e5
