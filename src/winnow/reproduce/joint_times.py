"""Joint, Figure 3: execution time against k on the largest data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.reproduce.clock import clock, since
from winnow.reproduce.drawing import Curve, draw_curves, finish, legend, panels
from winnow.reproduce.experiment import Claim, Reproduced, Run
from winnow.reproduce.joint_runs import CORE, EPSILON, draws
from winnow.reproduce.sources import generated_counts, item_counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_3(run: Run) -> Reproduced:
    """Execution time against k on the largest data set."""
    counts, source = item_counts(run, "foods") or generated_counts(run, "foods")
    sizes, trials = run.pick([10, 50, 100, 200], list(range(10, 201, 10))), run.pick(1, 5)
    rows: list[dict[str, Any]] = []
    draws("Joint", counts, 5, 1, 0)  # compiled kernels are loaded before the clock starts
    for mechanism in CORE:
        for k in sizes:
            run.progress(f"Joint: time of {mechanism}, k = {k}")
            took = []
            for trial in range(trials):
                start = clock()
                draws(mechanism, counts, k, 1, run.seed + trial)
                took.append(since(start))
            rows.append({"mechanism": mechanism, "k": k, "seconds": float(np.median(took))})
    times = {m: [r["seconds"] for r in rows if r["mechanism"] == m] for m in CORE}
    joint, pnf, cdp = (times[m] for m in CORE)
    k = sizes[-1]
    claims = (
        Claim(f"CDP-Peel hardly depends on k ({cdp[0]:.3g} s at k = {sizes[0]}, {cdp[-1]:.3g} s at "
              f"k = {k})", cdp[-1] < 3 * cdp[0]),
        Claim(f"PNF-Peel is slower than CDP-Peel ({pnf[-1]:.3g} s at k = {k})", pnf[-1] > cdp[-1]),
        Claim(f"Joint is slower than PNF-Peel (it takes {joint[-1]:.3g} s at k = {k})",
              joint[-1] > pnf[-1]),
    )  # fmt: skip
    notes = (
        "the paper's Joint needs over a minute at k = 200, because it writes out all d k "
        "utilities; here only those that can matter are visited",
        "the machine is another one",
    )

    def draw() -> Figure:
        figure, (axis,) = panels(1, 1, width=8, height=4.6,
                                 title=f"Joint, Figure 3: d = {len(counts):,}")  # fmt: skip
        curves = {
            m: Curve(sizes, [r["seconds"] for r in rows if r["mechanism"] == m]) for m in CORE
        }
        draw_curves(axis, curves, CORE)
        finish(axis, yscale="log", xlabel="k (items)", ylabel="time of one list (seconds)")
        legend(figure, [axis])
        return figure

    parameters = {"epsilon": EPSILON, "d": len(counts), "trials": trials, "k": sizes}
    return Reproduced(parameters, rows, source, claims, notes, draw)
