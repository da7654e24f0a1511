"""Large files of counts: the same as line by line, and left to that reader where in doubt."""

from __future__ import annotations

import bz2
import gzip
import random
from pathlib import Path
from typing import Any

import pytest

from reference.inside import open_sealed
from winnow import Utility
from winnow.read import files, records
from winnow.read.counts import private_counts
from winnow.read.file_columns import Columns
from winnow.read.files import read_scores
from winnow.read.large_counts import large_counts
from winnow.read.options import TextFormat

PLAIN = ["a,1", '"b, c",+20', '"say ""so""",-3', " d ,007", "\u00e4,0", "x, 5", '"""",8', '"e","9"']
NAMED: Any = {"label_column": "item", "score_column": "n"}


def fast(path: Path, **written: Any) -> Any:
    return large_counts(path, ".csv", Columns("item", "n"), TextFormat(**written))


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.bz2"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_plain_files_are_read_alike_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, end: str, encoding: str
) -> None:
    monkeypatch.setattr(records, "_CHUNK", 999)
    rows = [*PLAIN, *(f"item {i},{i * i}" for i in range(500))]
    data = end.join(["item,n", *rows]).encode(encoding)  # the last line does not end
    pack = {".gz": gzip.compress, ".bz2": bz2.compress}.get(Path(name).suffix, bytes)
    (tmp_path / name).write_bytes(pack(data))
    labels, counts = fast(tmp_path / name, encoding=encoding)
    slow = read_scores(tmp_path / name, text=TextFormat(encoding=encoding), **NAMED)
    assert list(labels) == slow[0] and counts.tolist() == slow[1].tolist()
    assert counts.dtype == slow[1].dtype and labels[-1] == "item 499" and len(labels[2:4]) == 2


def test_labels_of_any_bytes_are_sorted_as_texts_and_told_apart(tmp_path: Path) -> None:
    draw, path = random.Random(7), tmp_path / "t.csv"
    drawn = {"".join(draw.choices("ab\u00e4\u20ac\U0001f600", k=draw.randrange(1, 30)))
             for _ in range(3000)}  # fmt: skip
    texts = sorted(drawn, key=lambda _: draw.random())
    path.write_text("".join(["item,n\n", *(f"{text},{len(text) % 3}\n" for text in texts)]))
    labels, counts = fast(path)
    assert [texts[place] for place in labels.order.tolist()] == sorted(texts)
    sealed = private_counts(labels, counts, Utility.declare(1, monotone=True), None)
    plain = private_counts(texts, counts, Utility.declare(1, monotone=True), None)
    held: Any = sealed.labels
    other: Any = plain.labels
    assert list(open_sealed(held)) == open_sealed(other)
    assert open_sealed(sealed.values).tolist() == open_sealed(plain.values).tolist()
    path.write_text(path.read_text() + f"{texts[11]},1\n")
    assert fast(path) is None


@pytest.mark.parametrize("seed", range(40))
def test_a_text_of_quotes_is_read_as_line_by_line_or_not_at_all(tmp_path: Path, seed: int) -> None:
    draw, path = random.Random(seed), tmp_path / "t.csv"
    drawn = "".join(draw.choices(['"', '""', ",", "a", "1", "\n", "\r\n", '",1\n"', " "], k=25))
    path.write_bytes(f'item,n\n"x{drawn}y",1\n'.encode())
    found = fast(path)
    if found is not None:
        labels, counts = read_scores(path, **NAMED)
        assert (list(found[0]), found[1].tolist()) == (labels, counts.tolist())


@pytest.mark.parametrize(
    "line",
    ["x,5.0", "x,1e3", f"x,{10**18}", "x,", ",5", "   ,5", "a,2", "x,5,6", "x", "x,five",
     'x"y,5', "x\0y,5", "   "],
)  # fmt: skip
def test_what_is_in_doubt_is_left_to_the_other_reader(tmp_path: Path, line: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["item,n", *PLAIN, line, ""]))
    assert fast(path) is None


def test_only_large_files_with_named_columns_take_this_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,n\na,1\n")
    seen: list[Path] = []
    monkeypatch.setattr(files, "large_counts", lambda path, *_: seen.append(path))
    read_scores(path, label_column="item", score_column="n")
    monkeypatch.setattr(files.LARGE_FILE, "_at", 1)
    read_scores(path)
    assert not seen
    read_scores(path, label_column="item", score_column="n")
    assert seen == [path]
