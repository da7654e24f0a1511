"""Association rules from released supports: nothing here sees a basket, so nothing is charged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, overload

import numpy as np

from winnow.core.checks import probability
from winnow.core.cut import laplace_margin
from winnow.core.drawing import Plotted
from winnow.core.frames import Columns, Framed, plain_column
from winnow.core.notebook import Card, Chart, ReleasedValue, columns_card
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.select.lists import CountedItems

Items = tuple[Any, ...]


@dataclass(frozen=True)
class AssociationRule:
    """Baskets with all of ``items`` tend to hold ``then``, too; errors are those of the noise.

    Standard errors are of first order in the noise. The intervals are not: they hold the value
    of the baskets with at least the probability asked for.
    """

    items: Items
    then: Items
    support: float
    """The share of baskets that hold all of it."""
    support_error: float
    support_interval: tuple[float, float]
    confidence: float
    """The share of baskets with ``then`` among those with ``items``."""
    confidence_error: float
    confidence_interval: tuple[float, float]
    lift: float
    """The confidence over the share of all baskets that hold ``then``."""
    lift_error: float
    lift_interval: tuple[float, float]

    def __str__(self) -> str:
        return f"{_joined(self.items)} -> {_joined(self.then)}"

    def to_dict(self) -> dict[str, Any]:
        """One row: both sides as texts, and every number with its error and interval."""
        row: dict[str, Any] = {"items": _joined(self.items), "then": _joined(self.then)}
        for name in ("support", "confidence", "lift"):
            low, high = getattr(self, f"{name}_interval")
            row[name] = getattr(self, name)
            row[f"{name}_error"] = getattr(self, f"{name}_error")
            row[f"{name}_low"], row[f"{name}_high"] = low, high
        return row


def _joined(items: Items) -> str:
    return " + ".join(map(str, items))


class AssociationRules(ReleasedValue, Framed, Sequence[AssociationRule]):
    """Rules by decreasing confidence."""

    def __init__(self, rules: Sequence[AssociationRule]) -> None:
        self._rules = tuple(rules)

    @overload
    def __getitem__(self, place: int) -> AssociationRule: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[AssociationRule]: ...
    def __getitem__(self, place: Any) -> Any:
        return self._rules[place]

    def __len__(self) -> int:
        return len(self._rules)

    def __repr__(self) -> str:
        return f"<{len(self)} association rules>"

    def to_columns(self) -> Columns:
        """The rules as columns."""
        empty = AssociationRule((), (), 0, 0, (0, 0), 0, 0, (0, 0), 0, 0, (0, 0)).to_dict()
        rows = [rule.to_dict() for rule in self._rules]
        return {
            name: np.array([row[name] for row in rows], object if type(of) is str else np.float64)
            for name, of in empty.items()
        }

    def _card(self) -> Card:
        return columns_card(f"{len(self)} association rules", self.to_columns(), 2)


@dataclass(frozen=True)
class ItemsetSupports(Plotted, Framed):
    """Released itemsets with noisy supports of them, of all their subsets, and of all baskets."""

    itemsets: tuple[Items, ...]
    supports: Mapping[Items, int]
    """Of the itemsets and of their subsets; that of () is the number of baskets."""
    scale: float
    """Of the discrete Laplace noise in every support."""

    @property
    def baskets(self) -> int:
        """The noisy number of baskets."""
        return self.supports[()]

    @property
    def standard_error(self) -> float:
        """Of every support."""
        q = math.exp(-1 / self.scale)
        return math.sqrt(2 * q) / (1 - q)

    def reach(self, level: float) -> int:
        """How far a support is from the truth, at most, with probability ``level``."""
        return laplace_margin(self.scale, level)

    def rules(self, min_confidence: float = 0.5, *, level: float = 0.95) -> AssociationRules:
        """The rules of the itemsets whose confidence is at least so large.

        A rule is left out where the noisy support of one of its sides, or the noisy number of
        baskets, is not above twice its standard error: a quotient by it would say nothing.
        """
        check_confidence(min_confidence)
        probability(level=level)
        kept_rules = [
            rule
            for itemset in self.itemsets
            for items, then in _sides(itemset)
            if (rule := self._rule(itemset, items, then, float(level))) is not None
            and rule.confidence >= min_confidence
        ]
        return AssociationRules(sorted(kept_rules, key=lambda rule: -rule.confidence))

    def _rule(self, both: Items, items: Items, then: Items, level: float) -> AssociationRule | None:
        ab, a, b, n = (float(self.supports[s]) for s in (both, items, then, ()))
        error = self.standard_error
        if min(a, b, n) <= 2 * error:
            return None

        def error_of(factor: float, *others: float) -> float:
            """To first order, of ab times a factor that the other supports make."""
            share = math.hypot(*(ab / other for other in others))
            return factor * error * math.hypot(1.0, share)

        def interval(above: tuple[float, ...], below: tuple[float, ...]) -> tuple[float, float]:
            """All supports are within their reach at once: the union bound."""
            far = self.reach(1 - (1 - level) / (len(above) + len(below)))
            low = math.prod(max(0.0, s - far) for s in above)
            high = math.prod(max(0.0, s + far) for s in above)
            least = math.prod(max(0.0, s - far) for s in below)
            most = math.prod(s + far for s in below)
            return low / most, high / least if least > 0 else math.inf

        support, lifted = max(0.0, ab), n / (a * b)
        return AssociationRule(
            items,
            then,
            min(1.0, support / n),
            error_of(1 / n, n),
            _share(interval((ab,), (n,))),
            min(1.0, support / a),
            error_of(1 / a, a),
            _share(interval((ab,), (a,))),
            support * lifted,
            error_of(lifted, n, a, b),
            interval((ab, n), (a, b)),
        )

    def to_columns(self) -> Columns:
        """The itemsets with their noisy supports, as columns."""
        listed = self.listed()
        error = np.full(len(listed), self.standard_error)
        support = np.array([noisy for _, noisy in listed], np.int64)
        names = plain_column(self.itemsets)
        return {"itemset": names, "support": support, "standard_error": error}

    def listed(self) -> CountedItems:
        """The itemsets alone, each with its noisy support."""
        pairs = ((items, self.supports[items]) for items in self.itemsets)
        return CountedItems(pairs, margin=self.reach(0.95), ordered=False)

    def _picture(self, ending: str = ".png") -> bytes:
        return self.listed().about_counted(self.counted)._picture(ending)

    def _card(self) -> Card:
        title = f"{len(self.itemsets)} itemsets, of about {self.baskets:,} baskets"
        return replace(columns_card(title, self.to_columns(), 1), chart=self._chart)

    def _chart(self) -> Chart:
        columns = self.to_columns()
        noisy, off = columns["support"], 2 * self.standard_error
        return Chart((columns["itemset"].tolist(),), noisy, noisy - off, noisy + off)

    def to_dict(self) -> dict[str, Any]:
        """Itemsets and all noisy supports as plain data, ready for JSON."""
        return {
            "itemsets": [list(itemset) for itemset in self.itemsets],
            "supports": [[list(items), noisy] for items, noisy in self.supports.items()],
            "scale": self.scale,
            "standard_error": self.standard_error,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ItemsetSupports:
        """What ``to_dict`` described."""
        return cls(
            tuple(map(tuple, document["itemsets"])),
            {tuple(items): noisy for items, noisy in document["supports"]},
            document["scale"],
        )


def check_confidence(min_confidence: float) -> None:
    """Refuse what is not a share."""
    if not isinstance(min_confidence, int | float) or not 0 <= min_confidence <= 1:
        raise ParameterError(f"min_confidence={shown(min_confidence)} is not a share; give 0 to 1")


def _share(interval: tuple[float, float]) -> tuple[float, float]:
    return min(1.0, interval[0]), min(1.0, interval[1])


def _sides(itemset: Items) -> Iterator[tuple[Items, Items]]:
    """All ways to cut an itemset in two, neither side empty."""
    for size in range(1, len(itemset)):
        for places in combinations(range(len(itemset)), size):
            items = tuple(itemset[place] for place in places)
            yield items, tuple(x for place, x in enumerate(itemset) if place not in places)


def subsets_of(itemsets: Sequence[Items]) -> list[Items]:
    """All subsets of some itemsets, each once, the empty one first, then as they come."""
    subsets: dict[Items, None] = {(): None}
    for itemset in itemsets:
        for size in range(1, len(itemset) + 1):
            subsets.update(dict.fromkeys(combinations(itemset, size)))
    return list(subsets)
