"""The ledger on a real Postgres server keeps the same promises."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow.errors import BudgetExceeded, LedgerError
from winnow.privacy import PureDP
from winnow.privacy.ledger import Ledger

pytestmark = pytest.mark.extras

TENTH = PureDP(0.1, "add-remove")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    pgserver = pytest.importorskip("pgserver")
    server = pgserver.get_server(tmp_path / "pg")
    yield server.get_uri()
    server.cleanup()


def test_a_ledger_on_postgres_charges_refuses_and_verifies(place: str, tmp_path: Path) -> None:
    key = tmp_path / "team.key"
    ledger = Ledger.open(place, key_file=key, create=True)
    ledger.open_dataset("census", epsilon=1.0)
    heads = [ledger.charge("census", TENTH) for _ in range(3)]
    assert Ledger.open(place, key_file=key).verify(heads[-1]).ok

    script = f"""
from winnow.errors import BudgetExceeded
from winnow.privacy import PureDP
from winnow.privacy.ledger import Ledger
ledger, n = Ledger.open({place!r}, key_file={str(key)!r}), 0
while True:
    try:
        ledger.charge("census", PureDP(0.01, "add-remove")); n += 1
    except BudgetExceeded:
        break
print(n)
"""
    racing = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert sum(int(process.communicate()[0]) for process in racing) == 70
    with pytest.raises(BudgetExceeded):
        ledger.charge("census", PureDP(0.01, "add-remove"))
    assert ledger.state("census")[0].size == 1 and ledger.verify(heads[0]).ok

    import psycopg

    with psycopg.connect(place) as connection:
        with pytest.raises(psycopg.errors.RaiseException, match="only appended to"):
            connection.execute("DELETE FROM winnow_entries WHERE sequence = 5")
        connection.rollback()
        connection.execute("ALTER TABLE winnow_entries DISABLE TRIGGER ALL")
        connection.execute("UPDATE winnow_entries SET dataset = 'other' WHERE sequence = 5")
    assert "entry 5 was changed" in ledger.verify().problem


def test_an_address_that_does_not_answer_is_a_clear_refusal(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerError, match="nothing was drawn"):
        Ledger.open("postgresql://nobody@127.0.0.1:1/none", key_file=tmp_path / "k", create=True)
