"""Top-k mechanisms with noisy counts or calibrated rounds that are wrong on purpose.

They are reachable from the audits only, and release nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.audit.counted import Counted
from winnow.audit.probabilities import Scores
from winnow.domain.checks import exact
from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.mechanisms.peeling import PeelGumbel, calibrated_rounds
from winnow.mechanisms.unknown_domain import StabilityThreshold
from winnow.privacy import Calibration, Promise
from winnow.random.integer import discrete_laplace_array
from winnow.random.tape import Tape


class BrokenHalfNoise(NoisyCounts):
    """BROKEN: half the noise, as if a person replaced by another moved one count only."""

    def scale(self, utility: Utility) -> Fraction:
        """Half of l1 sensitivity/epsilon."""
        return super().scale(utility) / 2


class BrokenFreeCounts(WithCounts):
    """BROKEN: the whole epsilon for the selection, and again for the counts."""

    def promise(self, relation: Relation) -> Promise:
        """That of both with half of epsilon each."""
        selection: Any = self.selection
        halved = replace(selection, epsilon=exact("epsilon", selection.epsilon) / 2)
        half = exact("epsilon", self.epsilon) / 2
        return WithCounts(halved, half, self.k, self.max_items_per_user).promise(relation)


class CountedAtOnce(Counted):
    """The same draws all at once, for twins that show themselves in many of them only."""

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
