"""What noise of known standard errors does to many answers: the largest and the mean error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]
_KINDS = 4096
_MEAN = math.sqrt(2 / math.pi)
"""The mean of the absolute value of a standard normal number."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The standard errors of the answers of one table."""

    deviations: Floats
    times: int | Floats
    """How many answers each of them stands for."""
    largest: float | None = None
    """The median of the largest error where it is known; None: as of independent answers."""

    @classmethod
    def of_variances(cls, variances: Floats, times: int, largest: float | None = None) -> Spread:
        """Those with these variances; of very many, classes, finer and finer up to the largest.

        The mean of the variances stays what it is.
        """
        size = len(variances)
        if size <= _KINDS:
            return cls(np.sqrt(variances), times, largest)
        left = size * 2.0 ** -(np.arange(64 * size.bit_length()) / 64)
        starts = np.unique(size - np.ceil(left).astype(np.int64))
        counts = np.diff(starts, append=size)
        means = np.add.reduceat(np.sort(variances), starts) / counts
        return cls(np.sqrt(means), times * counts.astype(np.float64), largest)


@dataclass(frozen=True)
class Errors:
    """Predicted errors, in rows."""

    largest: float
    """The median of the largest error; of cells as if independent, which is no less."""
    mean: float
    rms: float


def predicted(spreads: Sequence[Spread], law: str) -> Errors:
    """The errors that follow from standard errors that are known exactly."""
    if len(spreads) == 1 and spreads[0].largest is None and len(spreads[0].deviations) == 1:
        alike = float(spreads[0].deviations[0])
        number = int(np.sum(spreads[0].times))
        return Errors(alike * _of_largest(number, law), _MEAN * alike, alike)
    deviations, times = _joined(spreads)
    every = float(times.sum())
    return Errors(
        _largest(spreads, law),
        _MEAN * float((times * deviations).sum()) / every,
        math.sqrt(float((times * deviations**2).sum()) / every),
    )


@lru_cache(maxsize=4096)
def _of_largest(number: int, law: str) -> float:
    """What the largest of so many standard errors stays below with probability one half."""
    return quantile(-math.expm1(math.log(0.5) / number), law)


def _largest(spreads: Sequence[Spread], law: str) -> float:
    """The t that the largest error stays below with probability one half."""
    groups = []
    independent = [each for each in spreads if each.largest is None]
    if independent:
        groups.append((*_collected(independent), law))
    for each in spreads:
        if each.largest is not None:  # so many independent answers have that median
            worst = each.deviations.max(initial=0.0)
            beyond = float(tail(np.array(each.largest / worst if worst else 9.0), "gaussian"))
            number = math.log(0.5) / math.log1p(-min(max(beyond, 1e-15), 0.999))
            groups.append((np.array([worst]), np.array([number]), "gaussian"))
    top = max(float(deviations.max()) for deviations, _, _ in groups)
    if top == 0:
        return 0.0
    low, high = 0.0, 60.0 * top
    for _ in range(60):
        middle = (low + high) / 2
        chance = 0.0
        for deviations, times, kind in groups:
            tails = tail(middle / np.maximum(deviations, 1e-12 * top), kind)
            chance += float(times @ np.log1p(-np.minimum(tails, 1 - 1e-16)))
        low, high = (middle, high) if chance < -math.log(2) else (low, middle)
    return high


def _collected(spreads: Sequence[Spread]) -> tuple[Floats, Floats]:
    """Different standard errors and their numbers; many are put into classes, rounded up."""
    every, each_times = _joined(spreads)
    deviations, places = np.unique(every, return_inverse=True)
    times = np.bincount(places, each_times).astype(np.float64)
    if len(deviations) > _KINDS:
        groups = np.arange(len(deviations)) * _KINDS // len(deviations)
        ends = np.flatnonzero(np.diff(groups, append=_KINDS))
        deviations, times = deviations[ends], np.bincount(groups, times).astype(np.float64)
    return deviations, times


def _joined(spreads: Sequence[Spread]) -> tuple[Floats, Floats]:
    """All standard errors, and how many answers each stands for."""
    deviations = np.concatenate([each.deviations for each in spreads])
    times = [np.broadcast_to(np.float64(each.times), each.deviations.shape) for each in spreads]
    return deviations, np.concatenate(times)


def likelihoods(deviations: Floats, largest: float) -> Floats:
    """By how much the largest error falls with the variance of an answer, relative to the others.

    The median t of the largest of independent normal errors solves sum 2 P(Z > t/s_i) = log 2, so
    dt/ds_i^2 ~ phi(t/s_i)/s_i^3.
    """
    known = np.maximum(deviations, 1e-12 * deviations.max())
    logs = -0.5 * (largest / known) ** 2 - 3.0 * np.log(known)
    return np.asarray(np.exp(np.maximum(logs - logs.max(), -60.0)))


def tail(t: Floats, law: str) -> Floats:
    """At most the chance that an error exceeds t standard errors either way.

    Sums of Laplace noise lie between one Laplace variable and a normal one.
    """
    normal = 2 * ndtr(-t)
    if law == "gaussian":
        return np.asarray(normal)
    return np.asarray(np.maximum(normal, np.exp(-math.sqrt(2) * t)))


def quantile(chance: float, law: str) -> float:
    """How many standard errors an error exceeds with at most this probability."""
    normal = float(-ndtri(chance / 2))
    if law == "gaussian":
        return normal
    return max(normal, math.log(1 / chance) / math.sqrt(2))
