"""Postgres databases whose texts are not in UTF-8, and what the server writes into its log."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import winnow as wn
from reference.bounded_counts import bounded_counts
from reference.inside import open_sealed
from reference.reading import as_options

pytestmark = pytest.mark.extras

ROWS = [
    (f"ü{i % 23}", f"é{i % 4}", f"{'ñ0'[i // 7 % 2]}{(i * i + i // 23) % 5}") for i in range(900)
]
EUROS = [(u, b, i[0].replace("0", "€") + i[1]) for u, b, i in ROWS]
"""The euro stands before other letters in one encoding and after them in another."""
TOUCHED = 2731
"""How many people have each of two items."""

Connect = Callable[[str], Any]


def rows_in(encoding: str) -> list[tuple[str, str, str]]:
    return ROWS if encoding == "LATIN1" else EUROS


@pytest.fixture
def connect(postgres_server: Any) -> Iterator[Connect]:
    """A connection to a new database of an encoding, with the rows in the table log."""
    psycopg = pytest.importorskip("psycopg")
    opened = []

    def connected(encoding: str) -> Any:
        name = f"other_{secrets.token_hex(4)}"
        with psycopg.connect(postgres_server.get_uri(), autocommit=True) as owner:
            owner.execute(
                f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' "
                "TEMPLATE template0"
            )
        connection = psycopg.connect(postgres_server.get_uri(name), autocommit=True)
        opened.append(connection)
        connection.execute("SET client_encoding = 'UTF8'")
        connection.execute("CREATE TABLE log (u text, b text, i text)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO log VALUES (%s, %s, %s)", rows_in(encoding))
        connection.execute("RESET client_encoding")
        return connection

    yield connected
    for connection in opened:
        connection.close()


def counted(source: Any, **how: Any) -> dict[str, int]:
    counts = wn.counts(source, item="i", person="u", **as_options(how, salt="s"))
    labels: Any = counts.labels
    return dict(zip(open_sealed(labels), open_sealed(counts.values).tolist(), strict=True))


@pytest.mark.parametrize("encoding", ["UTF8", "LATIN1", "WIN1252"])
def test_what_a_hash_chooses_does_not_depend_on_the_encoding(
    connect: Connect, encoding: str
) -> None:
    """Which baskets of a person are kept would otherwise follow from how many pairs there are."""
    source = (connect(encoding), "log")
    rows = rows_in(encoding)
    frame = pd.DataFrame(rows, columns=["u", "b", "i"])
    for bound in (None, 2):
        pairs = [(u, i) for u, _, i in rows]
        assert counted(source, max_items=bound) == bounded_counts(pairs, bound, "s")
    how: dict[str, Any] = {"basket": "b", "item": "i", "person": "u", "salt": "s"}
    how |= {"max_baskets": 3}
    supports = []
    for table, keep in ((frame, "memory"), (source, "memory"), (source, "engine")):
        baskets = wn.read_baskets(table, **as_options(how, keep=keep))
        options: dict[str, Any] = {"size": 2, "k": 45, "epsilon": 1e6, "delta": 0.1, "seed": 1}
        found = wn.itemsets(baskets, **options, supports="subsets").value
        supports.append(found.supports)
    assert len(supports[0]) > 40 and supports[0] == supports[1] == supports[2]
    schema = {"i": {"buckets": 16}, "u": {"values": [f"ü{n}" for n in range(23)]}}
    tables = [
        wn.tabulate(
            wn.read_table(table, schema=schema, reading=wn.Reading(keep=keep)), wn.marginals(1),
            epsilon=1e6, seed=1,
        ).value.tables[0].to_pandas()
        for table, keep in ((frame, "memory"), (source, "memory"), (source, "engine"))
    ]  # fmt: skip
    assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])


def test_an_encoding_that_says_nothing_is_refused(connect: Connect) -> None:
    source = (connect("SQL_ASCII"), "log")
    columns = {"item": "i", "person": "u"}
    for read in (
        lambda: wn.counts(source, **as_options(columns)),
        lambda: wn.counts(source, **as_options(columns, keep="engine")),
        lambda: wn.read_baskets(source, layout=wn.Pairs(basket="b", item="i"), unit="basket"),
        lambda: wn.read_baskets(
            source,
            layout=wn.Pairs(basket="b", item="i"),
            unit="basket",
            reading=wn.Reading(keep="engine"),
        ),
        lambda: wn.read_table(
            source, schema={"i": {"buckets": 4}}, reading=wn.Reading(keep="engine")
        ),
        lambda: wn.scores(source, id="i", score="u"),
    ):
        with pytest.raises(wn.InputError, match="SQL_ASCII"):
            read()


def test_labels_that_a_database_cannot_hold_are_refused_before_a_charge(connect: Connect) -> None:
    source = (connect("LATIN1"), "log")
    for keep in ("engine", "memory"):
        with pytest.raises(wn.InputError, match="LATIN1"):
            wn.counts(
                source, item="i", person="u", items=["ñ1", "水"], reading=wn.Reading(keep=keep)
            )


def test_the_log_of_the_server_does_not_hold_what_a_draw_asked_for(
    empty_postgres: Any, tmp_path: Path
) -> None:
    """Which counts were touched: by COPY, which no setting writes down."""
    empty_postgres.execute("SET log_statement = 'all'")
    empty_postgres.execute("SET client_min_messages = 'log'")
    written: list[str] = []
    empty_postgres.add_notice_handler(lambda said: written.append(said.message_primary))
    empty_postgres.execute(
        f"CREATE TABLE many AS SELECT j AS u, 'canary ' || j % 2 AS i "
        f"FROM generate_series(1, {2 * TOUCHED}) t(j)"
    )
    written.clear()
    counts = wn.counts(
        (empty_postgres, "many"), item="i", person="u", reading=wn.Reading(keep="engine")
    )
    top = wn.top_k(counts, k=2, epsilon=50.0, delta=1e-6, seed=1)
    assert len(top.value) == 2
    assert any("COPY" in text for text in written) and any("GROUP BY" in text for text in written)
    assert not [text for text in written if str(TOUCHED) in text or "canary" in text]
    tables = "SELECT count(*) FROM pg_class WHERE relname LIKE 'winnow%'"
    assert empty_postgres.execute(tables).fetchone() == (0,)


def test_the_log_of_the_server_does_not_hold_which_labels_stay_for_a_second_round(
    empty_postgres: Any,
) -> None:
    written: list[str] = []
    empty_postgres.execute("CREATE TABLE own AS SELECT j AS u, 'canary ' || j AS i "
                           "FROM generate_series(1, 300) t(j)")  # fmt: skip
    empty_postgres.execute("SET log_statement = 'all'")
    empty_postgres.execute("SET client_min_messages = 'log'")
    empty_postgres.add_notice_handler(lambda said: written.append(said.message_primary))
    counts = wn.counts((empty_postgres, "own"), item="i", person="u")
    found = wn.labels(counts, epsilon=1.0, delta=1e-6, method=wn.WeightedGaussian(rounds=2), seed=1)
    assert found.value == [] and any("COPY" in text for text in written)
    assert not [text for text in written if "canary" in text.replace("'canary '", "")]


def test_a_server_that_allows_no_table_is_still_asked(empty_postgres: Any) -> None:
    empty_postgres.execute("CREATE TABLE few AS SELECT j AS u, j % 3 AS i FROM "
                           "generate_series(1, 90) t(j)")  # fmt: skip
    empty_postgres.execute("SET default_transaction_read_only = on")
    counts = wn.counts(
        (empty_postgres, "few"), item="i", person="u", reading=wn.Reading(keep="engine")
    )
    top = wn.top_k(counts, k=3, epsilon=500.0, delta=1e-6, seed=1)
    assert sorted(top.value) == ["0", "1", "2"]
    empty_postgres.execute("RESET default_transaction_read_only")
