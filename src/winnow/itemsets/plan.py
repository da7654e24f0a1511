"""Plan frequent itemsets: from which support on each mechanism finds them, by public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from winnow.core.checks import Real, count, delta_range, exact, positive
from winnow.core.notebook import Card, InNotebook, text_card
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.itemsets.crossing import MOST_ITEMS
from winnow.itemsets.table import compared
from winnow.topk.classes import RankedOptions
from winnow.topk.mechanisms.ranked import items_moved


@dataclass(frozen=True)
class ItemsetRow:
    """What one mechanism needs."""

    mechanism: str
    support: float
    """The support that the last itemset asked for should have; math.inf: it never finds it."""


@dataclass(frozen=True)
class ItemsetPlan(InNotebook):
    """What to expect of ``winnow.frequent_itemsets`` before anything is paid for."""

    size: int
    k: int
    items: int | None
    """How many items there are, where they are public."""
    itemsets: int | None
    """How many itemsets follow from them."""
    epsilon: float
    delta: float
    relation: str
    table: tuple[ItemsetRow, ...]

    @property
    def best(self) -> ItemsetRow:
        """The row with the least support: what "auto" takes, or weighs against weighted counts."""
        return min(self.table, key=lambda row: row.support)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {**vars(self), "table": [vars(row) for row in self.table]}

    def _card(self) -> Card:
        return text_card(str(self))

    def __str__(self) -> str:
        what = "items are private" if self.itemsets is None else f"of {self.itemsets:,}"
        lines = [
            f"{self.k:,} itemsets of size {self.size} ({what}), epsilon {self.epsilon:.6g}, delta "
            f"{self.delta:.6g}: the support from which on the last is found as often as not"
        ]
        lines += [f"{row.mechanism:<20}{math.ceil(row.support):,} baskets" for row in self.table]
        lines.append("if supports fall as rank^(-1/3): assumed, since no data are read")
        if self.k > 1 and self.size > 1:
            lines.append("where supports turn out lower, auto finds more by weighted counts")
        return "\n".join(lines)


@guarded
def frequent_itemsets(
    *,
    size: int,
    epsilon: Real,
    delta: Real = 0.0,
    k: int = 1,
    items: int | None = None,
    max_items: int | None = None,
    max_baskets: int = 1,
    with_counts: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> ItemsetPlan:
    """Say from which support on ``winnow.frequent_itemsets`` finds itemsets, from public numbers.

    ``items`` is how many items the public list has; None: they are private. ``max_items`` and
    ``max_baskets`` are those of ``winnow.read_baskets``. The mechanisms are those that
    "auto" compares by public numbers, and the first is what it takes; what it assumes of the
    supports is said. Of lists it may take "weighted" instead, by what it pays to see: what that
    needs depends on how long baskets are.
    """
    count(size=size, k=k, max_baskets=max_baskets)
    if int(size) > MOST_ITEMS:
        raise ParameterError(f"size={size} is above {MOST_ITEMS}; give 1 to {MOST_ITEMS}")
    positive(epsilon=epsilon)
    delta_range(delta=delta)
    if not isinstance(with_counts, bool):
        raise ParameterError("with_counts is True or False")
    total = None
    if max_items is not None:
        count(max_items=max_items)
    if items is not None:
        count(items=items)
        total = math.comb(int(items), int(size))
        if total < int(k):
            raise ParameterError(
                f"{items} items have {total} itemsets of {size}, fewer than k={k}; lower k or size"
            )
    elif exact("delta", delta) == 0:
        raise ParameterError("private items need a delta; give one, such as 1e-6, or items=")
    share: Fraction = exact("epsilon", epsilon) / (2 if with_counts else 1)
    utility = Utility.declare(int(max_baskets), monotone=True, relation=relation)
    moved = items_moved(max_items, int(size), int(max_baskets))
    needed = compared(
        epsilon=share,
        delta=delta,
        k=int(k),
        options=RankedOptions(moved=moved),
        utility=utility,
        total=total,
    )
    table = sorted((ItemsetRow(word, support) for word, (_, support) in needed.items()),
                   key=lambda row: row.support)  # fmt: skip
    return ItemsetPlan(
        int(size), int(k), None if items is None else int(items), total, float(epsilon),
        float(delta), str(utility.relation), tuple(table),
    )  # fmt: skip
