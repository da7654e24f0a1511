"""Candidate vectors with what is needed to bound the inner products that nobody looked at.

Three certified bounds on <v, q> over all rows outside a head, all cheap:

- box: sum over j of max(low_j q_j, high_j q_j), where every row lies between low and high;
  for queries in [0, 1] and q = h - p that is the total variation distance;
- ball: <centre, q> + r ||q||, with r the largest distance of such a row from the centre;
- the least inner product that an exact index returned, plus its rounding error.

Each is computed in float64 with its error added, so it is an upper bound.
"""

from __future__ import annotations

import math
from copy import copy

import numpy as np
from numpy.typing import NDArray

from winnow.inner_product.index.flat import Floats, Index, Integers, Matrix, blocks
from winnow.inner_product.kernels.exact_dot import UNDERFLOW, InnerProducts, norm, row_norms


class PreparedVectors:
    """Rows of real numbers, their norms, their bounds and, where wanted, an index."""

    __slots__ = ("_by_radius", "_centre", "_high", "_low", "_radii", "index", "norms", "vectors")

    def __init__(self, vectors: Matrix, index: Index | None) -> None:
        self.vectors = vectors
        self.index = index
        self.norms = row_norms(vectors)
        rows, columns = vectors.shape
        low, high, total = np.full(columns, np.inf), np.full(columns, -np.inf), np.zeros(columns)
        for part in blocks(rows, columns):
            block = np.asarray(vectors[part], np.float64)
            np.minimum(low, block.min(axis=0), out=low)
            np.maximum(high, block.max(axis=0), out=high)
            total += block.sum(axis=0)
        self._low, self._high = low, high
        self._centre = total / rows
        self._radii = row_norms(vectors, self._centre)
        self._by_radius = np.argsort(-self._radii, kind="stable")

    def with_index(self, index: Index | None) -> PreparedVectors:
        """These vectors with another index over them, or with none."""
        other = copy(self)
        other.index = index
        return other

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.vectors.shape[0])

    def against(self, query: Floats, power: int) -> InnerProducts:
        """The scores against a query, on the grid of 2^power."""
        return InnerProducts(self.vectors, self.norms, query, power)

    def proposed(self, query: Floats, k: int) -> tuple[Integers, float]:
        """What the index finds, and an upper bound on all rows that it does not return."""
        if self.index is None:
            return np.empty(0, np.int64), math.inf
        ids, scores = self.index.top(query, k)
        if not (self.index.exact and len(ids)):
            return ids, math.inf
        rounding = norm(query) * float(self.norms.max()) * (len(query) + 8) * 2.0**-51
        return ids, _up(float(scores[-1]) + rounding)

    def bound_outside(self, query: Floats, head: Integers) -> float:
        """An upper bound on <v, q> over all rows that are not in the head."""
        if len(head) >= self.size:
            return -math.inf
        return min(self._box(query), self._ball(query, head))

    def _box(self, query: Floats) -> float:
        terms = np.maximum(self._low * query, self._high * query)
        rounding = float(np.abs(terms).sum()) * (len(query) + 4) * 2.0**-52
        return _up(float(terms.sum()) + rounding + UNDERFLOW)

    def _ball(self, query: Floats, head: Integers) -> float:
        furthest = self._by_radius[: len(head) + 1]
        radius = float(self._radii[furthest[~np.isin(furthest, head)][0]])
        length = norm(query)
        centre = float(self._centre @ query)
        rounding = norm(self._centre) * length * (len(query) + 8) * 2.0**-51
        return _up(centre + rounding + radius * length * (1.0 + 2.0**-50))


def largest_outside(bounds: NDArray[np.float64], head: Integers) -> float:
    """The largest of given upper bounds over all rows that are not in the head."""
    left = np.ones(len(bounds), np.bool_)
    left[head] = False
    return float(bounds[left].max(initial=-math.inf))


def _up(x: float) -> float:
    """The next float64 and one more, for the rounding of a last sum."""
    return math.nextafter(math.nextafter(x, math.inf), math.inf)
