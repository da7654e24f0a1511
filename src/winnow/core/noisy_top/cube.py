"""The k largest of scores with noise that is uniform in a cube of random size, exactly.

    scale * score_i + R (1 - 2 u_i),      R ~ Gamma(d + 1), u_i uniform.

The noise stays on the tape, and places of the list that float64 leaves open are decided with more
bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import FIRST_BITS, Arithmetic, Interval, log, refined
from winnow.core.bounded import noise, noise_interval
from winnow.core.laws import Law
from winnow.core.noisy_top.filter import Scores, gaps_to
from winnow.core.tape import CHUNK, Tape
from winnow.core.threads import each, ranges


def largest_in_cube(scores: Scores, scale: Fraction, k: int, tape: Tape) -> list[int]:
    """The positions of the k largest, largest first."""
    k = min(k, len(scores))
    clocks, directions = tape.child("radius"), tape.child("direction")
    radius, off = _radius(clocks, len(scores) + 1, fine=False)
    known = radius * 2.0**-31  # of a direction, by 32 bits
    close, value = _near(directions, scores, radius, off + known, float(scale), k)
    for step in range(3):  # by 32 bits of directions, by 96, and by 96 of the radius
        if step == 2:
            radius, off = _radius(clocks, len(scores) + 1, fine=True)
        behind = _behind(scores, close, scale)
        if step > 0:
            uniform = directions.extension(close, 0)[:, 0] * 2.0**-96
            uniform += _words_at(directions, close) * 2.0**-32
            value = radius * (1.0 - 2.0 * uniform) - behind
            known = radius * 2.0**-48
        order, runs = _largest(value, known + _by_radius(behind, radius, off), k)
        close, value = close[order], value[order]
        if not runs:
            return [int(place) for place in close[:k]]
    places: list[int] = close.tolist()
    exact_order = _Exact(scores, scale, clocks, directions, _about(radius, off))
    for first, last in runs:
        places[first:last] = exact_order.of(places[first:last], k - first)
    return places[:k]


def _by_radius(behind: NDArray[np.float64], radius: float, off: float) -> NDArray[np.float64]:
    """By how much values are off because the radius is, and 2^-48 for rounding.

    Noisy scores are in order of R (1 - 2 u) - (behind - c), for any c, and so of
    r (1 - 2 u) - (behind - c) r/R for a radius r that is known: where R is within off of r, only
    the second term is not. It is 0 where behind is c, also where nothing is known of R. With the
    median for c, most terms are small: scores that few candidates have are far from others, and
    those that many have are near it.
    """
    away: NDArray[np.float64] = np.abs(
        behind - np.partition(behind, len(behind) // 2)[len(behind) // 2]
    )
    if off < radius:
        return away * (off / (radius - off)) + behind * 2.0**-48
    return np.where(away > 0, np.inf, behind * 2.0**-48)


_Near = tuple[NDArray[np.int64], NDArray[np.float64]]
_TOGETHER = 31  # the product of so many words is a float64


def _radius(clocks: Tape, count: int, *, fine: bool) -> tuple[float, float]:
    """The sum of so many exponential clocks, and a bound on its error."""

    def summed(part: tuple[int, int]) -> list[tuple[float, float]]:
        sums = []
        for chunk, words in enumerate(clocks.chunks(part[0], part[1] - part[0])):
            if fine:
                start = part[0] + chunk * CHUNK
                ids = np.arange(start, start + len(words))
                z, each_off = noise(Law.EXPONENTIAL, words, clocks.extension(ids, 0)[:, 0], None)
                off = float(each_off.sum())
            else:
                z, off = _sums_of_clocks(words)
            sums.append((float(z.sum()), off))
        return sums

    total = error = 0.0
    for part in each(summed, ranges(count, step=CHUNK)):  # added chunk by chunk, in their order
        for z, off in part:
            total += z
            error += off + 2.0**-40 * z
    return total, error


def _sums_of_clocks(words: NDArray[np.uint32]) -> tuple[NDArray[np.float64], float]:
    """Sums of ``first_clocks``, 31 at a time: one logarithm of the product of their V; the error.

    A product of 31 has a relative error below 2^-48, and is not smaller than 2^-1023. The errors
    1/(2k) are added in float32, which is off by less than 2^-8 of them.
    """
    halves = words.astype(np.float32)
    with np.errstate(divide="ignore"):
        np.divide(np.float32(0.5), halves, out=halves)
    error = float(halves.sum()) * (1.0 + 2.0**-8) + len(words) * 2.0**-40
    known = words.astype(np.float64)
    known += 0.5
    whole = len(words) - len(words) % _TOGETHER
    products = np.multiply.reduce(known[:whole].reshape(_TOGETHER, -1), axis=0)
    products *= 2.0 ** (-32 * _TOGETHER)
    return -log(np.concatenate([products, known[whole:] * 2.0**-32])), error


def _near(
    directions: Tape, scores: Scores, radius: float, off: float, scale: float, k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The places that may be among the k largest, and their noisy scores by 32 bits of each
    direction, relative to the best score.

    The error of a value is `off` and 2^-48 of how far its score lies behind, which is at most
    radius - value. The k-th largest of some values is not above the k-th largest of all.
    """
    top, slope, middle = scores.max(), -radius * 2.0**-31, radius * (1.0 - 2.0**-32)

    def scanned(part: tuple[int, int]) -> tuple[float, list[_Near]]:
        least, kept = -np.inf, []
        for chunk, words in enumerate(directions.chunks(part[0], part[1] - part[0])):
            first = part[0] + chunk * CHUNK
            behind = gaps_to(top, scores[first : first + len(words)])
            behind *= scale
            value = np.multiply(words, slope, dtype=np.float64)
            value -= behind
            near = np.flatnonzero(value >= least) if least > -np.inf else np.arange(len(value))
            if len(near) > 16 * k and np.isfinite(off):
                place = _kth_largest(value, k)
                slack = 2.0 * off + 2.0**-45 * (2.0 * radius + abs(place))
                least = max(least, place - slack)
                near = near[value[near] >= least]
            kept.append((first + near, value[near] + middle))
        return least, kept

    found = each(scanned, ranges(len(scores), step=CHUNK))
    least = max(bar for bar, _ in found)
    places, values = (
        np.concatenate(parts)
        for parts in zip(*(near for _, kept in found for near in kept), strict=True)
    )
    close = values >= least + middle - 2.0**-50 * radius
    return places[close], values[close]


def _kth_largest(value: NDArray[np.float64], k: int) -> float:
    """Not above the k-th largest value, and near it: by the largest of columns."""
    columns = 1 << (4 * k).bit_length()
    if len(value) >= 4 * columns:
        value = value[: len(value) - len(value) % columns].reshape(-1, columns).max(axis=0)
    return float(np.partition(value, len(value) - k)[len(value) - k])


def _behind(scores: Scores, places: NDArray[np.int64], scale: Fraction) -> NDArray[np.float64]:
    return np.minimum(float(scale) * gaps_to(scores.max(), scores[places]), 1e300)


def _words_at(tape: Tape, places: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The first words of some items."""
    if len(places) > 1 << 10:
        return tape.words(0, int(places.max()) + 1)[places]
    return np.array([tape.words(int(place), 1)[0] for place in places], np.uint32)


def _largest(
    value: NDArray[np.float64], error: NDArray[np.float64], k: int
) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
    """The places that may be among the k largest, in order, and the runs whose order is open.

    Each run is (first, last + 1), and begins among the first k.
    """
    low, high = value - error, value + error
    least = np.partition(low, len(low) - k)[len(low) - k]
    close = np.flatnonzero(high >= least)
    close = close[np.argsort(-value[close], kind="stable")]
    following = np.maximum.accumulate(high[close][::-1])[::-1]
    lowest = np.minimum.accumulate(low[close])
    apart = np.append(lowest[:-1] > following[1:], True)
    ends = np.flatnonzero(apart) + 1
    starts = np.append(0, ends[:-1])
    opened = (ends - starts > 1) & (starts < k)
    pairs = zip(starts[opened].tolist(), ends[opened].tolist(), strict=True)
    return close, [(first, last) for first, last in pairs]


def _about(radius: float, off: float) -> Interval:
    """All numbers within ``off`` of the radius."""
    low = Fraction(radius) - Fraction(off) if np.isfinite(off) else Fraction(0)
    high = Decimal(radius + 2.0 * off) if np.isfinite(off) else Decimal("Infinity")
    return Interval(Arithmetic(40).fraction(max(Fraction(0), low)).lo, high)


@dataclass(frozen=True, repr=False)
class _Exact:
    """The exact order of places that floats leave open. Private."""

    scores: Scores
    scale: Fraction
    clocks: Tape
    directions: Tape
    about: Interval
    """The radius lies there."""

    def of(self, places: list[int], k: int) -> list[int]:
        """Some places by their noisy scores: the k largest first and in order.

        Noisy scores are compared with that of the first place, of which only a difference of
        directions is multiplied by the radius: that what is known of it mostly suffices. The
        exact radius is a sum over all candidates.
        """

        def attempt(a: Arithmetic, bits: int) -> list[int] | None:
            radius = self.about if bits == FIRST_BITS else self._radius(a, bits)
            values = {place: self._above(a, place, places[0], radius, bits) for place in places}
            order = sorted(places, key=lambda place: values[place].lo, reverse=True)
            highest = values[order[-1]].hi
            for i in range(len(order) - 2, -1, -1):
                if i < k and values[order[i]].lo <= highest:
                    return None
                highest = max(highest, values[order[i]].hi)
            return order

        return refined(attempt)

    def _above(
        self, a: Arithmetic, place: int, first: int, radius: Interval, bits: int
    ) -> Interval:
        """By how much a noisy score lies above that of the first place."""
        if place == first:
            return Interval(Decimal(0), Decimal(0))
        less = self.directions.bits(first, bits) - self.directions.bits(place, bits)
        ends = [a.times(radius, Fraction(less + step, 1 << (bits - 1))) for step in (-1, 1)]
        own, other = (Fraction(self.scores[each].item()) for each in (place, first))
        noise = Interval(min(end.lo for end in ends), max(end.hi for end in ends))
        return a.add(noise, a.fraction(self.scale * (own - other)))

    def _radius(self, a: Arithmetic, bits: int) -> Interval:
        total = Interval(Decimal(0), Decimal(0))
        for item in range(len(self.scores) + 1):
            clock = noise_interval(a, Law.EXPONENTIAL, self.clocks, item, bits)
            total = a.add(total, clock)
        return total
