"""The contract of tables that stay in an engine: the cells of any of their marginal tables."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

import winnow as wn
from contracts.test_engines import ROWS, SCHEMA, TYPES, Put, put  # noqa: F401  # a fixture
from reference.inside import SealedTable, all_rows, fingerprint, open_sealed, rows_for, true_counts
from reference.reading import as_options
from winnow.core.workloads.part import marginal_counts
from winnow.errors import DataError, ParameterError
from winnow.read import crossing
from winnow.read.kept import KeptRows

SETS = [(0, 1), (1, 2), (2,), (3, 0), ()]


def cells(table: SealedTable, columns: tuple[int, ...]) -> list[int]:
    rows = rows_for(table, SETS).of(columns)
    return marginal_counts(rows.codes, rows.weights, table.schema.shape, columns).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bound", [None, 2], ids=["rows", "people"])
def test_an_engine_has_the_cells_of_its_rows(put: Put, bound: int | None) -> None:  # noqa: F811
    source = put(ROWS, TYPES)
    options: dict[str, Any] = {"schema": SCHEMA, "salt": "s"}
    if bound is not None:
        options |= {"person": "who", "max_rows": bound}
    kept, held = (
        wn.read_table(source, **as_options(options, keep=keep)) for keep in ("engine", "memory")
    )
    assert [cells(kept, each) for each in SETS] == [cells(held, each) for each in SETS]
    assert kept.n == held.n and fingerprint(kept) == fingerprint(held)
    some = ["rank", "age"]
    first, second = (all_rows(table.restrict(some)) for table in (kept, held))
    assert all(np.array_equal(a, b) for a, b in zip(first.codes, second.codes, strict=True))


def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE people AS SELECT i % 7 AS a, CASE WHEN i % 3 = 0 THEN 'x' ELSE 'o' || i END "
        "AS b, (i * 37 % 1000) / 10.0 AS c FROM range(3000) t(i)"
    )
    return connection


SMALL = {"a": 7, "b": {"values": ["x", "y"], "other": True}, "c": {"edges": [0, 20, 50, 100]}}


def read(connection: Any, keep: str = "engine", **options: Any) -> SealedTable:
    return wn.read_table(
        (connection, "people"),
        **as_options({"schema": SMALL, **options}, keep=keep),
    )


def test_releases_from_an_engine_are_those_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "FEW_CELLS", 1)
    tables = [read(database(), keep) for keep in ("engine", "memory")]
    found = [wn.tabulate(t, wn.marginals(2), epsilon=1.0, delta=1e-6, seed=3) for t in tables]
    for kept, held in zip(found[0].value.tables, found[1].value.tables, strict=True):
        assert kept.to_pandas()["estimate"].tolist() == held.to_pandas()["estimate"].tolist()
    workload = (wn.marginals(2) + wn.prefixes("a")).over(tables[0].schema)
    answers = [open_sealed(true_counts(table, workload)).tolist() for table in tables]
    assert answers[0] == answers[1]
    values = [
        wn.tabulate(t, wn.marginals(1), values=["a"], epsilon=1.0, delta=1e-6, seed=3).value
        for t in tables
    ]
    assert repr(values[0]) == repr(values[1])


def test_texts_that_the_schema_does_not_list_travel_as_one() -> None:
    connection, asked = database(), []

    class Watched:
        def execute(self, sql: str) -> Any:
            asked.append(sql)
            return connection.execute(sql)

    Watched.__module__ = "duckdb"
    table = wn.read_table((Watched(), "people"), schema=SMALL, reading=wn.Reading(keep="engine"))
    rows_for(table, [(1,)])
    answers = [connection.execute(sql).fetchall() for sql in asked if "GROUPING SETS" in sql]
    assert len(answers[-1]) == 3  # x, all others, and the number of rows


def test_a_table_that_changed_fails_a_release_after_the_charge() -> None:
    connection = database()
    table = read(connection)
    connection.execute("INSERT INTO people VALUES (1, 'x', 3.0)")
    session = wn.Session(table, epsilon=1.0, delta=1e-6)
    with pytest.raises(DataError, match=r"the source changed .* the charge stands"):
        session.tabulate(wn.marginals(1), epsilon=0.75)
    assert session.budget.left.amount < 0.5


def test_a_value_outside_shows_nothing_and_releases_nothing() -> None:
    connection = database()
    table = read(connection, schema={**SMALL, "b": {"values": ["x", "y"]}})
    with pytest.raises(DataError) as caught:
        wn.tabulate(table, wn.marginals(1), epsilon=1.0)
    assert "o1" not in str(caught.value)
    dropping = {**SMALL, "b": {"values": ["x"], "drop": True}}
    with pytest.raises(ParameterError, match="without keep='engine'"):
        read(connection, schema=dropping, relation="add-remove")
    assert not isinstance(open_sealed(read(connection, keep="auto").rows), KeptRows)
