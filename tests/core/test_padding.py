"""Results that are held back until a public time: on every verb, also for errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.commands import invoke
from reference.releasing import flat_release
from winnow.ask.open_session import answer_seconds
from winnow.core import padding as module
from winnow.core.padding import SPARE, Padding, checked

ROWS = {"age": [0, 1, 2, 3] * 25, "sex": [0, 1] * 50}


class Clock:
    """A clock that moves only when somebody works or sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


@pytest.fixture
def table() -> Any:
    import pandas as pd

    return wn.read_table(pd.DataFrame(ROWS), schema={"age": 4, "sex": 2})


def test_a_result_comes_at_the_time_and_a_late_one_at_the_next_multiple(clock: Clock) -> None:
    for work, ends, late in ((0.1, 2.0, False), (2.0, 2.0, False), (4.1, 6.0, True)):
        begun = clock.now
        padding = Padding(2)
        with padding.held(lambda: 99.0):
            clock.now += work
        assert clock.now - begun == pytest.approx(ends)
        assert padding.late is late
        assert padding.note.startswith("late: 2 s were not enough, so until 3") is late
    nothing = Padding(None)
    with nothing.held(lambda: 99.0):
        pass
    assert nothing.note == ""


def test_errors_are_held_back_and_an_interrupt_is_not(clock: Clock) -> None:
    for kind, ends in ((ValueError, 5.0), (KeyboardInterrupt, 1.0)):
        begun = clock.now
        padding = Padding("plan")

        def fail(padding: Padding = padding, kind: type[BaseException] = kind) -> None:
            with padding.held(lambda: 5.0):
                clock.now += 1.0
                raise kind

        with pytest.raises(kind):
            fail()
        assert clock.now - begun == pytest.approx(ends)


@pytest.mark.parametrize("wrong", [0, -1, "soon", float("nan"), float("inf"), 10**8, True, "2"])
def test_other_times_are_refused_before_anything_happens(wrong: Any, table: Any) -> None:
    with pytest.raises(wn.InputError, match="pad_to"):
        checked(wrong)
    with pytest.raises(wn.InputError, match="pad_to"):
        wn.release(
            table,
            wn.marginals(ways=1),
            epsilon=1.0,
            method=wn.MWEM(rounds=1),
            run=wn.Run(pad_to=wrong),
        )


def lp(method: Any, pad_to: Any = None, **options: Any) -> Any:
    A = np.array([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0]])
    problem = wn.lp_problem(A, [2.0, 3.0, 1.0], [1.0, 1.0], opt=1.0)
    return wn.lp(problem, method=method, epsilon=1.0, run=wn.Run(pad_to=pad_to), **options)


OF_SIDES = wn.ScalarSides(sensitivity=0.1, rounds=3)
OF_ROWS = wn.PersonRows(entries=(0, 3), sides=(0, 3), rows=5, exceptions=2, rounds=3)


VERBS: dict[str, Callable[..., Any]] = {
    "release": lambda table, **o: flat_release(
        table, wn.marginals(ways=1), epsilon=1.0, method=wn.MWEM(rounds=2), **o
    ),
    "scalar": lambda table, **o: lp(OF_SIDES, **o),
    "index": lambda table, **o: lp(replace(OF_SIDES, index="flat"), **o),
    "constraint": lambda table, **o: lp(OF_ROWS, delta=1e-6, **o),
    "itemsets": lambda table, **o: wn.itemsets(
        wn.read_baskets([["a", "b"], ["a"]] * 9, unit="basket"),
        size=1,
        epsilon=1.0,
        delta=1e-3,
        run=wn.Run(pad_to=o.pop("pad_to", None)),
        **o,
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_lazy_verb_holds_its_result_back_and_says_so(
    verb: str, clock: Clock, table: Any
) -> None:
    plain = VERBS[verb](table, seed=3)
    assert plain.receipt.held == "" and "held" not in plain.receipt.to_dict()
    assert clock.slept == []
    held = VERBS[verb](table, seed=3, pad_to=7)
    assert clock.slept == [7.0]
    assert held.receipt.held == held.receipt.to_dict()["held"] == "until 7 s after the call"
    assert ("held back", "until 7 s after the call") in held.receipt.lines()
    assert str(held.value) == str(plain.value)
    if verb == "itemsets":
        with pytest.raises(wn.InputError, match="no public bound"):
            VERBS[verb](table, pad_to="plan")
    else:
        VERBS[verb](table, seed=3, pad_to="plan")
        assert clock.slept[-1] > 0.1


def test_an_error_after_the_charge_is_held_back(
    clock: Clock, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(import_module("winnow.release.rounds.mwem_plan"), "synthesise", broken)
    with pytest.raises(wn.WinnowError, match="unexpected MemoryError"):
        VERBS["release"](table, pad_to=4)
    assert clock.slept == [4.0]


@pytest.mark.parametrize("method", ["multiplicative-weights", "independent"])
def test_answers_of_a_session_are_held_back(method: str, clock: Clock, table: Any) -> None:
    with wn.ask(
        table, epsilon=5.0, delta=1e-3, max_queries=20, method=method, pad_to=0.5
    ) as session:
        begun = clock.now
        session.ask(wn.where(age=1))
        assert clock.now - begun == pytest.approx(0.5)
        session.ask_all(wn.marginals(ways=1))
        assert clock.now - begun == pytest.approx(0.5 + 6 * 0.5)
        assert session.late == 0
        ask = session._ask

        def slow(*arguments: Any, **options: Any) -> Any:
            clock.now += 0.7
            return ask(*arguments, **options)

        session._ask = slow  # type: ignore[method-assign]
        session.ask(wn.where(age=2))
        assert clock.now - begun == pytest.approx(3.5 + 1.0) and session.late == 1
        session._ask = ask  # type: ignore[method-assign]
        session.padded("plan").ask(wn.where(age=3))
        assert clock.slept[-1] == pytest.approx(SPARE * answer_seconds(8))
    with pytest.raises(wn.InputError, match="pad_to"):
        wn.ask(table, epsilon=5.0, delta=1e-3, method=method, pad_to="soon")


def test_progress_would_tell_the_time(table: Any) -> None:
    with pytest.raises(wn.InputError, match="progress tells the time"):
        VERBS["release"](table, pad_to=1, progress=lambda done, of: None)


def test_predicted_times_grow_with_public_numbers_only(table: Any) -> None:
    from winnow.release.rounds.mwem_plan import mwem_settings
    from winnow.release.terms import ReleaseTerms

    def seconds(rounds: int = 2, schema: Any = table.schema) -> float:
        terms = ReleaseTerms(wn.marginals(ways=1).over(schema), 1.0, total=100)
        return mwem_settings(wn.MWEM(rounds=rounds), terms).seconds

    assert seconds() < seconds(rounds=50) < seconds(rounds=500)
    assert seconds() < seconds(schema=wn.Schema.parse({"a": 100, "b": 100, "c": 10}))
    assert answer_seconds(10) < answer_seconds(10**6)
    assert answer_seconds(10**12) == answer_seconds(10**30)


def test_commands_hold_their_results_back(clock: Clock, tmp_path: Path) -> None:
    people, schema = tmp_path / "people.csv", tmp_path / "schema.json"
    people.write_text("age,sex\n" + "".join(f"{i % 4},{i % 2}\n" for i in range(80)))
    schema.write_text(json.dumps({"age": 4, "sex": 2}))
    baskets, batch = tmp_path / "baskets.txt", tmp_path / "questions.txt"
    baskets.write_text("a b\na\n" * 9)
    batch.write_text("age = 1\n")
    of_table = [str(people), "--schema", str(schema), "--epsilon", "5", "--delta", "1e-3"]
    of_table += ["--one-row-per-person"]
    commands = {
        "release": ["release", *of_table, "--workload", "marginals:1", "--method", "mwem",
                    "--rounds", "2", "--json"],
        "itemsets": ["itemsets", str(baskets), "--one-basket-per-person",
                 "--size", "1", "--epsilon", "1",
                     "--delta", "1e-3", "--json"],
        "ask": ["ask", *of_table, "--max-queries", "9", "--batch", str(batch), "--json"],
    }  # fmt: skip
    for name, command in commands.items():
        before = len(clock.slept)
        result = invoke([*command, "--pad-to", "3"])
        assert result.exit_code == 0, result.output
        assert clock.slept[before:] == [3.0]
        assert name == "ask" or "until 3 s after the call" in result.output
        refused = invoke([*command, "--pad-to", "soon"])
        assert refused.exit_code == 2
