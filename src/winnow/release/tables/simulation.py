"""The largest error of ranges, by simulation of the public noise.

Ranges that overlap have errors that depend on each other; taken for independent, their
largest error would be overrated, most of all with plain noise. The noise of a strategy is a
public law, so it is simulated, from fixed numbers: the same plan gives the same prediction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from winnow.core.tape import Tape
from winnow.release.tables.measured import Space
from winnow.release.tables.parts import TablePart
from winnow.release.tables.trees import Tree

Floats = NDArray[np.float64]

_NUMBERS = 1 << 18
_MOST_RANGES = 20_000
_MOST_ENDS = 4_096
_SEED = 20261116
MARGIN = 1.05
"""More than the error of the simulated median; for Laplace noise twice, for its heavier tails."""


def median_of_largest(
    part: TablePart, tree: Tree, precision: Mapping[Space, float], law: str
) -> float:
    """The median of the largest error of a part's ranges."""
    assert part.starts is not None and part.stops is not None
    column = part.columns[0]
    draws = max(32, min(400, _NUMBERS // tree.padded))
    step = -(-tree.size // _MOST_ENDS)  # of long columns, every step-th end: margins cover the rest
    ends = np.append(np.arange(0, tree.size, step), tree.size)
    sums = np.zeros((draws, len(ends)))
    for level in range(tree.levels):
        unit = math.sqrt(tree.blocks[level] / precision[((column, level),)])
        sums += unit * _unit_sums(tree, level, draws, step)
    constant = fixed_normals(tree.levels, draws) / math.sqrt(precision[()]) / tree.padded
    sums += constant[:, None] * ends
    if part.size > _MOST_RANGES and part.starts.any():
        # no range has more than what lies between two prefixes
        largest = sums.max(axis=1) - sums.min(axis=1)
    else:
        starts, stops = np.searchsorted(ends, part.starts), np.searchsorted(ends, part.stops)
        pairs = np.unique(starts * len(ends) + stops)
        largest = np.abs(sums[:, pairs % len(ends)] - sums[:, pairs // len(ends)]).max(axis=1)
    margin = MARGIN if law == "gaussian" else MARGIN**2
    return margin * float(np.median(largest))


@lru_cache(maxsize=32)
def _unit_sums(tree: Tree, level: int, draws: int, step: int) -> Floats:
    """The prefix sums of noise on the blocks of one level: the same for every precision.

    At every ``step``-th end, and at the last. Inside a block they are straight lines.
    """
    block = tree.blocks[level]
    blocks = tree.padded // block
    noise = fixed_normals(level, blocks * draws).reshape(blocks, draws)
    sums = np.zeros((blocks + 1, draws))
    np.cumsum(tree.details(noise, 0, level), axis=0, out=sums[1:])
    ends = np.append(np.arange(0, tree.size, step), tree.size)
    low, part = ends // block, (ends % block / block)[:, None]
    high = np.minimum(low + 1, blocks)
    return np.ascontiguousarray((sums[low] + part * (sums[high] - sums[low])).T)


@lru_cache(maxsize=16)
def fixed_normals(number: int, size: int) -> Floats:
    """Fixed standard normal numbers; public, for predictions only."""
    words = Tape.seeded(_SEED).child(f"prediction {number}").words(0, size)
    return np.asarray(ndtri((words.astype(np.float64) + 0.5) / 2.0**32))
