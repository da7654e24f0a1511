"""Lists by weighted counts, drawn many at once by NumPy: written from the page, for comparison.

The sizes of the noise follow from the event that a receipt names and from the norms of what one
person adds, which are written out here; nothing of the mechanism is called.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import erfc, isqrt, sqrt
from typing import Any

import numpy as np

from winnow.privacy import pure_cost

UNIT, LONGEST, BLUR = 256, 1024, 0.06
Rows = list[tuple[int, ...]]


@dataclass(frozen=True)
class Charged:
    """What a receipt says: the multiplier of the support, then those or the squared ratio."""

    support: Fraction
    items: Fraction
    itemsets: Fraction
    squares: bool
    lost: Fraction | None = None
    """The mass that private items may lose; None: they are public."""

    @classmethod
    def by(cls, event: Any) -> Charged:
        """Read from the event of a receipt."""
        support, rest = event.events
        if hasattr(rest, "events"):
            first, second = (1 / pure_cost(part).epsilon for part in rest.events)
            return cls(Fraction(support.noise_multiplier), first, second, False)
        lost = Fraction(rest.delta) if hasattr(rest, "delta") else None
        ratio = Fraction((rest if lost is None else rest.event).squared_ratio)
        part = Fraction(1, 8) if lost is None else Fraction(1, 5)
        return cls(Fraction(support.noise_multiplier), part * ratio, (1 - part) * ratio, True, lost)


@dataclass(frozen=True)
class ListLaw:
    """The law of a list of k itemsets; one person, of m baskets, comes or is replaced."""

    charged: Charged
    size: int
    k: int
    m: int = 1
    replaced: bool = False
    longest: int = LONGEST
    """The most items of a basket that adds to any."""

    def _spread(self, part: Fraction, shares: Any) -> Any:
        """The scale of Laplace noise, or the deviation of Gaussian noise, in units of weights."""
        people = 2 if self.replaced else 1
        if self.charged.squares:
            return np.sqrt(people * self.m**2 * shares / float(part)) * UNIT
        return people * self.m * shares * float(part) * UNIT

    def _noise(self, rng: np.random.Generator, spread: Any, shape: tuple[int, ...]) -> Any:
        if self.charged.squares:
            return np.round(rng.normal(size=shape) * spread)  # far above 1: the discrete law
        return np.round(rng.laplace(size=shape) * spread)

    def _threshold(self, spread: float, lost: float) -> int:
        """The least number that new items of one person reach seldom enough; by looking."""

        def above(least: float) -> float:
            return erfc((least - 1) / (sqrt(2) * spread)) / 2

        def passes(least: int) -> bool:
            others = (self.m - 1) * self.longest * above(least)
            lengths = (*range(1, min(3, self.longest) + 1), *range(4, self.longest + 1, 4))
            return all(
                n * above(least - self.m * isqrt(UNIT**2 // n)) + others <= lost for n in lengths
            )

        least = self.m * UNIT + 1
        step = max(1, int(spread / 4))
        while not passes(least):
            least += step
        while step > 1:
            step = (step + 1) // 2
            least -= step if passes(least - step) else 0
        return least

    def drawn(self, rows: Rows, items: int, draws: int, seed: int) -> Counter[Any]:
        """How often each list is drawn."""
        rng = np.random.default_rng(seed)
        itemsets = list(combinations(range(items), self.size))
        itemsets.sort(key=lambda itemset: itemset[::-1])  # ties go to the first
        supports = sorted(sum(set(i) <= set(row) for row in rows) for i in itemsets)[::-1]
        last = supports[self.k - 1] if self.k <= len(supports) else 0
        multiplier = float(self.charged.support) * self.m
        q = np.exp(-1 / multiplier)
        geometric = rng.geometric(1 - q, (2, draws))
        support = last + geometric[0] - geometric[1]
        one = self._spread(self.charged.itemsets, 1.0) * (1 if self.charged.squares else sqrt(2))
        times = np.maximum(BLUR * support * UNIT / one, 0)
        shares = np.clip(times**2 if self.charged.squares else times, 1, 1024).astype(int)

        counts = np.zeros(items)
        for row in rows:
            each = isqrt(UNIT**2 // len(row)) if self.charged.squares else UNIT // len(row)
            counts[list(row)] += each * (len(row) <= self.longest)
        spread = self._spread(self.charged.items, 1.0)
        noisy = counts + self._noise(rng, spread, (draws, items))
        kept = np.ones((draws, items), bool)
        if self.charged.lost is not None:
            kept = (counts > 0) & (noisy >= self._threshold(spread, float(self.charged.lost)))
        lowest = max(1.0, spread * (1 if self.charged.squares else sqrt(2)))
        likely = np.maximum(noisy, lowest)
        likely /= likely.max(axis=1, keepdims=True)

        alive = np.stack([kept[:, list(i)].all(axis=1) for i in itemsets], axis=1)
        v = np.stack([likely[:, list(i)].prod(axis=1) for i in itemsets], axis=1) * alive
        total = np.zeros((draws, len(itemsets)))
        for row, many in Counter(rows).items():
            held = np.array([set(i) <= set(row) for i in itemsets])
            number = (held & alive).sum(axis=1, keepdims=True)
            share = np.minimum(
                1, shares[:, None] * v / np.maximum((v * held).sum(1), 1e-300)[:, None]
            )
            share = np.where(number <= shares[:, None], 1.0, share) * held * alive
            total += many * np.floor(UNIT * (np.sqrt(share) if self.charged.squares else share))
        spreads = self._spread(self.charged.itemsets, shares[:, None].astype(float))
        total += self._noise(rng, spreads, total.shape)
        total[~alive] = -np.inf
        order = np.argsort(-total, axis=1, kind="stable")[:, : self.k]
        lengths = np.minimum(alive.sum(axis=1), self.k)
        lists, how_often = np.unique(np.c_[order, lengths], axis=0, return_counts=True)
        found: Counter[Any] = Counter()
        for (*places, length), often in zip(lists.tolist(), how_often.tolist(), strict=True):
            found[tuple(itemsets[place] for place in places[:length])] += often
        return found
