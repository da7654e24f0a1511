"""The curves of what is released about tables, and of programs, vectors and itemsets."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

import winnow as wn
from _curves import DELTA, Call, Curve, frame, spaced, table

NUMBER = {"type": "number", "low": 0, "high": 999}


def _plain(rows: int, columns: int, size: int = 2) -> Call:
    """NumPy: every marginal of so many columns with Laplace noise."""
    held = frame(rows, columns).to_numpy()
    rng = np.random.default_rng(1)

    def call() -> list[Any]:
        found = []
        for chosen in combinations(range(columns), size):
            codes = held[:, chosen[0]]
            for column in chosen[1:]:
                codes = 5 * codes + held[:, column]
            counts = np.bincount(codes, minlength=5**size)
            found.append(counts + rng.laplace(size=len(counts)))
        return found

    return call


def _released(method: Any, columns: Callable[[int], int], rows: Callable[[int], int],
              workload: Any = None) -> Callable[[int], Call]:  # fmt: skip
    def call(n: int) -> Call:
        held, asked = table(rows(n), columns(n)), workload or wn.marginals(2)
        return lambda: wn.release(held, asked, epsilon=1, delta=DELTA, method=method, seed=1)

    return call


@lru_cache(maxsize=2)
def line(cells: int, rows: int = 20_000) -> wn.SealedTable:
    """One column of so many codes, with a peak."""
    drawn = np.random.default_rng(0).normal(0.4, 0.1, rows).clip(0, 0.999) * cells
    return wn.read_table(pd.DataFrame({"x": drawn.astype(int)}), schema={"x": cells})


def _on_line(method: str, workload: Callable[[], Any]) -> Callable[[int], Call]:
    def call(cells: int) -> Call:
        held, asked = line(cells), workload()
        return lambda: wn.release(held, asked, epsilon=1, delta=DELTA, method=method, seed=1)

    return call


def _noise_on_cells(cells: int) -> Call:
    rng, counts = np.random.default_rng(1), np.zeros(cells)
    return lambda: np.cumsum(counts + rng.laplace(size=cells))


def _tabulated(cells: int) -> Call:
    held = line(cells)
    return lambda: wn.tabulate(held, ["x"], epsilon=1)


@lru_cache(maxsize=2)
def numbers(rows: int, groups: int = 4) -> wn.SealedTable:
    rng = np.random.default_rng(0)
    drawn = {
        "x": rng.gamma(4, 60, rows).clip(0, 999).astype(int),
        "g": rng.integers(0, groups, rows),
    }
    return wn.read_table(pd.DataFrame(drawn), schema={"x": NUMBER, "g": groups})


def _numbers(verb: str) -> Callable[[int], Call]:
    def call(rows: int) -> Call:
        held = numbers(rows)
        return {
            "quantiles": lambda: wn.quantiles(held, "x", [0.25, 0.5, 0.75], epsilon=1),
            "moments": lambda: wn.moments(held, "x", epsilon=1),
            "bounds": lambda: wn.bounds(held, "x", epsilon=1),
            "histogram": lambda: wn.histogram(held, "x", epsilon=1),
            "describe": lambda: wn.describe(held, epsilon=1),
        }[verb]

    return call


def _sorted_numbers(rows: int) -> Call:
    drawn = np.random.default_rng(0).gamma(4, 60, rows)
    rng = np.random.default_rng(1)
    return lambda: np.quantile(drawn, [0.25, 0.5, 0.75]) + rng.laplace(size=3)


def _quantiles(method: str) -> Callable[[int], Call]:
    def call(m: int) -> Call:
        held = numbers(20_000)
        wanted = sorted({round((i + 1) / (m + 1), 3) for i in range(m)})
        delta = 0.0 if method == "joint" else DELTA
        return lambda: wn.quantiles(held, "x", wanted, epsilon=1, delta=delta, method=method)

    return call


def _by_groups(groups: int) -> Call:
    held = numbers(20_000, groups)
    return lambda: wn.quantiles(held, "x", [0.5], by=["g"], epsilon=1)


def _described(columns: int) -> Call:
    held = table(20_000, columns)
    return lambda: wn.describe(held, epsilon=1)


def _asked(method: str) -> Callable[[int], Call]:
    def call(m: int) -> Call:
        held = table(20_000, 5)
        rng = np.random.default_rng(0)
        questions = [
            wn.where({f"c{i}": rng.choice(5, 2, replace=False).tolist() for i in pair})
            for pair in (rng.choice(5, 2, replace=False) for _ in range(m))
        ]  # fmt: skip

        def run() -> None:
            with wn.ask(held, epsilon=1, delta=DELTA, method=method, max_queries=20_000) as session:
                session.ask_many(questions)

        return run

    return call


def _cells(m: int) -> Call:
    held, rng = frame(20_000, 5).to_numpy(), np.random.default_rng(1)
    counts = np.bincount(held @ 5 ** np.arange(5), minlength=5**5).astype(float)
    inside = (rng.random((1, 5**5)) < 0.2).astype(float)
    return lambda: [float(inside[0] @ counts) + rng.laplace() for _ in range(m)]


def tables() -> list[Curve]:
    rows, laplace = spaced(100, 1_000_000), "NumPy: Laplace noise on every table"
    columns = tuple(range(3, 15))
    curves = []
    for name in ("tables", "graphical", "adaptive", "mwem"):
        most = columns if name in ("tables", "graphical") else tuple(range(2, 8))
        if len(most) == len(columns):
            curves.append(
                Curve("release", name, "columns", columns,
                      _released(name, lambda n: n, lambda n: 5000),
                      lambda n: _plain(5000, n), laplace, power=3.0)
            )  # fmt: skip
        curves.append(
            Curve("release", name, "rows", rows, _released(name, lambda n: 5, lambda n: n),
                  lambda n: _plain(n, 5), laplace)
        )  # fmt: skip
    cells = spaced(4, 2048)
    curves += [
        Curve("release", "explicit", "cells", spaced(4, 512),
              _on_line("explicit", lambda: wn.prefixes("x")), _noise_on_cells,
              "NumPy: Laplace noise", power=3.0),
        Curve("release", "toeplitz", "cells", cells,
              _on_line("toeplitz", lambda: wn.prefixes("x")), _noise_on_cells,
              "NumPy: Laplace noise"),
        Curve("release", "mwem", "cells", cells, _on_line("mwem", lambda: wn.ranges("x")),
              _noise_on_cells, "NumPy: Laplace noise", power=2.0),
        Curve("tabulate", "noise", "cells", spaced(4, 300_000), _tabulated, _noise_on_cells,
              "NumPy: Laplace noise"),
    ]  # fmt: skip
    curves += [
        Curve(verb, "auto", "rows", rows, _numbers(verb), _sorted_numbers, "NumPy: quantiles")
        for verb in ("quantiles", "moments", "bounds", "histogram", "describe")
    ]
    curves += [
        Curve("quantiles", "halving", "quantiles", spaced(1, 300), _quantiles("halving")),
        Curve("quantiles", "cumulative", "quantiles", spaced(1, 300), _quantiles("cumulative")),
        Curve(
            "quantiles",
            "joint",
            "quantiles",
            spaced(1, 30, count=24),
            _quantiles("joint"),
            power=2.0,
        ),
        Curve("quantiles", "auto", "groups", spaced(1, 1000), _by_groups),
        Curve("describe", "auto", "columns", tuple(range(1, 25, 2)), _described),
    ]
    curves += [
        Curve("ask", name, "questions", spaced(1, 1000), _asked(name), _cells,
              "NumPy: a sum over cells and noise")
        for name in ("multiplicative-weights", "independent")
    ]  # fmt: skip
    return curves


def _learned(method: str) -> Callable[[int], Call]:
    def call(rows: int) -> Call:
        held = wn.labelled(table(rows, 8, 2), "c0")
        return lambda: wn.learn(held, epsilon=1, delta=DELTA, method=method, seed=1)

    return call


def _learned_wide(method: str) -> Callable[[int], Call]:
    def call(columns: int) -> Call:
        held = wn.labelled(table(5000, columns, 2), "c0")
        return lambda: wn.learn(held, epsilon=1, delta=DELTA, method=method, seed=1)

    return call


def _bayes(rows: int, columns: int) -> Call:
    from diffprivlib.models import GaussianNB

    held = frame(rows, columns, 2).to_numpy()
    bounds = (np.zeros(columns - 1), np.ones(columns - 1))
    return lambda: GaussianNB(epsilon=1, bounds=bounds).fit(held[:, 1:], held[:, 0])


def _program(m: int, d: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    matrix, point = rng.random((m, d)), rng.random(d)
    return matrix, matrix @ (point / point.sum()) + 0.1, np.ones(d)


def _sides(m: int, d: int = 20) -> Call:
    matrix, sides, price = _program(m, d)
    problem = wn.lp_problem(matrix, sides, price, opt=1.0)
    method = wn.ScalarSides(sensitivity=0.001, rounds=200)
    return lambda: wn.lp(problem, method=method, epsilon=1, delta=DELTA, seed=1)


def _person_rows(m: int) -> Call:
    matrix, sides, price = _program(m)
    problem = wn.lp_problem(matrix, sides, price, opt=1.0)
    method = wn.PersonRows(
        entries=(0, 1), sides=(0, 2), rows=m, exceptions=max(2, m // 10), rounds=100
    )
    return lambda: wn.lp(problem, method=method, epsilon=1, delta=DELTA, seed=1)


def _highs(m: int, d: int = 20) -> Call:
    from scipy.optimize import linprog

    matrix, sides, price = _program(m, d)
    return lambda: linprog(-price, matrix, sides, method="highs")


@lru_cache(maxsize=2)
def _vectors(m: int, d: int = 50) -> tuple[wn.SealedVectors, np.ndarray]:
    drawn = np.random.default_rng(0).normal(size=(m, d))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return wn.seal_vectors(drawn, copy=False), drawn


def _searched(method: Any) -> Callable[[int], Call]:
    def call(m: int) -> Call:
        vectors, drawn = _vectors(m)
        query = wn.seal_query(100 * drawn[0], sensitivity=1.0)
        return lambda: wn.mips(vectors, query, epsilon=1, method=method)

    return call


def _product(m: int) -> Call:
    _, drawn = _vectors(m)
    query, rng = 100 * drawn[0], np.random.default_rng(1)
    return lambda: int(np.argmax(drawn @ query + rng.gumbel(size=len(drawn))))


def _boosted(m: int) -> Call:
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    guesses = np.where(rng.random((30, m)) < 0.6, labels, -labels)
    examples = wn.seal_examples(guesses, labels)
    return lambda: wn.boost(examples, rounds=5, epsilon=1, seed=1)


@lru_cache(maxsize=2)
def _baskets(items: int, people: int = 3000) -> tuple[wn.SealedBaskets, list[list[int]]]:
    rng = np.random.default_rng(0)
    drawn = (items * rng.random((people, 6)) ** 3).astype(int)
    held = [sorted(set(row)) for row in drawn.tolist()]
    return wn.read_baskets(held, unit="basket", items=list(range(items)), max_items=6), held


def _mined(size: int, method: Any) -> Callable[[int], Call]:
    def call(items: int) -> Call:
        baskets, _ = _baskets(items)
        return lambda: wn.itemsets(baskets, size=size, k=10, epsilon=1, delta=DELTA, method=method)

    return call


def _mined_many(k: int) -> Call:
    baskets, _ = _baskets(500)
    return lambda: wn.itemsets(baskets, size=2, k=k, epsilon=1, delta=DELTA)


def _counted_pairs(items: int) -> Call:
    """NumPy: all pairs of all baskets counted, Gumbel noise on the counts."""
    _, held = _baskets(items)
    rng = np.random.default_rng(1)

    def call() -> Any:
        pairs = [a * items + b for row in held for a, b in combinations(row, 2)]
        _, counts = np.unique(pairs, return_counts=True)
        k = min(10, len(counts))
        return np.argpartition(counts + rng.gumbel(size=len(counts)), len(counts) - k)

    return call


def programs() -> list[Curve]:
    rows = spaced(100, 300_000)
    curves = [
        Curve("learn", name, "rows", rows, _learned(name), lambda n: _bayes(n, 8),
              "diffprivlib: naive Bayes")
        for name in ("boosted", "one-rule", "additive")
    ]  # fmt: skip
    curves += [
        Curve("learn", name, "columns", tuple(range(3, 27, 2)), _learned_wide(name),
              lambda n: _bayes(5000, n), "diffprivlib: naive Bayes", power=2.0)
        for name in ("boosted", "one-rule", "additive")
    ]  # fmt: skip
    simplex = "SciPy: HiGHS, not private"
    curves += [
        Curve("lp", "scalar-sides", "constraints", spaced(10, 300_000), _sides, _highs, simplex),
        Curve("lp", "scalar-sides", "variables", spaced(2, 1000), lambda d: _sides(500, d),
              lambda d: _highs(500, d), simplex),
        Curve("lp", "person-rows", "rows", spaced(10, 100_000), _person_rows, _highs, simplex),
        Curve("mips", "scan", "vectors", spaced(10, 200_000), _searched("scan"), _product,
              "NumPy: a product and Gumbel noise"),
        Curve("mips", "indexed", "vectors", spaced(10, 50_000), _searched(wn.Indexed("ivf")),
              _product, "NumPy: a product and Gumbel noise"),
        Curve("boost", "auto", "examples", spaced(10, 30_000), _boosted),
    ]  # fmt: skip
    items = spaced(6, 5000)
    curves += [
        Curve("itemsets", "auto", "items", items, _mined(2, "auto"), _counted_pairs,
              "NumPy: all pairs counted"),
        Curve("itemsets", "large-margin", "items", items, _mined(2, "large-margin"), _counted_pairs,
              "NumPy: all pairs counted"),
        Curve("itemsets", "auto, triples", "items", items, _mined(3, "auto")),
        Curve("itemsets", "auto", "k", spaced(1, 1000), _mined_many),
    ]  # fmt: skip
    return curves
