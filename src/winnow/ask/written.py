"""A session's plan in its state file: written as plain data, and read back.

Version 3 has the records of ``ask.sizes``. Version 2 had all constants beside each other, and the
event, which follows from them.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from winnow.ask.methods import Independent, MultiplicativeWeights
from winnow.ask.request import Ask
from winnow.ask.sizes import (
    Fallback,
    IndependentSizes,
    Rounds,
    Sized,
    Sizes,
    Start,
    Threshold,
    WeighedCells,
    WeightsSizes,
)
from winnow.core.relation import Relation
from winnow.privacy import Guarantee, from_json
from winnow.read.about import AboutTable
from winnow.read.crossing import SealedTable

if TYPE_CHECKING:
    from winnow.ask.plan import AskPlan


def written(plan: AskPlan) -> dict[str, Any]:
    """A plan as it will be read back, so that what is signed is what is found."""
    document = {
        "method": plan.method,
        "relation": str(plan.relation),
        "guarantee": plan.guarantee.to_dict(),
        "sizes": asdict(plan.expected),
        "explicit": plan.explicit,
        "reason": plan.reason,
    }
    plain: dict[str, Any] = json.loads(json.dumps(document))
    return plain


def read_plan(document: dict[str, Any], table: SealedTable) -> AskPlan:
    """The plan that was written, for the table that it was made for."""
    from winnow.ask.plan import made

    if "plan" in document:
        document = _from_version_2(document)
    sizes = _sizes(document["method"], document["sizes"])
    guarantee = Guarantee(**document["guarantee"])
    asked = Ask(
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        method=document["method"],
        max_queries=sizes.max_queries,
        beta=sizes.beta,
    )
    about = AboutTable(
        cells=table.schema.cells,
        relation=Relation.parse(document["relation"]),
        schema=table.schema,
        rows=sizes.rows,
        rows_per_person=sizes.rows_per_person,
    )
    explicit, reason = bool(document["explicit"]), str(document["reason"])
    return made(asked, about, Sized(sizes, guarantee), reason, explicit=explicit)


def _sizes(method: str, said: dict[str, Any]) -> Sizes:
    if method == Independent.word():
        return IndependentSizes(**said)
    universe, start, fallback = said["universe"], said["start"], said["fallback"]
    listed = universe["listed"]
    parts: dict[str, Any] = {
        "universe": WeighedCells(
            **{**universe, "listed": None if listed is None else tuple(map(tuple, listed))}
        ),
        "rounds": Rounds(**said["rounds"]),
        "threshold": Threshold(**said["threshold"]),
        "start": None if start is None else Start(**start),
        "fallback": None if fallback is None else Fallback(**fallback),
    }
    return WeightsSizes(**{**said, **parts})


def _from_version_2(document: dict[str, Any]) -> dict[str, Any]:
    """A file of version 2 in the words of version 3."""
    old = document["plan"]
    relation = from_json(old["event"]).relation
    same = ("rows", "rows_per_person", "max_queries", "beta", "accountant")
    sizes: dict[str, Any] = {name: old[name] for name in same}
    weights, asked = "updates" in old, f"{old['max_queries']} questions"
    if weights:
        why = [old["calibration"], asked, document["reason"]]
        sizes |= _weights_of_version_2(old)
    else:
        why = [document["reason"]] if document["reason"] else ["as asked", asked]
        sizes |= {"multiplier": old["noise_multiplier"], "noise": old["noise"]}
    return {
        "method": (MultiplicativeWeights if weights else Independent).word(),
        "relation": str(relation),
        "guarantee": old["guarantee"],
        "sizes": sizes,
        "explicit": document["explicit"],
        "reason": "; ".join(part for part in why if part),
    }


def _weights_of_version_2(old: dict[str, Any]) -> dict[str, Any]:
    start, fallback = old["prior_multiplier"], old.get("fallback_multiplier")
    return {
        "universe": {
            "cells": old["cells"],
            "kept": old["domain"],
            "whole": old["universe"] is None,
            "gamma": old["gamma"],
            "seed": old["universe_seed"],
            "listed": old.get("listed"),
        },
        "rounds": {name: old[name] for name in ("updates", "epsilon", "steps", "noise")},
        "threshold": {
            "last": old["threshold"],
            "gap": old["gap"],
            "guaranteed": old["guaranteed"],
            "low": old.get("low"),
            "entropy": old.get("entropy", 0.0),
        },
        "calibration": old["calibration"],
        "fixed_step": old["fixed_step"] if old["step"] == "fixed" else None,
        "start": None
        if start is None
        else {
            "multiplier": start,
            "ways": old.get("prior_ways", 1),
            "mix": old.get("prior_mix", 0.1),
        },
        "fallback": None
        if fallback is None
        else {"multiplier": fallback, "noise": old["fallback_noise"]},
        "typical": old.get("typical", 1.0),
    }
