"""Figures of public numbers, drawn with matplotlib (the extra ``plots``) as bytes of a file."""

from winnow.plots.chances import Curve, draw_chances
from winnow.plots.figures import ENDINGS
from winnow.plots.top import MOST_BARS, draw_top

__all__ = ["ENDINGS", "MOST_BARS", "Curve", "draw_chances", "draw_top"]
