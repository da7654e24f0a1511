"""Estimates, standard errors, intervals and predictions, on made-up tables with fixed seeds.

Every statistical check states what it allows; with other seeds it would fail with a
probability below 10^-6.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats
from tables_made_up import people, sealed

import winnow as wn
from reference.inside import Tape, discrete_gaussian_array, discrete_laplace_array
from winnow import Relation
from winnow.release.tables.audit import table_matrix
from winnow.release.tables.choice import precisions
from winnow.release.tables.column_matrix import ColumnMatrix
from winnow.release.tables.estimates import Layer, layer_of
from winnow.release.tables.parts import tables_workload
from winnow.release.tables.result import ReleasedTables
from winnow.release.tables.settings import TablesSettings, tables_settings
from winnow.release.tables.trees import Tree
from winnow.release.terms import ReleaseTerms

DRAWS = 400

CASES = {
    "pairs, gaussian": ((3, 4, 2), wn.marginals(2), 1e-6, "substitution"),
    "pairs, laplace": ((3, 4, 2), wn.marginals(2), 0.0, "add-remove"),
    "one table": ((5, 5), ["c0", "c1"], 0.0, "substitution"),
    "prefixes, gaussian": ((30,), wn.prefixes("c0"), 1e-6, "add-remove"),
    "ranges, laplace": ((40,), wn.ranges("c0", 60), 0.0, "substitution"),
    "ranges and a pair": ((20, 3), wn.ranges("c0", 40) + wn.marginals(2), 1e-6, "substitution"),
    "prefixes times a table": (
        (12, 3, 2),
        wn.prefixes("c0") * wn.marginals(["c2"]) + wn.marginals(2),
        1e-6,
        "add-remove",
    ),
    "prefixes times ranges": (
        (2, 7, 6),
        wn.marginals("c0") * wn.prefixes("c2") * wn.ranges("c1", 9),
        1e-6,
        "substitution",
    ),
    "prefixes times a table, laplace": (
        (32, 3),
        wn.prefixes("c0") * wn.marginals("c1"),
        0.0,
        "add-remove",
    ),
}


def planned(name: str, epsilon: float = 0.5) -> tuple[tuple[int, ...], TablesSettings]:
    shape, by, delta, relation = CASES[name]
    schema = wn.Schema.parse({f"c{i}": size for i, size in enumerate(shape)})
    known = 3_000 if relation == "substitution" else None
    workload = tables_workload(schema, by, "4GB")
    return shape, tables_settings(
        ReleaseTerms(workload, epsilon, delta, Relation(relation), total=known)
    )


@cache
def draws(name: str) -> tuple[tuple[int, ...], TablesSettings, list[Layer], np.ndarray]:
    """Layers of many draws of the noise on one made-up population."""
    shape, plan = planned(name)
    strategy = plan.strategy
    truth = people(shape)
    noisy = []
    for number, each in enumerate(strategy.mechanism.measured):
        true = (table_matrix(strategy.mechanism, each, shape) @ truth).astype(np.int64)
        tape = Tape.seeded(11).child(f"{name} {number}")
        draw = (
            discrete_gaussian_array if strategy.mechanism.law == "gaussian" else
            discrete_laplace_array
        )  # fmt: skip
        noise = draw(tape, DRAWS * true.size, each.noise).reshape(DRAWS, true.size)
        trees = strategy.geometry.trees
        form = [trees[c].places(level) for c, level in each.table.place]
        noisy.append((true + noise).reshape(DRAWS, *form))
    layers = [
        layer_of(strategy.geometry, strategy.mechanism, [each[i] for each in noisy],
                 total=plan.total)
        for i in range(DRAWS)
    ]  # fmt: skip
    return shape, plan, layers, truth


def true_answers(shape: tuple[int, ...], truth: np.ndarray, part) -> np.ndarray:
    rest = tuple(i for i in range(len(shape)) if i not in part.columns)
    table = truth.reshape(shape).sum(axis=rest)
    order = sorted(part.columns)
    return answers_of(part, np.transpose(table, [order.index(c) for c in part.columns]))


def answers_of(part, table: np.ndarray) -> np.ndarray:
    """The answers of a part of a table of its cells, range by range; axes before are kept."""
    for place, axis in enumerate(part.axes, table.ndim - len(part.columns)):
        if axis is not None:
            pairs = zip(axis.starts, axis.stops, strict=True)
            sums = [np.moveaxis(table, place, 0)[a:b].sum(axis=0) for a, b in pairs]
            table = np.moveaxis(np.array(sums), 0, place)
    return table


def errors(name: str) -> list[np.ndarray]:
    shape, plan, layers, truth = draws(name)
    return [
        np.array([layer.estimate(part) - true_answers(shape, truth, part) for layer in layers])
        for part in plan.parts
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_errors_have_mean_zero_and_the_stated_deviation(name: str) -> None:
    _, _plan, layers, _ = draws(name)
    for place, found in enumerate(errors(name)):
        deviation = layers[0].deviation(place)
        scaled = found / np.where(deviation > 0, deviation, 1)
        assert np.abs(found[:, deviation == 0]).max(initial=0) < 1e-6
        assert np.abs(scaled.mean(axis=0)).max() < 6 / math.sqrt(DRAWS)
        # kurtosis up to 6 for Laplace noise: a variance is off by sqrt(5/DRAWS) at most
        spread = scaled[:, deviation > 0].var(axis=0)
        assert np.abs(spread - 1).max(initial=0) < 6.5 * math.sqrt(5 / DRAWS)
        assert abs(spread.mean() - 1) < 0.2


@pytest.mark.parametrize(
    "name",
    [
        "pairs, gaussian",
        "prefixes, gaussian",
        "ranges and a pair",
        "prefixes times a table",
        "prefixes times ranges",
    ],
)
def test_squares_in_every_subspace_follow_the_chi_square_law(name: str) -> None:
    shape, plan, layers, truth = draws(name)
    geometry = plan.strategy.geometry
    exact = layer_of(
        geometry,
        plan.strategy.mechanism,
        [
            (table_matrix(plan.strategy.mechanism, each, shape) @ truth).reshape(
                [geometry.trees[c].places(x) for c, x in each.table.place]
            )
            for each in plan.strategy.mechanism.measured
        ],
        total=plan.total,
    )
    for space in geometry.spaces:
        if math.isinf(layers[0].precision[space]):
            continue
        unit = math.prod(unit_of(geometry.trees[c], level) for c, level in space)
        free = math.prod(free_in(geometry.trees[c], level) for c, level in space)
        squares = [
            float(((layer.details[space] - exact.details[space]) ** 2).sum())
            * layer.precision[space] / unit
            for layer in layers
        ]  # fmt: skip
        assert stats.kstest(squares, stats.chi2(free).cdf).pvalue > 1e-7, space


def unit_of(basis: Tree | ColumnMatrix, level: int) -> float:
    """The squared length of a coordinate of the details."""
    return basis.blocks[level] if isinstance(basis, Tree) else basis.scale(level)


def free_in(basis: Tree | ColumnMatrix, level: int) -> int:
    """The dimensions of the details of a level."""
    if not isinstance(basis, Tree):
        return basis.places(level)
    return basis.padded // basis.blocks[level + 1] * (basis.radices[level] - 1)


@pytest.mark.parametrize("name", ["pairs, gaussian", "pairs, laplace", "ranges and a pair"])
def test_overlapping_tables_agree(name: str) -> None:
    _, plan, layers, _ = draws(name)
    layer = layers[0]
    tables = [(part, layer.cells(part)) for part in plan.parts]
    for one, a in tables:
        for other, b in tables:
            common = [c for c in one.columns if c in other.columns]
            sums = [
                table.sum(axis=tuple(i for i, c in enumerate(part.columns) if c not in common))
                for part, table in ((one, a), (other, b))
            ]
            assert np.abs(sums[0] - sums[1]).max() < 1e-6
    if plan.total is not None:
        assert abs(tables[0][1].sum() - plan.total) < 1e-6


@pytest.mark.parametrize("name", CASES)
def test_the_largest_error_is_predicted_from_above_and_beats_plain_noise(name: str) -> None:
    _, plan, _, _ = draws(name)
    found = [each.reshape(DRAWS, -1) for each in errors(name)]
    every = np.abs(np.concatenate(found, axis=1))
    predicted = plan.strategy.errors
    assert np.median(every.max(axis=1)) <= 1.05 * predicted.largest
    assert every.mean() <= 1.05 * predicted.mean
    plain = np.abs(plain_errors(plan))
    assert np.median(every.max(axis=1)) <= 1.05 * np.median(plain.max(axis=1))
    assert every.mean() <= 1.05 * plain.mean()


def plain_errors(plan: TablesSettings) -> np.ndarray:
    """Draws of noise on every cell of every table, added up in ranges."""
    rng, found = np.random.default_rng(8), []
    noise = {each.table.place: float(each.noise) for each in plan.plain.mechanism.measured}
    for part in plan.parts:
        size = noise[tuple((column, 0) for column in sorted(part.columns))]
        cells = math.prod(part.schema.shape[column] for column in part.columns)
        if plan.plain.mechanism.law == "gaussian":
            drawn = rng.normal(0, math.sqrt(size), (DRAWS, cells))
        else:
            drawn = rng.laplace(0, size, (DRAWS, cells))
        sizes = [part.schema.shape[column] for column in part.columns]
        found.append(answers_of(part, drawn.reshape(DRAWS, *sizes)).reshape(DRAWS, -1))
    return np.concatenate(found, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_intervals_cover_as_stated(name: str, level: float) -> None:
    shape, plan, layers, truth = draws(name)
    law = plan.strategy.mechanism.law
    together = np.zeros(DRAWS)
    each, answers = 0, 0
    for draw, layer in enumerate(layers):
        table = ReleasedTables(plan.parts, (layer,), law).tables[0]
        true = true_answers(shape, truth, plan.parts[0])
        low, high = table.interval(level)
        each += int(((low <= true + 1e-6) & (true - 1e-6 <= high)).sum())
        answers += true.size
        low, high = table.interval(level, simultaneous=True)
        together[draw] = ((low <= true + 1e-6) & (true - 1e-6 <= high)).all()
    missed = 1 - level
    # answers of one draw depend on each other, so draws are what is counted
    assert each / answers >= level - 5 * math.sqrt(missed / DRAWS)
    assert together.mean() >= level - 5 * math.sqrt(level * missed / DRAWS)
    if law == "gaussian":
        assert each / answers <= level + 5 * math.sqrt(missed / DRAWS) + 0.03


GRID = [
    (shape, by, relation, rows)
    for shape, by in (
        ((5, 5), [["c0", "c1"]]),
        ((2, 2), wn.marginals([1, 2])),
        ((2, 50), wn.marginals([1, 2])),
        ((3, 4, 2, 6), wn.marginals(2)),
        ((2,) * 6, wn.marginals(3)),
        ((7, 7, 7), wn.marginals([1, 3])),
        ((64,), wn.prefixes("c0")),
        ((33,), wn.ranges("c0")),
        ((12, 5), wn.prefixes("c0") + wn.marginals(2)),
    )
    for relation, rows in (("substitution", 1), ("substitution", 3), ("add-remove", 1))
]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("objective", ["balanced", "mean", "max"])
def test_nothing_is_chosen_that_is_predicted_worse_than_plain_noise(
    epsilon: float, delta: float, objective: str
) -> None:
    for shape, by, relation, rows in (
        GRID if objective == "balanced" and epsilon == 1 else GRID[1::4]
    ):
        schema = wn.Schema.parse({f"c{i}": size for i, size in enumerate(shape)})
        known = relation == "substitution" and rows == 1
        workload = tables_workload(schema, by, "4GB")
        total = 100 if known else None
        terms = ReleaseTerms(workload, epsilon, delta, Relation(relation), rows, total)
        plan = tables_settings(terms, objective=objective)
        taken, plain = plan.strategy.errors, plan.plain.errors
        if objective != "mean":
            assert taken.largest <= plain.largest * (1 + 1e-9), (shape, relation, rows)
        if objective == "mean":
            assert taken.rms <= plain.rms * (1 + 1e-9), (shape, relation, rows)
        if objective == "balanced":
            assert taken.mean <= plain.mean * (1 + 1e-9), (shape, relation, rows)
        assert plan.guarantee.epsilon <= epsilon


def test_pure_prefixes_and_ranges_beat_the_hierarchy_of_fanout_16() -> None:
    for size, by in ((4096, wn.prefixes("c0")), (4096, wn.ranges("c0", 2_000)),
                     (1000, wn.ranges("c0", 2_000))):  # fmt: skip
        schema = wn.Schema.parse({"c0": size})
        plan = tables_settings(ReleaseTerms(by.over(schema), 1.0, relation=Relation.ADD_REMOVE))
        assert plan.strategy.errors.rms <= 1.001 * _sixteen(plan, size)


def _sixteen(plan: TablesSettings, size: int) -> float:
    """Root mean square error of equal noise on all levels, with consistency."""
    from fractions import Fraction

    from winnow.release.tables.measured import NoisyForm, TableForm
    from winnow.release.tables.mechanism import MeasureTables
    from winnow.release.tables.strategy import Geometry
    from winnow.release.tables.trees import Tree

    radices = []
    while math.prod(radices) < size:
        radices.append(min(16, -(-size // math.prod(radices))))
    tree = Tree(size, tuple(radices))
    geometry = Geometry(plan.parts, {0: tree})
    measured = tuple(
        NoisyForm(TableForm(((0, level),), False), Fraction(tree.levels))
        for level in range(tree.levels)
    )
    mechanism = MeasureTables(((0, tree),), measured, "laplace")
    precision = precisions(geometry, mechanism, total_public=False)
    return float(np.sqrt(geometry.variance(0, precision).mean()))


def test_released_errors_are_those_of_the_plan() -> None:
    table = sealed((5, 6), people((5, 6)))
    released = wn.tabulate(table, wn.marginals([1, 2]), epsilon=1.0, delta=1e-6, seed=3)
    plan = wn.plan.tabulate(table, wn.marginals([1, 2]), epsilon=1.0, delta=1e-6)
    for row, found in zip(plan.rows, released.value, strict=True):
        rms = math.sqrt(float((found.standard_error**2).mean()))
        assert rms == pytest.approx(row.standard_error)


def test_one_joint_table_serves_for_many_small_ones() -> None:
    shape = (2,) * 7
    counts = people(shape)
    plan = wn.plan.tabulate(sealed(shape, counts), wn.marginals(3), epsilon=1.0)
    rows = {each.strategy: each for each in plan.compared}
    assert plan.error <= rows["joint cells, laplace noise"].largest * (1 + 1e-9)
    assert plan.error < 0.5 * rows["cells, laplace noise"].largest
    released = wn.tabulate(sealed(shape, counts), wn.marginals(3), epsilon=1.0, seed=1)
    assert released.guarantee.epsilon <= 1 and released.guarantee.delta == 0
    first, second = released.value.tables[:2]  # c0 c1 c2 and c0 c1 c3
    assert np.allclose(first.estimate.sum(axis=2), second.estimate.sum(axis=2))
    truth = counts.reshape(shape).sum(axis=(3, 4, 5, 6))
    assert np.abs(first.estimate - truth).max() < 4 * plan.error  # false alarms below 1e-6


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-6), (1e-6, 1e-9), (1e-4, 1e-9)])
def test_no_more_is_stated_than_was_asked_at_small_epsilons(
    epsilon: float, delta: float, relation: Relation
) -> None:
    """There epsilon is stated from a difference of nearly equal tails, each rounded up."""
    for shape in ((2,), (3, 4, 2), (2,) * 10, (2,) * 100):
        schema = wn.Schema.parse({f"c{i}": size for i, size in enumerate(shape)})
        for rows in (1, 3):
            known = 50 if relation is Relation.SUBSTITUTION and rows == 1 else None
            single = wn.marginals(1).over(schema)
            plan = tables_settings(ReleaseTerms(single, epsilon, delta, relation, rows, known))
            assert plan.guarantee.epsilon <= epsilon and plan.guarantee.delta <= delta


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_columns_of_one_code_tell_the_number_of_rows_only(delta: float) -> None:
    for shape in ((1,), (1, 1), (1, 2)):
        for relation in Relation:
            table = sealed(shape, people(shape), relation=str(relation))
            found = wn.tabulate(table, wn.marginals(1), epsilon=1, delta=delta, seed=1).value
            first = found.tables[0].estimate
            if relation is Relation.SUBSTITUTION:
                assert first == pytest.approx(people(shape).sum())
            wn.release(table, wn.marginals(1), epsilon=1, delta=delta, seed=1)
