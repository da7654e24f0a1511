"""PMW, what its theorems say of n and N: error, time, sampled universes, synthetic data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.ask.methods import MultiplicativeWeights
from winnow.ask.session import WeightsSession
from winnow.ask.verb import ask
from winnow.core.schema import Schema
from winnow.core.workloads.arrays import Stream
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.tables import ranges
from winnow.core.workloads.workload import Workload
from winnow.experiments.drawing import Series, bound, draw_curves, finish, legend, panels
from winnow.experiments.experiment import (
    Claim,
    Experiment,
    ExperimentRun,
    Findings,
    Judged,
    Rows,
    clock,
    exponent,
    normals,
    since,
    uniforms,
)
from winnow.plan import ask as plan_ask
from winnow.plan import table as about
from winnow.read.table import read_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


EPSILON, DELTA, BETA = 1.0, 1e-6, 0.05
_SOURCE = "generated: a bell over the cells; random intervals as questions"


MANY = 10**12
"""Questions of the bounds that are drawn: so many that fresh noise for each is never better."""
_FAVOURED = 0.55
_PART = 50
"""Questions that are timed together."""


def _table(cells: int, rows: int, seed: int, width: float = 1 / 8) -> tuple[Any, Any]:
    """Codes of a bell over the cells, and the sealed table of them."""
    drawn = cells * (0.4 + width * normals(Stream(seed, f"bell {cells} {rows}"), rows))
    codes = np.clip(drawn, 0, cells - 1).astype(np.int64)
    return codes, read_table({"x": codes}, schema={"x": cells})


def _even(columns: int, rows: int, seed: int) -> tuple[Any, Any]:
    """Codes of columns of four values: smooth, as only the first two columns favour a value."""
    stream = Stream(seed, f"even {columns}")
    ends = np.cumsum([_FAVOURED, *[(1 - _FAVOURED) / 3] * 2])
    codes = [np.searchsorted(ends if i < 2 else [0.25, 0.5, 0.75], uniforms(stream, rows))
             for i in range(columns)]  # fmt: skip
    named = {f"c{i}": column for i, column in enumerate(codes)}
    return codes, read_table(named, schema=dict.fromkeys(named, 4))


def _halves(schema: Schema, questions: int, seed: int) -> Workload:
    """Questions for two of the four values in each of two columns, mostly the first two."""
    stream = Stream(seed, "halves")
    pairs = np.array([[True, True, False, False], [True, False, True, False],
                      [True, False, False, True], [False, True, True, False]])  # fmt: skip
    masks = []
    sides = stream.below(4, 2 * questions).reshape(-1, 2)
    places = stream.below(2 * len(schema.shape), questions)
    for chosen, place in zip(sides, places, strict=True):
        first, second = (0, 1) if place >= len(schema.shape) else (0, max(1, int(place)))
        masks.append({first: pairs[chosen[0]], second: pairs[chosen[1]]})
    return Workload(schema, (ConjunctionPart(schema, tuple(masks)),))


def _asked(
    table: Any, codes: list[Any], parts: list[Workload], seed: int, **more: Any
) -> tuple[float, float, float]:
    """A session over these questions: its largest error, its bound, the median time of an answer.

    The time is that of answers from the hypothesis, as nearly all are.
    """
    n, questions = len(codes[0]), sum(part.size for part in parts)
    ones, off, took = np.ones(n, np.int64), [], []
    with ask(
        table, epsilon=EPSILON, delta=DELTA, max_queries=max(questions, 3000), beta=BETA,
        method=MultiplicativeWeights(threshold="proved", **more), seed=seed,
    ) as session:  # fmt: skip
        for part in parts:
            start = clock()
            values = [answer.value for answer in session.ask_all(part)]
            took.append(since(start) / part.size)
            off.append(np.abs(values - part.counts(codes, ones) / n).max())
        limit = session.sizes.bound
    return float(max(off)), float(limit), float(np.median(took))


def measure_3(run: ExperimentRun) -> Findings:
    """The bound of a session, and the largest error of some, against n and against N."""
    rows: Rows = []
    for n in (10**5, 10**6, 10**7, 10**8):
        rows.append({"panel": "n", "n": n, "cells": 512, "bound": _bound(n, 512)})
    for power in (4, 6, 8, 10, 14, 20, 30, 40, 60):
        rows.append({"panel": "N", "n": 10**6, "cells": 2**power, "bound": _bound(10**6, 2**power)})
    for n in run.pick((5000, 50_000), (5000, 16_000, 50_000, 160_000, 500_000)):
        run.progress(f"PMW: error at n = {n:,}")
        seeds = range(run.pick(1, 5))
        bounds = [_intervals(512, n, run.pick(300, 2000), s) for s in seeds]
        rows.append({"panel": "measured", "n": n, "cells": 512, "bound": bounds[0][1],
                     "largest": [each[0] for each in bounds]})  # fmt: skip
    return Findings({"epsilon": EPSILON, "delta": DELTA, "beta": BETA}, rows, _SOURCE)


def _intervals(cells: int, n: int, questions: int, seed: int) -> tuple[float, float, float]:
    """A session over random intervals."""
    codes, table = _table(cells, n, seed)
    parts = [ranges("x", _PART, seed=1000 * seed + i).over(table.schema)
             for i in range(questions // _PART)]  # fmt: skip
    return _asked(table, [codes], parts, seed, updates=_updates(n))


def _updates(n: int) -> int:
    """The cap of the theorem, about n; as many as make its bound small at these sizes."""
    return max(30, round(600 * n / 50_000))


def _bound(n: int, cells: int) -> float:
    """The error that is proved for very many questions."""
    proved = MultiplicativeWeights(threshold="proved")
    plan = plan_ask(
        about(cells, rows=n), epsilon=EPSILON, delta=DELTA, max_queries=MANY, beta=BETA,
        method=proved,
    )  # fmt: skip
    return float(plan.expected.bound)


def judge_3(measured: Findings) -> Judged:
    """Theorem I.1 in n and N."""
    by = {panel: [r for r in measured.results if r["panel"] == panel]
          for panel in ("n", "N", "measured")}  # fmt: skip
    in_n = exponent([(r["n"], r["bound"]) for r in by["n"]])
    in_log = exponent([(math.log(r["cells"]), r["bound"]) for r in by["N"]])
    seen = exponent([(r["n"], float(np.median(r["largest"]))) for r in by["measured"]])
    claims = (
        Claim(f"the bound falls like n^(-1/2) (exponent {in_n:.2f}, -.5 ± .07)",
              abs(in_n + 0.5) <= 0.07),
        Claim(f"it grows like log^(1/4) N (exponent of ln N {in_log:.2f}, .25 ± .05)",
              abs(in_log - 0.25) <= 0.05),
        Claim(f"sessions err less with more rows, at least that fast (exponent {seen:.2f} of n)",
              seen < -0.4),
        Claim("no answer errs more than the bound says",
              all(max(r["largest"]) <= r["bound"] for r in by["measured"])),
    )  # fmt: skip
    return Judged(claims, ("bounds are those of the session, for 10^12 questions, with proved "
                           "constants",))  # fmt: skip


def draw_3(measured: Findings) -> Figure:
    """Error against n, and the bound against N."""
    figure, (left, right) = panels(1, 2, width=5.6, height=4.4,
                                   title="PMW, Theorem I.1: error against n and N; "
                                   f"ε = {EPSILON:g}, δ = {DELTA:g}")  # fmt: skip
    by = {panel: [r for r in measured.results if r["panel"] == panel]
          for panel in ("n", "N", "measured")}  # fmt: skip
    names = ("proved for 10¹² questions", "largest error of sessions")
    x, y = [r["n"] for r in by["n"]], [r["bound"] for r in by["n"]]
    draw_curves(left, {names[0]: Series(x, y)}, names)
    spread = [sorted(r["largest"]) for r in by["measured"]]
    curve = Series([r["n"] for r in by["measured"]], np.median(spread, axis=1),
                   [e[0] for e in spread], [e[-1] for e in spread])  # fmt: skip
    draw_curves(left, {names[1]: curve}, names)
    bound(left, x, [y[0] * (n / x[0]) ** -0.5 for n in x], "n^(-1/2)", 1)
    finish(left, xscale="log", yscale="log", xlabel="rows n (log scale)",
           ylabel="error (fraction of rows)")  # fmt: skip
    x, y = [r["cells"] for r in by["N"]], [r["bound"] for r in by["N"]]
    draw_curves(right, {names[0]: Series(x, y)}, names)
    scale = [y[0] * (math.log(c) / math.log(x[0])) ** 0.25 for c in x]
    bound(right, x, scale, "(ln N)^(1/4)", 2)
    finish(right, xscale="log", xlabel="cells N (log scale)", ylim=(0, None))
    legend(figure, (left, right), 2)
    return figure


def measure_4(run: ExperimentRun) -> Findings:
    """The time of an answer against N, on all cells and on a sampled universe."""
    n, questions, sampled = 200_000, run.pick(200, 1000), 1 << 15
    rows: Rows = []
    for columns in run.pick((8, 10), (8, 9, 10, 11)):
        cells = 4**columns
        codes, table = _even(columns, n, run.seed)
        parts = [_halves(table.schema, _PART, i) for i in range(questions // _PART)]
        evenness = _FAVOURED**2 * 0.25 ** (columns - 2)
        for arm, more in (
            ("all cells", {"updates": 600}),
            ("sampled universe", {"updates": 600, "universe": sampled, "smoothness": evenness,
                                  "phi": 0.01}),
        ):  # fmt: skip
            run.progress(f"PMW: {arm}, N = {cells:,}")
            largest, limit, took = _asked(table, codes, parts, run.seed, **more)
            rows.append({"arm": arm, "cells": cells, "largest": largest, "bound": limit,
                         "seconds": took})  # fmt: skip
        uniform = [np.abs(part.counts(codes, np.ones(n, np.int64)) / n - 0.25).max()
                   for part in parts]  # fmt: skip
        rows.append({"arm": "uniform data", "cells": cells, "largest": float(max(uniform))})
    parameters = {"epsilon": EPSILON, "delta": DELTA, "n": n, "questions": questions,
                  "universe": sampled}  # fmt: skip
    return Findings(parameters, rows, "generated: columns of four values, half of them asked for")


def judge_4(measured: Findings) -> Judged:
    """Theorems I.1 and I.2 on time, and on what sampling costs."""
    by = {arm: [r for r in measured.results if r["arm"] == arm]
          for arm in ("all cells", "sampled universe")}  # fmt: skip
    power = {arm: exponent([(r["cells"], r["seconds"]) for r in rows])
             for arm, rows in by.items()}  # fmt: skip
    whole, sample = (by[arm][-1] for arm in by)
    apart = max(s["largest"] - w["largest"] for w, s in zip(*by.values(), strict=True))
    blind = min(r["largest"] for r in measured.results if r["arm"] == "uniform data")
    added = max(s["bound"] - w["bound"] for w, s in zip(*by.values(), strict=True))
    claims = (
        Claim("the time of an answer grows at most linearly in N (exponent "
              f"{power['all cells']:.2f})", power["all cells"] < 1.15),
        Claim(f"on a sampled universe of {measured.parameters['universe']:,} cells it does not "
              f"depend on N (exponent {power['sampled universe']:.2f}; at N = {whole['cells']:,} "
              f"{1e3 * sample['seconds']:.3g} ms instead of {1e3 * whole['seconds']:.3g})",
              power["sampled universe"] < 0.2),
        Claim("on smooth data its error is larger by at most what the sample adds to the bound "
              f"({apart:.3f}, {added:.3f} allowed; {sample['largest']:.3f} and "
              f"{whole['largest']:.3f} at the largest N, {blind:.3f} without data)",
              apart <= added and sample["largest"] < blind),
        Claim("no answer errs more than the bound of its session says",
              all(r["largest"] <= r["bound"] for r in measured.results if "bound" in r)),
    )  # fmt: skip
    return Judged(claims, ("questions are fixed beforehand, as Theorem I.2 needs",))


def draw_4(measured: Findings) -> Figure:
    """Times and errors against N."""
    figure, axes = panels(1, 2, width=5.6, height=4.4,
                          title="PMW, Theorem I.2: all cells, and a sampled universe of "
                          f"{measured.parameters['universe']:,}")  # fmt: skip
    names = ("all cells", "sampled universe", "uniform data")
    for axis, what, scale in zip(axes, ("seconds", "largest"), (1e3, 1.0), strict=True):
        for name in names:
            mine = [(r["cells"], scale * r[what]) for r in measured.results
                    if r["arm"] == name and what in r]  # fmt: skip
            if mine:
                draw_curves(axis, {name: Series(*zip(*mine, strict=True))}, names)
    finish(axes[0], xscale="log", yscale="log", xlabel="cells N (log scale)",
           ylabel="one answer (milliseconds)")  # fmt: skip
    finish(axes[1], xscale="log", xlabel="cells N (log scale)",
           ylabel="largest error (fraction of rows)", ylim=(0, None))  # fmt: skip
    legend(figure, axes, 2)
    return figure


def measure_5(run: ExperimentRun) -> Findings:
    """Passes over a set of questions until one has no update: a synthetic database."""
    cells, seeds = 512, run.pick(1, 5)
    rows: Rows = []
    for n in run.pick((20_000, 100_000), (10_000, 30_000, 100_000, 300_000)):
        for seed in range(seeds):
            run.progress(f"PMW: synthetic data, n = {n:,}")
            codes, table = _table(cells, n, seed)
            workload = ranges("x", run.pick(200, 1000), seed=seed).over(table.schema)
            true = workload.counts([codes], np.ones(n, np.int64)) / n
            with ask(
                table, epsilon=EPSILON, delta=DELTA, max_queries=20 * workload.size, beta=BETA,
                method=MultiplicativeWeights(threshold="proved", updates=_updates(n)), seed=seed,
            ) as session:  # fmt: skip
                assert isinstance(session, WeightsSession)
                made = session.synthesise(workload, passes=20)
                limit, most = session.sizes.bound, session.sizes.rounds.updates
            off = np.abs(workload.answers(np.asarray(made.weights)) - true)
            blind = np.abs(workload.answers(np.full(cells, 1 / cells)) - true)
            rows.append({"n": n, "seed": seed, "status": made.status, "passes": made.passes,
                         "updates": made.updates, "cap": most, "largest": float(off.max()),
                         "uniform": float(blind.max()), "bound": float(limit)})  # fmt: skip
    return Findings({"epsilon": EPSILON, "delta": DELTA, "cells": cells}, rows, _SOURCE)


def judge_5(measured: Findings) -> Judged:
    """Section II on synthetic databases."""
    rows = measured.results
    done = sum(r["status"] == "converged" for r in rows)
    gain = min(r["uniform"] / r["largest"] for r in rows)
    passes = max(r["passes"] for r in rows)
    claims = (
        Claim(f"passes over the questions end with one without update, after at most {passes} of "
              f"them ({done} of {len(rows)} sessions)", done == len(rows)),
        Claim("the synthetic data answer all questions within the bound of the session",
              all(r["largest"] <= r["bound"] for r in rows)),
        Claim(f"and better than data that know nothing (at least {gain:.2g} times)", gain > 1.5),
    )  # fmt: skip
    return Judged(claims)


def draw_5(measured: Findings) -> Figure:
    """The largest error of the synthetic data against n."""
    sizes = sorted({r["n"] for r in measured.results})
    title = "PMW, Section II: synthetic data by passes, N = 512"
    figure, (axis,) = panels(1, 1, width=8.4, height=4.6, title=title)
    names = ("synthetic data", "uniform data")
    for name, key in zip(names, ("largest", "uniform"), strict=True):
        spread = [sorted(r[key] for r in measured.results if r["n"] == n) for n in sizes]
        curve = Series(sizes, np.median(spread, axis=1), [e[0] for e in spread],
                       [e[-1] for e in spread])  # fmt: skip
        draw_curves(axis, {name: curve}, names)
    limits = [max(r["bound"] for r in measured.results if r["n"] == n) for n in sizes]
    bound(axis, sizes, limits, "bound of the session", 1)
    finish(axis, xscale="log", xlabel="rows n (log scale)", ylabel="largest error of all questions",
           ylim=(0, None))  # fmt: skip
    legend(figure, [axis], 3)
    return figure


FURTHER = (
    Experiment("3", "Error against n and N (Theorem I.1)", measure_3, judge_3, draw_3, (4, 60)),
    Experiment("4", "Time against N, and smooth data (Theorem I.2)", measure_4, judge_4, draw_4,
               (6, 60)),
    Experiment("5", "Synthetic data", measure_5, judge_5, draw_5, (4, 60)),
)  # fmt: skip
