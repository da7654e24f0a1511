"""A private in-memory DuckDB that counts files and data frames within a memory limit.

People are split by a hash of their name into parts that are counted one after another: every
person is wholly in one part, so bounding stays per person and counts add up. Nothing is ever
spilled to disk: a part that does not fit is split further.
"""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any

from sqlglot import exp

from winnow.core.borders import Border
from winnow.core.process import in_thread, parse_memory
from winnow.core.threads import available
from winnow.errors import DataError
from winnow.foreign import instead, shown
from winnow.read.engine import FILES, Counts, Engine, Progress
from winnow.read.engines.kept import Asking, EngineKept, KeptQuery
from winnow.read.engines.packed_pairs import (
    CODES,
    ITEMS,
    LEAST,
    PEOPLE,
    PackedPairs,
    call,
    made_table,
    people_of_part,
)
from winnow.read.engines.query import (
    CountQuery,
    column,
    listed_in_one_text,
    numbered_in_one_text,
)
from winnow.read.kept import KeptCounts


def run(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement; whatever interrupts the wait interrupts the statement."""
    if not hasattr(connection, "interrupt"):  # a relation, which does not show its connection
        return _run_here(connection, sql)
    return in_thread(lambda: connection.execute(sql).fetchall(), connection.interrupt)


def _run_here(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    try:
        rows: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
        return rows
    except RuntimeError as error:
        interrupted = "interrupted" in str(error)
        if not interrupted:
            raise
    raise KeyboardInterrupt


_PARTS, _KEPT = "winnow_parts", "winnow_kept"
_MOST_PARTS = 1 << 14
FEW_ROWS = Border(
    1_000_000,
    "rows counted at once",
    decides="how many rows there are, and whether they fit the memory",
    ways="one count; parts of the people counted one after another, split further where one "
    "does not fit",
    same="value",
    because="each person is wholly in one part, by a hash of the name, and counts add up",
)
MOST_PACKED = Border(
    CODES,
    "items packed",
    decides="how many different items there are, and whether they fit the memory",
    ways="a person's items ranked as one integer of hash and number; ranked by hash and text",
    same="value",
    because="the numbers of items are in the order of their texts, so both order a person's items "
    "alike",
)
_BYTES_PER_PAIR = 64  # of a table of distinct pairs
_BYTES_PER_SUM = 120  # of a sum over parts: the text of an item and its place in a hash table
_BYTES_PER_ITEM = 300  # of the table of items, its text and its hash table
PART_SHARE = Border(
    0.4,
    "memory of a part",
    decides="how many rows and people there are",
    ways="fewer parts; more parts of the people, counted one after another",
    same="value",
    because="each person is wholly in one part, by a hash of the name, and counts add up",
)
"""Of the memory that one part is planned to take."""


class PartsCounter:
    """Counts one source of a private connection, in as many parts as the memory needs."""

    def __init__(
        self,
        connection: Any,
        source: exp.Expression,
        query: CountQuery,
        memory: int,
        rows: int,
    ) -> None:
        self.connection, self.source, self.query = connection, source, query
        self.bytes, self.rows = memory, rows
        self.packed = PackedPairs(query, source)

    def count(
        self, parts: int | None, progress: Progress | None, most: int | None
    ) -> Counts | None:
        """The counts of all parts, added up; None: there are more than ``most`` items."""
        totals = Counts()
        limit = "" if most is None else f" LIMIT {most + 1}"

        def add(counts: str) -> bool:
            for item, count in run(self.connection, f"SELECT * FROM ({counts}){limit}"):
                totals[item] = totals.get(item, 0) + count
            return most is None or len(totals) <= most

        return totals if self._by_parts(add, parts, progress) else None

    def keep(self, parts: int | None, progress: Progress | None) -> PrivateKept:
        """The counts as a table of the connection, and nothing else in it."""
        run(self.connection, f"CREATE TABLE {_PARTS} (i VARCHAR, n BIGINT)")

        def add(counts: str) -> bool:
            run(self.connection, f"INSERT INTO {_PARTS} {counts}")
            self._pack()
            return True

        self._by_parts(add, parts, progress)
        for table in (ITEMS, PEOPLE, LEAST):
            run(self.connection, f"DROP TABLE IF EXISTS {table}")
        self._added_up(parts)
        return PrivateKept(self.connection, self.query)

    def _pack(self) -> None:
        """Pack the tables in memory, which takes a tenth of them; where it does not fit, do not."""
        import duckdb

        with suppress(duckdb.OutOfMemoryException):  # what was inserted stays, and once
            run(self.connection, "CHECKPOINT")

    def _added_up(self, parts: int | None) -> None:
        """The counts of all parts as one table, some of the items after others."""
        import duckdb

        ((rows,),) = run(self.connection, f"SELECT COUNT(*) FROM {_PARTS}")
        needed = rows * _BYTES_PER_SUM / (self.bytes * PART_SHARE.at)
        slices = _power_of_two(max(1, parts or 1, int(needed) + 1))
        waiting = [(place, slices) for place in reversed(range(slices))]
        run(self.connection, f"CREATE TABLE {_KEPT} (i VARCHAR, n BIGINT)")
        while waiting:
            place, of = waiting.pop()
            some = f"SELECT i, CAST(SUM(n) AS BIGINT) AS n FROM {_PARTS}"
            some += f" WHERE hash(i) % {of} = {place} GROUP BY i"
            try:
                run(self.connection, f"INSERT INTO {_KEPT} {some}")
            except duckdb.OutOfMemoryException:
                if of >= _MOST_PARTS:
                    raise
                waiting += [(place + of, 2 * of), (place, 2 * of)]
                continue
            self._pack()
        run(self.connection, f"DROP TABLE {_PARTS}")

    def _by_parts(
        self,
        take: Callable[[str], bool],
        parts: int | None,
        progress: Progress | None,
    ) -> bool:
        """Have ``take`` the query of every part, until it refuses.

        ``parts`` is rounded up to a power of two; a part that does not fit is split.
        """
        import duckdb

        use_packed = self._prepared()
        parts = _power_of_two(parts or self._parts(use_packed))
        waiting = [(part, parts) for part in reversed(range(parts))]
        done = 0
        while waiting:
            part, of = waiting.pop()
            taken = None
            try:
                taken = take(self._part(part, of, use_packed))
            except duckdb.OutOfMemoryException:
                if of >= _MOST_PARTS:
                    raise
            if taken is None:
                waiting += [(part + of, 2 * of), (part, 2 * of)]
                continue
            if not taken:
                return False
            done += 1
            if progress is not None:
                progress(done, done + len(waiting))
        return True

    def _prepared(self) -> bool:
        """Make the table of items, if the query is bounded and its items fit."""
        import duckdb

        if self.query.person is None or self.query.items_per_person is None:
            return False
        try:
            run(self.connection, made_table(ITEMS, self.packed.items()))
        except duckdb.OutOfMemoryException:
            return False
        (items,) = run(self.connection, f"SELECT COUNT(*) FROM {ITEMS}")
        if items[0] < min(MOST_PACKED.at, self.bytes / _BYTES_PER_ITEM):
            return True
        run(self.connection, f"DROP TABLE {ITEMS}")
        return False

    def _parts(self, use_packed: bool) -> int:
        """Enough parts for what is at hand; too few is mended by splitting."""
        rows = self.rows
        if rows <= FEW_ROWS.at:
            return 1
        allowed = self.bytes * PART_SHARE.at
        if not use_packed or self.packed.heap is None:
            wide = 4 if self.query.competing else 1
            return max(1, int(rows * _BYTES_PER_PAIR * wide / allowed))
        people = call("APPROX_COUNT_DISTINCT", column(self.query.person or ""))
        asked = exp.select(people).from_(self.source.copy()).sql(dialect="duckdb")
        ((parts,),) = run(self.connection, asked)
        each = 120 + 16 * self.packed.heap
        return max(1, round(int(parts) * each / allowed))

    def _part(self, part: int, parts: int, use_packed: bool) -> str:
        """The query of the counts of one part, its tables made."""
        split = people_of_part(self.query.apart, part, parts)
        if not use_packed:
            listed = listed_in_one_text(self.query.items)
            asked = self.query.over(self.source.copy(), *split, listed=listed)
            return asked.sql(dialect="duckdb")
        for table in (LEAST, PEOPLE):  # of the part before
            run(self.connection, f"DROP TABLE IF EXISTS {table}")
        if not self.query.whole:
            run(self.connection, made_table(PEOPLE, self.packed.people(*split)))
        exactly = True
        if self.packed.heap is not None:
            run(self.connection, made_table(LEAST, self.packed.least(*split)))
            ((unsure,),) = run(self.connection, self.packed.unsure())
            exactly = unsure > 0
        return self.packed.counts(*split, exactly=exactly)


class PrivateDuck(Engine):
    """An engine whose rows are counted in a private database of this process."""

    here = True
    memory: str

    @abstractmethod
    def _counter(self, connection: Any, query: CountQuery) -> AbstractContextManager[PartsCounter]:
        """What counts the rows."""

    def count(
        self,
        query: CountQuery,
        parts: int | None,
        progress: Progress | None,
        most: int | None = None,
    ) -> Counts | None:
        """The counts of all rows together."""
        with (
            private_connection(self.memory) as connection,
            self._counter(connection, query) as counter,
        ):
            return counter.count(parts, progress, most)

    def keep(self, query: CountQuery, parts: int | None, progress: Progress | None) -> KeptCounts:
        """The counts as a table of a private database, which lives as long as they do."""
        with ExitStack() as stack:
            connection = stack.enter_context(private_connection(self.memory))
            with self._counter(connection, query) as counter:
                kept = counter.keep(parts, progress)
            return kept.closed_by(stack.pop_all().close)


class PrivateKept(EngineKept):
    """Counts in a private database, which closes when nobody has them any more."""

    def __init__(self, connection: Any, query: CountQuery) -> None:
        super().__init__(query, FILES)
        self._connection = connection

    def closed_by(self, close: Callable[[], None]) -> PrivateKept:
        """The counts, with what is to be done when they are gone."""
        weakref.finalize(self, close)
        return self

    @contextmanager
    def asking(self) -> Iterator[tuple[Asking, KeptQuery]]:
        """Nobody else can change the table."""
        counts = exp.select("i", "n").from_(_KEPT)
        listed = numbered_in_one_text(self.query.items)
        yield DuckAsking(self._connection), KeptQuery(self.query, counts, listed)


class DuckAsking(Asking):
    """A DuckDB connection that is asked about kept counts."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, query: exp.Select) -> list[tuple[Any, ...]]:
        """The answer."""
        return run(self._connection, query.sql(dialect="duckdb"))


def number_of_rows(connection: Any, source: exp.Expression) -> int:
    """How many rows a source has."""
    counted = exp.select(exp.Count(this=exp.Star())).from_(source.copy())
    return int(connection.execute(counted.sql(dialect="duckdb")).fetchone()[0])


@contextmanager
def private_connection(memory: str) -> Iterator[Any]:
    """An in-memory database with a memory limit, which writes no file."""
    import duckdb

    settings: dict[str, Any] = {
        "memory_limit": f"{parse_memory(memory)}B",
        "temp_directory": "",
        "preserve_insertion_order": "false",
        "threads": available(),
    }
    with instead(
        lambda error: DataError(
            f"DuckDB does not start with memory={shown(memory)}: {_first_line(error)}; "
            "give a size like '2GB' or '500MB'"
        ),
        duckdb.Error,
    ):
        connection = duckdb.connect(config=settings)
    try:
        # A bar would draw into a notebook. Where DuckDB can draw none, as in a kernel without
        # ipywidgets, it refuses the setting.
        with suppress(duckdb.Error):
            connection.execute("SET enable_progress_bar = false")
        yield connection
    finally:
        connection.close()


def _first_line(error: BaseException) -> str:
    """What DuckDB says about its settings: no data have been read, so none can be quoted."""
    return str(error).partition("\n")[0]


def _power_of_two(parts: int) -> int:
    return 1 << (min(parts, _MOST_PARTS) - 1).bit_length()
