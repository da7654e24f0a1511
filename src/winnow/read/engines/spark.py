"""Spark data frames, counted where they are: only the counts travel."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from winnow.errors import DataError
from winnow.read.engines.keys import typed
from winnow.read.engines.names import own_name
from winnow.read.engines.query import CountQuery
from winnow.read.engines.refusals import SPARK, engine

Counts = dict[str, int]
MERGES = "SELECT 'a' = 'A' OR 'a' = 'a ' OR '\u00e9' = 'e\u0301' AS merges"
"""Whether texts are compared by a collation: every one but UTF8_BINARY merges one of the pairs."""


def check_spark_collation(session: Any) -> None:
    """Refuse a session whose texts are compared by a collation."""
    if session.sql(MERGES).collect()[0]["merges"]:
        raise DataError(
            "this Spark session compares texts by a collation that takes different ones for one; "
            "reset its default collation"
        )


class SparkFrame:
    """A Spark data frame."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def count(self, query: CountQuery, parts: int | None, progress: Any) -> Counts:
        """The counts; Spark splits the work itself."""
        query = typed(query, dict(self.frame.dtypes))
        session = self.frame.sparkSession
        source, labels = own_name("source"), own_name("labels")
        listed = None if query.items is None else exp.select("i").from_(labels)
        try:
            with engine("Spark cannot count this data frame", SPARK):
                self._exact_texts(query).createOrReplaceTempView(source)
                if query.items is not None:
                    texts = session.createDataFrame([(text,) for text in query.items], "i string")
                    texts.createOrReplaceTempView(labels)
                sql = query.over(exp.to_table(source), listed=listed).sql(dialect="spark")
                check_spark_collation(session)
                return {row["i"]: int(row["n"]) for row in session.sql(sql).collect()}
        finally:
            for view in (source, labels):
                session.catalog.dropTempView(view)

    def _exact_texts(self, query: CountQuery) -> Any:
        """The two columns, freed of collations, which would make 'a' and 'A' one."""
        from pyspark.sql import functions

        kinds, columns = dict(self.frame.dtypes), []
        for name in dict.fromkeys(n for n in (query.item, query.user) if n is not None):
            column = self.frame[f"`{name.replace('`', '``')}`"]
            if "collate" in kinds[name].lower():
                column = functions.collate(column, "UTF8_BINARY")
            columns.append(column.alias(name))
        return self.frame.select(*columns)
