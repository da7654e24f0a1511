"""Old state files put back, lost lines after a charge, two sessions at once, forks."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.asking import opened as asking
from reference.inside import Rows, group
from reference.running import paid_key
from winnow import GrantError, InputError, Schema, Sealed, SealedTable
from winnow.ask import state_files
from winnow.ask.crossing import PrivateCounts
from winnow.ask.independent_answers import IndependentAnswers
from winnow.ask.journal import Journal
from winnow.ask.questions import Question
from winnow.errors import LedgerError
from winnow.privacy import Gaussian
from winnow.privacy.ledger import Ledger, RecordedBudget, RecordedSession, SessionMark

SCHEMA = Schema.parse({"a": 4, "b": 3})
METHODS = ("multiplicative-weights", "independent")


def table_of(rows: int = 120) -> SealedTable:
    codes = np.unravel_index(np.arange(SCHEMA.cells), SCHEMA.shape)
    counts = np.full(SCHEMA.cells, rows, np.int64)
    counts[0] += rows
    return SealedTable(
        SCHEMA,
        Sealed(Rows(*group(tuple(c.astype(np.int32) for c in codes), counts, SCHEMA.shape)), "r"),
    )


def account(folder: Path, name: str = "people") -> RecordedBudget:
    ledger = Ledger.open(folder / "ledger.db", create=not (folder / "ledger.db").exists())
    ledger.open_dataset(name, epsilon=2, delta=1e-6, delta_for_events=1e-7, relation="substitution")
    return RecordedBudget(ledger, name)


def opened(path: Path, method: str = METHODS[0], **options: Any) -> Any:
    """A session in which every question has a fresh answer."""
    sizing = {"threshold": 1e-6, "updates": 40} if method == METHODS[0] else {}
    return asking(
        table_of(), epsilon=1, delta=1e-6, max_queries=100, method=method, state=path,
        **sizing, **options,
    )  # fmt: skip


def copied(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in (path, path.with_name(path.name + ".key"))}


def put_back(files: dict[Path, bytes]) -> None:
    for file, content in files.items():
        file.write_bytes(content)


def test_an_old_state_file_put_back_uses_no_noise_twice(tmp_path: Path) -> None:
    """Found in review: the place of the fourth round served two different questions."""
    path = tmp_path / "session"
    session = opened(path)
    for code in range(3):
        session.ask(wn.where(a=code))
    session.close()
    old = copied(path)

    def noise_of_the_fourth(value: Any) -> tuple[int, ...]:
        again = wn.resume(table_of(), path)
        answer = again.ask(value)
        assert answer.number == 3
        found = again._rounds._noise[1][1][:64].tolist()
        again.close()
        return tuple(found)

    first = noise_of_the_fourth(wn.where(a=3))
    put_back(old)
    second = noise_of_the_fourth(wn.where(b=1))
    put_back(old)
    assert len({first, second, noise_of_the_fourth(wn.where(a=3))}) == 3


def test_a_seeded_session_stays_repeatable(tmp_path: Path) -> None:
    path = tmp_path / "session"
    opened(path, seed=4).close()
    old = copied(path)
    answers = []
    for _ in range(2):
        with wn.resume(table_of(), path) as again:
            answers.append(again.ask(wn.where(a=3)).value)
        put_back(old)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("clean", [True, False])
def test_with_a_ledger_an_old_state_file_is_refused(
    tmp_path: Path, method: str, clean: bool
) -> None:
    path = tmp_path / "session"
    session = opened(path, method, budget=account(tmp_path))
    session.ask(wn.where(a=0))
    old = copied(path)
    for code in range(1, 4):
        session.ask(wn.where(a=code, b=1))
    said, used = session.ask(wn.where(a=2, b=1)).value, session.rounds
    if clean:
        session.close()
    else:  # as if the process had died here
        os.close(session._journal._handle)
        session._journal._recorded.release()
    latest = copied(path)
    put_back(old)
    if not clean and method == "independent":
        # within a block of answers, which the ledger counts as given whatever happens
        with wn.resume(table_of(), path) as again:
            assert again.rounds > used and again.ask(wn.where(a=2, b=1)).value == said
        return
    with pytest.raises(LedgerError, match="older than what the ledger knows"):
        wn.resume(table_of(), path)
    put_back(latest)
    with wn.resume(table_of(), path) as again:
        assert again.ask(wn.where(a=2, b=1)).value == said
    assert Ledger.open(tmp_path / "ledger.db").verify().ok
    assert [d.charges for d in Ledger.open(tmp_path / "ledger.db").datasets()] == [1]


def test_a_copy_from_before_the_last_opening_is_refused_even_without_answers(
    tmp_path: Path,
) -> None:
    path = tmp_path / "session"
    opened(path, budget=account(tmp_path)).close()
    old = copied(path)
    wn.resume(table_of(), path).close()
    put_back(old)
    with pytest.raises(LedgerError, match="older"):
        wn.resume(table_of(), path)


def test_an_answer_that_the_ledger_cannot_be_told_of_is_not_shown_and_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session"
    session = opened(path, budget=account(tmp_path))
    real = RecordedSession.mark

    def full(recorded: RecordedSession, mark: SessionMark) -> None:
        if mark.released:  # the beginning fits
            raise LedgerError("no room")
        real(recorded, mark)

    with monkeypatch.context() as patch:
        patch.setattr(RecordedSession, "mark", full)
        with pytest.raises(LedgerError, match="no room"):
            session.ask(wn.where(a=0))
    with pytest.raises(GrantError, match="go on from its state file"):
        session.ask(wn.where(a=1))
    session.close()
    with wn.resume(table_of(), path) as again:
        assert again.updates == 2, "the one in the file, and one for the unclean end"
        assert again.ask(wn.where(a=0)).number is None


def test_a_line_that_did_not_fit_leaves_no_hole_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found in review: after a resumption the next line came behind zero bytes."""
    path = tmp_path / "session"
    opened(path).close()
    session = wn.resume(table_of(), path)
    write = os.write

    def half(handle: int, content: bytes) -> int:
        write(handle, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(LedgerError, match="No space left"):
            session.ask(wn.where(a=0))
    assert session.ask(wn.where(a=0)).number == 0
    session.close()
    assert b"\0" not in path.read_bytes()
    wn.resume(table_of(), path).close()


def test_an_edited_line_is_refused_with_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "session"
    session = opened(path, budget=account(tmp_path))
    session.ask(wn.where(a=0))
    session.close()
    text = path.read_text()
    path.write_text(text.replace('"update":0', '"update":7'))
    with pytest.raises(LedgerError, match="was edited"):
        wn.resume(table_of(), path)


def test_an_old_ledger_put_back_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "session"
    budget = account(tmp_path)
    shutil.copy(tmp_path / "ledger.db", tmp_path / "old.db")
    opened(path, budget=budget).close()
    shutil.copy(tmp_path / "old.db", tmp_path / "ledger.db")
    with pytest.raises(LedgerError, match="does not have the charge"):
        wn.resume(table_of(), path)


def test_a_session_finds_its_ledger_again_or_asks_for_it(tmp_path: Path) -> None:
    path = tmp_path / "session"
    opened(path, budget=account(tmp_path)).close()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("ledger.db", "ledger.db.key"):
        shutil.move(tmp_path / name, moved / name)
    with pytest.raises(InputError, match="there is no ledger"):
        wn.resume(table_of(), path)
    wn.resume(table_of(), path, ledger=moved / "ledger.db").close()
    account(tmp_path)
    with pytest.raises(InputError, match="another ledger"):
        wn.resume(table_of(), path, ledger=tmp_path / "ledger.db")
    opened(tmp_path / "free").close()
    with pytest.raises(InputError, match="without a ledger"):
        wn.resume(table_of(), tmp_path / "free", ledger=moved / "ledger.db")


@pytest.mark.parametrize("kept", [True, False])
def test_one_session_at_a_time_on_a_dataset(tmp_path: Path, kept: bool) -> None:
    budget, other = account(tmp_path), account(tmp_path, "others")
    first = opened(tmp_path / "one" if kept else None, budget=budget)
    charges = len(budget.events)
    with pytest.raises(LedgerError, match="one at a time"):
        opened(tmp_path / "two", budget=budget)
    with pytest.raises(LedgerError, match="one at a time"):
        opened(None, budget=budget)
    assert len(budget.events) == charges and not (tmp_path / "two").exists()
    opened(tmp_path / "three", METHODS[1], budget=other).close()
    first.close()
    opened(tmp_path / "two", METHODS[1], budget=budget).close()


def test_a_forgotten_session_holds_no_dataset(tmp_path: Path) -> None:
    budget = account(tmp_path)
    session = opened(None, METHODS[1], budget=budget)
    del session
    opened(None, METHODS[1], budget=budget).close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("method", METHODS)
def test_killed_right_after_the_charge_a_session_goes_on_without_a_second_one(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(Journal, "opened", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        opened(tmp_path / "session", method, budget=account(tmp_path))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    ledger = Ledger.open(tmp_path / "ledger.db")
    assert [d.charges for d in ledger.datasets()] == [1]
    with pytest.raises(InputError, match="exists already"):
        opened(tmp_path / "session", budget=account(tmp_path))
    session = wn.resume(table_of(), tmp_path / "session")
    assert session.ask(wn.where(a=1)).number == 0
    assert ledger.verify(head=session.receipt.ledger).ok
    session.close()
    assert [d.charges for d in ledger.datasets()] == [1]


def test_killed_right_before_the_charge_nothing_was_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    budget = account(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(RecordedBudget, "charge", killed)
        with pytest.raises(KeyboardInterrupt):
            opened(tmp_path / "session", budget=budget)
    assert not budget.events
    for _ in range(2):  # the second time: killed before a line was written
        with pytest.raises(InputError, match="nothing was spent"):
            wn.resume(table_of(), tmp_path / "session")
        (tmp_path / "session").write_bytes(b"")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("method", METHODS)
def test_a_copy_of_the_process_may_not_ask(method: str) -> None:
    """Found in review: after a fork both processes drew the same noise for other questions."""
    session = opened(None, method)
    child = os.fork()
    if child == 0:
        try:
            session.ask(wn.where(a=1))
        except GrantError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert session.ask(wn.where(a=1)).number == 0


def test_whether_a_question_is_refused_does_not_depend_on_the_number_of_rows() -> None:
    """Found in review: a fine grid was refused for long tables only."""
    grid = 2**31 - 1
    units = np.full(SCHEMA.cells, grid)
    question = Question(SCHEMA, None, units, grid)
    for rows in (1, 2**40):
        table = table_of(rows)
        counts = PrivateCounts(table, paid_key(IndependentAnswers(1, 1), table.relation))
        counts.check(question)
        assert counts.count(question) == grid * rows * (SCHEMA.cells + 1)
    with pytest.raises(InputError, match="too fine"):
        counts.check(Question(SCHEMA, None, units, grid + 1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("method", METHODS)
def test_a_fork_that_closes_a_session_leaves_its_parents_file_and_ledger_alone(
    tmp_path: Path, method: str
) -> None:
    """Found in review: 'closed' came into the middle of the parent's journal."""
    path, budget = tmp_path / "session", account(tmp_path)
    session = opened(path, method, budget=budget)
    session.ask(wn.where(a=0))
    before = path.read_bytes(), len(list(budget.ledger.entries("people")))
    child = os.fork()
    if child == 0:
        session.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (path.read_bytes(), len(list(budget.ledger.entries("people")))) == before
    session.ask(wn.where(a=1))
    session.close()
    again = wn.resume(table_of(), path)
    assert again.rounds == 2
    again.close()


def test_a_crossing_that_was_lost_is_not_forgotten_with_an_older_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found in review: a copy from before the first round of an opening knew of no bad end."""
    path, real = tmp_path / "session", state_files.append

    def full(handle: int, place: Path, content: bytes) -> None:
        if b'"update"' in content:
            raise LedgerError("no room")
        real(handle, place, content)

    session = opened(path, budget=account(tmp_path))
    old = copied(path)
    with monkeypatch.context() as disk:
        disk.setattr(state_files, "append", full)
        with pytest.raises(LedgerError, match="no room"):
            session.ask(wn.where(a=0))
    session.close()
    latest = copied(path)
    put_back(old)
    with pytest.raises(LedgerError, match="older than what the ledger knows"):
        wn.resume(table_of(), path)
    put_back(latest)
    again = wn.resume(table_of(), path)
    assert again._rounds.left == 39
    again.close()


def test_one_question_at_two_scales_has_two_noises(tmp_path: Path) -> None:
    """Found in review: the same bits at two scales gave the exact count away."""
    with pytest.raises(InputError, match="counts rows"):
        Question(SCHEMA, {0: np.array([1])}, grid=3)
    session = opened(None, METHODS[1], seed=1)
    units = np.zeros(SCHEMA.cells, np.int64)
    units[:3] = 1
    run, noises = session._answers, []
    for grid in (1, 1000):
        question = Question(SCHEMA, None, units * grid, grid)
        ((_, noisy),) = run.answer([question])
        noises.append((noisy - run._counts.count(question)) / grid)
    assert abs(noises[0] - noises[1]) > 2


def test_a_session_is_not_opened_on_the_charge_of_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, budget = tmp_path / "session", account(tmp_path)

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RecordedBudget, "charge", killed)
        with pytest.raises(KeyboardInterrupt):
            opened(path, METHODS[1], budget=budget)
    name = json.loads(path.read_text().splitlines()[0])["session"]
    budget.charge(Gaussian(1000, "substitution"), session=name)
    with pytest.raises(LedgerError, match="something else"):
        wn.resume(table_of(), path)


@pytest.mark.parametrize("method", METHODS)
def test_a_lock_that_was_removed_is_a_lock_that_was_lost(tmp_path: Path, method: str) -> None:
    """Found in review: two processes went on with two copies, and each told its own count."""
    path, budget = tmp_path / "session", account(tmp_path)
    session = opened(path, method, budget=budget)
    session.ask(wn.where(a=0))
    for lock in tmp_path.glob("ledger.db.lock-*"):
        lock.unlink()
    copy = tmp_path / "copy"
    for file, content in copied(path).items():
        file.with_name(file.name.replace("session", "copy")).write_bytes(content)
    other = wn.resume(table_of(), copy)
    every = wn.marginals(2)  # more than are told to the ledger together
    with pytest.raises(LedgerError, match="lock on the dataset was lost"):
        session.ask_all(every)
    session._journal._recorded._hold._alive = lambda: True  # as with a server that was slow
    with pytest.raises((LedgerError, GrantError), match=r"continued elsewhere|go on from"):
        session._journal.tell_ledger(50)
    other.close()


def test_a_ledger_may_be_renamed(tmp_path: Path) -> None:
    path, budget = tmp_path / "session", account(tmp_path)
    opened(path, METHODS[1], budget=budget).close()
    for file in list(tmp_path.glob("ledger.db*")):
        file.rename(file.with_name(file.name.replace("ledger.db", "moved.db")))
    again = wn.resume(table_of(), path, ledger=tmp_path / "moved.db")
    assert again.ask(wn.where(a=0)).kind == "independent"
    again.close()
