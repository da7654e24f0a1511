"""Sessions with independent noise: charge, error bound, repeats, refusals, state files."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

import winnow as wn
from reference.asking import independent_sizes, planned
from reference.asking import opened as asking
from reference.inside import Rows, group
from winnow import BudgetExceeded, GrantError, InputError, Schema, Sealed, SealedTable
from winnow.ask.independent_answers import IndependentAnswers
from winnow.ask.questions import question_of, taken
from winnow.errors import LedgerError
from winnow.privacy import DiscreteGaussian, Gaussian, guarantee_of, zcdp_cost

SCHEMA = Schema.parse({"a": 4, "b": 3})
COUNTS = np.arange(1, 13) * 1000


def table_of() -> SealedTable:
    codes = np.unravel_index(np.arange(SCHEMA.cells), SCHEMA.shape)
    rows = group(tuple(c.astype(np.int32) for c in codes), COUNTS.astype(np.int64), SCHEMA.shape)
    return SealedTable(SCHEMA, Sealed(Rows(*rows), "rows"))


def opened(**options: Any) -> Any:
    options = {"epsilon": 1, "delta": 1e-6, "max_queries": 30, "method": "independent"} | options
    return asking(table_of(), **options)


def test_every_answer_is_within_its_bound_and_says_so() -> None:
    session = opened(max_queries=12)
    cells = wn.marginals(2).over(SCHEMA)
    answers = session.ask_all(cells)
    assert session.exhausted and session.rounds == 12
    assert {a.kind for a in answers} == {"independent"}
    assert [a.number for a in answers] == list(range(12))
    assert all(a.error == session.sizes.bound and a.adaptive for a in answers)
    off = [abs(a.count - c) / COUNTS.sum() for a, c in zip(answers, COUNTS, strict=True)]
    assert max(off) <= 3 * session.sizes.bound  # 12 normal tails beyond 8.5 sigma: below 1e-15


def test_the_noise_has_the_planned_variance() -> None:
    """Chi-square of 400 answers; false alarm below 1e-6."""
    session = opened(max_queries=400, seed=5)
    row = np.eye(SCHEMA.cells)[:1]
    noise = []
    for step in range(1, 401):
        question = question_of(SCHEMA, wn.queries(row * step / 1000, grid=1000))
        ((_, count),) = session._answers.answer([question])
        noise.append((count - step * COUNTS[0]) / 1000)
    deviation = session.sizes.deviation * session.sizes.rows
    assert deviation == pytest.approx(session.sizes.multiplier * math.sqrt(400))
    assert abs(np.square(noise).sum() / deviation**2 - 400) < 5 * math.sqrt(800)


def test_all_answers_together_cost_one_gaussian_event() -> None:
    session = opened(max_queries=50)
    plan, event = session.sizes, session.plan.event
    squared = Fraction(repr(plan.multiplier)) ** 2
    assert isinstance(event, DiscreteGaussian) and session.receipt.event == event
    assert 0 <= Fraction(event.squared_ratio) * squared - 1 < 1e-15
    assert 0 <= 1 - Fraction(repr(event.least_variance)) / (50 * squared) < 1e-15
    one = Gaussian(plan.multiplier * math.sqrt(50), "substitution")
    assert 50 * float(zcdp_cost(one).rho) == pytest.approx(float(zcdp_cost(event).rho))
    assert guarantee_of(event, 1e-6, plan.accountant).epsilon <= 1 + 1e-12
    variance = plan.mechanism.variance(3, 10)
    assert variance == (30 * Fraction(repr(plan.multiplier))) ** 2 * 50


def test_a_question_has_one_answer_and_counts_once() -> None:
    session = opened(max_queries=2)
    first = session.ask(wn.where(a=1))
    again = session.ask(wn.where(a=[1]))
    assert again.value == first.value and again.number is None and session.rounds == 1
    assert [a.number for a in session.ask_all(wn.predicates([wn.where(b=1)] * 2))] == [1, None]
    assert session.exhausted and session.status == "exhausted"
    assert session.ask(wn.where(a=1)).value == first.value
    with pytest.raises(InputError, match="1 new questions were asked, and only 0 of the 2"):
        session.ask(wn.where(a=2))


def test_a_workload_that_does_not_fit_is_refused_whole() -> None:
    session = opened(max_queries=5)
    with pytest.raises(InputError, match="12 new questions were asked, and only 5 of the 5"):
        session.ask_all(wn.marginals(2))
    assert session.rounds == 0


def test_a_session_without_a_hypothesis_says_how_to_synthesise() -> None:
    session = opened()
    with pytest.raises(InputError, match="method='multiplicative-weights'"):
        session.synthesise(wn.marginals(1))
    assert session.rounds == 0


def test_the_noise_belongs_to_the_question_and_not_to_its_turn() -> None:
    asked = [taken(wn.marginals(2).over(SCHEMA), q) for q in range(12)]
    one, other = opened(seed=3), opened(seed=3)
    values = [one.ask(q).value for q in asked]
    assert [other.ask(q).value for q in reversed(asked)] == values[::-1]
    assert len({v - c / COUNTS.sum() for v, c in zip(values, COUNTS, strict=True)}) == 12


def test_queries_in_minus_c_to_c_go_through_the_affine_map() -> None:
    session = opened(epsilon=20, max_queries=3)
    signs = np.where(np.arange(SCHEMA.cells) % 2 == 0, -2.0, 2.0)[None, :]
    answer = session.ask(wn.queries(signs, bound=2))
    assert answer.error == pytest.approx(4 * session.sizes.bound)
    assert abs(answer.value - float(signs[0] @ COUNTS) / COUNTS.sum()) <= 2 * answer.error


@pytest.mark.parametrize("ledger", [False, True])
def test_a_session_goes_on_with_the_same_answers(tmp_path: Path, ledger: bool) -> None:
    path = tmp_path / "session"
    options: dict[str, Any] = {}
    if ledger:
        steward = wn.Session(
            table_of(), epsilon=1, delta=1e-6, ledger=tmp_path / "l.db", dataset="people"
        )
        session = steward.ask(
            epsilon=1, delta=1e-6, max_queries=30, method="independent", state=path
        )
    else:
        session = opened(state=path, **options)
    first = [session.ask(wn.where(a=code)).value for code in range(3)]
    session.close()
    with wn.resume(table_of(), path) as again:
        assert again.rounds == 3 and again.receipt == session.receipt
        assert [again.ask(wn.where(a=code)).value for code in range(3)] == first
        assert again.ask(wn.where(a=3)).number == 3
    if ledger:
        with pytest.raises(BudgetExceeded):
            steward.ask(epsilon=0.5, delta=1e-6, method="independent")


def test_a_full_disk_refuses_before_noise_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(state=tmp_path / "session")

    def full(*_: Any) -> None:
        raise LedgerError("no room")

    def drawn(*_: Any) -> int:
        raise AssertionError("noise was drawn")

    with monkeypatch.context() as patch:
        patch.setattr(session._journal, "tell_ledger", full)
        patch.setattr(session._answers, "_noisy", drawn)
        with pytest.raises(LedgerError, match="no room"):
            session.ask(wn.where(a=1))
    assert session.rounds == 0 and session.ask(wn.where(a=1)).number == 0


def test_the_recommended_method_has_the_smaller_bound() -> None:
    for questions, expected in ((30, "independent"), (10**7, "multiplicative-weights")):
        session = opened(method="auto", max_queries=questions)
        plan = planned(SCHEMA, n=78_000, epsilon=1, delta=1e-6, max_queries=questions)
        assert session.method == expected == plan.method
        assert "recommended" in session.receipt.reason
    bare = wn.Budget(1, 1e-6, "substitution", "zcdp")
    assert opened(method="auto", budget=bare).method == "independent"
    with pytest.raises(InputError, match="method='independent'"):
        opened(method="multiplicative-weights", budget=bare)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"method": "both"}, "choose one of"),
        ({"threshold": 0.1}, "threshold=0.1 is for multiplicative-weights; independent has none"),
        ({"warm_start": 0.1}, "warm_start"),
        ({"calibration": "paper"}, "calibration"),
        ({"universe": 5, "smoothness": 1}, "independent has none"),
        ({"max_queries": 0}, "max_queries"),
        ({"delta": 0}, "delta"),
        ({"epsilon": 1e-9, "delta": 1e-9}, "nothing would be learned"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_charged(
    options: dict[str, Any], why: str
) -> None:
    budget = wn.Budget(50, 1e-2, "substitution")
    with pytest.raises(InputError, match=why):
        opened(budget=budget, **options)
    assert not budget.events


def test_a_session_is_neither_copied_nor_shown() -> None:
    session = opened()
    for copied in (session, session._answers):
        with pytest.raises(GrantError):
            copy.copy(copied)
    assert "30 questions" in repr(session) and "30 left" in repr(session._answers)
    session.close()
    with pytest.raises(InputError, match="closed"):
        session.ask(wn.where(a=1))
    assert session.state()["status"] == "closed"


def test_more_rows_per_person_need_more_noise() -> None:
    def bound(width: int) -> float:
        return independent_sizes(1, 1e-6, 100, rows=10_000, rows_per_person=width).bound

    assert bound(4) == pytest.approx(4 * bound(1), rel=1e-2)
    assert IndependentAnswers(10_000, 2).block == 64 and IndependentAnswers(20, 2).block == 1


@pytest.mark.parametrize("queries", [1, 10, 10**8])
def test_answers_have_the_noise_of_continuous_ones_at_every_size_and_epsilon(queries: int) -> None:
    """One answer pays some percent for being an integer, many pay nothing."""
    for epsilon in (1, 2, 4, 8):

        def missed(deviation: float, epsilon: int = epsilon) -> float:
            upper, lower = (epsilon * deviation + sign / (2 * deviation) for sign in (-1, 1))
            return float(ndtr(-upper) - math.exp(epsilon) * ndtr(-lower)) - 1e-6

        normal = brentq(missed, 0.3, 9)  # [Balle-Wang 2018, Thm 8]
        plan = independent_sizes(epsilon, 1e-6, queries, rows=10**9)
        if plan.accountant == "tight":
            variance = normal**2 + (1 / 11) / queries
            assert plan.multiplier == pytest.approx(math.sqrt(variance), rel=3e-4)
        else:
            assert (epsilon, queries) == (8, 1)  # here zCDP is better
