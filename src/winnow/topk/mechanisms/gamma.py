"""The Gamma mechanism: noise uniform in a cube of random size, then the k largest."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np

from winnow.core.bounded import noise
from winnow.core.checks import exact
from winnow.core.laws import Arithmetic, Interval, Law, noise_interval
from winnow.core.noisy_top.draw import Scores, gaps_to
from winnow.core.relation import Relation
from winnow.core.tape import CHUNK, Tape
from winnow.core.utility import Utility
from winnow.privacy import Promise, promise
from winnow.read.scores import SealedScores
from winnow.select.crossing import TopKList, check_scale, check_size


@dataclass(frozen=True)
class GammaMechanism(TopKList):
    """Add noise with density ~ exp(-epsilon max(abs(z))/Delta) to all scores; list the k largest.

    The noise is R times a uniform point of the cube [-1, 1]^d, with R ~ Gamma(d+1, Delta/epsilon).

    Formal guarantees
        epsilon-DP under the relation of the utility, order included: the densities of
        neighbours with scores s and t differ by at most e^(epsilon max(abs(s - t))/Delta), and
        the list is computed from the noisy scores. Only differences of scores matter to it,
        so Delta is the utility's `half_width`. [Steinke-Ullman 2015, Thm 4.1; Canonical, Thm A.15]

    Exact: the noise stays on the tape, and places of the list that float64 leaves open are
    decided with more bits.
    """

    title: ClassVar[str] = "gamma"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise("gamma", "top-sequence", relation, epsilon=self.epsilon)

    def scale(self, utility: Utility) -> Fraction:
        """The factor of the scores before noise of scale 1: epsilon/half_width."""
        return exact("epsilon", self.epsilon) / utility.half_width

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_size(self.k, scores)
        check_scale(self.scale(scores.utility))

    def _draw(self, scores: Scores, utility: Utility, tape: Tape) -> list[int]:
        d, scale = len(scores), self.scale(utility)
        clocks, directions = tape.child("radius"), tape.child("direction")
        radius = radius_error = 0.0
        for start in range(0, d + 1, CHUNK):
            ids = np.arange(start, min(start + CHUNK, d + 1))
            words = clocks.words(start, len(ids))
            z, error = noise(Law.EXPONENTIAL, words, clocks.extension(ids, 0)[:, 0], None)
            radius += float(z.sum())
            radius_error += float(error.sum()) + 2.0**-40 * float(z.sum())
        value = np.empty(d)
        for start in range(0, d, CHUNK):
            ids = np.arange(start, min(start + CHUNK, d))
            uniform = directions.words(start, len(ids)) * 2.0**-32
            uniform += directions.extension(ids, 0)[:, 0] * 2.0**-96
            value[ids] = radius * (1.0 - 2.0 * uniform)
        behind = np.minimum(float(scale) * gaps_to(scores.max(), scores), 1e300)
        value -= behind
        error = radius_error + 2.0**-48 * (radius + behind)
        k = min(self.k, d)
        least = np.partition(value - error, d - k)[d - k]
        close = np.flatnonzero(value + error >= least)
        close = close[np.argsort(-value[close], kind="stable")]
        low, high = (value - error)[close], (value + error)[close]
        following = np.maximum.accumulate(high[::-1])[::-1]
        last = min(k, len(close) - 1)
        if np.all(low[:last] > following[1 : last + 1]):
            return [int(place) for place in close[:k]]
        return _refine([int(place) for place in close], scores, scale, clocks, directions, k)


def _refine(
    places: list[int], scores: Scores, scale: Fraction, clocks: Tape, directions: Tape, k: int
) -> list[int]:
    """The exact order of the k largest among a few places."""
    top = Fraction(scores[places].max().item())
    digits, bits = 40, 128
    while True:
        a = Arithmetic(digits)
        radius = Interval(Decimal(0), Decimal(0))
        for item in range(len(scores) + 1):
            radius = a.add(radius, noise_interval(a, Law.EXPONENTIAL, clocks, item, bits))
        values = {}
        for place in places:
            known = directions.bits(place, bits)
            ends = [a.times(radius, 1 - 2 * Fraction(known + step, 1 << bits)) for step in (0, 1)]
            spread = Interval(min(e.lo for e in ends), max(e.hi for e in ends))
            offset = scale * (Fraction(scores[place].item()) - top)
            values[place] = a.add(spread, a.fraction(offset))
        order = sorted(places, key=lambda place: values[place].lo, reverse=True)
        if all(
            values[order[i]].lo > max(values[later].hi for later in order[i + 1 :])
            for i in range(min(k, len(order) - 1))
        ):
            return order[:k]
        digits, bits = 2 * digits, 2 * bits
