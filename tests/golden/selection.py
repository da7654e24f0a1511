"""Select, top k, above, inner products: every mechanism, noise, relation and option."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import winnow as wn
from golden.cases import Case
from golden.data import VOTES, log, scores
from reference.choosing import chooser
from winnow.core.options import Methods
from winnow.select.request import Select, TopK

SEED = 20261116
OWN = ("noise", "gamma", "rounded", "reach", "thresholds")
"""Options of methods."""
RELATIONS = ("add-remove", "substitution")
NOISES = ("gumbel", "exponential", "laplace", "logistic", "half-logistic")
SELECTIONS: tuple[dict[str, Any], ...] = (
    {"method": "permute-and-flip"},
    {"method": "exponential"},
    {"method": "noisy-max"},
    {"method": "large-margin", "delta": 1e-6},
    {"method": "large-margin", "delta": 1e-6, "thresholds": "printed"},
    *({"method": "lipschitz", "noise": noise} for noise in NOISES),
)
TOPS: tuple[dict[str, Any], ...] = (
    {"method": "joint"},
    {"method": "joint", "with_counts": True},
    *({"method": "canonical", "noise": noise} for noise in NOISES),
    {"method": "canonical", "gamma": 0.25},
    {"method": "canonical", "rounded": True},
    *({"method": "oneshot", "noise": noise} for noise in NOISES),
    {"method": "peel-permute-and-flip"},
    {"method": "peel-gumbel", "delta": 1e-6},
    {"method": "gamma"},
    {"method": "laplace", "max_items": 2},
    {"method": "laplace", "max_items": 2, "with_counts": True},
    {"method": "laplace"},
    {"method": "oneshot-approximate", "delta": 1e-6, "epsilon": 0.1},
    {"method": "auto"},
    {"method": "auto", "ordered": True},
    {"method": "auto", "ordered": False},
    {"method": "auto", "delta": 1e-6},
    {"method": "auto", "max_items": 1},
    {"method": "auto", "monotone": False},
    {"method": "none"},
)
HIDDEN: tuple[dict[str, Any], ...] = (
    {"method": "auto"},
    {"method": "limited-domain"},
    {"method": "limited-domain", "reach": 4},
    {"method": "stability"},
    {"method": "stability", "with_counts": True},
    {"method": "joint"},
)


def words(options: dict[str, Any], bare: str = "mechanism") -> str:
    """A name for options."""
    return " ".join(
        str(value) if name in (bare, "noise", "relation") else f"{name}={value}"
        for name, value in options.items()
    )


def short(options: dict[str, Any]) -> str:
    """A name for options in which the method stands by its word."""
    return words(options, "method")


def asked(record: type[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Options of a verb, in which those of a method stand in its object."""
    field = chooser(record)
    assert field is not None and isinstance(field.option, Methods)
    given = dict(options)
    own = {name: given.pop(name) for name in OWN if name in given}
    if "method" in given:
        given["method"] = field.option.build(given["method"], own)
    return given


def taken(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """What describes the data, taken out of the options."""
    return {name: options.pop(name) for name in names if name in options}


def select(scored: Any = VOTES, **options: Any) -> Any:
    about = taken(options, "sensitivity", "monotone", "relation")
    sealed = wn.seal_scores(scored, **about) if about else scored
    return wn.select(sealed, **{"epsilon": 0.5, "seed": SEED, **asked(Select, options)})


def top_k(counts: Any = VOTES, **options: Any) -> Any:
    if "monotone" in options:
        sealed: Any = wn.seal_scores(counts, **taken(options, "monotone", "relation"))
    else:
        sealed = wn.seal_counts(counts, **taken(options, "max_items", "relation"))
    return wn.top_k(sealed, **{"k": 3, "epsilon": 0.5, "seed": SEED, **asked(TopK, options)})


def hidden(**options: Any) -> Any:
    counted = _counted(options.pop("relation"))
    given = {"k": 4, "epsilon": 2, "delta": 1e-6, "seed": SEED, **asked(TopK, options)}
    return wn.top_k(counted, **given)


@cache
def _counted(relation: str) -> wn.SealedCounts:
    return wn.counts(
        pd.DataFrame(log()), item="page", person="visitor", max_items=2,
        relation=relation, reading=wn.Reading(salt="golden"),
    )  # fmt: skip


def listed() -> Any:
    """Counts of a log with a public list of items."""
    counted = wn.counts(
        pd.DataFrame(log()), item="page", person="visitor", items=["home", "shop", "news", "none"],
        reading=wn.Reading(salt="golden"),
    )  # fmt: skip
    top = wn.top_k(counted, k=2, epsilon=2, seed=SEED)
    return [repr(counted), repr(counted.to_scores()), top]


def stream() -> Any:
    opened = wn.open_above(threshold=20, epsilon=2, cutoff=2, monotone=True, seed=SEED)
    asked = [opened.ask(value) for value in (3, 41, 12)]
    asked.append(opened.ask([39, 35, 11]))
    return [repr(opened), asked, opened.answered, opened.exhausted]


def _vectors(number: int = 60) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    place = np.arange(number * 4)
    return (place * 61 % 127 / 64 - 1).reshape(number, 4), np.array([5.0, -3.0, 2.5, 0.25])


def nearest(**options: Any) -> Any:
    candidates, query = _vectors()
    given = {"epsilon": 1, "seed": SEED, **options}
    relation = given.pop("relation", "add-remove")
    private = wn.seal_query(query, sensitivity=1, relation=relation)
    return wn.mips(candidates, private, **given | {"method": _search(given)})


def _search(given: dict[str, Any]) -> Any:
    said = {name: given.pop(name) for name in ("index", "head", "slack") if name in given}
    if not said:
        return "auto"
    return wn.Scan() if said["index"] == "exact" else wn.Indexed(**said)


def boost(**options: Any) -> Any:
    place = np.arange(90)
    labels = np.where(place % 7 < 4, 1, -1)
    wrong = [(place * (learner + 2)) % (learner + 4) == 0 for learner in range(12)]
    predictions = np.stack([np.where(each, -labels, labels) for each in wrong])
    given = {"epsilon": 3, "rounds": 4, "seed": SEED, **options}
    relation = given.pop("relation", "add-remove")
    sealed = wn.seal_examples(predictions, labels, relation=relation)
    released = wn.boost(sealed, **given | {"method": _search(given)})
    return [released, released.value.vote(predictions)]


def session() -> Any:
    with wn.Session(epsilon=2, accountant="pure", seed=SEED) as opened:
        done = [
            opened.select(VOTES, epsilon=0.5),
            opened.top_k(VOTES, k=2, epsilon=0.5, method="joint"),
            opened.above(VOTES, threshold=20, epsilon=0.25),
        ]
        return [repr(opened), done, repr(opened.budget), repr(opened)]


def refused() -> Any:
    with wn.Session(epsilon=1, seed=SEED) as opened:
        opened.select(VOTES, epsilon=0.75)
        return opened.select(VOTES, epsilon=0.5)


def _kinds() -> dict[str, Any]:
    """The same scores in every form that is taken."""
    columns = {"dish": list(VOTES), "n": list(VOTES.values())}
    return {
        "list": list(VOTES.values()),
        "array": np.array(list(VOTES.values())),
        "whole labels": {7: 41, 8: 40, 9: 3},
        "pandas series": pd.Series(VOTES),
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "arrow": pa.table(columns),
    }


def cases() -> dict[str, Case]:
    """All of them by name."""
    found: dict[str, Any] = {}
    for how, relation in product(SELECTIONS, RELATIONS):
        more_of = {"add-remove": ({}, {"monotone": True}, {"k": 3}), "substitution": ({},)}
        for more in more_of[relation]:
            options = how | {"relation": relation} | more
            found[f"select {short(options)}"] = lambda o=options: select(**o)
    for how in SELECTIONS:
        for number in (1_000, 60_000):
            options = how if how["method"] == "large-margin" else how | {"k": 2}
            found[f"select {short(options)} of {number}"] = lambda o=options, n=number: select(
                scores(n), **o
            )
    for name, kind in _kinds().items():
        found[f"select from {name}"] = lambda k=kind: [select(k), select(k, k=2)]
    found["select sensitivity=(1, 2)"] = lambda: select(sensitivity=(1, 2))
    found["select sensitivity=0.25"] = lambda: select(sensitivity=0.25, k=2)
    found["select epsilon=0"] = lambda: select(epsilon=0)
    found["select method=none"] = lambda: select(method="none")
    found["select nan"] = lambda: select([1.0, float("nan")])
    for how, relation in product(TOPS, RELATIONS):
        options = how | {"relation": relation}
        found[f"top_k {short(options)}"] = lambda o=options: top_k(**o)
    for how in TOPS[:8] + TOPS[14:20]:
        options = how | {"k": 20}
        found[f"top_k {short(options)} of 4000"] = lambda o=options: top_k(
            scores(4000).astype(np.int64), **o
        )
    for how, relation in product(HIDDEN, RELATIONS):
        options = how | {"relation": relation}
        found[f"top_k private labels {short(options)}"] = lambda o=options: hidden(**o)
    found["top_k of counts over a public list"] = listed
    for relation, cutoff in product(RELATIONS, (1, 3)):
        found[f"above {relation} cutoff={cutoff}"] = lambda r=relation, c=cutoff: wn.above(
            wn.seal_scores(VOTES, relation=r), threshold=20, epsilon=1, cutoff=c, seed=SEED
        )
    found["above monotone"] = lambda: wn.above(
        wn.seal_scores(VOTES, monotone=True), threshold=20, epsilon=1, cutoff=2, seed=SEED
    )
    found["open_above"] = stream
    for index, more in product(
        ("exact", "flat", "lsh"), ({}, {"k": 3}, {"signed": True}, {"relation": "substitution"})
    ):
        options = {"index": index} | more
        found[f"mips {words(options)}"] = lambda o=options: nearest(**o)
    for slack in (0, 0.1):
        options = {"index": "lsh", "head": 20, "slack": slack}
        found[f"mips {words(options)}"] = lambda o=options: nearest(**o)
    found["boost"] = boost
    for more in ({"delta": 1e-6}, {"relation": "substitution"}, {"index": "flat"},
                 {"index": "lsh", "slack": 0.05}):  # fmt: skip
        found[f"boost {words(more)}"] = lambda o=more: boost(**o)
    found["as data"] = lambda: [
        select().to_json(), top_k(with_counts=True).to_dict(), select(k=2).receipt.to_dict(),
        boost()[0].to_dict(), nearest(k=2).to_dict(), select().receipt.lines(),
    ]  # fmt: skip
    found["session"] = session
    found["session refuses"] = refused
    return {name: Case(run) for name, run in found.items()}
