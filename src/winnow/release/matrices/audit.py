"""Audits of linear strategies: enumeration of tiny neighbours, fidelity, and broken twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

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
from winnow.core.workloads.real import GridPart
from winnow.core.workloads.tables import marginals
from winnow.core.workloads.workload import Workload
from winnow.privacy import DiscreteGaussian, guarantee_of
from winnow.read.crossing import Rows, SealedTable
from winnow.release.matrices.mechanism import MeasureLinear
from winnow.release.matrices.strategies import (
    LinearStrategy,
    MatrixStrategy,
    QueriesStrategy,
    ToeplitzStrategy,
)

Integers = NDArray[np.int64]

_DRAWN = 4_000

SCHEMA = Schema.parse({"a": 2, "b": 2})
MATRIX = np.array([[3, -1, 0, 1], [0, 2, 1, 0], [1, 1, 2, -2]], np.int64)


def strategies() -> dict[str, tuple[LinearStrategy, Integers]]:
    """Tiny ones, each with its matrix, written out by another way than the code's."""
    f = [4, 2, 2, 1]  # 1, 1/2, 3/8, 5/16 in quarters
    toeplitz = [[f[i - j] if i >= j else 0 for j in range(4)] for i in range(4)]
    workload = marginals(1).over(SCHEMA)
    rows = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], np.int64)
    alike = np.array([[2, 2, 1, 2]], np.int64)  # one row moves it by more than a replaced one
    halves = np.array([[2, 1, 0, 0], [0, 1, 2, 2]], np.int64)
    weighed = Workload(SCHEMA, (GridPart(SCHEMA, halves.astype(np.uint8), 2),))
    return {
        "a matrix": (MatrixStrategy((2, 2), (0, 1), MATRIX), MATRIX),
        "nearly the total": (MatrixStrategy((2, 2), (0, 1), alike), alike),
        "weighed queries": (QueriesStrategy(weighed), halves),
        "the root of prefixes": (ToeplitzStrategy((4,), 0, 2), np.array(toeplitz, np.int64)),
        "queries": (QueriesStrategy(workload), rows),
    }


Charged = Callable[[MeasureLinear, Relation], Fraction]


def cases() -> Iterator[tuple[str, MeasureLinear, Integers, Relation]]:
    """What is enumerated."""
    for relation in Relation:
        for what, (strategy, matrix) in strategies().items():
            noise = 6 if what == "queries" else 60
            yield what, MeasureLinear(strategy, noise), matrix, relation
        for what in ("queries", "weighed queries"):
            strategy, matrix = strategies()[what]
            yield what, MeasureLinear(strategy, 6, "laplace"), matrix, relation
            twice = MeasureLinear(strategy, 12, "laplace", rows_per_person=2)
            yield f"{what}, two rows per person", twice, matrix, relation
        for what in ("a matrix", "nearly the total"):
            strategy, matrix = strategies()[what]
            several = MeasureLinear(strategy, 300, rows_per_person=2)
            yield f"{what}, two rows per person", several, matrix, relation


def linear_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by all numbers together more than was charged.

    All of it takes less than a second, so a quick run leaves nothing out.
    """
    for what, mechanism, matrix, relation in cases():
        yield enumerate_linear(what, mechanism, matrix, relation)


def enumerate_linear(
    what: str,
    mechanism: MeasureLinear,
    matrix: Integers,
    relation: Relation,
    charged: Charged = MeasureLinear.size,
) -> AuditResult:
    """One result: in epsilon for Laplace noise, in delta at the claimed epsilon for Gaussian."""
    pure = mechanism.law == "laplace"
    size, noise = charged(mechanism, relation), Fraction(mechanism.noise)
    claimed = float(size)
    if not pure:
        claimed = guarantee_of(DiscreteGaussian(size, noise, relation), DELTA).epsilon
    claim, power = NoiseCharge(pure, claimed), 1 if pure else 2
    people = person_moves(matrix.shape[1], mechanism.rows_per_person, relation)
    moves = [moved for moved in (matrix @ by for by in people) if moved.any()]
    largest = max(sum(abs(int(m)) ** power for m in moved) for moved in moves) / noise
    worst = farthest(of_moves([noise], mechanism.law, ([moved] for moved in moves)), claimed)
    return enumeration(
        f"{mechanism.title}, {what}: neighbours are as close as was charged.",
        mechanism,
        relation,
        claim.claimed,
        claim.measured(worst),
        f"over {len(moves)} moves of a person; the largest costs {float(largest):.6g}, charged is "
        f"{float(size):.6g}",
        also=largest <= size,
    )


def linear_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The numbers are the strategy's whole numbers plus noise of the stated law."""
    for number, law in enumerate(("gaussian", "laplace")):
        yield fidelity_of_numbers(law, 9, 9, seed + number)


def fidelity_of_numbers(law: str, noise: int, model: int, seed: int) -> AuditResult:
    """Many drawn numbers against the law of their noise."""
    schema = Schema.parse({"code": _DRAWN})
    strategy = QueriesStrategy(marginals(1).over(schema))
    mechanism = MeasureLinear(strategy, noise, law)
    weights = 1 + np.arange(_DRAWN, dtype=np.int64) % 7
    rows = Rows((np.arange(_DRAWN, dtype=np.int32),), weights)
    table = SealedTable(schema, Sealed(rows, "made-up rows"))
    key, _ = single_run(mechanism, table.relation, Tape.seeded(seed))
    drawn = np.clip(mechanism.drawn(table, key) - weights, -40, 40)
    z = np.arange(-4000, 4001)
    mass = np.exp(-(z**2) / (2 * model)) if law == "gaussian" else np.exp(-np.abs(z) / model)
    expected = np.bincount(np.clip(z, -40, 40) + 40, mass / mass.sum()).astype(np.float64)
    observed = np.append(np.bincount(drawn + 40, minlength=81), 0)
    p_value = chi_square_p_value(observed, expected)
    return fidelity_result(
        f"{mechanism.title}: a number has the exact discrete {law.capitalize()} noise.",
        mechanism.name,
        mechanism.promise(table.relation).citation,
        p_value,
        f"{_DRAWN} numbers",
    )


def as_added(mechanism: MeasureLinear, relation: Relation) -> Fraction:
    """Broken: a replaced row is charged like an added one."""
    return mechanism.size(Relation.ADD_REMOVE)


def one_row(mechanism: MeasureLinear, relation: Relation) -> Fraction:
    """Broken: a person's second row is forgotten."""
    return replace(mechanism, rows_per_person=1).size(relation)


def one_query(mechanism: MeasureLinear, relation: Relation) -> Fraction:
    """Broken: each query is charged by itself."""
    return mechanism.size(relation) / mechanism.strategy.size


def linear_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Wrong sensitivities and half the noise are caught."""
    made = strategies()
    replaced = Relation.SUBSTITUTION
    for fault, what, mechanism, charged in (
        ("replaced rows are charged like added ones", "the root of prefixes",
         MeasureLinear(made["the root of prefixes"][0], 60), as_added),
        ("a second row is forgotten", "a matrix",
         MeasureLinear(made["a matrix"][0], 300, rows_per_person=2), one_row),
        ("each query is charged by itself", "queries",
         MeasureLinear(made["queries"][0], 6), one_query),
    ):  # fmt: skip
        result = enumerate_linear(what, mechanism, made[what][1], replaced, charged)
        yield as_twin(fault, "Enumeration", result)
    halved = fidelity_of_numbers("gaussian", 9, 18, seed)
    yield as_twin("a number has half the variance", "Fidelity", halved)
