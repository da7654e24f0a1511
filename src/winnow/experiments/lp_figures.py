"""FastMWEM, Figures 4 to 6: scalar-private linear programs."""

from __future__ import annotations

import importlib.util
import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.experiments.drawing import Series, bound, draw_curves, finish, legend, panels, ticks_at
from winnow.experiments.experiment import Claim, Experiment, Reproduced, Run
from winnow.experiments.lp_runs import ALPHA, COLUMNS, program, solve
from winnow.experiments.mwem_runs import DELTA, EPSILON

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SOURCE = "generated as in Section 5.3"
SENSITIVITY = 0.1
LOW = 1e-5
"""A sensitivity at which a budget of 1 carries a signal."""
NAMES = {
    "lazy": "Winnow, exact lazy",
    "scan": "MWEM, full scan",
    "hnsw": "HNSW",
    "ivf": "IVF",
    "uniform": "uniform point, no data",
}
LABELS = tuple(NAMES.values())
_MOST_SCANNED = 300_000
"""Rows up to which a full scan is run to the end in a whole run."""


def _arms(m: int, most: int) -> tuple[str, ...]:
    """The arms of a size; indices take too long to build beyond `most` rows."""
    installed = importlib.util.find_spec("faiss") is not None and m <= most
    return ("lazy", "scan", *(("hnsw", "ivf") if installed else ()))


def _rows(run: Run) -> list[dict[str, Any]]:
    """All sizes and arms at the sensitivity of the paper; shared by Figures 4 and 5."""
    sizes = run.pick((3000, 10_000, 30_000, 100_000), (100_000, 300_000, 700_000, 1_500_000))
    rounds, seeds = run.pick(200, 5000), run.pick(3, 1)
    rows: list[dict[str, Any]] = []
    for m in sizes:
        given = program(m, run.seed)
        for arm in _arms(m, run.pick(30_000, 300_000)):
            run.progress(f"FastMWEM: linear program, {NAMES[arm]}, m = {m:,}")
            solve(given, arm, 2, SENSITIVITY, 0)  # kernels and index are made before the clock
            whole = arm != "scan" or m <= _MOST_SCANNED
            took = rounds if whole else min(rounds, 100)
            done = [solve(given, arm, took, SENSITIVITY, run.seed + s) for s in range(seeds)]
            off = [given.violations(each.x) for each in done]
            row: dict[str, Any] = {
                "m": m, "arm": arm, "rounds": took, "prepare_seconds": done[0].prepare_seconds,
                "round_seconds": min(each.seconds for each in done) / took,
            }  # fmt: skip
            if whole:
                row |= {"violated": float(np.mean([(o > ALPHA).mean() for o in off])),
                        "largest": float(np.mean([o.max() for o in off])),
                        "promise": done[0].plan.violation}  # fmt: skip
            rows.append(row)
        blind = given.violations(np.full(COLUMNS, 1 / COLUMNS))
        rows.append({"m": m, "arm": "uniform", "violated": float((blind > ALPHA).mean()),
                     "largest": float(blind.max())})  # fmt: skip
    return rows


def _parameters(run: Run, **more: Any) -> dict[str, Any]:
    return {"epsilon": EPSILON, "delta": DELTA, "d": COLUMNS, "sensitivity": SENSITIVITY,
            "alpha": ALPHA, "seed": run.seed, **more}  # fmt: skip


def _pattern(rows: list[dict[str, Any]], arm: str, what: str) -> list[tuple[int, float]]:
    return [(r["m"], r[what]) for r in rows if r["arm"] == arm and what in r]


def _exponent(points: list[tuple[int, float]]) -> float:
    (m0, t0), (m1, t1) = points[0], points[-1]
    return math.log(t1 / t0) / math.log(m1 / m0)


def _notes(run: Run, rows: list[dict[str, Any]]) -> tuple[str, ...]:
    last, blind = ([r for r in rows if r["arm"] == arm][-1] for arm in ("lazy", "uniform"))
    notes = [
        f"the regime carries little signal: the promise is a violation of {last['promise']:.0f}, "
        f"and at m = {last['m']:,} the uniform point, which knows no data, violates "
        f"{blind['violated']:.2%} of the rows where the solver violates {last['violated']:.2%}",
        "scores are signed and the index, which depends on the private b, counts as private "
        "(errata)",
    ]
    if not any(r["arm"] == "hnsw" for r in rows):
        notes.append("no HNSW and IVF: the extra 'faiss' is not installed")
    else:
        notes.append("HNSW and IVF are built for the smaller m only")
    if run.quick:
        notes.append("m up to 100,000 and 200 rounds, three runs each, instead of 1,500,000 and "
                     "5,000")  # fmt: skip
    else:
        notes.append(f"beyond m = {_MOST_SCANNED:,} the scan is timed over 100 rounds, not run")
    return tuple(notes)


def _index_claims(rows: list[dict[str, Any]]) -> list[Claim]:
    """What Section 5.3 says of HNSW and IVF, at the largest m that they were built for."""
    took = {arm: _pattern(rows, arm, "round_seconds") for arm in ("scan", "hnsw", "ivf")}
    if not took["hnsw"]:
        return []
    m, hnsw = took["hnsw"][-1]
    scan, ivf = dict(took["scan"])[m], took["ivf"][-1][1]
    said = f"m = {m:,}: {1e3 * hnsw:.3g}, {1e3 * ivf:.3g} and {1e3 * scan:.3g} ms for a round"
    return [
        Claim(f"HNSW vastly outperforms the scan (HNSW, IVF, scan at {said})", 2 * hnsw < scan),
        Claim("IVF gives no significant speed-up", ivf > 0.5 * scan),
    ]


def figure_4(run: Run) -> Reproduced:
    """Violated constraints and time against the number of rows."""
    rows = run.once("lp", lambda: _rows(run))
    lazy, scan = (dict(_pattern(rows, arm, "violated")) for arm in ("lazy", "scan"))
    apart = max(abs(lazy[m] - share) for m, share in scan.items())
    times = {arm: _pattern(rows, arm, "round_seconds") for arm in ("lazy", "scan")}
    ratio = times["scan"][-1][1] / times["lazy"][-1][1]
    claims = (
        Claim(f"the share of violated rows is that of MWEM (within {apart:.2%} of the rows)",
              apart < 0.02),
        Claim(f"selection is faster than a scan ({ratio:,.0f} times at m = "
              f"{times['scan'][-1][0]:,})", ratio > 1),
        Claim(f"its time grows sublinearly in m (exponent {_exponent(times['lazy']):.2f}, scan "
              f"{_exponent(times['scan']):.2f})", _exponent(times["lazy"]) < 0.9),
        *_index_claims(rows),
    )  # fmt: skip

    def draw() -> Figure:
        figure, (left, right) = panels(
            1, 2, width=5.6, height=4.4,
            title=f"FastMWEM, Figure 4: linear programs, d = {COLUMNS}, Δ∞ = {SENSITIVITY:g}, "
            f"α = {ALPHA:g}",
        )  # fmt: skip
        for arm, name in NAMES.items():
            points = _pattern(rows, arm, "violated")
            if points:
                x, y = zip(*points, strict=True)
                draw_curves(left, {name: Series(x, 100 * np.array(y))}, LABELS)
            timed = _pattern(rows, arm, "round_seconds")
            if timed:
                x, y = zip(*timed, strict=True)
                draw_curves(right, {name: Series(x, 1e3 * np.array(y))}, LABELS)
        finish(left, title="(a) rows violated by more than α", xscale="log",
               xlabel="rows m (log scale)", ylabel="rows (%)", ylim=(0, None))  # fmt: skip
        finish(right, title="(b) one round", xscale="log", yscale="log",
               xlabel="rows m (log scale)", ylabel="milliseconds (log scale)")  # fmt: skip
        legend(figure, (left, right), 3)
        return figure

    return Reproduced(_parameters(run), rows, SOURCE, claims, _notes(run, rows), draw)


def figure_5(run: Run) -> Reproduced:
    """The time for all rounds, with the making of the index."""
    rows = run.once("lp", lambda: _rows(run))
    rounds = max(r["rounds"] for r in rows if "rounds" in r)
    whole = {
        arm: [(r["m"], r["prepare_seconds"] + rounds * r["round_seconds"])
              for r in rows if r["arm"] == arm]
        for arm in ("lazy", "scan", "hnsw", "ivf")
    }  # fmt: skip
    lazy, scan = whole["lazy"][-1], whole["scan"][-1]
    claims = [
        Claim(f"the lazy solver outperforms the scan at the largest m ({lazy[1]:.3g} s and "
              f"{scan[1]:.3g} s for {rounds:,} rounds)", lazy[1] < scan[1]),
    ]  # fmt: skip
    if whole["hnsw"]:
        hnsw, flat = whole["hnsw"][-1], dict(whole["scan"])[whole["hnsw"][-1][0]]
        claims.append(Claim(f"HNSW outperforms the scan, its making included (m = {hnsw[0]:,}: "
                            f"{hnsw[1]:.3g} s and {flat:.3g} s)", hnsw[1] < flat))  # fmt: skip

    def draw() -> Figure:
        figure, (axis,) = panels(1, 1, width=8.4, height=4.8,
                                 title=f"FastMWEM, Figure 5: {rounds:,} rounds, index "
                                 f"included, d = {COLUMNS}")  # fmt: skip
        for arm, points in whole.items():
            if points:
                x, y = zip(*points, strict=True)
                draw_curves(axis, {NAMES[arm]: Series(x, y)}, LABELS)
        finish(axis, xscale="log", yscale="log", xlabel="rows m (log scale)",
               ylabel="time of a solve (seconds, log scale)")  # fmt: skip
        legend(figure, [axis], 2)
        return figure

    parameters = _parameters(run, rounds=rounds)
    return Reproduced(parameters, rows, SOURCE, tuple(claims), _notes(run, rows), draw)


def figure_6(run: Run) -> Reproduced:
    """The largest violation against the number of rounds, with little and with much signal."""
    m = run.pick(3000, 100_000)
    lengths = run.pick((30, 100, 300), (30, 100, 300, 1000, 3000))
    given = program(m, run.seed)
    uniform = float(given.violations(np.full(COLUMNS, 1 / COLUMNS)).max())
    rows: list[dict[str, Any]] = []
    for sensitivity in (SENSITIVITY, LOW):
        for arm in _arms(m, 100_000):
            for rounds in lengths:
                run.progress(f"FastMWEM: linear program, {NAMES[arm]}, {rounds:,} rounds")
                done = solve(given, arm, rounds, sensitivity, run.seed)
                off = given.violations(done.x)
                rows.append({"sensitivity": sensitivity, "arm": arm, "rounds": rounds,
                             "largest": float(off.max()), "violated": float((off > ALPHA).mean()),
                             "error": float(np.maximum(off, 0).mean()),
                             "promise": done.plan.violation})  # fmt: skip
    end = {(r["sensitivity"], r["arm"]): r["largest"] for r in rows if r["rounds"] == lengths[-1]}
    claims = []
    for s in (SENSITIVITY, LOW):
        others = {NAMES[arm]: end[s, arm] for arm in NAMES if arm != "scan" and (s, arm) in end}
        said = ", ".join(f"{name} {value:.3g}" for name, value in others.items())
        apart = max(abs(value - end[s, "scan"]) for value in others.values())
        limit = 0.25 if s == SENSITIVITY else 0.03
        claims.append(Claim(f"at Δ∞ = {s:g} all do almost the same as the scan (largest violation "
                            f"{end[s, 'scan']:.3g}; {said})", apart < limit))  # fmt: skip
    notes = (
        f"the regime of the paper carries little signal: the uniform point, which knows no data, "
        f"has a largest violation of {uniform:.3g}, the solver ends at "
        f"{end[SENSITIVITY, 'lazy']:.3g}",
        f"Δ∞ = {LOW:g} is drawn as well, where a budget of 1 carries a signal",
    )

    def draw() -> Figure:
        figure, axes = panels(2, 2, width=5.6, height=3.4,
                              title=f"FastMWEM, Figure 6: violations, m = {m:,}, "
                              f"d = {COLUMNS}")  # fmt: skip
        blind = given.violations(np.full(COLUMNS, 1 / COLUMNS))
        flat = {"error": float(np.maximum(blind, 0).mean()), "largest": uniform}
        for place, (axis, (what, sensitivity)) in enumerate(
            zip(axes, product(("error", "largest"), (SENSITIVITY, LOW)), strict=True)
        ):
            for arm in NAMES:
                mine = [r for r in rows if (r["sensitivity"], r["arm"]) == (sensitivity, arm)]
                if mine:
                    curve = Series([r["rounds"] for r in mine], [r[what] for r in mine])
                    draw_curves(axis, {NAMES[arm]: curve}, LABELS)
            bound(axis, [lengths[0], lengths[-1]], [flat[what]] * 2, NAMES["uniform"], 1)
            finish(axis, xscale="log", ylim=(0, None))
            ticks_at(axis, lengths)
            if place < 2:
                axis.set_title(f"Δ∞ = {sensitivity:g}")
            else:
                axis.set_xlabel("rounds T (log scale)")
        axes[0].set_ylabel("mean of (A x − b)₊")
        axes[2].set_ylabel("largest A x − b")
        legend(figure, axes, 3)
        return figure

    parameters = _parameters(run, m=m, second_sensitivity=LOW)
    return Reproduced(parameters, rows, SOURCE, tuple(claims), notes, draw)


EXPERIMENTS = (
    Experiment("4", "Linear programs: violated rows and time", figure_4, (16, 400)),
    Experiment("5", "Linear programs: time with the index", figure_5, (1, 2), "4"),
    Experiment("6", "Linear programs: largest violation against rounds", figure_6, (4, 70)),
)
