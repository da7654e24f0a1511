"""The contract of every mechanism: charged before it draws, exact, and with nothing to be seen.

A refusal costs nothing, receipts of neighbours are the same bytes, and an audit with a broken
twin is registered. A class of mechanisms that is not listed fails by name.
"""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from collections.abc import Callable, Iterable
from dataclasses import FrozenInstanceError, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import winnow as wn
import winnow.audit.run as run
from contracts.audits import OTHERS, enumerated, with_a_twin
from contracts.classes import all_classes
from contracts.mechanisms import REFUSED, SECRET, SUBJECTS, Subject
from contracts.watching import (
    CLAIMED,
    OPENED,
    PUBLISHED,
    READ,
    REDEEMED,
    Log,
    WatchedGrant,
    WatchedTape,
    watched_data,
)
from reference.inside import Tape
from reference.mechanisms import LipschitzMechanism, PermuteAndFlip
from reference.running import spent
from winnow import GrantError, InputError, Relation
from winnow.core.sealed import PublicFact
from winnow.privacy import PureDP, from_json, single_use_grant, to_json
from winnow.select.open_selection import OpenSelection

RELATIONS = list(Relation)


def relation_of(data: Any) -> Relation:
    """The relation that data declare."""
    for part in data if isinstance(data, tuple) else (data,):
        if isinstance(part, Relation):
            return part
        if hasattr(part, "utility"):
            return part.utility.relation
        if hasattr(part, "relation"):
            return part.relation
    raise AssertionError("the data declare no relation")


def drawn(subject: Subject, turn: int = 0, relation: Relation = Relation.ADD_REMOVE) -> Any:
    data = subject.data(turn, relation=relation)
    grant = single_use_grant(subject.charged(relation))
    return subject.run(subject.mechanism, data, grant, Tape.seeded(1))


def before_the_charge(subject: Subject, log: Log) -> Log:
    """The log without the look at scores that some mechanisms may refuse."""
    while subject.looks and log[:1] == [PUBLISHED]:
        log = log[1:]
    return log


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
class TestMechanism:
    """What every mechanism keeps."""

    @pytest.mark.parametrize("relation", RELATIONS)
    def test_the_charge_comes_before_noise_and_before_private_data(
        self, subject: Subject, relation: Relation
    ) -> None:
        log: Log = []
        data = subject.data(relation=relation)
        grant = WatchedGrant(subject.charged(relation), log)
        with watched_data(log):
            subject.run(subject.mechanism, data, grant, WatchedTape(log))
        log = before_the_charge(subject, log)
        assert log[:2] == [CLAIMED, REDEEMED]
        assert {READ, OPENED} <= set(log[2:])
        assert REDEEMED not in log[2:]

    def test_a_refused_grant_reads_no_noise_and_no_data(self, subject: Subject) -> None:
        log: Log = []
        data = subject.data()
        grant = WatchedGrant(subject.charged(relation_of(data)), log, refuses=True)
        with watched_data(log), pytest.raises(GrantError, match="refused"):
            subject.run(subject.mechanism, data, grant, WatchedTape(log))
        assert before_the_charge(subject, log) == [CLAIMED, REDEEMED]

    def test_a_grant_for_another_event_or_relation_draws_nothing(self, subject: Subject) -> None:
        here, there = RELATIONS
        for event in (PureDP(0.123, here), subject.charged(there)):
            log: Log = []
            grant, data = WatchedGrant(event, log), subject.data(relation=here)
            with watched_data(log), pytest.raises(GrantError, match="charge the event"):
                subject.run(subject.mechanism, data, grant, WatchedTape(log))
            assert before_the_charge(subject, log) == [CLAIMED, REDEEMED] and not grant.used

    def test_a_grant_pays_for_one_draw(self, subject: Subject) -> None:
        data = subject.data()
        grant = single_use_grant(subject.charged(relation_of(data)))
        subject.run(subject.mechanism, data, grant, Tape.seeded(1))
        with pytest.raises(GrantError, match="used before"):
            subject.run(subject.mechanism, subject.data(), grant, Tape.seeded(2))

    def test_a_used_tape_costs_no_grant(self, subject: Subject) -> None:
        data, tape = subject.data(), Tape.seeded(1)
        tape.claim()
        grant = single_use_grant(subject.charged(relation_of(data)))
        with pytest.raises(GrantError, match="fresh tape"):
            subject.run(subject.mechanism, data, grant, tape)
        assert not grant.used

    def test_bad_input_is_refused_before_the_charge(self, subject: Subject) -> None:
        for mechanism, data in subject.refused:
            log: Log = []
            grant = WatchedGrant(mechanism.promise(relation_of(data)).event, log)
            with watched_data(log), pytest.raises(InputError) as caught:
                subject.run(mechanism, data, grant, WatchedTape(log))
            assert before_the_charge(subject, log) == []
            assert str(SECRET) not in str(caught.value)

    def test_neighbours_have_the_same_receipt_and_guarantee(self, subject: Subject) -> None:
        def shown(turn: int) -> bytes:
            result = drawn(subject, turn)
            guarantee = getattr(result, "guarantee", None)
            said = [result.receipt.to_dict(), guarantee and guarantee.to_dict()]
            return json.dumps(said).encode() + repr(result.receipt).encode()

        assert shown(0) == shown(1)

    @pytest.mark.parametrize("relation", RELATIONS)
    def test_the_receipt_says_what_was_charged_and_that_it_is_exact(
        self, subject: Subject, relation: Relation
    ) -> None:
        receipt = drawn(subject, relation=relation).receipt
        assert receipt.event == subject.charged(relation)
        assert subject.mechanism.name in receipt.mechanism
        assert receipt.exact and receipt.citation
        assert (receipt.randomness, receipt.ledger) == ("seeded", "unrecorded")

    @pytest.mark.parametrize("relation", RELATIONS)
    def test_the_promise_is_public_data_with_a_citation(
        self, subject: Subject, relation: Relation
    ) -> None:
        promised = subject.mechanism.promise(relation)
        assert promised == subject.mechanism.promise(relation)
        assert promised.event.relation is relation
        assert from_json(json.loads(json.dumps(to_json(promised.event)))) == promised.event
        assert promised.citation and promised.statement

    def test_nothing_private_is_shown(self, subject: Subject) -> None:
        data, result = subject.data(), drawn(subject)
        left = subject.state(result)
        for thing in (subject.mechanism, data, result.receipt, left):
            assert str(SECRET) not in f"{thing!r} {thing} {thing!s:>1}"

    def test_what_is_left_open_is_not_copied_or_pickled(self, subject: Subject) -> None:
        left = subject.state(drawn(subject))
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps) if left is not None else ():
            with pytest.raises((GrantError, TypeError), match=r"copied|pickled"):
                attempt(left)

    def test_its_parameters_are_frozen(self, subject: Subject) -> None:
        mechanism = subject.mechanism
        assert is_dataclass(mechanism) and hash(mechanism) == hash(copy.copy(mechanism))
        with pytest.raises(FrozenInstanceError):
            setattr(mechanism, fields(mechanism)[0].name, 1)

    def test_it_is_enumerated_and_a_broken_twin_is_caught(self, subject: Subject) -> None:
        """By what the audits are registered for; they themselves run in tests/audit."""
        made = type(subject.parts[1] if len(subject.parts) > 1 else subject.mechanism)
        family = {base for base in made.__mro__ if not inspect.isabstract(base)}
        assert family & enumerated(), f"{made.__name__} has no enumeration in the audits"
        assert family & with_a_twin(), f"{made.__name__} has no broken twin in the audits"


def test_audits_of_one_mechanism_are_run() -> None:
    for _, audit, twins in OTHERS.values():
        called = inspect.getsource(run) + inspect.getsource(run.ask_enumerated)
        called += inspect.getsource(run.ask_twins)
        assert audit.__name__ in called and twins.__name__ in called


def is_mechanism(made: type) -> bool:
    """A promise, and a way to draw."""
    draws = any(hasattr(made, way) for way in ("drawn", "open", "draw", "rate"))
    concrete = not inspect.isabstract(made) and not getattr(made, "_is_protocol", False)
    return hasattr(made, "promise") and draws and concrete


def registered() -> set[type]:
    return {type(part) for subject in SUBJECTS for part in subject.parts} | {
        made for subject in SUBJECTS for made in subject.covers
    }


def missing(classes: Iterable[type]) -> list[str]:
    known = registered()
    return [made.__qualname__ for made in classes if is_mechanism(made) and made not in known]


def test_every_mechanism_is_under_the_contract() -> None:
    found = missing(all_classes())
    assert not found, f"add to the table of mechanisms, or to contracts/mechanisms.py: {found}"


def test_a_mechanism_without_a_contract_is_named() -> None:
    class NewSelection(PermuteAndFlip):
        pass

    assert missing([PermuteAndFlip, NewSelection])[0].endswith("NewSelection")


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_a_verb_refuses_costs_nothing(call: Callable[..., Any]) -> None:
    budget = wn.Budget(epsilon=10, delta=1e-3)
    with pytest.raises(InputError) as caught:
        call(budget=budget)
    assert budget.spent.amount == 0
    assert str(SECRET) not in str(caught.value)


def opened(grant: Any, tape: Any) -> OpenSelection:
    """A selection over parts: its data are held elsewhere, so it is no subject of the above."""
    made, utility = LipschitzMechanism(1, "exponential", 2), wn.Utility.declare(1)
    stated = wn.Guarantee(1.0, 0.0, utility.relation)
    key, receipt = spent(made, utility.relation, grant, tape)
    return OpenSelection(made, utility, stated, key, receipt, single=False)


def test_a_selection_over_parts_has_a_key_only_when_it_is_paid_for() -> None:
    event = LipschitzMechanism(1, "exponential", 2).promise(Relation.ADD_REMOVE).event
    log: Log = []
    with pytest.raises(GrantError, match="refused"):
        opened(WatchedGrant(event, log, refuses=True), WatchedTape(log))
    assert log == [CLAIMED, REDEEMED]
    with pytest.raises(GrantError, match="charge the event"):
        opened(single_use_grant(PureDP(0.123, Relation.ADD_REMOVE)), Tape.seeded(1))
    grant = single_use_grant(event)
    run = opened(grant, Tape.seeded(1))
    parts = [run.worker.contenders(["a", "b"], [3, 2]), run.worker.contenders(["c"], [1])]
    assert run.finish(parts).receipt.event == event
    for again in (lambda: opened(grant, Tape.seeded(2)), lambda: run.finish(parts)):
        with pytest.raises(GrantError, match="before"):
            again()


def files_that(*does: str) -> set[str]:
    """The files of the package whose text calls one of these."""
    root = Path(wn.__file__).parent
    return {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if any(each in path.read_text() for each in does)
    }


def test_one_file_charges_spends_and_makes_keys() -> None:
    assert files_that(".redeem(") == {"core/run.py"}
    assert files_that("SPENT") == {"core/key.py", "core/run.py"}
    assert files_that(" spend(", "=spend(") == {"core/run.py"}
    charging = files_that(").charge(", "budget.charge(", "account.charge(")
    assert charging == {"core/run.py", "privacy/grant.py", "audit/accounting.py"}
    assert files_that("= Receipt(", "return Receipt(") == {"core/run.py"}


def test_only_keys_and_the_listed_facts_look_into_a_seal() -> None:
    assert files_that("._content") == {"core/key.py", "core/sealed.py"}


def test_every_public_fact_is_used_and_every_use_names_one() -> None:
    root = Path(wn.__file__).parent
    texts = {path: path.read_text() for path in root.rglob("*.py")}
    for fact in PublicFact:
        users = [p for p, text in texts.items() if f"PublicFact.{fact.name}" in text]
        assert users, f"{fact.name} is listed and nobody tells it"
        assert len(fact.value) > 30, f"{fact.name} does not say why it is public"
    for path, text in texts.items():
        if ".publish(" in text and path.name != "sealed.py":
            assert "PublicFact." in text, f"{path.name} publishes without a listed fact"
