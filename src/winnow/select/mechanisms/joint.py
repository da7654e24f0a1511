"""Joint: the whole ordered list of k items in one draw of the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from winnow.core.checks import exact
from winnow.core.laws import Law
from winnow.core.noisy_top.best_class import best_class
from winnow.core.noisy_top.classes import JointClasses
from winnow.core.noisy_top.count_classes import ClassRanking, CountClasses, Drawn
from winnow.core.noisy_top.filter import Scores
from winnow.core.noisy_top.grid import Grid
from winnow.core.noisy_top.ranking import Ranking
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Promise, promise
from winnow.read.scores import SealedScores
from winnow.select.crossing.private_labels import check_on_grid
from winnow.select.crossing.selection import TopKList, check_scale, check_size


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

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_size(self.k, scores)
        check_scale(self.scale(scores.utility))
        check_on_grid(scores)

    def _draw(self, scores: Scores, utility: Utility, tape: Tape) -> list[int]:
        grid = Grid.of(utility, scores)
        ranking = Ranking(grid.steps(scores), self.k)
        return ranking.positions(self._ranks(ranking, self.scale(grid.utility), grid.cell, tape))

    def _draw_classes(self, classes: CountClasses, utility: Utility, tape: Tape) -> Drawn:
        ranks = self._ranks(ClassRanking(classes), self.scale(utility), 1, tape)
        return Drawn(classes.places(ranks))

    def _ranks(self, ranking: Ranking, scale: Fraction, cell: int, tape: Tape) -> list[int]:
        classes = JointClasses(ranking, self.k, scale, cell)
        winner = best_class(classes, Law.GUMBEL, tape.child("class"))
        return classes.sample(winner[1], tape.child("member").stream())
