"""Rank errors of private quantiles: Winnow beside OpenDP and diffprivlib, on made-up columns.

Add-remove and pure epsilon in all, m evenly spaced quantiles. Winnow releases them in one call; the
others, which release one at a time, get epsilon/m for each. OpenDP is given 1,000 even candidates,
diffprivlib the bounds of the grid. The figure is the median over the runs of the mean over the m
quantiles of how many rows lie between the released number and the true quantile.
Run: python benchmarks/quantiles.py [--quick]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, machine, report, save
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.read.crossing import Rows, SealedTable

CANDIDATES = 1_000
SETTINGS = [
    *product(("ages", "cents", "bimodal", "lognormal"), (1_000, 10_000), (0.1, 1.0), (1, 9)),
    *product(("ages", "cents", "bimodal", "lognormal"), (1_000,), (1.0,), (3, 99)),
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


def by_winnow(name: str, codes: np.ndarray, qs: list[float], epsilon: float) -> Any:
    """One call for all quantiles."""
    schema = wn.Schema.parse({"x": {"type": "number", "low": 0, "high": SIZES[name] - 1}})
    values, counts = np.unique(codes, return_counts=True)
    rows = Sealed(Rows((values.astype(np.int32),), counts.astype(np.int64)), "rows")
    table = SealedTable(schema, rows, 1, Relation.ADD_REMOVE)
    plan = wn.plan.quantiles(table, "x", qs, epsilon=epsilon)
    return lambda: plan.run(table).value.values


def by_opendp(name: str, codes: np.ndarray, qs: list[float], epsilon: float) -> Any:
    """Quantile scores and a noisy maximum, one quantile after another."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    candidates = np.unique(np.linspace(0, SIZES[name] - 1, CANDIDATES).astype(int)).tolist()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def made(q: float) -> Any:
        def of(scale: float) -> Any:
            return dp.m.make_private_quantile(*space, dp.max_divergence(), candidates, q, scale)

        return of(dp.binary_search_param(of, d_in=1, d_out=epsilon / len(qs)))

    measurements, data = [made(q) for q in qs], codes.tolist()
    return lambda: np.array([measure(data) for measure in measurements])


def by_diffprivlib(name: str, codes: np.ndarray, qs: list[float], epsilon: float) -> Any:
    """The exponential mechanism over the gaps between rows, one quantile after another."""
    from diffprivlib import tools

    warnings.filterwarnings("ignore")
    bounds = (0, SIZES[name] - 1)
    share = epsilon / len(qs)
    return lambda: np.array([tools.quantile(codes, q, epsilon=share, bounds=bounds) for q in qs])


METHODS: dict[str, Callable[..., Any]] = {
    "winnow": by_winnow, "opendp": by_opendp, "diffprivlib": by_diffprivlib,
}  # fmt: skip


def measured(setting: tuple[Any, ...], seed: int, limit: float) -> dict[str, Any]:
    """The errors of one setting; each library draws for so many seconds, and once at least."""
    name, n, epsilon, m = setting
    codes, qs = column(name, n, seed), [round(i / (m + 1), 6) for i in range(1, m + 1)]
    row: dict[str, Any] = {"data": name, "n": n, "epsilon": epsilon, "m": m}
    for method, make in METHODS.items():
        draw, errors, start = make(name, codes, qs, epsilon), [], time.process_time()
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
    rows = [measured(each, asked.seed, 0.3 if asked.quick else 3.0) for each in SETTINGS]
    report(
        "Rank errors in rows",
        ["data", "n", "epsilon", "m", *METHODS],
        [
            [r["data"], f"{r['n']:,}", f"{r['epsilon']:g}", str(r["m"]),
             *(f"{r[method]['error']:.3g}" for method in METHODS)]
            for r in rows
        ],
    )  # fmt: skip
    save(asked.out, {"machine": machine(), "quick": asked.quick, "rows": rows})


if __name__ == "__main__":
    main()
