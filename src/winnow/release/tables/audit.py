"""Audits of measured tables: enumeration of tiny neighbours, fidelity, and broken twins.

What neighbours move is computed here from matrices written out in full, not by the code that
is audited. Given that, all noise is independent, and its exact law is enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import DELTA, NoiseCharge, enumeration, farthest, of_moves
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.neighbours import person_moves
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.privacy import DiscreteGaussian, guarantee_of
from winnow.read.crossing import Rows, SealedTable
from winnow.release.tables.column_matrix import ColumnMatrix
from winnow.release.tables.measured import NoisyForm, SummedColumn, TableForm
from winnow.release.tables.mechanism import MeasureTables
from winnow.release.tables.sensitivity import squared_single
from winnow.release.tables.trees import Tree, flat

Integers = NDArray[np.int64]

_DRAWN = 4_000
"""Cells of the table that is drawn; they come at once, so a quick run takes as many."""


def table_matrix(mechanism: MeasureTables, each: NoisyForm, shape: tuple[int, ...]) -> Integers:
    """The measured table as a matrix over the cells of a small domain."""
    at, trees = dict(each.table.place), mechanism.by_column
    factors = []
    for column, size in enumerate(shape):
        if column not in at:
            weights = np.ones(size, np.int64)
            if each.values is not None and mechanism.values[each.values].column == column:
                weights = np.array(mechanism.values[each.values].weights)
            factors.append(weights[None])
            continue
        tree, level = trees[column], at[column]
        if isinstance(tree, ColumnMatrix):
            assert each.table.residual
            factors.append(tree.matrix)
            continue
        block = tree.blocks[level]
        eye = np.eye(tree.padded // block, dtype=np.int64)
        sums = np.kron(eye, np.ones((1, block), np.int64))[:, :size]
        if each.table.residual:
            r = tree.radices[level]
            apart = r * np.eye(r, dtype=np.int64) - 1
            sums = np.kron(np.eye(len(eye) // r, dtype=np.int64), apart) @ sums
        factors.append(sums)
    return np.asarray(reduce(np.kron, factors))


def moves(
    mechanism: MeasureTables, shape: tuple[int, ...], relation: Relation
) -> list[tuple[Integers, ...]]:
    """All different ways in which one person moves the measured tables."""
    matrices = [table_matrix(mechanism, each, shape) for each in mechanism.measured]
    vectors = {}
    for by in person_moves(math.prod(shape), mechanism.rows_per_person, relation):
        moved = tuple(matrix @ by for matrix in matrices)
        if any(each.any() for each in moved):
            vectors[tuple(tuple(sorted(np.abs(each).tolist())) for each in moved)] = moved
    return list(vectors.values())


def enumerated_size(mechanism: MeasureTables, moved: tuple[Integers, ...]) -> Fraction:
    """What one move costs, in exact numbers: a squared ratio, or an epsilon."""
    power = 2 if mechanism.law == "gaussian" else 1
    pairs = zip(mechanism.measured, moved, strict=True)
    sums = ((each.noise, sum(abs(int(m)) ** power for m in by.ravel())) for each, by in pairs)
    return sum((Fraction(total) / noise for noise, total in sums), Fraction(0))


SHAPE = (2, 2)
_WITH_MATRIX = (2, 3)
_PLACES: tuple[tuple[tuple[int, int], ...], ...] = (((0, 0),), ((1, 0),), ((0, 0), (1, 0)))
_FLAT = tuple((column, flat(size)) for column, size in enumerate(SHAPE))


def residual_tables(variances: tuple[int, ...] = (12, 12, 36), *, total: int = 0) -> MeasureTables:
    """The residual tables of two binary columns, with the total where it is not public."""
    tables = [
        NoisyForm(TableForm(p, True), Fraction(v)) for p, v in zip(_PLACES, variances, strict=True)
    ]
    if total:
        tables.append(NoisyForm(TableForm((), True), Fraction(total)))
    return MeasureTables(_FLAT, tuple(tables))


def block_tables() -> MeasureTables:
    """Blocks of two levels of a column with four codes, with Laplace noise."""
    tables = [NoisyForm(TableForm(((0, level),), False), Fraction(3, 2)) for level in (0, 1)]
    return MeasureTables(((0, Tree(4, (2, 2))),), tuple(tables), "laplace")


_MATRIX = ColumnMatrix(np.array([[3, 1, -1], [0, 2, -1]]))
"""Of three codes that move the numbers by 9, 5 and 2, squared."""


def matrix_tables(variances: tuple[int, ...] = (60, 30, 90), *, total: int = 0) -> MeasureTables:
    """A binary column, one with a matrix of its own, and their product."""
    tables = residual_tables(variances, total=total).measured
    return MeasureTables(((0, flat(2)), (1, _MATRIX)), tables)


def sum_tables(law: str) -> MeasureTables:
    """Counts of a binary column, and sums of another with three values; in all, and by the first.

    The sum of all rows moves most if one value replaces its opposite, the counts if the row moves.
    """
    values = SummedColumn(1, (-2, 0, 2))
    tables = (
        NoisyForm(TableForm(((0, 0),), False), Fraction(24)),
        NoisyForm(TableForm(((0, 0),), False, 2, signed=True), Fraction(32), 0),
        NoisyForm(TableForm((), False, 2, signed=True), Fraction(16), 0),
    )
    return MeasureTables(((0, flat(2)),), tables, law, (values,))


def cases() -> list[tuple[str, MeasureTables, tuple[int, ...], Relation]]:
    """What is enumerated."""
    both = tuple(Relation)
    listed: list[tuple[str, MeasureTables, tuple[int, ...], Relation]] = []
    for relation in both:
        substituted = relation is Relation.SUBSTITUTION
        whole = residual_tables(total=0 if substituted else 6)
        listed.append(("residuals of two binary columns", whole, SHAPE, relation))
        listed.append(("a matrix of an ordered column", matrix_tables(total=12), (2, 3), relation))
        listed.append(("blocks of an ordered column", block_tables(), (4,), relation))
        for law in ("gaussian", "laplace"):
            listed.append(("counts and sums", sum_tables(law), (2, 3), relation))
    several = replace(residual_tables((50, 50, 150), total=25), rows_per_person=2)
    listed.append(("residuals, two rows per person", several, SHAPE, Relation.SUBSTITUTION))
    twice = replace(block_tables(), rows_per_person=2)
    listed += [("blocks, two rows per person", twice, (4,), relation) for relation in both]
    return listed


def tables_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by all tables together more than was charged.

    All of it takes less than a second, so a quick run leaves nothing out.
    """
    for what, mechanism, shape, relation in cases():
        yield enumerate_tables(what, mechanism, shape, relation)


Charged = Callable[[MeasureTables, Relation], Fraction]


def enumerate_tables(
    what: str,
    mechanism: MeasureTables,
    shape: tuple[int, ...],
    relation: Relation,
    charged: Charged = MeasureTables.size,
) -> AuditResult:
    """One result: in epsilon for Laplace noise, in delta at the claimed epsilon for Gaussian."""
    pure = mechanism.law == "laplace"
    size = max(charged(mechanism, relation), Fraction(1, 10**6))
    claimed = float(size)
    noises = [each.noise for each in mechanism.measured]
    if not pure:
        claimed = guarantee_of(DiscreteGaussian(size, min(noises), relation), DELTA).epsilon
    claim, all_moves = NoiseCharge(pure, claimed), moves(mechanism, shape, relation)
    largest = max(enumerated_size(mechanism, moved) for moved in all_moves)
    worst = farthest(of_moves(noises, mechanism.law, all_moves), claimed)
    return enumeration(
        f"{mechanism.title}, {what}: between neighbours {claim.text}.",
        mechanism,
        relation,
        claim.claimed,
        claim.measured(worst),
        f"over {len(all_moves)} moves of a person; the largest costs {float(largest):.6g}, charged "
        f"is {float(size):.6g}",
        also=largest <= size,
    )


def tables_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The real tables are the true whole numbers plus noise of the stated law."""
    for number, law in enumerate(("gaussian", "laplace")):
        yield fidelity_of_tables(law, Fraction(9), Fraction(9), _DRAWN, seed + number)


def fidelity_of_tables(
    law: str, noise: Fraction, model: Fraction, cells: int, seed: int
) -> AuditResult:
    """One drawn table with many cells against the law of its noise."""
    mechanism = MeasureTables(
        ((0, flat(cells)),), (NoisyForm(TableForm(((0, 0),), False), noise),), law
    )
    codes = np.arange(cells, dtype=np.int32)
    weights = 1 + np.arange(cells, dtype=np.int64) % 7
    schema = Schema.parse({"code": cells})
    table = SealedTable(schema, Sealed(Rows((codes,), weights), "made-up rows"))
    key, _ = single_run(mechanism, table.relation, Tape.seeded(seed))
    (noisy,) = mechanism.drawn(table, key)
    drawn = np.clip(noisy - weights, -40, 40)
    z = np.arange(-4000, 4001)
    scale = float(model)
    mass = np.exp(-(z**2) / (2 * scale)) if law == "gaussian" else np.exp(-np.abs(z) / scale)
    expected = np.bincount(np.clip(z, -40, 40) + 40, mass / mass.sum())
    observed = np.append(np.bincount(drawn + 40, minlength=81), 0)
    p_value = chi_square_p_value(observed, expected.astype(np.float64))
    return fidelity_result(
        f"{mechanism.title}: a table has the exact discrete {law.capitalize()} noise.",
        mechanism.name,
        mechanism.promise(table.relation).citation,
        p_value,
        f"{cells} cells",
    )


def per_table(mechanism: MeasureTables, relation: Relation) -> Fraction:
    """Broken: sqrt(2) times the add/remove norm of each table, as if they were plain."""
    weights = np.array([1 / float(each.noise) for each in mechanism.measured])
    tables = [each.table for each in mechanism.measured]
    return 2 * squared_single(tables, mechanism.by_column, weights)


def all_columns_differ(mechanism: MeasureTables, relation: Relation) -> Fraction:
    """Broken: only two rows that differ in every column are looked at."""
    matrices = [table_matrix(mechanism, each, SHAPE) for each in mechanism.measured]
    opposite = np.array([1, 0, 0, -1])
    moved = tuple(matrix @ opposite for matrix in matrices)
    return enumerated_size(mechanism, moved)


def usual_code(mechanism: MeasureTables, relation: Relation) -> Fraction:
    """Broken: every code of a column with a matrix is taken to move as far as the mean of them."""
    weights = [1 / float(each.noise) for each in mechanism.measured]
    matrices = [table_matrix(mechanism, each, _WITH_MATRIX) for each in mechanism.measured]
    norms = sum(w * (m**2).sum(axis=0) for w, m in zip(weights, matrices, strict=True))
    return Fraction(float(np.mean(norms)))


TWINS: tuple[tuple[str, Charged, tuple[int, ...]], ...] = (
    ("residual tables are charged sqrt(2) each under substitution", per_table, (40, 40, 20)),
    ("rows are taken to differ in all columns", all_columns_differ, (40, 40, 20)),
)


def tables_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Wrong sensitivities and half the noise are caught."""
    for fault, charged, variances in TWINS:
        result = enumerate_tables(
            "two binary columns", residual_tables(variances), SHAPE, Relation.SUBSTITUTION,
            charged=charged,
        )  # fmt: skip
        yield as_twin(fault, "Enumeration", result)
    result = enumerate_tables(
        "a matrix", matrix_tables(total=12), _WITH_MATRIX, Relation.ADD_REMOVE, charged=usual_code
    )
    yield as_twin("codes are charged for the mean of a matrix", "Enumeration", result)
    halved = fidelity_of_tables("gaussian", Fraction(9), Fraction(18), _DRAWN, seed)
    yield as_twin("a table has half the variance", "Fidelity", halved)
