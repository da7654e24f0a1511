"""The figure of the page on learning: what is learned by default, beside other classifiers."""

from __future__ import annotations

from typing import Any

from benchmark_tables import read

from winnow.show.plots.figures import STYLES, add_axes, as_file, empty_figure

SHOWN = {
    "Winnow's choice, with delta": "Winnow's choice",
    "additive, with delta": "additive model",
    "one rule (conjunctions:2)": "one rule",
    "DP-EBM, with delta": "DP-EBM",
    "diffprivlib naive Bayes": "diffprivlib naive Bayes",
    "diffprivlib forest": "diffprivlib forest",
}


def learning_classifiers() -> bytes:
    """A panel for each epsilon, a line for each set of two classes, a mark for each model."""
    document = read("learning") or {}
    rows = [r for r in (*document["classifiers"], *document["fresh"]) if r["classes"] == 2]
    sets = list(dict.fromkeys(row["data"] for row in rows))
    epsilons = sorted({row["epsilon"] for row in rows})
    figure = empty_figure(15.0, 7.4)
    for place, epsilon in enumerate(epsilons, 1):
        axes = add_axes(figure, (1, len(epsilons), place))
        for number, (model, label) in enumerate(SHOWN.items()):
            found = {r["data"]: 100 * r["accuracy"] for r in rows
                     if r["model"] == model and r["epsilon"] == epsilon}  # fmt: skip
            style: dict[str, Any] = {k: v for k, v in STYLES[number].items() if k != "linestyle"}
            axes.plot(
                [found[name] for name in sets if name in found],
                [i for i, name in enumerate(sets) if name in found],
                linestyle="none", markersize=14 if number == 0 else 8, label=label,
                markeredgecolor="white", alpha=0.95, zorder=3 + number, **style,
            )  # fmt: skip
        axes.set_yticks(range(len(sets)), sets if place == 1 else [""] * len(sets))
        axes.invert_yaxis()
        axes.set_xlabel("accuracy on held-out rows (%)")
        axes.set_title(f"ε = {epsilon:g}", loc="left")
        axes.grid(color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
        if place == 1:
            handles = axes.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=6, frameon=False)
    return as_file(figure, ".png")
