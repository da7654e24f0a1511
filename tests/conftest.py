"""Shared by all tests: where the reference twins are found, which files come first, one profile."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import `reference`

# Fixed examples: a test run is the same on every machine.
settings.register_profile("winnow", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("winnow")

FIRST = (
    "lp/test_scalar_loop.py",
    "release/test_lazy_selection.py",
    "wide/test_fit.py",
    "itemsets/test_itemset_miner.py",
)
"""Files that compile most of the kernels, no two of them the same: two processes that start with
them on a cold machine compile everything once, and at the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {Path(__file__).parent / name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(FIRST)))
