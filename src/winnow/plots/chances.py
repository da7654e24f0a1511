"""The chance of the true answer against epsilon, one curve for each mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winnow.errors import InputError
from winnow.plots.figures import STYLES, as_file, new_figure


@dataclass(frozen=True)
class Curve:
    """The chances of one mechanism at increasing epsilons."""

    name: str
    epsilons: Sequence[float]
    chances: Sequence[float]


def draw_chances(
    curves: Sequence[Curve],
    *,
    title: str,
    event: str = "the best wins",
    marked: float | None = None,
    ending: str = ".png",
) -> bytes:
    """A figure of the curves as the content of a file; ``marked`` is the planned epsilon."""
    if not 1 <= len(curves) <= len(STYLES):
        raise InputError(f"{len(curves)} curves cannot be drawn; give 1 to {len(STYLES)}")
    figure, axes = new_figure()
    from matplotlib.ticker import LogLocator, NullFormatter

    for i, (curve, style) in enumerate(zip(curves, STYLES, strict=False)):
        # Markers at different places keep curves apart that lie on each other.
        gap = max(1, len(curve.epsilons) // 9)
        axes.plot(
            curve.epsilons,
            curve.chances,
            label=curve.name,
            linewidth=2.2,
            markersize=8,
            markeredgecolor="white",
            markeredgewidth=0.7,
            markevery=(i * gap // len(curves), gap),
            **style,
        )
    if marked is not None:
        axes.axvline(
            marked, color="#333333", linewidth=1.4, zorder=1, label=f"planned: ε = {marked:.3g}"
        )
    axes.set_xscale("log")
    axes.set_ylim(-0.02, 1.03)
    axes.set_xlim(curves[0].epsilons[0], curves[0].epsilons[-1])
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.set_xlabel("privacy loss ε of the call (no unit, log scale)")
    axes.set_ylabel(f"chance that {event}")
    axes.set_title(title, loc="left")
    axes.grid(color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    # Below the axes, where it hides no curve.
    figure.legend(loc="outside lower center", ncols=2, frameon=False, handlelength=4.5)
    return as_file(figure, ending)
