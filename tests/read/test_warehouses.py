"""SQL for engines that cannot be run here: as text, read back, and run by DuckDB in translation."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pandas as pd
import pytest
import sqlglot
from sqlglot import exp

import winnow as wn
from reference.bounded_counts import bounded_counts
from reference.inside import open_sealed
from reference.reading import as_options
from winnow.errors import DataError
from winnow.read.engines.basket_query import BasketQuery
from winnow.read.engines.histogram import HistogramQuery
from winnow.read.engines.people_query import PeopleQuery
from winnow.read.engines.query import SALT, CountQuery
from winnow.read.engines.warehouse import DIALECTS, WarehouseTable, with_salt
from winnow.read.kept import KeptCounts

SNAPSHOTS = Path(__file__).parent / "warehouses"
ROWS = [(f"u{i % 31}", f"item {(i * i + i // 31) % 47}") for i in range(600)]
ITEMS = [f"item {i}" for i in range(50)]
SCHEMA: dict[str, Any] = {
    "what": {"values": ["item 0", "item 1", "item 9"], "other": True},
    "gain": {"edges": [0, 2, 5]},
}
PACKAGES = {"bigquery": "google", "snowflake": "snowflake", "trino": "trino"}
PACKAGES |= {"databricks": "databricks"}
STYLES = {"bigquery": "pyformat", "snowflake": "pyformat", "trino": "qmark", "databricks": "named"}


def query_of(dialect: Any, items: tuple[str, ...] | None = None) -> Any:
    table = WarehouseTable(None, dialect, exp.to_table("log"))
    return table.asked(CountQuery("what", "who", 5, "unused", items))


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_question_is_read_back_as_it_was_written(dialect: str) -> None:
    wanted = exp.values([(3, "00ff")], alias="w", columns=["n", "b"])
    for items in (None, ("a", "o'brien")):
        asked = query_of(dialect, items)
        names = [asked.names(wanted, whole=whole) for whole in (False, True)]
        kept = (asked.counts, asked.sizes(), asked.spots(wanted))
        for question in (*kept, *names, table_of(dialect)):
            text = question.sql(dialect=dialect)
            tree = sqlglot.parse_one(text, dialect=dialect)
            again = tree.sql(dialect=dialect)  # COLLATE may have become an operator
            assert sqlglot.parse_one(again, dialect=dialect) == tree
            assert again == text or dialect == "databricks"
            assert "unused" not in text  # the salt is a parameter
            assert SALT in text


def table_of(dialect: Any) -> exp.Select:
    """The cells of tables of a category and of bins, with at most two rows of a person."""
    schema = wn.Schema.parse(SCHEMA)
    asked = HistogramQuery(schema.columns, "who", 2, "unused", ((0,), (0, 1)), salt_apart=True)
    types = dict.fromkeys(schema.names, "null")
    return asked.over(exp.to_table("log"), types, dialect, as_text=False)


def written(dialect: Any) -> str:
    """What is asked for counts, for a public list, for baskets and for tables, as it is sent."""
    asked, listed = query_of(dialect), query_of(dialect, ("a", "o'brien"))
    wanted = exp.values([(3, "00ff")], alias="w", columns=["n", "b"])
    pairs = BasketQuery("what", "who", None, "unused", basket="trip", max_baskets=2, sizes=(0, 2))
    table = WarehouseTable(None, dialect, exp.to_table("log"))
    baskets = table.asked(pairs).counts_of(wanted)
    names = asked.names(wanted, whole=False)
    questions = (asked.counts, asked.sizes(), names, listed.sizes(), baskets)
    people = PeopleQuery("what", "who", None, "unused", ("a",), looked_at=20)
    rows = PeopleQuery("who", "who", None, "unused", by_rows=True, looked_at=20)
    questions += (table_of(dialect), table.asked(people).counts, table.asked(rows).counts)
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
    columns = [*map(list, zip(*ROWS, strict=True))]  # row by row would take a second
    duck.execute("INSERT INTO log SELECT unnest(?), unnest(?), 1.5", columns)

    class Connection:
        def cursor(self) -> Cursor:
            return Cursor(duck, dialect)

    Connection.__module__ = f"{PACKAGES[dialect]}.made_up"
    module = ModuleType(Connection.__module__)
    module.paramstyle = STYLES[dialect]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return Connection()


def test_a_connection_counts_as_the_slow_twin_does(warehouse: Any) -> None:
    options: dict[str, Any] = {"item": "what", "person": "who", "max_items": 5, "salt": "s"}
    held = wn.counts((warehouse, "log"), **as_options(options, keep="memory"))
    labels: Any = held.labels
    values: Any = open_sealed(held.values)
    counted = dict(zip(open_sealed(labels), values.tolist(), strict=True))
    assert counted == bounded_counts(ROWS, 5, "s")
    kept = wn.counts((warehouse, "log"), items=ITEMS, **as_options(options, keep="engine"))
    assert isinstance(open_sealed(kept.values), KeptCounts)
    memory = wn.counts((warehouse, "log"), items=ITEMS, **as_options(options, keep="memory"))
    lists = [wn.top_k(c, k=3, epsilon=0.5, method="joint", seed=2).value for c in (kept, memory)]
    assert lists[0] == lists[1]
    private = wn.counts((warehouse, "log"), **as_options(options, keep="engine"))
    assert len(wn.top_k(private, k=3, epsilon=9.0, delta=1e-3).value) <= 3


def test_scores_are_streamed(warehouse: Any) -> None:
    scores = wn.scores((warehouse, "log"), id="what", score="gain")
    assert wn.select(scores, epsilon=1.0, k=2, seed=1).value[0].startswith("item")


def test_tables_are_those_of_the_same_rows_in_memory(warehouse: Any) -> None:
    frame = pd.DataFrame(ROWS, columns=["who", "what"]).assign(gain=1.5)
    how: dict[str, Any] = {"schema": SCHEMA, "person": "who", "max_rows": 2, "salt": "s"}
    found = []
    for source, keep in (
        ((warehouse, "log"), "engine"),
        ((warehouse, "log"), "memory"),
        (frame, "memory"),
    ):
        table = wn.read_table(source, **as_options(how, keep=keep))
        found.append(wn.tabulate(table, wn.marginals(2), epsilon=1.0, with_cut=0.2, seed=1))
    cells = [each.value.tables[0].to_pandas() for each in found]
    assert cells[0].equals(cells[1]) and cells[0].equals(cells[2])
    assert found[0].cut == found[1].cut == found[2].cut is not None
    with pytest.raises(DataError, match="holds dates or times"):
        wn.read_table((warehouse, "log"), schema={"gain": {"edges": ["2026-01-01", "2027-01-01"]}})


def test_pairs_of_baskets_are_counted_there(warehouse: Any) -> None:
    how: dict[str, Any] = {"unit": "basket", "basket": "who", "item": "what"}
    kept = wn.read_baskets((warehouse, "log"), **as_options(how, keep="engine"))
    memory = wn.read_baskets(pd.DataFrame(ROWS, columns=["who", "what"]), **as_options(how))
    options: dict[str, Any] = {"size": 1, "epsilon": 90.0, "delta": 0.01, "seed": 1}
    found = [wn.itemsets(b, **options, supports="subsets").value for b in (kept, memory)]
    assert found[0].supports[()] == found[1].supports[()]
    with pytest.raises(DataError, match="keep='engine'"):
        wn.read_baskets((warehouse, "log"), **as_options(how))


if __name__ == "__main__":
    for each in DIALECTS:
        (SNAPSHOTS / f"{each}.sql").write_text(written(each), encoding="utf-8")
