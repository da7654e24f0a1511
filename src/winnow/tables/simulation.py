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
from winnow.tables.measured import Space
from winnow.tables.parts import TablePart
from winnow.tables.trees import Tree

Floats = NDArray[np.float64]

_NUMBERS = 1 << 18
_MOST_RANGES = 20_000
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
    sums = np.zeros((draws, tree.size + 1))
    for level in range(tree.levels):
        unit = math.sqrt(tree.blocks[level] / precision[((column, level),)])
        sums[:, 1:] += unit * _unit_sums(tree, level, draws)
    constant = fixed_normals(tree.levels, draws) / math.sqrt(precision[()]) / tree.padded
    sums += constant[:, None] * np.arange(tree.size + 1)
    if part.size > _MOST_RANGES:  # no range has more than what lies between two prefixes
        largest = sums.max(axis=1) - sums.min(axis=1)
    else:
        largest = np.abs(sums[:, part.stops] - sums[:, part.starts]).max(axis=1)
    margin = MARGIN if law == "gaussian" else MARGIN**2
    return margin * float(np.median(largest))


@lru_cache(maxsize=8)
def _unit_sums(tree: Tree, level: int, draws: int) -> Floats:
    """The prefix sums of noise on the blocks of one level: the same for every precision."""
    blocks = tree.padded // tree.blocks[level]
    noise = fixed_normals(level, blocks * draws).reshape(blocks, draws)
    details = np.ascontiguousarray(tree.details(noise, 0, level).T)
    return np.cumsum(tree.expand(details, 1, level), axis=1)


@lru_cache(maxsize=16)
def fixed_normals(number: int, size: int) -> Floats:
    """Fixed standard normal numbers; public, for predictions only."""
    words = Tape.seeded(_SEED).child(f"prediction {number}").words(0, size)
    return np.asarray(ndtri((words.astype(np.float64) + 0.5) / 2.0**32))
