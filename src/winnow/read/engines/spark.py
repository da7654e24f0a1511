"""Spark data frames, counted where they are: only the counts travel."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from sqlglot import exp

from winnow.core.noisy_top.keyed import Worker
from winnow.errors import DataError
from winnow.read.engine import SPARK, Counts, Distinct, Engine, Progress, Source, own_name, refusing
from winnow.read.engines.columns import check_columns, typed
from winnow.read.engines.distinct import distinct_of_rows
from winnow.read.engines.histogram import HistogramQuery, check_types
from winnow.read.engines.kept import Asking, EngineKept, KeptQuery, Wanted
from winnow.read.engines.query import CountQuery, no_more_than
from winnow.read.engines.row_sources import YES, RowSource, batches_of, receiver
from winnow.read.engines.row_sources import Wanted as WantedRows
from winnow.read.engines.scored import scores_query
from winnow.read.joins import Join
from winnow.read.kept import KeptCounts

MERGES = "SELECT 'a' = 'A' OR 'a' = 'a ' OR '\u00e9' = 'e\u0301' AS merges"
"""Whether texts are compared by a collation: every one but UTF8_BINARY merges one of the pairs."""


def check_spark_collation(session: Any) -> None:
    """Refuse a session whose texts are compared by a collation."""
    if session.sql(MERGES).collect()[0]["merges"]:
        raise DataError(
            "this Spark session compares texts by a collation that takes different ones for one; "
            "reset its default collation"
        )


_ENCRYPTION = ("spark.network.crypto.enabled", "spark.io.encryption.enabled")


def _tell_of_open_network(session: Any) -> None:
    """Say that the key of a draw travels over a network that Spark does not encrypt."""
    try:
        said = {name: session.conf.get(name, "false") for name in ("spark.master", *_ENCRYPTION)}
    except Exception:  # a server that does not tell its settings
        said = {}
    off = [name for name in _ENCRYPTION if said.get(name) != "true"]
    if off and not str(said.get("spark.master", "")).startswith("local"):
        warnings.warn(
            f"the key of this draw travels to Spark's executors, and {' and '.join(off)} is off: "
            "who reads that traffic or their disks can know the noise",
            stacklevel=2,
        )


class SparkFrame(Engine):
    """A Spark data frame."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @classmethod
    def of(cls, source: Source) -> Self | None:
        """A data frame of PySpark."""
        return cls(source.given) if source.module == "pyspark" else None

    def count(
        self,
        query: CountQuery,
        parts: int | None,
        progress: Progress | None,
        most: int | None = None,
    ) -> Counts | None:
        """The counts; Spark splits the work itself."""
        query = typed(query, dict(self.frame.dtypes))
        with refusing("Spark cannot count this data frame", SPARK), self.asked(query) as asked:
            counts = no_more_than(most, asked.counts).sql(dialect="spark")
            rows = self.frame.sparkSession.sql(counts).collect()
        counted = {row["i"]: int(row["n"]) for row in rows}
        return None if most is not None and len(counted) > most else counted

    def keep(self, query: CountQuery, parts: int | None, progress: Progress | None) -> KeptCounts:
        """Nothing is asked before a release."""
        return _SparkKept(self, typed(query, dict(self.frame.dtypes)))

    @contextmanager
    def asked(self, query: CountQuery) -> Iterator[KeptQuery]:
        """The counts over views of the frame and of the public list, which are then dropped."""
        session = self.frame.sparkSession
        source, labels = own_name("source"), own_name("labels")
        numbered = listed = None
        try:
            check_spark_collation(session)
            self._exact_texts(query).createOrReplaceTempView(source)
            if query.items is not None:
                texts = [(text, place) for place, text in enumerate(query.items)]
                frame = session.createDataFrame(texts, "i string, p bigint")
                frame.createOrReplaceTempView(labels)
                listed = exp.select("i").from_(labels)
                numbered = exp.select("i", "p").from_(labels)
            yield KeptQuery(query, query.over(exp.to_table(source), listed=listed), numbered)
        finally:
            for view in (source, labels):
                session.catalog.dropTempView(view)

    def distinct(self, query: HistogramQuery) -> tuple[Distinct, bool]:
        """The distinct rows."""
        zoned = {"timestamp": "timestamp with time zone"}  # it is read in the session's zone
        types = {name: zoned.get(kind, kind) for name, kind in self.frame.dtypes}
        check_types(query, types, as_text=False)
        view, session = own_name("table"), self.frame.sparkSession
        check_spark_collation(session)
        try:
            self.frame.createOrReplaceTempView(view)
            asked = query.over(exp.to_table(view), types, "spark", as_text=False)
            rows = session.sql(asked.sql(dialect="spark")).collect()
        finally:
            session.catalog.dropTempView(view)
        return distinct_of_rows([tuple(row) for row in rows], query), False

    def check_scores(self, id: str, score: str) -> None:
        """By the types of the columns."""
        scores_query(dict(self.frame.dtypes), exp.to_table("frame"), id, score)

    def contenders(self, worker: Worker, id: str, score: str) -> list[bytes]:
        """Each partition where it lies; Winnow has to be installed there.

        The key travels in the task, never in a query. Repeated and speculative tasks answer with
        the same contenders.
        """
        session, view = self.frame.sparkSession, own_name("scores")
        _tell_of_open_network(session)
        asked = scores_query(dict(self.frame.dtypes), exp.to_table(view), id, score)

        def answered(batches: Any) -> Iterator[Any]:
            import pyarrow

            part = worker.of_batches(batches)
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array([part])], ["part"])

        try:
            self.frame.createOrReplaceTempView(view)
            pairs = session.sql(asked.sql(dialect="spark"))
            rows = pairs.mapInArrow(answered, "part binary").collect()
        finally:
            session.catalog.dropTempView(view)
        return [bytes(row["part"]) for row in rows]

    @contextmanager
    def rows(self, private: Any, used: Sequence[str]) -> Iterator[RowSource]:
        """Partition by partition."""
        yield _FrameRows(private, self.frame)

    def _exact_texts(self, query: CountQuery) -> Any:
        """The columns, their texts compared by their bytes."""
        return self.frame.select(*(exact(self.frame, name).alias(name) for name in query.columns))


_TEXTS = ("string", "varchar", "char")


def exact(frame: Any, name: str) -> Any:
    """A column whose texts are freed of collations, and are texts: others are as if missing.

    Spark takes any bytes for a text, and bytes that are no UTF-8 come here as one and the same
    sign: the count of an item would be taken for that of another.
    """
    from pyspark.sql import functions

    column, kind = frame[f"`{name.replace('`', '``')}`"], dict(frame.dtypes)[name].lower()
    if "collate" in kind:
        column = functions.collate(column, "UTF8_BINARY")
    return functions.try_validate_utf8(column) if kind.startswith(_TEXTS) else column


def joined_frames(frames: list[Any], on: list[str], join: Join, used: Sequence[str]) -> Any:
    """The frames as one, joined on texts that are compared by their bytes."""
    joined, known = frames[0], set(frames[0].columns)
    for frame, name in zip(frames, on, strict=True):
        check_columns(dict(frame.dtypes), join=name)
    for name in used:
        if name not in on and sum(name in frame.columns for frame in frames) > 1:
            raise DataError(
                f"the column {name!r} is in several of the joined tables; rename it in all but one"
            )
    for frame, name in zip(frames[1:], on[1:], strict=True):
        key = own_name("key")
        other = frame.withColumn(key, exact(frame, name).cast("string"))
        other = other.drop(*(each for each in frame.columns if each in known))
        same = exact(joined, name).cast("string") == other[key]
        joined = joined.join(other, on=same, how=join.how).drop(key)
        known |= set(frame.columns)
    return joined


class _SparkKept(EngineKept):
    """Counts that Spark makes anew for each question; nothing is persisted.

    Spark has no snapshot of a frame: what changed is noticed by its size.
    """

    def __init__(self, frame: SparkFrame, query: CountQuery) -> None:
        super().__init__(query, SPARK)
        self._frame = frame

    @contextmanager
    def asking(self) -> Iterator[tuple[Asking, KeptQuery]]:
        """Views for as long as the questions take."""
        asking = _SparkAsking(self._frame.frame.sparkSession)
        with self._frame.asked(self.query) as asked:
            try:
                yield asking, asked
            finally:
                asking.close()


class _SparkAsking(Asking):
    """What is asked for comes as a view: Spark writes the text of a query into its event log."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._views: list[str] = []

    def rows(self, query: exp.Select) -> list[tuple[Any, ...]]:
        """The answer."""
        return [tuple(row) for row in self._session.sql(query.sql(dialect="spark")).collect()]

    def table(self, wanted: list[Wanted]) -> exp.Expression:
        """A view of the values."""
        kind = "string" if isinstance(wanted[0][1], str) else "bigint"
        view = own_name("wanted")
        self._views.append(view)
        frame = self._session.createDataFrame(wanted, f"n bigint, b {kind}")
        frame.createOrReplaceTempView(view)
        return exp.to_table(view, alias="w")

    def close(self) -> None:
        """Drop the views."""
        for view in self._views:
            self._session.catalog.dropTempView(view)


class _FrameRows(RowSource):
    """A Spark data frame."""

    def __init__(self, private: Any, frame: Any) -> None:
        self._frame = frame
        super().__init__(private, dict(frame.dtypes))

    def bring(self, wanted: WantedRows, table: str) -> None:
        """Partition by partition, as Spark has them ready."""
        check_spark_collation(self._frame.sparkSession)
        receive = receiver(self.private, table, wanted.kinds())
        for rows in batches_of(map(tuple, self._rows(wanted).toLocalIterator())):
            receive(rows)

    def _rows(self, wanted: WantedRows) -> Any:
        from pyspark.sql import functions as f

        texts = {alias: self._text(name) for alias, name in wanted.texts.items()}
        truths = {
            alias: f.coalesce(f.lower(f.trim(self._text(name))).isin(*YES), f.lit(False))
            for alias, name in wanted.truths.items()
        }
        columns = [expression.alias(alias) for alias, expression in (texts | truths).items()]
        rows = self._frame.select(*columns)
        for alias in texts:
            rows = rows.where(rows[alias].isNotNull())
        rows = rows.distinct() if wanted.distinct else rows
        return rows if wanted.most is None else rows.limit(wanted.most + 1)

    def _text(self, name: str) -> Any:
        return exact(self._frame, name).cast("string")
