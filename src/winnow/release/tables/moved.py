"""Answers between unbiased estimates and a fitted distribution: how far each is moved.

An estimate y of a query has noise of the known standard error s; the distribution says f. The
answer is f, brought into the interval y +- c s. That is soft thresholding of y - f: where the
distribution is right, little of the noise stays; where it is wrong, the answer is off by c s more
than y, and no further.

- c, for each table, is the one with the least risk, as Stein's estimate has it, which is unbiased
  for a fixed f [Stein 1981; Donoho-Johnstone 1995]. Laplace noise has one of the same kind
  (``_risks``). Here f is fitted to the same noise, so this is a rule, and no theorem. Tables of
  few cells borrow from all.
- No answer is moved so far that with ``SPARE`` standard errors on top it would pass the largest
  error that is predicted of plain noise. Where that is all rows or more, every answer is what the
  distribution says: that is never off by more than all rows.

All of it is post-processing of released numbers. The rule was chosen on books and generated-12
(``benchmarks/_wide_data.py``), and checked on the other tables there: see docs/methods.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

REACHES = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0])
"""The c that are compared."""
BORROWED = 30
"""Of all tables so many cells are added to each."""
SPARE = 2.5
"""Standard errors that stay free below the largest error of plain noise."""


def reaches(
    distances: Floats, errors: Floats, sizes: Sequence[int], law: str, largest: float
) -> Floats:
    """How far each answer may be moved from its estimate.

    ``distances`` of the fit from the estimates, ``errors`` their standard errors, ``sizes`` the
    number of queries of each table, ``largest`` the largest error of plain noise; as fractions of
    all rows.
    """
    known = errors > 0.0
    if largest >= 1.0:
        return np.where(known, np.abs(distances), 0.0)
    off = np.divide(np.abs(distances), errors, out=np.zeros(len(errors)), where=known)
    ends = np.cumsum(sizes)[:-1]
    each = np.array([_risks(own, law) for own in np.split(off, ends)])
    every = each.sum(axis=0) / max(1, len(off))
    best = REACHES[(each + BORROWED * every).argmin(axis=1)]
    c = np.repeat(best, sizes)
    return np.minimum(c * errors, np.maximum(0.0, largest - SPARE * errors))


def moved(estimates: Floats, fitted: Floats, reach: Floats) -> Floats:
    """The fitted answers, no further from the estimates than allowed."""
    return np.asarray(np.clip(fitted, estimates - reach, estimates + reach))


def _risks(off: Floats, law: str) -> Floats:
    """The sum of squared errors that each c is estimated to have, in squared standard errors.

    With noise x of variance 1 and z = y - f, an answer has the error x - clip(z, c), and

        E (x - clip(z))^2 = 1 - 2 E x clip(z) + E clip(z)^2.

    For Gaussian noise E x clip(z) = P(|z| <= c). For Laplace noise of scale b = 1/sqrt 2 it is
    b E (|x| + b) 1(|z| <= c), by parts; where z is small enough to count, |z| stands for |x|,
    which is exact where the distribution is right.
    """
    ordered = np.sort(off)
    inside = np.searchsorted(ordered, REACHES, side="right")
    sums = np.concatenate([[0.0], np.cumsum(ordered)])[inside]
    squares = np.concatenate([[0.0], np.cumsum(ordered**2)])[inside]
    gained = 2.0 * inside if law == "gaussian" else np.sqrt(2.0) * sums + inside
    return np.asarray(len(off) - gained + squares + (len(off) - inside) * REACHES**2)
