"""Joint: the whole ordered list of k items in one draw of the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from winnow.core.checks import exact
from winnow.core.laws import Law
from winnow.core.noisy_top.best_class import best_class
from winnow.core.noisy_top.classes import JointClasses
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Promise, promise
from winnow.read.scores import SealedScores
from winnow.select.crossing.private_labels import check_on_grid
from winnow.select.crossing.selection import TopKList, check_lists, check_scale


@dataclass(frozen=True)
class Joint(TopKList):
    """Draw a sequence S of k distinct items with probability ~ exp(epsilon u(S)/(2 Delta)).

    u(S) = -max_i (c_i - c_{S_i}): how far the worst place of the list falls short of the
    true count at that place. [Joint, Section 3]

    Formal guarantees
        epsilon-bounded range, so epsilon-DP and epsilon^2/8-zCDP, under the relation of the
        utility. Delta is the utility's `width`: c_i (an order statistic) and c_{S_i} each
        move within -down..+up, so their difference moves by at most down + up; counts have
        1 under add/remove [Joint, Lemma 3.1] and 2 under substitution. u is not monotone,
        so nothing is halved. [Joint, Thm 3.2; Durfee-Rogers 2019]

    Exact, and without an O(dk) table: ``core.noisy_top.best_class`` over blocks of utilities.
    """

    title: ClassVar[str] = "joint"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(Law.GUMBEL, "joint", relation, epsilon=self.epsilon)

    def scale(self, utility: Utility) -> Fraction:
        """The factor of the utility in the exponent: epsilon/(2 width)."""
        return exact("epsilon", self.epsilon) / (2 * utility.width)

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_lists(self.title, self.k, total)
        check_scale(self.scale(utility))

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        super().check(scores)
        check_on_grid(scores)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """The best class of lists, one list of it, and the candidates at its ranks."""
        ranked = universe.by_rank(utility, self.k)
        classes = JointClasses(ranked.ranking, self.k, self.scale(ranked.utility), ranked.cell)
        winner = best_class(classes, Law.GUMBEL, tape.child("class"))
        stream = tape.child("member").stream()
        return Drawn(ranked.named(classes.sample(winner[1], stream), stream))
