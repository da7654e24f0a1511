"""How itemsets are chosen, as objects; ``winnow.itemsets(..., method=)`` takes them.

They are the methods of ``select`` and ``top_k`` whose words have a row for itemsets in
``mechanisms.py``, and those that only baskets have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from winnow.core.options import Method
from winnow.select.methods import (
    Choosing,
    DistanceToInstability,
    Exponential,
    LargeMargin,
    NoisyMax,
    PermuteAndFlip,
)
from winnow.select.top_k_methods import Canonical, CanonicalAdaptive, Joint, LimitedDomain

if TYPE_CHECKING:
    from winnow.itemsets.table import WantedItemsets
    from winnow.select.crossing.selection import Pick


@dataclass(frozen=True)
class ItemsetMethod(Method):
    """How itemsets alone are chosen. One of your own makes a selection from public numbers."""

    def selection(self, wanted: WantedItemsets) -> Pick:
        """The mechanism for what is wanted: a universe of itemsets in, the best of them out."""
        from winnow.itemsets.table import named

        return named(self, wanted)


class Weighted(ItemsetMethod):
    """Baskets of limited weight, and noise on all itemsets; for long lists of short baskets."""


METHODS: tuple[type[Method], ...] = (
    LargeMargin,
    LimitedDomain,
    DistanceToInstability,
    Choosing,
    Exponential,
    PermuteAndFlip,
    NoisyMax,
    Joint,
    Canonical,
    CanonicalAdaptive,
    Weighted,
)
NOT_TAKEN = ("rounded",)
"""Options of these methods that no mechanism for itemsets has; they are refused."""
