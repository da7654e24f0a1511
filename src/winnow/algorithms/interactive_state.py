"""The public hypothesis of an interactive session: weights on cells, moved question by question.

Three ways to hold the same thing: every cell in memory, a sample of the cells
[PMW, Section V], or only the list of updates [PMW, Section II] (``implicit_state``). All are
deterministic functions of what was released, so replaying the updates gives the same state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.domain.questions import Question
from winnow.domain.reductions import sample_cells
from winnow.domain.schema import Schema
from winnow.domain.workloads.part import marginal_table
from winnow.errors import InputError
from winnow.kernels.product_sets import KeptTables, ProductSets

Floats = NDArray[np.float64]


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
    found = []
    for counted in tables:
        positive = np.maximum(counted, 0).astype(np.float64)
        total = positive.sum()
        size = len(positive)
        found.append(positive / total if total > 0 else np.full(size, 1.0 / size))
    return found


class CellState:
    """The weight of every cell, in memory."""

    def __init__(self, schema: Schema, prior: list[Floats] | None = None, mix: float = 1.0) -> None:
        self._sets = ProductSets(schema.shape)
        cells = schema.cells
        self._weights: Floats = np.full(cells, 1.0 / cells)
        if prior is not None:
            product = prior[0]
            for column in prior[1:]:
                product = np.multiply.outer(product, column)
            self._weights *= mix
            self._weights += (1 - mix) * product.ravel()
        self._mass = float(self._weights.sum())
        self._shape = schema.shape
        self._tables = KeptTables(schema.shape, self._marginal, max(cells // 8, 1 << 10))

    def _marginal(self, columns: tuple[int, ...]) -> Floats:
        table = marginal_table(self._weights, self._shape, columns)
        return np.ascontiguousarray(table).ravel()

    def check(self, question: Question) -> None:
        """Any question over the cells will do."""

    def answer(self, question: Question) -> float:
        """A sum over the cells that the question holds."""
        if question.codes is not None:
            held = self._tables.sum(question.codes)
            if held is None:
                held = self._sets.sum(self._weights, question.codes)
            held = float(held)
        else:
            assert question.units is not None
            held = float(question.units @ self._weights) / question.grid
        return min(1.0, max(0.0, held / self._mass))

    def update(self, question: Question, log_factor: float) -> None:
        """A step on the cells that the question holds; the mass is summed anew."""
        self._tables.clear()
        if question.codes is not None:
            self._sets.scale(self._weights, question.codes, math.exp(log_factor))
        else:
            assert question.units is not None
            self._weights *= np.exp(question.units * (log_factor / question.grid))
        self._mass = float(self._weights.sum())
        if not 1e-6 < self._mass < 1e6:
            self._weights /= self._mass
            self._mass = float(self._weights.sum())

    def weights(self) -> Floats:
        """The distribution over the cells, sum 1."""
        return np.asarray(self._weights / self._mass)


class PointState:
    """Weights on a public sample of the cells."""

    def __init__(
        self,
        schema: Schema,
        size: int,
        seed: int,
        prior: list[Floats] | None = None,
        mix: float = 1.0,
    ) -> None:
        self.points = sample_cells(schema, size, seed)
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
        """A question given cell by cell says nothing about sampled cells by name."""
        if question.codes is None:
            raise InputError(
                "queries given cell by cell need the whole domain; leave out universe="
            )

    def _held(self, question: Question) -> NDArray[np.bool_]:
        assert question.codes is not None
        held = np.ones(len(self._weights), np.bool_)
        for column, codes in question.codes.items():
            mask = np.zeros(question.schema.shape[column], np.bool_)
            mask[codes] = True
            held &= mask[self._columns[column]]
        return held

    def answer(self, question: Question) -> float:
        """A sum over the sampled cells that the question holds."""
        held = float(self._weights[self._held(question)].sum())
        return min(1.0, max(0.0, held / self._mass))

    def update(self, question: Question, log_factor: float) -> None:
        """A step on the sampled cells that the question holds."""
        self._weights[self._held(question)] *= math.exp(log_factor)
        self._mass = float(self._weights.sum())
        if not 1e-6 < self._mass < 1e6:
            self._weights /= self._mass
            self._mass = float(self._weights.sum())

    def weights(self) -> Floats:
        """The distribution over the sampled cells, sum 1."""
        return np.asarray(self._weights / self._mass)
