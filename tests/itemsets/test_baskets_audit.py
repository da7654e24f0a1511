"""Itemset selection audited on baskets: what a person can do to them, and honest twins."""

import numpy as np
import pytest

from reference.audited import Case, Declared
from winnow import Relation
from winnow.itemsets.about import items_moved
from winnow.itemsets.audit.claims import ONE, REPLACED, TWO, baskets_enumerated, enumerate_baskets
from winnow.itemsets.audit.model import HELD, baskets_of, broken_on_baskets, neighbours
from winnow.itemsets.kernels.mine import ItemsetRanks


def test_every_selection_on_baskets_keeps_its_promise_under_every_relation() -> None:
    results = list(baskets_enumerated())
    assert [result for result in results if not result.passed] == []
    assert {result.relation for result in results} == {*map(str, Relation), "both"}


@pytest.mark.parametrize(("declared", "rows"), [(ONE, 1), (TWO, 2), (REPLACED, 1)])
def test_a_person_moves_supports_as_far_and_as_many_as_declared(
    declared: Declared, rows: int
) -> None:
    one, other = (side @ HELD for side in neighbours(declared, 4))
    moves = other - one
    assert (-moves.min(), moves.max()) == (declared.utility.down, declared.utility.up)
    raised = np.maximum(moves, 0).sum(axis=1).max()
    assert raised == items_moved(3, 2, rows)


def test_the_audited_baskets_have_the_supports_of_the_model() -> None:
    numbers = np.array([3, 1, 0, 2])
    ranked = ItemsetRanks(baskets_of(numbers), 2, known_items=True)
    supports = [ranked.support(pair) for pair in ((0, 1), (0, 2), (1, 2))]
    assert supports == (numbers @ HELD).tolist() == [5, 3, 2]


@pytest.mark.parametrize("twin", broken_on_baskets(), ids=lambda twin: twin.fault)
def test_only_the_broken_twin_fails(twin) -> None:
    honest = enumerate_baskets(Case(twin.honest, twin.declared), quick=True)
    broken = enumerate_baskets(Case(twin.broken, twin.declared), quick=True)
    assert honest.passed and not broken.passed
