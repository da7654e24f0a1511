"""Plans of audited sessions: constants that an enumeration can follow, set by hand."""

from __future__ import annotations

from winnow.ask.plan import AskPlan, made
from winnow.ask.request import Ask
from winnow.ask.sizes import (
    Fallback,
    IndependentSizes,
    Rounds,
    Sized,
    Sizes,
    Threshold,
    WeighedCells,
    WeightsSizes,
)
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.privacy import Guarantee


def weights_plan(
    schema: Schema,
    *,
    rows: int,
    queries: int,
    rounds: Rounds,
    threshold: float,
    level: float,
    delta: float,
    fallback: Fallback | None = None,
) -> AskPlan:
    """A session whose hypothesis learns, one threshold throughout."""
    sizes = WeightsSizes(
        rows=rows,
        rows_per_person=1,
        max_queries=queries,
        beta=0.5,
        accountant="tight" if fallback is None else "zcdp",
        universe=WeighedCells(cells=schema.cells, kept=schema.cells),
        rounds=rounds,
        threshold=Threshold(last=threshold, gap=0.1, guaranteed=fallback is not None),
        calibration="target-charging",
        fallback=fallback,
    )
    return _plan(sizes, schema, level, delta)


def independent_plan(
    schema: Schema, *, rows: int, queries: int, multiplier: float, level: float, delta: float
) -> AskPlan:
    """A session with noise on every answer."""
    sizes = IndependentSizes(
        rows=rows,
        rows_per_person=1,
        max_queries=queries,
        beta=0.5,
        accountant="zcdp",
        multiplier=multiplier,
        noise=1.0,
    )
    return _plan(sizes, schema, level, delta)


def _plan(sizes: Sizes, schema: Schema, level: float, delta: float) -> AskPlan:
    from winnow.read.about import table

    stated = Guarantee(level, delta, Relation.SUBSTITUTION)
    asked = Ask(epsilon=level, delta=delta)
    return made(asked, table(schema, rows=sizes.rows), Sized(sizes, stated), "by hand")
