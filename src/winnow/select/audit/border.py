"""Counts of private labels at the border where ``winnow.counts`` leaves them in their engine.

How many labels there are is private, and it decides where the counts are: so neighbours can lie on
both sides of the border. The audits stand there, with a border so small that a few labels cross it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Boxes
from winnow.audit.probabilities import Model, Scores, model_of
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.privacy import Promise
from winnow.select.audit.kept import KeptInEngine

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class OnCounts(Protocol):
    """A mechanism of counts that audits can draw from."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """A row for each draw."""

    def __hash__(self) -> int:
        """Frozen."""


@dataclass(frozen=True)
class BorderModel(Model):
    """One law where at most so many labels are there, and another one beyond."""

    here: Model
    beyond: Model
    most: int

    def outcomes(self, d: int) -> Integers:
        """Those of both."""
        return self.here.outcomes(d)

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """Counts with zeros among them: some labels more or less are on the other side."""
        return self.here.instances(boxes, quick=quick)

    def neighbours(self, bases: Integers, steps: Integers) -> Integers:
        """Those of counts."""
        return self.here.neighbours(bases, steps)

    def log_probabilities(self, scores: Scores) -> Floats:
        """Each row by its own side."""
        few = np.count_nonzero(np.asarray(scores) > 0, axis=1) <= self.most
        chances = np.empty((len(scores), len(self.outcomes(scores.shape[1]))))
        for side, model in ((few, self.here), (~few, self.beyond)):
            if side.any():
                chances[side] = model.log_probabilities(scores[side])
        return chances


@dataclass(frozen=True)
class AtBorder:
    """A mechanism drawn from counts in memory up to `most` labels, and from an engine beyond."""

    inner: OnCounts
    most: int

    @property
    def name(self) -> str:
        """What the receipt calls it, and where it is looked at."""
        return f"{self.inner.name}, more than {self.most} labels kept in an engine"

    @property
    def _beyond(self) -> KeptInEngine:
        return KeptInEngine(self.inner)

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self.inner.promise(relation)

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """A row for each draw."""
        few = np.count_nonzero(np.asarray(scores) > 0) <= self.most
        side: OnCounts = self.inner if few else self._beyond
        return side.simulate(scores, utility, draws, seed)

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        here, beyond = model_of(self.inner, utility), model_of(self._beyond, utility)
        return BorderModel(here, beyond, self.most)
