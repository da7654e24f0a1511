"""What the scripts of `make docs`, `make figures` and `make bench` import is in what these install.

The environment of the tests has every package, so that a script which needs an undeclared one
would run there, and fail on a fresh machine.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OTHER_NAMES = {"PIL": "pillow", "sklearn": "scikit-learn", "fim": "pyfim", "faiss": "faiss-cpu"}
BY_OTHERS = {"jax": "mbi"}
"""Imported only together with a package that stands on it."""
MADE_BY = {"docs": "docs", "figures": "docs", "bench": "benchmarks"}


def installed(extras: Iterable[str]) -> set[str]:
    """The packages that the project declares for these extras, with those of its own inside."""
    declared = set()
    for line in [*PROJECT["dependencies"], *(line for name in extras for line in EXTRAS[name])]:
        name, inner = re.fullmatch(r"([\w.-]+)(?:\[([\w,]+)\])?.*", line).groups()  # type: ignore[union-attr]
        declared |= installed(inner.split(",")) if name == PROJECT["name"] else {normal(name)}
    return declared


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", OTHER_NAMES.get(name, name)).lower()


def imports(code: str) -> Iterator[str]:
    """The packages that a script imports, anywhere in it, unless it goes on without them."""
    tree = ast.parse(code)
    optional = {
        part
        for tried in ast.walk(tree)
        if isinstance(tried, ast.Try) and any(map(_of_imports, tried.handlers))
        for statement in tried.body
        for part in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in optional:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _of_imports(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.type, ast.Name) and handler.type.id == "ImportError"


def needed(folder: Path) -> set[str]:
    """The packages that scripts, notebooks and Sphinx's settings in a folder name."""
    names: set[str] = set()
    for script in folder.glob("*.py"):
        names |= set(imports(script.read_text(encoding="utf-8")))
    for notebook in folder.glob("*.ipynb"):
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                names |= set(imports("".join(cell["source"])))
    if (folder / "conf.py").exists():
        names |= set(sphinx_names((folder / "conf.py").read_text(encoding="utf-8")))
    own = {path.stem for path in (*folder.glob("*.py"), *(ROOT / "tests").rglob("*.py"))}
    names -= {*sys.stdlib_module_names, *own, "reference", "winnow"}
    return {normal(BY_OTHERS.get(name, name)) for name in names}


def sphinx_names(settings: str) -> Iterator[str]:
    """The extensions and the theme, which Sphinx imports by their names."""
    for line in ast.parse(settings).body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            if line.targets[0].id == "extensions":
                yield from (name.split(".")[0] for name in ast.literal_eval(line.value))
            if line.targets[0].id == "html_theme":
                yield ast.literal_eval(line.value)


@pytest.mark.parametrize("target", MADE_BY)
def test_a_fresh_machine_has_all_that_the_scripts_import(target: str) -> None:
    recipe = re.search(rf"^{target}:(.*?)##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    extras = re.findall(r"\$\(STAMP\)(\w+)", recipe[1])
    packages = needed(ROOT / MADE_BY[target])
    assert "numpy" in packages and extras  # something was looked at
    assert packages <= installed(extras), f"make {target} installs {extras}"


def test_an_undeclared_import_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(
        "def f():\n    import polars.io\nfrom PIL import Image\n"
        "try:\n    import jax\nexcept ImportError:\n    pass\n"
    )
    (tmp_path / "conf.py").write_text('extensions = ["myst_parser"]\nhtml_theme = "furo"\n')
    cell = {"cell_type": "code", "source": ["import pandas\n", "pandas"]}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert needed(tmp_path) == {"polars", "pillow", "myst-parser", "furo", "pandas"}
    assert needed(tmp_path) - installed(["docs"]) == {"polars"}


def test_every_pinned_version_runs_on_the_oldest_python_that_is_promised() -> None:
    """One that asks for 3.11.5 kept `make docs` and `make check` from the Python of Debian 12."""
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    looked_at, newer = 0, []
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        name, version = line.split("==")
        try:
            pinned = distribution(name)
        except PackageNotFoundError:
            continue
        if pinned.version == version:
            looked_at += 1
            wanted = pinned.metadata.get("Requires-Python") or ""
            newer += [] if SpecifierSet(wanted).contains(oldest) else [f"{line}: {wanted}"]
    assert looked_at > 50 and newer == []
