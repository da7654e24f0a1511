"""The ledger: what is charged survives, what is forged is found, the cap is never passed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

import winnow as wn
from winnow import Budget, BudgetExceeded, InputError, RelationMismatch
from winnow.errors import LedgerError
from winnow.privacy import ApproxDP, BoundedRange, Gaussian, PureDP, Truncated
from winnow.privacy.ledger import Ledger, RecordedBudget

TENTH = PureDP(0.1, "add-remove")


def made(folder: Path, epsilon: float = 1.0, delta: float = 0.0, **more: str) -> Ledger:
    ledger = Ledger.open(folder / "ledger.db", create=True)
    ledger.open_dataset("census", epsilon=epsilon, delta=delta, **more)
    return ledger


def edit(path: Path, statement: str, *values: object) -> None:
    """What somebody with the file and an SQLite shell can do: drop the triggers and write."""
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement, values)
    connection.close()


def test_a_receipt_carries_the_head_and_the_head_verifies(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    budget = RecordedBudget(ledger, "census", analyst="ann")
    released = wn.select({"a": 4, "b": 1}, epsilon=0.1, budget=budget)
    head = released.receipt.ledger
    assert head.startswith("ledger.db#2:")
    assert ledger.verify(head).ok
    assert ledger.entries()[-1].body["analyst"] == "ann"


@pytest.mark.parametrize("which", [1, 2, 3])
def test_a_removed_entry_is_found(tmp_path: Path, which: int) -> None:
    ledger = made(tmp_path)
    heads = [ledger.charge("census", TENTH) for _ in range(3)]
    edit(tmp_path / "ledger.db", "DELETE FROM entries WHERE sequence = ?", which)
    assert not ledger.verify(heads[-1]).ok
    assert not ledger.verify().ok


def test_a_cut_end_is_found_by_the_mark_of_the_end_and_by_the_head_of_a_receipt(
    tmp_path: Path,
) -> None:
    ledger = made(tmp_path)
    heads = [ledger.charge("census", TENTH) for _ in range(3)]
    edit(tmp_path / "ledger.db", "DELETE FROM entries WHERE sequence = 4")
    assert "sealed mark" in ledger.verify().problem
    assert "cut" in ledger.verify(heads[-1]).problem
    with pytest.raises(LedgerError, match="entries are missing"):
        Ledger.open(tmp_path / "ledger.db").charge("census", TENTH)


def test_an_older_copy_put_back_is_found_by_a_head_even_after_new_charges(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    ledger.charge("census", TENTH)
    shutil.copy(tmp_path / "ledger.db", tmp_path / "old.db")
    head = ledger.charge("census", PureDP(0.2, "add-remove"))
    shutil.copy(tmp_path / "old.db", tmp_path / "ledger.db")
    with pytest.raises(LedgerError, match="no longer has the entry 3"):
        ledger.charge("census", TENTH)  # it was open meanwhile, and remembers
    Ledger.open(tmp_path / "ledger.db").charge("census", TENTH)
    assert "differs at entry 3" in ledger.verify(head).problem


def test_the_key_is_readable_by_its_owner_only_and_another_key_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    key = tmp_path / "ledger.db.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.write_text("00" * 32)
    with pytest.raises(LedgerError, match="is not the key"):
        Ledger.open(tmp_path / "ledger.db")


@pytest.mark.parametrize("text", ["", "zz", "00" * 31])
def test_a_damaged_key_is_refused(tmp_path: Path, text: str) -> None:
    made(tmp_path)
    (tmp_path / "ledger.db.key").write_text(text)
    with pytest.raises(LedgerError, match="key"):
        Ledger.open(tmp_path / "ledger.db")


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    edit(tmp_path / "ledger.db", "UPDATE meta SET value = '3' WHERE name = 'version'")
    with pytest.raises(LedgerError, match="version"):
        Ledger.open(tmp_path / "ledger.db")


def test_a_file_cut_in_half_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    whole = (tmp_path / "ledger.db").read_bytes()
    (tmp_path / "ledger.db").write_bytes(whole[: len(whole) // 2 + 7])
    with pytest.raises(LedgerError, match="nothing was shown"):
        ledger.charge("census", TENTH)


def test_there_is_no_ledger_until_one_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ledger init"):
        Ledger.open(tmp_path / "none.db")


def test_a_ledger_that_disappeared_is_not_replaced_by_a_fresh_one(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "ledger.db").unlink()
    with pytest.raises(LedgerError, match="is gone"):
        Ledger.open(tmp_path / "ledger.db", create=True)


def test_a_cap_is_fixed_once(tmp_path: Path) -> None:
    ledger = made(tmp_path, epsilon=1.0, delta=1e-6)
    ledger.open_dataset("census", epsilon=1.0, delta=1e-6)
    with pytest.raises(InputError, match="fixed once"):
        ledger.open_dataset("census", epsilon=2.0, delta=1e-6)
    with pytest.raises(RelationMismatch, match="one relation"):
        ledger.open_dataset("census", epsilon=1.0, delta=1e-6, relation="substitution")
    with pytest.raises(RelationMismatch):
        ledger.charge("census", PureDP(0.1, "substitution"))
    with pytest.raises(InputError, match="knows no dataset"):
        ledger.charge("other", TENTH)


def test_a_forged_sum_is_not_signed_by_noting_data(tmp_path: Path) -> None:
    """Found in review: an unchecked entry was carried over into a genuine one."""
    ledger = made(tmp_path)
    ledger.open_dataset("other", epsilon=1.0)
    ledger.charge("census", PureDP(1.0, "add-remove"))
    ledger.charge("other", TENTH)
    edit(tmp_path / "ledger.db", """UPDATE entries SET body = replace(body, '"used": ["1"', """
         """'"used": ["0"') WHERE sequence = 3""")  # fmt: skip
    with pytest.raises(LedgerError, match="entry 3"):
        ledger.note_data("census", b"digest")
    with pytest.raises(LedgerError, match="entry 3"):
        ledger.charge("census", TENTH)


def test_a_gap_stops_further_charges(tmp_path: Path) -> None:
    """Found in review: the last charge of one dataset removed, another dataset's after it."""
    ledger = made(tmp_path)
    ledger.open_dataset("other", epsilon=1.0)
    ledger.charge("census", PureDP(1.0, "add-remove"))
    ledger.charge("other", TENTH)
    edit(tmp_path / "ledger.db", "DELETE FROM entries WHERE sequence = 3")
    with pytest.raises(LedgerError, match="missing"):
        ledger.charge("census", TENTH)


def test_another_ledger_with_the_same_key_is_not_this_one(tmp_path: Path) -> None:
    first = made(tmp_path)
    head = first.charge("census", TENTH)
    second = Ledger.open(tmp_path / "second.db", key_file=tmp_path / "ledger.db.key", create=True)
    second.open_dataset("census", epsilon=1.0)
    second.charge("census", TENTH)
    assert not second.verify(head).ok
    connection = sqlite3.connect(tmp_path / "second.db")
    rows = connection.execute("SELECT * FROM entries").fetchall()
    connection.close()
    edit(tmp_path / "ledger.db", "DELETE FROM entries")
    for row in rows:
        edit(tmp_path / "ledger.db", "INSERT INTO entries VALUES (?,?,?,?,?,?,?,?,?)", *row)
    assert "entry 1 was changed" in first.verify().problem


@pytest.mark.parametrize("label", ["", "  ", "x" * 201, 7, "caf\u0065\u0301", "a ", "a\nb"])
def test_a_label_is_a_short_text(tmp_path: Path, label: object) -> None:
    with pytest.raises(InputError, match="label"):
        made(tmp_path).open_dataset(label, epsilon=1.0)  # type: ignore[arg-type]


def test_the_same_data_under_another_label_are_noticed(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    ledger.open_dataset("copy", epsilon=1.0)
    assert ledger.note_data("census", b"digest") == []
    assert ledger.note_data("census", b"digest") == []
    assert ledger.note_data("copy", b"digest") == ["census"]
    assert ledger.verify().ok
    assert b"digest" not in (tmp_path / "ledger.db").read_bytes()


def test_the_number_of_entries_does_not_depend_on_the_data(tmp_path: Path) -> None:
    """Found in review: receipts with one number more told that the data had changed."""
    ledger = made(tmp_path)
    heads = []
    for digest in (b"one", b"one", b"other"):
        ledger.note_data("census", digest)
        heads.append(ledger.verify().entries)
    assert heads == [2, 3, 4]


def test_zcdp_sums_are_exact_and_a_plan_of_exactly_the_cap_fits(tmp_path: Path) -> None:
    ledger = made(tmp_path, epsilon=1.0, delta=1e-6, accountant="zcdp")
    cap = ledger.cap("census").limit.size
    multiplier = Fraction(1000)
    while Fraction(1) / (2 * multiplier**2) < cap / 3:
        multiplier -= 1
    for _ in range(3):
        ledger.charge("census", Gaussian(multiplier + 1, "add-remove"))
    used, events = ledger.used("census"), ledger.events("census")
    assert used.size <= cap and len(events) == 3 and ledger.verify().ok


def test_a_cap_of_epsilon_and_delta_serves_every_kind_of_charge(tmp_path: Path) -> None:
    """The first thing a steward does: a cap, a private list, a pure list and a Gaussian table."""
    ledger = made(tmp_path, epsilon=1.0, delta=1e-5)
    for event in (
        Truncated(BoundedRange(0.1, "add-remove"), 1e-6),
        PureDP(0.4, "add-remove"),
        Gaussian(20, "add-remove"),
        ApproxDP(0.1, 4e-6, "add-remove"),
    ):
        ledger.charge("census", event, analyst="ann")
    with pytest.raises(BudgetExceeded, match=r"is left; epsilon 0\.\d+ would fit"):
        ledger.charge("census", PureDP(0.5, "add-remove"))
    again = Ledger.open(tmp_path / "ledger.db")
    budget = Budget(1, 1e-5)
    for event in again.events("census"):
        budget.charge(event)
    assert again.verify().ok and again.used("census") == budget._used()
    assert again.share("census", "ann").used == budget._used()


def test_a_dataset_opened_by_another_default_is_opened_again_by_the_same_words(
    tmp_path: Path,
) -> None:
    ledger = made(tmp_path, epsilon=1.0, delta=1e-6, accountant="zcdp")
    assert ledger.open_dataset("census", epsilon=1.0, delta=1e-6).accountant == "zcdp"
    with pytest.raises(InputError, match="fixed once"):
        ledger.open_dataset("census", epsilon=2.0, delta=1e-6)
    with pytest.raises(InputError, match="fixed once"):
        ledger.open_dataset("census", epsilon=1.0, delta=1e-6, accountant="pure")


def test_a_full_disk_refuses_before_noise_is_drawn(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for the full disk; the child prints what it got."""
    ledger = made(tmp_path)
    size = (tmp_path / "ledger.db").stat().st_size
    script = f"""
import resource, signal, winnow as wn
from winnow.privacy.ledger import Ledger, RecordedBudget
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
budget = RecordedBudget(Ledger.open({str(tmp_path / "ledger.db")!r}), "census")
resource.setrlimit(resource.RLIMIT_FSIZE, ({size // 2}, resource.RLIM_INFINITY))
try:
    print(wn.select({{"a": 4, "b": 1}}, epsilon=0.1, budget=budget))
except wn.errors.LedgerError as error:
    print("refused", error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith("refused"), done.stderr
    assert ledger.verify().ok


def charging(path: Path) -> tuple[int, int]:
    """A process that charges until the cap, and the pipe on which it says each head."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ledger = Ledger.open(path)
            while True:
                head = ledger.charge("census", PureDP(0.01, "add-remove"))
                os.write(write, f"{head}\n".encode())
        finally:
            os._exit(0)
    os.close(write)
    return child, read


def said(read: int) -> list[str]:
    """All that it said, whole lines only."""
    content = b""
    while piece := os.read(read, 1 << 16):
        content += piece
    os.close(read)
    return content.decode().split("\n")[:-1]


KILLS = int(os.environ.get("WINNOW_KILLS", "12"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_moment_no_charge_is_lost(tmp_path: Path) -> None:
    """What a process has announced as charged is in the ledger, whenever it is killed."""
    ledger = made(tmp_path, epsilon=1000.0)
    rng = random.Random(7)
    announced: list[str] = []
    killed = 0
    while killed < KILLS or not announced:  # a busy machine needs longer for a first charge
        killed += 1
        child, read = charging(tmp_path / "ledger.db")
        time.sleep(rng.random() * (0.1 if killed <= KILLS else 1.0))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        announced += said(read)
    result = ledger.verify()
    assert result.ok, result.problem
    recorded = {f"ledger.db#{entry.head}" for entry in ledger.entries()}
    assert announced and set(announced) <= recorded
    used, events = ledger.used("census"), ledger.events("census")
    assert used.size == Fraction(len(events), 100)
    assert len(announced) <= len(events) <= len(announced) + killed


def test_a_read_only_ledger_is_refused(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    (tmp_path / "ledger.db").chmod(0o400)
    if os.access(tmp_path / "ledger.db", os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(LedgerError, match="nothing was shown"):
        ledger.charge("census", TENTH)
