"""Joint, Figures 1, 2, 4, 5 and 6, and all of its experiments in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winnow.experiments.drawing import draw_curves, finish, legend, panels
from winnow.experiments.experiment import Claim, Experiment, ExperimentRun, Findings, Judged, Rows
from winnow.experiments.joint_runs import (
    CORE,
    LARGE_GAPS,
    NAMES,
    absent_of,
    all_errors,
    best_of,
    curves_of,
    data_of,
    draw_3,
    errors_on,
    judge_3,
    measure_3,
    median,
    names_in,
    of_mechanisms,
    parameters_of,
    shares_of,
    sizes_in,
    source_of,
    whole_data,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def judge_1(measured: Findings) -> Judged:
    """What Section 4.3.1 and 4.3.2 say."""
    rows, names, sizes = of_mechanisms(measured), names_in(measured), sizes_in(measured)
    behind = sum(
        int((median(rows, n, "Joint", "l_infinity") > median(rows, n, "PNF-Peel", "l_infinity"))
            .sum())
        for n in names
    )  # fmt: skip
    points = len(names) * len(sizes)
    claims = [
        Claim(
            f"Joint's median l_inf error is at most PNF-Peel's, at {points - behind} of {points} "
            "points",
            behind <= points // 20,
        )
    ]
    for name in names:
        won = best_of(rows, name, "l_infinity")
        if name in LARGE_GAPS:
            share = f"{int(won.sum())} of {len(won)} k"
            claims.append(Claim(f"Joint has the least l_inf error on {name} ({share})",
                                won.mean() >= 0.6))  # fmt: skip
        else:
            small, large = won[sizes <= 30], won[sizes > 60]
            claims.append(
                Claim(
                    f"on {name} Joint leads up to k of about 30 ({int(small.sum())} of "
                    f"{len(small)}) and CDP-Peel leads for large k ({int((~large).sum())} of "
                    f"{len(large)} beyond 60)",
                    bool(small.all() and not large.any()),
                )
            )
    claims += _l_1_claims(rows, names, sizes)
    notes = (
        *measured.parameters["differs"],
        "CDP-Peel runs with Gumbel(1/eps') as Lemma 4.2 needs, the printed Algorithm 3 has k "
        "times that noise",
    )
    return Judged(tuple(claims), notes)


def draw_1(measured: Findings) -> Figure:
    """Gaps between counts, l_infinity error and l_1 error."""
    data = [r for r in measured.results if "gaps" in r]
    figure, axes = panels(
        len(data), 3, height=2.7,
        title=f"Joint, Figure 1: top-k lists at ε = 1 (CDP-Peel: δ = 1e-6), median of "
        f"{measured.parameters['trials']} trials, quartiles shaded",
    )  # fmt: skip
    rows = of_mechanisms(measured)
    for i, each in enumerate(data):
        gaps, left, right = axes[3 * i : 3 * i + 3]
        places = np.arange(1, len(each["gaps"]) + 1)
        gaps.plot(places, np.array(each["gaps"]) + 1, color="#333333", linewidth=1.2)
        finish(gaps, yscale="log", ylabel=f"{each['label']}\ngap + 1 (counts)")
        for axis, metric, label in ((left, "l_infinity", "l∞"), (right, "l_1", "l1")):
            draw_curves(axis, curves_of(rows, each["data"], metric, 1.0), NAMES)
            finish(axis, yscale="log", ylabel=f"{label} error + 1")
        if i == len(data) - 1:
            for axis in (gaps, left, right):
                axis.set_xlabel("k (items)")
    axes[0].set_title("gaps of the counts")
    axes[1].set_title("l∞ error (counts)")
    axes[2].set_title("l1 error (counts)")
    legend(figure, axes)
    return figure


def _l_1_claims(rows: Rows, names: list[str], sizes: NDArray[Any]) -> list[Claim]:
    """Section 4.3.2: best for small k everywhere, and mostly where gaps are large."""
    won = {name: best_of(rows, name, "l_1") for name in names}
    small = all(bool(w[sizes <= 15].all()) for w in won.values())
    large = [w.mean() for name, w in won.items() if name in LARGE_GAPS]
    said = shares_of(rows, names, "l_1")
    claims = [Claim("Joint has the least l_1 error for small k (up to 15) on all data", small)]
    if large:
        claims.append(
            Claim(
                f"Joint largely has the least l_1 error where gaps are large (at {said} of the k)",
                min(large) >= 0.6,
            )
        )
    return claims


def judge_2(measured: Findings) -> Judged:
    """What Section 4.3.1 says of the place of the largest error.

    Where few lists err, the median place of those few says nothing: only points count at which
    at least half of the lists err.
    """
    rows, names = of_mechanisms(measured), names_in(measured)
    most = measured.parameters["trials"]
    back = {m: {n: _back(rows, n, m, most) for n in names} for m in CORE}
    seen = {m: [b for b in back[m].values() if b is not None] for m in CORE}
    least = {m: min(seen[m], default=1.0) for m in CORE}
    where = {m: f"{len(seen[m])} of {len(names)} data sets" for m in CORE}
    joint, pnf, cdp = CORE
    claims = (
        Claim(
            "the place of Joint's largest error moves monotonically as k grows: it never falls "
            f"below 60 % of an earlier one (to {least[joint]:.0%}; {where[joint]} have lists that "
            "err at enough k)",
            bool(seen[joint]) and least[joint] >= 0.6,
        ),
        Claim(
            f"that of PNF-Peel, and less so that of CDP-Peel, may (to {least[pnf]:.0%} and "
            f"{least[cdp]:.0%}; {where[pnf]} and {where[cdp]})",
            bool(seen[pnf] and seen[cdp]) and least[pnf] < 0.6 and least[pnf] <= least[cdp],
        ),
    )
    notes = (
        *measured.parameters["differs"],
        "only k count at which at least half of the lists err; in the figure the place of a list "
        "without error is the first",
    )
    return Judged(claims, notes)


def _back(rows: Rows, data: str, mechanism: str, trials: int) -> float | None:
    """The least part of an earlier place to which the place of the largest error falls.

    None if there are not two k at which enough lists err.
    """
    mine = [r for r in rows if r["data"] == data and r["mechanism"] == mechanism]
    errs_at = [r["index_where_it_errs"] for r in mine if 2 * r["lists_that_err"] >= trials]
    if len(errs_at) < 2:
        return None
    places = 1 + np.array(errs_at)
    return float((places / np.maximum.accumulate(places)).min())


def judge_5(measured: Findings) -> Judged:
    """What Appendix C.2 says."""
    rows, names, sizes = of_mechanisms(measured), names_in(measured), sizes_in(measured)
    against: dict[str, dict[str, NDArray[np.bool_]]] = {
        rival: {
            name: np.asarray(
                median(rows, name, "Joint", "k_relative") <= median(rows, name, rival, "k_relative")
            )
            for name in names
        }
        for rival in CORE[1:]
    }
    matched = sum(int(each.sum()) for each in against[CORE[1]].values())
    points = len(names) * len(sizes)
    claims = [
        Claim(
            f"Joint matches PNF-Peel or does better, at {matched} of {points} points",
            matched >= 0.95 * points,
        )
    ]
    for name, at_least in against[CORE[2]].items():
        share = f"{int(at_least.sum())} of {len(at_least)} k, ties included"
        if name in LARGE_GAPS:
            claims.append(Claim(f"on {name} Joint mostly does as well as CDP-Peel or better "
                                f"({share})", at_least.mean() >= 0.5))  # fmt: skip
        else:
            behind = ~at_least[sizes > 30]
            claims.append(Claim(f"on {name} CDP-Peel is mostly ahead of Joint unless k is small "
                                f"(at {int(behind.sum())} of {len(behind)} k beyond 30)",
                                behind.mean() >= 0.5))  # fmt: skip
    return Judged(tuple(claims), tuple(measured.parameters["differs"]))


def draw_2(measured: Findings) -> Figure:
    """The place of the largest error, on each data set."""
    title = "Joint, Figure 2: where the largest error of a list is"
    return _grid(measured, "index", "place of the largest error + 1 (rank)", title)


def draw_5(measured: Findings) -> Figure:
    """The k-relative error, on each data set."""
    title = "Joint, Figure 5: how far the worst item lies behind the k-th best"
    return _grid(measured, "k_relative", "k-relative error + 1 (counts)", title)


def _grid(measured: Findings, metric: str, label: str, title: str) -> Figure:
    data, rows = [r for r in measured.results if "gaps" in r], of_mechanisms(measured)
    columns = 2 if len(data) <= 4 else 3
    figure, axes = panels(-(-len(data) // columns), columns, title=title)
    for axis, each in zip(axes, data, strict=False):
        draw_curves(axis, curves_of(rows, each["data"], metric, 1.0), NAMES)
        finish(axis, yscale="log", title=f"{each['label']}, d = {each['d']:,}", xlabel="k (items)")
    for i in range(0, len(axes), columns):
        axes[i].set_ylabel(label)
    for axis in axes[len(data) :]:
        axis.set_axis_off()
    legend(figure, axes)
    return figure


def measure_4(run: ExperimentRun) -> Findings:
    """How many items have which count."""
    rows: Rows = []
    for name, (counts, _) in whole_data(run).items():
        edges = np.geomspace(1, counts[0] + 2, 31)
        number, _ = np.histogram(counts + 1, edges)
        rows.append({"data": name, "edges": edges.tolist(), "items": number.tolist(),
                     "median": float(np.median(counts)), "largest": int(counts[0])})  # fmt: skip
    return Findings({"bins": 30, "differs": list(absent_of(run))}, rows,
                    source_of(run, whole=True))  # fmt: skip


def judge_4(measured: Findings) -> Judged:
    """What the histograms show."""
    parts = {r["data"]: r["median"] / r["largest"] for r in measured.results}
    claims = (Claim("most items have small counts and few make up the top (the median count is at "
                    f"most {max(parts.values()):.2%} of the largest)",
                    bool(parts) and max(parts.values()) < 0.1),)  # fmt: skip
    return Judged(claims, (*measured.parameters["differs"],
                           "bins are equally wide on the logarithmic axis"))  # fmt: skip


def draw_4(measured: Findings) -> Figure:
    """A histogram for each data set."""
    rows = measured.results
    columns = 2 if len(rows) <= 4 else 3
    figure, axes = panels(-(-len(rows) // columns), columns, height=3.0,
                          title="Joint, Figure 4: how many items have which count")  # fmt: skip
    for axis, row in zip(axes, rows, strict=False):
        axis.stairs(row["items"], row["edges"], fill=True, color="#0b3c6f")
        finish(axis, xscale="log", yscale="log", title=row["data"], xlabel="count + 1")
        axis.set_ylim(bottom=0.5)
    for i in range(0, len(axes), columns):
        axes[i].set_ylabel("items in the bin")
    for axis in axes[len(rows) :]:
        axis.set_axis_off()
    return figure


def measure_6(run: ExperimentRun) -> Findings:
    """All metrics, with the Gamma and Laplace mechanisms."""
    name = "movies" if "movies" in data_of(run) else next(iter(data_of(run)))
    rows = errors_on(run, name, NAMES)
    differs = [note for note in absent_of(run) if note.startswith(f"{name} ")]
    return Findings(parameters_of(run, data=name, differs=differs), rows, data_of(run)[name][1])


def judge_6(measured: Findings) -> Judged:
    """What Appendix C.3 says."""
    name, rows = measured.parameters["data"], measured.results
    medians = {m: median(rows, name, m, "l_infinity") for m in NAMES}
    gamma, halved = (int((medians[m] >= medians["PNF-Peel"]).sum()) for m in (NAMES[3], NAMES[5]))
    laplace = int((medians["Laplace"] >= medians["CDP-Peel (Lemma 4.2)"]).sum())
    points = len(medians["Joint"])
    gain = medians["Gamma"].sum() / max(1.0, medians[NAMES[5]].sum())
    claims = (
        Claim("PNF-Peel dominates Gamma in l_inf, with the authors' sensitivity 1, at "
              f"{gamma} of {points} k (with our halved one at {halved})", gamma == points),
        Claim(f"CDP-Peel dominates Laplace in l_inf, at {laplace} of {points} k",
              laplace == points),
    )  # fmt: skip
    notes = [
        f"halving the sensitivity, as only differences of counts matter, divides Gamma's error by "
        f"{gain:.2g} in all",
        "Laplace is one draw of scale k/epsilon for all items",
        *measured.parameters["differs"],
    ]
    if name != "movies":
        notes.insert(0, f"{name} is in the place of Movies, which is not at hand")
    return Judged(claims, tuple(notes))


def draw_6(measured: Findings) -> Figure:
    """A panel for each metric."""
    name = measured.parameters["data"]
    place = "" if name == "movies" else " in place of Movies"
    title = f"Joint, Figure 6: all methods on {name}{place}, ε = 1"
    figure, axes = panels(1, 3, height=4.2, title=title)
    labels = {"l_infinity": "l∞ error", "l_1": "l1 error", "k_relative": "k-relative error"}
    for axis, (metric, label) in zip(axes, labels.items(), strict=True):
        draw_curves(axis, curves_of(measured.results, name, metric, 1.0), NAMES)
        finish(axis, yscale="log", title=label, xlabel="k (items)")
    axes[0].set_ylabel("median error + 1 (counts)")
    legend(figure, axes, 3)
    return figure


EXPERIMENTS = (
    Experiment("1", "Gaps, l_inf error and l_1 error", all_errors, judge_1, draw_1, (12, 1600)),
    Experiment("2", "Place of the largest error", all_errors, judge_2, draw_2, (1, 2), "1"),
    Experiment("3", "Execution time", measure_3, judge_3, draw_3, (4, 120)),
    Experiment("4", "Histograms of item counts", measure_4, judge_4, draw_4, (1, 2)),
    Experiment("5", "k-relative error", all_errors, judge_5, draw_5, (1, 2), "1"),
    Experiment("6", "Gamma and Laplace as well", measure_6, judge_6, draw_6, (1, 60)),
)  # fmt: skip
