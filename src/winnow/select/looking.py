"""A small charged look at three counts, where what they are decides which mechanism errs least.

What is public stands here: the ranks, what each mechanism loses on each profile of the library
(``winnow.select.choice``), and how a look weighs the profiles. The look itself, with its noise and
its proof, is ``winnow.select.mechanisms.looked``.

A profile is weighed by how likely it makes what was seen, as if counts were off from it by the
noise, and by a tenth of themselves beside. Taken is the mechanism whose error is the least multiple
of the best one's, in the weighted mean. The mean of logarithms did worse than no look: it makes
little of errors that are a hundred times the best, and a mean error does not. A look is taken where
on the library itself, each profile judged by the others, it lowers the mean loss by more than it
costs. What was seen only weighs profiles: to make a profile of it was worse than no look (1.83
against 1.32, the geometric mean of regret on 1,530 generated settings).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from winnow.select.choice import PlannedNoise, library, loss_table
from winnow.select.methods import LOOK_SHARE

Floats = NDArray[np.float64]

_GAIN = 0.05
"""A look has to lower the mean loss by so much more than it costs. On 384 generated settings, other
ones than those of the figures, a ninth took a look: .911 were within 1.15 of the best and .964
within 1.5, the geometric mean was 1.058 (without a look .901, .951 and 1.070)."""
_MISFIT = 0.1
"""By such a part counts may differ from every profile of the library."""
_LARGEST = 6.0
"""A loss counts as no more: a factor of 400."""


def ranks_seen(d: int, k: int) -> tuple[int, ...]:
    """The ranks whose counts are seen: k/4, k and 4k."""
    return tuple(sorted({min(max(rank, 1), d) for rank in (k // 4, k, 4 * k)}))


@dataclass(frozen=True)
class LookRule:
    """Which of several mechanisms follows from what was seen; all of it is public."""

    noises: tuple[tuple[str, PlannedNoise], ...]
    """The mechanisms by their words, with the noise that they have after the look."""
    items: int
    k: int
    unit: float
    """An error that matters to nobody, in people."""
    ordered: bool
    scale: float
    """Of the noise in what is seen, in people."""

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks whose counts are seen."""
        return ranks_seen(self.items, self.k)

    @property
    def words(self) -> tuple[str, ...]:
        """The mechanisms that may follow."""
        return tuple(word for word, _ in self.noises)

    def place(self, seen: Floats) -> int:
        """Which mechanism follows, from the noisy counts at the ranks, in people."""
        losses, expected = _table(self)
        return _least(losses, _weights(expected, np.asarray(seen, np.float64), self.scale))

    @property
    def usual(self) -> int:
        """The one that would be taken unseen."""
        return int(_table(self)[0].mean(axis=0).argmin())

    def gain(self) -> float:
        """By how much a look lowers the mean loss on the library, less what it costs."""
        losses, expected = _table(self)
        size = self.scale * (len(self.ranks) + 1) / 4  # half of the mean radius of box noise
        lost = []
        for place, own in enumerate(expected):
            for signs in product((-1.0, 1.0), repeat=len(self.ranks)):
                weights = _weights(expected, own + size * np.array(signs), self.scale, place)
                lost.append(losses[place, _least(losses, weights)])
        unseen = float(losses.mean(axis=0).min())
        return unseen - float(np.mean(lost)) + math.log(1 - float(LOOK_SHARE))

    def pays(self) -> bool:
        """Whether a look is worth what it costs."""
        losses = _table(self)[0]
        if losses.shape[1] < 2 or float(losses.mean(axis=0).min()) <= _GAIN:
            return False
        return self.gain() > _GAIN


@lru_cache(maxsize=64)
def _table(rule: LookRule) -> tuple[Floats, Floats]:
    """What each mechanism loses on each profile of the library, and the counts at the ranks."""
    losses = loss_table(dict(rule.noises), rule.items, rule.k, rule.unit, ordered=rule.ordered)
    at = np.array(rule.ranks, np.float64)
    return losses, np.array([profile.at(at) for profile in library(rule.items, rule.k)])


def _least(losses: Floats, weights: Floats) -> int:
    """The mechanism with the least factor over the best one, in the weighted mean."""
    return int((weights @ np.exp(np.minimum(losses, _LARGEST))).argmin())


def _weights(expected: Floats, seen: Floats, scale: float, without: int | None = None) -> Floats:
    """How likely each profile makes what was seen; they add up to 1."""
    width = scale + _MISFIT * expected + 0.5
    logs = -np.log(width).sum(axis=1) - (np.abs(seen - expected) / width).max(axis=1)
    if without is not None:
        logs[without] = -np.inf
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), np.float64)


def library_counts(rule: LookRule) -> Floats:
    """The counts at the ranks, of each profile of the library (row)."""
    return _table(rule)[1]
