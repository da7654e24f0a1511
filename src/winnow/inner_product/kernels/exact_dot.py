"""Inner products rounded to a public grid, exactly: floor(<v, q> / 2^power + 1/3).

Two vectors of float64 have one exact inner product, and that is the score: not what some
order of summation makes of it. Rounded to a grid it is an integer that does not depend on
blocks, threads or instruction sets, so a candidate has the same score whichever way it is
met, and the effect on the sensitivity is exact: inner products that differ by at most D
have steps that differ by at most ceil(D / 2^power).

The third keeps the edges of the cells away from all float64: whole numbers and halves, the
usual inner products of counts, lie well inside a cell and need no second look.

BLAS first, with the error bound of any order of summation; where that leaves a step open, a
compensated sum (Dot2 of Ogita, Rump and Oishi 2005) on those rows; where that is not enough
either, integers of any length.

Steps beyond +-MOST_STEPS are clipped to it, by their exact value: that moves no two steps further
apart, and nothing about private vectors is refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Matrix = NDArray[Any]

LARGEST_ENTRY = 2.0**400
"""Entries beyond it could overflow in a product."""
MOST_STEPS = 2**62 - 1
"""Scores are int64, and so are their differences."""

_ROUNDING = 2.0**-53
UNDERFLOW = 2.0**-1040
"""More than what products that vanish could add up to."""
_NEAR_MOST = 2.0**61
_SPLIT = 134217729.0  # 2^27 + 1
_BLOCK = 1 << 22  # entries that are converted to float64 at a time


def row_norms(vectors: Matrix, centre: Floats | None = None) -> Floats:
    """Upper bounds on the Euclidean norms of the rows, or of their distances from a point."""
    rows, columns = vectors.shape
    squares = np.empty(rows)
    for part in _blocks(rows, columns):
        block = np.asarray(vectors[part], np.float64)
        if centre is not None:
            block = block - centre  # each entry rounded once: covered below
        squares[part] = np.einsum("ij,ij->i", block, block)
    slack = 1.0 + (columns + 8) * 2.0**-50
    return np.asarray(np.sqrt(squares) * slack + 2.0**-500 * columns, np.float64)


class InnerProducts:
    """The scores of many vectors against one query."""

    def __init__(self, vectors: Matrix, norms: Floats, query: Floats, power: int) -> None:
        self.vectors = vectors
        self.norms = norms
        self.query = np.ascontiguousarray(query, np.float64)
        self.power = power
        self.query_norm = norm(self.query)
        d = len(self.query)
        self._error = self.query_norm * (d + 4) * _ROUNDING
        self._second_error = self.query_norm * ((3 * d + 16) * _ROUNDING) ** 2

    def steps(self, ids: Integers | None = None, sign: int = 1) -> Integers:
        """floor(sign <v_i, q> / 2^power + 1/3), clipped, of the rows named, or of all rows."""
        rows = self.vectors.shape[0] if ids is None else len(ids)
        result = np.empty(rows, np.int64)
        query = self.query if sign > 0 else -self.query
        for part in _blocks(rows, len(query)):
            chosen = part if ids is None else ids[part]
            block = np.asarray(self.vectors[chosen], np.float64)
            result[part] = self._steps_of(block, self.norms[chosen], query)
        return result

    def both(self) -> tuple[Integers, Integers]:
        """The steps of all rows for either sign, from one product."""
        rows = self.vectors.shape[0]
        result = np.empty((2, rows), np.int64)
        for part in _blocks(rows, len(self.query)):
            block = np.asarray(self.vectors[part], np.float64)
            value = np.ldexp(block @ self.query, -self.power)
            error = self._in_steps(self.norms[part] * self._error)
            for side, sign in enumerate((1.0, -1.0)):
                steps, unsure = _decided(sign * value, 0.0, error)
                places = np.flatnonzero(unsure)
                if len(places):
                    norms = self.norms[part][places]
                    steps[places] = self._steps_of(block[places], norms, sign * self.query)
                result[side, part] = steps
        return result[0], result[1]

    def _steps_of(self, block: Floats, norms: Floats, query: Floats) -> Integers:
        value = np.ldexp(block @ query, -self.power)
        steps, unsure = _decided(value, 0.0, self._in_steps(norms * self._error))
        places = np.flatnonzero(unsure)
        if len(places):
            high, low = _compensated(block[places], query)
            high, low = np.ldexp(high, -self.power), np.ldexp(low, -self.power)
            error = self._in_steps(norms[places] * self._second_error) + 2.0**-50 * np.abs(low)
            steps[places], unsure = _decided(high, low, error)
            for place in places[unsure]:
                exact = exact_steps(block[place], query, self.power)
                steps[place] = max(-MOST_STEPS, min(exact, MOST_STEPS))
        return steps

    def _in_steps(self, error: Floats) -> Floats:
        return np.ldexp(error * (1.0 + 2.0**-40) + UNDERFLOW, -self.power)


def norm(vector: Floats) -> float:
    """An upper bound on the Euclidean norm."""
    square = float(np.dot(vector, vector))
    return math.sqrt(square) * (1.0 + (len(vector) + 8) * 2.0**-50) + 2.0**-500


def exact_steps(row: Floats, query: Floats, power: int) -> int:
    """The step of one row by integers of any length."""
    row_mantissas, row_exponents = _integers(row)
    query_mantissas, query_exponents = _integers(query)
    exponents = [a + b for a, b in zip(row_exponents, query_exponents, strict=True)]
    least = min(exponents, default=0)
    total = sum(
        (a * b) << (exponent - least)
        for a, b, exponent in zip(row_mantissas, query_mantissas, exponents, strict=True)
    )
    shift = least - power
    if shift >= 0:
        return total << shift
    return (3 * total + (1 << -shift)) // (3 << -shift)


def _integers(values: Floats) -> tuple[list[int], list[int]]:
    """Each float64 as an integer times a power of two."""
    mantissas, exponents = np.frexp(values)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    return whole.tolist(), (exponents.astype(np.int64) - 53).tolist()


def _decided(
    high: Floats, low: Floats | float, error: Floats
) -> tuple[Integers, NDArray[np.bool_]]:
    """The clipped step of high + low, and where an error of this size leaves it open."""
    floors = np.floor(high)
    rest = (high - floors) + (low + 1.0 / 3.0)
    carry = np.floor(rest)
    rest = rest - carry
    error = error + 2.0**-50
    unsure = ~((rest > error) & (rest < 1.0 - error))
    with np.errstate(invalid="ignore"):
        steps = floors.astype(np.int64) + carry.astype(np.int64)
        if not np.abs(high).max(initial=0.0) < _NEAR_MOST:  # or not a number
            beyond = np.abs(high + low) - error > MOST_STEPS * (1.0 + 2.0**-40)
            edge = np.where(high > 0, MOST_STEPS, -MOST_STEPS)
            steps = np.where(beyond, edge, np.clip(steps, -MOST_STEPS, MOST_STEPS))
            unsure &= ~beyond
        return steps, unsure


def _compensated(block: Floats, query: Floats) -> tuple[Floats, Floats]:
    """Inner products as unevaluated sums of two float64, by error-free transformations."""
    product = block * query
    first, second = _halves(block)
    third, fourth = _halves(query)
    error = second * fourth - (((product - first * third) - second * third) - first * fourth)
    low = error.sum(axis=1)
    while product.shape[1] > 1:
        half = product.shape[1] // 2
        one, other, rest = product[:, :half], product[:, half : 2 * half], product[:, 2 * half :]
        total = one + other
        back = total - one
        low = low + ((one - (total - back)) + (other - back)).sum(axis=1)
        product = np.concatenate([total, rest], axis=1)
    return product[:, 0], low


def _halves(x: Floats) -> tuple[Floats, Floats]:
    big = _SPLIT * x
    high = big - (big - x)
    return high, x - high


def _blocks(rows: int, columns: int) -> list[slice]:
    step = max(1, _BLOCK // max(1, columns))
    return [slice(start, min(rows, start + step)) for start in range(0, rows, step)]
