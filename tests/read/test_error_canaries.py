"""No error, warning, log, output or file tells what stands in the data.

Canaries are planted in every cell of every kind of source, and every verb is called. What
leaves it is searched: messages, all that hangs on an error, the frames of the library, warnings,
logs, both outputs and the folder.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winnow as wn
from reference.canaries import CANARY, Betraying, betraying, of_module, overheard
from reference.commands import invoke
from reference.releasing import flat_release
from winnow.errors import WinnowError
from winnow.privacy.ledger import Ledger
from winnow.read.files import read_scores

pytestmark = pytest.mark.extras  # a long sweep, which needs nothing but time

DUNDERS = ("__str__", "__repr__", "__eq__", "__hash__", "__lt__", "__float__", "__int__",
           "__len__", "__iter__", "__bool__", "__index__", "__array__", "__getattr__")  # fmt: skip
SCHEMA = {"name": {"values": ["a", "b"]}, "n": 5}
STUMPS = wn.OneRule(of="stumps", cuts=[1.0])
HOW: dict[str, Any] = {"epsilon": 1.0, "seed": 1}
baskets_of = partial(wn.read_baskets, unit="basket")


def silent(action: Callable[[], Any], *, must_fail: bool = False) -> None:
    error, heard = overheard(action)
    assert error is None or isinstance(error, WinnowError), type(error)
    assert error is not None or not must_fail
    assert not [text for text in heard if CANARY in text]
    if error is not None:
        assert error.__cause__ is None and error.__context__ is None


def lazy() -> pl.LazyFrame:
    """Collected, it quotes its values."""
    frame = pl.LazyFrame({"name": [CANARY, CANARY], "n": [CANARY, "2"]})
    return frame.with_columns(pl.col("n").cast(pl.Int64))


def python_error() -> pl.LazyFrame:
    def fail(_: object) -> int:
        raise ValueError(f"{CANARY} has a secret")

    frame = pl.LazyFrame({"name": ["a"], "n": [1]})
    return frame.with_columns(pl.col("n").map_elements(fail, return_dtype=pl.Int64))


def failing_rows() -> Any:
    yield [CANARY]
    raise RuntimeError(f"{CANARY} has a secret")


def relation(sql: str) -> Any:
    return duckdb.connect().sql(sql)


SOURCES: dict[str, Callable[[], Any]] = {
    "dict of texts": lambda: {"a": CANARY, "b": CANARY},
    "dict of betrayers": lambda: {"a": betraying("__float__"), "b": betraying("__int__")},
    "odd keys": lambda: {betraying("__repr__", "__str__"): 1, (CANARY,): 2, 7.5: "x"},
    "keys that do not compare": lambda: {betraying("__eq__", "__lt__"): 1, None: 2},
    "keys of text": lambda: {CANARY: float("nan"), "b": 1},
    "list": lambda: [CANARY, CANARY],
    "lists": lambda: [[CANARY, 1], [CANARY]],
    "generator": failing_rows,
    "object array": lambda: np.array([CANARY, 1.5, None], object),
    "structured array": lambda: np.array([(1,)], dtype=[(CANARY, "i4")]),
    "text array": lambda: np.array([CANARY, CANARY]),
    "pandas": lambda: pd.DataFrame({"name": [CANARY, "b"], "n": [CANARY, 1]}),
    "pandas, odd names": lambda: pd.DataFrame({CANARY: [CANARY, "b"], (CANARY, 1): [1.5, None]}),
    "pandas, equal names": lambda: pd.DataFrame([[CANARY, 1]], columns=[CANARY, CANARY]),
    "pandas, betrayers": lambda: pd.DataFrame({"name": [betraying("__str__")] * 2, "n": [1, 2]}),
    "pandas, categories": lambda: pd.DataFrame({"name": pd.Categorical([CANARY]), "n": [1]}),
    "pandas series": lambda: pd.Series([CANARY, 2], index=[CANARY, CANARY]),
    "pandas, equal labels": lambda: pd.Series([1, 2], index=[CANARY, CANARY]),
    "polars": lambda: pl.DataFrame({"name": [CANARY, None], "n": [CANARY, "7"]}),
    "polars enum": lambda: pl.DataFrame({"name": ["a"], "n": pl.Series([CANARY],
                                         dtype=pl.Enum([CANARY]))}),
    "polars struct": lambda: pl.DataFrame({"name": ["a"], "n": [{CANARY: 1}]}),
    "polars object": lambda: pl.DataFrame({"name": pl.Series([object()], dtype=pl.Object), "n": 1}),
    "polars lazy": lazy,
    "polars lazy with Python": python_error,
    "narwhals": lambda: nw.from_native(pl.DataFrame({"name": [CANARY], "n": [CANARY]})),
    "narwhals lazy": lambda: nw.from_native(lazy()),
    "arrow": lambda: pa.table({"name": [CANARY, None], "n": [CANARY, "7"]}),
    "arrow struct": lambda: pa.table({"name": ["a"], "n": [{CANARY: 1}]}),
    "arrow array": lambda: pa.array([CANARY, CANARY]),
    "duckdb cast": lambda: relation(f"SELECT 'a' AS name, CAST('{CANARY}' || name2 AS INT) AS n "
                                    "FROM (SELECT 'x' AS name2)"),
    "duckdb error": lambda: relation(f"SELECT error('{CANARY}') AS name, 1 AS n"),
    "duckdb enum": lambda: relation(f"SELECT '{CANARY}'::ENUM('{CANARY}') AS n, 1.5 AS name"),
    "duckdb struct": lambda: relation(f"SELECT {{'{CANARY}': 1}} AS n, 1 AS name"),
    "duckdb query": lambda: (duckdb.connect(), f"SELECT error('{CANARY}') AS name, 1 AS n"),
    "duckdb nonsense": lambda: (duckdb.connect(), f"SELECT FROM '{CANARY}' ((("),
    "duckdb no table": lambda: (duckdb.connect(), f'"{CANARY}"'),
    "postgres": lambda: (of_module("psycopg"), "people"),
    "spark": lambda: of_module("pyspark.sql"),
    "anything": Betraying,
} | {f"list of {name}": lambda name=name: [betraying(name)] * 2 for name in DUNDERS} | {
    f"pandas of {name}": lambda name=name: pd.DataFrame(
        {"name": pd.Series([betraying(name), "x"], dtype=object), "n": [1, 2]}
    )
    for name in ("__str__", "__eq__", "__hash__", "__float__")
}  # fmt: skip


def streamed(source: Any) -> None:
    wn.open_above(threshold=3, epsilon=1.0).ask(source)


def released(source: Any) -> None:
    table = wn.read_table(source, schema=SCHEMA)
    flat_release(table, wn.marginals(1), delta=1e-6, method=wn.MWEM(rounds=2), **HOW)


def session(verb: str, source: Any, **options: Any) -> None:
    getattr(wn.Session(epsilon=1.0), verb)(source, epsilon=0.5, **options)


VERBS: dict[str, Callable[[Any], Any]] = {
    "select": lambda s: wn.select(s, **HOW),
    "select, named": lambda s: wn.select(
        wn.seal_scores(s, label_column="name", score_column="n"), **HOW),
    "select, labels": lambda s: wn.select(wn.seal_scores([1, 2], labels=s), **HOW),
    "top_k": lambda s: wn.top_k(s, k=1, **HOW),
    "above": lambda s: wn.above(s, threshold=3, **HOW),
    "open_above": streamed,
    "session.select": lambda s: session("select", s),
    "session.top_k": lambda s: session("top_k", s, k=1),
    "session.above": lambda s: session("above", s, threshold=1),
    "seal_scores": lambda s: wn.seal_scores(s, wn.Utility.declare(1)),
    "seal_vectors": wn.seal_vectors,
    "seal_query": lambda s: wn.seal_query(s, sensitivity=1),
    "mips": lambda s: wn.mips(np.eye(2), s, **HOW),
    "mips, candidates": lambda s: wn.mips(s, wn.seal_query(np.ones(2), sensitivity=1), **HOW),
    "boost": lambda s: wn.boost(wn.seal_examples(s, s), rounds=1, **HOW),
    "learn": lambda s: wn.learn(s, [0, 1], method=STUMPS, **HOW),
    "learn, labels": lambda s: wn.learn(np.eye(2), s, method=STUMPS, **HOW),
    "learn, a function": lambda s: wn.learn(s, [0, 1], method=wn.OneRule(of=[failing]), **HOW),
    "fit": lambda s: wn.PrivateClassifier(STUMPS, epsilon=1.0).fit(s, [0, 1]),
    "lp": lambda s: wn.lp(wn.lp_problem(np.eye(2), s, [1, 1], opt=1.0),
                          method=wn.ScalarSides(sensitivity=1), alpha=1.0, **HOW),
    "lp, rows": lambda s: wn.lp(
        wn.lp_problem(s, [1, 1], [1, 1], opt=1.0),
        method=wn.PersonRows(entries=(0, 1), sides=(0, 1), rows=9, exceptions=1),
        alpha=1.0, delta=1e-6, **HOW),
    "counts": lambda s: wn.counts(s, item="name", person="n"),
    "counts, bounded": lambda s: wn.counts(s, item="name", person="n", max_items=1),
    "counts, items": lambda s: wn.counts({"name": ["a"]}, item="name", items=s),
    "read_table": lambda s: wn.read_table(s, schema=SCHEMA),
    "read_table, people": lambda s: wn.read_table(s, schema={"n": 5}, person="name"),
    "release": released,
    "read_baskets, lines": lambda s: baskets_of(s, layout="lines"),
    "read_baskets, pairs": lambda s: baskets_of(s, layout=wn.Pairs("n", "name")),
    "read_baskets, indicators": lambda s: baskets_of(s, layout="indicators"),
    "read_baskets, items": lambda s: wn.read_baskets([["a"]], unit="basket", items=s),
    "itemsets": lambda s: wn.itemsets(wn.read_baskets(s, unit="basket"), size=1, k=1, delta=1e-6,
                                      **HOW),
    "plan.itemsets, not read": lambda s: wn.plan.itemsets(s, size=1, delta=1e-6, **HOW),
    "plan.itemsets, run": lambda s: wn.plan.itemsets(
        wn.plan.baskets(), size=1, epsilon=1.0, delta=1e-6).run(s),
    "itemsets, not read": lambda s: wn.itemsets(s, size=1, k=1, delta=1e-6, **HOW),
    "plan.select": lambda s: wn.plan.select(s, epsilon=1.0),
    "plan.top_k": lambda s: wn.plan.top_k(s, k=1, epsilon=1.0),
}  # fmt: skip


def failing(_: object) -> Any:
    raise RuntimeError(f"{CANARY} has a secret")


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_tells_a_cell_of_any_source(
    verb: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for make in SOURCES.values():
        source = make()
        silent(lambda source=source: VERBS[verb](source))
    said = capfd.readouterr()
    assert CANARY not in said.out + said.err
    assert not list(tmp_path.iterdir())


PARAMETERS = ("epsilon", "delta", "k", "method", "with_leads", "seed", "budget")
SEALING = ("utility", "sensitivity", "monotone", "relation", "label_column", "score_column")
OF_METHODS = {"noise": wn.Lipschitz, "thresholds": wn.LargeMargin, "gamma": wn.Canonical}


@pytest.mark.parametrize("name", [*PARAMETERS, *SEALING])
def test_data_given_as_a_parameter_are_not_repeated(name: str) -> None:
    for given in (pd.Series([CANARY]), np.array([CANARY, CANARY]), pl.Series([CANARY]),
                  [CANARY] * 9, {CANARY: 1}, betraying("__repr__"), betraying("__eq__"),
                  betraying("__str__", "__hash__")):  # fmt: skip
        silent(lambda given=given: asked_with(name, given))


@pytest.mark.parametrize("name", OF_METHODS)
def test_data_given_as_an_option_of_a_method_are_not_repeated(name: str) -> None:
    """The caller's own object is being made, so that its frame may hold them; no message does."""
    for given in (pd.Series([CANARY]), np.array([CANARY, CANARY]), [CANARY] * 9, {CANARY: 1},
                  betraying("__repr__"), betraying("__str__", "__hash__")):  # fmt: skip
        with pytest.raises(wn.ParameterError) as caught:
            OF_METHODS[name](**{name: given})
        assert CANARY not in str(caught.value)


def asked_with(name: str, given: Any) -> Any:
    """A selection with data in the place of a parameter, where that parameter is said."""
    scores: Any = {"a": 1, "b": 2}
    if name in SEALING:
        return wn.seal_scores(scores, **{name: given})
    return wn.select(scores, **({"epsilon": 1.0} | {name: given}))


@pytest.mark.parametrize("name", ["schema", "columns", "person", "max_rows", "relation"])
def test_data_given_as_an_option_of_a_table_are_not_repeated(name: str) -> None:
    frame = pd.DataFrame({"name": ["a"], "n": [1]})
    for given in (pd.Series([CANARY]), pd.DataFrame({"name": [CANARY]}), [[CANARY] * 9],
                  {"name": pd.Series([CANARY])}, betraying("__repr__")):  # fmt: skip
        silent(lambda given=given: wn.read_table(frame, **({"schema": SCHEMA} | {name: given})))


ROWS = "\n".join(f"{CANARY}{i},{CANARY}disease" for i in range(30)) + "\n"
TEXTS: dict[str, bytes] = {
    "headerless": ROWS.encode(),
    "headerless, quoted": ROWS.replace(CANARY, f'"{CANARY}"').encode(),
    "one column": f"{CANARY}\n{CANARY}\n".encode(),
    "three columns": f"{CANARY},{CANARY}x,1\n{CANARY},2,3\n".encode(),
    "equal names": f"{CANARY},{CANARY}\nx,1\n".encode(),
    "semicolons": f"{CANARY};7\n{CANARY};8\n".encode(),
    "no numbers": f"name,n\n{CANARY},{CANARY}\n".encode(),
    "missing": f"name,n\n{CANARY},\n".encode(),
    "twice": f"name,n\n{CANARY},1\n{CANARY},2\n".encode(),
    "huge": f"name,n\n{CANARY},{'9' * 5000}\n".encode(),
    "overflow": f"name,n\n{CANARY},1e999\n".encode(),
    "ragged": f"name,n\n{CANARY},1,{CANARY}\n{CANARY}\n".encode(),
    "open quote": f'name,n\n"{CANARY},1\n'.encode(),
    "stray quote": f'name,n\n{CANARY}"{CANARY},"1"{CANARY}\n'.encode(),
    "NUL": f"name,n\n{CANARY}\0,1\n".encode(),
    "not UTF-8": f"name,n\n{CANARY}".encode() + b"\xff\xfe,1\n",
    "half UTF-8": f"name,n\n{CANARY},1\n".encode() + b"\xc3",
    "cut gzip": gzip.compress(ROWS.encode())[:-9],
    "gzip with a tail": gzip.compress(f"name,n\n{CANARY},x\n".encode()) + CANARY.encode(),
    "JSON cut off": f'{{"{CANARY}": "{CANARY}"'.encode(),
    "JSON object": f'{{"{CANARY}": "{CANARY}"}}'.encode(),
    "JSON twice": f'{{"{CANARY}": 1, "{CANARY}": 2}}'.encode(),
    "JSON records": json.dumps([{CANARY: CANARY, "n": CANARY}, {CANARY: 3}]).encode(),
    "JSON field twice": f'[{{"{CANARY}": 1, "{CANARY}": 2}}]'.encode(),
    "JSON scalar": f'"{CANARY}"'.encode(),
    "JSON list": f'["{CANARY}"]'.encode(),
    "pickle": b"\x80\x04\x95" + CANARY.encode(),
    "parquet magic": b"PAR1" + CANARY.encode() * 9 + b"PAR1",
    "MPS": f"NAME {CANARY}\nROWS\n N c\n L {CANARY}\nCOLUMNS\n {CANARY} {CANARY} x\n".encode(),
    "MPS infeasible": f"NAME t\nROWS\n N c\n L r\nCOLUMNS\n {CANARY} c 1 r 1\nRHS\n b r 1\n"
                      f"BOUNDS\n LO bnd {CANARY} 5\n UP bnd {CANARY} 2\nENDATA\n".encode(),
    "journal": f'{{"winnow-interactive": 3, "data": "{CANARY}", "ledger": null}}\n'.encode(),
}  # fmt: skip
SCORES, TABLES, LINES = (".csv", ".json"), (".csv",), (".csv", ".txt")
ENDINGS = {"read_scores": SCORES, "read_scores, named": SCORES, "lines": LINES,
           "counts, items": (".txt",), "read_lp": (".mps",), "load_predictor": (".json",),
           "resume": (".json",)}  # fmt: skip
"""With which endings a reader is given the broken texts; otherwise as tables."""


def parquet_files(folder: Path) -> list[Path]:
    made = []
    tables = {
        "texts": pa.table({"name": [CANARY], "n": [CANARY]}),
        "names": pa.table({CANARY: [CANARY], f"{CANARY} 2": [1]}),
        "missing": pa.table({CANARY: [CANARY], "n": pa.array([None], pa.int64())}),
        "twice": pa.table({CANARY: [CANARY, CANARY], "n": [1, 2]}),
        "struct": pa.table({"name": [{CANARY: CANARY}], "n": [1]}),
        "dictionary": pa.table({"name": pa.array([CANARY]).dictionary_encode(), "n": [1.5]}),
    }
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
        made.append(folder / f"{name}.parquet")
    whole = (folder / "texts.parquet").read_bytes()
    for place in range(8, len(whole), len(whole) // 6):
        path = folder / f"damaged{place}.parquet"
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        made.append(path)
    return made


def sealed() -> Any:
    return wn.read_table(pd.DataFrame({"name": ["a"], "n": [1]}), schema=SCHEMA)


READERS: dict[str, Callable[[Path], Any]] = {
    "read_scores": read_scores,
    "read_scores, named": lambda p: read_scores(p, label_column="name", score_column="n"),
    "read_scores, half named": lambda p: read_scores(p, score_column="n"),
    "counts": lambda p: wn.counts(p, item="name", person="n", max_items=1),
    "counts, files": lambda p: wn.counts([p, p], item="name"),
    "counts, items": lambda p: wn.counts(
        pd.DataFrame({"name": ["a"]}), item="name", items=p),
    "read_table": lambda p: wn.read_table(p, schema=SCHEMA),
    "read_table, people": lambda p: wn.read_table([p, p], schema={"n": 5}, person="name"),
    "lines": lambda p: wn.read_baskets(p, unit="basket", layout="lines"),
    "pairs": lambda p: wn.read_baskets(p, unit="basket", layout=wn.Pairs(basket="n", item="name")),
    "indicators": lambda p: wn.read_baskets(p, unit="basket", layout="indicators"),
    "indicators, named": lambda p: wn.read_baskets(
        p, unit="basket", layout="indicators", items=["name", "x"]),
    "read_lp": lambda p: wn.read_lp(p, opt=1.0),
    "load_predictor": wn.load_predictor,
    "resume": lambda p: wn.resume(sealed(), p),
    "ledger": lambda p: wn.Session(ledger=p, dataset="d"),
    "key": lambda p: Ledger.open(p.with_suffix(".db"), key_file=p, create=True),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_tells_what_stands_in_a_broken_file(
    reader: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if reader == "read_lp":
        pytest.importorskip("highspy")
    for name, content in TEXTS.items():
        for ending in ENDINGS.get(reader, TABLES):
            path = tmp_path / f"{abs(hash(name))}{ending}"
            path.write_bytes(content)
            silent(lambda path=path: READERS[reader](path))
            path.unlink()
    for path in parquet_files(tmp_path) if reader not in ENDINGS or "scores" in reader else ():
        silent(lambda path=path: READERS[reader](path))
    said = capfd.readouterr()
    assert CANARY not in said.out + said.err


BROKEN = ("headerless", "headerless, quoted", "three columns", "no numbers", "twice", "open quote",
          "not UTF-8", "MPS", "MPS infeasible")  # fmt: skip
"""A command takes a tenth of a second, so that each is given only some of the files."""
COMMANDS: dict[str, list[str]] = {
    "select": ["select", "FILE", "--epsilon", "1"],
    "select, named": ["select", "FILE", "--epsilon", "1", "--label", "who", "--score", "n"],
    "top-k": ["top-k", "FILE", "--item", "item", "--count", "count", "--labels", "public", "-k",
              "1", "--epsilon", "1"],
    "top-k of a log": ["top-k", "FILE", "--item", "item", "--person", "who", "-k", "1", "--epsilon",
                       "1", "--delta", "1e-6", "--max-items", "1"],
    "plan top-k": ["plan", "top-k", "--counts", "FILE", "-k", "1", "--epsilon", "1"],
    "release": ["release", "FILE", "--one-row-per-person",
             "--schema", "schema.json", "--workload", "marginals:1",
                "--epsilon", "1", "--delta", "1e-6", "--json"],
    "itemsets": ["itemsets", "FILE", "--one-basket-per-person",
                 "--size", "1", "-k", "1", "--epsilon",
                 "1", "--delta", "1e-6", "--basket", "b", "--item", "i"],
    "learn": ["learn", "FILE", "--one-row-per-person",
                 "--schema", "schema.json", "--target", "name", "--hypotheses",
              "stumps", "--epsilon", "1"],
    "ask": ["ask", "FILE", "--one-row-per-person",
                 "--schema", "schema.json", "--epsilon", "1", "--delta", "1e-6"],
    "lp": ["lp", "FILE", "--method", "scalar-sides", "--epsilon", "1", "--opt", "1",
           "--sensitivity", "1", "--alpha", "1"],
    "lp, a matrix": ["lp", "FILE", "--b", "FILE", "--c", "FILE", "--method", "scalar-sides",
                     "--epsilon", "1", "--opt", "1", "--sensitivity", "1", "--alpha", "1"],
    "mips": ["mips", "FILE", "FILE", "--epsilon", "1", "--sensitivity", "1"],
    "boost": ["boost", "FILE", "--labels", "FILE", "--rounds", "1", "--epsilon", "1"],
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_tells_what_stands_in_a_broken_file(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text(json.dumps(SCHEMA))
    file = Path("a.mps" if command == "lp" else "a.csv")
    words = [str(file) if word == "FILE" else word for word in COMMANDS[command]]
    for name in BROKEN:
        file.write_bytes(TEXTS[name])
        result = invoke(words)
        assert CANARY not in result.output + result.stderr, name
        assert result.exit_code in (0, 2), (name, result.output)
    file.unlink()
    assert {path.name for path in tmp_path.iterdir()} == {"schema.json"}
