"""``winnow.read_table``: a private table from files, frames and databases, sealed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import count as check_count
from winnow.core.column import Column
from winnow.core.declaration import Content
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.unit import ROW, at_most
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded, shown
from winnow.read.bound_choice import GRID, BoundChoice, checked_bound
from winnow.read.counts import check_unit
from winnow.read.crossing import Rows, SealedTable, check_dropping, group
from winnow.read.joins import Join, check_people_of_join, check_rows_of_join
from winnow.read.kept import KeptRows, changed
from winnow.read.options import Reading, TextFormat, reading_of, text_format_of
from winnow.read.people import BoundedPeople
from winnow.read.salts import salt_of_run

if TYPE_CHECKING:  # they need sqlglot
    from winnow.read.engine import Engine
    from winnow.read.engines.histogram import HistogramQuery

Codes = NDArray[np.int32]
_BOOLEANS = {"true": True, "True": True, "TRUE": True}
_BOOLEANS |= {"false": False, "False": False, "FALSE": False}

_WRITTEN: dict[Content, str] = {
    "text": "spaces, leading zeros and letter case count",
    "number": "7 or -7.5 or 1e3, without leading zeros, units or commas",
    "boolean": "true or false",
    "time": "2026-11-30 or 2026-11-30T08:15:00 without a time zone; convert times with a zone, "
    "such as Z or +01:00, to one zone and leave it out",
}
"""How values stand in a text file, by what a column is declared to hold."""


def encode(column: Column, values: NDArray[Any], *, as_text: bool) -> Codes:
    """The code of every value, or an error when one is outside the schema; -1: to be left out.

    The message names the column and nothing else: neither the value nor how many there are.
    """
    codes = codes_of(column, values, as_text=as_text)
    outside = codes < 0
    if outside.any():
        if column.drop:
            return codes
        if not column.other:
            raise DataError(
                f"the column {column.name!r} holds a value outside the schema, or an empty one; "
                f"{_advice(column, as_text)}"
            )
        codes[outside] = column.cardinality - 1
    return codes


def _advice(column: Column, as_text: bool) -> str:
    clip = ', "clip": true' if column.placed else ""
    written = ""
    if as_text:
        written = f" ({_WRITTEN[column.content]}"
        written += ")" if column.trim else '; "trim": true takes spaces away)'
    return (
        f'check how it is written{written}, extend the schema, or declare "other": true{clip} or '
        '"drop": true; winnow schema check says how many rows are outside'
    )


def codes_of(column: Column, values: NDArray[Any], *, as_text: bool) -> Codes:
    """The code of every value, -1 for those outside the schema."""
    nulls = np.asarray(np.ma.getmaskarray(values))
    array = np.ma.getdata(values)
    if column.kind == "categories":
        codes = _categories(column, array, nulls, as_text)
    elif column.hashed:
        prefixes = (None if no else text for text, no in zip(array.tolist(), nulls, strict=True))
        texts = (-1 if text is None else int(text, 16) % column.codes for text in prefixes)
        codes = np.fromiter(texts, np.int32, len(array))
    else:  # codes as they are, bins and points of a grid as the engine found them
        if array.dtype.kind == "f":
            nulls = nulls | np.isnan(array)
        found_missing = column.placed and column.missing_label is not None
        fits = (array >= 0) & (array < column.codes + found_missing) & ~nulls
        if array.dtype.kind == "f":
            fits &= array == np.floor(array)
        codes = np.full(array.shape, -1, np.int32)
        codes[fits] = array[fits].astype(np.int32)
    if column.missing_label is not None:
        codes[nulls] = column.codes
    return codes


def _categories(
    column: Column, array: NDArray[Any], nulls: NDArray[np.bool_], as_text: bool
) -> Codes:
    known = {value: code for code, value in enumerate(column.values) if value is not None}
    missing = column.values.index(None) if None in column.values else -1
    if as_text and missing < 0:
        missing = known.get("", -1)  # a text file writes an empty text and nothing alike
    if column.content == "number":
        if array.dtype.kind == "f" and not as_text:  # pandas writes missing numbers as NaN
            nulls = nulls | np.isnan(array)
        distinct, places = np.unique(array, return_inverse=True)
        codes = np.array([known.get(v, -1) for v in distinct.tolist()], np.int32)[places]
    elif column.content == "boolean" and as_text:
        codes = _looked_up(array, {text: known.get(value, -1) for text, value in _BOOLEANS.items()})
    else:
        codes = _looked_up(array, known)
    codes[nulls] = missing
    return codes


def _looked_up(array: NDArray[Any], known: dict[Any, int]) -> Codes:
    values = array.tolist()
    return np.fromiter((known.get(value, -1) for value in values), np.int32, len(values))


class _KeptTable(KeptRows):
    """A table that is asked for its cells; the number of its rows must stay what it was."""

    def __init__(self, engine: Engine, query: HistogramQuery, memory: str) -> None:
        self._engine, self._query, self._memory = engine, query, memory
        self._rows: int | None = None

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[tuple[tuple[Any, ...], Any]]:
        """Sets of columns in one query, each with the codes of its cells."""
        from winnow.read.engine import refusing

        if self._rows is not None and not any(sets):  # it is compared with every answer
            return [((), np.array([self._rows]))] * len(sets)
        asked = tuple(dict.fromkeys((*sets, ())))
        columns = self._query.columns
        with refusing("the source cannot be read", memory=self._memory):
            (cells, weights), as_text = self._engine.distinct(replace(self._query, sets=asked))
            width = len(columns)
            summed = np.array([np.asarray(each) for each in cells[width:]], np.int64)
            groups = {}
            for each in asked:
                wanted = np.array([i not in each for i in range(width)], np.int64)
                here = np.flatnonzero((summed == wanted[:, None]).all(axis=0))
                codes = tuple(encode(columns[i], cells[i][here], as_text=as_text) for i in each)
                shape = tuple(columns[i].cardinality for i in each)
                groups[each] = group(codes, weights[here], shape)
        total = int(groups[()].weights.sum())
        if self._rows is not None and total != self._rows:
            raise changed()
        self._rows = total
        return [(groups[each].codes, groups[each].weights) for each in sets]


@guarded
def read_table(
    source: Any,
    *,
    schema: Schema | Mapping[str, Any] | str | Path,
    columns: Sequence[str] | None = None,
    person: str | None = None,
    unit: str | None = None,
    max_rows: int | str = 1,
    relation: str | Relation = Relation.SUBSTITUTION,
    rows: int | None = None,
    text: TextFormat | None = None,
    reading: Reading | None = None,
) -> SealedTable:
    """Read a private table over a public schema; the result is sealed.

    ``source`` is a CSV, TSV or Parquet file (a path, a pattern, or a list of them), a pandas,
    Polars or Arrow table, a Spark data frame, a DuckDB relation, a pair (connection, table or
    query) of a DuckDB or psycopg connection, or a ``wn.Join`` of several of these. The engine
    groups and counts the rows; only the distinct rows travel.

    ``schema`` declares the columns to read, and ``columns`` chooses some of them. Nothing is
    learned from the data. A value outside the schema is an error, unless the column declares
    'other', 'clip' or 'drop'. Columns of text files are read as the schema declares them ('7' and
    '7.0' are the number 7, '007' is not). In other sources, columns must have the declared kind: a
    text is not a number, and true is not 1.

    The privacy unit is one row (``unit="row"``), which is one person only if nobody has two rows.
    Or, with ``person=`` a column of people, it is one person with at most ``max_rows`` rows. If
    somebody has more, a uniform sample is kept, chosen by a keyed hash of the person's own rows.
    With ``max_rows="auto"``, ``winnow.tabulate`` chooses the bound: it spends a part of epsilon on
    how many rows people have. Rows without a person are left out.

    One line of a text file is one row, as for ``winnow.counts``. ``text=wn.TextFormat(...)``
    describes text files.

    If a column declares 'drop', rows with a value outside are left out, after the bound on the
    rows of a person. Whether a row is left out depends on that row alone, so one person still
    moves at most the same number of rows. The number of rows is then private. So 'substitution'
    with one row per person, which declares it public, is refused.

    ``relation`` says what neighbours are. Under 'substitution' with one row per person the number
    of rows is public. Under 'add-remove' it is private. ``rows`` then states a public number, from
    an earlier release or a guess; the answers of ``winnow.ask`` are fractions of it.

    ``reading=wn.Reading(...)`` limits the memory for reading, and says where the rows stay. By
    default the distinct rows are collected. With ``keep="engine"`` they stay where they are, and a
    release asks for the cells of the marginal tables that it needs, in one query. A value outside
    the schema is then noticed after the charge, and 'drop' is refused. Methods that look at whole
    rows collect the distinct ones.
    """
    from winnow.read.engine import refusing
    from winnow.read.engines.histogram import HistogramQuery
    from winnow.read.engines.registry import engine_for

    text = text_format_of(text)
    how = reading_of(reading, "memory", "keep", "salt")
    memory = how.memory
    declared = Schema.parse(schema)
    if columns is not None:
        declared = declared.subset(columns)
    if person is not None and not isinstance(person, str):
        raise ParameterError(f"person={shown(person)} is not the name of a column; give a text")
    auto = checked_bound("max_rows", max_rows)
    if auto and person is None:
        raise ParameterError(
            "max_rows='auto' chooses a bound on the rows of a person; give person="
        )
    max_rows = GRID[-1] if auto else max_rows
    check_count(max_rows=max_rows)
    if rows is not None:
        check_count(rows=rows)
    if person is None and max_rows != 1:
        raise ParameterError(
            f"max_rows={max_rows} needs person=: without it every row is a person of its own"
        )
    check_unit(unit, person, "person")
    bound = None if auto else int(max_rows)
    who = ROW if person is None else at_most(person, (bound, "row"))
    who = replace(who, notes=declared.notes)
    related = Relation.parse(relation)
    check_people_of_join(source, person)
    joined, least = isinstance(source, Join), 1 if auto else int(max_rows)
    check_rows_of_join(joined, related, least)
    salt = salt_of_run(how.salt)
    key = os.urandom(16).hex() if salt is None else hashlib.blake2b(str(salt).encode()).hexdigest()
    query = HistogramQuery(declared.columns, person, int(max_rows), key)

    drops = any(column.drop for column in declared.columns)
    check_dropping(drops, related, least)
    used = [*declared.names, *([] if person is None else [person])]

    def under(bound: int) -> SealedTable:
        return read_table(
            source, schema=declared, person=person, max_rows=bound, relation=related, rows=rows,
            text=text, reading=replace(how, salt=key if salt is None else salt),
        )  # fmt: skip

    def made(engine: Engine, content: Sealed[Rows | KeptRows]) -> SealedTable:
        choice = people = None
        if auto and person is not None:
            choice = BoundChoice.of_rows(engine, person, under)
        elif person is not None:
            people = BoundedPeople.of_rows(engine, person, int(max_rows))
        return SealedTable(
            declared, content, int(max_rows), related, who, drops, people, choice, joined=joined
        ).stating(rows)

    if how.keep == "engine":
        if drops:
            raise ParameterError(
                "a column declares \"drop\", which needs every row; read without keep='engine', or "
                'declare "other" instead'
            )
        with refusing("the source cannot be read", memory=memory):
            seen = engine_for(source, memory, used, text, joins=True)
            kept = _KeptTable(seen, query, memory)
            kept.tables([()])  # what cannot be read is refused before anything is charged
        return made(seen, Sealed(kept, "rows"))
    with refusing("the source cannot be read", memory=memory):
        seen = engine_for(source, memory, used, text, joins=True)
        (values, weights), as_text = seen.distinct(query)
        pairs = zip(declared.columns, values, strict=True)
        codes = tuple(encode(column, codes_here, as_text=as_text) for column, codes_here in pairs)
        if drops:
            kept = np.logical_and.reduce([codes_here >= 0 for codes_here in codes])
            codes, weights = tuple(codes_here[kept] for codes_here in codes), weights[kept]
        grouped = group(codes, weights, declared.shape)
    return made(seen, Sealed(grouped, "rows"))
