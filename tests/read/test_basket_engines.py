"""Baskets from every table that counts are read from: the same baskets, and nothing shown."""

from __future__ import annotations

import os
import signal
import threading
from itertools import pairwise
from typing import Any

import duckdb
import pandas as pd
import pytest

import winnow as wn
from reference.inside import open_sealed
from reference.reading import as_options
from winnow.read.engines import row_sources

ROWS: list[tuple[str | None, int | None, str | None]] = [
    *((f"user {i % 7}", i // 3, f"item {(i * i + i // 5) % 11}") for i in range(120)),
    *(("user 1", 3, "item 2"),) * 2,
    ("user 1", None, "lost"),
    (None, 3, "lost"),
    ("user 2", 3, None),
    ("o'brien; --", 7, 'quote " and | bar'),
    ("ünï", 7, "çödé"),
]
NAMES = ["b", "the basket", "i"]  # one is the name of another's alias
HOW: dict[str, Any] = {"basket": "the basket", "item": "i"}
USERS = HOW | {"person": "b", "max_baskets": 2, "salt": "s"}


def opened(baskets: wn.SealedBaskets) -> list[tuple[str, ...]]:
    data, labels = open_sealed(baskets.data), baskets.labels
    names: Any = open_sealed(labels) if isinstance(labels, wn.Sealed) else labels
    codes, starts = data.items.tolist(), data.starts.tolist()
    return sorted(tuple(names[c] for c in codes[a:b]) for a, b in pairwise(starts))


def frame() -> pd.DataFrame:
    rows = pd.DataFrame(ROWS, columns=NAMES)
    return rows.astype({"the basket": "Int64"})


def by_hand() -> list[tuple[str, ...]]:
    held: dict[Any, set[str]] = {}
    for _, basket, item in ROWS:
        if basket is not None and item is not None:
            held.setdefault(basket, set()).add(item)
    return sorted(tuple(sorted(row)) for row in held.values())


@pytest.fixture
def connection() -> Any:
    with duckdb.connect() as connection:
        connection.register("rows", frame())
        connection.execute("CREATE TABLE log AS SELECT * FROM rows")
        yield connection


def test_a_connection_and_a_relation_give_the_baskets_of_the_frame(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_sources, "BATCH", 50)
    before = connection.execute("SELECT * FROM duckdb_tables()").fetchall()
    sources = [(connection, "log"), (connection, "SELECT * FROM log"), connection.table("log")]
    for source in sources:
        assert opened(wn.read_baskets(source, unit="basket", **as_options(HOW))) == by_hand()
        listed = wn.read_baskets(source, unit="basket", items=["item 2", "soap"], **as_options(HOW))
        assert set(opened(listed)) == {("item 2",)}
        bounded = opened(wn.read_baskets(source, **as_options(USERS)))
        assert bounded == opened(wn.read_baskets(frame(), **as_options(USERS)))
    assert connection.execute("SELECT * FROM duckdb_tables()").fetchall() == before


def test_indicator_tables_come_from_a_connection_too(connection: Any) -> None:
    connection.execute(
        "CREATE TABLE held AS SELECT * FROM (VALUES ('a', 1, 'x', NULL), ('a', 0, 'Yes', true), "
        "('b', 1, 'no', false), (NULL, 1, 'y', true)) AS t(who, milk, tea, soap)"
    )
    query = (connection, "SELECT milk, tea, soap FROM held")
    everybody = [("milk",), ("milk", "tea"), ("milk", "tea", "soap"), ("tea", "soap")]
    assert opened(wn.read_baskets(query, unit="basket")) == everybody
    of_people: dict[str, Any] = {"person": "who", "max_baskets": 1, "salt": "s"}
    one = wn.read_baskets(connection.table("held"), **as_options(of_people))
    assert len(opened(one)) == 2 and one.labels == ["milk", "tea", "soap"]
    assert opened(one) == opened(
        wn.read_baskets(connection.table("held").df(), **as_options(of_people))
    )


def test_several_files_are_one_table(tmp_path: Any) -> None:
    rows = frame()
    for part in (0, 1):
        rows[part::2].to_parquet(tmp_path / f"p{part}.parquet")
        rows[part::2].to_csv(tmp_path / f"p{part}.csv", index=False)
    for ending in ("csv", "parquet"):
        found = wn.read_baskets(str(tmp_path / f"*.{ending}"), unit="basket", **as_options(HOW))
        assert opened(found) == by_hand()
    rows.astype({"the basket": "string"}).to_parquet(tmp_path / "p1.parquet")
    paths = [tmp_path / "p0.parquet", tmp_path / "p1.parquet"]
    with pytest.raises(wn.InputError, match="different types"):
        wn.read_baskets(paths, unit="basket", **as_options(HOW))


def test_a_collation_never_makes_two_people_one() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t (u VARCHAR COLLATE NOCASE, b VARCHAR COLLATE NOCASE, "
            "i VARCHAR COLLATE NOCASE)"
        )
        connection.execute("INSERT INTO t VALUES ('a', 'p', 'x'), ('A', 'P', 'X'), ('a', 'P', 'x')")
        how: dict[str, Any] = {"basket": "b", "item": "i", "salt": "s"}
        found = wn.read_baskets((connection, "t"), person="u", max_baskets=2, **as_options(how))
        assert opened(found) == [("X",), ("x",), ("x",)]
        found = wn.read_baskets((connection, "t"), unit="basket", **as_options(how))
        assert opened(found) == [("X", "x"), ("x",)]
        connection.execute("SET default_collation = 'NOCASE'")
        with pytest.raises(wn.InputError, match="RESET default_collation"):
            wn.read_baskets((connection, "t"), unit="basket", **as_options(how))


def test_errors_of_a_connection_show_no_data(connection: Any) -> None:
    secret = "417-secret"
    connection.execute(f"CREATE TABLE bad AS SELECT 1 AS b, '{secret}' AS i, 0.5 AS x")
    for source, how, message in (
        ("nothing", HOW, "cannot be read"),
        ("bad", {"basket": "b", "item": "nope"}, "no column 'nope'"),
        ("bad", {"basket": "b", "item": "x"}, "not the same in every engine"),
        ("SELECT b, CAST(i AS INT) AS i FROM bad", {"basket": "b", "item": "i"}, "Conversion"),
    ):
        with pytest.raises(wn.InputError, match=message) as caught:
            wn.read_baskets((connection, source), unit="basket", **as_options(how))
        assert secret not in str(caught.value)
        assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_too_little_memory_is_said(tmp_path: Any) -> None:
    names = [f"a long name of an item {i}" for i in range(100_000)]
    many = pd.DataFrame({"b": range(100_000), "i": names})
    with pytest.raises(wn.InputError, match="memory='3MB' is not enough") as caught:
        wn.read_baskets(
            many,
            unit="basket",
            layout=wn.Pairs(basket="b", item="i"),
            reading=wn.Reading(memory="3MB"),
        )
    assert caught.value.__context__ is None


def test_ctrl_c_stops_reading(connection: Any) -> None:
    slow = "SELECT a.range AS b, a.range + b.range AS i FROM range(1000000) a, range(1000000) b"
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        wn.read_baskets((connection, slow), unit="basket", layout=wn.Pairs(basket="b", item="i"))
    assert connection.execute("SELECT 1").fetchone() == (1,)
