"""Files with scores: what is read, what is refused, and that no score shows in a message."""

from __future__ import annotations

import gzip
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winnow as wn
from winnow import ExtraMissing, InputError
from winnow.core.saving import save_released
from winnow.read.files import read_scores

BIG = 2**53 + 1
SECRET = "73519"
"""A score that stands in every refused file, and may stand in no message."""


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "label,score\noak,41\nelm,-3\n"),
        ("bom.csv", "\ufefflabel,score\noak,41\nelm,-3\n"),
        ("crlf.csv", "label,score\r\noak,41\r\nelm,-3\r\n"),
        ("no-last-newline.csv", "label,score\noak,41\nelm,-3"),
        ("blank-lines.csv", "\nlabel,score\n\noak,41\n   \nelm,-3\n\n"),
        ("spaces.csv", "label, score\noak, 41 \nelm,\t-3\n"),
        ("plus.CSV", "label,score\noak,+41\nelm,-03\n"),
        ("quoted.csv", '"label","score"\n"oak","41"\n"elm","-3"\n'),
        ("a.tsv", "label\tscore\noak\t41\nelm\t-3\n"),
        ("a.csv.gz", gzip.compress(b"label,score\noak,41\nelm,-3\n", mtime=0)),
        ("hidden-gzip.csv", gzip.compress(b"label,score\noak,41\nelm,-3\n", mtime=0)),
        ("a.json", '{"oak": 41, "elm": -3}'),
        ("bom.json", '\ufeff{"oak": 41, "elm": -3}'),
        ("records.json", '[{"tree": "oak", "n": 41}, {"n": -3, "tree": "elm", "note": [1]}]'),
        ("a.json.gz", gzip.compress(b'{"oak": 41, "elm": -3}', mtime=0)),
    ],
)
def test_text_files_give_labels_and_integers(tmp_path: Path, name: str, content: str) -> None:
    labels, scores = read_scores(write(tmp_path, name, content))
    assert labels == ["oak", "elm"]
    assert scores.dtype == np.int64
    assert scores.tolist() == [41, -3]


def test_integers_beyond_a_float_are_not_rounded(tmp_path: Path) -> None:
    for path in (
        write(tmp_path, "a.csv", f"label,score\noak,{BIG}\nelm,-{2**63}\n"),
        write(tmp_path, "a.json", json.dumps({"oak": BIG, "elm": -(2**63)})),
    ):
        _, scores = read_scores(path)
        assert scores.dtype == np.int64 and scores.tolist() == [BIG, -(2**63)]


@pytest.mark.parametrize("text", ["2.5", "1e3", "1E+3", ".5", "7.", "-0.25e-2"])
def test_a_decimal_makes_the_column_floats(tmp_path: Path, text: str) -> None:
    _, scores = read_scores(write(tmp_path, "a.csv", f"label,score\noak,3\nelm,{text}\n"))
    assert scores.dtype == np.float64
    assert scores.tolist() == [3.0, float(text)]


def test_labels_may_hold_separators_quotes_and_line_breaks(tmp_path: Path) -> None:
    content = 'label,score\n"oak, red",1\n"the ""big"" elm",2\n"two\nlines",3\n'
    labels, _ = read_scores(write(tmp_path, "a.csv", content), text=wn.TextFormat(line_breaks=True))
    assert labels == ["oak, red", 'the "big" elm', "two\nlines"]


def test_columns_are_chosen_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "id,2023,tree,2024\n1,5,oak,6\n2,7,elm,8\n")
    labels, scores = read_scores(path, label_column="tree", score_column="2024")
    assert labels == ["oak", "elm"] and scores.tolist() == [6, 8]


def test_the_other_of_two_columns_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "n,tree\n5,oak\n7,elm\n")
    for columns in ({"label_column": "tree"}, {"score_column": "n"}):
        labels, scores = read_scores(path, **columns)
        assert labels == ["oak", "elm"] and scores.tolist() == [5, 7]


def test_records_may_have_whole_numbers_as_labels(tmp_path: Path) -> None:
    labels, _ = read_scores(write(tmp_path, "a.json", '[{"id": 7, "n": 1}, {"id": 8, "n": 2.5}]'))
    assert labels == [7, 8]


def test_standard_input_is_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    piped = SimpleNamespace(buffer=io.BytesIO(b"label,score\noak,41\n"))
    monkeypatch.setattr(sys, "stdin", piped)
    labels, scores = read_scores("-")
    assert labels == ["oak"] and scores.tolist() == [41]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([BIG, 2]), np.int64),
        (pa.array([1, 2], pa.uint8()), np.int64),
        (pa.array([1.5, 2.5]), np.float64),
        (pa.array([1.5, 2.5], pa.float32()), np.float64),
    ],
)
def test_parquet_gives_labels_and_numbers(tmp_path: Path, column: pa.Array, kind: type) -> None:
    path = tmp_path / "a.parquet"
    labels = pa.array(["oak", "elm"]).dictionary_encode()
    pq.write_table(pa.table({"a.tree": labels, "n": column, "x": [0, 0]}), path)
    read, scores = read_scores(path, label_column="a.tree", score_column="n")
    assert read == ["oak", "elm"]
    assert scores.dtype == kind and scores.tolist() == column.to_pylist()


REFUSED_TEXTS = {
    "empty file": ("a.csv", "", "empty"),
    "only white space": ("a.csv", " \n\n", "empty"),
    "header only": ("a.csv", "label,score\n", "no candidates"),
    "no header": ("a.csv", f"oak,{SECRET}\nelm,3\n", "first line looks like data"),
    "no header, one column": ("a.csv", f"{SECRET}\n4\n", "with digits where"),
    "no header, semicolons": ("a.csv", f"oak;{SECRET}\nelm;3\n", "semicolons"),
    "semicolons": ("a.csv", f"label;score\noak;{SECRET}\n", "semicolons"),
    "tabs": ("a.csv", f"label\tscore\noak\t{SECRET}\n", "tabs"),
    "commas in .tsv": ("a.tsv", f"label,score\noak,{SECRET}\n", "commas"),
    "three columns": ("a.csv", f"id,tree,n\n1,oak,{SECRET}\n", "--label and --score"),
    "same names": ("a.csv", f"n,n\noak,{SECRET}\n", "two columns are named alike"),
    "ragged": ("a.csv", f"label,score\noak,red,{SECRET}\n", "line 2 has 3 fields"),
    "short row": ("a.csv", f"label,score\noak,{SECRET}\nelm\n", "line 3 has 1 field,"),
    "open quote": ("a.csv", f'label,score\n"oak,{SECRET}\n', "quotes do not match"),
    "text as score": ("a.csv", f"label,score\noak,{SECRET}x\n", "line 2: the score"),
    "thousands": ("a.csv", f'label,score\noak,"{SECRET},000"\n', "thousands separators"),
    "thousands by space": ("a.csv", f"label,score\noak,{SECRET} 000\n", "thousands separators"),
    "underscore": ("a.csv", f"label,score\noak,{SECRET}_000\n", "thousands separators"),
    "decimal comma": ("a.csv", f'label,score\noak,"{SECRET},5"\n', "plain digits"),
    "other digits": ("a.csv", "label,score\noak,\u0664\u0661\n", "plain digits"),
    "nan": ("a.csv", f"label,score\nelm,{SECRET}\noak,NaN\n", "line 3: the score"),
    "inf": ("a.csv", f"label,score\nelm,{SECRET}\noak,-inf\n", "line 3: the score"),
    "overflow": ("a.csv", f"label,score\noak,{SECRET}e999\n", "not finite"),
    "missing score": ("a.csv", f"label,score\nelm,{SECRET}\noak,\n", "line 3: .* is missing"),
    "empty label": ("a.csv", f"label,score\n ,{SECRET}\n", "line 2: the label is empty"),
    "65 bits": ("a.csv", f"label,score\noak,{SECRET}{10**18}\n", "does not fit 64 bits"),
    "5000 digits": ("a.csv", "label,score\noak," + SECRET * 1000 + "\n", "more than 4,000 digits"),
    "mixed": ("a.csv", f"label,score\noak,{BIG}\nelm,{SECRET}.5\n", "beyond 2\\^53"),
    "twice": ("a.csv", f"label,score\noak,{SECRET}\nelm,1\noak,2\n", "label in line 2 .* line 4"),
    "latin-1": ("a.csv", f"label,score\noak\xe9,{SECRET}\n".encode("latin-1"), "not UTF-8"),
    "utf-16": ("a.csv", f"label,score\noak,{SECRET}\n".encode("utf-16"), "is UTF-16 text"),
    "nul": ("a.csv", f"label,score\noak\0,{SECRET}\n", "NUL"),
    "cut gzip": (
        "a.csv.gz",
        gzip.compress(b"label,score\noak,1\n", mtime=0)[:-6],
        "packed file is damaged",
    ),
    "bad gzip": ("a.csv.gz", b"\x1f\x8b\x08nonsense", "packed file is damaged"),
    "excel": ("a.csv", b"PK\x03\x04....", "Excel"),
    "parquet inside": ("a.csv", b"PAR1....", "Parquet"),
    "no ending": ("a", f"oak {SECRET}\n", "1 field"),
    "json cut off": ("a.json", f'{{"oak": {SECRET}, "elm": 4', "line 1, column .* cut off"),
    "json empty object": ("a.json", "{}", "no candidates"),
    "json empty list": ("a.json", "[]", "no candidates"),
    "json scalar": ("a.json", SECRET, "single JSON value"),
    "json list": ("a.json", f"[{SECRET}, 2]", "record 1 is not an object"),
    "json pairs": ("a.json", f'[["oak", {SECRET}]]', "record 1 is not an object"),
    "json twice": (
        "a.json",
        f'{{"oak": {SECRET}, "oak": 2}}',
        "entry 1 appears again in entry 2",
    ),
    "json text": ("a.json", f'{{"oak": "{SECRET}"}}', "entry 1: .*without quotes"),
    "json true": ("a.json", f'{{"elm": {SECRET}, "oak": true}}', "entry 2"),
    "json null": (
        "a.json",
        f'[{{"t": "oak", "n": {SECRET}}}, {{"t": "a", "n": null}}]',
        "record 2",
    ),
    "json nan": ("a.json", f'{{"elm": {SECRET}, "oak": NaN}}', "not finite"),
    "json huge": ("a.json", f'{{"oak": {SECRET}{10**18}}}', "does not fit 64 bits"),
    "json 5000 digits": ("a.json", '{"oak": ' + SECRET * 1000 + "}", "too long"),
    "json deep": ("a.json", "[" * 100_000, "too deep|cut off"),
    "json columns": ("a.json", f'{{"tree": ["oak"], "n": [{SECRET}]}}', "entry 1"),
    "json label null": ("a.json", f'[{{"t": null, "n": {SECRET}}}]', "record 1: the label"),
    "json no field": (
        "a.json",
        f'[{{"t": "a", "n": {SECRET}}}, {{"t": "b"}}]',
        "field of the score",
    ),
    "json one field": ("a.json", f'[{{"n": {SECRET}}}]', "a score column are needed"),
}


@pytest.mark.parametrize("case", REFUSED_TEXTS)
def test_unusable_text_is_refused_without_showing_a_score(tmp_path: Path, case: str) -> None:
    name, content, message = REFUSED_TEXTS[case]
    path = write(tmp_path, name, content)
    with pytest.raises(InputError, match=message) as caught:
        read_scores(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert SECRET not in str(caught.value).removeprefix(str(path))
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_columns_of_a_file_are_listed_where_a_header_is_declared(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", f"id,tree,n\n1,oak,{SECRET}\n")
    with pytest.raises(InputError, match="no column 'city'; the file has 3 columns"):
        read_scores(path, label_column="city", score_column="n")
    with pytest.raises(InputError, match="no column 'city'; the file has 'id', 'tree', 'n'"):
        read_scores(path, label_column="city", score_column="n", header=True)
    with pytest.raises(InputError, match="both label and score"):
        read_scores(path, label_column="n", score_column="n")
    with pytest.raises(InputError, match="with --score"):
        read_scores(path, label_column="tree")


def test_a_first_line_of_data_is_not_listed_as_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", f"oak,{SECRET}\nelm,4\n")
    with pytest.raises(InputError) as caught:
        read_scores(path, label_column="tree", score_column="n")
    assert SECRET not in str(caught.value).removeprefix(str(path))


def test_an_object_of_scores_has_no_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no columns"):
        read_scores(write(tmp_path, "a.json", '{"oak": 1}'), label_column="tree")


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: there is no such file"):
        read_scores(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.parquet").mkdir()
    for name in ("folder.csv", "folder.parquet"):
        with pytest.raises(InputError, match="this is a folder"):
            read_scores(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_unreadable_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = write(tmp_path, name, "label,score\noak,1\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="you may not read"):
        read_scores(path)


def parquet(folder: Path, **columns: object) -> Path:
    pq.write_table(pa.table(columns), folder / "a.parquet")
    return folder / "a.parquet"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"t": ["oak"], "n": [None]}, "score column has missing values"),
        ({"t": [None, "b"], "n": [1, 2]}, "label column has missing values"),
        ({"t": ["oak"], "n": [float("nan")]}, "NaN or infinite"),
        ({"t": ["oak"], "n": [SECRET]}, "has the type string"),
        ({"t": ["oak"], "n": [True]}, "has the type bool"),
        ({"t": [["oak"]], "n": [1]}, "label column has the type list"),
        ({"t": ["oak", "oak"], "n": [73519, 1]}, "label in row 1 appears again in row 2"),
        ({"t": ["oak"], "n": pa.array([2**63], pa.uint64())}, "2\\^63 or more"),
        ({"t": pa.array([], pa.string()), "n": pa.array([], pa.int64())}, "no candidates"),
        ({"t": ["oak"], "n": [1], "m": [1]}, "--label and --score"),
    ],
)
def test_unusable_parquet_is_refused_without_showing_a_score(
    tmp_path: Path, columns: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_scores(parquet(tmp_path, **columns))
    assert SECRET not in str(caught.value).removeprefix(str(tmp_path))


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    whole = parquet(tmp_path, t=["oak"] * 1, n=[1]).read_bytes()
    for content in (b"", b"label,score\noak,1\n", whole[:-9], whole[:40]):
        with pytest.raises(InputError, match="not a Parquet file"):
            read_scores(write(tmp_path, "b.parquet", content))


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet(tmp_path, t=["oak"], n=[1])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExtraMissing, match=r"winnow-dp\[parquet\]"):
        read_scores(path)


@pytest.mark.parametrize(
    "first_line",
    ['alice,"1,417"', "417,417", "alice,$417,x", "alice;$417", "alice,417%", "alice,4.17e2"],
)
def test_a_file_without_a_header_never_shows_its_first_score(
    tmp_path: Path, first_line: str
) -> None:
    path = write(tmp_path, "a.csv", f"{first_line}\nbob,7\n")
    with pytest.raises(InputError) as caught:
        read_scores(path)
    assert "17" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "none.json"])
def test_an_answer_of_no_items_is_saved_with_its_guarantee(tmp_path: Path, name: str) -> None:
    picked = wn.top_k({"a": 3, "b": 2}, k=1, epsilon=1.0)
    save_released(tmp_path / name, replace(picked, value=[]))
    assert picked.receipt.mechanism in (tmp_path / name).read_bytes().decode("latin-1")
