"""``wn.counts``: people per item, bounded per person, the same from every source."""

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from reference.bounded_counts import bounded_counts
from reference.inside import open_sealed
from reference.reading import as_options
from winnow import SealedCounts

ROWS: list[tuple[str | None, str | None]] = [
    *((f"u{i % 9}", f"item {(i * i + i // 9) % 13}") for i in range(300)),
    (None, "lost"),
    ("u1", None),
    ("o'brien; --", 'quote " and | bar'),
    ("ünï", "çödé"),
]


def opened(counts: SealedCounts) -> dict[Any, int]:
    labels: Any = counts.labels
    if isinstance(labels, wn.Sealed):
        labels = open_sealed(labels)
    values = open_sealed(counts.values)
    assert values.dtype == np.int64
    return dict(zip(labels, values.tolist(), strict=True))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("log")
    frame = pd.DataFrame(ROWS, columns=["who", "what it"])
    frame.to_csv(folder / "log.csv", index=False)
    frame.to_csv(folder / "log.tsv", index=False, sep="\t")
    frame.to_parquet(folder / "log.parquet")
    with gzip.open(folder / "packed.csv.gz", "wt") as packed:
        packed.write((folder / "log.csv").read_text())
    (folder / "half").mkdir()
    frame[:150].to_csv(folder / "half" / "one.csv", index=False)
    frame[150:].to_csv(folder / "half" / "two.csv", index=False)
    connection = duckdb.connect()
    connection.register("log", frame)
    return {
        "csv": folder / "log.csv",
        "tsv": str(folder / "log.tsv"),
        "parquet": folder / "log.parquet",
        "gzip": folder / "packed.csv.gz",
        "pattern": str(folder / "half" / "*.csv"),
        "list": [folder / "half" / "two.csv", folder / "half" / "one.csv"],
        "pandas": frame,
        "shuffled": frame.sample(frac=1, random_state=1),
        "polars": pl.DataFrame(frame),
        "lazy": pl.DataFrame(frame).lazy(),
        "arrow": pa.table(frame),
        "table": (connection, "log"),
        "query": (connection, "SELECT * FROM log"),
        "relation": connection.sql("SELECT * FROM log"),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    ["csv", "tsv", "parquet", "gzip", "pattern", "list", "pandas", "shuffled", "polars", "lazy",
     "arrow", "table", "query", "relation"],
)  # fmt: skip
@pytest.mark.parametrize(("bound", "parts"), [(None, None), (4, None), (1, 5)])
def test_every_source_gives_the_counts_of_the_slow_twin(
    sources: dict[str, Any], source: str, bound: int | None, parts: int | None
) -> None:
    counted = wn.counts(
        sources[source],
        item="what it",
        person="who",
        max_items=bound,
        reading=wn.Reading(salt="s", parts=parts),
    )
    assert opened(counted) == bounded_counts(ROWS, bound, "s")
    assert counted.max_items == bound
    assert not counted.domain_known


PEOPLE = st.dictionaries(
    st.text("abc|:'\"é", max_size=3).map(lambda s: "u" + s),
    st.lists(st.text("xyz|:' ", min_size=1, max_size=2), max_size=6),
    min_size=1,
    max_size=6,
)


@pytest.mark.extras
@given(people=PEOPLE, bound=st.integers(1, 3))
@settings(max_examples=8)
def test_one_person_moves_at_most_the_bound_of_counts_by_one(
    people: dict[str, list[str]], bound: int
) -> None:
    def counted(of: dict[str, list[str]]) -> dict[str, int]:
        rows = [(user, item) for user, items in of.items() for item in items * 2]
        frame = pl.DataFrame(rows, schema={"u": pl.String, "i": pl.String}, orient="row")
        return opened(
            wn.counts(frame, item="i", person="u", max_items=bound, reading=wn.Reading(salt="k"))
        )

    everyone = counted(people)
    for leaving in people:
        rest = counted({user: items for user, items in people.items() if user != leaving})
        moved = {i: everyone.get(i, 0) - rest.get(i, 0) for i in {*everyone, *rest}}
        assert set(moved.values()) <= {0, 1}
        assert sum(moved.values()) <= bound


def test_a_public_list_keeps_its_items_before_bounding() -> None:
    rows = [("u", "a"), ("u", "b"), ("u", "c"), ("v", "c")]
    frame = pd.DataFrame(rows, columns=["u", "i"])
    counted = wn.counts(frame, item="i", person="u", items=["c", "nobody"], max_items=1)
    assert counted.domain_known
    assert opened(counted) == {"c": 2, "nobody": 0}
    assert wn.top_k(counted, k=1, epsilon=50.0).value == ["c"]


def test_a_public_list_may_be_numbers_or_a_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"u": [1, 2, 2], "i": [7, 7, 8]})
    assert opened(wn.counts(frame, item="i", person="u", items=[7, 8])) == {7: 2, 8: 1}
    (tmp_path / "items.txt").write_text("7\n\n9\n")
    listed = wn.counts(frame, item="i", person="u", items=tmp_path / "items.txt")
    assert opened(listed) == {"7": 2, "9": 0}


def test_without_a_user_every_row_is_a_person() -> None:
    counted = wn.counts(pd.DataFrame({"i": ["a", "a", "b", None]}), item="i")
    assert opened(counted) == {"a": 2, "b": 1}
    assert counted.max_items == 1
    with pytest.raises(wn.InputError, match="needs person"):
        wn.counts(pd.DataFrame({"i": ["a"]}), item="i", max_items=3)


def test_the_default_choice_is_secret_and_the_relation_is_declared() -> None:
    frame = pd.DataFrame({"u": ["p"] * 40, "i": [f"i{j}" for j in range(40)]})
    picks = {tuple(opened(wn.counts(frame, item="i", person="u", max_items=2))) for _ in range(5)}
    assert len(picks) > 1
    replaced = wn.counts(frame, item="i", person="u", relation="substitution")
    assert replaced.utility.half_width == 1
    assert wn.counts(frame, item="i", person="u").utility.half_width == 0.5


def test_text_files_are_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("u,i\n1,007\n2,7\n3,7.0\n")
    counted = wn.counts(tmp_path / "log.csv", item="i", person="u")
    assert opened(counted) == {"007": 1, "7": 1, "7.0": 1}


@pytest.mark.parametrize(
    "text",
    [
        "u,i\na,x\n" + "b,x,3\n" * 30,  # a first row of two would be a title above three columns
        "a title\nu,i\na,x\n",
        "u,i\n#a,x\nb,y\n#c\nd,z\n",  # the row #c would make a comment of the row #a
    ],
)
def test_no_row_is_skipped_because_of_another(tmp_path: Path, text: str) -> None:
    (tmp_path / "log.csv").write_text(text)
    how: dict[str, Any] = {"basket": "u", "item": "i", "unit": "basket"}
    with pytest.raises(wn.InputError, match=r"cannot be counted|no column|there are 2 columns"):
        wn.counts(tmp_path / "log.csv", item="i", person="u")
    with pytest.raises(wn.InputError, match=r"cannot be read|no column|there are 2 columns"):
        wn.read_table(tmp_path / "log.csv", schema={"i": {"values": ["x", "y", "z"]}})
    with pytest.raises(wn.InputError, match=r"cannot be read|no column|there are 2 columns"):
        wn.read_baskets(tmp_path / "log.csv", **as_options(how))


def test_names_with_a_number_sign_are_rows(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("u,i\n#a,x\nb,y\n#c,x\n")
    assert opened(wn.counts(tmp_path / "log.csv", item="i", person="u")) == {"x": 2, "y": 1}


def test_an_empty_log_is_an_empty_private_domain(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("u,i\n")
    counted = wn.counts(tmp_path / "log.csv", item="i", person="u", max_items=2)
    assert opened(counted) == {}
    assert wn.top_k(counted, k=2, epsilon=1.0, delta=1e-6).value == []


def test_progress_is_told_and_no_temporary_files_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "log.csv").write_text("u,i\n1,a\n2,b\n")
    seen: list[tuple[int, int]] = []
    wn.counts(
        tmp_path / "log.csv",
        item="i",
        person="u",
        reading=wn.Reading(parts=3, progress=lambda *done: seen.append(done)),
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]  # rounded up to a power of two
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


def test_bad_sources_and_columns_are_refused_without_showing_data(tmp_path: Path) -> None:
    secret = "417-secret"
    log = tmp_path / "log.csv"
    log.write_text(f"u,i\n{secret},a\n")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1" + secret.encode())
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    frame = pd.DataFrame({"u": [secret], "i": ["a"], "x": [1.5], "t": [pd.Timestamp("2026-01-01")],
                          "m": [secret]})  # fmt: skip
    mixed = pd.DataFrame({"u": [1, "1"], "i": ["a", "b"]}, dtype=object)
    connection = duckdb.connect()
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (log, {"item": "nope"}, "no column 'nope'"),
        (log, {"item": "i", "person": "nope"}, "no column 'nope'"),
        (log, {"item": "i", "person": "i"}, "both item and person"),
        (log, {"item": 3}, "not the name of a column"),
        (log, {"item": "i", "person": "u", "max_items": 0}, "below 1"),
        (log, {"item": "i", "memory": "lots"}, "not a size"),
        (log, {"item": "i", "parts": 0}, "below 1"),
        (log, {"item": "i", "items": []}, "empty"),
        (log, {"item": "i", "items": ["a", "a"]}, "appears again"),
        (log, {"item": "i", "items": tmp_path / "no.txt"}, "cannot be read"),
        (tmp_path / "missing.csv", {"item": "i"}, "no file"),
        (tmp_path, {"item": "i"}, "folder"),
        (empty, {"item": "i"}, "empty"),
        (broken, {"item": "i"}, "not a Parquet file"),
        ([log, broken], {"item": "i"}, "not a Parquet file"),
        (frame, {"item": "x"}, "not the same in every engine"),
        (frame, {"item": "t"}, "not the same in every engine"),
        (mixed, {"item": "i", "person": "u"}, "mixes several types"),
        ((connection, "no_such_table"), {"item": "i"}, "cannot be counted"),
        ((connection, "SELECT FROM WHERE"), {"item": "i"}, "source|counted"),
        ((connection, 5), {"item": "i"}, "SELECT"),
        ((object(), "t"), {"item": "i"}, "not known"),
        (42, {"item": "i"}, "cannot be counted"),
    ]
    for source, arguments, message in cases:
        with pytest.raises(wn.InputError, match=message) as caught:
            wn.counts(source, **as_options(arguments))
        assert secret not in str(caught.value)


def test_different_people_are_never_counted_as_one(tmp_path: Path) -> None:
    """One person merged with another would move more counts than the bound says."""
    pd.DataFrame({"u": [7], "i": ["a"]}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"u": ["007"], "i": ["a"]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(wn.InputError, match="different types"):
        wn.counts(str(tmp_path / "*.parquet"), item="i", person="u")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (u VARCHAR COLLATE NOCASE, i VARCHAR COLLATE NOCASE)")
    connection.execute("INSERT INTO t VALUES ('a', 'x'), ('A', 'x'), ('b', 'X')")
    for source in ((connection, "t"), connection.sql("SELECT * FROM t")):
        for bound in (None, 1):
            counted = wn.counts(source, item="i", person="u", max_items=bound)
            assert opened(counted) == {"x": 2, "X": 1}


@pytest.mark.parametrize("collation", ["nocase", "noaccent", "nfc", "de", "en", "de.nocase"])
def test_a_connection_that_may_take_two_people_for_one_is_refused(collation: str) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'caf\u00e9' AS u, 'x' AS i")
    connection.execute("INSERT INTO t VALUES ('cafe\u0301', 'y'), ('caf\u00e9\u200b', 'y')")
    connection.execute(f"SET default_collation = '{collation}'")
    for source in ((connection, "t"), connection.table("t")):
        with pytest.raises(wn.InputError, match="RESET default_collation"):
            wn.counts(source, item="i", person="u", max_items=1)
        with pytest.raises(wn.InputError, match="RESET default_collation"):
            wn.read_table(source, schema={"i": {"values": ["x", "y"]}}, person="u")
    connection.execute("RESET default_collation")
    for source in ((connection, "t"), connection.table("t")):
        counted = wn.counts(source, item="i", person="u", max_items=1)
        assert opened(counted) == {"x": 1, "y": 2}


def test_no_bar_of_duckdb_is_drawn_over_what_a_program_prints() -> None:
    """Without a script, as in a notebook, DuckDB draws one after two seconds."""
    code = (
        "from winnow.read.engines.private_duck import private_connection as private\n"
        "with private('1GB') as own:\n"
        "    ask = \"SELECT current_setting('enable_progress_bar')\"\n"
        "    assert own.execute(ask).fetchall() == [(False,)]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
