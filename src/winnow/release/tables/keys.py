"""Counts by a key: the keys are a public list, or come from the data and pass a threshold."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from winnow.core.checks import Real
from winnow.core.plan import Plan, plan_of
from winnow.core.schema import Schema
from winnow.errors import ParameterError
from winnow.release.tables.choice import PLAIN
from winnow.release.tables.errors import Spread, predicted
from winnow.release.tables.estimates import layer_of, noise_variance
from winnow.release.tables.expected import StrategyRow, TableRow, TablesExpected
from winnow.release.tables.measured import NoisyForm, TableForm
from winnow.release.tables.mechanism import MeasureTables
from winnow.release.tables.parts import TablePart
from winnow.release.tables.result import ReleasedTables
from winnow.release.tables.strategy import Geometry
from winnow.release.tables.trees import flat
from winnow.select.about import AboutScores
from winnow.select.crossing.private_labels import EVERY
from winnow.select.mechanisms.noisy_counts import NoisyCounts
from winnow.select.methods import Sizes
from winnow.select.table import noisy_labels

KEY = "item"
"""The name of the column of keys."""


def keys_plan(public: AboutScores, epsilon: Real, delta: Real) -> Plan[Any, ReleasedTables]:
    """The count of every key with discrete Laplace noise, as a table of one column.

    Where the keys come from the data, those whose noisy count reaches a threshold are released,
    which costs the delta; that a key passed is a reason to expect its noise to be
    positive, so counts near the threshold are too high in the mean.
    """
    if public.max_items is None:
        raise ParameterError(
            "the noise needs a bound on the items of one person; count with max_items="
        )
    if public.private:
        method = noisy_labels(public.utility)
        sizes = Sizes(epsilon=epsilon, delta=delta, k=EVERY, with_counts=True)
        return _tabulated(method.among_private(public, sizes), public)
    if public.candidates is None:
        raise ParameterError(
            "the items are public, and nobody said how many there are; give "
            "wn.plan.counts(candidates=, max_items=)"
        )
    noisy = NoisyCounts(epsilon, public.candidates, public.max_items, with_counts=True)
    return _tabulated(noisy, public)


def _tabulated(mechanism: Any, public: AboutScores) -> Plan[Any, ReleasedTables]:
    made = partial(_as_table, scale=mechanism.scale(public.utility))
    return plan_of(mechanism, public.relation).map(made)


def keys_expected(plan: Plan[Any, ReleasedTables], public: AboutScores) -> TablesExpected:
    """What to expect of a table of keys; how many keys there are may be private."""
    mechanism: Any = plan.mechanism
    total = "not released"
    if public.candidates is None:
        return TablesExpected(f"{mechanism.title} threshold", total, (), ())
    variance = noise_variance(mechanism.scale(public.utility), "laplace")
    noise = Spread(np.array([math.sqrt(variance)]), public.candidates)
    errors = predicted([noise], "laplace")
    row = TableRow(KEY, public.candidates, errors.rms, errors.mean, errors.largest, errors.largest)
    taken = StrategyRow(PLAIN, "laplace", 1, errors.largest, errors.mean)
    return TablesExpected(f"{PLAIN}, laplace", total, (row,), (taken,))


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
