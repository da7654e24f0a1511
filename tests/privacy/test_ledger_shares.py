"""Shares of analysts within a cap, and requests that are charged once."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

import winnow as wn
from reference.commands import invoke
from winnow.errors import BudgetExceeded, InputError
from winnow.privacy import Budget, Gaussian, PureDP, Truncated
from winnow.privacy.ledger import Ledger, RecordedBudget

TENTH = PureDP(0.1, "add-remove")


def made(folder: Path, epsilon: float = 1.0, delta: float = 0.0, **more: str) -> Ledger:
    ledger = Ledger.open(folder / "ledger.db", create=True)
    ledger.open_dataset("census", epsilon=epsilon, delta=delta, **more)
    return ledger


def run(*arguments: object) -> tuple[int, str]:
    result = invoke(arguments)
    return result.exit_code, result.output


def test_a_share_binds_its_analyst_and_the_cap_binds_all(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    ledger.set_share("census", "ann", 0.5)
    ledger.set_share("census", "bo", 0.8)
    for _ in range(5):
        ledger.charge("census", TENTH, analyst="ann")
    with pytest.raises(BudgetExceeded, match=r"share of 'ann': .* epsilon 0 of 0.5 is left"):
        ledger.charge("census", TENTH, analyst="ann")
    for _ in range(5):
        ledger.charge("census", TENTH, analyst="bo")
    with pytest.raises(BudgetExceeded, match="epsilon 0 of 1 is left"):
        ledger.charge("census", TENTH, analyst="bo")
    assert [(s.analyst, s.part, s.used.size) for s in ledger.shares("census")] == [
        ("ann", Fraction(1, 2), Fraction(1, 2)),
        ("bo", Fraction(4, 5), Fraction(1, 2)),
    ]
    assert ledger.verify().ok


def test_what_was_used_before_a_share_counts_and_a_share_can_be_set_again(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    ledger.charge("census", PureDP(0.3, "add-remove"), analyst="ann")
    ledger.set_share("census", "ann", 0.25)
    with pytest.raises(BudgetExceeded, match="share of 'ann'"):
        ledger.charge("census", PureDP(0.01, "add-remove"), analyst="ann")
    assert RecordedBudget(ledger, "census", analyst="ann").left.amount == 0
    assert RecordedBudget(ledger, "census").left.amount == 0.7
    ledger.set_share("census", "ann", 0.4)
    assert RecordedBudget(ledger, "census", analyst="ann").left.amount == 0.1
    ledger.charge("census", TENTH, analyst="ann")
    ledger.set_share("census", "bo", 0)
    with pytest.raises(BudgetExceeded, match="share of 'bo'"):
        ledger.charge("census", TENTH, analyst="bo")
    ledger.charge("census", TENTH, analyst="cy")
    ledger.charge("census", TENTH)
    assert ledger.verify().ok


def test_a_share_has_a_part_of_rho_and_of_the_deltas_of_events(tmp_path: Path) -> None:
    ledger = made(tmp_path, epsilon=1.0, delta=1e-6, accountant="zcdp")
    limit = ledger.cap("census").limit
    share = ledger.set_share("census", "ann", Fraction(1, 3))
    assert (share.cap.limit.size, share.cap.limit.delta) == (limit.size / 3, limit.delta / 3)
    multiplier = Fraction(1000)
    while Fraction(1) / (2 * multiplier**2) < limit.size / 3:
        multiplier -= 1
    ledger.charge("census", Gaussian(multiplier + 1, "add-remove"), analyst="ann")
    with pytest.raises(BudgetExceeded, match="share of 'ann'"):
        ledger.charge("census", Gaussian(multiplier + 1, "add-remove"), analyst="ann")


def test_an_analyst_without_a_share_is_bound_by_the_cap_alone(tmp_path: Path) -> None:
    """Also where the first charge, by somebody else, left all of delta to composition."""
    ledger = made(tmp_path, epsilon=1.0, delta=1e-6)
    ledger.charge("census", Truncated(Gaussian(1000, "add-remove"), 6e-7), analyst="x")
    budget = Budget(1.0, 1e-6)
    budget.charge(Truncated(Gaussian(1000, "add-remove"), 6e-7))
    charged = 0
    with suppress(BudgetExceeded):
        while True:
            budget.charge(Gaussian(30, "add-remove"))
            charged += 1
    for _ in range(charged):
        ledger.charge("census", Gaussian(30, "add-remove"), analyst="y")
    with pytest.raises(BudgetExceeded):
        ledger.charge("census", Gaussian(30, "add-remove"), analyst="y")
    assert ledger.verify().ok


def test_a_small_share_holds_what_is_converted(tmp_path: Path) -> None:
    ledger = made(tmp_path, epsilon=10.0, delta=1e-6)
    ledger.set_share("census", "ann", Fraction(1, 10))
    ledger.charge("census", PureDP(0.9, "add-remove"), analyst="ann")
    ledger.charge("census", Gaussian(1000, "add-remove"), analyst="ann")
    ledger.set_share("census", "bob", 0)
    with pytest.raises(BudgetExceeded, match="share of 'bob'"):
        ledger.charge("census", Gaussian(1e9, "add-remove"), analyst="bob")
    assert ledger.verify().ok


def test_random_charges_agree_with_plain_sums(tmp_path: Path) -> None:
    """Against a model: every decision, every sum, for three analysts and nobody."""
    draw, ledger = random.Random(3), made(tmp_path)
    used: dict[str, Fraction] = {}
    parts: dict[str, Fraction] = {}
    for _ in range(60):
        analyst = draw.choice(("ann", "bo", "cy", ""))
        if analyst and draw.random() < 0.2:
            parts[analyst] = Fraction(draw.randrange(11), 10)
            ledger.set_share("census", analyst, parts[analyst])
            continue
        size = Fraction(draw.randrange(1, 12), 100)
        fits = sum(used.values()) + size <= 1
        if analyst:
            fits = fits and used.get(analyst, 0) + size <= parts.get(analyst, 1)
        try:
            ledger.charge("census", PureDP(size, "add-remove"), analyst=analyst)
            granted = True
        except BudgetExceeded:
            granted = False
        assert granted == fits
        if granted:
            used[analyst] = used.get(analyst, Fraction(0)) + size
    assert ledger.used("census").size == sum(used.values())
    for share in ledger.shares("census"):
        assert share.used.size == used.get(share.analyst, 0)
        assert share.part == parts.get(share.analyst)
    assert ledger.verify().ok


@pytest.mark.parametrize("part", [-0.1, 1.5, float("nan"), "half"])
def test_a_part_is_from_0_to_1(tmp_path: Path, part: object) -> None:
    with pytest.raises(InputError, match="part"):
        made(tmp_path).set_share("census", "ann", part)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [" ann", "a\nb", "cafe\u0301", "x" * 201])
def test_a_name_has_one_spelling(tmp_path: Path, name: str) -> None:
    ledger = made(tmp_path)
    for attempt in (
        lambda: ledger.set_share("census", name, 0.5),
        lambda: ledger.charge("census", TENTH, analyst=name),
        lambda: RecordedBudget(ledger, "census", analyst=name),
    ):
        with pytest.raises(InputError, match="analyst"):
            attempt()
    with pytest.raises(InputError, match="request"):
        ledger.charge("census", TENTH, request=name)


def test_a_request_is_charged_once_and_another_content_is_refused(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    ledger.open_dataset("other", epsilon=1.0)
    head = ledger.charge("census", TENTH, analyst="ann", request="r1")
    assert Ledger.open(tmp_path / "ledger.db").charge(
        "census", TENTH, analyst="ann", request="r1"
    ) == (head)
    for label, event, session in (
        ("census", PureDP(0.2, "add-remove"), ""),
        ("other", TENTH, ""),
        ("census", TENTH, "s"),
    ):
        with pytest.raises(InputError, match="something else before"):
            ledger.charge(label, event, analyst="ann", session=session, request="r1")
    assert ledger.dataset("census").charges == 1
    ledger.charge("census", TENTH, analyst="bo", request="r1")  # a key of somebody else
    ledger.charge("census", PureDP(0.8, "add-remove"), request="r1")
    assert ledger.charge("census", TENTH, analyst="ann", request="r1") == head  # the cap is spent
    found = ledger.requested("r1", "ann")
    assert found is not None and head.endswith(found.head)
    assert ledger.requested("r2", "ann") is None
    assert ledger.verify().ok


def test_a_session_of_an_analyst_keeps_to_the_share(tmp_path: Path) -> None:
    made(tmp_path).set_share("census", "ann", 0.5)
    budget = RecordedBudget(Ledger.open(tmp_path / "ledger.db"), "census", analyst="ann")
    with wn.Session(budget=budget) as session:
        session.select({"x": 1, "y": 2}, epsilon=0.4)
        assert session.budget.left.amount == 0.1
        with pytest.raises(BudgetExceeded, match="share of 'ann'"):
            session.select({"x": 1, "y": 2}, epsilon=0.2)


def test_shares_are_set_and_listed_by_commands(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    made(tmp_path).charge("census", TENTH, analyst="bo")
    base = ["ledger", "share"]
    code, output = run(*base, "set", place, "--dataset", "census", "--analyst", "ann",
                       "--part", 0.5)  # fmt: skip
    assert code == 0 and "ann" in output and "0.5" in output
    code, output = run(*base, "list", place, "--dataset", "census", "--json")
    assert code == 0
    assert [(d["analyst"], d["part"], d["used"], d["limit"]) for d in json.loads(output)] == [
        ("ann", 0.5, 0.0, 0.5),
        ("bo", None, 0.1, 1.0),
    ]
    assert "all" in run(*base, "list", place, "--dataset", "census")[1]
    code, output = run(*base, "set", place, "--dataset", "census", "--analyst", "ann",
                       "--part", 2)  # fmt: skip
    assert code == 2 and "from 0 to 1" in output
    assert run(*base, "list", place, "--dataset", "none")[0] == 2
