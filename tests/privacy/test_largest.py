"""The largest epsilon that a verb would still get, in the words in which a budget was bought."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from winnow.privacy import Event, Gaussian, PureDP, Truncated
from winnow.privacy.ledger import Ledger, RecordedBudget
from winnow.privacy.refusals import COMPOSING

HERE = wn.Relation.ADD_REMOVE


def gaussian(epsilon: float) -> Event:
    return Gaussian(10 / epsilon, HERE)


@pytest.mark.parametrize(
    "ask", [lambda e: PureDP(e, HERE), gaussian, lambda e: Truncated(PureDP(e, HERE), 1e-7)]
)
@pytest.mark.parametrize("accountant", ["combined", "zcdp"])
def test_the_largest_epsilon_is_charged_and_a_hundredth_more_is_not(ask, accountant) -> None:
    own = {"delta_for_events": 1e-6} if accountant == "zcdp" else {}
    for used in ([], [Gaussian(16, HERE), PureDP(0.1, HERE)]):
        budget = wn.Budget(1, 1e-5, accountant=accountant, **own)
        for event in used:
            budget.charge(event)
        before, largest = budget.spent, budget.largest(ask)
        assert budget.spent == before and 0 < largest <= 1
        if largest < 1:
            with pytest.raises(wn.BudgetExceeded):
                budget.charge(ask(largest * 1.01))
        budget.charge(ask(largest))


def test_nothing_is_left_of_a_budget_that_is_used_up() -> None:
    budget = wn.Budget(1)
    budget.charge(PureDP(1, HERE))
    assert budget.largest(lambda e: PureDP(e, HERE)) == 0


def test_a_plan_of_a_verb_is_asked_as_it_would_be_charged() -> None:
    budget = wn.Budget(1, 1e-6)
    wn.select([40, 30], epsilon=0.6, budget=budget)
    found = budget.largest(lambda e: wn.plan.select(wn.plan.scores(2), epsilon=e, budget=budget))
    assert found == pytest.approx(0.4, rel=1e-3) and found <= 0.4
    wn.select([40, 30], epsilon=found, budget=budget)


def test_the_share_of_an_analyst_counts(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l", create=True)
    ledger.open_dataset("d", epsilon=1)
    ledger.set_share("d", "ann", Fraction(1, 4))
    budget = RecordedBudget(ledger, "d", analyst="ann")
    budget.charge(PureDP(0.1, HERE))
    found = budget.largest(lambda e: PureDP(e, HERE))
    assert found == pytest.approx(0.15, rel=1e-3) and found <= 0.15
    whole = RecordedBudget(ledger, "d").largest(lambda e: PureDP(e, HERE))
    assert whole == pytest.approx(0.9, rel=1e-3)
    assert np.isclose(budget.left.amount, 0.15)


def test_a_card_says_why_used_and_left_need_not_make_the_cap() -> None:
    assert COMPOSING in wn.Budget(1, 1e-6)._repr_html_()
