"""A ledger is made whole or not at all, its secrets stay secret, its export is no program."""

from __future__ import annotations

import os
import random
import signal
import stat
import time
import traceback
from pathlib import Path

import pytest

import winnow as wn
from reference.commands import invoke
from reference.first_ledger import first_ledger
from winnow.errors import InputError, LedgerError, WinnowError
from winnow.privacy import PureDP
from winnow.privacy.ledger import Ledger
from winnow.privacy.ledger import opening as opening_module
from winnow.privacy.ledger.keys import pending
from winnow.privacy.ledger.locks import exclusive

TENTH = PureDP(0.1, "add-remove")
SECRET = "hunter2"
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def run(*arguments: object) -> tuple[int, str]:
    result = invoke(arguments)
    return result.exit_code, result.output


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("shared_key", [False, True])
def test_four_processes_make_one_ledger(tmp_path: Path, shared_key: bool) -> None:
    """Found in review: most failed, with the advice to remove the key."""
    for number in range(8):
        folder = tmp_path / str(number)
        folder.mkdir()
        key, start, children = folder / "team.key" if shared_key else None, time.time() + 0.05, []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    time.sleep(max(0, start - time.time()))
                    ledger = Ledger.open(folder / "l.db", key_file=key, create=True)
                    ledger.open_dataset("census", epsilon=1.0)
                    ledger.charge("census", TENTH)
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        assert [os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children] == [0] * 4
        ledger = Ledger.open(folder / "l.db", key_file=key)
        assert ledger.verify().ok and ledger.dataset("census").charges == 4
        left = {path.name for path in folder.iterdir()}
        assert left == {"l.db", "l.db-journal", "l.db.turn", "team.key" if key else "l.db.key"}


@needs_fork
def test_killed_at_any_moment_of_making_the_next_opening_works(tmp_path: Path) -> None:
    draw = random.Random(11)
    for number in range(int(os.environ.get("WINNOW_KILLS", "12"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        child = os.fork()
        if child == 0:
            try:
                Ledger.open(folder / "l.db", create=True)
            finally:
                os._exit(0)
        time.sleep(draw.random() * 0.03)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        ledger = Ledger.open(folder / "l.db", create=True)
        ledger.open_dataset("census", epsilon=1.0)
        assert ledger.verify().ok and not pending(folder / "l.db.key").exists()


@pytest.mark.parametrize("step", ["create", "_give_name"])
@pytest.mark.parametrize("after", [False, True])
def test_interrupted_before_or_after_each_step_the_next_opening_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    owner = opening_module if step == "_give_name" else type(opening_module.store_at(tmp_path))
    real = getattr(owner, step)

    def stopped(*arguments: object) -> None:
        if after:
            real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, stopped)
        with pytest.raises(KeyboardInterrupt):
            Ledger.open(tmp_path / "l.db", create=True)
    assert Ledger.open(tmp_path / "l.db", create=True).verify().ok
    assert Ledger.open(tmp_path / "l.db").verify().ok


def test_an_empty_file_that_an_older_version_left_behind_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "l.db").touch()
    assert Ledger.open(tmp_path / "l.db", create=True).verify().ok


def test_a_ledger_that_is_gone_is_not_made_anew_and_no_key_is_thrown_away(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "l.db", create=True)
    (tmp_path / "l.db").unlink()
    with pytest.raises(LedgerError, match="is gone") as caught:
        Ledger.open(tmp_path / "l.db", create=True)
    assert "remove" not in str(caught.value) and (tmp_path / "l.db.key").exists()


@pytest.mark.parametrize("content", ["a diary\n", "ab" * 40, "0" * 66])
def test_a_file_in_the_place_of_a_waiting_key_stays_unless_it_is_one(
    tmp_path: Path, content: str
) -> None:
    place = tmp_path / "ledger.db"
    waiting = pending(tmp_path / "ledger.db.key")
    waiting.write_text(content)
    with pytest.raises(LedgerError, match="is not a key"):
        Ledger.open(place, create=True)
    assert waiting.read_text() == content and not place.exists()
    for left in ("", "0a1b", "0a" * 32, "0a" * 32 + "\n"):  # of a process that was killed
        waiting.write_text(left)
        Ledger.open(place, create=True)
        assert not waiting.exists()
        place.unlink()
        (tmp_path / "ledger.db.key").unlink()


def test_a_lock_removes_no_file_that_was_there_before(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    for content, stays in (("notes", True), ("", False)):
        mine.write_text(content)
        with exclusive(mine, 1.0, "trying"):
            pass
        assert mine.exists() is stays


def test_a_folder_that_cannot_be_written_is_a_clear_refusal(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be written"):
        Ledger.open(tmp_path / "none" / "l.db", create=True)


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    Ledger.open(tmp_path / "l.db", create=True)
    key = tmp_path / "l.db.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.chmod(mode)
    with pytest.raises(LedgerError, match=f"chmod 600 {key}"):
        Ledger.open(tmp_path / "l.db")
    key.chmod(0o640)  # a team may share it through its group
    Ledger.open(tmp_path / "l.db")


def test_a_command_says_that_a_ledger_was_upgraded(tmp_path: Path) -> None:
    path = first_ledger(tmp_path / "l.db")
    code, output = run("ledger", "show", path)
    assert code == 0 and "verified and upgraded from version 1" in output
    assert "upgraded" not in run("ledger", "show", path)[1]


ADDRESSES = [
    f"postgresql://ann:{SECRET}@127.0.0.1:1/team",
    f"postgres://ann:{SECRET}@127.0.0.1:1/team?connect_timeout=2",
    f"postgresql://ann@127.0.0.1:1/team?password={SECRET}",
    f"postgresql://ann:a/{SECRET}@127.0.0.1:1/team",
    f"postgresql://ann:a#{SECRET}@127.0.0.1:1/team",
    f"postgresql://ann:a?{SECRET}@[127.0.0.1:1/team",
    f"mysql://ann:{SECRET}@127.0.0.1/team",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_message_repeats_an_address(tmp_path: Path, address: str) -> None:
    """Found in review: 'there is no ledger at postgresql://user:password@...'."""
    if address.startswith("postgres"):
        pytest.importorskip("psycopg")
    (tmp_path / "address").touch(0o600)
    (tmp_path / "address").write_text(address)
    for place in (address, f"file:{tmp_path / 'address'}"):
        for create in (False, True):
            with pytest.raises(WinnowError) as caught:
                Ledger.open(place, key_file=tmp_path / "k", create=create)
            assert SECRET not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(WinnowError) as session:
        wn.Session(ledger=address, dataset="x")
    assert SECRET not in str(session.value)
    for command in (
        ("ledger", "show", address),
        ("select", tmp_path / "votes.csv", "--epsilon", 1, "--ledger", address, "--dataset", "x"),
    ):
        code, output = run(*command)
        assert code == 2 and SECRET not in output
        if address.startswith("postgres"):
            assert "file:PATH" in " ".join(output.split())


def test_an_address_comes_from_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    file = tmp_path / "address"
    file.write_text(f"postgresql://ann:{SECRET}@127.0.0.1:1/team\n")
    file.chmod(0o644)
    with pytest.raises(LedgerError, match=f"chmod 600 {file}"):
        Ledger.open(f"file:{file}")
    file.chmod(0o600)
    with pytest.raises(LedgerError, match="ledger team on Postgres cannot be used"):
        Ledger.open(f"file:{file}")
    for content in ("", "ledger.db", f"postgresql://a:{SECRET} b@c/d", "postgresql://x\ny"):
        file.write_text(content)
        with pytest.raises(LedgerError, match="does not hold the address") as caught:
            Ledger.open(f"file:{file}")
        assert SECRET not in str(caught.value)
    with pytest.raises(LedgerError, match="does not hold the address"):
        Ledger.open(f"file:{tmp_path / 'none'}")


def test_an_address_without_a_password_may_be_typed(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    code, output = run("ledger", "show", "postgresql://ann@127.0.0.1:1/team")
    assert code == 3 and "cannot be used" in output


@pytest.mark.parametrize("label", ["=1+1", "+1", "-1", "@SUM(A1)"])
def test_an_exported_label_is_no_formula(tmp_path: Path, label: str) -> None:
    ledger = Ledger.open(tmp_path / "l.db", create=True)
    ledger.open_dataset(label, epsilon=1.0)
    for ending in ("csv", "CSV", "json"):
        assert run("ledger", "export", tmp_path / "l.db", "--out", tmp_path / f"e.{ending}")[0] == 0
    for ending in ("csv", "CSV"):
        row = (tmp_path / f"e.{ending}").read_text().split("\n")[1]
        assert f",'{label}," in row
    assert f'"{label}"' in (tmp_path / "e.json").read_text()


def test_an_address_that_is_none_is_refused() -> None:
    for place in ("", "  ", "ftp://x", "a\0b"):
        with pytest.raises(InputError, match="neither a file"):
            Ledger.open(place)
