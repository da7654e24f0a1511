"""Orders over HTTP as calls of the library: what they would cost, bring and take, and their run.

The price of an order is found by the verb itself: it runs on the stand-in up to its charge, which
ends it. So what is planned is what is charged, whatever a verb does to size its noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, assert_never

from winnow import plan
from winnow.answers.verb import release
from winnow.core.padding import SPARE
from winnow.core.tape import WrittenKey
from winnow.core.workloads.conditions import predicates, where
from winnow.core.workloads.tables import marginals, prefixes, ranges
from winnow.core.workloads.workload import Maker
from winnow.errors import BudgetExceeded, ParameterError, WinnowError
from winnow.itemsets.verb import frequent_itemsets
from winnow.privacy import Event, Grant, describe
from winnow.privacy.budget import Budget
from winnow.privacy.ledger import RecordedBudget
from winnow.privacy.rounding import stated_at_least
from winnow.read.baskets import SealedBaskets
from winnow.read.counts import SealedCounts
from winnow.read.crossing import SealedTable, column_counts
from winnow.read.scores import SealedScores
from winnow.select.verb import select
from winnow.serve import bodies
from winnow.serve.datasets import Catalogue, Data, OpenDataset, fitting
from winnow.tables.verb import tabulate
from winnow.topk.verb import top_k
from winnow.wide.verb import release_wide

FLOOR = 1.0
"""No release appears earlier, in seconds: reading and writing take their time, too."""
_ITEMSETS = 30.0
"""Nothing public bounds how long mining takes; late results appear at doubled steps."""


class _Priced(WinnowError):
    """Ends a verb at its charge, with the event that it would have charged."""

    def __init__(self, event: Event) -> None:
        super().__init__("a price was asked for")
        self.event = event


class _Pricing(RecordedBudget):
    """A budget that charges nothing and says what was to be charged."""

    def charge(self, event: Event, *, session: str = "") -> Grant:
        """End the call."""
        raise _Priced(event)


@dataclass(frozen=True)
class Price:
    """What an order would be charged, and whether that fits."""

    charged: str
    cost: float
    refused: str
    """Why it does not fit, and what would; empty: it does."""


@dataclass(frozen=True)
class Expected:
    """What to expect of an order, from public numbers."""

    epsilon: float
    error: float | None
    says: str
    seconds: float
    details: dict[str, Any]


def epsilon_of(order: bodies.Order) -> float:
    """The epsilon of a release, which has no wanted error."""
    if order.error is not None or order.epsilon is None:
        raise ParameterError("a release has an epsilon and no error; find it with a plan")
    return order.epsilon


def kind_of(order: bodies.Order) -> str:
    """The word of an order."""
    return str(order.__struct_config__.tag)


def delta_of(order: bodies.AnyOrder) -> float:
    """The delta of an order; that of a selection is 0."""
    return 0.0 if isinstance(order, bodies.SelectOrder) else order.delta


def run(
    opened: OpenDataset, order: bodies.AnyOrder, budget: Budget, key: WrittenKey | None = None
) -> Any:
    """Run an order on the private data: charged first, then drawn from the written key."""
    fitting(opened, kind_of(order))
    return _call(opened.data, order, budget, key)


def price(catalogue: Catalogue, opened: OpenDataset, order: bodies.AnyOrder, who: str) -> Price:
    """What an order would be charged to an analyst now; nothing is charged."""
    fitting(opened, kind_of(order))
    budget = _Pricing(catalogue.ledger, opened.name, analyst=who)
    event = None
    try:
        _call(opened.stand_in, order, budget, None)
    except _Priced as priced:
        event = priced.event
    if event is None:
        raise ParameterError("this order would release nothing, and cannot be priced")
    account = catalogue.ledger.dataset(opened.name)
    cost = account.cap.cost(event, account.used)
    refused = ""
    try:
        account.cap.after(account.used, event, cost)
        if who:
            catalogue.ledger.share(opened.name, who).charged(event, cost)
    except BudgetExceeded as error:
        refused = str(error)
    return Price(describe(event), stated_at_least(cost.size or cost.rho), refused)


def _call(data: Data, order: bodies.AnyOrder, budget: Budget, key: WrittenKey | None) -> Any:
    """The verb of an order; ``seed`` takes the written key in the place of a seed."""
    shared: dict[str, Any] = {"epsilon": epsilon_of(order), "budget": budget, "seed": key}
    match order:
        case bodies.SelectOrder():
            scores = _scores(data, order.column)
            return select(
                scores,
                k=order.k,
                mechanism=order.mechanism,
                sensitivity=_moved(data),
                monotone=True,
                relation=scores.utility.relation,
                **shared,
            )
        case bodies.TopKOrder():
            counted = _counts(data, order.column)
            return top_k(
                counted,
                k=order.k,
                delta=order.delta,
                with_counts=order.with_counts,
                mechanism=order.mechanism,
                relation=counted.utility.relation,
                **shared,
            )
        case bodies.TablesOrder():
            if isinstance(data, SealedCounts):
                return tabulate(data, delta=order.delta, **shared)
            return tabulate(
                _table(data),
                workload_of(order.by),
                delta=order.delta,
                values=order.values,
                objective=order.objective,
                **shared,
            )
        case bodies.ItemsetsOrder():
            assert isinstance(data, SealedBaskets)
            return frequent_itemsets(
                data,
                size=order.size,
                k=order.k,
                delta=order.delta,
                with_counts=order.with_counts,
                mechanism=order.mechanism,
                **shared,
            )
        case bodies.QueriesOrder():
            return release(
                _table(data),
                workload_of(order.workload),
                delta=order.delta,
                method=order.method,
                rows=order.rows,
                **shared,
            )
        case bodies.WideOrder():
            return release_wide(
                _table(data),
                workload_of(order.workload),
                delta=order.delta,
                rows=order.rows,
                **shared,
            )
        case never:
            assert_never(never)


def _table(data: Data) -> SealedTable:
    assert isinstance(data, SealedTable)  # by ``fitting``
    return data


def _counts(data: Data, column: str | None) -> SealedCounts | SealedScores:
    if isinstance(data, SealedCounts):
        if column is not None:
            raise ParameterError("events are counted by their items; leave out column")
        return data
    if column is None:
        raise ParameterError("a table has several columns; name one")
    return column_counts(_table(data), column)


def _moved(data: Data) -> int:
    """By how much a person moves a count."""
    return data.rows_per_person if isinstance(data, SealedTable) else 1


def _scores(data: Data, column: str | None) -> SealedScores:
    found = _counts(data, column)
    return found.to_scores() if isinstance(found, SealedCounts) else found


# Workloads


def workload_of(pieces: list[bodies.WorkloadPiece]) -> Maker:
    """The workload that pieces describe, all together."""
    return reduce(lambda one, other: one + other, map(_maker, pieces))


def _maker(piece: bodies.WorkloadPiece) -> Maker:
    given = [name for name in piece.__struct_fields__ if getattr(piece, name) is not None]
    if len(given) != 1:
        raise ParameterError(
            "a piece of a workload is one of marginals, table, prefixes, ranges and where; "
            f"{len(given)} were given"
        )
    if piece.marginals is not None:
        return marginals(piece.marginals)
    if piece.table is not None:
        return marginals(len(piece.table), piece.table)
    if piece.prefixes is not None:
        return prefixes(piece.prefixes)
    if piece.ranges is not None:
        return ranges(piece.ranges)
    assert piece.where is not None
    return predicates(question_of(each) for each in piece.where)


def question_of(conditions: bodies.Where) -> Any:
    """The predicate that conditions describe."""
    return where({column: _condition(given) for column, given in conditions.items()})


def _condition(given: Any) -> Any:
    return (given.low, given.high) if isinstance(given, bodies.Range) else given


# What to expect


def expected(opened: OpenDataset, order: bodies.AnyOrder) -> Expected:
    """What to expect of an order; of a wanted error, the epsilon that brings it."""
    fitting(opened, kind_of(order))
    if (order.epsilon is None) is (order.error is None):
        raise ParameterError("give epsilon, or the error that is wanted; one of the two")
    match order:
        case bodies.SelectOrder() | bodies.TopKOrder():
            return _selection(opened, order)
        case bodies.TablesOrder():
            return _tables(opened, order)
        case bodies.ItemsetsOrder():
            says = "nothing is known beforehand of the supports of itemsets"
            return Expected(_given(order), None, says, _ITEMSETS, {})
        case bodies.QueriesOrder():
            return _queries(opened, order)
        case bodies.WideOrder():
            return _wide(opened, order)
        case never:
            assert_never(never)


def _given(order: bodies.AnyOrder) -> float:
    if order.epsilon is None:
        raise ParameterError("nothing is known of this error beforehand; give epsilon")
    return order.epsilon


def _selection(opened: OpenDataset, order: bodies.SelectOrder | bodies.TopKOrder) -> Expected:
    """A bound that holds for any data, where the candidates are public."""
    found = _counts(opened.stand_in, order.column)
    if isinstance(found, SealedCounts):
        if not found.domain_known:
            return Expected(_given(order), None, "the items are private", FLOOR, {})
        found = found.to_scores()
    planned = plan.select(
        candidates=found.size,
        epsilon=order.epsilon,
        target_error=order.error,
        k=min(order.k or 1, found.size - 1 or 1),
        sensitivity=_moved(opened.stand_in),
        monotone=True,
        relation=found.utility.relation,
    )
    says = (
        f"with probability {planned.confidence:g} no released item has fewer than the best left "
        "out by more than this, for any data"
    )
    return Expected(planned.epsilon, planned.bound, says, FLOOR, planned.to_dict())


def _public(opened: OpenDataset) -> dict[str, Any]:
    table = _table(opened.stand_in)
    return {"rows_per_person": table.rows_per_person, "relation": table.relation}


def _tables(opened: OpenDataset, order: bodies.TablesOrder) -> Expected:
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
        **_public(opened),
    )
    answers = sum(row.answers for row in planned.rows)
    seconds = FLOOR + SPARE * 1e-5 * answers
    says = "the median of the largest error over all cells, in rows"
    return Expected(planned.epsilon, planned.largest, says, seconds, planned.to_dict())


def _queries(opened: OpenDataset, order: bodies.QueriesOrder) -> Expected:
    rows = _rows(opened, order.rows)
    planned = plan.release(
        _table(opened.stand_in).schema,
        workload_of(order.workload),
        n=rows,
        epsilon=order.epsilon,
        error=order.error,
        delta=order.delta,
        method=order.method,
        **_public(opened),
    )
    best = planned.best()
    says = f"the largest error over all queries, in rows ({best.kind})"
    seconds = FLOOR + SPARE * best.seconds
    return Expected(planned.epsilon, best.largest, says, seconds, planned.to_dict())


def _wide(opened: OpenDataset, order: bodies.WideOrder) -> Expected:
    planned = plan.release_wide(
        _table(opened.stand_in).schema,
        workload_of(order.workload),
        epsilon=_given(order),
        delta=order.delta,
        n=opened.rows or order.rows,
        **_public(opened),
    )
    says = "about the mean total variation distance of the tables from the truth (rule of thumb)"
    seconds = FLOOR + SPARE * planned.seconds
    return Expected(planned.epsilon, planned.distance, says, seconds, planned.to_dict())


def _rows(opened: OpenDataset, given: int | None) -> int:
    rows = opened.rows if opened.rows is not None else given
    if rows is None:
        raise ParameterError("the number of rows is private; give a public number with rows")
    return rows
