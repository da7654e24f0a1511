"""People per item as one SQL expression, built from nodes and written out for each engine.

    p: the distinct (person, item) pairs, rows with a null left out
    r: the rank of each pair among those of its person, by a keyed hash
    counts: pairs of rank up to L, per item

The hash of a pair is a b mod P: b comes from MD5 of the item with a secret salt, a from MD5 of
the person, or, where people are numbered by whole numbers, from a secret quadratic of that
number. Equal hashes are ranked by the text of the item. So a rank depends on the person's own
items and the salt only, and bounding is per person: adding or removing one person changes at
most L counts, by one each. MD5 and arithmetic on 64-bit integers are the same in every engine;
they choose, and protect nothing.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

PRIME = 10_000_000_019
"""Above every b and small enough that a b fits 64 bits: a <= 10^8, b <= 10^10."""
PERSON_PRIME = 99_999_989
PERSON_DIGITS, ITEM_DIGITS = 8, 10
SALT = "winnow_salt"
"""What the salt is called where it is a parameter."""
BYTEWISE = {"bigquery": "", "snowflake": "utf8", "trino": None, "databricks": "UTF8_BINARY"}
"""What compares texts by their bytes in engines that take the name of a collation for that."""


@dataclass(frozen=True)
class CountQuery:
    """What to count: public names and settings, and what the engine needs to compare exactly."""

    item: str
    user: str | None
    max_items_per_user: int | None
    salt: str
    items: tuple[str, ...] | None = None
    """The public list of items as texts; others are left out before anything is bounded."""
    whole: bool = False
    """Whether people are numbered by 64-bit whole numbers."""
    whole_items: bool = False
    """Whether items are, too: then they are grouped as numbers, and become texts at the end."""
    collation: str | None = None
    """The engine's name for comparing texts by their bytes, where columns may do otherwise."""
    bytewise: str | None = None
    """The same, for engines where it is a function."""
    salt_apart: bool = False
    """Whether the salt is a parameter of the query, not a part of its text."""

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns that are read, by what they name."""
        return {"item": self.item, "user": self.user}

    @property
    def columns(self) -> dict[str, bool]:
        """The same, each with whether it is read as whole numbers, not as texts."""
        found = {self.item: self.whole_items}
        return found if self.user is None else found | {self.user: self.whole}

    @property
    def apart(self) -> str:
        """A column whose values may be counted apart, one after another."""
        return self.user or self.item

    @property
    def listed_all(self) -> bool:
        """Whether those of the public list that nobody has are among the counts, with 0."""
        return self.items is not None

    def over(
        self,
        source: exp.Expression,
        *filters: exp.Expression,
        listed: exp.Expression | None = None,
    ) -> exp.Select:
        """The query over a source: a table, a sub-query or a table function.

        ``listed`` is a query of the public items in its one column.
        """
        item = column(self.item)
        kept = [not_null(item), *filters]
        if listed is not None:
            kept.append(exp.In(this=self.text(item), query=exp.Subquery(this=listed)))
        numbers = self.whole_items and (self.user is None or self.max_items_per_user is None)
        held = exp.cast(item.copy(), "BIGINT") if numbers else self.text(item)
        if self.user is None:  # every row is a person of its own
            rows = exp.select(exp.alias_(held, "i")).from_(source).where(*kept)
            return self._as_texts(_grouped(rows)) if numbers else _grouped(rows)
        user = column(self.user)
        pairs = (
            exp.select(exp.alias_(self.person(user), "u"), exp.alias_(held, "i"))
            .distinct()
            .from_(source)
            .where(not_null(user), *kept)
        )
        if self.max_items_per_user is None:
            return self._as_texts(_grouped(pairs)) if numbers else _grouped(pairs)
        rank = _ranked(exp.RowNumber(), self.pair_hash(), exp.column("i"))
        ranked = exp.select("i", exp.alias_(rank, "n")).from_(pairs.subquery("p"))
        few = exp.select("i").from_(ranked.subquery("r"))
        return _grouped(few.where(exp.column("n") <= self.max_items_per_user))

    def _as_texts(self, counts: exp.Select) -> exp.Select:
        """Counts of numbers as counts of their texts, of which no two are the same."""
        text = exp.alias_(self.text(exp.column("i")), "i")
        return exp.select(text, "n").from_(counts.subquery("g"))

    def person(self, node: exp.Expression) -> exp.Expression:
        """A person: a 64-bit whole number, or a text compared by its bytes."""
        return exp.cast(node.copy(), "BIGINT") if self.whole else self.text(node)

    def text(self, node: exp.Expression) -> exp.Expression:
        """The text of a column, compared by its bytes."""
        text = bytewise_text(exp.cast(node.copy(), "TEXT"), self.bytewise)
        if self.collation is None:
            return text
        name = exp.to_identifier(self.collation, quoted=True)
        return exp.Paren(this=exp.Collate(this=text, expression=name))

    def pair_hash(self) -> exp.Expression:
        """a b mod P for the columns u and i."""
        a, b = self.person_hash(exp.column("u")), self.item_hash(exp.column("i"))
        return product_hash(exp.Paren(this=a), exp.Paren(this=b))

    def person_hash(self, person: exp.Expression) -> exp.Expression:
        """The number a of a person, from 1 to 10^8."""
        if not self.whole:
            return self.digits("u", person, PERSON_DIGITS)
        factor, shift = self.person_key()
        residue = _mod(exp.cast(person.copy(), "BIGINT"), PERSON_PRIME)
        scaled = exp.Mul(this=residue, expression=exp.Literal.number(factor))
        moved = _mod(exp.Add(this=scaled, expression=exp.Literal.number(shift)), PERSON_PRIME)
        square = exp.Mul(this=moved, expression=moved.copy())
        return exp.Add(this=_mod(square, PERSON_PRIME), expression=exp.Literal.number(1))

    def person_key(self) -> tuple[int, int]:
        """The secret factor and shift of whole numbers."""
        digest = hashlib.blake2b((self.salt + "n").encode()).digest()
        factor = int.from_bytes(digest[:8], "big") % (PERSON_PRIME - 1) + 1
        return factor, int.from_bytes(digest[8:16], "big") % PERSON_PRIME

    def item_hash(self, text: exp.Expression) -> exp.Expression:
        """The number b of an item, from 1 to 10^10."""
        return self.digits("i", text, ITEM_DIGITS)

    def key(self, kind: str) -> exp.Expression:
        """The salt for one kind of things."""
        if not self.salt_apart:
            return exp.Literal.string(self.salt + kind)
        return exp.DPipe(this=exp.Placeholder(this=SALT), expression=exp.Literal.string(kind))

    def digits(self, kind: str, text: exp.Expression, length: int) -> exp.Expression:
        """1 + the first hexadecimal digits of MD5 as a decimal number, a to f read as 0 to 5."""
        salted = exp.DPipe(this=self.key(kind), expression=text.copy())
        first = exp.Substring(
            this=exp.MD5(this=salted),
            start=exp.Literal.number(1),
            length=exp.Literal.number(length),
        )
        letters, numbers = exp.Literal.string("abcdef"), exp.Literal.string("012345")
        decimal = exp.Anonymous(this="TRANSLATE", expressions=[first, letters, numbers])
        return exp.Add(this=exp.cast(decimal, "BIGINT"), expression=exp.Literal.number(1))


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
        return {"item": self.item, "user": self.user, "basket": self.basket}

    @property
    def columns(self) -> dict[str, bool]:
        """All of them are read as texts."""
        return {name: False for name in self.roles.values() if name is not None}

    @property
    def apart(self) -> str:
        """A basket is counted as a whole, and so are those of a person."""
        return self.user or self.basket

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
        held = self._few_items(self._few_baskets(source, filters, listed))
        first, *others = (_itemsets(size) for size in self.sizes)
        counts = first
        if others:
            all_sizes = exp.union(first, *others, distinct=False)
            counts = exp.select("i", "n").from_(all_sizes.subquery("a"))
        return counts.with_(_HELD, as_=held)

    def _few_baskets(
        self,
        source: exp.Expression,
        filters: tuple[exp.Expression, ...],
        listed: exp.Expression | None,
    ) -> exp.Select:
        """Baskets u and items i, each pair once."""
        named = {"i": self.item, "b": self.basket, "u": self.user}
        names = {alias: column(name) for alias, name in named.items() if name is not None}
        kept = [not_null(node) for node in names.values()] + list(filters)
        if listed is not None:
            kept.append(exp.In(this=self.text(names["i"]), query=exp.Subquery(this=listed)))
        texts = [exp.alias_(self.text(node), alias) for alias, node in names.items()]
        pairs = exp.select(*texts).distinct().from_(source).where(*kept)
        if self.user is None:
            return exp.select(exp.alias_(exp.column("b"), "u"), "i").from_(pairs.subquery("p"))
        said: exp.Expression = exp.DPipe(this=self.key(""), expression=exp.column("u"))
        for node in (exp.Literal.string("\x1f"), exp.column("b")):
            said = exp.DPipe(this=said, expression=node)
        rank = _ranked(exp.Anonymous(this="DENSE_RANK"), exp.MD5(this=said), exp.column("b"))
        ranked = exp.select("u", "b", "i", exp.alias_(rank, "n")).from_(pairs.subquery("p"))
        own = exp.DPipe(this=_measured(exp.column("u")), expression=exp.column("b"))
        few = exp.select(exp.alias_(own, "u"), "i").from_(ranked.subquery("s"))
        return few.where(exp.column("n") <= (self.max_baskets or 1))

    def person_hash(self, person: exp.Expression) -> exp.Expression:
        """The number of a basket, whose name is a text whatever people and baskets are."""
        return self.digits("u", person, PERSON_DIGITS)

    def _few_items(self, pairs: exp.Select) -> exp.Select:
        if self.max_items is None:
            return pairs
        rank = _ranked(exp.RowNumber(), self.pair_hash(), exp.column("i"))
        ranked = exp.select("u", "i", exp.alias_(rank, "n")).from_(pairs.subquery("q"))
        few = exp.select("u", "i").from_(ranked.subquery("r"))
        return few.where(exp.column("n") <= self.max_items)


def itemset_text(items: Iterable[str]) -> str:
    """The text that tells an itemset."""
    return "".join(f"{len(item)}:{item}" for item in sorted(items))


def items_of_text(text: str) -> tuple[str, ...]:
    """The items of an itemset that a text tells."""
    found = []
    while text:
        length, _, text = text.partition(":")
        found.append(text[: int(length)])
        text = text[int(length) :]
    return tuple(found)


def _measured(text: exp.Expression) -> exp.Expression:
    """A text after its length, so that more may follow."""
    length = exp.cast(exp.Length(this=text.copy()), "TEXT")
    marked = exp.DPipe(this=length, expression=exp.Literal.string(":"))
    return exp.DPipe(this=marked, expression=text.copy())


def _itemsets(size: int) -> exp.Select:
    """The texts and counts of the itemsets of one size in what is held."""
    number = exp.alias_(exp.Count(this=exp.Star()), "n")
    if size == 0:
        baskets = exp.select("u").distinct().from_(_HELD).subquery("d")
        return exp.select(exp.alias_(exp.Literal.string(""), "i"), number).from_(baskets)
    sides = [f"h{place}" for place in range(size)]
    items = [exp.alias_(exp.column("i", side), f"i{place}") for place, side in enumerate(sides)]
    found = exp.select(*items, number).from_(exp.to_table(_HELD, alias=sides[0]))
    for before, side in pairwise(sides):
        same = exp.EQ(this=exp.column("u", sides[0]), expression=exp.column("u", side))
        later = exp.LT(this=exp.column("i", before), expression=exp.column("i", side))
        found = found.join(exp.to_table(_HELD, alias=side), on=exp.and_(same, later))
    found = found.group_by(*(exp.column("i", side) for side in sides))
    text = _measured(exp.column("i0"))
    for place in range(1, size):
        text = exp.DPipe(this=text, expression=_measured(exp.column(f"i{place}")))
    return exp.select(exp.alias_(text, "i"), "n").from_(found.subquery("g"))


def _ranked(rank: exp.Expression, *order: exp.Expression) -> exp.Window:
    """A rank among those of one u."""
    ordered = [exp.Ordered(this=node, nulls_first=False) for node in order]
    return exp.Window(
        this=rank, partition_by=[exp.column("u")], order=exp.Order(expressions=ordered)
    )


def product_hash(a: exp.Expression, b: exp.Expression) -> exp.Expression:
    """a b mod P."""
    return _mod(exp.Mul(this=a, expression=b), PRIME)


def bytewise_text(text: exp.Expression, collation: str | None) -> exp.Expression:
    """A text compared by its bytes, where a collation of this name is what does it."""
    if collation is None:
        return text
    return exp.Anonymous(this="COLLATE", expressions=[text, exp.Literal.string(collation)])


def listed_in_one_text(labels: tuple[str, ...] | None) -> exp.Select | None:
    """The public items as a query of one column, each at least once, from one literal.

    A long list of literals is slow to parse; one text that the engine splits is not. It holds
    one label twice, because an empty text would be split into nothing by some engines.
    """
    if labels is None:
        return None
    texts = exp.Anonymous(this="STRING_TO_ARRAY", expressions=list(_one_text(labels)))
    return exp.select(exp.alias_(exp.Anonymous(this="UNNEST", expressions=[texts]), "i"))


def _one_text(labels: tuple[str, ...]) -> tuple[exp.Expression, exp.Expression]:
    """All labels in one literal, the first one twice, and what separates them."""
    wanted = [*labels, labels[0]]
    candidates = (f"\x1f{n}\x1f" for n in itertools.count())
    separator = next(s for s in candidates if s.join(wanted).split(s) == wanted)
    return exp.Literal.string(separator.join(wanted)), exp.Literal.string(separator)


def numbered_in_one_text(labels: tuple[str, ...] | None) -> exp.Select | None:
    """The public items i with their places p from 0, from the same literal."""
    if labels is None:
        return None
    texts, separator = _one_text(labels)
    array = exp.Anonymous(this="STRING_TO_ARRAY", expressions=[texts, separator])
    whole = exp.select(exp.alias_(array, "a")).subquery("s")
    item = exp.Anonymous(this="UNNEST", expressions=[exp.column("a")])
    first = exp.Literal.number(1)
    place = exp.Anonymous(this="GENERATE_SUBSCRIPTS", expressions=[exp.column("a"), first])
    pairs = exp.select(exp.alias_(item, "i"), exp.alias_(place, "j")).from_(whole)
    from_0 = exp.cast(exp.column("j") - 1, "BIGINT")
    listed = exp.select("i", exp.alias_(from_0, "p")).from_(pairs.subquery("t"))
    return listed.where(exp.column("j") <= len(labels))  # one of them stands there twice


def no_more_than(most: int | None, query: exp.Select) -> exp.Select:
    """A query that need not be answered whole where it has more than ``most`` rows."""
    return query if most is None else query.limit(most + 1)


def column(name: str) -> exp.Column:
    """A column by its exact name."""
    return exp.column(exp.to_identifier(name, quoted=True))


def not_null(node: exp.Expression) -> exp.Expression:
    """A value is there."""
    return exp.Not(this=exp.Is(this=node.copy(), expression=exp.Null()))


def _mod(node: exp.Expression, modulus: int) -> exp.Expression:
    residue = exp.Mod(this=exp.Paren(this=node), expression=exp.Literal.number(modulus))
    return exp.Paren(this=residue)


def _grouped(rows: exp.Select) -> exp.Select:
    counted = exp.select("i", exp.alias_(exp.Count(this=exp.Star()), "n"))
    return counted.from_(rows.subquery("k")).group_by("i")
