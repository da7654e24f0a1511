"""LMM's contrast with the distance to instability (Section 2.2), and Corollaries 1 and 2.

Chances are exact, also in universes that nobody can list: candidates that share a score are one
class, and only the logarithm of its size enters the exponential mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from winnow.core.workloads.arrays import Stream
from winnow.experiments.drawing import Series, draw_curves, finish, legend, panels
from winnow.experiments.experiment import (
    Claim,
    Experiment,
    ExperimentRun,
    Findings,
    Floats,
    Judged,
    Rows,
    uniforms,
)
from winnow.select.mechanisms.conditional import DistanceToInstability
from winnow.select.plan.chances import GapProfile
from winnow.select.plan.margin import COMPARED, MarginQuestion, margin_chances

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ALPHA, DELTA, CHANCE = 0.5, 1e-6, 0.95
PURE, MARGIN, PRINTED = COMPARED[1], COMPARED[2], COMPARED[3]
STABLE = DistanceToInstability.title
EXAMPLE = "none: the example of Section 2.2"
_NAMES = (PURE, STABLE, MARGIN, PRINTED)


def stable_chance(gap: float) -> float:
    """The chance that the distance-to-instability mechanism releases the best at this gap.

    A replaced record moves each count by 1, so the gap by up to 2: that is the width.
    """
    far = gap / 2 - DistanceToInstability(ALPHA, DELTA).threshold()
    tail = 0.5 * math.exp(-ALPHA * abs(far))
    return 1 - tail if far > 0 else tail


def measure_contrast(run: ExperimentRun) -> Findings:
    """The chance of a maximiser on D = (1, ..., 1) and D = (2, ..., 2), against n."""
    sizes = [float(n) for n in np.linspace(20, 1400, run.pick(24, 70))]
    others = 1e200
    rows: Rows = []
    for near in (1, 2):
        run.progress(f"LMM: D = ({near}, ..., {near})")
        question = MarginQuestion(near, ALPHA, DELTA, CHANCE, 1.0)
        for name in (PURE, MARGIN, PRINTED):
            chances = [question.chance_at(name, others, n) for n in sizes]
            rows.append({"near": near, "mechanism": name, "n": sizes, "chance": chances})
        gaps = sizes if near == 1 else [0.0] * len(sizes)
        rows.append({"near": near, "mechanism": STABLE, "n": sizes,
                     "chance": [stable_chance(gap) for gap in gaps]})  # fmt: skip
    return Findings({"alpha": ALPHA, "delta": DELTA, "universe": others}, rows, EXAMPLE)


def judge_contrast(measured: Findings) -> Judged:
    """Section 2.2 on the algorithm of its reference [31]."""
    end = {(r["near"], r["mechanism"]): r["chance"][-1] for r in measured.results}
    n = measured.results[0]["n"][-1]
    claims = (
        Claim(f"on D = (1, ..., 1) the distance-to-instability mechanism has high utility (chance "
              f"{end[1, STABLE]:.4g} at n = {n:,.0f})", end[1, STABLE] >= 0.999),
        Claim(f"on D = (2, ..., 2) it fails, whatever n (chance {end[2, STABLE]:.2g})",
              end[2, STABLE] <= 2 * DELTA),
        Claim("the large margin mechanism succeeds on both, with the paper's thresholds "
              f"({end[1, PRINTED]:.4g} and {end[2, PRINTED]:.4g}; ours, tight, "
              f"{end[1, MARGIN]:.4g} and {end[2, MARGIN]:.4g})",
              min(end[1, PRINTED], end[2, PRINTED]) >= CHANCE),
    )  # fmt: skip
    return Judged(claims)


def draw_contrast(measured: Findings) -> Figure:
    """A panel for each of the two data sets."""
    figure, axes = panels(1, 2, width=5.6, height=4.2,
                          title="LMM, Section 2.2: chance of a maximiser among 10²⁰⁰; "
                          f"α = {ALPHA:g}, δ = {DELTA:g}")  # fmt: skip
    for axis, near in zip(axes, (1, 2), strict=True):
        mine = [r for r in measured.results if r["near"] == near]
        curves = {r["mechanism"]: Series(r["n"], r["chance"]) for r in mine}
        draw_curves(axis, curves, _NAMES)
        finish(axis, title=f"D = ({near}, ..., {near})", xlabel="records n", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("Pr[a maximiser]")
    legend(figure, axes, 2)
    return figure


@dataclass(frozen=True)
class Shells:
    """Candidates by how far they are behind the best, in records; the last class is the rest."""

    gaps: Floats
    counts: Floats
    rest: float
    """How far the rest is behind."""

    def loss(self, name: str, alpha: float, log10_size: float) -> float:
        """The loss that is not exceeded with probability 0.95, in records."""
        gaps = np.append(self.gaps, self.rest)
        if name == PURE:
            logs = np.append(np.log(self.counts), log10_size * math.log(10)) - alpha * gaps / 2
            chances = np.exp(logs - logs.max())
            chances /= chances.sum()
        else:
            # beyond 2^50 more of them change nothing that the search sees
            many = min(2.0**50, 10.0 ** min(log10_size, 20.0))
            profile = GapProfile(gaps, np.append(self.counts, many).astype(np.int64))
            thresholds = "printed" if name == PRINTED else "tight"
            chances = margin_chances(profile, 1.0, alpha, DELTA, thresholds).chances
        reached = np.cumsum(chances) >= CHANCE
        return float(gaps[int(np.argmax(reached))]) if reached.any() else float(self.rest)


_SIZES = [10.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0]


def _losses(run: ExperimentRun, shells: Shells, alpha: float, what: str) -> Rows:
    rows: Rows = []
    for name in (PURE, MARGIN, PRINTED):
        run.progress(f"LMM: {what}, {name}")
        lost = [shells.loss(name, alpha, size) for size in _SIZES]
        rows.append({"mechanism": name, "log10_size": _SIZES, "loss_in_records": lost})
    return rows


def measure_itemsets(run: ExperimentRun) -> Findings:
    """Corollary 1: the frequency lost when the most frequent pair is asked for."""
    baskets, items, most = run.pick(4000, 20_000), 60, 6
    chance = 0.65 * np.arange(1, items + 1) ** -0.25
    bought = uniforms(Stream(run.seed, "baskets"), baskets * items).reshape(baskets, items) < chance
    bought &= np.cumsum(bought, axis=1) <= most
    together = bought.T.astype(np.int64) @ bought.astype(np.int64)
    counts = np.array([together[i, j] for i, j in combinations(range(items), 2)])
    seen = np.unique(counts.max() - counts[counts > 0], return_counts=True)
    shells = Shells(seen[0].astype(float), seen[1].astype(float), float(counts.max()))
    alpha = run.pick(0.5, 0.1)
    rows = _losses(run, shells, alpha, "Corollary 1")
    parameters = {"alpha": alpha, "delta": DELTA, "chance": CHANCE, "n": baskets,
                  "L": int((counts > 0).sum()), "most_frequent": int(counts.max())}  # fmt: skip
    return Findings(parameters, rows, "generated baskets of up to 6 of 60 items")


def measure_learning(run: ExperimentRun) -> Findings:
    """Corollary 2: the training error lost when the best hypothesis is asked for."""
    n, alpha = run.pick(4000, 20_000), run.pick(0.5, 0.1)
    behind = np.array([0.0, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15])
    sizes = np.array([1.0, 2, 5, 10, 30, 100, 300, 1000])
    shells = Shells(np.rint(n * behind), sizes, round(0.4 * n))
    rows = _losses(run, shells, alpha, "Corollary 2")
    parameters = {"alpha": alpha, "delta": DELTA, "chance": CHANCE, "n": n,
                  "shells": {str(b): float(s) for b, s in zip(behind, sizes, strict=True)},
                  "most_frequent": round(0.4 * n), "L": int(sizes.sum())}  # fmt: skip
    source = "none: shells of hypotheses by error, all others 0.4 behind the best"
    return Findings(parameters, rows, source)


def judge_losses(measured: Findings) -> Judged:
    """The loss of the large margin mechanism does not know the size of the universe."""
    given = measured.parameters
    lost = {r["mechanism"]: np.array(r["loss_in_records"]) for r in measured.results}
    sizes = measured.results[0]["log10_size"]
    scale = math.log(given["L"] / given["delta"]) / given["alpha"]
    constant = float(lost[PRINTED].max()) / scale
    claims = (
        Claim("with the paper's thresholds the large margin mechanism's loss does not depend on "
              f"the size of the universe ({lost[PRINTED].min():.0f} to {lost[PRINTED].max():.0f} "
              f"records of {given['n']:,}; ours, tight, {lost[MARGIN].min():.0f} to "
              f"{lost[MARGIN].max():.0f})", bool(np.ptp(lost[PRINTED]) == 0)),
        Claim(f"it is O(log(L/δ)/α): {constant:.2f} log(L/δ)/α with L = {given['L']:,}",
              constant <= 6),
        Claim(f"the exponential mechanism's grows with it, to {lost[PURE][-1]:.0f} records at "
              f"10^{sizes[-1]:.0f}, and is significantly worse there",
              lost[PURE][-1] > 2 * max(lost[PRINTED][-1], 1.0) and lost[PURE][0] < lost[PURE][-1]),
    )  # fmt: skip
    less = [s for s, a, b in zip(sizes, lost[PURE], lost[PRINTED], strict=True) if a <= b]
    notes = [f"losses are those not exceeded with probability {CHANCE:g}"]
    if less:
        notes.append("up to a universe of "
                     f"10^{less[-1]:.0f} the exponential mechanism loses no more")  # fmt: skip
    return Judged(claims, tuple(notes))


def draw_losses(measured: Findings) -> Figure:
    """The loss against the size of the universe."""
    given = measured.parameters
    corollary = 2 if "shells" in given else 1
    figure, (axis,) = panels(1, 1, width=8.4, height=4.8,
                             title=f"LMM, Corollary {corollary}: loss with probability "
                             f"{CHANCE:g}, n = {given['n']:,}, α = {given['alpha']:g}")  # fmt: skip
    names = (PURE, MARGIN, PRINTED)
    curves = {r["mechanism"]: Series(r["log10_size"], r["loss_in_records"])
              for r in measured.results}  # fmt: skip
    draw_curves(axis, curves, names)
    axis.xaxis.set_major_formatter(lambda value, _: f"$10^{{{value:.0f}}}$")
    finish(axis, xlabel="size of the universe (log scale)", ylabel="loss (records)",
           yscale="symlog", ylim=(0, None))  # fmt: skip
    legend(figure, [axis], 3)
    return figure


FURTHER = (
    Experiment("4", "D = (2, ..., 2) against the distance to instability", measure_contrast,
               judge_contrast, draw_contrast, (1, 2)),
    Experiment("5", "Frequent itemsets (Corollary 1)", measure_itemsets, judge_losses, draw_losses,
               (2, 8)),
    Experiment("6", "PAC learning by shells (Corollary 2)", measure_learning, judge_losses,
               draw_losses, (2, 8)),
)  # fmt: skip
