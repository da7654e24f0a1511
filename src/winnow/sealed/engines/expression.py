"""One SQL expression that counts people per item, written once for every engine.

    pairs    every person with every item of theirs, once; rows without one or other are left out
    people   a keyed number for each person whose key is text
    things   a keyed number and a running code for each item
    chosen   the codes of at most L items of each person
    totals   how many people chose each code

The choice. Person u has the number a(u), item i the number b(i), both made with a secret
salt, and u keeps the L items with the smallest a(u) * b(i) mod PRIME. So the choice is a
function of the salt and of the person's own items: other people's rows cannot change it,
and adding or removing one person moves at most L counts, each by one. Within one person
the b(i) are alike for all items, so every set of L items is equally likely; between people
the multipliers a(u) make the choices unrelated. One product per pair replaces one digest
per pair, which took longer than all the rest together.

Only integers below 2^63 and MD5 of text are used, which all engines compute alike. The
digits of a digest become a decimal number by writing a to f as 0 to 5: the digits are not
quite uniform then, which the argument above does not need.

Nothing here is pasted into a text: identifiers and values are nodes of sqlglot.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

SOURCE = "winnow_log"
"""What the table, view or subquery with the rows is called."""

PRIME = 10_000_000_019
"""The smallest prime above the numbers of items, which have 10 digits."""
SMALL_PRIME = 99_999_989
"""The largest prime of 8 digits: numbers of people stay below it."""
CODES = 900_000_000
"""More than any number of items; PRIME * CODES is just below 2^63."""

# The names of the steps, and of the columns that stand beside a user's own: none is likely
# to meet a name in the source.
_PAIRS, _PEOPLE, _HASHED, _THINGS = (f"winnow_{n}" for n in ("pairs", "people", "hashed", "things"))
_KEYED, _CHOSEN, _TOTALS = (f"winnow_{n}" for n in ("keyed", "chosen", "totals"))
_USER, _ITEM, _COUNT = "winnow_user", "winnow_item", "winnow_count"


@dataclass(frozen=True)
class Key:
    """A column whose values name people or items."""

    name: str
    whole: bool
    """Whole numbers of at most 64 bits with a sign; anything else is text."""
    collation: str | None = None
    """Set where the engine could otherwise take two different texts for equal."""

    def column(self) -> exp.Expression:
        """The values, equal exactly if their texts are equal."""
        column = exp.column(exp.to_identifier(self.name, quoted=True))
        if self.whole or self.collation is None:
            return column
        name = exp.to_identifier(self.collation, quoted=True)
        return exp.Collate(this=exp.cast(column, "text"), expression=name)

    def text(self) -> exp.Expression:
        """The values as text."""
        return self.column() if self.collation is not None and not self.whole else _text(self.name)

    def present(self) -> exp.Expression:
        """The condition that the value is not missing."""
        column = exp.column(exp.to_identifier(self.name, quoted=True))
        return exp.not_(column.is_(exp.null()))


def counting(
    source: exp.Expression,
    item: Key,
    user: Key | None,
    *,
    limit: int | None = None,
    salt: str = "",
    only: exp.Query | None = None,
    part: exp.Expression | None = None,
    heap: bool = False,
) -> exp.Select:
    """The query for (label, number of people), labels as text.

    `only` selects the public labels, `part` a share of the people. `heap` writes the
    choice of the smallest as DuckDB's aggregate instead of a window: same rows, half the time.
    """
    conditions = [item.present()]
    if user is not None:
        conditions.append(user.present())
    if only is not None:
        conditions.append(item.text().isin(query=only))
    if part is not None:
        conditions.append(part)
    if user is None or limit is None:
        people = exp.Count(this=exp.Star())
        if user is not None:
            people = exp.Count(this=exp.Distinct(expressions=[user.column()]))
        rows = exp.select(item.column().as_(_ITEM), people.as_(_COUNT)).from_(source)
        rows = rows.where(*conditions).group_by(item.column())
        rows_of = rows.subquery("winnow_rows")
        return exp.select(_text(_ITEM).as_("winnow_label"), _COUNT).from_(rows_of)
    pairs = exp.select(user.column().as_(_USER), item.column().as_(_ITEM)).distinct()
    pairs = pairs.from_(source).where(*conditions)
    return _bounded(pairs, user, limit, salt, heap=heap)


def _bounded(pairs: exp.Select, user: Key, limit: int, salt: str, *, heap: bool) -> exp.Select:
    hashed = exp.select(_ITEM, _digest(salt + "i", _ITEM).as_("h")).from_(_PAIRS).group_by(_ITEM)
    order = exp.Order(expressions=[_ascending("h"), _ascending(_ITEM)])
    code = exp.Window(this=exp.RowNumber(), order=order)
    things = exp.select(_ITEM, _number(exp.column("h"), 10).as_("b"), code.as_("c")).from_(_HASHED)

    multiplier = _multiplier(salt) if user.whole else exp.column("a", table=_PEOPLE)
    smallness = _mod(_times(multiplier, exp.column("b", table=_THINGS)), PRIME)
    value = exp.Add(
        this=_times(smallness, _whole(CODES)), expression=exp.column("c", table=_THINGS)
    )
    keyed = exp.select(exp.column(_USER, table=_PAIRS), value.as_("v")).from_(_PAIRS)
    keyed = keyed.join(_THINGS, on=_same(_ITEM, _PAIRS, _THINGS))
    if not user.whole:
        keyed = keyed.join(_PEOPLE, on=_same(_USER, _PAIRS, _PEOPLE))

    if heap:
        least = exp.Anonymous(this="MIN", expressions=[exp.column("v"), _whole(limit)])
        each = exp.Anonymous(this="UNNEST", expressions=[least])
        kept = exp.select(each.as_("v")).from_(_KEYED).group_by(_USER).subquery("winnow_kept")
    else:
        rank = exp.Window(
            this=exp.RowNumber(),
            partition_by=[exp.column(_USER)],
            order=exp.Order(expressions=[_ascending("v")]),
        )
        ranked = exp.select("v", rank.as_("n")).from_(_KEYED).subquery("winnow_ranked")
        kept = exp.select("v").from_(ranked).where(exp.column("n") <= limit).subquery("winnow_kept")
    chosen = exp.select(_mod(exp.column("v"), CODES).as_("c")).from_(kept)
    totals = exp.select("c", exp.Count(this=exp.Star()).as_(_COUNT)).from_(_CHOSEN).group_by("c")

    query = exp.select(
        exp.cast(exp.column(_ITEM, table=_THINGS), "text").as_("winnow_label"),
        exp.column(_COUNT, table=_TOTALS),
    )
    query = query.from_(_TOTALS).join(_THINGS, on=_same("c", _TOTALS, _THINGS))
    query = query.with_(_PAIRS, as_=pairs)
    if not user.whole:
        number = exp.Add(this=_number(_digest(salt + "u", _USER), 8), expression=_whole(1))
        people = exp.select(_USER, number.as_("a")).from_(_PAIRS).group_by(_USER)
        query = query.with_(_PEOPLE, as_=people)
    for name, body in (
        (_HASHED, hashed),
        (_THINGS, things),
        (_KEYED, keyed),
        (_CHOSEN, chosen),
        (_TOTALS, totals),
    ):
        query = query.with_(name, as_=body)
    return query


def _multiplier(salt: str) -> exp.Expression:
    """The number of a person whose key is a whole number: (key * secret)^2, small, not 0."""
    secret = int(salt, 16) % (SMALL_PRIME - 1) + 1
    key = exp.cast(exp.column(_USER, table=_PAIRS), "bigint")
    scaled = _mod(_times(_mod(key, SMALL_PRIME), _whole(secret)), SMALL_PRIME)
    squared = _mod(_times(scaled, scaled.copy()), SMALL_PRIME)
    return exp.paren(exp.Add(this=squared, expression=_whole(1)))


def _digest(prefix: str, column: str) -> exp.Expression:
    """MD5 of the salt and one text. One text only: nothing needs separating."""
    joined = exp.DPipe(this=exp.Literal.string(prefix), expression=_text(column))
    return exp.MD5(this=joined)


def _number(digest: exp.Expression, digits: int) -> exp.Expression:
    """A whole number from the first digits of a digest."""
    first = exp.Substring(this=digest, start=_whole(1), length=_whole(digits))
    letters = [exp.Literal.string("abcdef"), exp.Literal.string("012345")]
    return exp.cast(exp.Anonymous(this="TRANSLATE", expressions=[first, *letters]), "bigint")


def _text(column: str) -> exp.Expression:
    return exp.cast(exp.column(exp.to_identifier(column, quoted=True)), "text")


def _whole(value: int) -> exp.Literal:
    return exp.Literal.number(value)


def _times(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.Mul(this=left, expression=right)


def _mod(value: exp.Expression, modulus: int) -> exp.Expression:
    return exp.paren(exp.Mod(this=exp.paren(value), expression=_whole(modulus)))


def _same(column: str, left: str, right: str) -> exp.Expression:
    return exp.column(column, table=left).eq(exp.column(column, table=right))


def _ascending(column: str) -> exp.Ordered:
    return exp.Ordered(this=exp.column(column), desc=False, nulls_first=False)
