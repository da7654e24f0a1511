"""The largest error of ranges, by simulation of the public noise.

Ranges that overlap have errors that depend on each other; taken for independent, their
largest error would be overrated, most of all with plain noise. The noise of a strategy is a
public law, so it is simulated, from fixed numbers: the same plan gives the same prediction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from winnow.core.tape import Tape
from winnow.release.tables.column_matrix import Basis, ColumnMatrix
from winnow.release.tables.measured import Space
from winnow.release.tables.parts import TablePart

Floats = NDArray[np.float64]

_NUMBERS = 1 << 18
_MOST_RANGES = 20_000
_MOST_ENDS = 4_096
_SEED = 20261116
MARGIN = 1.05
"""More than the error of the simulated median; for Laplace noise twice, for its heavier tails."""


def median_of_largest(
    part: TablePart, tree: Basis, precision: Mapping[Space, float], law: str
) -> float:
    """The median of the largest error of a part's ranges."""
    asked, column = part.answered.axes[0], part.columns[0]
    draws = max(32, min(400, _NUMBERS // tree.padded))
    step = -(-tree.size // _MOST_ENDS)  # of long columns, every step-th end: margins cover the rest
    ends = np.append(np.arange(0, tree.size, step), tree.size)
    sums = np.zeros((draws, len(ends)))
    for level in range(tree.levels):
        unit = math.sqrt(1 / precision[((column, level),)])
        sums += unit * _unit_sums(tree, level, draws, step)
    constant = fixed_normals(tree.levels, draws) / math.sqrt(precision[()])
    sums += constant[:, None] * np.append(0.0, np.cumsum(tree.spread))[ends]
    if part.size > _MOST_RANGES and asked.starts.any():
        # no range has more than what lies between two prefixes
        largest = sums.max(axis=1) - sums.min(axis=1)
    else:
        starts, stops = np.searchsorted(ends, asked.starts), np.searchsorted(ends, asked.stops)
        pairs = np.unique(starts * len(ends) + stops)
        largest = np.abs(sums[:, pairs % len(ends)] - sums[:, pairs // len(ends)]).max(axis=1)
    return _margin(law) * float(np.median(largest))


MOST_CELLS = 1 << 16
"""Of all products of ranges and tables together, to be simulated; more are taken as independent."""


def median_of_product(
    part: TablePart,
    bases: Mapping[int, Basis],
    precision: Mapping[Space, float],
    spaces: Sequence[Space],
    law: str,
) -> float:
    """The median of the largest error of ranges within tables; ``spaces`` are those of the part."""
    sizes = [bases[column].size for column in part.columns]
    draws = max(32, min(400, _NUMBERS // math.prod(sizes)))
    noise = np.zeros((*sizes, draws))
    for number, space in enumerate(spaces):
        at = dict(space)
        shape = [bases[c].places(at[c]) if c in at else 1 for c in part.columns]
        drawn = fixed_normals(number, math.prod(shape) * draws).reshape(*shape, draws)
        for axis, column in enumerate(part.columns):
            if column in at:
                drawn = bases[column].noise(drawn, axis, at[column])
            else:
                along = [-1 if place == axis else 1 for place in range(drawn.ndim)]
                drawn = drawn * bases[column].spread.reshape(along)
        noise += drawn / math.sqrt(precision[space])
    sums = np.abs(part.answered.sums(noise)).reshape(-1, draws)
    return _margin(law) * float(np.median(sums.max(axis=0)))


def _margin(law: str) -> float:
    return MARGIN if law == "gaussian" else MARGIN**2


@lru_cache(maxsize=32)
def _unit_sums(tree: Basis, level: int, draws: int, step: int) -> Floats:
    """The prefix sums of noise of precision 1 on one level: the same for every precision.

    At every ``step``-th end, and at the last. Inside a block they are straight lines.
    """
    if isinstance(tree, ColumnMatrix):
        told = fixed_normals(level, tree.places(0) * draws).reshape(tree.places(0), draws)
        whole = np.zeros((tree.size + 1, draws))
        np.cumsum(tree.noise(told, 0, 0), axis=0, out=whole[1:])
        return np.ascontiguousarray(whole[np.append(np.arange(0, tree.size, step), tree.size)].T)
    block = tree.blocks[level]
    blocks = tree.padded // block
    noise = fixed_normals(level, blocks * draws).reshape(blocks, draws)
    sums = np.zeros((blocks + 1, draws))
    np.cumsum(tree.details(noise, 0, level), axis=0, out=sums[1:])
    ends = np.append(np.arange(0, tree.size, step), tree.size)
    low, part = ends // block, (ends % block / block)[:, None]
    high = np.minimum(low + 1, blocks)
    at_level = sums[low] + part * (sums[high] - sums[low])
    return np.ascontiguousarray(math.sqrt(block) * at_level.T)


@lru_cache(maxsize=16)
def fixed_normals(number: int, size: int) -> Floats:
    """Fixed standard normal numbers; public, for predictions only."""
    words = Tape.seeded(_SEED).child(f"prediction {number}").words(0, size)
    return np.asarray(ndtri((words.astype(np.float64) + 0.5) / 2.0**32))
