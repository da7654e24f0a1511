"""The page on choices lists every number that a choice rests on, with a reason and a kind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    sys.modules.pop("choice_tables", None)


def test_every_number_of_a_choice_has_a_reason() -> None:
    import choice_tables

    without = [row[:2] for row in choice_tables.constants() if not row[3]]
    assert not without


def test_no_number_has_a_kind_that_is_not_there() -> None:
    import choice_tables

    assert not choice_tables.stale()


def test_few_numbers_decide() -> None:
    """A new one calls for an old one to go, or for a principle in its place."""
    import choice_tables

    rows = list(choice_tables.constants())
    decide = [row for row in rows if choice_tables.kind_of(row) == choice_tables.KINDS[0][0]]
    assert choice_tables.how_many(decide) <= 74
    assert f"Numbers that decide: {choice_tables.how_many(decide)}" in (
        choice_tables.choice_constants()
    )
