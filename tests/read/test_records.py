"""One line is one record in every reader: what ends a line, and which quotes are refused."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from reference.commands import invoke
from reference.inside import open_sealed
from reference.reading import as_options
from winnow.read.engines.files import DuckFiles
from winnow.read.files import read_scores
from winnow.read.kernels import csv_states
from winnow.read.kernels.csv_states import ScanState, scan
from winnow.read.options import TextFormat
from winnow.read.records import check_csv, csv_records, lines_of
from winnow.select.cli.source import read_items

BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What str.splitlines calls line breaks, beside LF and CR."""
SECRET = "canary417"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


INSIDE = TextFormat(line_breaks=True)


def counted(path: Any, **how: Any) -> dict[str, int]:
    counts = wn.counts(path, item="i", person="u", **as_options(how))
    assert isinstance(counts.labels, wn.Sealed)
    return dict(zip(open_sealed(counts.labels), open_sealed(counts.values).tolist(), strict=True))


def baskets_in(path: Path, **how: Any) -> int:
    return len(open_sealed(wn.read_baskets(path, unit="basket", **as_options(how)).data).starts) - 1


def rows_in(path: Path, **how: Any) -> int:
    schema = {"i": {"values": ["a"], "other": True}}
    return int(
        open_sealed(wn.read_table(path, schema=schema, **as_options(how)).rows).weights.sum()
    )


# lines


@pytest.mark.parametrize("name", ["b.dat", "b.txt", "b.tsv", "b.csv", "b.log"])
@pytest.mark.parametrize("mark", BREAKS)
def test_one_line_is_one_basket_whatever_unicode_calls_a_line_break(
    tmp_path: Path, name: str, mark: str
) -> None:
    how = {"separator": ";"} if name == "b.log" else {}
    path = write(tmp_path / name, "tea\n" + f"milk{mark}" * 100 + "\ntea\r\n")
    assert baskets_in(path, **how) == 3


@pytest.mark.parametrize("name", ["b.dat", "b.txt", "b.tsv", "b.csv", "b.log"])
@pytest.mark.parametrize("end", ["\r", "\rx\n", "\r\r\n", "\r,\n"])
def test_a_carriage_return_alone_is_refused(tmp_path: Path, name: str, end: str) -> None:
    how = {"separator": ";"} if name == "b.log" else {}
    path = write(tmp_path / name, f"tea\n{SECRET}{end}")
    with pytest.raises(wn.InputError, match="line 2: a carriage return") as caught:
        wn.read_baskets(path, unit="basket", **as_options(how))
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


@pytest.mark.parametrize("mark", BREAKS)
def test_public_lists_have_the_lines_of_the_data(tmp_path: Path, mark: str) -> None:
    item = f"oat{mark}milk"
    path = write(tmp_path / "items.txt", f"{item}\r\ntea\n")
    assert read_items(path) == [item, "tea"]
    log = write(tmp_path / "log.csv", f"u,i\np1,{item}\np2,tea\n")
    assert wn.counts(log, item="i", person="u", items=path).labels == [item, "tea"]
    assert wn.read_baskets([[item]], unit="basket", items=path).labels == [item, "tea"]
    write(path, "tea\rmilk\n")
    for read in (
        lambda: read_items(path),
        lambda: wn.counts(log, item="i", items=path),
        lambda: wn.read_baskets([["tea"]], unit="basket", items=path),
    ):
        with pytest.raises(wn.InputError, match="carriage return"):
            read()


@given(st.text(alphabet=st.sampled_from("ab \n" + BREAKS)), st.text(alphabet="ab" + BREAKS))
def test_a_line_more_is_a_line_more(before: str, line: str) -> None:
    rest = before if before.endswith("\n") or not before else before + "\n"
    assert len(lines_of(rest + line + "\n")) == len(lines_of(rest)) + 1
    assert lines_of(rest.replace("\n", "\r\n")) == lines_of(rest)


# quotes

STRAY = {
    "opens": f'u,i\np1,a\np9,"{SECRET}\np2,a\np3,a\np4,"b"\n',
    "opens and closes later": f'u,i\np1,a\np9,"{SECRET}\np2,a\np3,a\np4,b"\n',
    "inside": f'u,i\np1,a\np9,{SECRET}"y\np2,a"\n',
    "after a space": f'u,i\np1,a\np9, "{SECRET}"\n',
    "text after": f'u,i\np1,a\np9,"{SECRET}"y\n',
    "space after": f'u,i\np1,a\np9,"{SECRET}" \n',
    "to the end": f'u,i\np1,a\np9,"{SECRET}',
    "with a return": f'u,i\np1,a\np9,"{SECRET}\ry"\n',
}


@pytest.mark.slow
@pytest.mark.parametrize(("case", "packed"), [*((case, False) for case in STRAY), ("opens", True)])
def test_a_stray_quote_is_refused_by_every_reader(tmp_path: Path, case: str, packed: bool) -> None:
    text = STRAY[case]
    end = ".gz" if packed else ""
    comma = write(tmp_path / f"t.csv{end}", gzip.compress(text.encode()) if packed else text)
    tabbed = text.replace(",", "\t")
    tabs = write(tmp_path / f"t.tsv{end}", gzip.compress(tabbed.encode()) if packed else tabbed)
    pairs: dict[str, Any] = {"unit": "basket", "basket": "u", "item": "i"}
    for path in (comma, tabs):
        for read in (
            lambda path=path: counted(path),
            lambda path=path: counted([path, path], max_items=1),
            lambda path=path: rows_in(path),
            lambda path=path: rows_in(path, person="u"),
            lambda path=path: wn.read_baskets(path, **as_options(pairs)),
            lambda path=path: wn.read_baskets(path, unit="basket", layout="indicators"),
            lambda path=path: read_scores(path),
        ):  # fmt: skip
            with pytest.raises(wn.InputError, match=r"line 3: .*(quote|line feed)") as caught:
                read()
            assert SECRET not in str(caught.value)
            assert caught.value.__context__ is None and caught.value.__cause__ is None
    with pytest.raises(wn.InputError, match=r"line 3: .*(quote|line feed)"):
        wn.read_baskets(comma, unit="basket")
    one_column = text.replace("u,i", "i").replace("p1,", "").replace("p9,", "")
    with pytest.raises(wn.InputError, match=r"line 3: .*(quote|line feed)"):
        read_items(write(tmp_path / "items.csv", one_column))


def test_one_row_does_not_swallow_the_rows_of_others(tmp_path: Path) -> None:
    """A stray quote in the row of p9, and one in the row of p6, made of five rows none."""
    others = [f"p{k},tea\n" for k in range(1, 6)]
    head = "u,i\n"
    assert counted(write(tmp_path / "t.csv", head + "".join(others)))["tea"] == 5
    swallowing = head + 'p9,"x\n' + "".join(others) + 'p6,y"\n'
    with pytest.raises(wn.InputError, match="line 2"):
        counted(write(tmp_path / "t.csv", swallowing))


def test_line_breaks_are_allowed_where_the_owner_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'u,i\np1,"a\nb"\np2,"a\nb"\np3,"c\r\n\rd"\np4,"say ""e"""\n')
    with pytest.raises(wn.InputError, match="line_breaks=True"):
        counted(path)
    assert counted(path, line_breaks=True) == {"a\nb": 2, "c\r\n\rd": 1, 'say "e"': 1}
    assert rows_in(path, line_breaks=True) == 4
    assert baskets_in(path, line_breaks=True) == 5  # with the first line
    pairs: dict[str, Any] = {"basket": "u", "item": "i", "line_breaks": True}
    assert baskets_in(path, **pairs) == 4
    labels, _ = read_scores(write(tmp_path / "s.csv", 'label,score\n"a\nb",1\n'), text=INSIDE)
    assert labels == ["a\nb"]
    items = write(tmp_path / "items.csv", 'item\n"a\nb"\n')
    assert read_items(items, line_breaks=True) == ["a\nb"]


def test_long_fields_with_line_breaks_are_read_by_one_thread(tmp_path: Path) -> None:
    """DuckDB starts threads in the middle of a file, where a line may be part of a field."""
    text = "u,i\n" + "".join(f'p{k},"x\n{k % 7},y\n"\n' for k in range(60_000))
    path = write(tmp_path / "t.csv", text)
    assert sum(counted(path, line_breaks=True, memory="200MB").values()) == 60_000


def test_the_option_is_refused_where_it_would_do_nothing(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"u": ["p"], "i": ["a"]})
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        with pytest.raises(wn.InputError, match="for CSV and other text files"):
            counted(source, line_breaks=True)
    with pytest.raises(wn.InputError, match="not True or False"):
        counted(frame, line_breaks="yes")
    with pytest.raises(wn.InputError, match="are for files"):
        wn.read_baskets([["a"]], unit="basket", text=wn.TextFormat(line_breaks=True))
    with pytest.raises(wn.InputError, match="comma-separated"):
        wn.read_baskets(
            write(tmp_path / "b.dat", "a\n"), unit="basket", text=wn.TextFormat(line_breaks=True)
        )
    with pytest.raises(wn.InputError, match="are options of CSV"):
        read_scores(write(tmp_path / "s.json", '{"a": 1}'), text=INSIDE)


def test_commands_have_the_option(tmp_path: Path) -> None:
    """With it the next thing that is wrong is found, so the file was read under it."""
    path = str(write(tmp_path / "t.csv", 'u,i\np1,"a\nb"\np2,x"y\n'))
    schema = ["--schema", str(write(tmp_path / "schema.json", '{"i": {"values": ["a", "b"]}}'))]
    schema += ["--one-row-per-person"]
    named = '{"u": {"values": ["p1", "p2"]}, "i": {"values": ["a", "b"]}}'
    both = ["--schema", str(write(tmp_path / "both.json", named)), "--one-row-per-person"]
    cost = ["--epsilon", "1", "--delta", "1e-6", "--json"]
    public = ["--item", "u", "--count", "i", "-k", "1", "--epsilon", "1"]
    for command in (
        ["top-k", path, "--item", "i", "--person", "u", "-k", "1", *cost],
        [
            "itemsets",
            path,
            "--one-basket-per-person",
            "--basket",
            "u",
            "--item",
            "i",
            "--size",
            "1",
            *cost,
        ],
        ["release", path, *schema, "--workload", "marginals:1", "--method", "mwem", *cost],
        ["ask", path, *schema, *cost, "--batch", path],
        ["learn", path, *both, "--target", "i", "--method", "stumps", *cost],
        ["select", path, "--epsilon", "1"],
        ["top-k", path, "--labels", "public", *public],
        ["plan", "top-k", "--counts", path, *public],
    ):
        refused = invoke(command)
        assert refused.exit_code == 2 and "line 2" in refused.output, command
        taken = invoke([*command, "--line-breaks"])
        assert taken.exit_code == 2 and "line 4" in taken.output, command


# the automaton


def reference(data: bytes, line_breaks: bool) -> bool:
    """Whether bytes are records of fields by RFC 4180, by trying all ways to cut them."""
    ends, size = {0}, len(data)  # where a field may begin
    while ends:
        begin = min(ends)
        ends.remove(begin)
        stops = set()
        plain = begin
        while plain < size and data[plain : plain + 1] not in (b'"', b",", b"\n", b"\r"):
            plain += 1
        stops.add(plain)
        if data[begin : begin + 1] == b'"':
            k = begin + 1
            while k < size:
                if data[k : k + 2] == b'""':
                    k += 2
                elif data[k : k + 1] == b'"':
                    stops.add(k + 1)
                    break
                elif data[k : k + 1] in (b"\n", b"\r") and not line_breaks:
                    break
                else:
                    k += 1
        for stop in stops:
            if stop == size:
                return True
            for mark in (b",", b"\n", b"\r\n"):
                if data.startswith(mark, stop):
                    ends.add(stop + len(mark))
    return False


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from([b'"', b",", b"\n", b"\r\n", b"\r", b"a", b" "]), max_size=14),
    st.booleans(),
    st.integers(1, 5),
)
def test_exactly_the_plain_files_pass(parts: list[bytes], line_breaks: bool, step: int) -> None:
    data = b"".join(parts)
    chunks = [data[k : k + step] for k in range(0, len(data), step)]
    try:
        check_csv(chunks, ",", line_breaks=line_breaks)
    except wn.InputError:
        passed = False
    else:
        passed = True
    assert passed is reference(data, line_breaks)
    plain = scan(data, ord(","), line_breaks, ScanState())
    with csv_states.FEW_BYTES.moved_to(-1):
        assert scan(data, ord(","), line_breaks, ScanState()) == plain


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.text(alphabet='a",\n\r \u2028', max_size=4), min_size=2, max_size=2)),
    st.booleans(),
)
def test_what_a_writer_of_csv_writes_is_read_back(rows: list[list[str]], crlf: bool) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n" if crlf else "\n").writerows(rows)
    assert [row for _, row in csv_records(text.getvalue(), ",", line_breaks=True)] == rows


# neighbours

ANY_LINE = st.lists(
    st.one_of(
        st.sampled_from(
            [b'"', b",", b"\t", b";", b"\r", b" ", b"\\", b"#", b"'", b"p1", b"a", b"\0",
             b"\xff", *(mark.encode() for mark in BREAKS)]
        ),
        st.binary(max_size=2),
    ),
    max_size=8,
).map(lambda parts: b"".join(parts).replace(b"\n", b""))  # fmt: skip

DUCK = duckdb.connect()


def records_seen(path: Path, **written: Any) -> int:
    """The rows that DuckDB sees, without what a verb does around it."""
    ending = path.name.removesuffix(".gz").removeprefix("t")
    text = TextFormat(**written)
    try:
        table = DuckFiles([path], ending, "1GB", text).source(DUCK, []).sql(dialect="duckdb")
        return int(DUCK.execute(f"SELECT count(*), count(i) FROM {table}").fetchall()[0][0])
    except duckdb.Error:
        raise wn.InputError("refused") from None


READERS: dict[str, Any] = {
    **{
        f"lines.{end}": (f"t.{end}", b"", lambda path: baskets_in(path))
        for end in ("csv", "tsv", "dat", "txt", "basket")
    },
    "lines.log": ("t.log", b"", lambda path: baskets_in(path, separator=";")),
    "items": ("t.txt", b"i0\n", lambda path: len(read_items(path))),
    "table.csv": ("t.csv", b"u,i\n", lambda path: records_seen(path)),
    "table.tsv": ("t.tsv", b"u\ti\n", lambda path: records_seen(path)),
    "one column": ("t.csv", b"i\n", lambda path: records_seen(path)),
    "semicolons": ("t.csv", b"u;i\n", lambda path: records_seen(path, delimiter=";")),
    "latin-1": ("t.csv", b"u,i\n", lambda path: records_seen(path, encoding="latin-1")),
    "no names": ("t.csv", b"", lambda path: records_seen(path, names=["u", "i"])),
    "packed": ("t.csv.gz", b"u,i\n", lambda path: records_seen(path)),
}
VERBS: dict[str, Any] = {
    "rows": ("t.csv", b"u,i\n", lambda path: rows_in(path)),
    "counts": ("t.csv", b"u,i\n", lambda path: sum(
        open_sealed(wn.counts(path, item="i").values).tolist())),
    "pairs": ("t.csv", b"u,i\n", lambda path: baskets_in(path, basket="u", item="i")),
    "indicators": ("t.csv", b"u,i\n", lambda path: baskets_in(path, layout="indicators")),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("reader", [*READERS, *VERBS])
def test_one_line_more_or_less_is_one_record_more_or_less(
    tmp_path_factory: pytest.TempPathFactory, reader: str
) -> None:
    """Or one of the two files is refused: never does one line move two records."""
    name, head, read = (READERS | VERBS)[reader]
    folder = tmp_path_factory.mktemp("neighbours")

    def records(lines: list[bytes]) -> int | None:
        data = head + b"".join(line + b"\n" for line in lines)
        path = write(folder / name, gzip.compress(data) if name.endswith(".gz") else data)
        try:
            return int(read(path))
        except wn.InputError:
            return None

    @settings(max_examples=50 if reader in READERS else 6, deadline=None)
    @given(st.lists(st.one_of(ANY_LINE, st.sampled_from([b"p1,a", b"p2\ta", b'p3,"a"', b"a"])),
                    min_size=1, max_size=6), st.data())  # fmt: skip
    def moves_at_most_one(lines: list[bytes], data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(lines) - 1))
        more, less = records(lines), records(lines[:place] + lines[place + 1 :])
        assert more is None or less is None or abs(more - less) <= 1

    moves_at_most_one()
