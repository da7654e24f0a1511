"""Audits of columns that are cut at private quantiles: quantile and rule on all tiny neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumerate_choices
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.learn.audit.balanced import RULES, empty
from winnow.learn.crossing.bins import BinnedColumns, apart
from winnow.learn.crossing.rows import LabelledRows
from winnow.numbers.audit.halving import HalvingModel
from winnow.numbers.mechanism import HalvingQuantiles
from winnow.numbers.tree import QuantileTree
from winnow.select.audit.model import log_permute_and_flip
from winnow.select.mechanisms.lipschitz import PermuteAndFlip

POINTS = 4
"""Of the grid; a cut lies before the second of them or the third."""
CELLS = list(product(range(POINTS), range(2)))
"""A point and a class."""
_DRAWN = 2_000
Floats = NDArray[np.float64]


def made(rows: int = 1) -> BinnedColumns:
    """One cut of one column, and a rule over its two bins."""
    median = HalvingQuantiles(1, Fraction(1), QuantileTree((5,), 10), POINTS, rows)
    return BinnedColumns((median,), (0,), PermuteAndFlip(Fraction(1, 2)))


@dataclass(frozen=True)
class BinnedModel:
    """The exact law of the released quantile and of the rule, written out."""

    binned: BinnedColumns
    relation: Relation
    rows: int
    drawn: int = 1
    """How often the quantile is drawn, with the same outcome each time."""
    counted: bool = True
    """Whether quantiles know of a person's second row."""

    def quantiles(self, table: NDArray[np.int64]) -> dict[tuple[int, ...], float]:
        """The probability of every code of the quantile."""
        (halving,) = self.binned.quantiles
        points = tuple(
            point for (point, _), many in zip(CELLS, table, strict=True) for _ in range(many)
        )
        if not self.counted:
            halving = replace(halving, rows_per_person=1)
        return HalvingModel(halving, self.relation).law(points)

    def log_probabilities(self, table: NDArray[np.int64]) -> Floats:
        """Of each code of the quantile with each rule."""
        cells, law = np.array(CELLS), self.quantiles(table)
        choice = PermuteAndFlip(Fraction(1, 2))
        scale = float(choice.scale(empty(self.relation, self.rows).utility))
        outcomes = []
        for code in range(POINTS):
            (cut,) = apart([code], POINTS)
            right = RULES[:, (cells[:, 0] >= cut).astype(int)] == cells[:, 1]
            chosen = log_permute_and_flip(scale * (right * table).sum(axis=1)[None])[0]
            outcomes.append(self.drawn * math.log(law[(code,)]) + chosen)
        return np.concatenate(outcomes)


def binned_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by the cut and the rule together more than was charged."""
    for relation, rows in product(Relation, (1,) if quick else (1, 2)):
        yield enumerate_binned(BinnedModel(made(rows), relation, rows))


def enumerate_binned(model: BinnedModel) -> AuditResult:
    """One result, in epsilon, over all tables of up to three rows."""
    return enumerate_choices(
        "Learning in private bins: cuts and rules of neighbours are as close as was charged.",
        model.binned,
        model.log_probabilities,
        len(CELLS),
        model.relation,
        model.rows,
    )


def binned_faithful(*, seed: int) -> Iterator[AuditResult]:
    """Columns are cut at points of the stated law."""
    yield fidelity_of_cuts(seed)


def fidelity_of_cuts(seed: int, stated: Fraction = Fraction(1)) -> AuditResult:
    """Many cuts of a few rows against the law for the stated epsilon."""
    table, relation = np.array([1, 0, 0, 0, 0, 1, 2, 1]), Relation.ADD_REMOVE
    mechanism, root = made(), Tape.seeded(seed)
    cells = np.repeat(np.array(CELLS), table, axis=0).astype(np.int32)
    rows = LabelledRows((cells[:, 0],), cells[:, 1], np.ones(len(cells), np.int64))
    labelled = replace(empty(relation, 1), rows=Sealed(rows, "rows"))
    observed = np.zeros(POINTS + 1, np.int64)
    for draw in range(_DRAWN):
        key, _ = single_run(mechanism, relation, root.child(f"draw-{draw}"))
        ((cut,),) = mechanism.drawn(labelled, key)
        observed[cut] += 1
    (median,) = mechanism.quantiles
    claimed = replace(mechanism, quantiles=(replace(median, per_round=stated),))
    expected = np.zeros(POINTS)
    for codes, chance in BinnedModel(claimed, relation, 1).quantiles(table).items():
        expected[apart(list(codes), POINTS)[0]] += chance
    p_value = chi_square_p_value(observed[[1, 2, 0]], expected[[1, 2]])
    return fidelity_result(
        "Learning in private bins: columns are cut with the exact probability.",
        mechanism.name,
        mechanism.promise(relation).citation,
        p_value,
        f"{_DRAWN} draws",
    )


def binned_twins(*, quick: bool = False) -> Iterator[AuditResult]:
    """Wrong sensitivities, and a cut that is not paid for, are caught."""
    twice = BinnedModel(made(), Relation.ADD_REMOVE, 1, drawn=2)
    several = BinnedModel(made(2), Relation.ADD_REMOVE, 2, counted=False)
    for fault, model in (
        ("cuts are drawn twice and paid for once", twice),
        ("a second row is forgotten in the cuts", several),
    ):
        yield as_twin(fault, "Enumeration", enumerate_binned(model))
    result = fidelity_of_cuts(1, Fraction(3))
    yield as_twin("cuts have a third of their epsilon", "Fidelity", result)
