"""The example notebook as a page: run from top to bottom, each cell with what it shows."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parent / "first.ipynb"


def shown(code: str, namespace: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; the value of its last line."""
    *before, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        raise ValueError(f"the last line of a cell of {NOTEBOOK.name} shows nothing")
    exec(compile(ast.Module(before, []), NOTEBOOK.name, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), namespace)


def notebook_page() -> str:
    """Prose as it is, code as it is, and below it what Jupyter would show."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    parts = []
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace("# ", "### ", 1) if source.startswith("# ") else source)
            continue
        markup = shown(source, namespace)._repr_html_()
        parts.append(f"```python\n{source}\n```")
        parts.append(f'````{{raw}} html\n<div class="shown">{markup}</div>\n````')
    return "\n\n".join(parts) + "\n"


TABLES = (notebook_page,)
