"""The fit of a distribution: how far a model is from the truth, and how long it takes.

A made-up table in the shape of a census: 199,523 rows, six columns of 18, 17, 7, 2, 7 and 2 codes,
with combinations that do not occur, and all pairs at delta 1e-9. And a table with the domain of
ADULT, 14 columns, all pairs and triples. The mean total variation distance of the pairs: of what a
user holds (``marginal``), and of the model alone, from which rows are drawn (``fitted``). CPU
seconds are those of the second release; the first compiles.

    python benchmarks/fit.py
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

import winnow as wn
from _common import arguments, report, save

ROWS, SIZES = 199_523, (18, 17, 7, 2, 7, 2)
ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
ADULT_ROWS = 48_842
DELTA = 1e-9


def census(seed: int) -> np.ndarray:
    """Ages, schools, marriages, sexes, kinds of work and incomes: made up."""
    rng = np.random.default_rng(seed)
    age = rng.choice(18, ROWS, p=rng.dirichlet(np.full(18, 6.0)))
    school = np.where(age < 3, 0, 1 + np.minimum(15, rng.poisson(1 + age / 3, ROWS)))
    married = np.where(age < 4, 0, rng.choice(7, ROWS, p=[0.3, 0.4, 0.1, 0.08, 0.06, 0.04, 0.02]))
    sex = rng.integers(0, 2, ROWS)
    work = np.where(school == 0, 0, np.minimum(6, rng.poisson(school / 5)))
    income = rng.random(ROWS) < np.where(age < 4, 0.0, 0.02 * (1 + school / 3 + 2 * (work > 2)))
    return np.stack([age, school, married, sex, work, income], axis=1).astype(int)


def skewed(sizes: tuple[int, ...], rows: int, seed: int) -> np.ndarray:
    """Columns of a mixture of six classes, each skewed."""
    rng = np.random.default_rng(seed)
    own = rng.choice(6, rows, p=rng.dirichlet(np.full(6, 2.0)))
    found = []
    for size in sizes:
        laws = np.array([rng.dirichlet(np.full(size, 0.3)) for _ in range(6)]).cumsum(1)
        found.append(np.minimum((laws[own] < rng.random((rows, 1))).sum(1), size - 1))
    return np.stack(found, axis=1)


def read(codes: np.ndarray, sizes: tuple[int, ...]) -> Any:
    """The table as a user reads it."""
    names = [f"c{place}" for place in range(len(sizes))]
    frame = pd.DataFrame(codes, columns=names)
    return wn.read_table(frame, schema=dict(zip(names, sizes, strict=True)))


def far(value: Any, codes: np.ndarray, sizes: tuple[int, ...]) -> tuple[float, float]:
    """The mean distance of pairs: of the answers, and of the model."""
    found = []
    for i, j in combinations(range(len(sizes)), 2):
        true = np.bincount(codes[:, i] * sizes[j] + codes[:, j], minlength=sizes[i] * sizes[j])
        pair = wn.marginals([f"c{i}", f"c{j}"])
        both = value.answers(pair), value.fitted(pair)
        found.append([np.abs(each - true / len(codes)).sum() / 2 for each in both])
    answers, model = np.mean(found, axis=0).tolist()
    return answers, model


def measured(
    codes: np.ndarray, sizes: tuple[int, ...], ways: int, epsilon: float, method: str, seed: int
) -> dict[str, Any]:
    """One release, after one that compiles."""
    table, took = read(codes, sizes), 0.0
    for turn in range(2):
        start = time.process_time()
        value: Any = wn.release(
            table, wn.marginals(ways), epsilon=epsilon, delta=DELTA, method=method, seed=seed + turn
        ).value
        took = time.process_time() - start
    answers, model = far(value, codes, sizes)
    return {"rows": len(codes), "columns": len(sizes), "ways": ways, "epsilon": epsilon,
            "method": method, "answers": answers, "model": model, "seconds": took,
            "ended": bool(value.fit.ended)}  # fmt: skip


def main() -> None:
    """Both tables, as a report and as JSON."""
    options = arguments(__doc__.splitlines()[0], "fit").parse_args()
    rows = [
        measured(census(options.seed), SIZES, 2, epsilon, method, options.seed)
        for method in ("tables", "graphical")
        for epsilon in (1.0, 3.0, 10.0)
    ]
    adult = skewed(ADULT, ADULT_ROWS, options.seed)
    rows += [measured(adult, ADULT, ways, 1.0, "graphical", options.seed) for ways in (2, 3)]
    report("fit", list(rows[0]), [[f"{v:.3g}" if isinstance(v, float) else str(v)
                                   for v in row.values()] for row in rows])  # fmt: skip
    save(options.out, {"rows": rows})


if __name__ == "__main__":
    main()
