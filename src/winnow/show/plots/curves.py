"""The margin that each mechanism needs against the size of the universe, with the crossover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winnow.errors import ParameterError
from winnow.show.plots.figures import STYLES, add_axes, as_file, empty_figure, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        raise ParameterError(f"{len(curves)} curves cannot be drawn; give 1 to {len(STYLES)}")
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


@dataclass(frozen=True)
class MarginFigure:
    """Public numbers of a plan, ready to be drawn."""

    powers: Sequence[float]
    """log10 of the number of candidates."""
    margins: Mapping[str, Sequence[float]]
    """The needed margin of each mechanism at each of them, in score units."""
    crossings: Mapping[str, tuple[float, float]]
    """(log10 of the universe, margin) where a mechanism begins to need less."""
    limits: Mapping[str, Sequence[float]]
    """Lower bounds, in score units; they are drawn thin."""
    shells: Sequence[tuple[int, float, float]] = ()
    """(size, next gap, what the theorem asks of it) on an assumed profile: a second panel."""


def draw_margins(content: MarginFigure, *, title: str, chance: float, ending: str) -> bytes:
    """The figure as the content of a file."""
    if not 1 <= len(content.margins) <= len(STYLES) - 2:
        raise ParameterError(f"{len(content.margins)} curves cannot be drawn; give 1 to 4")
    panels = 2 if content.shells else 1
    figure = empty_figure(8.0 * panels, 6.4)
    axes = add_axes(figure, (1, panels, 1))
    _draw_universe(axes, content)
    axes.set_ylabel(f"margin for a chance of {100 * chance:.3g} % (score units)")
    axes.set_title(title, loc="left")
    if content.shells:
        _draw_shells(add_axes(figure, (1, panels, 2)), content.shells)
    handles, names = axes.get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside lower center", ncols=2, frameon=False, handlelength=4.5
    )
    return as_file(figure, ending)


def _draw_universe(axes: Axes, content: MarginFigure) -> None:
    gap = max(len(content.margins), len(content.powers) // 8)
    for i, (name, values) in enumerate(content.margins.items()):
        axes.plot(
            content.powers,
            values,
            label=name,
            linewidth=2.2,
            markersize=7,
            markeredgecolor="white",
            markeredgewidth=0.7,
            markevery=(i * gap // len(content.margins), gap),
            **STYLES[i],
        )
    for i, (name, values) in enumerate(content.limits.items()):
        dashes = "-" if i == 0 else ":"
        axes.plot(
            content.powers, values, label=name, color="#6b6b6b", linestyle=dashes, linewidth=1.4
        )
    for i, (power, margin) in enumerate(content.crossings.values()):
        axes.plot([power], [margin], "o", ms=12, mfc="none", mec="#222222", mew=1.6, zorder=5)
        axes.annotate(
            f"crossover\n$10^{{{power:.0f}}}$",
            (power, margin),
            xytext=(0, 14 if i else -14),
            textcoords="offset points",
            ha="center",
            va="bottom" if i else "top",
            fontsize=12,
        )
    axes.set_xlim(content.powers[0], content.powers[-1])
    axes.margins(y=0.12)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"$10^{{{value:.0f}}}$")
    axes.set_xlabel("candidates (log scale)")
    axes.grid(color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)


def _draw_shells(axes: Axes, shells: Sequence[tuple[int, float, float]]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    sizes, gaps, needed = zip(*shells, strict=True)
    axes.step(
        sizes, gaps, where="post", label="next gap", linewidth=2.2, color="#0b3c6f", marker="o"
    )
    axes.plot(
        sizes,
        needed,
        label="needed [LMM, Thm 3], tight thresholds",
        linewidth=2.2,
        color="#c8452c",
        linestyle="--",
        marker="s",
    )
    wide = [(size, gap) for size, gap, asked in shells if gap > asked]
    if wide:
        axes.axvline(
            wide[0][0], color="#333333", linewidth=1.4, label=f"pays for {wide[0][0]:,} candidates"
        )
    axes.set_xscale("log")
    if sizes[-1] < 100 * sizes[0]:  # powers of ten alone might not be among them
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(bottom=0)
    axes.set_xlabel("candidates within the gap: the shell (log scale)")
    axes.set_ylabel("gap to the best (score units)")
    axes.set_title("Shells of the assumed profile", loc="left")
    axes.grid(color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, loc="best")
