"""The distinct rows of a table and how often each stands there, as one SQL expression.

    v: the wanted columns, each as text, number or true/false, and the person as text
    a: the same, with the bin in place of a number that the schema bins (-1: outside)
    h: with a bound L: the keyed hash of each row
    m: the number of each row among the equal ones of its person, from 1
    r: the rank of each row among those of its person, by a keyed hash of h and m
    rows of rank up to L, grouped, with their number

Grouped by all columns, or by several sets of them at once (GROUPING SETS): then a column g says of
each column whether the row is summed over it, and texts that the schema does not list are one.

The hash h of a row is MD5 of a secret salt, the person and the row's own values; rows of one
person with equal hashes are numbered by their values. Each copy of a row has its own number, so
its own priority, and what is kept of a person is a uniform sample of the person's rows, whatever
columns are read: if equal rows had one priority, they would be kept or left out together. What is
hashed of a value is fixed by the schema, never by the type that the column happens to have: one
person's missing or large number makes another type of a whole column of a frame. So the rows kept
of a person depend on the person's own rows and the salt only, not on their order: adding or
removing one person adds or removes at most L rows. MD5 only chooses here and protects nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sqlglot import exp

from winnow.core.column import Column
from winnow.errors import DataError
from winnow.foreign import plain_type
from winnow.read.engines.columns import check_columns, is_untyped, missing_column
from winnow.read.engines.placed import INSTANTS, NEVER, double, instant, place_of
from winnow.read.engines.query import BYTEWISE, SALT, bytewise_text, in_utf8

Dialect = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake", "trino", "databricks"]

WHOLE = r"-?(0|[1-9][0-9]{0,17})(\.0+)?"
"""Whole numbers as text files may write them: 7 and 7.0, not 007."""
INSTANT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?"
"""Dates and times as text files may write them, without a time zone."""
DECIMAL = r"-?(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?"
"""Numbers as text files may write them."""

_WHOLE = {
    *("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"),
    *("int", "int2", "int4", "int8"),
}
_REAL = {
    *("ubigint", "hugeint", "uhugeint", "float", "double", "decimal"),
    *("real", "float4", "float8", "numeric"),
}
_TIMES = {"date", "timestamp_ns", "timestamp_ms", "timestamp_s", "timestamp_ntz", "timestamp"}
_ZONED = {"timestamptz", "timestamp_tz", "timestamp_ltz", "timetz"}
_TEXTS = {"varchar", "char", "bpchar", "text", "string", "enum"}


@dataclass(frozen=True)
class HistogramQuery:
    """Which columns to group, and how rows per person are bounded: public but for the salt."""

    columns: tuple[Column, ...]
    person: str | None = None
    max_rows: int = 1
    salt: str = ""
    sets: tuple[tuple[int, ...], ...] | None = None
    """The sets of columns to group by; None: one, of all columns."""
    salt_apart: bool = False
    """Whether the salt is a parameter of the query, not a part of its text."""

    @property
    def fields(self) -> dict[str, str]:
        """The columns of the answer but for n, and what each holds."""
        contents: dict[str, str] = {
            f"c{i}": column.content for i, column in enumerate(self.columns)
        }
        if self.sets is None:
            return contents
        return contents | {f"g{i}": "number" for i in range(len(self.columns))}

    def over(
        self, source: exp.Expression, types: dict[str, str], dialect: Dialect, *, as_text: bool
    ) -> exp.Select:
        """The query over a source; ``as_text`` says that every column is read as text."""
        names = [f"c{i}" for i in range(len(self.columns))]
        each = list(zip(names, self.columns, strict=True))

        def binned_of(name: str, column: Column) -> exp.Expr | str:
            if not column.placed:
                return name
            equal = dialect not in BYTEWISE
            return exp.alias_(
                place_of(column, exp.column(name), as_text=as_text, nan_is_itself=equal), name
            )

        values = exp.select(
            *(exp.alias_(self._value(c, types[c.name], dialect, as_text), n) for n, c in each)
        ).from_(source)
        binned = [binned_of(name, column) for name, column in each]
        if self.person is None:
            return self._grouped(exp.select(*binned).from_(values.subquery("v")))
        person = _column(self.person)
        filled = exp.Not(this=exp.Is(this=person.copy(), expression=exp.Null()))
        values = values.select(exp.alias_(_text(person, dialect), "u")).where(filled)
        rows = exp.select(*binned, "u").from_(values.subquery("v"))
        hashed = exp.select(*names, "u", exp.alias_(self._row_hash(each, dialect), "h"))
        hashed = hashed.from_(rows.subquery("a"))
        copy = _numbered(["u", "h"], *map(exp.column, names))
        copies = exp.select(*names, "u", "h", exp.alias_(copy, "m")).from_(hashed.subquery("e"))
        own = exp.DPipe(this=exp.column("h"), expression=exp.cast(exp.column("m"), "TEXT"))
        rank = _numbered(["u"], self._md5_salted(own, dialect))
        ranked = exp.select(*names, exp.alias_(rank, "r")).from_(copies.subquery("f"))
        kept = exp.select(*names).from_(ranked.subquery("b"))
        return self._grouped(kept.where(exp.column("r") <= self.max_rows))

    def _grouped(self, rows: exp.Select) -> exp.Select:
        names = [f"c{i}" for i in range(len(self.columns))]
        number = exp.Count(this=exp.Star()).as_("n")
        if self.sets is None:
            return exp.select(*names, number).from_(rows.subquery("k")).group_by(*names)
        listed = [
            exp.alias_(_listed(column, exp.column(name)), name)
            for name, column in zip(names, self.columns, strict=True)
        ]
        every = exp.select(*listed).from_(rows.subquery("k"))
        used = {i for each in self.sets for i in each}
        columns = [exp.column(n) if i in used else exp.null() for i, n in enumerate(names)]
        summed = [
            exp.Anonymous(this="GROUPING", expressions=[exp.column(name)])
            if i in used
            else exp.Literal.number(1)
            for i, name in enumerate(names)
        ]
        sets = [exp.Tuple(expressions=[exp.column(names[i]) for i in each]) for each in self.sets]
        asked = exp.select(
            *(exp.alias_(node, name) for name, node in zip(names, columns, strict=True)),
            *(exp.alias_(node, f"g{i}") for i, node in enumerate(summed)),
            number,
        ).from_(every.subquery("d"))
        asked.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
        return asked

    def _value(self, column: Column, kind: str, dialect: Dialect, as_text: bool) -> exp.Expression:
        node: exp.Expression = _column(column.name)
        if (column.trim or column.na) and (as_text or column.content == "text"):
            node = _cleaned(column, _text(node, dialect))
        if column.content == "time":
            return _time(column, node, dialect, as_text)
        if column.hashed:
            digits = exp.Literal.number(column.digits)
            digest = _md5(exp.cast(_text(node, dialect), "TEXT"), dialect)
            return exp.Substring(this=digest, start=exp.Literal.number(1), length=digits)
        if column.content == "text" or (as_text and column.content == "boolean"):
            return _text(node, dialect)
        if column.content == "boolean":
            return exp.cast(node, "BOOLEAN") if is_untyped(kind) else node
        if not as_text:
            whole = plain_type(kind).lower() in _WHOLE and not column.placed
            return exp.cast(node, "BIGINT" if whole else "DOUBLE")
        if column.kind == "codes":
            return _numeral(node, WHOLE, "BIGINT", exp.Literal.number(-1))
        return _numeral(node, DECIMAL, "DOUBLE", double("NaN"))

    def _row_hash(self, each: list[tuple[str, Column]], dialect: Dialect) -> exp.Expression:
        """MD5 of salt, person and values; a null is told from every text by its mark."""
        joined: exp.Expression = exp.column("u")
        for name, column in each:
            value = exp.DPipe(
                this=exp.Literal.string("|="), expression=_hashed(column, exp.column(name))
            )
            filled = exp.Coalesce(this=value, expressions=[exp.Literal.string("|-")])
            joined = exp.DPipe(this=joined, expression=filled)
        return self._md5_salted(joined, dialect)

    def _md5_salted(self, text: exp.Expression, dialect: Dialect) -> exp.Expression:
        """MD5 of the salt and a text."""
        salt = exp.Placeholder(this=SALT) if self.salt_apart else exp.Literal.string(self.salt)
        return _md5(exp.DPipe(this=salt, expression=text), dialect)


def _numbered(groups: list[str], *order: exp.Expression) -> exp.Window:
    """The number of a row in its group, from 1."""
    ordered = [exp.Ordered(this=node, nulls_first=False) for node in order]
    return exp.Window(
        this=exp.RowNumber(),
        partition_by=[exp.column(name) for name in groups],
        order=exp.Order(expressions=ordered),
    )


def _hashed(column: Column, value: exp.Expression) -> exp.Expression:
    """The text of a value for the hash of its row: the same whatever type a number comes in.

    What the schema does not list is one cell, and so one text.
    """
    if column.content != "number" or column.placed:
        return exp.cast(value, "TEXT")
    if column.kind == "codes":
        return exp.cast(exp.cast(_listed(column, value), "BIGINT"), "TEXT")
    if not all(known is None or float(known).is_integer() for known in column.values):
        return exp.cast(exp.cast(value, "DOUBLE"), "TEXT")
    whole = exp.EQ(this=value.copy(), expression=exp.Floor(this=value.copy()))
    most = exp.Literal.number(_EXACT)
    small = exp.Between(this=value.copy(), low=exp.Neg(this=most.copy()), high=most)
    text = exp.cast(exp.cast(value.copy(), "BIGINT"), "TEXT")
    missing = exp.Is(this=value.copy(), expression=exp.Null())
    case = exp.Case().when(missing, exp.cast(exp.Null(), "TEXT"))
    return case.when(exp.and_(whole, small), text).else_(exp.Literal.string("-"))


_EXACT = (1 << 53) - 1
"""Whole numbers up to this are the same in a column of floats."""


def check_types(query: HistogramQuery, types: dict[str, str], *, as_text: bool) -> None:
    """Refuse columns that are not there, or hold another kind of value than is declared."""
    for column in query.columns:
        if column.name not in types:
            advice = "the schema and the source must use the same names"
            raise DataError(missing_column(column.name, types, advice=advice))
        if as_text or is_untyped(types[column.name]):
            continue
        content = _content(types[column.name])
        if content != column.content:
            kind = plain_type(types[column.name])
            raise DataError(
                f"the column {column.name!r} has the type {kind}, but the schema "
                f"declares it as {_WORDS[column.content]}; {_conversion(kind, column)}"
            )
    if query.person is not None:
        check_columns(types, person=query.person)


_WORDS = {
    "text": "texts",
    "number": "numbers",
    "boolean": "true and false",
    "time": "dates and times without a time zone",
}


def _conversion(kind: str, column: Column) -> str:
    """What to do about a column of another type."""
    name = kind.lower()
    if column.content == "time" and (name in _ZONED or "with time zone" in name):
        return (
            "convert it to one time zone and drop the zone: AT TIME ZONE 'UTC' in SQL, "
            '.dt.tz_convert("UTC").dt.tz_localize(None) in pandas'
        )
    return "convert the column, or declare what it holds"


def _content(kind: str) -> str | None:
    """What a column of an engine's type holds; None: nothing that a schema can declare.

    A collated text of Spark may take different letters for one, so it is none of these.
    """
    name = kind.strip().lower()
    base = plain_type(name) if not name.endswith(("]", ">")) else name
    if base in _TEXTS:
        return "text"
    if base in ("boolean", "bool"):
        return "boolean"
    if base in _TIMES:
        return "time"
    return "number" if base in _WHOLE | _REAL else None


def _cleaned(column: Column, node: exp.Expression) -> exp.Expression:
    """A text without the spaces around it, and null where it stands for nothing, if so declared."""
    if column.trim:
        node = exp.Trim(this=node, expression=exp.Literal.string(" "), position="BOTH")
    for text in (*(("",) if column.trim else ()), *column.na):
        node = exp.Nullif(this=node, expression=exp.Literal.string(text))
    return node


def _time(column: Column, node: exp.Expression, dialect: Dialect, as_text: bool) -> exp.Expression:
    """An instant, or its number in a calendar; what a text file writes otherwise is outside."""
    if as_text:
        node = _numeral(node, INSTANT, INSTANTS, instant(NEVER))
    else:
        node = exp.cast(node, INSTANTS)
    if not column.calendar:
        return node
    unit = column.calendar.upper()
    if column.calendar == "weekday":
        unit = "DAYOFWEEK_ISO" if dialect == "spark" else "ISODOW"
    number = exp.cast(exp.Extract(this=exp.var(unit), expression=node.copy()), "BIGINT")
    missing = exp.Is(this=node.copy(), expression=exp.Null())
    low, high = instant("0001-01-01T00:00:00"), instant("9999-12-31T23:59:59.999999")
    known = exp.Between(this=node.copy(), low=low, high=high)
    nothing = exp.cast(exp.Null(), "BIGINT")
    return exp.Case().when(missing, nothing).when(known, number).else_(exp.Literal.number(-1))


def _numeral(
    node: exp.Expression, pattern: str, kind: str, otherwise: exp.Expression
) -> exp.Expression:
    """A text as a number where it is written plainly, null where it is missing."""
    matches = exp.Anonymous(
        this="regexp_full_match", expressions=[node.copy(), exp.Literal.string(pattern)]
    )
    cast = exp.TryCast(this=node.copy(), to=exp.DataType.build(kind))
    value = exp.Coalesce(this=cast, expressions=[otherwise.copy()])
    missing = exp.Is(this=node.copy(), expression=exp.Null())
    return (
        exp.Case().when(missing, exp.cast(exp.Null(), kind)).when(matches, value).else_(otherwise)
    )


def _listed(column: Column, value: exp.Expression) -> exp.Expression:
    """The value, or one for all that the schema does not list: cells travel, not what is outside.

    What stands for them is outside, too.
    """
    inside: Any
    if column.hashed:  # it has some digits, and any of them are a bucket
        return value
    if column.kind == "codes":
        whole = exp.EQ(this=value.copy(), expression=exp.Floor(this=value.copy()))
        low, high = exp.Literal.number(0), exp.Literal.number(column.codes - 1)
        inside = exp.and_(exp.Between(this=value.copy(), low=low, high=high), whole)
        other: exp.Expression = exp.Literal.number(-1)
    elif column.kind == "categories" and column.content == "text":
        texts = [str(text) for text in column.values if text is not None]
        literals: list[exp.Expression] = [exp.Literal.string(text) for text in texts]
        inside = exp.In(this=value.copy(), expressions=literals or [exp.null()])
        other = exp.Literal.string(max(["", *texts], key=len) + "-")
    else:
        return value
    missing = exp.Is(this=value.copy(), expression=exp.Null())
    return exp.Case().when(missing, exp.null()).when(inside, value.copy()).else_(other)


def _md5(text: exp.Expression, dialect: Dialect) -> exp.Expression:
    """MD5 of a text, the same in every engine."""
    return exp.MD5(this=in_utf8(text) if dialect == "postgres" else text)


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _text(node: exp.Expression, dialect: Dialect) -> exp.Expression:
    """A column as text, freed of collations that would take 'a' and 'A' for one."""
    text = exp.cast(node, "TEXT")
    if dialect == "duckdb":
        encoded = exp.Anonymous(this="encode", expressions=[text])
        return exp.Anonymous(this="decode", expressions=[encoded])
    if dialect == "postgres":
        return exp.Collate(this=text, expression=exp.to_identifier("C", quoted=True))
    return bytewise_text(text, BYTEWISE.get(dialect))
