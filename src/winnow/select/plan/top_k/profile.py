"""Public or made-up scores of every item: what a top-k plan is about.

Never the private scores: every number of a plan is computed from these without noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from winnow.core.noisy_top.filter import Scores, gaps_to
from winnow.core.noisy_top.grid import Grid, check_grid
from winnow.core.sealed import Sealed
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import instead
from winnow.read.counts import SealedCounts
from winnow.read.scores import SealedScores
from winnow.select.plan.chances import Counts, Floats, GapProfile

MOST_ITEMS = 1 << 25


def public_scores(scores: Any) -> Scores:
    """One score for each item, as int64 or float64: a list, an array, a column, or a dict.

    A ``GapProfile`` becomes its scores, with the best at 0.
    """
    if isinstance(scores, Sealed | SealedScores | SealedCounts):
        raise ParameterError("a plan is made of public numbers, and these scores are sealed")
    if isinstance(scores, GapProfile):
        if scores.candidates > MOST_ITEMS:
            raise ParameterError(
                f"{scores.candidates:,} items are too many to list; plan for fewer"
            )
        scores = -np.repeat(scores.values, scores.counts)
        whole = np.all(scores == np.rint(scores)) and float(scores.min(initial=0.0)) > -(2.0**53)
        scores = scores.astype(np.int64) if whole else scores
    if isinstance(scores, str | bytes):
        raise ParameterError("scores are text; give one number for each item")
    values = list(scores.values()) if isinstance(scores, Mapping) else scores
    with instead(ParameterError("scores are ragged; give one number for each item"), ValueError):
        array = np.asarray(values)
    if array.ndim != 1 or array.size == 0:
        raise ParameterError(
            f"scores have the shape {array.shape}; give one number for each item, at least one"
        )
    kind = array.dtype.kind
    if kind == "u" and int(array.max()) > np.iinfo(np.int64).max:
        raise ParameterError("at least one score is 2^63 or more; scores must fit 64-bit integers")
    if kind in "iu":
        return np.ascontiguousarray(array, np.int64)
    if kind != "f" or array.dtype.itemsize > 8:
        raise ParameterError(f"scores have the type {array.dtype.name}; give integers or floats")
    result = np.ascontiguousarray(array, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(result.max() - result.min()):
            raise ParameterError("scores are not finite, or span more than a float64; correct them")
    return result


def stepped(scores: Scores, utility: Utility) -> tuple[Counts, Utility, float]:
    """Scores on the grid of Joint and Canonical, counted from the best; the utility in those
    steps; and how much of a score a step is."""
    check_grid(scores, utility)
    grid = Grid.of(utility, scores)
    steps = grid.steps(scores)
    best, worst = int(steps.max()), int(steps.min())
    if best - worst > 2**61:
        raise ParameterError("scores spread over more than 2^61 steps; give scores in larger units")
    return steps - best, grid.utility, grid.step


def grouped(scores: Scores, scale: float) -> tuple[Floats, Floats]:
    """Distinct scores in units of the noise, decreasing from 0, and how many items have each."""
    groups: tuple[Any, Any] = np.unique(scores, return_counts=True)
    values, counts = groups
    with np.errstate(over="ignore"):
        gaps = np.minimum(scale * gaps_to(values[-1], values), 1e300)
    return -gaps[::-1], counts[::-1].astype(np.float64)
