"""Which gamma Canonical should have: the epsilon for the true top k, and errors, by profile.

For made-up counts of many shapes, and the counts (*.npy) of `--data DIR`: the epsilon at which the
true top k comes out with chance 0.9 (exact, Gumbel noise), relative to gamma = 1/2; and the mean
largest error of 100 draws at the epsilon where gamma = 1/2 has chance 1/2, relative to it.
Run: python benchmarks/gamma.py [--quick] [--data DIR]
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from _common import arguments, report, save
from winnow.core.laws import Law
from winnow.select.errors import best_order, l_infinity
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.plan.top_k.known import COUNTS
from winnow.select.plan.top_k.probabilities import epsilon_for_top

GAMMAS = tuple(Fraction(n, 20) for n in (10, 12, 13, 14, 15, 16, 18, 20))
SIZES = (3, 10, 30, 100)
TARGET = 0.9


def profiles(folder: Path | None, seed: int) -> dict[str, np.ndarray]:
    """Counts by name, largest first."""
    ranks, rng = np.arange(1, 5001), np.random.default_rng(seed)
    found = {
        "Zipf 1/2": 50_000 / ranks**0.5,
        "Zipf 1": 50_000 / ranks,
        "Zipf 2": 5e6 / ranks**2,
        "linear": 10.0 * (5001 - ranks),
        "geometric .98": 1e5 * 0.98 ** np.arange(2000),
        "lognormal": np.exp(rng.normal(6, 1.5, 5000)),
        "uniform": rng.uniform(0, 100_000, 3000),
        "normal": np.maximum(0, rng.normal(1000, 300, 3000)),
    }
    for file in sorted(folder.glob("*.npy")) if folder else ():
        found[file.stem] = np.load(file)
    return {name: np.sort(np.rint(c).astype(np.int64))[::-1] for name, c in found.items()}


def needed(counts: np.ndarray, k: int, gamma: Fraction, target: float) -> float | None:
    """The epsilon for the true top k."""
    return epsilon_for_top(Canonical(1, k, gamma, Law.GUMBEL), counts, k, target)


def error(counts: np.ndarray, k: int, gamma: Fraction, epsilon: float, draws: int) -> float:
    """The mean largest error of sets."""
    rows = Canonical(epsilon, k, gamma).simulate(counts, COUNTS, draws, seed=1)
    return float(l_infinity(counts, best_order(counts, rows)).mean())


def measured(name: str, counts: np.ndarray, k: int, draws: int) -> dict[str, Any] | None:
    """One profile at one k; None where ties make it no question."""
    usual, middling = (needed(counts, k, GAMMAS[0], target) for target in (TARGET, 0.5))
    if not usual or not middling:
        return None
    found: dict[str, Any] = {"profile": name, "items": len(counts), "k": k, "epsilon": usual}
    reached = [needed(counts, k, gamma, TARGET) for gamma in GAMMAS]
    found["relative"] = [None if e is None else round(e / usual, 3) for e in reached]
    errors = [error(counts, k, gamma, middling, draws) for gamma in GAMMAS]
    found["error"] = [round(each, 1) for each in errors]
    return found


def main() -> None:
    """Run, print, save."""
    parser = arguments(__doc__ or "", "gamma")
    parser.add_argument("--quick", action="store_true", help="k = 10 only, few draws")
    parser.add_argument("--data", type=Path, help="a folder of counts as *.npy")
    chosen = parser.parse_args()
    rows = [
        row
        for name, counts in profiles(chosen.data, chosen.seed).items()
        for k in (SIZES[1:2] if chosen.quick else SIZES)
        if (row := measured(name, counts, k, 10 if chosen.quick else 100))
    ]
    heads = ["profile", "k", *(f"{float(gamma):g}" for gamma in GAMMAS)]
    for title, part in (("epsilon relative to 1/2", "relative"), ("mean largest error", "error")):
        report(title, heads, [[r["profile"], str(r["k"]), *map(str, r[part])] for r in rows])
    gammas = [float(gamma) for gamma in GAMMAS]
    save(chosen.out, {"quick": chosen.quick, "target": TARGET, "gammas": gammas, "rows": rows})


if __name__ == "__main__":
    main()
