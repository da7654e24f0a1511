"""What one person moves, enumerated in exact numbers, against what is charged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

import winnow as wn
from reference.inside import Tape
from reference.running import paid_key, released
from winnow import Relation
from winnow.privacy import pure_cost, single_use_grant
from winnow.release.tables.audit import (
    TWINS,
    cases,
    enumerate_tables,
    enumerated_size,
    moves,
    residual_tables,
    table_matrix,
    tables_enumerated,
    tables_faithful,
    tables_twins,
)
from winnow.release.tables.measured import NoisyForm, SummedColumn, TableForm
from winnow.release.tables.mechanism import MeasureTables
from winnow.release.tables.parts import tables_workload
from winnow.release.tables.sensitivity import MOST_WAYS, squared_pair, total_single
from winnow.release.tables.settings import tables_settings
from winnow.release.tables.trees import Tree, candidates, flat
from winnow.release.terms import ReleaseTerms

WORKLOADS = {
    "two binary columns": ((2, 2), wn.marginals(1) + wn.marginals(2), ()),
    "one table": ((3, 2), ["c0", "c1"], ()),
    "all pairs of three columns": ((2, 3, 2), wn.marginals(2), ()),
    "three binary columns": ((2, 2, 2), wn.marginals([1, 2, 3]), ()),
    "prefixes": ((9,), wn.prefixes("c0"), ()),
    "ranges and a pair": ((6, 2), wn.ranges("c0") + wn.marginals(2), ()),
    "prefixes times a table": ((5, 2), wn.prefixes("c0") * wn.marginals("c1"), ()),
    "prefixes times ranges": ((4, 3), wn.prefixes("c0") * wn.ranges("c1") + wn.marginals(2), ()),
    "sums": ((2, 2, 3), [["c0"], ["c0", "c1"]], ("c2",)),
    "a column of one code": ((1, 3), ["c0", "c1"], ()),
}


def planned(name: str, relation: str, rows: int, delta: float):
    shape, by, values = WORKLOADS[name]
    schema = wn.Schema.parse({f"c{i}": size for i, size in enumerate(shape)})
    known = relation == "substitution" and rows == 1
    workload = tables_workload(schema, by, "4GB")
    terms = ReleaseTerms(workload, 0.7, delta, Relation(relation), rows, 5 if known else None)
    return shape, tables_settings(terms, values=values)


SEVERAL = ("two binary columns", "one table", "sums", "prefixes", "prefixes times a table")


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
@pytest.mark.parametrize(
    ("name", "rows"), [*((name, 1) for name in WORKLOADS), *((name, 2) for name in SEVERAL)]
)
def test_charged_is_what_enumeration_finds_for_every_strategy(
    name: str, rows: int, relation: str
) -> None:
    shape, plan = planned(name, relation, rows, 1e-6)
    for strategy in plan.strategies:
        mechanism = strategy.mechanism
        found = moves(mechanism, shape, Relation(relation))
        largest = max(enumerated_size(mechanism, moved) for moved in found)
        charged = mechanism.size(Relation(relation))
        # a matrix is charged for two rows with the largest norm and the least product at once
        loose = Fraction(1, 10) if "matrices" in strategy.name else Fraction(1, 10**6)
        assert largest <= charged <= largest * (1 + loose), strategy.name


def test_a_replaced_person_may_bring_another_number_of_rows() -> None:
    total = (NoisyForm(TableForm((), True), Fraction(7)),)
    mechanism = MeasureTables((), total, rows_per_person=3)
    assert mechanism.size(Relation.SUBSTITUTION) >= Fraction(9, 7)
    assert mechanism.size(Relation.ADD_REMOVE) >= Fraction(9, 7)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_sums_of_several_units_are_charged_as_far_as_they_move(
    law: str, rows: int, relation: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where there are too many ways to look at, and each table has its own worst case."""
    values = SummedColumn(1, (-3, 1, 3))
    tables = (
        NoisyForm(TableForm(((0, 0),), False, 3, signed=True), Fraction(20), 0),
        NoisyForm(TableForm((), False, 3, signed=True), Fraction(5), 0),
        NoisyForm(TableForm(((0, 0),), False), Fraction(2)),
    )
    mechanism = MeasureTables(((0, flat(2)),), tables, law, (values,), rows)
    largest = max(enumerated_size(mechanism, m) for m in moves(mechanism, (2, 3), relation))
    assert largest <= mechanism.size(relation)
    monkeypatch.setattr(import_module("winnow.release.tables.sensitivity"), "MOST_WAYS", 0)
    assert largest <= mechanism.size(relation) < 2 * largest
    each = replace(mechanism, measured=tables[1:2])  # the sum of all rows, by itself
    largest = max(enumerated_size(each, m) for m in moves(each, (2, 3), relation))
    assert largest <= each.size(relation)


def test_noise_for_fewer_rows_of_a_person_is_refused_before_the_grant() -> None:
    from tables_made_up import people, sealed

    mechanism = residual_tables()
    several = sealed((2, 2), people((2, 2)), rows_per_person=2)
    grant = single_use_grant(mechanism.promise(several.relation).event)
    with pytest.raises(wn.ParameterError, match="up to 2 rows"):
        released(mechanism, several, grant, Tape.seeded(1))
    assert not grant.used


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_crossing_moves_exactly_as_the_matrices_say(law: str) -> None:
    from tables_made_up import people, sealed

    shape = (3, 6, 2)
    trees = ((0, flat(3)), (1, Tree(6, (2, 3))), (2, flat(2)))
    places = ((), ((1, 0),), ((1, 1),), ((0, 0), (1, 1)), ((0, 0), (1, 0), (2, 0)))
    kinds = [False, True] if law == "gaussian" else [False]
    measured = [NoisyForm(TableForm(p, kind), Fraction(40)) for p in places for kind in kinds]
    values = SummedColumn(2, (-3, 3))
    measured += [NoisyForm(TableForm(((0, 0),), False, 3, signed=True), Fraction(40), 0)]
    mechanism = MeasureTables(trees, tuple(measured), law, (values,))
    one, other = people(shape), people(shape, seed=6)

    def drawn(histogram: np.ndarray) -> tuple[np.ndarray, ...]:
        table = sealed(shape, histogram)
        return mechanism.drawn(table, paid_key(mechanism, table.relation, 3))

    for each, a, b in zip(mechanism.measured, drawn(one), drawn(other), strict=True):
        expected = table_matrix(mechanism, each, shape) @ (one - other)
        assert ((a - b).ravel() == expected.ravel()).all()  # the noise is the same


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 17, 100, 257, 4096])
def test_trees_cover_their_column_with_few_codes_too_many(size: int) -> None:
    for tree in candidates(size):
        assert tree.size == size <= tree.padded <= 2 * size
        assert all(r >= 2 for r in tree.radices)


def test_more_ways_than_are_looked_at_are_bounded_from_above() -> None:
    trees = {column: flat(3) for column in range(6)}
    tables = [TableForm(((a, 0), (b, 0)), True) for a in range(6) for b in range(a)]
    tables += [TableForm(((a, 0),), True) for a in range(6)]
    weights = np.linspace(0.1, 1, len(tables))
    exactly = squared_pair(tables, trees, weights)
    wide = trees | {column: flat(2) for column in range(6, 40)}
    more = [*tables, *(TableForm(((column, 0),), True) for column in range(6, 40))]
    assert 2 ** (len(wide)) > MOST_WAYS
    bound = squared_pair(more, wide, np.append(weights, np.full(34, 1e-12)))
    assert exactly <= bound <= exactly * Fraction(3, 2)


def test_audits_hold_and_catch_their_twins() -> None:
    results = [
        *tables_enumerated(),
        *tables_faithful(quick=True, seed=1),
        *tables_twins(quick=True, seed=1),
    ]
    assert [r.claim for r in results if not r.passed] == []
    assert sum(r.kind == "twin" for r in results) == 4


@pytest.mark.parametrize("fault", [fault for fault, _, _ in TWINS])
def test_a_wrong_price_is_caught_though_the_noise_is_right(fault: str) -> None:
    charged, variances = next((c, v) for f, c, v in TWINS if f == fault)
    broken = enumerate_tables(
        "broken", residual_tables(variances), (2, 2), Relation.SUBSTITUTION, charged=charged
    )
    honest = enumerate_tables("honest", residual_tables(variances), (2, 2), Relation.SUBSTITUTION)
    assert honest.passed and not broken.passed


def test_pricing_by_all_columns_differ_would_release_the_interaction_exactly() -> None:
    interaction = MeasureTables(
        residual_tables().trees, (NoisyForm(TableForm(((0, 0), (1, 0)), True), Fraction(1)),)
    )
    assert interaction.size(Relation.SUBSTITUTION) >= 16  # and not 0


def test_every_case_of_the_audit_is_charged_as_enumerated() -> None:
    for _, mechanism, shape, relation in cases():
        largest = max(enumerated_size(mechanism, m) for m in moves(mechanism, shape, relation))
        assert largest <= mechanism.size(relation)


def test_sums_of_very_many_different_scales_are_never_too_low() -> None:
    tables = [TableForm(((i, 0),), False) for i in range(2_001)]
    weights = [1 / Fraction(3 * i + 7, 1024) for i in range(2_001)]
    found = total_single(tables, weights)
    true = sum(Fraction(1024, 3 * i + 7) for i in range(2_001))
    assert true <= found <= true + Fraction(1, 2**64) and found.denominator < 2**100
    assert total_single(tables[:9], weights[:9]) == sum(weights[:9])


def test_laplace_tables_cost_what_their_scales_say() -> None:
    _, plan = planned("all pairs of three columns", "substitution", 1, 0)
    mechanism = plan.strategy.mechanism
    event = mechanism.promise(Relation.SUBSTITUTION).event
    assert pure_cost(event).epsilon == sum(2 / each.noise for each in mechanism.measured)
    assert Fraction(69, 100) < pure_cost(event).epsilon <= Fraction(7, 10)
