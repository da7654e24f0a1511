"""Amounts of a cap that are used, and how far each way of counting may go."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from winnow.core.checks import exact
from winnow.privacy.accountants import ZERO, zcdp_rho
from winnow.privacy.discrete_gaussian import largest_distance


@dataclass(frozen=True)
class Amount:
    """An exact sum in the unit of an accountant, and the deltas of events.

    The unit is epsilon, or rho (zcdp). Accountants that compose beside epsilons keep ``rho``, too:
    a sum of rhos, or half of a squared distance of normals. ``converted`` are the deltas at which
    events were counted at an epsilon, besides their own.
    """

    size: Fraction = ZERO
    delta: Fraction = ZERO
    rho: Fraction = ZERO
    converted: Fraction = ZERO

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.size + other.size,
            self.delta + other.delta,
            self.rho + other.rho,
            self.converted + other.converted,
        )

    def without(self, other: Amount) -> Amount:
        """What it was before another was added."""
        return Amount(
            self.size - other.size,
            self.delta - other.delta,
            self.rho - other.rho,
            self.converted - other.converted,
        )


@dataclass(frozen=True)
class Limit:
    """The most of each part of an amount, for one way of counting; None: it counts another."""

    size: Fraction | None
    delta: Fraction
    rho: Fraction | None = None
    pool: Fraction | None = None
    """The most delta of events and of conversions together; None: nothing is converted."""
    unconverted_above: Fraction | None = None
    """Events with more delta than this come without conversions.

    A ledger of a version that converted less had no such sum but under ``Cap._composed_only``. So a
    stored sum tells its split, whichever version charged it.
    """

    def admits(self, amount: Amount) -> bool:
        """Whether no part that is counted passes its limit."""
        if self.size is not None and amount.size > self.size:
            return False
        if self.rho is not None and amount.rho > self.rho:
            return False
        if self.pool is not None and amount.delta + amount.converted > self.pool:
            return False
        above = self.unconverted_above
        if above is not None and amount.delta > above and amount.converted:
            return False
        return amount.delta <= self.delta

    def times(self, part: Fraction) -> Limit:
        """A part of every limit."""
        return Limit(
            None if self.size is None else self.size * part,
            self.delta * part,
            None if self.rho is None else self.rho * part,
            self.pool if part else ZERO,  # conversions are too large for a small part
            self.unconverted_above,
        )


Split = tuple[Limit, ...]
"""Ways of counting, one of which every path has to end in; their deltas add up to delta."""


@lru_cache(maxsize=256)
def limit_of_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho that implies (epsilon, delta)-DP; rounded down."""
    return exact("rho", zcdp_rho(epsilon, delta))


@lru_cache(maxsize=256)
def half_squared(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Half of the largest squared distance of two normals that are (epsilon, delta)-DP."""
    return Fraction(largest_distance(epsilon, delta)) / 2
