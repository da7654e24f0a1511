"""A planning file gets hold of no opened rows: whatever is planted in one is found.

Rows leave a seal by a key, which ``core.run`` alone makes, or as a listed public fact. Files that
open with a key are called crossing; files that plan neither open nor publish nor look inside.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import winnow as wn

ROOT = Path(wn.__file__).parent
CAPABILITIES = sorted(path.parent.name for path in ROOT.glob("*/verb.py"))
ALSO_OPENS = {"select/open_selection.py"}
"""Besides files called crossing: parts of a selection that engines answer."""
ALSO_PUBLISHES = {"lp/sealing.py": {"PUBLIC_MATRIX"}}
"""Besides readers and files called crossing: a program whose owner declares its matrix public."""
INSIDE = {"_content", "SPENT", "single_run", "spend", "_ISSUER"}
"""Names of what is inside seals, keys and grants."""


def crosses(name: str) -> bool:
    """Whether a file is one that opens: a crossing, or a reader, which makes seals."""
    parts = Path(name).parts
    return "crossing" in parts or parts[-1] == "crossing.py" or parts[0] in ("read", "core")


def looks(name: str) -> bool:
    """Whether a file is one of a capability, or of what calls capabilities."""
    parts = Path(name).parts
    inside = ("core", "privacy", "audit", "experiments")
    return parts[0] not in inside and "audit" not in parts and parts[-1] != "audit.py"


def looked_into(name: str, text: str) -> list[str]:
    """What a file that does not cross does with seals and keys."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute | ast.Name | ast.alias):
            own = node.attr if isinstance(node, ast.Attribute) else ""
            own = own or (node.id if isinstance(node, ast.Name) else "")
            own = own or (node.name if isinstance(node, ast.alias) else "")
            if own in INSIDE:
                found.append(own)
        if isinstance(node, ast.Constant) and node.value in INSIDE:
            found.append(f"{node.value} as a text")
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        whose = ast.unparse(node.func.value).lower()
        if node.func.attr == "publish":
            facts = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
            if not facts & ALSO_PUBLISHES.get(name, set()):
                found.append("publish")
        if node.func.attr == "open" and "key" in whose and name not in ALSO_OPENS:
            found.append("open")
        if (
            node.func.attr == "map"
            and len(node.args) == 2
            and isinstance(node.args[0], ast.Attribute)
        ):
            found.append("map to something that keeps what it is given")
    return found


def files() -> dict[str, str]:
    paths = {path.relative_to(ROOT).as_posix(): path for path in ROOT.rglob("*.py")}
    return {
        name: path.read_text(encoding="utf-8")
        for name, path in paths.items()
        if looks(name) and not crosses(name)
    }


FILES = files()
PLANS = sorted(
    name
    for name in FILES
    if Path(name).parts[0] in CAPABILITIES
    and (Path(name).name in ("plan.py", "about.py", "methods.py", "request.py", "verb.py")
         or "plan" in Path(name).parts or Path(name).stem.endswith("_plan"))
)  # fmt: skip
PLANTS = {
    "its content": "def planted(data):\n    return data.rows._content\n",
    "its content by name": "def planted(data):\n    return getattr(data.rows, '_content')\n",
    "a fact": "def planted(data, fact):\n    return data.rows.publish(fact, lambda rows: rows)\n",
    "a list on the way": "def planted(data, all):\n    data.rows.map(all.append, 'rows')\n",
    "a key": "def planted(data, key):\n    return key.open(data.rows)\n",
    "a run for audits": "def planted(m, r, t):\n    from winnow.core.run import single_run\n",
    "a token": "def planted(tape):\n    from winnow.core.key import SPENT\n",
}


def test_nothing_that_plans_looks_into_a_seal() -> None:
    assert {name: found for name, text in FILES.items() if (found := looked_into(name, text))} == {}


def test_every_capability_plans() -> None:
    assert {Path(name).parts[0] for name in PLANS} == set(CAPABILITIES)
    assert len(PLANS) >= 3 * len(CAPABILITIES)


@pytest.mark.parametrize("name", PLANS)
def test_what_is_planted_in_a_planning_file_is_found(name: str) -> None:
    for what, plant in PLANTS.items():
        assert looked_into(name, f"{FILES[name]}\n\n{plant}"), what


TYPED = """
from winnow.core.plan import Plan
from winnow.core.tape import Tape
from winnow.inner_product.crossing import SealedExamples
from winnow.inner_product.vectors import SealedQuery
from winnow.learn.crossing.rows import SealedLabelled
from winnow.lp.sealing import LpProblem
from winnow.read.baskets import SealedBaskets
from winnow.read.counts import SealedCounts
from winnow.read.crossing import SealedTable, all_rows
from winnow.read.scores import SealedScores

def table(data: SealedTable) -> object: return all_rows(data).weights
def counts(data: SealedCounts) -> object: return data.values.max()
def scores(data: SealedScores) -> object: return data.values.max()
def baskets(data: SealedBaskets) -> object: return data.data.offsets
def program(data: LpProblem) -> object: return data.matrix.sum()
def query(data: SealedQuery) -> object: return data.values.sum()
def examples(data: SealedExamples) -> object: return data.labels.sum()
def rows(data: SealedLabelled) -> object: return data.rows.weights
def opened(data: SealedTable, tape: Tape) -> object: return tape.open(data.rows)
def drawn(plan: Plan[SealedTable, int], data: SealedTable) -> int: return plan.draw(data)
"""
"""What a planning file might write, one function for each kind of data, on one line each."""


@pytest.mark.extras
def test_rows_that_are_used_without_a_key_fail_to_type_check(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(TYPED)
    project = ROOT.parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(project / ".mypy_cache"), str(planted)],
        cwd=project, env=os.environ | {"MYPYPATH": "src"}, capture_output=True, text=True,
    )  # fmt: skip
    wrong = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    lines = TYPED.splitlines()
    assert wrong == {n for n, line in enumerate(lines, 1) if line.startswith("def ")}, done.stdout
