"""Canonical, Section 7.3: the runtimes of the four mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np

from winnow.domain.utility import Utility
from winnow.mechanisms import Canonical, ExponentialMechanism, PermuteAndFlip
from winnow.random.laws import Law
from winnow.reproduce.clock import clock, since
from winnow.reproduce.drawing import draw_table
from winnow.reproduce.experiment import Claim, Reproduced, Run
from winnow.reproduce.sources import netflix_counts


def runtimes(run: Run) -> Reproduced:
    """Median time of one set for d = 17,770 and k = 10, 100, 1000."""
    counts, source = netflix_counts(run)
    utility = Utility.declare(1, monotone=True)
    repeats = run.pick(5, 25)
    rows: list[dict[str, Any]] = []
    for k in (10, 100, 1000):
        run.progress(f"Canonical: runtimes, k = {k}")
        for name, mechanism in {
            "CANONICAL": Canonical(1.0, k, noise=Law.GUMBEL),
            "CANONICAL, γ = 1": Canonical(1.0, k, 1, Law.GUMBEL),
            "ONESHOT": PermuteAndFlip(1.0, kappa=k),
            "PEELING": ExponentialMechanism(1.0, kappa=k),
        }.items():
            mechanism.simulate(counts, utility, 1, 0)  # compiled kernels are loaded first
            took = []
            for repeat in range(repeats):
                start = clock()
                mechanism.simulate(counts, utility, 1, run.seed + repeat)
                took.append(since(start))
            rows.append({"mechanism": name, "k": k, "seconds": float(np.median(took))})
    seconds = {(r["mechanism"], r["k"]): r["seconds"] for r in rows}
    names = list(dict.fromkeys(r["mechanism"] for r in rows))
    fast = max(seconds["CANONICAL, γ = 1", k] for k in (10, 100, 1000))
    slow = max(seconds["CANONICAL", k] for k in (10, 100, 1000))
    peeling = max(seconds["PEELING", k] for k in (10, 100, 1000))
    oneshot = max(seconds["ONESHOT", k] for k in (10, 100, 1000))
    claims = (
        Claim(f"CANONICAL with γ = 1 is as fast as ONESHOT ({1e3 * fast:.3g} ms and "
              f"{1e3 * oneshot:.3g} ms at most)", fast < 2 * oneshot),
        Claim(f"CANONICAL is as fast as PEELING ({1e3 * slow:.3g} ms and {1e3 * peeling:.3g} ms at "
              "most), in less than a second", slow < min(1.0, 2 * peeling)),
    )  # fmt: skip
    notes = (
        "sorting is included, and CANONICAL does not visit classes that cannot win, so it does "
        "not take d k microseconds",
        "PEELING is drawn at once, not in k steps",
        "the machine is another one",
    )
    cells = [[n, *(f"{1e3 * seconds[n, k]:.3g}" for k in (10, 100, 1000))] for n in names]
    return Reproduced(
        {"epsilon": 1.0, "d": len(counts), "repeats": repeats},
        rows,
        source,
        claims,
        notes,
        lambda: draw_table(
            f"Canonical, Section 7.3: one set, d = {len(counts):,}, milliseconds",
            ["mechanism", "k = 10", "k = 100", "k = 1000"],
            cells,
        ),
    )
