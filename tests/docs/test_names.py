"""Names of the source: one class for each name, and every module that is named exists."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import winnow as wn
from winnow.cli import app
from winnow.serve.client import Client
from winnow.serve.screens import KINDS

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("src", "tests", "benchmarks", "docs")
CLASS = re.compile(r"^\s*class\s+(\w+)", re.MULTILINE)
NAMED = re.compile(r"(?<![\w./])winnow(?:\.[a-z][a-z_]*)+")


def twice(source: Path) -> dict[str, list[str]]:
    """Classes of one name in several places, wherever in a file they are.

    A method in a file of methods may have the name of the mechanism that it builds.
    """
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(source.rglob("*.py"))}
    named = Counter(name for text in texts.values() for name in CLASS.findall(text))
    suspects = {name for name, times in named.items() if times > 1}  # perhaps in a docstring
    found: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for file, text in texts.items():
        if suspects.isdisjoint(CLASS.findall(text)):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                place = f"{file.relative_to(source)}:{node.lineno}"
                found[file.stem.endswith("methods"), node.name].append(place)
    return {name: places for (_, name), places in found.items() if len(places) > 1}


def test_no_two_classes_have_one_name() -> None:
    assert twice(ROOT / "src" / "winnow") == {}


def test_two_classes_of_one_name_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Rows: ...\n")
    (tmp_path / "b.py").write_text("def f():\n    class Rows: ...\n")
    assert twice(tmp_path) == {"Rows": ["a.py:1", "b.py:2"]}


def _files() -> Iterator[Path]:
    for place in PLACES:
        for ending in ("*.py", "*.pyi", "*.md"):
            yield from (f for f in (ROOT / place).rglob(ending) if "_build" not in f.parts)
    yield from ROOT.glob("*.md")


def module_exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    place = ROOT / "src"
    first, second, *rest = name.split(".")
    if not rest:  # winnow.top_k; winnow.db may be a file of somebody's
        return True
    for part in (first, second, *rest):
        if (place / f"{part}.py").is_file():
            return True
        if not (place / part).is_dir():
            return _shown(place, part)
        place /= part
    return True


def _shown(package: Path, name: str) -> bool:
    stub = package / "__init__.pyi"
    return stub.is_file() and f" as {name}\n" in stub.read_text(encoding="utf-8")


def test_every_module_that_is_named_exists() -> None:
    gone = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in _files()
        if file != Path(__file__).resolve()
        for name in NAMED.findall(file.read_text(encoding="utf-8"))
        if not module_exists(name)
    ]
    assert gone == []


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("winnow.core.laws", True),
        ("winnow.core.tape", True),
        ("winnow.sealed.tables", False),
        ("winnow.privacy.calibrate_rounds", True),
        ("winnow.core.nothing", False),
        ("winnow.kernels.itemsets", False),
    ],
)
def test_a_module_that_moved_is_noticed(name: str, there: bool) -> None:
    assert module_exists(name) is there


def test_a_capability_has_one_name_everywhere() -> None:
    """In the library, plans, commands, sessions, the server and its client, and the glossary."""
    commands = {row.name.replace("-", "_") for row in app.COMMANDS if row.panel == app.RELEASE}
    on_servers = {kind.replace("-", "_") for kind in KINDS}
    named = set(re.findall(r"`wn\.(\w+)", (ROOT / "docs" / "glossary.md").read_text("utf-8")))
    assert commands <= set(dir(wn)) & set(dir(wn.plan)) & set(dir(wn.Session)) & named
    assert on_servers <= commands and on_servers <= set(dir(Client))
