"""Learning on tiny tables: every table, every neighbour, every outcome, with exact chances."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.audited import hockey_stick, model_of
from reference.inside import Rows, open_sealed
from reference.learning import learned
from winnow import Sealed, SealedTable
from winnow.learn.crossing.rows import labelled_table, rule_scores
from winnow.learn.rules import rules_over
from winnow.select.table import selection_named

SCHEMA = wn.Schema.parse({"a": 2, "b": {"edges": [0, 1, 2]}, "y": {"values": ["no", "yes"]}})
CELLS = list(product((0, 1), repeat=3))
Row = tuple[int, int, int]


def scores_of(rows: tuple[Row, ...], relation: str, kind: str) -> tuple[int, ...]:
    """The score of every hypothesis, by the code that a release runs."""
    columns = np.array(rows, np.int32).reshape(-1, 3).T
    held = Rows(tuple(columns), np.ones(len(rows), np.int64))
    table = SealedTable(SCHEMA, Sealed(held, "rows"), 1, wn.Relation(relation))
    rules = rules_over(kind, SCHEMA.subset(["a", "b"]))
    scores = rule_scores(labelled_table(table, "y"), rules)
    assert scores.utility == wn.Utility.declare(1, monotone=True, relation=relation)
    return tuple(open_sealed(scores.values).tolist())


def neighbours(relation: str, kind: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The score vectors of all pairs of neighbouring tables of up to three rows."""
    known: dict[Any, tuple[int, ...]] = {}

    def scored(rows: list[Row]) -> tuple[int, ...]:
        key = tuple(sorted(rows))
        if key not in known:
            known[key] = scores_of(key, relation, kind)
        return known[key]

    pairs = set()
    for rest in combinations_with_replacement(CELLS, 2):
        for added in CELLS:
            if relation == "add-remove":
                pairs.add((scored([*rest]), scored([*rest, added])))
            else:
                pairs |= {(scored([*rest, added]), scored([*rest, other])) for other in CELLS}
    return sorted(pairs | {(second, first) for first, second in pairs})


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
@pytest.mark.parametrize("kind", ["stumps", "conjunctions:2"])
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta", "thresholds"),
    [
        ("exponential", 0.8, 0.0, None),
        ("permute-and-flip", 0.8, 0.0, None),
        ("large-margin", 6.0, 0.3, "tight"),
        ("large-margin", 20.0, 0.05, "tight"),
        ("large-margin", 20.0, 0.05, "printed"),
    ],
)
def test_neighbouring_tables_are_as_close_as_promised(
    relation: str, kind: str, mechanism: str, epsilon: float, delta: float, thresholds: str | None
) -> None:
    pairs = neighbours(relation, kind)
    utility = wn.Utility.declare(1, monotone=True, relation=relation)
    first, second = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    moved = second - first
    assert moved.max() <= max(utility.up, utility.down) and moved.min() >= -1
    chosen = selection_named(mechanism, epsilon=epsilon, delta=delta, thresholds=thresholds)
    model = model_of(chosen, utility)
    p, q = (np.exp(model.rows(side)) for side in (first, second))
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    assert hockey_stick(p, q, epsilon).max() <= delta + 1e-9


@pytest.mark.parametrize(
    ("relation", "least", "most"), [("substitution", -1, 1), ("add-remove", 0, 1)]
)
def test_the_declared_interval_is_the_one_that_a_person_moves_scores_in(
    relation: str, least: int, most: int
) -> None:
    """One person moves two hypotheses to the two ends of it at once, and none further."""
    moves = [np.subtract(second, first) for first, second in neighbours(relation, "stumps")]
    if relation == "add-remove":
        moves = [move for move in moves if move.sum() >= 0]  # somebody is added
    utility = wn.Utility.declare(1, monotone=True, relation=relation)
    assert (min(m.min() for m in moves), max(m.max() for m in moves)) == (least, most)
    assert any((m.min(), m.max()) == (least, most) for m in moves)
    assert (-utility.down, utility.up) == (least, most)


@pytest.mark.slow
def test_the_released_hypothesis_follows_the_stated_law() -> None:
    """1000 seeded draws; a chi-square test that a right program fails once in 10,000 seeds."""
    from winnow.audit.fidelity import chi_square_p_value

    rows = ((0, 0, 0), (0, 1, 0), (1, 1, 1))
    columns = np.array(rows, np.int32).T
    held = Rows(tuple(columns), np.ones(3, np.int64))
    table = SealedTable(SCHEMA, Sealed(held, "rows"), 1, wn.Relation.SUBSTITUTION)
    draws = [
        learned(table, "y", method="stumps", epsilon=2, seed=seed).value.number
        for seed in range(1000)
    ]
    scores = np.array([scores_of(rows, "substitution", "stumps")])
    utility = wn.Utility.declare(1, monotone=True, relation="substitution")
    model = model_of(selection_named("permute-and-flip", epsilon=2), utility)
    expected = np.exp(model.rows(scores))[0]
    observed = np.bincount(draws, minlength=len(expected) + 1)  # and none that is impossible
    assert chi_square_p_value(observed, expected) > 1e-4
