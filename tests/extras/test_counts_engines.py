"""The same counts from Spark, Postgres and DuckDB: one expression, three engines."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import winnow as wn
from reference.bounded_counts import bounded_counts
from winnow.sealed.opening import open_sealed

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
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pgserver = pytest.importorskip("pgserver")
    psycopg = pytest.importorskip("psycopg")
    server = pgserver.get_server(tmp_path_factory.mktemp("pg"))
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute('CREATE TABLE log ("who" text, "what it" text, number int, x float8)')
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO log VALUES (%s, %s, 1, 0.5)", ROWS)
        yield connection
    server.cleanup()


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17 or later, and this machine has none")
    session = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.mark.parametrize("bound", [None, 1, 5])
def test_postgres_gives_the_counts_of_the_slow_twin(postgres: Any, bound: int | None) -> None:
    for source in ("log", 'SELECT "who", "what it" FROM log'):
        counted = wn.counts(
            (postgres, source), item="what it", user="who", max_items_per_user=bound, salt="s"
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bound", [None, 1, 5])
def test_spark_gives_the_counts_of_the_slow_twin(spark: Any, bound: int | None) -> None:
    frame = spark.createDataFrame(ROWS, "`who` string, `what it` string")
    counted = wn.counts(frame, item="what it", user="who", max_items_per_user=bound, salt="s")
    assert opened(counted) == bounded_counts(ROWS, bound, "s")


def test_duckdb_gives_the_counts_of_the_slow_twin() -> None:
    frame = pd.DataFrame(ROWS, columns=["who", "what it"])
    for bound in (None, 1, 5):
        counted = wn.counts(frame, item="what it", user="who", max_items_per_user=bound, salt="s")
        assert opened(counted) == bounded_counts(ROWS, bound, "s")
