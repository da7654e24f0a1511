"""Every privacy claim with its status, read off the docstrings of the mechanisms and the audits."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from table_text import table

SOURCE = Path(__file__).parents[1] / "src" / "winnow"
HEADING = re.compile(r"Formal guarantees?\n+")
CITED = re.compile(r"\[([^\[\]]*(?:\d{4}|Canonical|LMM|Joint|PMW|FastMWEM)[^\[\]]*)\]")


def claims() -> Iterator[tuple[str, str, str]]:
    """Every mechanism that states a formal guarantee: its name, its module, and the statement."""
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if not HEADING.search(text):
            continue
        module = ".".join(("winnow", *file.relative_to(SOURCE).with_suffix("").parts))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Module):
                stated = HEADING.split(ast.get_docstring(node) or "", maxsplit=1)
                if len(stated) == 2:
                    yield getattr(node, "name", module.rpartition(".")[2]), module, stated[1]


def _key(cited: str) -> str:
    """A citation without remarks about it."""
    return " ".join(
        re.split(r": scores|; (?:it|better|proved|Lemma 5)|, (?:with|proved)", cited)[0].split()
    )


@cache
def audited() -> str:
    """The text of all audits."""
    files = [file for file in SOURCE.rglob("*.py") if _of_audits(file)]
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(files))


def _of_audits(file: Path) -> bool:
    return "audit" in file.parts or file.name == "audit.py"


def status(name: str, stated: str) -> str:
    """Whether a proof stands beside the code or in a paper, and whether the claim is enumerated."""
    parts = ["proved here"] if re.search(r"\bProof\b|\bproof\b", stated) else []
    parts += ["cited"] if CITED.search(stated) else []
    if re.search(rf"\b{name}\b", audited()):
        parts.append("checked by enumeration")
    return ", ".join(parts) or "follows from its parts"


def proofs() -> str:
    """A table of all claims."""
    lines = []
    for name, module, stated in claims():
        statement = " ".join(stated.partition("\n\n")[0].partition("Proof")[0].split())
        without = re.sub(r" ?\[[^\[\]]*\]", "", statement).replace("``", "`")
        short = re.split(r"(?<=[a-z)A-Z])[.;:] ", without)[0].rstrip(".;:")
        cited = "; ".join(dict.fromkeys(_key(key) for key in CITED.findall(stated)))
        proof = status(name, stated) + (f": {cited}" if cited else "")
        cells = [f"`{name}`", short, proof, f"`{module}`"]
        lines.append([cell.replace("|", "\\|").replace("*", "\\*") for cell in cells])
    head = ["mechanism", "guarantee", "status and citations", "where"]
    return table(head, lines)


TABLES = (proofs,)
