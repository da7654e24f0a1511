"""How the first of two rounds of weighted labels is sized: labels found against one round.

By formula, on the logs of `winnow.select.generated_logs`, for parts of the privacy loss from 1/8 to
1/128, and for lost masses that are equal in both rounds or in the same parts.
Run: python benchmarks/rounds.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, report, save
from winnow.select.generated_logs import Log, generated_logs
from winnow.select.label_choice import ENOUGH, WeightNoise, found_by_gaussian
from winnow.select.methods import Sizes

BUDGETS = ((0.3, 1e-6), (1.0, 1e-6), (3.0, 1e-6), (1.0, 1e-9))
PARTS = (8, 16, 32, 64, 128)
CAP = 100


def in_two_rounds(about: Any, sizes: Sizes, part: float, lost: float) -> Callable[[Log], float]:
    """How many labels two rounds find; ``lost`` is the first one's part of the lost mass."""
    mass = float(sizes.delta) / 2
    shares = ((part, lost), (1 - part, 1 - lost))
    made = [WeightNoise.sized(about, sizes, CAP, r, mass * d, spread=True) for r, d in shares]

    def found(log: Log) -> float:
        left = 1 - made[0].passing(log)
        left = left * (1 - made[1].passing(log, left=left))
        return float((1 - left) @ log.sizes)

    return found


def main() -> None:
    """Compute, print, save."""
    parser = arguments(__doc__ or "", "rounds")
    chosen = parser.parse_args()
    about, rows = wn.plan.counts(labels="log"), list[dict[str, Any]]()
    for epsilon, delta in BUDGETS:
        sizes = Sizes(epsilon=epsilon, delta=delta)
        one = found_by_gaussian(about, sizes, CAP, 1, spread=True)
        single = np.array([one(log) for log in generated_logs()])
        some = single >= ENOUGH
        for part in PARTS:
            for word, lost in (("equal", 0.5), ("in parts", 1 / part)):
                way = in_two_rounds(about, sizes, 1 / part, lost)
                ratio = np.array([way(log) for log in generated_logs()])[some] / single[some]
                rows.append(
                    {"epsilon": epsilon, "delta": delta, "part": f"1/{part}", "lost": word,
                     "mean": float(ratio.mean()), "least": float(ratio.min()),
                     "tenth": float(np.quantile(ratio, 0.1))}
                )  # fmt: skip
    heads = ["(epsilon, delta)", "first round", "lost mass", "mean", "least", "10 %"]
    lines = [
        [f"({r['epsilon']:g}, {r['delta']:g})", r["part"], r["lost"], f"{r['mean']:.3f}",
         f"{r['least']:.3f}", f"{r['tenth']:.3f}"]
        for r in rows
    ]  # fmt: skip
    report("labels of two rounds over those of one", heads, lines)
    save(chosen.out, {"rows": rows})


if __name__ == "__main__":
    main()
