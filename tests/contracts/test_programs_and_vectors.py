"""Linear programs, inner products and boosting: a plan is what is charged and what runs."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import winnow as wn
from winnow.core.options import options

A = np.array([[1.0, 0.5, 0.25], [0.25, 1.0, 1.0], [0.5, 0.5, 1.0]])
B, C = np.array([20.0, 30.0, 25.0]), np.array([1.0, 2.0, 1.0])
SIDES: dict[str, Any] = {"sensitivity": 1, "rounds": 3}
ROWS: dict[str, Any] = {
    "entries": (0, 1), "sides": (0, 40), "rows": 50, "exceptions": 10, "rounds": 3,
}  # fmt: skip
PROGRAMS: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "sides": ({}, wn.ScalarSides(**SIDES), {}),
    "sides, rounds by promise": ({}, wn.ScalarSides(sensitivity=1), {"delta": 1e-6}),
    "sides, rounds by alpha": ({}, wn.ScalarSides(sensitivity=0.1), {"alpha": 5.0}),
    "sides, pair": ({}, wn.ScalarSides(sensitivity=(0, 1), rounds=3), {}),
    "sides, monotone": ({}, wn.ScalarSides(monotone=True, **SIDES), {"delta": 1e-6}),
    "sides, dense": ({}, wn.ScalarSides(selection="dense", **SIDES), {}),
    "sides, lazy": ({}, wn.ScalarSides(selection="lazy", **SIDES), {}),
    "sides, index": ({}, wn.ScalarSides(index="flat", **SIDES), {}),
    "sides, measured": ({}, wn.ScalarSides(measure=True, **SIDES), {"delta": 1e-6}),
    "sides, measured, pure": ({}, wn.ScalarSides(measure=True, **SIDES), {}),
    "sides, searched": ({"opt": (5, 40)}, wn.ScalarSides(searches=2, **SIDES), {"delta": 1e-6}),
    "sides, equations": ({"senses": "="}, wn.ScalarSides(**SIDES), {}),
    "sides, both senses": ({"senses": ["<=", ">=", "<="]}, wn.ScalarSides(**SIDES), {}),
    "sides, bound": ({"bound": 60.0}, wn.ScalarSides(**SIDES), {}),
    "sides, replaced": ({"relation": "substitution"}, wn.ScalarSides(**SIDES), {"beta": 0.1}),
    "rows": ({}, wn.PersonRows(**ROWS), {"delta": 1e-6}),
    "rows, at least": (
        {"senses": ">=", "maximise": False}, wn.PersonRows(**ROWS), {"delta": 1e-6}),
    "rows, dense": ({}, wn.PersonRows(selection="dense", **ROWS), {}),
    "rows, index": ({}, wn.PersonRows(index="flat", **ROWS), {}),
    "rows, measured": ({}, wn.PersonRows(measure=True, **ROWS), {"delta": 1e-6}),
    "rows, searched": (
        {"opt": (5, 40)}, wn.PersonRows(searches=2, **ROWS), {"delta": 1e-6, "alpha": 9.0}),
    "rows, replaced": ({"relation": "substitution"}, wn.PersonRows(**ROWS), {}),
    "rows, fewest exceptions": (
        {"opt": 4}, wn.PersonRows(entries=(0, 1), sides=(1, 1), rows=20_000),
        {"delta": 1e-6, "alpha": 0.5, "accountant": "zcdp"}),
}  # fmt: skip


def program(about: dict[str, Any], *, sides: bool = True) -> wn.LpProblem:
    return wn.lp_problem(A, B if sides else None, C, **{"opt": 30, **about})


@pytest.mark.slow
@pytest.mark.parametrize("case", PROGRAMS)
def test_the_plan_of_a_program_is_what_is_charged_and_run(case: str) -> None:
    about, method, more = PROGRAMS[case]
    problem, asked = program(about), {"method": method, "epsilon": 2, **more}
    planned = wn.plan.lp(program(about, sides=False), **asked)
    budget = wn.Budget(epsilon=3, delta=1e-5, relation=problem.relation, delta_for_events=1e-6)
    released = wn.lp(problem, seed=4, **asked)
    assert planned.event == released.receipt.event
    assert planned.guarantee == released.guarantee and planned.name == released.receipt.mechanism
    assert planned.error == released.value.violation
    again = planned.run(problem, budget=budget, seed=4)
    assert again.value.x.tolist() == released.value.x.tolist()
    assert again.receipt.event == planned.event
    sized = wn.plan.lp(problem, budget=budget, **{**asked, "accountant": "best", "epsilon": 0.5})
    charged = wn.lp(problem, budget=budget, **{**asked, "accountant": "best", "epsilon": 0.5})
    assert sized.event == charged.receipt.event


def test_every_option_of_both_methods_stands_in_a_case() -> None:
    for record in (wn.ScalarSides, wn.PersonRows):
        used = [method for _, method, _ in PROGRAMS.values() if isinstance(method, record)]
        for field in options(record):
            assert any(getattr(each, field.name) != field.default for each in used), field.name


OTHERS: dict[str, dict[str, Any]] = {
    "c": {"c": [1.0, 1.0, 1.0]},
    "opt": {"opt": 31},
    "senses": {"senses": ">="},
    "maximise": {"maximise": False},
    "bound": {"bound": 60.0},
    "A": {"A": 2 * A},
}


@pytest.mark.parametrize("part", OTHERS)
def test_a_plan_refuses_a_program_with_another_public_part_before_the_charge(part: str) -> None:
    given: dict[str, Any] = {"A": A, "b": B, "c": C, "opt": 30, **OTHERS[part]}
    other = wn.lp_problem(given.pop("A"), given.pop("b"), given.pop("c"), **given)
    budget = wn.Budget(epsilon=1)
    sides = wn.plan.lp(program({}), method=wn.ScalarSides(**SIDES), epsilon=1)
    with pytest.raises(wn.ParameterError, match=f"another {part}"):
        sides.run(other, budget=budget)
    sides.run(wn.lp_problem(A.copy(), B + 1, C, opt=30), budget=budget, seed=1)
    rows = wn.plan.lp(program({}), method=wn.PersonRows(**ROWS), epsilon=1, delta=1e-6)
    if part == "A":  # rows of people are private: another matrix is another dataset
        assert rows.run(other, seed=1).value.x.size == 3
        return
    with pytest.raises(wn.ParameterError, match=f"another {part}"):
        rows.run(other)


def test_a_plan_for_rows_of_people_runs_however_many_there_are() -> None:
    def of(people: int) -> wn.LpProblem:
        return wn.lp_problem(np.ones((people, 3)), np.ones(people), C, opt=30,
                             senses=["<="] * people)  # fmt: skip

    planned = wn.plan.lp(of(3), method=wn.PersonRows(**ROWS), epsilon=1, delta=1e-6)
    for people in (3, 4):
        assert planned.run(of(people), seed=1).value.x.size == 3


def test_an_error_about_lengths_does_not_count_rows_that_may_be_people() -> None:
    with pytest.raises(wn.DataError, match="one length") as refused:
        wn.lp_problem(np.ones((417, 3)), np.ones(418), C, opt=30)
    assert not {"417", "418"} & set(str(refused.value).split())


@pytest.mark.parametrize(
    ("method", "name"),
    [("scalar-sides", "sensitivity"), ("person-rows", "entries"), ("other", "unknown")],
)
def test_a_word_for_a_method_that_needs_more_names_what_is_missing(method: str, name: str) -> None:
    with pytest.raises(wn.ParameterError, match=name):
        wn.lp(program({}), method=method, epsilon=1)


def test_a_program_without_sides_is_planned_and_not_solved() -> None:
    budget = wn.Budget(epsilon=1, delta=1e-5)
    for problem, method in (
        (wn.lp_problem(A, None, C, opt=30), wn.ScalarSides(**SIDES)),
        (wn.lp_problem(None, None, C, opt=30), wn.PersonRows(**ROWS)),
    ):
        assert wn.plan.lp(problem, method=method, epsilon=1, delta=1e-6).error > 0
        with pytest.raises(wn.DataError, match="planned, not solved"):
            wn.lp(problem, method=method, epsilon=1, delta=1e-6, budget=budget)
    with pytest.raises(wn.DataError, match="A is missing"):
        wn.plan.lp(wn.lp_problem(None, None, C, opt=30), method=wn.ScalarSides(**SIDES), epsilon=1)
    wn.lp(program({}), method=wn.ScalarSides(**SIDES), epsilon=1, delta=1e-6, budget=budget)


def test_sides_that_no_index_takes_are_refused_before_the_charge() -> None:
    budget = wn.Budget(epsilon=1)
    huge = wn.lp_problem(A, [1e300, 1.0, 1.0], C, opt=30)
    with pytest.raises(wn.DataError, match=r"2\^400"):
        wn.lp(huge, method=wn.ScalarSides(index="flat", **SIDES), epsilon=1, budget=budget)
    wn.lp(program({}), method=wn.ScalarSides(index="flat", **SIDES), epsilon=1, budget=budget)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_sealed_program_shows_no_entry_no_side_and_no_number_of_rows(sparse: bool) -> None:
    rows = np.full((417, 3), 7.25)
    sealed = wn.lp_problem(csr_matrix(rows) if sparse else rows, np.full(417, 8.5), C, opt=30)
    for text in ("417", "7.25", "8.5"):
        assert text not in repr(sealed) + str(sealed)
    assert not hasattr(sealed, "__len__")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"senses": ["<="]}, "senses"),
        ({"maximise": 1}, "maximise"),
        ({"opt": None}, "opt is missing"),
        ({"A": None}, "give A, too"),
        ({"relation": "other"}, "relation"),
    ],
)
def test_a_program_is_checked_where_it_is_sealed(wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"A": A, "b": B, "c": C, "opt": 30, **wrong}
    with pytest.raises(wn.InputError, match=message):
        wn.lp_problem(given.pop("A"), given.pop("b"), given.pop("c"), **given)


@pytest.mark.parametrize("said", [{"progress": lambda done, of: None}, {"memory": "1GB"}])
def test_what_a_run_of_a_program_does_not_heed_is_refused(said: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"method": wn.ScalarSides(**SIDES), "epsilon": 1}
    with pytest.raises(wn.ParameterError, match="bounds no memory and reports no progress"):
        wn.lp(program({}), run=wn.Run(**said), **asked)
    assert wn.lp(program({}), run=wn.Run(pad_to=0.01), **asked).receipt.held


VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]])
SEARCHES: dict[str, dict[str, Any]] = {
    "auto": {},
    "scan": {"method": wn.Scan()},
    "a word": {"method": "scan"},
    "index": {"method": wn.Indexed(index="flat")},
    "head": {"method": wn.Indexed(index="lsh", head=2)},
    "slack": {"method": wn.Indexed(index="flat", slack=0.05)},
    "k": {"k": 2},
    "k, slack": {"k": 2, "method": wn.Indexed(index="flat", slack=0.05)},
    "signed": {"signed": True},
}


@pytest.mark.parametrize("relation", list(wn.Relation))
@pytest.mark.parametrize("case", SEARCHES)
def test_the_plan_of_a_search_is_what_is_charged_and_run(case: str, relation: wn.Relation) -> None:
    query = wn.seal_query([2.0, 1.0], sensitivity=1, relation=relation)
    asked = {"epsilon": 2, **SEARCHES[case]}
    planned, released = (
        wn.plan.mips(VECTORS, query, **asked),
        wn.mips(VECTORS, query, seed=3, **asked),
    )
    assert planned.event == released.receipt.event and planned.guarantee == released.guarantee
    budget = wn.Budget(epsilon=2, relation=relation)
    assert planned.run(query, budget=budget, seed=3).value == released.value
    with pytest.raises(wn.BudgetExceeded):
        planned.run(query, budget=budget)


@pytest.mark.parametrize("relation", list(wn.Relation))
@pytest.mark.parametrize(
    "case", [name for name in SEARCHES if name not in ("k", "k, slack", "signed")]
)
def test_the_plan_of_a_vote_is_what_is_charged_and_run(case: str, relation: wn.Relation) -> None:
    said, truth = [[1, 1, -1, 1], [1, -1, -1, -1], [-1, 1, 1, 0]], [1, 1, -1, 1]
    examples = wn.seal_examples(said, truth, relation=relation)
    for more in ({}, {"delta": 1e-6}, {"advantage": 0.3}):
        asked = {"epsilon": 2, "rounds": 3, **SEARCHES[case], **more}
        planned, released = wn.plan.boost(examples, **asked), wn.boost(examples, seed=3, **asked)
        assert planned.event == released.receipt.event and planned.guarantee == released.guarantee
        assert planned.name == released.receipt.mechanism
        budget = wn.Budget(epsilon=2, delta=1e-6, relation=relation, delta_for_events=1e-7)
        assert planned.run(examples, seed=3).value == released.value
        sized = wn.plan.boost(examples, budget=budget, **{**asked, "epsilon": 0.5, "delta": 0})
        charged = wn.boost(examples, budget=budget, **{**asked, "epsilon": 0.5, "delta": 0})
        assert sized.event == charged.receipt.event
        other = wn.seal_examples(said, [-label for label in truth], relation=relation)
        assert len(planned.run(other, seed=3).value.learners) == 3


def test_the_expected_error_of_a_search_is_above_the_exact_mean() -> None:
    generator = np.random.default_rng(5)
    for epsilon in (0.1, 1.0, 20.0):
        matrix, query = generator.normal(size=(30, 4)), generator.normal(size=4)
        products = matrix @ query
        weights = np.exp(epsilon / 2 * (products - products.max()))
        lost = products.max() - float(products @ weights / weights.sum())
        sealed = wn.seal_query(query, sensitivity=1)
        error = wn.plan.mips(matrix, sealed, epsilon=epsilon).error
        assert error is not None and lost <= error <= 2 * np.log(30) / epsilon * 1.01 + 0.01
    assert wn.plan.mips(matrix, sealed, epsilon=1, k=2).error is None


def test_plans_of_searches_and_votes_say_what_they_charge() -> None:
    query = wn.seal_query([2.0, 1.0], sensitivity=1)
    search = wn.plan.mips(VECTORS, query, epsilon=2)
    examples = wn.seal_examples([[1, 1], [1, -1]], [1, -1])
    vote = wn.plan.boost(examples, rounds=3, epsilon=2)
    for plan in (search, vote):
        assert str(plan.guarantee) in str(plan) and plan.name in str(plan)
        assert plan.name in plan._repr_html_() and plan.compared == ()
    assert "expected error" in str(search) and vote.error is None


def test_an_index_is_named_where_it_can_be_built() -> None:
    query = wn.seal_query([2.0, 1.0], sensitivity=1)
    flat = wn.seal_vectors(VECTORS, index="flat")
    assert wn.mips(flat, query, epsilon=2, method=wn.Indexed(), seed=1).receipt.reason == ""
    assert wn.plan.mips(flat, query, epsilon=2).reason == ""
    assert wn.plan.mips(VECTORS, query, epsilon=2).reason.startswith("method='auto' takes no")
    with pytest.raises(wn.ParameterError, match="without an index"):
        wn.mips(VECTORS, query, epsilon=2, method=wn.Indexed())
    with pytest.raises(wn.ParameterError, match="sealed with index='flat'"):
        wn.mips(flat, query, epsilon=2, method=wn.Indexed(index="lsh"))
    with pytest.raises(wn.ParameterError, match=r"wn\.seal_query"):
        wn.mips(VECTORS, [2.0, 1.0], epsilon=2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "verb",
    [
        wn.lp, wn.mips, wn.boost, wn.lp_problem, wn.read_lp, wn.seal_vectors, wn.seal_query,
        wn.seal_examples, wn.plan.lp, wn.plan.mips, wn.plan.boost, wn.plan.lp_optimum,
        wn.Session.lp, wn.ScalarSides, wn.PersonRows, wn.Indexed, wn.Scan,
    ],
    ids=lambda verb: verb.__qualname__,
)  # fmt: skip
def test_nothing_public_takes_more_than_ten_parameters(verb: Any) -> None:
    names = [name for name in signature(verb).parameters if name != "self"]
    assert len(names) <= 10, names
