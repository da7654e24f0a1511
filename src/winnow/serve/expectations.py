"""What to expect of an order, from public numbers: its error, or the epsilon of a wanted one.

Nothing here sees the data. Noise is sized as the dataset's account will add it up, so that the
error that is planned is that of the release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, assert_never

import msgspec

from winnow import plan
from winnow.core.mechanism import rounds_accountant, sizing_accountant
from winnow.core.padding import SPARE
from winnow.errors import ParameterError
from winnow.privacy.budget import Budget
from winnow.read.counts import SealedCounts
from winnow.read.crossing import SealedTable
from winnow.read.scores import SealedScores
from winnow.serve import bodies
from winnow.serve.datasets import OpenDataset, fitting
from winnow.serve.orders import (
    MEMORY,
    counts_of,
    kind_of,
    moved_by,
    order_key,
    table_of,
    workload_of,
)
from winnow.topk.plan.rows import TopKRow
from winnow.topk.table import TopKOptions, choose

FLOOR = 1.0
"""No release appears earlier, in seconds: reading and writing take their time, too."""
_ITEMSETS = 30.0
"""Nothing public bounds how long mining takes; late results appear at doubled steps."""
_STEPS = 30


@dataclass(frozen=True)
class Expected:
    """What to expect of an order, from public numbers."""

    epsilon: float
    error: float | None
    says: str
    seconds: float
    details: dict[str, Any]


def expected(opened: OpenDataset, order: bodies.AnyOrder, budget: Budget) -> Expected:
    """What to expect of an order; of a wanted error, the epsilon that brings it."""
    fitting(opened, kind_of(order))
    if (order.epsilon is None) is (order.error is None):
        raise ParameterError("give epsilon, or the error that is wanted; one of the two")
    key = ("expected", order_key(order), budget.accountant)
    found = opened.plans.find(key, lambda: _expected(opened, order, budget))
    if order.epsilon is None:  # what comes of this error is what comes of its epsilon
        same = msgspec.structs.replace(order, epsilon=found.epsilon, error=None)
        opened.plans.put(("expected", order_key(same), budget.accountant), found)
    return found


def _expected(opened: OpenDataset, order: bodies.AnyOrder, budget: Budget) -> Expected:
    """Of an order with an estimate beside it, with the rest of epsilon; and what is counted."""
    share = order.with_cut if isinstance(order, bodies.TopKOrder | bodies.TablesOrder) else 0.0
    own = order
    if share:
        rest = None if order.epsilon is None else order.epsilon * (1 - share)
        own = msgspec.structs.replace(order, epsilon=rest, with_cut=0.0)
    found = _of_kind(opened, own, budget)
    if share:
        whole = found.epsilon / (1 - share) if order.epsilon is None else order.epsilon
        found = replace(found, epsilon=whole)
    counted = opened.protected.counted
    if found.error is None or not counted:
        return found
    return replace(found, says=f"{found.says}; counted: {counted}")


def _of_kind(opened: OpenDataset, order: bodies.AnyOrder, budget: Budget) -> Expected:
    match order:
        case bodies.SelectOrder():
            return _selection(opened, order)
        case bodies.TopKOrder():
            return _top_k(opened, order, budget)
        case bodies.TablesOrder():
            return _tables(opened, order, budget)
        case bodies.ItemsetsOrder():
            says = "nothing is known beforehand of the supports of itemsets"
            return Expected(_given(order), None, says, _ITEMSETS, {})
        case bodies.QueriesOrder():
            return _queries(opened, order, budget)
        case bodies.WideOrder():
            return _wide(opened, order, budget)
        case never:
            assert_never(never)


def _given(order: bodies.AnyOrder) -> float:
    if order.epsilon is None:
        raise ParameterError("nothing is known of this error beforehand; give epsilon")
    return order.epsilon


def _scores(opened: OpenDataset, column: str | None) -> SealedScores | None:
    """The public candidates; None: they are private."""
    found = counts_of(opened.stand_in, column)
    if isinstance(found, SealedCounts):
        return found.to_scores() if found.domain_known else None
    return found


def _selection(opened: OpenDataset, order: bodies.SelectOrder) -> Expected:
    """A bound that holds for any data, where the candidates are public."""
    found = _scores(opened, order.column)
    if found is None:
        raise ParameterError("the items are private; ask for top-k with a delta")
    planned = plan.select(
        candidates=found.size,
        epsilon=order.epsilon,
        target_error=order.error,
        mechanism=order.mechanism,
        k=order.k or 1,
        sensitivity=moved_by(opened.stand_in),
        monotone=True,
        relation=found.utility.relation,
    )
    says = (
        f"how far a selected one lies behind the best left out, in rows: with probability "
        f"{planned.confidence:g} not further, for any data"
    )
    return Expected(planned.epsilon, planned.bound, says, FLOOR, planned.to_dict())


def _top_k(opened: OpenDataset, order: bodies.TopKOrder, budget: Budget) -> Expected:
    """The same for the mechanism that would run."""
    found = _scores(opened, order.column)
    if found is None:
        says = "the items are private: those that few people have are left out"
        return Expected(_given(order), None, says, FLOOR, {})
    data = opened.stand_in
    most = 1 if isinstance(data, SealedTable) and data.rows_per_person == 1 else None
    most = data.max_items_per_user if isinstance(data, SealedCounts) else most
    options = TopKOptions(
        None, None, False, None, most, order.with_counts, rounds_accountant(budget)
    )

    def planned(epsilon: float) -> TopKRow:
        chosen = choose(
            order.mechanism, epsilon=epsilon, delta=order.delta, k=order.k, ordered=None,
            options=options, public=True,
        ).mechanism  # fmt: skip
        word = chosen.name.replace(",", " ").split()[0]
        made = plan.top_k(
            [0] * found.size,
            k=order.k,
            epsilon=epsilon,
            delta=order.delta if word.startswith(("peel-gumbel", "oneshot-app")) else 0.0,
            mechanism=word,
            max_items_per_user=most,
            sensitivity=moved_by(data),
            relation=found.utility.relation,
            draws=0,
        )
        return made.rows[0]

    def bound(epsilon: float) -> float:
        row = planned(epsilon)
        held = row.tail_bound if row.tail_bound is not None else row.signed_bound
        if held is None:
            raise ParameterError("nothing is known of this error beforehand; give epsilon")
        return held

    epsilon = order.epsilon
    if epsilon is None:
        assert order.error is not None
        epsilon = _least(bound, order.error)
    says = (
        "how far the worst released one lies behind the best left out, in rows: with probability "
        "0.99 not further, for any data"
    )
    return Expected(epsilon, bound(epsilon), says, FLOOR, planned(epsilon).to_dict())


def _least(bound: Callable[[float], float], error: float) -> float:
    """The least epsilon, to four digits, whose bound is at most this."""
    low, high = 2.0**-20, 1.0
    while bound(high) > error:
        low, high = high, 2 * high
        if high > 2.0**20:
            raise ParameterError(f"error={error:g} is not reached by any epsilon; allow more")
    for _ in range(_STEPS):
        if high / low < 1.0001:
            break
        middle = (low * high) ** 0.5
        low, high = (low, middle) if bound(middle) <= error else (middle, high)
    return high


def _public(opened: OpenDataset, budget: Budget, delta: float) -> dict[str, Any]:
    table = table_of(opened.stand_in)
    return {
        "rows_per_person": table.rows_per_person,
        "relation": table.relation,
        "accountant": sizing_accountant(budget, delta),
        "memory": MEMORY,
    }


def _tables(opened: OpenDataset, order: bodies.TablesOrder, budget: Budget) -> Expected:
    if not isinstance(opened.stand_in, SealedTable):
        return Expected(_given(order), None, "errors stand in the released table", FLOOR, {})
    planned = plan.tabulate(
        opened.stand_in.schema,
        workload_of(order.by),
        epsilon=order.epsilon,
        error=order.error,
        delta=order.delta,
        values=order.values,
        objective=order.objective,
        public_total=order.rows is not None,
        **_public(opened, budget, order.delta),
    )
    answers = sum(row.answers for row in planned.rows)
    seconds = FLOOR + SPARE * 1e-5 * answers
    says = "the median of the largest error over all cells, in rows"
    return Expected(planned.epsilon, planned.largest, says, seconds, planned.to_dict())


def _queries(opened: OpenDataset, order: bodies.QueriesOrder, budget: Budget) -> Expected:
    rows = opened.rows if opened.rows is not None else order.rows
    if rows is None:
        raise ParameterError("the number of rows is private; give a public number with rows")
    planned = plan.release(
        table_of(opened.stand_in).schema,
        workload_of(order.workload),
        n=rows,
        epsilon=order.epsilon,
        error=order.error,
        delta=order.delta,
        method=order.method,
        **_public(opened, budget, order.delta),
    )
    best = planned.best()
    says = f"the largest error over all queries, in rows ({best.kind})"
    seconds = FLOOR + SPARE * best.seconds
    return Expected(planned.epsilon, best.largest, says, seconds, planned.to_dict())


def _wide(opened: OpenDataset, order: bodies.WideOrder, budget: Budget) -> Expected:
    planned = plan.release_wide(
        table_of(opened.stand_in).schema,
        workload_of(order.workload),
        epsilon=_given(order),
        delta=order.delta,
        n=opened.rows or order.rows,
        **_public(opened, budget, order.delta),
    )
    says = "about the mean total variation distance of the tables from the truth (rule of thumb)"
    seconds = FLOOR + SPARE * planned.seconds
    return Expected(planned.epsilon, planned.distance, says, seconds, planned.to_dict())
