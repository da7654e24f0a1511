"""``wn.tabulate``: what comes back, what is charged, what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from tables_made_up import people, sealed

import winnow as wn
from winnow.privacy import Compose, DiscreteGaussian, DiscreteLaplace, Event, Repeat

SHAPE = (4, 3, 2)


@pytest.fixture
def table():
    return sealed(SHAPE, people(SHAPE))


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], 900),
            "age": rng.integers(0, 80, 900),
            "hours": rng.integers(0, 41, 900),
        }
    )


SCHEMA = {
    "town": {"values": ["Bonn", "Kiel", "Ulm"]},
    "age": {"edges": [0, 20, 40, 60, 80]},
    "hours": 41,
}


def laplace_only(event: Event) -> bool:
    """Whether an event is discrete Laplace noise, of one table or of several."""
    match event:
        case Repeat(inner, _):
            return laplace_only(inner)
        case Compose(events):
            return all(map(laplace_only, events))
        case _:
            return isinstance(event, DiscreteLaplace)


def test_a_table_has_labels_estimates_errors_and_intervals() -> None:
    data = frame()
    read = wn.read_table(data, schema=SCHEMA)
    released = wn.tabulate(read, ["age", "town"], epsilon=3.0, seed=1)
    found = released.value.table("town", "age")
    assert found.columns == ("age", "town") and found.estimate.shape == (4, 3)
    true = pd.crosstab(pd.cut(data.age, [0, 20, 40, 60, 80], right=False), data.town).to_numpy()
    low, high = found.interval(0.9999)
    assert ((low <= true) & (true <= high)).all()
    rows = found.to_pandas()
    assert list(rows) == ["age", "town", "estimate", "standard_error", "low", "high"]
    assert rows.age[0] == "[0, 20)" and rows.town[:3].tolist() == ["Bonn", "Kiel", "Ulm"]
    assert rows.estimate.sum() == pytest.approx(900)  # the number of rows is public
    assert len(found.to_polars()) == len(found.to_arrow()) == 12
    assert str(900) not in repr(found) and "estimate" in repr(found)


def test_one_charge_for_all_tables_and_the_guarantee_is_what_was_asked() -> None:
    table = sealed((3,) * 5, people((3,) * 5))
    released = wn.tabulate(table, wn.marginals(2), epsilon=1.0, delta=1e-6, seed=1)
    assert isinstance(released.receipt.event, DiscreteGaussian)
    assert 0.99 < released.guarantee.epsilon <= 1.0 and released.guarantee.delta == 1e-6
    pure = wn.tabulate(table, wn.marginals(2), epsilon=1.0, seed=1)
    assert laplace_only(pure.receipt.event)
    assert 0.99 < pure.guarantee.epsilon <= 1.0 and pure.guarantee.delta == 0
    assert "plain noise" in pure.receipt.reason


def test_seeds_repeat_and_differ(table) -> None:
    def drawn(seed: int) -> np.ndarray:
        released = wn.tabulate(table, ["c0"], epsilon=1.0, seed=seed)
        return released.value.table("c0").estimate

    assert (drawn(1) == drawn(1)).all() and (drawn(1) != drawn(2)).any()
    assert wn.tabulate(table, ["c0"], epsilon=1.0).receipt.randomness == "os"


def test_under_substitution_the_total_is_exact_else_it_is_measured(table) -> None:
    known = wn.tabulate(table, ["c0"], epsilon=0.2, seed=1).value.total
    assert known.estimate == 3_000 and known.standard_error == 0
    noisy = wn.tabulate(table.under("add-remove"), ["c0"], epsilon=0.2, seed=1).value.total
    assert noisy.standard_error > 1 and noisy.estimate != 3_000
    given = wn.tabulate(table.under("add-remove").stating(2_900), ["c0"], epsilon=0.2, seed=1)
    assert given.value.total.estimate == 2_900
    assert given.value.table("c0").estimate.sum() == pytest.approx(2_900)
    several = sealed(SHAPE, people(SHAPE), rows_per_person=2)
    assert wn.tabulate(several, ["c0"], epsilon=0.2, seed=1).value.total.standard_error > 1


@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_sums_and_means_come_with_errors(relation: str, delta: float) -> None:
    data = frame()
    read = wn.read_table(data, schema=SCHEMA, relation=relation)
    released = wn.tabulate(
        read, [["town"], ["age"]], values=["hours"], epsilon=4.0, delta=delta, seed=4
    )
    found = released.value.table("town")
    true = data.groupby("town").hours
    for held, wanted in ((found.sums["hours"], true.sum()), (found.means["hours"], true.mean())):
        low, high = held.interval(0.9999)
        assert ((low <= wanted.to_numpy()) & (wanted.to_numpy() <= high)).all()
        assert (held.standard_error > 0).all()
    columns = list(found.to_pandas())
    assert "sum_hours" in columns and "mean_hours_standard_error" in columns
    sums = [each.sums["hours"].estimate.sum() for each in released.value]
    assert sums[0] == pytest.approx(sums[1])


@pytest.mark.slow
def test_errors_of_sums_are_the_stated_ones() -> None:
    read = wn.read_table(frame(), schema=SCHEMA)
    exact = frame().groupby("town").hours.sum().to_numpy()
    scaled = []
    for seed in range(60):
        table = wn.tabulate(read, ["town"], values=["hours"], epsilon=1.0, seed=seed).value
        held = table.table("town").sums["hours"]
        scaled.append((held.estimate - exact) / held.standard_error)
    assert np.var(scaled) == pytest.approx(1, abs=0.55)  # 180 values of kurtosis at most 6
    assert abs(np.mean(scaled)) < 0.45


def test_fitted_tables_are_nonnegative_and_nearly_consistent() -> None:
    table = sealed((30, 6), people((30, 6), rows=300))
    released = wn.tabulate(table, wn.marginals([1, 2]), epsilon=0.5, delta=1e-6, seed=1)
    pair, first = released.value.table("c0", "c1"), released.value.table("c0")
    assert (pair.estimate < 0).any() and (pair.fitted >= 0).all() and (first.fitted >= 0).all()
    assert np.abs(pair.fitted.sum(axis=1) - first.fitted).max() < 3
    assert pair.fitted.sum() == pytest.approx(300, abs=10)
    prefixes = wn.tabulate(table, wn.prefixes("c0"), epsilon=0.5, seed=1).value.tables[0]
    assert (np.diff(prefixes.fitted) >= -1e-9).all()


def test_prefixes_and_ranges_are_tables_too(table) -> None:
    released = wn.tabulate(
        table, wn.prefixes("c0") + wn.ranges("c0") + wn.marginals(1), epsilon=2.0, seed=1
    )
    first, ranges, cells = released.value.tables[:3]
    assert first.part.title == "prefixes of c0" and ranges.estimate.shape == (10,)
    assert first.estimate[0] == pytest.approx(cells.estimate[0])
    assert first.estimate == pytest.approx(np.cumsum(cells.estimate))
    assert first.to_pandas().c0.tolist()[-1] == "c0 in 0 to 3"


def test_saved_tables_carry_the_receipt(table, tmp_path) -> None:
    released = wn.tabulate(table, [["c0"], ["c1", "c2"]], epsilon=1.0, seed=1)
    about = {"guarantee": released.guarantee.to_dict(), "receipt": released.receipt.to_dict()}
    for ending in ("csv", "json", "parquet"):
        released.value.save(tmp_path / f"t.{ending}", about=about)
    rows = pd.read_csv(tmp_path / "t.csv")
    assert rows.table.tolist() == ["c0"] * 4 + ["c1 x c2"] * 6 and rows.c0.isna().sum() == 6
    receipt = json.loads((tmp_path / "t.csv.receipt.json").read_text())
    assert receipt["guarantee"]["epsilon"] == pytest.approx(1.0, rel=1e-3)
    document = json.loads((tmp_path / "t.json").read_text())
    assert document["about"] == json.loads(json.dumps(about)) and len(document["tables"]) == 2
    import pyarrow.parquet as pq

    assert b"winnow" in pq.read_schema(tmp_path / "t.parquet").metadata
    assert json.loads(released.to_json())["value"]["total"]["estimate"] == 3_000


@pytest.mark.slow
def test_tables_are_drawn(table, tmp_path) -> None:
    released = wn.tabulate(table, [["c0"], ["c1", "c2"], ["c0", "c1", "c2"]], epsilon=1.0, seed=1)
    for number, each in enumerate(released.value):
        each.plot(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 5_000
    with pytest.raises(wn.InputError, match=r"\.png"):
        released.value.tables[0].plot(tmp_path / "t.txt")


def test_a_session_charges_its_budget(table) -> None:
    with wn.Session(table, epsilon=2.0, delta=1e-6, seed=1) as session:
        session.tabulate(wn.marginals(2), epsilon=1.0, delta=1e-6)
        assert session.budget.accountant == "combined"
        assert laplace_only(session.budget.events[0])  # few cells: of both laws the smaller error
        with pytest.raises(wn.BudgetExceeded):
            session.tabulate(["c0"], epsilon=3.0, delta=1e-6)
        assert len(session.budget.events) == 1
    with wn.Session(table, epsilon=1.0, seed=1) as session:
        session.tabulate(["c0"], epsilon=1.0)
        assert session.budget.left.amount == pytest.approx(0, abs=0.01)
    with wn.Session(table, epsilon=1.0, delta=1e-6, accountant="pure", seed=1) as session:
        session.tabulate(wn.marginals(2), epsilon=1.0, delta=1e-6)  # Laplace noise: no delta used
        assert laplace_only(session.budget.events[0])


def test_more_delta_is_never_worse_under_a_combined_budget() -> None:
    about = wn.plan.table({"a": 3, "b": 3}, rows=1_000)
    for ask in (
        lambda **said: wn.plan.tabulate(about, ["a", "b"], **said).error,
        lambda **said: wn.plan.release(about, wn.marginals(2), **said).error,
    ):
        budget = wn.Budget(5, 1e-5, relation="substitution")
        without, some, more = (
            ask(epsilon=0.5, delta=delta, budget=budget) for delta in (0, 1e-9, 1e-6)
        )
        assert more <= some <= without < 12


def test_where_epsilons_run_out_a_combined_budget_pays_for_gaussian_noise() -> None:
    about = wn.plan.table({"a": 3, "b": 3}, rows=1_000)

    def budget(accountant: str) -> wn.Budget:
        return wn.Budget(1.2, 1e-5, relation="substitution", accountant=accountant)

    def event(held: wn.Budget) -> Event:
        said = {"epsilon": 0.5, "delta": 1e-7, "budget": held}
        found = wn.plan.tabulate(about, ["a", "b"], **said).event
        assert wn.plan.release(about, wn.marginals(2), **said).event == found
        return found

    gaussian = event(budget("zcdp"))
    assert isinstance(gaussian, DiscreteGaussian)
    held = budget("combined")
    for charged in range(6):
        taken = event(held)
        assert (taken == gaussian) is (charged > 1) or laplace_only(taken)
        held.charge(gaussian)
    spent = budget("combined")
    spent.charge(event(spent))
    spent.charge(event(spent))
    with pytest.raises(wn.BudgetExceeded):  # neither fits: what errs less is said to be too much
        spent.charge(event(spent))


def test_a_zcdp_budget_takes_exactly_what_a_plan_of_its_size_asks(table) -> None:
    with wn.Session(table, epsilon=1.0, delta=1e-6, seed=1) as session:
        session.tabulate(wn.marginals(2), epsilon=1.0, delta=1e-6)
        assert session.budget.left.amount < 0.01 * session.budget.left.cap


def test_keys_from_a_public_list_and_from_the_data() -> None:
    rng = np.random.default_rng(3)
    log = pd.DataFrame({"page": rng.choice(["a", "b", "c"], 3_000, p=[0.6, 0.398, 0.002])})
    log.loc[0, "page"] = "only one person"
    private = wn.counts(log, item="page")
    released = wn.tabulate(private, epsilon=1.0, delta=1e-6, seed=1)
    found = released.value.table("item")
    assert found.labels[0] == ("a", "b") and released.guarantee.delta == 1e-6
    true = log.page.value_counts()
    assert abs(found.estimate - [true["a"], true["b"]]).max() < 20
    assert found.standard_error == pytest.approx(math.sqrt(2), rel=0.05)
    public = wn.counts(log, item="page", items=["a", "b", "c", "nobody"])
    found = wn.tabulate(public, epsilon=1.0, seed=1).value.table("item")
    assert found.labels[0] == ("a", "b", "c", "nobody") and abs(found.estimate[3]) < 20
    none = wn.tabulate(wn.counts(log.head(2), item="page"), epsilon=0.1, delta=1e-9, seed=1)
    assert len(none.value) == 0 and none.value.to_dict() == {"total": None, "tables": []}
    assert {name: len(held) for name, held in none.value.to_columns().items()} == {"table": 0}
    with pytest.raises(wn.InputError, match="delta"):
        wn.tabulate(private, epsilon=1.0)
    with pytest.raises(wn.InputError, match="leave out by"):
        wn.tabulate(private, ["page"], epsilon=1.0)
    with wn.Session(epsilon=1.0, delta=1e-6, accountant="pure", seed=1) as session:
        session.tabulate(private, epsilon=0.5, delta=1e-7)
        assert len(session.budget.events) == 1


@pytest.mark.parametrize(
    ("by", "options", "message"),
    [
        ([], {}, "names no table"),
        ("c0", {}, "names no table"),
        (["c9"], {}, "there is no column"),
        (["c0", ["c1"]], {}, "mixes columns and tables"),
        ([["c0", "c1"], ["c1", "c0"]], {}, "more than once"),
        (["c0", "c0"], {}, "more than once"),
        (wn.where(c0=1), {}, "use wn.release"),
        (["c0"], {"epsilon": 0}, "not above 0"),
        (["c0"], {"delta": 1}, "not below 1"),
        (["c0"], {"objective": "best"}, "unknown"),
        (["c0"], {"run": wn.Run(memory=100)}, "memory"),
        (["c0"], {"run": wn.Run(progress=print)}, "tables have none"),
        (["c0"], {"run": "4GB"}, "is not a wn.Run"),
        (["c0"], {"values": "c1"}, "a text"),
        (["c0"], {"values": ["c9"]}, "there is no column"),
        (["c0"], {"epsilon": 1e-30}, "64 bits"),
    ],
)
def test_bad_input_is_refused_before_the_charge(table, by, options, message: str) -> None:
    budget = wn.Budget(epsilon=10, delta=1e-3, relation="substitution")
    with pytest.raises(wn.InputError, match=message):
        wn.tabulate(table, by, **{"epsilon": 1.0, "budget": budget, **options})
    assert budget.events == ()


def test_what_is_no_number_has_no_sum() -> None:
    read = wn.read_table(frame(), schema=SCHEMA)
    with pytest.raises(wn.InputError, match="not numbers"):
        wn.tabulate(read, ["age"], values=["town"], epsilon=1.0)
    with pytest.raises(wn.InputError, match="read it with"):
        wn.tabulate(frame(), ["age"], epsilon=1.0)


def test_a_table_that_is_not_there_is_named(table) -> None:
    released = wn.tabulate(table, [["c0"], ["c1"]], epsilon=1.0, seed=1)
    with pytest.raises(wn.InputError, match="there is: 'c0', 'c1'"):
        released.value.table("c0", "c1")


def test_the_plan_finds_the_epsilon_for_an_error() -> None:
    plan = wn.plan.tabulate(wn.plan.table({"a": 5, "b": 4}), ["a", "b"], error=20)
    assert plan.error <= 20
    again = wn.plan.tabulate(
        wn.plan.table({"a": 5, "b": 4}), ["a", "b"], epsilon=plan.epsilon * 0.999
    )
    assert again.error > 20
    with pytest.raises(wn.InputError, match="epsilon is missing"):
        wn.plan.tabulate(wn.plan.table({"a": 5}), ["a"])
    assert "plain noise" in str(plan) and plan.to_dict()["rows"][0]["answers"] == 20


def test_columns_may_have_the_names_of_results() -> None:
    data = pd.DataFrame({"estimate": [0, 1, 1], "table": [0, 0, 1]})
    read = wn.read_table(data, schema={"estimate": 2, "table": 2})
    released = wn.tabulate(read, [["estimate"], ["table"]], epsilon=1.0, seed=1)
    rows = released.value.to_pandas()
    assert {"table", "estimate", "estimate_", "table_"} <= set(rows)


@pytest.mark.parametrize("epsilon", [1e-6, 16, 1e4, 1e8])
@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-2])
def test_extreme_budgets_give_finite_errors(epsilon: float, delta: float) -> None:
    for relation in ("substitution", "add-remove"):
        plan = wn.plan.tabulate(
            wn.plan.table({"a": 4, "b": 3}, relation=relation),
            wn.marginals([1, 2]) + wn.prefixes("a"), epsilon=epsilon, delta=delta,
        )  # fmt: skip
        assert 0 < plan.error < math.inf
