"""The exact chances of a noisy argmax: who wins, when the scores are known.

Scores are in units of the noise scale; a group is (score, how many candidates have it).
Let H(x) = prod_i F(x - s_i) be the law of the largest noisy score. The group with score
s and n members wins with probability

    n * integral of H(x) r(x - s) dx,    r = F'/F,

because r H is the density of "this member is at x and nobody is above". Two facts make
the integral cheap for a million candidates:

- For each of the five laws -log F(x) = sum_j a_j e^(-jx), a power series in e^-x. Where a
  candidate is far below x, a few power sums of all such candidates serve at every node.
- Where H is not negligible, sum_i -log F(x - s_i) is small, so only a bounded number of
  candidates (about a thousand) can be near x. They are summed one by one.

Gumbel noise needs no integral: the chances are a softmax. With exponential noise and
u = e^-x the integral is n e^s * integral_0^1 of prod_{others} (1 - u e^(s_j)) du, which
is the chance of permute-and-flip: u is the time at which a candidate's coin is flipped.

The result is accurate to about 1e-14 absolutely (tested against closed forms).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import count, exact, nonnegative
from winnow.core.laws import Law
from winnow.errors import ParameterError
from winnow.foreign import instead, shown

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Gaps = float | Fraction | Decimal | Iterable[float] | Mapping[float, int]
"""One gap for all others, one gap for each other, or {gap: how many}."""

MOST_CANDIDATES = 2**53  # counts stay exact as floats


@dataclass(frozen=True, eq=False)
class GapProfile:
    """Distinct gaps in increasing order, the first of them 0 (the best), with their counts."""

    values: Floats
    counts: Counts

    @classmethod
    def parse(cls, gaps: Gaps, candidates: int | None) -> GapProfile:
        """The profile that a user describes; the best itself is not among ``gaps``."""
        if isinstance(gaps, numbers.Real | Decimal):
            nonnegative(gaps=gaps)
            if candidates is None:
                raise ParameterError(
                    f"gaps={gaps} is one number and candidates is missing; "
                    "give candidates too, or a list with one gap for each other candidate"
                )
            if candidates == 1:
                return cls.alone()
            return cls._grouped(np.array([float(gaps)]), np.array([candidates - 1]))
        if isinstance(gaps, str | bytes) or not isinstance(gaps, Iterable):
            raise ParameterError(
                f"gaps={shown(gaps)} is not a list of numbers; give one gap for each other "
                "candidate"
            )
        values = _numbers(gaps)
        if values.size == 0:
            raise ParameterError(
                "gaps is empty; give one gap for each other candidate, or only candidates"
            )
        counts = _counts(gaps) if isinstance(gaps, Mapping) else np.ones(values.size, np.int64)
        given = 1 + int(counts.sum())
        if candidates is not None and candidates != given:
            raise ParameterError(
                f"candidates={candidates} does not match gaps, which describes {given} candidates "
                "(the best and one for each gap); leave out candidates, or correct gaps"
            )
        return cls._grouped(values, counts)

    @classmethod
    def alone(cls) -> GapProfile:
        """The profile of a single candidate."""
        return cls(np.zeros(1), np.ones(1, np.int64))

    @classmethod
    def _grouped(cls, gaps: Floats, counts: Counts) -> GapProfile:
        gaps = np.concatenate(([0.0], gaps + 0.0))
        counts = np.concatenate((np.ones(1, np.int64), counts.astype(np.int64)))
        values, group = np.unique(gaps, return_inverse=True)
        totals = np.zeros(values.size, np.int64)
        np.add.at(totals, group, counts)
        return cls(values, totals)

    @property
    def candidates(self) -> int:
        """How many candidates there are, the best included."""
        return int(self.counts.sum())

    @property
    def best(self) -> int:
        """How many candidates share the best score."""
        return int(self.counts[0])

    def kth_gap(self, k: int) -> float:
        """The gap of the k-th best candidate."""
        return float(self.values[np.searchsorted(np.cumsum(self.counts), k)])


def _numbers(gaps: Iterable[float]) -> Floats:
    """The gaps as floats, or an error that names the first one that is not usable."""
    with instead(ParameterError("gaps is ragged; give a flat list of numbers"), ValueError):
        array = np.asarray(gaps if hasattr(gaps, "__array__") else list(gaps))
    if array.ndim != 1:
        raise ParameterError(f"gaps has {array.ndim} dimensions; give a flat list of numbers")
    if array.size and array.dtype.kind not in "iuf":
        numbers: list[float] = []
        with instead(
            lambda _: ParameterError(f"gaps[{len(numbers)}] is not a number; give finite numbers"),
            ParameterError,
        ):
            for gap in array:
                numbers.append(float(exact("gaps", gap)))
        array = np.array(numbers)
    values = array.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        nonnegative(**{f"gaps[{bad[0]}]": float(values[bad[0]])})
    return values


def _counts(gaps: Mapping[float, int]) -> Counts:
    """How many candidates have each gap."""
    for gap, how_many in gaps.items():
        count(**{f"gaps[{gap}]": how_many})
    if sum(gaps.values()) >= MOST_CANDIDATES:
        raise ParameterError("gaps describes more than 2**53 candidates; plan for fewer")
    return np.array([int(how_many) for how_many in gaps.values()], np.int64)


CUT = 42.0  # e^-42 = 6e-19: what is dropped on either side
FAR = math.log(16.0)  # a candidate this far below x enters by the series
TERMS = 14  # 16^-14 = 1e-17
CELLS = 1 << 16  # entries of one temporary array; it fits the cache


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Sixteen nodes of a quadrature, and their weights."""
    return np.polynomial.legendre.leggauss(16)


def win_chances(law: Law, scores: Floats, counts: Floats) -> Floats:
    """The probability that each group holds the largest noisy score.

    ``scores`` decrease strictly from 0; ``counts`` are the group sizes, as floats.
    """
    if law is Law.GUMBEL or scores.size == 1:
        weights = counts * np.exp(scores)
        return np.asarray(weights / weights.sum())
    field = Maximum.of(law, scores, counts, CUT)
    total = field.log_total
    start = field.floor
    bend = max(start, total + 2.0)  # above it everything is close to one exponential
    edges = np.concatenate(
        (np.arange(start, bend, 1.0), np.arange(bend, total + CUT, 2.0), [total + CUT])
    )
    x, weight = gauss(with_kinks(edges, kinks_of_cdf(law, field.scores)))
    weight = weight * np.exp(field.log_cdf(x))
    near = matched(law.formulas.reversed_hazard, x, field.scores, weight)
    far = np.exp(scores[near.size :] - start)
    j = np.arange(1.0, TERMS + 1.0)
    powers = np.exp(-np.outer(j, x - start)) @ weight
    coefficients = law.formulas.series(j) * j * powers
    tail = np.zeros_like(far)
    for coefficient in coefficients[::-1]:
        tail = (tail + coefficient) * far
    return np.asarray(np.minimum(counts * np.concatenate((near, tail)), 1.0))


@dataclass(frozen=True)
class Maximum:
    """The largest noisy score among many candidates, for x above ``floor``.

    ``scores`` and ``counts`` are the near groups, ``moments`` the power sums of the rest;
    ``log_total`` is the log of sum_i e^(s_i), about which x the maximum lies.
    """

    law: Law
    floor: float
    scores: Floats
    counts: Floats
    moments: Floats
    log_total: float

    @classmethod
    def of(cls, law: Law, scores: Floats, counts: Floats, depth: float) -> Maximum:
        """The field of groups whose scores decrease from 0; below the floor H < e^-depth.

        The floor is sought with the best groups alone. That is safe (more candidates make
        H smaller) and enough: had M groups a distance below ``FAR`` at the floor, they
        alone would give -log H >= M * -log F(FAR), which exceeds the depth for the M here.
        """
        enough = int(depth / -float(law.formulas.log_cdf(np.array(FAR)))) + 2
        top, many = scores[:enough], counts[:enough]
        low = 0.0 if law.formulas.on_half_line else -depth
        high = math.log(float(many @ np.exp(top))) + 3.0
        with np.errstate(over="ignore"):
            while high - low > 1e-3:
                middle = 0.5 * (low + high)
                if -float(many @ law.formulas.log_cdf(middle - top)) >= depth:
                    low = middle
                else:
                    high = middle
        near = int(np.searchsorted(-top, FAR - high))
        far = np.exp(scores[near:] - low)
        power = counts[near:] * far
        log_total = math.log(
            float(many @ np.exp(top)) + float(power[max(enough - near, 0) :].sum()) * math.exp(low)
        )
        moments = np.empty(TERMS)
        for j in range(TERMS):
            moments[j] = power.sum()
            power *= far
        return cls(law, low, scores[:near], counts[:near], moments, log_total)

    def log_cdf(self, x: Floats) -> Floats:
        """log Pr[every candidate's noisy score <= x], for x above the floor."""
        near = summed(self.law.formulas.log_cdf, x, self.scores, self.counts)
        j = np.arange(1.0, TERMS + 1.0)
        powers = np.exp(-np.outer(x - self.floor, j))
        return np.asarray(near - powers @ (self.law.formulas.series(j) * self.moments))


def kinks_of_cdf(law: Law, scores: Floats) -> Floats:
    """Where log F(x - s) is not smooth inside the range of integration."""
    return scores if law.formulas.has_kink and not law.formulas.on_half_line else np.empty(0)


def with_kinks(edges: Floats, kinks: Floats) -> Floats:
    """The panel edges with the kinks that fall between them."""
    inside = kinks[(kinks > edges[0]) & (kinks < edges[-1])]
    return np.unique(np.concatenate((edges, inside)))


def gauss(edges: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of the Gauss-Legendre rule on every panel."""
    nodes, weights = _gauss()
    half = 0.5 * np.diff(edges)
    centre = 0.5 * (edges[1:] + edges[:-1])
    return (
        (centre[:, None] + half[:, None] * nodes).ravel(),
        (half[:, None] * weights).ravel(),
    )


def summed(term: Callable[[Floats], Floats], x: Floats, scores: Floats, counts: Floats) -> Floats:
    """sum over groups of count * term(x - score), at every x, in bounded memory."""
    out = np.zeros(x.size)
    step = max(1, CELLS // max(scores.size, 1))
    for i in range(0, x.size, step):
        out[i : i + step] = term(x[i : i + step, None] - scores) @ counts
    return out


def matched(term: Callable[[Floats], Floats], x: Floats, scores: Floats, weight: Floats) -> Floats:
    """sum over nodes of weight * term(x - score), for every score, in bounded memory."""
    out = np.zeros(scores.size)
    step = max(1, CELLS // x.size)
    for i in range(0, scores.size, step):
        out[i : i + step] = weight @ term(x[:, None] - scores[i : i + step])
    return out
