"""``winnow.plan.itemsets``: the plan that ``winnow.itemsets`` runs, from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from winnow.core.checks import exact
from winnow.core.notebook import Card, Printed, lines_card
from winnow.core.options import takes
from winnow.core.plan import Plan
from winnow.itemsets.about import AboutBaskets, about_baskets, check_sealed
from winnow.itemsets.crossing import FrequentItemsets
from winnow.itemsets.mechanisms.chosen import WeightedOrCanonical, WeightedOrSelected
from winnow.itemsets.request import Itemsets
from winnow.itemsets.table import WantedItemsets, choose, found_from
from winnow.privacy.sizing import as_all_there_is, rounds_accountant
from winnow.read.baskets import SealedBaskets


@dataclass(frozen=True)
class ItemsetRow:
    """What one mechanism needs."""

    mechanism: str
    support: float
    """The support that the last itemset asked for should have; math.inf: it never finds it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemsetPlan(Printed, Plan[SealedBaskets, Any]):
    """What ``winnow.itemsets`` charges, draws and promises, before baskets are looked at."""

    mechanism: FrequentItemsets
    about: AboutBaskets = field(repr=False)
    """What is public of the baskets."""
    wanted: WantedItemsets = field(repr=False)
    """What the selection is made for: its part of epsilon, delta, and the itemsets there are."""
    epsilon: float
    delta: float

    @property
    def size(self) -> int:
        """How many items an itemset has."""
        return self.mechanism.size

    @property
    def k(self) -> int:
        """The most itemsets that are released."""
        return self.mechanism.k

    @property
    def itemsets(self) -> int | None:
        """How many itemsets the public items have; None: the items are private."""
        return self.wanted.total

    @cached_property
    def error(self) -> float | None:
        """The support at which the last itemset is found half of the time.

        None: it is not predicted for this method. Supports are assumed to fall as rank^(-1/3).
        Where auto may take weighted counts instead, these find more below it.
        """
        return found_from(self.mechanism.selection, self.wanted.utility, self.wanted.total)

    @cached_property
    def compared(self) -> tuple[ItemsetRow, ...]:
        """What auto compares by public numbers, and what each needs; the least support first."""
        found = replace(self.wanted, epsilon=exact("epsilon", self.wanted.epsilon)).compared()
        rows = (ItemsetRow(word, support) for word, (_, support) in found.items())
        return tuple(sorted(rows, key=lambda row: row.support))

    def ready(self, data: Any) -> SealedBaskets:
        """The baskets; what is not sealed is refused."""
        check_sealed(data)
        baskets: SealedBaskets = data
        return baskets

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "mechanism": self.name,
            "guarantee": self.guarantee.to_dict(),
            "reason": self.reason,
            "size": self.size,
            "k": self.k,
            "items": self.about.items,
            "itemsets": self.itemsets,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": str(self.relation),
            "error": self.error,
            "compared": [vars(row) for row in self.compared],
        }

    def _card(self) -> Card:
        what = "items are private" if self.itemsets is None else f"of {self.itemsets:,}"
        title = (
            f"{self.k:,} itemsets of size {self.size} ({what}), epsilon {self.epsilon:.6g}, delta "
            f"{self.delta:.6g}: the support at which the last is found half of the time"
        )
        lead = [f"runs: {self.name}, {self.guarantee}"]
        lead += [f"why: {self.reason}"] * bool(self.reason)
        notes = ["if supports fall as rank^(-1/3): assumed, since no data are read"]
        if isinstance(self.mechanism.selection, WeightedOrSelected | WeightedOrCanonical):
            notes.append("if supports are lower, auto finds more by weighted counts")
        rows = [[row.mechanism, f"{math.ceil(row.support):,}"] for row in self.compared]
        return lines_card(title, [["mechanism", "baskets"], *rows], *notes, lead=lead)


@takes(Itemsets)
def itemsets(about: AboutBaskets | SealedBaskets, asked: Itemsets) -> ItemsetPlan:
    """Say what ``winnow.itemsets`` does with such baskets; nothing is read and nothing is spent.

    ``about`` are sealed baskets, of which only what is public is looked at, or
    ``wn.plan.baskets(items=, max_items=, max_baskets=, relation=)`` where there are none yet. The
    options are those of ``winnow.itemsets``. ``plan.compared`` says from which support on each
    mechanism that "auto" compares finds the last itemset asked for, and ``plan.error`` does so for
    the one that runs; what is assumed of the supports is said. Of lists "auto" may take weighted
    counts instead, by what it pays to see: what these need depends on how long baskets are.
    ``plan.run(baskets, budget=)`` releases it.
    """
    return asked.plan(about)


@as_all_there_is
def planned(asked: Itemsets, about: AboutBaskets | SealedBaskets) -> ItemsetPlan:
    """The plan of a request, by what is public of the baskets."""
    public = about_baskets(about)
    size, most = int(asked.size), 1 if asked.k is None else int(asked.k)
    share = asked.epsilon if asked.supports is None else exact("epsilon", asked.epsilon) / 2
    wanted = WantedItemsets(
        share,
        asked.delta,
        most,
        public.utility,
        public.universe(size),
        public.moved(size),
        public.max_items,
        rounds_accountant(asked.budget),
        weighted=size > 1 and public.here,
    )
    choice = choose(asked.method, wanted)
    subsets = asked.supports == "subsets"
    counts = None if asked.supports is None else share
    mechanism = FrequentItemsets(choice.selection, size, most, counts, subsets)
    mechanism = replace(mechanism, moved=mechanism.moved_alike(public))
    mechanism.check(public)

    def check(baskets: SealedBaskets) -> None:
        found = about_baskets(baskets)
        if found != public:
            public.check(found)
            mechanism.check(found)  # they lie elsewhere

    one = asked.k is None and not subsets
    return ItemsetPlan(
        mechanism=mechanism,
        relation=public.relation,
        guarantee=mechanism.guarantee(mechanism.promise(public.relation)),
        draw=mechanism.one_drawn if one else mechanism.drawn,
        check=check,
        reason=choice.reason,
        about=public,
        wanted=wanted,
        epsilon=float(asked.epsilon),
        delta=float(asked.delta),
    )
