"""Tables, queries and relations of the user's own DuckDB connection.

Nothing is created or set there: the one expression of :mod:`winnow.sealed.engines.query` is asked,
and the connection's own settings of memory and spilling hold.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from winnow.errors import InputError
from winnow.sealed.engines.described import column_types, typed
from winnow.sealed.engines.interrupts import run
from winnow.sealed.engines.packed import people_of_part
from winnow.sealed.engines.private_duck import Counts, Progress
from winnow.sealed.engines.query import CountQuery, listed_in_one_text


class DuckTable:
    """A table, query or relation that DuckDB can see through a connection."""

    def __init__(self, connection: Any, source: exp.Expression) -> None:
        self.connection, self.source = connection, source

    def count(self, query: CountQuery, parts: int | None, progress: Progress | None) -> Counts:
        """The counts, in the given number of parts, rounded up to a power of two."""
        import duckdb

        try:
            if isinstance(self.connection, RelationConnection):
                types = self.connection.column_types()
            else:
                types = column_types(self.connection, self.source)
            query = typed(query, types)
            source = self._exact_texts(query)
            return self._counted(source, query, parts or 1, progress)
        except duckdb.Error as error:  # the engine's own message may quote values
            kind = type(error).__name__.removesuffix("Exception")
        raise InputError(
            f"the source cannot be counted (DuckDB: {kind}); check that the table or query "
            "exists and runs by itself"
        )

    def _counted(
        self, source: exp.Expression, query: CountQuery, parts: int, progress: Progress | None
    ) -> Counts:
        parts = 1 << (parts - 1).bit_length()
        totals, listed = Counts(), listed_in_one_text(query.items)
        for part in range(parts):
            split = people_of_part(query.user or query.item, part, parts)
            asked = query.over(source.copy(), *split, listed=listed)
            for item, count in run(self.connection, asked.sql(dialect="duckdb")):
                totals[item] = totals.get(item, 0) + count
            if progress is not None:
                progress(part + 1, parts)
        return totals

    def _exact_texts(self, query: CountQuery) -> exp.Expression:
        """The source with its two columns freed of collations, which would make 'a' and 'A' one.

        A merged pair of people would be bounded as one, and either could then move more
        counts than the bound says.
        """
        check_collation(self.connection)
        columns = []
        for name in dict.fromkeys(n for n in (query.item, query.user) if n is not None):
            value: exp.Expression = exp.column(exp.to_identifier(name, quoted=True))
            if not (query.whole and name == query.user):
                text = exp.cast(value, "TEXT")
                encoded = exp.Anonymous(this="encode", expressions=[text])
                value = exp.Anonymous(this="decode", expressions=[encoded])
            columns.append(exp.alias_(value, name, quoted=True))
        return exp.select(*columns).from_(self.source.copy()).subquery("exact_texts")


def check_collation(connection: Any) -> None:
    """Refuse a connection with a default collation: no cast frees a text of it.

    All but a few take different texts for one, 'nfc' and the languages too: whichever it is,
    none is needed here.
    """
    ((default,),) = connection.execute("SELECT current_setting('default_collation')").fetchall()
    if default:
        raise InputError(
            f"this DuckDB connection compares texts by the collation {default!r}, which may take "
            "different people for one; run RESET default_collation on it"
        )


class RelationConnection:
    """A DuckDB relation, asked like a connection that has it as the table `source`."""

    def __init__(self, relation: Any) -> None:
        self.relation = relation

    def execute(self, sql: str) -> Any:
        """Run a query over the relation."""
        return self.relation.query("source", sql)

    def column_types(self) -> dict[str, str]:
        """The columns and their types."""
        return dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))
