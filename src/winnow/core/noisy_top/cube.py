"""The k largest of scores with noise that is uniform in a cube of random size, exactly.

    scale * score_i + R (1 - 2 u_i),      R ~ Gamma(d + 1), u_i uniform.

The noise stays on the tape, and places of the list that float64 leaves open are decided with more
bits.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import Arithmetic, Interval, log, refined
from winnow.core.bounded import noise, noise_interval
from winnow.core.laws import Law
from winnow.core.noisy_top.filter import Scores, gaps_to
from winnow.core.tape import CHUNK, Tape


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
        order, certain = _largest(value, known + _by_radius(behind, radius, off), k)
        close, value = close[order], value[order]
        if certain:
            return [int(place) for place in close[:k]]
    return _refine([int(place) for place in close], scores, scale, clocks, directions, k)


def _by_radius(behind: NDArray[np.float64], radius: float, off: float) -> NDArray[np.float64]:
    """By how much values are off because the radius is, and 2^-48 for rounding.

    Noisy scores are in order of R (1 - 2 u) - behind, and so of r (1 - 2 u) - behind r/R for a
    radius r that is known: where R is within off of r, only the second term is not. It is 0 for
    the best score, also where nothing is known of R.
    """
    if off < radius:
        return behind * (off / (radius - off) + 2.0**-48)
    return np.where(behind > 0, np.inf, 0.0)


_TOGETHER = 31  # the product of so many words is a float64


def _radius(clocks: Tape, count: int, *, fine: bool) -> tuple[float, float]:
    """The sum of so many exponential clocks, and a bound on its error."""
    total = error = 0.0
    for chunk, words in enumerate(clocks.chunks(0, count)):
        if fine:
            ids = np.arange(chunk * CHUNK, chunk * CHUNK + len(words))
            z, each = noise(Law.EXPONENTIAL, words, clocks.extension(ids, 0)[:, 0], None)
            off = float(each.sum())
        else:
            z, off = _sums_of_clocks(words)
        total += float(z.sum())
        error += off + 2.0**-40 * float(z.sum())
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
    least, kept = -np.inf, []
    for chunk, words in enumerate(directions.chunks(0, len(scores))):
        first = chunk * CHUNK
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
    places, values = (np.concatenate(parts) for parts in zip(*kept, strict=True))
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
) -> tuple[NDArray[np.int64], bool]:
    """The places that may be among the k largest, in order, and whether the first k are certain."""
    low, high = value - error, value + error
    least = np.partition(low, len(low) - k)[len(low) - k]
    close = np.flatnonzero(high >= least)
    close = close[np.argsort(-value[close], kind="stable")]
    following = np.maximum.accumulate(high[close][::-1])[::-1]
    last = min(k, len(close) - 1)
    return close, bool(np.all(low[close][:last] > following[1 : last + 1]))


def _refine(
    places: list[int], scores: Scores, scale: Fraction, clocks: Tape, directions: Tape, k: int
) -> list[int]:
    """The exact order of the k largest among a few places."""
    top = Fraction(scores[places].max().item())

    def attempt(a: Arithmetic, bits: int) -> list[int] | None:
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
        certain = all(
            values[order[i]].lo > max(values[later].hi for later in order[i + 1 :])
            for i in range(min(k, len(order) - 1))
        )
        return order[:k] if certain else None

    return refined(attempt)
