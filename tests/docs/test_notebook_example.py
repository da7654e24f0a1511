"""The example notebook runs from top to bottom, and what its cells show is markup or a frame."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "docs" / "first.ipynb"


def cells() -> list[str]:
    held = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in held if cell["cell_type"] == "code"]


def shown(code: str, namespace: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; the value of its last line."""
    tree = ast.parse(code)
    *before, last = tree.body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(before, []), NOTEBOOK.name, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), namespace)


def test_every_cell_of_the_notebook_shows_something() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    results = [shown(code, namespace)._repr_html_() for code in cells()]
    assert all("<table" in each for each in results)
    assert sum("data:image/png" in each for each in results) == 2


def test_the_notebook_is_kept_without_outputs() -> None:
    """They would be old, and differ at every run."""
    held = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in held)
