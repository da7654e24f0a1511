"""Canonical over as many candidates as stand out: the length of the set is chosen privately."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Compose, Promise, promise
from winnow.select.crossing.selection import Pick, check_lists, check_scale
from winnow.select.mechanisms.canonical import Canonical

Integers = NDArray[np.int64]

LENGTH_SHARE = Fraction(1, 10)
"""The part of epsilon that chooses the length."""
SPARE = Fraction(3, 2)
"""A set has to stand so far from chance, in units of the noise of the length: too long a set is
mostly chance, one that is a little too short loses its end."""
_LARGEST = 2**50
"""Counts and bounds are cut here: far above what decides, and exact in every sum."""


@dataclass(frozen=True)
class CanonicalAdaptive(Pick):
    """A set of at most k: ``Canonical`` finds all of a set or nearly nothing, so first how many.

    Of the sets of j candidates, C(N-h-1, j-h) keep the best h and miss the next one, at
    x[h+1]/2 people from the best set, if the others are candidates that nobody has. So the set of
    j is found about when  x[h+1] >= 2 ln C(N-h-1, j-h)/scale  for every h < j, scale the factor of
    the loss. By how much this holds for all lengths up to j is s_j; the length is the j with the
    largest  min(s_j, -s_(j+1)) + noise  (permute-and-flip), which is where s changes its sign; of
    length 1 only -s_2 counts, of length k only s_k. Then ``Canonical`` draws a set of that
    length. What s_j is compared with is in whole numbers, rounded up, and holds ``SPARE`` more.

    Formal guarantees
        epsilon-DP under the relation of the utility: ``LENGTH_SHARE`` of epsilon for the length,
        the rest for the set, by adaptive composition.
        Proof for the length. Let one person move every count by -down to +up. The j-th largest
        count, a count less a public number, and the smaller of two such numbers, move within the
        same interval; so does s_j, and -s_(j+1) within [-up, down]. The smaller of the two moves by
        at most max(down, up), the utility's `one_sided`, in either direction. With that as
        sensitivity permute-and-flip is epsilon-DP. [Canonical, Thm A.5] The set of the length
        that was released is that of ``Canonical``. [Canonical, Thm 3.5]
    """

    epsilon: Real
    k: int
    title: ClassVar[str] = "canonical-adaptive"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")

    @property
    def _for_length(self) -> Fraction:
        return LENGTH_SHARE * exact("epsilon", self.epsilon)

    def set_of(self, length: int) -> Canonical:
        """The mechanism that draws a set of this length."""
        return Canonical(exact("epsilon", self.epsilon) - self._for_length, length)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, at most k={self.k}"

    @property
    def ordered(self) -> bool:
        """A set: no order is released."""
        return False

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        first = promise(Law.EXPONENTIAL, "argmax", relation, epsilon=self._for_length)
        second = self.set_of(1).promise(relation)
        return Promise(
            Compose((first.event, second.event)),
            f"{first.citation}; the set: {second.citation}",
            f"{first.statement} {second.statement}",
        )

    def length_scale(self, utility: Utility) -> Fraction:
        """The factor of the scores of lengths before noise of scale 1."""
        return self._for_length / (2 * utility.one_sided)

    def set_scale(self, utility: Utility) -> Fraction:
        """The factor of the loss of a set before noise of scale 1."""
        return self.set_of(1).scale(utility)

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_lists(self.title, self.k, total)
        check_scale(self.length_scale(utility))
        check_scale(self.set_scale(utility))

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """The length, and a set of it."""
        length = self.length_of(universe, utility, tape.child("length"))
        return self.set_of(length)._draw(universe, utility, tape.child("set"))

    def length_of(self, universe: Universe, utility: Utility, tape: Tape) -> int:
        """How many stand out, with noise."""
        leaders = universe.scores_at(range(self.k))
        scores = self.length_scores(leaders, universe.total or 0, utility)
        return 1 + noisy_top(scores, tape, Law.EXPONENTIAL, self.length_scale(utility), 1)[0]

    def length_scores(self, leaders: Integers, total: int, utility: Utility) -> Integers:
        """min(s_j, -s_(j+1)) for j = 1 .. k, from the k largest counts of so many candidates."""
        spare = ceil(min(Fraction(_LARGEST), SPARE / self.length_scale(utility)))
        s = np.empty(self.k, np.int64)
        for j, needed in enumerate(needed_counts(self.k, total, self.set_scale(utility)), 1):
            s[j - 1] = (np.minimum(leaders[:j], _LARGEST) - needed).min() - spare
        s = np.minimum.accumulate(s)
        below = np.append(-s[1:], _LARGEST)
        s[:-1][:1] = _LARGEST  # one candidate is released in any case
        return np.asarray(np.minimum(s, below), np.int64)


def needed_counts(k: int, total: int, scale: Fraction) -> Iterator[Integers]:
    """For each length j up to k the counts that the ranks 1 .. j need: public numbers."""
    ranks = np.arange(1, k + 1)
    falling = np.concatenate([[0.0], np.cumsum(np.log(np.maximum(1.0, total - ranks)))])
    factorials = np.concatenate([[0.0], np.cumsum(np.log(ranks))])
    for j in range(1, k + 1):
        sets = falling[j] - falling[:j] - factorials[j:0:-1]  # ln C(total-h-1, j-h)
        with np.errstate(over="ignore"):
            needed = np.ceil(2.0 * np.maximum(0.0, sets) / float(scale))
        yield np.minimum(needed, float(_LARGEST)).astype(np.int64)
