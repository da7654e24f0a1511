"""The public candidates for a bound: edges at growing distances from zero."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from winnow.core.number_grid import NumberGrid

_STEPS = 4
"""Distances grow by 2^(1/4): of the number of edges only the logarithm counts."""


@dataclass(frozen=True)
class EdgesOfSide:
    """One side of a column: the codes of its edges, away from the number nearest to zero."""

    column: str
    place: int
    """Of the column in its schema."""
    top: int
    """The largest code; what is beyond stands for no number."""
    origin: int
    """The code of the number nearest to zero."""
    upward: bool

    @property
    def distances(self) -> tuple[int, ...]:
        """How far each edge is from the origin, in steps of the grid; the last is its end."""
        return _distances(self.top - self.origin if self.upward else self.origin)

    def code(self, distance: int) -> int:
        """The code at a distance, or at the end of the grid."""
        most = self.distances[-1]
        away = min(distance, most)
        return self.origin + away if self.upward else self.origin - away


def sides_of(column: str, place: int, grid: NumberGrid) -> tuple[EdgesOfSide, ...]:
    """Upward and downward from zero; of a grid that begins or ends beyond it, one of the two."""
    zero = min(max(-grid.low / grid.step, Fraction(0)), Fraction(grid.size - 1))
    origin, top = round(zero), grid.size - 1
    every = (EdgesOfSide(column, place, top, origin, upward) for upward in (False, True))
    return tuple(side for side in every if (top - origin if side.upward else origin))


@lru_cache(maxsize=256)
def _distances(most: int) -> tuple[int, ...]:
    distances = {round(2 ** (number / _STEPS)) for number in range(_STEPS * most.bit_length() + 1)}
    return (*sorted(each for each in distances if each < most), most)
