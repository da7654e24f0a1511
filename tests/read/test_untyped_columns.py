"""What is taken or refused does not depend on whether there are rows; no name of ours is fixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winnow as wn
from reference.inside import open_sealed

KINDS = {
    "text": {"values": ["x"], "other": True},
    "number": {"values": [7], "other": True},
    "boolean": {"values": [True, False], "other": True},
    "codes": {"codes": 3, "other": True},
    "bins": {"edges": [0, 1, 2], "other": True},
}
NOTHING = {
    "no objects": pd.DataFrame({"p": [], "a": []}, dtype=object),
    "no floats": pd.DataFrame({"p": [], "a": []}, dtype=float),
    "no categories": pd.DataFrame({"p": [], "a": []}, dtype="category"),
    "polars": pl.DataFrame({"p": [], "a": []}),
    "arrow": pa.table({"p": [], "a": []}),
}
NULLS = {
    "none": pd.DataFrame({"p": [None], "a": [None]}, dtype=object),
    "floats": pd.DataFrame({"p": [np.nan], "a": [np.nan]}),
    "categories": pd.DataFrame({"p": [None], "a": [None]}, dtype="category"),
    "polars": pl.DataFrame({"p": [None], "a": [None]}),
    "arrow": pa.table({"p": [None], "a": [None]}),
}


def written(frame: Any, path: Path) -> Path:
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame)
    pq.write_table(table, path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_table_without_rows_is_taken_as_one_with_a_row_is(kind: str) -> None:
    for name, frame in NOTHING.items():
        table = wn.read_table(frame, schema={"a": KINDS[kind]}, person="p")
        assert open_sealed(table.rows).weights.sum() == 0, name
        table = wn.read_table(frame, schema={"a": KINDS[kind]})
        assert open_sealed(table.rows).weights.sum() == 0, name
    for name, frame in NULLS.items():
        table = wn.read_table(frame, schema={"a": KINDS[kind]})
        assert open_sealed(table.rows).weights.tolist() == [1], name
        table = wn.read_table(frame, schema={"a": KINDS[kind]}, person="p")
        assert open_sealed(table.rows).weights.sum() == 0, name


@pytest.mark.slow
@pytest.mark.parametrize("frame", [*NOTHING.values(), *NULLS.values()], ids=lambda f: "")
def test_nobody_is_counted_where_one_person_would_be(frame: Any) -> None:
    counts = wn.counts(frame, item="a", person="p", items=["x"])
    assert open_sealed(counts.values).tolist() == [0]
    counts = wn.counts(frame, item="a", person="p", items=["x"], max_items=1)
    assert open_sealed(counts.values).tolist() == [0]
    pairs = wn.read_baskets(frame, unit="basket", layout=wn.Pairs(basket="p", item="a"))
    assert len(open_sealed(pairs.data).starts) == 1
    own = wn.read_baskets(frame, person="p", max_baskets=1)
    assert open_sealed(own.data).items.size == 0


def test_a_parquet_file_without_values_joins_those_that_have_some(tmp_path: Path) -> None:
    full = written(pd.DataFrame({"p": ["007", "7"], "a": ["x", "x"], "n": [1, 2]}), tmp_path / "b")
    more = {"p": [None, None], "a": [None, "x"], "n": [None, 3]}
    part = written(pd.DataFrame(more, dtype=object), tmp_path / "c")
    none = written(NOTHING["no objects"].assign(n=pd.Series([], dtype=object)), tmp_path / "a")
    paths = [path.rename(path.with_suffix(".parquet")) for path in (none, full, part)]
    for order in (paths, paths[::-1]):
        counted = wn.counts(order, item="a", person="p", items=["x"])
        assert open_sealed(counted.values).tolist() == [2]
        table = wn.read_table(order, schema={"a": KINDS["text"], "n": KINDS["number"]})
        assert open_sealed(table.rows).weights.sum() == 4
        baskets = wn.read_baskets(order, unit="basket", layout=wn.Pairs(basket="p", item="a"))
        assert len(open_sealed(baskets.data).starts) == 3
        shown = wn.read_baskets(order, unit="basket", layout="indicators", items=["n"])
        assert open_sealed(shown.data).items.size == 1
    other = written(pd.DataFrame({"p": [7], "a": ["x"], "n": [1]}), tmp_path / "d.parquet")
    with pytest.raises(wn.InputError, match="different types"):
        wn.counts([*paths, other], item="a", person="p")


def test_learning_takes_no_rows_where_their_number_is_private() -> None:
    how: dict[str, Any] = {"method": wn.OneRule(of="stumps", cuts=[[0.5]]), "epsilon": 1, "seed": 1}
    for rows in (0, 1):
        X, y = np.full((rows, 1), 0.2), np.ones(rows, np.int64)
        rows_to_learn = wn.labelled(X, y, relation="add-remove")
        assert wn.learn(rows_to_learn, **how).value is not None


def test_examples_and_vectors_of_nobody_are_taken_as_those_of_one_person_are() -> None:
    for people in (0, 1):
        said, truth = np.ones((3, people), np.int64), np.ones(people, np.int64)
        boosted = wn.boost(wn.seal_examples(said, truth), rounds=2, epsilon=1, seed=1)
        assert len(boosted.value.learners) == 2
        for index in ("exact", "flat", "lsh"):
            found = wn.mips(
                wn.seal_vectors(said, index=index), wn.seal_query(truth, sensitivity=1),
                epsilon=1, seed=1,
            )  # fmt: skip
            assert found.value in range(3)
    with pytest.raises(wn.InputError, match="no rows"):
        wn.mips(np.ones((0, 2)), wn.seal_query(np.ones(2), sensitivity=1), epsilon=1)


# files and their names


def counted(source: Any) -> dict[str, int]:
    counts = wn.counts(source, item="i", person="u")
    assert isinstance(counts.labels, wn.Sealed)
    return dict(zip(open_sealed(counts.labels), open_sealed(counts.values).tolist(), strict=True))


def test_a_name_of_a_file_is_no_pattern_and_a_folder_no_column(tmp_path: Path) -> None:
    (tmp_path / "log1.csv").write_text("u,i\np,other\n")
    (tmp_path / "log[1].csv").write_text("u,i\np,own\n")
    assert counted(tmp_path / "log[1].csv") == {"own": 1}
    folder = tmp_path / "u=5"
    folder.mkdir()
    (folder / "log.csv").write_text("u,i\np,x\nq,x\n")
    assert counted(folder / "log.csv") == {"x": 2}
    frame = pd.DataFrame({"u": ["p", "q"], "i": ["x", "x"]})
    assert counted(written(frame, folder / "log.parquet")) == {"x": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nu,i\np,x\n", "first line is empty"),
        ("u,U,i\np,q,x\n", "several columns of one name"),
        ("u,i\r\np,x\nq,x\r\n", "some lines end with LF"),
    ],
)
def test_first_lines_and_line_ends_leave_no_doubt(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "log.csv").write_bytes(text.encode())
    with pytest.raises(wn.InputError, match=message):
        counted(tmp_path / "log.csv")


def test_files_name_their_columns_alike(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("u,i\np,x\n")
    (tmp_path / "b.csv").write_text("i,u\nx,q\n")
    with pytest.raises(wn.InputError, match="name different columns"):
        counted([tmp_path / "a.csv", tmp_path / "b.csv"])
    (tmp_path / "b.csv").write_text('"u", i\nq,x\n')
    assert counted([tmp_path / "a.csv", tmp_path / "b.csv"]) == {"x": 2}
    (tmp_path / "c.csv").write_text(",u,i\n0,p,x\n")  # as pandas writes an index
    assert counted(tmp_path / "c.csv") == {"x": 1}


def test_a_relation_is_read_beside_a_table_that_is_called_source() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE VIEW source AS SELECT 'own' AS x")
    relation = connection.sql("SELECT 'p' AS u, 'tea' AS i")
    assert counted(relation) == {"tea": 1}
    rows = open_sealed(wn.read_table(relation, schema={"i": {"values": ["tea"]}}).rows)
    assert rows.weights.tolist() == [1]
    assert connection.execute("SELECT * FROM source").fetchall() == [("own",)]
    views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal")
    assert views.fetchall() == [("source",)]
