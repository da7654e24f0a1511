"""The large margin mechanism: when few candidates are near the top, pay only for those."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, one_of, positive, probability
from winnow.core.laws import Law
from winnow.core.noisy_top.count_classes import CountClasses, Drawn
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.noisy_top.filter import Scores, gaps_to
from winnow.core.noisy_top.grid import largest
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Promise, promise
from winnow.read.scores import SealedScores
from winnow.select.crossing.selection import Selection, check_scale
from winnow.select.mechanisms.margin_counts import MarginCounts
from winnow.select.mechanisms.margin_search import THRESHOLDS, laplace_tests, stopping_margin
from winnow.select.mechanisms.ranked_large_margin import RankedLargeMargin

SORTED = 1 << 10
"""So many scores are sorted; of more only counts are needed. Any number gives the same draws."""


@dataclass(frozen=True)
class LargeMargin(Selection):
    """Find privately how many candidates are near the top, then choose among these.

    With scores in units of the sensitivity, sorted s(1) >= s(2) >= ...: draw
    Z ~ Lap(3/epsilon), G ~ Lap(6/epsilon), Z_l ~ Lap(12/epsilon); stop at the first rank l
    with s(1) - s(l+1) + Z > Z_l + G + T(l), at the last rank otherwise; draw one of the l
    best with probability proportional to exp(epsilon s/6). [LMM, Alg 1]

    Formal guarantees
        (epsilon, delta)-DP under the relation of the utility; the sensitivity is the
        utility's `half_width`: the mechanism is shift-invariant, so the argument of
        Canonical Thm A.15 holds for it. [LMM, Thm 2; Lemma 5 holds in the needed
        direction with the same margin]. ``thresholds="tight"`` (default) uses exact
        quantiles in place of three tail bounds and t(1) = 2, see ``margin_thresholds``;
        ``"printed"`` uses those of the paper.

    All comparisons are exact: the Laplace noise stays on the tape.
    """

    epsilon: Real
    delta: Real
    thresholds: str = "tight"
    title: ClassVar[str] = "large-margin"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        probability(delta=self.delta)
        if exact("delta", self.delta) < Fraction(1, 10**100):
            raise ParameterError(f"delta={self.delta} is below 1e-100; give a delta like 1e-9")
        one_of(THRESHOLDS, thresholds=self.thresholds)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title} ({self.thresholds} thresholds)"

    @property
    def ordered(self) -> bool:
        """One candidate has no order to hide."""
        return True

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(
            Law.LAPLACE, "large-margin", relation, epsilon=self.epsilon, delta=self.delta
        )

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        epsilon = exact("epsilon", self.epsilon)
        for scale in (epsilon, self._choice_scale(scores.utility), scores.utility.half_width):
            check_scale(scale)

    def _draw(self, scores: Scores, utility: Utility, tape: Tape) -> list[int]:
        stopped, near = self._near(scores, utility, tape.child("search"))
        scale, place = self._choice_scale(utility), 0
        if stopped > 1:
            left = scores if near is None else scores[near]
            place = noisy_top(left, tape.child("choice"), Law.GUMBEL, scale)[0]
        # for as long as all would have taken: the time does not tell how many were left
        if stopped < len(scores):
            noisy_top(scores[stopped:], tape.child("unused"), Law.GUMBEL, scale)
        return [place if near is None else int(np.flatnonzero(near)[place])]

    def _draw_classes(self, classes: CountClasses, utility: Utility, tape: Tape) -> Drawn:
        same = RankedLargeMargin(self.epsilon, self.delta, self.thresholds)
        return Drawn([place for _, place in same.draw(classes, utility, tape)])

    def _near(
        self, scores: Scores, utility: Utility, tape: Tape
    ) -> tuple[int, NDArray[np.bool_] | None]:
        """At which rank the search stops, and which candidates it leaves; None: all."""
        size = len(scores)
        if size <= SORTED:
            order = largest(scores, size)
            stopped = self._stopping_rank(scores, order, utility, tape)
            near = np.zeros(size, bool)
            near[order[:stopped]] = True
            return stopped, near
        search = MarginCounts(
            scores, utility.half_width, laplace_tests(exact("epsilon", self.epsilon), tape),
            self._thresholds,
        )  # fmt: skip
        stopped = search.stopping_rank()
        return stopped, None if stopped == size else search.best(stopped)

    def _thresholds(self, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
        return stopping_margin(ranks, float(self.epsilon), float(self.delta), self.thresholds)

    def _choice_scale(self, utility: Utility) -> Fraction:
        return exact("epsilon", self.epsilon) / (6 * utility.half_width)

    def _stopping_rank(
        self, scores: Scores, order: NDArray[np.int64], utility: Utility, tape: Tape
    ) -> int:
        """The rank at which the search stops, by all tests; `order` sorts the scores."""
        tests = laplace_tests(exact("epsilon", self.epsilon), tape)
        sensitivity = utility.half_width
        needed = self._thresholds(np.arange(1, len(order)))

        def offset(index: int) -> Fraction:
            top, other = scores[order[0]].item(), scores[order[index + 1]].item()
            return (Fraction(top) - Fraction(other)) / sensitivity - Fraction(float(needed[index]))

        if len(needed):
            margins = gaps_to(scores[order[0]], scores[order[1:]]) / float(sensitivity)
            errors = 2.0**-50 * (margins + needed)
            passed = np.flatnonzero(tests.outcomes(0, margins - needed, errors, offset))
            if len(passed):
                return int(passed[0]) + 1
        return len(scores)
