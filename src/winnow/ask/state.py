"""A hypothesis over a domain too large to hold: the list of updates, summed when asked.

[PMW, Section II] keeps at most c updates and computes the weight of a cell where it is needed.
Here the sums over cells are taken over classes instead. Codes of a column that no update and
not the question tells apart are one class; columns that no update links factor: with a product
prior, the answer is the product of one ratio for each group of linked columns, and only the
groups that the question speaks of matter. What is left is summed block by block, in bounded
memory. A domain of 10^17 cells costs what its linked columns cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.ask.kernels.product_sets import CellSets, KeptTables
from winnow.ask.questions import Question
from winnow.core.schema import Schema, cells_text
from winnow.errors import ParameterError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class State(Protocol):
    """A distribution over cells that answers questions and takes multiplicative steps."""

    def check(self, question: Question) -> None:
        """Refuse a question that cannot be answered."""

    def answer(self, question: Question) -> float:
        """The answer under the distribution, in [0, 1]."""

    def update(self, question: Question, log_factor: float) -> None:
        """p(x) *= exp(log_factor q(x)) for every cell, renormalised."""


def product_prior(tables: Sequence[NDArray[np.int64]]) -> list[Floats]:
    """Noisy one-way counts as distributions: nothing below 0, each with the sum 1."""
    logs = []
    for counted in tables:
        positive = np.maximum(counted, 0).astype(np.float64)
        total = positive.sum()
        size = len(positive)
        logs.append(positive / total if total > 0 else np.full(size, 1.0 / size))
    return logs


class CellState:
    """The weight of every cell, in memory."""

    def __init__(
        self, schema: Schema, prior: list[Floats] | Floats | None = None, mix: float = 1.0
    ) -> None:
        """The prior has a distribution for each column, or one over all cells."""
        self._sets = CellSets(schema.shape)
        cells = schema.cells
        self._weights: Floats = np.full(cells, 1.0 / cells)
        if prior is not None:
            start = prior
            if isinstance(start, list):
                start = reduce(np.multiply.outer, start)
            self._weights *= mix
            self._weights += (1 - mix) * start.ravel()
        self._mass = float(self._weights.sum())
        self._shape = schema.shape
        self._sums: dict[tuple[int, ...], NDArray[np.float64]] = {}
        """Sums over some columns, by those that are left."""
        self._summed = 0
        self._tables = KeptTables(schema.shape, self._marginal, max(cells // 8, 1 << 10))

    def _marginal(self, columns: tuple[int, ...]) -> Floats:
        """Summed column by column, the largest first: most tables share their first sums."""
        left = list(range(len(self._shape)))
        table = self._weights.reshape(self._shape)
        dropped = [column for column in left if column not in columns]
        for column in sorted(dropped, key=lambda place: -self._shape[place]):
            axis = left.index(column)
            left.remove(column)
            table_sum = self._sums.get(tuple(left))
            if table_sum is None:
                table_sum = np.add.reduce(table, axis=axis)
                if self._summed + table_sum.size <= len(self._weights):
                    self._sums[tuple(left)] = table_sum
                    self._summed += table_sum.size
            table = table_sum
        return np.ascontiguousarray(table).ravel()

    def check(self, question: Question) -> None:
        """Any question over the cells will do."""

    def answer(self, question: Question) -> float:
        """A sum over the cells that the question holds."""
        if question.codes is not None:
            total = self._tables.sum(question.codes)
            if total is None:
                total = self._sets.sum(self._weights, question.codes)
            total = float(total)
        else:
            assert question.units is not None
            total = float(question.units @ self._weights) / question.grid
        return min(1.0, max(0.0, total / self._mass))

    def update(self, question: Question, log_factor: float) -> None:
        """A step on the cells that the question holds; the mass is summed anew."""
        self._tables.clear()
        self._sums.clear()
        self._summed = 0
        if question.codes is not None:
            self._sets.scale(self._weights, question.codes, math.exp(log_factor))
        else:
            assert question.units is not None
            self._weights *= np.exp(question.units * (log_factor / question.grid))
        self._mass = _mass_of(self._weights)

    def weights(self) -> Floats:
        """The distribution over the cells, sum 1."""
        return np.asarray(self._weights / self._mass)


def _mass_of(weights: Floats) -> float:
    """The sum of the weights, which are divided by it where it has left the middle of floats."""
    mass = float(weights.sum())
    if not 1e-6 < mass < 1e6:
        weights /= mass
        mass = float(weights.sum())
    return mass


class PointState:
    """Weights on some of the cells: a public sample, or a public list."""

    def __init__(
        self,
        points: Integers,
        prior: list[Floats] | None = None,
        mix: float = 1.0,
    ) -> None:
        self.points = points
        self._columns = [np.ascontiguousarray(column) for column in self.points.T]
        count = len(self.points)
        self._weights: Floats = np.full(count, 1.0 / count)
        if prior is not None:
            product = np.ones(count)
            for column, table in zip(self._columns, prior, strict=True):
                product *= table[column]
            total = product.sum()
            if total > 0:
                self._weights = mix * self._weights + (1 - mix) * product / total
        self._mass = float(self._weights.sum())

    def check(self, question: Question) -> None:
        """A question given cell by cell says nothing about these cells by name."""
        if question.codes is None:
            raise ParameterError(
                "queries given cell by cell need the whole domain; leave out universe="
            )

    def _held(self, question: Question) -> NDArray[np.bool_]:
        assert question.codes is not None
        inside = np.ones(len(self._weights), np.bool_)
        for column, codes in question.codes.items():
            mask = np.zeros(question.schema.shape[column], np.bool_)
            mask[codes] = True
            inside &= mask[self._columns[column]]
        return inside

    def answer(self, question: Question) -> float:
        """A sum over those of the cells that the question holds."""
        total = float(self._weights[self._held(question)].sum())
        return min(1.0, max(0.0, total / self._mass))

    def update(self, question: Question, log_factor: float) -> None:
        """A step on those of the cells that the question holds."""
        self._weights[self._held(question)] *= math.exp(log_factor)
        self._mass = _mass_of(self._weights)

    def weights(self) -> Floats:
        """The distribution over these cells, sum 1."""
        return np.asarray(self._weights / self._mass)


_BLOCK = 1 << 20
MOST_CLASSES = 1 << 31
"""Classes summed for one answer at most: some seconds for each hundred updates."""


class ImplicitState:
    """Updates over product sets, starting from a mixture of product distributions."""

    def __init__(self, schema: Schema, prior: list[Floats] | None = None, mix: float = 1.0) -> None:
        self._schema = schema
        uniform = [np.full(n, 1.0 / n) for n in schema.shape]
        self._starts: list[tuple[float, list[Floats]]] = [(1.0, uniform)]
        if prior is not None:
            self._starts = [(mix, uniform), (1 - mix, prior)]
        self._updates: list[tuple[Question, float]] = []
        self._whole: dict[tuple[int, tuple[int, ...]], float] = {}

    def check(self, question: Question) -> None:
        """Refuse what cannot be summed: dense queries, and too many linked classes."""
        if question.codes is None:
            raise ParameterError(
                "queries given cell by cell need a domain that fits memory; ask wn.where(...)"
            )
        for group in self._groups(question):
            classes = math.prod(len(c[0]) for c in self._classes(group, question).values())
            if classes > MOST_CLASSES:
                raise ParameterError(
                    f"the updates so far link {len(group)} columns into {cells_text(classes)} "
                    "classes, too many to sum; ask about fewer columns at once, or sample the "
                    "domain with universe="
                )

    def answer(self, question: Question) -> float:
        """The ratio of two sums over the linked columns of the question."""
        assert question.codes is not None
        inside, whole = [], []
        groups = self._all_groups()
        for place, (part, start) in enumerate(self._starts):
            top = base = math.log(part)
            for group in groups:
                touched = any(column in question.codes for column in group)
                if not touched and len(self._starts) == 1:
                    continue  # the same factor above and below
                mass = self._mass(place, group, start)
                base += mass
                top += self._log_sum(group, start, question) if touched else mass
            for column, codes in question.codes.items():
                if not any(column in group for group in groups):
                    top += _log(float(start[column][codes].sum()))
            inside.append(top)
            whole.append(base)
        ratio = np.logaddexp.reduce(inside) - np.logaddexp.reduce(whole)
        return min(1.0, float(np.exp(ratio)))

    def update(self, question: Question, log_factor: float) -> None:
        """One more update on the list."""
        if question.codes is None:
            raise ParameterError("queries given cell by cell need a domain that fits memory")
        self._updates.append((question, log_factor))
        self._whole = {}

    def _all_groups(self) -> list[tuple[int, ...]]:
        """Columns that updates link, directly or through others."""
        groups: list[set[int]] = []
        for question, _ in self._updates:
            assert question.codes is not None
            joined = set(question.codes)
            apart = [g for g in groups if not g & joined]
            for group in groups:
                if group & joined:
                    joined |= group
            groups = [*apart, joined] if joined else groups
        return [tuple(sorted(group)) for group in groups]

    def _groups(self, question: Question) -> list[tuple[int, ...]]:
        assert question.codes is not None
        return [g for g in self._all_groups() if any(c in question.codes for c in g)]

    def _mass(self, place: int, group: tuple[int, ...], start: list[Floats]) -> float:
        mass = self._whole.get((place, group))
        if mass is None:
            mass = self._whole[place, group] = self._log_sum(group, start, None)
        return mass

    def _classes(
        self, group: tuple[int, ...], question: Question | None
    ) -> dict[int, tuple[Integers, Integers]]:
        """For each column: a code of each class, and the class of each code."""
        classes = {}
        for column in group:
            size = self._schema.shape[column]
            tests = [q for q, _ in self._updates if q.codes is not None and column in q.codes]
            if question is not None and question.codes is not None and column in question.codes:
                tests = [*tests, question]
            table = np.zeros((len(tests), size), np.bool_)
            for row, test in enumerate(tests):
                assert test.codes is not None
                table[row, test.codes[column]] = True
            packed = np.packbits(table, axis=0).T
            _, first, place = np.unique(
                np.ascontiguousarray(packed), axis=0, return_index=True, return_inverse=True
            )
            classes[column] = (first.astype(np.int64), place.reshape(-1).astype(np.int64))
        return classes

    def _log_sum(
        self, group: tuple[int, ...], start: list[Floats], question: Question | None
    ) -> float:
        """The log weight of all cells of these columns, or of those inside the question."""
        classes = self._classes(group, question)
        sizes = [len(classes[column][0]) for column in group]
        strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        masses = [np.bincount(classes[c][1], start[c], len(classes[c][0])) for c in group]
        members = [
            (self._held(classes, group, update), factor)
            for update, factor in self._updates
            if update.codes is not None and any(column in update.codes for column in group)
        ]
        inside = None if question is None else self._held(classes, group, question)
        total, unit = 0.0, -math.inf  # the sum is total times e^unit
        cells = math.prod(sizes)
        for first in range(0, cells, _BLOCK):
            places = np.arange(first, min(first + _BLOCK, cells), dtype=np.int64)
            digits = [places // s % n for s, n in zip(strides, sizes, strict=True)]
            weights = np.ones(len(places))
            if inside is not None:
                for axis, mask in inside:
                    weights *= mask[digits[axis]]
            for axis, mass in enumerate(masses):
                weights *= mass[digits[axis]]
            exponent = np.zeros(len(places))
            for codes, factor in members:
                within = np.ones(len(places), np.bool_)
                for axis, mask in codes:
                    within &= mask[digits[axis]]
                exponent[within] += factor
            top = float(exponent.max())
            if top > unit:
                total, unit = total * math.exp(unit - top), top
            total += float(weights @ np.exp(exponent - unit))
        return unit + _log(total)

    def _held(
        self,
        classes: dict[int, tuple[Integers, Integers]],
        group: tuple[int, ...],
        question: Question,
    ) -> list[tuple[int, NDArray[np.bool_]]]:
        """Which classes of which axis a product set holds."""
        assert question.codes is not None
        masks = []
        for axis, column in enumerate(group):
            if column in question.codes:
                codes = np.zeros(self._schema.shape[column], np.bool_)
                codes[question.codes[column]] = True
                masks.append((axis, codes[classes[column][0]]))
        return masks


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
