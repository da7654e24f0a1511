"""The curves of selection, and of reading and counting."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from _curves import DELTA, Call, Curve, frame, spaced
from winnow.core.noisy_top.filter import FEW_KEYS, FEW_LEFT
from winnow.core.noisy_top.ranking import MANY_EQUAL
from winnow.core.tape import CHUNK
from winnow.read.engines.private_duck import FEW_ROWS
from winnow.select.mechanisms.margin_search import ONE_BY_ONE

D, K = 100_000, 10
SIZES = tuple(
    int(n) for n in (FEW_LEFT.at, FEW_KEYS.at, MANY_EQUAL.at, ONE_BY_ONE.at, CHUNK)
)  # fmt: skip
FOLDER = tempfile.TemporaryDirectory(prefix="curves-")


@lru_cache(maxsize=4)
def zipf(d: int) -> np.ndarray:
    return np.random.default_rng(0).zipf(1.7, d).clip(0, 10**6)


def gumbel(d: int, k: int) -> Call:
    """NumPy: noise on every score, and the k largest."""
    rng, floats = np.random.default_rng(1), zipf(d).astype(np.float64)
    if k == 1:
        return lambda: int(np.argmax(0.5 * floats + rng.gumbel(size=d)))
    return lambda: np.argpartition(0.5 * floats + rng.gumbel(size=d), d - k)


def _selected(method: Any, delta: float) -> Callable[[int], Call]:
    def call(d: int) -> Call:
        scores = wn.seal_scores(zipf(d), monotone=True, copy=False)
        return lambda: wn.select(scores, epsilon=1, delta=delta, method=method)

    return call


def _word(method: Any) -> str:
    return method if isinstance(method, str) else str(method.word())


def _listed(
    method: Any, delta: float, d: int | None = None, k: int | None = None
) -> Callable[[int], Call]:
    """The k largest of d counts; the one that is left out is the axis."""

    def call(n: int) -> Call:
        size, most = d or n, k or n
        counts = wn.seal_counts(zipf(size), max_items=5)
        epsilon = 0.2 if method == "oneshot-approximate" else 1  # its theorem ends there
        return lambda: wn.top_k(counts, k=most, epsilon=epsilon, delta=delta, method=method)

    return call


def _bounded(method: Any, delta: float) -> Callable[[int], Call]:
    def call(items: int) -> Call:
        counts = wn.seal_counts(zipf(D), max_items=items)
        return lambda: wn.top_k(counts, k=K, epsilon=1, delta=delta, method=method)

    return call


def _private(method: Any, d: int | None = None, k: int | None = None) -> Callable[[int], Call]:
    def call(n: int) -> Call:
        size, most = d or n, k or n
        held = {f"i{place}": int(count) for place, count in enumerate(zipf(size))}
        counts = wn.seal_counts(held, labels="private", max_items=5)
        return lambda: wn.top_k(counts, k=most, epsilon=1, delta=DELTA, method=method)

    return call


def _labels(method: Any) -> Callable[[int], Call]:
    def call(d: int) -> Call:
        held = {f"i{place}": int(count) for place, count in enumerate(zipf(d))}
        counts = wn.seal_counts(held, labels="private", max_items=1)
        return lambda: wn.labels(counts, epsilon=1, delta=DELTA, method=method)

    return call


def _thresholded(d: int) -> Call:
    rng, counts = np.random.default_rng(1), zipf(d)
    return lambda: np.flatnonzero(counts + rng.laplace(size=d) > 15.0)


def _above(m: int) -> Call:
    values = wn.seal_scores(np.full(m, 5), monotone=True)
    return lambda: wn.above(values, threshold=10**6, epsilon=1)


def _coin(m: int) -> Call:
    values, rng = np.full(m, 5.0), np.random.default_rng(1)
    return lambda: np.flatnonzero(values + rng.laplace(size=m) > 10**6)


def _of_classes(method: str) -> Callable[[int], Call]:
    def call(n: int) -> Call:
        entries = [(score, range(1000 * score, 1000 * score + 1000)) for score in range(n)]
        given = wn.classes(entries, total=1000 * n, max_items=1)
        if method in ("joint", "canonical"):
            return lambda: wn.top_k(given, k=1, epsilon=1, method=method)
        delta = 0.0 if method == "exponential" else DELTA
        return lambda: wn.select(given, epsilon=1, delta=delta, method=method)

    return call


def selection() -> list[Curve]:
    d = spaced(2, 2_000_000, SIZES)
    k = spaced(1, 10_000, (500, 1000))
    against = "NumPy: Gumbel noise, argpartition"
    curves = [
        Curve("select", _word(name), "candidates", d, _selected(name, delta),
              lambda n: gumbel(n, 1), against, borders=SIZES)
        for name, delta in (
            ("permute-and-flip", 0.0), ("exponential", 0.0), ("noisy-max", 0.0),
            (wn.Lipschitz(noise="logistic"), 0.0), ("large-margin", DELTA),
        )
    ]  # fmt: skip
    lists = {
        "joint": 0.0, "canonical": 0.0, "oneshot": 0.0, "peel-permute-and-flip": 0.0,
        "peel-gumbel": DELTA, "gamma": 0.0, "laplace": 0.0, "gaussian": DELTA,
        "oneshot-approximate": DELTA,
    }  # fmt: skip
    for name, delta in lists.items():
        from_k = tuple(n for n in spaced(K, 2_000_000, SIZES))
        curves += [
            Curve("top_k", name, "candidates", from_k, _listed(name, delta, k=K),
                  lambda n: gumbel(n, K), against, borders=SIZES),
            Curve("top_k", name, "k", k, _listed(name, delta, d=D), lambda n: gumbel(D, n),
                  against),
        ]  # fmt: skip
    bounds = tuple(range(1, 25, 2))
    curves += [
        Curve("top_k", name, "items of a person", bounds, _bounded(name, lists[name]),
              lambda n: gumbel(D, K), against)
        for name in ("laplace", "gaussian")
    ]  # fmt: skip
    few = spaced(K, 300_000, SIZES)
    for name in ("limited-domain", "stability"):
        curves += [
            Curve("top_k", name, "candidates", few, _private(name, k=K), _thresholded,
                  "NumPy: Laplace noise, a threshold", borders=SIZES),
            Curve("top_k", name, "k", spaced(1, 3000), _private(name, d=30_000)),
        ]  # fmt: skip
    curves += [
        Curve("labels", name, "candidates", few, _labels(name), _thresholded,
              "NumPy: Laplace noise, a threshold", borders=SIZES)
        for name in ("truncated-laplace", "optimal-rule", "weighted-gaussian")
    ]  # fmt: skip
    curves += [
        Curve("above", "sparse vector", "values", spaced(2, 1_000_000, SIZES), _above, _coin,
              "NumPy: Laplace noise, a threshold", borders=SIZES),
    ]  # fmt: skip
    curves += [
        Curve("select", name, "classes", spaced(2, 20_000), _of_classes(name))
        for name in ("exponential", "large-margin", "distance-to-instability")
    ]
    curves += [
        Curve("top_k", name, "classes", spaced(2, 20_000), _of_classes(name))
        for name in ("joint", "canonical")
    ]
    return curves


@lru_cache(maxsize=2)
def log(rows: int) -> Path:
    """A CSV file with two columns: items of about power-law popularity, some 30 rows for each."""
    import duckdb

    path = Path(FOLDER.name) / f"log-{rows}.csv"
    if not path.exists():
        people = max(1, rows // 30)
        duckdb.execute(
            f"""COPY (SELECT (hash(7 * r + 1) % {people})::INTEGER AS person,
            floor({max(10, rows // 5)} * pow((hash(3 * r + 2) % 16777216) / 16777216.0, 3))::INTEGER
            AS item FROM range({rows}) t(r)) TO '{path}' (HEADER)"""
        )
    return path


def _counted(rows: int) -> Call:
    path = log(rows)
    return lambda: wn.counts(path, item="item", person="person", max_items=8)


def _counted_by_hand(rows: int) -> Call:
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    asked = f"""SELECT item, count(*) FROM (
        SELECT unnest(min_by(item, hash(person, item, 42), 8)) item
        FROM (SELECT DISTINCT person, item FROM read_csv('{log(rows)}')) GROUP BY person
    ) GROUP BY item"""
    return lambda: connection.execute(asked).fetchnumpy()


def _counted_bound(bound: int) -> Call:
    path = log(100_000)
    return lambda: wn.counts(path, item="item", person="person", max_items=bound)


def written(rows: int, columns: int) -> Path:
    path = Path(FOLDER.name) / f"table-{rows}-{columns}.csv"
    if not path.exists():
        frame(rows, columns).to_csv(path, index=False)
    return path


def _read(rows: int, columns: int) -> Call:
    path, schema = written(rows, columns), {f"c{i}": 5 for i in range(columns)}
    return lambda: wn.read_table(path, schema=schema)


def _grouped(rows: int, columns: int) -> Call:
    import duckdb

    path, names = written(rows, columns), ", ".join(f"c{i}" for i in range(columns))
    connection = duckdb.connect(config={"threads": 1})
    asked = f"SELECT {names}, count(*) FROM read_csv('{path}') GROUP BY ALL"
    return lambda: connection.execute(asked).fetchnumpy()


def reading() -> list[Curve]:
    rows = spaced(100, 2_000_000, (int(FEW_ROWS.at),))
    return [
        Curve("counts", "CSV file", "rows", rows, _counted, _counted_by_hand, "DuckDB by hand",
              borders=(int(FEW_ROWS.at),)),
        Curve("counts", "CSV file", "items of a person", tuple(range(1, 49, 4)), _counted_bound),
        Curve("read_table", "CSV file", "rows", spaced(100, 1_000_000), lambda n: _read(n, 8),
              lambda n: _grouped(n, 8), "DuckDB: GROUP BY ALL"),
        Curve("read_table", "CSV file", "columns", tuple(range(1, 36, 3)),
              lambda n: _read(50_000, n), lambda n: _grouped(50_000, n), "DuckDB: GROUP BY ALL"),
    ]  # fmt: skip
