"""Scores in memory as a universe: a noise for each, in one pass over an array."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from winnow.core.laws import Law
from winnow.core.noisy_top.class_counts import Trial
from winnow.core.noisy_top.cube import largest_in_cube
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.noisy_top.filter import Integers, Scores
from winnow.core.noisy_top.grid import Grid, largest_by_lot
from winnow.core.noisy_top.integer_noise import IntegerNoise
from winnow.core.noisy_top.ranked import free_rank
from winnow.core.noisy_top.ranking import Ranking
from winnow.core.noisy_top.rounds import in_blocks, peeled
from winnow.core.noisy_top.universe import ByRank, Drawn, Found, Universe
from winnow.core.tape import BitStream, Tape
from winnow.core.utility import Utility

_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_FEW = 16
"""So many positions are looked up one by one sooner than as an array."""


class InMemory(Universe):
    """A contiguous array of finite scores; a member is its position."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores
        self.total = len(scores)

    def found(self, positions: list[int]) -> list[Found]:
        """Positions with their scores."""
        if len(positions) <= _FEW:
            item = self.scores.item
            return [(item(place), place) for place in positions]
        return list(zip(self.scores[positions].tolist(), positions, strict=True))

    @property
    def _counts(self) -> Integers:
        return np.asarray(self.scores, np.int64)

    def noisiest(self, law: Law, scale: Fraction, k: int, tape: Tape) -> list[Found]:
        """Bounds of 32 bits leave a few."""
        return self.found(noisy_top(self.scores, tape, law, scale, k))

    def noisiest_in_cube(self, scale: Fraction, k: int, tape: Tape) -> list[Found]:
        """Bounds of 32 bits of each direction leave a few."""
        return self.found(largest_in_cube(self.scores, scale, k, tape))

    def noisy_counts(
        self, noise: IntegerNoise, k: int, tape: Tape, least: int | None = None, factor: int = 1
    ) -> Drawn:
        """Noise on every count, or in full on those alone that may win."""
        counts = self._counts
        if not len(counts):
            return Drawn([], [])
        counts = counts if factor == 1 else factor * counts
        if least is None:
            places, noisy = noise.near(counts, tape, k)
        else:
            noisy = counts + noise.array(tape, len(counts))
            places = np.flatnonzero((noisy >= least) & (counts > 0))
            noisy = noisy[places]
        chosen = largest_by_lot(noisy, k, tape.child("ties"))
        return Drawn(self.found(places[chosen].tolist()), noisy[chosen].tolist())

    def passing(self, trial: Trial, tape: Tape) -> list[Found]:
        """All trials at once."""
        return self.found(np.flatnonzero(trial(self._counts, tape)).tolist())

    def peeled(self, scale: Fraction, k: int, tape: Tape) -> list[Found]:
        """In blocks of similar scores."""
        return self.found(peeled(in_blocks(self.scores, scale, k), tape, scale))

    def by_rank(self, utility: Utility, k: int, *, whole: bool = False) -> ByRank:
        """In steps of the public grid; equal ones by position."""
        # The type of the scores must not decide where whole numbers are asked for: one person
        # can make all of them floats.
        grid = Grid(0, utility) if whole else Grid.of(utility, self.scores)
        ranking = Ranking(grid.steps(self.scores), k)

        def named(ranks: list[int], stream: BitStream) -> list[Found]:
            return self.found(ranking.positions(ranks))

        return ByRank(ranking, grid.utility, grid.cell, named)

    def scores_at(self, ranks: Sequence[int]) -> NDArray[Any]:
        """The scores at some ranks, found without sorting all of them."""
        places = [len(self.scores) - 1 - rank for rank in ranks]
        return np.asarray(np.partition(self.scores, places)[places])

    def front(self, most: int) -> Integers:
        """Sorted as far as they are asked for."""
        counts = self._counts
        if most < len(counts):
            counts = np.partition(counts, len(counts) - most)[len(counts) - most :]
        return np.sort(counts[counts > 0])[::-1].copy()

    def take(self, counts: Iterable[int], stream: BitStream) -> list[Found]:
        """Each among the positions of its count, in one pass over all."""
        wanted, values = list(counts), self._counts
        if not wanted:
            return []
        near = np.flatnonzero(values >= min(wanted))
        near = near[np.argsort(values[near], kind="stable")]
        different, values = sorted(set(wanted)), values[near]
        ends = (np.searchsorted(values, different, side).tolist() for side in _SIDES)
        spans = dict(zip(different, zip(*ends, strict=True), strict=True))
        gone: dict[int, list[int]] = {}
        positions = []
        for count in wanted:
            first, end = spans[count]
            taken = gone.setdefault(count, [])
            place = free_rank(taken, stream.below(end - first - len(taken)))
            insort(taken, place)
            positions.append(near.item(first + place))
        return self.found(positions)

    def rounds(self) -> InMemory:
        """With fewer scores after every draw."""
        return _Left(self.scores)


class _Left(InMemory):
    """The scores that are left, and where they stood."""

    def __init__(self, scores: Scores) -> None:
        super().__init__(scores)
        self._places = np.arange(len(scores))

    def found(self, positions: list[int]) -> list[Found]:
        """Positions among all scores; they are gone."""
        places = self._places[positions].tolist()
        found = list(zip(self.scores[positions].tolist(), places, strict=True))
        left = np.ones(len(self.scores), np.bool_)
        left[positions] = False
        self.scores, self._places = self.scores[left], self._places[left]
        self.total = len(self.scores)
        return found

    def rounds(self) -> InMemory:
        """Itself."""
        return self
