"""An assumed gap profile: how far each candidate lies behind the best.

The numbers are public: last year's published counts, a guess, a worst case. A profile
read from the private scores themselves would leak them through every plan made of it.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.domain.checks import count, exact, nonnegative
from winnow.errors import InputError

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
                raise InputError(
                    f"gaps={gaps} is one number and candidates is missing; "
                    "give candidates too, or a list with one gap for each other candidate"
                )
            if candidates == 1:
                return cls.alone()
            return cls._grouped(np.array([float(gaps)]), np.array([candidates - 1]))
        if isinstance(gaps, str | bytes) or not isinstance(gaps, Iterable):
            raise InputError(
                f"gaps={gaps!r} is not a list of numbers; give one gap for each other candidate"
            )
        values = _numbers(gaps)
        if values.size == 0:
            raise InputError(
                "gaps is empty; give one gap for each other candidate, or only candidates"
            )
        counts = _counts(gaps) if isinstance(gaps, Mapping) else np.ones(values.size, np.int64)
        given = 1 + int(counts.sum())
        if candidates is not None and candidates != given:
            raise InputError(
                f"candidates={candidates} does not match gaps, which describes {given} candidates "
                "(the best and one for each gap); drop candidates or mend gaps"
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
    try:
        array = np.asarray(gaps if hasattr(gaps, "__array__") else list(gaps))
    except ValueError:
        raise InputError("gaps is ragged; give a flat list of numbers") from None
    if array.ndim != 1:
        raise InputError(f"gaps has {array.ndim} dimensions; give a flat list of numbers")
    if array.size and array.dtype.kind not in "iuf":
        array = np.array([float(exact(f"gaps[{i}]", gap)) for i, gap in enumerate(array)])
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
        raise InputError("gaps describes more than 2**53 candidates; plan for fewer")
    return np.array([int(how_many) for how_many in gaps.values()], np.int64)
