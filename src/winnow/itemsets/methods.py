"""How itemsets are chosen, as objects; ``winnow.itemsets(..., method=)`` takes them.

Each stands for the row of its word in ``mechanisms.py``. Those without options need no decorator:
they are records as ``ItemsetMethod`` is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from winnow.core.options import Method, Option

if TYPE_CHECKING:
    from winnow.itemsets.table import WantedItemsets
    from winnow.select.ranked import RankedSelection

Thresholds = Literal["tight", "printed"]


@dataclass(frozen=True)
class ItemsetMethod(Method):
    """How itemsets are chosen. One of your own makes a selection from public numbers."""

    @classmethod
    def word(cls) -> str:
        """What a user writes: ItemsetJoint is joint."""
        return super().word().removeprefix("itemset-")

    def selection(self, wanted: WantedItemsets) -> RankedSelection:
        """The mechanism for what is wanted: a universe of itemsets in, the best of them out."""
        from winnow.itemsets.table import named

        return named(self, wanted)


class Weighted(ItemsetMethod):
    """A list of k from baskets of a limited weight: for long lists of short baskets."""


@dataclass(frozen=True, kw_only=True)
class ItemsetLimitedDomain(ItemsetMethod):
    """A list of at most k: for items found in the data."""

    reach: Annotated[
        int | None,
        Option("How many of the most frequent take part; by default 100 k + 1000.", "N", least=1),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ItemsetLargeMargin(ItemsetMethod):
    """One itemset, or one in each of k rounds: for few itemsets near the top of very many."""

    thresholds: Annotated[Thresholds, Option("Tight by default, or as in the paper.", "NAME")] = (
        "tight"
    )


class ItemsetDistanceToInstability(ItemsetMethod):
    """One itemset or none, or one in each of k rounds: to compare."""


@dataclass(frozen=True, kw_only=True)
class ItemsetChoosing(ItemsetMethod):
    """One itemset or none, or one in each of k rounds: for few itemsets per person."""

    growth: Annotated[
        int | None,
        Option(
            "The most itemsets of one person, where the baskets were read without max_items=.",
            "L",
            least=1,
        ),
    ] = None


class ItemsetExponential(ItemsetMethod):
    """One itemset, or one in each of k rounds, which a delta= composes: for public items."""


class ItemsetPermuteAndFlip(ItemsetMethod):
    """One itemset, or one in each of k rounds: for one itemset or short lists of public items."""


class ItemsetNoisyMax(ItemsetMethod):
    """One itemset, or one in each of k rounds, by Laplace noise: to compare."""


class ItemsetJoint(ItemsetMethod):
    """A list of k in one draw: for lists of public items in order."""


class ItemsetCanonical(ItemsetMethod):
    """A set of k in one draw: for public items, where a set is enough."""


class ItemsetCanonicalAdaptive(ItemsetMethod):
    """A set of as many as stand out, at most k: for public items without a delta=."""


METHODS: tuple[type[ItemsetMethod], ...] = (
    ItemsetLargeMargin,
    ItemsetLimitedDomain,
    ItemsetDistanceToInstability,
    ItemsetChoosing,
    ItemsetExponential,
    ItemsetPermuteAndFlip,
    ItemsetNoisyMax,
    ItemsetJoint,
    ItemsetCanonical,
    ItemsetCanonicalAdaptive,
    Weighted,
)
