"""Nothing that a user sees changes unless it is meant to."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from golden import store

CASES = {(name, label): case for name in store.NAMES for label, case in store.cases(name).items()}

COMPILING = {
    ("api", "results"),
    ("tables", "lp scalar selection=lazy"),
    ("tables", "release universe=40"),
}
"""On a fresh machine these compile loops for ten seconds each; the extras need them anyway."""


def _parameters() -> list[ParameterSet]:
    marks = {key: [pytest.mark.extras] if key in COMPILING else [] for key in CASES}
    return [pytest.param(*key, id=" ".join(key), marks=marks[key]) for key in CASES]


@pytest.mark.parametrize(("name", "label"), _parameters())
def test_users_see_what_they_saw(name: str, label: str) -> None:
    case = CASES[name, label]
    if missing := case.missing():
        pytest.skip(f"{missing} is not installed")
    if difference := store.difference(name, label, case.result()):
        pytest.fail(difference, pytrace=False)


@pytest.mark.parametrize("name", store.NAMES)
def test_every_written_result_has_its_case(name: str) -> None:
    wanted, found = set(store.expected_of(name)), set(store.cases(name))
    assert wanted == found, f"run: python tests/golden/write.py {name}"
