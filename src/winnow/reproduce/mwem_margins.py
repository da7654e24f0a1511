"""FastMWEM, Figure 2: the margin B of lazy Gumbel sampling and the number of further samples C."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.domain.workloads.stream import Stream
from winnow.kernels.hypothesis import Hypothesis
from winnow.reproduce.drawing import (
    Curve,
    bound,
    draw_curves,
    finish,
    legend,
    panels,
    ticks_at,
)
from winnow.reproduce.experiment import Claim, Reproduced, Run
from winnow.reproduce.mwem_runs import (
    CELLS,
    DELTA,
    EPSILON,
    ROWS,
    SOURCE,
    Instance,
    plan_for,
    signed_scores,
    synthetic,
)
from winnow.reproduce.randomness import gumbels, normals

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_2(run: Run) -> Reproduced:
    """The margin B and the number of further samples C."""
    rounds = run.pick(60, 500)
    rows: list[dict[str, Any]] = []
    for m in run.pick((500, 2000, 8000), (500, 2000, 20_000)):
        for n in (ROWS, 500_000):
            run.progress(f"FastMWEM: margin B, m = {m:,}, n = {n:,}")
            margins, samples = _margins(synthetic(m, n, run.seed), rounds, run.seed)
            rows.append({"m": m, "n": n, "B": margins, "C": samples,
                         "share": float(np.mean(samples)) / (2 * m),
                         "root": 1 / math.sqrt(2 * m)})  # fmt: skip
    most = max(r["share"] / r["root"] for r in rows)
    claims = (
        Claim(
            "on average C is of the order of sqrt(m): the share of the signed queries that is "
            f"sampled is at most {most:.2f}/sqrt(2m)",
            most < 3,
        ),
    )
    notes = (
        "a small B, not a large one, means more samples (errata)",
        "n = 500,000 is drawn as well, because at n = 500 scores hardly differ",
        "Winnow's own selection has no such margin: it proposes under certified bounds",
    )

    def draw() -> Figure:
        sizes = list(dict.fromkeys(r["m"] for r in rows))
        figure, (left, right) = panels(1, 2, width=5.6, height=4.4,
                                       title=f"FastMWEM, Figure 2: further samples C over {rounds} "
                                       "rounds")  # fmt: skip
        names = tuple(f"m = {m:,}" for m in sizes)
        for name, row in zip(names, (r for r in rows if r["n"] == ROWS), strict=True):
            draw_curves(left, {name: Curve(np.arange(1, rounds + 1), np.add(row["C"], 1))}, names)
        left.legend(frameon=False, fontsize=11, handlelength=3.5)
        finish(left, title=f"n = {ROWS}", yscale="log", xlabel="round",
               ylabel="C + 1 (samples, log scale)")  # fmt: skip
        shares = tuple(f"mean share, n = {n:,}" for n in (ROWS, 500_000))
        for n, name in zip((ROWS, 500_000), shares, strict=True):
            mine = [100 * r["share"] for r in rows if r["n"] == n]
            draw_curves(right, {name: Curve(sizes, mine)}, shares)
        bound(right, sizes, [100 / math.sqrt(2 * m) for m in sizes], "1/sqrt(2m)", 1)
        finish(right, xscale="log", xlabel="queries m (log scale)",
               ylabel="C in % of the 2m signed queries")  # fmt: skip
        ticks_at(right, sizes)
        legend(figure, (right,), 3)
        return figure

    parameters = {"epsilon": EPSILON, "delta": DELTA, "T": rounds, "cells": CELLS}
    return Reproduced(parameters, rows, SOURCE, claims, notes, draw)


def _margins(instance: Instance, rounds: int, seed: int) -> tuple[list[float], list[int]]:
    """B and C of each round of Algorithm 2 with an exact head, on signed queries."""
    plan = plan_for(rounds)
    epsilon, m = float(plan.selection_epsilon), len(instance.counts)
    stream, hypothesis = Stream(seed, "margins"), Hypothesis(instance.workload, instance.rows)
    eta = math.sqrt(math.log(hypothesis.cells) / rounds)
    sigma = float(plan.noise_multiplier)
    size = math.isqrt(2 * m) + 1
    margins, samples = [], []
    for _ in range(rounds):
        scores, noise = signed_scores(instance, hypothesis, epsilon), gumbels(stream, 2 * m)
        head = np.argpartition(-scores, size)[:size]
        margin = float((scores[head] + noise[head]).max() - scores[head].min())
        outside = np.ones(2 * m, bool)
        outside[head] = False
        margins.append(margin)
        samples.append(int((noise[outside] > margin).sum()))
        query = int(np.argmax(scores + noise)) % m
        measured = instance.counts[query] + round(sigma * float(normals(stream, 1)[0]))
        gap = measured / instance.rows - hypothesis.answer(query)
        hypothesis.update(query, math.copysign(eta, gap))
    return margins, samples
