"""LMM has no experiments; its claims as pictures: what the size of the universe does to utility.

The example is that of Section 2.2: f(i, D) = |{j: D_j >= i}|/n on the universe 1 .. K. On
D = (1, ..., 1) item 1 has f = 1 and all others have 0; on D = (l, ..., l) the first l items share
the maximum. In counts: the best lie n ahead, and one replaced record moves a count by at most 1.
All chances are exact, by ``winnow.plan.large_margin``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.experiments.drawing import Series, bound, draw_curves, finish, legend, panels
from winnow.experiments.experiment import Claim, Experiment, ExperimentRun, Findings, Judged, Rows
from winnow.experiments.large_margin_applications import (
    ALPHA,
    CHANCE,
    DELTA,
    EXAMPLE,
    FURTHER,
    MARGIN,
    PRINTED,
    PURE,
)
from winnow.select.mechanisms.margin_search import stopping_margin
from winnow.select.plan.margin import COMPARED, MarginQuestion

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _question(near: int = 1) -> MarginQuestion:
    return MarginQuestion(near, ALPHA, DELTA, CHANCE, 1.0)


def _universes(run: ExperimentRun) -> list[float]:
    quick = [1, 2, 4, 6, 8, 11, 14, 18, 22, 26, 31, *range(36, 152, 5)]
    return [float(p) for p in run.pick(quick, list(range(1, 152, 2)))]


def by_theorem_3(eta: float) -> int:
    """The least n for which Theorem 3 promises item 1 with probability 1 - eta, K whatever."""
    margin = 21 / ALPHA * math.log(3 / eta)  # with ln(3/eta) for ln(3/n): errata
    return math.ceil(margin + float(stopping_margin(np.array([1]), ALPHA, DELTA, "printed")[0])) + 1


def measure_1(run: ExperimentRun) -> Findings:
    """The chance of the maximiser against the size of the universe."""
    powers = _universes(run)
    rows: Rows = []
    for n in (200, 500, by_theorem_3(1 - CHANCE)):
        run.progress(f"LMM: chances, n = {n}")
        for name in COMPARED:
            chances = [_question().chance_at(name, 10.0**p - 1, float(n)) for p in powers]
            rows.append({"n": n, "mechanism": name, "log10_K": powers, "chance": chances})
    return Findings({"alpha": ALPHA, "delta": DELTA}, rows, EXAMPLE)


def judge_1(measured: Findings) -> Judged:
    """Section 2.2 and Theorem 3, with the printed thresholds; ours are named beside."""
    by = {(r["n"], r["mechanism"]): r for r in measured.results}
    low, middle, high = sorted({n for n, _ in by})
    pure, powers = by[middle, PURE]["chance"], by[middle, PURE]["log10_K"]
    formula = [1 / (1 + (10.0**p - 1) * math.exp(-middle * ALPHA / 2)) for p in powers]
    printed, ours = by[high, PRINTED]["chance"], by[middle, MARGIN]["chance"]
    claims = (
        Claim(f"the exponential mechanism's chance falls to 0 as K grows (n = {middle}: "
              f"{pure[0]:.3g} at K = 10, {pure[-1]:.3g} at K = 10^{powers[-1]:.0f})",
              pure[0] > 0.99 and pure[-1] < 1e-3),
        Claim("it is the formula of Section 2.2 at every K",
              float(np.abs(np.subtract(pure, formula)).max()) <= 5e-4),
        Claim(f"with the paper's thresholds the large margin mechanism's is at least {CHANCE:g} "
              f"from the n of Theorem 3 on, whatever K ({min(printed):.4g} to {max(printed):.4g} "
              f"at n = {high:,}; ours, tight, {min(ours):.3g} to {max(ours):.3g} from "
              f"n = {middle} on)",
              min(printed) >= CHANCE and max(printed) - min(printed) < 0.01),
    )  # fmt: skip
    notes = (
        f"at n = {middle} the printed thresholds leave a chance of "
        f"{by[middle, PRINTED]['chance'][-1]:.2g} at the largest K, at n = {low} the tight ones "
        f"{by[low, MARGIN]['chance'][-1]:.2g}: range-independence has a price",
        "the printed thresholds are valid but loose (errata)",
    )
    return Judged(claims, notes)


def draw_1(measured: Findings) -> Figure:
    """A panel for each n."""
    sizes = sorted({r["n"] for r in measured.results})
    figure, axes = panels(1, len(sizes), height=4.0,
                          title="LMM, Section 2.2: D = (1, ..., 1), chance that item 1 is "
                          f"released; α = {ALPHA:g}, δ = {DELTA:g}")  # fmt: skip
    for axis, n in zip(axes, sizes, strict=True):
        mine = [r for r in measured.results if r["n"] == n]
        curves = {r["mechanism"]: Series(r["log10_K"], r["chance"]) for r in mine}
        draw_curves(axis, curves, COMPARED)
        _power_axis(axis)
        finish(axis, title=f"n = {n:,} records", ylim=(-0.03, 1.03),
               xlabel="universe K (log scale)")  # fmt: skip
    axes[0].set_ylabel("Pr[item 1]")
    legend(figure, axes, 2)
    return figure


def measure_2(run: ExperimentRun) -> Findings:
    """How many records are needed against the size of the universe, with the lower bound."""
    powers = _universes(run)
    question = _question()
    rows: Rows = []
    for name in COMPARED:
        run.progress(f"LMM: records needed, {name}")
        needed = [question.needed(name, 10.0**p - 1) for p in powers]
        rows.append({"mechanism": name, "log10_K": powers, "records": needed})
    limit = [max(0.0, math.log((10.0**p - 1) / 2) / ALPHA) for p in powers]
    rows.append({"mechanism": "Proposition 1", "log10_K": powers, "records": limit})
    crossed = {name: question.crossover(PURE, question.needed(name, math.inf))
               for name in (MARGIN, PRINTED)}  # fmt: skip
    parameters = {"alpha": ALPHA, "delta": DELTA, "chance": CHANCE, "log10_crossover": crossed}
    return Findings(parameters, rows, EXAMPLE)


def judge_2(measured: Findings) -> Judged:
    """Growth like ln K, and none."""
    need = {r["mechanism"]: np.array(r["records"]) for r in measured.results}
    powers = measured.results[0]["log10_K"]
    slope = float(np.polyfit(np.array(powers) * math.log(10), need[PURE], 1)[0])
    limit, half = need["Proposition 1"], len(powers) // 2
    rise = float(need[PRINTED][-1] / need[PRINTED][half] - 1)
    crossed = measured.parameters["log10_crossover"]
    claims = (
        Claim(f"the exponential mechanism needs n that grows like ln K (slope {slope:.3g} = "
              f"{slope * ALPHA:.3g}/α)", abs(slope * ALPHA - 2) < 0.1),
        Claim("with the paper's thresholds the large margin mechanism needs a bounded n (at most "
              f"{need[PRINTED].max():,.0f}, {rise:.1%} more at the end than half way; ours, tight, "
              f"{need[MARGIN].max():,.0f})", rise <= 0.02),
        Claim("no pure mechanism does with less than Proposition 1 allows",
              bool(np.all(need[PURE] >= limit) and np.all(need[COMPARED[0]] >= limit))),
    )  # fmt: skip
    notes = (
        "it needs less than the exponential mechanism only from "
        f"K = 10^{crossed[PRINTED]:.0f} on with the paper's thresholds, 10^{crossed[MARGIN]:.0f} "
        "with the tight ones",
        "ln(3/n) in Theorem 3 is ln(3/eta) (errata)",
    )
    return Judged(claims, notes)


def draw_2(measured: Findings) -> Figure:
    """Records needed by each mechanism."""
    figure, (axis,) = panels(1, 1, width=8.4, height=4.8,
                             title=f"LMM: records for a chance of {CHANCE:g}; α = {ALPHA:g}, "
                             f"δ = {DELTA:g}")  # fmt: skip
    by = {r["mechanism"]: r for r in measured.results}
    curves = {m: Series(by[m]["log10_K"], by[m]["records"]) for m in COMPARED}
    draw_curves(axis, curves, COMPARED)
    limit = by["Proposition 1"]
    bound(axis, limit["log10_K"], limit["records"], "lower bound for pure privacy (Prop 1)", 1)
    _power_axis(axis)
    finish(axis, xlabel="universe K (log scale)", ylabel="records n needed", ylim=(0, None))
    legend(figure, [axis], 2)
    return figure


def measure_3(run: ExperimentRun) -> Findings:
    """How many records are needed against the number of near maximisers."""
    sizes = [round(float(s)) for s in np.geomspace(1, 10_000, run.pick(9, 25))]
    universe = 1e200
    rows: Rows = []
    for name in COMPARED:
        run.progress(f"LMM: near maximisers, {name}")
        needed = [_question(size).needed(name, universe) for size in sizes]
        rows.append({"mechanism": name, "near": sizes, "records": needed})
    limit = [math.log((s - 1) / 2) / ALPHA if s > 3 else 0.0 for s in sizes]
    rows.append({"mechanism": "Theorem 1", "near": sizes, "records": limit})
    parameters = {"alpha": ALPHA, "delta": DELTA, "chance": CHANCE, "universe": universe}
    return Findings(parameters, rows, EXAMPLE)


def judge_3(measured: Findings) -> Judged:
    """Theorem 3 pays ln(l), Theorem 1 says that something has to be paid."""
    by = {r["mechanism"]: np.array(r["records"]) for r in measured.results}
    logs = np.log(measured.results[0]["near"])
    fits = {name: np.polyfit(logs, by[name], 1) for name in (PRINTED, MARGIN)}
    growth = {name: float(fit[0]) * ALPHA for name, fit in fits.items()}
    off = float(np.abs(np.polyval(fits[PRINTED], logs) / by[PRINTED] - 1).max())
    claims = (
        Claim("with the paper's thresholds the large margin mechanism pays for the near maximisers "
              f"logarithmically: {growth[PRINTED]:.3g} ln(l)/α more records for l of them, a "
              f"straight line within {off:.1%} (ours, tight, {growth[MARGIN]:.3g})",
              growth[PRINTED] > 0 and off < 0.1),
        Claim("the lower bound of Theorem 1 is met", bool(np.all(by[PRINTED] >= by["Theorem 1"])
              and np.all(by[MARGIN] >= by["Theorem 1"]))),
    )  # fmt: skip
    notes = ("in a universe of 10^200 the exponential mechanism pays for the whole of it",)
    return Judged(claims, notes)


def draw_3(measured: Findings) -> Figure:
    """Records needed by the number of near maximisers."""
    figure, (axis,) = panels(1, 1, width=8.4, height=4.8,
                             title="LMM: D = (l, ..., l) in a universe of 10^200, records for "
                             f"a chance of {CHANCE:g}")  # fmt: skip
    by = {r["mechanism"]: r for r in measured.results}
    draw_curves(axis, {m: Series(by[m]["near"], by[m]["records"]) for m in COMPARED}, COMPARED)
    limit = by["Theorem 1"]
    bound(axis, limit["near"], limit["records"], "lower bound (Thm 1)", 1)
    finish(axis, xscale="log", xlabel="items l that share the maximum (log scale)",
           ylabel="records n needed", ylim=(0, None))  # fmt: skip
    legend(figure, [axis], 2)
    return figure


def _power_axis(axis: Any) -> None:
    axis.xaxis.set_major_formatter(lambda value, _: f"$10^{{{value:.0f}}}$")


EXPERIMENTS = (
    Experiment("1", "Utility against the size of the universe (Section 2.2)", measure_1, judge_1,
               draw_1, (1, 4)),
    Experiment("2", "Records needed against the size of the universe", measure_2, judge_2, draw_2,
               (5, 16)),
    Experiment("3", "Records needed against the number of near maximisers", measure_3, judge_3,
               draw_3, (3, 8)),
    *FURTHER,
)  # fmt: skip
