"""Replays: neighbours leave the same behind under one tape, and nothing is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow import Relation
from winnow.audit.replay import commands as replay_commands
from winnow.audit.replay.allowed import ALLOWED
from winnow.audit.replay.bits import BY_ADDRESS
from winnow.audit.replay.broken import TWINS, replay_twins, sharing, twin_of
from winnow.audit.replay.compare import Replay, replay, replayed
from winnow.audit.replay.coverage import (
    WITHOUT_PRIVATE_DATA,
    nothing_is_left_out,
    replays,
    required,
)
from winnow.audit.replay.observation import Shown, observe
from winnow.audit.replay.people import Family, neighbours

SEED = 20261115
FAST = ("select", "top_k", "above", "open_above", "learn", "boost", "mips")


@pytest.mark.parametrize("entry", [e for e in replays() if e.verb in FAST and e.groups[0]], ids=str)
def test_neighbours_differ_in_what_is_released_only(entry: Replay) -> None:
    """The others run in the audit itself, and in its own tests."""
    if entry.available:
        result = replay(replace(entry, groups=(1, 1)), quick=True, seed=SEED)
        assert result.passed, result.detail


def test_every_verb_and_every_word_has_a_replay() -> None:
    assert nothing_is_left_out(replays()).passed


@pytest.mark.parametrize("verb", ["select", "Session", "read_table", "winnow select"])
def test_a_verb_without_a_replay_is_noticed(verb: str) -> None:
    fewer = [entry for entry in replays() if entry.verb != verb]
    assert nothing_is_left_out(fewer).passed == verb.startswith("winnow")


def test_a_mechanism_without_a_replay_is_noticed() -> None:
    fewer = [entry for entry in replays() if entry.words.get("method") != "joint"]
    result = nothing_is_left_out(fewer)
    assert not result.passed
    assert "('top_k', 'method', 'joint')" in result.detail


def test_every_command_is_replayed_or_sees_no_private_data() -> None:
    known = {e.words["command"] for e in replays() if "command" in e.words}
    without = {*replay_commands.WITHOUT_PRIVATE_DATA, *replay_commands.FOR_THE_OWNER}
    assert known | without == set(replay_commands.commands())
    assert not known & without


def test_every_public_function_is_required_or_named_as_public() -> None:
    names = {name for name, option, _ in required() if not option}
    assert set(WITHOUT_PRIVATE_DATA) <= set(wn.__all__)
    assert not names & set(WITHOUT_PRIVATE_DATA)


def test_every_replay_has_its_row_in_the_table_and_a_name_of_its_own() -> None:
    entries = replays()
    assert {entry.verb for entry in entries} == set(ALLOWED)
    names = [(entry.verb, entry.variant, entry.relation) for entry in entries]
    assert len(set(names)) == len(names)
    assert all(field.reason for fields in ALLOWED.values() for field in fields)


def test_each_twin_is_caught() -> None:
    results = list(replay_twins(seed=SEED))
    assert len(results) == len(TWINS) + 1
    assert [result for result in results if not result.passed] == []


@pytest.mark.parametrize("fault", TWINS)
def test_the_same_without_the_leak_passes(fault: str) -> None:
    result = replay(twin_of(TWINS[fault], leaks=False), quick=True, seed=SEED)
    assert result.passed, result.detail


def test_parts_of_a_draw_with_names_of_their_own_share_no_bits() -> None:
    assert replay(sharing("one", "other"), quick=True, seed=SEED).passed
    found = replay(sharing("one", "one"), quick=True, seed=SEED)
    assert not found.passed and found.detail.endswith("have the same bits: one")
    assert replay(sharing(*BY_ADDRESS), quick=True, seed=SEED).passed


def test_a_replay_in_which_every_call_fails_shows_nothing() -> None:
    entry = next(iter(replays()))
    result = replay(replace(entry, call=lambda *_: 1 / 0), quick=True, seed=SEED)
    assert not result.passed and "division by zero" in result.detail


def test_a_quick_run_leaves_out_what_is_for_a_full_one() -> None:
    entry = replace(next(iter(replays())), groups=(0, 1))
    assert list(replayed([entry], quick=True, seed=SEED)) == []
    assert len(list(replayed([entry], seed=SEED))) == 1


def test_a_package_that_is_not_there_is_no_failure() -> None:
    entry = replace(next(iter(replays())), needs="no_such_package_at_all")
    assert list(replayed([entry], seed=SEED)) == []


def test_all_neighbours_are_met_once() -> None:
    people, universe = ("x", "y"), ("x", "y", "z")
    assert neighbours(people, universe, Relation.ADD_REMOVE) == [
        ("y",), ("x",), ("x", "x", "y"), ("x", "y", "y"), ("x", "z", "y")
    ]  # fmt: skip
    assert neighbours(people, universe, Relation.SUBSTITUTION) == [
        ("y", "y"), ("z", "y"), ("x", "x"), ("x", "z")
    ]  # fmt: skip
    assert neighbours((), universe, Relation.SUBSTITUTION) == []
    assert neighbours(("x",), universe, Relation.ADD_REMOVE)[0] == ()


def test_groups_are_the_odd_ones_and_then_random_ones_of_the_seed() -> None:
    family = Family(("x", "y"), odd=((), ("x",)), most=3)
    assert family.groups(1, 7) == [()]
    assert family.groups(9, 7)[:2] == [(), ("x",)]
    assert family.groups(9, 7) == family.groups(9, 7) != family.groups(9, 8)


def test_an_observation_sees_words_warnings_files_and_what_stands_behind_errors(
    tmp_path: Path,
) -> None:
    def call() -> Any:
        import sys
        import warnings

        sys.stdout.write("out")
        sys.stderr.write("err")
        warnings.warn("look", RuntimeWarning, stacklevel=1)
        (tmp_path / "a.json").write_text('{"n": [1]}')
        try:
            raise KeyError(41)
        except KeyError:
            raise wn.InputError("bad") from None

    seen = observe(call, tmp_path)
    assert seen["stdout"][1] == "out" and seen["stderr"][1] == "err"
    assert seen["warnings.0"][0] == "RuntimeWarning"
    assert seen["error"] == ("InputError", "bad") and seen["error.context"] == ("KeyError", "41")
    assert seen["files"][1] == "['a.json']" and seen["files.a.json.size"][1] == "10"
    assert seen["files.a.json.json.n.0"] == ("int", "1")


def test_an_observation_tells_types_shapes_and_last_digits_apart(tmp_path: Path) -> None:
    def leaf(value: Any) -> Any:
        return observe(lambda: {"x": value}, tmp_path)["result.x"]

    different = [1, 1.0, True, "1", np.int64(1), np.float64(1), 0.1 + 0.2, 0.3, -0.0, 0.0, None]
    different += [np.ones(1), np.ones((1, 1)), np.ones(1, np.float32), np.ones(1, np.int64)]
    assert len({leaf(value) for value in different}) == len(different)
    assert leaf(wn.Sealed([41], "a number")) == ("Sealed", "<sealed a number>")


def test_a_command_runs_here_and_is_seen_as_people_see_it() -> None:
    shown = replay_commands.shown("select", "no-such-file.csv", "--epsilon", 1)
    assert shown.exit == 2 and not shown.stdout and "no-such-file.csv" in shown.stderr
    assert isinstance(shown, Shown)


@pytest.mark.parametrize("name", ["winnow select", "winnow itemsets"])
def test_a_command_shows_what_follows_from_its_value_only(name: str) -> None:
    (entry,) = [e for e in replays() if e.verb == name]
    result = replay(entry, quick=True, seed=SEED)
    assert result.passed, result.detail


@pytest.mark.parametrize("verb", ["resume", "lp"])
def test_files_and_programs_of_neighbours_are_alike(verb: str) -> None:
    entry = next(e for e in replays() if e.verb == verb)
    result = replay(entry, quick=True, seed=SEED)
    assert result.passed, result.detail
