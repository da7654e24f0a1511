"""How the first of two rounds of weighted labels is sized: labels found against one round.

By formula, on the logs of `winnow.select.generated_logs`: for parts of the privacy loss from 1/32
to 1/2, and for labels that stay from so many deviations of the noise on. In `-` all labels stay
that were not released.
Run: python benchmarks/rounds.py
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, report, save
from winnow.select.generated_logs import generated_logs
from winnow.select.label_choice import ENOUGH, found_by_gaussian, in_rounds
from winnow.select.methods import Sizes

BUDGETS = ((0.3, 1e-6), (1.0, 1e-6), (3.0, 1e-6), (1.0, 1e-9))
PARTS = (1 / 32, 1 / 8, 1 / 4, 1 / 3, 1 / 2)
STAYING = (None, 0.5, 1.0, 1.25, 1.5, 2.0, 2.5)
CAP = 100


def main() -> None:
    """Compute, print, save."""
    parser = arguments(__doc__ or "", "rounds")
    chosen = parser.parse_args()
    about, rows = wn.plan.counts(labels="log"), list[dict[str, Any]]()
    for epsilon, delta in BUDGETS:
        sizes = Sizes(epsilon=epsilon, delta=delta)
        one = found_by_gaussian(in_rounds(about, sizes, CAP, 1))
        single = np.array([one(log) for log in generated_logs()])
        some = single >= ENOUGH
        for part, staying in product(PARTS, STAYING):
            way = found_by_gaussian(in_rounds(about, sizes, CAP, 2, first=part, staying=staying))
            ratio = np.array([way(log) for log in generated_logs()])[some] / single[some]
            rows.append(
                {"epsilon": epsilon, "delta": delta, "part": part, "staying": staying,
                 "mean": float(np.exp(np.log(ratio).mean())), "least": float(ratio.min()),
                 "tenth": float(np.quantile(ratio, 0.1))}
            )  # fmt: skip
    heads = ["(epsilon, delta)", "first round", "staying", "mean", "least", "10 %"]
    lines = [
        [f"({r['epsilon']:g}, {r['delta']:g})", f"1/{round(1 / r['part'])}",
         "-" if r["staying"] is None else f"{r['staying']:g}", f"{r['mean']:.3f}",
         f"{r['least']:.3f}", f"{r['tenth']:.3f}"]
        for r in rows
    ]  # fmt: skip
    report("labels of two rounds over those of one", heads, lines)
    save(chosen.out, {"rows": rows})


if __name__ == "__main__":
    main()
