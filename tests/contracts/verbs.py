"""Every verb, on small made-up data: what is sealed, what is public of it, and what is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import winnow as wn

SECRET = 41_729
"""A private number in the data of every verb that can hold it."""
VOTES = {"a": SECRET, "b": 700, "c": 650, "d": 20}
SCHEMA = {"a": 3, "b": 4, "y": 2}
NUMBERED = SCHEMA | {"b": {"type": "number", "low": 0, "high": 3}}
RNG = np.random.default_rng(5)
FRAME = pd.DataFrame({name: RNG.integers(0, size, 400) for name, size in SCHEMA.items()})
BASKETS = [["bread", "cheese"]] * 300 + [["ale", "eggs"]] * 120
VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
SIDES = np.array([20.0, SECRET, 25.0])


@dataclass(frozen=True)
class Case:
    """A verb, its data and its options."""

    data: Callable[[], Any]
    asked: dict[str, Any]
    about: Callable[[], Any] | None = None
    """What is public of the data, where a plan can be made without them."""
    beside: tuple[Any, ...] = ()
    """What stands before the data in a call: the candidates of a search."""
    facts: frozenset[str] = frozenset()
    """The public facts that planning may ask sealed data for."""
    given: tuple[Any, ...] = field(default=())
    """What stands behind the data in a call, such as a workload."""


def people(**how: Any) -> wn.SealedTable:
    return wn.read_table(FRAME, schema=SCHEMA, **{"relation": "substitution", **how})


def program() -> wn.LpProblem:
    matrix = np.array([[1.0, 0.5, 0.25], [0.25, 1.0, 1.0], [0.5, 0.5, 1.0]])
    return wn.lp_problem(matrix, SIDES, np.array([1.0, 2.0, 1.0]), opt=30)


def examples() -> wn.SealedExamples:
    labels = np.where(RNG.random(50) < 0.5, 1.0, -1.0)
    return wn.seal_examples(np.vstack([labels, -labels, np.ones(50)]), labels)


ROWS = frozenset({"ROWS_UNDER_SUBSTITUTION", "KIND_OF_CONTENT"})
SIDES_METHOD = wn.ScalarSides(sensitivity=1, rounds=3)

VERBS: dict[str, Case] = {
    "select": Case(
        lambda: wn.seal_scores(VOTES), {"epsilon": 1.0}, lambda: wn.plan.scores(4)
    ),
    "top_k": Case(
        lambda: wn.seal_counts(VOTES), {"k": 2, "epsilon": 1.0}, lambda: wn.plan.counts(4)
    ),
    "labels": Case(
        lambda: wn.seal_counts(VOTES, labels="private", max_items=2),
        {"epsilon": 1.0, "delta": 1e-6},
        lambda: wn.plan.counts(labels="private", max_items=2),
    ),
    "above": Case(
        lambda: wn.seal_scores(VOTES),
        {"threshold": 300, "epsilon": 1.0},
        lambda: wn.plan.scores(4),
    ),
    "tabulate": Case(
        people, {"epsilon": 1.0}, lambda: wn.plan.table(SCHEMA, rows=400), given=(["a", "b"],),
        facts=ROWS,
    ),
    "bounds": Case(
        people, {"epsilon": 1.0}, lambda: wn.plan.table(SCHEMA, rows=400), given=("b",),
        facts=ROWS,
    ),
    "moments": Case(
        people, {"epsilon": 1.0, "by": ["a"]}, lambda: wn.plan.table(SCHEMA, rows=400),
        given=("b", ["mean", "deviation"]), facts=ROWS,
    ),
    "regress": Case(
        people, {"epsilon": 1.0}, lambda: wn.plan.table(SCHEMA, rows=400), given=("b", ["a"]),
        facts=ROWS,
    ),
    "quantiles": Case(
        people, {"epsilon": 1.0, "by": ["a"]}, lambda: wn.plan.table(SCHEMA, rows=400),
        given=("b", [0.25, 0.5]), facts=ROWS,
    ),
    "describe": Case(
        lambda: wn.read_table(FRAME, schema=NUMBERED), {"epsilon": 1.0},
        lambda: wn.plan.table(NUMBERED, rows=400), facts=ROWS,
    ),
    "histogram": Case(
        people, {"epsilon": 1.0, "bins": 3, "split": "quantiles"},
        lambda: wn.plan.table(SCHEMA, rows=400), given=("b",), facts=ROWS,
    ),
    "release": Case(
        people, {"epsilon": 1.0}, lambda: wn.plan.table(SCHEMA, rows=400),
        given=(wn.marginals(2),), facts=ROWS,
    ),
    "ask": Case(
        people, {"epsilon": 2.0, "delta": 1e-6, "max_queries": 50},
        lambda: wn.plan.table(SCHEMA, rows=400), facts=ROWS,
    ),
    "learn": Case(
        lambda: wn.labelled(people(), "y"), {"epsilon": 1.0},
        lambda: wn.plan.labelled(SCHEMA, "y", rows=400), facts=ROWS,
    ),
    "itemsets": Case(
        lambda: wn.read_baskets(BASKETS, unit="basket", items=["ale", "bread", "cheese", "eggs"]),
        {"size": 2, "epsilon": 1.0}, lambda: wn.plan.baskets(items=4),
    ),
    "lp": Case(
        program, {"method": SIDES_METHOD, "epsilon": 1.0}, facts=frozenset({"PUBLIC_MATRIX"})
    ),
    "mips": Case(
        lambda: wn.seal_query([3.0, float(SECRET)], sensitivity=1.0), {"epsilon": 1.0},
        beside=(VECTORS,),
    ),
    "boost": Case(examples, {"rounds": 2, "epsilon": 1.0}),
}  # fmt: skip
"""One call of each verb."""

OPENED_PIECE_BY_PIECE = {"open_above", "open_selection", "resume"}
"""Public functions that take an epsilon, or go on with one, and are runs of a plan of a verb."""
