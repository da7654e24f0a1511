"""The large margin mechanism on universes that nobody can list, or that nobody knows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from winnow.core.checks import Real, exact, one_of, positive
from winnow.core.laws import Law
from winnow.core.noisy_top.ranked import First, Without
from winnow.core.noisy_top.support_classes import SupportClasses
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Promise, promise
from winnow.select.crossing.selection import check_scale
from winnow.select.mechanisms.margin_search import LAST_RANK, THRESHOLDS, MarginSearch
from winnow.select.mechanisms.ranked import Found, OneOf, check_delta


@dataclass(frozen=True)
class RankedLargeMargin(OneOf):
    """The large margin mechanism over counts that are listed lazily. [LMM, Alg 1, Section 4.1]

    The law is that of ``LargeMargin`` on all candidates: find the stopping rank l of the search
    (``margin_search``: counts are listed only as far as a test can still pass), then draw one of
    the l best with probability proportional to exp(epsilon s/6), class by class.

    Formal guarantees
        (epsilon, delta)-DP under the relation of the utility; the sensitivity is the utility's
        `half_width`, in counts (the paper's frequencies have 1/n under substitution, where n is
        public; counts have 1 there, and 1/2 under add/remove, where n is not needed).
        [LMM, Thm 2, with the thresholds of ``margin_thresholds``]

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
    """

    epsilon: Real
    delta: Real
    thresholds: str = "tight"
    one_by_one: int | None = None
    last_rank: int = LAST_RANK
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

    def check(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        for scale in (exact("epsilon", self.epsilon), self._choice_scale(utility)):
            check_scale(scale)

    def _choice_scale(self, utility: Utility) -> Fraction:
        return exact("epsilon", self.epsilon) / (6 * utility.half_width)

    def search(self, utility: Utility) -> MarginSearch:
        """The search with these parameters."""
        return MarginSearch(
            self.epsilon, self.delta, self.thresholds, utility.half_width, self.one_by_one,
            self.last_rank,
        )  # fmt: skip

    def take(self, universe: Without, utility: Utility, tape: Tape) -> Found | None:
        """Stopping rank, then a class of equal counts, then a member."""
        rank = self.search(utility).stopping_rank(universe, tape.child("search"))
        if rank is None:
            return None
        classes = SupportClasses(First(universe, rank), self._choice_scale(utility), 0)
        count = classes.best(Law.GUMBEL, tape.child("choice"))
        member = universe.take(count, tape.child("member").stream())
        return None if member is None else (count, member)
