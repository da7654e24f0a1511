"""Figures of public numbers, drawn with matplotlib (the extra ``plots``) as bytes of a file."""

from winnow.plots.chances import Curve, draw_chances
from winnow.plots.figures import ENDINGS

__all__ = ["ENDINGS", "Curve", "draw_chances"]
