"""Counts by a key: the keys are a public list, or come from the data and pass a threshold."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from winnow.core.checks import Real
from winnow.core.plan import plan_of
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.schema import Schema
from winnow.errors import ParameterError
from winnow.privacy import Budget
from winnow.read.counts import SealedCounts
from winnow.tables.estimates import layer_of
from winnow.tables.measured import NoisyForm, TableForm
from winnow.tables.mechanism import MeasureTables
from winnow.tables.parts import TablePart
from winnow.tables.result import ReleasedTables
from winnow.tables.strategy import Geometry
from winnow.tables.trees import flat
from winnow.topk.beside import cut_beside, run_beside
from winnow.topk.mechanisms.noisy_counts import NoisyCounts
from winnow.topk.mechanisms.unknown_domain import StabilityThreshold

MOST_KEYS = 1 << 31
KEY = "item"
"""The name of the column of keys."""


def tabulate_keys(
    counts: SealedCounts,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    relation: str | Relation | None = None,
    with_cut: Real = 0.0,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[ReleasedTables]:
    """The count of every key with discrete Laplace noise, as a table of one column.

    Where the keys come from the data, those whose noisy count reaches the stability threshold
    are released, which costs the delta; that a key passed is a reason to expect its noise to be
    positive, so counts near the threshold are too high in the mean.
    """
    most = counts.max_items
    if most is None:
        raise ParameterError(
            "the noise needs a bound on the items of one person; count with max_items="
        )
    if relation is not None and Relation.parse(relation) is not counts.utility.relation:
        raise ParameterError(
            f"these counts are under {counts.utility.relation}; count under the relation that is "
            "asked for"
        )
    beside = cut_beside(with_cut, epsilon, counts.people)
    own = epsilon if beside is None else beside.rest
    paid: dict[str, Any] = {"budget": budget, "seed": seed}
    if counts.domain_known:
        scores = counts.to_scores()
        public = NoisyCounts(own, scores.size, most, with_counts=True)
        pairs = run_beside(beside, plan_of(public, counts.relation), scores, **paid)
        return pairs.map(partial(_as_table, scale=public.scale(counts.utility)))
    private = StabilityThreshold(own, delta, MOST_KEYS, most, with_counts=True)
    pairs = run_beside(beside, plan_of(private, counts.relation), counts, **paid)
    return pairs.map(partial(_as_table, scale=private.scale(counts.utility)))


def _as_table(pairs: list[Any], scale: Fraction) -> ReleasedTables:
    """Labels with noisy counts as a table, the labels in their own order."""
    pairs = sorted(pairs, key=lambda pair: str(pair[0]))
    if not pairs:
        return ReleasedTables((), (), "laplace")
    labels = [label if isinstance(label, str) else str(label) for label, _ in pairs]
    schema = Schema.parse({KEY: {"values": labels}})
    part = TablePart(schema, (0,))
    tree = flat(len(pairs))
    measured = NoisyForm(TableForm(((0, 0),), False), scale)
    mechanism = MeasureTables(((0, tree),), (measured,), "laplace")
    layer = layer_of(
        Geometry((part,), {0: tree}), mechanism, [np.array([number for _, number in pairs])]
    )
    return ReleasedTables((part,), (layer,), "laplace")
