"""The example notebook runs from top to bottom, and what its cells show is markup or a frame."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOK = DOCS / "first.ipynb"


def test_the_page_shows_every_cell_with_markup_and_pictures(monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    from notebook_page import notebook_page

    page = notebook_page()
    sys.modules.pop("notebook_page")
    held = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    cells = sum(cell["cell_type"] == "code" for cell in held)
    assert page.count("```python\n") == page.count("{raw} html") == cells > 3
    outputs = [part.partition("````\n")[0] for part in page.split("````{raw} html\n")[1:]]
    assert all("<table" in each and "\n````" not in each.rstrip("`") for each in outputs)
    assert page.count("data:image/png") == 2


def test_the_notebook_is_kept_without_outputs() -> None:
    """They would be old, and differ at every run."""
    held = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in held)
