"""How DuckDB counts: within its memory, exactly, and quiet about the data."""

import datetime
import os
import signal
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from reference.bounded_counts import bounded_counts
from reference.inside import open_sealed
from reference.reading import as_options
from winnow.read.engines import private_duck
from winnow.read.engines.packed_pairs import CODES, PackedPairs
from winnow.read.engines.private_duck import run
from winnow.read.engines.query import PERSON_PRIME, PRIME

WHOLE = [
    *((i % 7 - 3, (i * i + i // 7) % 19) for i in range(200)),
    *((2**62 + i % 3, i % 11) for i in range(40)),
    *((-(2**62), 3),) * 30,
    *((PERSON_PRIME, i) for i in range(9)),
]


def opened(counts: wn.SealedCounts) -> dict[Any, int]:
    labels: Any = counts.labels
    if isinstance(labels, wn.Sealed):
        labels = open_sealed(labels)
    return dict(zip(labels, open_sealed(counts.values).tolist(), strict=True))


def whole_frame() -> pd.DataFrame:
    return pd.DataFrame(WHOLE, columns=["u", "i"])


@pytest.mark.slow
@pytest.mark.parametrize(("bound", "parts"), [(1, 4), (3, 1), (16, 1), (16, 4), (17, 4)])
def test_people_that_are_whole_numbers_are_bounded_as_by_the_slow_twin(
    tmp_path: Path, bound: int, parts: int
) -> None:
    frame = whole_frame()
    frame.to_parquet(tmp_path / "log.parquet")
    connection = duckdb.connect()
    connection.register("log", frame)
    expected = bounded_counts(WHOLE, bound, "s")
    for source in (tmp_path / "log.parquet", pa.table(frame), (connection, "log")):
        counted = wn.counts(
            source, item="i", person="u", max_items=bound, reading=wn.Reading(salt="s", parts=parts)
        )
        assert opened(counted) == expected


@pytest.mark.slow
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c", "d", "e", "f"])), max_size=60
    ),
    bound=st.integers(1, 4),
    text=st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_duplicates_never_push_an_item_out(
    rows: list[tuple[int, str]], bound: int, text: bool
) -> None:
    own: list[tuple[str | int | None, str | int | None]] = [
        (str(u) if text else u, i) for u, i in rows
    ]
    table = pa.table(
        {
            "u": pa.array([u for u, _ in own], pa.string() if text else pa.int32()),
            "i": pa.array([i for _, i in own], pa.string()),
        }
    )
    counted = wn.counts(table, item="i", person="u", max_items=bound, reading=wn.Reading(salt="s"))
    assert opened(counted) == bounded_counts(own, bound, "s")


def test_collations_and_names_of_a_users_tables_do_not_change_counts() -> None:
    """Tables of the user's may be called as ours are, and columns may take letters for one."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE winnow_items (u TEXT COLLATE NOCASE, i TEXT COLLATE NOACCENT)")
    letters = ("\u00e9", "e", "E", "e\u0301", "x")
    rows: list[tuple[str | int | None, str | int | None]] = [
        (f"{'aA'[j % 2]}{j // 2 % 30}", letters[j % 5]) for j in range(300)
    ]
    connection.executemany("INSERT INTO winnow_items VALUES (?, ?)", rows)
    for name in ("winnow_people", "winnow_held"):
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM winnow_items")
    for name in ("winnow_items", "winnow_people", "winnow_held"):
        how: dict[str, Any] = {"item": "i", "person": "u", "salt": "s"}
        for bound in (None, 2):
            counted = wn.counts((connection, name), **as_options(how), max_items=bound)
            assert opened(counted) == bounded_counts(rows, bound, "s")
            listed = wn.counts(
                (connection, name), **as_options(how), max_items=bound, items=["E", "\u00e9", "no"]
            )
            few = bounded_counts([(u, i) for u, i in rows if i in ("E", "\u00e9")], bound, "s")
            wanted = [few["E"], few["\u00e9"], 0]
            assert open_sealed(listed.values).tolist() == wanted
    left = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone()
    assert left == (1,)


def test_the_packed_integer_holds_every_hash_and_every_item() -> None:
    assert PRIME * CODES < 2**63
    assert 10**8 * 10**10 < 2**63
    assert PERSON_PRIME**2 + PERSON_PRIME < 2**63
    assert PRIME > 10**10


def test_too_many_items_for_the_memory_are_ranked_pair_by_pair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(private_duck, "_BYTES_PER_ITEM", 1e12)
    monkeypatch.setattr(PackedPairs, "counts", None)
    for bound in (2, 17):
        counted = wn.counts(
            whole_frame(),
            item="i",
            person="u",
            max_items=bound,
            reading=wn.Reading(salt="s", parts=2),
        )
        assert opened(counted) == bounded_counts(WHOLE, bound, "s")


def test_a_part_that_does_not_fit_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    counted_parts = []
    part = private_duck.PartsCounter._part

    def tight(self: Any, number: int, parts: int, use_packed: bool) -> Any:
        if parts < 2 or (parts, number) == (2, 1):
            raise duckdb.OutOfMemoryException("made up")
        counted_parts.append((number, parts))
        return part(self, number, parts, use_packed)

    monkeypatch.setattr(private_duck.PartsCounter, "_part", tight)
    seen: list[tuple[int, int]] = []
    counted = wn.counts(
        whole_frame(),
        item="i",
        person="u",
        max_items=2,
        reading=wn.Reading(salt="s", progress=lambda *done: seen.append(done)),
    )
    assert opened(counted) == bounded_counts(WHOLE, 2, "s")
    assert counted_parts == [(0, 2), (1, 4), (3, 4)]
    assert seen == [(1, 2), (2, 3), (3, 3)]


def test_a_memory_that_is_never_enough_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise duckdb.OutOfMemoryException("made up of secret")

    monkeypatch.setattr(private_duck, "_MOST_PARTS", 4)
    monkeypatch.setattr(private_duck.PartsCounter, "_part", never)
    with pytest.raises(wn.InputError, match="not enough") as caught:
        wn.counts(whole_frame(), item="i", person="u", max_items=2)
    assert caught.value.__context__ is None


def test_a_database_that_does_not_start_says_why() -> None:
    """Nothing has been read yet, so that DuckDB's own reason quotes no row."""
    with pytest.raises(wn.InputError, match=r"memory='9{20}GB': .*too large") as caught:
        wn.counts(whole_frame(), item="i", person="u", reading=wn.Reading(memory="9" * 20 + "GB"))
    assert "\n" not in str(caught.value) and caught.value.__context__ is None


def test_columns_may_have_the_names_that_the_query_uses() -> None:
    names = ["code", "a", "b", "i", "t", "u", "v", "person", "kept", "n"]
    rows = [[f"x{r % 5}", f"p{r % 3}", *range(8)] for r in range(30)]
    frame = pd.DataFrame(rows, columns=names)
    pairs: list[Any] = [(row[1], row[0]) for row in rows]
    connection = duckdb.connect()
    connection.register("log", frame)
    for source in (frame, (connection, "log")):
        counted = wn.counts(
            source, item="code", person="a", max_items=2, reading=wn.Reading(salt="s")
        )
        assert opened(counted) == bounded_counts(pairs, 2, "s")


def test_data_frames_keep_the_memory_limit_and_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(wn.InputError, match="not a size"):
        wn.counts(whole_frame(), item="i", person="u", reading=wn.Reading(memory="lots"))
    people = np.arange(600_000)
    frame = pd.DataFrame({"u": people.astype(str), "i": people % 1000})
    seen: list[tuple[int, int]] = []
    counted = wn.counts(
        frame,
        item="i",
        person="u",
        reading=wn.Reading(memory="30MB", progress=lambda *done: seen.append(done)),
    )
    assert set(opened(counted).values()) == {600}
    assert len(seen) > 1  # it did not fit at once
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_long_public_list_is_one_text() -> None:
    labels = [*(f"item {i}" for i in range(50_000)), "\x1f0\x1f", "\x1f", "it's \\ a", ""]
    frame = pd.DataFrame({"u": [1, 2, 2, 3], "i": ["item 7", "\x1f0\x1f", "it's \\ a", ""]})
    connection = duckdb.connect()
    connection.register("log", frame)
    relation = connection.sql("SELECT * FROM log")
    for source in (frame, (connection, "log"), relation):
        for bound in (None, 2):
            counted = wn.counts(source, item="i", person="u", items=labels, max_items=bound)
            found = {label: n for label, n in opened(counted).items() if n}
            assert found == {"item 7": 1, "\x1f0\x1f": 1, "it's \\ a": 1, "": 1}
    assert opened(wn.counts(frame, item="i", person="u", items=[""])) == {"": 1}


TYPED: list[tuple[Any, list[Any]]] = [
    (pa.int64(), [7, -1]),
    (pa.uint64(), [7, 2**63]),
    (pa.bool_(), [True, False]),
    (pa.date32(), [datetime.date(2026, 11, 30), datetime.date(987, 1, 2)]),
    (pa.string(), ["true", "True"]),
]


@pytest.mark.parametrize(("kind", "labels"), TYPED)
def test_labels_match_values_of_their_own_type(kind: Any, labels: list[Any]) -> None:
    table = pa.table({"u": [1, 2, 3], "i": pa.array([labels[0], labels[1], labels[1]], kind)})
    connection = duckdb.connect()
    connection.register("log", table)
    for source in (table, (connection, "log")):
        for bound in (None, 1):
            counted = wn.counts(source, item="i", person="u", items=labels, max_items=bound)
            assert list(opened(counted).values()) == [1, 2]


def test_labels_of_numpy_and_uuids_match_and_others_are_refused() -> None:
    frame = pd.DataFrame({"u": [1], "i": [7]})
    assert opened(wn.counts(frame, item="i", person="u", items=[np.int32(7)])) == {7: 1}
    name = UUID("0123456789abcdef0123456789abcdef")
    frame = pd.DataFrame({"u": [1], "i": [str(name)]})
    assert opened(wn.counts(frame, item="i", person="u", items=[name])) == {name: 1}
    now = datetime.datetime(2026, 1, 1)
    for label in (7.0, None, now, b"x", "a\0", "\ud800", (1, 2)):
        with pytest.raises(wn.InputError, match="public list"):
            wn.counts(frame, item="i", person="u", items=[label])
    with pytest.raises(wn.InputError, match="appears again"):
        wn.counts(frame, item="i", person="u", items=[True, "true"])


def test_only_the_used_columns_of_pandas_must_hold_one_type() -> None:
    frame = pd.DataFrame({"u": [1, 2], "i": ["a", "a"], "other": [1, "1"]})
    assert opened(wn.counts(frame, item="i", person="u")) == {"a": 2}
    with pytest.raises(wn.InputError, match="mixes several types"):
        wn.counts(frame, item="other", person="u")


def test_columns_of_pandas_are_checked_under_the_names_that_duckdb_gives_them() -> None:
    people = pd.Series([1, "1"], dtype=object)
    numbered = pd.DataFrame({0: people, 1: ["x", "y"]})
    with pytest.raises(wn.InputError, match="mixes several types"):
        wn.counts(numbered, item="1", person="0", max_items=1)
    for names in (["u", "i", "u"], ["i", "I", "u"]):
        frame = pd.concat([people, pd.Series(["x", "y"]), people], axis=1)
        frame.columns = pd.Index(names)
        for user in ("u", "I_1"):
            with pytest.raises(wn.InputError, match="several columns of one name"):
                wn.counts(frame, item="i", person=user, max_items=1)


@pytest.mark.parametrize("kind", ["INTEGER[]", "STRUCT(a VARCHAR)", "MAP(INTEGER, VARCHAR)"])
def test_nested_columns_are_refused(kind: str) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t (u INTEGER, i {kind})")
    with pytest.raises(wn.InputError, match="not the same in every engine"):
        wn.counts((connection, "t"), item="i", person="u")


def test_no_message_of_the_engine_hangs_on_an_error(tmp_path: Path) -> None:
    secret = "417-secret"
    log = tmp_path / "log.csv"
    log.write_text(f'u,i\n1,a\n2,"{secret}\n3,b,c,d\n')
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1" + secret.encode())
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT '{secret}' AS u, 'a' AS i")
    query = "SELECT CAST(u AS INTEGER) AS u, i FROM t"
    cases: list[Any] = [log, broken, (connection, query), connection.sql(query), (connection, "?")]
    for source in cases:
        with pytest.raises(wn.InputError) as caught:
            wn.counts(source, item="i", person="u", max_items=1)
        assert secret not in str(caught.value)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None


def test_an_interrupt_stops_a_query_that_would_never_end() -> None:
    connection = duckdb.connect()
    endless = "SELECT COUNT(*) FROM range(10000000) a, range(10000000) b WHERE hash(a, b) = 3"
    # a shell's background jobs ignore the signal, and the query would indeed never end
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(connection, endless)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert run(connection, "SELECT 1") == [(1,)]


def test_many_items_of_a_database_of_ones_own_are_collected() -> None:
    """DuckDB 2.0 waited for ever at the limit of this query, from about 100,000 items on."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE log AS SELECT 'person ' || n AS u, 'item ' || (n % 120000) AS i "
        "FROM range(240000) t(n)"
    )
    waited_too_long = threading.Timer(60, connection.interrupt)
    waited_too_long.start()
    try:
        found = wn.counts(
            (connection, "log"), item="i", person="u", max_items=1, reading=wn.Reading(salt="s")
        )
    finally:
        waited_too_long.cancel()
    assert opened(found) == {f"item {n}": 2 for n in range(120_000)}
