"""Draw the figures of the README and of the pages that no benchmark draws: `make figures`.

Numbers come from benchmarks/*.json, from `winnow.plan`, or from seeded draws on made-up people;
nothing is typed here. The files land in docs/figures and are kept under version control.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from architecture_figure import architecture
from benchmark_tables import read
from learning_figure import learning_classifiers

import winnow as wn
from winnow.select.mechanisms.sparse_vector import SparseVector
from winnow.show.plots.description import draw_description
from winnow.show.plots.figures import STYLES, add_axes, as_file, empty_figure, new_figure
from winnow.show.plots.histogram import draw_histogram
from winnow.show.plots.release import draw_columns
from winnow.show.plots.tables import draw_table

FIGURES = Path(__file__).parent / "figures"
SMALL = {"width": 4.9, "height": 4.0}
"""A figure that is still readable as one of three side by side."""
LARGE = 120_000
"""Pictures with more bytes than this are reduced."""
GREYS = ("#0b3c6f", "#c8452c", "#9a9a9a", "#d9b65c")


def _document(name: str) -> dict[str, Any]:
    document = read(name)
    if document is None:
        sys.exit(f"benchmarks/{name}.json is not there; `make bench` writes it")
    return document


def _lines(axes: Any, xs: Any, ys: Any, place: int, label: str, **more: Any) -> None:
    axes.plot(
        xs, ys, label=label, linewidth=2.2, markersize=7, markeredgecolor="white",
        markeredgewidth=0.7, **{**STYLES[place], **more},
    )  # fmt: skip


def _percent(axes: Any) -> None:
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")


def _finish(figure: Any, axes: Any, title: str, *, grid: str = "both") -> bytes:
    axes.set_title(title, loc="left")
    axes.grid(axis=grid, color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    return as_file(figure, ".png")


def quantiles_by_region() -> bytes:
    """Quartiles of made-up incomes by region, with their intervals."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {"income": rng.lognormal(10, 0.5, 4000), "region": ["north", "south"] * 2000}
    )
    income = {"type": "number", "low": 0, "high": 200_000, "step": 0.01, "clip": True}
    schema = {"income": income, "region": {"values": ["north", "south"]}}
    sealed = wn.read_table(people, schema=schema)
    quartiles = [0.25, 0.5, 0.75]
    found = wn.quantiles(
        sealed, "income", quartiles, by=["region"], level=0.95, epsilon=2, seed=1
    ).value
    figure, axes = new_figure(width=7, height=3.2)
    for place, (region,) in enumerate(found.groups):
        values, low, high = found.values[place], found.low[place], found.high[place]
        heights = np.arange(3) + 0.2 * place
        axes.errorbar(values, heights, xerr=[values - low, high - values], label=region, fmt="o",
                      color=GREYS[place], capsize=4, linewidth=2)  # fmt: skip
    axes.set_yticks(np.arange(3) + 0.1, [f"{100 * q:g} %" for q in quartiles])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set(xlabel="income")
    axes.legend(title="region")
    return _finish(figure, axes, "Quartiles with 95 % intervals, epsilon 2", grid="x")


def histogram_of_incomes() -> bytes:
    """Made-up incomes in bins between private quantiles."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"income": np.r_[rng.lognormal(10, 0.5, 3600), np.full(900, 12_000)]})
    income = {"type": "number", "low": 0, "high": 200_000, "step": 0.01, "clip": True}
    sealed = wn.read_table(people, schema={"income": income})
    found = wn.histogram(sealed, "income", bins=20, split="quantiles", epsilon=1, seed=4)
    return draw_histogram(found.value)


def description_of_people() -> bytes:
    """A first look at four columns of made-up people."""
    rng = np.random.default_rng(0)
    many = 4000
    people = pd.DataFrame(
        {
            "income": rng.lognormal(10, 0.5, many),
            "age": np.clip(rng.normal(45, 16, many), 18, 99).round(),
            "region": rng.choice(["north", "south", "east"], many, p=[0.5, 0.3, 0.2]),
            "owner": rng.choice(["yes", "no"], many, p=[0.35, 0.65]),
        }
    )
    schema = {
        "income": {"type": "number", "low": 0, "high": 100_000, "clip": True},
        "age": {"type": "number", "low": 0, "high": 110},
        "region": {"values": ["north", "south", "east"]},
        "owner": {"values": ["yes", "no"]},
    }
    sealed = wn.read_table(people, schema=schema)
    return draw_description(wn.describe(sealed, epsilon=1, seed=2).value)


def gallery_speed() -> bytes:
    """Nanoseconds per candidate for one pick out of a million, by library."""
    names = {
        "winnow permute-and-flip": "Winnow\n(exact)",
        "numpy gumbel argmax": "NumPy Gumbel\n(not private)",
        "opendp noisy max (permute-and-flip)": "OpenDP",
        "diffprivlib exponential": "diffprivlib",
    }
    found: dict[str, tuple[int, float]] = {}
    for row in _document("selection")["results"]:
        if row["method"] in names and row["scores"] == "normal" and row["d"] <= 10**6:
            found[row["method"]] = (row["d"], row["ns_per_item"])  # the largest that was measured
    figure, axes = new_figure(**SMALL)
    shown = [name for name in names if name in found]
    for place, name in enumerate(shown):
        d, cost = found[name]
        axes.barh(place, cost, height=0.62, color=GREYS[place], edgecolor="#333333", linewidth=0.6)
        axes.text(cost * 1.15, place, f"{cost:.3g} ns", va="center", fontsize=12)
        if d != 10**6:
            names[name] += f"\n(of {d:,})"
    axes.set_yticks(range(len(shown)), [names[name] for name in shown], fontsize=12)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(1, 20 * max(cost for _, cost in found.values()))
    axes.set_xlabel("ns per candidate (log scale), one core", fontsize=12)
    axes.tick_params(axis="y", length=0)
    return _finish(figure, axes, "One private pick of a million", grid="x")


def gallery_top10() -> bytes:
    """The top ten of the demo's event log, released and true."""
    import tempfile

    from winnow.cli.demo_log import DELTA, EPSILON, MOST, K, true_counts, write_log

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        people = true_counts(write_log(log))
        counts = wn.counts(
            log, item="bird", person="person", max_items=MOST, reading=wn.Reading(salt="figure")
        )
    top = wn.top_k(counts, k=K, epsilon=EPSILON, delta=DELTA, with_counts=True, seed=1)
    figure, axes = new_figure(**SMALL)
    places = range(len(top.value))
    axes.barh(places, [noisy for _, noisy in top.value], height=0.7, color=GREYS[0],
              label="released")  # fmt: skip
    axes.scatter([people[bird] for bird, _ in top.value], places, marker="D", s=60,
                 color=GREYS[1], edgecolors="white", linewidths=1.1, zorder=3,
                 label="true")  # fmt: skip
    axes.set_yticks(places, [bird for bird, _ in top.value], fontsize=11)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.08 * max(people.values()))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"made-up people; ε = {EPSILON:g}, δ = {DELTA:g}", fontsize=12)
    axes.legend(loc="lower right", framealpha=1, edgecolor="none", fontsize=11)
    return _finish(figure, axes, "A private top ten, and the truth", grid="x")


def gallery_queries() -> bytes:
    """The largest error of all answers against their number."""
    document = _document("accuracy")
    rows = document["rows"]
    figure, axes = new_figure(**SMALL)
    for place, (way, label) in enumerate(
        (("release", "wn.release"), ("independent", "noise on every answer"),
         ("cells", "noise on every cell"))
    ):  # fmt: skip
        _lines(axes, [row["queries"] for row in rows], [row[way]["max"] for row in rows],
               place, label)  # fmt: skip
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("queries at (1, 1e-6)-DP in all (log scale)", fontsize=12)
    axes.set_ylabel("largest error, % of people (log)", fontsize=12)
    _percent(axes)
    axes.legend(loc="upper left", frameon=False, fontsize=11, handlelength=3)
    axes.set_ylim(top=4 * max(row["independent"]["max"] for row in rows))
    return _finish(figure, axes, "100,000 queries, one synthetic table")


def gallery_table() -> bytes:
    """A table of the demo's people with its intervals, released and true."""
    import tempfile

    from winnow.cli.demo_table import SCHEMA, write_people

    with tempfile.TemporaryDirectory() as folder:
        write_people(Path(folder))
        true = pd.read_csv(Path(folder) / "people.csv", keep_default_na=False)
    by = ["home", "garden"]
    table = wn.read_table(true, schema=SCHEMA)
    cells = wn.tabulate(table, [by], epsilon=0.1, seed=1).to_pandas()
    figure, axes = new_figure(**SMALL)
    places = range(len(cells))
    sizes = true.groupby(by).size()
    truth = [int(sizes.get((row.home, row.garden), 0)) for row in cells.itertuples()]
    axes.barh(places, cells.estimate, height=0.7, color=GREYS[0], label="released")
    axes.errorbar(cells.estimate, places, fmt="none", ecolor=GREYS[2], elinewidth=2, capsize=3,
                  xerr=(cells.estimate - cells.low, cells.high - cells.estimate),
                  label="95 % interval")  # fmt: skip
    axes.scatter(truth, places, marker="D", s=40, color=GREYS[1], edgecolors="white",
                 linewidths=1.1, zorder=3, label="true")  # fmt: skip
    axes.set_yticks(places, [f"{row.home}, {row.garden}" for row in cells.itertuples()],
                    fontsize=11)  # fmt: skip
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"{len(true):,} made-up people; ε = 0.1", fontsize=12)
    axes.legend(loc="lower right", framealpha=1, edgecolor="none", fontsize=11)
    return _finish(figure, axes, "A table with its intervals", grid="x")


def selection_chances() -> bytes:
    """The chance that the best of a thousand wins, for every noise."""
    from winnow.cli.comparison import chance_curves, compared
    from winnow.show.plots.curves import draw_chances

    plans = compared(0.0, None, {"gaps": 30, "candidates": 1000, "epsilon": 0.3, "monotone": True})
    return draw_chances(
        chance_curves(plans), title="1,000 candidates, all others 30 people behind (add-remove)"
    )


def sparse_vector_error() -> bytes:
    """How far a value must be from the threshold, against the number of questions."""
    counts = wn.Utility.declare(1, monotone=True)
    sizes = [10**p for p in range(1, 7)]
    figure, axes = new_figure()
    for place, cutoff in enumerate((1, 5, 20)):
        b1, b2 = SparseVector(epsilon=1.0, threshold=0, cutoff=cutoff).scales(counts)
        alphas = [float(b1) * log(40) + float(b2) * log(40 * m) for m in sizes]
        _lines(axes, sizes, alphas, place, f"sparse vector, cutoff {cutoff}")
    _lines(axes, sizes, [m * log(m / 0.05) for m in sizes], 3, "Laplace noise on every value")
    axes.set(xscale="log", yscale="log", xlabel="questions (log scale)",
             ylabel="safe distance from the threshold, people (log)")  # fmt: skip
    axes.set_ylim(10, 3e4)
    axes.legend(loc="upper left", frameon=False, handlelength=4)
    return _finish(figure, axes, "Counts, ε = 1: all reports right with probability 0.95")


def wide_accuracy() -> bytes:
    """Distances of 2-way tables by data set and loop, at epsilon 1."""
    rows = [row for row in _document("wide")["results"] if row["epsilon"] == 1]
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, axes = new_figure(height=1.2 + 0.75 * len(names))
    loops = ("wn.Graphical", "AIM", "independent columns")
    for offset, (loop, colour) in enumerate(
        zip(loops, (GREYS[0], GREYS[2], GREYS[3]), strict=True)
    ):
        found = {
            name: [r["mean_2way"] for r in rows if (r["data"], r["loop"]) == (name, loop)]
            for name in names
        }
        places = [place + 0.28 * offset for place, name in enumerate(names) if found[name]]
        means = [sum(found[name]) / len(found[name]) for name in names if found[name]]
        axes.barh(places, means, height=0.26, color=colour, label=loop,
                  edgecolor="#333333", linewidth=0.6)  # fmt: skip
        for place, mean in zip(places, means, strict=True):
            axes.text(mean + 0.002, place, f"{mean:.3f}", va="center", fontsize=10)
    axes.set_yticks([place + 0.28 for place in range(len(names))], names)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.2 * max(row["mean_2way"] for row in rows if row["loop"] in loops))
    axes.set_xlabel("mean total variation distance from the true 2-way tables")
    axes.legend(loc="best", frameon=False)
    return _finish(figure, axes, "Wide tables, (1, 1e-9)-DP", grid="x")


def wide_rounds() -> bytes:
    """The time of a round against the queries, and against the cells where the queries stay."""
    rows = _document("sublinear")["rows"]
    figure = empty_figure(11, 4.4)
    left, right = (add_axes(figure, (1, 2, place)) for place in (1, 2))
    arms = (
        ("all", "all tables looked at in every round"),
        ("few", "only those that say something new"),
    )
    for place, (looks, label) in enumerate(arms):
        for axes, series, key in ((left, "queries", "queries"), (right, "cells", "log10_cells")):
            mine = [r for r in rows if (r["series"], r["looks"]) == (series, looks)]
            if mine:
                xs, ys = [r[key] for r in mine], [1e3 * r["round_seconds"] for r in mine]
                _lines(axes, xs, ys, place, label)
    sizes = sorted({r["queries"] for r in rows if r["series"] == "queries"})
    powers = sorted({r["log10_cells"] for r in rows if r["series"] == "cells"})
    left.set(xscale="log", yscale="log", xlabel="queries m (log), all pairs of columns",
             ylabel="CPU ms of a round (log)")  # fmt: skip
    left.set_xticks(sizes, [f"{m:,}" for m in sizes])
    right.set(yscale="log", ylim=left.get_ylim(), xlabel="cells (log)")
    right.set_xticks(powers, [f"$10^{{{power:.0f}}}$" for power in powers])
    left.minorticks_off()
    right.set_title(f"{sizes[0]:,} queries, more cells", loc="left")
    right.grid(color="#dddddd", linewidth=0.8)
    left.legend(loc="upper left", frameon=False, handlelength=3)
    return _finish(figure, left, "More queries")


def mips_certified() -> bytes:
    """What a head misses and what can be certified about it, by index."""
    document = _document("mips")
    sizes: dict[str, set[int]] = {}
    for row in document["rows"]:
        sizes.setdefault(row["index"], set()).add(row["m"])
    largest = max(set.intersection(*sizes.values()))  # that all were built for
    at = [row for row in document["rows"] if row["m"] == largest]
    rows = [row for row in at if "c_known" in row and row["index"] != "flat"]
    figure, axes = new_figure(height=4.6)
    labels = [f"{row['index']}, n = {row['n']:,}" for row in rows]
    places = range(len(rows))
    for key, mark, label in (("c_true", 0, "true"), ("c_known", 1, "certified")):
        style = STYLES[mark]
        axes.scatter([row[key] for row in rows], places, s=90, marker=style["marker"],
                     color=style["color"], edgecolors="white", label=f"{label} gap c")  # fmt: skip
    axes.axvline(document["epsilon_0"] / 2, color="#333333", linewidth=1.4,
                 label="what all of a round's ε would pay for")  # fmt: skip
    axes.set_yticks(places, labels)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlabel("scores outside the head above its least, in nats (log scale)")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=11)
    return _finish(figure, axes, "Approximate indices: the gap is never cheap")


def interactive_errors() -> bytes:
    """The largest error of a session against how many questions it is sized for."""
    sessions = _document("interactive")["sessions"]
    asked = max(row["asked"] for row in sessions)
    rows = sorted(
        {row["k"]: row for row in sessions if row["asked"] == min(asked, row["k"])}.values(),
        key=lambda row: row["k"],
    )
    figure, axes = new_figure()
    names = {
        "independent": "noise on every answer",
        "default": "session",
        "no tables": "session, warm_start=0",
        "proved threshold": "session, one threshold",
        "printed constants": "session, printed constants",
    }
    for place, (name, label) in enumerate(names.items()):
        known = [row for row in rows if name in row]
        if known:
            _lines(axes, [r["k"] for r in known], [r[name]["max"] for r in known], place, label)
    axes.set(xscale="log", yscale="log", xlabel="questions that it is sized for (log scale)",
             ylabel="largest error, % of the rows (log scale)")  # fmt: skip
    _percent(axes)
    axes.set_ylim(top=2)
    axes.legend(loc="upper left", frameon=False, handlelength=4, ncols=2)
    return _finish(figure, axes, "ADULT, random conjunctions, (1, 1e-6)-DP")


def front_synthetic() -> bytes:
    """The columns of a synthetic table, from a seeded draw on made-up people."""
    count = 4000
    people = {
        "age": [18 + min(i * i % 83, i * 7 % 83) for i in range(count)],
        "home": [("flat", "house", "farm")[i * i % 17 % 3] for i in range(count)],
        "feeds birds": [("yes", "no")[i * i % 23 % 5 > 1] for i in range(count)],
    }
    schema = {
        "age": {"edges": [18, 30, 40, 50, 60, 101]},
        "home": {"values": ["flat", "house", "farm"]},
        "feeds birds": {"values": ["yes", "no"]},
    }
    table = wn.read_table(pd.DataFrame(people), schema=schema)
    released = wn.release(table, wn.marginals(2), epsilon=1.0, delta=1e-6, seed=1)
    return draw_columns(released.value)


def tables_heat() -> bytes:
    """The table at the top of the page on tables, from a seeded draw."""
    people = {
        "age": [18 + (i * i) % 62 for i in range(4000)],
        "town": [("north", "east", "south", "west")[(i * i) % 97 % 4] for i in range(4000)],
    }
    schema = {
        "age": {"edges": [0, 30, 40, 50, 60, 120]},
        "town": {"values": ["north", "east", "south", "west"]},
    }
    table = wn.read_table(pd.DataFrame(people), schema=schema)
    released = wn.tabulate(table, ["age", "town"], epsilon=1.0, seed=1)
    title = f"4,000 made-up people: {released.guarantee}"
    return draw_table(released.value.tables[0], title=title)


FIGURES_DRAWN: tuple[Callable[[], bytes], ...] = (
    architecture,
    gallery_speed,
    gallery_top10,
    gallery_queries,
    gallery_table,
    selection_chances,
    sparse_vector_error,
    wide_accuracy,
    wide_rounds,
    mips_certified,
    interactive_errors,
    tables_heat,
    front_synthetic,
    quantiles_by_region,
    histogram_of_incomes,
    description_of_people,
    learning_classifiers,
)


def shrink(path: Path) -> None:
    """Keep 96 colours of a large picture, whoever drew it: lines and text need no more."""
    from PIL import Image

    with Image.open(path) as image:
        if path.stat().st_size < LARGE or image.mode == "P":
            return
        few = image.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(f"{path.name}: now {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Draw all of them, or those that are named; then make large files in the folder smaller."""
    wanted = sys.argv[1:]
    for make in FIGURES_DRAWN:
        if wanted and make.__name__ not in wanted:
            continue
        path = FIGURES / f"{make.__name__}.png"
        path.write_bytes(make())
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    for path in sorted(FIGURES.glob("*.png")):
        shrink(path)


if __name__ == "__main__":
    main()
