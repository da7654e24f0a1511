"""Scores in order: the positions of the largest, ties by position or by lot."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.filter import Scores
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import DataError

_FINENESS = 20


@dataclass(frozen=True)
class Grid:
    """Steps of 2^power, in which a person moves a score by `utility`."""

    power: int
    utility: Utility

    @classmethod
    def of(cls, utility: Utility, scores: Scores) -> Grid:
        """The grid of a utility, or its equal in ones for integers."""
        return cls._of(utility, bool(scores.dtype == np.int64))

    @classmethod
    def fine(cls, utility: Utility) -> Grid:
        """The grid of a utility whatever the scores are: their type may be private."""
        return cls._of(utility, False)

    @classmethod
    @lru_cache(maxsize=256)  # a release asks for it three times
    def _of(cls, utility: Utility, integers: bool) -> Grid:
        smallest = min(part for part in (utility.down, utility.up) if part > 0)
        power = _floor_log2(smallest) - _FINENESS
        unit = Fraction(2) ** power
        down, up = (Fraction(-(-part // unit)) for part in (utility.down, utility.up))
        unchanged = down * unit == utility.down and up * unit == utility.up
        if integers and smallest >= 1 and power <= 0 and unchanged:
            return cls(0, utility)
        return cls(power, Utility(utility.relation, down, up))

    @property
    def cell(self) -> int:
        """How many steps a whole number takes, or a part of one about as large as the
        sensitivity: a public unit that does not depend on how fine the steps are."""
        return 1 << max(0, min(_FINENESS, -self.power))

    @property
    def step(self) -> float:
        """How much of a score a step is."""
        return float(Fraction(2) ** self.power)

    def rounds(self, scores: Scores) -> bool:
        """Whether scores of this type are not counted in ones, which they would be as they are."""
        return scores.dtype != np.int64 or self.power != 0

    def steps(self, scores: Scores) -> NDArray[np.int64]:
        """The scores in whole steps, rounded down, exactly."""
        if scores.dtype == np.int64:
            whole = np.asarray(scores, np.int64)
            if self.power == 0:
                return whole
            return whole << -self.power if self.power < 0 else whole >> min(self.power, 63)
        return np.floor(np.ldexp(scores, -self.power)).astype(np.int64)


def on_grid(scores: Scores, utility: Utility) -> tuple[NDArray[np.int64], Utility]:
    """The scores as integers, and their utility in those units."""
    grid = Grid.of(utility, scores)
    return grid.steps(scores), grid.utility


def check_grid(scores: Scores, utility: Utility) -> None:
    """Refuse scores that do not fit the grid, before anything is charged."""
    grid = Grid.of(utility, scores)
    low, high = Fraction(scores.min().item()), Fraction(scores.max().item())
    if not grid.rounds(scores):
        too_wide = high - low > 2**63 - 2
    else:
        too_wide = max(high, -low) >= 2**62 * Fraction(2) ** grid.power
    if too_wide:
        raise DataError(
            "scores spread over more steps than a 64-bit integer holds (a step is 2^-20 of the "
            "sensitivity, and 1 for integers whose sensitivity is a small whole number); give "
            "scores in larger units"
        )


def _floor_log2(q: Fraction) -> int:
    power = q.numerator.bit_length() - q.denominator.bit_length()
    return power if Fraction(2) ** power <= q else power - 1


def largest(values: Scores, k: int) -> NDArray[np.int64]:
    """The positions of the k largest values, largest first, ties by position."""
    if k < len(values):
        threshold = np.partition(values, len(values) - k)[len(values) - k]
        above = np.flatnonzero(values > threshold)
        level = np.flatnonzero(values == threshold)[: k - len(above)]
        candidates = np.sort(np.concatenate([above, level]))
    else:
        candidates = np.arange(len(values))
    backwards = candidates[::-1]  # so that the reversed stable sort lists ties by position
    order: NDArray[np.int64] = backwards[np.argsort(values[backwards], kind="stable")][::-1]
    return order


def largest_by_lot(values: Scores, k: int, tape: Tape) -> NDArray[np.int64]:
    """The positions of the k largest values, largest first, equal ones in uniformly random order.

    So the law of what is listed does not depend on the order of the values: it is that of a draw
    that knows only how many of them are equal.
    """
    k = min(k, len(values))
    if k == 0:
        return np.empty(0, np.int64)
    last = np.partition(values, len(values) - k)[len(values) - k]
    near = np.flatnonzero(values >= last)
    lots: list[NDArray[np.uint64]] = []
    while True:  # until no two that are equal have the same bits, which are without an end
        lots += [*tape.extension(np.arange(len(near)), len(lots) // 2).T]
        keys = [*lots[::-1], values[near]]  # the last one goes first
        order = np.lexsort(keys)
        if not np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys]).any():
            return near[order[::-1][:k]]
