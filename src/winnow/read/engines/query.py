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
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from winnow.errors import DataError
from winnow.foreign import instead

PRIME = 10_000_000_019
"""Above every b and small enough that a b fits 64 bits: a <= 10^8, b <= 10^10."""
PERSON_PRIME = 99_999_989
PERSON_DIGITS, ITEM_DIGITS = 8, 10
SALT = "winnow_salt"
"""What the salt is called where it is a parameter."""


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
        rank = exp.Window(
            this=exp.RowNumber(),
            partition_by=[exp.column("u")],
            order=exp.Order(
                expressions=[
                    exp.Ordered(this=self.pair_hash(), nulls_first=False),
                    exp.Ordered(this=exp.column("i"), nulls_first=False),
                ]
            ),
        )
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
        text = exp.cast(node.copy(), "TEXT")
        if self.bytewise is not None:
            name: exp.Expression = exp.Literal.string(self.bytewise)
            return exp.Anonymous(this="COLLATE", expressions=[text, name])
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

    def digits(self, kind: str, text: exp.Expression, length: int) -> exp.Expression:
        """1 + the first hexadecimal digits of MD5 as a decimal number, a to f read as 0 to 5."""
        key: exp.Expression = exp.Literal.string(self.salt + kind)
        if self.salt_apart:
            key = exp.DPipe(this=exp.Placeholder(this=SALT), expression=exp.Literal.string(kind))
        salted = exp.DPipe(this=key, expression=text.copy())
        first = exp.Substring(
            this=exp.MD5(this=salted),
            start=exp.Literal.number(1),
            length=exp.Literal.number(length),
        )
        letters, numbers = exp.Literal.string("abcdef"), exp.Literal.string("012345")
        decimal = exp.Anonymous(this="TRANSLATE", expressions=[first, letters, numbers])
        return exp.Add(this=exp.cast(decimal, "BIGINT"), expression=exp.Literal.number(1))


def product_hash(a: exp.Expression, b: exp.Expression) -> exp.Expression:
    """a b mod P."""
    return _mod(exp.Mul(this=a, expression=b), PRIME)


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


def table_or_query(text: str, dialect: str) -> exp.Expression:
    """A table name, or a SELECT in parentheses, parsed and never pasted."""
    unreadable = DataError("the source is neither a table name nor one SELECT that can be read")
    with instead(unreadable):
        if not text.strip().lower().startswith(("select", "with")):
            return exp.to_table(text, dialect=dialect)
        parsed = sqlglot.parse_one(text, dialect=dialect)
    if not isinstance(parsed, exp.Query):
        raise unreadable
    return parsed.subquery("source")
