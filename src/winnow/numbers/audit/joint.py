"""Audits of joint quantiles: the law written out, all tiny neighbours, and broken twins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, product

import numpy as np

from winnow.audit.driver import enumeration
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.numbers.audit.halving import Rows, Table, neighbours
from winnow.numbers.crossing.joint import drawn_lists
from winnow.numbers.crossing.segment import Segment
from winnow.numbers.joint import JointQuantiles


def made(tenths: tuple[int, ...], rows: int = 1, groups: int = 1) -> JointQuantiles:
    """Quantiles of three points, for an epsilon of 1."""
    return JointQuantiles(1, tenths, 10, 3, rows, groups)


@dataclass(frozen=True)
class JointListsModel:
    """The exact law of the lists of one group, from the definition of the loss."""

    mechanism: JointQuantiles
    relation: Relation
    faster: Fraction = Fraction(1)
    """By how much the rate of a twin is too large."""

    def law(self, rows: Rows, size: int) -> dict[tuple[int, ...], float]:
        """The probability of every ascending list of points."""
        target = self.mechanism.target(self.relation)
        rate = float(target.rate * self.faster)
        weights = {}
        for points in combinations_with_replacement(range(size), len(target.parts)):
            below = [sum(row < point for row in rows) for point in points]
            between = [b - a for a, b in pairwise([0, *below, len(rows)])]
            lost = sum(
                abs(n - part * len(rows) / target.whole)
                for n, part in zip(between, target.between, strict=True)
            )
            weights[points] = math.exp(-rate * lost)
        whole = math.fsum(weights.values())
        return {points: weight / whole for points, weight in weights.items()}


def models() -> Iterator[tuple[JointListsModel, int]]:
    """Both relations, several rows of a person, groups; beside each the most rows of its tables."""
    for relation in Relation:
        yield JointListsModel(made((3, 8)), relation), 7
        yield JointListsModel(made((0, 5, 10)), relation), 5
        yield JointListsModel(made((5,), rows=2), relation), 3
        yield JointListsModel(made((2, 6), groups=2), relation), 4


def joint_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by the lists of all groups more than was charged."""
    for model, most in list(models())[:: 2 if quick else 1]:
        yield enumerate_joint(model, most)


def enumerate_joint(model: JointListsModel, most: int) -> AuditResult:
    """One result, in epsilon: how far log ratios of neighbours are apart, over all of them."""
    mechanism, relation = model.mechanism, model.relation

    @cache
    def told(one: Rows, other: Rows) -> tuple[float, float]:
        p, q = model.law(one, mechanism.size), model.law(other, mechanism.size)
        ratios = [math.log(p[each] / q[each]) for each in p]
        return min(ratios), max(ratios)

    widest, pairs = 0.0, 0
    places = list(product(range(mechanism.groups), range(mechanism.size)))
    for one, other in neighbours(places, mechanism.rows_per_person, relation, most):
        pairs += 1
        per_group = [told(_of(one, g), _of(other, g)) for g in range(mechanism.groups)]
        widest = max(widest, sum(high for _, high in per_group) - sum(low for low, _ in per_group))
    return enumeration(
        "Joint quantiles: log ratios of neighbours lie in an interval as long as was charged.",
        mechanism,
        relation,
        float(mechanism.epsilon),
        widest,
        f"over {pairs} pairs of neighbours, {mechanism.groups} groups, "
        f"{mechanism.rows_per_person} rows",
    )


def _of(table: Table, group: int) -> Rows:
    return tuple(sorted(code for own, code in table if own == group))


def joint_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The sampler draws a list with its exact probability."""
    yield faithful_lists(2_000 if quick else 6_000, seed)


def faithful_lists(draws: int, seed: int, faster: Fraction = Fraction(1)) -> AuditResult:
    """Three quantiles of rows with ties and gaps, against a law of ``faster`` times its rate."""
    mechanism = JointQuantiles(2, (1, 2, 3), 4, 6, 1)
    rows, size = (1, 2, 2, 4, 4, 4, 4, 5), 6
    relation = Relation.ADD_REMOVE
    segment, target = Segment(np.array(rows, np.int64), 0, size), mechanism.target(relation)
    law = JointListsModel(mechanism, relation, faster).law(rows, size)
    places = {points: place for place, points in enumerate(law)}
    tape, observed = Tape.seeded(seed), np.zeros(len(law) + 1, np.int64)
    for draw in range(draws):
        observed[places[tuple(drawn_lists(segment, target, tape.child(str(draw))).tolist())]] += 1
    return fidelity_result(
        "Joint quantiles: the sampler draws every list with its exact probability.",
        mechanism.name,
        mechanism.promise(relation).citation,
        chi_square_p_value(observed, np.array(list(law.values()))),
        f"{draws} draws",
        relation=str(relation),
    )


def joint_twins(*, seed: int) -> Iterator[AuditResult]:
    """Wrong widths and a wrong rate are caught."""
    added, replaced = Relation.ADD_REMOVE, Relation.SUBSTITUTION
    twins = [
        (
            "a replaced row is taken for an added one",
            JointListsModel(made((3, 8)), replaced, 1 / (1 - Fraction(2, 10))),
            7,
        ),
        (
            "rows that change their group are counted once",
            JointListsModel(made((2, 6), groups=2), replaced, Fraction(2)),
            4,
        ),
        ("a second row is forgotten", JointListsModel(made((5,), rows=2), added, Fraction(2)), 3),
    ]
    for fault, model, most in twins:
        yield as_twin(fault, "Enumeration", enumerate_joint(model, most))
    broken = faithful_lists(2_000, seed, Fraction(3, 2))
    yield as_twin("a list is drawn with another rate", "Fidelity", broken)
