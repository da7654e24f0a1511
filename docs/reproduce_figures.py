"""Bring what `winnow reproduce` wrote into the pages: python reproduce_figures.py DIR [DIR ...].

All numbers are kept, to four digits, in figures/reproduce.json, and judged again from there: the
verdicts of docs/reproduce.md are those of the numbers in the repository. A quick run does not take
the place of a whole one. Some figures are drawn again, small enough for a page.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

from PIL import Image

from winnow.experiments.experiment import Findings, Reproduced
from winnow.experiments.papers import PAPERS
from winnow.show.plots.figures import as_file

FIGURES = Path(__file__).parent / "figures"
KEPT = FIGURES / "reproduce.json"
SHOWN = {"Joint": "1", "Canonical": "6", "FastMWEM": "1", "LMM": "2", "PMW": "2"}
WIDTH, COLOURS = 1200, 128
FIELDS = ("paper", "figure", "quick", "data", "parameters", "results", "cpu_seconds", "winnow")


def rounded(value: Any) -> Any:
    """The same with four digits for every number with a point."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def judged(document: dict[str, Any]) -> tuple[dict[str, Any], Reproduced]:
    """A kept document with its verdict, and what it can draw."""
    (paper,) = (each for each in PAPERS if each.key == document["paper"])
    (experiment,) = (each for each in paper.experiments if each.name == document["figure"])
    kept = {key: rounded(document[key]) for key in FIELDS}
    measured = Findings(kept["parameters"], kept["results"], kept["data"])
    done = Reproduced(measured, experiment.judge(measured), experiment.draw)
    claims = [{"text": c.text, "holds": bool(c.holds)} for c in done.judged.claims]
    said = {"verdict": done.verdict, "claims": claims, "notes": list(done.judged.notes)}
    return {**kept, **said}, done


def main(folders: list[Path]) -> None:
    """Take in all documents of these folders, and draw what the page shows."""
    known = json.loads(KEPT.read_text()) if KEPT.exists() else []
    found = {(each["paper"], each["figure"]): each for each in known if "results" in each}
    for folder in folders:
        for path in sorted(folder.glob("*/*.json")):
            document = json.loads(path.read_text())
            key = (document["paper"], document["figure"])
            if not document["quick"] or found.get(key, document)["quick"]:
                found[key] = document
    lines = []
    for paper in PAPERS:
        for experiment in paper.experiments:
            if (paper.key, experiment.name) in found:
                kept, done = judged(found[paper.key, experiment.name])
                lines.append(json.dumps(kept, ensure_ascii=False))
                if SHOWN[paper.key] == experiment.name:
                    _draw(done, f"reproduce_{paper.name}_{experiment.name}.png")
    KEPT.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def _draw(done: Reproduced, name: str) -> None:
    image = Image.open(io.BytesIO(as_file(done.figure(), ".png"))).convert("RGB")
    width = min(WIDTH, image.width)
    size = (width, round(image.height * width / image.width))
    small = image.resize(size, Image.Resampling.LANCZOS)
    small = small.quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(FIGURES / name, optimize=True)


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
