"""FastMWEM, Figures 4 to 6: scalar-private linear programs."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.experiments.drawing import Series, bound, draw_curves, finish, legend, panels, ticks_at
from winnow.experiments.experiment import (
    Claim,
    Experiment,
    ExperimentRun,
    Findings,
    Judged,
    Rows,
    exponent,
)
from winnow.experiments.lp_runs import ALPHA, COLUMNS, PaperProgram, program, solve
from winnow.experiments.mwem_runs import DELTA, EPSILON

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SOURCE = "generated as in Section 5.3"
SENSITIVITY = 0.1
LOW = 1e-5
"""A sensitivity at which a budget of 1 carries a signal."""
SEARCHES = {
    "scan": "MWEM, full scan",
    "flat": "Fast-MWEM, flat index",
    "hnsw": "HNSW",
    "ivf": "IVF",
    "lazy": "Winnow, exact lazy",
}
"""How a row or a query is found, in the words of the figures."""
NAMES = SEARCHES | {"uniform": "uniform point, no data"}
LABELS = tuple(NAMES.values())
_PAPER_ARMS = ("flat", "hnsw", "ivf")
_MOST_SCANNED = 300_000
"""Rows up to which runs that look at every row go to their end in a whole run."""
_TIMED = 200
"""Rounds over which they are timed beyond it."""


def _arms() -> tuple[str, ...]:
    """The arms; indices where they are installed."""
    installed = importlib.util.find_spec("faiss") is not None
    return ("lazy", "scan", "flat", *(("hnsw", "ivf") if installed else ()))


def _shares(off: Any) -> dict[str, float]:
    """How many rows are violated: by more than alpha, as in the paper, and at all."""
    return {"violated": float((off > ALPHA).mean()), "positive": float((off > 0).mean()),
            "largest": float(off.max())}  # fmt: skip


def _mean(runs: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([each[key] for each in runs])) for key in runs[0]}


def _rows(run: ExperimentRun) -> Rows:
    """All sizes and arms at the sensitivity of the paper; shared by Figures 4 and 5."""
    sizes = run.pick((3000, 10_000, 30_000), (100_000, 300_000, 700_000, 1_500_000))
    rounds, seeds = run.pick(200, 5000), run.pick(3, 1)
    rows: Rows = []
    for m in sizes:
        given = cache(partial(program, m, run.seed))  # made if a part of it is missing
        for arm in _arms():
            run.progress(f"FastMWEM: linear program, {NAMES[arm]}, m = {m:,}")
            to_the_end = arm not in ("scan", "flat") or m <= _MOST_SCANNED
            took = rounds if to_the_end else min(rounds, _TIMED)
            asked = partial(_row, given, arm, took, [run.seed + s for s in range(seeds)])
            rows.append(run.piece(("lp", m, arm), partial(asked, to_the_end=to_the_end)))
        rows.append(run.piece(("lp", m, "uniform"), partial(_blind_row, given)))
    return rows


def _row(
    given: Callable[[], PaperProgram], arm: str, rounds: int, seeds: list[int], *, to_the_end: bool
) -> dict[str, Any]:
    """Times of an arm, and what it violates if all rounds were run."""
    instance = given()
    solve(instance, arm, 2, SENSITIVITY, 0)  # kernels and index are made before the clock
    done = [solve(instance, arm, rounds, SENSITIVITY, seed) for seed in seeds]
    row: dict[str, Any] = {
        "m": len(instance.sides), "arm": arm, "rounds": rounds,
        "prepare_seconds": done[0].prepare_seconds,
        "round_seconds": min(each.seconds for each in done) / rounds,
    }  # fmt: skip
    if to_the_end:
        row |= _mean([_shares(instance.violations(each.x)) for each in done])
        row["promise"] = done[0].plan.violation
    instance.forget(arm)
    return row


def _blind_row(given: Callable[[], PaperProgram]) -> dict[str, Any]:
    """What a point violates that knows no data."""
    instance = given()
    off = instance.violations(np.full(COLUMNS, 1 / COLUMNS))
    return {"m": len(instance.sides), "arm": "uniform", **_shares(off)}


def _parameters(run: ExperimentRun, **more: Any) -> dict[str, Any]:
    return {"epsilon": EPSILON, "delta": DELTA, "d": COLUMNS, "sensitivity": SENSITIVITY,
            "alpha": ALPHA, "seed": run.seed, **more}  # fmt: skip


def measure_4(run: ExperimentRun) -> Findings:
    """Violated constraints and time against the number of rows."""
    rows = run.once("lp", lambda: _rows(run))
    return Findings(_parameters(run, T=run.pick(200, 5000)), rows, SOURCE)


def _pattern(rows: Rows, arm: str, what: str) -> dict[int, float]:
    return {r["m"]: r[what] for r in rows if r["arm"] == arm and what in r}


def _in_range(points: dict[int, float]) -> list[int]:
    """The m from 300,000 on, where the paper's begin; all if there is none."""
    return sorted(m for m in points if m >= _MOST_SCANNED) or sorted(points)


def _notes(rows: Rows) -> tuple[str, ...]:
    last, blind = ([r for r in rows if r["arm"] == arm][-1] for arm in ("lazy", "uniform"))
    notes = [
        f"the regime carries little signal: the promise is a violation of {last['promise']:.0f}, "
        f"and at m = {last['m']:,} the uniform point, which knows no data, violates "
        f"{blind['violated']:.2%} of the rows by more than α where the solver violates "
        f"{last['violated']:.2%}",
        "scores are signed and the index, which depends on the private b, counts as private "
        "(errata)",
    ]
    if not any(r["arm"] == "hnsw" for r in rows):
        notes.append("no HNSW and IVF: the extra 'faiss' is not installed")
    short = [r for r in rows if r["arm"] == "scan" and "violated" not in r]
    if short:
        notes.append(f"from m = {short[0]['m']:,} on scan and flat index are timed over "
                     f"{short[0]['rounds']} rounds, not run to the end")  # fmt: skip
    return tuple(notes)


def judge_4(measured: Findings) -> Judged:
    """What Section 5.3 says."""
    rows = measured.results
    took = {arm: _pattern(rows, arm, "round_seconds") for arm in ("scan", "lazy", *_PAPER_ARMS)}
    run = [arm for arm in _PAPER_ARMS if took[arm]]
    apart, tells = {}, math.inf
    sizes_of_paper = _in_range(took["scan"])
    scan = {
        what: {m: s for m, s in _pattern(rows, "scan", what).items() if m in sizes_of_paper}
        or _pattern(rows, "scan", what)
        for what in ("violated", "positive")
    }
    blind = _pattern(rows, "uniform", "positive")
    for what, sizes in scan.items():
        apart[what] = max(abs(_pattern(rows, arm, what)[m] - sizes[m]) for arm in run
                          for m in sizes)  # fmt: skip
    tells = min(abs(blind[m] - share) for m, share in scan["positive"].items())
    claims = [
        Claim(
            "Fast-MWEM tracks MWEM's share of violated rows nearly exactly, with all indices "
            f"(violated by more than α: within {apart['violated']:.2%} of all rows; at all: within "
            f"{apart['positive']:.2%}, where the uniform point is {tells:.2%} away)",
            apart["violated"] <= 0.005 and apart["positive"] <= max(0.01, tells / 4),
        )
    ]
    if took["hnsw"]:
        claims += _index_claims(took)
    m = max(took["lazy"])
    own = exponent(list(took["lazy"].items()))
    note = (f"ours, the exact lazy selection, takes {1e3 * took['lazy'][m]:.3g} ms for a round at "
            f"m = {m:,} (exponent {own:.2f}), the scan {1e3 * took['scan'][m]:.3g} "
            f"({exponent(list(took['scan'].items())):.2f})")  # fmt: skip
    return Judged(tuple(claims), (note, *_notes(rows)))


def _index_claims(took: dict[str, dict[int, float]]) -> list[Claim]:
    """What Section 5.3 says of HNSW and IVF, at the m of the paper."""
    power = exponent(list(took["hnsw"].items()))
    m = max(took["hnsw"])
    said = ", ".join(f"{1e3 * took[arm][m]:.3g}" for arm in _PAPER_ARMS)
    sizes = _in_range(took["hnsw"])
    faster = min(took["flat"][size] / took["hnsw"][size] for size in sizes)
    ivf = max(took["flat"][size] / took["ivf"][size] for size in sizes)
    return [
        Claim(f"HNSW vastly outperforms the flat index, at least twice as fast (at "
              f"least {faster:.2f} times; at m = {m:,} flat, HNSW and IVF take {said} ms for a "
              "round)", faster >= 2),
        Claim(f"its time grows like O(√m) (exponent {power:.2f} over all m, .5 ± .15)",
              abs(power - 0.5) <= 0.15),
        Claim(f"IVF gives no significant speed-up (at most {ivf:.2f} times)", ivf < 1.5),
    ]  # fmt: skip


def draw_4(measured: Findings) -> Figure:
    """Violated rows, and the time of a round."""
    rows = measured.results
    figure, axes = panels(
        1, 3, width=4.9, height=4.4,
        title=f"FastMWEM, Figure 4: linear programs, d = {COLUMNS}, Δ∞ = {SENSITIVITY:g}, "
        f"α = {ALPHA:g}",
    )  # fmt: skip
    for axis, what, scale in zip(
        axes, ("violated", "positive", "round_seconds"), (100, 100, 1e3), strict=True
    ):
        for arm, name in NAMES.items():
            points = _pattern(rows, arm, what)
            if points:
                curve = Series(list(points), scale * np.array(list(points.values())))
                draw_curves(axis, {name: curve}, LABELS)
    left, middle, right = axes
    finish(left, title="(a) violated by more than α", xscale="log", xlabel="rows m (log scale)",
           ylabel="rows (%)", ylim=(0, None))  # fmt: skip
    finish(middle, title="violated at all", xscale="log", xlabel="rows m (log scale)",
           ylabel="rows (%)")  # fmt: skip
    finish(right, title="(b) one round", xscale="log", yscale="log",
           xlabel="rows m (log scale)", ylabel="milliseconds (log scale)")  # fmt: skip
    for axis in axes:
        ticks_at(axis, sorted({r["m"] for r in rows}))
    legend(figure, axes, 3)
    return figure


def _totals(measured: Findings) -> dict[str, dict[int, float]]:
    """Seconds for all rounds and the making of the index, by arm and m."""
    rounds = measured.parameters["T"]
    return {
        arm: {r["m"]: r["prepare_seconds"] + rounds * r["round_seconds"]
              for r in measured.results if r["arm"] == arm}
        for arm in ("scan", "lazy", *_PAPER_ARMS)
    }  # fmt: skip


def judge_5(measured: Findings) -> Judged:
    """What Appendix L says of the whole time."""
    total, rounds = _totals(measured), measured.parameters["T"]
    notes = _notes(measured.results)
    if not total["hnsw"]:
        return Judged((), notes)
    sizes = _in_range(total["hnsw"])
    m = sizes[-1]
    said = ", ".join(f"{total[arm][m]:.3g}" for arm in ("hnsw", "ivf", "flat", "scan"))
    won = [size for size in sizes
           if total["hnsw"][size] < min(total[arm][size] for arm in ("ivf", "flat"))]  # fmt: skip
    made = {r["m"]: r["prepare_seconds"] for r in measured.results if r["arm"] == "hnsw"}
    ivf = max(total["flat"][size] / total["ivf"][size] for size in sizes)
    claims = (
        Claim("HNSW completely outperforms the other indices, its making included "
              f"(at {len(won)} of {len(sizes)} m; at m = {m:,} HNSW, IVF, flat and scan take "
              f"{said} s for {rounds:,} rounds, of which {made[m]:.3g} s make HNSW)",
              won == sizes),
        Claim(f"IVF gives no significant speed-up (at most {ivf:.2f} times)", ivf < 1.5),
    )  # fmt: skip
    ours = f"ours, the exact lazy solver, takes {total['lazy'][m]:.3g} s at m = {m:,}"
    return Judged(claims, (ours, *notes))


def draw_5(measured: Findings) -> Figure:
    """The time for all rounds, with the making of the index."""
    figure, (axis,) = panels(1, 1, width=8.4, height=4.8,
                             title=f"FastMWEM, Figure 5: {measured.parameters['T']:,} rounds, "
                             f"index included, d = {COLUMNS}")  # fmt: skip
    for arm, points in _totals(measured).items():
        if points:
            draw_curves(axis, {NAMES[arm]: Series(list(points), list(points.values()))}, LABELS)
    finish(axis, xscale="log", yscale="log", xlabel="rows m (log scale)",
           ylabel="time of a solve (seconds, log scale)")  # fmt: skip
    legend(figure, [axis], 3)
    return figure


def measure_6(run: ExperimentRun) -> Findings:
    """The largest violation against the number of rounds, with little and with much signal."""
    m, seeds = run.pick(3000, 100_000), run.pick(3, 5)
    lengths = run.pick((30, 100, 300), (30, 100, 300, 1000, 3000))
    given = program(m, run.seed)
    rows: Rows = []
    for sensitivity, arm, rounds in product((SENSITIVITY, LOW), _arms(), lengths):
        run.progress(f"FastMWEM: linear program, {NAMES[arm]}, {rounds:,} rounds")
        done = [solve(given, arm, rounds, sensitivity, run.seed + s) for s in range(seeds)]
        off = [given.violations(each.x) for each in done]
        rows.append({"sensitivity": sensitivity, "arm": arm, "rounds": rounds,
                     "largest": [float(o.max()) for o in off],
                     "error": [float(np.maximum(o, 0).mean()) for o in off],
                     "promise": done[0].plan.violation})  # fmt: skip
    blind = given.violations(np.full(COLUMNS, 1 / COLUMNS))
    rows.append({"arm": "uniform", "largest": float(blind.max()),
                 "error": float(np.maximum(blind, 0).mean())})  # fmt: skip
    more = {"m": m, "second_sensitivity": LOW, "seeds": seeds}
    return Findings(_parameters(run, **more), rows, SOURCE)


def judge_6(measured: Findings) -> Judged:
    """What Appendix L says: an arm is like the scan if chance explains the difference."""
    rows = [r for r in measured.results if r["arm"] != "uniform"]
    (blind,) = (r for r in measured.results if r["arm"] == "uniform")
    last = max(r["rounds"] for r in rows)
    end = {(r["sensitivity"], r["arm"]): np.array(r["largest"]) for r in rows
           if r["rounds"] == last}  # fmt: skip
    claims = []
    for s in (SENSITIVITY, LOW):
        scan = end[s, "scan"]
        others = {arm: end[s, arm] for arm in _PAPER_ARMS if (s, arm) in end}
        said = ", ".join(f"{NAMES[arm]} {value.mean():.3g}" for arm, value in others.items())
        apart = {arm: _apart(value, scan) for arm, value in others.items()}
        worst = max(apart, key=lambda arm: apart[arm])
        claims.append(Claim(
            f"at Δ∞ = {s:g} all indices do almost the same as the scan (largest violation "
            f"{scan.mean():.3g}; {said}; ours {end[s, 'lazy'].mean():.3g}: at most "
            f"{apart[worst]:.1f} standard errors apart, {NAMES[worst]}; 4 allowed)",
            apart[worst] <= 4))  # fmt: skip
    notes = (
        "the regime of the paper carries little signal: the uniform point, which knows no data, "
        f"has a largest violation of {blind['largest']:.3g}, the flat index ends at "
        f"{end[SENSITIVITY, 'flat'].mean():.3g}",
        f"Δ∞ = {LOW:g} is drawn as well, where a budget of 1 carries a signal: there it shows what "
        "an index misses that finds few of the rows with the largest violation, as IVF does",
    )
    return Judged(tuple(claims), notes)


def _apart(these: Any, those: Any) -> float:
    """By how many standard errors two means differ; a tenth of the second is never told apart."""
    error = math.sqrt((these.var(ddof=1) + those.var(ddof=1)) / len(these))
    return float(abs(these.mean() - those.mean()) / max(error, abs(those.mean()) / 40))


def draw_6(measured: Findings) -> Figure:
    """Mean and largest violation, at both sensitivities."""
    rows = [r for r in measured.results if r["arm"] != "uniform"]
    (blind,) = (r for r in measured.results if r["arm"] == "uniform")
    lengths = sorted({r["rounds"] for r in rows})
    figure, axes = panels(2, 2, width=5.6, height=3.4,
                          title=f"FastMWEM, Figure 6: violations, m = {measured.parameters['m']:,}"
                          f", d = {COLUMNS}")  # fmt: skip
    for place, (axis, (what, sensitivity)) in enumerate(
        zip(axes, product(("error", "largest"), (SENSITIVITY, LOW)), strict=True)
    ):
        for arm in NAMES:
            mine = [r for r in rows if (r["sensitivity"], r["arm"]) == (sensitivity, arm)]
            if mine:
                curve = Series([r["rounds"] for r in mine], [np.mean(r[what]) for r in mine])
                draw_curves(axis, {NAMES[arm]: curve}, LABELS)
        bound(axis, [lengths[0], lengths[-1]], [blind[what]] * 2, NAMES["uniform"], 1)
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


EXPERIMENTS = (
    Experiment("4", "Linear programs: violated rows and time", measure_4, judge_4, draw_4,
               (16, 2000)),
    Experiment("5", "Linear programs: time with the index", measure_4, judge_5, draw_5, (1, 2),
               "4"),
    Experiment("6", "Linear programs: largest violation against rounds", measure_6, judge_6,
               draw_6, (10, 500)),
)  # fmt: skip
