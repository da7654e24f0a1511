"""The contract of the verb: what is planned is what is charged, drawn and promised."""

from __future__ import annotations

from inspect import signature
from itertools import product
from typing import Any

import pandas as pd
import pytest

import winnow as wn
from reference.reading import as_options
from winnow.core.options import Method, options
from winnow.itemsets.methods import METHODS, NOT_TAKEN, ItemsetMethod
from winnow.itemsets.request import Itemsets
from winnow.itemsets.table import WantedItemsets
from winnow.mechanisms import ITEMSETS, row_named
from winnow.select.crossing.selection import Pick
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.serve.client import Client, Plans
from winnow.serve.sending import OF_THE_SERVER

ITEMS = ["ale", "bread", "cheese", "dates", "eggs", "figs"]
ROWS = [["bread", "cheese"]] * 300 + [["ale", "eggs"]] * 120 + [["dates", "figs", "ale"]] * 40
LOG = pd.DataFrame(
    [(number // 2, number, item) for number, row in enumerate(ROWS) for item in row],
    columns=["who", "basket", "item"],
)
DELTA = 1e-6
SAID: dict[str, Any] = {
    "reach": wn.LimitedDomain(reach=50),
    "printed": wn.LargeMargin(thresholds="printed"),
    "growth": wn.Choosing(growth=20),
    "gamma": wn.Canonical(gamma=0.75),
    "noise": wn.Canonical(noise="logistic"),
    **{made.word(): made() for made in METHODS},
}
"""Every method, and every option of one that itemsets take."""


class Watched(wn.Budget):
    """A budget that keeps what it was charged."""

    def __init__(self, *said: Any, **more: Any) -> None:
        super().__init__(*said, **more)
        self.charged: list[Any] = []

    def charge(self, event: Any, **about: Any) -> Any:
        self.charged.append(event)
        return super().charge(event, **about)


def sold(people: int = 1, *, public: bool = True, **how: Any) -> wn.SealedBaskets:
    how |= {"items": ITEMS if public else None, "max_items": 3, "salt": "s"}
    if people == 1:
        return wn.read_baskets(ROWS, unit="basket", **as_options(how))
    return wn.read_baskets(
        LOG,
        person="who",
        max_baskets=people,
        **as_options(how, basket="basket", item="item"),
    )


def about(people: int = 1, *, public: bool = True, **how: Any) -> Any:
    items = len(ITEMS) if public else None
    return wn.plan.baskets(items=items, max_items=3, max_baskets=people, **how)


def asked_by(name: str, k: int | None) -> dict[str, Any]:
    """What is asked with a method, with a delta where it takes one."""
    method = SAID.get(name, "auto")
    delta = DELTA
    if isinstance(method, Method):
        row = row_named(ITEMSETS, method.word())
        delta = DELTA if row.needs_delta or row.may_use_delta else 0.0
    return {"size": 2, "epsilon": 4.0, "delta": delta, "k": k, "method": method}


WITHOUT_A_LIST = {
    word
    for word in SAID
    if row_named(ITEMSETS, SAID[word].word()).needs_delta or word == "weighted"
}


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "people"), [("add-remove", 1), ("substitution", 2)])
@pytest.mark.parametrize("name", ["auto", *SAID])
def test_the_planned_event_is_charged_and_the_plan_runs(
    name: str, relation: str, people: int
) -> None:
    lists = [True, False] if name == "auto" or name in WITHOUT_A_LIST else [True]
    counts = [(None, None), (2, "winners"), (2, "subsets")]
    for public, (k, counted) in product(lists, counts):
        baskets = sold(people, public=public, relation=relation)
        asked = asked_by(name, k) | {"supports": counted, "seed": 5}
        budget = Watched(5.0, 1e-4, relation=relation)
        plan = wn.plan.itemsets(baskets, budget=budget, **asked)
        released = wn.itemsets(baskets, budget=budget, **asked)
        assert budget.charged == [plan.event] == [released.receipt.event]
        assert released.guarantee.epsilon == plan.guarantee.epsilon <= 4.0
        assert released.guarantee.delta == plan.guarantee.delta <= asked["delta"]
        assert released.receipt.mechanism == plan.name
        assert released.receipt.reason == plan.reason and bool(plan.reason) == (name == "auto")
        assert plan.run(baskets, seed=5).value == released.value
        fresh = Watched(5.0, 1e-4, relation=relation)  # to which nothing was charged yet
        alone = wn.plan.itemsets(
            about(people, public=public, relation=relation), budget=fresh, **asked
        )
        assert alone.event == plan.event and str(alone) == str(plan)
        assert alone.run(baskets, seed=5).value == released.value


def test_every_option_of_every_method_is_planned_above() -> None:
    for made in METHODS:
        tried = [each for each in SAID.values() if type(each) is made]
        for field in options(made):
            if field.name in NOT_TAKEN:
                continue
            assert any(getattr(each, field.name) != field.default for each in tried), field.name


def test_a_plan_says_what_it_compared_and_from_which_support_on_it_finds() -> None:
    baskets = sold()
    chosen = wn.plan.itemsets(baskets, size=2, epsilon=1)
    assert chosen.error == chosen.compared[0].support
    assert chosen.compared[0].mechanism == "permute-and-flip"
    assert f"at least about {chosen.error:.0f}" in chosen.reason
    looks = wn.plan.itemsets(about(public=False), size=2, k=9, epsilon=1, delta=DELTA)
    assert "weighted counts" in str(looks) and looks.error is not None
    assert looks.error > looks.compared[0].support  # a part of epsilon pays for the look
    for word, made in SAID.items():
        plan = wn.plan.itemsets(baskets, **asked_by(word, 3))
        predicted = made.word() in (
            "exponential", "permute-and-flip", "noisy-max", "limited-domain", "canonical",
            "canonical-adaptive",
        )  # fmt: skip
        assert (plan.error is not None) == (predicted and word != "gamma"), word
        assert plan.to_dict()["error"] == plan.error and "runs: " in str(plan)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: wn.plan.baskets(items=7, max_items=3), "number of public items"),
        (lambda: about(public=False), "number of public items"),
        (lambda: wn.plan.baskets(items=6, max_items=4), "max_items"),
        (lambda: wn.plan.baskets(items=6), "max_items"),
        (lambda: about(2), "max_baskets"),
    ],
)
def test_a_plan_runs_on_baskets_that_it_was_made_for_only(made: Any, message: str) -> None:
    budget = Watched(5.0, 1e-4)
    plan = wn.plan.itemsets(made(), size=2, epsilon=1, delta=DELTA)
    with pytest.raises(wn.InputError, match=message):
        plan.run(sold(), budget=budget)
    assert budget.charged == []


def test_a_plan_for_another_relation_or_of_no_baskets_does_not_run() -> None:
    budget = Watched(5.0, 1e-4)
    other = wn.plan.itemsets(about(relation="substitution"), size=2, epsilon=1)
    with pytest.raises(wn.RelationMismatch, match="plan again"):
        other.run(sold(), budget=budget)
    plan: Any = wn.plan.itemsets(sold(), size=2, epsilon=1)
    for given in (ROWS, about(), None):
        with pytest.raises(wn.InputError, match=r"wn\.read_baskets"):
            plan.run(given, budget=budget)
    assert budget.charged == []


def test_baskets_in_an_engine_are_not_weighed_by_a_plan_for_memory() -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT i AS b, unnest(['x', 'y']) AS i FROM range(9) r(i)"
    )
    kept = wn.read_baskets(
        (connection, "t"),
        unit="basket",
        layout=wn.Pairs(basket="b", item="i"),
        items=["x", "y"],
        reading=wn.Reading(keep="engine"),
    )
    plan = wn.plan.itemsets(wn.plan.baskets(items=2), size=2, epsilon=1, method="weighted")
    budget = Watched(5.0)
    with pytest.raises(wn.InputError, match="keep='memory'"):
        plan.run(kept, budget=budget)
    assert budget.charged == []


@pytest.mark.parametrize(
    "verb",
    [wn.itemsets, wn.plan.itemsets, wn.plan.baskets, *METHODS],
    ids=lambda verb: verb.__name__,
)
def test_no_verb_and_no_method_has_more_than_ten_parameters(verb: Any) -> None:
    assert len(signature(verb).parameters) <= 10


def test_session_and_client_take_what_the_verb_takes() -> None:
    said = list(signature(wn.itemsets).parameters)[1:]
    assert list(signature(wn.Session.itemsets).parameters)[2:] == said
    for method in (Client.itemsets, Plans.itemsets):
        sent = list(signature(method).parameters)[2:]
        assert sent == [name for name in said if name not in OF_THE_SERVER]
    session = wn.Session(epsilon=1.0, delta=1e-5, seed=3)
    one, other = (session.itemsets(sold(), size=2, k=3, epsilon=0.1) for _ in range(2))
    assert one.receipt.randomness == "seeded" and one.receipt.event == other.receipt.event
    with pytest.raises(wn.InputError, match="its own budget"):
        session.itemsets(sold(), size=2, epsilon=0.1, budget=wn.Budget(1.0))


def test_a_method_of_ones_own_is_planned_charged_and_run() -> None:
    class Cautious(ItemsetMethod):
        """Permute-and-flip for half of epsilon."""

        def selection(self, wanted: WantedItemsets) -> Pick:
            return LipschitzMechanism(wanted.epsilon / 2, "exponential")  # type: ignore[arg-type]

    released = wn.itemsets(sold(), size=2, epsilon=1.0, method=Cautious(), seed=1)
    assert released.guarantee.epsilon == 0.5 and released.value == ("bread", "cheese")


def test_nothing_private_is_in_the_repr_of_a_plan() -> None:
    plan = wn.plan.itemsets(sold(public=False), size=2, epsilon=1, delta=DELTA)
    for text in (repr(plan), str(plan), repr(plan.about), str(plan.to_dict())):
        assert not any(item in text for item in ITEMS) and "460" not in text


def test_a_request_says_all_of_it_once() -> None:
    fields = {"size", "epsilon", "delta", "k", "method", "supports", "budget", "seed", "run"}
    assert set(signature(Itemsets).parameters) == fields
