"""How many rows each rule of a class gets right: all rules at once, from tables of counts.

A rule that predicts 'positive' where its tests hold gets (negatives) + D rows right, where D
is the signed number of rows (positives minus negatives) on which the tests hold; the rule
with the other outcome gets (positives) - D right. D of all tests on one set of features comes
from one table of signed counts over their codes: along each axis, a test is a range, so its
sum is a difference of two prefix sums. No rule is ever run over the rows.

Everything is in whole numbers. Predictions that are given row by row are compared with the
labels 64 at a time, as bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.kernels.compiled import compiled
from winnow.core.threads import each, ranges
from winnow.core.workloads.part import EXACT_FLOAT, sum_of
from winnow.errors import DataError
from winnow.learn.features import Tests
from winnow.learn.rules import RuleClass


def _add_by_cell(prefix, last, size, signed, cells):  # type: ignore[no-untyped-def]
    """cells[prefix * size + last] += signed, row by row, in whole numbers."""
    for i in range(len(signed)):
        cells[prefix[i] * size + last[i]] += signed[i]


add_by_cell = compiled(_add_by_cell)


Counts = NDArray[np.int64]
MANY_ROWS = Border(
    20_000_000,
    "rows of rules",
    decides="how many rows there are, times tables",
    ways="tables of signed counts by NumPy; by a compiled loop",
    same="value",
    because="both add the same whole numbers, exactly",
)
"""Rows times tables from which on compiled code is worth its loading."""
_IN_A_THREAD = 5_000_000
"""So many of them are worth a thread of their own: a compiled loop takes some 5 ms, and NumPy's
holds the lock of the interpreter."""
_BLOCK = 1 << 26  # bytes of predictions that are looked at together


def correct_by_rule(
    rules: RuleClass,
    codes: Sequence[NDArray[Any]],
    positive: NDArray[np.bool_],
    weights: Counts,
) -> Counts:
    """The rows that each rule gets right; `codes` has an array for each feature.

    Rows have whole weights of 0 or more that add up to less than 2^62.
    """
    shape = tuple(feature.cardinality for feature in rules.features)
    signed = np.where(positive, weights, -weights)
    total = sum_of(weights)
    if total >= 2**62:
        raise DataError("there are 2^62 rows or more; they cannot be counted in 64 bits")
    positives = sum_of(weights[positive])
    scores = np.empty(len(rules), np.int64)
    blocks = len(rules.blocks)
    work = len(signed) * blocks
    by_loop = work >= MANY_ROWS.at

    def counted(part: tuple[int, int]) -> None:
        tables = _Tables(codes, signed, shape, compiled=by_loop)
        for place in range(*part):
            block, start = rules.blocks[place], rules.starts[place]
            table = tables.of(block.features)
            for axis, tests in enumerate(block.tests):
                table = range_sums(table, axis, tests)
            scored = scores[start : start + block.size].reshape(len(block.outcomes), -1)
            for row, outcome in zip(scored, block.outcomes, strict=True):
                if outcome:
                    np.add(table.reshape(-1), total - positives, out=row)
                else:
                    np.subtract(positives, table.reshape(-1), out=row)

    each(counted, ranges(blocks, blocks * _IN_A_THREAD // max(1, work) if by_loop else blocks))
    return scores


def range_sums(table: Counts, axis: int, tests: Tests) -> Counts:
    """The sums over the codes that each test admits, along one axis."""
    before = np.zeros((*table.shape[:axis], 1, *table.shape[axis + 1 :]), np.int64)
    prefix = np.concatenate((before, np.cumsum(table, axis=axis)), axis=axis)
    sums = np.take(prefix, tests.highs, axis=axis)
    sums -= np.take(prefix, tests.lows, axis=axis)
    if tests.outside.any():
        place = (slice(None),) * axis + (tests.outside,)
        sums[place] = np.take(prefix, [-1], axis=axis) - sums[place]
    return np.asarray(sums)


def correct_by_row(predicted: NDArray[Any], positive: NDArray[np.bool_]) -> Counts:
    """The rows that each hypothesis gets right, from a matrix with a row for each of them."""
    step = max(1, _BLOCK // max(1, predicted.shape[1]))
    truth = np.packbits(positive)
    wrong = np.empty(len(predicted), np.int64)
    for i in range(0, len(predicted), step):
        bits = np.packbits(predicted[i : i + step].astype(np.bool_, copy=False), axis=1)
        wrong[i : i + step] = np.bitwise_count(bits ^ truth).sum(axis=1, dtype=np.int64)
    return len(positive) - wrong


class _Tables:
    """Positives minus negatives in every cell of some features, one axis each.

    Sets of features come in lexicographic order, so that the places of all features but the
    last one are found once and used many times.
    """

    def __init__(
        self,
        codes: Sequence[NDArray[Any]],
        signed: Counts,
        shape: tuple[int, ...],
        *,
        compiled: bool,
    ) -> None:
        self._codes, self._signed, self._shape, self._compiled = codes, signed, shape, compiled
        self._exact = sum_of(np.abs(signed)) < EXACT_FLOAT.at
        self._known: tuple[tuple[int, ...], Counts] = ((), np.zeros(len(signed), np.int64))

    def of(self, features: tuple[int, ...]) -> Counts:
        """The table of these features."""
        if not features:
            return np.array(sum_of(self._signed))
        sizes = tuple(self._shape[i] for i in features)
        prefix, last = self._places(features[:-1]), self._codes[features[-1]]
        cells = np.zeros(math.prod(sizes), np.int64)
        if self._compiled:
            from winnow.learn.kernels.rule_counts import add_by_cell

            add_by_cell(prefix, np.ascontiguousarray(last), sizes[-1], self._signed, cells)
        elif self._exact:  # then every float sum along the way is exact
            cells += np.bincount(prefix * sizes[-1] + last, self._signed, len(cells)).astype(
                np.int64
            )
        else:
            np.add.at(cells, prefix * sizes[-1] + last, self._signed)
        return cells.reshape(sizes)

    def _places(self, features: tuple[int, ...]) -> Counts:
        if self._known[0] != features:
            places = np.zeros(len(self._signed), np.int64)
            for i in features:
                places *= self._shape[i]
                places += self._codes[i]
            self._known = (features, places)
        return self._known[1]
