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
from winnow.core.padding import SPARE
from winnow.errors import ParameterError
from winnow.privacy.budget import Budget
from winnow.privacy.sizing import sizing_accountant
from winnow.read.counts import SealedCounts
from winnow.read.crossing import SealedTable
from winnow.read.scores import SealedScores
from winnow.select.crossing import Selection
from winnow.serve import bodies
from winnow.serve.datasets import OpenDataset
from winnow.serve.orders import (
    MEMORY,
    baskets_of,
    chosen_of,
    counts_of,
    itemsets_of,
    moved_by,
    release_of,
    table_of,
    workload_of,
)
from winnow.topk.plan.known import top_k_bound
from winnow.topk.table import counts_margin
from winnow.wide.expected import WideExpected

FLOOR = 1.0
"""No release appears earlier, in seconds: reading and writing take their time, too."""
_ITEMSETS = 30.0
"""Nothing public bounds how long mining takes; late results appear at doubled steps."""
_STEPS = 30
_MISS = 0.01
"""The chance that the error of a top k is larger than its bound."""


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
            return _itemsets(opened, order, budget)
        case bodies.ReleaseOrder():
            return _release(opened, order, budget)
        case never:
            assert_never(never)


def _given(order: bodies.AnyOrder) -> float:
    if order.epsilon is None:
        raise ParameterError("nothing is known of this error beforehand; give epsilon")
    return order.epsilon


def _selection(opened: OpenDataset, order: bodies.SelectOrder) -> Expected:
    """A bound that holds for any data, where the candidates are public."""
    counted = counts_of(opened.stand_in, order.column)
    if isinstance(counted, SealedCounts) and not counted.domain_known:
        raise ParameterError("the items are private; ask for top-k with a delta")
    planned = plan.select(
        candidates=_candidates(counted),
        epsilon=order.epsilon,
        target_error=order.error,
        mechanism=order.mechanism,
        k=order.k or 1,
        sensitivity=moved_by(opened.stand_in),
        monotone=True,
        relation=counted.utility.relation,
    )
    says = (
        f"how far a selected one lies behind the best left out, in rows: with probability "
        f"{planned.confidence:g} not further, for any data"
    )
    return Expected(planned.epsilon, planned.bound, says, FLOOR, planned.to_dict())


def _top_k(opened: OpenDataset, order: bodies.TopKOrder, budget: Budget) -> Expected:
    """What the mechanism that would run promises for any data."""
    counted = counts_of(opened.stand_in, order.column)
    utility = counted.utility

    def stated(epsilon: float) -> TopKStated:
        choice = chosen_of(counted, order, epsilon, budget)
        mechanism = choice.mechanism
        margin = counts_margin(mechanism, utility)
        if not isinstance(mechanism, Selection):
            return TopKStated(choice.word, mechanism.name, True, margin)
        size = _candidates(counted)
        if order.k > size:
            raise ParameterError(f"k={order.k} exceeds {size} candidates; lower k")
        bound = top_k_bound(mechanism, size, utility, _MISS)
        return TopKStated(
            choice.word, mechanism.name, mechanism.ordered, margin, bound.signed, bound.tail,
            bound.statement, bound.citation,
        )  # fmt: skip

    def error(epsilon: float) -> float:
        held = stated(epsilon).error
        if held is None:
            raise ParameterError("nothing is known of this error beforehand; give epsilon")
        return held

    epsilon = order.epsilon
    if epsilon is None:
        assert order.error is not None
        if isinstance(counted, SealedCounts) and not counted.domain_known:
            _given(order)
        epsilon = _least(error, order.error)
    found = stated(epsilon)
    if found.error is None:
        says = "the items are private: those that few people have are left out"
    else:
        says = (
            "how far the worst released one lies behind the best left out, in rows: with "
            f"probability {1 - _MISS:g} not further, for any data"
        )
    return Expected(epsilon, found.error, says, FLOOR, vars(found).copy())


@dataclass(frozen=True)
class TopKStated:
    """What a plan states of a top-k mechanism: it holds for any data."""

    mechanism: str
    """The word that an order gives."""
    name: str
    """What the receipt will call it."""
    ordered: bool
    counts_margin: int | None
    """Within what the noise of each released count lies with probability 0.95."""
    signed_bound: float | None = None
    tail_bound: float | None = None
    """Bounds on how far released ones lie behind, place by place and behind the last place."""
    bound_statement: str = ""
    citation: str = ""

    @property
    def error(self) -> float | None:
        """The bound that the plan shows; None: nothing is known."""
        return self.signed_bound if self.tail_bound is None else self.tail_bound


def _candidates(counted: SealedCounts | SealedScores) -> int:
    """How many public candidates there are."""
    return (counted.to_scores() if isinstance(counted, SealedCounts) else counted).size


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


def _itemsets(opened: OpenDataset, order: bodies.ItemsetsOrder, budget: Budget) -> Expected:
    """From which support on the plan that would run finds the last itemset, where it says so."""
    epsilon = _given(order)
    planned = itemsets_of(order, budget).plan(baskets_of(opened.stand_in))
    says = "nothing is known beforehand of the supports that this method finds"
    if planned.error is not None:
        says = (
            "the support from which on the last itemset is found as often as not, if supports "
            "fall as rank^(-1/3)"
        )
    return Expected(epsilon, planned.error, says, _ITEMSETS, planned.to_dict())


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


def _release(opened: OpenDataset, order: bodies.ReleaseOrder, budget: Budget) -> Expected:
    _, planned = release_of(opened.stand_in, order, budget)
    error = planned.error
    says = f"the largest error over all queries, in rows ({planned.taken.kind})"
    if error is None and isinstance(planned.expected, WideExpected):
        error = planned.expected.distance
        says = "about the mean total variation distance of the tables from the truth"
        says += " (rule of thumb)"
    seconds = FLOOR + SPARE * planned.seconds
    return Expected(planned.epsilon, error, says, seconds, planned.to_dict())
