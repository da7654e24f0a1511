"""Files as they are in the world: separators, encodings, names, content without an ending."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from sqlglot import exp

import winnow as wn
from reference.inside import open_sealed
from reference.reading import as_options
from winnow.read.engines.files import DuckFiles
from winnow.read.engines.private_duck import private_connection
from winnow.read.files import read_scores

SECRET = "73519"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def found(name: str, content: str | bytes, **options: Any) -> dict[str, int]:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    counts = wn.counts(name, item="town", person="who", **as_options(options))
    labels: Any = counts.labels
    return dict(zip(open_sealed(labels), open_sealed(counts.values).tolist(), strict=True))


TOWNS = {"Ulm": 2, "K\u00f6ln": 1}
ROWS = "a,Ulm\nb,Ulm\nc,K\u00f6ln\n"
TEXT = "who,town\n" + ROWS


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(data)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.csv", TEXT.replace(",", ";"), {"delimiter": ";"}),
        ("a.csv", TEXT.replace(",", "\t"), {"delimiter": "tab"}),
        ("a.csv.gz", gzip.compress(TEXT.replace(",", "|").encode(), mtime=0), {"delimiter": "|"}),
        ("a.csv", TEXT.encode("latin-1"), {"encoding": "latin-1"}),
        ("a.csv", ROWS, {"names": ["who", "town"]}),
        ("a.txt", TEXT.replace(",", ";"), {}),
        ("a.dat", TEXT.replace(",", "\t"), {}),
        ("a", TEXT, {}),
        ("a.csv.bz2", bz2.compress(TEXT.encode()), {}),
        ("a.csv.zst", zstd(TEXT.encode()), {}),
        ("a", zstd(TEXT.encode()), {}),
        ("a.csv", gzip.compress(TEXT.encode(), mtime=0), {}),
        ("a.csv", TEXT.encode("utf-16"), {"encoding": "utf-16"}),
        (
            "a",
            bz2.compress(ROWS.encode("utf-16")),
            {"encoding": "utf-16", "names": ["who", "town"], "delimiter": ","},
        ),
        ("b.txt", ROWS.replace(",", "|"), {"names": ["who", "town"], "delimiter": "|"}),
    ],
)
def test_a_file_is_read_as_it_is_written(name: str, content: Any, options: Any) -> None:
    assert found(name, content, **options) == TOWNS


def test_parquet_is_known_by_its_content_and_named_when_it_is_broken() -> None:
    frame = pd.DataFrame({"who": ["a", "b", "c"], "town": ["Ulm", "Ulm", "K\u00f6ln"]})
    frame.to_parquet("whole.parquet")
    held = Path("whole.parquet").read_bytes()
    assert found("table", held) == TOWNS
    for name, content in (("cut.parquet", held[:-3]), ("not.parquet", b"who,town\na,b\n")):
        with pytest.raises(wn.InputError, match="is not a Parquet file, or it is damaged"):
            found(name, content)
    with pytest.raises(wn.InputError, match="is Parquet, not text"):
        found("a.csv", held)
    with pytest.raises(wn.InputError, match="for CSV and other text files"):
        found("b.parquet", held, delimiter=";")


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (TEXT.replace(",", ";"), {}, "separated by semicolons; say so with delimiter=';'"),
        (TEXT.replace(",", "\t"), {}, "--delimiter 'tab'"),
        (TEXT.encode("utf-16"), {}, "is UTF-16 text"),
        (bz2.compress(TEXT.encode())[:-9], {}, "damaged or cut off"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-9], {}, "damaged or cut off"),
        (zstd(TEXT.encode())[:-3], {}, "damaged or cut off"),
        (b"\x28\xb5\x2f\xfd" + b"0" * 9, {}, "damaged or cut off"),
        (b"PK\x03\x04" + b"0" * 9, {}, "zip or Excel"),
        (f"who,town\na,Ulm\nb,{SECRET},x\n", {}, "line 3 has 3 fields, and there are 2 columns"),
        (f"who,town\na,Ulm\n{SECRET}\n", {}, "line 3 has 1 field, and there are 2 columns"),
        (f"who,town\na,{SECRET}\nb,\xf6\n".encode("latin-1"), {}, "line 3: this is not UTF-8"),
        (f'who,town\na,"{SECRET}\nb,Ulm\n', {}, "line 2"),
        (ROWS, {"names": ["who", "town", "more"]}, "has 2 fields and 3 names are given"),
        (ROWS, {"names": ["who", "WHO"]}, "one name twice"),
        (ROWS, {"names": "who,town"}, "not a list; give a list of names"),
        (TEXT, {"delimiter": "ab"}, "not one character"),
        (TEXT, {"delimiter": '"'}, "cannot separate fields"),
        (TEXT, {"encoding": "utf-16"}, "not UTF-16 text"),
        (TEXT, {"encoding": "cp437"}, "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named_without_a_value(
    content: Any, options: Any, said: str
) -> None:
    with pytest.raises(wn.InputError) as caught:
        found("a.csv", content, **options)
    assert said in str(caught.value) and SECRET not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize(
    "body", ["", "\n", 'a,""\n', "a,\n\nb,x\n", '"a ""q""","x,y"\r\n', "\u00a0,x\n"]
)
@pytest.mark.parametrize("width", [1, 2])
def test_what_duckdb_cannot_read_means_the_same_when_it_is_brought(body: str, width: int) -> None:
    head = "who,town" if width == 2 else "who"
    body = body if width == 2 else body.replace("a,", "").replace(",x", "").replace(',"x,y"', "")
    end = "\r\n" if "\r" in body else "\n"
    Path("plain.csv").write_bytes(f"{head}{end}{body}".encode())
    Path("packed.csv").write_bytes(bz2.compress(f"{head}{end}{body}".encode()))
    found = []
    for name in ("plain.csv", "packed.csv"):
        engine: Any = DuckFiles([Path(name)], ".csv", "1GB")
        with private_connection("1GB") as connection:
            seen = exp.select("*").from_(engine.source(connection, [])).sql(dialect="duckdb")
            found.append(connection.execute(seen).fetchall())
    assert found[0] == found[1]


def test_damaged_parquet_is_named_as_such() -> None:
    frame = pd.DataFrame({"who": [f"{SECRET}{i}" for i in range(999)], "town": "Ulm"})
    frame.to_parquet("whole.parquet")
    held = Path("whole.parquet").read_bytes()
    with pytest.raises(wn.InputError, match="parquet' is damaged Parquet") as caught:
        found("a.parquet", held[:200] + bytes(2000) + held[2200:])
    assert SECRET not in str(caught.value) and caught.value.__context__ is None


def test_ready_counts_and_baskets_are_read_as_they_are_written() -> None:
    Path("counts").write_text("Ulm;2\nK\u00f6ln;1\n", encoding="utf-16")
    labels, counts = read_scores(
        "counts", label_column="town", score_column="n",
        text=wn.TextFormat(names=["town", "n"], delimiter=";", encoding="utf-16"),
    )  # fmt: skip
    assert dict(zip(labels, counts.tolist(), strict=True)) == TOWNS
    Path("json").write_text('{"Ulm": 2}')
    assert read_scores("json")[0] == ["Ulm"]
    Path("b.dat").write_bytes(bz2.compress("Ulm K\u00f6ln\n".encode("latin-1")))
    Path("pairs.csv").write_bytes("1;Ulm\n1;K\u00f6ln\n".encode("utf-16"))
    for source, options in (
        ("b.dat", {"encoding": "latin-1"}),
        ("pairs.csv", {"encoding": "utf-16", "names": ["b", "i"], "delimiter": ";", "basket": "b",
                       "item": "i"}),
    ):  # fmt: skip
        baskets = wn.read_baskets(source, unit="basket", **as_options(options))
        held: Any = baskets.labels
        assert sorted(open_sealed(held)) == sorted(TOWNS)
    with pytest.raises(wn.InputError, match="separator="):
        wn.read_baskets("b.dat", unit="basket", text=wn.TextFormat(delimiter=";"))


def test_a_first_line_is_a_row_where_names_are_given() -> None:
    Path("a.csv").write_text("1,f\n0,m\n1,f\n")
    schema = {"x": 2, "sex": {"values": ["f", "m"]}}
    assert wn.read_table("a.csv", schema=schema, text=wn.TextFormat(names=["x", "sex"])).n == 3


def test_the_first_row_of_a_file_without_names_decides_nothing() -> None:
    given = {"names": ["who", "town"]}
    with pytest.raises(wn.InputError, match="neither its name nor a line of names"):
        found("a.txt", ROWS, **given)
    assert found("a.csv", "a;b|c;d,Ulm\n" + ROWS, **given) == {"Ulm": 3, "K\u00f6ln": 1}


def test_stray_quotes_are_refused_whatever_separates_fields() -> None:
    for mark in ";|\t":
        content = TEXT.replace(",", mark) + f'd{mark}say "{SECRET}"\n'
        with pytest.raises(wn.InputError, match="line 5: a double quote stands inside"):
            found("a.csv", content, delimiter=mark)


def test_a_name_that_differs_in_letter_case_is_hinted_at_and_not_repeated() -> None:
    Path("a.csv").write_text(f"who,Town {SECRET}\na,b\n")
    for call in (
        lambda: wn.counts("a.csv", item=f"town{SECRET}", person="who"),
        lambda: wn.read_table("a.csv", schema={f"town {SECRET}": 3}),
    ):
        with pytest.raises(wn.InputError, match="column 2 has this name but for letter") as caught:
            call()
        assert f"Town {SECRET}" not in str(caught.value)
    with pytest.raises(wn.InputError, match="did you mean column 1, which has nearly"):
        wn.counts("a.csv", item="whoo", person="who")
