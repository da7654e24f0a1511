"""kill -9 at random moments of asking and writing; WINNOW_KILLS=1000 for the long run."""

from __future__ import annotations

import os
import signal
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.asking import asked as asked_of
from reference.inside import Rows, discrete_gaussian_array, discrete_laplace_array, group
from winnow import Schema, Sealed, SealedTable
from winnow.ask.journal import Journal
from winnow.ask.questions import Question
from winnow.privacy.ledger import Ledger

SCHEMA = Schema.parse({"a": 4, "b": 3, "c": 5})
KILLS = int(os.environ.get("WINNOW_KILLS", "8"))
Shown = list[tuple[int, str, int, int]]

LAW = np.random.default_rng(8).dirichlet(np.full(SCHEMA.cells, 0.15))
HISTOGRAM = np.random.default_rng(7).multinomial(200_000, LAW).astype(np.int64)


def table_of() -> SealedTable:
    codes = np.unravel_index(np.arange(SCHEMA.cells), SCHEMA.shape)
    rows = group(tuple(c.astype(np.int32) for c in codes), HISTOGRAM, SCHEMA.shape)
    return SealedTable(SCHEMA, Sealed(Rows(*rows), "rows"))


def question(number: int) -> Question:
    """One of 3,255 product sets."""
    held = {}
    for column, size in enumerate(SCHEMA.shape):
        number, bits = divmod(number, 2**size - 1)
        held[column] = np.flatnonzero([(bits + 1) >> i & 1 for i in range(size)])
    return Question(SCHEMA, held)


def true_count(number: int) -> int:
    return int(question(number).row() @ HISTOGRAM)


def killed(path: Path, seed: int, after: float) -> Shown:
    """What a process showed before it was killed: number, kind, question, count."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            session = wn.resume(table_of(), path)
            os.write(write, b"ready\n")
            for asked in np.random.default_rng(seed).integers(0, 3255, 3000).tolist():
                answer = session.ask(question(asked))
                if answer.number is not None:
                    line = f"{answer.number} {answer.kind} {asked} {round(answer.count)}\n"
                    os.write(write, line.encode())
            while True:
                time.sleep(1)
        finally:
            os._exit(1)
    os.close(write)
    content = os.read(read, 1 << 16)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while piece := os.read(read, 1 << 16):
        content += piece
    os.close(read)
    lines = content.split(b"\n")
    assert lines[0] == b"ready"
    found = []
    for line in lines[1:-1]:  # the last one is empty, or was cut off
        number, kind, asked, count = line.decode().split()
        found.append((int(number), kind, int(asked), int(count)))
    return found


def all_killed(folder: Path, **options: Any) -> tuple[Any, Shown]:
    """A session in a ledger, gone on with by one process after another."""
    with wn.Session(
        table_of(), epsilon=1, delta=1e-6, delta_for_events=1e-7,
        ledger=folder / "ledger.db", dataset="people",
    ) as steward:  # fmt: skip
        session = steward.ask(
            **asked_of(epsilon=1, delta=1e-6, state=folder / "session", **options)
        )
        session.close()
    random = np.random.default_rng(11)
    shown: Shown = []
    for kill in range(KILLS):
        shown += killed(folder / "session", kill, random.exponential(0.1))
    numbers = [number for number, *_ in shown]
    assert numbers == sorted(set(numbers))
    assert len(numbers) >= KILLS // 2, "too few answers to say anything: how busy is the machine?"
    return session, shown


def check_the_ledger(folder: Path, session: Any) -> Any:
    ledger = Ledger.open(folder / "ledger.db")
    assert ledger.verify(head=session.receipt.ledger).ok
    assert [d.charges for d in ledger.datasets()] == [1]
    resumed = wn.resume(table_of(), folder / "session")
    assert resumed.receipt == session.receipt
    return resumed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_whatever_is_killed_when_nothing_is_lost_or_answered_twice(tmp_path: Path) -> None:
    session, shown = all_killed(
        tmp_path, max_queries=10**6, threshold=0.01, updates=max(2000, 100 * KILLS)
    )
    journal = Journal.open(tmp_path / "session", table_of())
    released = {number: (q.key, count) for number, q, count in journal.updates(SCHEMA)}
    fresh = [entry for entry in shown if entry[1] == "fresh"]
    assert fresh and {number for number, *_ in fresh} <= set(released)
    noise = noise_of_releases(journal, 1 / Fraction(repr(session.sizes.rounds.epsilon)))
    for number, _, asked, rounded in fresh:
        count = true_count(asked) + noise[number]
        assert released[number] == (question(asked).key, count)
        assert rounded == min(max(count, 0), 200_000)
    crashes = sum(entry.get("lost", 0) for entry in journal.records)
    journal.close(None)
    updates = check_the_ledger(tmp_path, session).updates
    assert len(released) + crashes <= updates <= len(released) + KILLS


def noise_of_releases(journal: Journal, scale: Fraction) -> dict[int, int]:
    """The noise of each released round: every opening draws from a tape of its own."""
    tape, found, openings = journal.tape().child("rounds"), {}, []
    for entry in journal.records:
        if "entropy" in entry:
            openings.append(entry["entropy"])
            tape = journal.tape().child(f"rounds-{entry['entropy']}")
        elif "update" in entry:
            number = entry["update"]
            found[number] = int(discrete_laplace_array(tape, 1, scale, number)[0])
    assert len(set(openings)) == len(openings) >= KILLS
    return found


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_independent_answers_stay_the_same_whatever_is_killed_when(tmp_path: Path) -> None:
    session, shown = all_killed(tmp_path, max_queries=10**6, method="independent")
    journal = Journal.open(tmp_path / "session", table_of())
    tape = journal.tape().child("answers")
    kept = {number: (q.key, count) for number, q, count in journal.updates(SCHEMA)}
    asked = [query for _, _, query, _ in shown]
    assert len(set(asked)) == len(asked), "a question counted twice"
    for number, _, query, rounded in shown:
        variance = session.sizes.mechanism.variance(1)
        own = tape.child(f"{question(query).key.hex()} 1 {variance}")
        noise = int(discrete_gaussian_array(own, 1, variance)[0])
        assert kept[number] == (question(query).key, true_count(query) + noise)
        assert rounded == min(max(true_count(query) + noise, 0), 200_000)
    journal.close(None)
    assert check_the_ledger(tmp_path, session).rounds >= len(kept)
