"""The same counts from Spark, Postgres and DuckDB: one expression, three engines."""

import datetime
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlglot import exp

import winnow as wn
from reference.bounded_counts import bounded_counts
from reference.inside import open_sealed
from reference.reading import as_options
from winnow.read.engines.kept import KeptQuery
from winnow.read.engines.query import CountQuery, column

pytestmark = pytest.mark.extras

ROWS: list[tuple[str | None, str | None]] = [
    *((f"user {i % 17}", f"item {(i * i + i // 17) % 23}") for i in range(800)),
    (None, "lost"),
    ("user 1", None),
    ("o'brien; --", 'quote " and | bar'),
    ("ünï", "çödé"),
]


def opened(counts: wn.SealedCounts) -> dict[str, int]:
    labels: Any = counts.labels
    return dict(zip(open_sealed(labels), open_sealed(counts.values).tolist(), strict=True))


@pytest.fixture(scope="module")
def postgres(empty_postgres: Any) -> Any:
    empty_postgres.execute('CREATE TABLE log ("who" text, "what it" text, number int, x float8)')
    with empty_postgres.cursor() as cursor:
        cursor.executemany("INSERT INTO log VALUES (%s, %s, 1, 0.5)", ROWS)
    return empty_postgres


@pytest.mark.parametrize("bound", [None, 1, 5])
def test_postgres_gives_the_counts_of_the_slow_twin(postgres: Any, bound: int | None) -> None:
    for source in ("log", 'SELECT "who", "what it" FROM log'):
        counted = wn.counts(
            (postgres, source),
            item="what it",
            person="who",
            max_items=bound,
            reading=wn.Reading(salt="s"),
        )
        assert opened(counted) == bounded_counts(ROWS, bound, "s")


def test_postgres_problems_are_clear_and_show_no_data(postgres: Any) -> None:
    for source, item, message in (
        ("nothing", "i", "cannot count"),
        ("log", "nope", "no column"),
        ("log", "x", "not the same in every engine"),
    ):
        with pytest.raises(wn.InputError, match=message):
            wn.counts((postgres, source), item=item)


def test_postgres_takes_no_two_texts_for_one(
    postgres: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merged pair of people could move more counts than the bound says.

    The Postgres of the tests has no ICU, so no collation that merges texts can be made: what is
    shown is that texts are compared by the collation "C", whatever that of the columns.
    """
    postgres.execute('CREATE TEMP TABLE other (who text COLLATE "POSIX", what varchar(9))')
    postgres.execute("INSERT INTO other VALUES ('a', 'x'), ('A', 'x'), ('b', 'X')")
    asked = []
    over = CountQuery.over

    def watched(self: CountQuery, *sources: Any, **options: Any) -> Any:
        asked.append(self)
        return over(self, *sources, **options)

    monkeypatch.setattr(CountQuery, "over", watched)
    for bound in (None, 1):
        counted = wn.counts((postgres, "other"), item="what", person="who", max_items=bound)
        assert opened(counted) == {"x": 2, "X": 1}
    for query in asked:
        for text in (query.person_value(column("who")), query.text(column("what"))):
            sql = text.sql(dialect="postgres")
            assert sql in over(query, exp.to_table("other")).sql(dialect="postgres")
            compared_by = postgres.execute(f"SELECT pg_collation_for({sql}) FROM other").fetchone()
            assert compared_by == ('"C"',)


def test_spark_takes_no_two_texts_for_one(spark: Any) -> None:
    rows = [("a", "x"), ("A", "x"), ("á", "X"), ("b", "X")]
    functions = pytest.importorskip("pyspark.sql.functions")
    plain = spark.createDataFrame(rows, "who string, what string")
    folded = plain.select(
        *(functions.collate(plain[name], "UNICODE_CI_AI").alias(name) for name in ("who", "what"))
    )
    assert folded.select("who").distinct().count() == 2
    for bound in (None, 1):
        counted = wn.counts(folded, item="what", person="who", max_items=bound)
        assert opened(counted) == {"x": 2, "X": 2}
        counted = wn.counts(folded, item="what", person="who", max_items=bound, items=["X", "é"])
        assert open_sealed(counted.values).tolist() == [2, 0]


def test_bytes_of_spark_that_are_no_text_are_as_if_missing(spark: Any) -> None:
    """All of them come here as one sign: one person's item would take another's count."""
    item = "CASE WHEN id < 5 THEN X'FF41' WHEN id < 8 THEN X'FE41' ELSE X'61' END"
    frame = spark.sql(f"SELECT string(id) AS who, CAST({item} AS string) AS what FROM range(99)")
    for bound in (None, 1):
        counted = wn.counts(frame, item="what", person="who", max_items=bound)
        assert opened(counted) == {"a": 91}
    options: dict[str, Any] = {"size": 1, "k": 9, "epsilon": 1e6, "delta": 0.1, "seed": 1}
    for basket, item, many in (("who", "what", 91), ("what", "who", 1)):
        for keep in ("memory", "engine"):
            how: dict[str, Any] = {"basket": basket, "item": item, "unit": "basket", "keep": keep}
            found = wn.itemsets(
                wn.read_baskets(frame, **as_options(how)), **options, supports="subsets"
            )
            assert found.value.supports[()] == many


def test_threads_of_one_spark_session_see_their_own_frames(spark: Any) -> None:
    """Beside views of the user's whose names begin as ours do."""
    spark.range(3).createOrReplaceTempView("winnow_source")
    rows = [[(f"u{i}", f"{name} {i % 7 % 3}") for i in range(200)] for name in ("left", "right")]

    def top(own: list[tuple[str, str]]) -> list[Any]:
        frame = spark.createDataFrame(own, "who string, what string")
        kept = wn.counts(frame, item="what", person="who", reading=wn.Reading(keep="engine"))
        return sorted(wn.top_k(kept, k=3, epsilon=50.0, delta=1e-3, seed=1).value)

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(top, rows))
    assert found == [[f"{name} {n}" for n in range(3)] for name in ("left", "right")]
    assert [table.name for table in spark.catalog.listTables()] == ["winnow_source"]
    spark.catalog.dropTempView("winnow_source")


@pytest.mark.filterwarnings("ignore")
def test_a_frame_of_spark_that_changes_fails_a_release_after_the_charge(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame over files that are rewritten, told by a file that its tasks look for."""
    told = str(tmp_path / "rewritten")

    def rows(batches: Any) -> Any:
        import os

        for batch in batches:
            yield batch.slice(7) if os.path.exists(told) else batch

    log = spark.sql("SELECT string(id) AS who, string(id % 3) AS what FROM range(300)")
    frame = log.mapInArrow(rows, "who string, what string")
    kept = wn.counts(frame, item="what", person="who", reading=wn.Reading(keep="engine"))
    names = KeptQuery.names

    def changed(self: Any, wanted: Any, **whole: bool) -> Any:
        Path(told).touch()
        return names(self, wanted, **whole)

    monkeypatch.setattr(KeptQuery, "names", changed)
    session = wn.Session(epsilon=60.0, delta=1e-2)
    with pytest.raises(wn.InputError, match="the source changed"):
        session.top_k(kept, k=2, epsilon=50.0, delta=1e-3)
    assert float(session.budget.left.amount) <= 10
    assert not spark.catalog.listTables()


LABELS = [7, True, datetime.date(2026, 11, 30)]


def test_labels_match_values_of_their_own_type(postgres: Any, spark: Any) -> None:
    postgres.execute("SET DateStyle = 'German'")
    postgres.execute("CREATE TEMP TABLE typed (who int, a int, b bool, c date)")
    with postgres.cursor() as cursor:
        cursor.execute("INSERT INTO typed VALUES (1, %s, %s, %s)", LABELS)
    frame = spark.createDataFrame([(1, *LABELS)], "who int, a int, b boolean, c date")
    for name, label in zip("abc", LABELS, strict=True):
        for source in ((postgres, "typed"), frame):
            counted = wn.counts(source, item=name, person="who", items=[label, "other"])
            assert open_sealed(counted.values).tolist() == [1, 0]
    assert postgres.execute("SHOW DateStyle").fetchone()[0].startswith("German")
    postgres.execute("RESET DateStyle")


def test_a_long_public_list_is_taken(postgres: Any, spark: Any) -> None:
    labels = [*(f"item {i}" for i in range(20_000)), "back\\slash ' and \x1f0\x1f", ""]
    rows = [("p", labels[-2]), ("q", "item 7"), ("q", ""), ("q", "other")]
    postgres.execute("SET standard_conforming_strings = off")
    postgres.execute("CREATE TEMP TABLE short (who text, what text)")
    with postgres.cursor() as cursor:
        cursor.executemany("INSERT INTO short VALUES (%s, %s)", rows)
    frame = spark.createDataFrame(rows, "who string, what string")
    for source in ((postgres, "short"), frame):
        counted = wn.counts(source, item="what", person="who", items=labels, max_items=3)
        values = open_sealed(counted.values)
        assert values.sum() == 3
        assert values[[7, -2, -1]].tolist() == [1, 1, 1]
    postgres.execute("RESET standard_conforming_strings")


def test_no_message_of_the_engine_hangs_on_an_error(postgres: Any, spark: Any) -> None:
    broken = "SELECT CAST(who AS int) AS who, 'a' AS what FROM log"
    frame = spark.createDataFrame(ROWS[:3], "who string, what string")
    failing = frame.selectExpr("CAST(raise_error(who) AS string) AS who", "what")
    for source in ((postgres, broken), failing):
        with pytest.raises(wn.InputError) as caught:
            wn.counts(source, item="what", person="who", max_items=1)
        assert "user" not in str(caught.value)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None


def test_arrays_are_refused(postgres: Any, spark: Any) -> None:
    postgres.execute("CREATE TEMP TABLE nested (who int, what text[])")
    frame = spark.createDataFrame([(1, ["a"])], "who int, what array<string>")
    for source in ((postgres, "nested"), frame):
        with pytest.raises(wn.InputError, match="not the same in every engine"):
            wn.counts(source, item="what", person="who")


@pytest.mark.parametrize("engine", ["postgres", "spark"])
def test_joins_and_groups_are_those_of_duckdb(engine: str, request: Any) -> None:
    visits = [(f"u{u % 30}", f"p{u % 7}") for u in range(200)] + [("U1", "p2")]
    people = [(f"u{u}", "FR" if u % 3 else "D~E") for u in range(25)]
    frames: list[Any] = [
        pd.DataFrame(visits, columns=["who", "page"]),
        pd.DataFrame(people, columns=["who", "country"]),
    ]
    server = request.getfixturevalue(engine)
    tables: list[Any] = []
    for name, frame in zip(("visits", "people"), frames, strict=True):
        if engine == "spark":
            rows = [tuple(row) for row in frame.itertuples(index=False)]
            tables.append(server.createDataFrame(rows, list(frame.columns)))
            continue
        server.execute(f"CREATE TEMP TABLE {name} (who text, {frame.columns[1]} text)")
        for row in frame.itertuples(index=False):
            server.execute(f"INSERT INTO {name} VALUES (%s, %s)", tuple(row))
        tables.append((server, name))
    for most, bound in ((None, None), (1, 1), (1, 2)):
        by = wn.Groups("country", most=most)
        said: dict[str, Any] = {"item": "page", "person": "who", "by": by, "max_items": bound}
        said["reading"] = wn.Reading(salt="s")
        found, expected = (wn.counts(wn.Join(*each, on="who"), **said) for each in (tables, frames))
        assert opened(found) == opened(expected)
        lists = wn.top_k(found, k=2, epsilon=50.0, delta=1e-6, seed=1).value
        assert set(lists) == {"FR", "D~E"}
    kept = wn.counts(
        wn.Join(*tables, on="who"), item="page", person="who", by="country",
        reading=wn.Reading(keep="engine"),
    )  # fmt: skip
    assert set(wn.top_k(kept, k=2, epsilon=50.0, delta=1e-6).value) == {"FR", "D~E"}


@pytest.mark.parametrize("engine", ["postgres", "spark"])
def test_a_person_moves_no_more_of_a_join_than_the_bound(engine: str, request: Any) -> None:
    """Neighbouring tables of few people, each in turn taken out of all of them."""
    visits = [("a", "x"), ("a", "y"), ("a", "y"), ("b", "x"), ("b", "z"), ("c", "y"), ("C", "y")]
    people = [("a", "FR"), ("a", "DE"), ("b", "FR"), ("c", "DE"), ("d", "FR")]
    topics = [("x", "t"), ("x", "s"), ("y", "t"), ("z", None), ("q", "r")]
    server = request.getfixturevalue(engine)

    def counted(absent: str, keep: str) -> dict[str, int]:
        tables: list[Any] = []
        for name, columns, rows in (
            ("v", ("who", "page"), visits), ("p", ("who", "land"), people),
            ("t", ("page", "topic"), topics),
        ):  # fmt: skip
            held = [row for row in rows if row[0] != absent]
            if engine == "spark":
                kinds = ", ".join(f"{column} string" for column in columns)
                tables.append(server.createDataFrame(held, kinds))
                continue
            server.execute(f"DROP TABLE IF EXISTS {name}")
            server.execute(f"CREATE TEMP TABLE {name} ({columns[0]} text, {columns[1]} text)")
            for row in held:
                server.execute(f"INSERT INTO {name} VALUES (%s, %s)", row)
            tables.append((server, name))
        join = wn.Join(*tables[:2], on="who", public={"page": tables[2]}, how="left")
        found = wn.counts(
            join, item="topic", person="who", by="land", max_items=2,
            reading=wn.Reading(salt="s", keep=keep),
        )  # fmt: skip
        if keep == "memory":
            return opened(found)
        with open_sealed(found.values).snapshot() as asked:
            texts = sorted(opened_texts(visits, topics))
            return dict(zip(texts, asked.counts_of(texts), strict=True))

    whole = counted("", "memory")
    assert {text: n for text, n in counted("", "engine").items() if n} == whole
    for who in "abc":
        rest = counted(who, "memory")
        moved = [whole.get(text, 0) - rest.get(text, 0) for text in {**whole, **rest}]
        assert set(moved) <= {0, 1} and sum(moved) <= 2
        assert (sum(moved) > 0) == (who != "C")


def opened_texts(visits: list[Any], topics: list[Any]) -> set[str]:
    """Every pair of a land and a topic that there may be."""
    from winnow.read.groups import pair_text

    found = {topic for _, topic in topics if topic is not None}
    return {pair_text(land, topic) for land in ("FR", "DE") for topic in found}
