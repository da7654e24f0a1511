"""Queries that are costly to evaluate, the answers that they are held against, and their scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import bare
from winnow.release.rounds.kernels.dense import masked_sum


class Queries(NamedTuple):
    """Private counts, and what queries are evaluated by: maintained ones first, bits, grids."""

    counts: NDArray[np.int64]
    bits: NDArray[np.uint64]
    values: NDArray[Any]
    firsts: NDArray[np.int64]
    """Where each region with a grid of its own begins."""
    betas: NDArray[np.float64]
    """Of each region, the exponent of one unit."""
    per_units: NDArray[np.float64]
    """The exponent of one unit, in units of ln 2, rounded up."""

    def __repr__(self) -> str:
        return "<private counts of queries>"


class Answers(NamedTuple):
    """The answers that scores are taken against."""

    maintained: NDArray[np.float64]
    scale: float
    """From those to units."""
    whole: NDArray[Any]
    """The weights of all cells, in whole units,"""
    weights: NDArray[np.float64]
    """and as they are, before they are rounded to those."""


@bare
def score_of(i, queries, answers):  # type: ignore[no-untyped-def]
    """Count minus answer in whole units: maintained queries first, then bits, then grids."""
    counts, bits, values = queries.counts, queries.bits, queries.values
    maintained = counts.shape[0] - bits.shape[0] - values.shape[0]
    if i < maintained:
        return counts[i] - np.int64(np.rint(answers.maintained[i] * answers.scale))
    if i < maintained + bits.shape[0]:
        return counts[i] - masked_sum(bits[i - maintained], answers.whole)
    row = values[i - maintained - bits.shape[0]]
    total = np.int64(0)
    for x in range(row.shape[0]):
        total += np.int64(row[x]) * np.int64(answers.whole[x])
    return counts[i] - total


@bare
def region_of(i, firsts):  # type: ignore[no-untyped-def]
    """Which of the regions with a grid of their own a candidate is in."""
    k = firsts.shape[0] - 1
    while i < firsts[k]:
        k -= 1
    return k
