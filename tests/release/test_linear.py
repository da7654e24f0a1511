"""Linear strategies: exact sensitivities, unbiased answers, predictions that hold."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_methods import DELTA, table

import winnow as wn
from reference.inside import unsafe_true_answers
from reference.running import paid_key
from winnow import Relation
from winnow.core.sealed import Sealed
from winnow.core.workloads.real import GridPart
from winnow.core.workloads.workload import Workload
from winnow.read.crossing import Rows, SealedTable
from winnow.release.matrices.audit import linear_enumerated, linear_faithful, linear_twins
from winnow.release.matrices.linear import LinearPlan, plan_explicit, plan_toeplitz
from winnow.release.matrices.mechanism import MeasureLinear
from winnow.release.matrices.optimum import optimal_matrix, query_matrix
from winnow.release.matrices.strategies import MatrixStrategy, QueriesStrategy, ToeplitzStrategy
from winnow.release.rising import monotone
from winnow.release.terms import ReleaseTerms


def norms_of(matrix: list[list[int]]) -> tuple[int, int]:
    """The largest squared norm and distance of columns, in whole numbers of any size."""
    columns = list(zip(*matrix, strict=True))
    single = max(sum(x * x for x in column) for column in columns)
    pairs = combinations(columns, 2)
    return single, max(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for a, b in pairs)


@pytest.mark.parametrize("size", [2, 3, 7, 40])
def test_the_norms_of_the_root_of_prefixes_are_exact(size: int) -> None:
    strategy = ToeplitzStrategy((size,), 0)
    f = strategy.first.tolist()
    matrix = [[f[i - j] if i >= j else 0 for j in range(size)] for i in range(size)]
    assert (strategy.single, strategy.pair) == norms_of(matrix)


def test_long_columns_are_charged_no_less_than_their_pairs() -> None:
    strategy = ToeplitzStrategy((5000,), 0)
    f = strategy.first
    far = [int(f @ f) + int(f[:-g] @ f[:-g]) - 2 * int(f[g:] @ f[:-g]) for g in (1, 50, 4000)]
    assert strategy.pair == 2 * strategy.single > max(far)


@pytest.mark.parametrize("centred", [False, True])
def test_the_norms_of_an_optimal_matrix_are_exact(centred: bool) -> None:
    schema = wn.Schema.parse({"a": 3, "b": 4})
    queries = query_matrix((wn.marginals(1) + wn.ranges("b")).over(schema))
    matrix = optimal_matrix(queries, centred=centred)
    strategy = MatrixStrategy(schema.shape, (0, 1), matrix)
    assert (strategy.single, strategy.pair) == norms_of(matrix.tolist())


def test_an_optimal_matrix_is_better_than_cells_and_near_the_known_optimum() -> None:
    """Prefixes of 64 codes, added or removed rows: root mean square error per unit of noise."""
    queries = np.tril(np.ones((64, 64)))
    a = optimal_matrix(queries, centred=False).astype(float)
    cover = np.linalg.inv(a.T @ a) * (a * a).sum(axis=0).max()
    rms = np.sqrt(np.einsum("ij,jk,ik->i", queries, cover, queries).mean())
    known = np.linalg.svd(queries, compute_uv=False).sum() / 64  # no factorisation is better
    assert known <= rms < 1.05 * known < np.sqrt(32)


def test_whole_units_and_noise_are_charged_in_every_relation() -> None:
    workload = wn.marginals(1).over(wn.Schema.parse({"a": 2, "b": 3}))
    mechanism = MeasureLinear(QueriesStrategy(workload), 20, rows_per_person=3)
    for relation in Relation:
        assert mechanism.size(relation) == 9 * 5 / 20
    with pytest.raises(wn.ParameterError, match="up to 2 rows"):
        MeasureLinear(QueriesStrategy(workload), 20).check(table(people=2))


def test_laplace_noise_is_for_queries_only() -> None:
    """A replaced row moves a number by up to twice the largest entry, where entries have signs."""
    signed = MatrixStrategy((2,), (0,), np.array([[1, -1]], np.int64))
    with pytest.raises(wn.ParameterError, match="queries as they are"):
        MeasureLinear(signed, 20, "laplace")


@pytest.mark.parametrize("relation", list(Relation))
def test_laplace_noise_beyond_64_bits_is_refused_before_the_charge(relation: Relation) -> None:
    schema = wn.Schema.parse({"a": 3})
    part = GridPart(schema, np.array([[0, 5, 1 << 26]], np.int32), 1 << 26)
    rows = Rows((np.array([0, 1], np.int32),), np.array([5, 7], np.int64))
    held = SealedTable(schema, Sealed(rows, "rows"), relation=relation)
    for epsilon in (1e-9, 1e-15):
        budget = wn.Budget(epsilon=1, relation=relation)
        with pytest.raises(wn.ParameterError, match="do not fit 64 bits"):
            wn.release(
                held, Workload(schema, (part,)), epsilon=epsilon, method="explicit", budget=budget
            )
        assert budget.events == ()


def test_all_audits_of_linear_strategies_pass() -> None:
    audits = [*linear_enumerated(), *linear_faithful(seed=1), *linear_twins(seed=1)]
    assert len(audits) == 28 and all(result.passed for result in audits)


CASES: dict[str, tuple[tuple[int, ...], Any, str]] = {
    "prefixes": ((64,), wn.prefixes("c0"), "toeplitz"),
    "ranges": ((40, 3), wn.ranges("c0"), "toeplitz"),
    "a matrix": ((6, 5), wn.ranges("c0") + wn.marginals(2), "explicit"),
    "queries": ((6, 5), wn.predicates([wn.where({"c0": [0, 2]})]), "explicit"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
@pytest.mark.parametrize("name", CASES)
def test_answers_are_unbiased_with_the_stated_errors(name: str, relation: str) -> None:
    """Sums of squares over 60 draws: wrong by chance less often than once in 10^6."""
    shape, workload, method = CASES[name]
    sealed = table(shape=shape, relation=relation)
    bound = workload.over(sealed.schema)
    truth = unsafe_true_answers(sealed, bound) * 5000
    terms = ReleaseTerms(bound, 1, DELTA, Relation(relation), 1, 5000)
    plan = plan_toeplitz(terms) if method == "toeplitz" else plan_explicit(terms, named=True)
    assert isinstance(plan, LinearPlan)
    scores = []
    for seed in range(60):
        numbers = plan.mechanism.drawn(sealed, paid_key(plan.mechanism, sealed.relation, seed))
        answers = plan.solution.answers(numbers.astype(float), 5000)
        errors = np.maximum(plan.deviation * plan.solution.deviations, 1e-6)
        scores.append((answers - truth) / errors)
    assert np.abs(np.mean(scores, axis=0)).max() < 6 / np.sqrt(60)
    squares = (np.array(scores) ** 2).mean(axis=0)
    assert squares[squares > 1e-3].min() > 0.25 and squares.max() < 3.2


def test_a_private_number_of_rows_comes_with_the_numbers() -> None:
    hidden = table(shape=(6, 5), relation="add-remove")
    for workload, method in (
        (wn.predicates([wn.where({"c0": [0, 2]})]), "explicit"),
        (wn.marginals(2), "explicit"),
        (wn.prefixes("c0"), "toeplitz"),
    ):
        released = wn.release(hidden, workload, epsilon=1, delta=DELTA, method=method, seed=1)
        assert abs(released.value.total - 5000) < 100


def test_what_a_method_cannot_do_is_refused_before_the_charge() -> None:
    budget = wn.Budget(1, DELTA, "substitution")
    for workload, method, delta, why in (
        (wn.marginals(2), "toeplitz", DELTA, "prefixes and ranges of one column"),
        (wn.prefixes("c0"), "toeplitz", 0.0, "needs a delta > 0"),
        (wn.prefixes("c0"), "graphical", DELTA, "marginal tables"),
    ):
        with pytest.raises(wn.ParameterError, match=why):
            wn.release(table(), workload, epsilon=1, delta=delta, method=method, budget=budget)
    assert budget.events == ()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=2, max_size=30),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.5, 3.0, 40.0]),
)
def test_prefixes_that_rise_are_never_worse_than_their_estimates(
    counts: list[int], seed: int, scale: float
) -> None:
    truth, rows = np.cumsum([*counts, 1]).astype(float), sum(counts) + 1
    noisy = truth + scale * np.random.default_rng(seed).standard_cauchy(len(truth))
    noisy[-1] = rows
    weights = monotone(noisy, rows)
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1)
    before, after = (np.append(0.0, x - truth) for x in (noisy, rows * np.cumsum(weights)))
    slack = 1e-9 * (1 + np.abs(before).max())
    assert np.ptp(after) <= np.ptp(before) + slack  # the largest error of all ranges
    for power in (1, 2, 5):
        assert (np.abs(after) ** power).sum() <= (np.abs(before) ** power).sum() * (
            1 + 1e-9
        ) + slack
    assert np.abs(after).max() <= np.abs(before).max() + slack


@pytest.mark.slow
@pytest.mark.parametrize("method", ["tables", "toeplitz"])
def test_answers_to_prefixes_rise_and_estimates_stay_beside_them(method: str) -> None:
    codes = np.minimum(np.random.default_rng(3).geometric(0.05, 2_000) - 1, 199)
    table = wn.read_table({"x": codes}, schema={"x": 200})
    released = wn.release(table, wn.prefixes("x"), epsilon=0.5, delta=1e-6, method=method, seed=4)
    value, truth = released.value, np.cumsum(np.bincount(codes, minlength=200))
    assert value.from_fit.all() and np.diff(value.answers()).min() >= -1e-12
    assert np.array_equal(value.answers(), value.fitted())
    unbiased = value.total * value.estimates
    for norm in (np.max, np.mean):
        assert norm(np.abs(value.counts() - truth)) < norm(np.abs(unbiased - truth))
    assert value.errors.distances.max() == 0 and value.errors.bound() < 1
