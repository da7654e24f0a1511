"""What a person adds to each of their items, so that all of it together has length 1.

Someone with d items adds about 1/sqrt(d) to each: the squares add up to 1 whatever d is. Weights
are whole multiples of 1/GRID, rounded down, so that no sum of squares is above 1.
"""

from __future__ import annotations

import math

GRID = 1 << 10
"""Weights are whole numbers of 1/GRID. Of 100 items each has 102 of these, .4 % less than a tenth:
rounding takes less than 1 % of any weight up to there, and noise is thousands of steps wide."""


def weight(items: int) -> int:
    """What someone with so many items adds to each, in steps of 1/GRID."""
    return math.isqrt(GRID * GRID // items)
