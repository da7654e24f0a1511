"""Audits of bounds: the law of every end written out, all tiny neighbours, and broken twins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np

from winnow.audit.driver import largest
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.unit import counted
from winnow.numbers.bounds.crossing import NONE
from winnow.numbers.bounds.edges import EdgesOfSide
from winnow.numbers.bounds.mechanism import TailEdges
from winnow.numbers.crossing.segment import RankTarget, Segment, drawn

_TOP, _ORIGIN = 6, 2
Row = int | None
Rows = tuple[Row, ...]
"""The code of each row; None: it has no number."""


def made(rows: int = 1) -> TailEdges:
    """Both sides of seven numbers, with few rows beyond."""
    sides = tuple(EdgesOfSide("x", 0, _TOP, _ORIGIN, upward) for upward in (False, True))
    return TailEdges(20, sides, rows)


@dataclass(frozen=True)
class BoundsModel:
    """The exact law of each end, from the definition of the loss."""

    mechanism: TailEdges
    relation: Relation
    faster: float = 1.0
    """By how much the rate of a twin is too large."""

    def law(self, side: EdgesOfSide, rows: Rows) -> tuple[float, ...]:
        """The probability that there is no bound, and of every edge."""
        own = [code for code in rows if code is not None]
        away = [code - _ORIGIN if side.upward else _ORIGIN - code for code in own]
        wanted = len(own) - self.mechanism.beyond(side)
        losses = [abs(wanted)]
        for place, edge in enumerate(side.distances):
            before = side.distances[place - 1] if place else -math.inf
            below = sum(each <= before for each in away)
            until = sum(each <= edge for each in away)
            losses.append(max(0, below - wanted, wanted - until))
        rate = float(self.mechanism.rate) * self.faster
        weights = [math.exp(-rate * loss) for loss in losses]
        weights[0] += math.exp(-rate * max(0, wanted))  # below every edge
        return tuple(weight / math.fsum(weights) for weight in weights)

    def told(self, one: Rows, other: Rows) -> float:
        """How far the ends of two tables are from each other."""
        loss = 0.0
        for side in self.mechanism.sides:
            pairs = zip(_law(self, side, one), _law(self, side, other), strict=True)
            loss += max(abs(math.log(p / q)) for p, q in pairs)
        return loss


@cache
def _law(model: BoundsModel, side: EdgesOfSide, rows: Rows) -> tuple[float, ...]:
    return model.law(side, rows)


def models() -> Iterator[BoundsModel]:
    """Both relations, and two rows of a person."""
    for relation in Relation:
        yield BoundsModel(made(), relation)
    yield BoundsModel(made(2), Relation.ADD_REMOVE)


def bounds_enumerated() -> Iterator[AuditResult]:
    """No neighbours are told apart by the ends more than was charged."""
    for model in models():
        yield enumerate_bounds(model)


def enumerate_bounds(model: BoundsModel) -> AuditResult:
    """One result, in epsilon, over all tables of a few rows and all that one person can do."""
    codes: tuple[Row, ...] = (None, *range(_TOP + 1))
    many = model.mechanism.rows_per_person
    crowds = [c for size in range(5) for c in combinations_with_replacement(codes, size)]
    held = list(combinations_with_replacement(codes, many))
    instead: list[Rows] = held if model.relation is Relation.SUBSTITUTION else [()]
    return largest(
        f"Bounds, a person with {counted(many, 'row')}: those of neighbours are as close as was "
        "charged.",
        model.mechanism,
        model.relation,
        float(model.mechanism.epsilon),
        (
            model.told(_sorted((*others, *own)), _sorted((*others, *new)))
            for others, own, new in product(crowds, held, instead)
        ),
    )


def _sorted(rows: Rows) -> Rows:
    return tuple(sorted(rows, key=lambda row: -1 if row is None else row))


def bounds_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The sampler draws an edge with its exact probability."""
    yield faithful_edges(2_000 if quick else 6_000, seed)


def faithful_edges(draws: int, seed: int, faster: float = 1.0) -> AuditResult:
    """One end of a few rows, against a law of another rate."""
    side = made().sides[1]
    mechanism = TailEdges(Fraction(4), (side,))
    rows = (2, 3, 3, 4, 6, 6, *(2,) * 12)
    model = BoundsModel(mechanism, Relation.ADD_REMOVE, faster)
    places = np.searchsorted(side.distances, np.array(rows) - _ORIGIN)
    segment = Segment(np.sort(places).astype(np.int64), NONE, len(side.distances))
    target = RankTarget(Fraction(1), mechanism.rate, mechanism.beyond(side))
    tape = Tape.seeded(seed)
    draws_of_edges = [drawn(segment, target, tape.child(str(draw))) - NONE for draw in range(draws)]
    observed = np.append(np.bincount(draws_of_edges, minlength=len(side.distances) + 1), 0)
    return fidelity_result(
        "Bounds: the sampler draws every edge with its exact probability.",
        mechanism.name,
        mechanism.promise(Relation.ADD_REMOVE).citation,
        chi_square_p_value(observed, np.array(model.law(side, rows))),
        f"{draws} draws",
        relation=str(Relation.ADD_REMOVE),
    )


def bounds_twins(*, seed: int) -> Iterator[AuditResult]:
    """A side that is not paid for, a forgotten row and a wrong rate are caught."""
    one_end = BoundsModel(made(), Relation.SUBSTITUTION, faster=2.0)
    yield as_twin("both ends are drawn with all of epsilon", "Enumeration",
                  enumerate_bounds(one_end))  # fmt: skip
    second = BoundsModel(made(2), Relation.ADD_REMOVE, faster=2.0)
    yield as_twin("a second row is forgotten", "Enumeration", enumerate_bounds(second))
    broken = faithful_edges(2_000, seed, faster=1.5)
    yield as_twin("an edge is drawn with another rate", "Fidelity", broken)
