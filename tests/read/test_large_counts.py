"""Large files of counts: the same as line by line, and left to that reader where in doubt."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from winnow.read import files
from winnow.read import large_counts as module
from winnow.read.file_columns import Columns
from winnow.read.files import read_scores
from winnow.read.large_counts import large_counts

PLAIN = ["a,1", '"b, c",+20', '"say ""so""",-3', " d ,007", "\u00e4,0"]


def both(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    fast = large_counts(path, ".csv", Columns("item", "n"))
    monkeypatch.setattr(files, "LARGE", 1 << 60)
    return fast, read_scores(path, label_column="item", score_column="n")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_plain_files_are_read_alike_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, end: str
) -> None:
    rows = [*PLAIN, *(f"item {i},{i * i}" for i in range(20_000))]
    fast, slow = both(tmp_path / name, end.join(["item,n", *rows, ""]), monkeypatch)
    assert fast is not None
    assert fast[0] == slow[0] and fast[1].tolist() == slow[1].tolist()
    assert fast[1].dtype == slow[1].dtype


@pytest.mark.parametrize(
    "line",
    ["x, 5", "x,5.0", "x,1e3", f"x,{10**18}", "x,", ",5", "   ,5", "a,2", "x,5,6", "x", "x,five",
     'x"y,5', "x\0y,5", "   "],
)  # fmt: skip
def test_what_is_in_doubt_is_left_to_the_other_reader(tmp_path: Path, line: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["item,n", *PLAIN, line, ""]))
    assert large_counts(path, ".csv", Columns("item", "n")) is None


def test_only_large_files_with_named_columns_take_this_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,n\na,1\n")
    seen: list[Path] = []
    monkeypatch.setattr(module, "large_counts", lambda path, *_: seen.append(path))
    read_scores(path, label_column="item", score_column="n")
    monkeypatch.setattr(files, "LARGE", 1)
    read_scores(path)
    assert not seen
    read_scores(path, label_column="item", score_column="n")
    assert seen == [path]
