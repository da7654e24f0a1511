"""Audits of calibration: its noisy counts on all moves of a person, and broken twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from winnow.audit.driver import NoiseCharge, enumeration, farthest, of_moves
from winnow.audit.neighbours import person_moves
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.learn.crossing.calibrated import CalibratedModel
from winnow.learn.crossing.rows import SealedLabelled, no_rows
from winnow.privacy import guarantee_of
from winnow.select.mechanisms.lipschitz import PermuteAndFlip

CELLS = 4
"""Two bins with two classes each; all other cells stay as they are."""
Scale = Callable[[CalibratedModel, SealedLabelled], Fraction]


def made() -> CalibratedModel:
    """A tiny one, of one rule."""
    return CalibratedModel(PermuteAndFlip(Fraction(1, 2)), Fraction(1, 3))


def calibrated_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by the counts more than was charged for them."""
    for relation, rows in product(Relation, (1,) if quick else (1, 2)):
        yield enumerate_counts(made(), relation, rows)


def enumerate_counts(
    model: CalibratedModel, relation: Relation, rows: int, scale: Scale = CalibratedModel.scale
) -> AuditResult:
    """One result, in epsilon, over all that one person can do to the counts.

    Given the released model the cell of a row is a function of this row.
    """
    labelled = no_rows(("no", "yes"), relation, rows)
    first = guarantee_of(model.then.promise(relation).event).epsilon
    claimed = guarantee_of(model.promise(relation).event).epsilon - first
    claim, moves = NoiseCharge(True, claimed), list(person_moves(CELLS, rows, relation))
    kinds = {tuple(sorted(np.abs(by)[by != 0].tolist())) for by in moves} - {()}
    told = of_moves(
        [scale(model, labelled)], "laplace", [[np.array(kind)] for kind in sorted(kinds)]
    )
    return enumeration(
        "Calibration: the counts of neighbours are as close as was charged.",
        model,
        relation,
        claim.claimed,
        claim.measured(farthest(told, claimed)),
        f"over {len(moves)} moves of a person",
        case=f", {rows} row{'s' if rows > 1 else ''} per person",
    )


def calibrated_twins(*, quick: bool = False) -> Iterator[AuditResult]:
    """Wrong sensitivities are caught."""

    def as_added(model: CalibratedModel, labelled: SealedLabelled) -> Fraction:
        return model.scale(replace(labelled, relation=Relation.ADD_REMOVE))

    def one_row(model: CalibratedModel, labelled: SealedLabelled) -> Fraction:
        return model.scale(replace(labelled, rows_per_person=1))

    for fault, rows, scale in (
        ("a replaced person moves the counts like an added one", 1, as_added),
        ("a second row is forgotten in the counts", 2, one_row),
    ):
        result = enumerate_counts(made(), Relation.SUBSTITUTION, rows, scale)
        yield as_twin(fault, "Enumeration", result)
