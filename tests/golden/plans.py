"""Plans: what is promised before anything is spent."""

from __future__ import annotations

from typing import Any

import numpy as np

import winnow as wn
from golden.cases import Case, plain, rounded
from golden.data import SCHEMA, VOTES
from golden.selection import NOISES, short, words
from reference import planned
from reference.asking import planned as planned_questions
from reference.mechanisms import Canonical, GammaMechanism, Joint, PeelGumbel, PermuteAndFlip
from reference.programs import plan
from winnow.select.plan.top_k.probabilities import top_chance, top_sequence_chance

LAST_YEAR = {"ramen": 40, "tacos": 38, "pho": 30, "salad": 15, "soup": 9, "stew": 2}
SELECTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"method": "exponential"},
    {"method": "noisy-max"},
    {"method": "large-margin", "delta": 1e-6},
    {"method": "large-margin", "delta": 1e-6, "thresholds": "printed"},
    *({"method": "lipschitz", "noise": noise} for noise in NOISES),
    {"monotone": True},
    {"relation": "substitution"},
    {"k": 2},
    {"epsilon": None, "chance": 0.9},
    {"epsilon": None, "error": 3},
    {"gaps": None, "candidates": 100},
    {"gaps": 20, "candidates": 100},
    {"gaps": {5: 3, 9: 10}},
    {"sensitivity": (1, 2)},
)
TOPS: tuple[dict[str, Any], ...] = (
    {"method": "auto"},
    {"method": "auto", "delta": 1e-6, "max_items": 2},
    {"method": "auto", "ordered": True},
    {"method": "joint", "epsilon": None, "chance": 0.9},
    {"method": "canonical", "gamma": 0.25, "noise": "gumbel"},
    {"method": "oneshot", "relation": "substitution"},
    {"method": "laplace"},
)


def shown(plan: Any, digits: int = 8) -> Any:
    """A plan as it is printed and saved; sums and integrals to some digits."""
    table = getattr(plan, "table", None)
    return rounded(
        plain({"repr": rounded(repr(plan), digits)[:200], "str": str(plan), "dict": plan.to_dict(),
               "table": table() if callable(table) else None}),
        digits,
    )  # fmt: skip


def select(**options: Any) -> Any:
    given = {"gaps": [2, 6, 29, 30, 38], "epsilon": 0.5, **options}
    return shown(planned.select(given.pop("gaps"), **given))


def top_k(**options: Any) -> Any:
    given = {"k": 2, "epsilon": 0.5, "draws": 40, **options}
    return shown(planned.top_k(list(LAST_YEAR.values()), **given))


def about(given: dict[str, Any]) -> Any:
    """A table of 5,000 rows, with what was said of it."""
    said = {name: given.pop(name) for name in ("relation", "max_rows") if name in given}
    return wn.plan.table(SCHEMA, rows=5000, **said)


def mwem_bounds(**options: Any) -> Any:
    given = {"epsilon": 1, "delta": 1e-6, "rounds": 10, **options}
    return shown(wn.plan.mwem_bounds(about(given), wn.marginals(2), **given))


def release(**options: Any) -> Any:
    given = {"epsilon": 1, "delta": 1e-6, **options}
    if "error" in options:
        given.pop("epsilon")
    # An optimised matrix is the end of a search, whose steps round as the processor does.
    return shown(wn.plan.release(about(given), wn.marginals(2), **given), digits=5)


def tabulate(**options: Any) -> Any:
    given = {"by": wn.marginals(2), "epsilon": 1, "delta": 1e-6, **options}
    if "error" in options:
        given.pop("epsilon")
    said = {name: given.pop(name) for name in ("relation", "max_rows") if name in given}
    return shown(wn.plan.tabulate(wn.plan.table(SCHEMA, **said), given.pop("by"), **given))


def moments(**options: Any) -> Any:
    given = {"values": ["pay"], "statistics": ["mean", "deviation"], "epsilon": 1, **options}
    if "error" in options:
        given.pop("epsilon")
    said = {name: given.pop(name) for name in ("relation", "max_rows", "rows") if name in given}
    schema = {**SCHEMA, "pay": {"type": "number", "low": 0, "high": 5000, "step": 0.5}}
    return shown(wn.plan.moments(wn.plan.table(schema, **said), **given))


def quantiles(**options: Any) -> Any:
    given = {"column": "pay", "quantiles": [0.1, 0.5, 0.9], "epsilon": 1, **options}
    if "error" in options:
        given.pop("epsilon")
    said = {name: given.pop(name) for name in ("relation", "max_rows", "rows") if name in given}
    schema = {**SCHEMA, "pay": {"type": "number", "low": 0, "high": 5000, "step": 0.5}}
    return shown(wn.plan.quantiles(wn.plan.table(schema, **said), **given))


def histogram(**options: Any) -> Any:
    given = {"column": "pay", "bins": 8, "epsilon": 1, **options}
    if "error" in options:
        given.pop("epsilon")
    said = {name: given.pop(name) for name in ("relation", "max_rows") if name in given}
    schema = {"pay": {"type": "number", "low": 0, "high": 5000, "step": 0.5, "missing": True}}
    return shown(wn.plan.histogram(wn.plan.table(schema, **said), **given))


def ask(**options: Any) -> Any:
    given = {"n": 20_000, "epsilon": 1, "delta": 1e-6, "max_queries": 500, **options}
    return shown(planned_questions(SCHEMA, **given))


def margin(**options: Any) -> Any:
    given = {"epsilon": 0.5, "delta": 1e-6, **options}
    made = wn.plan.large_margin(given.pop("gaps", None), **given)
    return [shown(made), made.verdict if isinstance(made.verdict, str) else made.verdict()]


PUBLIC = {"x": 3, "y": 2, "z": {"edges": [0, 1, 2, 3]}}


def learn(**options: Any) -> Any:
    about = wn.plan.labelled(PUBLIC, options.pop("target"), rows=5000)
    return shown(wn.plan.learn(about, epsilon=0.5, **options))


def learning_bound(**options: Any) -> Any:
    return shown(wn.plan.learning_bound(1000, rows=5000, epsilon=0.5, **options))


def lp(**options: Any) -> Any:
    given = {"method": "scalar-sides", "opt": 60, "epsilon": 2, "delta": 1e-6, "rounds": 12,
             "sensitivity": 1, **options}  # fmt: skip
    matrix = [[1.0, 0.5, 0.0], [0.25, 1.0, 1.0]]
    made = plan(matrix, [1.0, 2.0, 1.0], **given)
    return rounded(plain([repr(made.expected), str(made), made.error, made.expected.hopeless]), 8)


def chances() -> Any:
    scores = np.array(list(VOTES.values()))
    mechanisms = (Joint(0.5, 2), Canonical(0.5, 2), PermuteAndFlip(0.5),
                  PeelGumbel(0.5, k=2, delta=1e-6), GammaMechanism(0.5, 2))  # fmt: skip
    found = [
        [repr(each), top_chance(each, scores), top_sequence_chance(each, scores)]
        for each in mechanisms
    ]
    return rounded(plain(found), 8)


def optimum() -> Any:
    return rounded(wn.plan.lp_optimum([[1.0, 2.0], [3.0, 1.0]], [4.0, 6.0], [1.0, 1.0]), 8)


def cases() -> dict[str, Case]:
    """All of them by name."""
    found: dict[str, Any] = {"chances": chances, "lp_optimum": optimum}
    for verb, several in (
        (select, SELECTIONS),
        (top_k, TOPS),
        (release, ({}, {"delta": 0}, {"relation": "add-remove"}, {"error": 30},
                   {"max_rows": 3, "method": "mwem"}, {"method": "graphical"})),
        (mwem_bounds, ({}, {"delta": 0}, {"rounds": None}, {"relation": "add-remove"},
                   {"accountants": ["zcdp"]}, {"max_rows": 3, "share": 0.25})),
        (tabulate, ({}, {"delta": 0}, {"by": ["sex"], "error": 9}, {"relation": "add-remove"},
                    {"max_rows": 3, "objective": "max"})),
        (moments, ({}, {"error": 9, "rows": 5000}, {"by": ["sex"], "delta": 1e-6},
                   {"relation": "add-remove"}, {"max_rows": 3, "relation": "add-remove"})),
        (quantiles, ({}, {"error": 9}, {"by": ["sex"], "method": wn.Halving(level=0.9)},
                     {"relation": "add-remove"}, {"rows": 1000}, {"method": "joint"},
                     {"max_rows": 3, "delta": 1e-6})),
        (histogram, ({}, {"error": 9}, {"split": "quantiles"}, {"relation": "add-remove"},
                     {"max_rows": 3, "bins": [0, 100, 2000]})),
        (ask, ({}, {"max_queries": 20}, {"updates": 3}, {"relation": "add-remove"})),
        (margin, ({}, {"candidates": 10**6}, {"gaps": [3, 3, 40], "monotone": True},
                  {"near": 5, "relation": "substitution"})),
        (learning_bound, ({}, {"delta": 1e-6}, {"delta": 1e-6, "near": 3},
                          {"relation": "add-remove"})),
        (learn, ({"target": "y"}, {"target": "x", "delta": 1e-6},
                 {"target": "y", "method": "stumps"})),
        (lp, ({}, {"opt": (20, 90), "searches": 3}, {"alpha": 5.0, "rounds": None},
              {"measure": True}, {"relation": "substitution", "delta": 0})),
    ):  # fmt: skip
        for options in several:
            named = short if verb in (select, top_k) else words
            name = f"{verb.__name__} {named(options)}".strip()
            found[name] = lambda v=verb, o=options: v(**dict(o))
    return {name: Case(run) for name, run in found.items()}
