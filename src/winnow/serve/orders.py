"""Orders over HTTP as calls of the library: what they would cost, bring and take, and their run.

The price of an order is the event of its plan, made from the stand-in, which has all that is public
of the data. The same plan, made from the data, runs. So what is planned is what is charged,
whatever a verb does to size its noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any, assert_never, overload

import msgspec

from winnow.core.plan import Plan
from winnow.core.released import Released
from winnow.core.request import Run
from winnow.core.tape import WrittenKey
from winnow.core.unit import PERSON, Unit
from winnow.core.workloads.conditions import predicates, where
from winnow.core.workloads.tables import marginals, prefixes, ranges
from winnow.core.workloads.workload import Maker
from winnow.describe.plan import DescribePlan
from winnow.describe.request import Describe
from winnow.errors import BudgetExceeded, GrantError, ParameterError
from winnow.itemsets.request import Itemsets
from winnow.numbers.histogram.plan import HistogramPlan
from winnow.numbers.moments.plan import MomentsPlan
from winnow.numbers.plan import QuantilesPlan
from winnow.numbers.regress.plan import RegressionPlan
from winnow.privacy import Event, Grant, Guarantee
from winnow.privacy.budget import Budget
from winnow.privacy.rounding import stated_at_least
from winnow.read.baskets import SealedBaskets
from winnow.read.counts import SealedCounts
from winnow.read.crossing import SealedTable, column_counts
from winnow.read.scores import SealedScores
from winnow.release.plan import ReleasePlan
from winnow.release.tables.plan import TabulatePlan
from winnow.select.plan.top_k.verb import TopKPlan
from winnow.select.plan.verb import SelectPlan
from winnow.select.request import FindLabels
from winnow.serve import bodies
from winnow.serve.datasets import Catalogue, OpenDataset, fitting
from winnow.serve.derived import asked_of
from winnow.serve.stand_in import Data

MEMORY = "1GB"
"""Of one order: what needs more is refused."""


_PURE = (bodies.HistogramOrder, bodies.DescribeOrder)
"""Orders that take no delta."""


class Pricing(Budget):
    """A budget that plans are made under: it tells its accountant, and charges nothing."""

    def __init__(self, accountant: str) -> None:
        self._accountant = accountant

    @property
    def accountant(self) -> str:
        """How the charges of the dataset are added up."""
        return self._accountant

    def _fits(self, event: Event, stated: Guarantee | None = None) -> bool:
        """A plan is made whatever is left: its price says whether it fits."""
        return True

    def _counts_as_stated(self, event: Event, stated: Guarantee, part: Fraction) -> bool:
        """A plan says the errors of what a budget adds up; what is released has no larger ones."""
        return False

    def _delta_of_part(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        return delta

    def charge(
        self, event: Event, *, unit: Unit = PERSON, stated: Guarantee | None = None
    ) -> Grant:
        """Nothing is charged for a plan."""
        raise GrantError("a price is the event of a plan; nothing is charged for it")


@dataclass(frozen=True)
class Price:
    """What an order would be charged, and whether that fits."""

    event: Event
    asked: Guarantee
    """What was asked for."""
    cost: float
    refused: str
    """Why it does not fit, and what would; empty: it does."""


def epsilon_of(order: bodies.Order) -> float:
    """The epsilon of a release, which has no wanted error."""
    if order.error is not None or order.epsilon is None:
        raise ParameterError(
            "a release takes epsilon and not an error; a plan finds the epsilon for an error"
        )
    return order.epsilon


def kind_of(order: bodies.Order) -> str:
    """The word of an order."""
    return str(order.__struct_config__.tag)


def delta_of(order: bodies.AnyOrder) -> float:
    """The delta of an order."""
    return 0.0 if isinstance(order, _PURE) else order.delta


@dataclass(frozen=True)
class ReleasedOrder:
    """What is released of an order, and within what its counts lie."""

    released: Released[Any]
    margin: int | None
    """Each released count lies within so many with probability 0.95; None: there are none."""


def run(
    opened: OpenDataset, order: bodies.AnyOrder, budget: Budget, key: WrittenKey | None = None
) -> ReleasedOrder:
    """Run an order on the private data: charged first, then drawn from the written key."""
    fitting(opened, kind_of(order))
    epsilon_of(order)
    data, plan = planned(opened.data, order, budget)
    released = plan.run(data, budget=budget, seed=key)  # type: ignore[arg-type]
    return ReleasedOrder(
        released, plan.expected.counts_margin if isinstance(plan, TopKPlan) else None
    )


def price(
    catalogue: Catalogue, opened: OpenDataset, event: Event, asked: Guarantee, who: str
) -> Price:
    """What an event would cost an analyst now; nothing is charged."""
    account = catalogue.ledger.dataset(opened.name)
    cost = account.cap.cost(event, account.used, asked)
    refused = ""
    try:
        account.cap.after(account.used, event, cost, asked)
        if who:
            catalogue.ledger.share(opened.name, who).charged(event, cost)
    except BudgetExceeded as error:
        refused = str(error)
    return Price(event, asked, stated_at_least(cost.size or cost.rho), refused)


def event_of(opened: OpenDataset, order: bodies.AnyOrder, budget: Pricing) -> Event:
    """What the plan of an order is charged, made from the stand-in."""
    if not isinstance(order, bodies.SelectOrder | bodies.TopKOrder):
        epsilon_of(order)
    data, plan = planned(opened.stand_in, order, budget)
    plan.check(plan.ready(data))
    return plan.event


def order_key(order: bodies.Order) -> bytes:
    """A key that equal orders share."""
    return msgspec.json.encode(order)


def planned(data: Data, order: bodies.AnyOrder, budget: Budget) -> tuple[Any, Plan[Any, Any]]:
    """The data of an order, and its plan, from what is public of them."""
    match order:
        case bodies.SelectOrder() | bodies.TopKOrder():
            counted = counts_of(data, order.column)
            return counted, plan_of(counted, order, budget)
        case bodies.LabelsOrder():
            counted = counts_of(data, None)
            return counted, labels_of(order, budget).plan(counted)
        case bodies.TabulateOrder():
            return tables_of(data, order, budget)
        case bodies.MomentsOrder():
            return moments_of(data, order, budget)
        case bodies.QuantilesOrder():
            return quantiles_of(data, order, budget)
        case bodies.HistogramOrder():
            return histogram_of(data, order, budget)
        case bodies.DescribeOrder():
            return described(data, order, budget)
        case bodies.RegressOrder():
            return regression_of(data, order, budget)
        case bodies.ItemsetsOrder():
            baskets = baskets_of(data)
            return baskets, itemsets_of(order, budget).plan(baskets)
        case bodies.ReleaseOrder():
            return release_of(data, order, budget)
        case never:
            assert_never(never)


def release_of(
    data: Data, order: bodies.ReleaseOrder, budget: Budget
) -> tuple[SealedTable, ReleasePlan]:
    """The table with what was stated of it, and the plan of an order for it."""
    asked = asked_of(order, {"workload": workload_of}, budget=budget, run=Run(memory=MEMORY))
    table = table_of(data).stating(order.rows)
    return table, asked.plan(table)


def tables_of(
    data: Data, order: bodies.TabulateOrder, budget: Budget
) -> tuple[SealedTable | SealedCounts, TabulatePlan]:
    """The table with what was stated of it, or the counts, and the plan of an order for them."""
    decode = {"by": lambda pieces: None if pieces is None else workload_of(pieces)}
    asked = asked_of(order, decode, budget=budget, run=Run(memory=MEMORY))
    if isinstance(data, SealedCounts):
        if order.rows is not None:
            raise ParameterError("counts are a table by themselves; leave out rows")
        return data, asked.plan(data)
    table = table_of(data).stating(order.rows)
    return table, asked.plan(table)


def moments_of(
    data: Data, order: bodies.MomentsOrder, budget: Budget
) -> tuple[SealedTable, MomentsPlan]:
    """The table, and the plan of an order for it."""
    table = table_of(data)
    return table, asked_of(order, {}, budget=budget).plan(table)


def regression_of(
    data: Data, order: bodies.RegressOrder, budget: Budget
) -> tuple[SealedTable, RegressionPlan]:
    """The table, and the plan of an order for it."""
    table = table_of(data)
    return table, asked_of(order, {}, budget=budget).plan(table)


def quantiles_of(
    data: Data, order: bodies.QuantilesOrder, budget: Budget
) -> tuple[SealedTable, QuantilesPlan]:
    """The table, and the plan of an order for it."""
    table = table_of(data)
    return table, asked_of(order, {}, budget=budget).plan(table)


def histogram_of(
    data: Data, order: bodies.HistogramOrder, budget: Budget
) -> tuple[SealedTable, HistogramPlan]:
    """The table, and the plan of an order for it."""
    table = table_of(data)
    return table, asked_of(order, {}, budget=budget, run=Run(memory=MEMORY)).plan(table)


def described(
    data: Data, order: bodies.DescribeOrder, budget: Budget
) -> tuple[SealedTable, DescribePlan]:
    """The table, and the plan of an order for it."""
    epsilon_of(order)
    table = table_of(data)
    decode = {"quantiles": lambda said: Describe.quantiles if said is None else said}
    asked = asked_of(order, decode, budget=budget, run=Run(memory=MEMORY))
    return table, asked.plan(table)


def table_of(data: Data) -> SealedTable:
    """The data, which are a table."""
    assert isinstance(data, SealedTable)  # by ``fitting``
    return data


def baskets_of(data: Data) -> SealedBaskets:
    """The data, which are baskets."""
    assert isinstance(data, SealedBaskets)  # by ``fitting``
    return data


def itemsets_of(order: bodies.ItemsetsOrder, budget: Budget) -> Itemsets:
    """The request that an order says; its value is a list, of one itemset unless k is given."""
    epsilon_of(order)
    asked: Itemsets = asked_of(order, {"k": lambda k: k or 1}, budget=budget)
    return asked


def labels_of(order: bodies.LabelsOrder, budget: Budget) -> FindLabels:
    """The request that an order says."""
    epsilon_of(order)
    asked: FindLabels = asked_of(order, {}, budget=budget)
    return asked


@overload
def plan_of(
    counted: SealedCounts | SealedScores, order: bodies.TopKOrder, budget: Budget
) -> TopKPlan: ...


@overload
def plan_of(
    counted: SealedCounts | SealedScores,
    order: bodies.SelectOrder | bodies.TopKOrder,
    budget: Budget,
) -> TopKPlan | SelectPlan: ...


def plan_of(counted: SealedCounts | SealedScores, order: Any, budget: Budget) -> Any:
    """The plan of an order, from what is public of the counts."""
    return asked_of(order, {}, budget=budget).plan(counted)


def counts_of(data: Data, column: str | None) -> SealedCounts | SealedScores:
    """The counts of a column, or of the items."""
    if isinstance(data, SealedCounts):
        if column is not None:
            raise ParameterError("events are counted by their items; leave out column")
        return data
    if column is None:
        raise ParameterError("a table has several columns; name one")
    return column_counts(table_of(data), column)


# Workloads


def workload_of(pieces: list[bodies.WorkloadPiece]) -> Maker:
    """The workload that pieces describe, all together."""
    return reduce(lambda one, other: one + other, map(_maker, pieces))


def _maker(piece: bodies.WorkloadPiece) -> Maker:
    given = [name for name in piece.__struct_fields__ if getattr(piece, name) is not None]
    if len(given) != 1:
        raise ParameterError(
            "a piece of a workload is one of marginals, table, prefixes, ranges, product and "
            f"where; {len(given)} were given"
        )
    if piece.marginals is not None:
        return marginals(piece.marginals)
    if piece.product is not None:
        return reduce(mul, map(_factor, piece.product))
    if piece.where is None:
        return _ranges_or_table(piece)
    return predicates(question_of(each) for each in piece.where)


def _factor(factor: bodies.WorkloadFactor) -> Maker:
    given = sum(getattr(factor, name) is not None for name in factor.__struct_fields__)
    if given != 1:
        raise ParameterError(
            f"a factor of a product is one of table, prefixes and ranges; {given} were given"
        )
    return _ranges_or_table(factor)


def _ranges_or_table(piece: bodies.WorkloadPiece | bodies.WorkloadFactor) -> Maker:
    if piece.table is not None:
        return marginals(len(piece.table), piece.table)
    if piece.prefixes is not None:
        return prefixes(piece.prefixes)
    assert piece.ranges is not None
    return ranges(piece.ranges)


def question_of(conditions: bodies.Where) -> Any:
    """The predicate that conditions describe."""
    return where(conditions_of(conditions))


def conditions_of(conditions: bodies.Where) -> dict[str, Any]:
    """Conditions as ``where`` takes them."""
    return {column: _condition(given) for column, given in conditions.items()}


def _condition(given: Any) -> Any:
    return (given.low, given.high) if isinstance(given, bodies.Range) else given
