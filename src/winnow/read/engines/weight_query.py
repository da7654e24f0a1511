"""Items by the weights of their people, as one SQL expression."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from winnow.core.spread import weight
from winnow.read.engines.query import CountQuery, product_hash, ranked


@dataclass(frozen=True)
class WeightQuery(CountQuery):
    """What people add to their items, where the weight of a person is spread over them.

        p: the distinct (person, item), rows with a null left out
        o: how many of them each person has
        q: the rank of each pair among those of its person, by a keyed hash
        counts: the weights of the pairs of rank up to ``most``, added up for each item

    Where there are ``items``, others are left out after all are ranked, and the weight goes by how
    many pairs are left (s): which pairs stay depends on the person alone. They are private, so that
    they do not stand in the text of a query that a server may write down.
    """

    most: int = 1
    """Of each person so many items stay at most."""

    @property
    def competing(self) -> bool:
        """An item's weight depends on how many others its person has."""
        return True

    @property
    def listed_all(self) -> bool:
        """Items that nobody has are not told."""
        return False

    def over(
        self,
        source: exp.Expression,
        *filters: exp.Expression,
        listed: exp.Expression | None = None,
    ) -> exp.Select:
        """The texts of the items and their weights."""
        assert self.person is not None
        rows, kept = self.read(source, *filters)
        who = exp.alias_(self.compared(self.person), "u")
        what = exp.alias_(self.compared(self.item), "i")
        pairs = exp.select(who, what).distinct().from_(rows).where(*kept)
        every = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[exp.column("u")])
        owned = exp.select("u", "i", exp.alias_(every, "d")).from_(pairs.subquery("p"))
        rank = exp.alias_(ranked(exp.RowNumber(), *self._order()), "r")
        first = exp.column("r") <= self.most
        if listed is None:
            placed = exp.select("i", "d", rank).from_(owned.subquery("o"))
        else:
            chosen = exp.select("u", "i", rank).from_(owned.subquery("o")).subquery("c")
            text = self.named(self.item, exp.column("i"))
            left = exp.select("u", "i", "r").from_(chosen).where(first, self.among(listed, text))
            placed = exp.select("i", exp.alias_(every.copy(), "d"), "r").from_(left.subquery("s"))
        few = exp.select("i", exp.alias_(self._weight(), "w")).from_(placed.subquery("q"))
        few = few.where(first.copy())
        total = exp.cast(exp.Sum(this=exp.column("w")), "BIGINT")
        summed = exp.select("i", exp.alias_(total, "n")).from_(few.subquery("k")).group_by("i")
        return self._named(summed)

    def _order(self) -> tuple[exp.Expression, exp.Expression]:
        """By the keyed hash and the text, of people who have more items than stay."""
        person, item = exp.column("u"), self.named(self.item, exp.column("i"))
        a = self.person_hash(person if self.whole else self.named(self.person or "", person))
        hashed = product_hash(exp.Paren(this=a), exp.Paren(this=self.item_hash(item)))
        many = exp.column("d") > self.most
        return exp.Case().when(many, hashed), exp.Case().when(many.copy(), item.copy())

    def _weight(self) -> exp.Expression:
        """Of someone with d items, by cases: engines round square roots in their own ways."""
        least = exp.Literal.number(weight(self.most))
        if self.most == 1:  # a CASE has one branch at least
            return least
        cases = exp.Case(this=exp.column("d"))
        for items in range(1, self.most):
            cases = cases.when(exp.Literal.number(items), exp.Literal.number(weight(items)))
        return cases.else_(least)
