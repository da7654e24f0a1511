"""A body over HTTP has the options of its request, and what a client sends is what is asked."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pytest

import winnow as wn
from winnow.core.options import AUTO, Checked, Method, Methods, Option
from winnow.itemsets.request import Itemsets
from winnow.serve.bodies import ItemsetsOrder, Order
from winnow.serve.declarations import Questions
from winnow.serve.derived import asked_of, body
from winnow.serve.sending import sent


@dataclass(frozen=True)
class Plain(Method):
    """Without options."""


@dataclass(frozen=True)
class Weighing(Method):
    """With one."""

    gamma: Annotated[float, Option("The weight of the last.", least=0, most=1)] = 0.5


@dataclass(frozen=True, kw_only=True)
class Between(Method):
    """With a pair that has to be said, and one number or a pair."""

    ends: Annotated[tuple[float, float], Option("The ends.")]
    moved: Annotated[float | tuple[float, float] | None, Option("How far.")] = None


@dataclass(frozen=True, kw_only=True)
class Wanted(Checked):
    """What to release."""

    k: Annotated[int, Option("How many; see gamma=.", least=1, served=100)]
    epsilon: Annotated[float, Option("The loss.", above=0)]
    names: Annotated[tuple[str, ...], Option("Whose.", served=2)] = ()
    method: Annotated[
        Plain | Weighing | Between | str, Methods("How.", (Plain, Weighing, Between))
    ] = AUTO
    hidden: Annotated[bool, Option("Not over HTTP.", where=("command",))] = False
    budget: Any = None
    seed: Any = None


BODY = body("WantedOrder", Wanted, Order, "wanted", {"column": str | None})
DECODER = msgspec.json.Decoder(BODY)


def decoded(**said: Any) -> Any:
    return DECODER.decode(msgspec.json.encode({"kind": "wanted", **said}))


@pytest.mark.parametrize(
    "method",
    [AUTO, Plain(), Weighing(), Weighing(gamma=0.25), Between(ends=(0, 1)),
     Between(ends=(0, 1), moved=2), Between(ends=(0, 1), moved=(0.5, 2))],
)  # fmt: skip
def test_what_a_client_sends_is_what_is_asked_on_the_server(method: Any) -> None:
    wanted = Wanted(k=3, epsilon=1.0, names=("a", "b"), method=method)
    order = decoded(**sent(wanted))
    back = asked_of(order, {"names": tuple}, budget=7)
    assert back == Wanted(k=3, epsilon=1.0, names=("a", "b"), method=method, budget=7)


@pytest.mark.parametrize("method", ["joint", wn.Choosing(growth=3), wn.LimitedDomain(reach=9)])
def test_a_process_that_plans_is_sent_the_order_with_its_method(method: Any) -> None:
    asked = Itemsets(size=2, epsilon=1.0, method=method)
    order = msgspec.convert({"kind": "itemsets", **sent(asked)}, ItemsetsOrder)
    again = pickle.loads(pickle.dumps(order))
    assert again == order and asked_of(again, {}) == asked


def test_a_word_is_sent_for_a_method_with_its_defaults() -> None:
    assert sent(Wanted(k=1, epsilon=1.0, method=Weighing()))["method"] == "weighing"
    assert "method" not in sent(Wanted(k=1, epsilon=1.0))


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0, "epsilon": 1},
        {"k": 101, "epsilon": 1},
        {"k": 1, "epsilon": 0},
        {"k": 1, "epsilon": 1, "hidden": True},
        {"k": 1, "epsilon": 1, "names": ["a", "b", "c"]},
        {"k": 1, "epsilon": 1, "method": "weighty"},
        {"k": 1, "epsilon": 1, "method": {"kind": "weighing", "gamma": 2}},
        {"k": 1, "epsilon": 1, "method": {"kind": "plain", "gamma": 1}},
        {"k": 1, "epsilon": 1, "method": {"kind": "between"}},
        {"k": 1, "epsilon": 1, "method": {"kind": "between", "ends": "0,1"}},
        {"k": 1, "epsilon": 1, "method": {"kind": "between", "ends": [0, 1, 2]}},
        {"k": 1, "epsilon": 1, "method": {"kind": "between", "ends": [0, 1], "moved": "2"}},
        {"epsilon": 1},
    ],
)
def test_what_is_out_of_range_or_unknown_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        decoded(**wrong)


def test_the_ends_of_a_servers_range_are_taken_and_its_own_fields_may_be_left_out() -> None:
    assert decoded(k=100, epsilon=1).k == 100
    assert decoded(k=1, epsilon=1).column is None
    assert decoded(k=1, epsilon=1, column="c").column == "c"


def test_a_clients_budget_and_seed_are_refused() -> None:
    with pytest.raises(wn.ParameterError, match="decided by the server"):
        sent(Wanted(k=1, epsilon=1.0, seed=3))


def test_the_help_of_an_option_is_in_the_schema() -> None:
    schema = msgspec.json.schema(BODY)["$defs"]["WantedOrder"]["properties"]
    assert schema["k"]["description"] == "How many; see gamma."
    assert schema["k"]["maximum"] == 100


def test_a_session_that_is_declared_with_a_method_goes_to_other_processes() -> None:
    said = {"kind": "multiplicative-weights", "threshold": 0.02, "warm_start": "auto"}
    declared = msgspec.convert({"epsilon": 1, "delta": 1e-6, "method": said}, Questions)
    assert pickle.loads(pickle.dumps(declared)) == declared
    assert declared.asked().method == wn.MultiplicativeWeights(threshold=0.02)
    assert declared.asked(budget=wn.Budget(1)).max_queries == 100_000
    for more in ({"universe": 5}, {"memory": "9TB"}):  # what a server decides
        wrong = {"epsilon": 1, "delta": 1e-6, "method": said | more}
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, Questions)
