"""Exact probabilities of a canonical set whose length is chosen, and a twin that is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from winnow.audit.probabilities import Model
from winnow.core.laws import Law
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.select.audit.model import log_permute_and_flip
from winnow.select.audit.top_k import CanonicalModel
from winnow.select.mechanisms.canonical_adaptive import CanonicalAdaptive

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True)
class AdaptiveModel(Model):
    """The law of the length, times that of a canonical set of it.

    Lengths look at counts themselves: adding a constant to all of them changes the law.
    """

    mechanism: CanonicalAdaptive
    utility: Utility

    @property
    def k(self) -> int:
        """The longest set."""
        return self.mechanism.k

    def outcomes(self, d: int) -> Integers:
        """All sets of 1 to k candidates, filled up with -1."""
        rows = [
            (*each, *[-1] * (self.k - length))
            for length in range(1, self.k + 1)
            for each in combinations(range(d), length)
        ]
        return np.array(rows, np.int64)

    def log_probabilities(self, scores: Scores) -> Floats:
        """By lengths."""
        counts = np.asarray(scores, np.int64)
        lengths = self.log_lengths(counts)
        scale = float(self.mechanism.set_scale(self.utility))
        outcomes = []
        for length in range(1, self.k + 1):
            sets = CanonicalModel(Law.EXPONENTIAL, scale, length, 0.5)
            outcomes.append(lengths[:, length - 1 : length] + sets.log_probabilities(counts))
        return np.hstack(outcomes)

    def log_lengths(self, counts: Integers) -> Floats:
        """ln of the chance of each length."""
        leaders = -np.sort(-counts, axis=1)[:, : self.k]
        total = counts.shape[1]
        x = [self.mechanism.length_scores(row, total, self.utility) for row in leaders]
        scale = float(self.mechanism.length_scale(self.utility))
        return log_permute_and_flip(scale * np.array(x, np.float64))


class BrokenTrueLength(CanonicalAdaptive):
    """BROKEN: takes the best length itself, as if how many stand out were public."""

    def _length(self, leaders: Integers, total: int, utility: Utility, tape: Tape) -> int:
        return 1 + int(self.length_scores(leaders, total, utility).argmax())


@dataclass(frozen=True)
class TrueLengthModel(AdaptiveModel):
    """Exact, with the same fault."""

    def log_lengths(self, counts: Integers) -> Floats:
        """One length is certain."""
        logs = super().log_lengths(counts)
        best = logs.argmax(axis=1)
        return np.where(np.arange(self.k) == best[:, None], 0.0, -np.inf)
