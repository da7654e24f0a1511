"""Mechanisms that release noisy counts, as audits look at them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.audit.counts_model import ListThenCountsModel, NoisyCountsModel
from winnow.audit.probabilities import Model, Scores, model_of
from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.privacy import Promise
from winnow.random.tape import Tape


@dataclass(frozen=True)
class Counted:
    """A list, and the noisy counts of its items in `cells` cells: up to 0, 1, 2, ... and more.

    Without cells only the list is looked at.
    """

    inner: NoisyCounts | WithCounts
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
            chosen, counts = self.inner._select(scores, utility, root.child(f"draw-{draw}"))
            rows.append([*chosen, *(counts or [])] if self.cells else chosen)
        found = np.array(rows, np.int64)
        found[:, self.inner.k :] = np.clip(found[:, self.inner.k :], 0, self.cells - 1)
        return found

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        inner, scale = self.inner, float(self.inner.scale(utility))
        if isinstance(inner, NoisyCounts):
            return NoisyCountsModel(scale, inner.k, inner.max_items_per_user, self.cells)
        selection = model_of(inner.selection, utility)
        return ListThenCountsModel(selection, scale, inner.k, inner.max_items_per_user, self.cells)
