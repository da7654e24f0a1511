"""The exact chances of Canonical, when the scores are known, for any of the five noises.

Gumbel noise makes it the exponential mechanism over all k-subsets: a class of N subsets with
loss l has probability N e^(-cl)/Z. The sum over the classes (h, t) goes head by head, with all
tails of a head at once, so memory is O(d); tails that cannot matter are left out, and a bound
on their chance, ``missed``, is kept.

For the other laws let H(x) be the law of the largest noisy score of all subsets. A class with
N subsets at score s = -cl wins with probability N I(s), I(s) = integral of H(x) r(x - s) dx
with r = F'/F (see ``chances``). Since -log F(x) = a_1 e^-x (1 + O(e^-x)) for each law:

- A class more than ``FAR`` behind, s < -FAR, enters H and r by its first term alone, to e^-36.
  So all far classes are one group, and I(s) = const e^s for them.
- If ln Z >= 36 then H lives at x of 32 and more, everybody is far, and the chances are those
  of Gumbel noise, to about 1e-14.
- Otherwise the near classes are gathered by loss (equal losses together) and ``win_chances``
  gives I at each; a second pass over the classes weighs them with it.

The top k up to ties: the subsets of loss 0 are equally likely, and C(m, r) of them have the k
highest scores (r of the m items tied at the k-th). For 0 < gamma < 1 they are all of loss 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from winnow.core.laws import Law
from winnow.errors import ParameterError
from winnow.select.plan.chances import Counts, Floats, win_chances
from winnow.select.plan.top_k.joint import log_top_sets
from winnow.select.plan.top_k.subsets import BLOCKS, Loss, Subsets, good, great

CUT = 45.0
ALIKE = 36.0  # beyond this ln Z all laws agree
GROUPS = 1 << 22  # distinct losses that are told apart at most

Tilt = Callable[[Counts], Floats]
"""From losses to the factor on N e^(-cl)."""


@dataclass(frozen=True, eq=False)
class CanonicalChances:
    """How a draw of Canonical ends."""

    log_top: float
    """That the set has the k highest scores, up to ties."""
    log_top_class: float
    """That it is the set of the best k ranks: one of the sets above [Canonical, TOP]."""
    great: float
    """That it holds the best ceil(k/10) ranks and none beyond floor(11k/10)."""
    good: float
    """That it holds the best ceil(k/100) ranks and none beyond floor(3k/2)."""
    gaps: Counts
    """How far the worst item may lie behind the k-th best, increasing from 0, in steps."""
    gap_chances: Floats
    missed: float
    """A bound on the total chance of the sets that were left out."""

    @property
    def top(self) -> float:
        """Pr[TOP-k], ties included."""
        return math.exp(self.log_top)

    def gap_quantile(self, confidence: float) -> int:
        """What x[k] - x[T] does not exceed with this probability, exactly."""
        place = int(np.searchsorted(np.cumsum(self.gap_chances), confidence * (1.0 - 1e-12)))
        return int(self.gaps[min(place, self.gaps.size - 1)])

    def gap_chance(self, gap: float) -> float:
        """Pr[x[k] - x[T] <= gap]."""
        return min(1.0, float(self.gap_chances[self.gaps <= gap].sum()))


def canonical_chances(scores: Counts, k: int, loss: Loss, law: Law) -> CanonicalChances:
    """The chances on these scores, in any order; ranks break ties by position.

    GREAT and GOOD speak of ranks; among items of equal score they depend on that choice.
    """
    ranked = np.sort(scores)[::-1]
    if k == len(ranked):
        return CanonicalChances(0.0, 0.0, 1.0, 1.0, np.zeros(1, np.int64), np.ones(1), 0.0)
    subsets = Subsets(ranked, k, loss, (great(k)[0], good(k)[0]))
    kept, log_rest = subsets.relevant(CUT + math.log(len(subsets.runs) * BLOCKS))
    total = _Totals.over(subsets, kept, None)
    log_sets = log_top_sets(ranked, k)
    missed = math.exp(min(0.0, log_rest - total.log_total))
    if law is Law.GUMBEL or total.log_total >= ALIKE:
        log_class = -total.log_total
    else:
        law_chances = _Winners.of(subsets, kept, law)
        total = _Totals.over(subsets, kept, law_chances.tilt)
        log_class = law_chances.log_top_class
    return total.chances(subsets, log_class, log_class + log_sets, missed)


class _Totals:
    """Weights of the classes, summed by tail, relative to e^reference."""

    def __init__(self, subsets: Subsets) -> None:
        self.tails = np.zeros(subsets.d - subsets.k)
        self.great = self.good = 0.0
        self.reference = 0.0

    @classmethod
    def over(
        cls, subsets: Subsets, kept: list[tuple[tuple[int, int], slice]], tilt: Tilt | None
    ) -> _Totals:
        """All kept classes; the top k by itself is added by the properties below."""
        totals = cls(subsets)
        k = subsets.k
        for run, tails in kept:
            log_weights = subsets.log_weights(run, tails)
            totals._raise(float(log_weights.max()))
            weights = np.exp(log_weights - totals.reference)
            if tilt is not None:
                weights *= tilt(subsets.losses(run, tails))
            totals.tails[tails.start - k - 1 : tails.stop - k - 1] += weights
            for name, (head, tail) in (("great", great(k)), ("good", good(k))):
                if run[0] >= head and tail >= tails.start:
                    inside = float(weights[: tail + 1 - tails.start].sum())
                    setattr(totals, name, getattr(totals, name) + inside)
        return totals

    def _raise(self, log_weight: float) -> None:
        """Keep the exponentials within range as larger weights come."""
        if log_weight > self.reference + 200.0:
            shrink = math.exp(max(self.reference - log_weight, -745.0))
            self.tails *= shrink
            self.great *= shrink
            self.good *= shrink
            self.reference = log_weight

    @property
    def log_total(self) -> float:
        """ln Z, the top k included."""
        others = float(self.tails.sum())
        log_others = self.reference + math.log(others) if others > 0 else -math.inf
        return float(np.logaddexp(0.0, log_others))

    def chances(
        self, subsets: Subsets, log_class: float, log_top: float, missed: float
    ) -> CanonicalChances:
        """The result, where the top k by itself has this log chance."""
        top = math.exp(log_class)
        others = float(self.tails.sum())
        norm = -math.expm1(log_class) / others if others > 0 else 0.0
        k = subsets.k
        gaps = -subsets.scores[k:]
        starts = np.flatnonzero(np.append(True, gaps[1:] != gaps[:-1]))
        by_gap = np.add.reduceat(self.tails, starts) * norm
        gaps = gaps[starts]
        if gaps[0] > 0:
            gaps, by_gap = np.append(0, gaps), np.append(0.0, by_gap)
        by_gap[0] += top
        return CanonicalChances(
            min(0.0, log_top),
            log_class,
            min(1.0, top + self.great * norm),
            min(1.0, top + self.good * norm),
            gaps,
            by_gap,
            missed,
        )


@dataclass(frozen=True, eq=False)
class _Winners:
    """I(s) e^(-s) for every near loss, for the far ones, and the chance of the top k itself."""

    losses: Counts
    near: Floats
    far: float
    log_top_class: float

    @classmethod
    def of(
        cls,
        subsets: Subsets,
        kept: list[tuple[tuple[int, int], slice]],
        law: Law,
    ) -> _Winners:
        """Gather the near classes by loss and integrate over the winning value."""
        reach = ALIKE if law.formulas.on_half_line else ALIKE + 44.0
        limit = reach / subsets.loss.weight
        groups = _Groups()
        far = 0.0  # sum of N e^s, which is below e^36
        for run, tails in kept:
            losses, log_weights = subsets.losses(run, tails), subsets.log_weights(run, tails)
            close = losses <= limit
            far += float(np.exp(log_weights[~close]).sum())
            groups.add(losses[close], np.exp(log_weights[close]))
        losses, weights = groups.merged()
        scores = -subsets.loss.weight * losses.astype(np.float64)
        counts = weights * np.exp(-scores)
        lump = -reach - ALIKE  # one group at this score weighs as much as all far classes
        if far > 0:
            scores, counts = np.append(scores, lump), np.append(counts, far * math.exp(-lump))
        factors = win_chances(law, scores, counts) / (counts * np.exp(scores))
        beyond = float(factors[-1]) if far > 0 else 0.0
        return cls(losses, factors[: losses.size], beyond, math.log(factors[0]))

    def tilt(self, losses: Counts) -> Floats:
        """The factor that turns N e^(-cl) into a chance."""
        place = np.searchsorted(self.losses, losses)
        inside = np.minimum(place, self.losses.size - 1)
        return np.where(place < self.losses.size, self.near[inside], self.far)


class _Groups:
    """Weights by loss, merged whenever the list grows long."""

    def __init__(self) -> None:
        self._losses = [np.zeros(1, np.int64)]  # the top k itself
        self._weights = [np.ones(1)]
        self._size = 1

    def add(self, losses: Counts, weights: Floats) -> None:
        self._losses.append(losses)
        self._weights.append(weights)
        self._size += losses.size
        if self._size > 2 * GROUPS:
            losses, weights = self.merged()
            if losses.size > GROUPS:
                raise ParameterError(
                    f"more than {GROUPS:,} distinct losses are near the best, too many to "
                    "integrate over; plan with gumbel noise, or round the scores"
                )
            self._losses, self._weights, self._size = [losses], [weights], losses.size

    def merged(self) -> tuple[Counts, Floats]:
        """Distinct losses, increasing from 0, and their weights."""
        losses, place = np.unique(np.concatenate(self._losses), return_inverse=True)
        weights = np.bincount(place, np.concatenate(self._weights))
        return losses, weights.astype(np.float64)
