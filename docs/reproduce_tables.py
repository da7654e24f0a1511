"""What `winnow reproduce` said, from the numbers that are kept in docs/figures/reproduce.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from table_text import short, table

from winnow.experiments.papers import PAPERS

SUMMARY = Path(__file__).parent / "figures" / "reproduce.json"


def _found() -> dict[tuple[str, str], dict[str, Any]]:
    documents = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else []
    return {(each["paper"], each["figure"]): each for each in documents}


SHORT = {
    ("FastMWEM", "1"): "the paper's; times to m = 50,000 of 100,000",
    ("FastMWEM", "4"): "m to 300,000 of 1,500,000, T = 1,000 of 5,000",
    ("FastMWEM", "5"): "m to 300,000 of 1,500,000, T = 5,000 by the time of 1,000",
    ("FastMWEM", "table1"): "the paper's; over six columns",
    ("Joint", "1"): "the paper's, on 4 of the 6 data sets",
    ("Joint", "2"): "the paper's, on 4 of the 6 data sets",
    ("Joint", "3"): "k to 200, but d = 20,761 of 166,000",
    ("Joint", "4"): "the paper's, on 4 of the 6 data sets",
    ("Joint", "5"): "the paper's, on 4 of the 6 data sets",
    ("Joint", "6"): "the paper's, but on books",
    ("PMW", "1"): "k to 300,000; 3 sessions, at the largest k one",
    ("Canonical", "2"): "43 exponents, 2,000 of 10,000 draws for GOOD-k",
    ("Canonical", "3"): "31 epsilons, 2,000 of 10,000 draws for GOOD-k",
}
"""What a whole run reached, where that is not simply what the paper has."""


def reached(paper: str, figure: str) -> str:
    """The paper's parameters, or what was reached of them; LMM and PMW have none."""
    return SHORT.get((paper, figure), "whole" if paper in ("LMM", "PMW") else "the paper's")


def reproduce_verdicts() -> str:
    """One row for each figure of the papers."""
    found, lines = _found(), []
    for paper in PAPERS:
        for experiment in paper.experiments:
            said = found.get((paper.key, experiment.name), {})
            verdict = said.get("verdict", "not run").replace(" claims", "")
            took = short(said.get("cpu_seconds"))
            whole = not said.get("quick", True)
            size = reached(paper.key, experiment.name) if whole else "quick, smaller"
            row = [f"`{paper.name}`", experiment.name, experiment.title, verdict, size, took]
            lines.append(row)
    heads = ["paper", "`--figure`", "shows", "claims that hold", "size reached", "CPU seconds"]
    return table(heads, lines, right=1)


def reproduce_lines() -> str:
    """Claims and reasons of each figure, as lists."""
    found, parts = _found(), []
    for paper in PAPERS:
        parts.append(f"### {paper.key}\n")
        for experiment in paper.experiments:
            said = found.get((paper.key, experiment.name))
            if said is None:
                continue
            parts.append(
                f"**{experiment.label}**{' (quick)' if said['quick'] else ''}. "
                f"{experiment.title}. Data: {_text(said['data'])}.\n"
            )
            for claim in said["claims"]:
                parts.append(
                    f"- {'Agrees' if claim['holds'] else 'Not so here'}: {_text(claim['text'])}."
                )
            parts += [f"- Note: {_text(note)}." for note in said["notes"]]
            parts.append("")
    return "\n".join(parts) + "\n"


def _text(text: str) -> str:
    """Signs that Markdown would read are escaped."""
    for sign in "\\*_<>`$|":
        text = text.replace(sign, f"\\{sign}")
    return text


TABLES = (reproduce_verdicts, reproduce_lines)
