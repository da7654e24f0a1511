"""Replays of quantiles and moments: tables, groups, tied numbers, missing values and none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from winnow.audit.replay.compare import Replay, ReplayPlace
from winnow.audit.replay.people import Family, People
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.describe.verb import describe
from winnow.numbers.bounds.verb import bounds
from winnow.numbers.histogram.verb import histogram
from winnow.numbers.in_bins import in_bins
from winnow.numbers.methods import Cumulative, Halving
from winnow.numbers.moments.verb import moments
from winnow.numbers.regress.verb import regress
from winnow.numbers.verb import quantiles
from winnow.read.crossing import SealedTable, group
from winnow.select.top_k_methods import Joint
from winnow.session import Session

SCHEMA = Schema.parse(
    {
        "sex": {"values": ["f", "m"]},
        "pay": {"type": "number", "low": 0, "high": 2, "step": 0.5, "missing": True},
    }
)
Split = Literal["equal", "quantiles", "adaptive"]
_ROWS = ((0, 0), (0, 4), (1, 2), (1, 5))
PAID = Family(
    _ROWS,
    odd=((_ROWS[0],), (_ROWS[0], _ROWS[3], _ROWS[1]), (), (_ROWS[2],) * 4, _ROWS),
    most=5,
)
"""People with one row each: paid nothing, a little, the most, or nobody knows."""


def number_replays() -> Iterator[Replay]:
    """One entry for each variant of asking about a column of numbers."""
    for relation in Relation:
        for title, options in (
            ("one", {"quantiles": [0.9]}),
            ("several", {"quantiles": [0.25, 0.5, 0.75], "delta": 0.01, "method": Halving()}),
            ("joint", {"quantiles": [0.25, 0.5, 0.75], "method": Joint()}),
            ("joint, of groups", {"quantiles": [0.2, 0.9], "by": ["sex"], "method": Joint()}),
            ("cumulative", {"quantiles": [0.25, 0.75], "method": Cumulative()}),
            ("of groups, with intervals", {"by": ["sex"], "method": Halving(level=0.9)}),
        ):
            yield Replay(
                "quantiles", title, _calling(relation, options), PAID, relation, groups=(1, 3)
            )

        splits: tuple[Split, ...] = ("equal", "quantiles", "adaptive")
        for split in splits:
            yield Replay(
                "histogram", split, _counting(relation, split), PAID, relation, groups=(1, 3)
            )
        yield Replay("describe", "", _describing(relation), PAID, relation, groups=(1, 3))
    for relation in Relation:
        asked: tuple[tuple[str, dict[str, Any]], ...] = (
            ("means", {}),
            ("variances", {"statistics": ["variance", "deviation"], "delta": 0.01}),
            ("of groups", {"by": ["sex"], "statistics": ["count", "deviation"]}),
            ("within private bounds", {"bounds": "auto"}),
        )
        for of, wanted in asked:
            call = _moments(relation, wanted)
            yield Replay("moments", of, call, PAID, relation, groups=(1, 3))
        yield Replay("bounds", "", _bounding(relation), PAID, relation, groups=(1, 3))
        for law, delta in (("box noise", 0.0), ("Gaussian noise", 0.01)):
            call = _regressing(relation, delta)
            yield Replay("regress", law, call, PAID, relation, groups=(1, 3))

    def in_session(people: People, place: ReplayPlace) -> Any:
        table = _paid(people, Relation.ADD_REMOVE)
        with Session(table, epsilon=1.0, seed=place.seed) as session:
            releases = {
                "quantiles": session.quantiles("pay", epsilon=0.4),
                "histogram": session.histogram("pay", bins=2, epsilon=0.4),
                "moments": session.moments("pay", epsilon=0.1),
                "describe": session.describe(epsilon=0.05, bins=2),
                "bounds": session.bounds("pay", epsilon=0.025),
                "regress": session.regress("pay", epsilon=0.025),
            }
            return releases | {"left": repr(session)}

    def binned(people: People, place: ReplayPlace) -> Any:
        table = in_bins(_paid(people, Relation.ADD_REMOVE), "pay", 2)
        return {"schema": table.schema, "shown": repr(table)}

    yield Replay("in_bins", "", binned, PAID, groups=(1, 3))
    said = ("quantiles", "histogram", "moments", "describe", "bounds", "regress")
    yield Replay("Session", "numbers", in_session, PAID, words={"method": said})


def _calling(relation: Relation, options: dict[str, Any]) -> Any:
    def call(people: People, place: ReplayPlace) -> Any:
        return quantiles(_paid(people, relation), "pay", epsilon=1.0, seed=place.seed, **options)

    return call


def _counting(relation: Relation, split: Split) -> Any:
    def call(people: People, place: ReplayPlace) -> Any:
        table = _paid(people, relation)
        return histogram(table, "pay", bins=3, split=split, epsilon=1.0, seed=place.seed)

    return call


def _bounding(relation: Relation) -> Any:
    def call(people: People, place: ReplayPlace) -> Any:
        return bounds(_paid(people, relation), "pay", epsilon=9.0, seed=place.seed)

    return call


def _regressing(relation: Relation, delta: float) -> Any:
    def call(people: People, place: ReplayPlace) -> Any:
        table = _paid(people, relation)
        return regress(table, "pay", ["sex"], epsilon=1.0, delta=delta, seed=place.seed)

    return call


def _moments(relation: Relation, options: dict[str, Any]) -> Any:
    def call(people: People, place: ReplayPlace) -> Any:
        return moments(_paid(people, relation), "pay", epsilon=1.0, seed=place.seed, **options)

    return call


def _describing(relation: Relation) -> Any:
    def call(people: People, place: ReplayPlace) -> Any:
        return describe(_paid(people, relation), epsilon=1.0, bins=3, top=2, seed=place.seed)

    return call


def several_quantiles(people: People, place: ReplayPlace) -> Any:
    """Three quantiles of what people are paid, with their intervals."""
    table = _paid(people, Relation.ADD_REMOVE)
    return quantiles(
        table, "pay", [0.1, 0.5, 0.9], epsilon=1.0, method=Halving(level=0.9), seed=place.seed
    )


def _paid(people: People, relation: Relation) -> SealedTable:
    codes = np.array(people, np.int32).reshape(-1, 2)
    columns = tuple(np.ascontiguousarray(codes[:, i]) for i in range(2))
    rows = group(columns, np.ones(len(codes), np.int64), SCHEMA.shape)
    return SealedTable(SCHEMA, Sealed(rows, "rows"), 1, relation)
