"""The ledger on a real Postgres server keeps the same promises."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import winnow as wn
from winnow import BudgetExceeded, InputError
from winnow.errors import LedgerError
from winnow.privacy import PureDP
from winnow.privacy.ledger.ledger import Ledger

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


def test_sessions_on_postgres_are_one_at_a_time_and_know_an_old_state_file(
    place: str, tmp_path: Path
) -> None:
    import psycopg

    frame = pd.DataFrame({"job": ["nurse", "cook", "nurse", "clerk"] * 50})
    table = wn.read_table(frame, schema={"job": {"values": ["clerk", "cook", "nurse"]}})
    ledger = Ledger.open(place, key_file=tmp_path / "team.key", create=True)
    steward = wn.Session(table, epsilon=2, delta=1e-6, ledger=ledger, dataset="staff")
    sizes = {"epsilon": 1, "delta": 1e-6, "max_queries": 5, "method": "independent"}
    first = steward.interactive(state=tmp_path / "s", **sizes)
    with pytest.raises(LedgerError, match="one at a time"):
        steward.interactive(**sizes)
    first.ask(wn.where(job="cook"))
    first.close()
    assert place not in (tmp_path / "s").read_text()
    with pytest.raises(InputError, match="whose address is not written down"):
        wn.resume_interactive(table, tmp_path / "s")
    old = (tmp_path / "s").read_bytes()
    with wn.resume_interactive(table, tmp_path / "s", ledger=place) as again:
        again.ask(wn.where(job="clerk"))
    latest = (tmp_path / "s").read_bytes()
    (tmp_path / "s").write_bytes(old)
    with pytest.raises(LedgerError, match="older than what the ledger knows"):
        wn.resume_interactive(table, tmp_path / "s", ledger=ledger)
    (tmp_path / "s").write_bytes(latest)
    again = wn.resume_interactive(table, tmp_path / "s", ledger=ledger)
    with psycopg.connect(place, autocommit=True) as other:  # the server lets the lock go
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
    with pytest.raises(LedgerError, match="lock on the dataset was lost"):
        again.ask(wn.where(job=["clerk", "cook"]))
    assert ledger.verify().ok and len(steward.budget.events) == 1


def test_an_address_that_does_not_answer_is_a_clear_refusal(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerError, match="nothing was drawn"):
        Ledger.open("postgresql://nobody@127.0.0.1:1/none", key_file=tmp_path / "k", create=True)
