"""Canonical, Figures 2 and 3: Zipf counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.domain.utility import Utility
from winnow.reproduce.canonical_chances import EVENTS, NAMES, chances, epsilons_of
from winnow.reproduce.canonical_draws import SetDraws
from winnow.reproduce.drawing import Curve, draw_curves, finish, legend, panels
from winnow.reproduce.experiment import Claim, Reproduced, Run
from winnow.reproduce.sources import Counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_UNITS = 10_000
"""Steps of a count: the paper's counts are real numbers, and as whole numbers many would tie."""
_IN_STEPS = Utility.declare(_UNITS, monotone=True)


def _zipf(d: int, s: float) -> Counts:
    """The counts in steps."""
    weights = np.arange(1, d + 1) ** -s
    return np.asarray(np.rint(_UNITS * 1.5e8 * weights / weights.sum()), np.int64)


def _draws(run: Run) -> int:
    return run.pick(60, 10_000)


def figure_2(run: Run) -> Reproduced:
    """Zipf counts from uniform to linear at epsilon = 1."""
    exponents = [float(s) for s in np.linspace(0, 1, run.pick(11, 51))[1:]]
    fine = [float(s) for s in np.linspace(0, 0.06, run.pick(7, 25))[1:]]
    grid = sorted({*exponents, *fine})
    rows: list[dict[str, Any]] = []
    for k in (10, 100, 1000):
        run.progress(f"Canonical: Zipf counts, k = {k}")
        by_name: dict[str, dict[str, list[float]]] = {n: {"top": [], "good": []} for n in NAMES}
        for s in grid:
            counts = _zipf(10_000, s)
            drawn = SetDraws(counts, _draws(run), run.seed)
            found = chances(counts, k, [1.0], drawn, _IN_STEPS)
            for name in NAMES:
                for event in ("top", "good"):
                    by_name[name][event].append(found[name][event][0])
        rows += [{"mechanism": n, "k": k, "s": grid, **by_name[n]} for n in NAMES]
    lead = _mean_lead(rows)
    claims = (
        Claim(
            "CANONICAL leads ONESHOT, more for larger k: mean Pr[TOP-k] "
            f"{lead[10]:+.2f}, {lead[100]:+.2f}, {lead[1000]:+.2f} at k = 10, 100, 1000",
            0 <= lead[10] <= lead[100] <= lead[1000],
        ),
    )
    return Reproduced(
        {"epsilon": 1.0, "d": 10_000, "total": 1.5e8, "draws_for_good": _draws(run)},
        rows, "generated as in the paper", claims,
        ("s = 0, where all counts are equal and every set is as good, is left out",),
        lambda: _draw_by(rows, "s", "Zipf exponent s (0: uniform)",
                         "Canonical, Figure 2: Zipf counts at ε = 1, d = 10,000", "linear"),
    )  # fmt: skip


def figure_3(run: Run) -> Reproduced:
    """Zipf counts with s = 0.04 against epsilon."""
    counts = _zipf(10_000, 0.04)
    grid = epsilons_of(run, 1e-3, 10.0)
    rows: list[dict[str, Any]] = []
    for k in (10, 100, 1000):
        run.progress(f"Canonical: Zipf counts with s = 0.04, k = {k}")
        drawn = SetDraws(counts, _draws(run), run.seed)
        found = chances(counts, k, grid, drawn, _IN_STEPS)
        rows += [
            {"mechanism": n, "k": k, "epsilon": grid,
             **{event: found[n][event] for event in ("top", "good")}} for n in NAMES
        ]  # fmt: skip
    lead = _mean_lead(rows)
    least = min(each["top"][0] for each in chances(counts, 10, [1.0], None, _IN_STEPS).values())
    claims = (
        Claim(
            "at k = 10 CANONICAL's lead over ONESHOT, hidden at ε = 1, shows for smaller ε: mean "
            f"Pr[TOP-10] {lead[10]:+.2f} over the range drawn",
            lead[10] > 0.03,
        ),
        Claim(
            f"all have Pr[TOP-10] of at least 99.9 % at ε = 1 (the least is {least:.4f})",
            least >= 0.999,
        ),
    )
    return Reproduced(
        {"s": 0.04, "d": 10_000, "draws_for_good": _draws(run)}, rows,
        "generated as in the paper", claims, (),
        lambda: _draw_by(rows, "epsilon", "privacy loss ε (log scale)",
                         "Canonical, Figure 3: Zipf counts with s = 0.04, d = 10,000", "log"),
    )  # fmt: skip


def _mean_lead(rows: list[dict[str, Any]]) -> dict[int, float]:
    top = {(r["mechanism"], r["k"]): float(np.mean(r["top"])) for r in rows}
    return {k: top[NAMES[0], k] - top[NAMES[2], k] for k in (10, 100, 1000)}


def _draw_by(rows: list[dict[str, Any]], x: str, label: str, title: str, scale: str) -> Figure:
    figure, axes = panels(2, 3, title=title, height=3.0)
    for i, event in enumerate(("top", "good")):
        for j, k in enumerate((10, 100, 1000)):
            axis = axes[3 * i + j]
            curves = {r["mechanism"]: Curve(r[x], r[event]) for r in rows if r["k"] == k}
            draw_curves(axis, curves, NAMES)
            finish(axis, xscale=scale, ylim=(-0.03, 1.03))
            if i == 0:
                axis.set_title(f"k = {k}")
            else:
                axis.set_xlabel(label)
            if j == 0:
                axis.set_ylabel(f"Pr[{EVENTS[event]}-k]")
    legend(figure, axes, 2)
    return figure
