"""Every notebook of the pages runs in a real Jupyter kernel, with and without ipywidgets.

DuckDB looks for both: in a kernel it draws its progress with ipywidgets, and refuses settings of
its progress bar where they are missing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted(
    path for path in DOCS.rglob("*.ipynb") if not {"_build", "_generated"} & set(path.parts)
)
START = "from ipykernel.kernelapp import launch_new_instance; launch_new_instance()"
BLOCKED = "import sys; sys.modules['ipywidgets'] = None; "
"""Python's own way to say that a module is not there: every import of it raises."""


def outputs(notebook: Any, *, widgets: bool) -> list[Any]:
    """What the cells of a notebook show in a kernel of its own; a cell that fails raises."""
    start = START if widgets else BLOCKED + START
    with TemporaryDirectory() as folder:  # a short name: those of sockets have a limit
        kernel = AsyncKernelManager(transport="ipc", connection_file=f"{folder}/kernel.json")
        argv = [sys.executable, "-c", start, "-f", "{connection_file}"]
        kernel._kernel_spec = KernelSpec(argv=argv)
        client = NotebookClient(notebook, km=kernel, timeout=120)
        client.execute(env={**os.environ, "IPYTHONDIR": folder})
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def cells(*sources: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])


REFUSED_BY_DUCKDB = """
import duckdb
try:
    duckdb.connect().execute("SET enable_progress_bar = false")
except duckdb.Error as error:
    print("ipywidgets" in str(error))
"""
READ = """
import duckdb
import pandas as pd
import winnow as wn
frame = pd.DataFrame({"user": ["u", "v", "w"], "page": ["a", "a", "b"]})
wn.counts(frame, item="page", person="user")
wn.read_table(frame, schema={"page": {"values": ["a", "b"]}})
wn.read_baskets(frame, unit="basket", layout=wn.Pairs("user", "page"))
wn.counts((duckdb.connect(), "SELECT 'u' AS user, 'a' AS page"), item="page", person="user")
"""


def test_every_reader_reads_in_a_kernel_where_duckdb_misses_ipywidgets() -> None:
    refused, read = outputs(cells(REFUSED_BY_DUCKDB, READ), widgets=False)
    assert refused["text"] == "True\n"  # DuckDB sees a kernel, and no ipywidgets
    assert read["output_type"] == "execute_result"


@pytest.mark.slow
@pytest.mark.parametrize("widgets", [True, False], ids=["ipywidgets", "no ipywidgets"])
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_of_the_pages_runs_in_a_kernel(path: Path, widgets: bool) -> None:
    notebook = nbformat.read(path, as_version=4)
    shown = outputs(notebook, widgets=widgets)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) > 3 and all(cell.outputs for cell in code)
    assert {output["output_type"] for output in shown} == {"execute_result"}  # and nothing drawn
