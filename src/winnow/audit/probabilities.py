"""Exact output probabilities of every selection mechanism on small instances.

Nothing here touches a tape or a kernel: a model holds the public parameters of a
mechanism and computes the probabilities of all its outputs from the definitions, by
closed formulas where there are some and by quadrature otherwise, many score vectors at a
time. A row of ``outcomes`` looks like a row of the mechanism's ``simulate``.

Models lie in the ``audit`` of their capability, each with ``model_for.register`` for the
mechanism that it is the model of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import singledispatch
from math import ceil
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Boxes, moves, sorted_vectors, vectors, within
from winnow.core.checks import Real
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.privacy import Promise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]


class Model(ABC):
    """A mechanism as its output distribution; frozen, so that what was measured can be kept."""

    @abstractmethod
    def outcomes(self, d: int) -> Integers:
        """All outputs for d candidates, one per row."""

    @abstractmethod
    def log_probabilities(self, scores: Scores) -> Floats:
        """A row for each score vector (a row of `scores`), a column for each outcome."""

    def rows(self, scores: Integers) -> Floats:
        """``log_probabilities``, computed once for vectors that are the same for the model."""
        distinct, where = np.unique(scores, axis=0, return_inverse=True)
        return self.log_probabilities(distinct)[where.ravel()]

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """Score vectors, and the moves to their neighbours."""
        yield vectors((0, 1, 2, 3, 4, 5, 6), 3), moves(boxes, 3)

    def neighbours(self, bases: Integers, steps: Integers) -> Integers:
        """A row for each vector and each move."""
        return np.asarray((bases[:, None] + steps).reshape(-1, bases.shape[1]), np.int64)


class Exchangeable(Model):
    """A model without ties by position: exchanging candidates exchanges their probabilities."""

    scale: float
    ordered: bool
    most: ClassVar[int] = 5
    """The largest number of candidates that is enumerated."""

    def rows(self, scores: Integers) -> Floats:
        """Adding a constant to all scores changes no selection, nor does their order."""
        d = scores.shape[1]
        order = np.argsort(-scores, axis=1, kind="stable")
        descending = np.take_along_axis(scores, order, axis=1)
        distinct, where = np.unique(descending - descending[:, :1], axis=0, return_inverse=True)
        table = self.log_probabilities(distinct)
        outcomes = self.outcomes(d)
        ranks = np.argsort(order, axis=1)[:, outcomes]  # each outcome in terms of sorted places
        if not self.ordered:
            ranks.sort(axis=2)
        digits = d ** np.arange(outcomes.shape[1])
        codes = outcomes @ digits
        by_code = np.argsort(codes)
        columns = by_code[np.searchsorted(codes[by_code], ranks @ digits)]
        return np.asarray(table[where.reshape(-1, 1), columns], np.float64)

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """All sorted vectors of small scores with ties, and far-off scores where losses peak."""
        far = ceil(12 / self.scale)
        winners = self.outcomes(6).shape[1]
        for d in (4,) if quick else (3, 4, 5):
            if winners < d <= self.most:
                steps = moves(boxes, d, inside=d == 3)
                yield sorted_vectors((0, 1, 2, 3) if d < 5 and not quick else (0, 1, 2), d), steps
                yield sorted_vectors((0, far, 2 * far) if d == 3 else (0, far), d), steps


class OfLabels(Model):
    """A model on counts of private labels; ``items`` bounds the labels of one person."""

    items: int | None
    values: ClassVar[tuple[int, ...]] = (0, 1, 2, 3, 5, 8)
    most: ClassVar[int] = 4

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """Small counts, zeros and all; one person has at most `items` labels."""
        d = 3 if quick else self.most
        yield sorted_vectors(self.values, d), within(self.items, moves(boxes, d))

    def neighbours(self, bases: Integers, steps: Integers) -> Integers:
        """Counts of labels stop at 0: nobody is missing twice."""
        return np.maximum(super().neighbours(bases, steps), 0)


@runtime_checkable
class HasModel(Protocol):
    """A mechanism that brings its own exact probabilities (broken twins do)."""

    def model(self, utility: Utility) -> Model:
        """Its output distribution."""


@singledispatch
def model_for(mechanism: object, utility: Utility) -> Model:
    """The output distribution that the public parameters of a mechanism of a class define."""
    raise TypeError(f"no exact probabilities are known for a {type(mechanism).__name__}")


def model_of(mechanism: object, utility: Utility) -> Model:
    """The output distribution of a mechanism."""
    if isinstance(mechanism, HasModel):
        return mechanism.model(utility)
    return model_for(mechanism, utility)


def hockey_stick(p: Floats, q: Floats, epsilon: float) -> Floats:
    """The smallest delta with P <= e^epsilon Q + delta: the sum of (p - e^epsilon q)+."""
    return np.asarray(np.sum(np.maximum(p - np.exp(epsilon) * q, 0.0), axis=-1), np.float64)


class ChargedAsInner:
    """What an audit runs in a way of its own: it is charged as the mechanism inside."""

    inner: Any

    @property
    def epsilon(self) -> Real:
        """The total for the call."""
        total: Real = self.inner.epsilon
        return total

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        promised: Promise = self.inner.promise(relation)
        return promised
