"""Events, guarantees, costs, calibrated plans and budgets: what is charged, to the last digit."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import winnow as wn
from golden.cases import Case, plain, rounded
from golden.public import privacy as pv
from reference.mechanisms import (
    AboveThreshold,
    Canonical,
    ExponentialMechanism,
    GammaMechanism,
    Joint,
    LargeMargin,
    LipschitzMechanism,
    PeelGumbel,
    PeelPermuteAndFlip,
    PermuteAndFlip,
    ReportNoisyMax,
    SparseVector,
)

RELATIONS = ("add-remove", "substitution")


def events(relation: str) -> dict[str, Any]:
    """One of every class, and sums of them."""
    pure, ranged = pv.PureDP(0.1, relation), pv.BoundedRange(Fraction(1, 3), relation)
    gauss, laplace = pv.Gaussian(12.5, relation), pv.DiscreteLaplace(8, relation)
    return {
        "PureDP": pure,
        "BoundedRange": ranged,
        "DiscreteLaplace": laplace,
        "Gaussian": gauss,
        "ApproxDP": pv.ApproxDP(0.5, 1e-6, relation),
        "CappedRounds": pv.CappedRounds(3, 0.05, 20, relation),
        "Repeat": pv.Repeat(pure, 10),
        "Compose": pv.Compose((ranged, gauss)),
        "AnyOf": pv.AnyOf((ranged, gauss)),
        "Truncated": pv.Truncated(pure, 1e-9),
        "rounds": pv.Repeat(pv.Compose((ranged, gauss)), 4),
        "all kinds": pv.Compose((pure, laplace, pv.Truncated(pv.Repeat(ranged, 2), 1e-9))),
    }


def tried(run: Any) -> Any:
    try:
        return run()
    except wn.WinnowError as error:
        return f"{type(error).__name__}: {error}"


def event(name: str, relation: str) -> Any:
    given = events(relation)[name]
    document = pv.to_json(given)
    found = {
        "repr": repr(given),
        "describe": pv.describe(given),
        "json": document,
        "reads back": pv.from_json(document) == given,
        "relation": str(given.relation),
        "pure_cost": tried(lambda: _numbers(pv.pure_cost(given))),
        "zcdp_cost": tried(lambda: _numbers(pv.zcdp_cost(given))),
        "as_substitution": tried(lambda: pv.describe(pv.as_substitution(given))),
        "tight_delta": tried(lambda: pv.tight_delta(given, 1.0)),
        "tight_epsilon": tried(lambda: pv.tight_epsilon(given, 1e-6)),
    }
    for delta, accountant in product((0, 1e-6), (None, "pure", "zcdp", "tight")):
        found[f"guarantee delta={delta} {accountant}"] = tried(
            lambda d=delta, a=accountant: _stated(pv.guarantee_of(given, d, a))
        )
    return rounded(plain(found), 12)


def _numbers(cost: Any) -> dict[str, Any]:
    """Short fractions as they are; long ones were rounded somewhere, and are here."""
    return {n: v if v.denominator < 10**6 else float(v) for n, v in vars(cost).items()}


def _stated(guarantee: Any) -> Any:
    return [str(guarantee), repr(guarantee), guarantee.to_dict()]


def guarantees() -> Any:
    given = [
        wn.Guarantee(epsilon, delta, relation, rho)
        for epsilon, delta, relation, rho in (
            (1.0, 0.0, "add-remove", None),
            (0.1, 1e-6, "substitution", None),
            (2.5, 1e-9, "add-remove", 0.125),
        )
    ]
    more = [each.to_substitution() for each in given if each.relation == "add-remove"]
    return rounded(plain([_stated(each) for each in given + more]), 12)


def table() -> Any:
    """The guarantee table, row by row, and what it charges."""
    return [
        [row.law, row.reduction, row.released, row.citation, [str(r) for r in row.relations]]
        for row in pv.rows()
    ]


def promises() -> Any:
    found = {}
    for row, relation in product(pv.rows(), RELATIONS):
        for options in (
            {"epsilon": 0.5},
            {"epsilon": 0.5, "kappa": 3},
            {"epsilon": 0.5, "delta": 1e-6},
            {"noise_multiplier": 4},
            {"epsilon": 0.5, "updates": 3, "steps": 10},
        ):
            made = tried(partial(pv.promise, row.law, row.reduction, relation, **options))
            if not isinstance(made, str):
                label = f"{row.law}, {row.reduction}, {relation}, {options}"
                found[label] = pv.describe(made.event)
    return found


def conversions() -> Any:
    found = {}
    for rho, delta in product((0.01, 0.125, 2), (1e-9, 1e-5)):
        epsilon = pv.zcdp_epsilon(rho, delta)
        found[f"rho={rho} delta={delta}"] = [
            epsilon, pv.zcdp_delta(rho, epsilon), pv.zcdp_rho(epsilon, delta)
        ]  # fmt: skip
    found["paper"] = [pv.paper_round_epsilon(1, 1e-6, rounds) for rounds in (1, 10, 1000)]
    return rounded(plain(found), 12)


def calibrations() -> Any:
    found = {}
    for accountant, relation in product(("best", "pure", "zcdp", "tight"), RELATIONS):
        for delta in (0, 1e-6):
            found[f"{accountant} {relation} delta={delta}"] = tried(
                lambda a=accountant, r=relation, d=delta: vars(
                    wn.calibrate(
                        lambda e: pv.Repeat(pv.BoundedRange(e, r), 20),
                        epsilon=1, delta=d, accountant=a,
                    )
                )
            )  # fmt: skip
    return rounded(plain(found))


def rounds() -> Any:
    found = {}
    first = pv.Gaussian(30, "substitution")
    for options in (
        {}, {"delta": 0}, {"measurement": "laplace"}, {"accountant": "zcdp"},
        {"accountant": "tight"}, {"accountant": "pure"}, {"share": 0.25}, {"initial": first},
    ):  # fmt: skip
        given = {"epsilon": 1, "delta": 1e-6, "relation": "substitution", **options}
        found[repr(options)] = tried(lambda g=given: vars(pv.calibrate_rounds(8, **g)))
    return rounded(plain(found))


def capped() -> Any:
    found = {}
    for updates, accountant in product((1, 5), ("tight", "zcdp")):
        found[f"{updates} {accountant}"] = tried(
            lambda u=updates, a=accountant: vars(
                pv.calibrate_capped(u, epsilon=1, delta=1e-6, relation="substitution", accountant=a)
            )
        )
    return rounded(plain(found))


def budget(**options: Any) -> Any:
    opened = wn.Budget(**options)
    grant = opened.charge(pv.PureDP(0.25, "add-remove"))
    states = [repr(opened), repr(grant), grant.used, vars(opened.spent), vars(opened.left)]
    more = tried(lambda: repr(opened.charge(pv.BoundedRange(0.5, "add-remove"))))
    other = tried(lambda: opened.charge(pv.PureDP(0.1, "substitution")))
    large = tried(lambda: opened.charge(pv.PureDP(5, "add-remove")))
    end = [str(opened.guarantee), opened.accountant, [pv.describe(e) for e in opened.events]]
    return rounded(plain([*states, more, other, large, *end, repr(opened.spent)]), 12)


def mechanisms() -> Any:
    """The exported mechanisms: their names, promises and texts."""
    given = (
        PermuteAndFlip(0.5), ExponentialMechanism(0.5), ReportNoisyMax(0.5),
        LipschitzMechanism(0.5, noise="laplace"), LargeMargin(0.5, 1e-6), Joint(0.5, 3),
        Canonical(0.5, 3), PeelPermuteAndFlip(0.5, 3), PeelGumbel(0.5, k=3, delta=1e-6),
        GammaMechanism(0.5, 3), SparseVector(0.5, 10, 2), AboveThreshold(0.5, 10),
        wn.IndexedExponential(0.5), wn.SlackExponential(0.5, slack=0.1),
    )  # fmt: skip
    return [[repr(each), each.name, repr(each.promise(wn.Relation.ADD_REMOVE))] for each in given]


def declarations() -> Any:
    utilities = [
        wn.Utility.declare(sensitivity, monotone=monotone, relation=relation)
        for sensitivity, monotone, relation in (
            (1, False, "add-remove"), (1, True, "add-remove"), (0.5, True, "substitution"),
            ((1, 2), False, "add-remove"), ((1, 2), False, "substitution"),
        )
    ]  # fmt: skip
    return [[repr(each), each.half_width, each.one_sided, each.width] for each in utilities] + [
        [str(each), repr(each), each.sentence] for each in wn.Relation
    ]


def cases() -> dict[str, Case]:
    """All of them by name."""
    found: dict[str, Any] = {
        f"event {name} {relation}": lambda n=name, r=relation: event(n, r)
        for relation in RELATIONS
        for name in events(relation)
    }
    found |= {
        "guarantees": guarantees, "guarantee table": table, "promises": promises,
        "conversions": conversions, "calibrate": calibrations, "calibrate_rounds": rounds,
        "calibrate_capped": capped, "mechanisms": mechanisms, "declarations": declarations,
    }  # fmt: skip
    for options in (
        {"epsilon": 1}, {"epsilon": 3, "delta": 1e-6}, {"epsilon": 2, "accountant": "pure"},
        {"epsilon": 3, "delta": 1e-6, "delta_for_events": 1e-7}, {"epsilon": 0.5, "delta": 1e-6},
        {"epsilon": 1, "relation": "substitution"}, {"epsilon": 1, "accountant": "none"},
    ):  # fmt: skip
        found[f"budget {options}"] = lambda o=options: budget(**o)
    return {name: Case(run) for name, run in found.items()}
