"""Tests that need Linux are marked, so that others can be run on macOS and Windows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NEEDS = re.compile(
    r"/proc/|\bos\.fork\b|\bresource\.\w|RLIMIT|\bSIGKILL\b|\bos\.umask\b|\bst_mode\b"
)


def needing() -> set[str]:
    files = (file for file in TESTS.rglob("test_*.py") if file != Path(__file__))
    found = (file for file in files if NEEDS.search(file.read_text(encoding="utf-8")))
    return {str(file.relative_to(TESTS)) for file in found if "extras" not in file.parts}


def test_every_file_that_needs_linux_is_marked(pytestconfig: pytest.Config) -> None:
    listed = (TESTS / "conftest.py").read_text(encoding="utf-8")
    named = set(re.findall(r'^    "([\w/]+\.py)",$', listed, re.MULTILINE))
    assert needing() and needing() <= named
    assert all((TESTS / name).exists() for name in named)
    assert any(marker.startswith("linux:") for marker in pytestconfig.getini("markers"))
