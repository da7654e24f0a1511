"""The large margin mechanism: when few candidates are near the top, pay only for those."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, one_of, positive
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.noisy_top.filter import Scores, gaps_to
from winnow.core.noisy_top.grid import largest
from winnow.core.noisy_top.in_memory import InMemory
from winnow.core.noisy_top.ranked import First
from winnow.core.noisy_top.support_classes import SupportClasses
from winnow.core.noisy_top.universe import Drawn, InClasses, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Promise, promise
from winnow.select.crossing.selection import Selection, check_delta, check_scale
from winnow.select.mechanisms.margin_counts import MarginCounts
from winnow.select.mechanisms.margin_search import (
    LAST_RANK,
    THRESHOLDS,
    MarginSearch,
    laplace_tests,
    stopping_margin,
)

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

        The zero block. All candidates that nobody has are one class of count 0; nothing in the
        proof of Theorem 2 asks for their names, only for sorted counts. The class is never
        listed: how far the search goes into it is drawn by its hazard, and a member by
        rejection against the seen ones.

        Universe unknown [LMM, Cor 1 and the remark after it]. The candidates are all itemsets
        over all possible items, and countably many dummies; every count but finitely many is
        0, and among those of count 0 the dummies come first. So whatever rank the search
        reaches, the candidates before it are itemsets of the data and dummies. All dummies are
        released as 'none', which is post-processing. The proof of Theorem 2 carries over: each
        sorted count s(l) exists and is 1-Lipschitz; Lemma 3 compares the tests of finitely many
        ranks, and for the outcome 'never stops' it compares the sets of noises in which no test
        passes, which are nested for neighbours in the same way; the union bound over l is over
        sum 1/(l(l+1)) = 1, as before; Lemma 5 speaks of one finite l at a time; and if the search
        never stops, the last step draws among infinitely many dummies of weight 1 and finitely
        many itemsets, so it answers 'none' for every data set. An order of ties that prefers
        dummies, and is else random, is fixed apart from the data.

    All comparisons are exact: the Laplace noise stays on the tape.

    Two ways to find the stopping rank, with one law. Of scores in memory every rank has a noise
    of its own, and all scores are counted in a pass that takes as long wherever the search stops:
    its time tells nothing. Of a universe in classes only the counts are listed that a test can
    still need (``margin_search``): that pass would list all itemsets, which nobody can. Ties are
    broken by position there and at random here, each a fixed order apart from the data.
    """

    epsilon: Real
    delta: Real
    thresholds: str = "tight"
    one_by_one: int | None = field(default=None, repr=False)
    last_rank: int = field(default=LAST_RANK, repr=False)
    title: ClassVar[str] = "large-margin"
    endless: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        check_delta(self.delta)
        one_of(THRESHOLDS, thresholds=self.thresholds)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title} ({self.thresholds} thresholds)"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(
            Law.LAPLACE, "large-margin", relation, epsilon=self.epsilon, delta=self.delta
        )

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        for scale in (
            exact("epsilon", self.epsilon), self._choice_scale(utility), utility.half_width
        ):  # fmt: skip
            check_scale(scale)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        if isinstance(universe, InMemory):
            return Drawn(universe.found([self._of_scores(universe.scores, utility, tape)]))
        if not isinstance(universe, InClasses):
            raise TypeError("the search looks at scores in memory, or at classes")
        rank = self.search(utility).stopping_rank(universe, tape.child("search"))
        if rank is None:
            return Drawn([])
        near = SupportClasses(First(universe, rank), self._choice_scale(utility), 0)
        count = near.best(Law.GUMBEL, tape.child("choice"))
        return Drawn(universe.take([count], tape.child("member").stream()))

    def search(self, utility: Utility) -> MarginSearch:
        """The search in classes, with these parameters."""
        return MarginSearch(
            self.epsilon, self.delta, self.thresholds, utility.half_width, self.one_by_one,
            self.last_rank,
        )  # fmt: skip

    def _of_scores(self, scores: Scores, utility: Utility, tape: Tape) -> int:
        """Stopping rank, then the position of one of the best."""
        stopped, near = self._near(scores, utility, tape.child("search"))
        scale, place = self._choice_scale(utility), 0
        if stopped > 1:
            left = scores if near is None else scores[near]
            place = noisy_top(left, tape.child("choice"), Law.GUMBEL, scale)[0]
        # for as long as all would have taken: the time does not tell how many were left
        if stopped < len(scores):
            noisy_top(scores[stopped:], tape.child("unused"), Law.GUMBEL, scale)
        return place if near is None else int(np.flatnonzero(near)[place])

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
