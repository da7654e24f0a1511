"""Figures and pages of public numbers, made with matplotlib (the extra ``plots``) as bytes."""

from winnow.plots.chances import Curve, draw_chances
from winnow.plots.figures import ENDINGS
from winnow.plots.margins import MarginFigure, draw_margins
from winnow.plots.release import draw_release
from winnow.plots.release_page import release_page
from winnow.plots.top import MOST_BARS, draw_top

__all__ = [
    "ENDINGS",
    "MOST_BARS",
    "Curve",
    "MarginFigure",
    "draw_chances",
    "draw_margins",
    "draw_release",
    "draw_top",
    "release_page",
]
