"""What all figures share: size, fonts, line styles that differ without colour, and saving."""

from __future__ import annotations

import io
import textwrap
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from winnow.core.drawing import ENDINGS as ENDINGS
from winnow.core.notebook import visible
from winnow.core.number_grid import UNITS
from winnow.core.unit import about_counted
from winnow.errors import ExtraMissing
from winnow.foreign import instead

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#0b3c6f", "linestyle": "-", "marker": "o"},
    {"color": "#c8452c", "linestyle": "--", "marker": "s"},
    {"color": "#2b8a57", "linestyle": "-.", "marker": "^"},
    {"color": "#8a5bb5", "linestyle": (0, (1, 1.2)), "marker": "D"},
    {"color": "#b98300", "linestyle": (0, (6, 2, 1, 2, 1, 2)), "marker": "v"},
    {"color": "#4d4d4d", "linestyle": (0, (9, 3)), "marker": "X"},
)
"""One for each curve: hue, lightness, dashes and marker all differ."""

_SETTINGS: Any = {
    "font.size": 13,
    "axes.titlesize": 14,
    "axes.labelsize": 14,
    "legend.fontsize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.usetex": False,  # labels are text, whatever the user's own settings say
    "svg.hashsalt": "winnow",  # the same figure gives the same file
}


def new_figure(height: float = 6.0, width: float = 8.0) -> tuple[Figure, Axes]:
    """An empty figure, readable at half size; no window and no global state is involved."""
    figure = empty_figure(width, height)
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        return figure, figure.subplots()


def empty_figure(width: float, height: float) -> Figure:
    """A figure without axes, for several of them; its size is in inches."""
    with instead(ExtraMissing("matplotlib", "plots", "drawing a plot"), ImportError):
        import matplotlib
        from matplotlib.figure import Figure
    with matplotlib.rc_context(_SETTINGS):
        return Figure(figsize=(width, height), layout="constrained")


def add_axes(figure: Figure | SubFigure, place: tuple[int, int, int]) -> Axes:
    """Axes at (rows, columns, number from 1) of a figure, in the style of all figures."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        return figure.add_subplot(*place)


def wrapped(label: object, width: int, most: int = 3) -> str:
    """A label in lines of so many letters; only a very long one is cut."""
    lines = textwrap.wrap(visible(label), width, break_on_hyphens=False) or [""]
    return "\n".join(lines[:most]) + ("…" if len(lines) > most else "")


def mark_numbers(axes: Axes, unit: str = "", most: int | None = None) -> None:
    """Mark the horizontal axis by numbers; where these count a unit since 1970, by dates."""
    if not unit:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        if most is not None:
            axes.locator_params(axis="x", nbins=most)
        return
    dates: Any = import_module("matplotlib.dates")
    in_days = UNITS[unit] / UNITS["day"]
    low, high = (end * in_days for end in axes.get_xlim())
    locator = dates.AutoDateLocator(minticks=3, maxticks=most or 8)
    ticks = locator.tick_values(dates.num2date(low), dates.num2date(high))
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    texts = dates.ConciseDateFormatter(locator).format_ticks(ticks)
    axes.set_xticks(ticks / in_days, texts)


def say_counted(figure: Figure, what: str, before: str = "") -> None:
    """Say below a figure what was counted, where a bound may have left something out."""
    if what:
        words = "\n".join(filter(None, [before, f"counted: {about_counted(what)}"]))
        words = "\n".join(textwrap.fill(line, 100) for line in words.split("\n"))
        figure.supxlabel(words, x=0.01, ha="left", fontsize=10, parse_math=False)


def as_file(figure: Figure, ending: str) -> bytes:
    """The figure as the content of a .png, .svg or .pdf file."""
    import matplotlib

    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending)
    buffer = io.BytesIO()
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # A label may have letters that the font lacks; they are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        # Very long labels may leave too little room; the figure is drawn all the same.
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        figure.savefig(buffer, format=ending.removeprefix("."), dpi=150, metadata=undated)
    return buffer.getvalue()
