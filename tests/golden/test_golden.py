"""Nothing that a user sees changes unless it is meant to."""

from __future__ import annotations

import pytest

from golden import store

CASES = {(name, label): case for name in store.NAMES for label, case in store.cases(name).items()}


@pytest.mark.parametrize(("name", "label"), [pytest.param(*k, id=" ".join(k)) for k in CASES])
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
