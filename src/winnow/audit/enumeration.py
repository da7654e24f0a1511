"""Audit 1: on tiny instances, no pair of neighbours is told apart more than promised.

Exact probabilities of all outputs, for all neighbours of many small score vectors. The
charged event is read in every currency it is charged in: epsilon, delta, bounded range
and rho.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.ask.mechanism import WeightsRounds
from winnow.audit.cases import (
    Case,
    all_cases,
    on_private_labels,
    selections,
)
from winnow.audit.driver import TOLERANCE, enumeration, listing
from winnow.audit.neighbours import Boxes, Integers
from winnow.audit.probabilities import Model, hockey_stick
from winnow.audit.result import AuditResult
from winnow.core.relation import Relation
from winnow.numbers.joint import JointQuantiles
from winnow.numbers.mechanism import HalvingQuantiles
from winnow.numbers.tree import QuantileTree
from winnow.privacy import BoundedRange, rows, zcdp_cost
from winnow.select.audit.ranked import on_unknown_universes

Floats = NDArray[np.float64]

_ORDERS = (1.5, 2.0, 4.0, 16.0, 64.0)


@dataclass(frozen=True)
class Pair:
    """Two neighbouring score vectors."""

    scores: tuple[int, ...]
    neighbour: tuple[int, ...]

    def __str__(self) -> str:
        return f"{_short(self.scores)} and {_short(self.neighbour)}"


def _short(scores: tuple[int, ...]) -> str:
    if len(scores) <= 8:
        return str(list(scores))
    first, last = scores[0], scores[-1]
    return f"[{len(scores) - 1} x {first}, {last}]"  # the only long vectors are of this form


@dataclass(frozen=True)
class Measured:
    """The worst that was found over all pairs."""

    epsilon: float
    range: float
    rho: float
    delta: float
    pairs: int
    worst: Pair
    worst_for_delta: Pair


def enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """The audit of every selection in the guarantee table."""
    yield every_row_is_enumerated()
    for case in all_cases(quick=quick):
        yield from enumerate_case(case, quick=quick)


def every_row_is_enumerated() -> AuditResult:
    """No selection was added to the table without being audited."""
    audited = {
        (promised.citation, promised.statement.split(". Charged:")[0])
        for promised in (
            mechanism.promise(Relation.ADD_REMOVE)
            for mechanism in (
                *selections(),
                *on_private_labels(),
                *on_unknown_universes(),
                WeightsRounds(1, 1, 12),  # enumerated in ``ask.audit.claims``
                HalvingQuantiles(1, Fraction(1), QuantileTree((1,), 2), 3, 1),  # ``numbers.audit``
                JointQuantiles(1, (1,), 2, 3, 1),  # there, too
            )
        )
    }
    selecting = [row for row in rows() if not row.reduction.startswith("additive")]
    missing = [
        f"{row.law} {row.reduction}"
        for row in selecting
        if (row.citation, f"Released: {row.released}") not in audited
    ]
    claim = "Every selection in the guarantee table is enumerated."
    return listing(claim, "the guarantee table", "", len(selecting), missing)


def enumerate_case(case: Case, *, quick: bool = False) -> Iterator[AuditResult]:
    """One result for the guarantee, and one for the bounded range where it is charged."""
    event = case.promise.event
    epsilon, delta = case.claimed
    rho = float(zcdp_cost(event).rho)
    measured = measure(case.model, case.declared.boxes, epsilon, quick=quick)
    where = f"{case.mechanism.name}, {case.declared.name}"
    common = (case.mechanism, case.declared.relation)
    searched = f"{measured.pairs} pairs of neighbours"
    if delta:
        yield enumeration(
            f"{where}: between neighbours the outputs are (epsilon, delta)-close at "
            f"epsilon={epsilon:g}.",
            *common,
            delta,
            measured.delta,
            f"delta measured over {searched}; largest at {measured.worst_for_delta}",
        )
        return
    yield enumeration(
        f"{where}: no output's log-probability moves by more than epsilon between neighbours.",
        *common,
        epsilon,
        measured.epsilon,
        f"over {searched}; largest at {measured.worst}; "
        f"rho {measured.rho:.4g} of {rho:.4g} charged",
        also=measured.rho <= rho * (1 + TOLERANCE),
    )
    if isinstance(event, BoundedRange):
        yield enumeration(
            f"{where}: between neighbours all log ratios lie in one interval of length epsilon.",
            *common,
            epsilon,
            measured.range,
            f"over {searched}",
        )


@lru_cache(maxsize=512)
def measure(model: Model, boxes: Boxes, epsilon: float, *, quick: bool = False) -> Measured:
    """The worst epsilon, range, rho, and delta at this epsilon, over all instances."""
    total = Measured(0.0, 0.0, 0.0, 0.0, 0, Pair((), ()), Pair((), ()))
    for bases, moves in model.instances(boxes, quick=quick):
        measured = _measure_block(model, bases, moves, epsilon)
        total = Measured(
            max(total.epsilon, measured.epsilon),
            max(total.range, measured.range),
            max(total.rho, measured.rho),
            max(total.delta, measured.delta),
            total.pairs + measured.pairs,
            measured.worst if measured.epsilon >= total.epsilon else total.worst,
            measured.worst_for_delta if measured.delta >= total.delta else total.worst_for_delta,
        )
    return total


def _measure_block(model: Model, bases: Integers, moves: Integers, epsilon: float) -> Measured:
    n = len(bases)
    neighbours = model.neighbours(bases, moves)
    log_p = np.repeat(model.rows(bases), len(moves), axis=0)
    log_q = model.rows(neighbours)
    p, q = np.exp(log_p), np.exp(log_q)
    with np.errstate(invalid="ignore", over="ignore"):
        loss = np.where(log_p == log_q, 0.0, log_p - log_q)  # both -inf: no output, no loss
        delta = np.maximum(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        rho = max(_rho(p, loss), _rho(q, -loss))
    largest = np.abs(loss).max(axis=1)

    def pair(index: int) -> Pair:
        first, second = bases[index // len(moves)], neighbours[index]
        return Pair(tuple(map(int, first)), tuple(map(int, second)))

    return Measured(
        float(largest.max()),
        float(np.ptp(loss, axis=1).max()),
        rho,
        float(delta.max()),
        n * len(moves),
        pair(int(largest.argmax())),
        pair(int(delta.argmax())),
    )


def _rho(p: Floats, loss: Floats) -> float:
    """The smallest rho with Renyi divergences of at most a rho, at a few orders a >= 1."""
    worst = float(np.sum(p * loss, axis=1).max())  # Kullback-Leibler: order 1
    for order in _ORDERS:
        moment = np.sum(p * np.exp((order - 1) * loss), axis=1).max()
        worst = max(worst, float(np.log(moment)) / (order - 1) / order)
    return worst
