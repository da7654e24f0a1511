"""The exact law of what noisy numbers tell about who it was that moved them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_WIDE = 9.0
"""Standard deviations of Gaussian noise that are enumerated."""
_EVERY = np.arange(-4000, 4001)


def outcomes(
    noises: Sequence[Fraction], law: str, moved: Sequence[Integers]
) -> tuple[Floats, Floats]:
    """Log-probabilities, under both neighbours, of all that noisy numbers say about who it was."""
    numbers = [(noise, int(m)) for noise, by in zip(noises, moved, strict=True)
               for m in by.ravel() if m]  # fmt: skip
    if law == "laplace":
        parts = [_by_loss(*_shifted(noise, m)) for noise, m in numbers]
        log_p, log_q = (_joined([part[side] for part in parts]) for side in (0, 1))
        return log_p, log_q
    # The sum of m z/variance is all that matters: in whole units, it moves by that of m^2.
    unit = math.lcm(*(int(noise) for noise, _ in numbers))
    steps = [(noise, m, unit // int(noise)) for noise, m in numbers]
    own = reduce(np.convolve, [_spread(noise, m * step) for noise, m, step in steps])
    by = sum(m * m * step for _, m, step in steps)
    with np.errstate(divide="ignore"):
        log = np.log(own)
    keep = (log[by:] > -300) & (log[: len(log) - by] > -300)
    return log[: len(log) - by][keep], log[by:][keep]


def _spread(variance: Fraction, times: int) -> Floats:
    """The law of a discrete Gaussian integer multiplied by a whole number."""
    reach = math.ceil(_WIDE * math.sqrt(variance)) + 1
    z = np.arange(-reach, reach + 1)
    mass = np.exp(-(z**2) / (2 * float(variance)))
    spread = np.zeros(2 * reach * abs(times) + 1)
    spread[:: abs(times)] = mass / mass.sum()
    return spread


def _shifted(noise: Fraction, by: int) -> tuple[Floats, Floats]:
    scale = float(noise)
    whole = np.exp(-np.abs(_EVERY) / scale).sum()
    z = np.arange(-math.ceil(40 * scale) - abs(by), math.ceil(40 * scale) + abs(by) + 1)
    return (-np.abs(z - by) / scale - math.log(whole), -np.abs(z) / scale - math.log(whole))


def _by_loss(log_p: Floats, log_q: Floats) -> tuple[Floats, Floats]:
    """Outcomes with the same loss put together: nothing is lost by it."""
    _, places = np.unique(np.round(log_p - log_q, 10), return_inverse=True)
    masses = [np.bincount(places, np.exp(log)) for log in (log_p, log_q)]
    return np.log(masses[0]), np.log(masses[1])


def _joined(parts: list[Floats]) -> Floats:
    return reduce(lambda a, b: (a[:, None] + b[None]).ravel(), parts)
