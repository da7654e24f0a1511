"""Independent answers after the last update: their charge, their bound, their files."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.asking import asked, planned
from reference.asking import opened as asking
from reference.inside import Rows, group
from winnow import GrantError, InputError, Relation, Schema, Sealed, SealedTable
from winnow.ask import state_files
from winnow.ask.audit.fallback import (
    enumerate_fallback,
    fallback_enumerated,
    fallback_faithful,
    fallback_twins,
)
from winnow.ask.questions import taken
from winnow.errors import LedgerError
from winnow.privacy import Compose, zcdp_cost
from winnow.privacy.limits import half_squared
from winnow.read.crossing import unsafe_true_answers

SCHEMA = Schema.parse({"a": 4, "b": 3, "c": 5})
ASKED = wn.marginals(2).over(SCHEMA)
FEW = {"updates": 3, "threshold": 1e-6, "fallback": 0.25}
"""Every question has a fresh answer until three have."""


def table_of(rows: int = 200_000) -> SealedTable:
    law = np.random.default_rng(8).dirichlet(np.full(SCHEMA.cells, 0.15))
    counts = np.random.default_rng(7).multinomial(rows, law).astype(np.int64)
    codes = np.unravel_index(np.arange(SCHEMA.cells), SCHEMA.shape)
    grouped = group(tuple(c.astype(np.int32) for c in codes), counts, SCHEMA.shape)
    return SealedTable(SCHEMA, Sealed(Rows(*grouped), "rows"))


def opened(**options: Any) -> Any:
    options = {"epsilon": 1, "delta": 1e-6, "max_queries": 50, "seed": 1} | FEW | options
    return asking(table_of(), **options)


TRUTH = unsafe_true_answers(table_of(), ASKED)


def test_answers_go_on_with_noise_of_their_own() -> None:
    session = opened()
    answers = [session.ask(taken(ASKED, q)) for q in range(20)]
    assert [a.kind for a in answers] == ["fresh"] * 3 + ["independent"] * 17
    assert session.status == "open" and not session.learns and session.fallback_left == 33
    plan = session.sizes
    assert plan.threshold.guaranteed and plan.bound == max(plan.fallback.noise, plan.usual)
    for query, answer in enumerate(answers):
        assert abs(answer.value - TRUTH[query]) <= answer.error
        assert session.ask(taken(ASKED, query)) == replace(answer, number=None)
    assert session.fallback_left == 33  # repeats are not counted
    assert len({a.number for a in answers}) == 20


def test_when_all_of_them_are_used_up_the_hypothesis_answers_untested() -> None:
    session = opened(max_queries=5)
    kinds = [session.ask(taken(ASKED, q)).kind for q in range(10)]
    assert kinds == ["fresh"] * 3 + ["independent"] * 5 + ["unchecked"] * 2
    assert session.status == "exhausted"
    assert session.ask(taken(ASKED, 4)).kind == "independent"


def test_after_the_last_round_too() -> None:
    session = opened(max_queries=5, threshold=0.9, updates=4)
    kinds = [session.ask(taken(ASKED, q)).kind for q in range(11)]
    assert kinds == ["hypothesis"] * 5 + ["independent"] * 5 + ["unchecked"]


def test_fresh_and_independent_answers_share_a_quota() -> None:
    session = opened()
    found = session.ask_many([taken(ASKED, q) for q in range(10)], fresh=5)
    assert [a.kind for a in found] == ["fresh"] * 3 + ["independent"] * 2 + ["unchecked"] * 5


def test_passes_over_a_workload_leave_them_alone() -> None:
    session = opened()
    found = session.synthesise(ASKED, passes=2)
    assert found.status == "exhausted" and found.updates == 3
    assert session.fallback_left == session.sizes.max_queries


@pytest.mark.parametrize("warm", [0, 0.2])
@pytest.mark.parametrize("relation", list(Relation))
def test_the_charge_has_a_part_for_them(warm: float, relation: Relation) -> None:
    asked: dict[str, Any] = {
        "n": 10**5, "relation": relation, "epsilon": 1, "delta": 1e-6, "max_queries": 1000,
        "warm_start": warm,
    }  # fmt: skip
    plan = planned(SCHEMA, fallback=0.25, **asked)
    event = plan.event
    assert isinstance(event, Compose)
    assert plan.guarantee.epsilon <= 1 and plan.guarantee.delta <= 1e-6
    whole = float(half_squared(Fraction(1), Fraction(1, 10**6)))
    first = float(zcdp_cost(event.events[0]).rho) / whole
    assert (warm + 0.25) * 0.999 < first <= warm + 0.25
    sizes = plan.expected
    same = planned(SCHEMA, fallback=0, updates=sizes.rounds.updates, **asked).expected
    assert same.rounds.noise < sizes.rounds.noise  # the rounds have less
    assert "independent-answers, at most 1000 questions" in plan.mechanism.name


def test_by_default_they_are_paid_for_where_the_bound_falls() -> None:
    options: dict[str, Any] = {"n": 200_000, "epsilon": 1, "delta": 1e-6}
    plans = [
        planned(SCHEMA, max_queries=200_000, fallback=share, **options) for share in ("auto", 0)
    ]
    many, without = (plan.expected for plan in plans)
    assert many.fallback is not None and without.fallback is None
    assert many.bound < without.bound / 2 and many.usual <= 1.25 * without.usual
    texts = [plan.expected.told(plan.guarantee) for plan in plans]
    assert "should updates run out" in texts[0] and "run out" not in texts[1]
    most = planned(SCHEMA, max_queries=10**9, **options).expected
    assert most is not None and most.fallback is None  # all rows could be off
    assert opened(updates=None, threshold=None, fallback="auto", warm_start=0,
                  method="multiplicative-weights").sizes.fallback is None  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fallback": 1}, "not below 1"),
        ({"fallback": -0.1}, "below 0"),
        ({"fallback": "some"}, "one of: auto"),
        ({"warm_start": 0.8}, "leave nothing"),
        ({"threshold": "proved"}, "run out"),
        ({"threshold": None, "updates": None, "alpha": 0.1}, "run out"),
        ({"threshold": None, "updates": None, "calibration": "paper"}, "printed constants"),
        (
            {"threshold": None, "updates": None, "method": "independent"},
            "for multiplicative-weights; independent has none",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        opened(**options)


# Files.


def test_a_resumed_session_says_the_same_and_counts_on(tmp_path: Path) -> None:
    session = opened(state=tmp_path / "s", seed=None)
    first = [session.ask(taken(ASKED, q)) for q in range(6)]
    os.close(session._journal._handle)  # as if the process had died here
    again = wn.resume(table_of(), tmp_path / "s")
    assert again.fallback_left == 47 and not again.learns
    for query, answer in enumerate(first):
        assert again.ask(taken(ASKED, query)) == replace(answer, number=None)
    together = again.ask_all(ASKED)
    assert {a.kind for a in together[3:]} == {"independent"}
    again.close()
    third = wn.resume(table_of(), tmp_path / "s")
    assert third.ask_all(ASKED) == [replace(a, number=None) for a in together]
    assert third.fallback_left == again.fallback_left == 50 - (ASKED.size - 3)
    third.close()


def test_after_tables_and_rounds(tmp_path: Path) -> None:
    """Three events under one charge, read back from the file."""
    session = opened(state=tmp_path / "s", warm_start=0.2, relation="add-remove", rows=200_000)
    answers = session.ask_all(ASKED)
    session.close()
    again = wn.resume(table_of(), tmp_path / "s")
    assert again.sizes == session.sizes and again.receipt.event == session.receipt.event
    found = again.ask_all(ASKED)
    assert {a.kind for a in found} == {"fresh", "independent"}
    assert [a.value for a in found] == [a.value for a in answers]
    again.close()


def test_one_lost_in_a_crash_has_the_same_noise_again(tmp_path: Path) -> None:
    session = opened(state=tmp_path / "s", seed=None)
    answers = [session.ask(taken(ASKED, q)) for q in range(6)]
    session.close()
    lines = (tmp_path / "s").read_bytes().splitlines(keepends=True)
    assert b'"answer":2' in lines[-2]
    (tmp_path / "s").write_bytes(b"".join(lines[:-2]))
    again = wn.resume(table_of(), tmp_path / "s")
    assert again.fallback_left == 48
    assert again.ask(taken(ASKED, 5)) == answers[5]


@pytest.mark.parametrize("together", [False, True])
def test_what_cannot_be_written_is_not_shown(
    tmp_path: Path, monkeypatch: Any, together: bool
) -> None:
    session = opened(state=tmp_path / "s")
    for q in range(3):
        session.ask(taken(ASKED, q))
    sizes, append = [], state_files.append

    def full(handle: int, path: Path, content: bytes) -> None:
        sizes.append(len(content))
        raise LedgerError("full")

    monkeypatch.setattr(state_files, "append", full)
    with pytest.raises(LedgerError):
        session.ask_all(ASKED) if together else session.ask(taken(ASKED, 3))
    monkeypatch.setattr(state_files, "append", append)
    for query in (0, 3):  # not what was shown before, either: guesses may follow from the lost
        with pytest.raises(GrantError):
            session.ask(taken(ASKED, query))
    session.close()
    again = wn.resume(table_of(), tmp_path / "s")
    assert again.fallback_left == 50
    again.close()
    assert len(sizes) == 1


def test_the_size_on_the_disk_tells_nothing(tmp_path: Path) -> None:
    """Noisy counts of few and of many digits take as many bytes."""
    sizes = set()
    for seed in range(4):
        path = tmp_path / f"{seed}"
        session = opened(state=path, seed=seed, epsilon=0.1)
        for q in range(3):
            session.ask(taken(ASKED, q))
        before = path.stat().st_size
        session.ask(taken(ASKED, 3))
        sizes.add(path.stat().st_size - before)
        session.close()
    assert len(sizes) == 1


def test_an_older_copy_that_lacks_an_answer_is_refused_with_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "s"
    steward = wn.Session(
        table_of(), epsilon=2, delta=1e-6, delta_for_events=1e-7,
        ledger=tmp_path / "ledger.db", dataset="people",
    )  # fmt: skip
    session = steward.ask(**asked(epsilon=1, delta=1e-6, max_queries=50, state=path, **FEW))
    for q in range(5):
        session.ask(taken(ASKED, q))
    old = path.read_bytes()
    shown = session.ask(taken(ASKED, 5))
    session.close()
    latest = path.read_bytes()
    path.write_bytes(old)
    with pytest.raises(LedgerError, match="older"):
        wn.resume(table_of(), path)
    path.write_bytes(latest)
    again = wn.resume(table_of(), path)
    assert again.ask(taken(ASKED, 5)) == replace(shown, number=None)
    assert again.fallback_left == 47
    again.close()


# Audits.


def test_the_audits_pass_and_the_twins_are_caught() -> None:
    for result in (
        *fallback_enumerated(),
        *fallback_faithful(quick=True, seed=1),
        *fallback_twins(quick=True, seed=1),
    ):
        assert result.passed, result.claim
    assert enumerate_fallback(0, 1.0).measured < enumerate_fallback(1, 1.0).measured
