"""Bounded counting in DuckDB without ranking all pairs: one integer is both rank and item.

With the items numbered in the order of their texts, a pair of a person becomes

    v = (a b mod P) 9 10^8 + number of the item

so that a smaller v means an earlier rank, equal v mean the same item, and the L least different
v of a person are what the ranking of :mod:`winnow.read.engines.query` keeps: the numbers are
those of the data at hand, but how two items compare does not depend on the others. MD5 is taken
once for each item and each person, not for each pair.

Duplicates are not removed first, which would cost more than all the rest: the 2 L least v of each
person, with their duplicates, nearly always hold the L least different ones. Where they may not
(2 L values, fewer than L of them different) the person's pairs are made distinct.

In a database of the user's own nothing is made: one query ranks all pairs of a person, duplicates
with them, which DuckDB can spill.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from winnow.read.engines.query import (
    CountQuery,
    column,
    listed_in_one_text,
    no_more_than,
    not_null,
    product_hash,
    ranked,
)

CODES = 900_000_000
"""Numbers of items are below this, and P times it is below 2^63."""
_MOST_IN_HEAP = 32
ITEMS, PEOPLE, LEAST = "winnow_items", "winnow_people", "winnow_least"


def call(name: str, *arguments: exp.Expression | int | str) -> exp.Anonymous:
    """A function of DuckDB by its own name; texts are columns."""
    return exp.Anonymous(this=name, expressions=[_node(a) for a in arguments])


@dataclass(frozen=True)
class PackedPairs:
    """The statements that count one source, for a query with a user and a bound."""

    query: CountQuery
    source: exp.Expression
    of_items: str = ITEMS
    of_people: str = PEOPLE
    """What the tables of items and people are called."""

    @property
    def bound(self) -> int:
        """L."""
        return self.query.items_per_person or 1

    @property
    def heap(self) -> int | None:
        """How many values of each person are kept at first; None: all, made distinct."""
        return 2 * self.bound if 2 * self.bound <= _MOST_IN_HEAP else None

    def items(self) -> exp.Select:
        """The table of items: the value, its text, b, and its number."""
        name = self.query.item
        query = exp.select(exp.alias_(self.query.compared(name), "i")).distinct()
        rows, filled = self.query.read(self.source.copy(), all_groups=True)
        query = query.from_(rows).where(*filled)
        texts = exp.select("i", exp.alias_(self.query.named(name, exp.column("i")), "t"))
        kept = exp.select("i", "t").from_(texts.from_(query.subquery("d")).subquery("d"))
        listed = listed_in_one_text(self.query.items)
        if listed is not None:
            kept = kept.where(exp.In(this=exp.column("t"), query=exp.Subquery(this=listed)))
        order = exp.Order(expressions=[exp.Ordered(this=exp.column("t"), nulls_first=False)])
        number = exp.Window(this=exp.RowNumber(), order=order)
        numbered = exp.select(
            "i",
            "t",
            exp.alias_(self.query.item_hash(exp.column("t")), "b"),
            exp.alias_(number, "code"),
        )
        return numbered.from_(kept.subquery("k"))

    def people(self, *filters: exp.Expression) -> exp.Select:
        """The table of people that have texts as names: the text, a number, and a."""
        name = self.query.person or ""
        query = exp.select(exp.alias_(self.query.compared(name), "u")).distinct()
        query = query.from_(self.source.copy()).where(not_null(column(name)), *filters)
        texts = exp.select("u", exp.alias_(self.query.named(name, exp.column("u")), "t"))
        numbered = exp.select(
            "u",
            exp.alias_(exp.Window(this=exp.RowNumber()), "person"),
            exp.alias_(self.query.person_hash(exp.column("t")), "a"),
        )
        return numbered.from_(texts.from_(query.subquery("d")).subquery("k"))

    def rows(self, *filters: exp.Expression) -> exp.Select:
        """(person, v) of every row, with duplicates."""
        shifted = exp.Mul(this=exp.column("h"), expression=exp.Literal.number(CODES))
        v = exp.Add(this=shifted, expression=exp.column("code"))
        return exp.select("u", exp.alias_(v, "v")).from_(self._hashed(*filters).subquery("q"))

    def _hashed(self, *filters: exp.Expression) -> exp.Select:
        """The person, a b mod P and the number of the item of every row, with duplicates."""
        name, items, people = self.query.person or "", self.of_items, self.of_people
        own = exp.select(
            exp.alias_(self.query.compared(name), "u"),
            exp.alias_(self.query.compared(self.query.item), "i"),
        )
        rows, kept = self.query.read(self.source.copy(), *filters)
        own = own.from_(rows).where(*kept)
        if self.query.whole:
            person: exp.Expression = self.query.person_value(exp.column("u", "s"))
            a = self.query.person_hash(exp.column("u", "s"))
        else:
            person, a = exp.column("person", people), exp.column("a", people)
        hashed = product_hash(exp.Paren(this=a), exp.column("b", items))
        same = exp.EQ(this=exp.column("i", "s"), expression=exp.column("i", items))
        pairs = exp.select(
            exp.alias_(person, "u"), exp.alias_(hashed, "h"), exp.column("code", items)
        )
        pairs = pairs.from_(own.subquery("s")).join(exp.to_table(items), on=same)
        if self.query.whole:
            return pairs
        same = exp.EQ(this=exp.column("u", "s"), expression=exp.column("u", people))
        return pairs.join(exp.to_table(people), on=same)

    def in_one(self, *filters: exp.Expression, most: int | None = None) -> exp.Select:
        """The text of each item and its count, by one query that makes no table.

        Of more than ``most`` items one more than that is enough.
        """
        rank = ranked(exp.Anonymous(this="DENSE_RANK"), exp.column("h"), exp.column("code"))
        placed = exp.select("u", "code", exp.alias_(rank, "r"))
        placed = placed.from_(self._hashed(*filters).subquery("w"))
        few = exp.select("u", "code").distinct().from_(placed.subquery("d"))
        counts = self._named(exp.column("code"), few.where(exp.column("r") <= self.bound), most)
        counts = counts.with_(self.of_items, as_=self.items(), materialized=True)
        if self.query.whole:
            return counts
        return counts.with_(self.of_people, as_=self.people(*filters), materialized=True)

    def least(self, *filters: exp.Expression) -> exp.Select:
        """The table of each person's L least different v; null where more must be read."""
        assert self.heap is not None
        heaps = exp.select("u", exp.alias_(call("MIN", "v", self.heap), "vs"))
        heaps = heaps.from_(self.rows(*filters).subquery("r")).group_by("u")
        distinct = call("LIST_SORT", call("LIST_DISTINCT", "vs"))
        ready = call("LIST_SLICE", "vs", 1, self.bound)  # MIN gives them in increasing order
        pairs = [(call("LIST_EXTRACT", "vs", j), j + 1) for j in range(1, self.bound)]
        twice = exp.or_(
            exp.false(),
            *(exp.EQ(this=v, expression=call("LIST_EXTRACT", "vs", j)) for v, j in pairs),
        )
        few = exp.Case().when(twice, call("LIST_SLICE", distinct, 1, self.bound)).else_(ready)
        first = exp.alias_(few, "kept")
        sizes = exp.select(first, exp.alias_(call("LEN", "vs"), "size"), "u")
        lists = sizes.from_(heaps.subquery("h")).subquery("f")
        sure = exp.or_(
            exp.column("size") < self.heap,
            exp.EQ(this=call("LEN", "kept"), expression=exp.Literal.number(self.bound)),
        )
        kept = exp.Case().when(sure, exp.column("kept"))
        return exp.select("u", exp.alias_(kept, "kept")).from_(lists)

    def unsure(self) -> str:
        """How many people need all their rows."""
        missing = exp.Is(this=exp.column("kept"), expression=exp.Null())
        counted = exp.select(exp.Count(this=exp.Star())).from_(LEAST).where(missing)
        return counted.sql(dialect="duckdb")

    def counts(self, *filters: exp.Expression, exactly: bool) -> str:
        """The text of each item and its count, of all people ``exactly`` or of those unsure."""
        values: exp.Query
        if self.heap is None:
            values = self._made_distinct(*filters)
        else:
            ready = exp.select(exp.alias_(call("UNNEST", "kept"), "v")).from_(LEAST)
            values = ready
            if exactly:
                missing = exp.Is(this=exp.column("kept"), expression=exp.Null())
                few = exp.select("u").from_(LEAST).where(missing)
                own = exp.In(this=exp.column("u"), query=exp.Subquery(this=few))
                values = exp.union(ready, self._made_distinct(*filters, own=own), distinct=False)
        code = exp.Mod(this=exp.column("v"), expression=exp.Literal.number(CODES))
        return self._named(code, values).sql(dialect="duckdb")

    def _named(
        self, code: exp.Expression, values: exp.Query, most: int | None = None
    ) -> exp.Select:
        """The items of some pairs, by their texts, and how many pairs each has.

        The limit stands before the texts are joined: DuckDB 2.0 waits for ever at a limit
        above a join of a materialized query with what was made of it, from 100,000 items on.
        """
        numbers = exp.select(exp.alias_(code, "code"), exp.alias_(exp.Count(this=exp.Star()), "n"))
        numbers = numbers.from_(values.subquery("k")).group_by("1")
        few = no_more_than(most, numbers).subquery("c")
        named = exp.select(exp.alias_(exp.column("t"), "i"), "n").from_(few)
        return named.join(exp.to_table(self.of_items), using="code")

    def _made_distinct(
        self, *filters: exp.Expression, own: exp.Expression | None = None
    ) -> exp.Select:
        pairs = exp.select("u", "v").distinct().from_(self.rows(*filters).subquery("r"))
        if own is not None:
            pairs = pairs.where(own)
        if self.heap is None:
            every = call("LIST_SORT", call("LIST", "v"))
            first = call("LIST_SLICE", every, 1, self.bound)
        else:
            first = call("MIN", "v", self.bound)
        kept = exp.select(exp.alias_(first, "kept")).from_(pairs.subquery("p")).group_by("u")
        return exp.select(exp.alias_(call("UNNEST", "kept"), "v")).from_(kept.subquery("l"))


def people_of_part(name: str, part: int, parts: int) -> list[exp.Expression]:
    """The rows of one part; DuckDB's own hash serves, as it only splits the work.

    ``parts`` is a power of two. (A test for equality would let DuckDB's planner believe that
    a part is tiny.)
    """
    if parts == 1:
        return []
    mixed = call("XOR", call("HASH", column(name)), part)
    low = exp.Paren(this=exp.BitwiseAnd(this=mixed, expression=exp.Literal.number(parts - 1)))
    return [low < 1]


def made_table(name: str, query: exp.Select) -> str:
    """The statement that makes a table of a private database."""
    return f"CREATE OR REPLACE TEMP TABLE {name} AS {query.sql(dialect='duckdb')}"


def _node(argument: exp.Expression | int | str) -> exp.Expression:
    if isinstance(argument, int):
        return exp.Literal.number(argument)
    return exp.column(argument) if isinstance(argument, str) else argument
