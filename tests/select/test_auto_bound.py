"""A bound on a person that the release chooses: what is looked at, charged, chosen and refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.commands import invoke
from winnow.core.chosen_bound import ChosenBound
from winnow.privacy import Budget
from winnow.select.audit.people_look import look_enumerated, look_faithful, look_twins
from winnow.select.auto_bound import AutoBoundPlan
from winnow.select.compared_bounds import NoiseUnderBounds, best, compared, left_out_of, pays_from

ITEMS = [f"p{i}" for i in range(40)]


def log(each: int, people: int = 2000) -> pd.DataFrame:
    """Everybody has so many of the items."""
    rows = [(f"u{u}", ITEMS[(u + i) % 40]) for u in range(people) for i in range(each)]
    return pd.DataFrame(rows, columns=["who", "page"])


def counted(each: int, **said: Any) -> wn.SealedCounts:
    return wn.counts(log(each), item="page", person="who", max_items="auto", **said)


def test_the_look_is_charged_and_drawn_as_it_promises() -> None:
    assert all(result.passed for result in look_enumerated())
    assert all(result.passed for result in look_faithful(seed=3))
    assert all(twin.passed for twin in look_twins())  # each fault is found


@pytest.mark.parametrize("each", [1, 5, 20])
def test_tables_of_counts_take_the_bound_that_people_have(each: int) -> None:
    released = wn.tabulate(counted(each, items=ITEMS), epsilon=2.0, seed=1)
    assert released.bound is not None
    assert each <= released.bound.bound <= 1.5 * each
    assert f"at most {released.bound.bound} page" in str(released.guarantee)
    assert "chosen by a look for epsilon 0.2" in released.receipt.reason
    assert released.receipt.counted.startswith(f"at most {released.bound.bound} page")
    assert released.guarantee.epsilon == pytest.approx(2.0, abs=1e-9)


def test_a_table_takes_the_bound_on_rows() -> None:
    frame = pd.DataFrame({"who": np.repeat(np.arange(3000), 6), "kind": np.arange(18000) % 3})
    table = wn.read_table(frame, schema={"kind": 3}, person="who", max_rows="auto",
                          relation="add-remove")  # fmt: skip
    released = wn.tabulate(table, ["kind"], epsilon=1.0, seed=2)
    assert released.bound is not None and released.bound.bound in (6, 8)
    assert float(released.value.total.estimate) == pytest.approx(18000, rel=0.02)
    with wn.Session(table, epsilon=2.0, delta=1e-6, seed=1) as session:
        assert session.tabulate(["kind"], epsilon=1.0).bound is not None
        with pytest.raises(wn.ParameterError, match="max_rows='auto' is for"):
            session.top_k("kind", k=1, epsilon=1.0)
    with pytest.raises(wn.ParameterError, match="max_rows='auto' is for"):
        wn.learn(table, "kind", epsilon=1.0)
    with pytest.raises(wn.ParameterError, match="max_rows='auto' is for"):
        wn.release(table, wn.marginals(1), epsilon=1.0, delta=1e-6)
    with pytest.raises(wn.ParameterError, match="max_rows='auto' is for"):
        wn.plan.release(wn.plan.table({"kind": 3}, max_rows="auto"), wn.marginals(1), epsilon=1.0)


def test_what_is_changed_of_a_table_is_changed_under_every_bound_too() -> None:
    frame = pd.DataFrame({"who": np.arange(900), "kind": np.arange(900) % 3, "more": 0})
    said: dict[str, Any] = {"schema": {"kind": 3, "more": 1}, "person": "who", "max_rows": "auto"}
    table = wn.read_table(frame, **said, relation="add-remove")
    changed = table.restrict(["kind"]).under("substitution").stating(900)
    budget = wn.Budget(2, relation="substitution")
    released = wn.tabulate(changed, ["kind"], epsilon=2.0, seed=2, budget=budget)
    assert released.bound is not None and released.bound.bound == 1
    assert float(released.value.total.estimate) == 900
    assert released.value.total.standard_error == 0


def test_rows_whose_number_is_private_take_no_bound_that_may_make_it_public() -> None:
    frame = pd.DataFrame({"who": np.arange(9), "kind": np.arange(9) % 3, "more": 0})
    said: dict[str, Any] = {"person": "who", "max_rows": "auto"}
    joined = wn.Join(frame[["who", "kind"]], frame[["who", "more"]], on="who")
    for source, kind in ((frame, {"codes": 2, "drop": True}), (joined, {"codes": 3})):
        with pytest.raises(wn.ParameterError, match="add-remove"):
            wn.read_table(source, schema={"kind": kind}, relation="substitution", **said)
        table = wn.read_table(source, schema={"kind": kind}, relation="add-remove", **said)
        with pytest.raises(wn.ParameterError, match="add-remove"):
            table.under("substitution")


def test_one_charge_pays_for_the_look_and_for_the_dearest_release() -> None:
    counts = counted(3)
    plan = wn.plan.top_k(counts, k=5, epsilon=1.0, delta=1e-6, with_counts=True)
    assert isinstance(plan, AutoBoundPlan)
    budget = Budget(1.0, delta=1e-6, accountant="combined")
    released = plan.run(counts, budget=budget, seed=1)
    assert released.receipt.event == plan.event
    assert plan.guarantee.epsilon <= 1.0 and plan.guarantee.delta <= 1e-6
    with pytest.raises(wn.BudgetExceeded):
        plan.run(counts, budget=budget, seed=2)
    assert [name for name, _ in released.value] != []


def test_labels_that_people_spread_their_weight_over_need_no_bound() -> None:
    counts = counted(3)
    for released in (wn.labels(counts, epsilon=1.0, delta=1e-6, seed=1),
                     wn.top_k(counts, k=5, epsilon=1.0, delta=1e-6, seed=1)):  # fmt: skip
        assert released.bound is None and len(released.value) > 0
    found = wn.labels(counts, epsilon=2.0, delta=1e-6, method="truncated-laplace", seed=1)
    assert found.bound is not None and "look at people" in found.receipt.mechanism


@pytest.mark.parametrize("keep", ["memory", "engine"])
@pytest.mark.parametrize("by", [None, "land"])
def test_engines_and_groups_are_bounded_as_chosen(keep: str, by: str | None) -> None:
    frame = log(4).assign(land=lambda rows: rows["who"].str[-1].isin(list("135")).map(str))
    counts = wn.counts(frame, item="page", person="who", max_items="auto", items=ITEMS,
                       by=None if by is None else wn.Groups(by, names=["True", "False"]),
                       reading=wn.Reading(keep=keep, salt="s"))  # fmt: skip
    released = wn.top_k(counts, k=3, epsilon=4.0, method="laplace", with_counts=True, seed=3)
    assert released.bound is not None
    assert len(released.value) == (3 if by is None else 2)


def test_numbers_of_people_become_a_falling_line_without_noise_that_is_no_more() -> None:
    grid = (1, 2, 4)
    assert left_out_of([10, 0, 0, 0], grid, 5.0).tolist() == [0, 0, 0]
    assert left_out_of([0, 0, 100, 0], grid, 0.1)[1:].tolist() == [50.0, 0.0]  # of 3 and 4
    assert left_out_of([-50, -20, -3, -4], grid, 1.0).tolist() == [0, 0, 0]
    noise = NoiseUnderBounds(grid, (1.0, 2.0, 4.0), 10.0)
    few, many = compared(noise, [90, 5, 5, 0], 0.1), compared(noise, [0, 0, 100, 0], 0.1)
    assert best(few) == 1 and best(many) == 4
    assert pays_from(noise) == [0.0, 10.0, 10.0]
    assert pays_from(NoiseUnderBounds(grid, (1.0, 2.0, 4.0), None)) == [None] * 3


def test_what_was_chosen_is_text_plain_data_and_a_card() -> None:
    released = wn.tabulate(counted(2, items=ITEMS), epsilon=1.0, seed=1)
    chosen = released.bound
    assert chosen is not None
    assert ChosenBound.from_dict(json.loads(json.dumps(chosen.to_dict()))) == chosen
    assert released.to_dict()["bound"]["says"] == str(chosen)
    assert f"{chosen.bound} *" in chosen.describe() and "left out" in chosen._repr_html_()
    plan = wn.plan.tabulate(wn.plan.counts(40, max_items="auto"), epsilon=1.0)
    assert isinstance(plan, AutoBoundPlan)
    assert "pays from" in str(plan) and plan.to_dict()["bounds"][1]["pays_from"] > 0
    assert "bound" in plan._repr_html_() and plan.answers == 40


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda: counted(1, items=ITEMS[:2]).choice and wn.counts(
            log(1), item="page", person="who", max_items="some"), "not a bound"),
        (lambda: wn.counts(log(1), item="page", max_items="auto"), "needs person"),
        (lambda: wn.read_table(log(1), schema={"page": {"values": ITEMS}}, max_rows="auto"),
         "give person="),
        (lambda: wn.tabulate(counted(2, items=ITEMS), epsilon=1.0, with_cut=0.1), "with_cut"),
        (lambda: wn.top_k(counted(2, items=ITEMS), k=1, epsilon=1.0, with_cut=0.1), "with_cut"),
        (lambda: wn.tabulate(counted(2, items=ITEMS), epsilon=1e-15), "look at people"),
        (lambda: wn.plan.top_k(wn.plan.counts(40, max_items="auto"), k=3, error=5.0), "epsilon"),
        (lambda: wn.plan.tabulate(counted(2, items=ITEMS), epsilon=1.0).run(
            wn.counts(log(2), item="page", person="who", max_items=2, items=ITEMS)),
         "were read with one"),
        (lambda: wn.plan.tabulate(counted(2, items=ITEMS), epsilon=1.0).run(
            counted(2, items=ITEMS[:-1])), "plan"),
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_is_refused_before_the_charge(made: Any, match: str) -> None:
    with pytest.raises(wn.WinnowError, match=match):
        made()


def test_what_an_engine_keeps_is_refused_before_the_charge_where_memory_is_needed() -> None:
    frame = log(3, people=60).assign(group="g")
    given: dict[str, Any] = {"person": "who", "items": ITEMS, "max_items": "auto"}
    groups = wn.Groups("group", names=["g"], most=1)
    kept = wn.Reading(keep="engine")
    counts = wn.counts(frame, item="page", by=groups, reading=kept, **given)
    budget = Budget(9)
    with pytest.raises(wn.ParameterError, match="keep='memory'"):
        wn.top_k(counts, k=2, epsilon=5.0, budget=budget)
    assert budget.spent.amount == 0


def test_commands_choose_a_bound(tmp_path: Path) -> None:
    file, schema, items = tmp_path / "log.csv", tmp_path / "s.json", tmp_path / "items.txt"
    log(3).to_csv(file, index=False)
    schema.write_text(json.dumps({"page": {"values": ITEMS}}))
    items.write_text("\n".join(ITEMS))
    people = ["--person", "who", "--epsilon", 2, "--seed", 1]
    lines: dict[str, list[Any]] = {
        "top-k": ["top-k", file, "--item", "page", "--items", items, "--max-items", "auto", "-k", 3,
                  "--with-counts", *people],
        "labels": ["labels", file, "--item", "page", "--max-items", "auto", "--delta", 1e-6,
                   "--method", "truncated-laplace", *people],
        "tabulate": ["tabulate", file, "--schema", schema, "--by", "page", "--max-rows", "auto",
                     "--relation", "add-remove", "--report", tmp_path / "page.html", *people],
    }  # fmt: skip
    for line in lines.values():
        done = invoke([*line, "--json"])
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)["bound"]
        assert found["bound"] >= 1 and "chosen by a look" in found["says"]
        shown = invoke(line)
        assert shown.exit_code == 0 and "chosen by a look" in " ".join(shown.stdout.split())
    for line in (
        ["plan", "labels", "--max-items", "auto", "--method", "truncated-laplace", "--epsilon", 1,
         "--delta", 1e-6],
        ["plan", "tabulate", "--schema", schema, "--by", "page", "--max-rows", "auto",
         "--epsilon", 1, "--relation", "add-remove"],
    ):  # fmt: skip
        done = invoke([*line, "--out", tmp_path / "plan.csv"])
        assert done.exit_code == 0 and "pays from" in done.stdout
        assert "pays_from" in (tmp_path / "plan.csv").read_text()
    wrong = invoke(["tabulate", file, "--schema", schema, "--by", "page", "--max-rows", "few",
                    *people])  # fmt: skip
    assert wrong.exit_code == 2 and "neither a whole number" in wrong.stderr
    ready = invoke(["top-k", file, "--item", "page", "--count", "n", "--labels", "public", "-k", 1,
                    "--max-items", "auto", "--epsilon", 1])  # fmt: skip
    assert ready.exit_code == 2 and "--max-items auto" in ready.stderr
