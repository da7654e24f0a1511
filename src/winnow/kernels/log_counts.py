"""How many equally good answers each class holds, as logarithms with a known error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.random.enclosure import Arithmetic, Interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LogCounts:
    """log N of each class: a float64 value, a bound on its error, and the truth on demand.

    The error only costs time: a comparison that it leaves open is settled with
    ``enclose``, which must contain the true log N at every precision.
    """

    approx: Floats
    error: Floats
    integers: Sequence[int] | None = None

    @classmethod
    def of_integers(cls, counts: Sequence[int]) -> LogCounts:
        """Classes of the given sizes: positive integers of any length."""
        coarse = Arithmetic(20)
        centre = np.array([float(coarse.log_of_integer(n).lo) for n in counts], np.float64)
        return cls(centre, 2.0**-50 * (1.0 + np.abs(centre)), tuple(counts))

    @classmethod
    def of_logs(cls, logs: Floats) -> LogCounts:
        """Classes of weight exp(log), where the float64 is the exact logarithm."""
        logs = np.ascontiguousarray(logs, np.float64)
        return cls(logs, np.zeros(len(logs)))

    def enclose(self, position: int, arithmetic: Arithmetic) -> Interval:
        """An interval around log N of the class at this position."""
        if self.integers is not None:
            return arithmetic.log_of_integer(self.integers[position])
        return arithmetic.fraction(Fraction(float(self.approx[position])))
