"""FastMWEM, Figures 1 to 3, and all of its experiments in a list."""

from __future__ import annotations

import importlib.util
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.experiments.drawing import Series, draw_curves, finish, legend, panels, ticks_at
from winnow.experiments.experiment import Claim, Experiment, Reproduced, Run
from winnow.experiments.fast_mwem_figures import figure_2, table_1
from winnow.experiments.lp_figures import EXPERIMENTS as LINEAR_PROGRAMS
from winnow.experiments.mwem_runs import (
    CELLS,
    DELTA,
    EPSILON,
    ROWS,
    SOURCE,
    Instance,
    mwem,
    plan_for,
    scan_seconds,
    signed_scores,
    synthetic,
)
from winnow.release.kernels.distribution import Distribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NAMES = {
    "lazy": "Winnow, exact lazy",
    "scan": "MWEM, full scan",
    "hnsw": "HNSW",
    "ivf": "IVF",
    "uniform": "queries at random",
}
LABELS = tuple(NAMES.values())


def indices() -> tuple[str, ...]:
    """The approximate indices that are installed."""
    return ("hnsw", "ivf") if importlib.util.find_spec("faiss") else ()


def no_index() -> tuple[str, ...]:
    """The note for runs without them."""
    return () if indices() else ("no HNSW and IVF: the extra 'faiss' is not installed",)


def signal(instance: Instance, rounds: int) -> float:
    """By how many nats the best query leads a query without error in the first round."""
    epsilon = float(plan_for(rounds).selection_epsilon)
    scores = signed_scores(instance, Distribution(instance.workload, instance.rows), epsilon)
    return float(scores.max())


def figure_1(run: Run) -> Reproduced:
    """Errors of MWEM and Fast-MWEM, and the time of a selection."""
    rounds = run.pick(1000, 20_000)
    sizes = (200, 500, 1000)
    marks = [int(t) for t in np.unique(np.geomspace(rounds / 50, rounds, 14).astype(int))]
    rows: list[dict[str, Any]] = []
    draws = run.pick(1, 5)  # one run of many rounds is as likely .02 above as below another
    for m in sizes:
        instance = synthetic(m, ROWS, run.seed)
        found = {}
        for arm in ("lazy", "scan"):
            run.progress(f"FastMWEM: {NAMES[arm]}, m = {m}, {rounds:,} rounds")
            traces = [mwem(instance, rounds, arm, run.seed + s, marks) for s in range(draws)]
            found[arm] = np.mean([trace.largest for trace in traces], axis=0).tolist()
        rows.append({"panel": "a", "m": m, "rounds": marks, **found})
    shorter = run.pick(300, 20_000)
    places = [int(t) for t in np.unique(np.geomspace(shorter / 30, shorter, 12).astype(int))]
    instance = synthetic(1000, ROWS, run.seed)
    for arm in ("lazy", "scan", *indices(), "uniform"):
        run.progress(f"FastMWEM: {NAMES[arm]}, {shorter:,} rounds")
        traces = [mwem(instance, shorter, arm, run.seed + s, places) for s in range(3)]
        mean = np.mean([trace.largest for trace in traces], axis=0)
        rows.append({"panel": "b", "arm": arm, "rounds": places, "largest": mean.tolist()})
    rows += _growth(run)
    differences = [abs(a - b) for r in rows if r["panel"] == "a"
                   for a, b in zip(r["lazy"], r["scan"], strict=True)]  # fmt: skip
    last = {r["arm"]: r["largest"][-1] for r in rows if r["panel"] == "b"}
    first = {r["arm"]: r["largest"][0] for r in rows if r["panel"] == "b"}
    slopes = _slopes(rows)
    claims = [
        Claim(
            "the error difference between lazy and scanned MWEM is near zero (at most "
            f"{max(differences):.3g})",
            max(differences) < 0.03,
        ),
        Claim(f"the error falls with the rounds ({first['lazy']:.3g} to {last['lazy']:.3g})",
              last["lazy"] < first["lazy"]),
        Claim(f"the scan's time grows linearly in m (exponent {slopes['scan']:.2f})",
              0.7 < slopes["scan"] < 1.4),
        Claim(f"the lazy selection's grows sublinearly (exponent {slopes['lazy']:.2f})",
              slopes["lazy"] < 0.9),
    ]  # fmt: skip
    if indices():
        claims += _index_claims(rows, last, slopes)
    nats = signal(synthetic(1000, ROWS, run.seed), rounds)
    notes = [
        f"the regime carries little signal: n = {ROWS}, T = {rounds:,} leave the best query "
        f"{nats:.2g} nats ahead, and picking queries at random ends at {last['uniform']:.3g} "
        f"against {last['lazy']:.3g}",
        "T is from the paper, whose formula should have ln |X| for ln m (errata)",
        *no_index(),
    ]
    if run.quick:
        notes.append(f"T = {rounds:,} instead of 20,000, and smaller m in (c)")
    if indices():
        notes.append(_index_note(rows))
    parameters = {"epsilon": EPSILON, "delta": DELTA, "cells": CELLS, "n": ROWS, "T": rounds,
                  "T_of_b": shorter, "draws_of_a": draws, "seed": run.seed}  # fmt: skip
    return Reproduced(
        parameters, rows, SOURCE, tuple(claims), tuple(notes), lambda: _draw_1(rows, sizes)
    )


def _index_claims(
    rows: list[dict[str, Any]], last: dict[str, float], slopes: dict[str, float]
) -> list[Claim]:
    """What Section 5.1 says of HNSW and IVF."""
    spread = max(abs(last[a] - last["lazy"]) for a in indices())
    took = {(r["arm"], r["m"]): 1e3 * r["seconds"] for r in rows if r["panel"] == "c"}
    m = max(size for arm, size in took if arm == "hnsw")
    grows = " and ".join(f"{slopes[a]:.2f}" for a in indices())
    return [
        Claim(f"all indices have a similar error (within {spread:.3g})", spread < 0.05),
        Claim(f"HNSW and IVF grow sublinearly (exponents {grows})",
              max(slopes[a] for a in indices()) < 0.9),
        Claim(f"HNSW is faster than IVF and the scan (m = {m:,}: {took['hnsw', m]:.3g}, "
              f"{took['ivf', m]:.3g} and {took['scan', m]:.3g} ms; the exact lazy selection takes "
              f"{took['lazy', m]:.2g} ms)",
              took["hnsw", m] < min(took["ivf", m], took["scan", m])),
    ]  # fmt: skip


def _index_note(rows: list[dict[str, Any]]) -> str:
    """How far the indices went, and why they are slower there if they are."""
    took = {(r["arm"], r["m"]): r["seconds"] for r in rows if r["panel"] == "c"}
    m = max(size for arm, size in took if arm == "hnsw")
    why = (
        f", where searching vectors of {CELLS:,} entries and scoring the tail outweigh a scan"
        if took["hnsw", m] > took["scan", m]
        else ""
    )
    return f"HNSW and IVF are built for m up to {m:,} only{why}"


def _growth(run: Run) -> list[dict[str, Any]]:
    """Seconds per selection for growing numbers of queries."""
    rows: list[dict[str, Any]] = []
    for m in run.pick((1000, 3000, 10_000, 30_000), (10_000, 20_000, 50_000, 100_000)):
        instance = synthetic(m, ROWS, run.seed)
        arms = ("lazy", *(indices() if m <= run.pick(3000, 20_000) else ()))
        for arm in arms:
            run.progress(f"FastMWEM: time of {NAMES[arm]}, m = {m:,}")
            mwem(instance, 2, arm, run.seed)  # kernels and index are made before the clock starts
            took = mwem(instance, run.pick(50, 100), arm, run.seed).select_seconds
            rows.append({"panel": "c", "arm": arm, "m": m, "seconds": took})
        run.progress(f"FastMWEM: time of a scan, m = {m:,}")
        rows.append({"panel": "c", "arm": "scan", "m": m, "seconds": scan_seconds(instance)})
    return rows


def _slopes(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The exponent of m in the time of each arm."""
    found = {}
    for arm in NAMES:
        mine = [(r["m"], r["seconds"]) for r in rows if r["panel"] == "c" and r["arm"] == arm]
        if len(mine) > 1:
            (m0, t0), (m1, t1) = mine[0], mine[-1]
            found[arm] = math.log(t1 / t0) / math.log(m1 / m0)
    return found


def _draw_1(rows: list[dict[str, Any]], sizes: tuple[int, ...]) -> Figure:
    figure, (a, b, c) = panels(1, 3, height=4.4, width=4.9,
                               title="FastMWEM, Figure 1: generated queries, |X| = 3,000, "
                               "n = 500, ε = 1, δ = 1e-3")  # fmt: skip
    names = tuple(f"m = {m:,}" for m in sizes)
    curves = {}
    for row, name in zip((r for r in rows if r["panel"] == "a"), names, strict=True):
        curves[name] = Series(row["rounds"], np.subtract(row["lazy"], row["scan"]))
    draw_curves(a, curves, names)
    a.legend(frameon=False, fontsize=11, handlelength=3.5)
    finish(a, title="(a) lazy minus scan", xscale="log", xlabel="rounds (log scale)",
           ylabel="difference of largest errors", ylim=(-0.1, 0.1))  # fmt: skip
    curves = {NAMES[r["arm"]]: Series(r["rounds"], r["largest"]) for r in rows if r["panel"] == "b"}
    draw_curves(b, curves, LABELS)
    finish(b, title="(b) error, m = 1,000", xscale="log", xlabel="rounds (log scale)",
           ylabel="largest error (fraction)", ylim=(0, None))  # fmt: skip
    timed = [r for r in rows if r["panel"] == "c"]
    for arm in dict.fromkeys(r["arm"] for r in timed):
        mine = [(r["m"], 1e3 * r["seconds"]) for r in timed if r["arm"] == arm]
        draw_curves(c, {NAMES[arm]: Series(*zip(*mine, strict=True))}, LABELS)
    finish(c, title="(c) one selection", xscale="log", yscale="log",
           xlabel="queries m (log scale)", ylabel="milliseconds (log scale)")  # fmt: skip
    ticks_at(c, sorted({r["m"] for r in timed}))
    legend(figure, (b, c), 3)
    return figure


def figure_3(run: Run) -> Reproduced:
    """The final error against the number of rows, with T = n^2 rounds."""
    sizes = run.pick((10, 20, 30, 45), (10, 20, 35, 50, 75, 100, 150))
    seeds = run.pick(3, 5)
    rows: list[dict[str, Any]] = []
    for n in sizes:
        for arm in ("lazy", "scan"):
            run.progress(f"FastMWEM: {NAMES[arm]}, n = {n}, {n * n:,} rounds")
            errors = [mwem(synthetic(100, n, s), n * n, arm, s).largest[-1] for s in range(seeds)]
            rows.append({"n": n, "arm": arm, "largest": errors})
    mean = {(r["n"], r["arm"]): float(np.mean(r["largest"])) for r in rows}
    apart = max(abs(mean[n, "lazy"] - mean[n, "scan"]) for n in sizes)
    low, high = mean[sizes[0], "lazy"], mean[sizes[-1], "lazy"]
    claims = (
        Claim(f"more rows give a smaller error ({low:.3g} at n = {sizes[0]}, {high:.3g} at "
              f"n = {sizes[-1]})", high < low),
        Claim(f"both behave alike (means differ by at most {apart:.3g})", apart < 0.05),
    )  # fmt: skip
    notes = (
        "with T = n^2 the budget of a round shrinks as fast as n grows, so the selection stays "
        "near uniform; what helps is the number of rounds",
    )

    def draw() -> Figure:
        figure, (axis,) = panels(1, 1, width=8, height=4.6,
                                 title="FastMWEM, Figure 3: error, m = 100, T = n²")  # fmt: skip
        for arm in ("lazy", "scan"):
            spread = np.array([r["largest"] for r in rows if r["arm"] == arm])
            curve = Series(sizes, spread.mean(axis=1), spread.min(axis=1), spread.max(axis=1))
            draw_curves(axis, {NAMES[arm]: curve}, LABELS)
        finish(axis, xlabel="rows n", ylabel="largest error (fraction)", ylim=(0, None))
        legend(figure, [axis])
        return figure

    parameters = {"epsilon": EPSILON, "delta": DELTA, "m": 100, "cells": CELLS, "seeds": seeds}
    return Reproduced(parameters, rows, SOURCE, claims, notes, draw)


EXPERIMENTS = (
    Experiment("1", "Error and time on generated queries", figure_1, (20, 800)),
    Experiment("2", "The margin B and the further samples C", figure_2, (4, 35)),
    Experiment("3", "Final error against the number of rows", figure_3, (4, 40)),
    *LINEAR_PROGRAMS,
    Experiment("table1", "ADULT: speed-up and errors", table_1, (14, 50)),
)
