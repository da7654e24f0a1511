"""People per item as one SQL expression, built from nodes and written out for each engine.

    p: the distinct (person, item) pairs, both as text, rows with a null left out
    r: the rank of each pair among those of its person, by a keyed hash
    counts: pairs of rank up to L, per item

The rank of a pair depends on the person's own items and a secret salt only, so bounding is
per person: adding or removing one person changes at most L counts, by one each. MD5 serves
because every engine has it and writes it the same way; it orders, and protects nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True)
class CountQuery:
    """What to count: public names and settings."""

    item: str
    user: str | None
    max_items_per_user: int | None
    salt: str

    def over(self, source: exp.Expression, *filters: exp.Expression) -> exp.Select:
        """The query over a source: a table, a sub-query or a table function."""
        item = _column(self.item)
        if self.user is None:  # every row is a person of its own
            rows = exp.select(_text(item).as_("i")).from_(source)
            return _grouped(rows.where(_not_null(item), *filters))
        user = _column(self.user)
        pairs = (
            exp.select(_text(user).as_("u"), _text(item).as_("i"))
            .distinct()
            .from_(source)
            .where(_not_null(user), _not_null(item), *filters)
        )
        if self.max_items_per_user is None:
            return _grouped(pairs)
        rank = exp.Window(
            this=exp.RowNumber(),
            partition_by=[exp.column("u")],
            order=exp.Order(
                expressions=[
                    exp.Ordered(this=self._keyed_hash(), nulls_first=False),
                    exp.Ordered(this=exp.column("i"), nulls_first=False),
                ]
            ),
        )
        ranked = exp.select("i", exp.alias_(rank, "n")).from_(pairs.subquery("p"))
        kept = exp.select("i").from_(ranked.subquery("r"))
        return _grouped(kept.where(exp.column("n") <= self.max_items_per_user))

    def _keyed_hash(self) -> exp.Expression:
        """MD5 of salt, length of the person's name, the name and the item: no two pairs alike."""
        parts: list[exp.Expression] = [
            exp.Literal.string(self.salt),
            _text(exp.Length(this=exp.column("u"))),
            exp.Literal.string(":"),
            exp.column("u"),
            exp.column("i"),
        ]
        joined = parts[0]
        for part in parts[1:]:
            joined = exp.DPipe(this=joined, expression=part)
        return exp.MD5(this=joined)


def _grouped(rows: exp.Select) -> exp.Select:
    counted = exp.select("i", exp.Count(this=exp.Star()).as_("n"))
    return counted.from_(rows.subquery("k")).group_by("i")


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _text(node: exp.Expression) -> exp.Cast:
    return exp.cast(node, "TEXT")


def _not_null(node: exp.Expression) -> exp.Expression:
    return exp.Not(this=exp.Is(this=node.copy(), expression=exp.Null()))
