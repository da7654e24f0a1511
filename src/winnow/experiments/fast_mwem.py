"""FastMWEM, Figures 1 and 3, and all of its experiments in a list."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.experiments.boosting import BOOSTING
from winnow.experiments.drawing import Series, draw_curves, finish, legend, panels, ticks_at
from winnow.experiments.experiment import (
    Claim,
    Experiment,
    ExperimentRun,
    Findings,
    Judged,
    Rows,
    exponent,
)
from winnow.experiments.fast_mwem_figures import FIGURE_2, TABLE_1
from winnow.experiments.lp_figures import EXPERIMENTS as LINEAR_PROGRAMS
from winnow.experiments.lp_figures import SEARCHES
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
from winnow.release.rounds.kernels.distribution import Distribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NAMES = SEARCHES | {"uniform": "queries at random"}
LABELS = tuple(NAMES.values())
_ALIKE = 0.15
"""Two errors are alike that differ by at most this part of the smaller one."""


def indices() -> tuple[str, ...]:
    """The approximate indices that are installed."""
    return ("hnsw", "ivf") if importlib.util.find_spec("faiss") else ()


def signal(instance: Instance, rounds: int) -> float:
    """By how many nats the best query leads a query without error in the first round."""
    epsilon = float(plan_for(rounds).selection_epsilon)
    scores = signed_scores(instance, Distribution(instance.workload, instance.rows), epsilon)
    return float(scores.max())


def _errors(
    instance: Callable[[], Instance], rounds: int, arm: str, seed: int, marks: list[int]
) -> list[float]:
    """The largest errors of one run after some rounds."""
    return mwem(instance(), rounds, arm, seed, marks).largest


def measure_1(run: ExperimentRun) -> Findings:
    """Errors of MWEM and Fast-MWEM, and the time of a selection."""
    rounds, draws = run.pick(1000, 20_000), run.pick(1, 3)
    marks = [int(t) for t in np.unique(np.geomspace(rounds / 50, rounds, 14).astype(int))]
    rows: Rows = []
    for m in (200, 500, 1000):
        instance = cache(partial(synthetic, m, ROWS, run.seed))
        arms = ("scan", "flat", "lazy", *((*indices(), "uniform") if m == 1000 else ()))
        for arm in arms:
            run.progress(f"FastMWEM: {NAMES[arm]}, m = {m}, {rounds:,} rounds")
            errors = [
                run.piece(
                    ("errors", m, arm, seed), partial(_errors, instance, rounds, arm, seed, marks)
                )
                for seed in range(run.seed, run.seed + draws)
            ]
            rows.append({"panel": "error", "m": m, "arm": arm, "rounds": marks,
                         "largest": np.mean(errors, axis=0).tolist()})  # fmt: skip
    rows += _growth(run)
    parameters = {
        "epsilon": EPSILON, "delta": DELTA, "cells": CELLS, "n": ROWS, "T": rounds,
        "draws": draws, "seed": run.seed,
        "signal_in_nats": signal(synthetic(1000, ROWS, run.seed), rounds),
    }  # fmt: skip
    return Findings(parameters, rows, SOURCE)


def _growth(run: ExperimentRun) -> Rows:
    """Seconds per selection for growing numbers of queries."""
    rows: Rows = []
    for m in run.pick((1000, 2000, 5000), (10_000, 20_000, 50_000, 100_000)):
        instance = cache(partial(synthetic, m, ROWS, run.seed))
        for arm in ("lazy", "flat", *indices(), "scan"):
            run.progress(f"FastMWEM: time of {NAMES[arm]}, m = {m:,}")
            timed = partial(_timed, run, instance, arm)
            rows.append({"panel": "time", "arm": arm, "m": m, **run.piece(("time", m, arm), timed)})
    return rows


def _timed(run: ExperimentRun, instance: Callable[[], Instance], arm: str) -> dict[str, float]:
    """Seconds per selection of an arm, and those for its index."""
    made = instance()
    if arm == "scan":
        return {"seconds": scan_seconds(made)}
    mwem(made, 2, arm, run.seed)  # kernels and index are made before the clock starts
    took = mwem(made, run.pick(30, 60), arm, run.seed).select_seconds
    built = made.build_seconds.get(arm, 0.0)
    made.forget(arm)
    return {"seconds": took, "build_seconds": built}


def judge_1(measured: Findings) -> Judged:
    """What Section 5.1 says."""
    rows = measured.results
    errors = {(r["m"], r["arm"]): np.array(r["largest"]) for r in rows if r["panel"] == "error"}
    scanned = {m: e for (m, arm), e in errors.items() if arm == "scan"}
    apart = {
        arm: max(float((np.abs(errors[m, arm] - e) / e).max()) for m, e in scanned.items())
        for arm in ("flat", "lazy")
    }
    last = {arm: e for (m, arm), e in errors.items() if m == 1000}
    ends = {arm: float(e[-1]) for arm, e in last.items()}
    took = {(r["arm"], r["m"]): r["seconds"] for r in rows if r["panel"] == "time"}
    sizes = sorted({m for _, m in took})
    power = {arm: exponent([(m, took[arm, m]) for m in sizes if (arm, m) in took])
             for arm in dict.fromkeys(arm for arm, _ in took)}  # fmt: skip
    claims = [
        Claim(
            f"the error of Fast-MWEM (flat) is near that of MWEM at all rounds drawn (apart by "
            f"at most {apart['flat']:.1%} of it; ours, exact lazy, by {apart['lazy']:.1%})",
            apart["flat"] < _ALIKE,
        ),
        Claim(
            "the error falls as T grows, for all indices ("
            + ", ".join(f"{NAMES[a]} {last[a][0]:.3g} to {ends[a]:.3g}" for a in _drawn(last))
            + ")",
            all(ends[arm] < 0.9 * last[arm][0] for arm in _drawn(last)),
        ),
        Claim(f"the flat index's time grows nearly linearly in m (exponent {power['flat']:.2f})",
              0.8 < power["flat"] < 1.2),
    ]  # fmt: skip
    if ("hnsw", sizes[0]) in took:
        claims += _index_claims(ends, took, power)
    return Judged(tuple(claims), _notes_1(measured, ends, took, power))


def _drawn(last: dict[str, Any]) -> list[str]:
    """The arms of the paper that were run."""
    return [arm for arm in ("flat", "hnsw", "ivf") if arm in last]


def _index_claims(
    ends: dict[str, float], took: dict[tuple[str, int], float], power: dict[str, float]
) -> list[Claim]:
    """What Section 5.1 says of HNSW and IVF."""
    spread = max(abs(ends[arm] / ends["flat"] - 1) for arm in ("hnsw", "ivf"))
    sizes = sorted(m for arm, m in took if arm == "hnsw")
    m = sizes[-1]
    said = ", ".join(f"{1e3 * took[arm, m]:.3g}" for arm in ("hnsw", "ivf", "flat", "scan"))
    first = all(
        took["hnsw", size] < min(took[arm, size] for arm in ("ivf", "flat")) for size in sizes
    )
    return [
        Claim(f"all indices have a similar error as the flat one (within {spread:.1%} of it)",
              spread < _ALIKE),
        Claim(f"IVF and HNSW scale sublinearly (exponents {power['ivf']:.2f} and "
              f"{power['hnsw']:.2f})", max(power["ivf"], power["hnsw"]) < 0.8),
        Claim(f"HNSW matches the O(√m) of the theory (exponent {power['hnsw']:.2f}, .5 ± .15)",
              abs(power["hnsw"] - 0.5) <= 0.15),
        Claim(f"HNSW is the fastest at every m from {sizes[0]:,} on (at m = {m:,} HNSW, IVF, flat "
              f"and a plain scan take {said} ms)", first),
    ]  # fmt: skip


def _notes_1(
    measured: Findings, ends: dict[str, float], took: dict[tuple[str, int], float],
    power: dict[str, float],
) -> tuple[str, ...]:  # fmt: skip
    given = measured.parameters
    m = max(size for _, size in took)
    notes = [
        f"ours, the exact lazy selection, takes {1e3 * took['lazy', m]:.2g} ms at m = {m:,} "
        f"(exponent {power['lazy']:.2f})",
        f"the regime carries little signal: n = {given['n']}, T = {given['T']:,} leave the best "
        f"query {given['signal_in_nats']:.2g} nats ahead, and picking queries at random ends at "
        f"{ends['uniform']:.3g} against {ends['flat']:.3g}",
        "T is from the paper, whose formula should have ln |X| for ln m (errata)",
    ]
    built = {(r["arm"], r["m"]): r["build_seconds"] for r in measured.results
             if r.get("build_seconds")}  # fmt: skip
    if ("hnsw", m) in built:
        notes.append(f"the making of HNSW and IVF, {built['hnsw', m]:.3g} and "
                     f"{built['ivf', m]:.3g} s at m = {m:,}, is not in these times")  # fmt: skip
    elif "hnsw" not in ends:
        notes.append("no HNSW and IVF: the extra 'faiss' is not installed")
    return tuple(notes)


def draw_1(measured: Findings) -> Figure:
    """Differences, errors and times, as the paper has them."""
    rows = measured.results
    figure, (a, b, c) = panels(1, 3, height=4.4, width=4.9,
                               title="FastMWEM, Figure 1: generated queries, |X| = 3,000, "
                               "n = 500, ε = 1, δ = 1e-3")  # fmt: skip
    errors = {(r["m"], r["arm"]): r for r in rows if r["panel"] == "error"}
    sizes = sorted({m for m, _ in errors})
    names = tuple(f"m = {m:,}" for m in sizes)
    for m, name in zip(sizes, names, strict=True):
        flat, scan = errors[m, "flat"], errors[m, "scan"]
        curve = Series(flat["rounds"], np.subtract(flat["largest"], scan["largest"]))
        draw_curves(a, {name: curve}, names)
    a.legend(frameon=False, fontsize=11, handlelength=3.5)
    finish(a, title="(a) flat minus scan", xscale="log", xlabel="rounds (log scale)",
           ylabel="difference of largest errors", ylim=(-0.1, 0.1))  # fmt: skip
    curves = {NAMES[arm]: Series(r["rounds"], r["largest"]) for (m, arm), r in errors.items()
              if m == sizes[-1]}  # fmt: skip
    draw_curves(b, curves, LABELS)
    finish(b, title="(b) error, m = 1,000", xscale="log", xlabel="rounds (log scale)",
           ylabel="largest error (fraction)", ylim=(0, None))  # fmt: skip
    timed = [r for r in rows if r["panel"] == "time"]
    for arm in dict.fromkeys(r["arm"] for r in timed):
        mine = [(r["m"], 1e3 * r["seconds"]) for r in timed if r["arm"] == arm]
        draw_curves(c, {NAMES[arm]: Series(*zip(*mine, strict=True))}, LABELS)
    finish(c, title="(c) one selection", xscale="log", yscale="log",
           xlabel="queries m (log scale)", ylabel="milliseconds (log scale)")  # fmt: skip
    ticks_at(c, sorted({r["m"] for r in timed}))
    legend(figure, (b, c), 3)
    return figure


_ARMS_3 = ("flat", "lazy", "scan")


def measure_3(run: ExperimentRun) -> Findings:
    """The final error against the number of rows, with T = n^2 rounds."""
    sizes = run.pick((10, 20, 30, 45), (10, 20, 35, 50, 75, 100, 150))
    seeds = run.pick(3, 5)
    rows: Rows = []
    for n in sizes:
        for arm in _ARMS_3:
            run.progress(f"FastMWEM: {NAMES[arm]}, n = {n}, {n * n:,} rounds")
            errors = [mwem(synthetic(100, n, s), n * n, arm, s).largest[-1] for s in range(seeds)]
            rows.append({"n": n, "arm": arm, "largest": errors})
    parameters = {"epsilon": EPSILON, "delta": DELTA, "m": 100, "cells": CELLS, "seeds": seeds}
    return Findings(parameters, rows, SOURCE)


def judge_3(measured: Findings) -> Judged:
    """What Appendix K.2 says."""
    rows = measured.results
    mean = {(r["n"], r["arm"]): float(np.mean(r["largest"])) for r in rows}
    sizes = sorted({n for n, _ in mean})
    apart = {arm: max(abs(mean[n, arm] / mean[n, "scan"] - 1) for n in sizes)
             for arm in ("flat", "lazy")}  # fmt: skip
    falls = {arm: exponent([(n, mean[n, arm]) for n in sizes]) for arm in _ARMS_3}
    claims = (
        Claim("more rows give a smaller error, with the flat index as with a scan (the error goes "
              f"like n^{falls['flat']:.2f} and n^{falls['scan']:.2f})",
              max(falls["flat"], falls["scan"]) < -0.1),
        Claim(f"both behave very similarly (means differ by at most {apart['flat']:.1%}; ours by "
              f"{apart['lazy']:.1%})", apart["flat"] < _ALIKE),
    )  # fmt: skip
    notes = (
        "with T = n^2 the budget of a round shrinks as fast as n grows, so the selection stays "
        "near uniform; what helps is the number of rounds",
    )
    return Judged(claims, notes)


def draw_3(measured: Findings) -> Figure:
    """The error against n; shaded from the least to the largest seed."""
    figure, (axis,) = panels(1, 1, width=8, height=4.6,
                             title="FastMWEM, Figure 3: error, m = 100, T = n²")  # fmt: skip
    for arm in _ARMS_3:
        mine = [r for r in measured.results if r["arm"] == arm]
        spread = np.array([r["largest"] for r in mine])
        curve = Series([r["n"] for r in mine], spread.mean(axis=1), spread.min(axis=1),
                       spread.max(axis=1))  # fmt: skip
        draw_curves(axis, {NAMES[arm]: curve}, LABELS)
    finish(axis, xlabel="rows n", ylabel="largest error (fraction)", ylim=(0, None))
    legend(figure, [axis], 2)
    return figure


EXPERIMENTS = (
    Experiment("1", "Error and time on generated queries", measure_1, judge_1, draw_1, (30, 1500)),
    FIGURE_2,
    Experiment("3", "Final error against the number of rows", measure_3, judge_3, draw_3, (5, 80)),
    *LINEAR_PROGRAMS,
    TABLE_1,
    BOOSTING,
)
