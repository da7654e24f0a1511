"""Figures: what is drawn, that curves differ without colour, and repeatable files."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from PIL import Image

from winnow import InputError, Relation
from winnow.core.released import Receipt, Released
from winnow.core.unit import Unit
from winnow.privacy import Guarantee, PureDP
from winnow.show.plots.bars import MOST_BARS, below_title, draw_top
from winnow.show.plots.curves import Curve, draw_chances
from winnow.show.plots.figures import ENDINGS, STYLES

RECEIPT = Receipt("laplace, k=2", PureDP(1.0, Relation.ADD_REMOVE), "a citation", "os", True)
CURVES = [
    Curve("permute-and-flip", [0.1, 1.0, 10.0], [0.2, 0.7, 1.0]),
    Curve("exponential", [0.1, 1.0, 10.0], [0.2, 0.6, 1.0]),
]


def draw(ending: str = ".svg", curves: Sequence[Curve] = CURVES) -> bytes:
    return draw_chances(curves, title="9 candidates", marked=1.0, ending=ending)


@pytest.mark.slow
def test_every_format_is_drawn() -> None:
    for ending in ENDINGS:
        assert len(draw(ending)) > 1000


@pytest.mark.slow
def test_the_same_figure_is_the_same_file() -> None:
    for ending in ENDINGS:
        assert draw(ending) == draw(ending)


def test_a_figure_says_what_was_counted_and_whether_it_was_seeded() -> None:
    guarantee = Guarantee(1.0, 0.0, Relation.ADD_REMOVE, 0.5)
    released = Released([("a", 3)], guarantee, RECEIPT)
    assert "counted" not in below_title("laplace", released)
    person = Unit("who", "with at most 2 items", counted="at most 2 items of each who")
    told = below_title("laplace", released.about(person))
    assert told.startswith("laplace: 1-DP") and "; counted: at most 2 items of each who" in told


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


def draw_bars(
    count: int, ending: str = ".png", margin: int | None = 12, label: str = "item"
) -> bytes:
    bars = [(f"{label} {i}", 5000 // (i + 1) - 20) for i in range(count)]
    return draw_top(
        bars,
        title=f"Top {count}: page",
        subtitle="stability: (1, 1e-06)-DP, protects each person (add or remove one)",
        margin=margin,
        ending=ending,
    )


@pytest.mark.slow
def test_bars_are_drawn_in_every_format_and_repeatably() -> None:
    for ending in ENDINGS:
        drawn = draw_bars(10, ending)
        assert len(drawn) > 1000 and drawn == draw_bars(10, ending)


@pytest.mark.slow
def test_bars_keep_their_height_however_many_there_are() -> None:
    heights = [Image.open(io.BytesIO(draw_bars(count))).height for count in (10, 30, 50)]
    assert heights[1] - heights[0] == heights[2] - heights[1] > 600


def test_bars_are_dark_on_white() -> None:
    image = Image.open(io.BytesIO(draw_bars(10))).convert("L")
    dark = sum(image.histogram()[:80]) / (image.width * image.height)
    assert image.getextrema()[1] == 255 and 0.02 < dark < 0.6


def test_bars_have_labels_values_guarantee_and_noise() -> None:
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text as text
        drawn = draw_bars(10, ".svg").decode()
        plain = draw_bars(10, ".svg", margin=None).decode()
    for text in ("Top 10: page", "item 9", "4,980", "480", "stability: (1, 1e-06)-DP", "±12"):
        assert text in drawn
    assert "noisy count" in plain and "whiskers" not in plain


def test_labels_are_text_and_nothing_else() -> None:
    """No mathematics between dollars, no warning about letters that the font lacks."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        drawn = draw_bars(3, ".svg", label="$x^2$ 的 ").decode()
    assert "$x^2$" in drawn
    assert len(draw_bars(3, label="$\\frac{$ 的 " + 90 * "w")) > 1000


def test_no_bars_are_a_sentence_and_too_many_are_refused() -> None:
    assert len(draw_bars(0)) > 1000
    with pytest.raises(InputError, match=f"up to {MOST_BARS}"):
        draw_bars(MOST_BARS + 1)
