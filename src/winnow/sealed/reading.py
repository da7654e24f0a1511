"""``winnow.read_table``: a private table from files, frames and databases, sealed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from winnow.domain.checks import count as check_count
from winnow.domain.neighbours import Relation
from winnow.domain.schema import Schema
from winnow.errors import InputError
from winnow.sealed.counts import _engine
from winnow.sealed.seal import Sealed
from winnow.sealed.tables import Rows, SealedTable, group


def read_table(
    source: Any,
    *,
    schema: Schema | Mapping[str, Any] | str | Path,
    columns: Sequence[str] | None = None,
    person: str | None = None,
    max_rows_per_person: int = 1,
    relation: str | Relation = Relation.SUBSTITUTION,
    memory: str = "2GB",
    salt: str | None = None,
) -> SealedTable:
    """Read a private table over a public schema; the result is sealed.

    ``source`` is a CSV, TSV or Parquet file (a path, a pattern, or a list of them), a pandas,
    Polars or Arrow table, a Spark data frame, a DuckDB relation, or a pair (connection, table
    or query) of a DuckDB or psycopg connection. Rows are grouped and counted there; only the
    distinct rows travel.

    ``schema`` declares the columns to read, and ``columns`` chooses some of them. Nothing is
    learned from the data: a value outside the schema is an error unless 'other' or 'clip' is
    declared. Columns of text files are read as the schema declares them ('7' and '7.0' are
    the number 7, '007' is not); other sources must have columns of the declared kind: text is
    not taken for a number, nor true for 1.

    The privacy unit is one row per person, or, with ``person`` naming a column, one person
    with at most ``max_rows_per_person`` rows: further rows are left out, chosen by a keyed
    hash of the person's own rows (``salt``: fresh and secret by default). Rows without a
    person are left out too.

    ``relation`` says what neighbours are. Under 'substitution' the number of rows is public
    when a person has one row; under 'add-remove' it is private.
    """
    from winnow.sealed.encoding import encode
    from winnow.sealed.engines.distinct import distinct_rows
    from winnow.sealed.engines.histogram import HistogramQuery
    from winnow.sealed.engines.quiet import quietly

    declared = Schema.parse(schema)
    if columns is not None:
        declared = declared.subset(columns)
    if person is not None and not isinstance(person, str):
        raise InputError(f"person={person!r} is not the name of a column; give a text")
    check_count(max_rows_per_person=max_rows_per_person)
    if person is None and max_rows_per_person != 1:
        raise InputError(
            f"max_rows_per_person={max_rows_per_person} needs person=: without it every row is a "
            "person of its own"
        )
    unit = Relation.parse(relation)
    key = os.urandom(16).hex() if salt is None else hashlib.blake2b(str(salt).encode()).hexdigest()
    query = HistogramQuery(declared.columns, person, int(max_rows_per_person), key)

    used = [*declared.names, *([] if person is None else [person])]

    def read() -> Rows:
        (values, weights), as_text = distinct_rows(_engine(source, memory, used), query)
        pairs = zip(declared.columns, values, strict=True)
        codes = tuple(encode(column, held, as_text=as_text) for column, held in pairs)
        return group(codes, weights, declared.shape)

    rows = Sealed(quietly(read), "rows")
    return SealedTable(declared, rows, int(max_rows_per_person), unit)
