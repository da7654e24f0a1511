"""``wn.lp`` and ``wn.plan.lp``: promises kept, public refusals, nothing private shown."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import winnow as wn
from reference.programs import plan, solve
from reference.running import paid_key
from winnow import Relation, Utility
from winnow.lp.bounds import LpSetting
from winnow.lp.calibration import LpBudget, expect_lp
from winnow.lp.crossing.rows import as_upper_rows, seal_offsets
from winnow.lp.crossing.scalar import in_steps
from winnow.lp.mechanisms.constraint import ConstraintPrivateLp
from winnow.lp.mechanisms.scalar import ScalarPrivateLp
from winnow.privacy import guarantee_of, pure_cost

SHIFTS = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], float)
NEEDED = np.array([3000.0, 4200, 3800, 3500])


def _shifts(**options):
    asked = {
        "method": "scalar-sides", "senses": ">=", "maximise": False, "opt": 7500, "sensitivity": 1,
        "epsilon": 1, "delta": 1e-6, "seed": 5,
    }  # fmt: skip
    return solve(SHIFTS, NEEDED, np.ones(4), **(asked | options))


@pytest.mark.slow
def test_a_scalar_private_solution_keeps_its_promise_over_many_seeds() -> None:
    """The bound may fail once in twenty; here it has room to spare."""
    for seed in range(10):
        value = _shifts(seed=seed, rounds=300).value
        assert value.objective == pytest.approx(7500)
        assert (NEEDED - SHIFTS @ value.x).max() <= value.violation


def test_the_whole_run_is_one_charge() -> None:
    budget = wn.Budget(epsilon=2, delta=1e-5)
    released = _shifts(budget=budget, rounds=50)
    assert "50 x BoundedRange" in str(released)
    with pytest.raises(wn.BudgetExceeded):
        _shifts(budget=budget, epsilon=2, delta=9e-6)


def test_the_same_seed_repeats_and_sparse_rows_change_nothing() -> None:
    one, other = _shifts(), _shifts()
    assert one.value.x.tolist() == other.value.x.tolist()
    sparse = solve(
        csr_matrix(SHIFTS), NEEDED, np.ones(4), method="scalar-sides", senses=">=", maximise=False,
        opt=7500, sensitivity=1, epsilon=1, delta=1e-6, seed=5,
    )  # fmt: skip
    np.testing.assert_allclose(sparse.value.x, one.value.x)


def test_much_budget_comes_within_alpha_of_every_row() -> None:
    value = _shifts(epsilon=1000, alpha=300, sensitivity=0.01).value
    assert value.violation <= 300
    assert (NEEDED - SHIFTS @ value.x).max() <= 300


@pytest.mark.extras
def test_a_search_finds_the_optimum_within_what_it_accepts() -> None:
    best = wn.plan.lp_optimum(SHIFTS, NEEDED, np.ones(4), senses=">=", maximise=False)
    value = _shifts(opt=(5000, 10000), epsilon=200, sensitivity=0.1, alpha=300).value
    assert value.feasible
    assert value.measured is not None
    assert best - 1500 <= value.opt <= best + 200


def test_a_search_says_when_nothing_passed() -> None:
    value = _shifts(opt=(10, 20), epsilon=50, alpha=100, sensitivity=0.1, searches=2).value
    assert value.feasible is False


def test_measuring_takes_part_of_the_budget_and_is_near_the_truth() -> None:
    released = _shifts(measure=True, epsilon=50)
    truth = (NEEDED - SHIFTS @ released.value.x).max()
    assert abs(released.value.measured - truth) < 40
    assert "Gaussian" in str(released)


def test_costs_of_any_sign_need_a_bound_and_then_work() -> None:
    matrix, sides, costs = np.array([[1.0, 1.0], [1.0, -1.0]]), [1.0, 0.5], [1.0, -0.5]
    asked = {"method": "scalar-sides", "sensitivity": 1e-4, "epsilon": 10, "delta": 1e-6, "seed": 1}
    with pytest.raises(wn.InputError, match="bound=R"):
        solve(matrix, sides, costs, opt=0.6, **asked)
    value = solve(matrix, sides, costs, opt=0.6, bound=2, **asked).value
    assert (matrix @ value.x - sides).max() <= value.violation
    assert value.objective >= 0.6 - value.violation


@pytest.mark.slow
def test_all_but_few_rows_of_people_are_met() -> None:
    rng = np.random.default_rng(2)
    matrix = rng.uniform(0, 1, (3000, 5))
    sides = np.full(3000, 1.0)
    opt = wn.plan.lp_optimum(matrix, sides, np.ones(5))
    released = solve(
        matrix, sides, np.ones(5), method="person-rows", opt=opt, entries=(0, 1), sides=(1, 1),
        rows=3000, exceptions=200, epsilon=1, delta=1e-6, seed=1,
    )  # fmt: skip
    unmet = int((matrix @ released.value.x - sides > released.value.violation).sum())
    assert unmet <= released.value.exceptions == 199
    assert released.value.x.min() >= 0
    large = solve(
        csr_matrix(matrix), sides, np.ones(5), method="person-rows", opt=opt, entries=(0, 1),
        sides=(1, 1), rows=3000, exceptions=200, epsilon=500, alpha=0.12, seed=1, delta=1e-6,
    )  # fmt: skip
    assert int((matrix @ large.value.x - sides > 0.12).sum()) < 200


def test_constraint_sensitivity_is_that_of_the_errata() -> None:
    scale = np.array([2.0, 4.0])
    assert ConstraintPrivateLp(1, 1, 8, (0, 3), (0, 1)).sensitivity(scale) == 1.5
    signed = ConstraintPrivateLp(1, 1, 8, (-3, 3), (0, 1))
    assert signed.sensitivity(scale) == 3
    power, steps = signed.steps(scale)
    assert 3 < steps * 2.0**power < 3.02


def test_a_replaced_row_of_a_person_costs_no_more_than_an_added_one() -> None:
    asked = {
        "method": "person-rows", "opt": 1, "entries": (0, 1), "sides": (1, 1), "rows": 10_000,
        "exceptions": 500, "epsilon": 1, "delta": 1e-6,
    }  # fmt: skip
    added, replaced = (
        plan([[1.0, 0.5]], [1.0, 1.0], relation=relation, **asked) for relation in Relation
    )
    assert added.error == replaced.error < 1


def test_few_rows_of_people_are_no_reason_to_refuse() -> None:
    released = solve(
        [[1.0, 0.5]], [1.0], [1.0, 1.0], method="person-rows", opt=1, entries=(0, 1),
        sides=(1, 1), rows=100, exceptions=10, epsilon=1, delta=1e-6, seed=1,
    )  # fmt: skip
    assert released.value.x.sum() == pytest.approx(1)


PLACES = np.zeros((2_000, 12))
np.put_along_axis(
    PLACES, np.random.default_rng(3).random((2_000, 12)).argsort(axis=1)[:, :4], 1.0, axis=1
)


def _cover(matrix=PLACES, **options):
    asked = {
        "method": "person-rows", "senses": ">=", "maximise": False, "opt": 3, "entries": (0, 1),
        "sides": (1, 1), "rows": 2_000, "exceptions": 200, "epsilon": 20, "delta": 1e-6,
        "seed": 1, "rounds": 60,
    }  # fmt: skip
    return solve(matrix, np.ones(len(PLACES)), np.ones(12), **(asked | options))


@pytest.mark.extras  # compiles the loops of lazy selection
def test_every_way_to_select_columns_has_one_charge_and_keeps_the_promise() -> None:
    dense = _cover()
    ways = [{"selection": "lazy"}, {"index": "flat"}, {"index": "lsh"}]
    for released in (dense, _cover(csr_matrix(PLACES)), *(_cover(**way) for way in ways)):
        assert released.receipt.event == dense.receipt.event
        unmet = int((1 - PLACES @ released.value.x > released.value.violation).sum())
        assert unmet < 200
        assert released.value.objective == pytest.approx(3)
    assert "(lazy)" in _cover(selection="lazy", rounds=2).receipt.mechanism
    with pytest.raises(wn.InputError, match="exclude each other"):
        _cover(selection="lazy", index="flat")
    with pytest.raises(wn.InputError, match="selection"):
        _cover(selection="tree")
    with pytest.raises(wn.InputError, match="too large"):
        _cover(index="flat", rows=1 << 40)
    assert _shifts(selection="lazy", rounds=30).value.rounds == 30


def test_a_missing_library_is_noticed_before_anything_is_charged(monkeypatch) -> None:
    monkeypatch.setattr("winnow.inner_product.index.building.find_spec", lambda name: None)
    budget = wn.Budget(epsilon=20.5, delta=1e-5)
    with pytest.raises(wn.ExtraMissing, match="faiss"):
        _cover(index="hnsw", budget=budget)
    _cover(budget=budget)


def test_rows_of_people_that_are_not_met_are_counted_with_noise() -> None:
    """The noise has a deviation of about 2; twelve of them are a false alarm of 1e-30."""
    released = _cover(measure=True, alpha=0.2, epsilon=30)
    truth = int((1 - PLACES @ released.value.x > 0.2).sum())
    assert abs(released.value.unmet - truth) < 25
    assert released.value.tolerance == 0.2
    assert released.value.measured is None
    assert "Gaussian" in str(released)


def test_a_search_over_rows_of_people_finds_a_value_that_passes() -> None:
    value = _cover(opt=(0.5, 8), alpha=0.4, epsilon=300, searches=5).value
    assert value.feasible
    assert value.unmet < 200
    assert 1.2 <= value.opt <= 3.2
    never = _cover(opt=(0.1, 0.2), alpha=0.4, epsilon=300, searches=2).value
    assert never.feasible is False
    with pytest.raises(wn.InputError, match="alpha is missing"):
        _cover(opt=(1, 5))
    with pytest.raises(wn.InputError, match="unbounded whatever the rows are"):
        _cover(opt=(1, 5), alpha=0.4, maximise=True)
    with pytest.raises(wn.InputError, match="cannot be an equation"):
        _cover(senses="=")
    with pytest.raises(wn.InputError, match="all <= or all >="):
        _cover(senses=["<=", *[">="] * 1_999])


def test_a_hopeless_plan_says_so_and_takes_as_many_rounds_as_weights_need() -> None:
    asked = {
        "method": "person-rows", "maximise": False, "opt": 144, "entries": (0, 1),
        "sides": (1, 1), "senses": ">=", "rows": 9_835, "exceptions": 491, "delta": 1e-6,
    }  # fmt: skip
    poor = plan(None, np.ones(171), epsilon=1, **asked).expected
    assert poor.hopeless
    assert poor.setting.trivial == 1
    assert 2_000 < poor.rounds < 6_000
    rich = plan(None, np.ones(171), epsilon=1e5, **asked).expected
    assert not rich.hopeless
    assert rich.violation < 0.6


def test_an_objective_of_large_costs_is_a_row_in_larger_units() -> None:
    matrix, sides = np.array([[1.0, 1.0], [1.0, -1.0]]), [1.0, 0.5]
    asked = {"method": "scalar-sides", "sensitivity": 1e-4, "epsilon": 10, "delta": 1e-6, "seed": 1}
    value = solve(matrix, sides, [1e6, -5e5], opt=6e5, bound=2, **asked).value
    assert value.objective_misses == pytest.approx(1e6 * value.violation)
    assert value.objective >= 6e5 - value.objective_misses
    assert value.violation < 0.5


def test_rounding_moves_right_sides_by_whole_steps_only() -> None:
    """floor(b/u + 1/2) commutes with shifts, where rounding half to even does not."""
    b = np.array([0.5, 1.5, 2.5, -0.5]) * 2.0**-3
    shifted = in_steps(b + 2.0**-3, -3, 100.0) - in_steps(b, -3, 100.0)
    assert shifted.tolist() == [1, 1, 1, 1]
    assert in_steps(np.array([1e9, -1e9]), -3, 4.0).tolist() == [32, -32]


@pytest.mark.parametrize("name", ["objective", "row", "matrix", "column"])
def test_other_neighbour_models_are_refused_by_name(name: str) -> None:
    problem = wn.lp_problem(SHIFTS, NEEDED, np.ones(4), opt=7500)
    with pytest.raises(wn.GuaranteeError, match="Hsu-Roth-Roughgarden-Ullman 2014"):
        wn.lp(problem, method=name, epsilon=1)
    for word in ("both", "auto"):
        with pytest.raises(wn.ParameterError, match="choose one of: scalar-sides, person-rows"):
            wn.lp(problem, method=word, epsilon=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"opt": None}, "opt is missing"),
        ({"opt": (2, 1)}, "is empty"),
        ({"opt": -1}, "not positive"),
        ({"sensitivity": None}, "sensitivity=None is a NoneType"),
        ({"sensitivity": 0}, "not positive"),
        ({"sensitivity": 1e-15}, "too small"),
        ({"epsilon": 0}, "not above 0"),
        ({"searches": 3}, "opt=\\(low, high\\)"),
        ({"senses": "<"}, "senses"),
        ({"alpha": 1e-9}, "rounds"),
        ({"names": ["a"]}, "1 names for 4"),
        ({"seed": 0.5}, "seed"),
        ({"measure": 1}, "measure"),
    ],
)
def test_bad_input_is_refused_before_anything_is_charged(options, said) -> None:
    budget = wn.Budget(epsilon=5, delta=1e-4)
    with pytest.raises(wn.InputError, match=said):
        _shifts(budget=budget, **options)
    _shifts(budget=budget)


@pytest.mark.parametrize(
    ("matrix", "sides", "costs"),
    [
        ([[math.nan, 1.0]], [1.0], [1.0, 1.0]),
        ([[1.0, 1.0]], [math.inf], [1.0, 1.0]),
        ([[1.0, 1.0]], [1.0, 2.0], [1.0, 1.0]),
        ([[1.0, 1.0]], [1.0], [1.0]),
        ([1.0, 1.0], [1.0], [1.0]),
        ([["a", "b"]], [1.0], [1.0, 1.0]),
    ],
)
def test_unusable_arrays_are_refused(matrix, sides, costs) -> None:
    with pytest.raises(wn.InputError):
        solve(matrix, sides, costs, method="scalar-sides", opt=1, sensitivity=1, epsilon=1)


def test_an_unbounded_program_is_a_clear_answer() -> None:
    with pytest.raises(wn.InputError, match="unbounded whatever b is"):
        solve(
            [[1.0, -1.0]],
            [1.0],
            [1.0, 1.0],
            method="scalar-sides",
            opt=(1, 2),
            sensitivity=1,
            epsilon=1,
        )
    with pytest.raises(wn.InputError, match="infeasible"):
        wn.plan.lp_optimum([[1.0]], [-1.0], [1.0])
    with pytest.raises(wn.InputError, match="unbounded"):
        wn.plan.lp_optimum([[-1.0]], [1.0], [1.0])


def test_equations_become_two_rows_and_count_as_mixed() -> None:
    matrix, sides, mixed = as_upper_rows(np.eye(2), [1.0, 2.0], ["=", "<="])
    assert mixed
    assert matrix.tolist() == [[1, 0], [0, 1], [-1, 0]]
    assert sides.tolist() == [1, 2, -1]
    assert as_upper_rows(np.eye(2), [1.0, 2.0], ">=")[2] is False


def test_the_plan_is_what_is_run_and_knows_hopeless_budgets() -> None:
    asked = {
        "method": "scalar-sides", "senses": ">=", "maximise": False, "opt": 7500, "sensitivity": 1,
        "epsilon": 1, "delta": 1e-6,
    }  # fmt: skip
    made = plan(SHIFTS, np.ones(4), **asked)
    released = _shifts()
    assert made.error == released.value.violation
    assert made.event == released.receipt.event
    assert not made.expected.hopeless
    assert plan(SHIFTS, np.ones(4), **(asked | {"sensitivity": 1000})).expected.hopeless
    assert plan(SHIFTS, np.ones(4), **(asked | {"alpha": 2000})).expected.meets_alpha is True
    assert "of no use" in str(plan(SHIFTS, np.ones(4), **(asked | {"epsilon": 1e-4})))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("searches", [1, 5])
def test_planned_events_stay_within_the_target(delta: float, searches: int) -> None:
    setting = LpSetting("scalar", 100, math.log(5), 1.0, 0.01, 0.01)
    budget = LpBudget(1.0, delta, wn.Relation.ADD_REMOVE, searches=searches, checked=searches > 1)
    made = expect_lp(setting, budget)
    if delta:
        assert guarantee_of(made.event, delta).epsilon <= 1.0
    else:
        assert float(pure_cost(made.event).epsilon) <= 1.0
    tighter = expect_lp(replace(setting, sensitivity=0.001), budget)
    assert tighter.violation < made.violation


def test_no_more_solves_than_were_charged() -> None:
    utility = wn.Utility.declare(1)
    offsets = seal_offsets([12345.0, 1.0], 2, utility)
    mechanism = ScalarPrivateLp(1.0, 1)
    run = mechanism.drawn(offsets, paid_key(mechanism, offsets.relation))
    from winnow.lp.kernels.scalar_program import ConstraintRows

    run.solve(ConstraintRows.of(np.eye(2)), np.ones(2), 0.1)
    with pytest.raises(wn.GrantError):
        run.solve(ConstraintRows.of(np.eye(2)), np.ones(2), 0.1)


@pytest.mark.parametrize("index", ["flat", "lsh"])
def test_the_papers_index_path_keeps_the_promise_too(index: str) -> None:
    released = _shifts(index=index, rounds=30)
    assert (NEEDED - SHIFTS @ released.value.x).max() <= released.value.violation
    assert "30 rounds of indexed exponential" in released.receipt.mechanism
    assert released.receipt.event == _shifts(rounds=30).receipt.event
    with pytest.raises(wn.InputError, match="public opt"):
        _shifts(index=index, opt=(5000, 9000))
    with pytest.raises(wn.InputError, match="index"):
        _shifts(index="tree")


def test_a_plan_refuses_what_the_solver_refuses() -> None:
    people = {"method": "person-rows", "entries": (0, 1), "sides": (1, 1), "rows": 100,
              "exceptions": 10, "epsilon": 1, "delta": 1e-6}  # fmt: skip
    assert plan(None, [1.0, 1.0], opt=1, **people).error > 0
    for more in ({"opt": (1, 2)}, {"opt": 1, "searches": 2}, {"opt": 1, "exceptions": None}):
        with pytest.raises(wn.InputError):
            plan(None, [1.0, 1.0], **(people | more))


def test_a_session_charges_it_to_its_budget() -> None:
    session = wn.Session(epsilon=2, delta=1e-5)
    problem = wn.lp_problem(SHIFTS, NEEDED, np.ones(4), senses=">=", maximise=False, opt=7500)
    method = wn.ScalarSides(sensitivity=1, rounds=20)
    assert session.lp(problem, method=method, epsilon=1, delta=1e-6).value.rounds == 20
    with pytest.raises(wn.BudgetExceeded):
        session.lp(problem, method=method, epsilon=2, delta=9e-6)
    with pytest.raises(wn.ParameterError, match="leave out budget="):
        session.lp(problem, method=method, epsilon=1, budget=wn.Budget(epsilon=1))
    other = wn.lp_problem(SHIFTS, NEEDED, np.ones(4), opt=7500, relation="substitution")
    with pytest.raises(wn.RelationMismatch):
        session.lp(other, method=method, epsilon=0.1)


_PEOPLE = {
    "method": "person-rows", "epsilon": 1, "delta": 1e-6, "opt": 10.0, "entries": (0, 1),
    "sides": (0, 20), "rows": 100, "exceptions": 5, "rounds": 20, "seed": 1,
}  # fmt: skip


@pytest.mark.parametrize("side", [-1e12, -1e300, -1.7e308, 1e300])
def test_no_persons_side_can_end_a_constraint_private_run(side: float) -> None:
    """Sides outside the public range are clipped to it, as entries are."""
    rows = np.vstack([np.full((30, 4), 0.5), np.ones((1, 4))])
    assert solve(rows, np.append(np.full(30, 5.0), side), np.ones(4), **_PEOPLE).value.x.size


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_an_equation_of_one_person_would_be_two_rows_and_is_refused(rows: int) -> None:
    """Whether anybody is there or not."""
    with pytest.raises(wn.InputError, match="cannot be an equation"):
        solve(np.ones((rows, 4)), np.ones(rows), np.ones(4), senses="=", **_PEOPLE)


@pytest.mark.extras  # compiles the loops of lazy selection
def test_nobody_is_a_neighbour_of_one_person() -> None:
    for way in ({}, {"selection": "lazy", "measure": True}, {"index": "flat"}, {"index": "lsh"}):
        for rows in (0, 1):
            asked = _PEOPLE | way
            found = solve(np.ones((rows, 4)), np.ones(rows), np.ones(4), **asked)
            assert found.value.x.size == 4


def test_a_person_who_asks_for_at_least_keeps_the_row() -> None:
    """The range of the entries is that of the row as given, not of its negation."""
    rows = np.zeros((30, 4))
    rows[:, 0] = 1.0
    asked = _PEOPLE | {"epsilon": 1e6, "rounds": 400, "maximise": False}
    found = solve(rows, np.full(30, 8.0), np.ones(4), senses=">=", **asked)
    assert found.value.x[0] >= 5


@pytest.mark.extras  # compiles the loops of lazy selection
@pytest.mark.parametrize("epsilon", [1e4, 1e7])
def test_lazy_selection_ends_at_an_epsilon_that_hides_nothing(epsilon: float) -> None:
    """Found in review: with steps of many nats hardly a proposal was accepted."""
    scalar, people = ScalarPrivateLp(epsilon, 3), ConstraintPrivateLp(epsilon, 3, 5, (0, 1), (0, 1))
    utility = Utility.declare(1, relation="add-remove")
    grid = scalar.grid(seal_offsets(np.ones(4), 4, utility), mixed=False)
    assert scalar.rate(grid) <= 1
    _, steps = people.steps(np.ones(4))
    assert epsilon / (2 * steps) <= 1
    rows = np.random.default_rng(1).random((300, 4))
    found = solve(
        rows, np.full(300, 0.6), np.ones(4), method="scalar-sides", epsilon=epsilon, opt=1.0,
        sensitivity=1, rounds=3, selection="lazy", seed=1,
    )  # fmt: skip
    assert found.value.selected[0] == np.argmax(rows @ np.full(4, 0.25))


def test_a_wished_violation_gives_the_fewest_exceptions() -> None:
    """Fewer than those do not promise it, and what cannot be promised is said."""
    asked = {
        "method": "person-rows", "senses": ">=", "maximise": False, "entries": (0, 1), "opt": 4,
        "sides": (1, 1), "rows": 20_000, "epsilon": 1, "delta": 1e-6, "accountant": "zcdp",
    }  # fmt: skip
    found = plan(None, np.ones(12), alpha=0.5, **asked).expected
    fewest = found.setting.exceptions
    assert found.meets_alpha and 1 < fewest < 20_000
    fewer = plan(None, np.ones(12), alpha=0.5, exceptions=fewest * 9 // 10, **asked)
    assert not fewer.expected.meets_alpha
    with pytest.raises(wn.ParameterError, match="however many"):
        plan(None, np.ones(12), alpha=0.1, **asked | {"rows": 500})
