"""A charge proves what is used: hidden, moved, swapped or cut entries are refused then."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from reference.first_ledger import first_ledger
from reference.ledger_damage import KINDS, outcomes
from winnow.errors import BudgetExceeded, InputError, LedgerError
from winnow.privacy import PureDP
from winnow.privacy.ledger import Entry, Ledger, RecordedBudget
from winnow.privacy.ledger.locks import lock_file, turnstile
from winnow.privacy.ledger.tree import HERE, Node, Pointer, changed, find, leaves, node_in

TENTH = PureDP(0.1, "add-remove")
WHOLE = PureDP(1.0, "add-remove")


def made(folder: Path, *labels: str) -> Ledger:
    ledger = Ledger.open(folder / "ledger.db", create=True)
    for label in labels:
        ledger.open_dataset(label, epsilon=1.0)
    return ledger


def edit(folder: Path, *statements: str) -> None:
    """What somebody with the file and an SQLite shell can do: drop the triggers and write."""
    connection = sqlite3.connect(folder / "ledger.db")
    with connection:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("others", [0, 1, 40])
def test_a_charge_that_was_moved_to_another_dataset_is_not_spent_again(
    tmp_path: Path, others: int
) -> None:
    """Found in review: the cap of A could be spent again until somebody verified."""
    ledger = made(tmp_path, "A", "B", *(f"other {number}" for number in range(others)))
    ledger.charge("A", WHOLE)
    for number in range(others):
        ledger.charge(f"other {number}", TENTH)
    ledger.charge("B", TENTH)
    edit(tmp_path, "UPDATE entries SET dataset = 'B' WHERE kind = 'charge' AND dataset = 'A'")
    for fresh in (ledger, Ledger.open(tmp_path / "ledger.db")):
        with pytest.raises(LedgerError, match="was changed"):
            fresh.charge("A", TENTH)
        with pytest.raises(LedgerError, match="was changed"):
            _ = RecordedBudget(fresh, "A").left


def test_the_mark_of_a_session_that_was_hidden_is_missed(tmp_path: Path) -> None:
    """Found in review: with the latest mark moved away, an older state file was accepted."""
    ledger = made(tmp_path, "A", "B")
    ledger.charge("A", TENTH, session="s")
    seen = ledger.note_session("A", "s", {"released": 1}, 0)
    ledger.note_session("A", "s", {"released": 2}, seen)
    ledger.charge("B", TENTH)
    for statement in (
        "UPDATE entries SET dataset = 'B' WHERE sequence = 5",
        "DELETE FROM entries WHERE sequence = 5",
        "UPDATE entries SET body = (SELECT body FROM entries WHERE sequence = 4) "
        "WHERE sequence = 5",
    ):
        shutil.copy(tmp_path / "ledger.db", tmp_path / "kept")
        edit(tmp_path, statement)
        with pytest.raises(LedgerError):
            Ledger.open(tmp_path / "ledger.db").session_entry("session", "A", "s")
        shutil.copy(tmp_path / "kept", tmp_path / "ledger.db")
    found = Ledger.open(tmp_path / "ledger.db").session_entry("session", "A", "s")
    assert found is not None and found.body["released"] == 2
    assert ledger.session_entry("session", "A", "t") is None


def test_an_entry_of_a_discarded_branch_does_not_fit(tmp_path: Path) -> None:
    """Both are genuine: the ledger was restored from a copy once, and then went on."""
    ledger = made(tmp_path, "A", "B")
    shutil.copy(tmp_path / "ledger.db", tmp_path / "copy")
    ledger.charge("A", TENTH)
    connection = sqlite3.connect(tmp_path / "ledger.db")
    branch = connection.execute("SELECT * FROM entries WHERE sequence = 3").fetchone()
    connection.close()
    shutil.copy(tmp_path / "copy", tmp_path / "ledger.db")
    again = Ledger.open(tmp_path / "ledger.db")
    again.charge("A", WHOLE)
    again.charge("B", TENTH)
    edit(tmp_path, "DELETE FROM entries WHERE sequence = 3")
    connection = sqlite3.connect(tmp_path / "ledger.db")
    connection.execute("INSERT INTO entries VALUES (?,?,?,?,?,?,?,?,?)", branch)
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="replaced by another"):
        Ledger.open(tmp_path / "ledger.db").charge("A", TENTH)


DAMAGED = int(os.environ.get("WINNOW_DAMAGE", "210"))


def test_a_spent_and_damaged_ledger_grants_nothing_and_says_so_itself(tmp_path: Path) -> None:
    found = outcomes(tmp_path, DAMAGED, seed=5)
    met = Counter[str]()
    for (_, name), times in found.items():
        met[name] += times
    assert set(met) <= {"BudgetExceeded", "LedgerError", "DataError"}, met
    assert sum(met.values()) == DAMAGED and met["LedgerError"] > DAMAGED / 5
    assert {kind for kind, name in found if name == "LedgerError"} == {k.__name__ for k in KINDS}


def test_a_tag_that_is_no_text_of_ascii_is_the_ledgers_own_error(tmp_path: Path) -> None:
    """Found in review: comparing it raised a TypeError."""
    ledger = made(tmp_path, "A")
    edit(tmp_path, f"UPDATE entries SET tag = '{'é' * 64}'")
    with pytest.raises(LedgerError, match="entry 1"):
        ledger.charge("A", TENTH)
    edit(tmp_path, "UPDATE meta SET value = 'é' WHERE name = 'key'")
    with pytest.raises(LedgerError, match="is not the key"):
        Ledger.open(tmp_path / "ledger.db")


def test_what_a_charge_reads_does_not_grow_with_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = made(tmp_path, *(f"set {number}" for number in range(5)))
    read = []
    real = Entry.from_row.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(
        Entry, "from_row", classmethod(lambda cls, row: read.append(1) or real(cls, row))
    )
    work = (
        lambda: ledger.charge("set 0", PureDP(0.001, "add-remove"), analyst="ann"),
        lambda: RecordedBudget(ledger, "set 0", analyst="ann").left,
        lambda: ledger.note_data("set 0", b"digest"),
        lambda: ledger.note_session("set 0", "s", {}, 10**9),
    )
    most = []
    for _ in range(20):
        for step in work:
            read.clear()
            step()
            most.append(len(read))
        ledger.charge("set 1", PureDP(0.001, "add-remove"))
    # The tree of eight names is random, and deeper than 15 with a chance below 0.1 %; there are
    # more than a hundred entries.
    assert max(most) <= 45, most


def test_the_tree_finds_what_a_dictionary_finds() -> None:
    """Also when many names share their first digits, and when names are set again."""
    nodes: dict[str, Node] = {"": {}}
    known: dict[str, int] = {}

    def load(prefix: str, pointer: Pointer) -> Node:
        assert pointer[1] == "t" * 32
        return nodes[prefix]

    names = [format(number * number % 977, "x").zfill(3) * 11 for number in range(300)]
    names += [f"aaaa{number:028x}" for number in range(40)]
    for sequence, name in enumerate(names + names[::3], 1):
        carried = changed(nodes[""], {name: HERE}, load)
        entry = Entry(sequence, "", "", "", {"tree": carried}, "", "t" * 64)
        nodes |= {prefix: node_in(entry, prefix) for prefix in carried}
        known[name] = sequence
        for other in (name, names[0], names[sequence % len(names)]):
            found = find(nodes[""], other, load)
            assert (None if found is None else found[0]) == known.get(other)
        assert find(nodes[""], "f" * 33, load) is None
    assert sorted(p[0] for p in leaves(nodes[""], load)) == sorted(known.values())


def test_a_ledger_of_version_1_is_verified_and_upgraded_once(tmp_path: Path) -> None:
    path = first_ledger(tmp_path / "ledger.db")
    with pytest.warns(UserWarning, match="verified and upgraded from version 1 to 2"):
        ledger = Ledger.open(path)
    again = Ledger.open(path)
    (account,) = again.datasets()
    assert float(account.used.size) == 0.6 and account.charges == len(again.events("census")) == 6
    assert [(s.analyst, float(s.used.size)) for s in again.shares("census")] == [
        ("ann", 0.3), ("bo", 0.3),
    ]  # fmt: skip
    told = again.session_entry("session", "census", "s")
    paid = again.session_entry("charge", "census", "s")
    assert told is not None and told.body["released"] == 2
    assert paid is not None and paid.sequence == 8
    again.open_dataset("copy", epsilon=1.0)
    assert again.note_data("copy", b"digest") == ["census"]
    ledger.charge("census", PureDP(0.4, "add-remove"))
    with pytest.raises(BudgetExceeded):
        again.charge("census", TENTH)
    assert again.verify().ok
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="was upgraded"):  # a process that is older
        connection.execute("INSERT INTO entries VALUES (99,'','','','{}','x','y',0,0)")
    with pytest.raises(sqlite3.IntegrityError, match="only appended"):
        connection.execute("UPDATE meta SET value = '1' WHERE name = 'version'")
    connection.close()


def test_a_ledger_of_version_1_that_does_not_verify_is_not_upgraded(tmp_path: Path) -> None:
    path = first_ledger(tmp_path / "ledger.db")
    edit(tmp_path, "UPDATE entries SET dataset = 'other' WHERE sequence = 4")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="cannot be upgraded: entry 4 was changed"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_a_ledger_is_not_made_one_of_version_1_again(tmp_path: Path) -> None:
    ledger = made(tmp_path, "A")
    ledger.charge("A", WHOLE)
    edit(tmp_path, "DELETE FROM entries", "DROP TABLE ending", "DROP TABLE noted",
         "UPDATE meta SET value = '1' WHERE name = 'version'")  # fmt: skip
    with pytest.raises(LedgerError, match="is not the key"):
        Ledger.open(tmp_path / "ledger.db")


def test_a_file_put_in_place_of_the_ledger_is_the_one_that_is_used(tmp_path: Path) -> None:
    """A kept connection would go on writing to the file that is no longer there."""
    ledger = made(tmp_path, "A")
    shutil.copy(tmp_path / "ledger.db", tmp_path / "copy")
    os.replace(tmp_path / "copy", tmp_path / "ledger.db")
    ledger.charge("A", TENTH)
    assert Ledger.open(tmp_path / "ledger.db").dataset("A").charges == 1
    (tmp_path / "ledger.db").unlink()
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.charge("A", TENTH)


def test_threads_share_one_ledger(tmp_path: Path) -> None:
    ledger = made(tmp_path, "A")
    refused = []

    def work() -> None:
        for _ in range(5):
            try:
                ledger.charge("A", TENTH)
            except BudgetExceeded:
                refused.append(1)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 10 and ledger.verify().ok and ledger.dataset("A").charges == 10


@pytest.mark.skipif(sys.platform == "win32", reason="waits by asking again there")
def test_a_turnstile_serves_in_the_order_of_coming(tmp_path: Path) -> None:
    """Found under load: who had just been served came first again, and others waited a second."""
    path, served = str(tmp_path / "turn"), []

    def work(number: int) -> None:
        with turnstile(path, time.monotonic() + 60):
            served.append(number)

    threads = [Thread(target=work, args=(number,)) for number in range(6)]
    with turnstile(path, 0.0):
        for thread in threads:
            thread.start()
            time.sleep(0.1)  # until it stands in the queue
        assert not served
    for thread in threads:
        thread.join()
    assert served == list(range(6))


def test_who_waited_too_long_at_a_turnstile_leaves_the_queue(tmp_path: Path) -> None:
    path = str(tmp_path / "turn")
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    assert lock_file(handle)
    with turnstile(path, time.monotonic() + 0.05), turnstile(path, 0.0):
        pass  # nobody is kept out for good: SQLite itself decides
    os.close(handle)
    deadline = time.monotonic() + 60
    with held_open(path) as other:
        while not lock_file(other):  # not kept by those who left
            assert time.monotonic() < deadline
            time.sleep(0.01)


@contextmanager
def held_open(path: str) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR)
    yield handle
    os.close(handle)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_charges_through_a_connection_of_its_own(tmp_path: Path) -> None:
    ledger = made(tmp_path, "A")
    ledger.charge("A", TENTH)
    child = os.fork()
    if child == 0:
        try:
            ledger.charge("A", TENTH)
        finally:
            os._exit(0)
    ledger.charge("A", TENTH)
    os.waitpid(child, 0)
    ledger.charge("A", TENTH)
    assert ledger.dataset("A").charges == 4 and ledger.verify().ok


def test_an_unknown_dataset_is_said_to_be_unknown(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="knows no dataset 'B'"):
        made(tmp_path, "A").used("B")
