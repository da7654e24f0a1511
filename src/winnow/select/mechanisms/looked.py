"""A look at the counts at a few ranks, and then the mechanism that errs least on such counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.box_noise import box_noise
from winnow.core.checks import Real, exact, positive
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import AnyOf, Compose, Guarantee, Promise, promise
from winnow.privacy.rounding import stated_at_least
from winnow.read.scores import SealedScores
from winnow.select.crossing.selection import Selection, check_known
from winnow.select.looking import LookRule
from winnow.select.methods import LOOK_SHARE

Integers = NDArray[np.int64]

_LARGEST = 2.0**50
"""Scores beyond it count as it, and noise beyond it is refused: both fit 64 bits."""


@dataclass(frozen=True)
class LookedAt(Selection):
    """The counts at a few ranks with noise, then one of several mechanisms.

    Formal guarantees
        Those of a look with ``LOOK_SHARE`` of epsilon and of the dearest mechanism with the rest,
        added up. Which mechanism follows is a function of public numbers and of what was seen:
        adaptive composition. [Dwork-Rothblum-Vadhan 2010, Sec 3.1]
        Proof for the look. Scores are rounded down, which moves a score by at most m, the
        sensitivity (`one_sided`) rounded up, if it moved by at most that. The score at rank r is
        the largest number that at least r scores reach, so if no score falls by more than m it
        does not either, and the same for rising: under either relation each score at a rank moves
        by at most m, and so does their vector in the largest norm. It gets noise with probability
        proportional to exp(-max |x_i| share epsilon/m). [Hardt-Talwar 2010; ``core.box_noise``]
    """

    epsilon: Real
    ways: tuple[Selection, ...]
    """Each with the rest of epsilon."""
    rule: LookRule
    title: ClassVar[str] = "looked"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)

    @staticmethod
    def rest(epsilon: Real) -> Fraction:
        """The epsilon of what follows."""
        return (1 - LOOK_SHARE) * exact("epsilon", epsilon)

    @staticmethod
    def noise_scale(epsilon: Real, utility: Utility) -> Fraction:
        """The scale of the noise in the scores at the ranks."""
        return Fraction(math.ceil(utility.one_sided)) / (LOOK_SHARE * exact("epsilon", epsilon))

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        seen, ways = ", ".join(map(str, self.rule.ranks)), ", ".join(self.rule.words)
        return f"{self.title}, k={self.rule.k}: the counts at ranks {seen}, then one of {ways}"

    @property
    def ordered(self) -> bool:
        """Whether every mechanism that may follow releases an order."""
        return all(way.ordered for way in self.ways)

    def look(self, relation: Relation) -> Promise:
        """What the look is charged."""
        return promise(
            "discrete-box",
            "additive",
            relation,
            epsilon=LOOK_SHARE * exact("epsilon", self.epsilon),
        )

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        look, ways = self.look(relation), [way.promise(relation) for way in self.ways]
        return Promise(
            Compose((look.event, AnyOf(tuple(way.event for way in ways)))),
            "; ".join(dict.fromkeys([look.citation, *(way.citation for way in ways)])),
            f"{look.statement} Then: " + " Or: ".join(dict.fromkeys(way.statement for way in ways)),
        )

    def guarantee(self, promised: Promise) -> Guarantee:
        """The look, and the dearest of what may follow, added up."""
        relation = promised.event.relation
        each = [way.guarantee(way.promise(relation)) for way in self.ways]
        dearest = max(exact("epsilon", one.epsilon) for one in each)
        total = LOOK_SHARE * exact("epsilon", self.epsilon) + dearest
        return Guarantee(stated_at_least(total), max(one.delta for one in each), relation)

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_known(self.name, self.rule.k, total)
        if not self.noise_scale(self.epsilon, utility) < _LARGEST:
            raise ParameterError("epsilon is too small for noisy counts of 64 bits; name a method")

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        super().check(scores)
        for way in self.ways:
            way.check(scores)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        way = self._way(at_ranks(universe, self.rule.ranks), utility, tape)
        return Drawn(way._draw(universe, utility, tape.child("selection")).found)

    def _way(self, held: Integers, utility: Utility, tape: Tape) -> Selection:
        """The mechanism that follows from scores at the ranks."""
        seen = held + self.noise(utility, tape.child("look"))
        return self.ways[self.rule.place(seen / float(utility.one_sided))]

    def noise(self, utility: Utility, tape: Tape) -> Integers:
        """The noise of the look."""
        scale = self.noise_scale(self.epsilon, utility)
        return box_noise(tape, 1, len(self.rule.ranks), scale).reshape(-1)


def at_ranks(universe: Universe, ranks: tuple[int, ...]) -> Integers:
    """The scores at some ranks from 1, rounded down."""
    return rounded_down(universe.scores_at([rank - 1 for rank in ranks]))


def rounded_down(scores: NDArray[Any]) -> Integers:
    """Whole numbers that are no larger; those that fit no 64 bits stand at the end."""
    return np.asarray(np.clip(np.floor(scores), -_LARGEST, _LARGEST), np.int64)
