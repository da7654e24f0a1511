"""Top-k mechanisms with noisy counts or calibrated rounds that are wrong on purpose.

They are reachable from the audits only, and release nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Boxes, moves, sorted_vectors, within
from winnow.audit.numerics import gaussian_upper_tail, upper_tail
from winnow.audit.probabilities import Model, Scores, model_of
from winnow.audit.ties import RandomTies
from winnow.core.checks import exact
from winnow.core.noise import discrete_laplace_array
from winnow.core.noisy_top.grid import largest
from winnow.core.noisy_top.in_memory import InMemory
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Calibration, Promise
from winnow.select.mechanisms.gaussian_counts import GaussianCounts
from winnow.select.mechanisms.noisy_counts import CountsWithNoise, NoisyCounts, WithCounts
from winnow.select.mechanisms.peeling import PeelGumbel, calibrated_rounds
from winnow.select.mechanisms.unknown_domain import StabilityThreshold

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
CountScores = NDArray[np.int64] | NDArray[np.float64]

_REACH = 30
"""Noise beyond so many scales is lumped together: e^-30."""


def _with_cells(lists: Integers, cells: int, k: int) -> Integers:
    """Every list with every combination of cells of its k counts."""
    counts = np.array(list(product(range(cells), repeat=k)), np.int64)
    return np.hstack([np.repeat(lists, len(counts), axis=0), np.tile(counts, (len(lists), 1))])


class _OfCounts(Model):
    """A model on counts of people; ``items`` bounds the counts that one person moves."""

    items: int | None

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """Small counts with ties, forwards and backwards."""
        for d in (4,) if quick else (3, 4):
            bases = sorted_vectors((0, 1, 2) if d == 4 else (0, 1, 2, 5), d)
            yield np.vstack([bases, bases[:, ::-1]]), within(self.items, moves(boxes, d))


@dataclass(frozen=True)
class NoisyCountsModel(_OfCounts):
    """The k = 1 or 2 largest of counts + noise, ties by position; with `cells`, their counts.

    `items` bounds the counts that one person moves.
    """

    scale: float
    k: int
    items: int | None
    cells: int = 0
    gaussian: bool = False
    """Whether the noise is Gaussian, with the scale as its standard deviation."""

    def _tail(self, z: CountScores) -> Floats:
        return gaussian_upper_tail(self.scale**2, z) if self.gaussian else upper_tail(self.scale, z)

    def outcomes(self, d: int) -> Integers:
        """Lists of k candidates, and the cells of their noisy counts."""
        lists = np.array(list(permutations(range(d), self.k)), np.int64)
        return _with_cells(lists, self.cells, self.k) if self.cells else lists

    def log_probabilities(self, scores: CountScores) -> Floats:
        """The last winner at each value, all losers below it, the first winner above it."""
        if self.k > 2:
            raise ValueError("lists of more than two are not enumerated")
        n, d = scores.shape
        reach = int(_REACH * self.scale) + 1
        values = np.arange(int(scores.min()) - reach, int(scores.max()) + reach + 1)
        beyond = self._tail(np.append(values, values[-1] + 1) - scores[:, :, None])
        mass, below, upto = beyond[:, :, :-1] - beyond[:, :, 1:], 1 - beyond, 1 - beyond[:, :, 1:]
        shown = np.eye(self.cells)[np.clip(values, 0, self.cells - 1)] if self.cells else None
        parts = np.ones((len(values), 1)) if shown is None else shown
        columns = []
        for winners in permutations(range(d), self.k):
            last = mass[:, winners[-1]].copy()
            for other in range(d):
                if other not in winners:
                    later = other > winners[-1]  # it loses ties
                    last *= upto[:, other] if later else below[:, other, :-1]
            in_cells = last[:, :, None] * parts
            if self.k == 1:
                columns.append(in_cells.sum(axis=1))
                continue
            summed = np.cumsum(in_cells, axis=1)
            if winners[0] > winners[1]:  # the first loses ties and must lie above
                summed = np.concatenate([np.zeros((n, 1, summed.shape[2])), summed[:, :-1]], axis=1)
            joint = np.einsum("nv,vs,nvt->nst", mass[:, winners[0]], parts, summed)
            columns.append(joint.reshape(n, -1))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.hstack(columns)), np.float64)


@dataclass(frozen=True)
class ListThenCountsModel(_OfCounts):
    """A selection, and then the winners' counts with noise of their own."""

    selection: Model
    scale: float
    k: int
    items: int | None
    cells: int

    def outcomes(self, d: int) -> Integers:
        """Every outcome of the selection, and the cells of its noisy counts."""
        return _with_cells(self.selection.outcomes(d), self.cells, self.k)

    def log_probabilities(self, scores: CountScores) -> Floats:
        """The product of both."""
        edges = np.arange(1, self.cells) - scores[:, :, None]
        tail = upper_tail(self.scale, edges)
        ends = np.ones((*scores.shape, 1))
        cells = np.log(np.concatenate([ends, tail], 2) - np.concatenate([tail, 0 * ends], 2))
        lists = self.selection.log_probabilities(scores)
        total = np.repeat(lists, self.cells**self.k, axis=1)
        outcomes = self.outcomes(scores.shape[1])
        for place in range(self.k):
            total = total + cells[:, outcomes[:, place], outcomes[:, self.k + place]]
        return np.asarray(total, np.float64)


@dataclass(frozen=True)
class Counted:
    """A list, and the noisy counts of its items in `cells` cells: up to 0, 1, 2, ... and more.

    Without cells only the list is looked at.
    """

    inner: CountsWithNoise | WithCounts
    cells: int

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        said = isinstance(self.inner, WithCounts) or not self.cells
        return self.inner.name if said else f"{self.inner.name}, counts released"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self.inner.promise(relation)

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Draws by the mechanism itself: positions, then cells."""
        root = Tape.seeded(seed)
        rows = []
        for draw in range(draws):
            chosen, counts = self.inner._selected(scores, utility, root.child(f"draw-{draw}"))
            rows.append([*chosen, *(counts or [])] if self.cells else chosen)
        outcomes = np.array(rows, np.int64)
        outcomes[:, self.inner.k :] = np.clip(outcomes[:, self.inner.k :], 0, self.cells - 1)
        return outcomes

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        inner = self.inner
        if isinstance(inner, GaussianCounts):
            deviation, most = inner.deviation(utility), inner.max_items
            exact = NoisyCountsModel(deviation, inner.k, most, self.cells, gaussian=True)
            return RandomTies(exact, inner.k)
        assert isinstance(inner, NoisyCounts | WithCounts)
        scale = float(inner.scale(utility))
        if isinstance(inner, NoisyCounts):
            exact = NoisyCountsModel(scale, inner.k, inner.max_items, self.cells)
            return RandomTies(exact, inner.k)
        selection = model_of(inner.selection, utility)
        return ListThenCountsModel(selection, scale, inner.k, inner.max_items, self.cells)


class BrokenHalfNoise(NoisyCounts):
    """BROKEN: half the noise, as if a person replaced by another moved one count only."""

    def scale(self, utility: Utility) -> Fraction:
        """Half of l1 sensitivity/epsilon."""
        return super().scale(utility) / 2


class BrokenOwnDeviation(GaussianCounts):
    """BROKEN: its deviation is sensitivity/epsilon, as for Laplace noise; delta is ignored."""

    def variance(self, utility: Utility) -> int:
        """Of noise that is right for the other law."""
        moved = utility.relation.people * self.max_items * utility.one_sided**2
        return max(1, round(moved / exact("epsilon", self.epsilon) ** 2))


class BrokenFreeCounts(WithCounts):
    """BROKEN: the whole epsilon for the selection, and again for the counts."""

    def promise(self, relation: Relation) -> Promise:
        """That of both with half of epsilon each."""
        selection: Any = self.selection
        halved = replace(selection, epsilon=exact("epsilon", selection.epsilon) / 2)
        half = exact("epsilon", self.epsilon) / 2
        return WithCounts(halved, half, self.k, self.max_items).promise(relation)


class CountedAtOnce(Counted):
    """The draws all at once, for twins that show themselves in many of them only."""

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """The selections, then the noise of all counts."""
        inner = self.inner
        if not isinstance(inner, WithCounts):
            return super().simulate(scores, utility, draws, seed)
        lists = inner.selection.simulate(scores, utility, draws, seed)
        tape = Tape.seeded(seed).child("counts")
        noise = discrete_laplace_array(tape, lists.size, inner.scale(utility))
        noisy = np.asarray(scores, np.int64)[lists] + noise.reshape(lists.shape)
        return np.hstack([lists, np.clip(noisy, 0, self.cells - 1)])


class BrokenLowThreshold(StabilityThreshold):
    """BROKEN: labels leave at one count below the threshold."""

    def threshold(self, utility: Utility) -> int:
        """Off by one."""
        return super().threshold(utility) - 1


class BrokenTiesByPosition(StabilityThreshold):
    """BROKEN: lists equal noisy counts by position where the counts are in memory."""

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        if not isinstance(universe, InMemory):
            return super()._draw(universe, utility, tape)
        counts = np.asarray(universe.scores, np.int64)
        noisy = counts + discrete_laplace_array(tape, len(counts), self.scale(utility))
        best = largest(noisy, min(self.k, len(noisy)))
        chosen = [int(p) for p in best if noisy[p] >= self.threshold(utility)]
        told = [int(noisy[p]) for p in chosen] if self.with_counts else None
        return Drawn(universe.found(chosen), told)


@dataclass(frozen=True)
class BrokenOneRoundTooMany(PeelGumbel):
    """BROKEN: the epsilon of a round is calibrated for k - 1 rounds, and k are run."""

    def calibrated(self, relation: Relation = Relation.ADD_REMOVE) -> Calibration:
        """For a round too few."""
        epsilon, delta = exact("epsilon", self.epsilon), exact("delta", self.delta)
        return calibrated_rounds(epsilon, delta, self.k - 1, Fraction(0), relation)

    def promise(self, relation: Relation) -> Promise:
        """What the right calibration would promise."""
        return PeelGumbel(self.epsilon, self.delta, self.k).promise(relation)
