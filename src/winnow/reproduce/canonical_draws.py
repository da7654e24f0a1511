"""GREAT-k and GOOD-k of mechanisms that add noise to every score, by simulation in float64.

The same noise serves every epsilon, so that curves are smooth; draws come in blocks.
"""

from __future__ import annotations

import numpy as np

from winnow.domain.workloads.stream import Stream
from winnow.random.laws import Law
from winnow.reproduce.randomness import Floats, exponentials, gumbels
from winnow.reproduce.sources import Counts

_CELLS = 1 << 21


class SetDraws:
    """Noise for ranked public scores."""

    def __init__(self, ranked: Counts, draws: int, seed: int) -> None:
        self._scores = ranked.astype(float)
        self._draws, self._seed = draws, seed
        self._kept: dict[Law, list[Floats]] = {}

    def chances(
        self, law: Law, scale: float, events: tuple[tuple[int, int], ...], k: int
    ) -> list[float]:
        """For each (head, tail): Pr[the best `head` ranks are in, none beyond `tail` is]."""
        hits = np.zeros(len(events), np.int64)
        for block in self._noise(law):
            noisy = block + scale * self._scores
            d = noisy.shape[1]
            least = np.partition(noisy, d - k, axis=1)[:, d - k]
            for i, (head, tail) in enumerate(events):
                inside = noisy[:, :head].min(axis=1) >= least
                if tail < d:
                    inside &= noisy[:, tail:].max(axis=1) < least
                hits[i] += int(inside.sum())
        return [float(hit) / self._draws for hit in hits]

    def _noise(self, law: Law) -> list[Floats]:
        if law not in self._kept:
            drawn = gumbels if law is Law.GUMBEL else exponentials
            stream = Stream(self._seed, f"sets {law}")
            d = len(self._scores)
            step = max(1, _CELLS // d)
            sizes = [min(step, self._draws - i) for i in range(0, self._draws, step)]
            self._kept[law] = [drawn(stream, size * d).reshape(size, d) for size in sizes]
        return self._kept[law]
