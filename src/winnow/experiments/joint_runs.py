"""Joint: the mechanisms on public counts, what their errors are, and Figure 3, their time."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.laws import Law
from winnow.core.noisy_top.rows import noisy_top_rows
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import DataError
from winnow.experiments.drawing import Series, draw_curves, finish, legend, panels
from winnow.experiments.experiment import Claim, ExperimentRun, Findings, Judged, Rows, clock, since
from winnow.experiments.sources import TOPK, Counts, generated_counts, item_counts
from winnow.select.errors import index_of_maximum, k_relative, l_1, l_infinity
from winnow.select.mechanisms.gamma import GammaMechanism
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.lipschitz import ExponentialMechanism
from winnow.select.mechanisms.peeling import PeelPermuteAndFlip

if TYPE_CHECKING:
    from matplotlib.figure import Figure


EPSILON, DELTA = 1.0, 1e-6
UTILITY = Utility.declare(1, monotone=True)
_FOR_SCORES = Utility.declare(1)
"""Sensitivity 1 as the authors have it; only differences matter, so half of it suffices."""
NAMES = ("Joint", "PNF-Peel", "CDP-Peel (Lemma 4.2)", "Gamma", "Laplace", "Gamma, halved (ours)")
CORE = NAMES[:3]
METRICS: dict[str, Callable[[Any, Any], NDArray[Any]]] = {
    "l_infinity": l_infinity,
    "l_1": l_1,
    "k_relative": k_relative,
    "index": index_of_maximum,
}
_OTHER = {"news_mashable": "an eighth", "tweets_trump": "another person's"}
LARGE_GAPS = ("books", "movies", "news", "tweets")
"""Where the paper says that Joint is strongest."""
_QUICK_ITEMS = 6_000
"""In a quick run only the largest counts take part."""


def lemma_4_2(epsilon: float, delta: float, k: int) -> float:
    """The epsilon of a round by Lemma 4.2, solved for it, or epsilon/k if that is larger."""
    log = math.log(1 / delta)
    composed = math.sqrt((8 * log + 8 * epsilon) / k) - math.sqrt(8 * log / k)
    return max(epsilon / k, composed)


def draws(name: str, counts: Counts, k: int, trials: int, seed: int) -> NDArray[np.int64]:
    """Lists of one mechanism on public counts, one row each."""
    match name:
        case "Joint":
            return Joint(EPSILON, k).simulate(counts, UTILITY, trials, seed)
        case "PNF-Peel":
            return PeelPermuteAndFlip(EPSILON, k).simulate(counts, UTILITY, trials, seed)
        case "Gamma":
            return GammaMechanism(EPSILON, k).simulate(counts, _FOR_SCORES, trials, seed)
        case "Gamma, halved (ours)":
            return GammaMechanism(EPSILON, k).simulate(counts, UTILITY, trials, seed)
        case "Laplace":  # one draw of scale k/epsilon for all, the k largest in order
            scale = Fraction(repr(EPSILON)) / k
            return noisy_top_rows(counts, Tape.seeded(seed), Law.LAPLACE, scale, trials, k)
        case _:
            whole = Fraction(repr(k * lemma_4_2(EPSILON, DELTA, k)))
            return ExponentialMechanism(whole, kappa=k).simulate(counts, UTILITY, trials, seed)


def sizes_of(run: ExperimentRun) -> list[int]:
    """The k of the error figures."""
    return run.pick([5, 15, 25, 45, 65, 95, 125, 155, 195], list(range(5, 200, 10)))


def trials_of(run: ExperimentRun) -> int:
    """Draws for each point."""
    return run.pick(11, 50)


def data_of(run: ExperimentRun) -> dict[str, tuple[Counts, str]]:
    """Ranked counts by data set, and where they are from; in a quick run the largest only."""
    sets = whole_data(run)
    if not run.quick:
        return sets
    return {name: (counts[:_QUICK_ITEMS], source) for name, (counts, source) in sets.items()}


def whole_data(run: ExperimentRun) -> dict[str, tuple[Counts, str]]:
    """All ranked counts by data set, and where they are from."""

    def load() -> dict[str, tuple[Counts, str]]:
        sets = {}
        for name in TOPK:
            counts = item_counts(run, name)
            if counts is not None:
                sets[name] = (np.sort(counts[0])[::-1].copy(), counts[1])
        if not sets:
            raise DataError(
                f"{run.data} has none of the data sets {', '.join(TOPK)}; name another folder, or "
                "leave --data out for generated data"
            )
        return sets

    return run.once("joint data", load)


def errors_on(run: ExperimentRun, name: str, mechanisms: tuple[str, ...]) -> Rows:
    """Median and quartiles of all metrics, for each mechanism and k, on one data set."""
    counts = data_of(run)[name][0]
    rows: Rows = []
    for mechanism in mechanisms:
        for k in sizes_of(run):
            errors = run.once(
                ("joint", name, mechanism, k), partial(_one, run, name, mechanism, k, counts)
            )
            rows.append({"data": name, "mechanism": mechanism, "k": k, **errors})
    return rows


def _one(run: ExperimentRun, name: str, mechanism: str, k: int, counts: Counts) -> dict[str, Any]:
    run.progress(f"Joint: {mechanism} on {name}, k = {k}")
    lists = draws(mechanism, counts, k, trials_of(run), run.seed)
    row: dict[str, Any] = {}
    for metric, error in METRICS.items():
        values = np.asarray(error(counts, lists), float)
        low, middle, high = np.percentile(values, (25, 50, 75))
        row[metric] = [float(low), float(middle), float(high)]
    errs = np.asarray(l_infinity(counts, lists)) > 0
    places = np.asarray(index_of_maximum(counts, lists))[errs]
    row["lists_that_err"] = int(errs.sum())
    row["index_where_it_errs"] = float(np.median(places)) if errs.any() else None
    return row


def all_errors(run: ExperimentRun) -> Findings:
    """The three mechanisms of the main figures on all data sets, and the gaps of these."""
    rows: Rows = []
    for name, (counts, source) in data_of(run).items():
        gaps = counts[:199] - counts[1:200]
        rows.append({"data": name, "label": _label(name, source), "d": len(counts),
                     "gaps": gaps.tolist()})  # fmt: skip
        rows += errors_on(run, name, CORE)
    return Findings(parameters_of(run), rows, source_of(run))


def _label(name: str, source: str) -> str:
    """What a panel calls a data set: as it is, if it is the paper's."""
    for part, said in _OTHER.items():
        if part in source:
            return f"{name} ({said})"
    return name


def of_mechanisms(measured: Findings) -> Rows:
    """The rows with errors, without those that describe data."""
    return [r for r in measured.results if "mechanism" in r]


def names_in(measured: Findings) -> list[str]:
    """The data sets, in order."""
    return list(dict.fromkeys(r["data"] for r in measured.results))


def sizes_in(measured: Findings) -> NDArray[Any]:
    """The k."""
    return np.unique([r["k"] for r in of_mechanisms(measured)])


def median(rows: Rows, data: str, mechanism: str, metric: str) -> NDArray[Any]:
    """The medians of one mechanism, by k."""
    return np.array(
        [r[metric][1] for r in rows if r["data"] == data and r["mechanism"] == mechanism]
    )


def curves_of(rows: Rows, data: str, metric: str, pad: float) -> dict[str, Series]:
    """Medians and quartiles of every mechanism that was run, moved up by `pad`."""
    curves = {}
    for mechanism in NAMES:
        mine = [r for r in rows if r["data"] == data and r["mechanism"] == mechanism]
        if mine:
            band = np.array([r[metric] for r in mine]) + pad
            curves[mechanism] = Series([r["k"] for r in mine], band[:, 1], band[:, 0], band[:, 2])
    return curves


def source_of(run: ExperimentRun, *, whole: bool = False) -> str:
    """Where all data came from."""
    sources = [source for _, source in data_of(run).values()]
    cut = f" (only the {_QUICK_ITEMS:,} largest counts take part)"
    cut = cut if run.quick and not whole else ""
    return "; ".join(sources) + cut


def absent_of(run: ExperimentRun) -> tuple[str, ...]:
    """What the data lack of the paper's."""
    absent = [name for name in TOPK if name not in data_of(run)]
    notes = [f"{', '.join(absent)} not at hand"] if absent else []
    if any("news_mashable" in source for _, source in data_of(run).values()):
        notes.append("news is an eighth of the paper's articles")
    if any("tweets_trump" in source for _, source in data_of(run).values()):
        notes.append("tweets are those of another person")
    return tuple(notes)


def parameters_of(run: ExperimentRun, **more: Any) -> dict[str, Any]:
    """What all error figures share."""
    return {
        "k": sizes_of(run),
        "differs": list(absent_of(run)),
        "epsilon": EPSILON,
        "delta_of_cdp_peel": DELTA,
        "trials": trials_of(run),
        "seed": run.seed,
        "accounting_of_cdp_peel": "Lemma 4.2",
        **more,
    }


def best_of(rows: Rows, name: str, metric: str) -> NDArray[np.bool_]:
    """At which k Joint has the smallest median of the three; ties count."""
    medians = {m: median(rows, name, m, metric) for m in CORE}
    return np.asarray(medians["Joint"] <= np.minimum.reduce(list(medians.values())))


def shares_of(rows: Rows, names: list[str], metric: str) -> str:
    """How often Joint has the smallest median, in words, by data set."""
    wins = {name: best_of(rows, name, metric) for name in names}
    return ", ".join(f"{name} {int(won.sum())}/{len(won)}" for name, won in wins.items())


def measure_3(run: ExperimentRun) -> Findings:
    """Execution time against k: on Foods, or on the largest set at hand with Foods' size beside."""
    whole = whole_data(run)
    name = "foods" if "foods" in whole else max(whole, key=lambda each: len(whole[each][0]))
    given = {name: whole[name][0]}
    source = whole[name][1]
    if name != "foods":
        given["foods (stand-in)"] = generated_counts(run, "foods")[0]
        source += "; Foods' size is drawn beside it, on made-up counts"
    sizes, trials = run.pick([10, 50, 100, 200], list(range(10, 201, 10))), run.pick(1, 5)
    rows: Rows = []
    for data, counts in given.items():
        draws("Joint", counts, 5, 1, 0)  # compiled kernels are loaded before the clock starts
        for mechanism in CORE:
            for k in sizes:
                run.progress(f"Joint: time of {mechanism} on {data}, k = {k}")
                took = []
                for trial in range(trials):
                    start = clock()
                    draws(mechanism, counts, k, 1, run.seed + trial)
                    took.append(since(start))
                rows.append({"data": data, "d": len(counts), "mechanism": mechanism, "k": k,
                             "seconds": float(np.median(took))})  # fmt: skip
    return Findings({"epsilon": EPSILON, "trials": trials, "judged": name}, rows, source)


def judge_3(measured: Findings) -> Judged:
    """What Section 4.3.3 says."""
    name = measured.parameters["judged"]
    mine = [r for r in measured.results if r["data"] == name]
    took = {m: {r["k"]: r["seconds"] for r in mine if r["mechanism"] == m} for m in CORE}
    joint, pnf, cdp = (took[m] for m in CORE)
    sizes = sorted(joint)
    k = sizes[-1]
    claims = (
        Claim(f"CDP-Peel hardly depends on k ({cdp[sizes[0]]:.3g} s at k = {sizes[0]}, "
              f"{cdp[k]:.3g} s at k = {k})", max(cdp.values()) < 3 * min(cdp.values())),
        Claim(f"PNF-Peel is slower than CDP-Peel, and more so for larger k ({pnf[k]:.3g} s at "
              f"k = {k})", pnf[k] > 2 * cdp[k] and pnf[k] > 2 * pnf[sizes[0]]),
        Claim(f"Joint is slower than PNF-Peel (it takes {joint[k]:.3g} s at k = {k})",
              joint[k] > pnf[k]),
    )  # fmt: skip
    notes = [
        "the paper's Joint needs over a minute at k = 200, because it writes out all d k "
        "utilities; here only those that can matter are visited",
        "the machine is another one",
    ]
    if name != "foods":
        notes.insert(0, f"judged on {name}, d = {mine[0]['d']:,}: Foods is not at hand")
    return Judged(claims, tuple(notes))


def draw_3(measured: Findings) -> Figure:
    """A panel for each data set."""
    names = list(dict.fromkeys(r["data"] for r in measured.results))
    figure, axes = panels(1, len(names), width=8 if len(names) == 1 else 5.6, height=4.4,
                          title="Joint, Figure 3: execution time")  # fmt: skip
    for axis, name in zip(axes, names, strict=True):
        mine = [r for r in measured.results if r["data"] == name]
        for m in CORE:
            own = [(r["k"], r["seconds"]) for r in mine if r["mechanism"] == m]
            draw_curves(axis, {m: Series(*zip(*own, strict=True))}, CORE)
        finish(axis, yscale="log", title=f"{name}, d = {mine[0]['d']:,}", xlabel="k (items)")
    axes[0].set_ylabel("time of one list (seconds)")
    legend(figure, axes)
    return figure
