"""Baskets per itemset as one SQL expression, over that of counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from winnow.read.engines.query import PERSON_DIGITS, CountQuery, column, not_null, ranked

_HELD = "winnow_held"


@dataclass(frozen=True)
class BasketQuery(CountQuery):
    """Baskets per itemset: the columns are those of a count, and what makes a basket.

        p: the distinct (person, basket, item), rows with a null left out
        s: of each person at most so many baskets, those of the smallest keyed hash
        held: of each basket at most so many items, by the hash of a count

    An itemset is told by one text, its items in the order of their bytes, each after its length:
    so no two itemsets have the same.
    """

    basket: str = ""
    max_baskets: int | None = None
    max_items: int | None = None
    sizes: tuple[int, ...] = (1,)
    """Of the itemsets to count; 0: the number of baskets, under the empty text."""

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns that are read, by what they name."""
        return {"item": self.item, "person": self.person, "basket": self.basket}

    @property
    def apart(self) -> str:
        """A basket is counted as a whole, and so are those of a person."""
        return self.person or self.basket

    @property
    def listed_all(self) -> bool:
        """There are too many itemsets: those that nobody has are not counted."""
        return False

    def over(
        self,
        source: exp.Expression,
        *filters: exp.Expression,
        listed: exp.Expression | None = None,
    ) -> exp.Select:
        """The texts of the itemsets and in how many baskets they are."""
        baskets = self._few_items(self._few_baskets(source, filters, listed))
        first, *others = (self._itemsets(size) for size in self.sizes)
        counts = first
        if others:
            all_sizes = exp.union(first, *others, distinct=False)
            counts = exp.select("i", "n").from_(all_sizes.subquery("a"))
        return counts.with_(_HELD, as_=baskets)

    def _few_baskets(
        self,
        source: exp.Expression,
        filters: tuple[exp.Expression, ...],
        listed: exp.Expression | None,
    ) -> exp.Select:
        """Baskets u and items i, each pair once."""
        named = {"i": self.item, "b": self.basket, "u": self.person}
        names = {alias: column(name) for alias, name in named.items() if name is not None}
        kept = [not_null(node) for node in names.values()] + list(filters)
        if listed is not None:
            kept.append(self.among(listed))
        texts = [exp.alias_(self.text(node), alias) for alias, node in names.items()]
        pairs = exp.select(*texts).distinct().from_(source).where(*kept)
        if self.person is None:
            return exp.select(exp.alias_(exp.column("b"), "u"), "i").from_(pairs.subquery("p"))
        said: exp.Expression = exp.DPipe(this=self.key(""), expression=exp.column("u"))
        for node in (exp.Literal.string("\x1f"), exp.column("b")):
            said = exp.DPipe(this=said, expression=node)
        rank = ranked(exp.Anonymous(this="DENSE_RANK"), self.md5(said), exp.column("b"))
        placed = exp.select("u", "b", "i", exp.alias_(rank, "n")).from_(pairs.subquery("p"))
        own = exp.DPipe(this=_measured(exp.column("u")), expression=exp.column("b"))
        few = exp.select(exp.alias_(own, "u"), "i").from_(placed.subquery("s"))
        return few.where(exp.column("n") <= (self.max_baskets or 1))

    def person_hash(self, person: exp.Expression) -> exp.Expression:
        """The number of a basket, whose name is a text whatever people and baskets are."""
        return self.digits("u", person, PERSON_DIGITS)

    def _few_items(self, pairs: exp.Select) -> exp.Select:
        if self.max_items is None:
            return pairs
        rank = ranked(exp.RowNumber(), self.pair_hash(), exp.column("i"))
        placed = exp.select("u", "i", exp.alias_(rank, "n")).from_(pairs.subquery("q"))
        few = exp.select("u", "i").from_(placed.subquery("r"))
        return few.where(exp.column("n") <= self.max_items)

    def _itemsets(self, size: int) -> exp.Select:
        """The texts and counts of the itemsets of one size in what is held."""
        number = exp.alias_(exp.Count(this=exp.Star()), "n")
        if size == 0:
            baskets = exp.select("u").distinct().from_(_HELD).subquery("d")
            return exp.select(exp.alias_(exp.Literal.string(""), "i"), number).from_(baskets)
        sides = [f"h{place}" for place in range(size)]
        items = [exp.alias_(exp.column("i", side), f"i{place}") for place, side in enumerate(sides)]
        query = exp.select(*items, number).from_(exp.to_table(_HELD, alias=sides[0]))
        for before, side in pairwise(sides):
            same = exp.EQ(this=exp.column("u", sides[0]), expression=exp.column("u", side))
            earlier, after = (self.utf8(exp.column("i", table)) for table in (before, side))
            later = exp.LT(this=earlier, expression=after)
            query = query.join(exp.to_table(_HELD, alias=side), on=exp.and_(same, later))
        query = query.group_by(*(exp.column("i", side) for side in sides))
        text = _measured(exp.column("i0"))
        for place in range(1, size):
            text = exp.DPipe(this=text, expression=_measured(exp.column(f"i{place}")))
        return exp.select(exp.alias_(text, "i"), "n").from_(query.subquery("g"))


def itemset_text(items: Iterable[str]) -> str:
    """The text that tells an itemset."""
    return "".join(f"{len(item)}:{item}" for item in sorted(items))


def items_of_text(text: str) -> tuple[str, ...]:
    """The items of an itemset that a text tells."""
    items = []
    while text:
        length, _, text = text.partition(":")
        items.append(text[: int(length)])
        text = text[int(length) :]
    return tuple(items)


def _measured(text: exp.Expression) -> exp.Expression:
    """A text after its length, so that more may follow."""
    length = exp.cast(exp.Length(this=text.copy()), "TEXT")
    marked = exp.DPipe(this=length, expression=exp.Literal.string(":"))
    return exp.DPipe(this=marked, expression=text.copy())
