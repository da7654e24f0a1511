"""The crossing for whole marginal tables: true counts, exact scores, noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.core.laws import Law
from winnow.core.noise import discrete_gaussian_array, discrete_laplace_array
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.errors import DataError
from winnow.privacy import Compose, Event, Promise, Repeat, promise

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


def table_noise(
    measurement: str, multiplier: Real, relation: Relation, rows_per_person: int
) -> TableNoise:
    """Of each cell: the multiplier times the sensitivity of a whole table in the law's norm.

    Rows of a person that are added or removed lie in one cell, all of them, at worst: L in either
    norm. Rows that are replaced leave one and enter another: 2 L in l1, sqrt(2) L in l2.
    """
    people, size = relation.people, exact("noise_multiplier", multiplier) * rows_per_person
    if measurement == "laplace":
        return TableNoise("laplace", size * people)
    return TableNoise("gaussian", size**2 * people)


def additive(measurement: str, multiplier: Real, relation: Relation) -> Promise:
    """What whole numbers with such noise are charged."""
    return promise(f"discrete-{measurement}", "additive", relation, noise_multiplier=multiplier)


def first_event(
    multipliers: Sequence[Real], relation: Relation, measurement: str = "gaussian"
) -> Event:
    """The event of measuring tables with these multipliers before the first round."""
    events: list[Event] = []
    for multiplier, tables in Counter(multipliers).items():
        one = additive(measurement, multiplier, relation).event
        events.append(one if tables == 1 else Repeat(one, tables))
    return events[0] if len(events) == 1 else Compose(tuple(events))


@dataclass(frozen=True)
class MeasuredTable:
    """What one round releases. All of it is public."""

    candidate: int
    """The number of the selected marginal table among the candidates."""
    counts: Counts
    """Its counts, flat, each with noise; some may be below 0."""


def first_tables(
    counts: Sealed[Counts], offsets: Counts, noises: Sequence[TableNoise], key: Key
) -> tuple[Counts, ...]:
    """Noisy tables that are measured before any selection, cut at the offsets; each its own noise.

    Every table has a stream of its own: no two share a random number.
    """
    tables, tape = np.split(key.open(counts), offsets[1:-1]), key.tape.child("first")
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
        rounds: Sequence[tuple[Fraction, TableNoise]],
        key: Key,
    ) -> None:
        """``rounds``: for each what a score is multiplied with, and the noise of a table."""
        self.left = len(rounds)
        self.candidates = len(weights)
        self._counts, self._offsets, self._weights = key.open(counts), offsets, weights
        self._most = LARGEST_SCORE // (STEPS * int(np.diff(offsets).max()))
        self._heaviest = int(weights.max())
        self._rounds = rounds
        self._tape = key.tape
        self._round = 0
        self._known = np.zeros(len(weights), np.bool_)
        self._seen: dict[int, Floats] = {}
        """Public tables that cannot change: what comes again costs nothing."""
        self._distances = np.zeros(len(weights), np.int64)

    def look(self, place: int, table: Floats) -> None:
        """Compare a candidate with what the model says of it, for all draws until the next look."""
        steps = self._grid(place, table)
        if self._heaviest * int(np.abs(steps).sum()) > LARGEST_SCORE:
            raise DataError("the model's counts do not fit 64 bits; give smaller weights")
        self._distances[place] = np.abs(STEPS * self._true(place) - steps).sum()
        self._known[place] = True
        self._seen.pop(place, None)

    def look_once(self, place: int, table: Floats) -> None:
        """Look at tables, but not at one that came before and cannot have changed."""
        if self._seen.get(place) is not table:
            self.look(place, table)
            if isinstance(table, np.ndarray) and not table.flags.writeable:
                self._seen[place] = table

    def draw(self, places: Counts, penalties: Sequence[float] | Floats) -> MeasuredTable:
        """One round among candidates that were looked at."""
        if not self._known[places].all():
            raise DataError("the model has said nothing of a candidate; give its table first")
        fixed = np.rint(STEPS * np.array(penalties, np.float64))
        heaviest = self._heaviest
        if not np.isfinite(fixed).all() or heaviest * np.abs(fixed).max() > LARGEST_SCORE:
            raise DataError("a penalty is not a number of rows; give finite numbers")
        self.left -= 1  # also when it is interrupted: its noise may have been seen
        scale, noise = self._rounds[self._round]
        tape = self._tape.child(f"round-{self._round}")
        self._round += 1
        distances = np.minimum(self._distances[places], LARGEST_SCORE // heaviest)
        scores = self._weights[places] * (distances - fixed.astype(np.int64))
        with np.errstate(all="ignore"):
            [place] = noisy_top(scores, tape.child("selection"), Law.GUMBEL, scale)
        chosen = int(places[place])
        true = self._true(chosen)
        drawn = noise.draw(tape.child("measurement"), len(true))
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
