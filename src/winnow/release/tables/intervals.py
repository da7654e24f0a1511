"""Released numbers with their standard errors and intervals: counts and sums, and means."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import probability
from winnow.release.tables.errors import quantile
from winnow.release.tables.spread import BinSpread

Floats = NDArray[np.float64]
_HALF = 0.5
"""Counts are whole, and so is the noise: an interval reaches half a unit further."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates with their standard errors; those of counts and sums are unbiased."""

    estimate: Floats
    standard_error: Floats
    law: str
    unit: float = 1.0
    """The step between possible values."""

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """The ends of intervals that hold what was counted with probability ``level``, or more.

        Each for itself, or, with ``simultaneous``, all of this table at once.
        """
        probability(level=level)
        missed = 1 - float(level)
        if simultaneous:  # Sidak's inequality for normal errors, the union bound for others
            size = max(1, self.estimate.size)
            missed = missed / size if self.law == "laplace" else -math.expm1(math.log(level) / size)
        return self._ends(missed)

    def _ends(self, missed: float) -> tuple[Floats, Floats]:
        """The ends of intervals that miss with at most this probability."""
        reach = _reach(self.standard_error, missed, self.law, self.unit)
        return self.estimate - reach, self.estimate + reach


@dataclass(frozen=True, eq=False, kw_only=True)
class BinnedSums(Estimates):
    """Sums of values that are declared in bins: each counts as the middle of its bin.

    Intervals reach as many times further as there may be rows, by as much as a mean may be off.
    """

    counts: Estimates
    means: Means
    spread: BinSpread

    def _ends(self, missed: float) -> tuple[Floats, Floats]:
        low, high = super()._ends(missed / 3)
        rows = np.maximum(self.counts._ends(missed / 3)[1], 0.0)
        less, more = self.spread.beyond(*self.means.of_middles(missed / 3))
        return low - rows * less, high + rows * more


@dataclass(frozen=True, eq=False)
class Ratio:
    """A noisy sum s over a noisy count n of values that lie within -half and half.

    The interval is Fieller's, cut to the range. Let r be the true mean, S and N the true sum and
    count: S - r N = 0, so s - r n is noise with the variance of s plus r^2 times that of n. The
    interval has the r in the range with |s - r n| <= sqrt(e^2 + c^2 r^2), where e and c are how
    far s and n reach from the truth. [Fieller 1954]

    Before that s is cut to within -half n and half n. The true r n lies between these for n > 0,
    so the cut never takes s further from it: the interval still holds r with at least the same
    probability, and is never empty. Where n is not positive it is the whole range, which is also
    the limit for small n. On one side of s/n the excess of |s - r n| over the root is concave
    in r, so it changes its sign at most once, and an end is found by a quadratic equation.
    """

    total: Floats
    total_error: Floats
    total_unit: float
    count: Floats
    count_error: Floats
    half: float

    @property
    def point(self) -> Floats:
        """s/n without its first-order bias: s n/(n^2 + the variance of n), cut to the range.

        The mean of s/n is r (1 + variance/n^2) up to higher orders. Without any evidence of rows
        it is 0, the middle of the range.
        """
        below = self._count**2 + self.count_error**2
        ratio = self._cut * self._count / np.where(below > 0, below, 1.0)
        return np.asarray(np.clip(ratio, -self.half, self.half))

    @property
    def standard_error(self) -> Floats:
        """Half of the interval that reaches one standard error.

        For many rows this is the usual error of a ratio; it is never above half of the range.
        """
        low, high = self.between(self.total_error, self.count_error)
        return (high - low) / 2

    def ends(self, missed: float, law: str) -> tuple[Floats, Floats]:
        """The ends of intervals whose sums and counts miss with at most this probability."""
        return self.between(
            _reach(self.total_error, missed, law, self.total_unit),
            _reach(self.count_error, missed, law, 1.0),
        )

    @property
    def _count(self) -> Floats:
        return np.maximum(self.count, 0.0)

    @property
    def _cut(self) -> Floats:
        return np.clip(self.total, -self.half * self._count, self.half * self._count)

    def between(self, e: Floats, c: Floats) -> tuple[Floats, Floats]:
        """The ends of intervals for sums that reach e from the truth, and counts that reach c."""
        n, s = self._count, self._cut
        return -_upper(-s, n, e, c, self.half), _upper(s, n, e, c, self.half)


@dataclass(frozen=True, eq=False)
class Means(Estimates):
    """Means of values within a public range: a value and an interval for every cell."""

    middle: float = 0.0
    ratio: Ratio | None = None
    spread: BinSpread | None = None
    """Of values that are declared in bins: how far they may lie from the middles."""

    @classmethod
    def of(cls, ratio: Ratio, law: str, middle: float, spread: BinSpread | None = None) -> Means:
        """The means that a ratio of noisy numbers stands for, seen from the middle."""
        return cls(middle + ratio.point, ratio.standard_error, law, 0.0, middle, ratio, spread)

    def _ends(self, missed: float) -> tuple[Floats, Floats]:
        ends = self.of_middles(missed)
        return ends if self.spread is None else self.spread.around(*ends)

    def of_middles(self, missed: float) -> tuple[Floats, Floats]:
        """The ends of intervals, every value being what it counts as."""
        assert self.ratio is not None
        low, high = self.ratio.ends(missed, self.law)
        ends = self.middle + low, self.middle + high
        return np.minimum(ends[0], self.estimate), np.maximum(ends[1], self.estimate)

    def unknown(self, level: float = 0.95) -> NDArray[np.bool_]:
        """Where the interval is all of the range: there are too few rows for the noise."""
        assert self.ratio is not None
        low, high = self.of_middles(1 - level)
        return np.asarray(high - low >= 2 * self.ratio.half * (1 - 1e-9))


def _reach(error: Floats, missed: float, law: str, unit: float) -> Floats:
    """How far noise reaches but for this probability: standard errors, and half a unit.

    Discrete Laplace noise of less than a unit is mostly 0, and its standard error says little of
    its tail: Pr[|Z| > m] = 2 q^(m+1)/(1+q), where 2 q/(1-q)^2 is the variance. So the reach is at
    least the least m whose tail has no more than the missed probability, and half a unit.
    """
    half = np.where(error > 0, _HALF * unit, 0.0)
    reach = error * quantile(missed, law) + half
    if law != "laplace" or unit <= 0:
        return reach
    variance = np.where(error > 0, (error / unit) ** 2, 1.0)
    q = variance / (variance + 1 + np.sqrt(2 * variance + 1))  # without cancellation
    steps = np.maximum(np.ceil(np.log(missed * (1 + q) / 2) / np.log(q)) - 1, 0)
    return np.asarray(np.where(error > 0, np.maximum(reach, unit * steps + half), reach))


def _upper(s: Floats, n: Floats, e: Floats, c: Floats, half: float) -> Floats:
    """The largest r up to half with |s - r n| <= sqrt(e^2 + c^2 r^2), for |s| <= half n.

    It is half, or the root beyond s/n of (n^2 - c^2) r^2 - 2 s n r + s^2 - e^2: two forms of it,
    each without cancellation. For s >= 0 and c >= n there is no such root: r (n - c) <= s.
    """
    a = (n - c) * (n + c)
    whole = (half * n - s <= np.sqrt(e**2 + (c * half) ** 2)) | (n <= 0)
    root = np.sqrt(np.maximum((s * c) ** 2 + a * e**2, 0.0))
    above = np.where(whole | (s < 0), 1.0, a)
    below = np.where(whole | (s >= 0), -1.0, s * n - root)
    ratio = np.where(s >= 0, (s * n + root) / above, (s**2 - e**2) / below)
    return np.where(whole, half, np.minimum(ratio, half))
