"""A budget is about one privacy unit: it says which, and pays for no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import winnow as wn
from winnow.core.unit import BASKET, PERSON, ROW, Unit, at_most, together
from winnow.errors import InputError, RelationMismatch
from winnow.privacy import Budget, PureDP
from winnow.privacy.ledger import Ledger, RecordedBudget

TENTH = PureDP(0.1, "add-remove")
FRAME = pd.DataFrame({"who": [1] * 5 + [2] * 5, "town": ["A"] * 5 + ["B"] * 5})
SCHEMA = {"town": {"values": ["A", "B"]}}
WHO = at_most("who", (5, "row"))


def rows() -> Any:
    return wn.read_table(FRAME, schema=SCHEMA, relation="add-remove")


def people(most: int = 5) -> Any:
    return wn.read_table(FRAME, schema=SCHEMA, relation="add-remove", person="who", max_rows=most)


def counted(**whom: Any) -> Any:
    return wn.counts(FRAME, item="town", items=["A", "B"], **whom)


def ledger_at(folder: Path) -> Ledger:
    return Ledger.open(folder / "ledger.db", create=True)


def test_a_cap_is_about_the_unit_of_what_it_paid_for() -> None:
    session = wn.Session(rows(), epsilon=1.0)
    released = session.tabulate([["town"]], epsilon=1.0)
    assert str(session.budget.guarantee) == str(released.guarantee)
    assert "protects each row" in repr(session.budget)
    budget = Budget(1.0)
    assert budget.unit is None
    wn.tabulate(people(), [["town"]], epsilon=0.5, budget=budget)
    assert (
        str(budget.guarantee)
        == "1-DP, protects each who (add or remove one); at most 5 rows of each are counted"
    )
    wn.tabulate(people(2), [["town"]], epsilon=0.5, budget=budget)
    assert str(budget.guarantee) == "1-DP, protects each who (add or remove one)"


@pytest.mark.parametrize("first", ["rows", "people"])
def test_rows_and_people_are_not_paid_from_one_budget(first: str) -> None:
    session = wn.Session(rows() if first == "rows" else people(), epsilon=2.0)
    session.tabulate([["town"]], epsilon=1.0)
    other = {"person": "who", "max_items": 1} if first == "rows" else {"unit": "row"}
    with pytest.raises(RelationMismatch, match=r"another budget.*max_rows="):
        session.tabulate(counted(**other), epsilon=1.0)
    assert len(session.budget.events) == 1 and session.budget.left.amount == 1.0


def test_scores_of_the_caller_are_about_whom_the_budget_is_about() -> None:
    for table in (rows(), people()):
        session = wn.Session(table, epsilon=2.0)
        session.select({"a": 1, "b": 2}, epsilon=1.0)
        session.tabulate([["town"]], epsilon=1.0)
        assert session.budget.unit is not None
        assert session.budget.unit.name == table.unit.name


def test_a_budget_for_people_takes_every_column_of_people_and_neither_rows_nor_baskets() -> None:
    budget = Budget(1.0, unit="person")
    budget.charge(TENTH, unit=WHO)
    budget.charge(TENTH, unit=Unit("visitor"))
    assert str(budget.guarantee) == "1-DP, protects each person (add or remove one)"
    for unit in (ROW, BASKET):
        with pytest.raises(RelationMismatch, match=f"this release one {unit.name}"):
            budget.charge(TENTH, unit=unit)
    learned = Budget(1.0)
    learned.charge(TENTH, unit=WHO)
    with pytest.raises(RelationMismatch, match="unit='person'"):
        learned.charge(TENTH, unit=Unit("visitor"))
    assert len(budget.events) == 2 and len(learned.events) == 1


@pytest.mark.parametrize("unit", ["", " ", 5])
def test_a_unit_that_names_nobody_is_refused(unit: Any) -> None:
    with pytest.raises(InputError, match="unit="):
        Budget(1.0, unit=unit)


def test_units_compose_only_with_themselves() -> None:
    units = [ROW, BASKET, WHO, at_most("who", (8, "page")), Unit("visitor")]
    for one in units:
        assert together(None, one) == one
        assert together(one, PERSON) == one
        for other in units:
            if one.name == other.name:
                assert together(one, other) == (one if one == other else Unit(one.name))
            else:
                with pytest.raises(RelationMismatch):
                    together(one, other)


def test_a_ledger_keeps_the_unit_of_a_dataset(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.open_dataset("town", epsilon=2.0)
    budget = RecordedBudget(ledger, "town")
    assert budget.unit is None
    wn.tabulate(rows(), [["town"]], epsilon=0.5, budget=budget)
    again = RecordedBudget(Ledger.open(tmp_path / "ledger.db"), "town")
    assert str(again.guarantee) == "2-DP, protects each row (add or remove one)"
    with pytest.raises(RelationMismatch, match="another dataset"):
        wn.tabulate(people(), [["town"]], epsilon=0.5, budget=again)
    assert ledger.dataset("town").charges == 1 and ledger.verify().ok
    with pytest.raises(RelationMismatch):
        wn.Session(people(), epsilon=2.0, ledger=ledger, dataset="town")


def test_a_dataset_is_opened_for_a_unit(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    for _ in range(2):
        ledger.open_dataset("town", epsilon=2.0, unit="person")
    assert str(ledger.dataset("town").guarantee) == "2-DP, protects each person (add or remove one)"
    with pytest.raises(RelationMismatch):
        ledger.open_dataset("town", epsilon=2.0, unit="row")
    with pytest.raises(RelationMismatch):
        ledger.charge("town", TENTH, unit=ROW)
    ledger.charge("town", TENTH, unit=WHO)
    assert ledger.verify().ok


def test_charges_from_before_units_were_written_are_marked_and_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from winnow.privacy.ledger.accounts import Dataset
    from winnow.privacy.ledger.chain import Chain

    add, to_body = Chain.add, Dataset.to_body

    def untold(self: Dataset) -> dict[str, Any]:
        body = to_body(self)
        del body["account"]["unit"], body["account"]["unstated"]
        return body

    def without(self: Chain, end: Any, kind: str, account: Any, body: Any, **options: Any) -> Any:
        old = {name: value for name, value in body.items() if name != "unit"}
        return add(self, end, kind, account, old, **options)

    ledger = ledger_at(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Dataset, "to_body", untold)
        patch.setattr(Chain, "add", without)
        ledger.open_dataset("town", epsilon=2.0)
        for _ in range(3):
            ledger.charge("town", TENTH)
    assert ledger.verify().ok
    found = ledger.dataset("town")
    assert (found.unit, found.unstated) == (None, 3)
    ledger.charge("town", TENTH, unit=ROW)
    found = ledger.dataset("town")
    assert (found.unit, found.unstated, found.charges) == (ROW, 3, 4)
    with pytest.raises(RelationMismatch):
        ledger.charge("town", TENTH, unit=WHO)
    assert ledger.verify().ok
    with monkeypatch.context() as patch:  # an older version goes on with it
        patch.setattr(Dataset, "to_body", untold)
        patch.setattr(Chain, "add", without)
        ledger.charge("town", TENTH)
    ledger.charge("town", TENTH, unit=WHO)
    assert ledger.dataset("town").unstated == 5
    assert ledger.verify().ok
