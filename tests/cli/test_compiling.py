"""``winnow compile`` leaves nothing to compile for usual releases."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import winnow
from winnow.cli.compiling import programs
from winnow.core.kernels import compiled

SOURCE = Path(winnow.__file__).parent
LARGE = {
    "_add_by_cell",
    "_arrange_all",
    "_count_pairs",
    "_product_scale",
    "_product_sum",
    "_tangent",
}
"""Kernels of data, or of questions, that are larger than those of the programs."""


@pytest.mark.extras
def test_the_programs_meet_all_kernels_but_those_of_large_data() -> None:
    for file in sorted(SOURCE.glob("**/kernels/*.py")):
        importlib.import_module(
            ".".join(["winnow", *file.relative_to(SOURCE).with_suffix("").parts])
        )
    for _, run in programs():
        run()
    left = {each.py_func.__name__ for each in compiled.KERNELS if not each.signatures}
    assert len(compiled.KERNELS) > 30 and left <= LARGE


@pytest.mark.extras
def test_what_was_compiled_is_kept_for_later_processes(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "winnow", "compile"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert f"compiled loops are kept in {tmp_path}" in done.stdout.replace("\n", "")
    before = sorted(tmp_path.rglob("*.nbc"))
    subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert before and sorted(tmp_path.rglob("*.nbc")) == before
