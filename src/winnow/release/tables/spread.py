"""How far the mean of values may lie from the mean of the middles of their bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BinSpread:
    """The bins of a column of values; all of it is public.

    Rows in shares p of the bins have a mean of middles m = sum p c, and a mean of values of at most
    sum p b, b being the upper edges. The largest of these for one m is the upper hull of the points
    (c, b) at m; the least mean of values is the lower hull of the middles and the lower edges.
    """

    edges: tuple[float, ...]

    @cached_property
    def _middles(self) -> list[float]:
        return [(low + high) / 2 for low, high in pairwise(self.edges)]

    @cached_property
    def _above(self) -> tuple[Floats, Floats]:
        return _hull(self._middles, self.edges[1:])

    @cached_property
    def _below(self) -> tuple[Floats, Floats]:
        places, ends = _hull(self._middles, [-edge for edge in self.edges[:-1]])
        return places, -ends

    def around(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Between what the mean lies if that of the middles lies between low and high."""
        return np.interp(low, *self._below), np.interp(high, *self._above)

    def beyond(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """By how much the mean may be less, or more, than one of middles between low and high."""
        return (
            _most(self._below[0], self._below[0] - self._below[1], low, high),
            _most(self._above[0], self._above[1] - self._above[0], low, high),
        )


def _most(places: Floats, heights: Floats, low: Floats, high: Floats) -> Floats:
    """The largest value of a concave line of pieces between low and high."""
    at = np.clip(places[int(np.argmax(heights))], low, high)
    return np.asarray(np.interp(at, places, heights))


def _hull(places: list[float], heights: list[float] | tuple[float, ...]) -> tuple[Floats, Floats]:
    """The upper hull of points whose places ascend."""
    kept: list[tuple[float, float]] = []
    for x, y in zip(places, heights, strict=True):
        while len(kept) > 1:
            (a, c), (b, d) = kept[-2:]
            if (d - c) * (x - a) > (y - c) * (b - a):
                break
            kept.pop()
        kept.append((x, y))
    hull = np.array(kept, np.float64)
    return hull[:, 0], hull[:, 1]
