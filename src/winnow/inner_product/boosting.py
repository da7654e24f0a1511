"""SmoothBoost over private selections: which learners vote, and how they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, probability
from winnow.inner_product.crossing import SealedExamples
from winnow.inner_product.rounds import IndexedRounds


@dataclass(frozen=True)
class Ensemble:
    """The learners that boosting chose, in order; one may stand more than once."""

    learners: tuple[Any, ...]
    positions: tuple[int, ...]
    """Where each stands in the list of learners."""

    def vote(self, predictions: Any) -> NDArray[np.int8]:
        """The majority for each column; `predictions` has a row for every learner of the list.

        Ties go to 1.
        """
        table = np.asarray(predictions)
        total = np.zeros(table.shape[1], np.int64)
        for position in self.positions:
            total += table[position].astype(np.int64)
        return np.where(total >= 0, 1, -1).astype(np.int8)

    def to_dict(self) -> dict[str, Any]:
        """The vote as plain data, ready for JSON."""
        return {"learners": list(self.learners), "positions": list(self.positions)}


_GRID = 2**20


@dataclass(frozen=True)
class SmoothBoost:
    """The booster for weak learners with an edge of `advantage` (gamma)."""

    advantage: Real

    def __post_init__(self) -> None:
        probability(advantage=self.advantage)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"SmoothBoost, advantage={float(exact('advantage', self.advantage)):g}"

    def weights(self, rounds: int) -> NDArray[np.float64]:
        """The weight for each vote -t .. t after t rounds, on a grid of 2^-20."""
        gamma = float(exact("advantage", self.advantage))
        theta = gamma / (2.0 + gamma)
        ahead = [vote - rounds * theta for vote in range(-rounds, rounds + 1)]
        weights = [1.0 if n <= 0 else (1.0 - gamma) ** (n / 2.0) for n in ahead]
        return np.array([round(w * _GRID) / _GRID for w in weights])

    def run(self, rounds: IndexedRounds, examples: SealedExamples) -> Ensemble:
        """Draw all rounds; the result is computed from what they released."""
        chosen: list[int] = []
        while rounds.left:
            query = examples.weighed(chosen, self.weights(len(chosen)))
            chosen += rounds.next(query)
        labels = tuple(examples.predictions.label(position) for position in chosen)
        return Ensemble(labels, tuple(chosen))
