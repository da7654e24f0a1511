"""One file charges and spends; what is counted of the house is counted of this one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import winnow as wn

PACKAGE = Path(wn.__file__).parent


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2] / "benchmarks"), *sys.path])
    import house

    return house


def test_one_file_charges_and_spends_and_draws_open(house: object) -> None:
    found = house.doors(PACKAGE)  # type: ignore[attr-defined]
    assert found["charge"] == found["spend"] == ["core/run.py"]
    others = {name for name in found["open"] if "crossing" not in name}
    assert others == {"select/open_selection.py"}  # parts of a selection that engines answer
