"""SQL for engines that cannot be run here: as text, read back, and run by DuckDB in translation."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

import winnow as wn
from reference.bounded_counts import bounded_counts
from winnow.core.opening import open_sealed
from winnow.errors import DataError
from winnow.read.engines.query import SALT, CountQuery
from winnow.read.engines.warehouse import DIALECTS, WarehouseTable, with_salt
from winnow.read.kept import KeptCounts

SNAPSHOTS = Path(__file__).parent / "warehouses"
ROWS = [(f"u{i % 31}", f"item {(i * i + i // 31) % 47}") for i in range(600)]
ITEMS = [f"item {i}" for i in range(50)]
PACKAGES = {"bigquery": "google", "snowflake": "snowflake", "trino": "trino"}
PACKAGES |= {"databricks": "databricks"}
STYLES = {"bigquery": "pyformat", "snowflake": "pyformat", "trino": "qmark", "databricks": "named"}


def query_of(dialect: str, items: tuple[str, ...] | None = None) -> Any:
    table = WarehouseTable(None, DIALECTS[dialect], exp.to_table("log"))
    return table.asked(CountQuery("what", "who", 5, "unused", items))


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_question_is_read_back_as_it_was_written(dialect: str) -> None:
    wanted = exp.values([(3, "00ff")], alias="w", columns=["n", "b"])
    for items in (None, ("a", "o'brien")):
        asked = query_of(dialect, items)
        for question in (asked.counts, asked.sizes(), asked.spots(wanted), asked.names(wanted)):
            text = question.sql(dialect=dialect)
            tree = sqlglot.parse_one(text, dialect=dialect)
            again = tree.sql(dialect=dialect)  # COLLATE may have become an operator
            assert sqlglot.parse_one(again, dialect=dialect) == tree
            assert again == text or dialect == "databricks"
            assert "unused" not in text  # the salt is a parameter
            assert SALT in text


def written(dialect: str) -> str:
    """The questions of a bounded count and of a public list, as this engine gets them."""
    asked, listed = query_of(dialect), query_of(dialect, ("a", "o'brien"))
    wanted = exp.values([(3, "00ff")], alias="w", columns=["n", "b"])
    questions = (asked.counts, asked.sizes(), asked.names(wanted), listed.sizes())
    return "".join(f"{question.sql(dialect=dialect, pretty=True)};\n\n" for question in questions)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_texts_are_those_that_were_looked_at(dialect: str) -> None:
    """Written by ``python tests/read/test_warehouses.py``; look at what changed."""
    assert written(dialect) == (SNAPSHOTS / f"{dialect}.sql").read_text(encoding="utf-8")


def test_the_salt_is_written_in_the_style_of_the_driver() -> None:
    sql = f"SELECT :{SALT} || 'u', 7 % 3, :{SALT}"
    assert with_salt(sql, "qmark", "s") == ("SELECT ? || 'u', 7 % 3, ?", ["s", "s"])
    assert with_salt(sql, "format", "s") == ("SELECT %s || 'u', 7 %% 3, %s", ["s", "s"])
    assert with_salt(sql, "numeric", "s") == ("SELECT :1 || 'u', 7 % 3, :2", ["s", "s"])
    assert with_salt(sql, "named", "s")[1] == {SALT: "s"}
    text, values = with_salt(f"SELECT @{SALT}, 7 % 3", "pyformat", "s")
    assert text == f"SELECT %({SALT})s, 7 %% 3" and values == {SALT: "s"}


class Cursor:
    """Runs what was written for another engine in DuckDB, translated; texts compare by bytes."""

    def __init__(self, connection: Any, dialect: str) -> None:
        self._duck, self._dialect = connection, dialect

    def execute(self, sql: str, values: Any = None) -> None:
        style = STYLES[self._dialect]
        salt = (values if isinstance(values, list) else list((values or {"": ""}).values()))[:1]
        literal = exp.Literal.string(salt[0] if salt else "").sql()
        mark = {"pyformat": f"%({SALT})s", "qmark": "?", "named": f":{SALT}"}[style]
        sql = sql.replace(mark, literal)
        if values is not None and style == "pyformat":
            sql = sql.replace("%%", "%")

        def bytewise(node: exp.Expression) -> exp.Expression:
            named = isinstance(node, exp.Anonymous) and node.name.upper() == "COLLATE"
            if named:
                return node.expressions[0]
            return node.this if isinstance(node, exp.Collate) else node

        tree = sqlglot.parse_one(sql, dialect=self._dialect).transform(bytewise)
        self._result = self._duck.execute(tree.sql(dialect="duckdb"))

    def fetchall(self) -> list[Any]:
        return list(self._result.fetchall())

    def fetchmany(self, size: int) -> list[Any]:
        return list(self._result.fetchmany(size))

    def close(self) -> None:
        pass


@pytest.fixture(
    params=[
        pytest.param(name, marks=() if name == "trino" else pytest.mark.extras) for name in DIALECTS
    ]
)
def warehouse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A connection that says to be of one of these engines."""
    dialect = request.param
    duck = duckdb.connect()
    duck.execute("CREATE TABLE log (who VARCHAR, what VARCHAR, gain DOUBLE)")
    duck.executemany("INSERT INTO log VALUES (?, ?, 1.5)", ROWS)

    class Connection:
        def cursor(self) -> Cursor:
            return Cursor(duck, dialect)

    Connection.__module__ = f"{PACKAGES[dialect]}.made_up"
    module = ModuleType(Connection.__module__)
    module.paramstyle = STYLES[dialect]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return Connection()


def test_a_connection_counts_as_the_slow_twin_does(warehouse: Any) -> None:
    options: dict[str, Any] = {"item": "what", "user": "who", "max_items_per_user": 5, "salt": "s"}
    held = wn.counts((warehouse, "log"), keep="memory", **options)
    labels: Any = held.labels
    values: Any = open_sealed(held.values)
    counted = dict(zip(open_sealed(labels), values.tolist(), strict=True))
    assert counted == bounded_counts(ROWS, 5, "s")
    kept = wn.counts((warehouse, "log"), keep="engine", items=ITEMS, **options)
    assert isinstance(open_sealed(kept.values), KeptCounts)
    memory = wn.counts((warehouse, "log"), keep="memory", items=ITEMS, **options)
    lists = [wn.top_k(c, k=3, epsilon=0.5, mechanism="joint", seed=2).value for c in (kept, memory)]
    assert lists[0] == lists[1]
    assert len(wn.top_k(wn.counts((warehouse, "log"), keep="engine", **options), k=3, epsilon=9.0,
                        delta=1e-3).value) <= 3  # fmt: skip


def test_scores_are_streamed_and_tables_refused(warehouse: Any) -> None:
    scores = wn.scores((warehouse, "log"), id="what", score="gain")
    assert wn.select(scores, epsilon=1.0, k=2, seed=1).value[0].startswith("item")
    with pytest.raises(DataError, match="Parquet"):
        wn.read_table((warehouse, "log"), schema={"gain": 3})


if __name__ == "__main__":
    for each in DIALECTS:
        (SNAPSHOTS / f"{each}.sql").write_text(written(each), encoding="utf-8")
