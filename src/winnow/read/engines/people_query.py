"""People by how many rows, or different items, they have, as one SQL expression."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from winnow.read.engines.query import CountQuery, column, not_null


@dataclass(frozen=True)
class PeopleQuery(CountQuery):
    """How many people have 1, 2, ... rows or items: the columns are those of a count.

        p: the person of every row, or the distinct (person, item), rows with a null left out
        d: how many each person has, and no more than ``looked_at``
        counts: people per number, which is told by its text

    Every person is in one of the numbers: adding or removing a person moves one by one.
    """

    by_rows: bool = False
    """Whether rows are counted, and not items."""
    looked_at: int = 1

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns that are read, by what they name."""
        return {"person": self.person} if self.by_rows else super().roles

    @property
    def listed_all(self) -> bool:
        """Numbers that nobody has are not told."""
        return False

    def over(
        self,
        source: exp.Expression,
        *filters: exp.Expression,
        listed: exp.Expression | None = None,
    ) -> exp.Select:
        """The texts of the numbers and how many people have them."""
        assert self.person is not None
        kept = [not_null(column(self.person)), *filters]
        who = exp.alias_(self.compared(self.person), "u")
        if self.by_rows:
            owned = exp.select(who).from_(source).where(*kept)
        else:
            rows, kept = self.read(source, *filters)
            if listed is not None:
                kept.append(self.among(listed))
            item = exp.alias_(self.compared(self.item), "i")
            owned = exp.select(who, item).distinct().from_(rows).where(*kept)
        each = exp.select(exp.alias_(exp.Count(this=exp.Star()), "d"))
        each = each.from_(owned.subquery("p")).group_by("u")
        most = exp.Literal.number(self.looked_at)
        few = exp.Case().when(exp.column("d") > self.looked_at, most).else_(exp.column("d"))
        number = exp.alias_(exp.cast(few, "TEXT"), "i")
        numbers = exp.select(number).from_(each.subquery("e"))
        people = exp.alias_(exp.Count(this=exp.Star()), "n")
        return exp.select("i", people).from_(numbers.subquery("k")).group_by("i")
