"""Figures: what is drawn, that curves differ without colour, and repeatable files."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from PIL import Image

from winnow.errors import InputError
from winnow.plots import ENDINGS, Curve, draw_chances
from winnow.plots.figures import STYLES

CURVES = [
    Curve("permute-and-flip", [0.1, 1.0, 10.0], [0.2, 0.7, 1.0]),
    Curve("exponential", [0.1, 1.0, 10.0], [0.2, 0.6, 1.0]),
]


def draw(ending: str = ".svg", curves: Sequence[Curve] = CURVES) -> bytes:
    return draw_chances(curves, title="9 candidates", marked=1.0, ending=ending)


def test_every_format_is_drawn() -> None:
    for ending in ENDINGS:
        assert len(draw(ending)) > 1000


def test_the_same_figure_is_the_same_file() -> None:
    for ending in ENDINGS:
        assert draw(ending) == draw(ending)


def test_the_picture_is_large_and_not_blank() -> None:
    image = Image.open(io.BytesIO(draw(".png"))).convert("L")
    assert image.width >= 1000 and image.height >= 700
    assert image.getextrema()[0] < 80 and image.getextrema()[1] == 255


def test_axes_and_legend_are_labelled() -> None:
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text as text
        drawn = draw().decode()
    for text in (
        "9 candidates",
        "privacy loss ε of the call (no unit, log scale)",
        "chance that the best wins",
        "permute-and-flip",
        "exponential",
        "planned: ε = 1",
    ):
        assert text in drawn


def test_styles_differ_without_colour() -> None:
    assert len({str(style["linestyle"]) for style in STYLES}) == len(STYLES)
    assert len({style["marker"] for style in STYLES}) == len(STYLES)


def test_too_many_curves_are_refused() -> None:
    with pytest.raises(InputError, match="7 curves cannot be drawn"):
        draw(curves=CURVES[:1] * 7)
    with pytest.raises(InputError, match="0 curves"):
        draw(curves=[])
