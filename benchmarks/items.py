"""Up to how many items per person noise on every count beats one draw over lists or sets.

Made-up counts of several shapes: the mean largest error of 60 draws of joint (lists), canonical
(sets) and peel-gumbel (lists, delta = 1e-6), and the largest L of a few at which the Laplace
mechanism for at most L items per person is at least as good.
Run: python benchmarks/items.py [--quick]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from _common import arguments, report, save
from winnow import Joint, NoisyCounts, PeelGumbel
from winnow.topk.errors import best_order, l_infinity
from winnow.topk.mechanisms.canonical import Canonical
from winnow.topk.plan.known import COUNTS
from winnow.topk.table import GAMMA

ITEMS = (1, 2, 3, 5, 8, 13, 20, 35)
SIZES = (5, 10, 20, 50)
EPSILONS = (0.05, 0.5)
DRAWS = 60


def profiles(seed: int) -> dict[str, np.ndarray]:
    """Counts by name, largest first."""
    ranks, rng = np.arange(1, 2001), np.random.default_rng(seed)
    found = {
        "Zipf 1": 50_000 / ranks,
        "Zipf 1/2": 50_000 / ranks**0.5,
        "lognormal": np.sort(np.exp(rng.normal(6, 1.5, 2000)))[::-1],
        "linear": 10.0 * (2001 - ranks),
    }
    return {name: np.rint(counts).astype(np.int64) for name, counts in found.items()}


def mean_error(counts: np.ndarray, mechanism: Any, *, as_sets: bool) -> float:
    """The mean largest error, of lists in their order or of sets."""
    rows = mechanism.simulate(counts, COUNTS, DRAWS, 1)
    return float(l_infinity(counts, best_order(counts, rows) if as_sets else rows).mean())


def measured(name: str, counts: np.ndarray, k: int, epsilon: float) -> dict[str, Any]:
    """The errors, and how many items the Laplace mechanism may have."""
    rivals = {
        "joint": (Joint(epsilon, k), False),
        "canonical": (Canonical(epsilon, k, GAMMA), True),
        "peel-gumbel": (PeelGumbel(epsilon, 1e-6, k), False),
    }
    found: dict[str, Any] = {"profile": name, "k": k, "epsilon": epsilon}
    noisy = {
        as_sets: [
            mean_error(counts, NoisyCounts(epsilon, k, most), as_sets=as_sets) for most in ITEMS
        ]
        for as_sets in (False, True)
    }
    for word, (mechanism, as_sets) in rivals.items():
        error = mean_error(counts, mechanism, as_sets=as_sets)
        better = [most for most, own in zip(ITEMS, noisy[as_sets], strict=True) if own <= error]
        found[word] = {"error": round(error, 1), "laplace up to": max(better, default=0)}
    return found


def main() -> None:
    """Run, print, save."""
    parser = arguments(__doc__ or "", "items")
    parser.add_argument("--quick", action="store_true", help="k = 10 only")
    chosen = parser.parse_args()
    rows = [
        measured(name, counts, k, epsilon)
        for name, counts in profiles(chosen.seed).items()
        for k in (SIZES[1:2] if chosen.quick else SIZES)
        for epsilon in EPSILONS
    ]
    words = ["joint", "canonical", "peel-gumbel"]
    shown = [
        [r["profile"], str(r["k"]), f"{r['epsilon']:g}",
         *(f"{r[w]['error']:g} (L = {r[w]['laplace up to']})" for w in words)]
        for r in rows
    ]  # fmt: skip
    report("mean largest error, and L up to which laplace is as good", ["counts", "k", "ε", *words],
           shown)  # fmt: skip
    save(chosen.out, {"quick": chosen.quick, "draws": DRAWS, "rows": rows})


if __name__ == "__main__":
    main()
