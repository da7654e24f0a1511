"""Audits of the optimal rule: exact chances of neighbours, fidelity, and a broken twin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import largest
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.select.crossing.private_labels import EVERY
from winnow.select.mechanisms.optimal_rule import OptimalRule, chances

Floats = NDArray[np.float64]


def stick(p: Floats, q: Floats, epsilon: float) -> float:
    """The hockey-stick divergence of two laws, the larger of both directions."""
    there, back = p - math.exp(epsilon) * q, q - math.exp(epsilon) * p
    return float(max(np.maximum(there, 0).sum(), np.maximum(back, 0).sum()))


def enumerate_rule(rule: OptimalRule, relation: Relation) -> AuditResult:
    """Any number of people and one more; under substitution one less of another label, too."""
    chances, bits = rule.rule(relation)
    p = np.array([Fraction(chance, 1 << bits) for chance in chances], np.float64)
    steps = [np.array([[1 - a, a], [1 - b, b]]) for a, b in pairwise(p.tolist())]
    epsilon, delta = float(rule.epsilon), float(rule.delta)

    def told() -> Iterator[float]:
        for step in steps:
            if relation is Relation.ADD_REMOVE:
                yield stick(step[0], step[1], epsilon)
                continue
            for other in steps:
                laws = [np.outer(step[i], other[1 - i]).ravel() for i in (0, 1)]
                yield stick(laws[0], laws[1], epsilon)

    return largest(
        f"The optimal rule: at epsilon={epsilon:g} neighbours differ by no more than delta.",
        rule,
        relation,
        delta,
        told(),
        "over {} steps of the numbers of people",
        tolerance=1e-6,  # sums of floats near 1 are off by 1e-16
    )


def rule() -> OptimalRule:
    """A rule of few steps."""
    return OptimalRule(1.0, 1e-3, EVERY)


def fidelity_of_rule(seed: int, factor: float = 1.0) -> AuditResult:
    """How often labels of some people are released, against the rule; of ``factor`` epsilon."""
    rule, relation = OptimalRule(1.0, 0.01, EVERY), Relation.ADD_REMOVE
    stated = OptimalRule(factor, 0.01, EVERY)
    utility, root = Utility.declare(1, monotone=True), Tape.seeded(seed)
    chances, bits = stated.rule(relation)
    p_values = []
    for people in (1, 2, 3, 5, 8):
        chance = chances[min(people, len(chances) - 1)] / (1 << bits)
        counts = np.full(20_000, people, np.int64)
        released = len(rule.of_scores(counts, utility, root.child(f"{people}")).found)
        observed = np.array([len(counts) - released, released, 0])
        p_values.append(chi_square_p_value(observed, np.array([1 - chance, chance])))
    return fidelity_result(
        "The optimal rule: labels are released with their exact chances.",
        rule.name,
        rule.promise(relation).citation,
        min(1.0, 5 * min(p_values)),
        "20,000 labels of each of 5 numbers of people",
    )


class BrokenGrowth(OptimalRule):
    """BROKEN: chances grow by the square of what is allowed."""

    def rule(self, relation: Relation) -> tuple[tuple[int, ...], int]:
        """For twice epsilon."""
        return chances(2 * Fraction(self.epsilon), Fraction(self.delta))
