"""``wn.release`` by method: which is taken, what it gives, what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.choosing import chooser
from reference.inside import Rows, Sealed, SealedTable, unsafe_true_answers
from winnow import Relation
from winnow.core.options import Methods
from winnow.release.choice import choose, compare
from winnow.release.methods import METHODS, ReleaseMethod
from winnow.release.plan import terms_of
from winnow.release.request import Release
from winnow.release.terms import ReleaseTerms

SHAPE = (3, 4, 2)
DELTA = 1e-6


def table(
    rows: int = 5000,
    shape: tuple[int, ...] = SHAPE,
    relation: str = "substitution",
    people: int = 1,
) -> SealedTable:
    rng = np.random.default_rng(7)
    counts = rng.multinomial(rows, rng.dirichlet(np.full(int(np.prod(shape)), 0.5)))
    cells = np.flatnonzero(counts)
    codes = tuple(each.astype(np.int32) for each in np.unravel_index(cells, shape))
    schema = wn.Schema.parse({f"c{i}": size for i, size in enumerate(shape)})
    return SealedTable(
        schema, Sealed(Rows(codes, counts[cells]), "made-up"), people, Relation(relation)
    )


def test_tables_are_answered_by_tables_and_the_receipt_says_why() -> None:
    released = wn.release(table(), wn.marginals(2), epsilon=1, delta=DELTA, seed=1)
    assert released.receipt.reason.startswith("tables: predicted largest error ")
    assert "of noise on each cell" in released.receipt.reason
    truth = unsafe_true_answers(table(), released.value.workload)
    off = np.abs(released.value.answers() - truth) * 5000
    assert off.max() < 60  # the prediction is 17; the false-alarm rate is below 1e-9
    assert np.abs(released.value.fitted() - truth).max() * 5000 < 80


def test_everything_works_that_a_synthetic_distribution_has(tmp_path: Path) -> None:
    value: Any = wn.release(table(), wn.marginals(1), epsilon=1, seed=1).value
    assert value.sample(10, seed=1)["c0"].shape == (10,)
    assert value.marginal("c1").shape == (4,)
    assert value.answers(wn.marginals(2)).shape == (26,)
    assert {"query", "answer", "count", "error", "fitted"} == set(value.table()[0])
    assert value.weights().min() >= 0 and value.weights().sum() == pytest.approx(1)
    value.save(tmp_path / "rows.csv", rows=5)
    value.save(tmp_path / "all.json")
    assert value.tables.table("c1").estimate.sum() == pytest.approx(5000)
    assert 0 < value.errors.noise < value.errors.estimate < value.errors.bound(0.95) < 1


def test_columns_that_no_table_joins_are_fitted_apart() -> None:
    wide = table(shape=(7, 8, 9, 10))
    value = wn.release(wide, wn.marginals(1), epsilon=1, seed=1).value
    assert [factor.columns for factor in value.factors] == [(0,), (1,), (2,), (3,)]
    some = wn.release(wide, wn.prefixes("c2"), epsilon=1, delta=DELTA, seed=1).value
    assert np.ptp(some.marginal("c0")) < 1e-12  # nothing was measured of it


def test_options_of_a_method_that_was_not_named_are_refused_by_name() -> None:
    methods = chooser(Release).option  # type: ignore[union-attr]
    assert isinstance(methods, Methods)
    with pytest.raises(wn.ParameterError, match="rounds=3 is for adaptive and mwem and graphical"):
        methods.build("auto", {"rounds": 3})
    with pytest.raises(wn.ParameterError, match=r"warm_start=0\.1 is for mwem; adaptive has none"):
        methods.build("adaptive", {"warm_start": 0.1})
    assert methods.build("mwem", {"rounds": 3}) == wn.MWEM(rounds=3)
    with pytest.raises(wn.ParameterError, match="method='best' is unknown"):
        wn.release(table(), wn.marginals(1), epsilon=1, method="best")
    with pytest.raises(wn.ParameterError, match="is not a method"):
        wn.release(table(), wn.marginals(1), epsilon=1, method=3)  # type: ignore[arg-type]
    with pytest.raises(wn.ParameterError, match="answers no workload"):
        wn.release(table(), wn.marginals(1), epsilon=1, method=wn.Boosted())  # type: ignore[arg-type]


def test_a_word_is_the_method_with_its_defaults() -> None:
    named, made = (
        wn.release(table(), wn.marginals(1), epsilon=1, seed=1, method=method)
        for method in ("mwem", wn.MWEM())
    )
    assert np.array_equal(named.value.weights(), made.value.weights())
    assert named.receipt.reason == made.receipt.reason


def test_where_cells_are_too_many_all_tables_or_a_graphical_model_are_taken() -> None:
    wide = table(shape=(5, 4, 3))
    schema = wn.Schema.parse({f"c{i}": 40 for i in range(6)})
    plan = wn.plan.release(
        wn.plan.table(schema, rows=20000), wn.marginals(2), epsilon=1, delta=DELTA
    )
    assert plan.method.word() == "tables" and "mwem" in dict(plan.refused)
    little = wn.plan.release(wn.plan.table(schema, rows=20000), wn.marginals(2), epsilon=0.05)
    row = little.compared[0]
    assert little.method.word() == "graphical" and row.kind == "rule of thumb"
    assert 0 < (row.mean or 0) < (row.largest or 0) < 20_000
    released = wn.release(
        wide, wn.marginals(2), epsilon=1, delta=DELTA, seed=1, method=wn.Graphical(rounds=2)
    )
    assert "graphical model" in released.receipt.mechanism
    pure = wn.plan.release(wn.plan.table(schema, rows=20000), wn.marginals(2), epsilon=1)
    assert pure.method.word() == "graphical" and 0 < (pure.taken.mean or 0) < 20_000
    some = wn.marginals(2, columns=["c0", "c1", "c2", "c3", "c4"])
    assert (
        wn.plan.release(wn.plan.table(schema, rows=20000), some, epsilon=1).method.word()
        == "graphical"
    )
    released = wn.release(
        wide,
        wn.marginals(2),
        epsilon=1,
        budget=wn.Budget(1, 0, "substitution"),
        seed=1,
        method=wn.Graphical(rounds=2),
    )
    assert released.guarantee.delta == 0 and "Laplace" in released.receipt.mechanism


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_a_wide_domain_that_weights_would_fit_has_a_graphical_model_all_the_same(
    epsilon: float,
) -> None:
    """By the rules of thumb alone a weight on each of 16 million cells would be taken."""
    plan = wn.plan.release(
        wn.plan.table({f"c{i}": 2 for i in range(24)}, rows=9835),
        wn.marginals(3),
        epsilon=epsilon,
        delta=1e-9,
    )
    known = {row.method: row.mean for row in plan.compared}
    assert known["mwem"] < known["graphical"] and plan.taken.method == "graphical"


def test_ten_thousand_tables_are_planned_one_by_one_nowhere() -> None:
    schema = wn.Schema.parse({f"c{i}": 2 + i % 5 for i in range(40)})
    plan = wn.plan.release(
        wn.plan.table(schema, rows=50000), wn.marginals(3), epsilon=1, delta=DELTA
    )
    assert plan.method.word() == "graphical" and plan.plain.method == "noise on each cell"
    few = wn.Schema.parse({f"c{i}": 40 for i in range(5)})
    wide = wn.plan.release(
        wn.plan.table(few, rows=50000),
        wn.marginals(2),
        epsilon=1,
        delta=DELTA,
        run=wn.Run(memory="1GB"),
    )
    told = wn.plan.tabulate(wn.plan.table(few), wn.marginals(2), epsilon=1, delta=DELTA)
    plain = next(row for row in told.compared if row.strategy == "plain noise")
    assert wide.plain.mean == pytest.approx(plain.mean, rel=1e-2)  # the closed form
    assert wide.plain.largest == pytest.approx(plain.largest, rel=1e-2)


@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_several_rows_per_person_and_private_totals_are_charged(
    relation: str, delta: float
) -> None:
    budget = wn.Budget(1, delta, relation)
    several = table(relation=relation, people=2)
    released = wn.release(several, wn.marginals(2), epsilon=1, delta=delta, budget=budget, seed=1)
    assert budget.events == (released.receipt.event,)
    assert released.guarantee.epsilon <= 1 and released.guarantee.delta <= delta
    one = wn.release(table(relation=relation), wn.marginals(2), epsilon=1, delta=delta, seed=1)
    errors: Any = released.value.errors, one.value.errors
    assert errors[0].noise > 1.9 * errors[1].noise


def test_a_wanted_error_gives_the_epsilon() -> None:
    schema = table().schema
    plan = wn.plan.release(wn.plan.table(schema, rows=5000), wn.marginals(2), error=20, delta=DELTA)
    assert plan.taken.largest is not None and plan.taken.largest <= 20
    less = wn.plan.release(
        wn.plan.table(schema, rows=5000),
        wn.marginals(2),
        epsilon=0.99 * plan.epsilon,
        delta=DELTA,
    )
    assert less.taken.largest is not None and less.taken.largest > 20 * 0.999


WORKLOADS = {
    "one table": ((5, 5), wn.marginals(2)),
    "all pairs": ((4, 3, 2, 6), wn.marginals(2)),
    "prefixes": ((300,), wn.prefixes("c0")),
    "predicates": ((5, 6), wn.predicates([wn.where({"c0": [0, 1]}), wn.where({"c1": (2, 4)})])),
    "many predicates": (
        (5, 6),
        wn.predicates([wn.where({"c0": [i % 5, (i + 1) % 5], "c1": [i % 6]}) for i in range(40)]),
    ),
    "ranges and a table": ((30, 4), wn.ranges("c0") + wn.marginals(2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("rows", [100, 20_000])
def test_nothing_is_taken_that_is_predicted_to_be_worse_than_plain_noise(
    name: str, rows: int
) -> None:
    shape, workload = WORKLOADS[name]
    schema = wn.Schema.parse({f"c{i}": size for i, size in enumerate(shape)})
    for epsilon, delta in ((0.05, 0.0), (0.05, DELTA), (2.0, 0.0), (2.0, DELTA)):
        for relation in ("substitution", "add-remove"):
            plan = wn.plan.release(
                wn.plan.table(schema, rows=rows, relation=relation),
                workload,
                epsilon=epsilon,
                delta=delta,
            )
            taken, plain = plan.taken, plan.plain
            assert taken.largest <= plain.largest * (1 + 1e-9), (epsilon, delta)
            assert taken.mean <= plain.mean * (1 + 1e-9), (epsilon, delta)
            assert max(row.largest or 0 for row in plan.compared) <= rows


def test_many_tables_and_little_budget_are_for_rounds_over_whole_tables() -> None:
    wide = table(2000, (2,) * 12)
    plan = wn.plan.release(wn.plan.table(wide.schema, rows=2000), wn.marginals(2), epsilon=0.1)
    assert plan.method.word() == "adaptive"
    released = wn.release(wide, wn.marginals(2), epsilon=0.1, seed=1)
    assert released.receipt.reason.startswith("adaptive: predicted largest error ")
    assert "over whole tables" in released.receipt.mechanism


def test_rounds_over_whole_tables_are_for_whole_tables() -> None:
    how: dict[str, Any] = {"epsilon": 1, "delta": DELTA, "seed": 1}
    released = wn.release(table(), wn.marginals(2), method=wn.Adaptive(rounds=3), **how)
    assert "3 rounds" in released.receipt.mechanism
    with pytest.raises(wn.ParameterError, match="whole tables"):
        wn.release(table(), wn.prefixes("c1"), method="adaptive", **how)


@pytest.mark.slow
def test_noise_on_each_query_is_possible_for_very_many_of_them() -> None:
    schema = wn.Schema.parse({f"c{i}": 12 for i in range(4)})
    made = wn.predicates(
        [wn.where({f"c{i % 4}": [i % 12], f"c{(i + 1) % 4}": [i % 7, 7]}) for i in range(12_000)]
    )
    for epsilon in (1.0, 1000.0):
        plan = wn.plan.release(
            wn.plan.table(schema, rows=10**6), made, epsilon=epsilon, delta=DELTA
        )
        assert not dict(plan.refused).get("explicit")
        assert plan.taken.largest <= plan.plain.largest * (1 + 1e-9)
        assert plan.taken.mean <= plan.plain.mean * (1 + 1e-9)
    rows = table(shape=(12, 12, 12, 12))
    released = wn.release(rows, made, epsilon=1.0, delta=DELTA, method="explicit", seed=1)
    assert "each query" in released.receipt.mechanism
    assert released.value.standard_errors.shape == (12_000,)


@pytest.mark.extras
def test_the_root_of_prefixes_is_taken_only_where_it_is_clearly_better() -> None:
    """With as good a prediction trees are better: prefixes that rise gain more by them."""

    def taken(cells: int) -> str:
        about = wn.plan.table({"x": cells}, rows=10**5)
        return wn.plan.release(about, wn.prefixes("x"), epsilon=0.1, delta=1e-6).method.word()

    assert taken(256) == "tables"
    assert taken(4096) == "toeplitz"


def _terms(shape: tuple[int, ...], rows: int | None, epsilon: float, delta: float) -> ReleaseTerms:
    table = wn.plan.table({f"c{i}": {"codes": size} for i, size in enumerate(shape)}, rows=rows)
    ways = min(2, len(shape))
    return terms_of(Release(wn.marginals(ways), epsilon=epsilon, delta=delta), table)


@pytest.mark.parametrize(
    ("shape", "rows", "epsilon", "delta", "taken"),
    [
        ((4, 6, 3, 10), 2_000, 1.0, 1e-6, "tables"),
        ((4, 6), None, 0.3, 0.0, "tables"),
        ((8, 8, 8, 8, 8, 8), 300, 0.1, 1e-6, "graphical"),
        ((5, 5, 5, 4, 4, 4), 300, 0.05, 0.0, "graphical"),
    ],
)
def test_the_choice_is_that_of_a_comparison_of_all_methods(
    shape: tuple[int, ...], rows: int | None, epsilon: float, delta: float, taken: str
) -> None:
    chosen = choose(_terms(shape, rows, epsilon, delta))
    compared = compare(_terms(shape, rows, epsilon, delta))
    fair = [each for each in compared.found if not each.worse_than(compared.plain)]
    assert chosen.method.word() == taken
    assert chosen.taken.score == min(each.score for each in fair)


def test_of_methods_that_cannot_win_nothing_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    for method in METHODS:
        monkeypatch.setattr(method, "compared", _noted(method.compared, asked))
    choose(_terms((4, 6, 3, 10), 2_000, 1.0, 1e-6))
    assert asked == ["tables", "toeplitz", "mwem"]


def _noted(compared: Any, asked: list[str]) -> Any:
    def noting(method: ReleaseMethod, terms: ReleaseTerms) -> Any:
        asked.append(method.word())
        return compared(method, terms)

    return noting
