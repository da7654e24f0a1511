"""The fit to noisy tables, against the joint table written out, a slow optimum, its certificate."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.tree_potentials import tree_tables
from winnow.fit.junction_tree import junction_tree
from winnow.fit.kernels.tree_layout import Overlaps, Scope, TreeLayout
from winnow.fit.tables import (
    Estimator,
    FitQuality,
    MeasuredTables,
    NoisyTable,
    TreeFit,
    fit,
    fit_column,
    merged,
    start_of,
)

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
BLOCKS = [Scope((0, 3), (1, 2)), Scope((3,)), Scope((3,), (2,)), Scope((1, 3)), Scope((1,), (2,))]


def scopes(sets: list[Columns]) -> list[Scope]:
    return [Scope(columns) for columns in sets]


def joint_of(layout: TreeLayout, theta: np.ndarray) -> np.ndarray:
    """The model written out, cell by cell."""
    log = np.zeros(SHAPE)
    for cell in np.ndindex(*SHAPE):
        for scope, place in layout.places.items():
            at = 0
            for c in scope.columns:
                at = at * -(-SHAPE[c] // scope.block(c)) + cell[c] // scope.block(c)
            log[cell] += theta[place][at]
    joint = np.exp(log - log.max())
    return joint / joint.sum()


def summed(joint: np.ndarray, scope: Scope) -> np.ndarray:
    table = np.einsum(joint, list(range(joint.ndim)), list(scope.columns))
    for axis, column in enumerate(scope.columns):
        firsts = np.arange(0, table.shape[axis], scope.block(column))
        table = np.add.reduceat(table, firsts, axis)
    return table


def flat(layout: TreeLayout, joint: np.ndarray) -> np.ndarray:
    """The marginals of all tables, as ``propagate`` gives them."""
    return np.concatenate([summed(joint, scope).ravel() for scope in layout.scopes])


def noisy(
    sets: list[Columns], seed: int, total: int = 1000, sigma: float = 9.0, sparse: float = 0.3
) -> list[NoisyTable]:
    """Tables of one random distribution, with noise."""
    generator = np.random.default_rng(seed)
    joint = generator.dirichlet(np.full(math.prod(SHAPE), sparse)).reshape(SHAPE)
    found = []
    for columns in sets:
        table = total * summed(joint, Scope(columns))
        counts = np.rint(table + generator.normal(0, sigma, table.shape)).astype(np.int64)
        found.append(NoisyTable(columns, counts, sigma))
    return found


def objective_of(joint: np.ndarray, tables: list[NoisyTable], total: int, tau: float) -> float:
    """F, written out: divergence from even cells, and squares."""
    held = joint[joint > 0]
    value = tau * float((held * np.log(held * joint.size)).sum())
    for table in tables:
        counts = table.counts + (total - table.counts.sum()) / table.counts.size
        away = total * summed(joint, table.scope).ravel() - counts.ravel()
        value += 0.5 * float(away @ away) / table.sigma**2
    return value


def slow_optimum(tables: list[NoisyTable], total: int, tau: float) -> float:
    """The least F over all cells, by entropic mirror descent with backtracking: slow and plain."""
    log = np.zeros(SHAPE)
    step = 1.0
    value = objective_of(np.full(SHAPE, 1 / math.prod(SHAPE)), tables, total, tau)
    for _ in range(6000):
        joint = np.exp(log - log.max())
        joint /= joint.sum()
        slope = tau * np.log(np.maximum(joint, 1e-300))
        for table in tables:
            counts = table.counts + (total - table.counts.sum()) / table.counts.size
            away = (
                total
                * (
                    total * summed(joint, table.scope)
                    - counts.reshape(-1).reshape(summed(joint, table.scope).shape)
                )
                / table.sigma**2
            )
            slope += away.reshape([SHAPE[c] if c in table.columns else 1 for c in range(5)])
        while step > 1e-12:
            ahead = log - step * (slope - slope.mean())
            there = np.exp(ahead - ahead.max())
            found = objective_of(there / there.sum(), tables, total, tau)
            if found <= value:
                break
            step /= 2
        log, value, step = ahead - ahead.max(), found, step * 1.3
    return value


def same(one: TreeFit, two: TreeFit) -> bool:
    beliefs = zip(one.model.beliefs, two.model.beliefs, strict=True)
    return one.quality == two.quality and all((a == b).all() for a, b in beliefs)


@settings(max_examples=40, deadline=None)
@given(st.one_of(SETS.map(scopes), st.just(BLOCKS)), SEEDS)
def test_marginals_equal_those_of_the_joint_table(held: list[Scope], seed: int) -> None:
    layout = TreeLayout(SHAPE, held)
    theta = 2 * np.random.default_rng(seed).normal(size=layout.size)
    _, marginals = layout.propagate(theta)
    assert np.allclose(marginals, flat(layout, joint_of(layout, theta)), atol=1e-13)
    if not any(scope.blocks for scope in held):
        potentials = [
            (c, theta[p].reshape([SHAPE[i] for i in c])) for (c, _), p in layout.places.items()
        ]
        tree = junction_tree(SHAPE, [scope.columns for scope in held])
        reference = tree_tables(tree, potentials)
        for ours, theirs in zip(layout.model().beliefs, reference.beliefs, strict=True):
            assert np.allclose(ours, theirs, atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(st.one_of(SETS.map(scopes), st.just(BLOCKS)), SEEDS)
def test_the_tangent_is_the_derivative_of_the_marginals(held: list[Scope], seed: int) -> None:
    layout = TreeLayout(SHAPE, held)
    generator = np.random.default_rng(seed)
    theta, direction = generator.normal(size=(2, layout.size))
    _, ahead = layout.propagate(theta + 1e-5 * direction)
    _, behind = layout.propagate(theta - 1e-5 * direction)
    layout.propagate(theta)
    assert np.allclose(layout.tangent(direction), (ahead - behind) / 2e-5, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(SETS, SEEDS)
def test_the_lightest_numbers_are_the_same_function_and_weigh_no_more(
    sets: list[Columns], seed: int
) -> None:
    layout = TreeLayout(SHAPE, scopes(sets))
    generator = np.random.default_rng(seed)
    variances = np.empty(layout.size)
    for place in layout.places.values():
        variances[place] = generator.uniform(0.1, 3.0)
    overlaps, x = Overlaps(layout, variances), generator.normal(size=layout.size)
    light = overlaps.lightest(x)
    assert np.allclose(joint_of(layout, light), joint_of(layout, x))
    assert (variances * light**2).sum() <= (variances * x**2).sum() * (1 + 1e-12)
    assert np.allclose(overlaps.lightest(light), light)


@pytest.mark.slow
@pytest.mark.parametrize("tau", [0.5, 5.0, 100.0])
@pytest.mark.parametrize("sets", [CYCLE, ONE_CLIQUE, [(0, 1), (1, 3), (0, 3), (2,)]])
def test_the_certificate_holds_against_a_slow_optimum(sets: list[Columns], tau: float) -> None:
    tables = noisy(sets, 3)
    best = slow_optimum(tables, 1000, tau)
    for part in (10.0, 0.5, 0.005):
        found = fit(SHAPE, tables, 1000, tau=tau, pulls=0, part=part)
        value = objective_of(found.model.marginal(range(5)), tables, 1000, tau)
        assert value - best <= found.quality.gap + 1e-6 * (1 + abs(value))
        assert found.quality.ended
    assert value <= best + 1e-3 * (1 + abs(best)) + found.quality.gap


@pytest.mark.parametrize("sets", [ONE_CLIQUE, DISCONNECTED, CYCLE, [(2,)]])
def test_tables_that_agree_are_met(sets: list[Columns]) -> None:
    joint = np.random.default_rng(3).dirichlet(np.full(96, 2.0)).reshape(SHAPE)
    tables = [NoisyTable(c, 10**6 * summed(joint, Scope(c)), 1.0) for c in sets]
    found = fit(SHAPE, tables, 10**6)
    for columns in sets:
        assert np.abs(found.model.marginal(columns) - summed(joint, Scope(columns))).max() < 1e-6


def test_the_same_tables_give_the_same_bits_in_any_thread() -> None:
    tables = noisy(CYCLE, 1)
    once = fit(SHAPE, tables, 1000)
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(lambda _: fit(SHAPE, tables, 1000), range(8)):
            assert same(once, other)


def test_the_loss_is_that_of_the_released_tables() -> None:
    tables = noisy(CYCLE, 2)
    found = fit(SHAPE, tables, 1000)
    loss = sum(
        0.5 * float(np.sum((1000 * found.model.marginal(t.columns) - t.counts) ** 2)) / t.sigma**2
        for t in tables
    )
    assert found.quality.loss == pytest.approx(loss, rel=1e-9)


def test_a_warm_fit_equals_a_cold_one_within_the_certificates() -> None:
    sets = [(0,), (1,), (2,), (3,), (4,), (0, 1), (1, 2, 3), (0, 3), (2, 4)]
    tables = noisy(sets, 4)
    before = fit(SHAPE, tables[:-3], 1000, tau=2.0, pulls=0)
    warm = fit(SHAPE, tables, 1000, tau=2.0, pulls=0, theta=before.theta).quality
    cold = fit(SHAPE, tables, 1000, tau=2.0, pulls=0).quality
    assert abs(warm.objective - cold.objective) <= max(warm.gap, cold.gap)
    assert warm.ended and cold.ended


def test_tables_of_zeros_and_below_zero_are_fitted() -> None:
    zeros = fit(SHAPE, [NoisyTable((0, 1), np.zeros((2, 3), np.int64), 5.0)], 100)
    assert np.allclose(zeros.model.marginal((0, 1)), 1 / 6)
    below = [
        NoisyTable((0, 1), np.full((2, 3), -50), 5.0),
        NoisyTable((1,), np.array([-300, 40, 500]), 5.0),
        NoisyTable((3,), np.array([-5, -6, -700, 1000]), 5.0),
    ]
    found = fit(SHAPE, below, 100)
    for columns in ((0,), (1,), (3,), (0, 1, 3)):
        table = found.model.marginal(columns)
        assert np.isfinite(table).all() and table.min() >= 0 and table.sum() == pytest.approx(1)
    assert found.model.marginal((1,))[0] < 1e-3 and found.model.marginal((3,))[3] > 0.99
    assert found.quality.ended


@pytest.mark.parametrize("sigma", [0.0, 1e-6, 0.3])
def test_noise_below_one_row_is_fitted_to_the_row(sigma: float) -> None:
    """Also where tables say that cells are empty."""
    truth = np.zeros(SHAPE)
    truth[0, 0], truth[1, 1:, :, ::2] = 10, 7
    total = int(truth.sum())
    tables = [NoisyTable(c, summed(truth, Scope(c)), sigma) for c in CYCLE]
    found = fit(SHAPE, tables, total)
    assert found.quality.ended
    for columns in CYCLE:
        away = total * found.model.marginal(columns) - summed(truth, Scope(columns))
        assert np.abs(away).max() < 0.5


def test_tables_that_contradict_each_other_end_between_them() -> None:
    one = NoisyTable((0, 1), np.array([[400, 0, 100], [0, 500, 0]]), 1.0)
    two = NoisyTable((1, 2), np.array([[0, 300], [600, 0], [0, 100]]), 1.0)
    found = fit(SHAPE, [one, two], 1000)
    assert found.quality.ended and found.quality.loss > 1000
    middle = 1000 * found.model.marginal((1,))  # between 400, 500, 100 and 300, 600, 100
    assert np.abs(middle - [350, 550, 100]).max() < 15


def test_columns_of_one_code_single_columns_and_no_tables_are_fitted() -> None:
    alone = fit((1, 3), [NoisyTable((0,), np.array([9]), 2.0)], 10)
    assert np.allclose(alone.model.marginal((0, 1)), 1 / 3)
    pair = fit((1, 3), [NoisyTable((0, 1), np.array([2, 3, 5]), 1e-3)], 10)
    assert np.allclose(pair.model.marginal((1,)), [0.2, 0.3, 0.5], atol=1e-3)
    nothing = fit((2, 3), [], 10)
    assert np.allclose(nothing.model.marginal((0, 1)), 1 / 6) and nothing.quality.ended


def test_noise_that_differs_by_a_million_is_weighed() -> None:
    truth = np.random.default_rng(6).dirichlet(np.full(96, 2.0)).reshape(SHAPE)
    total, tables = 10**7, []
    for columns, sigma in (((0, 1), 1.0), ((1, 3), 1e6), ((1,), 1e3), ((3,), 10.0)):
        counts = np.rint(total * summed(truth, Scope(columns))).astype(np.int64)
        tables.append(NoisyTable(columns, counts, sigma))
    spoiled = NoisyTable((1, 3), tables[1].counts[::-1, ::-1].copy(), 1e6)
    found = fit(SHAPE, [tables[0], spoiled, *tables[2:]], total)
    for columns, allowed in (((0, 1), 1e-5), ((3,), 1e-4)):
        away = found.model.marginal(columns) - summed(truth, Scope(columns))
        assert np.abs(away).max() < allowed


def test_repeated_tables_are_merged_by_their_accuracy() -> None:
    tables = [
        NoisyTable((0,), np.array([10, 20]), 1.0),
        NoisyTable((1,), np.array([5]), 3.0),
        NoisyTable((0,), np.array([20, 40]), 2.0),
    ]
    found = merged(tables)
    values, sigma = found[Scope((0,))]
    assert values == pytest.approx([12, 24]) and sigma == pytest.approx((1 + 1 / 4) ** -0.5)
    assert found[Scope((1,))][0] == pytest.approx([5])


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
        found = estimator.fit([*columns, pair], last=True)
        pulls[name] = found.quality.pull
        error = 0.5 * np.abs(found.model.marginal((0, 1)) - truth / 8000).sum()
        assert error < 0.6 * 0.5 * np.abs(noise).sum() / 8000
    assert 1 < pulls["copies"] < 100 < pulls["apart"] < 1e5


def test_one_column_alone_is_drawn_to_even_codes_by_noise_only() -> None:
    truth = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
    assert np.abs(fit_column(truth, 1e-6) - truth).max() < 1e-5
    drawn = fit_column(truth, 1.0)
    assert drawn.max() < 0.45 and drawn.min() > 0.05


def test_a_fit_out_of_work_says_so() -> None:
    tables = noisy(CYCLE, 5, total=10**6, sigma=0.5, sparse=0.02)
    short = fit(SHAPE, tables, 10**6, work=1).quality
    assert not short.ended and "ran out of work" in short.note
    assert not fit(SHAPE, tables, 10**6).quality.note
    far = FitQuality(1.0, 1.0, 0.0, 1.0, 1, 1.0, distance=0.02, noise=0.001)
    assert "too small" in far.note and not FitQuality(1.0, 1.0, 0.0, 1.0, 1, 1.0, 0.001, 0.001).note


# -- more accurate tables, a better model ------------------------------------------------------


def correlated(generator: np.random.Generator) -> np.ndarray:
    """Codes of six columns: some are functions of others, and many combinations do not occur."""
    rows = 20_000
    age = generator.choice(12, rows, p=generator.dirichlet(np.full(12, 2.0)))
    school = np.where(age < 3, 0, 1 + generator.integers(0, 7, rows) * (age > 5))
    work = np.where(school == 0, 0, generator.integers(0, 5, rows) * (age < 10))
    house = (age + generator.integers(0, 2, rows)) % 4
    return np.stack([age, school, work, house, work > 2, age // 3], 1).astype(np.int64)


def independent(generator: np.random.Generator) -> np.ndarray:
    sizes = (12, 8, 5, 4, 2, 4)
    columns = [generator.choice(k, 20_000, p=generator.dirichlet(np.ones(k))) for k in sizes]
    return np.stack(columns, 1)


@pytest.mark.slow
@pytest.mark.parametrize("family", [correlated, independent])
def test_less_noise_never_makes_the_model_worse(family: object) -> None:
    """Each tenth of the noise leaves at most half of the error: five draws, all pairs.

    A tenth of the noise would have a tenth of the error but for the pull. Seeds are fixed, so that
    nothing is left to chance.
    """
    codes = family(np.random.default_rng(1))  # type: ignore[operator]
    sizes, total = (12, 8, 5, 4, 2, 4), len(codes)
    truth = {}
    for pair in itertools.combinations(range(6), 2):
        place = np.ravel_multi_index(codes[:, pair].T, [sizes[c] for c in pair])
        truth[pair] = np.bincount(place, minlength=sizes[pair[0]] * sizes[pair[1]])
    singles = {(c,): np.bincount(codes[:, c], minlength=sizes[c]) for c in range(6)}
    before = math.inf
    for sigma in (100.0, 10.0, 1.0):
        errors = []
        for seed in range(5):
            generator = np.random.default_rng(seed)
            tables = [
                NoisyTable(c, t + np.rint(generator.normal(0, sigma, t.size)), sigma)
                for c, t in (singles | truth).items()
            ]
            start = start_of(tables[:6], total)
            found = fit(sizes, tables, total, start=start)
            assert found.quality.ended
            errors += [
                0.5 * np.abs(found.model.marginal(c).ravel() - t / total).sum()
                for c, t in truth.items()
            ]
        assert np.mean(errors) < 0.5 * before
        before = float(np.mean(errors))


def test_what_tables_contradict_each_other_in_is_no_part_of_what_is_minimised() -> None:
    tables = noisy(CYCLE, 8)
    measured = MeasuredTables(SHAPE, tables, 1000, {})
    found = fit(SHAPE, tables, 1000, tau=1.0, pulls=0)
    whole = objective_of(found.model.marginal(range(5)), tables, 1000, 1.0)
    sums = sum(0.5 * (1000 - t.counts.sum()) ** 2 / t.counts.size / t.sigma**2 for t in tables)
    assert found.quality.objective + measured.loose == pytest.approx(whole + sums, rel=1e-9)
