"""Private multiplicative weights: the session object, its states, its bounds and its refusals."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import threading
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from reference.asking import opened as asking
from reference.asking import planned, weights_sizes
from reference.inside import Rows, group
from winnow import (
    Budget,
    BudgetExceeded,
    GrantError,
    InputError,
    Relation,
    Schema,
    Sealed,
    SealedTable,
)
from winnow.ask.crossing import column_sets
from winnow.ask.kernels.product_sets import CellSets, KeptTables
from winnow.ask.mechanism import prior_variance
from winnow.ask.questions import Question, question_of, questions_of, taken
from winnow.ask.session import LARGEST_STEP, log_step
from winnow.ask.sizes import Threshold
from winnow.ask.sizing import noise_bound
from winnow.ask.state import CellState, ImplicitState, PointState
from winnow.ask.terms import Terms
from winnow.ask.warm_start import fitted_start
from winnow.core.workloads.reductions import phi_of_rows, sample_cells
from winnow.privacy import CappedRounds, Compose, guarantee_of, zcdp_cost

SCHEMA = Schema.parse({"a": 4, "b": 3, "c": 5})
HISTOGRAM = np.random.default_rng(7).multinomial(200_000, np.random.default_rng(8).dirichlet(
    np.full(SCHEMA.cells, 0.15)))  # fmt: skip


def table_of(histogram: Any = HISTOGRAM, schema: Schema = SCHEMA, **more: Any) -> SealedTable:
    cells = np.flatnonzero(histogram)
    codes = np.unravel_index(cells, schema.shape)
    rows = group(tuple(c.astype(np.int32) for c in codes), np.asarray(histogram)[cells].astype(
        np.int64), schema.shape)  # fmt: skip
    return SealedTable(schema, Sealed(Rows(*rows), "rows"), **more)


def opened(seed: int = 1, table: SealedTable | None = None, **options: Any) -> Any:
    options = {"epsilon": 1, "delta": 1e-6, "max_queries": 200_000} | options
    options.setdefault("warm_start", 0)
    return asking(table or table_of(), seed=seed, **options)


def truth(question: Any, schema: Schema = SCHEMA, histogram: Any = HISTOGRAM) -> float:
    return float(question_of(schema, question).row() @ histogram / np.sum(histogram))


codes_of = st.fixed_dictionaries(
    {},
    optional={
        i: st.sets(st.integers(0, n - 1), min_size=1, max_size=n)
        for i, n in enumerate(SCHEMA.shape)
    },
)


def product(codes: dict[int, set[int]], schema: Schema = SCHEMA) -> Question:
    held = {i: np.array(sorted(codes[i]), np.int64) for i in sorted(codes)}
    return Question(schema, held)


# Answers.


def test_every_answer_keeps_to_its_error_bound() -> None:
    """All answers of a session together, with probability 0.95 each over 6 fixed seeds."""
    workload = wn.marginals([1, 2, 3]).over(SCHEMA)
    true = workload.answers(HISTOGRAM / HISTOGRAM.sum())
    kept = 0
    for seed in range(6):
        session = opened(seed)
        answers = session.ask_all(workload)
        kept += all(abs(a.value - t) <= a.error for a, t in zip(answers, true, strict=True))
        assert {a.kind for a in answers} <= {"hypothesis", "fresh"} and session.updates > 0
    assert kept >= 5


def test_answers_say_where_they_come_from() -> None:
    session = opened(threshold=0.01)
    first = session.ask(wn.where(a=[0, 1], b=2))
    assert first.question == "a in 0 to 1, b=2"
    assert first.confidence == 0.95 and first.adaptive and first.number == 0
    assert first.count == pytest.approx(first.value * 200_000)
    kinds = {session.ask(wn.where(a=i, b=j)).kind for i in range(4) for j in range(3)}
    assert kinds == {"hypothesis", "fresh"}
    assert first.to_dict()["kind"] == first.kind and first.kind in str(first)


def test_a_question_that_was_answered_is_answered_the_same_and_takes_no_round() -> None:
    session = opened(threshold=0.02)
    asked = [wn.where(a=i, c=j) for i in range(4) for j in range(5)]
    answers = [session.ask(q) for q in asked]
    fresh = [(q, a) for q, a in zip(asked, answers, strict=True) if a.kind == "fresh"]
    assert fresh
    rounds = session.rounds
    for question, answer in fresh:
        again = session.ask(question)
        assert again.value == answer.value and again.number is None
    last = session.ask(asked[-1])
    assert session.ask(asked[-1]) == replace(last, number=None)
    assert session.rounds - rounds <= 1


def test_the_same_seed_gives_the_same_session_and_taints_it() -> None:
    asked = wn.marginals(2).over(SCHEMA)
    one, two = opened(3), opened(3)
    assert one.ask_all(asked) == two.ask_all(asked)
    assert one.receipt.randomness == "seeded"
    assert asking(table_of(), epsilon=1, delta=1e-6).receipt.randomness == "os"


def test_the_receipt_states_the_charge() -> None:
    session = opened()
    assert isinstance(session.receipt.event, CappedRounds)
    assert session.receipt.event.updates == session.sizes.rounds.updates
    assert (session.guarantee.epsilon, session.guarantee.delta) == (1, 1e-6)
    assert "PMW" in session.receipt.citation and session.receipt.ledger == "unrecorded"
    assert "200,000" in str(session.plan) and "open" in repr(session)


# The cap.


def test_the_cap_is_a_state_and_not_an_exception() -> None:
    session = opened(updates=2, threshold=0.001, max_queries=1000)
    answers = session.ask_all(wn.marginals(2).over(SCHEMA))
    assert session.exhausted and session.status == "exhausted" and session.updates == 2
    assert sum(a.kind == "fresh" for a in answers) == 2
    late = session.ask(wn.where(c=4, a=0))
    assert late.kind == "unchecked" and late.error is None and late.number is None
    rounds = session.rounds
    session.ask_all(wn.marginals(3).over(SCHEMA))
    assert session.rounds == rounds  # nothing more is drawn
    with pytest.raises(GrantError, match="all updates"):
        session._rounds.ask(product({}), 0.0, 0.0)


def test_beyond_the_number_of_questions_nothing_is_promised() -> None:
    session = opened(max_queries=3, updates=500)
    kinds = [session.ask(wn.where(c=j)).kind for j in range(5)]
    assert kinds[3:] == ["unchecked", "unchecked"] and session.exhausted


# The step and the direction of the update.

PLAN = opened().sizes


def test_a_set_may_have_any_number_of_axes() -> None:
    """Found in review: more than 64 wrote past the end of an array."""
    shape = (1,) * 60 + (2,) * 13
    codes = {column: np.arange(size) for column, size in enumerate(shape)}
    values = np.arange(2**13, dtype=np.float64)
    assert CellSets(shape).sum(values, codes) == values.sum()
    CellSets(shape).scale(values, codes, 2.0)
    assert values[-1] == 2 * (2**13 - 1)


def test_the_printed_direction_diverges_and_ours_converges() -> None:
    """[PMW, Fig 1 step 2(a)] as printed moves the wrong way."""
    target = np.zeros(SCHEMA.cells)
    target[[3, 17, 40]] = 1 / 3
    questions = [taken(wn.marginals(1).over(SCHEMA), q) for q in range(12)]
    errors = {}
    for name, sign in (("ours", 1), ("printed", -1)):
        state = CellState(SCHEMA)
        for _ in range(30):
            for question in questions:
                gap = float(question.row() @ target) - state.answer(question)
                if abs(gap) > 0.05:
                    state.update(question, sign * math.copysign(0.4, gap))
        errors[name] = max(abs(float(q.row() @ target) - state.answer(q)) for q in questions)
    assert errors["ours"] < 0.1
    assert errors["printed"] > 0.6


@given(
    st.floats(0.001, 0.999), st.floats(-0.2, 1.2), st.floats(0.001, 0.2),
    st.sampled_from([0.0, 0.01, 0.1]),
)  # fmt: skip
def test_a_step_lowers_the_entropy_by_twice_the_square_of_the_gap(
    guess: float, measured: float, noise: float, gamma: float
) -> None:
    """Also on a sub-universe, whose own answer is nearer by gamma than the data's."""
    plan = replace(
        PLAN,
        rounds=replace(PLAN.rounds, noise=noise),
        universe=replace(PLAN.universe, gamma=gamma),
    )
    off = noise + gamma
    nearer = measured - off if measured > guess else measured + off
    if not (nearer - guess) * (measured - guess) > 0:
        assert log_step(plan, guess, measured) == 0
        return
    step = log_step(plan, guess, measured)
    assert abs(step) <= LARGEST_STEP and step * (measured - guess) > 0
    target = min(max(nearer, 0.0), 1.0)
    for true in (target, (target + (1.0 if step > 0 else 0.0)) / 2):  # at the target or beyond
        fall = step * true - math.log(1 - guess + guess * math.exp(step))
        assert fall >= 2 * (target - guess) ** 2 * (1 - 1e-9) - 1e-12
    if nearer == target:
        assert plan.gained(guess, measured) == pytest.approx(2 * (target - guess) ** 2)


def test_the_fixed_step_is_the_printed_one() -> None:
    plan = weights_sizes(SCHEMA.cells, 1, 1e-6, 100, rows=200_000, calibration="paper")
    eta = math.log(60) ** 0.25 / math.sqrt(200_000)
    assert log_step(plan, 0.5, 0.9) == pytest.approx(eta)
    assert log_step(plan, 0.5, 0.1) == pytest.approx(-eta)


# The plan.


def test_the_constants_of_the_plan() -> None:
    plan = opened(threshold="proved").sizes
    gap = math.sqrt(math.log(SCHEMA.cells) / (2 * plan.rounds.updates))
    assert plan.threshold.last == pytest.approx(gap + plan.rounds.noise)
    assert plan.bound == pytest.approx(gap + 2 * plan.rounds.noise) and plan.threshold.guaranteed
    usual = opened().sizes
    low = usual.threshold.low
    assert low is not None and low < plan.threshold.last < usual.threshold.last
    assert usual.usual < plan.bound < usual.bound and usual.threshold.guaranteed
    lower = opened(threshold=0.01)
    assert not lower.sizes.threshold.guaranteed
    assert "may run out" in lower.sizes.told(lower.guarantee)


PLAN = weights_sizes(SCHEMA.cells, 1, 1e-6, 10**5, rows=10**5)


@given(st.lists(st.floats(0, 1), max_size=200), st.integers(20, 60))
def test_a_lower_threshold_never_uses_up_what_is_proved_to_last(
    beyond: list[float], updates: int
) -> None:
    """Updates that gain as little as a round's threshold allows, or any more: Phi <= 2 g^2 left."""
    gap = math.sqrt(1.0 / updates)
    plan = replace(
        PLAN,
        rounds=replace(PLAN.rounds, updates=updates, noise=0.01),
        threshold=Threshold(last=gap + 0.01, gap=gap, guaranteed=True, low=0.012, entropy=1.0),
    )
    left, entropy = updates, plan.threshold.entropy
    for extra in beyond:
        threshold = plan.threshold_at(left, entropy)
        assert 0.012 <= threshold <= plan.threshold.last * (1 + 1e-12)
        gained = plan.gained(0.0, threshold + extra * extra * 0.1)
        if gained > entropy:
            break  # the entropy is never negative: such an update cannot happen
        left, entropy = left - 1, entropy - gained
        assert entropy <= 2 * plan.threshold.gap**2 * left * (1 + 1e-9) and left >= 1


def test_each_answer_states_the_threshold_that_it_was_tested_at() -> None:
    session = opened()
    workload = wn.marginals(3).over(SCHEMA)
    answers = session.ask_all(workload)
    true = [truth(taken(workload, query)) for query in range(workload.size)]
    stated = {answer.error for answer in answers if answer.kind == "hypothesis"}
    assert stated and max(stated) <= session.sizes.usual * (1 + 1e-9)
    assert all(abs(a.value - t) <= a.error for a, t in zip(answers, true, strict=True))


@given(st.floats(0.001, 2), st.integers(1, 10**6), st.floats(1e-6, 0.5))
def test_the_noise_bound_covers_all_rounds(epsilon: float, rounds: int, beta: float) -> None:
    terms = Terms(cells=2, rows=1, epsilon=1, delta=1e-6, max_queries=rounds, beta=beta)
    most = round(noise_bound(epsilon, terms))
    p = math.exp(-epsilon)
    assert rounds * 2 * p ** (most + 1) / (1 + p) <= beta * (1 + 1e-9)


def test_an_aim_for_the_error_chooses_fewer_updates() -> None:
    best = opened().sizes
    aimed = opened(alpha=1.5 * best.bound).sizes
    assert aimed.rounds.updates < best.rounds.updates and aimed.bound <= 1.6 * best.bound
    with pytest.raises(InputError, match="below what this budget allows"):
        opened(alpha=0.001)


def test_few_questions_are_all_answered_freshly() -> None:
    """With as many updates as questions the threshold is 0, and every error at most nu."""
    session = opened(max_queries=50)
    assert session.sizes.rounds.updates == 50 and session.sizes.threshold.last == 0
    assert session.sizes.bound == session.sizes.rounds.noise and session.sizes.threshold.guaranteed
    answers = session.ask_all(wn.marginals(2))
    assert {a.kind for a in answers} <= {"fresh", "hypothesis"} and not session.exhausted
    learns = opened(max_queries=5_000, threshold=0.05).sizes
    assert learns.rounds.updates < 5_000
    with pytest.raises(InputError, match="nothing would be learned"):
        opened(max_queries=50, epsilon=0.0001)


def test_the_printed_constants_are_unusable_and_are_accounted_for() -> None:
    session = opened(calibration="paper")
    assert session.sizes.threshold.last > 1 and session.sizes.bound == 1
    assert session.sizes.rounds.updates == session.sizes.max_queries  # fewer than the printed cap
    assert session.guarantee.epsilon <= 1
    assert session.ask(wn.where(a=1)).value == pytest.approx(0.25)  # uniform, for ever


def test_the_printed_constants_say_something_of_a_thousand_million_rows() -> None:
    many = weights_sizes(60, 1, 1e-6, 1000, rows=10**9, calibration="paper")
    assert many.bound < 0.4 and many.rounds.updates == 1000
    cap = weights_sizes(60, 1, 1e-6, 10**6, rows=1000, calibration="paper")
    assert cap.rounds.updates == math.floor(1000 * math.sqrt(math.log(60)))
    with pytest.raises(InputError, match="at most 1,000,000 questions"):
        weights_sizes(60, 1, 1e-6, 10**7, rows=10**9, calibration="paper")


def test_phi_follows_from_independent_rows() -> None:
    def plan(**options: Any) -> Any:
        return weights_sizes(
            10**6, 1, 1e-6, 1000, rows=10**6, universe=10**5, smoothness=2e-6, **options
        )

    free, given = plan(), plan(phi=phi_of_rows(rows=10**6, queries=1000, beta=0.0125))
    drawn = plan(phi="rows")
    gammas = [each.universe.gamma for each in (free, given, drawn)]
    assert gammas[0] < gammas[1] < gammas[2] < 1.1 * gammas[1]  # beta is shared, too
    with pytest.raises(InputError, match="one for each person"):
        plan(phi="rows", rows_per_person=2)
    with pytest.raises(InputError, match="phi"):
        plan(phi="few")


def test_a_plan_compares_with_independent_noise() -> None:
    few = planned(120_960, n=48_842, epsilon=1, delta=1e-6, max_queries=10_000)
    many = planned(120_960, n=48_842, epsilon=1, delta=1e-6, max_queries=10**6)
    assert (few.method, many.method) == ("independent", "multiplicative-weights")
    (_, single), (weights, more) = few.compared, many.compared
    assert single.deviation == pytest.approx(4.2251 * 100 / 48_842, rel=1e-3)
    assert more.deviation == pytest.approx(10 * single.deviation)
    assert weights.updates == many.expected.rounds.updates and many.error == weights.error
    assert "recommended: multiplicative weights" in str(many)
    assert many.to_dict()["compared"][0]["updates"] == weights.updates
    asked = wn.plan.ask(
        wn.plan.table(120_960, rows=48_842), epsilon=1, delta=1e-6, method="multiplicative-weights"
    )
    assert str(asked).endswith("taken, as asked: multiplicative weights")
    with pytest.raises(InputError, match="nothing would be learned"):
        planned(10**17, n=50, epsilon=0.1, delta=1e-6)
    with pytest.raises(TypeError, match="nonsense"):
        planned(100, n=1000, epsilon=1, delta=1e-6, nonsense=1)


# Warm start, sub-universe, real-valued queries, synthetic data.


def test_a_warm_start_knows_the_columns_and_is_charged() -> None:
    session = opened(warm_start=0.2, threshold="proved")
    event = session.receipt.event
    assert isinstance(event, Compose) and len(event.events) == 2
    for column in "abc":
        for code in range(SCHEMA.column(column).cardinality):
            question = wn.where({column: code})
            assert session.ask(question).value == pytest.approx(truth(question), abs=0.05)
    assert session.updates == 0
    cost = zcdp_cost(event)
    Budget(1, 1e-6, "substitution", delta_for_events=cost.delta).charge(event)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows_per_person", [1, 2])
@pytest.mark.parametrize("ways", [1, 2])
def test_one_person_moves_the_tables_by_the_stated_sensitivity(
    relation: Relation, rows_per_person: int, ways: int
) -> None:
    """All ways in which the rows of one person can appear or be replaced, over 2 x 2 x 2 cells."""
    cells = list(itertools.product(range(2), repeat=3))

    def counts(rows: Any) -> Any:
        tables = np.zeros((3, 2**ways))
        for row, (place, columns) in itertools.product(rows, enumerate(column_sets(3, ways))):
            tables[place, int("".join(str(row[c]) for c in columns), 2)] += 1
        return tables.ravel()

    persons = [
        rows
        for number in range(rows_per_person + 1)
        for rows in itertools.combinations_with_replacement(cells, number)
    ]
    others = persons if relation is Relation.SUBSTITUTION else [()]
    worst = max(
        float(((counts(one) - counts(other)) ** 2).sum()) for one in persons for other in others
    )
    assert worst == prior_variance(1, rows_per_person, 3, relation)


def test_by_default_a_session_starts_from_pairs_where_that_should_help() -> None:
    session = opened(warm_start="auto")
    plan = session.sizes
    assert (plan.start.ways, plan.start.mix, plan.threshold.guaranteed) == (2, 0.01, True)
    assert plan.threshold.entropy == pytest.approx(math.log(60) + math.log(100))
    assert "counts of all pairs of columns" in plan.told(session.guarantee)
    assert "counts of all pairs of columns, then at most" in session.receipt.mechanism
    cold, event = opened(), session.receipt.event
    Budget(1, 1e-6, "substitution").charge(event, stated=session.guarantee)
    assert 1 - 1e-3 < guarantee_of(event, 1e-6).epsilon <= 1  # all of it is used
    assert cold.sizes.start is None
    asked = wn.marginals(2).over(SCHEMA)
    errors = [
        max(abs(each.ask(taken(asked, q)).value - truth(taken(asked, q))) for q in range(0, 47, 3))
        for each in (session, cold)
    ]
    assert max(errors) < 0.01 and session.updates == 0 < cold.updates
    assert planned(SCHEMA, n=200_000, epsilon=1, delta=1e-6, max_queries=200_000).expected == plan


@pytest.mark.parametrize(("warm", "used"), [(0.2, 0.999), (0.9, 0.999), (0.99, 0.9)])
def test_tables_and_rounds_together_use_all_of_the_charge(warm: float, used: float) -> None:
    """Also where the tables alone take more than rhos allow; at .99 rhos size them."""
    plan = planned(SCHEMA, n=200_000, epsilon=1, delta=1e-6, max_queries=5000, warm_start=warm)
    assert used < guarantee_of(plan.event, 1e-6).epsilon <= 1
    with pytest.raises(InputError, match=r"private enough|could be off by all"):
        planned(SCHEMA, n=100, epsilon=1e-9, delta=1e-6, max_queries=50, warm_start=warm)


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": "proved"},
        {"updates": 30},
        {"alpha": 0.1},
        {"max_queries": 50},  # every question may have a fresh answer
        {"memory": 8},
        {"universe": 40, "smoothness": 0.1},
    ],
)
def test_nothing_is_bought_beforehand_where_it_is_not_predicted_to_help(
    options: dict[str, Any],
) -> None:
    assert opened(warm_start="auto", **options).sizes.start is None


def test_tables_with_more_noise_than_the_rounds_are_not_bought() -> None:
    wide = Schema.parse({"a": 300, "b": 300})
    asked: dict[str, Any] = {
        "epsilon": 1, "delta": 1e-6, "max_queries": 10**6, "method": "multiplicative-weights",
    }  # fmt: skip
    assert planned(wide, n=20_000, **asked).expected.start is None
    assert planned(wide, n=10**6, **asked).expected.start.ways == 2
    unknown = planned(wide.cells, n=10**6, **asked).expected
    assert unknown.start is None  # whose columns are not known


@given(st.lists(st.integers(-400, 2000), min_size=47, max_size=47), st.integers(50, 5000))
@settings(max_examples=25, deadline=None)
def test_a_start_is_a_distribution_that_knows_every_cell(noisy: list[int], rows: int) -> None:
    sizes = np.cumsum([12, 20])
    tables = np.split(np.array(noisy), sizes)
    start = fitted_start(SCHEMA.shape, tables, rows, 30.0)
    weights = CellState(SCHEMA, start, 0.01).weights()
    assert np.isfinite(weights).all() and weights.sum() == pytest.approx(1)
    assert weights.min() >= 0.01 / SCHEMA.cells * (1 - 1e-9)


def test_a_start_from_exact_pairs_answers_them() -> None:
    whole = HISTOGRAM.reshape(SCHEMA.shape)
    tables = [whole.sum(axis=axis).ravel() for axis in (2, 1, 0)]
    state = CellState(SCHEMA, fitted_start(SCHEMA.shape, tables, 200_000, 1.0), 0.01)
    asked = wn.marginals(2).over(SCHEMA)
    off = [abs(state.answer(taken(asked, q)) - truth(taken(asked, q))) for q in range(asked.size)]
    assert max(off) < 2e-3


def test_a_warm_start_fits_a_budget() -> None:
    budget = Budget(1, 1e-6, "substitution", delta_for_events=1e-7)
    session = opened(budget=budget, warm_start=0.1)
    assert budget.events == (session.receipt.event,)


def test_a_sampled_universe_raises_the_threshold_and_says_so() -> None:
    schema = Schema.parse({"a": 40, "b": 30, "c": 50})
    histogram = np.random.default_rng(3).multinomial(50_000, np.full(60_000, 1 / 60_000))
    table = table_of(histogram, schema)
    session = opened(table=table, universe=20_000, smoothness=1 / 60_000, phi=0.01)
    plan = session.sizes
    expected = math.sqrt(4 * (math.log(2 / 0.05) + math.log(200_000)) / 20_000)
    assert plan.universe.gamma == pytest.approx(0.01 + expected)
    answer = session.ask(wn.where(a=range(20)))
    assert not answer.adaptive and not plan.adaptive
    assert "do not depend on earlier answers" in plan.told(session.guarantee)
    assert abs(answer.value - 0.5) <= answer.error
    with pytest.raises(InputError, match="smoothness"):
        opened(table=table, universe=100)
    with pytest.raises(InputError, match="give universe="):
        opened(smoothness=0.1)
    with pytest.raises(InputError, match="some cell always"):
        opened(table=table, universe=100, smoothness=1e-6)
    with pytest.raises(InputError, match="not below"):
        opened(universe=60, smoothness=0.1)
    with pytest.raises(InputError, match="cell by cell"):
        session.ask(wn.queries(np.zeros((1, 60_000)), grid=1))


def test_a_public_list_of_cells_is_a_universe_whose_bound_holds_for_any_question(tmp_path) -> None:
    """It needs no sample, so nothing of beta and no smoothness; a resumed session has it again."""
    schema = Schema.parse({"a": {"values": ["x", "y"]}, "b": 4, "c": 50})
    held = np.zeros(schema.shape, np.int64)
    held[0, :, :10] = np.random.default_rng(4).integers(500, 3000, (4, 10))
    table = table_of(held.ravel(), schema)
    cells = [("x", b, c) for b in range(4) for c in range(10)]
    asked = {"table": table, "threshold": 0.05, "max_queries": 1000, "updates": 500}
    session = opened(universe=cells, state=tmp_path / "s", **asked)
    plan = session.sizes
    assert plan.universe.kept == 40 and plan.universe.gamma == 0 and plan.adaptive
    assert "40 listed of 400 cells" in plan.told(session.guarantee)
    whole = opened(**asked).sizes
    assert plan.rounds.noise == whole.rounds.noise
    assert plan.threshold.entropy == pytest.approx(math.log(40))
    answer = session.ask(wn.where(b=[0, 1], c=range(5)))
    truth = held[:, :2, :5].sum() / held.sum()
    assert answer.adaptive and abs(answer.value - truth) <= answer.error
    assert session.ask(wn.where(a="y")).value == 0
    result = session.synthesise(wn.marginals(1), passes=3)
    assert "40 listed cells" in result.synthetic.rests_on
    session.close()
    again = wn.resume(table, tmp_path / "s")
    assert again.sizes == plan and again.ask(wn.where(a="y")).value == 0
    again.close()
    codes = np.array([[0, b, c] for b in range(4) for c in range(10)])
    assert opened(universe=codes, phi=0.01, **asked).sizes.universe.gamma == 0.01
    listed = planned(schema, n=10**5, epsilon=1, delta=1e-6, universe=cells).expected
    assert listed is not None and listed.universe.kept == 40


def test_a_list_of_cells_that_is_none_is_refused() -> None:
    wrong = [
        ({"universe": [("x",)]}, "a label for each"),
        ({"universe": []}, "neither a number of cells"),
        ({"universe": np.array([[99, 0, 0]])}, "a code that its column does not have"),
        ({"universe": np.array([[0, 0, 0]]), "smoothness": 0.5}, "smoothness= is for sampled"),
        ({"universe": np.array([[0, 0, 0]]), "phi": "rows"}, "for sampled cells"),
        ({"universe": np.array([[0, 0, 0]]), "method": "independent"}, "independent has none"),
    ]
    for how, why in wrong:
        with pytest.raises(InputError, match=why):
            opened(**how)
    with pytest.raises(InputError, match="needs a schema"):
        planned(60, n=10**5, epsilon=1, delta=1e-6, universe=[(1, 2)])


def test_queries_in_minus_c_to_c_go_through_the_affine_map() -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(-3, 4, (1, SCHEMA.cells)) * Fraction(1)
    session = opened()
    answer = session.ask(wn.queries(np.array(values, float), grid=3, bound=3))
    true = float(np.array(values, float)[0] @ HISTOGRAM / HISTOGRAM.sum())
    assert abs(answer.value - true) <= answer.error
    assert answer.error in (
        pytest.approx(6 * session.sizes.bound), pytest.approx(6 * session.sizes.rounds.noise)
    )  # fmt: skip


def test_a_sampled_universe_follows_from_an_error() -> None:
    """Sampling costs half of alpha at most [PMW, Lemma V.2]; what cannot be sampled is refused."""
    asked = {"n": 10**7, "epsilon": 1, "delta": 1e-6, "max_queries": 10**5, "smoothness": 2e-9}
    found = planned(10**9, alpha=0.1, universe="alpha", **asked).expected
    assert found.universe.gamma == pytest.approx(0.05, rel=1e-3)
    assert found.universe.gamma <= 0.05 and found.universe.sampled
    wrong = [
        ({"universe": "alpha"}, "give both"),
        ({"universe": "all", "alpha": 0.1}, "choose one of: alpha"),
        ({"universe": "alpha", "alpha": 0.1, "smoothness": 1}, "sampled cells"),
    ]
    for how, why in wrong:
        with pytest.raises(InputError, match=why):
            planned(10**9, **asked | how)


def test_passes_end_when_one_is_quiet() -> None:
    session = opened(threshold=0.05, max_queries=10_000)
    result = session.synthesise(wn.marginals(2), passes=50)
    assert result.status == "converged" and 1 < result.passes < 50
    assert result.weights.sum() == pytest.approx(1) and result.updates == session.updates
    assert all(a.kind == "hypothesis" for a in result.answers)
    size = wn.marginals(2).over(SCHEMA).size
    assert session.rounds > size * (result.passes - 1)


def test_passes_give_a_synthetic_table_that_answers_samples_and_saves(tmp_path) -> None:
    session = opened(threshold=0.05, max_queries=10_000)
    result = session.synthesise(wn.marginals(2), passes=50)
    found = result.synthetic
    assert found.total == session.sizes.rows and result.released.guarantee == session.guarantee
    assert found.answers() == pytest.approx([a.value for a in result.answers], abs=1e-9)
    assert len(next(iter(found.sample(7, seed=1).values()))) == 7
    found.save(tmp_path / "synthetic.json")
    assert "factors" in (tmp_path / "synthetic.json").read_text()
    few = SCHEMA.cells // 2
    sampled = opened(threshold=0.2, max_queries=1000, universe=few, smoothness=1.0)
    on_points = sampled.synthesise(wn.marginals(1), passes=2)
    assert on_points.synthetic.marginal(SCHEMA.names[0]).sum() == pytest.approx(1)
    assert "sampled cells" in on_points.synthetic.rests_on
    implicit = opened(threshold=0.2, max_queries=1000, memory=1)
    with pytest.raises(InputError, match="list of updates"):
        _ = implicit.synthesise(wn.marginals(1), passes=1).synthetic


def test_passes_end_at_their_limit_and_at_the_end_of_the_session() -> None:
    limited = opened(threshold=0.02, max_queries=10_000).synthesise(wn.marginals(2), passes=1)
    assert limited.status == "pass limit" and limited.passes == 1
    spent = opened(threshold=0.02, max_queries=20)
    result = spent.synthesise(wn.marginals(2), passes=10)
    assert result.status == "exhausted" and spent.rounds == 20
    assert {a.kind for a in result.answers} & {"unchecked"}
    with pytest.raises(InputError, match="passes"):
        spent.synthesise(wn.marginals(2), passes=0)


# States.


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(codes_of, st.floats(-3, 3)), max_size=6),
    st.lists(codes_of, min_size=1, max_size=4),
    st.booleans(),
)
def test_the_list_of_updates_equals_the_weights_of_all_cells(
    updates: list[tuple[dict[int, set[int]], float]], asked: list[dict[int, set[int]]], warm: bool
) -> None:
    prior, mix = None, 1.0
    if warm:
        rng = np.random.default_rng(1)
        prior, mix = [rng.dirichlet(np.ones(n)) for n in SCHEMA.shape], 0.1
    explicit, implicit = CellState(SCHEMA, prior, mix), ImplicitState(SCHEMA, prior, mix)
    for codes, step in updates:
        explicit.update(product(codes), step)
        implicit.update(product(codes), step)
    for codes in asked:
        exact = float(product(codes).row() @ explicit.weights())
        assert explicit.answer(product(codes)) == pytest.approx(exact, rel=1e-9)
        assert implicit.answer(product(codes)) == pytest.approx(exact, rel=1e-9)


def test_a_huge_domain_is_asked_without_holding_it() -> None:
    schema = Schema.parse({f"c{i}": 50 for i in range(10)})
    rng = np.random.default_rng(2)
    codes = tuple(rng.integers(0, 10, 30_000).astype(np.int32) for _ in schema.shape)
    rows = group(codes, np.ones(30_000, np.int64), schema.shape)
    table = SealedTable(schema, Sealed(Rows(*rows), "rows"))
    session = opened(table=table)
    assert schema.cells > 10**16
    for i in range(9):
        answer = session.ask(wn.where({f"c{i}": range(10), f"c{i + 1}": range(5)}))
        assert abs(answer.value - 0.5) <= answer.error
    assert session.updates > 0
    with pytest.raises(InputError, match="cell by cell"):
        ImplicitState(SCHEMA).check(Question(SCHEMA, None, np.zeros(60, np.int64)))


def test_explicit_and_implicit_sessions_answer_alike() -> None:
    asked = wn.marginals([1, 2]).over(SCHEMA)
    held, listed = opened(4, threshold=0.03), opened(4, threshold=0.03, memory=1000)
    for one, two in zip(held.ask_all(asked), listed.ask_all(asked), strict=True):
        assert one.kind == two.kind and one.value == pytest.approx(two.value, abs=1e-9)


def test_sampled_cells_answer_like_all_of_them_when_even() -> None:
    schema = Schema.parse({"a": 30, "b": 30, "c": 30})
    points = PointState(sample_cells(schema, 5_000, 0))
    question = product({0: set(range(15)), 1: {1, 2, 3}}, schema)
    assert points.answer(question) == pytest.approx(0.05, abs=0.02)
    points.update(question, 2.0)
    e = math.exp(2.0)
    assert points.answer(question) == pytest.approx(0.05 * e / (0.95 + 0.05 * e), abs=0.08)


@settings(max_examples=40, deadline=None)
@given(codes_of)
def test_sums_over_product_sets_by_tables_and_directly(codes: dict[int, set[int]]) -> None:
    sets, question = CellSets(SCHEMA.shape), product(codes)
    direct = sets.sum(HISTOGRAM, question.codes)

    def make(columns: tuple[int, ...]) -> Any:
        dropped = tuple(i for i in range(3) if i not in columns)
        return HISTOGRAM.reshape(SCHEMA.shape).sum(axis=dropped).ravel()

    tables = KeptTables(SCHEMA.shape, make, 60)
    assert direct == tables.sum(question.codes) == question.row() @ HISTOGRAM


def test_large_product_sets_are_walked_in_compiled_loops() -> None:
    shape, rng = (10, 2, 9, 7, 16), np.random.default_rng(1)
    sets, values = CellSets(shape), rng.integers(0, 9, math.prod(shape))
    floats = values.astype(np.float64)
    for columns in ((), (0,), (4,), (1, 3), (0, 2, 4)):
        codes = {c: np.flatnonzero(rng.random(shape[c]) < 0.9) for c in columns}
        picked = np.ix_(*(codes.get(i, np.arange(n)) for i, n in enumerate(shape)))
        assert sets.sum(values, codes) == values.reshape(shape)[picked].sum()
        scaled, expected = floats.copy(), floats.copy().reshape(shape)
        expected[picked] *= 3
        sets.scale(scaled, codes, 3.0)
        assert (scaled == expected.ravel()).all()


# Questions.


def test_questions_compare_by_content_and_survive_json() -> None:
    import json

    one = question_of(SCHEMA, wn.where(a=[1, 2]))
    two = question_of(SCHEMA, wn.where(a=(1, 3)))
    every = question_of(SCHEMA, wn.where(a=[0, 1, 2, 3], b=1))
    assert one.key == two.key != every.key
    assert every.key == question_of(SCHEMA, wn.where(b=1)).key
    dense = question_of(SCHEMA, wn.queries(np.full((1, 60), 0.5), grid=4, bound=2))
    bits = taken(wn.random_queries(3, seed=1).over(SCHEMA), 1)
    interval = taken(wn.ranges("c").over(SCHEMA), 3)
    for question in (one, every, dense, bits, interval):
        stored = json.loads(json.dumps(question.to_dict()))
        back = Question.from_dict(SCHEMA, stored)
        assert back.key == question.key and back.label == question.label
        assert (back.row() == question.row()).all() and back.bound == question.bound


@pytest.mark.parametrize(
    "made",
    [
        {"codes": {0: [1, 1]}},  # a row would count twice
        {"codes": {0: [2, 1]}},
        {"codes": {0: [4]}},
        {"codes": {0: [-1]}},
        {"codes": {7: [0]}},
        {"codes": None},
        {"codes": None, "units": np.full(60, 2)},
        {"codes": None, "units": np.full(60, -1)},
        {"codes": None, "units": np.zeros(59)},
        {"codes": {}, "units": np.zeros(60)},
        {"codes": {}, "grid": 0},
    ],
)
def test_a_question_counts_every_row_once(made: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Question(SCHEMA, **made)


def test_bad_questions_are_refused_and_cost_no_round() -> None:
    session = opened()
    with pytest.raises(InputError, match="ask_all"):
        session.ask(wn.marginals(1))
    with pytest.raises(InputError, match="not a question"):
        session.ask("a = 1")
    with pytest.raises(InputError, match="different schema"):
        session.ask(wn.where(a=1).over({"a": 4}))
    with pytest.raises(InputError, match="no column"):
        session.ask(wn.where(z=1))
    with pytest.raises(InputError, match="different schema"):
        session._ask(Question(Schema.parse({"a": 4}), {}))
    assert session.rounds == 0
    assert questions_of(SCHEMA, wn.marginals(1)).size == 12


# What is refused, and what it may not do.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"beta": 1}, "beta"),
        ({"max_queries": 0}, "max_queries"),
        ({"updates": 0}, "updates"),
        ({"updates": 3, "alpha": 0.2}, "not both"),
        ({"threshold": -1}, "threshold"),
        ({"warm_start": 1}, "not below 1"),
        ({"warm_start": "much"}, "choose one of|auto"),
        ({"calibration": "best"}, "calibration"),
        ({"calibration": "paper", "updates": 3}, "printed constants"),
        ({"rows": 3}, "public under substitution"),
        ({"memory": "much"}, "memory"),
        ({"epsilon": 0.001, "delta": 1e-9}, "nothing would be learned"),
        ({"relation": "add-remove"}, "give a public number"),
        ({"phi": -1}, "phi"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_charged(
    options: dict[str, Any], message: str
) -> None:
    budget = Budget(2, 1e-5, options.get("relation", "substitution"), delta_for_events=1e-6)
    with pytest.raises(InputError, match=message):
        opened(**({"budget": budget} | options))
    assert not budget.events


def test_only_sealed_tables_are_asked() -> None:
    with pytest.raises(InputError, match="read_table"):
        asking([1, 2], epsilon=1, delta=1e-6)
    with pytest.raises(InputError, match="read_table"):
        wn.resume([1, 2], "nowhere")


def test_under_add_remove_a_public_number_of_rows_is_named() -> None:
    session = opened(relation="add-remove", rows=200_000)
    assert session.guarantee.relation is Relation.ADD_REMOVE
    question = wn.where(b=1)
    answer = session.ask(question)
    assert abs(answer.value - truth(question)) <= answer.error


def test_more_rows_per_person_need_more_noise() -> None:
    one = opened(rows=200_000, relation="add-remove", updates=50).sizes
    five = opened(
        rows=200_000, relation="add-remove", updates=50, table=table_of(rows_per_person=5)
    ).sizes
    assert five.rounds.noise == pytest.approx(5 * one.rounds.noise, rel=0.01)


def test_a_session_is_neither_copied_nor_shown() -> None:
    session = opened()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(GrantError, match="not copied"):
            attempt(session)
        with pytest.raises(GrantError, match="not copied"):
            attempt(session._rounds)
    session.close()
    assert session.status == "closed"
    with pytest.raises(InputError, match="closed"):
        session.ask(wn.where(a=1))
    with opened() as other:
        other.ask(wn.where(a=1))
    assert other.status == "closed"


def test_threads_take_turns() -> None:
    session = opened(threshold=0.02)
    asked = wn.marginals(2).over(SCHEMA)
    threads = [threading.Thread(target=session.ask_all, args=(asked,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.updates == len(session._measured) or session.exhausted
    assert len({number for number, _ in session._measured.values()}) == len(session._measured)


# Budgets and sessions.


def test_a_session_is_charged_whole_to_a_budget() -> None:
    budget = Budget(1, 1e-6, "substitution", delta_for_events=2e-7)
    session = opened(budget=budget, epsilon=0.5)
    assert budget.events == (session.receipt.event,)
    spent = str(budget.spent)
    session.ask_all(wn.marginals(2))
    assert str(budget.spent) == spent
    with pytest.raises(BudgetExceeded):
        opened(budget=budget, epsilon=1)
    with pytest.raises(InputError, match="delta_for_events"):
        opened(budget=Budget(1, 1e-6, "substitution", "zcdp"))
    opened(budget=Budget(1, 1e-6, "substitution"))  # splits its delta by itself
    with pytest.raises(InputError, match="delta_for_events"):
        opened(budget=Budget(1, 1e-6, "substitution", "pure"))


def test_a_budget_can_be_used_up_by_one_session() -> None:
    budget = Budget(1, 1e-6, "substitution", delta_for_events=1e-7)
    session = opened(budget=budget, epsilon=1, delta=1e-6)
    assert zcdp_cost(session.receipt.event).delta <= Fraction(1, 10**7)


def test_sessions_of_several_verbs_open_those_of_questions() -> None:
    session = wn.Session(table_of(), epsilon=1, delta=1e-6, delta_for_events=1e-7, seed=1)
    top = session.top_k("c", k=1, epsilon=0.1)
    asked = session.ask(epsilon=0.5, delta=5e-7, max_queries=100)
    assert asked.ask(wn.where(a=1)).kind == "hypothesis"  # which starts from tables
    assert session.budget.events == (top.receipt.event, asked.receipt.event)


def test_what_was_checked_of_a_question_cannot_be_changed_afterwards() -> None:
    """Codes given twice would count one person twice."""
    question = question_of(SCHEMA, wn.where(a=1))
    with pytest.raises(TypeError):
        question.codes[0] = np.array([1, 1, 1, 1])


def test_many_questions_at_once_are_those_one_by_one() -> None:
    """With one seed both sessions draw the same noise, so that every answer is the same."""
    table = wn.read_table(
        pd.DataFrame({"a": [0, 1, 2, 3] * 500, "b": [0, 1] * 1000}),
        schema={"a": {"codes": 4}, "b": {"codes": 2}},
    )
    asked = [wn.where(a=i % 4, b=i % 2) for i in range(6)] + [wn.where(a=[0, 1])]
    for method in ("multiplicative-weights", "independent"):
        options = {"epsilon": 3.0, "delta": 1e-6, "max_queries": 50, "method": method, "seed": 5}
        with (
            asking(table, **options) as single,
            asking(table, **options) as together,
        ):
            assert [single.ask(each) for each in asked] == together.ask_many(asked)
            assert single.rounds == together.rounds


def test_fresh_answers_can_be_limited() -> None:
    table = wn.read_table(pd.DataFrame({"a": [0] * 3000}), schema={"a": {"codes": 8}})
    asked = [wn.where(a=i) for i in range(8)]
    options = {"epsilon": 8.0, "delta": 1e-6, "max_queries": 50, "seed": 5}
    with asking(table, method="multiplicative-weights", **options) as weights:
        kinds = [each.kind for each in weights.ask_many(asked, fresh=0)]
        assert kinds == ["unchecked"] * 8 and weights.rounds == 0
        assert sum(each.kind == "fresh" for each in weights.ask_many(asked, fresh=1)) == 1
    with asking(table, method="independent", **options) as single:
        with pytest.raises(wn.SessionExhausted, match="3 fresh answers"):
            single.ask_many(asked, fresh=3)
        assert single.rounds == 0
        single.ask_many(asked[:3], fresh=3)
        assert single.ask_many(asked[:3], fresh=0) == [
            replace(each, number=None) for each in single.ask_many(asked[:3])
        ]


def test_known_conditions_make_the_question_that_where_makes() -> None:
    from winnow.ask.questions import KnownConditions, question_of

    schema = wn.Schema.parse(
        {"n": {"codes": 5}, "b": {"values": [True, False]}, "age": {"edges": [0, 10, 20, 30]}}
    )
    known = KnownConditions(schema)
    for conditions in (
        {"n": 1},
        {"n": (1, 3), "b": True},
        {"b": [False], "n": [0, 4]},
        {"age": (None, 20), "n": (0, None)},
        {"age": (0, 30)},
    ):
        for _ in range(2):
            made, plain = known.question(conditions), question_of(schema, wn.where(conditions))
            assert (made.key, made.label) == (plain.key, plain.label)
    for wrong in ({}, {"n": True}, {"n": 1.0}, {"b": 1}, {"nobody": 1}, {"n": 9}):
        with pytest.raises(wn.ParameterError):
            known.question(wrong)
