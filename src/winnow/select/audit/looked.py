"""Audits of a look at counts: what a person moves, the shares, and broken twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumeration
from winnow.audit.result import AuditResult, as_twin
from winnow.core.checks import exact
from winnow.core.noisy_top.in_memory import InMemory
from winnow.core.noisy_top.universe import Universe
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.select.choice import PlannedNoise
from winnow.select.looking import LookRule
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.looked import LookedAt, at_ranks, rounded_down
from winnow.select.mechanisms.peeling import PeelPermuteAndFlip
from winnow.select.methods import LOOK_SHARE

Integers = NDArray[np.int64]
Statistic = Callable[[Universe, tuple[int, ...]], Integers]
_ITEMS, _TOP = 4, 2
"""Scores from 0 to so many, and half of a person between them."""


def made(share: Fraction = 1 - LOOK_SHARE) -> LookedAt:
    """A list of one, by either of two ways, of which a look takes one."""
    noises = (("joint", PlannedNoise("joint", 4.0)), ("one", PlannedNoise("exponential", 9.0)))
    rule = LookRule(noises, _ITEMS, 1, 1.0, True, 40.0)
    return LookedAt(1, (Joint(share, 1), PeelPermuteAndFlip(share, 1)), rule)


def by_place(scores: Universe, ranks: tuple[int, ...]) -> Integers:
    """BROKEN: the sums of all scores from the top down to each rank."""
    every = np.cumsum(scores.scores_at(range(scores.total or 0)))
    return np.asarray(rounded_down(every[np.array(ranks) - 1]))


def enumerate_look(
    mechanism: LookedAt, utility: Utility, statistic: Statistic = at_ranks
) -> AuditResult:
    """One result: the largest move of what is seen, over all neighbours, and the shares added up.

    Noise with probability exp(-max |x_i|/scale) tells two vectors apart by the largest distance
    over its scale, and by no more. What follows has its own audits.
    """
    relation = utility.relation
    half = float(utility.one_sided) / 2
    moves = np.array(list(product(_steps(utility), repeat=_ITEMS)))
    farthest, pairs = 0.0, 0
    for held in product(np.arange(0, 2 * _TOP + 1) * half, repeat=_ITEMS):
        own = statistic(InMemory(np.array(held)), mechanism.rule.ranks)
        for move in moves:
            other = statistic(InMemory(np.array(held) + move), mechanism.rule.ranks)
            farthest = max(farthest, float(np.abs(other - own).max()))
            pairs += 1
    look = farthest / float(mechanism.noise_scale(mechanism.epsilon, utility))
    rest = max(way.guarantee(way.promise(relation)).epsilon for way in mechanism.ways)
    return enumeration(
        f"A look at scores that a person moves down by {utility.down} and up by {utility.up} at "
        "most, and what follows from it: no output's log-probability moves by more than epsilon.",
        mechanism,
        relation,
        float(exact("epsilon", mechanism.epsilon)),
        look + rest,
        f"over {pairs} pairs of neighbours",
    )


def _steps(utility: Utility) -> list[float]:
    """By how much one person moves a score: both ends, nothing, and parts in between."""
    down, up = float(utility.down), float(utility.up)
    return sorted({-down, -down / 3, 0.0, up / 3, up})


def looked_enumerated() -> Iterator[AuditResult]:
    """Monotone scores and others, under both relations."""
    utilities = [
        Utility.declare(1, monotone=monotone, relation=relation)
        for relation, monotone in product(Relation, (True, False))
    ]
    for utility in dict.fromkeys(utilities):  # replacing one moves either kind alike
        yield enumerate_look(made(), utility)


def looked_twins() -> Iterator[AuditResult]:
    """A statistic that a person moves further, and a look that nobody pays for, are caught."""
    utility = Utility.declare(1, monotone=True)
    summed = enumerate_look(made(), utility, by_place)
    yield as_twin("sums of the best counts are seen", "Enumeration", summed)
    free = enumerate_look(made(Fraction(1)), utility)
    yield as_twin("the look is not paid for", "Enumeration", free)
