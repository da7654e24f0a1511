"""A column whose prefixes were estimated: made to rise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def monotone(prefixes: Floats, rows: int) -> Floats:
    """The weights of the codes of one column whose prefixes were estimated, the last being all.

    The prefixes become the nearest ones that rise from 0 to the number of rows (isotonic
    regression by least squares). It keeps the order of vectors and commutes with adding a
    constant: where x - y lies between a and b everywhere, so does what becomes of them. True
    prefixes rise, so they stay what they are. Hence neither the largest error of all prefixes nor
    that of all ranges is larger after it, whatever the noise was, nor the sum of any power of the
    errors of prefixes [Robertson-Wright-Dykstra 1988, 1.6]; and to cut off at 0 and at a public
    number of rows brings every prefix nearer.
    """
    from scipy.optimize import isotonic_regression  # takes a while to load

    rising = np.asarray(isotonic_regression(prefixes[:-1]).x) if len(prefixes) > 1 else prefixes[:0]
    ends = np.concatenate([[0.0], np.clip(rising, 0.0, rows), [float(rows)]])
    return np.diff(ends) / rows
