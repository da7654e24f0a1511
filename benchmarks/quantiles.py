"""Rank errors of quantiles: Winnow beside OpenDP, diffprivlib and published mechanisms.

Made-up columns, pure epsilon in all, m evenly spaced quantiles. Winnow releases them in one call,
in the way that it chooses; "halving" (Kaplan-Schnapp-Stemmer 2022) and "joint" (Gillenwater-Joseph-
Kulesza 2021) are the published ones, drawn by Winnow with its own sensitivities. OpenDP and
diffprivlib release one at a time and get epsilon/m for each. OpenDP is given 1,000 even candidates,
diffprivlib the bounds of the grid. Where rows are replaced, their number is public, and OpenDP is
told that a person moves two rows; diffprivlib knows one sensitivity only. The figure is the median
over the runs of the mean over the m quantiles of how many rows lie between the released number and
the true quantile.
Run: python benchmarks/quantiles.py [--quick]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, machine, report, save
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.read.crossing import Rows, SealedTable

CANDIDATES = 1_000
ADDED, REPLACED = Relation.ADD_REMOVE, Relation.SUBSTITUTION
NAMES = ("ages", "cents", "bimodal", "lognormal")
SETTINGS = [
    *product((ADDED,), NAMES, (1_000, 10_000), (0.1, 1.0), (1, 9)),
    *product((ADDED,), NAMES, (1_000,), (1.0,), (3, 99)),
    *product((REPLACED,), NAMES, (1_000, 10_000), (0.1, 1.0), (9,)),
    *product((REPLACED,), NAMES, (10_000,), (1.0,), (3, 32)),
]
SIZES = {"ages": 121, "cents": 100_000_001, "bimodal": 1_000_001, "lognormal": 1_000_001}


def column(name: str, n: int, seed: int) -> np.ndarray:
    """Codes of a made-up column."""
    rng = np.random.default_rng(seed)
    if name == "ages":
        drawn = rng.normal(42, 20, n)
    elif name == "cents":
        drawn = rng.lognormal(8, 1.2, n)
    elif name == "bimodal":
        drawn = np.where(rng.random(n) < 0.5, rng.normal(2e5, 2e4, n), rng.normal(8e5, 2e4, n))
    else:
        drawn = rng.lognormal(9, 1, n)
    return np.sort(np.clip(np.rint(drawn), 0, SIZES[name] - 1).astype(np.int64))


def rank_error(codes: np.ndarray, found: np.ndarray, quantiles: list[float]) -> float:
    """The mean number of rows between a released number and its quantile."""
    below, until = np.searchsorted(codes, found), np.searchsorted(codes, found, side="right")
    wanted = np.array(quantiles) * len(codes)
    return float(np.maximum(0, np.maximum(below - wanted, wanted - until)).mean())


def by_winnow(
    name: str,
    codes: np.ndarray,
    qs: list[float],
    epsilon: float,
    relation: Relation,
    method: str = "auto",
) -> Any:
    """One call for all quantiles."""
    schema = wn.Schema.parse({"x": {"type": "number", "low": 0, "high": SIZES[name] - 1}})
    values, counts = np.unique(codes, return_counts=True)
    rows = Sealed(Rows((values.astype(np.int32),), counts.astype(np.int64)), "rows")
    table = SealedTable(schema, rows, 1, relation)
    plan = wn.plan.quantiles(table, "x", qs, epsilon=epsilon, method=method)
    return lambda: plan.run(table).value.values


def by_opendp(
    name: str, codes: np.ndarray, qs: list[float], epsilon: float, relation: Relation
) -> Any:
    """Quantile scores and a noisy maximum, one quantile after another."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    candidates = np.unique(np.linspace(0, SIZES[name] - 1, CANDIDATES).astype(int)).tolist()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def made(q: float) -> Any:
        def of(scale: float) -> Any:
            return dp.m.make_private_quantile(*space, dp.max_divergence(), candidates, q, scale)

        moved = 2 if relation is REPLACED else 1
        return of(dp.binary_search_param(of, d_in=moved, d_out=epsilon / len(qs)))

    measurements, data = [made(q) for q in qs], codes.tolist()
    return lambda: np.array([measure(data) for measure in measurements])


def by_diffprivlib(
    name: str, codes: np.ndarray, qs: list[float], epsilon: float, relation: Relation
) -> Any:
    """The exponential mechanism over the gaps between rows, one quantile after another."""
    from diffprivlib import tools

    warnings.filterwarnings("ignore")
    bounds = (0, SIZES[name] - 1)
    share = epsilon / len(qs)
    return lambda: np.array([tools.quantile(codes, q, epsilon=share, bounds=bounds) for q in qs])


METHODS: dict[str, Callable[..., Any]] = {
    "winnow": by_winnow,
    "halving": partial(by_winnow, method="halving"),
    "joint": partial(by_winnow, method="joint"),
    "opendp": by_opendp,
    "diffprivlib": by_diffprivlib,
}  # fmt: skip


def measured(setting: tuple[Any, ...], seed: int, limit: float) -> dict[str, Any]:
    """The errors of one setting; each library draws for so many seconds, and once at least."""
    relation, name, n, epsilon, m = setting
    codes, qs = column(name, n, seed), [round(i / (m + 1), 6) for i in range(1, m + 1)]
    row: dict[str, Any] = {
        "relation": str(relation),
        "data": name,
        "n": n,
        "epsilon": epsilon,
        "m": m,
    }
    for method, make in METHODS.items():
        if m == 1 and method in ("halving", "joint"):
            continue  # one quantile has one mechanism
        draw, errors, start = make(name, codes, qs, epsilon, relation), [], time.process_time()
        while not errors or (len(errors) < 60 and time.process_time() - start < limit):
            errors.append(rank_error(codes, draw(), qs))
        spent = (time.process_time() - start) / len(errors)
        row[method] = {"error": float(np.median(errors)), "runs": len(errors), "seconds": spent}
    return row


def main() -> None:
    """Measure all settings."""
    parser = arguments(__doc__ or "", "quantiles")
    parser.add_argument("--quick", action="store_true", help="a second for each library")
    asked = parser.parse_args()
    rows = [measured(each, asked.seed, 0.3 if asked.quick else 1.5) for each in SETTINGS]
    report(
        "Rank errors in rows",
        ["relation", "data", "n", "epsilon", "m", *METHODS],
        [
            [r["relation"], r["data"], f"{r['n']:,}", f"{r['epsilon']:g}", str(r["m"]),
             *(f"{r[method]['error']:.3g}" if method in r else "" for method in METHODS)]
            for r in rows
        ],
    )  # fmt: skip
    save(asked.out, {"machine": machine(), "quick": asked.quick, "rows": rows})


if __name__ == "__main__":
    main()
