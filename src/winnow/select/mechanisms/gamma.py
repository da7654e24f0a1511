"""The Gamma mechanism: noise uniform in a cube of random size, then the k largest."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from winnow.core.checks import exact
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Promise, promise
from winnow.select.crossing.selection import TopKList, check_known, check_scale


@dataclass(frozen=True)
class GammaMechanism(TopKList):
    """Add noise with density ~ exp(-epsilon max(abs(z))/Delta) to all scores; list the k largest.

    The noise is R times a uniform point of the cube [-1, 1]^d, with R ~ Gamma(d+1, Delta/epsilon).

    Formal guarantees
        epsilon-DP under the relation of the utility, order included: the densities of
        neighbours with scores s and t differ by at most e^(epsilon max(abs(s - t))/Delta), and
        the list is computed from the noisy scores. Only differences of scores matter to it,
        so Delta is the utility's `half_width`. [Steinke-Ullman 2015, Thm 4.1; Canonical, Thm A.15]

    Exact (``core.noisy_top.cube``).
    """

    title: ClassVar[str] = "gamma"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise("gamma", "top-sequence", relation, epsilon=self.epsilon)

    def scale(self, utility: Utility) -> Fraction:
        """The factor of the scores before noise of scale 1: epsilon/half_width."""
        return exact("epsilon", self.epsilon) / utility.half_width

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_known(self.name, self.k, total)
        check_scale(self.scale(utility))

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        return Drawn(universe.noisiest_in_cube(self.scale(utility), self.k, tape))
