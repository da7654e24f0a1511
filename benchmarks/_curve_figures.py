"""Pictures of the curves: one for each verb, time and memory against the axis."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

COLOURS = ("#10406b", "#c0392b", "#2e8b57", "#b8860b", "#7d3c98", "#17808a", "#8c510a", "#555555",
           "#d6559b", "#6aa84f", "#3d85c6")  # fmt: skip
MARKS = "os^Dv<>PxdX"
WIDE = 40
"""An axis whose ends are further apart than this factor is logarithmic."""


def draw(curves: list[dict[str, Any]], folder: Path) -> None:
    """One picture for each verb: a column for each axis, time above memory."""
    folder.mkdir(parents=True, exist_ok=True)
    for verb, own in groupby(sorted(curves, key=lambda c: str(c["verb"])), lambda c: c["verb"]):
        of_axis: dict[str, list[dict[str, Any]]] = {}
        for curve in own:
            of_axis.setdefault(curve["axis"], []).append(curve)
        lines = [curve for each in of_axis.values() for curve in each]
        methods = {name: n for n, name in enumerate(dict.fromkeys(c["method"] for c in lines))}
        wide = len(of_axis)
        figure, axes = plt.subplots(2, wide, figsize=(1.2 + 4.2 * wide, 7), squeeze=False)
        for place, (axis, here) in enumerate(of_axis.items()):
            _axis(axes[0][place], axes[1][place], axis, here, methods)
        handles: dict[str, Any] = {}
        for panel in axes[0]:
            handles |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
        columns = max(2, 2 * wide)
        rows = -(-len(handles) // columns)
        figure.legend(handles.values(), handles, loc="lower center", ncol=columns, fontsize=8)
        figure.suptitle(f"wn.{verb}")
        figure.tight_layout(rect=(0, 0.02 + 0.035 * rows, 1, 1))
        figure.savefig(folder / f"curves_{verb}.png", dpi=100)
        plt.close(figure)


def _axis(
    above: Any, below: Any, axis: str, lines: list[dict[str, Any]], methods: dict[str, int]
) -> None:
    for curve in lines:
        points, number = curve["points"], methods[curve["method"]]
        style = {"color": COLOURS[number % 11], "marker": MARKS[number % 11], "markersize": 3.5}
        n = [point["n"] for point in points]
        above.plot(n, [1e3 * p["seconds"] for p in points], label=curve["method"], **style)
        below.plot(n, [max(0.1, p["peak_mb"] or 0.0) for p in points], **style)
    rivals = {curve["rival"]: curve for curve in lines if curve["rival"]}
    for dash, (name, curve) in zip(("--", ":", "-."), rivals.items(), strict=False):
        points = [p for p in curve["points"] if "rival_seconds" in p]
        above.plot([p["n"] for p in points], [1e3 * p["rival_seconds"] for p in points], dash,
                   color="black", label=name)  # fmt: skip
    for border in sorted({b for curve in lines for b in curve["borders"]}):
        for panel in (above, below):
            panel.axvline(border, color="#bbbbbb", linewidth=0.7, zorder=0)
    numbers = [p["n"] for curve in lines for p in curve["points"]]
    scale = "log" if max(numbers) > WIDE * min(numbers) else "linear"
    above.set(xscale=scale, yscale="log", ylabel="ms of one processor", title=axis)
    below.set(xscale=scale, yscale="log", xlabel=axis, ylabel="MB at the peak, at least .1")
    for panel in (above, below):
        panel.grid(alpha=0.3)
