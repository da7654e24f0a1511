"""Errors of private means and deviations: Winnow beside OpenDP and diffprivlib, on made-up columns.

Pure epsilon, the same promise and bounds for all: one row of each person is replaced where the
number of rows is public, added or removed where it is private. Winnow releases everything in one
call; the others release one number at a time, so each gets an equal part of epsilon: OpenDP as sums
of whole numbers (and of their squares) and counts, diffprivlib with its own means and deviations.
The figure is the root mean squared error over the runs.
Run: python benchmarks/moments.py [--quick]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, machine, report, save
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.read.crossing import Rows, SealedTable, group

TOPS = {"ages": 100, "cents": 1_000_000}
QUESTIONS = {
    "mean": (1, ["mean"], True),
    "mean and deviation": (1, ["mean", "deviation"], True),
    "three means": (3, ["mean"], True),
    "mean, private n": (1, ["mean"], False),
}
"""How many columns, which statistics, and whether the number of rows is public."""
SETTINGS = [
    *product(("ages", "cents"), (1_000, 10_000), (0.1, 1.0), ("mean", "mean, private n")),
    *product(("ages", "cents"), (1_000,), (1.0,), ("mean and deviation", "three means")),
    *product(("ages",), (10_000,), (0.1,), ("mean and deviation", "three means")),
]


def columns(name: str, n: int, many: int, seed: int) -> np.ndarray:
    """Whole numbers from 0 to the top: a row for each column."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(45, 20, (many, n)) if name == "ages" else rng.lognormal(10, 1, (many, n))
    return np.clip(np.rint(drawn), 0, TOPS[name]).astype(np.int64)


def truth(held: np.ndarray, statistics: list[str]) -> np.ndarray:
    """The statistics of each column."""
    each = {"mean": held.mean(axis=1), "deviation": held.std(axis=1)}
    return np.stack([each[name] for name in statistics])


def by_winnow(name: str, held: np.ndarray, question: str, epsilon: float) -> Any:
    """One call for all numbers."""
    many, statistics, public = QUESTIONS[question]
    names = [f"x{i}" for i in range(many)]
    declared = {"type": "number", "low": 0, "high": TOPS[name]}
    schema = wn.Schema.parse(dict.fromkeys(names, declared))
    codes = tuple(np.ascontiguousarray(row.astype(np.int32)) for row in held)
    rows: Rows = group(codes, np.ones(held.shape[1], np.int64), schema.shape)
    relation = Relation.SUBSTITUTION if public else Relation.ADD_REMOVE
    table = SealedTable(schema, Sealed(rows, "rows"), 1, relation)
    plan = wn.plan.moments(table, names, statistics, epsilon=epsilon)

    def draw() -> np.ndarray:
        found = plan.run(table).value
        return np.array([[found.of(x, s).value for x in names] for s in statistics])

    return draw


def by_opendp(name: str, held: np.ndarray, question: str, epsilon: float) -> Any:
    """Noisy sums of whole numbers, of their squares, and noisy counts."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    many, statistics, public = QUESTIONS[question]
    n, top = held.shape[1], TOPS[name]
    parts = many * len(statistics) + (not public)

    def summed(values: np.ndarray, most: int) -> Callable[[], float]:
        atom = dp.atom_domain(bounds=(0, most), T="i64")
        domain = dp.vector_domain(atom, size=n) if public else dp.vector_domain(atom)
        space = domain, dp.symmetric_distance()
        total = space >> dp.t.then_sum()

        def of(scale: float) -> Any:
            return total >> dp.m.then_laplace(scale)

        measure = dp.binary_search_chain(of, d_in=2 if public else 1, d_out=epsilon / parts)
        plain = values.tolist()
        return lambda: float(measure(plain))

    sums = [summed(row, top) for row in held]
    squares = [summed(row**2, top**2) for row in held] if "deviation" in statistics else []
    count = None if public else summed(np.ones(n, np.int64), 1)

    def draw() -> np.ndarray:
        rows = n if count is None else max(1.0, count())
        means = np.clip([each() / rows for each in sums], 0, top)
        if not squares:
            return means[None]
        spread = [each() / rows - mean**2 for each, mean in zip(squares, means, strict=True)]
        return np.stack([means, np.sqrt(np.clip(spread, 0, top**2 / 4))])

    return draw


def by_diffprivlib(name: str, held: np.ndarray, question: str, epsilon: float) -> Any:
    """Its own means and deviations; with a private number of rows a sum and a count."""
    from diffprivlib import tools

    warnings.filterwarnings("ignore")
    many, statistics, public = QUESTIONS[question]
    bounds = (0, TOPS[name])
    share = epsilon / (many * len(statistics) + (not public))
    make = {"mean": tools.mean, "deviation": tools.std}

    def draw() -> np.ndarray:
        if public:
            return np.array([[make[s](row, epsilon=share, bounds=bounds) for row in held]
                             for s in statistics])  # fmt: skip
        count = max(1, tools.count_nonzero(np.ones(held.shape[1]), epsilon=share))
        sums = [tools.sum(row, epsilon=share, bounds=bounds) for row in held]
        return np.clip([[each / count for each in sums]], 0, TOPS[name])

    return draw


METHODS: dict[str, Callable[..., Any]] = {
    "winnow": by_winnow, "opendp": by_opendp, "diffprivlib": by_diffprivlib,
}  # fmt: skip


def measured(setting: tuple[Any, ...], seed: int, runs: int) -> dict[str, Any]:
    """The errors of one setting."""
    name, n, epsilon, question = setting
    many, statistics, _ = QUESTIONS[question]
    held = columns(name, n, many, seed)
    true = truth(held, statistics)
    row: dict[str, Any] = {"data": name, "n": n, "epsilon": epsilon, "asked": question}
    for method, make in METHODS.items():
        draw = make(name, held, question, epsilon)
        off = np.array([draw() - true for _ in range(runs)])
        error = np.sqrt(np.mean(off**2, axis=(0, 2)))
        row[method] = dict(zip(statistics, error.tolist(), strict=True))
    return row


def main() -> None:
    """Measure all settings."""
    parser = arguments(__doc__ or "", "moments")
    parser.add_argument("--quick", action="store_true", help="20 runs each")
    asked = parser.parse_args()
    runs = 20 if asked.quick else 300
    rows = [measured(each, asked.seed, runs) for each in SETTINGS]
    report(
        "Root mean squared errors",
        ["data", "n", "epsilon", "asked", "statistic", *METHODS],
        [
            [r["data"], f"{r['n']:,}", f"{r['epsilon']:g}", r["asked"], statistic,
             *(f"{r[method][statistic]:.3g}" for method in METHODS)]
            for r in rows for statistic in r["winnow"]
        ],
    )  # fmt: skip
    save(asked.out, {"machine": machine(), "runs": runs, "rows": rows})


if __name__ == "__main__":
    main()
