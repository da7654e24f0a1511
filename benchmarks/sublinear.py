"""How the time of a round of a graphical model grows with the queries, and with the domain.

All pairs of d columns of four codes are m queries over 4^d cells. A round selects a table by the
exponential mechanism, measures it and fits the model. Timed are rounds that look again only at the
tables which have a column of the last measured one, and rounds that look at all of them, which is
what the loop of MWEM+PGM does. Then the domain grows alone: the queries stay those of 25 columns.
What is done once (true counts, the first look at every table) is not in the time of a round, and
is printed beside it. CPU seconds.
Run: python benchmarks/sublinear.py [--quick]
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import winnow as wn
from _common import arguments, report, save
from winnow.release.graphical import rounds as wide_rounds

CODES, ROWS, ROUNDS = 4, 10_000, 6
FIXED = 25


def made_up(columns: int) -> wn.SealedTable:
    """Columns that follow a hidden one, some more than others."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, CODES, ROWS)
    frame = {}
    for i in range(columns):
        own = rng.integers(0, CODES, ROWS)
        follows = rng.random(ROWS) < 0.15 * (1 + i % 3)
        frame[f"c{i}"] = np.where(follows, (hidden + i) % CODES, own)
    return wn.read_table(pd.DataFrame(frame), schema=dict.fromkeys(frame, CODES))


def measured(columns: int, asked: int, *, every: bool) -> dict[str, Any]:
    """The usual round, and what comes before the second one."""
    table = made_up(columns)
    workload = wn.marginals(2, columns=[f"c{i}" for i in range(asked)])
    before = wide_rounds.REFRESHED
    wide_rounds.REFRESHED = 10**9 if every else before
    times = [time.process_time()]
    try:
        wn.release(
            table,
            workload,
            epsilon=1.0,
            delta=1e-6,
            seed=0,
            method=wn.Graphical(rounds=ROUNDS, first_share=0.3),
            run=wn.Run(progress=lambda done, of: times.append(time.process_time())),
        )
    finally:
        wide_rounds.REFRESHED = before
    tables = asked * (asked - 1) // 2
    each = [after - at for at, after in pairwise(times[1:])][:-1]  # the last fit goes further
    return {
        "columns": columns, "log10_cells": columns * float(np.log10(CODES)), "tables": tables,
        "queries": tables * CODES**2, "looks": "all" if every else "few",
        "round_seconds": float(np.median(each)), "first_seconds": times[1] - times[0],
    }  # fmt: skip


def main() -> None:
    """Run, print, save."""
    parser = arguments(__doc__ or "", "sublinear")
    parser.add_argument("--quick", action="store_true", help="up to 100 columns")
    chosen = parser.parse_args()
    sizes = (25, 50, 100) if chosen.quick else (25, 50, 100, 200)
    measured(FIXED, FIXED, every=False)  # kernels are compiled before the clock starts
    rows = [
        {"series": "queries", **measured(columns, columns, every=every)}
        for columns in sizes
        for every in (False, True)
    ]
    rows += [{"series": "cells", **measured(columns, FIXED, every=False)} for columns in sizes]
    names = list(rows[0])
    shown = [
        [f"{row[name]:.3g}" if isinstance(row[name], float) else str(row[name]) for name in names]
        for row in rows
    ]
    report("a round of a graphical model", names, shown)
    save(chosen.out, {"rows_of_table": ROWS, "codes": CODES, "rounds": ROUNDS, "rows": rows})


if __name__ == "__main__":
    main()
