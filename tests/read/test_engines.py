"""A source is read by the first engine that knows it."""

import duckdb
import pytest

import winnow as wn
from winnow.errors import InputError
from winnow.read.engines.duck import DuckTable
from winnow.read.engines.files import DuckFiles
from winnow.read.engines.frames import DuckFrame
from winnow.read.engines.registry import engine_for


def test_a_source_is_read_by_the_engine_that_knows_it(tmp_path: object) -> None:
    path = f"{tmp_path}/a.csv"
    with open(path, "w") as file:
        file.write("item\nx\n")
    connection = duckdb.connect()
    sources = {
        path: DuckFiles,
        (connection, "SELECT 'x' AS item"): DuckTable,
        connection.sql("SELECT 'x' AS item"): DuckTable,
    }
    for source, kind in sources.items():
        assert type(engine_for(source, "1GB", ["item"])) is kind
    assert type(engine_for([path, path], "1GB", ["item"])) is DuckFiles
    assert type(engine_for({"item": ["x"]}, "1GB", ["item"])) is DuckFrame


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ((object(), "people"), "a connection of the type object is not known"),
        ((duckdb.connect(), 3), "table name or SELECT"),
        ([], "cannot be counted"),
    ],
)
def test_a_source_that_no_engine_knows_is_refused(source: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        wn.counts(source, item="item")
