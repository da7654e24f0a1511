"""Bring what `winnow reproduce all --quick` wrote into the pages: python reproduce_figures.py DIR.

The summary becomes figures/reproduce.json, from which the tables of docs/reproduce.md are written;
some figures are made small enough for a page.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

FIGURES = Path(__file__).parent / "figures"
SHOWN = {"joint": "1", "canonical": "6", "fastmwem": "1", "lmm": "2", "pmw": "2"}
WIDTH, COLOURS = 1200, 128


def main(folder: Path) -> None:
    """Copy the summary and the figures that the page shows."""
    (FIGURES / "reproduce.json").write_text((folder / "summary.json").read_text())
    for paper, number in SHOWN.items():
        image = Image.open(folder / paper / f"figure-{number}.png").convert("RGB")
        width = min(WIDTH, image.width)
        size = (width, round(image.height * width / image.width))
        small = image.resize(size, Image.Resampling.LANCZOS)
        small = small.quantize(COLOURS, dither=Image.Dither.NONE)
        small.save(FIGURES / f"reproduce_{paper}_{number}.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
