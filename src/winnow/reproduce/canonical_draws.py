"""GREAT-k and GOOD-k of mechanisms that add noise to every score, by simulation in float64.

Only the ranks that may be in the set get noise of their own; of all others the largest noisy
score is drawn at once, from its distribution. The same noise serves every epsilon, so that
curves are smooth.
"""

from __future__ import annotations

import numpy as np

from winnow.domain.workloads.stream import Stream
from winnow.random.laws import Law
from winnow.reproduce.randomness import Floats, exponentials, gumbels, uniforms
from winnow.reproduce.sources import Counts

_CELLS = 1 << 21


class SetDraws:
    """Noise for ranked public scores."""

    def __init__(self, ranked: Counts, draws: int, seed: int) -> None:
        self._scores = ranked.astype(float)
        self._draws, self._seed = draws, seed
        self._kept: dict[tuple[Law, int], list[Floats]] = {}
        self._beyond: dict[int, tuple[Floats, Counts]] = {}

    def chances(
        self, law: Law, scale: float, events: tuple[tuple[int, int], ...], k: int
    ) -> list[float]:
        """For each (head, tail): Pr[the best `head` ranks are in, none beyond `tail` is]."""
        d = len(self._scores)
        width = min(d, max(tail for _, tail in events))
        most = [self._largest_beyond(law, scale, tail) if tail < d else None for _, tail in events]
        hits = np.zeros(len(events), np.int64)
        first = 0
        for block in self._noise(law, width):
            noisy = block + scale * self._scores[:width]
            stop = first + len(noisy)
            for i, (head, tail) in enumerate(events):
                inner = noisy[:, : min(tail, width)]
                place = inner.shape[1] - k
                least = np.partition(inner, place, axis=1)[:, place]
                inside = inner[:, :head].min(axis=1) >= least
                others = most[i]
                if others is not None:
                    inside &= others[first:stop] < least
                hits[i] += int(inside.sum())
            first = stop
        return [float(hit) / self._draws for hit in hits]

    def _noise(self, law: Law, width: int) -> list[Floats]:
        if (law, width) not in self._kept:
            drawn = gumbels if law is Law.GUMBEL else exponentials
            stream = Stream(self._seed, f"sets {law}")
            step = max(1, _CELLS // width)
            sizes = [min(step, self._draws - i) for i in range(0, self._draws, step)]
            self._kept[law, width] = [
                drawn(stream, size * width).reshape(size, width) for size in sizes
            ]
        return self._kept[law, width]

    def _largest_beyond(self, law: Law, scale: float, tail: int) -> Floats:
        """The largest noisy score beyond a rank, once for each draw."""
        if tail not in self._beyond:
            self._beyond[tail] = np.unique(self._scores[tail:], return_counts=True)
        values, counts = self._beyond[tail]
        places = scale * (values - values[-1])
        chance = uniforms(Stream(self._seed, f"beyond {tail} {law}"), self._draws)
        wanted = -np.log(-np.log(chance))
        if law is Law.GUMBEL:
            above = wanted + np.log(np.dot(counts, np.exp(places)))
        else:
            above = _exponential_quantiles(places, counts, wanted)
        return np.asarray(scale * values[-1] + above)


def _exponential_quantiles(places: Floats, counts: Counts, wanted: Floats) -> Floats:
    """Where -ln(-ln F) of the largest of `places` plus Exp(1) noise is `wanted`.

    F(x) is the product of (1 - exp(place - x)), and its -ln(-ln) is nearly linear where F is
    large, so it is inverted on a grid. The largest place is 0.
    """
    end = 40.0 + np.log(counts.sum())
    grid = np.concatenate([np.geomspace(1e-5, 1.0, 100), np.linspace(1.0, end, 400)[1:]])
    log_chance = np.empty(len(grid))
    for i, x in enumerate(grid):
        log_chance[i] = np.dot(counts, np.log1p(-np.exp(np.minimum(places - x, -1e-300))))
    return np.asarray(np.interp(wanted, -np.log(-log_chance), grid))
