"""The same table from Postgres, Spark and DuckDB: grouped by the engine, one encoding."""

from collections import Counter
from typing import Any

import pandas as pd
import pytest

import winnow as wn
from reference.inside import open_sealed
from reference.reading import as_options

pytestmark = pytest.mark.extras

SCHEMA = {
    "age": {"edges": [0, 20, 40, 60.5], "other": True},
    "the sex": {"values": ["Female", "Male", None], "other": "anything else"},
    "rank": 6,
    "ok": {"values": [False, True]},
}
ROWS: list[tuple[Any, ...]] = [
    (f"p{i % 7}", None if i % 11 == 0 else 0.5 * i, ["Female", "Male", None, "male"][i % 4],
     i % 6, i % 3 == 0)
    for i in range(150)
]  # fmt: skip
ROWS += [(None, 1.0, "Male", 1, True), ("p1", float("nan"), "Female", 2, False)]
NAMES = ["who", "age", "the sex", "rank", "ok"]
CANARY = "canary417"


def frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=NAMES)


def opened(table: wn.SealedTable) -> Counter[tuple[int, ...]]:
    codes, weights = open_sealed(table.rows)
    rows = zip(*(column.tolist() for column in codes), strict=True)
    return Counter(dict(zip(rows, weights.tolist(), strict=True)))


def everything_said(error: BaseException | None) -> str:
    said = ""
    while error is not None:
        said += repr(error)
        error = error.__cause__ or error.__context__
    return said


@pytest.fixture(scope="module")
def postgres(empty_postgres: Any) -> Any:
    empty_postgres.execute(
        'CREATE TABLE t (who text, age float8, "the sex" varchar(20), rank int2, ok bool)'
    )
    with empty_postgres.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s, %s, %s, %s, %s)", ROWS)
    return empty_postgres


def options(bound: int | None) -> dict[str, Any]:
    return {} if bound is None else {"person": "who", "max_rows": bound, "salt": "s"}


@pytest.mark.parametrize("bound", [None, 1, 5])
def test_postgres_gives_the_table_of_duckdb(postgres: Any, bound: int | None) -> None:
    wanted = opened(wn.read_table(frame(), schema=SCHEMA, **as_options(options(bound))))
    for source in ("t", "SELECT * FROM t"):
        table = wn.read_table((postgres, source), schema=SCHEMA, **as_options(options(bound)))
        assert opened(table) == wanted


def test_postgres_problems_are_clear_and_show_no_data(postgres: Any) -> None:
    postgres.execute(f"CREATE TABLE IF NOT EXISTS odd AS SELECT '{CANARY}'::text AS rank")
    for source, message in (
        ("nothing", "cannot be read"),
        ("odd", "declares it as numbers"),
        ("SELECT CAST(rank AS int) AS rank FROM odd", "cannot be read"),
        ("SELECT 41700 AS rank", "outside the schema"),
    ):
        with pytest.raises(wn.InputError, match=message) as caught:
            wn.read_table((postgres, source), schema={"rank": 6})
        said = everything_said(caught.value)
        assert CANARY not in said and "417" not in said


@pytest.mark.filterwarnings("ignore")
def test_spark_problems_are_clear_and_show_no_data(spark: Any) -> None:
    data = spark.createDataFrame([(CANARY, 41700)], "`text` string, `rank` int")
    for schema, message in (
        ({"text": 3}, "declares it as numbers"),
        ({"rank": 6}, "outside the schema"),
        ({"text": {"values": ["x"]}}, "outside the schema"),
        ({"gone": 6}, "no column 'gone'"),
    ):
        with pytest.raises(wn.InputError, match=message) as caught:
            wn.read_table(data, schema=schema)
        said = everything_said(caught.value)
        assert CANARY not in said and "417" not in said


def test_a_view_of_the_user_is_left_alone_and_threads_read_their_own_rows(spark: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    spark.createDataFrame([("mine",)], "x string").createOrReplaceTempView("winnow_table")
    frames = [spark.createDataFrame([(i,)] * (i + 1), "rank int") for i in range(6)]

    def read(data: Any) -> Counter[tuple[int, ...]]:
        return opened(wn.read_table(data, schema={"rank": 6}))

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(read, frames))
    assert found == [Counter({(i,): i + 1}) for i in range(6)]
    assert [row["x"] for row in spark.sql("SELECT x FROM winnow_table").collect()] == ["mine"]
    ours = [table.name for table in spark.catalog.listTables() if "winnow" in table.name]
    assert ours == ["winnow_table"]
    spark.catalog.dropTempView("winnow_table")


def test_spark_columns_without_a_type_are_taken(spark: Any) -> None:
    data = spark.createDataFrame([(None, None)], "who void, a void")
    table = wn.read_table(data, schema={"a": {"values": ["x"], "other": True}})
    assert open_sealed(table.rows).weights.tolist() == [1]
    counts = wn.counts(data, item="a", person="who", items=["x"])
    assert open_sealed(counts.values).tolist() == [0]
