"""Every verb has one plan: it is priced, charged, run and printed, and it looks at nothing."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import winnow as wn
from contracts.verbs import OPENED_PIECE_BY_PIECE, SECRET, VARIANTS, VERBS, Case
from contracts.watching import OPENED, watched_data
from winnow.core.plan import Plan
from winnow.core.sealed import PublicFact, Sealed


def planned(name: str, data: Any, **how: Any) -> Any:
    case = VERBS[name]
    return getattr(wn.plan, name)(*case.beside, data, *case.given, **case.asked, **how)


def ran(name: str, data: Any, **how: Any) -> Any:
    case = VERBS[name]
    return getattr(wn, name)(*case.beside, data, *case.given, **case.asked, **how)


def drawn(result: Any) -> Any:
    """What was released, in a form that can be compared; of a session, one answer."""
    if hasattr(result, "ask"):
        with result:
            return result.ask(wn.where(a=1)).value
    value = result.value
    for shown in ("answers", "to_dict"):
        if hasattr(value, shown):
            made = getattr(value, shown)()
            return made.tolist() if hasattr(made, "tolist") else repr(made)
    return repr(value)


def budget_under(relation: wn.Relation) -> wn.Budget:
    return wn.Budget(9, 1e-5, relation, delta_for_events=5e-6)


def test_every_public_function_that_spends_is_a_verb_with_a_plan() -> None:
    spending = {
        name
        for name in wn.__all__
        if inspect.isfunction(getattr(wn, name))
        and "epsilon" in inspect.signature(getattr(wn, name)).parameters
    }
    spending.discard("calibrate")  # says how much noise an epsilon needs
    assert spending - OPENED_PIECE_BY_PIECE == set(VERBS)
    assert set(VERBS) <= set(dir(wn.plan)) and set(VERBS) <= set(dir(wn.Session))


@pytest.mark.parametrize("name", VERBS)
def test_what_is_planned_is_what_is_charged_and_run(name: str) -> None:
    data = VERBS[name].data()
    budget, other = (budget_under(planned(name, data).relation) for _ in range(2))
    plan = planned(name, data, budget=budget)  # whose accountant sizes the noise
    assert isinstance(plan, Plan)
    by_verb, by_plan = ran(name, data, budget=budget, seed=3), plan.run(data, budget=other, seed=3)
    assert budget.events == other.events == (plan.event,) == (by_verb.receipt.event,)
    assert drawn(by_verb) == drawn(by_plan)
    receipt, guarantee = by_verb.receipt, by_verb.guarantee
    assert (receipt.mechanism, receipt.reason) == (plan.name, plan.reason)
    assert (guarantee.epsilon, guarantee.delta) == (plan.guarantee.epsilon, plan.guarantee.delta)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_method_and_option_is_charged_what_its_plan_says(variant: str) -> None:
    name, case = VARIANTS[variant]
    data = case.data()
    given = (*case.beside, data, *case.given)
    caps = 9, 1e-2, data.relation
    budget, other = (wn.Budget(*caps, delta_for_events=5e-3) for _ in range(2))
    plan = getattr(wn.plan, name)(*given, **case.asked, budget=budget)
    by_verb = getattr(wn, name)(*given, **case.asked, budget=budget, seed=3)
    by_plan = plan.run(data, budget=other, seed=3)
    assert budget.events == other.events == (plan.event,) == (by_verb.receipt.event,)
    assert drawn(by_verb) == drawn(by_plan)
    assert by_verb.receipt.mechanism == plan.name


@pytest.mark.parametrize("name", [name for name, case in VERBS.items() if case.about])
def test_a_plan_without_data_runs_on_them(name: str) -> None:
    case = VERBS[name]
    assert case.about is not None
    data = case.data()
    plan = planned(name, case.about())
    assert plan.event == planned(name, data).event
    assert drawn(plan.run(data, seed=3)) == drawn(ran(name, data, seed=3))


@pytest.mark.parametrize("name", VERBS)
def test_a_session_runs_a_plan_under_its_budget(name: str) -> None:
    data = VERBS[name].data()
    plan = planned(name, data)
    caps: dict[str, Any] = {"epsilon": 9, "delta": 1e-5, "delta_for_events": 5e-6}
    session = wn.Session(relation=plan.relation, **caps, seed=7)
    again = wn.Session(relation=plan.relation, **caps, seed=7)
    assert drawn(session.run(plan, data)) == drawn(again.run(plan, data))
    assert session.budget.events == (plan.event,)


def test_a_session_runs_a_plan_on_its_own_table_and_nothing_else_as_a_plan() -> None:
    table = VERBS["release"].data()
    session = wn.Session(table, epsilon=2)
    plan = planned("tabulate", table)
    assert session.run(plan).receipt.event == plan.event
    with pytest.raises(wn.ParameterError, match="is not a plan"):
        session.run("tabulate")  # type: ignore[arg-type]
    with pytest.raises(wn.ParameterError, match="without a table"):
        wn.Session(epsilon=2, relation="substitution").run(plan)


@pytest.mark.parametrize("name", VERBS)
def test_a_session_has_the_verb(name: str) -> None:
    case, data = VERBS[name], VERBS[name].data()
    table = (
        [data]
        if name
        in ("tabulate", "bounds", "moments", "quantiles", "histogram", "describe", "regress", "ask")
        else []
    )
    session = wn.Session(*table, epsilon=9, delta=1e-5, delta_for_events=5e-6,
                         relation=planned(name, data).relation, seed=7)  # fmt: skip
    given = [] if table else [data]
    result = getattr(session, name)(*case.beside, *given, *case.given, **case.asked)
    assert session.budget.events == (result.receipt.event,) and drawn(result) is not None


@pytest.mark.parametrize("name", VERBS)
def test_planning_opens_nothing_and_asks_for_listed_facts_only(name: str) -> None:
    data, log = VERBS[name].data(), []
    told: set[str] = set()
    publishing = Sealed.publish

    def published(sealed: Sealed[Any], fact: PublicFact, tell: Any) -> Any:
        told.add(fact.name)
        return publishing(sealed, fact, tell)

    with watched_data(log), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sealed, "publish", published)
        plan = planned(name, data)
        assert str(plan) and repr(plan) and plan.event
    assert OPENED not in log and told <= VERBS[name].facts
    assert str(SECRET) not in f"{plan} {plan!r}"


@pytest.mark.parametrize("name", VERBS)
def test_what_planning_can_reach_of_data_is_sealed(name: str) -> None:
    """Whatever attributes a planning file follows, it meets a seal before a private number."""
    data = VERBS[name].data()
    for value in reachable(data):
        assert value != SECRET if isinstance(value, int | float) else True


def reachable(value: Any, seen: set[int] | None = None) -> Any:
    """Everything that attributes, items and elements lead to, without the inside of seals."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, Sealed | str | bytes | type):
        return
    seen.add(id(value))
    yield value
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inner = list(value)
    elif hasattr(value, "tolist"):
        inner = [value.tolist()]
    elif type(value).__module__.startswith("winnow"):
        names = [*getattr(value, "__dict__", {}), *getattr(type(value), "__slots__", ())]
        inner = [getattr(value, each, None) for each in names]
    for each in inner:
        yield from reachable(each, seen)


def test_a_number_that_is_not_sealed_is_reached() -> None:
    case = Case(lambda: None, {"counts": {"a": [SECRET]}})
    values = [v for v in reachable(wn.plan.counts(SECRET)) if isinstance(v, int | float)]
    assert SECRET in values
    assert SECRET in [v for v in reachable(case.asked) if isinstance(v, int)]


@pytest.mark.parametrize("name", VERBS)
def test_a_printed_plan_names_the_methods_that_it_chose_among(name: str) -> None:
    plan = planned(name, VERBS[name].data())
    compared = getattr(plan, "compared", ())
    printed = str(plan).replace("-", " ")
    for row in compared:
        words = [getattr(row, name, "") for name in ("method", "mechanism", "strategy")]
        word = row if isinstance(row, str) else next(filter(None, words))
        assert word.replace("-", " ") in printed, word
    assert "Plan(" not in printed
