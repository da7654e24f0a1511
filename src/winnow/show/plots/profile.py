"""What was spent so far: delta against epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from winnow.core.unit import counted
from winnow.show.plots.figures import STYLES, as_file, new_figure

if TYPE_CHECKING:
    from winnow.odometer import Odometer

_POWERS = np.linspace(-15, -2, 105)
_MARKED = 1e-6


def draw_profile(odometer: Odometer, *, ending: str = ".png") -> bytes:
    """The curve as the content of a file, with the epsilon at a delta of 10^-6 marked."""
    figure, axes = new_figure(height=4.4, width=7.5)
    points = np.array(odometer.profile([float(each) for each in 10.0**_POWERS]))
    epsilons, deltas = points[:, 0], points[:, 1]
    blue, red = STYLES[0]["color"], STYLES[1]["color"]
    axes.plot(epsilons, deltas, color=blue, linewidth=2.2)
    marked = odometer.spent_at(_MARKED)
    axes.plot([marked.epsilon], [marked.delta], color=red, marker="o", markersize=8)
    right = 1.25 * float(max(epsilons.max(), marked.epsilon)) or 1.0
    left = marked.epsilon > 0.65 * right  # then the words have their room on that side
    axes.annotate(
        f"ε = {marked.epsilon:.3g} at δ = {marked.delta:.3g}", (marked.epsilon, marked.delta),
        xytext=(-12 if left else 12, 6), textcoords="offset points", color=red, fontsize=12,
        ha="right" if left else "left",
    )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlim(0, right)
    own, least = float(deltas.min()) - 10.0 ** _POWERS[0], 10.0 ** _POWERS[0]
    if own > least:
        axes.axhline(own, color="#777777", linewidth=1.2, linestyle="--")
        axes.annotate(
            f"δ of the releases themselves: {own:.3g}", (0, own), xytext=(6, -16),
            textcoords="offset points", color="#555555", fontsize=11,
        )  # fmt: skip
        least = own / 30
    axes.set_ylim(least, 1e-2)
    axes.set_xlabel("privacy loss ε spent so far")
    axes.set_ylabel("δ (log scale)")
    charges = counted(len(odometer.events), "charge")
    axes.set_title(f"Spent so far, valid at any time: {charges}", loc="left")
    axes.grid(color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    return as_file(figure, ending)
