"""Sealed tables, and what is read off them without noise: counts, scores, fingerprints.

What leaves here is sealed again, but for ``fingerprint`` and what its owner asks for with
``winnow release --unsafe-show-private``: true answers, which must not be published. To choose
parameters by them is a release without noise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.checks import public_rows
from winnow.core.notebook import Card, InNotebook
from winnow.core.relation import Relation
from winnow.core.schema import Schema, cells_text
from winnow.core.sealed import PublicFact, Sealed
from winnow.core.unit import ROW, Unit
from winnow.core.utility import Utility
from winnow.core.workloads.interval import IntervalPart
from winnow.core.workloads.part import Part, bin_counts, sum_of, table_columns
from winnow.core.workloads.range_table import RangeTablePart
from winnow.core.workloads.workload import Workload
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded
from winnow.read.bound_choice import BoundChoice, refuse_choice
from winnow.read.counts import SealedCounts
from winnow.read.joins import check_rows_of_join
from winnow.read.kept import KeptCounts, KeptRows
from winnow.read.people import BoundedPeople
from winnow.read.scores import Scores, SealedScores

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


class Rows(NamedTuple):
    """The private content: codes of the distinct rows, one array per column, and weights."""

    codes: tuple[Codes, ...]
    weights: Counts


@dataclass(frozen=True, repr=False, eq=False)
class SealedTable(InNotebook):
    """A private table. Its schema is public, its rows are not.

    Neighbours: one person's rows are added or removed (relation 'add-remove') or replaced by
    other rows ('substitution'); a person has at most ``rows_per_person`` rows. So a count of
    rows moves by at most ``rows_per_person``, under either relation.
    """

    schema: Schema
    rows: Sealed[Rows | KeptRows]
    rows_per_person: int = 1
    relation: Relation = Relation.SUBSTITUTION
    unit: Unit = ROW
    """Whose presence is protected."""
    drops: bool = False
    """Whether rows with values outside the schema were left out."""
    people: BoundedPeople | None = None
    """Whose rows were bounded, for an estimate of what that left out; None: nobody's."""
    choice: BoundChoice | None = None
    """Where a release may choose the bound on the rows of a person; ``rows_per_person`` is then the
    largest that it may take."""
    stated_rows: int | None = None
    """A public number of rows that was said of it; ``n`` is its own, where that is public."""
    joined: bool = False
    """Whether it is a join: who has a row in every table is private."""

    def __post_init__(self) -> None:
        least = self.rows_per_person if self.choice is None else 1
        check_dropping(self.drops, self.relation, least)
        check_rows_of_join(self.joined, self.relation, least)

    @property
    def n(self) -> int | None:
        """The number of rows where it is public, else None.

        It is public under substitution with one row per person: neighbours then have the same
        number of rows.
        """
        if self.relation.size_is_public and self.rows_per_person == 1:
            fact = PublicFact.ROWS_UNDER_SUBSTITUTION
            return number_of_rows(self).publish(fact, lambda number: number)
        return None

    @guarded
    def under(self, relation: str | Relation) -> SealedTable:
        """This table under another neighbour relation.

        To ask for substitution is to declare the number of rows public: with one row per person
        ``n`` then says it, also of a table that was read under add-remove. Of a join, or where a
        column declares 'drop', that is refused.
        """
        related = Relation.parse(relation)
        return self._changed(lambda table: table.under(related), relation=related)

    @guarded
    def stating(self, rows: int | None) -> SealedTable:
        """The table with a public number of rows, or none; another one than ``n`` is refused."""
        if rows is not None:
            rows = public_rows(rows, self.n)
        return self._changed(lambda table: table.stating(rows), stated_rows=rows)

    @guarded
    def restrict(self, columns: Sequence[str]) -> SealedTable:
        """The table of some of its columns."""
        places = self.schema.positions(columns)
        schema = self.schema.subset(columns)

        def some(content: Rows | KeptRows) -> Rows | KeptRows:
            if isinstance(content, KeptRows):
                return _SomeColumns(content, places)
            codes, weights = content
            return group(tuple(codes[i] for i in places), weights, schema.shape)

        kept = self.rows.map(some, "rows")
        return self._changed(lambda table: table.restrict(columns), schema=schema, rows=kept)

    def _changed(self, change: Callable[[SealedTable], SealedTable], **fields: Any) -> SealedTable:
        """With other fields; what a release reads under a bound that it chooses is changed, too."""
        choice = None if self.choice is None else self.choice.after(change)
        return replace(self, choice=choice, **fields)

    def _card(self) -> Card:
        card = replace(self.schema._card(), title=repr(self)[1:-1])
        return card.with_notes(("private:", "the rows are sealed; a release is paid for"))

    def __repr__(self) -> str:
        unit = (
            "one row per person"
            if self.rows_per_person == 1
            else f"at most {self.rows_per_person} rows per person"
        )
        return (
            f"<sealed table of {len(self.schema.columns)} columns, "
            f"{cells_text(self.schema.cells)} cells, {unit}, "
            f"neighbours: {self.relation}>"
        )


def sealed_table(
    table: object, relation: str | Relation | None = None, *, choosing: bool = False
) -> SealedTable:
    """The table, under the relation if there is one; what is none is refused.

    ``choosing`` says that a bound on the rows of a person may be left to the release.
    """
    if not isinstance(table, SealedTable):
        raise ParameterError(
            f"the table is a {type(table).__name__}; read it with wn.read_table(source, schema=...)"
        )
    if table.choice is not None and not choosing:
        refuse_choice()
    return table if relation is None else table.under(relation)


def check_planned(table: SealedTable, rows_per_person: int) -> None:
    """Refuse noise that was planned for people with fewer rows."""
    if table.rows_per_person > rows_per_person:
        raise ParameterError(
            f"a person has up to {table.rows_per_person} rows, and the noise is for "
            f"{rows_per_person}; plan it for this table"
        )


class RowsFor:
    """Rows as far as some sets of columns need them."""

    def __init__(self, tables: Mapping[tuple[int, ...], Rows]) -> None:
        self._found = tables

    def of(self, columns: Sequence[int]) -> Rows:
        """Rows that hold these columns; they may hold nothing of others, or fewer of them."""
        wanted = set(columns)
        return next(
            rows for columns_there, rows in self._found.items() if wanted <= set(columns_there)
        )


def rows_for(table: SealedTable, sets: Iterable[Sequence[int]] | None = None) -> Sealed[RowsFor]:
    """The rows of a table for sets of its columns (None: all of them), sealed.

    Of a table that stays in its engine only the cells of these sets travel.
    """
    every = tuple(range(len(table.schema.columns)))

    def collected(content: Rows | KeptRows) -> RowsFor:
        if not isinstance(content, KeptRows):
            return RowsFor({every: content})
        wanted = {every} if sets is None else {tuple(sorted(set(each))) for each in sets}
        largest = [a for a in sorted(wanted) if not any(set(a) < set(b) for b in wanted)]
        by_columns = {}
        nothing = np.empty(0, np.int32)  # to read a column that was not asked for is an error
        for columns, (codes, weights) in zip(largest, content.tables(largest), strict=True):
            codes_by_column = dict(zip(columns, codes, strict=True))
            by_columns[columns] = Rows(
                tuple(codes_by_column.get(i, nothing) for i in every), weights
            )
        return RowsFor(by_columns)

    return table.rows.map(collected, "rows")


def all_rows(table: SealedTable) -> Sealed[Rows]:
    """All distinct rows, sealed; those of a table in an engine travel for it."""
    every = range(len(table.schema.columns))
    return rows_for(table).map(lambda rows: rows.of(every), "rows")


def number_of_rows(table: SealedTable) -> Sealed[int]:
    """How many rows the table has, sealed."""
    return rows_for(table, [()]).map(lambda rows: sum_of(rows.of(()).weights), "number of rows")


class _SomeColumns(KeptRows):
    """Some columns of a table in an engine."""

    def __init__(self, whole: KeptRows, places: Sequence[int]) -> None:
        self._whole, self._places = whole, tuple(places)

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[tuple[tuple[Any, ...], Any]]:
        """Those of the whole table."""
        return self._whole.tables([tuple(self._places[i] for i in each) for each in sets])


def check_dropping(drops: bool, relation: Relation, rows_per_person: int) -> None:
    """Refuse a public number of rows where rows may be left out: it would depend on one value.

    Neighbours under substitution with one row per person have the same number of rows only
    while no row is left out.
    """
    if drops and relation.size_is_public and rows_per_person == 1:
        raise ParameterError(
            'a column declares "drop": how many rows are left is then private, but substitution '
            "with one row per person makes it public; use relation='add-remove' (--relation "
            'add-remove), or declare "other" instead'
        )


def true_counts(table: SealedTable, workload: Workload) -> Sealed[Counts]:
    """The exact answers of a workload on a table, sealed, in the grid units of each query.

    One person moves each by at most rows_per_person times the query's grid. The workload may
    speak about some of the table's columns, by name.
    """
    for column in workload.schema.columns:
        if table.schema.column(column.name) != column:
            raise ParameterError(
                f"the column {column.name!r} is declared differently in the workload's schema and "
                "in the table's; bind the workload to the table's schema"
            )
    places = table.schema.positions(workload.schema.names)
    kept = stays_in_engine(table) and workload.schema.cells > FEW_CELLS
    each = [_columns_of(part) if kept else range(len(places)) for part in workload.parts]
    sets = [[places[i] for i in columns] for columns in each]

    def counted(rows: RowsFor) -> Counts:
        # Grids stay below 2^31, so this refuses tables of four thousand million rows and more only.
        if max(part.grid for part in workload.parts) * sum_of(rows.of(sets[0]).weights) >= 2**63:
            raise DataError("counts in grid units do not fit 64 bits; use a coarser grid")
        if kept:
            parts = []
            for part, wanted in zip(workload.parts, sets, strict=True):
                codes, weights = rows.of(wanted)
                parts.append(part.counts([codes[i] for i in places], weights))
            return _frozen(np.concatenate(parts))
        codes, weights = rows.of(places)
        return _frozen(workload.counts([codes[i] for i in places], weights))

    return rows_for(table, sets).map(counted, f"answers of {workload.size} queries")


def stays_in_engine(table: SealedTable) -> bool:
    """Whether rows stay where they lie until a release asks for some of them."""
    fact = PublicFact.KIND_OF_CONTENT
    return table.rows.publish(fact, lambda content: isinstance(content, KeptRows))


FEW_CELLS = 1 << 14
"""A table of so many cells comes from its engine as a whole."""


def _columns_of(part: Part) -> Sequence[int]:
    """The columns that a part of a workload looks at."""
    whole = table_columns(part)
    if whole is not None:
        return whole
    if isinstance(part, RangeTablePart):
        return part.form.columns
    return (part.column,) if isinstance(part, IntervalPart) else range(len(part.schema.columns))


WIDE_KEYS = Border(
    2**62,
    "keys of rows",
    decides="how many rows there are, where the cells are too many to be numbered",
    ways="rows sorted by the number of their cell; by numbers given anew to what was found",
    same="value",
    because="new numbers keep the order of the keys that they stand for",
)
"""Keys of distinct rows stay below this."""


def group(codes: tuple[Codes, ...], weights: Counts, shape: tuple[int, ...]) -> Rows:
    """The distinct rows of codes, with their weights added up exactly."""
    keys, size = np.zeros(len(weights), np.int64), 1
    for column, cardinality in zip(codes, shape, strict=True):
        if size * cardinality >= WIDE_KEYS.at:  # number the keys found so far anew
            _, keys = np.unique(keys, return_inverse=True)
            size = max(1, len(weights))
        keys = keys * cardinality + column
        size *= cardinality
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return Rows(
        tuple(_frozen(column[first]) for column in codes),
        _frozen(bin_counts(places, weights, len(first))),
    )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def column_counts(table: SealedTable, column: str) -> SealedCounts | SealedScores:
    """How many rows have each declared value of a column; the list of values is public.

    With one row per person a person is in one count. With up to L rows a person can move one
    count by L, which is then the sensitivity.
    """
    sealed_table(table)
    (place,) = table.schema.positions([column])
    labels = table.schema.columns[place].labels

    def counted(rows: RowsFor) -> Scores | KeptCounts:
        codes, weights = rows.of((place,))
        return _frozen(bin_counts(codes[place].astype(np.int64), weights, len(labels)))

    values = rows_for(table, [(place,)]).map(counted, f"counts of {len(labels)} values")
    utility = Utility.declare(table.rows_per_person, monotone=True, relation=table.relation)
    if table.rows_per_person == 1:
        return SealedCounts(values, labels, utility, 1, table.unit, table.people)
    return SealedScores(values, len(labels), labels, utility, table.unit)


def fingerprint(table: SealedTable) -> bytes:
    """SHA-256 of the schema's names, and of the distinct rows and weights in their order."""

    def digest_of(rows: Rows) -> bytes:
        codes, weights = rows
        digest = hashlib.sha256(json.dumps([list(table.schema.names), len(weights)]).encode())
        order = np.lexsort(codes[::-1]) if codes else np.arange(len(weights))
        columns: list[NDArray[Any]] = [*codes, weights]
        for column in columns:
            digest.update(np.ascontiguousarray(column[order], "<i8").tobytes())
        return digest.digest()

    return all_rows(table).publish(PublicFact.FINGERPRINT, digest_of)


def fingerprint_of_files(files: Iterable[Path]) -> bytes:
    """SHA-256 of the bytes of files, whatever they are called and in whatever order.

    It knows the same files again, not the same data in another format.
    """
    digests = []
    for file in files:
        with file.open("rb") as content:
            digests.append(hashlib.file_digest(content, "sha256").digest())
    return hashlib.sha256(b"files:" + b"".join(sorted(digests))).digest()


def unsafe_true_answers(table: SealedTable, workload: Workload) -> NDArray[np.float64]:
    """The true answers of a workload as fractions of the true number of rows: NOT private."""
    fact = PublicFact.UNSAFE_TRUE_ANSWERS
    rows = max(1, number_of_rows(table).publish(fact, lambda number: number))
    counts = true_counts(table, workload).publish(fact, lambda counts: counts)
    return np.asarray(counts / (workload.grids * rows), np.float64)
