"""What noise on sums does to counts, sums, means and variances; all of it public."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaln, ndtri

from winnow.numbers.moments.measured import PARTS, ValuedColumn
from winnow.numbers.moments.mechanism import NoisySums

Floats = NDArray[np.float64]

_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_NODES = 600
_SPARE = 1.01
"""Between the directions that are looked at a factor may be larger; not by a hundredth of it."""


@dataclass(frozen=True)
class SumNoise:
    """The standard errors of measured sums, each in units of what one row adds to it at most.

    Noise on different sums of a group is uncorrelated under both laws, so variances of linear
    combinations add up.
    """

    errors: Mapping[tuple[str, str | None], float]
    law: str
    size: int
    """How many sums of a group share their noise."""

    @classmethod
    def of(cls, mechanism: NoisySums) -> SumNoise:
        """That of a mechanism.

        Of box noise R times a uniform number between -1 and 1, R being a Gamma number of shape
        d + 1: E R^2 = (d + 1)(d + 2) scale^2, and a uniform number has the variance 1/3.
        """
        size = len(mechanism.measured)
        errors: dict[tuple[str, str | None], float] = {}
        for place, each in enumerate(mechanism.measured):
            if mechanism.law == "gaussian":
                error = math.sqrt(float(mechanism.noise[place]))
            else:
                error = float(mechanism.noise[0]) * math.sqrt((size + 1) * (size + 2) / 3)
            name = None if each.column is None else each.column.name
            errors[each.kind, name] = error / PARTS / each.times
        return cls(errors, mechanism.law, size)

    def of_count(self, column: ValuedColumn) -> float:
        """Of the number of rows with a value, in rows; 0: it is public."""
        name = ("present", column.name) if column.optional else ("rows", None)
        return self.errors.get(name, 0.0)

    def first(self, column: ValuedColumn) -> float:
        """Of the sum of z."""
        return self.errors[("first", column.name)]

    def second(self, column: ValuedColumn) -> float:
        """Of the sum of 2 z^2 - 1."""
        return self.errors[("second", column.name)]

    def of_sum(self, column: ValuedColumn) -> float:
        """Of the sum of values, in their unit."""
        alone = self.errors.get(("total", column.name))
        if alone is not None:
            return alone * float(max(abs(column.grid.low), abs(column.grid.high)))
        return math.hypot(
            float(column.half) * self.first(column), float(column.middle) * self.of_count(column)
        )

    def of_mean(self, column: ValuedColumn, mean: float = 0.0) -> float:
        """Of a mean at this place on the scale of its column, times the number of rows."""
        if ("first", column.name) not in self.errors:
            return self.of_sum(column)
        return math.hypot(self.first(column), mean * self.of_count(column))

    def of_variance(self, column: ValuedColumn, mean: Any, variance: Any) -> Any:
        """Of a variance about a mean, on the scale of the column, times the number of rows.

        With S, T and N the noise on the sums of z, of 2 z^2 - 1 and of 1 it is
        T/2 - 2 m S + (1/2 + m^2 - v) N.
        """
        count = (0.5 + mean**2 - variance) * self.of_count(column)
        first = 2 * mean * self.first(column)
        return np.sqrt((self.second(column) / 2) ** 2 + first**2 + count**2)

    def factor(self, missed: float) -> float:
        """How many standard errors a linear combination exceeds with at most this probability."""
        if self.law == "gaussian":
            return float(-ndtri(missed / 2))
        return box_factor(self.size, missed)


@lru_cache(maxsize=256)
def box_factor(size: int, missed: float) -> float:
    """The largest over the directions of up to three sums: no statistic combines more."""
    if size == 1:
        return math.log(1 / missed) / math.sqrt(2)
    directions = {
        tuple(sorted((1.0, *shares), reverse=True)) for shares in product(_SHARES, repeat=2)
    }
    most = min(3, size)
    return _SPARE * max(
        _exceeded(tuple(each for each in direction if each), size, missed)
        for direction in directions
        if sum(each > 0 for each in direction) <= most
    )


def _exceeded(direction: tuple[float, ...], size: int, missed: float) -> float:
    """The standard errors that R sum a_i U_i exceeds with this probability.

    R is a Gamma number of shape d + 1, U_i are uniform between -1 and 1. The sum of the a_i U_i
    reaches to its length h; the chance of more than t is an integral over R from t/h.
    """
    length = sum(direction)
    error = math.sqrt(sum(each**2 for each in direction) * (size + 1) * (size + 2) / 3)
    low, high = 0.0, 100.0 + 3 * size
    while high * length * _survival(high, size) > 0 and _chance(high, direction, size) > missed:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _chance(middle, direction, size) > missed else (low, middle)
    return high / error


def _survival(t: float, size: int) -> float:
    return float(gammaincc(size + 1, t))


def _chance(t: float, direction: tuple[float, ...], size: int) -> float:
    """P(|R sum a_i U_i| > t), by the trapezoidal rule."""
    length = sum(direction)
    start = t / length
    stop = max(start, size + 1.0) + 45.0 + 10 * math.sqrt(size + 1)
    radius = np.linspace(start, stop, _NODES)
    density = np.exp(size * np.log(np.maximum(radius, 1e-300)) - radius - gammaln(size + 1))
    beyond = _beyond(t / np.maximum(radius, 1e-300), direction)
    rest = _survival(stop, size)
    return float(np.trapezoid(density * beyond, radius)) + rest


def _beyond(t: Floats, direction: tuple[float, ...]) -> Floats:
    """P(|sum a_i U_i| > t): twice the volume of a corner of the cube."""
    many = len(direction)
    tail = np.zeros_like(t)
    for signs in product((1, -1), repeat=many):
        ends = sum(sign * each for sign, each in zip(signs, direction, strict=True))
        tail += math.prod(signs) * np.maximum(ends - t, 0.0) ** many
    whole = math.factorial(many) * math.prod(2 * each for each in direction)
    return np.asarray(np.clip(2 * tail / whole, 0.0, 1.0))
