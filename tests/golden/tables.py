"""Synthetic tables, sessions of questions, itemsets, learning, linear programs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

import winnow as wn
from golden.cases import Case, plain, rounded
from golden.data import baskets, examples, log, table
from golden.selection import SEED, words
from reference.asking import opened as asking
from reference.choosing import chooser
from reference.programs import solve
from winnow.core.options import Methods
from winnow.itemsets.request import Itemsets

MANY = 20_000
"""Rows enough for a session that learns."""
WORKLOADS: dict[str, Any] = {
    "marginals": lambda: wn.marginals(2),
    "ways": lambda: wn.marginals(ways=[1, 2]),
    "prefixes": lambda: wn.prefixes("age"),
    "ranges": lambda: wn.ranges("rooms"),
    "some ranges": lambda: wn.ranges("rooms", 4, seed=3),
    "where": lambda: wn.where(age=(30, 50), sex="Female"),
    "predicates": lambda: wn.predicates(
        [wn.where(sex="Male"), wn.where({"town": ["north", "Ärö"], "rooms": (1, None)})]
    ),
    "queries": lambda: wn.queries(np.arange(96 * 3).reshape(3, 96) % 5 % 2),
    "bounded queries": lambda: wn.queries(
        (np.arange(96 * 3).reshape(3, 96) % 5 - 2) / 2, grid=2, bound=1
    ),
    "binary": lambda: wn.random_queries(6, seed=1),
    "sparse": lambda: wn.random_queries(6, density=0.1, seed=1),
    "real": lambda: wn.random_queries(6, kind="real", grid=4, seed=1),
    "gaussian": lambda: wn.random_queries(6, kind="gaussian", draws=40, seed=1),
    "sum": lambda: wn.marginals(1) + wn.prefixes("age"),
}
RELEASES: tuple[dict[str, Any], ...] = (
    {},
    {"delta": 0},
    {"update": "hardt"},
    {"update": "sign"},
    {"update": "sign", "step": 0.1},
    {"replay": 2},
    {"result": "average"},
    {"result": "last"},
    {"measurement": "laplace"},
    {"measurement": "gaussian"},
    {"share": 0.25},
    {"rounds": None},
    {"relation": "add-remove"},
    {"relation": "add-remove", "rows": 240},
    {"relation": "add-remove", "total_share": 0.1, "delta": 0},
    {"groups": [["age", "sex"], ["town", "rooms"]]},
    {"groups": [["age", "sex"], ["town", "rooms"]], "rounds": [2, 3]},
    {"universe": 40},
    {"accountant": "pure"},
    {"accountant": "zcdp"},
    {"accountant": "tight"},
    {"memory": 100},
    {"method": "adaptive"},
    {"method": "adaptive", "delta": 0, "rounds": None},
    {"method": "adaptive", "relation": "add-remove"},
    {"update": "none"},
)
SESSIONS: tuple[dict[str, Any], ...] = (
    {},
    {"method": "independent", "max_queries": 20},
    {"method": "auto", "max_queries": 20},
    {"relation": "add-remove", "rows": MANY},
    {"relation": "add-remove"},
    {"updates": 3},
    {"alpha": 0.1},
    {"alpha": 0.01},
    {"threshold": 0.05, "updates": 2},
    {"calibration": "paper"},
    {"warm_start": 0.25},
    {"threshold": 1e-6, "updates": 2, "fallback": 0.25},
    {"universe": 40, "smoothness": 4},
    {"memory": 100},
    {"max_queries": 4},
)
ITEMSETS: tuple[dict[str, Any], ...] = (
    {"method": "large-margin"},
    {"method": "large-margin", "thresholds": "printed"},
    {"method": "limited-domain"},
    {"method": "limited-domain", "reach": 9},
    {"method": "distance-to-instability"},
    {"method": "choosing", "max_items": 5},
    {"method": "choosing", "growth": 6},
    {"method": "choosing"},
)
LISTED = ("exponential", "permute-and-flip", "noisy-max", "joint", "canonical")


def workload(name: str) -> Any:
    bound = WORKLOADS[name]().over(table().schema)
    labels = [bound.label(place) for place in range(bound.size)]
    weights = np.arange(1, 97) / (96 * 97 / 2)
    return [repr(WORKLOADS[name]()), repr(bound), bound.size, labels[:20],
            rounded(plain(np.asarray(bound.answers(weights))[:20]))]  # fmt: skip


def release(**options: Any) -> Any:
    """The noise is exact; the fit that follows it is arithmetic of the processor."""
    given = {"epsilon": 2, "delta": 1e-6, "rounds": 3, "seed": SEED, **options}
    sealed = table().under(given.pop("relation", "substitution")).stating(given.pop("rows", None))
    method: Any = wn.Adaptive if given.pop("method", "mwem") == "adaptive" else wn.MWEM
    told = {each.name: given.pop(each.name) for each in fields(method) if each.name in given}
    run = wn.Run(memory=given.pop("memory", "4GB"))
    released = wn.release(sealed, wn.marginals(2), method=method(**told), run=run, **given)
    value = released.value
    return rounded(plain([
        [[each.label, each.count, each.sign, each.group] for each in value.measurements],
        {"guarantee": released.guarantee, "receipt": released.receipt},
        str(released),
        [repr(value), value.rests_on, repr(value.errors)],
        {"answers": value.answers()[:12], "rows": value.sample(4, seed=SEED)},
    ]))  # fmt: skip


def whole() -> Any:
    """One distribution with everything that it can be asked."""
    released = wn.release(
        table(columns="age sex"),
        wn.marginals([1, 2]),
        epsilon=2,
        delta=1e-6,
        seed=SEED,
        method=wn.MWEM(rounds=3),
    )
    value = released.value
    again = wn.SyntheticDistribution.from_dict(value.to_dict())
    return rounded(plain([
        released, value.table(), value.error_estimates(), value.marginal("sex"), value.weights(),
        value.counts(wn.prefixes("age")), again.answers(wn.marginals(1)), repr(again),
        str(value.sample(3, seed=1, frame="pandas")), str(value.sample(3, seed=1, frame="polars")),
    ]))  # fmt: skip


ANSWERED: tuple[dict[str, Any], ...] = (
    {},
    {"delta": 0},
    {"relation": "add-remove"},
    {"workload": wn.prefixes("age")},
)


def answered(**options: Any) -> Any:
    """A method without rounds: chosen, measured, fitted."""
    given = {"workload": wn.marginals(2), "epsilon": 2, "delta": 1e-6, "seed": SEED, **options}
    sealed = table(columns="age sex").under(given.pop("relation", "substitution"))
    released = wn.release(sealed, given.pop("workload"), **given)
    value: Any = released.value
    return rounded(plain([
        {"guarantee": released.guarantee, "receipt": released.receipt},
        str(released), [repr(value), value.method, value.errors.to_dict()],
        value.table()[:6], {"rows": value.sample(4, seed=SEED)},
    ]), 4)  # fmt: skip


TABULATED: tuple[dict[str, Any], ...] = (
    {},
    {"delta": 0},
    {"relation": "add-remove"},
    {"relation": "add-remove", "rows": 240, "objective": "max"},
    {"values": ["rooms"], "objective": "mean"},
    {"by": ["sex", "town"]},
    {"by": "sex"},
)


def tabulate(**options: Any) -> Any:
    """The noise is exact; the least squares that follow it are arithmetic of the processor."""
    by = wn.marginals(2, columns=["age", "sex", "rooms"]) + wn.prefixes("age")
    given = {"by": by, "epsilon": 1, "delta": 1e-6, "seed": SEED, **options}
    relation, rows = given.pop("relation", None), given.pop("rows", None)
    data = table() if relation is None else table().under(relation)
    released = wn.tabulate(data.stating(rows), given.pop("by"), **given)
    value, first = released.value, released.value.tables[0]
    return rounded(plain([
        {"guarantee": released.guarantee, "receipt": released.receipt},
        str(released), [repr(value), repr(first)],
        {name: held[:6] for name, held in first.to_columns().items()},
        [each.estimate.ravel()[:6] for each in value],
        [end.ravel()[:6] for end in first.interval(0.9, simultaneous=True)],
    ]), 8)  # fmt: skip


def per_person() -> Any:
    sealed = table(person="id", max_rows=2, relation="add-remove")
    released = wn.release(
        sealed, wn.marginals(1), epsilon=3, delta=1e-6, seed=SEED, method=wn.MWEM(rounds=3)
    )
    return [repr(sealed), str(released), [m.to_dict() for m in released.value.measurements]]


def wide() -> Any:
    """What was released, and the model that was fitted to it."""
    released = wn.release(
        table(), wn.marginals(2), epsilon=4, delta=1e-6, seed=SEED, method=wn.Graphical(rounds=2)
    )
    guarantee, receipt = plain(released.guarantee), plain(released.receipt)
    value = released.value
    about = [guarantee, receipt, repr(value), [list(clique) for clique in value.cliques]]
    fit = [value.fit.loss, value.fit.objective, value.fit.pull, value.answers(wn.marginals(2))]
    return [*about, plain([each.counts for each in value.marginals]), rounded(plain(fit), 6)]


def ask(**options: Any) -> Any:
    given = {"epsilon": 1, "delta": 1e-6, "max_queries": 500, "seed": SEED, **options}
    given.setdefault("method", "multiplicative-weights")
    with asking(table(MANY), **given) as opened:
        asked = [opened.ask(wn.where(age=(30, 50), sex="Female")), opened.ask(wn.where(rooms=1))]
        asked += opened.ask_all(wn.prefixes("rooms"))
        about = [repr(opened), opened.status, opened.rounds, opened.guarantee, opened.receipt]
        return rounded(plain([about, [[each.to_dict(), str(each)] for each in asked]]))


def synthesis() -> Any:
    with asking(
        table(MANY), epsilon=1, delta=1e-6, max_queries=500, updates=4, threshold=0.02, seed=SEED
    ) as opened:
        done = opened.synthesise(wn.marginals(1))
        found = [done.status, done.passes, done.updates, done.weights[:8], done.answers[:6]]
        return rounded(plain([*found, opened.status]))


def itemsets(**options: Any) -> Any:
    read = {name: options.pop(name) for name in ("items", "max_items") if name in options}
    own = {n: options.pop(n) for n in ("thresholds", "reach", "growth") if n in options}
    chosen = chooser(Itemsets)
    assert chosen is not None and isinstance(chosen.option, Methods)
    method = chosen.option.build(options.pop("method"), own)
    given = {"size": 2, "epsilon": 2, "delta": 1e-6, "seed": SEED, "method": method, **options}
    sealed = wn.read_baskets(
        baskets(), unit="basket", reading=wn.Reading(salt=f"seed {SEED}"), **read
    )
    return wn.itemsets(sealed, **given)


def pairs(layout: str) -> Any:
    """Baskets from a table, with people."""
    frame = pd.DataFrame(log())
    if layout == "pairs":
        read = wn.read_baskets(
            frame, layout=wn.Pairs(basket="visitor", item="page"), person="visitor", max_baskets=1,
            max_items=2, relation="substitution", reading=wn.Reading(salt="golden"),
        )  # fmt: skip
    else:
        names = ["home", "news", "shop"]
        frame = pd.DataFrame(
            {n: [(i * (p + 2)) % 3 for i in range(90)] for p, n in enumerate(names)}
        )
        read = wn.read_baskets(frame > 0, unit="basket", reading=wn.Reading(salt="golden"))
    found = wn.itemsets(read, size=2, k=2, epsilon=4, delta=1e-3, seed=SEED)
    return [repr(read), found]


def learn(of: str, about: Any = None, rule: Any = None, **options: Any) -> Any:
    points, classes = examples()
    method = wn.OneRule(of=of, cuts=[1.0, 2.5, 4.0, 6.0, 8.5], **(rule or {}))
    given = {"epsilon": 1, "seed": SEED, **options}
    released = wn.learn(wn.labelled(points, classes, **(about or {})), method=method, **given)
    value = released.value
    tried = [value.text, value.predict(points)[:12], value.score(points, classes), repr(value)]
    return rounded(plain([released, tried]), 12)


def learn_table(method: str, **options: Any) -> Any:
    given = {"epsilon": 1, "seed": SEED, **options}
    released = wn.learn(table(), "sex", method=method, **given)
    return rounded(plain([released, released.value.text, str(released.value.bound)]), 12)


def classifier() -> Any:
    points, classes = examples()
    model = wn.PrivateClassifier(
        wn.OneRule(of="stumps", cuts=[2.0, 4.0, 6.0]), epsilon=1, seed=SEED
    )
    before = repr(model)
    model.fit(points, classes)
    return [before, model.rule_, str(model.released_), model.score(points, classes),
            model.n_features_in_, model.classes_, sorted(model.get_params())]  # fmt: skip


def scalar_lp(**options: Any) -> Any:
    matrix, sides, costs = _program()
    given = {"method": "scalar-sides", "sensitivity": 1, "epsilon": 2, "delta": 1e-6, "opt": 60,
             "rounds": 12, "seed": SEED, **options}  # fmt: skip
    return rounded(plain(solve(matrix, sides, costs, **given)))


def constraint_lp(**options: Any) -> Any:
    matrix, sides, costs = _program(200)
    given = {"method": "person-rows", "entries": (0, 1), "sides": (20, 60), "rows": 200,
             "exceptions": 60, "epsilon": 4, "delta": 1e-6, "opt": 40, "rounds": 12,
             "seed": SEED, **options}  # fmt: skip
    return rounded(plain(solve(matrix, sides, costs, **given)))


def _program(rows: int = 40) -> tuple[Any, Any, Any]:
    matrix = (np.arange(rows * 6).reshape(rows, 6) * 13 % 17 / 16.0)[:, :5]
    return matrix, 30.0 + np.arange(rows) % 7, np.array([1.0, 2.0, 1.5, 1.0, 0.5])


def sealed() -> Any:
    """What sealed things say of themselves: nothing private."""
    return [
        repr(each) + " / " + str(each)
        for each in (
            table(), table(relation="add-remove"), wn.read_baskets(baskets(), unit="basket"),
            wn.seal_scores([1, 2], wn.Utility.declare(1, monotone=True, relation="add-remove")),
            wn.seal_vectors(np.eye(3), index="flat"),
        )
    ]  # fmt: skip


def session() -> Any:
    with wn.Session(table(MANY), epsilon=6, delta=1e-5, delta_for_events=1e-6, seed=SEED) as opened:
        done = [
            opened.top_k("town", k=2, epsilon=0.5),
            str(
                opened.release(
                    table(), wn.marginals(1), epsilon=1, delta=1e-6, method=wn.MWEM(rounds=2)
                )
            ),
            opened.learn(table(), "sex", method="stumps", epsilon=0.5),
        ]
        asked = opened.ask(epsilon=1, delta=5e-7, max_queries=50)
        found = [asked.ask(wn.where(sex="Male")), asked.guarantee, asked.receipt]
        asked.close()
        return rounded(plain([done, found, repr(opened)]))


def cases() -> dict[str, Case]:
    """All of them by name."""
    found: dict[str, Any] = {"sealed": sealed, "session": session, "release whole": whole,
                             "classifier": classifier}  # fmt: skip
    for name in WORKLOADS:
        found[f"workload {name}"] = lambda n=name: workload(n)
    for options in RELEASES:
        found[f"release {words(options)}".strip()] = lambda o=options: release(**o)
    found["release per person"] = per_person
    for options in ANSWERED:
        found[f"answered {words(options)}".strip()] = lambda o=options: answered(**o)
    for options in TABULATED:
        found[f"tabulate {words(options)}".strip()] = lambda o=options: tabulate(**o)
    for options in SESSIONS:
        found[f"ask {words(options)}".strip()] = lambda o=options: ask(**o)
    found["ask synthesise"] = synthesis
    for options in ITEMSETS:
        for more in ({}, {"k": 2, "supports": "winners"}):
            both = options | more
            found[f"itemsets {words(both)}".replace("method=", "")] = lambda o=both: itemsets(**o)
    names = ["bread", "butter", "jam", "milk", "tea"]
    for mechanism in LISTED:
        for more in ({}, {"k": 2}, {"k": 2, "supports": "winners"}):
            both = {"method": mechanism, **more}
            name = f"itemsets listed {words(both)}".replace("method=", "")
            found[name] = lambda o=both: itemsets(items=names, delta=0, **o)
        found[f"itemsets unlisted {mechanism}"] = lambda m=mechanism: itemsets(method=m, delta=0)
    for layout in ("pairs", "indicators"):
        found[f"itemsets of {layout}"] = lambda w=layout: pairs(w)
    for name in ("thresholds", "stumps", "intervals", "conjunctions:2"):
        for more, said in (
            ("", {}),
            ("delta=1e-06 thresholds=printed",
             {"delta": 1e-6, "rule": {"thresholds": "printed"}}),
            ("selection=exponential relation=add-remove rows=120",
             {"rule": {"selection": "exponential"},
              "about": {"relation": "add-remove", "rows": 120}}),
            ("with_accuracy=True classes=(0, 1)",
             {"rule": {"with_accuracy": True}, "about": {"classes": (0, 1)}}),
        ):  # fmt: skip
            found[f"learn {name} {more}".strip()] = lambda n=name, o=said: learn(n, **o)
        found[f"learn a table {name}"] = lambda n=name: learn_table(n)
    found["learn predictions"] = lambda: wn.learn(
        wn.labelled(y=[0, 1] * 40, predictions=[[0, 1] * 40, [0] * 80]), epsilon=2, seed=SEED
    )
    for options in (
        {}, {"relation": "substitution"}, {"monotone": True}, {"opt": (20, 90), "searches": 3},
        {"measure": True}, {"maximise": False, "senses": ">="}, {"selection": "lazy"},
        {"selection": "dense"}, {"index": "flat"}, {"index": "lsh"}, {"bound": 60},
        {"alpha": 5.0, "rounds": None}, {"delta": 0}, {"sensitivity": None}, {"names": "abcde"},
    ):  # fmt: skip
        found[f"lp scalar {words(options)}".strip()] = lambda o=options: scalar_lp(**o)
    for options in (
        {}, {"relation": "substitution"}, {"selection": "lazy"}, {"index": "flat"},
        {"opt": (20, 60), "searches": 3, "alpha": 9.0}, {"measure": True, "alpha": 9.0},
        {"rows": None},
    ):  # fmt: skip
        found[f"lp constraint {words(options)}".strip()] = lambda o=options: constraint_lp(**o)
    found["release graphical"] = wide
    return {name: Case(run) for name, run in found.items()}
