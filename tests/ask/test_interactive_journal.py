"""The state file of an interactive session: crashes, full disks, other data, two processes."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.asking import opened as asking
from reference.inside import Rows, group
from winnow import BudgetExceeded, GrantError, InputError, Schema, Sealed, SealedTable
from winnow.ask import state_files, warm_start
from winnow.ask.mechanism import RESERVED
from winnow.ask.questions import question_of, taken
from winnow.core.replacing import SESSION
from winnow.errors import LedgerError

SCHEMA = Schema.parse({"a": 4, "b": 3, "c": 5})


def table_of(seed: int = 8) -> SealedTable:
    law = np.random.default_rng(seed).dirichlet(np.full(SCHEMA.cells, 0.15))
    counts = np.random.default_rng(7).multinomial(200_000, law).astype(np.int64)
    codes = np.unravel_index(np.arange(SCHEMA.cells), SCHEMA.shape)
    rows = group(tuple(c.astype(np.int32) for c in codes), counts, SCHEMA.shape)
    return SealedTable(SCHEMA, Sealed(Rows(*rows), "rows"))


def opened(path: Path, **options: Any) -> Any:
    options = {"epsilon": 1, "delta": 1e-6, "max_queries": 10**5, "threshold": 0.01} | options
    return asking(table_of(), state=path, **options)


ASKED = wn.marginals(2).over(SCHEMA)


def test_a_session_goes_on_where_it_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "session"
    alone = asking(table_of(), epsilon=1, delta=1e-6, max_queries=10**5, threshold=0.01, seed=5)
    del alone
    session = opened(path)
    first = [session.ask(taken(ASKED, q)) for q in range(10)]
    rounds, updates = session.rounds, session.updates
    session.close()
    again = wn.resume(table_of(), path)
    assert (again.rounds, again.updates, again.sizes) == (rounds, updates, session.sizes)
    assert again.receipt == session.receipt and again.guarantee == session.guarantee
    for query, answer in enumerate(first):
        if answer.kind == "fresh":
            repeated = again.ask(taken(ASKED, query))
            assert repeated.value == answer.value and repeated.number is None
    assert again.ask(wn.where(a=0, b=1, c=2)).number == rounds
    again.close()


def test_a_resumed_session_gives_the_answers_of_one_that_was_never_closed(tmp_path: Path) -> None:
    whole, halves = opened(tmp_path / "one", seed=3), opened(tmp_path / "two", seed=3)
    expected = whole.ask_all(ASKED)
    found = [halves.ask(taken(ASKED, q)) for q in range(20)]
    halves.close()
    halves = wn.resume(table_of(), tmp_path / "two")
    found += [halves.ask(taken(ASKED, q)) for q in range(20, ASKED.size)]
    assert found == expected
    assert halves.state()["rounds"] == whole.state()["rounds"] == whole.rounds


def test_after_a_crash_no_place_on_the_tape_is_used_again(tmp_path: Path) -> None:
    session = opened(tmp_path / "session")
    numbers = [session.ask(taken(ASKED, q)).number for q in range(5)]
    os.close(session._journal._handle)  # as if the process had died here
    again = wn.resume(table_of(), tmp_path / "session")
    assert again.rounds == RESERVED > max(numbers)
    assert again.ask(wn.where(c=1, b=2, a=3)).number == RESERVED


@pytest.mark.parametrize("ways", [1, 2])
def test_a_prior_is_drawn_once(tmp_path: Path, ways: int, monkeypatch: Any) -> None:
    if ways == 1:
        monkeypatch.setattr(warm_start, "_MOST_WORK", 1)
    session = opened(tmp_path / "session", warm_start=0.2)
    assert session.sizes.start.ways == ways
    before = session._state.weights()
    session.close()
    again = wn.resume(table_of(), tmp_path / "session")
    assert (again._state.weights() == before).all()
    again.close()
    lines = (tmp_path / "session").read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"prior"' not in line]
    assert len(kept) == len(lines) - 1
    (tmp_path / "session").write_bytes(b"".join(kept))  # a crash before it was written
    third = wn.resume(table_of(), tmp_path / "session")
    assert (third._state.weights() == before).all()


def test_a_line_that_was_cut_off_was_never_acted_on(tmp_path: Path) -> None:
    path = tmp_path / "session"
    session = opened(path)
    session.ask_all(ASKED)
    updates = session.updates
    session.close()
    with path.open("ab") as file:
        file.write(b'{"update":99,"question":{"cod')
    again = wn.resume(table_of(), path)
    assert again.updates == updates
    again.close()
    assert path.read_bytes().endswith(b"\n")
    wn.resume(table_of(), path).close()


def test_both_files_are_for_their_owner_only(tmp_path: Path) -> None:
    session = opened(tmp_path / "session")
    session.ask_all(ASKED)
    for name in ("session", "session.key"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    key = (tmp_path / "session.key").read_text().strip()
    text = (tmp_path / "session").read_text()
    assert len(bytes.fromhex(key)) == 64 and key not in text
    kinds = [next(iter(json.loads(line))) for line in text.splitlines()]
    assert kinds[:2] == ["winnow-interactive", "opened"] and "update" in kinds


def test_one_process_at_a_time(tmp_path: Path) -> None:
    session = opened(tmp_path / "session")
    with pytest.raises(InputError, match="open in another process"):
        wn.resume(table_of(), tmp_path / "session")
    session.close()
    wn.resume(table_of(), tmp_path / "session").close()


def test_other_data_other_keys_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "session"
    opened(path).close()
    with pytest.raises(InputError, match="other data"):
        wn.resume(table_of(9), path)
    with pytest.raises(InputError, match="exists already"):
        opened(path)
    with pytest.raises(InputError, match="cannot be opened"):
        wn.resume(table_of(), tmp_path / "missing")
    with pytest.raises(InputError, match="cannot be written"):
        opened(tmp_path / "no" / "folder")
    text = path.read_text()
    path.write_text(text.replace('"updates":', '"updates": 9', 1))
    with pytest.raises(InputError, match="first line"):
        wn.resume(table_of(), path)
    path.write_text(text.replace('"winnow-interactive":3', '"winnow-interactive":9', 1))
    with pytest.raises(InputError, match="version 9"):
        wn.resume(table_of(), path)
    path.write_text("nonsense\n")
    with pytest.raises(InputError, match="not the state"):
        wn.resume(table_of(), path)
    path.write_text(text)
    (tmp_path / "session.key").write_text("00\n")
    with pytest.raises(InputError, match="64 bytes"):
        wn.resume(table_of(), path)
    (tmp_path / "session.key").unlink()
    with pytest.raises(InputError, match="cannot be read"):
        wn.resume(table_of(), path)


@pytest.mark.parametrize(
    "content",
    [
        b"one line that does not end",
        b"age,sex\n41,F\n38,M",
        b'{"name": "no state"}\n{"cut',
        b'"text"\n[1]\n7',
        b'{"winnow-interactive":\n"x',
        b'{"winnow-interactive":2}\n"text"\n["cut',
        b'{"winnow-interactive":2,"plan":{}}\n{"cut',
    ],
)
@pytest.mark.parametrize("with_key", [True, False])
def test_a_file_that_is_no_state_is_refused_and_stays_as_it_is(
    tmp_path: Path, content: bytes, with_key: bool
) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    if with_key:
        state_files.write_key(tmp_path / "people.csv.key", bytes(64))
    with pytest.raises(InputError) as caught:
        wn.resume(table_of(), path)
    assert path.read_bytes() == content
    assert "emove" not in str(caught.value) and "please report" not in str(caught.value)
    if not content.startswith(SESSION):
        assert "not the state" in str(caught.value)


def test_a_state_of_other_data_keeps_its_cut_line(tmp_path: Path) -> None:
    path = tmp_path / "session"
    opened(path).close()
    content = path.read_bytes() + b'{"update":9'
    path.write_bytes(content)
    with pytest.raises(InputError, match="other data"):
        wn.resume(table_of(9), path)
    assert path.read_bytes() == content


def test_a_first_line_that_was_cut_off_was_never_charged(tmp_path: Path) -> None:
    path = tmp_path / "session"
    for content in (b"", SESSION[:5], SESSION + b'2,"session":"ab'):
        path.write_bytes(content)
        with pytest.raises(InputError, match="nothing was spent"):
            wn.resume(table_of(), path)
        assert path.read_bytes() == content


def test_a_key_that_is_not_of_the_session_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("a key of something else")
    (tmp_path / "session.key").symlink_to(tmp_path / "nowhere")  # as good as a race for the name
    with pytest.raises(InputError, match="exists already"):
        opened(tmp_path / "session")
    assert (tmp_path / "session.key").is_symlink() and not (tmp_path / "session").exists()


def test_a_session_that_was_never_charged_is_not_resumed(tmp_path: Path) -> None:
    path = tmp_path / "session"
    opened(path).close()
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0])
    with pytest.raises(InputError, match="nothing was spent"):
        wn.resume(table_of(), path)


def test_a_refused_charge_leaves_no_files(tmp_path: Path) -> None:
    budget = wn.Budget(0.1, 1e-6, "substitution", delta_for_events=1e-7)
    with pytest.raises(BudgetExceeded):
        opened(tmp_path / "session", budget=budget)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_refuses_before_noise_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(tmp_path / "session")

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def drawn(*_: Any) -> int:
        raise AssertionError("noise was drawn")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        patch.setattr(session._rounds, "_noise_at", drawn)
        for _ in range(2):
            with pytest.raises(LedgerError, match="No space left"):
                session.ask(wn.where(a=1))
    assert session.rounds == 0 and session.ask(wn.where(a=1)).number == 0


def test_what_cannot_be_written_down_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(tmp_path / "session")
    session.ask(wn.where(a=1))
    updates = session._journal._updates

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LedgerError, match="not written down is not shown"):
            session.ask_all(ASKED)
    with pytest.raises(GrantError, match="go on from its state file"):
        session.ask(wn.where(c=[0, 3], b=1, a=2))
    os.close(session._journal._handle)
    again = wn.resume(table_of(), tmp_path / "session")
    assert again.updates == updates + 1 and again.rounds == RESERVED


def test_questions_are_kept_as_they_were_asked(tmp_path: Path) -> None:
    session = opened(tmp_path / "session", threshold=1e-6)
    dense = wn.queries(np.eye(60)[:1] * 0.5, grid=2)
    asked = [wn.where(a=[1, 3], c=2), dense]
    answers = [session.ask(q) for q in asked]
    assert [a.kind for a in answers] == ["fresh", "fresh"]
    session.close()
    again = wn.resume(table_of(), tmp_path / "session")
    for question, answer in zip(asked, answers, strict=True):
        assert again.ask(question).value == answer.value
        assert question_of(SCHEMA, question).key in again._measured


def test_a_crossing_whose_record_does_not_fit_on_the_disk_still_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure itself tells that the round crossed: the cap must count it after a resume."""
    from winnow.ask import state_files as journal

    session = opened(tmp_path / "s", epsilon=5, delta=1e-3, max_queries=1000, updates=3)
    real = journal._write

    def full(handle: Any, content: bytes) -> Any:
        if b'"update"' in content:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, content)

    monkeypatch.setattr(journal, "_write", full)
    told = 0
    for query in range(60):
        try:
            session.ask(taken(ASKED, query % ASKED.size))
        except (LedgerError, BudgetExceeded):
            told += 1
            session.close()
            session = wn.resume(table_of(), tmp_path / "s")
    assert told == 3 and session.exhausted and session.updates == 3


def test_closing_waits_for_the_answer_that_is_being_drawn(tmp_path: Path) -> None:
    import threading

    session = opened(tmp_path / "s", updates=3, threshold=0.9)
    first = session.ask(taken(ASKED, 0))
    slow, entered, go = session._state.answer, threading.Event(), threading.Event()

    def answer(question: Any) -> Any:
        given = slow(question)
        entered.set()
        go.wait(0.3)
        return given

    session._state.answer = answer
    out: list[Any] = []

    def ask() -> None:
        out.append(session.ask(taken(ASKED, 1)))

    thread = threading.Thread(target=ask)
    thread.start()
    entered.wait()
    session.close()
    go.set()
    thread.join()
    again = wn.resume(table_of(), tmp_path / "s")
    used = {first.number, *(a.number for a in out)}
    assert again.ask(taken(ASKED, 2)).number not in used
    again.close()


def written(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is appended to state files, in order."""
    found: list[bytes] = []
    real = state_files.append

    def append(handle: int, path: Path, content: bytes) -> None:
        found.append(content)
        real(handle, path, content)

    monkeypatch.setattr(state_files, "append", append)
    return found


QUESTIONS = [taken(ASKED, query) for query in range(ASKED.size)]


def test_questions_asked_together_have_the_answers_of_one_by_one(tmp_path: Path) -> None:
    one, many = opened(tmp_path / "one", seed=4), opened(tmp_path / "many", seed=4)
    expected = [one.ask(question) for question in QUESTIONS]
    assert many.ask_many(QUESTIONS) == expected
    assert {"fresh", "hypothesis"} == {answer.kind for answer in expected}
    many.close()
    again = wn.resume(table_of(), tmp_path / "many")
    assert again.updates == one.updates
    fresh = [place for place, answer in enumerate(expected) if answer.kind == "fresh"]
    repeated = again.ask_many([QUESTIONS[place] for place in fresh])
    assert [a.value for a in repeated] == [expected[place].value for place in fresh]


def test_questions_asked_together_are_written_once_and_show_no_number_of_releases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many answers are fresh, the state file grows by the same number of bytes."""
    sizes, fresh = set(), set()
    for place, threshold in enumerate((0.002, 0.2)):
        session = opened(tmp_path / f"{place}", threshold=threshold, updates=20)
        found = written(monkeypatch)
        answers = session.ask_many(QUESTIONS)
        monkeypatch.undo()
        assert len(found) == 2 and found[0].startswith(b'{"reserved"')
        fresh.add(sum(answer.kind == "fresh" for answer in answers))
        sizes.add(len(found[1]))
        session.close()
    assert len(fresh) > 1 and len(sizes) == 1


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_together_nothing_is_shown_that_is_not_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    session = opened(tmp_path / "session")
    session.ask(QUESTIONS[0])
    before = session.updates
    fsync = os.fsync

    def fails(handle: int) -> None:
        content = (tmp_path / "session").read_bytes()
        if b'"together"' in content:
            raise error
        fsync(handle)

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises((LedgerError, KeyboardInterrupt)):
        session.ask_many(QUESTIONS)
    monkeypatch.undo()
    for question in QUESTIONS[:3]:  # not from memory either
        with pytest.raises(GrantError, match="could not be written"):
            session.ask(question)
    os.close(session._journal._handle)
    again = wn.resume(table_of(), tmp_path / "session")
    assert again.updates >= before + 1


def test_an_interruption_between_questions_writes_down_what_was_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(tmp_path / "session", threshold=0.002)
    asked, count = session._rounds.ask, 0

    def interrupted(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count == 20:
            raise KeyboardInterrupt
        return asked(*arguments)

    monkeypatch.setattr(session._rounds, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.ask_many(QUESTIONS)
    released = session.updates
    assert released > 2
    session.close()
    assert wn.resume(table_of(), tmp_path / "session").updates == released
