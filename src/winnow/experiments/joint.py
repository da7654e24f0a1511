"""Joint, Figures 1, 2, 4, 5 and 6, and all of its experiments in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winnow.experiments.drawing import draw_curves, finish, legend, panels
from winnow.experiments.experiment import Claim, Experiment, Reproduced, Run
from winnow.experiments.joint_runs import (
    CORE,
    LARGE_GAPS,
    NAMES,
    absent_of,
    all_errors,
    best_of,
    curves_of,
    data_of,
    errors_on,
    figure_3,
    median,
    parameters_of,
    shares_of,
    sizes_of,
    source_of,
    trials_of,
    whole_data,
)
from winnow.experiments.sources import GENERATED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_1(run: Run) -> Reproduced:
    """Gaps between counts, l_infinity error and l_1 error."""
    rows = all_errors(run)
    sizes = np.array(sizes_of(run))
    behind = sum(
        int((median(rows, n, "Joint", "l_infinity") > median(rows, n, "PNF-Peel", "l_infinity"))
            .sum())
        for n in data_of(run)
    )  # fmt: skip
    points = len(data_of(run)) * len(sizes)
    claims = [
        Claim(
            f"Joint's median l_inf error is at most PNF-Peel's, at {points - behind} of {points} "
            "points",
            behind <= points // 20,
        )
    ]
    for name in data_of(run):
        won = best_of(rows, name, "l_infinity")
        if name in LARGE_GAPS:
            share = f"{int(won.sum())} of {len(won)} k"
            claims.append(Claim(f"Joint has the least l_inf error on {name} ({share})",
                                won.mean() >= 0.6))  # fmt: skip
        else:
            small, large = won[sizes <= 30], won[sizes > 60]
            claims.append(
                Claim(
                    f"on {name} Joint leads up to k of about 30 and CDP-Peel leads for large k",
                    bool(small.all() and not large.any()),
                )
            )
    claims += _l_1_claims(run, rows)
    notes = (
        *absent_of(run),
        "CDP-Peel runs with Gumbel(1/eps') as Lemma 4.2 needs, the printed Algorithm 3 has k "
        "times that noise",
    )

    def draw() -> Figure:
        data = data_of(run)
        figure, axes = panels(
            len(data), 3, height=2.7,
            title=f"Joint, Figure 1: top-k lists at ε = 1 (CDP-Peel: δ = 1e-6), median of "
            f"{trials_of(run)} trials, quartiles shaded",
        )  # fmt: skip
        for i, (name, (counts, _)) in enumerate(data.items()):
            gaps, left, right = axes[3 * i : 3 * i + 3]
            places = np.arange(1, min(200, len(counts)))
            gaps.plot(
                places, counts[places - 1] - counts[places] + 1, color="#333333", linewidth=1.2
            )
            finish(gaps, yscale="log", ylabel=f"{name}\ngap + 1 (counts)")
            for axis, metric, label in ((left, "l_infinity", "l∞"), (right, "l_1", "l1")):
                draw_curves(axis, curves_of(rows, name, metric, 1.0), CORE)
                finish(axis, yscale="log", ylabel=f"{label} error + 1")
            if i == len(data) - 1:
                for axis in (gaps, left, right):
                    axis.set_xlabel("k (items)")
        axes[0].set_title("gaps of the counts")
        axes[1].set_title("l∞ error (counts)")
        axes[2].set_title("l1 error (counts)")
        legend(figure, axes)
        return figure

    parameters = parameters_of(run, k=sizes_of(run))
    return Reproduced(parameters, rows, source_of(run), tuple(claims), notes, draw)


def _l_1_claims(run: Run, rows: list[dict[str, Any]]) -> list[Claim]:
    """Section 4.3.2: best for small k everywhere, and mostly where gaps are large."""
    sizes = np.array(sizes_of(run))
    won = {name: best_of(rows, name, "l_1") for name in data_of(run)}
    small = all(bool(w[sizes <= 15].all()) for w in won.values())
    large = [w.mean() for name, w in won.items() if name in LARGE_GAPS]
    said = shares_of(run, rows, "l_1")
    claims = [Claim("Joint has the least l_1 error for small k (up to 15) on all data", small)]
    if large:
        claims.append(
            Claim(
                f"Joint largely has the least l_1 error where gaps are large (at {said} of the k)",
                min(large) >= 0.6,
            )
        )
    return claims


def figure_2(run: Run) -> Reproduced:
    """Where in the list the largest error is."""
    rows = all_errors(run)
    back = {m: min(_back(rows, n, m) for n in data_of(run)) for m in CORE}
    claims = (
        Claim(
            "the place of Joint's largest error hardly moves back as k grows: the median over "
            f"lists that err falls to {back[CORE[0]]:.0%} of an earlier one at most",
            back[CORE[0]] >= 0.6,
        ),
        Claim(
            f"that of PNF-Peel, and less so that of CDP-Peel, may (to {back[CORE[1]]:.0%} and "
            f"{back[CORE[2]]:.0%})",
            back[CORE[1]] < 0.6 and back[CORE[1]] <= back[CORE[2]],
        ),
    )
    notes = (*absent_of(run), "where no list errs the place is the first")
    return Reproduced(
        parameters_of(run, k=sizes_of(run)), rows, source_of(run), claims, notes,
        lambda: _grid(run, rows, "index", "place of the largest error + 1 (rank)",
                      "Joint, Figure 2: where the largest error of a list is"),
    )  # fmt: skip


def _back(rows: list[dict[str, Any]], data: str, mechanism: str) -> float:
    """The least part of an earlier place to which the place of the largest error falls."""
    mine = [r for r in rows if r["data"] == data and r["mechanism"] == mechanism]
    found = [r["index_where_it_errs"] for r in mine if r["index_where_it_errs"] is not None]
    places = 1 + np.array(found)
    return float((places / np.maximum.accumulate(places)).min(initial=1.0))


def figure_5(run: Run) -> Reproduced:
    """k-relative error."""
    rows = all_errors(run)
    points = sum(len(sizes_of(run)) for _ in data_of(run))
    against: dict[str, dict[str, NDArray[np.bool_]]] = {
        rival: {
            name: np.asarray(
                median(rows, name, "Joint", "k_relative") <= median(rows, name, rival, "k_relative")
            )
            for name in data_of(run)
        }
        for rival in CORE[1:]
    }
    matched = sum(int(each.sum()) for each in against[CORE[1]].values())
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
            behind = ~at_least & (np.array(sizes_of(run)) > 30)
            claims.append(Claim(f"on {name} CDP-Peel is ahead of Joint at larger k (Joint is level "
                                f"or ahead at {share})", bool(behind.any())))  # fmt: skip
    return Reproduced(
        parameters_of(run, k=sizes_of(run)), rows, source_of(run), tuple(claims), absent_of(run),
        lambda: _grid(run, rows, "k_relative", "k-relative error + 1 (counts)",
                      "Joint, Figure 5: how far the worst item lies behind the k-th best"),
    )  # fmt: skip


def _grid(run: Run, rows: list[dict[str, Any]], metric: str, label: str, title: str) -> Figure:
    data = data_of(run)
    columns = 2 if len(data) <= 4 else 3
    lines = -(-len(data) // columns)
    figure, axes = panels(lines, columns, title=title)
    for axis, (name, (counts, _)) in zip(axes, data.items(), strict=False):
        draw_curves(axis, curves_of(rows, name, metric, 1.0), CORE)
        finish(axis, yscale="log", title=f"{name}, d = {len(counts):,}", xlabel="k (items)")
    for i in range(0, len(axes), columns):
        axes[i].set_ylabel(label)
    for axis in axes[len(data) :]:
        axis.set_axis_off()
    legend(figure, axes)
    return figure


def figure_4(run: Run) -> Reproduced:
    """How many items have which count."""
    rows: list[dict[str, Any]] = []
    for name, (counts, _) in whole_data(run).items():
        edges = np.geomspace(1, counts[0] + 2, 31)
        number, _ = np.histogram(counts + 1, edges)
        rows.append({"data": name, "edges": edges.tolist(), "items": number.tolist()})

    def draw() -> Figure:
        data = whole_data(run)
        columns = 2 if len(data) <= 4 else 3
        figure, axes = panels(-(-len(data) // columns), columns, height=3.0,
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

    skewed = all(np.median(counts) < 0.1 * counts[0] for counts, _ in whole_data(run).values())
    claims = (Claim("most items have small counts and few make up the top", skewed),)
    notes = (*absent_of(run), "bins are equally wide on the logarithmic axis")
    return Reproduced({"bins": 30}, rows, source_of(run, whole=True), claims, notes, draw)


def figure_6(run: Run) -> Reproduced:
    """All metrics, with the Gamma and Laplace mechanisms."""
    name = "movies" if "movies" in data_of(run) else next(iter(data_of(run)))
    rows = errors_on(run, name, NAMES)
    medians = {m: median(rows, name, m, "l_infinity") for m in NAMES}
    gamma = int((medians["Gamma"] >= medians["PNF-Peel"]).sum())
    laplace = int((medians["Laplace"] >= medians["CDP-Peel (Lemma 4.2)"]).sum())
    points = len(sizes_of(run))
    claims = (
        Claim(f"PNF-Peel dominates Gamma in l_inf, at {gamma} of {points} k", gamma == points),
        Claim(f"CDP-Peel dominates Laplace in l_inf, at {laplace} of {points} k",
              laplace == points),
    )  # fmt: skip
    notes = [
        *(note for note in absent_of(run) if note.startswith(f"{name} ")),
        "Laplace is one draw of scale k/epsilon for all items",
    ]
    if name != "movies":
        notes.insert(0, f"{name} stands in for Movies, which is not at hand")
    elif GENERATED in data_of(run)[name][1]:
        notes.insert(0, "Movies is a generated stand-in")
    if run.quick:
        notes.append("with fewer items than in the paper Gamma has less noise, which grows with d")

    def draw() -> Figure:
        figure, axes = panels(1, 3, height=4.2,
                              title=f"Joint, Figure 6: all methods on {name}, ε = 1")  # fmt: skip
        labels = {"l_infinity": "l∞ error", "l_1": "l1 error", "k_relative": "k-relative error"}
        for axis, (metric, label) in zip(axes, labels.items(), strict=True):
            draw_curves(axis, curves_of(rows, name, metric, 1.0), NAMES)
            finish(axis, yscale="log", title=label, xlabel="k (items)")
        axes[0].set_ylabel("median error + 1 (counts)")
        legend(figure, axes, 5)
        return figure

    source = data_of(run)[name][1]
    parameters = parameters_of(run, k=sizes_of(run))
    return Reproduced(parameters, rows, source, claims, tuple(notes), draw)


EXPERIMENTS = (
    Experiment("1", "Gaps, l_inf error and l_1 error", figure_1, (12, 1600)),
    Experiment("2", "Place of the largest error", figure_2, (1, 2), "1"),
    Experiment("3", "Execution time", figure_3, (2, 60)),
    Experiment("4", "Histograms of item counts", figure_4, (1, 2)),
    Experiment("5", "k-relative error", figure_5, (1, 2), "1"),
    Experiment("6", "Gamma and Laplace as well", figure_6, (1, 60)),
)
