"""LMM has no experiments; its claims as pictures: what the size of the universe does to utility.

The example is that of Section 2.2: f(i, D) = |{j: D_j >= i}|/n on the universe 1 .. K. On
D = (1, ..., 1) item 1 has f = 1 and all others have 0; on D = (l, ..., l) the first l items share
the maximum. In counts: the best lie n ahead, and one replaced record moves a count by at most 1.
All chances are exact, by ``winnow.plan.large_margin``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.experiments.drawing import Series, bound, draw_curves, finish, legend, panels
from winnow.experiments.experiment import Claim, Experiment, Reproduced, Run
from winnow.select.plan.margin import COMPARED, MarginQuestion

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ALPHA, DELTA, CHANCE = 0.5, 1e-6, 0.95
PURE, MARGIN, PRINTED = COMPARED[1], COMPARED[2], COMPARED[3]


def _question(near: int = 1) -> MarginQuestion:
    return MarginQuestion(near, ALPHA, DELTA, CHANCE, 1.0)


def _universes(run: Run) -> list[float]:
    quick = [1, 2, 4, 6, 8, 11, 14, 18, 22, 26, 31, *range(36, 152, 5)]
    return [float(p) for p in run.pick(quick, list(range(1, 152, 2)))]


def figure_1(run: Run) -> Reproduced:
    """The chance of the maximiser against the size of the universe."""
    powers = _universes(run)
    sizes = [200, 500, 1000]
    rows: list[dict[str, Any]] = []
    for n in sizes:
        run.progress(f"LMM: chances, n = {n}")
        for name in COMPARED:
            chances = [_question().chance_at(name, 10.0**p - 1, float(n)) for p in powers]
            rows.append({"n": n, "mechanism": name, "log10_K": powers, "chance": chances})
    by = {(r["n"], r["mechanism"]): r["chance"] for r in rows}
    middle = sizes[1]
    example = math.exp(middle * ALPHA / 2) / (10.0 ** powers[-1] - 1 + math.exp(middle * ALPHA / 2))
    claims = (
        Claim(
            f"the exponential mechanism's chance falls to 0 as K grows (n = {middle}: "
            f"{by[middle, PURE][0]:.3g} at K = 10, {by[middle, PURE][-1]:.3g} at K = 10^151)",
            by[middle, PURE][0] > 0.99 and by[middle, PURE][-1] < 1e-3,
        ),
        Claim(
            "it is the formula of Section 2.2",
            abs(by[middle, PURE][-1] - example) <= 1e-9,
        ),
        Claim(
            f"the large margin mechanism's does not depend on K (n = {middle}: "
            f"{min(by[middle, MARGIN]):.3g} to {max(by[middle, MARGIN]):.3g})",
            max(by[middle, MARGIN]) - min(by[middle, MARGIN]) < 0.01,
        ),
    )
    notes = (
        f"at n = {sizes[0]} the large margin mechanism fails too (chance "
        f"{by[sizes[0], MARGIN][-1]:.3g} for K = 10^151): range-independence has a price",
        "the printed thresholds are valid but loose (errata)",
    )

    def draw() -> Figure:
        figure, axes = panels(1, len(sizes), height=4.0,
                              title="LMM, Section 2.2: D = (1, ..., 1), chance that item 1 is "
                              f"released; α = {ALPHA:g}, δ = {DELTA:g}")  # fmt: skip
        for axis, n in zip(axes, sizes, strict=True):
            curves = {m: Series(powers, by[n, m]) for m in COMPARED}
            draw_curves(axis, curves, COMPARED)
            _power_axis(axis)
            finish(axis, title=f"n = {n} records", ylim=(-0.03, 1.03),
                   xlabel="universe K (log scale)")  # fmt: skip
        axes[0].set_ylabel("Pr[item 1]")
        legend(figure, axes, 2)
        return figure

    parameters = {"alpha": ALPHA, "delta": DELTA, "n": sizes}
    return Reproduced(parameters, rows, "none: the example of Section 2.2", claims, notes, draw)


def figure_2(run: Run) -> Reproduced:
    """How many records are needed against the size of the universe, with the lower bound."""
    powers = _universes(run)
    question = _question()
    rows: list[dict[str, Any]] = []
    for name in COMPARED:
        run.progress(f"LMM: records needed, {name}")
        needed = [question.needed(name, 10.0**p - 1) for p in powers]
        rows.append({"mechanism": name, "log10_K": powers, "records": needed})
    need = {r["mechanism"]: np.array(r["records"]) for r in rows}
    limit = [max(0.0, math.log((10.0**p - 1) / 2) / ALPHA) for p in powers]
    rows.append({"mechanism": "Proposition 1", "log10_K": powers, "records": limit})
    slope = float((need[PURE][-1] - need[PURE][0]) / ((powers[-1] - powers[0]) * math.log(10)))
    crossed = question.crossover(PURE, question.needed(MARGIN, math.inf))
    claims = (
        Claim(
            f"the exponential mechanism needs n that grows like ln K (slope {slope:.3g} = "
            f"{slope * ALPHA:.3g}/α)",
            abs(slope * ALPHA - 2) < 0.1,
        ),
        Claim(
            f"the large margin mechanism needs a bounded n (at most {need[MARGIN].max():,.0f}; "
            f"{need[PRINTED].max():,.0f} with the printed thresholds)",
            bool(need[MARGIN][-1] <= 1.02 * need[MARGIN][len(powers) // 2]),
        ),
        Claim(
            "no pure mechanism does with less than Proposition 1 allows",
            bool(np.all(need[PURE] >= limit) and np.all(need[COMPARED[0]] >= limit)),
        ),
    )
    notes = (
        f"it needs less than the exponential mechanism only from K = 10^{crossed:.1f} on",
        "ln(3/n) in Theorem 3 is ln(3/eta) (errata)",
    )

    def draw() -> Figure:
        figure, (axis,) = panels(1, 1, width=8.4, height=4.8,
                                 title=f"LMM: records for a chance of {CHANCE:g}; α = {ALPHA:g}, "
                                 f"δ = {DELTA:g}")  # fmt: skip
        draw_curves(axis, {m: Series(powers, need[m]) for m in COMPARED}, COMPARED)
        bound(axis, powers, limit, "lower bound for pure privacy (Prop 1)", 1)
        _power_axis(axis)
        finish(axis, xlabel="universe K (log scale)", ylabel="records n needed", ylim=(0, None))
        legend(figure, [axis], 2)
        return figure

    parameters = {"alpha": ALPHA, "delta": DELTA, "chance": CHANCE}
    return Reproduced(parameters, rows, "none: the example of Section 2.2", claims, notes, draw)


def figure_3(run: Run) -> Reproduced:
    """How many records are needed against the number of near maximisers."""
    sizes = [round(float(s)) for s in np.geomspace(1, 10_000, run.pick(9, 25))]
    universe = 1e200
    rows: list[dict[str, Any]] = []
    for name in (COMPARED[0], PURE, MARGIN, PRINTED):
        run.progress(f"LMM: near maximisers, {name}")
        needed = [_question(size).needed(name, universe) for size in sizes]
        rows.append({"mechanism": name, "near": sizes, "records": needed})
    need = {r["mechanism"]: r["records"] for r in rows}
    limit = [math.log((s - 1) / 2) / ALPHA if s > 3 else 0.0 for s in sizes]
    rows.append({"mechanism": "Theorem 1", "near": sizes, "records": limit})
    growth = (need[MARGIN][-1] - need[MARGIN][0]) / math.log(sizes[-1]) * ALPHA
    claims = (
        Claim(
            f"the large margin mechanism pays for the near maximisers logarithmically: "
            f"{growth:.3g} ln(l)/α more records for l of them",
            0 < growth < 60,
        ),
        Claim("the lower bound of Theorem 1 is met",
              all(a >= b for a, b in zip(need[MARGIN], limit, strict=True))),
    )  # fmt: skip
    notes = ("in a universe of 10^200 the exponential mechanism pays for the whole of it",)

    def draw() -> Figure:
        figure, (axis,) = panels(1, 1, width=8.4, height=4.8,
                                 title="LMM: D = (l, ..., l) in a universe of 10^200, records for "
                                 f"a chance of {CHANCE:g}")  # fmt: skip
        names: Sequence[str] = COMPARED
        draw_curves(axis, {m: Series(sizes, need[m]) for m in names}, names)
        bound(axis, sizes, limit, "lower bound (Thm 1)", 1)
        finish(axis, xscale="log", xlabel="items l that share the maximum (log scale)",
               ylabel="records n needed", ylim=(0, None))  # fmt: skip
        legend(figure, [axis], 2)
        return figure

    parameters = {"alpha": ALPHA, "delta": DELTA, "chance": CHANCE, "universe": universe}
    return Reproduced(parameters, rows, "none: the example of Section 2.2", claims, notes, draw)


def _power_axis(axis: Any) -> None:
    axis.xaxis.set_major_formatter(lambda value, _: f"$10^{{{value:.0f}}}$")


EXPERIMENTS = (
    Experiment("1", "Utility against the size of the universe (Section 2.2)", figure_1, (1, 4)),
    Experiment("2", "Records needed against the size of the universe", figure_2, (5, 16)),
    Experiment("3", "Records needed against the number of near maximisers", figure_3, (3, 8)),
)
