"""What is public of baskets: all that a plan may know of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

from winnow.core.checks import count
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.read.baskets import SealedBaskets


@dataclass(frozen=True, kw_only=True)
class AboutBaskets:
    """What is public of baskets; ``wn.plan.itemsets`` takes it."""

    utility: Utility
    """By how much one person moves a support, under which relation."""
    items: int | None = None
    """How many items there are, where they are public."""
    max_items: int | None = None
    """The most items that a basket is left with; None: not bounded."""
    max_baskets: int = 1
    """The most baskets of one person."""
    here: bool = True
    """Whether the baskets are in memory however many they are."""
    stay: bool = False
    """Whether they never leave their engine."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.utility.relation

    def universe(self, size: int) -> int | None:
        """How many itemsets of this size the public items have; None: the items are private."""
        if self.items is None:
            return None
        total = comb(self.items, size)
        if total == 0:
            raise ParameterError(f"{self.items} items have no itemsets of {size}; lower size")
        return total

    def moved(self, size: int) -> int | None:
        """The most itemsets of this size that one person has; None: not bounded."""
        return items_moved(self.max_items, size, self.max_baskets)

    def check(self, other: AboutBaskets) -> None:
        """Refuse baskets for which another plan was to be made."""
        for what, words in (
            ("items", "another number of public items"),
            ("max_items", "another max_items="),
            ("max_baskets", "another max_baskets="),
            ("utility", "another effect of one person"),
        ):
            if getattr(self, what) != getattr(other, what):
                raise ParameterError(f"the plan is for baskets with {words}; plan again for these")


def about_baskets(given: AboutBaskets | SealedBaskets) -> AboutBaskets:
    """What is public of sealed baskets, or what was said to be."""
    if isinstance(given, AboutBaskets):
        return given
    check_sealed(given)
    return AboutBaskets(
        utility=given.utility,
        items=None if isinstance(given.labels, Sealed) else len(given.labels),
        max_items=given.max_items,
        max_baskets=given.max_baskets,
        here=given.here,
        stay=given.stay,
    )


def check_sealed(given: Any) -> None:
    """Refuse what was not read: nobody said whose presence is protected."""
    if not isinstance(given, SealedBaskets):
        raise ParameterError(
            f"a {type(given).__name__} does not say whose presence is protected; read the baskets "
            "with wn.read_baskets(baskets, unit='basket') if nobody has two of them, or with "
            "person= and max_baskets="
        )


@guarded
def baskets(
    *,
    items: int | None = None,
    max_items: int | None = None,
    max_baskets: int = 1,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> AboutBaskets:
    """Say what is public of baskets, before there are any.

    ``items`` is how many items the public list has; None: they are private. ``max_items`` and
    ``max_baskets`` are the bounds that ``winnow.read_baskets`` will be given: the most items of a
    basket, and the most baskets of one person.
    """
    count(max_baskets=max_baskets)
    for name, value in (("items", items), ("max_items", max_items)):
        if value is not None:
            count(**{name: value})
    return AboutBaskets(
        utility=Utility.declare(int(max_baskets), monotone=True, relation=relation),
        items=None if items is None else int(items),
        max_items=None if max_items is None else int(max_items),
        max_baskets=int(max_baskets),
    )


def items_moved(max_items: int | None, size: int, rows: int) -> int | None:
    """How many itemsets one person can be counted for, at least 1; None: no bound."""
    return None if max_items is None else rows * max(1, comb(max_items, size))
