"""Whoever asks for what is left of a budget gets it: each verb, at exactly (epsilon, delta)."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.audit.replay.commands import shown
from winnow.core.tape import WrittenKey
from winnow.privacy import ApproxDP, Gaussian, PureDP
from winnow.privacy.ledger import Ledger, RecordedBudget

EPSILON, DELTA = 1.0, 1e-6
ITEMS = [f"i{number}" for number in range(12)]
SCHEMA = {"a": 3, "b": 4, "c": 2}
RNG = np.random.default_rng(1)
ROWS = {name: RNG.integers(0, codes, 300) for name, codes in SCHEMA.items()}
BASKETS = [[item for item in ITEMS if RNG.random() < 0.4] or ["i0"] for _ in range(300)]
COUNTS = RNG.integers(0, 300, 40)
POINTS = RNG.normal(size=(200, 2)).clip(-1, 1)


NUMBERED = SCHEMA | {"b": {"type": "number", "low": 0, "high": 3}}
FRAME = pd.DataFrame(ROWS).assign(person=np.arange(300) % 150)
PEOPLE = pd.DataFrame({"person": np.arange(150), "town": np.arange(150) % 3})


def table() -> wn.SealedTable:
    return wn.read_table(ROWS, schema=SCHEMA, unit="row", relation="add-remove")


def items(known: bool) -> wn.SealedBaskets:
    return wn.read_baskets(BASKETS, unit="basket", items=ITEMS if known else None)


def numbers() -> wn.SealedTable:
    return wn.read_table(ROWS, schema=NUMBERED, unit="row", relation="add-remove")


def visits(source: Any = FRAME, *, max_items: Any = 2, **how: Any) -> wn.SealedCounts:
    return wn.counts(source, item="b", person="person", max_items=max_items, **how)


def points() -> wn.Labelled:
    return wn.labelled(
        POINTS, np.where(POINTS[:, 0] > 0, "yes", "no"), classes=["no", "yes"],
        schema={name: {"range": [-1, 1], "bins": 4} for name in "xy"}, relation="add-remove",
    )  # fmt: skip


def joined() -> wn.Join:
    return wn.Join(FRAME, PEOPLE, on="person")


def towns() -> wn.SealedTable:
    return wn.read_table(
        joined(), schema={"b": 4, "town": 3}, person="person", max_rows=2, relation="add-remove"
    )


Verb = Callable[..., Any]

PURE: dict[str, Verb] = {
    "select": lambda **ask: wn.select(COUNTS, **ask),
    "above": lambda **ask: wn.above(COUNTS, threshold=100, **ask),
    "open_above": lambda **ask: wn.open_above(threshold=100, **ask),
    "open_selection": lambda **ask: wn.open_selection(**ask),
    "mips": lambda **ask: wn.mips(np.eye(4), wn.seal_query(np.ones(4), sensitivity=1), **ask),
    "bounds": lambda **ask: wn.bounds(numbers(), "b", **ask),
    "describe": lambda **ask: wn.describe(numbers(), **ask),
    "histogram": lambda **ask: wn.histogram(numbers(), "b", bins=3, **ask),
    "histogram, by quantiles": lambda **ask: wn.histogram(
        numbers(), "b", bins=3, split="quantiles", **ask
    ),
}
"""They take no delta, or none by default."""

VERBS: dict[str, Verb] = {
    "top_k": lambda **ask: wn.top_k(COUNTS, k=5, **ask),
    "top_k, with counts": lambda **ask: wn.top_k(COUNTS, k=5, with_counts=True, **ask),
    "tabulate": lambda **ask: wn.tabulate(table(), ["a", "b"], **ask),
    "tabulate, several": lambda **ask: wn.tabulate(table(), [["a", "b"], ["b", "c"]], **ask),
    "release": lambda **ask: wn.release(table(), wn.marginals(2), **ask),
    "release, mwem": lambda **ask: wn.release(
        table(), wn.marginals(2), method=wn.MWEM(rounds=3), **ask
    ),
    "release, graphical": lambda **ask: wn.release(
        table(), wn.marginals(2), method=wn.Graphical(rounds=2), **ask
    ),
    "moments": lambda **ask: wn.moments(numbers(), "b", ["mean", "deviation"], **ask),
    "moments, by group": lambda **ask: wn.moments(numbers(), "b", ["mean"], by=["a"], **ask),
    "quantiles": lambda **ask: wn.quantiles(
        numbers(), "b", [0.25, 0.5], method=wn.Halving(), **ask
    ),
    "quantiles, of few numbers": lambda **ask: wn.quantiles(numbers(), "b", [0.25, 0.5], **ask),
    "quantiles, by group": lambda **ask: wn.quantiles(numbers(), "b", [0.5], by=["a"], **ask),
    "quantiles, three": lambda **ask: wn.quantiles(numbers(), "b", [0.25, 0.5, 0.75], **ask),
    "regress": lambda **ask: wn.regress(numbers(), "b", ["a"], **ask),
    "labels": lambda **ask: wn.labels(visits(), **ask),
    "labels, a bound to be found": lambda **ask: wn.labels(visits(max_items="auto"), **ask),
    "labels, truncated Laplace": lambda **ask: wn.labels(
        visits(), method=wn.TruncatedLaplace(), **ask
    ),
    "top_k, a bound to be found": lambda **ask: wn.top_k(visits(max_items="auto"), k=2, **ask),
    "select, large margin": lambda **ask: wn.select([900, 3, 1], method=wn.LargeMargin(), **ask),
    "labels, of a join": lambda **ask: wn.labels(visits(joined()), **ask),
    "top_k, private items": lambda **ask: wn.top_k(visits(), k=2, **ask),
    "top_k, by group": lambda **ask: wn.top_k(visits(by="a"), k=2, **ask),
    "top_k, by group of a join": lambda **ask: wn.top_k(visits(joined(), by="town"), k=2, **ask),
    "tabulate, a join": lambda **ask: wn.tabulate(towns(), ["b", "town"], **ask),
    "ask": lambda **ask: wn.ask(table().stating(300), max_queries=20, **ask),
    "ask, a hypothesis": lambda **ask: wn.ask(
        table().stating(30_000), max_queries=5_000, method=wn.MultiplicativeWeights(), **ask
    ),
    "ask, a hypothesis from nothing": lambda **ask: wn.ask(
        table().stating(30_000), max_queries=5_000,
        method=wn.MultiplicativeWeights(warm_start=0, fallback=0), **ask,
    ),
    "boost": lambda **ask: wn.boost(
        wn.seal_examples(np.where(POINTS > 0, 1, -1).T, np.where(POINTS[:, 0] > 0, 1, -1)),
        rounds=3, **ask,
    ),
    "lp": lambda **ask: wn.lp(
        wn.lp_problem([[1, 0], [0, 1]], [100, 90], [1, 1], opt=90),
        method=wn.ScalarSides(sensitivity=1), **ask,
    ),
    "learn": lambda **ask: wn.learn(points(), **ask),
    "learn, calibrated": lambda **ask: wn.learn(points(), calibrated=True, **ask),
} | {
    f"itemsets, {'public' if known else 'private'} items, k={k}{', counts' * counted}": (
        lambda known=known, k=k, counted=counted, **ask: wn.itemsets(
            items(known), size=2, k=k, supports="winners" if counted else None, **ask
        )
    )
    for known in (True, False) for k in (None, 5) for counted in (False, True)
}  # fmt: skip


LISTED = "itemsets, private items, k=5, counts"
"""It chooses between two mechanisms by what it sees, and releases counts as well."""
EACH = [
    pytest.param(verb, marks=[pytest.mark.extras] * ("," in verb and verb != LISTED))
    for verb in VERBS
]
"""One way of each verb in 'make test'; the other ways run in 'make test-extras'."""


def test_every_verb_is_here() -> None:
    verbs = {
        name for name in dir(wn)
        if inspect.isfunction(made := getattr(wn, name))
        and {"epsilon", "budget"} <= set(inspect.signature(made).parameters)
    }  # fmt: skip
    assert verbs == {name.split(",")[0] for name in (*PURE, *VERBS)}


def left_to_ask(budget: wn.Budget) -> dict[str, Any]:
    return {"epsilon": budget.left.amount, "delta": budget.left.delta, "budget": budget, "seed": 1}


@pytest.mark.slow
@pytest.mark.parametrize("parts", [4, 2])
@pytest.mark.parametrize("verb", VERBS)
def test_a_budget_serves_each_verb_in_equal_parts_that_add_up_to_its_cap(
    verb: str, parts: int
) -> None:
    budget = wn.Budget(EPSILON, DELTA)
    for _ in range(parts):
        VERBS[verb](epsilon=EPSILON / parts, delta=DELTA / parts, budget=budget, seed=1)


MIXED: dict[str, Verb] = {
    "tabulate": lambda **ask: wn.plan.tabulate(table(), ["a", "b"], **ask),
    "itemsets": lambda **ask: wn.plan.itemsets(items(True), size=2, k=5, **ask),
    "itemsets, private items, counts": lambda **ask: wn.plan.itemsets(
        items(False), size=2, k=5, supports="winners", **ask
    ),
    "release": lambda **ask: wn.plan.release(table(), wn.marginals(2), **ask),
    "mwem": lambda **ask: wn.plan.release(
        table(), wn.marginals(2), method=wn.MWEM(rounds=3), **ask
    ),
    "labels": lambda **ask: wn.plan.labels(wn.counts(ROWS, item="a", unit="row"), **ask),
    "select": lambda delta, **ask: wn.plan.select(wn.plan.scores(4), **ask),
}  # fmt: skip


@pytest.mark.parametrize(
    "first",
    [pytest.param(verb, marks=[pytest.mark.extras] * (verb != "tabulate")) for verb in MIXED],
)
def test_a_budget_serves_quarters_of_different_verbs_in_any_order(first: str) -> None:
    """One verb, and three times another, also one whose delta is all its own."""
    for other in MIXED:
        budget = wn.Budget(EPSILON, DELTA)
        for name in (first, other, other, other):
            plan = MIXED[name](epsilon=EPSILON / 4, delta=DELTA / 4, budget=budget)
            budget.charge(plan.event, stated=plan.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [2, 4])
@pytest.mark.parametrize("method", [wn.MultiplicativeWeights(), wn.Independent()])
def test_sessions_in_equal_parts_have_nearly_the_noise_of_sessions_without_a_budget(
    method: Any, parts: int
) -> None:
    about = wn.plan.table(SCHEMA, rows=30_000)
    budget = wn.Budget(EPSILON, DELTA, "substitution")
    ask: dict[str, Any] = {
        "epsilon": EPSILON / parts, "delta": DELTA / parts, "max_queries": 500, "method": method,
    }  # fmt: skip
    alone = wn.plan.ask(about, **ask).expected.bound
    for _ in range(parts):
        plan = wn.plan.ask(about, budget=budget, **ask)
        budget.charge(plan.event, stated=plan.guarantee)
        assert plan.expected.bound <= 1.02 * alone


@pytest.mark.parametrize(
    "asked",
    [
        [("release", 6, 1), ("labels", 2, 9), ("itemsets", 2, 2)],
        [("labels", 1, 9), ("mwem", 9, 1), ("tabulate", 2, 2)],
        [("itemsets, private items, counts", 1, 1), ("release", 1, 9), ("select", 2, 2)],
    ],
)
def test_a_budget_serves_uneven_parts_that_add_up_to_it(asked: list[tuple[str, int, int]]) -> None:
    """Each has its own part of epsilon and of delta; a billionth is left for roundings."""
    budget, whole = wn.Budget(EPSILON, DELTA), 1 - 1e-9
    epsilons, deltas = sum(e for _, e, _ in asked), sum(d for _, _, d in asked)
    for name, e, d in asked:
        share = {"epsilon": EPSILON * e / epsilons * whole, "delta": DELTA * d / deltas * whole}
        plan = MIXED[name](budget=budget, **share)
        budget.charge(plan.event, stated=plan.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_a_budget_that_is_partly_used_serves_each_verb_at_what_is_left(verb: str) -> None:
    for used in (PureDP(3, "add-remove"), Gaussian(6, "add-remove")):
        budget = wn.Budget(5, DELTA)
        budget.charge(used)
        VERBS[verb](**left_to_ask(budget))


@pytest.mark.parametrize("verb", EACH)
def test_a_budget_serves_each_verb_at_exactly_its_cap_with_the_noise_of_one_without_a_budget(
    verb: str,
) -> None:
    ask = {"epsilon": EPSILON, "delta": DELTA, "seed": 1}
    found = VERBS[verb](budget=wn.Budget(EPSILON, DELTA), **ask).receipt.event
    if verb == "quantiles":  # 2 x epsilon/2 of pure privacy, and 1.2 % more where delta composes
        assert found != VERBS[verb](**ask).receipt.event
    else:
        assert found == VERBS[verb](**ask).receipt.event


@pytest.mark.slow
@pytest.mark.parametrize("verb", EACH)
def test_a_ledger_serves_each_verb_once_at_exactly_its_cap(verb: str, tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger", create=True)
    ledger.open_dataset("data", epsilon=EPSILON, delta=DELTA)
    budget = RecordedBudget(ledger, "data")
    VERBS[verb](epsilon=EPSILON, delta=DELTA, budget=budget, seed=1)
    assert ledger.verify().ok


@pytest.mark.parametrize("part", [1, Fraction(1, 4)])
def test_a_request_that_is_made_again_is_planned_as_it_was(part: Fraction, tmp_path: Path) -> None:
    """Whatever was charged before it, and since."""
    ledger = Ledger.open(tmp_path / "ledger", create=True)
    ledger.open_dataset("data", epsilon=EPSILON, delta=DELTA)
    key = WrittenKey.fresh()
    ask = {"epsilon": float(EPSILON * part), "delta": float(Fraction(DELTA) * part)}

    def asked() -> Any:
        budget = RecordedBudget(ledger, "data", request="tonight", written=key)
        return wn.release(table(), wn.marginals(2), budget=budget, **ask)

    if part < 1:
        ledger.charge("data", Gaussian(40, "add-remove"))
    first = asked()
    if part < 1:
        ledger.charge("data", Gaussian(20, "add-remove"))
    assert asked().receipt.event == first.receipt.event


@pytest.mark.parametrize("command", ["tabulate", "release", "itemsets", "top-k"])
def test_the_command_gets_what_the_ledger_says_is_left(command: str, tmp_path: Path) -> None:
    """After a charge of 3 of epsilon 5, all of it is asked for with --epsilon and --delta."""
    rows = tmp_path / "rows.csv"
    lines = zip(*(ROWS[name].tolist() for name in SCHEMA), strict=True)
    rows.write_text("\n".join(["a,b,c", *(",".join(map(str, line)) for line in lines)]))
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    baskets = tmp_path / "baskets.txt"
    baskets.write_text("\n".join(" ".join(basket) for basket in BASKETS))
    public = tmp_path / "items.txt"
    public.write_text("\n".join(ITEMS))
    one, baskets_of = "--one-row-per-person", ["--one-basket-per-person"]
    asked: dict[str, list[object]] = {
        "tabulate": [rows, "--schema", schema, "--by", "a,b", one],
        "release": [rows, "--schema", schema, "--workload", "marginals:2", "--json", one],
        "itemsets": [baskets, "--items", public, "--size", 2, "-k", 5, *baskets_of],
        "top-k": [rows, "--item", "b", "-k", 2, one],
    }
    ledger = Ledger.open(tmp_path / "l.db", create=True)
    ledger.open_dataset("d", epsilon=5, delta=DELTA)
    ledger.charge("d", PureDP(3, "add-remove"))
    left = RecordedBudget(ledger, "d").left
    record = ["--ledger", tmp_path / "l.db", "--dataset", "d", "--relation", "add-remove"]
    whole = ["--epsilon", left.amount, "--delta", left.delta, "--seed", 1]
    done = shown(command, *asked[command], *record, *whole)
    assert done.exit == 0, done


def test_a_refusal_says_with_which_delta_all_of_what_is_left_fits() -> None:
    budget = wn.Budget(5, DELTA)
    budget.charge(Gaussian(2, "add-remove"))
    left = budget.left
    assert left.delta < DELTA * 15 / 16
    said = f"ask with a delta of at most {left.delta:.6g}"
    with pytest.raises(wn.BudgetExceeded, match=re.escape(said)):
        budget.charge(ApproxDP(left.amount, DELTA, "add-remove"))
    wn.tabulate(table(), ["a", "b"], epsilon=left.amount, delta=left.delta, budget=budget, seed=1)


@pytest.mark.parametrize("verb", PURE)
def test_what_takes_no_delta_gets_all_of_epsilon(verb: str) -> None:
    for delta in (0, DELTA):
        PURE[verb](epsilon=EPSILON, budget=wn.Budget(EPSILON, delta), seed=1)
    budget = wn.Budget(5, DELTA)
    budget.charge(PureDP(3, "add-remove"))
    PURE[verb](epsilon=budget.left.amount, budget=budget, seed=1)
