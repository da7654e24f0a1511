"""Private boosting over a finite class of weak learners: a search for each round.

[FastMWEM, Section 6, names private boosting as the next use of lazy selection; Bun, Carmosino
and Sorrell 2020 boost privately with smooth weights.] The booster is SmoothBoost [Servedio
2003]: after t rounds an example about which the chosen learners were right a times more often
than wrong has

    N = a - t theta,   theta = gamma/(2 + gamma),   weight 1 if N <= 0, else (1 - gamma)^(N/2).

A round selects the learner h with the largest sum_j w_j y_j h(x_j): a maximum inner product of
the predictions with the vector of signed weights.

Why it is private. SmoothBoost's weights are not normalised: a weight is a number in [0, 1] that
depends on its own example and on the learners released before, on no other example. So one
person moves every score by at most 1 (added or removed) or 2 (replaced), and each round is one
draw of the exponential mechanism with that sensitivity. T rounds, fixed beforehand, are
Repeat(BoundedRange(epsilon_0), T). The smoothness that other boosters need for this (a bound
on every probability under a shared normaliser) is not needed.

What is promised about accuracy. If in every round the selected learner has an advantage of
gamma/2 over guessing under the weights (an edge of gamma), then after 2/(kappa gamma^2
sqrt(1 - gamma)) rounds all but a fraction kappa of the examples have a margin of theta
[Servedio 2003, Thm 2 and Lemma 3]; the error of each private selection comes off the edge.
Nothing is checked on the data and the loop does not stop early: that would have to be paid for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.domain.checks import Real, exact, probability
from winnow.domain.neighbours import Relation
from winnow.mechanisms.indexed_rounds import IndexedRounds
from winnow.released.ensemble import Ensemble
from winnow.sealed.examples import SealedExamples

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

    def run(self, rounds: IndexedRounds, examples: SealedExamples, relation: Relation) -> Ensemble:
        """Draw all rounds; the result is computed from what they released."""
        chosen: list[int] = []
        while rounds.left:
            query = examples.weighed(chosen, self.weights(len(chosen)), relation)
            chosen += rounds.next(query)
        labels = tuple(examples.predictions.label(position) for position in chosen)
        return Ensemble(labels, tuple(chosen))
