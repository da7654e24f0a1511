"""Canonical: the four mechanisms on public counts, and Figures 2 and 3, on Zipf counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.core.laws import Law
from winnow.core.utility import Utility
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
    exponentials,
    gumbels,
    uniforms,
)
from winnow.experiments.sources import Counts
from winnow.select.crossing.selection import Selection
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.lipschitz import ExponentialMechanism, PermuteAndFlip
from winnow.select.plan.top_k.known import chances_of_canonical
from winnow.select.plan.top_k.probabilities import epsilon_for_top, top_chance
from winnow.select.plan.top_k.subsets import good, great

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_CELLS = 1 << 21


class SetDraws:
    """Noise for ranked public scores."""

    def __init__(self, ranked: Counts, draws: int, seed: int) -> None:
        self._scores = ranked.astype(float)
        self._draws, self._seed = draws, seed
        self._kept: dict[tuple[Law, int], list[Floats]] = {}
        self._beyond: dict[int, tuple[Floats, Counts]] = {}

    def chances(
        self, law: Law, scale: float, events: tuple[tuple[int, int], ...], k: int
    ) -> list[float]:
        """For each (head, tail): Pr[the best `head` ranks are in, none beyond `tail` is]."""
        d = len(self._scores)
        width = min(d, max(tail for _, tail in events))
        most = [self._largest_beyond(law, scale, tail) if tail < d else None for _, tail in events]
        hits = np.zeros(len(events), np.int64)
        first = 0
        for block in self._noise(law, width):
            noisy = block + scale * self._scores[:width]
            stop = first + len(noisy)
            for i, (head, tail) in enumerate(events):
                inner = noisy[:, : min(tail, width)]
                place = inner.shape[1] - k
                least = np.partition(inner, place, axis=1)[:, place]
                inside = inner[:, :head].min(axis=1) >= least
                others = most[i]
                if others is not None:
                    inside &= others[first:stop] < least
                hits[i] += int(inside.sum())
            first = stop
        return [float(hit) / self._draws for hit in hits]

    def _noise(self, law: Law, width: int) -> list[Floats]:
        if (law, width) not in self._kept:
            drawn = gumbels if law is Law.GUMBEL else exponentials
            stream = Stream(self._seed, f"sets {law}")
            step = max(1, _CELLS // width)
            sizes = [min(step, self._draws - i) for i in range(0, self._draws, step)]
            self._kept[law, width] = [
                drawn(stream, size * width).reshape(size, width) for size in sizes
            ]
        return self._kept[law, width]

    def _largest_beyond(self, law: Law, scale: float, tail: int) -> Floats:
        """The largest noisy score beyond a rank, once for each draw."""
        if tail not in self._beyond:
            self._beyond[tail] = np.unique(self._scores[tail:], return_counts=True)
        values, counts = self._beyond[tail]
        places = scale * (values - values[-1])
        chance = uniforms(Stream(self._seed, f"beyond {tail} {law}"), self._draws)
        wanted = -np.log(-np.log(chance))
        if law is Law.GUMBEL:
            above = wanted + np.log(np.dot(counts, np.exp(places)))
        else:
            above = _exponential_quantiles(places, counts, wanted)
        return np.asarray(scale * values[-1] + above)


def _exponential_quantiles(places: Floats, counts: Counts, wanted: Floats) -> Floats:
    """Where -ln(-ln F) of the largest of `places` plus Exp(1) noise is `wanted`.

    F(x) is the product of (1 - exp(place - x)), and its -ln(-ln) is nearly linear where F is
    large, so it is inverted on a grid. The largest place is 0.
    """
    end = 40.0 + np.log(counts.sum())
    grid = np.concatenate([np.geomspace(1e-5, 1.0, 100), np.linspace(1.0, end, 400)[1:]])
    log_chance = np.empty(len(grid))
    for i, x in enumerate(grid):
        log_chance[i] = np.dot(counts, np.log1p(-np.exp(np.minimum(places - x, -1e-300))))
    return np.asarray(np.interp(wanted, -np.log(-log_chance), grid))


UTILITY = Utility.declare(1, monotone=True)
NAMES = ("CANONICAL", "CANONICAL, γ = 1", "ONESHOT (exponential)", "PEELING (Gumbel)")
SIZES = (10, 100, 1000)
EVENTS = {"top": "TOP", "great": "GREAT", "good": "GOOD"}


def mechanism_of(name: str, epsilon: float, k: int) -> Any:
    """One of the four mechanisms of Section 7."""
    if name == NAMES[0]:
        return Canonical(epsilon, k, 0.5, Law.GUMBEL)
    if name == NAMES[1]:
        return Canonical(epsilon, k, 1, Law.GUMBEL)
    return (PermuteAndFlip if name == NAMES[2] else ExponentialMechanism)(epsilon, kappa=k)


def chances(
    counts: Counts,
    k: int,
    epsilons: Sequence[float],
    simulated: SetDraws | None,
    utility: Utility = UTILITY,
) -> dict[str, dict[str, list[float]]]:
    """By mechanism and event, the chance at each epsilon."""
    by_mechanism: dict[str, dict[str, list[float]]] = {}
    for name in NAMES:
        rows: dict[str, list[float]] = {"top": []}
        for epsilon in epsilons:
            mechanism = mechanism_of(name, float(epsilon), k)
            if isinstance(mechanism, Canonical):
                exact = chances_of_canonical(mechanism, counts, utility)
                rows["top"].append(exact.top)
                rows.setdefault("great", []).append(exact.great)
                rows.setdefault("good", []).append(exact.good)
            else:
                rows["top"].append(float(top_chance(mechanism, counts, utility) or 0.0))
                if simulated is not None:
                    scale = float(mechanism.scale(utility))
                    law = mechanism.noise
                    drawn = simulated.chances(law, scale, (great(k), good(k)), k)
                    rows.setdefault("great", []).append(drawn[0])
                    rows.setdefault("good", []).append(drawn[1])
        by_mechanism[name] = rows
    return by_mechanism


def epsilons_of(run: ExperimentRun, low: float = 1e-3, high: float = 100.0) -> list[float]:
    """Points of an epsilon axis."""
    return [float(e) for e in np.geomspace(low, high, run.pick(20, 61))]


def window(run: ExperimentRun, makers: Sequence[Selection], counts: Counts, k: int) -> list[float]:
    """Epsilons from where the first mechanism begins to find the top k to where the last does."""
    ends = [
        epsilon_for_top(m, counts, k, p, utility=UTILITY) for p in (0.02, 0.999) for m in makers
    ]
    reached = [e for e in ends if e]
    return epsilons_of(run, min(reached) / 4, 1.5 * max(reached)) if reached else epsilons_of(run)


_UNITS = 10_000
"""Steps of a count: the paper's counts are real numbers, and as whole numbers many would tie."""
TOTAL = 15**7
"""As in the authors' data; the text has 1.5e8 (errata)."""
_IN_STEPS = Utility.declare(_UNITS, monotone=True)


def _zipf(d: int, s: float) -> Counts:
    """The counts in steps."""
    weights = np.arange(1, d + 1) ** -s
    return np.asarray(np.rint(_UNITS * TOTAL * weights / weights.sum()), np.int64)


def _draws(run: ExperimentRun) -> int:
    return run.pick(60, 10_000)


def measure_2(run: ExperimentRun) -> Findings:
    """Zipf counts from uniform to linear at epsilon = 1."""
    exponents = [float(s) for s in np.linspace(0, 1, run.pick(11, 51))[1:]]
    fine = [float(s) for s in np.linspace(0, 0.06, run.pick(7, 25))[1:]]
    grid = sorted({*exponents, *fine})
    rows: Rows = []
    for k in SIZES:
        run.progress(f"Canonical: Zipf counts, k = {k}")
        by_name: dict[str, dict[str, list[float]]] = {n: {"top": [], "good": []} for n in NAMES}
        for s in grid:
            counts = _zipf(10_000, s)
            drawn = SetDraws(counts, _draws(run), run.seed)
            by_mechanism = chances(counts, k, [1.0], drawn, _IN_STEPS)
            for name in NAMES:
                for event in ("top", "good"):
                    by_name[name][event].append(by_mechanism[name][event][0])
        rows += [{"mechanism": n, "k": k, "s": grid, **by_name[n]} for n in NAMES]
    parameters = {"epsilon": 1.0, "d": 10_000, "total": TOTAL, "draws_for_good": _draws(run)}
    return Findings(parameters, rows, "generated as in the paper")


def judge_2(measured: Findings) -> Judged:
    """What Section 7.2 says at epsilon = 1."""
    lead, times = _mean_lead(measured.results, "top"), _most_times(measured.results)
    good = _mean_lead(measured.results, "good")
    claims = (
        Claim("CANONICAL and CANONICAL with γ = 1 sample the top 100 and the top 1000 with a "
              f"chance many times larger than ONESHOT and PEELING (at best {times[100]:,.0f} and "
              f"{times[1000]:,.0f} times; 5 asked)", min(times[100], times[1000]) >= 5),
        Claim("for the top 10 the difference is not obvious at ε = 1 (mean Pr[TOP-k] "
              f"{lead[10]:+.2f}, {lead[100]:+.2f} and {lead[1000]:+.2f} at k = 10, 100 and 1000)",
              0 <= lead[10] < 0.1 < min(lead[100], lead[1000])),
        Claim("for GOOD-k the margin is smaller than for TOP-k (mean chance "
              f"{good[100]:+.2f} and {good[1000]:+.2f} at k = 100 and 1000)",
              0 < good[100] < lead[100] and 0 < good[1000] < lead[1000]),
    )  # fmt: skip
    notes = (
        "s = 0, where all counts are equal and every set is as good, is left out",
        "counts sum to 15^7 as in the authors' data; the text has 1.5 x 10^8 (errata)",
    )
    return Judged(claims, notes)


def measure_3(run: ExperimentRun) -> Findings:
    """Zipf counts with s = 0.04 against epsilon."""
    counts = _zipf(10_000, 0.04)
    grid = epsilons_of(run, 1e-3, 10.0)
    rows: Rows = []
    for k in SIZES:
        run.progress(f"Canonical: Zipf counts with s = 0.04, k = {k}")
        drawn = SetDraws(counts, _draws(run), run.seed)
        by_mechanism = chances(counts, k, grid, drawn, _IN_STEPS)
        rows += [
            {"mechanism": n, "k": k, "epsilon": grid,
             **{event: by_mechanism[n][event] for event in ("top", "good")}} for n in NAMES
        ]  # fmt: skip
    at_one = {name: each["top"][0]
              for name, each in chances(counts, 10, [1.0], None, _IN_STEPS).items()}  # fmt: skip
    parameters = {"s": 0.04, "d": 10_000, "total": TOTAL, "draws_for_good": _draws(run),
                  "top_10_at_1": at_one}  # fmt: skip
    return Findings(parameters, rows, "generated as in the paper")


def judge_3(measured: Findings) -> Judged:
    """What Section 7.2 says of smaller epsilons."""
    lead = _mean_lead(measured.results, "top")
    at_one = measured.parameters["top_10_at_1"]
    apart = max(at_one.values()) - min(at_one.values())
    widest = _widest(measured.results, 10)
    claims = (
        Claim("at k = 10 CANONICAL's lead over ONESHOT, hidden at ε = 1, becomes much larger for "
              f"smaller ε (Pr[TOP-10] {widest:+.2f} at best; at ε = 1 all lie within {apart:.4f})",
              widest > 0.3 and apart < 0.01),
        Claim("it leads at all k over the range drawn (mean Pr[TOP-k] "
              + ", ".join(f"{lead[k]:+.2f}" for k in SIZES) + ")", min(lead.values()) > 0.03),
    )  # fmt: skip
    note = "counts sum to 15^7 as in the authors' data; the text has 1.5 x 10^8 (errata)"
    return Judged(claims, (note,))


def _by(rows: Rows, event: str) -> dict[tuple[str, int], Floats]:
    return {(r["mechanism"], r["k"]): np.array(r[event], float) for r in rows}


def _mean_lead(rows: Rows, event: str) -> dict[int, float]:
    """How far CANONICAL is ahead of ONESHOT, on average over what is drawn."""
    by_mechanism = _by(rows, event)
    return {k: float((by_mechanism[NAMES[0], k] - by_mechanism[NAMES[2], k]).mean()) for k in SIZES}


def _widest(rows: Rows, k: int) -> float:
    by_mechanism = _by(rows, "top")
    return float((by_mechanism[NAMES[0], k] - by_mechanism[NAMES[2], k]).max())


def _most_times(rows: Rows) -> dict[int, float]:
    """By how many times the lesser of the new methods beats the better of the old, at best.

    Only where it is a chance worth having, a tenth; what is below a ten-thousandth counts as that.
    """
    by_mechanism, times = _by(rows, "top"), {}
    for k in SIZES:
        new = np.minimum(by_mechanism[NAMES[0], k], by_mechanism[NAMES[1], k])
        old = np.maximum(np.maximum(by_mechanism[NAMES[2], k], by_mechanism[NAMES[3], k]), 1e-4)
        times[k] = float(np.where(new >= 0.1, new / old, 0.0).max())
    return times


def _draw_by(measured: Findings, x: str, label: str, title: str, scale: str) -> Figure:
    figure, axes = panels(2, 3, title=title, height=3.0)
    for i, event in enumerate(("top", "good")):
        for j, k in enumerate(SIZES):
            axis = axes[3 * i + j]
            mine = [r for r in measured.results if r["k"] == k]
            draw_curves(axis, {r["mechanism"]: Series(r[x], r[event]) for r in mine}, NAMES)
            finish(axis, xscale=scale, ylim=(-0.03, 1.03))
            if i == 0:
                axis.set_title(f"k = {k}")
            else:
                axis.set_xlabel(label)
            if j == 0:
                axis.set_ylabel(f"Pr[{EVENTS[event]}-k]")
    legend(figure, axes, 2)
    return figure


FIGURE_2 = Experiment(
    "2", "Zipf counts from uniform to linear", measure_2, judge_2,
    lambda measured: _draw_by(measured, "s", "Zipf exponent s (0: uniform)",
                              "Canonical, Figure 2: Zipf counts at ε = 1, d = 10,000", "linear"),
    (7, 68),
)  # fmt: skip
FIGURE_3 = Experiment(
    "3", "Zipf counts with s = 0.04", measure_3, judge_3,
    lambda measured: _draw_by(measured, "epsilon", "privacy loss ε (log scale)",
                              "Canonical, Figure 3: Zipf counts with s = 0.04, d = 10,000", "log"),
    (7, 60),
)  # fmt: skip
