"""Tables, queries and relations of the user's own DuckDB connection.

Nothing is created or set there: the one expression of :mod:`winnow.read.engines.query` is asked,
and the connection's own settings of memory and spilling hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from sqlglot import exp

from winnow.core.noisy_top.keyed import Worker
from winnow.errors import DataError
from winnow.read.engine import TABLE, Counts, Distinct, Engine, Progress, Source, own_name, refusing
from winnow.read.engines.basket_query import BasketQuery
from winnow.read.engines.columns import column_types, table_or_query, typed
from winnow.read.engines.distinct import duck_distinct
from winnow.read.engines.histogram import HistogramQuery
from winnow.read.engines.kept import Asking, EngineKept, KeptQuery
from winnow.read.engines.packed_pairs import PackedPairs, people_of_part
from winnow.read.engines.private_duck import DuckAsking, run
from winnow.read.engines.query import (
    CountQuery,
    column,
    listed_in_one_text,
    no_more_than,
    numbered_in_one_text,
)
from winnow.read.engines.row_sources import RowSource, Wanted, batches, batches_of, receiver
from winnow.read.engines.scored import duck_contenders, scores_query
from winnow.read.kept import KeptCounts


class DuckTable(Engine):
    """A table, query or relation that DuckDB can see through a connection."""

    def __init__(self, connection: Any, source: exp.Expression) -> None:
        self.connection, self.source = connection, source

    @classmethod
    def of(cls, source: Source) -> Self | None:
        """A relation, or a pair of a connection and a table or query."""
        if type(source.given).__name__ == "DuckDBPyRelation":
            relation = RelationConnection(source.given)
            return cls(relation, exp.to_table(relation.name))
        pair = source.connected_by("duckdb")
        return None if pair is None else cls(pair[0], table_or_query(pair[1], "duckdb"))

    def types(self) -> dict[str, str]:
        """The columns and their types."""
        if isinstance(self.connection, RelationConnection):
            return self.connection.column_types()
        return column_types(self.connection, self.source)

    def count(
        self,
        query: CountQuery,
        parts: int | None,
        progress: Progress | None,
        most: int | None = None,
    ) -> Counts | None:
        """The counts, in the given number of parts, rounded up to a power of two."""
        with refusing("the source cannot be counted", TABLE):
            check_collation(self.connection)
            query = self._typed(query)
            return self._counted(query, parts or 1, progress, most)

    def keep(self, query: CountQuery, parts: int | None, progress: Progress | None) -> KeptCounts:
        """Nothing is asked before a release; ``parts`` splits the items that are private."""
        with refusing("the source cannot be counted", TABLE):
            check_collation(self.connection)
            return _DuckKept(self, self._typed(query), parts or 1)

    def distinct(self, query: HistogramQuery) -> tuple[Distinct, bool]:
        """The distinct rows."""
        check_collation(self.connection)
        return duck_distinct(self.connection, self.source, self.types(), query), False

    def check_scores(self, id: str, score: str) -> None:
        """By the types of the columns."""
        scores_query(self.types(), self.source, id, score)

    def contenders(self, worker: Worker, id: str, score: str) -> list[bytes]:
        """Through this process, a batch at a time."""
        asked = scores_query(self.types(), self.source, id, score)
        return duck_contenders(worker, self.connection, asked)

    @contextmanager
    def rows(self, private: Any, used: Sequence[str]) -> Iterator[RowSource]:
        """Through batches: nothing is created or set in the user's database."""
        yield _DuckRows(private, self)

    def _counted(
        self,
        query: CountQuery,
        parts: int,
        progress: Progress | None,
        most: int | None,
    ) -> Counts | None:
        parts = 1 << (parts - 1).bit_length()
        totals = Counts()
        for part in range(parts):
            split = people_of_part(query.apart, part, parts)
            asked = self.counts(query, *split, most=most)
            for item, count in run(self.connection, asked.sql(dialect="duckdb")):
                totals[item] = totals.get(item, 0) + count
            if most is not None and len(totals) > most:
                return None
            if progress is not None:
                progress(part + 1, parts)
        return totals

    def _typed(self, query: CountQuery) -> CountQuery:
        """Texts are compared as bytes: a collation would make 'a' and 'A' one.

        A merged pair of people would be bounded as one, and either could then move more
        counts than the bound says.
        """
        return replace(typed(query, self.types()), encoded=True)

    def counts(
        self, query: CountQuery, *filters: exp.Expression, most: int | None = None
    ) -> exp.Select:
        """The counts as one query; of more than ``most`` items one more than that is enough."""
        baskets = isinstance(query, BasketQuery)
        if not baskets and query.person is not None and query.items_per_person is not None:
            names = own_name("items"), own_name("people")
            return PackedPairs(query, self.source, *names).in_one(*filters, most=most)
        source = self._exact_texts(query) if baskets else self.source.copy()
        listed = listed_in_one_text(query.items)
        return no_more_than(most, query.over(source, *filters, listed=listed))

    def _exact_texts(self, query: CountQuery) -> exp.Expression:
        """The source with its columns as texts that have no collation."""
        columns = []
        for name in query.columns:
            text = exp.cast(column(name), "TEXT")
            columns.append(exp.alias_(_decoded(text), name, quoted=True))
        return exp.select(*columns).from_(self.source.copy()).subquery("exact_texts")


class _DuckKept(EngineKept):
    """Counts in the user's own database, in one transaction where none is open yet."""

    def __init__(self, table: DuckTable, query: CountQuery, parts: int) -> None:
        super().__init__(query, TABLE)
        self._table, self._connection = table, table.connection
        whole = query.items is not None or query.competing
        self._parts = 1 if whole else 1 << (parts - 1).bit_length()
        """Items may be counted apart where a person's items do not compete."""

    @contextmanager
    def asking(self) -> Iterator[tuple[Asking, KeptQuery]]:
        """A relation does not show its connection; it has the checks of sizes alone."""
        check_collation(self._connection)
        splits = (people_of_part(self.query.item, p, self._parts) for p in range(self._parts))
        first, *others = (self._table.counts(self.query, *split) for split in splits)
        numbered = numbered_in_one_text(self.query.items)
        asked = KeptQuery(self.query, first, numbered, tuple(others))
        relation = isinstance(self._connection, RelationConnection)
        own = not relation and not _in_transaction(self._connection)  # the user's is as good
        if own:
            self._connection.execute("BEGIN TRANSACTION")
        try:
            yield DuckAsking(self._connection), asked
        finally:
            if own:
                self._connection.execute("ROLLBACK")


def _in_transaction(connection: Any) -> bool:
    """Whether one is open: to begin another would abort it, and each question alone has its own."""
    asked = "SELECT txid_current()"
    first, second = (connection.execute(asked).fetchall() for _ in range(2))
    return bool(first == second)


class _DuckRows(RowSource):
    """A table, query or relation of the user's own DuckDB."""

    def __init__(self, private: Any, table: DuckTable) -> None:
        self._table = table
        super().__init__(private, table.types())

    def bring(self, wanted: Wanted, table: str) -> None:
        """Nothing is created or set in the user's database."""
        check_collation(self._table.connection)
        rows = wanted.over(self._table.source, _decoded).sql(dialect="duckdb")
        run(_Batches(self._table.connection, receiver(self.private, table, wanted.kinds())), rows)


class _Batches:
    """A DuckDB connection whose rows go to a receiver, batch by batch."""

    def __init__(self, connection: Any, receive: Callable[[Any], None]) -> None:
        self.connection, self.receive = connection, receive
        if hasattr(connection, "interrupt"):  # a relation does not show its connection
            self.interrupt = connection.interrupt

    def execute(self, sql: str) -> _Batches:
        self.result = self.connection.execute(sql)
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        if isinstance(self.connection, RelationConnection):  # keeps no result between calls
            taken = batches_of(self.result.fetchall())
        else:
            taken = batches(self.result.fetchmany)
        for rows in taken:
            self.receive(rows)
        return []


def _decoded(text: exp.Expression) -> exp.Expression:
    encoded = exp.Anonymous(this="encode", expressions=[text])
    return exp.Anonymous(this="decode", expressions=[encoded])


def check_collation(connection: Any) -> None:
    """Refuse a connection with a default collation: no cast frees a text of it.

    All but a few take different texts for one, 'nfc' and the languages too: whichever it is,
    none is needed here.
    """
    ((default,),) = connection.execute("SELECT current_setting('default_collation')").fetchall()
    if default:
        raise DataError(
            f"this DuckDB connection compares texts by the collation {default!r}, which may take "
            "different people for one; run RESET default_collation on it"
        )


class RelationConnection:
    """A DuckDB relation, asked like a connection that has it as the table `name`."""

    def __init__(self, relation: Any) -> None:
        self.relation, self.name = relation, own_name("relation")

    def execute(self, sql: str) -> Any:
        """Run a query over the relation."""
        return self.relation.query(self.name, sql)

    def column_types(self) -> dict[str, str]:
        """The columns and their types."""
        return dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))
