"""Junction trees and their tables, against the joint table written out."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.tree_potentials import tree_tables
from winnow.fit.junction_tree import JunctionTree, junction_tree, tree_cells
from winnow.fit.kernels.tree_tables import TreeTables
from winnow.release.graphical.kernels.elimination import within

SHAPE = (2, 3, 2, 4, 2)
SETS = st.lists(
    st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True).map(tuple), max_size=5
)


def random_model(sets: list[tuple[int, ...]], seed: int) -> tuple[TreeTables, np.ndarray]:
    """A model with random potentials, and its joint table."""
    generator = np.random.default_rng(seed)
    potentials = [(c, 2 * generator.normal(size=[SHAPE[i] for i in c])) for c in sets]
    log = np.zeros(SHAPE)
    for columns, values in potentials:
        order = np.argsort(columns)
        shape = [SHAPE[i] if i in columns else 1 for i in range(5)]
        log += np.transpose(values, order).reshape(shape)
    joint = np.exp(log)
    return tree_tables(junction_tree(SHAPE, sets), potentials), joint / joint.sum()


def summed(joint: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
    return np.einsum(joint, list(range(5)), list(columns))


@given(SETS)
def test_cliques_hold_every_set_and_the_cliques_of_a_column_hang_together(
    sets: list[tuple[int, ...]],
) -> None:
    tree = junction_tree(SHAPE, sets)
    for each in sets:
        assert any(set(each) <= set(clique) for clique in tree.cliques)
    assert {c for clique in tree.cliques for c in clique} == set(range(5))
    for column in range(5):
        holding = [i for i, clique in enumerate(tree.cliques) if column in clique]
        without_parent = [
            i for i in holding if tree.parents[i] < 0 or column not in tree.separators[i]
        ]
        assert without_parent == [tree.tops[column]]
    assert tree.cells == tree_cells(SHAPE, sets)
    assert all(parent < place for place, parent in enumerate(tree.parents))


@given(SETS, SETS, st.integers(1, 200))
def test_what_fits_is_decided_as_by_the_tree_itself(
    held: list[tuple[int, ...]], more: list[tuple[int, ...]], most: int
) -> None:
    cells = [tree_cells(SHAPE, [*held, each]) for each in more]
    for bound in (most, *cells):
        assert within(SHAPE, held, more, bound).tolist() == [size <= bound for size in cells]


def test_a_model_of_more_cells_than_floats_count_does_not_fit() -> None:
    everything = tuple(range(400))
    assert within((40,) * 400, [], [everything, (0, 1)], 10**6).tolist() == [False, True]


def test_a_cycle_is_triangulated_through_the_smallest_tables() -> None:
    square = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert tree_cells((10, 2, 10, 2), square) == 2 * 10 * 2 * 2
    assert tree_cells((5, 5), []) == 10
    assert tree_cells((5, 5), [(0, 1)]) == 25


@settings(max_examples=60, deadline=None)
@given(SETS, st.integers(0, 1000))
def test_every_marginal_equals_that_of_the_joint_table(
    sets: list[tuple[int, ...]], seed: int
) -> None:
    model, joint = random_model(sets, seed)
    for ways in (1, 2, 3):
        for columns in combinations(range(5), ways):
            turned = columns[::-1]
            assert np.allclose(model.marginal(turned), summed(joint, turned), atol=1e-12)
    assert np.allclose(model.marginal(range(5)), joint, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(SETS, st.integers(0, 1000))
def test_product_sets_have_the_probability_of_the_joint_table(
    sets: list[tuple[int, ...]], seed: int
) -> None:
    model, joint = random_model(sets, seed)
    generator = np.random.default_rng(seed + 1)
    masks = {c: generator.integers(0, 2, SHAPE[c]).astype(bool) for c in (0, 3, 4)}
    inside = joint
    for column, mask in masks.items():
        inside = np.compress(mask, inside, axis=column)
    assert math.isclose(model.probability(masks), inside.sum(), abs_tol=1e-12)
    assert math.isclose(model.probability({}), 1.0, rel_tol=1e-12)


def test_rows_are_drawn_from_the_model() -> None:
    """Chi-square over 96 cells, 20,000 rows; the seed is fixed, false alarm 1e-6."""
    from scipy.stats import chi2

    model, joint = random_model([(0, 1), (1, 3), (2, 3), (3, 4)], 7)
    generator = np.random.default_rng(8)
    rows = 20_000
    codes = model.draw([generator.random(rows) for _ in model.tree.cliques])
    observed = np.bincount(np.ravel_multi_index(codes, SHAPE), minlength=joint.size)
    expected = rows * joint.ravel()
    few = expected < 5
    pairs = [(observed[~few], expected[~few]), ([observed[few].sum()], [expected[few].sum()])]
    statistic = sum(float(np.sum((np.array(o) - e) ** 2 / np.maximum(e, 1e-9))) for o, e in pairs)
    assert statistic < chi2.ppf(1 - 1e-6, int((~few).sum()))


def test_cells_of_probability_zero_are_never_drawn() -> None:
    tree = JunctionTree((3, 2), ((0, 1),), (-1,))
    belief = np.array([[0.0, 0.5], [0.0, 0.0], [0.5, 0.0]])
    model = TreeTables(tree, (belief,))
    ends = np.array([0.0, 0.25, 0.49999999, 0.5, 0.75, 1 - 2.0**-53])
    assert model.draw([ends]).T.tolist() == [[0, 1]] * 3 + [[2, 0]] * 3


def test_a_hundred_columns_have_tables() -> None:
    shape, generator = (2,) * 100, np.random.default_rng(5)
    sets = [(i, i + 1) for i in range(99)]
    potentials = [(s, generator.normal(size=(2, 2))) for s in sets]
    model = tree_tables(junction_tree(shape, sets), potentials)
    across = model.marginal((3, 97))
    assert across.sum(axis=0) == pytest.approx(model.marginal((97,)).ravel())
    assert across.sum(axis=1) == pytest.approx(model.marginal((3,)).ravel())


def test_far_potentials_do_not_overflow() -> None:
    tree = junction_tree((2, 2), [(0, 1)])
    model = tree_tables(tree, [((0, 1), np.array([[1e4, -1e4], [0.0, 1e4]]))])
    assert model.marginal((0,)) == pytest.approx([0.5, 0.5])
