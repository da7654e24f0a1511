"""Audits of additive models: their noisy tables on all tiny neighbours, and broken twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import DELTA, NoiseCharge, enumeration, farthest, of_moves
from winnow.audit.neighbours import person_moves
from winnow.audit.result import AuditResult, as_twin
from winnow.core.checks import exact
from winnow.core.relation import Relation
from winnow.learn.crossing.additive import AdditiveModel
from winnow.learn.crossing.rows import SealedLabelled, no_rows
from winnow.privacy import Gaussian, guarantee_of

_SHAPE = (2, 2)
"""Two columns of two values, beside two classes: eight different rows."""

Noise = Callable[[AdditiveModel, SealedLabelled], Fraction]


def model(law: str = "laplace") -> AdditiveModel:
    """A tiny one; Gaussian noise has a whole variance for one row or two, under both relations."""
    return AdditiveModel(law, 3, Fraction(1, 2), 2, delta=Fraction(1, 100))


def noise_of(made: AdditiveModel, rows_given: SealedLabelled) -> Fraction:
    """The scale or the variance of the noise in every cell."""
    return made.variance(rows_given) if made.law == "gaussian" else made.scale(rows_given)


def additive_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by all tables together more than was charged.

    What follows is permute-and-flip over functions of single rows, which is enumerated for itself.
    """
    for law, relation, rows in product(("laplace", "gaussian"), Relation, (1, 2)):
        if not quick or rows == 1:
            yield enumerate_tables(model(law), relation, rows)


def enumerate_tables(
    made: AdditiveModel, relation: Relation, rows: int, noise: Noise = noise_of
) -> AuditResult:
    """One result: in epsilon for Laplace noise, in delta at the claimed epsilon for Gaussian."""
    labelled = no_rows(("no", "yes"), relation, rows)
    pure, multiplier = made.law == "laplace", exact("multiplier", made.multiplier)
    claimed = float(1 / multiplier)
    if not pure:
        claimed = guarantee_of(Gaussian(multiplier, relation), DELTA).epsilon
    claim, tables = NoiseCharge(pure, claimed), _tables()
    moves = list(person_moves(tables.shape[1], rows, relation))
    # Cells are alike, so that their order does not matter.
    kinds = {tuple(sorted(moved[moved > 0].tolist()))
             for moved in (np.abs(tables @ by) for by in moves)} - {()}  # fmt: skip
    told = of_moves([noise(made, labelled)], made.law, [[np.array(kind)] for kind in sorted(kinds)])
    return enumeration(
        "Additive models: the tables of neighbours are as close as was charged.",
        made,
        relation,
        claim.claimed,
        claim.measured(farthest(told, claimed)),
        f"over {len(moves)} moves of a person",
        case=f", {rows} row{'s' if rows > 1 else ''} per person",
    )


def _tables() -> NDArray[np.int64]:
    """Which cells of which tables each of the eight rows is in, written out."""
    rows = list(product(range(_SHAPE[0]), range(_SHAPE[1]), range(2)))
    cells = list(product(range(2), repeat=3))
    return np.array(
        [[int(row[2] == label and row[column] == value) for row in rows]
         for column, label, value in cells], np.int64,
    )  # fmt: skip


def one_table(made: AdditiveModel, labelled: SealedLabelled) -> Fraction:
    """Broken: the noise is scaled to one table."""
    return noise_of(replace(made, columns=1), labelled)


def as_added(made: AdditiveModel, labelled: SealedLabelled) -> Fraction:
    """Broken: a replaced person counts like an added one."""
    return noise_of(made, replace(labelled, relation=Relation.ADD_REMOVE))


def one_row(made: AdditiveModel, labelled: SealedLabelled) -> Fraction:
    """Broken: a person's second row is forgotten."""
    return noise_of(made, replace(labelled, rows_per_person=1))


def additive_twins(*, quick: bool = False) -> Iterator[AuditResult]:
    """Wrong sensitivities are caught."""
    replaced = Relation.SUBSTITUTION
    for fault, law, rows, noise in (
        ("the noise is scaled to one table", "laplace", 1, one_table),
        ("replaced people count like added ones", "gaussian", 1, as_added),
        ("a second row is forgotten", "laplace", 2, one_row),
    ):
        yield as_twin(fault, "Enumeration", enumerate_tables(model(law), replaced, rows, noise))
