"""Commands read tables of DuckDB, Postgres and Spark as they read files; no address is shown."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import duckdb
import pytest

import winnow as wn
from reference.commands import invoke
from winnow.errors import DataError
from winnow.read.databases import names_database

PASSWORD = "hunter2"
VISITS = [(f"page{i % 4}", f"v{i // 3}") for i in range(600)]
PEOPLE = [("m" if i % 3 == 0 else "f", str(i % 2), f"p{i // 2}") for i in range(400)]
VOTES = [("oak", 700), ("elm", 690), ("ash", 695), ("yew", 699)]
TABLES: dict[str, tuple[tuple[str, ...], list[Any]]] = {
    "visits": (("page", "visitor"), VISITS),
    "people": (("sex", "bird", "who"), PEOPLE),
    "votes": (("tree", "n"), VOTES),
}
_TABLE: tuple[object, ...] = ("people", "--schema", "schema.json", "--epsilon", 1, "--seed", 5)
LINES: dict[str, tuple[object, ...]] = {
    "select": ("select", "votes", "--epsilon", 0.1, "-k", 3, "--seed", 5),
    "counts": ("top-k", "votes", "--item", "tree", "--count", "n", "--labels", "public", "-k", 2,
               "--epsilon", 0.1, "--seed", 5),
    "top-k": ("top-k", "visits", "--item", "page", "--person", "visitor", "-k", 2, "--epsilon", 1,
             "--delta", 1e-6, "--max-items", 1, "--with-counts", "--seed", 5),
    "itemsets": ("itemsets", "visits", "--basket", "visitor", "--item", "page", "--size", 2,
                 "--epsilon", 2, "--delta", 1e-6, "--one-basket-per-person",
                 "--supports", "winners",
                 "--seed", 5),
    "learn": ("learn", *_TABLE, "--target", "bird", "--one-row-per-person"),
    "tabulate": ("tabulate", *_TABLE, "--by", "sex,bird", "--person", "who",
                 "--max-rows", 1),
    "release": ("release", *_TABLE, "--workload", "marginals:2", "--one-row-per-person"),
    "ask": ("ask", "people", "--schema", "schema.json", "--epsilon", 9, "--delta", 1e-6,
            "--seed", 5, "--batch", "questions.txt", "--yes", "--one-row-per-person",
            "--max-queries", 2),
    "schema check": ("schema", "check", "people", "--schema", "schema.json"),
    "schema draft": ("schema", "draft", "people"),
}  # fmt: skip
SHOWS_JSON = {*LINES} - {"schema draft"}


@pytest.fixture(scope="module")
def laid_down(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("census")
    for name, (columns, rows) in TABLES.items():
        lines = [columns, *(sorted(rows) if name == "votes" else rows)]
        text = "".join(",".join(map(str, row)) + "\n" for row in lines)
        (home / f"{name}.csv").write_text(text)
    schema = {"sex": {"values": ["f", "m"]}, "bird": {"values": ["0", "1"]}}
    (home / "schema.json").write_text(json.dumps(schema))
    (home / "questions.txt").write_text("sex = f\nbird = 1\n")
    with duckdb.connect(str(home / "census.duckdb")) as connection:
        fill(connection.execute)
    return home


@pytest.fixture
def folder(laid_down: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copytree(laid_down, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fill(run: Callable[[str], Any]) -> None:
    for name, (columns, rows) in TABLES.items():
        types = ("text", "bigint") if name == "votes" else ("text",) * len(columns)
        declared = ", ".join(f"{c} {t}" for c, t in zip(columns, types, strict=True))
        run(f"CREATE TABLE {name} ({declared})")
        listed = ", ".join(str(row) for row in rows)
        run(f"INSERT INTO {name} VALUES {listed}")


def asked(name: str, source: Callable[[str], str]) -> Any:
    line = [source(str(word)) if word in TABLES else word for word in LINES[name]]
    return invoke([*line, *(["--json"] if name in SHOWS_JSON else [])])


def check_same(name: str, source: Callable[[str], str]) -> None:
    expected = asked(name, "{}.csv".format)
    assert expected.exit_code == 0, expected.stderr
    found = asked(name, source)
    assert found.exit_code == 0, found.stderr
    assert found.stdout == expected.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_a_duckdb_file_is_read_as_a_file_of_rows_is(name: str, folder: Path) -> None:
    check_same(name, "duckdb:census.duckdb#{}".format)


@pytest.mark.parametrize("name", ["select", "top-k"])
def test_a_query_and_a_variable_name_a_table_too(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CENSUS", "duckdb:census.duckdb")
    check_same(name, "env:CENSUS#SELECT * FROM {}".format)


def held_privately(address: str) -> Path:
    path = Path("address")
    path.touch(mode=0o600)
    path.write_text(address + "\n")
    return path


@pytest.mark.extras
@pytest.mark.parametrize("name", LINES)
def test_postgres_is_read_as_a_file_of_rows_is(
    name: str, folder: Path, postgres_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    with psycopg.connect(postgres_address) as connection:
        fill(connection.execute)
    monkeypatch.setenv("CENSUS", postgres_address)
    check_same(name, "env:CENSUS#{}".format)
    held_privately(postgres_address)
    check_same(name, "file:address#{}".format)


@pytest.mark.extras
@pytest.mark.parametrize("name", LINES)
def test_spark_is_read_as_a_file_of_rows_is(name: str, folder: Path, spark: Any) -> None:
    for table, (columns, rows) in TABLES.items():
        spark.createDataFrame(rows, list(columns)).createOrReplaceTempView(table)
    try:
        check_same(name, "spark:{}".format)
        check_same(name, "spark:SELECT * FROM {}".format)
    finally:  # other tests have the session, too
        for table in TABLES:
            spark.catalog.dropTempView(table)


def test_the_library_takes_the_same_names(folder: Path) -> None:
    counts = wn.counts("duckdb:census.duckdb#visits", item="page", unit="row")
    assert len(wn.top_k(counts, k=2, epsilon=5, delta=1e-6).value) == 2
    table = wn.read_table("duckdb:census.duckdb#people", schema="schema.json")
    assert list(table.schema.names) == ["sex", "bird"]


def test_a_file_of_that_name_is_a_file(folder: Path) -> None:
    assert names_database("duckdb:a#b") and not names_database("a.csv") and not names_database(3)
    Path("duckdb:a#b").write_text("")
    assert not names_database("duckdb:a#b")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("duckdb:none.duckdb#votes", "there is no DuckDB file"),
        ("duckdb:votes.csv#votes", "cannot be opened"),
        ("duckdb:census.duckdb", "does not say which table"),
        ("duckdb:census.duckdb#", "does not say which table"),
        ("duckdb:census.duckdb#none", "check that the table or query exists"),
        ("duckdb:census.duckdb#DROP TABLE votes", "check that the table or query exists"),
        ("env:NOBODY#votes", "the variable NOBODY"),
        ("env:WRONG#votes", "the variable WRONG"),
        ("env:AWAY#votes", "cannot be reached"),
        ("file:none#votes", "does not hold the address"),
        ("spark:", "does not say which table"),
    ],
)
def test_what_cannot_be_read_is_refused_and_no_address_is_shown(
    source: str, says: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if source.startswith("env:AWAY"):
        pytest.importorskip("psycopg")
    monkeypatch.setenv("WRONG", f"mysql://ann:{PASSWORD}@h/d")
    monkeypatch.setenv("AWAY", f"postgresql://ann:{PASSWORD}@127.0.0.1:1/none")
    done = invoke(["select", source, "--epsilon", 1, "--log-json"])
    assert done.exit_code == 2 and says in done.stderr, done.stderr
    assert PASSWORD not in done.output and "Traceback" not in done.output


def test_an_address_that_others_can_read_is_refused(folder: Path) -> None:
    path = held_privately(f"postgresql://ann:{PASSWORD}@127.0.0.1:1/none")
    path.chmod(0o644)
    done = invoke(["select", "file:address#votes", "--epsilon", 1])
    assert done.exit_code == 2 and "chmod 600" in done.stderr and PASSWORD not in done.output
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o644


def test_a_matrix_is_not_read_from_a_table_without_order() -> None:
    from winnow.read.matrix import read_matrix

    with pytest.raises(DataError, match="no order of rows"):
        read_matrix("duckdb:census.duckdb#votes")


def test_a_query_that_a_path_would_change_is_refused(folder: Path) -> None:
    done = invoke(["select", "duckdb:x#SELECT a // b FROM t", "--epsilon", 1])
    assert done.exit_code == 2 and "as a view" in done.stderr


def test_the_order_of_a_table_s_rows_is_not_seen(folder: Path) -> None:
    shown = []
    for place, rows in enumerate((VOTES, VOTES[::-1])):
        with duckdb.connect(f"{place}.duckdb") as connection:
            connection.execute("CREATE TABLE votes (tree text, n bigint)")
            connection.executemany("INSERT INTO votes VALUES (?, ?)", rows)
        line = ["select", f"duckdb:{place}.duckdb#votes", "--epsilon", 1, "-k", 3, "--seed", 5]
        shown.append(invoke([*line, "--json"]).stdout)
    assert shown[0] == shown[1]


def test_text_options_are_refused_for_databases(folder: Path) -> None:
    for line in (
        ["select", "duckdb:census.duckdb#votes", "--epsilon", 1, "--delimiter", ";"],
        ["top-k", "duckdb:census.duckdb#visits", "--item", "page", "--one-row-per-person", "-k", 1,
         "--epsilon", 1, "--delta", 1e-6, "--delimiter", ";"],
    ):  # fmt: skip
        done = invoke(line)
        assert done.exit_code == 2 and "text" in done.stderr.lower()


def test_a_killed_request_on_a_database_is_not_drawn_again(folder: Path) -> None:
    from winnow.cli import retrying

    invoke(["ledger", "init", "ledger.db", "--dataset", "trees", "--epsilon", 5])
    line = ["select", "duckdb:census.duckdb#votes", "--epsilon", 1, "--json", "--ledger",
            "ledger.db", "--dataset", "trees", "--request-key"]  # fmt: skip

    def end(name: str) -> None:
        if name == "before the result is kept":
            raise RuntimeError

    before = retrying.step.set(end)
    assert invoke([*line, "a"]).exit_code == 1
    retrying.step.reset(before)
    refused = invoke([*line, "a"])
    assert refused.exit_code == 3 and "not in files" in refused.stderr
    first, again = invoke([*line, "b"]), invoke([*line, "b"])
    assert first.exit_code == again.exit_code == 0 and first.stdout == again.stdout
