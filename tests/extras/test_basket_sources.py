"""The same baskets from Postgres, Spark and a data frame, whatever their collations."""

from itertools import pairwise
from typing import Any

import pandas as pd
import pytest

import winnow as wn
from reference.inside import open_sealed
from reference.reading import as_options
from winnow.read.engines import row_sources

pytestmark = pytest.mark.extras

ROWS: list[tuple[str | None, int | None, str | None]] = [
    *((f"user {i % 7}", i // 3, f"item {(i * i + i // 5) % 11}") for i in range(120)),
    *(("user 1", 3, "item 2"),) * 2,
    ("user 1", None, "lost"),
    (None, 3, "lost"),
    ("user 2", 3, None),
    ("o'brien; --", 7, 'quote " and | bar'),
    ("ünï", 7, "çödé"),
]
NAMES = ["who", "the basket", "i"]
PAIRS: dict[str, Any] = {"basket": "the basket", "item": "i"}
WAYS: list[dict[str, Any]] = [
    PAIRS | {"unit": "basket"},
    PAIRS | {"unit": "basket", "items": ["item 2", "çödé", "soap"]},
    PAIRS | {"person": "who", "max_baskets": 2, "salt": "s"},
]
INDICATED = [
    ("a", 1, "x", None),
    ("a", 0, "Yes", True),
    ("b", 1, "no", False),
    (None, 1, "y", True),
]
CANARY = "canary417"


def opened(baskets: wn.SealedBaskets) -> list[tuple[str, ...]]:
    data, labels = open_sealed(baskets.data), baskets.labels
    names: Any = open_sealed(labels) if isinstance(labels, wn.Sealed) else labels
    codes, starts = data.items.tolist(), data.starts.tolist()
    return sorted(tuple(names[c] for c in codes[a:b]) for a, b in pairwise(starts))


def wanted(how: dict[str, Any]) -> list[tuple[str, ...]]:
    rows = pd.DataFrame(ROWS, columns=NAMES).astype({"the basket": "Int64"})
    return opened(wn.read_baskets(rows, **as_options(how)))


@pytest.fixture(scope="module")
def postgres(empty_postgres: Any) -> Any:
    empty_postgres.execute('CREATE TABLE log (who text, "the basket" int, i varchar(30))')
    empty_postgres.execute("CREATE TABLE held (who text, milk int, tea text, soap bool)")
    with empty_postgres.cursor() as cursor:
        cursor.executemany("INSERT INTO log VALUES (%s, %s, %s)", ROWS)
        cursor.executemany("INSERT INTO held VALUES (%s, %s, %s, %s)", INDICATED)
    return empty_postgres


def test_postgres_gives_the_baskets_of_the_frame(
    postgres: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pytest.importorskip("psycopg.rows")
    monkeypatch.setattr(row_sources, "BATCH", 50)
    monkeypatch.setattr(postgres, "row_factory", rows.dict_row)
    for source in ("log", 'SELECT who, "the basket", i FROM log'):
        for how in WAYS:
            assert opened(wn.read_baskets((postgres, source), **as_options(how))) == wanted(how)
    assert wn.counts((postgres, "log"), item="i", person="who", items=["çödé"]).labels == ["çödé"]
    schema = {"i": {"values": ["çödé"], "other": True}}
    assert wn.read_table((postgres, "log"), schema=schema).n == len(ROWS)
    released = wn.itemsets(
        wn.read_baskets((postgres, "log"), **as_options(WAYS[0])),
        size=1,
        epsilon=50,
        delta=0.1,
        seed=1,
    )
    assert released.value is not None


def test_spark_gives_the_baskets_of_the_frame(spark: Any) -> None:
    source = spark.createDataFrame(ROWS, "`who` string, `the basket` int, `i` string")
    for how in WAYS:
        assert opened(wn.read_baskets(source, **as_options(how))) == wanted(how)


def test_indicator_tables_are_the_same_everywhere(postgres: Any, spark: Any) -> None:
    names = ["who", "milk", "tea", "soap"]
    held = pd.DataFrame(INDICATED, columns=names)
    how: dict[str, Any] = {"person": "who", "max_baskets": 1, "salt": "s"}
    frame = spark.createDataFrame(INDICATED, "who string, milk int, tea string, soap boolean")
    for source in ((postgres, "held"), frame):
        found = wn.read_baskets(source, **as_options(how))
        assert found.labels == names[1:]
        assert opened(found) == opened(wn.read_baskets(held, **as_options(how)))


def test_no_two_texts_are_taken_for_one(postgres: Any, spark: Any) -> None:
    functions = pytest.importorskip("pyspark.sql.functions")
    rows = [("a", "p", "x"), ("A", "P", "X"), ("a", "P", "x")]
    postgres.execute('CREATE TEMP TABLE other (u text COLLATE "POSIX", b bpchar(3), i text)')
    with postgres.cursor() as cursor:
        cursor.executemany("INSERT INTO other VALUES (%s, %s, %s)", rows)
    plain = spark.createDataFrame(rows, "u string, b string, i string")
    folded = plain.select(
        *(functions.collate(plain[name], "UNICODE_CI_AI").alias(name) for name in "ubi")
    )
    for source in ((postgres, "other"), folded):
        found = wn.read_baskets(
            source, layout=wn.Pairs(basket="b", item="i"), person="u", max_baskets=2
        )
        assert opened(found) == [("X",), ("x",), ("x",)]


def test_problems_are_clear_and_show_no_data(postgres: Any, spark: Any) -> None:
    broken = "SELECT CAST(who AS int) AS b, 'a' AS i FROM log"
    frame = spark.createDataFrame([(CANARY, "x")], "b string, i string")
    failing = frame.selectExpr("CAST(raise_error(b) AS string) AS b", "i")
    postgres.execute("CREATE TEMP TABLE nested (b int, i text[])")
    listed = spark.createDataFrame([(1, ["a"])], "b int, i array<string>")
    for source, message in (
        ((postgres, "nothing"), "cannot be read"),
        ((postgres, broken), "22P02"),
        (failing, "cannot be read"),
        ((postgres, "nested"), "not the same in every engine"),
        (listed, "not the same in every engine"),
    ):
        with pytest.raises(wn.InputError, match=message) as caught:
            wn.read_baskets(source, unit="basket", layout=wn.Pairs(basket="b", item="i"))
        assert "user" not in str(caught.value) and CANARY not in str(caught.value)
        assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert postgres.execute("SELECT 1").fetchone() == (1,)
