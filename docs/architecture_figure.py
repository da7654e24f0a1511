"""The picture of ARCHITECTURE.md: folders from the commands down to the core."""

from __future__ import annotations

from typing import Any

from winnow.show.plots.figures import as_file, new_figure

BANDS = (
    (
        "cli  serve  audit  show  experiments",
        "what people see, how claims are tested",
        0.905,
    ),
    ("session.py", "several releases under one budget", 0.805),
    ("read   fit", "sources become sealed data; released numbers become distributions", 0.21),
    ("privacy", "events, promises, accountants, budgets, grants, ledger/", 0.11),
    ("core", "relation, utility, schema, workloads, laws, tape, noise, sealed, released", 0.01),
)
CAPABILITIES = (
    "describe",
    "itemsets   learn   ask   lp",
    "numbers   (quantiles, moments, bounds, histogram, regress)",
    "release   (tables, matrices, rounds, graphical)",
    "inner_product",
    "select   (one, the top k, universes, sparse vector)",
)
FILES = (
    ("cli, audit", "the command; claims, broken twins"),
    ("verb", "check, choose, charge, call"),
    ("plan, settings, table", "from public numbers only"),
    ("mechanism", "parameters, guarantee, proof"),
    ("crossing", "opens sealed data with a key"),
    ("kernels", "compiled loops, numbers only"),
)
INK, BLUE, RED = "#1f2933", "#0b3c6f", "#c8452c"


def _box(axes: Any, x: float, y: float, width: float, height: float, **style: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    shape = "round,pad=0,rounding_size=0.012"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, linewidth=1.1, **style))


def architecture() -> bytes:
    """Bands from high to low; in the middle the capabilities, and the files of each."""
    figure, axes = new_figure(height=6.4, width=10.5)
    axes.set(xlim=(-0.005, 1.005), ylim=(0, 1))
    axes.axis("off")
    for name, what, low in BANDS:
        _box(axes, 0.0, low, 1.0, 0.08, facecolor="#eef2f6", edgecolor="#5b6b7b")
        axes.text(0.02, low + 0.04, name, weight="bold", va="center", color=INK)
        axes.text(0.98, low + 0.04, what, va="center", ha="right", color=INK)
    _box(axes, 0.0, 0.31, 1.0, 0.475, facecolor="#fbfcfd", edgecolor="#5b6b7b")
    axes.text(0.02, 0.752, "capabilities", weight="bold", va="center", color=INK)
    for place, names in enumerate(CAPABILITIES):
        low = 0.672 - 0.067 * place
        _box(axes, 0.02, low, 0.43, 0.045, facecolor="#dcebf7", edgecolor=BLUE)
        axes.text(0.235, low + 0.0215, names, va="center", ha="center", color=BLUE)
        if place:
            axes.annotate(
                "", (0.235, low + 0.042), (0.235, low + 0.071), arrowprops={"arrowstyle": "->"}
            )
    axes.text(0.48, 0.752, "in each of them", weight="bold", va="center", color=INK)
    for place, (name, what) in enumerate(FILES):
        y = 0.695 - 0.066 * place
        colour = RED if name == "crossing" else INK
        axes.text(0.48, y, name, weight="bold", va="center", color=colour)
        axes.text(0.98, y, what, va="center", ha="right", color=colour)
        if name == "crossing":
            for edge in (y - 0.032, y + 0.032):
                axes.plot([0.475, 0.985], [edge, edge], color=RED, linestyle="--", linewidth=1.1)
    return as_file(figure, ".png")
