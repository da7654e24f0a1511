"""One charge under a request's key stands for one draw, however often it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

import winnow as wn
from winnow.core.tape import WrittenKey
from winnow.errors import GrantError, InputError, WinnowError
from winnow.privacy import PureDP
from winnow.privacy.ledger import Ledger, RecordedBudget

SCORES = dict.fromkeys("abcdefgh", 50)
ONE = PureDP(1.0, "add-remove")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger.open(tmp_path / "ledger.db", create=True)
    made.open_dataset("census", epsilon=10.0)
    return made


def drawn(ledger: Ledger, request: str, key: WrittenKey | None, tape: WrittenKey | None) -> object:
    budget = RecordedBudget(ledger, "census", request=request, written=key)
    return wn.select(SCORES, k=4, epsilon=1.0, budget=budget, seed=tape).value


def test_a_request_is_drawn_once_where_no_key_was_written_down(ledger: Ledger) -> None:
    drawn(ledger, "r", None, None)
    key = WrittenKey.fresh()
    for given, tape in ((None, None), (None, key), (key, key)):
        with pytest.raises(GrantError, match="one charge stands for one draw"):
            drawn(ledger, "r", given, tape)
    assert ledger.dataset("census").charges == 1


def test_the_same_key_draws_the_same_release_again_for_one_charge(ledger: Ledger) -> None:
    key = WrittenKey.fresh()
    copies = [WrittenKey(key.secret) for _ in range(5)]
    assert len({str(drawn(ledger, "r", copy, copy)) for copy in copies}) == 1
    assert ledger.dataset("census").charges == 1
    other = WrittenKey.fresh()
    with pytest.raises(GrantError, match="one charge stands for one draw"):
        drawn(ledger, "r", other, other)


@pytest.mark.parametrize("tape", [7, WrittenKey(bytes(64))])
def test_a_charge_for_a_written_key_is_drawn_from_no_other_tape(
    ledger: Ledger, tape: WrittenKey | None
) -> None:
    key = WrittenKey.fresh()
    for _ in range(2):  # the first charge, and the same again
        with pytest.raises(WinnowError, match=r"a second release|contradict"):
            drawn(ledger, "r", key, tape)
    drawn(ledger, "r", key, key)
    assert ledger.dataset("census").charges == 1


def test_a_budget_with_a_written_key_brings_it_for_the_noise(ledger: Ledger) -> None:
    key = WrittenKey.fresh()
    assert drawn(ledger, "r", key, None) == drawn(ledger, "r", key, key)
    assert ledger.dataset("census").charges == 1


def test_a_charge_that_was_only_recorded_gives_no_permission_to_draw(ledger: Ledger) -> None:
    ledger.charge("census", ONE, request="r")
    key = WrittenKey.fresh()
    with pytest.raises(GrantError, match="one charge stands for one draw"):
        RecordedBudget(ledger, "census", request="r", written=key).charge(ONE)


def test_a_written_key_needs_the_request_that_it_is_for(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="request="):
        RecordedBudget(ledger, "census", written=WrittenKey.fresh())


def test_the_ledger_keeps_a_mark_of_the_key_and_not_the_key(ledger: Ledger) -> None:
    key = WrittenKey.fresh()
    RecordedBudget(ledger, "census", request="r", written=key).charge(ONE)
    body = ledger.entries("census")[-1].body
    assert body["written"] == key.mark
    assert key.secret.hex() not in str(body) and key.mark not in key.secret.hex()


def test_a_charge_from_before_keys_were_marked_is_completed_from_a_written_key(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from winnow.privacy.ledger.chain import Chain

    add = Chain.add

    def without(self: Chain, end, kind, account, body, **options):  # type: ignore[no-untyped-def]
        old = {name: value for name, value in body.items() if name != "written"}
        return add(self, end, kind, account, old, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Chain, "add", without)
        ledger.charge("census", ONE, request="r")
    assert "written" not in ledger.entries("census")[-1].body
    with pytest.raises(GrantError):
        RecordedBudget(ledger, "census", request="r").charge(ONE)
    RecordedBudget(ledger, "census", request="r", written=WrittenKey.fresh()).charge(ONE)
    assert ledger.dataset("census").charges == 1
