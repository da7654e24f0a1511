"""Replays of labels that nobody listed, from the people of a log and from ready counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from winnow.audit.replay.compare import FULL_ONLY, Replay, ReplayPlace
from winnow.audit.replay.people import Family, People
from winnow.audit.replay.selections import HOLDERS, HOLDERS_OF_TWO, variant_of
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.errors import BudgetExceeded
from winnow.select.audit.kept import ListedCounts
from winnow.select.audit.listed_people import counts_of
from winnow.select.label_methods import (
    OptimalRule,
    TruncatedLaplace,
    WeightedGaussian,
)
from winnow.select.top_k_methods import PrivateLabelsMethod
from winnow.select.verb import labels
from winnow.session import Session

HOLDERS_OF_ONE = Family(
    (("a",), ("b",), ("c",)),
    odd=((("a",),), (("a",), ("b",), ("b",)), (), (("c",),) * 3),
)
"""People with one item each."""
_FAMILIES = {None: HOLDERS, 1: HOLDERS_OF_ONE, 2: HOLDERS_OF_TWO}


def label_replays() -> Iterator[Replay]:
    """One entry for each method, and for each place where its counts may lie."""
    spread: tuple[PrivateLabelsMethod | str, ...] = (
        "auto",
        WeightedGaussian(rounds=1),
        WeightedGaussian(rounds=2, cap=2),
    )
    for method in spread:
        for relation in Relation:
            yield _labels(method, None, relation, weighed=True)
    yield _session()
    bounded: tuple[PrivateLabelsMethod | str, ...] = (
        "auto",
        WeightedGaussian(),
        TruncatedLaplace(),
        OptimalRule(),
    )
    for method in bounded:
        most = 1 if isinstance(method, OptimalRule) else 2
        for kept in (False, True):
            yield _labels(method, most, Relation.ADD_REMOVE, kept=kept)
        yield _labels(method, most, Relation.SUBSTITUTION)


def _session() -> Replay:
    """A session with a delta, until its budget refuses."""

    def call(people: People, place: ReplayPlace) -> Any:
        cap: dict[str, Any] = {"epsilon": 2.0, "delta": 0.2, "seed": place.seed}
        with Session(**cap) as session:
            counts = replace(counts_of(people, Relation.ADD_REMOVE), max_items=1)
            released = session.labels(counts, epsilon=1.5, delta=0.1)
            try:
                session.labels(counts, epsilon=1.5, delta=0.1)
            except BudgetExceeded as refusal:
                return {"released": released, "refusal": str(refusal), "left": repr(session.budget)}
        return {"released": released}

    words = {"method": ("labels",)}
    return Replay("Session", "labels of a log", call, HOLDERS_OF_ONE, words=words)


def _labels(
    method: PrivateLabelsMethod | str,
    most: int | None,
    relation: Relation,
    *,
    weighed: bool = False,
    kept: bool = False,
) -> Replay:
    options: dict[str, Any] = {"method": method, "epsilon": 2.0, "delta": 0.2}

    def call(people: People, place: ReplayPlace) -> Any:
        counts = counts_of(people, relation)
        if kept:
            counts_by_label = Counter(label for owned in people for label in owned)
            names = sorted(counts_by_label)
            listed = ListedCounts([counts_by_label[name] for name in names], names)
            counts = replace(counts, values=Sealed(listed, "counts"))
        at_hand = counts.weighed if weighed else None
        counts = replace(counts, max_items=most, weighed=at_hand)
        return labels(counts, seed=place.seed, **options)

    where = "a log" if weighed else f"at most {most} items each"
    variant = f"{variant_of(options)}, {where}{', counts kept' * kept}"
    quick = relation is Relation.ADD_REMOVE and not kept
    groups = (1, 4) if quick else FULL_ONLY
    words = {"method": method if isinstance(method, str) else method.word()}
    return Replay("labels", variant, call, _FAMILIES[most], relation, words, groups)
