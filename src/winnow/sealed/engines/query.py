"""People per item as one SQL expression, built from nodes and written out for each engine.

    p: the distinct (person, item) pairs, both as text, rows with a null left out
    r: the rank of each pair among those of its person, by a keyed hash
    counts: pairs of rank up to L, per item

The hash of a pair is a b mod P, with a and b the first digits of MD5 of the person and of the
item, each with a secret salt; equal hashes are ranked by the item. So a rank depends on the
person's own items and the salt only, and bounding is per person: adding or removing one
person changes at most L counts, by one each. MD5 and arithmetic on 64-bit integers are the
same in every engine; they choose, and protect nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

PRIME = 100_000_000_003
"""Above every b and small enough that a b fits 64 bits: a <= 10^7, b <= 10^11."""


@dataclass(frozen=True)
class CountQuery:
    """What to count: public names and settings."""

    item: str
    user: str | None
    max_items_per_user: int | None
    salt: str
    items: tuple[str, ...] | None = None
    """The public list of items as texts; others are left out before anything is bounded."""

    def over(self, source: exp.Expression, *filters: exp.Expression) -> exp.Select:
        """The query over a source: a table, a sub-query or a table function."""
        item = _column(self.item)
        if self.user is None:  # every row is a person of its own
            rows = exp.select(_text(item).as_("i")).from_(source)
            return _grouped(rows.where(*self.item_filters(), *filters))
        user = _column(self.user)
        pairs = (
            exp.select(_text(user).as_("u"), _text(item).as_("i"))
            .distinct()
            .from_(source)
            .where(_not_null(user), *self.item_filters(), *filters)
        )
        if self.max_items_per_user is None:
            return _grouped(pairs)
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
        kept = exp.select("i").from_(ranked.subquery("r"))
        return _grouped(kept.where(exp.column("n") <= self.max_items_per_user))

    def item_filters(self) -> list[exp.Expression]:
        """Rows that have an item, and one of the public list where there is one."""
        item = _column(self.item)
        filters = [_not_null(item)]
        if self.items is not None:
            listed = [exp.Literal.string(text) for text in self.items]
            filters.append(exp.In(this=_text(item), expressions=listed))
        return filters

    def pair_hash(self) -> exp.Expression:
        """a b mod P for the columns u and i."""
        product = exp.Mul(
            this=exp.Paren(this=self.digits("u", exp.column("u"), 7)),
            expression=exp.Paren(this=self.digits("i", exp.column("i"), 11)),
        )
        return exp.Mod(this=exp.Paren(this=product), expression=exp.Literal.number(PRIME))

    def digits(self, kind: str, text: exp.Expression, length: int) -> exp.Expression:
        """1 + the first hexadecimal digits of MD5 as a decimal number, a to f read as 0 to 5."""
        hashed = exp.MD5(this=exp.DPipe(this=exp.Literal.string(self.salt + kind), expression=text))
        first = exp.Substring(
            this=hashed, start=exp.Literal.number(1), length=exp.Literal.number(length)
        )
        letters, numbers = exp.Literal.string("abcdef"), exp.Literal.string("012345")
        decimal = exp.Anonymous(this="TRANSLATE", expressions=[first, letters, numbers])
        return exp.Add(this=exp.cast(decimal, "BIGINT"), expression=exp.Literal.number(1))


def _grouped(rows: exp.Select) -> exp.Select:
    counted = exp.select("i", exp.Count(this=exp.Star()).as_("n"))
    return counted.from_(rows.subquery("k")).group_by("i")


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _text(node: exp.Expression) -> exp.Cast:
    return exp.cast(node, "TEXT")


def _not_null(node: exp.Expression) -> exp.Expression:
    return exp.Not(this=exp.Is(this=node.copy(), expression=exp.Null()))
