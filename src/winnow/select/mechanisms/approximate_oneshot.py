"""Oneshot Laplace with approximate privacy: noise that grows like sqrt(k), for small epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from winnow.core.checks import Real, exact, positive, probability, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Promise, promise
from winnow.select.crossing.selection import Selection, check_known, check_scale


@dataclass(frozen=True)
class ApproximateOneshot(Selection):
    """Add Laplace noise of scale 8 Delta sqrt(k ln(d/delta))/epsilon, release the k-set.

    Formal guarantees
        (epsilon, delta)-DP under the relation of the utility, for epsilon <= 0.2,
        delta <= 0.05 and d >= 2. [Qiao-Su-Zhang 2021, Thm 2.2: scores that move by at most s
        need noise of scale 8 s sqrt(k ln(d/delta))/epsilon or more; it speaks of the set, so
        no order is released] Adding one constant to all scores changes no set, so scores that
        move within an interval of length w count as moving by w/2: s is the utility's
        `half_width` [Canonical, Thm A.15].
    """

    epsilon: Real
    delta: Real
    k: int
    title: ClassVar[str] = "oneshot-approximate"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        probability(delta=self.delta)
        set_counts(self, k="k")
        if exact("epsilon", self.epsilon) > Fraction(1, 5):
            raise ParameterError(
                f"epsilon={self.epsilon}: the theorem behind oneshot-approximate needs epsilon "
                "of at most 0.2; use peel-gumbel"
            )
        if exact("delta", self.delta) > Fraction(1, 20):
            raise ParameterError(f"delta={self.delta}: oneshot-approximate needs delta up to 0.05")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, k={self.k}"

    @property
    def ordered(self) -> bool:
        """A set: no order is released."""
        return False

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(
            Law.LAPLACE, "top-set-approximate", relation, epsilon=self.epsilon, delta=self.delta
        )

    def scale(self, utility: Utility, d: int) -> Fraction:
        """The factor of the scores before noise of scale 1, rounded down."""
        growth = math.sqrt(self.k * math.log(d / float(exact("delta", self.delta))))
        noise = 8 * utility.half_width * Fraction(growth * (1 + 2.0**-40))
        return exact("epsilon", self.epsilon) / noise

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_known(self.name, self.k, total)
        if total is None or total < 2:
            raise ParameterError("oneshot-approximate needs at least 2 candidates")
        check_scale(self.scale(utility, total))

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        scale = self.scale(utility, universe.total or 0)
        return Drawn(universe.noisiest(Law.LAPLACE, scale, self.k, tape))
