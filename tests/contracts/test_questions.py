"""Questions one by one: a plan is what is charged and what runs."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import Any

import pandas as pd
import pytest

import winnow as wn
from winnow.ask.request import Ask
from winnow.core.options import options

N = 20_000
FRAME = pd.DataFrame([(i % 4, i % 3, (i * i) % 5) for i in range(N)], columns=["a", "b", "c"])
SCHEMA = {"a": 4, "b": 3, "c": 5}
QUESTIONS = [wn.where(a=i % 4, b=i % 3) for i in range(5)] + [wn.where(c=[0, 1])]
ASKED: dict[str, Any] = {"epsilon": 4, "delta": 1e-6, "max_queries": 200}


def weights(**own: Any) -> dict[str, Any]:
    return {"method": wn.MultiplicativeWeights(**own)}


CASES: dict[str, dict[str, Any]] = {
    "auto": {},
    "auto, very many": {"max_queries": 10**6},
    "independent": {"method": wn.Independent()},
    "independent, in a word": {"method": "independent", "beta": 0.2},
    "weights": weights(),
    "updates": weights(updates=30),
    "alpha": weights(alpha=0.6),
    "threshold": weights(threshold=0.05),
    "threshold, proved": weights(threshold="proved"),
    "warm start": weights(warm_start=0.3),
    "fallback": weights(fallback=0.2, updates=4),
    "paper": weights(calibration="paper"),
    "sampled": weights(universe=50, smoothness=0.02, universe_seed=2, threshold=0.3),
    "listed": weights(universe=[[i % 4, i % 3, i % 5] for i in range(30)], phi=0.3, threshold=0.3),
    "implicit": weights(memory="0.1kB"),
}


def table(relation: str = "substitution") -> wn.SealedTable:
    rows = None if relation == "substitution" else N
    return wn.read_table(FRAME, schema=SCHEMA, relation=relation, rows=rows)


BOTH = [
    *((case, "substitution") for case in CASES),
    *((case, "add-remove") for case in ("auto", "independent", "fallback", "warm start")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "relation"), BOTH)
def test_the_plan_of_a_session_is_what_is_charged_and_run(case: str, relation: str) -> None:
    asked = ASKED | CASES[case]
    plan = wn.plan.ask(wn.plan.table(SCHEMA, rows=N, relation=relation), **asked)
    with wn.ask(table(relation), seed=4, **asked) as session:
        assert plan.event == session.receipt.event == wn.plan.ask(table(relation), **asked).event
        assert (plan.name, plan.reason) == (session.receipt.mechanism, session.receipt.reason)
        assert replace(session.guarantee, unit=plan.guarantee.unit) == plan.guarantee
        assert plan.expected == session.sizes and plan.method == session.method
        answers = [session.ask(question) for question in QUESTIONS]
    budget = wn.Budget(6, 1e-5, relation, delta_for_events=5e-6)
    with plan.run(table(relation), budget=budget, seed=4) as again:
        assert [again.ask(question) for question in QUESTIONS] == answers
    assert budget.events == (plan.event,)
    sized = wn.plan.ask(table(relation), budget=budget, **asked | {"epsilon": 0.5})
    with wn.ask(table(relation), budget=budget, **asked | {"epsilon": 0.5}) as charged:
        assert sized.event == charged.receipt.event == budget.events[-1]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_no_error_that_is_stated_passes_all_rows(case: str) -> None:
    """Also where noise does: a bound of 1,910 of 744 rows says nothing."""
    for rows, epsilon in ((744, 0.05), (744, 1)):
        asked = ASKED | CASES[case] | {"epsilon": epsilon}
        try:
            plan = wn.plan.ask(wn.plan.table(SCHEMA, rows=rows), **asked)
        except wn.InputError:
            continue  # nothing would be learned
        sizes = plan.expected
        noise = getattr(sizes, "rounds", sizes).noise
        assert case == "paper" or noise < 1, "a session whose noise is larger than all is refused"
        assert 0 < plan.error <= 1 and sizes.within <= 1 and sizes.usual <= sizes.bound <= 1
        for row in plan.compared:
            stated = (row.bound, row.usual, row.error, row.fresh or 0.0)
            assert all(0 <= number <= 1 for number in stated)


def test_every_option_of_the_method_stands_in_a_case() -> None:
    methods = [case.get("method") for case in CASES.values()]
    used = [each for each in methods if isinstance(each, wn.MultiplicativeWeights)]
    for field in options(wn.MultiplicativeWeights):
        assert any(getattr(each, field.name) != field.default for each in used), field.name
    assert not options(wn.Independent)


def test_no_verb_has_more_than_ten_parameters() -> None:
    for verb in (wn.ask, wn.plan.ask, wn.resume, wn.Session.ask):
        assert len(signature(verb).parameters) <= 10, verb
    assert [field.name for field in options(Ask)] == [
        "epsilon", "delta", "method", "max_queries", "beta"
    ]  # fmt: skip


OTHERS: dict[str, Any] = {
    "schema": lambda: wn.read_table(FRAME, schema=SCHEMA | {"c": 6}),
    "columns": lambda: wn.read_table(FRAME[["a", "b"]], schema={"a": 4, "b": 3}),
    "rows": lambda: wn.read_table(FRAME[: N - 1], schema=SCHEMA),
    "rows per person": lambda: wn.read_table(
        FRAME.assign(p=range(N)), schema=SCHEMA, person="p", max_rows=2
    ),
    "relation": lambda: table("add-remove"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_plan_refuses_another_table_before_the_charge(what: str) -> None:
    plan = wn.plan.ask(table(), **ASKED)
    budget = wn.Budget(9, 1e-5, "add-remove" if what == "relation" else "substitution")
    with pytest.raises(wn.WinnowError, match="plan again"):
        plan.run(OTHERS[what](), budget=budget)
    assert not budget.events


def test_a_plan_of_cells_runs_on_any_table_of_so_many() -> None:
    plan = wn.plan.ask(wn.plan.table(60, rows=N), **ASKED)
    with plan.run(table(), seed=1) as session:
        assert session.ask(QUESTIONS[0]).error == plan.expected.bound


def test_a_public_number_of_rows_is_said_where_a_table_is_read() -> None:
    private = {"schema": SCHEMA, "relation": "add-remove"}
    with pytest.raises(wn.ParameterError, match="rows= where the table is read"):
        wn.plan.ask(wn.read_table(FRAME, **private), **ASKED)
    assert wn.plan.ask(wn.read_table(FRAME, rows=1500, **private), **ASKED).expected.rows == 1500
    with pytest.raises(wn.ParameterError, match="not the number of rows of the table"):
        wn.read_table(FRAME, schema=SCHEMA, rows=1500)
    for wrong in (0, -3, 1.5, True):
        with pytest.raises(wn.ParameterError, match="rows"):
            wn.read_table(FRAME, rows=wrong, **private)


def test_a_session_of_several_verbs_takes_the_options_and_no_others() -> None:
    session = wn.Session(table(), epsilon=4, delta=1e-5, delta_for_events=5e-6, seed=1)
    with session.ask(**ASKED | {"epsilon": 1, "method": "independent"}) as opened:
        assert session.budget.events == (opened.receipt.event,)
    with pytest.raises(TypeError, match="threshold"):
        session.ask(epsilon=1, delta=1e-6, threshold=0.1)  # type: ignore[call-arg]
    with pytest.raises(wn.ParameterError, match="charges its own budget"):
        session.ask(epsilon=1, delta=1e-6, budget=wn.Budget(1))
    with pytest.raises(wn.ParameterError, match="without a table"):
        wn.Session(epsilon=1).ask(epsilon=1, delta=1e-6)
