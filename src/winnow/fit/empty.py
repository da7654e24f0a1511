"""Which cells of a released table are empty: combinations of codes that do not occur.

Columns that are functions of others leave most cells of their tables empty. Noise gives half of
these a positive count, and a pull towards independent columns keeps it there.

The rule is the posterior median of an empirical Bayes mixture [Johnstone-Silverman 2004], table by
table. A cell is empty, or has an exponential size whose mean is what independent columns expect of
it; the share of empty cells is that of largest likelihood. A cell is taken to be empty where that
is more likely than not. Where nothing is known of a cell, because noise is larger than what is
expected of it, the share alone decides.

A table may have cells that are nearly empty instead: few people each, and together more than noise
hides. To take these to be empty would lose them all. So the mixture is compared with others, in
which the small cells hold 1/2 to 1/256 of what is expected; where these explain the table better,
no cell is taken to be empty.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LEAST, _MOST = 1e-3, 1e6
"""Expected sizes in standard errors: below, nothing can be known; above, nothing changes."""
_LOWEST = -10.0
"""Counts in standard errors: lower ones are noise, too."""
_NEARLY = 2.0 ** -np.arange(1.0, 9.0)
_HALVINGS = 20


def empty_cells(counts: Floats, expected: Floats) -> NDArray[np.bool_]:
    """The cells of a table that are more likely empty than not.

    ``counts``, which are noisy, and what independent columns expect of each are in standard errors.
    """
    z, mean = np.maximum(counts, _LOWEST), np.clip(expected, _LEAST, _MOST)
    full = _sized(z, mean)
    empty = -0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - full
    share, gained = _shares(empty[None])
    likely = empty + np.log(share / (1.0 - share)) > 0.0
    if likely.any():
        _, others = _shares(np.stack([_sized(z, part * mean) - full for part in _NEARLY]))
        if np.logaddexp.reduce(others) - np.log(len(others)) > gained[0]:
            return np.zeros(z.shape, np.bool_)
    return np.asarray(likely)


def _sized(z: Floats, mean: Floats) -> Floats:
    """The log density of z, the sum of an exponential size and standard normal noise."""
    from scipy.special import log_ndtr  # takes a while to load

    mean = np.maximum(mean, _LEAST)
    return np.asarray(0.5 / mean**2 - z / mean - np.log(mean) + log_ndtr(z - 1.0 / mean))


def _shares(odds: Floats) -> tuple[Floats, Floats]:
    """For each line of log odds of a class the share of the class, and the log likelihood it gains.

    The likelihood is concave in the share: the zero of its slope is found by halving.
    """
    more = np.expm1(odds)
    low, high = np.zeros((len(odds), 1)), np.ones((len(odds), 1))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        rising = (more / (1.0 + middle * more)).sum(1, keepdims=True) > 0.0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    share = 0.5 * (low + high)
    return share[:, 0], np.log1p(share * more).sum(1)
