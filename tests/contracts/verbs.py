"""Every verb, on small made-up data: what is sealed, what is public of it, and what is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

import winnow as wn
from reference.choosing import chooser
from winnow.ask.request import Ask
from winnow.inner_product.request import Boost, Mips
from winnow.itemsets.request import Itemsets
from winnow.learn.request import Learn
from winnow.numbers.request import Quantiles
from winnow.release.request import Release
from winnow.select.request import FindLabels, Select, TopK

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

LOG = pd.DataFrame(
    {
        "who": np.repeat(np.arange(300), 3),
        "page": [f"p{place}" for place in RNG.integers(0, 9, 900)],
        "where": [("north", "south")[place] for place in RNG.integers(0, 2, 900)],
    }
)
PAGES = [f"p{place}" for place in range(9)]
KNOWN = {"epsilon": 1.0, "k": 3}
UNLISTED = {"epsilon": 2.0, "delta": 1e-4}


def log(**how: Any) -> wn.SealedCounts:
    return wn.counts(LOG, **{"item": "page", "person": "who", "max_items": 2, **how})


def joined() -> wn.SealedTable:
    people = pd.DataFrame({"who": np.arange(300), "a": np.arange(300) % 3})
    visits = pd.DataFrame({"who": LOG["who"], "b": np.arange(900) % 4})
    source = wn.Join(visits, people, on="who")
    return wn.read_table(source, schema={"a": 3, "b": 4}, person="who", max_rows=2)


def numbers(**how: Any) -> wn.SealedTable:
    return wn.read_table(FRAME, schema=NUMBERED, **how)


def many_rows(**how: Any) -> wn.SealedTable:
    rows = pd.DataFrame({"who": LOG["who"], "b": np.arange(900) % 4, "a": np.arange(900) % 3})
    return wn.read_table(rows, schema={"a": 3, "b": 4}, person="who", **how)


def described(verb: str, data: Callable[[], Any], *given: Any, **asked: Any) -> tuple[str, Case]:
    return verb, Case(data, asked, given=given)


def by_method(verb: str) -> dict[str, tuple[str, Case]]:
    """A case of a verb for each word of a method that its request knows."""
    choice = chooser(RECORDS[verb])
    assert choice is not None
    found = {}
    for word in choice.words:
        if "N" not in word:
            case = NEEDS.get(f"{verb}, {word}", VERBS[verb])
            delta = {"delta": 1e-6} if word in APPROXIMATE else {}
            asked = {"method": word, **delta} | case.asked
            found[f"{verb}, {word}"] = (verb, replace(case, asked=VERBS[verb].asked | asked))
    return found


APPROXIMATE = {
    "large-margin", "peel-gumbel", "gaussian", "oneshot-approximate", "limited-domain", "stability",
    "weighted-gaussian", "truncated-laplace", "distance-to-instability", "choosing", "toeplitz",
}  # fmt: skip
"""The words of methods that need a delta."""
RECORDS = {
    "select": Select, "top_k": TopK, "labels": FindLabels, "release": Release, "ask": Ask,
    "quantiles": Quantiles, "itemsets": Itemsets, "learn": Learn, "mips": Mips, "boost": Boost,
}  # fmt: skip

VARIANTS: dict[str, tuple[str, Case]] = {
    "top_k, auto bound": described("top_k", lambda: log(max_items="auto", items=PAGES), **KNOWN),
    "top_k, auto bound, private": described(
        "top_k", lambda: log(max_items="auto"), k=2, **UNLISTED
    ),
    "top_k, private": described("top_k", log, k=2, **UNLISTED),
    "top_k, counts": described("top_k", lambda: log(items=PAGES), with_counts=True, **KNOWN),
    "top_k, cut": described("top_k", lambda: log(items=PAGES), with_cut=0.1, **KNOWN),
    "top_k, groups": described(
        "top_k", lambda: log(items=PAGES, by=wn.Groups("where", names=["north", "south"])), **KNOWN
    ),
    "labels, auto bound": described("labels", lambda: log(max_items="auto"), **UNLISTED),
    "select, several": described("select", lambda: wn.seal_scores(VOTES), k=2, epsilon=1.0),
    "select, leads": described(
        "select", lambda: wn.seal_scores(VOTES), method="noisy-max", with_leads=True, epsilon=1.0
    ),
    "tabulate, join": described("tabulate", joined, ["a", "b"], epsilon=1.0),
    "tabulate, auto bound": described(
        "tabulate", lambda: many_rows(max_rows="auto"), ["a", "b"], epsilon=1.0
    ),
    "tabulate, items": described("tabulate", lambda: log(items=PAGES), epsilon=1.0),
    "tabulate, cut": described(
        "tabulate", lambda: many_rows(max_rows=2), ["a"], epsilon=1.0, with_cut=0.1
    ),
    "tabulate, sums": described("tabulate", numbers, ["a"], values=["b"], epsilon=1.0, delta=1e-6),
    "moments, private bounds": described("moments", numbers, "b", bounds="auto", epsilon=1.0),
    "moments, rows unknown": described(
        "moments", lambda: numbers(relation="add-remove"), "b", ["mean"], epsilon=1.0
    ),
    "quantiles, join": described("quantiles", joined, "b", [0.5], epsilon=1.0),
    "quantiles, intervals": described(
        "quantiles", numbers, "b", [0.5], epsilon=1.0, method=wn.Halving(level=0.9)
    ),
    "histogram, edges": described("histogram", numbers, "b", bins=[0, 2, 3], epsilon=1.0),
    "describe, join": described("describe", joined, epsilon=1.0),
    "release, join": described("release", joined, wn.marginals(1), epsilon=1.0),
    "itemsets, supports": described(
        "itemsets", VERBS["itemsets"].data, size=2, k=2, epsilon=1.0, supports="subsets"
    ),
}  # fmt: skip
"""Calls with other data and options: bounds that are chosen, groups, joins, cuts, methods."""

PRIVATE = Case(log, {"delta": 1e-4})
BOUNDED = Case(lambda: log(items=PAGES), {})
FLAT = wn.Indexed(index="flat")
NEEDS = {
    "select, lipschitz": replace(VERBS["select"], asked={"method": wn.Lipschitz(noise="gumbel")}),
    "top_k, laplace": BOUNDED,
    "top_k, gaussian": BOUNDED,
    "top_k, limited-domain": PRIVATE,
    "top_k, stability": PRIVATE,
    "top_k, weighted-gaussian": PRIVATE,
    "top_k, truncated-laplace": PRIVATE,
    "labels, optimal-rule": Case(lambda: log(max_items=1), {}),
    "top_k, oneshot-approximate": replace(BOUNDED, asked={"epsilon": 0.1}),
    "itemsets, choosing": Case(
        lambda: wn.read_baskets(BASKETS, unit="basket", items=["ale", "bread"], max_items=2), {}
    ),
    "release, toeplitz": replace(VERBS["release"], given=(wn.prefixes("b"),)),
    "quantiles, cumulative": replace(VERBS["quantiles"], asked={"by": []}),
    "mips, indexed": replace(VERBS["mips"], asked={"method": FLAT}),
    "boost, indexed": replace(VERBS["boost"], asked={"method": FLAT}),
}
"""What methods need that the case of their verb lacks."""

for _verb in RECORDS:
    VARIANTS |= by_method(_verb)
