"""People per item as one SQL expression, built from nodes and written out for each engine.

    p: the distinct (person, item) pairs, rows with a null left out
    r: the rank of each pair among those of its person, by a keyed hash
    counts: pairs of rank up to L, per item

The hash of a pair is a b mod P: b comes from MD5 of the item with a secret salt, a from MD5 of
the person, or, where people are numbered by whole numbers, from a secret quadratic of that
number, however wide its type is (one person's large number widens that of a whole frame). Equal
hashes are ranked by the text of the item. So a rank depends on the person's own
items and the salt only, and bounding is per person: adding or removing one person changes at
most L counts, by one each. MD5 and arithmetic on 64-bit integers are the same in every engine;
they choose, and protect nothing.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass

from sqlglot import exp

from winnow.read.groups import BETWEEN, ESCAPES

PRIME = 10_000_000_019
"""Above every b and small enough that a b fits 64 bits: a <= 10^8, b <= 10^10."""
PERSON_PRIME = 99_999_989
PERSON_DIGITS, ITEM_DIGITS = 8, 10
_PLACE = "winnow_place"
"""The rank of a group among those of its person."""
SALT = "winnow_salt"
"""What the salt is called where it is a parameter."""
BYTEWISE = {"bigquery": "", "snowflake": "utf8", "trino": None, "databricks": "UTF8_BINARY"}
"""What compares texts by their bytes in engines that take the name of a collation for that."""


@dataclass(frozen=True)
class GroupColumn:
    """The column of groups: an item is then one of a group, told by one text with it."""

    name: str
    listed: tuple[str, ...] | None = None
    """The public groups as texts; rows of others are left out before anything is bounded."""
    most: int | None = None
    """Of each person so many groups stay at most, by a keyed hash; None: all."""


@dataclass(frozen=True)
class CountQuery:
    """What to count: public names and settings, and what the engine needs to compare exactly."""

    item: str
    person: str | None
    items_per_person: int | None
    salt: str
    items: tuple[str, ...] | None = None
    """The public list of items as texts; others are left out before anything is bounded."""
    whole: bool = False
    """Whether people are numbered by whole numbers."""
    wide: bool = False
    """Whether these may not fit 64 bits: they are compared in the engine's own type."""
    plain: frozenset[str] = frozenset()
    """Columns of which no two values have one text: compared as they are, and texts at the end."""
    encoded: bool = False
    """Whether texts are compared as bytes, where columns may have collations (DuckDB)."""
    collation: str | None = None
    """The engine's name for comparing texts by their bytes, where columns may do otherwise."""
    bytewise: str | None = None
    """The engine's function that compares texts by their bytes, where it is a function."""
    salt_apart: bool = False
    """Whether the salt is a parameter of the query, not a part of its text."""
    group: GroupColumn | None = None
    """Where items are those of a group."""

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns that are read, by what they name."""
        group = {} if self.group is None else {"group": self.group.name}
        return {"item": self.item, "person": self.person, **group}

    @property
    def columns(self) -> list[str]:
        """The columns of the query."""
        return [name for name in self.roles.values() if name is not None]

    @property
    def apart(self) -> str:
        """A column whose values may be counted apart, one after another."""
        return self.person or self.item

    @property
    def competing(self) -> bool:
        """Whether the items of a person compete, so that items are not counted apart."""
        bounded = self.group is not None and self.group.most is not None
        return self.person is not None and (self.items_per_person is not None or bounded)

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
        rows, kept = self.read(source, *filters)
        if listed is not None:
            kept.append(self.among(listed))
        item = exp.alias_(self.compared(self.item), "i")
        if self.person is None:  # every row is a person of its own
            return self._named(_grouped(exp.select(item).from_(rows).where(*kept)))
        if self.items_per_person is None:
            who = exp.alias_(self.compared(self.person), "u")
            pairs = exp.select(who, item).distinct().from_(rows).where(*kept)
            return self._named(_grouped(pairs))
        person = exp.alias_(self.person_value(column(self.person)), "u")
        pairs = exp.select(person, exp.alias_(self.item_text(), "i")).distinct()
        pairs = pairs.from_(rows).where(*kept)
        rank = ranked(exp.RowNumber(), self.pair_hash(), exp.column("i"))
        placed = exp.select("i", exp.alias_(rank, "n")).from_(pairs.subquery("p"))
        few = exp.select("i").from_(placed.subquery("r"))
        return _grouped(few.where(exp.column("n") <= self.items_per_person))

    def read(
        self, source: exp.Expression, *filters: exp.Expression, all_groups: bool = False
    ) -> tuple[exp.Expression, list[exp.Expression]]:
        """What is read: the rows of at most so many groups of a person, and which of them count.

        Groups are ranked by a keyed hash of person and group, and equal hashes by the group.
        """
        used = [name for name in (self.person, self.item) if name is not None]
        kept = [*(not_null(column(name)) for name in used), *filters]
        if self.group is None:
            return source, kept
        group = column(self.group.name)
        kept.append(not_null(group))
        if self.group.listed is not None:
            kept.append(self._one_of(group, self.group.listed))
        if self.group.most is None or self.person is None or all_groups:
            return source, kept
        text = self.text(group)
        a = self.person_hash(self._hashed_person())
        b = self.digits("g", text, ITEM_DIGITS)
        order = product_hash(exp.Paren(this=a), exp.Paren(this=b))
        last = _bytes(group) if self.encoded else self.utf8(text)
        rank = ranked(exp.Anonymous(this="DENSE_RANK"), order, last, of=self.compared(self.person))
        placed = exp.select("*", exp.alias_(rank, _PLACE)).from_(source).where(*kept)
        few = exp.select("*").from_(placed.subquery("g"))
        few = few.where(exp.column(_PLACE) <= self.group.most)
        return few.subquery("few"), []

    def _hashed_person(self) -> exp.Expression:
        """A person as ``person_hash`` takes them."""
        person = column(self.person or "")
        return person if self.whole else self.text(person)

    def _one_of(self, value: exp.Expression, texts: tuple[str, ...]) -> exp.Expression:
        """Whether the text of a value is one of a few."""
        listed: list[exp.Expression] = [exp.Literal.string(text) for text in texts]
        if not self.encoded:
            return exp.In(this=self.text(value), expressions=listed)
        return exp.In(this=_bytes(value), expressions=[_bytes(text) for text in listed])

    def item_text(self) -> exp.Expression:
        """The text of the item, after that of its group where there are groups."""
        item = self.text(column(self.item))
        if self.group is None:
            return item
        pair = self.text(column(self.group.name))
        for sign, instead in ESCAPES:
            signs = [exp.Literal.string(sign), exp.Literal.string(instead)]
            pair = exp.Anonymous(this="REPLACE", expressions=[pair, *signs])
        for part in (exp.Literal.string(BETWEEN), item):
            pair = exp.DPipe(this=pair, expression=part)
        return pair

    def _as_is(self, name: str) -> bool:
        """Whether values of a column are compared as they are."""
        return name in self.plain and (self.group is None or name != self.item)

    def compared(self, name: str) -> exp.Expression:
        """A column as its values are compared: as they are, as bytes, or as texts."""
        if self._as_is(name):
            return column(name)
        if name == self.item and self.group is not None:
            return _bytes(self.item_text()) if self.encoded else self.item_text()
        return _bytes(column(name)) if self.encoded else self.text(column(name))

    def named(self, name: str, value: exp.Expression) -> exp.Expression:
        """The text of a value of a column that was compared."""
        if self._as_is(name) or not self.encoded:
            return self.text(value)
        return exp.Anonymous(this="DECODE", expressions=[value.copy()])

    def among(self, listed: exp.Expression, text: exp.Expression | None = None) -> exp.Expression:
        """Whether the item, or another text, is one of a list."""
        text = self.item_text() if text is None else text
        if not self.encoded:
            return exp.In(this=text, query=exp.Subquery(this=listed))
        items = exp.select(_bytes(exp.column("i"))).from_(exp.Subquery(this=listed, alias="l"))
        return exp.In(this=_bytes(text), query=exp.Subquery(this=items))

    def _named(self, counts: exp.Select) -> exp.Select:
        """Counts of values as counts of their texts, of which no two are the same."""
        if not self._as_is(self.item) and not self.encoded:
            return counts
        text = exp.alias_(self.named(self.item, exp.column("i")), "i")
        return exp.select(text, "n").from_(counts.subquery("g"))

    def person_value(self, node: exp.Expression) -> exp.Expression:
        """A person: a whole number, or a text compared by its bytes."""
        if self.wide:
            return node.copy()
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
        residue = _mod(self.person_value(person), PERSON_PRIME)
        if self.wide:
            residue = exp.cast(residue, "BIGINT")
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

    def md5(self, text: exp.Expression) -> exp.Expression:
        """MD5 of a text, the same in every engine."""
        return exp.MD5(this=self.utf8(text))

    def utf8(self, text: exp.Expression) -> exp.Expression:
        """What stands for a text where it is hashed or ordered: Postgres may hold other bytes."""
        return text if self.collation is None else in_utf8(text)

    def digits(self, kind: str, text: exp.Expression, length: int) -> exp.Expression:
        """1 + the first hexadecimal digits of MD5 as a decimal number, a to f read as 0 to 5."""
        salted = exp.DPipe(this=self.key(kind), expression=text.copy())
        first = exp.Substring(
            this=self.md5(salted),
            start=exp.Literal.number(1),
            length=exp.Literal.number(length),
        )
        letters, numbers = exp.Literal.string("abcdef"), exp.Literal.string("012345")
        decimal = exp.Anonymous(this="TRANSLATE", expressions=[first, letters, numbers])
        return exp.Add(this=exp.cast(decimal, "BIGINT"), expression=exp.Literal.number(1))


def ranked(
    rank: exp.Expression, *order: exp.Expression, of: exp.Expression | None = None
) -> exp.Window:
    """A rank among those of one u, or of another value."""
    ordered = [exp.Ordered(this=node, nulls_first=False) for node in order]
    apart = exp.column("u") if of is None else of
    return exp.Window(this=rank, partition_by=[apart], order=exp.Order(expressions=ordered))


def _bytes(text: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this="ENCODE", expressions=[exp.cast(text.copy(), "TEXT")])


def in_utf8(text: exp.Expression) -> exp.Expression:
    """The bytes of a text in UTF-8, whatever encoding a Postgres database has."""
    return exp.Anonymous(this="CONVERT_TO", expressions=[text, exp.Literal.string("UTF8")])


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
