"""The contract of every place that a ledger can be kept in: files, and a Postgres server.

Charges add up and stop at the cap, in however many processes; what was written is not changed,
and what somebody changed all the same is refused by the next charge. A class of stores that is
not listed here fails by name.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import winnow as wn
from contracts.classes import all_classes
from reference.processes import at_once
from winnow import BudgetExceeded, InputError
from winnow.errors import LedgerError
from winnow.privacy import PureDP
from winnow.privacy.ledger import Ledger, RecordedBudget
from winnow.privacy.ledger.postgres_store import PostgresStore
from winnow.privacy.ledger.sqlite_store import SQLiteStore
from winnow.privacy.ledger.store import Store

TENTH = PureDP(0.1, "add-remove")
STORES = {"sqlite": SQLiteStore, "postgres": PostgresStore}
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@dataclass(frozen=True)
class Place:
    """Where a ledger is kept, and what somebody can do there without its key."""

    address: str
    key: Path
    prefix: str
    """Of the names of tables."""

    def made(self) -> Ledger:
        ledger = self.opened(create=True)
        ledger.open_dataset("census", epsilon=1.0)
        return ledger

    def opened(self, *, create: bool = False) -> Ledger:
        return Ledger.open(self.address, key_file=self.key, create=create)

    def asked(self, statement: str, *, by_owner: bool = False) -> None:
        """Run a statement; the owner takes the triggers off first."""
        statement = statement.format(p=self.prefix)
        if self.prefix:
            import psycopg

            with psycopg.connect(self.address) as connection:
                if by_owner:
                    connection.execute("ALTER TABLE winnow_entries DISABLE TRIGGER ALL")
                connection.execute(statement)
            return
        file = sqlite3.connect(self.address)
        try:
            with file:
                names = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
                for (name,) in file.execute(names).fetchall() if by_owner else ():
                    file.execute(f"DROP TRIGGER {name}")
                file.execute(statement)
        finally:
            file.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.extras)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place without a ledger."""
    if request.param == "sqlite":
        return Place(str(tmp_path / "ledger.db"), tmp_path / "team.key", "")
    return Place(request.getfixturevalue("postgres_address"), tmp_path / "team.key", "winnow_")


def test_charges_add_up_across_openings_and_stop_at_the_cap(place: Place) -> None:
    place.made()
    for _ in range(10):
        budget = RecordedBudget(place.opened(), "census")
        budget.charge(TENTH)
    assert budget.spent.amount == 1.0 and len(budget.events) == 10
    with pytest.raises(BudgetExceeded, match="epsilon 0 of 1 is left"):
        budget.charge(PureDP(Fraction(1, 10**30), "add-remove"))
    assert place.opened().used("census").size == 1


def test_a_refused_charge_leaves_no_entry(place: Place) -> None:
    ledger = place.made()
    with pytest.raises(BudgetExceeded):
        ledger.charge("census", PureDP(2.0, "add-remove"))
    assert ledger.verify().entries == 1 and ledger.verify().ok


def test_heads_of_receipts_verify_and_are_in_order(place: Place) -> None:
    ledger = place.made()
    released = wn.select({"a": 4, "b": 1}, epsilon=0.1, budget=RecordedBudget(ledger, "census"))
    later = ledger.charge("census", TENTH)
    for head in (released.receipt.ledger, later):
        assert place.opened().verify(head).ok
    assert [entry.sequence for entry in ledger.entries()] == [1, 2, 3]


@pytest.mark.parametrize("statement", ["DELETE FROM {p}entries WHERE sequence = 2",
                                       "UPDATE {p}entries SET kind = 'x'",
                                       "DELETE FROM {p}meta"])  # fmt: skip
def test_what_was_written_is_not_changed(place: Place, statement: str) -> None:
    ledger = place.made()
    ledger.charge("census", TENTH)
    with pytest.raises(Exception, match="only appended to"):
        place.asked(statement)
    assert ledger.verify().ok


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {p}entries SET dataset = 'B' WHERE dataset = 'A' AND kind = 'charge'",
        "UPDATE {p}entries SET body = replace(body, '\"1\"', '\"0\"')",
        "UPDATE {p}entries SET body = '[' WHERE sequence = 3",
        "DELETE FROM {p}entries WHERE dataset = 'A' AND kind = 'charge'",
        "DELETE FROM {p}entries WHERE sequence >= 3",
        "UPDATE {p}ending SET sequence = 2",
    ],
)
def test_an_edited_ledger_is_refused_by_the_next_charge(place: Place, statement: str) -> None:
    ledger = place.opened(create=True)
    for label in ("A", "B"):
        ledger.open_dataset(label, epsilon=1.0)
    ledger.charge("A", PureDP(1.0, "add-remove"))
    ledger.charge("B", TENTH)
    place.asked(statement, by_owner=True)
    for charging in (ledger, place.opened()):
        with pytest.raises(LedgerError):
            charging.charge("A", TENTH)
    assert not ledger.verify().ok


def test_an_edited_entry_is_named(place: Place) -> None:
    ledger = place.made()
    ledger.charge("census", TENTH)
    place.asked("UPDATE {p}entries SET body = replace(body, '1/10', '0') WHERE sequence = 2",
                by_owner=True)  # fmt: skip
    assert "entry 2 was changed" in ledger.verify().problem
    with pytest.raises(LedgerError, match="entry 2"):
        ledger.charge("census", TENTH)


def test_shares_bind_and_requests_are_charged_once(place: Place) -> None:
    ledger = place.made()
    ledger.set_share("census", "ann", 0.2)
    heads = {ledger.charge("census", TENTH, analyst="ann", request="r") for _ in range(3)}
    assert len(heads) == 1
    ledger.charge("census", TENTH, analyst="ann")
    with pytest.raises(BudgetExceeded, match="share of 'ann'"):
        ledger.charge("census", TENTH, analyst="ann")
    assert [share.analyst for share in ledger.shares("census")] == ["ann"] and ledger.verify().ok


def test_a_dataset_is_held_by_one_session(place: Place) -> None:
    place.made()
    stores = [place.opened()._store for _ in range(2)]
    held = stores[0].hold("census")
    assert held is not None
    assert stores[1].hold("census") is None
    held.release()
    again = stores[1].hold("census")
    assert again is not None
    again.release()


@needs_fork
def test_processes_at_once_never_pass_the_cap(place: Place) -> None:
    ledger = place.made()

    def work(_: int) -> int:
        own, charged = place.opened(), 0
        while True:
            try:
                own.charge("census", PureDP(0.02, "add-remove"))
            except BudgetExceeded:
                return charged
            charged += 1

    assert sum(map(int, at_once(6, work))) == 50
    assert ledger.used("census").size == 1 and ledger.verify().ok


@needs_fork
def test_four_processes_make_one_ledger(place: Place) -> None:
    def work(_: int) -> bool:
        ledger = place.opened(create=True)
        ledger.open_dataset("census", epsilon=1.0)
        return len(ledger.charge("census", TENTH)) > 60

    assert at_once(4, work) == ["True"] * 4
    assert place.opened().dataset("census").charges == 4


def test_there_is_no_ledger_until_one_is_made(place: Place) -> None:
    with pytest.raises(InputError, match="there is no ledger"):
        place.opened()
    place.made()
    (place.key).write_text("00" * 32)
    with pytest.raises(LedgerError, match="is not the key"):
        place.opened()


def missing(classes: Iterable[type]) -> list[str]:
    asked = [name for name in vars(Store) if not name.startswith("_")]
    stores = {made for made in classes if all(hasattr(made, name) for name in asked)}
    return sorted(made.__qualname__ for made in stores - {Store} - set(STORES.values()))


BROKEN = {
    "a table is gone": "DROP TABLE {p}entries",
    "an entry is no text": "ALTER TABLE {p}entries RENAME COLUMN body TO secret",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_errors_of_a_ledger_carry_nothing_of_the_database(place: Place, fault: str) -> None:
    """Neither as a cause nor as a context, whichever method meets it."""
    ledger = place.made()
    budget = RecordedBudget(ledger, "census")
    budget.charge(TENTH)
    place.asked(BROKEN[fault], by_owner=True)
    calls: dict[str, Any] = {
        "charge": lambda: ledger.charge("census", TENTH),
        "used": lambda: ledger.used("census"),
        "entries": ledger.entries,
        "datasets": ledger.datasets,
        "open_dataset": lambda: ledger.open_dataset("other", epsilon=1.0),
        "budget": lambda: budget.charge(TENTH),
        "spent": lambda: budget.spent,
        "verb": lambda: wn.select({"a": 4, "b": 1}, epsilon=0.1, budget=budget),
    }
    for name, call in calls.items():
        with pytest.raises(LedgerError) as caught:
            call()
        assert caught.value.__cause__ is None and caught.value.__context__ is None, name


@pytest.mark.parametrize("make", STORES)
def test_a_store_that_cannot_be_opened_carries_nothing_of_the_system(
    make: str, tmp_path: Path
) -> None:
    if make == "sqlite":
        (tmp_path / "ledger.db").write_bytes(b"no database at all " * 50)
        address = str(tmp_path / "ledger.db")
    else:
        pytest.importorskip("psycopg")
        address = "postgresql://nobody:secret@127.0.0.1:1/none"
    (tmp_path / "team.key").write_text("00" * 32)
    (tmp_path / "team.key").chmod(0o600)
    with pytest.raises(LedgerError) as caught:
        Ledger.open(address, key_file=tmp_path / "team.key")
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "secret" not in str(caught.value)


def test_every_store_is_under_the_contract() -> None:
    found: list[Any] = missing(all_classes())
    assert not found, f"add a place for it to contracts/test_ledger_stores.py: {found}"


def test_a_store_without_a_place_is_named() -> None:
    class NewStore(SQLiteStore):
        pass

    assert missing([SQLiteStore, NewStore])[0].endswith("NewStore")
