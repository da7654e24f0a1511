"""Lazy selection that is wrong on purpose, as the printed pseudocode or a hasty reading has it.

They are reachable from the audits only, and release nothing. Draws are in float64: good enough
for twins that are wrong anyway.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from winnow.audit.indexed_model import AdversarialIndexed, AdversarialSlack, LazyModel, answer
from winnow.audit.probabilities import Model, Scores
from winnow.domain.utility import Utility
from winnow.random.laws import Law
from winnow.random.tape import Tape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def _uniforms(seed: int, draws: int, d: int) -> Floats:
    words = Tape.seeded(seed).words(0, draws * d)
    return np.asarray((words + 0.5) * 2.0**-32, np.float64).reshape(draws, d)


def _head(adversary: str, scores: Scores) -> Integers:
    values = np.asarray(scores, np.int64)
    count = math.isqrt(len(values) - 1) + 1
    return np.asarray(answer(adversary, values[None], np.arange(len(values)), count)[0], np.int64)


@dataclass(frozen=True)
class BrokenNoCertificate(AdversarialSlack):
    """BROKEN: trusts whatever the index answers, as if it lay within the slack."""

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """Draws in float64."""
        noise = Law.GUMBEL.inv_log_sf(np.log(_uniforms(seed, draws, len(scores))))
        x, head = float(self.scale(utility)) * scores, _head(self.adversary, scores)
        margin = (x + noise)[:, head].max(axis=1) - x[head].min()
        looked_at = noise > margin[:, None]
        looked_at[:, head] = True
        winners = np.argmax(np.where(looked_at, x + noise, -np.inf), axis=1)
        return np.asarray(winners[:, None], np.int64)

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution: any slack will do."""
        return LazyModel(float(self.scale(utility)), self.k, self.adversary, math.inf)


@dataclass(frozen=True)
class BrokenPrintedBinomial(AdversarialIndexed):
    """BROKEN: a tail candidate passes with probability 1 - e^-B [FastMWEM, Alg 2 line 9]."""

    adversary: str = field(default="best", init=False)

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """Draws in float64: pass first, then noise given that it exceeds B."""
        d = len(scores)
        u, pass_u = _uniforms(seed, draws, d), _uniforms(seed + 500_000, draws, d)
        x, head = float(self.scale(utility)) * scores, _head(self.adversary, scores)
        noise = -np.log(-np.log(u))
        margin = ((x + noise)[:, head].max(axis=1) - x[head].min())[:, None]
        rate = np.exp(-margin)
        noise_above = -np.log(-np.log1p(u * np.expm1(-rate)))  # E = -log1p(-u (1 - e^-rate))
        passed = pass_u < 1.0 - np.exp(-np.maximum(margin, 0.0))
        values = np.where(passed, x + noise_above, -np.inf)
        values[:, head] = (x + noise)[:, head]
        return np.asarray(np.argmax(values, axis=1)[:, None], np.int64)


@dataclass(frozen=True)
class BrokenAbsoluteScores(AdversarialIndexed):
    """BROKEN: absolute scores with a head from a signed search [FastMWEM, Alg 2 lines 5, 7, 8]."""

    adversary: str = field(default="best", init=False)

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """Draws in float64."""
        noise = Law.GUMBEL.inv_log_sf(np.log(_uniforms(seed, draws, len(scores))))
        x, head = float(self.scale(utility)) * np.abs(scores), _head(self.adversary, scores)
        margin = (x + noise)[:, head].max(axis=1) - x[head].min()
        looked_at = noise > margin[:, None]
        looked_at[:, head] = True
        winners = np.argmax(np.where(looked_at, x + noise, -np.inf), axis=1)
        return np.asarray(winners[:, None], np.int64)
