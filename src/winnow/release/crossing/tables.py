"""The crossing for whole marginal tables: true counts, exact scores, noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.laws import Law
from winnow.core.noise import discrete_gaussian_array, discrete_laplace_array
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.opening import open_sealed
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.errors import DataError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

STEPS = 16
"""Counts of the model are rounded to whole multiples of 1/STEPS rows: public, and exact."""

LARGEST_SCORE = 2**61
LARGEST_WEIGHT = 2**30
_LARGEST_NOISE = 2**50


@dataclass(frozen=True)
class TableNoise:
    """The law of the noise of every cell: its variance (Gaussian) or its scale (Laplace)."""

    law: str
    size: Fraction

    @property
    def fits(self) -> bool:
        """Whether counts of 64 bits have room for it."""
        return self.size <= (_LARGEST_NOISE if self.law == "laplace" else _LARGEST_NOISE**2)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        if self.law == "laplace":
            return math.sqrt(2) * float(self.size)
        return math.sqrt(self.size)

    @property
    def mean_size(self) -> float:
        """How large it is in the mean."""
        if self.law == "laplace":
            return float(self.size)
        return math.sqrt(2 / math.pi * self.size)

    def draw(self, tape: Tape, size: int) -> Counts:
        """So many integers of the exact law."""
        if self.law == "laplace":
            return discrete_laplace_array(tape, size, self.size)
        return discrete_gaussian_array(tape, size, self.size)


@dataclass(frozen=True)
class MeasuredTable:
    """What one round releases. All of it is public."""

    candidate: int
    """The number of the selected marginal table among the candidates."""
    counts: Counts
    """Its counts, flat, each with noise; some may be below 0."""


def first_tables(
    counts: Sealed[Counts], offsets: Counts, noises: Sequence[TableNoise], tape: Tape
) -> tuple[Counts, ...]:
    """Noisy tables that are measured before any selection, cut at the offsets; each its own noise.

    Every table has a stream of its own: no two share a random number.
    """
    tables = np.split(open_sealed(counts), offsets[1:-1])
    return tuple(
        true + noise.draw(tape.child(f"table-{number}"), len(true))
        for number, (true, noise) in enumerate(zip(tables, noises, strict=True))
    )


class TableRounds:
    """True tables and the place on the tape. Private.

    Counts and distances that would not fit 64 bits are clipped at public bounds, which moves them
    by no more than they moved before: to refuse them would tell something, and after the charge.
    """

    def __init__(
        self,
        counts: Sealed[Counts],
        offsets: Counts,
        weights: Counts,
        scale: Fraction,
        noise: TableNoise,
        rounds: int,
        tape: Tape,
    ) -> None:
        self.left = rounds
        self.candidates = len(weights)
        self._counts, self._offsets, self._weights = open_sealed(counts), offsets, weights
        self._most = LARGEST_SCORE // (STEPS * int(np.diff(offsets).max()))
        self._scale, self._noise = scale, noise
        self._tape = tape
        self._round = 0

    def draw(
        self, places: Counts, tables: Sequence[Floats], penalties: Sequence[float]
    ) -> MeasuredTable:
        """One round."""
        public = [self._grid(place, table) for place, table in zip(places, tables, strict=True)]
        fixed = np.rint(STEPS * np.array(penalties, np.float64))
        heaviest = int(self._weights.max())
        if not np.isfinite(fixed).all() or heaviest * np.abs(fixed).max() > LARGEST_SCORE:
            raise DataError("a penalty is not a number of rows; give finite numbers")
        if heaviest * max(int(np.abs(table).sum()) for table in public) > LARGEST_SCORE:
            raise DataError("the model's counts do not fit 64 bits; give smaller weights")
        self.left -= 1  # also when it is interrupted: its noise may have been seen
        tape = self._tape.child(f"round-{self._round}")
        self._round += 1
        distances = np.empty(len(places), np.int64)
        for i, (place, table) in enumerate(zip(places, public, strict=True)):
            distances[i] = np.abs(STEPS * self._true(place) - table).sum()
        distances = np.minimum(distances, LARGEST_SCORE // heaviest)
        scores = self._weights[places] * (distances - fixed.astype(np.int64))
        with np.errstate(all="ignore"):
            [found] = noisy_top(scores, tape.child("selection"), Law.GUMBEL, self._scale)
        chosen = int(places[found])
        true = self._true(chosen)
        drawn = self._noise.draw(tape.child("measurement"), len(true))
        return MeasuredTable(chosen, true + drawn)

    def _true(self, place: int) -> Counts:
        counts = self._counts[self._offsets[place] : self._offsets[place + 1]]
        return np.minimum(counts, self._most)

    def _grid(self, place: int, table: Floats) -> Counts:
        """The model's counts in whole steps; nothing private is looked at."""
        steps = np.rint(STEPS * np.asarray(table, np.float64).reshape(-1))
        if len(steps) != self._offsets[place + 1] - self._offsets[place]:
            raise DataError("a table of the model has another shape than its candidate")
        if not (np.isfinite(steps).all() and np.abs(steps).sum() < LARGEST_SCORE):
            raise DataError("a table of the model is not made of counts; give finite numbers")
        return steps.astype(np.int64)
