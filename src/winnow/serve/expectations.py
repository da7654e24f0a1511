"""What to expect of an order, from public numbers: its error, or the epsilon of a wanted one.

Nothing here sees the data. Noise is sized as the dataset's account will add it up, so that the
error that is planned is that of the release.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, assert_never

from winnow.core.padding import SPARE
from winnow.errors import ParameterError
from winnow.privacy.budget import Budget
from winnow.release.graphical.expected import WideExpected
from winnow.select.plan.top_k.stated import MISS
from winnow.select.plan.verb import SelectPlan
from winnow.serve import bodies
from winnow.serve.datasets import OpenDataset
from winnow.serve.orders import (
    baskets_of,
    counts_of,
    described,
    histogram_of,
    itemsets_of,
    labels_of,
    moments_of,
    plan_of,
    quantiles_of,
    release_of,
    tables_of,
)

FLOOR = 1.0
"""No release appears earlier, in seconds: reading and writing take their time, too."""
_ITEMSETS = 30.0
"""Nothing public bounds how long mining takes; late results appear at doubled steps."""


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
    outcome = _of_kind(opened, order, budget)
    counted = opened.protected.counted
    if outcome.error is None or not counted:
        return outcome
    return replace(outcome, says=f"{outcome.says}; counted: {counted}")


def _of_kind(opened: OpenDataset, order: bodies.AnyOrder, budget: Budget) -> Expected:
    match order:
        case bodies.SelectOrder():
            return _selection(opened, order, budget)
        case bodies.TopKOrder():
            return _top_k(opened, order, budget)
        case bodies.LabelsOrder():
            return _labels(opened, order, budget)
        case bodies.TabulateOrder():
            return _tables(opened, order, budget)
        case bodies.MomentsOrder():
            return _moments(opened, order, budget)
        case bodies.QuantilesOrder():
            return _quantiles(opened, order, budget)
        case bodies.HistogramOrder():
            return _histogram(opened, order, budget)
        case bodies.DescribeOrder():
            return _described(opened, order, budget)
        case bodies.ItemsetsOrder():
            return _itemsets(opened, order, budget)
        case bodies.ReleaseOrder():
            return _release(opened, order, budget)
        case never:
            assert_never(never)


def _given(order: bodies.AnyOrder) -> float:
    if order.epsilon is None:
        raise ParameterError("this error cannot be predicted; give epsilon")
    return order.epsilon


def _selection(opened: OpenDataset, order: bodies.SelectOrder, budget: Budget) -> Expected:
    """A bound that holds for any data, where the candidates are public."""
    planned = plan_of(counts_of(opened.stand_in, order.column), order, budget)
    assert isinstance(planned, SelectPlan)
    says = (
        f"how far a selected one lies behind the best left out, in rows: with probability "
        f"{planned.confidence:g} not further, for any data"
    )
    return Expected(planned.epsilon, planned.error, says, FLOOR, planned.to_dict())


def _top_k(opened: OpenDataset, order: bodies.TopKOrder, budget: Budget) -> Expected:
    """What the mechanism that would run promises for any data."""
    planned = plan_of(counts_of(opened.stand_in, order.column), order, budget)
    if planned.error is None:
        says = "the items are private: those that few people have are left out"
    else:
        says = (
            "how far the worst released one lies behind the best left out, in rows: with "
            f"probability {1 - MISS:g} not further, for any data"
        )
    return Expected(planned.epsilon, planned.error, says, FLOOR, asdict(planned.expected))


def _labels(opened: OpenDataset, order: bodies.LabelsOrder, budget: Budget) -> Expected:
    """How many people a label needs that is found as often as not."""
    epsilon = _given(order)
    planned = labels_of(order, budget).plan(counts_of(opened.stand_in, None))
    says = "the people with one item each, above which an item is found at least half of the time"
    return Expected(epsilon, planned.error, says, FLOOR, planned.to_dict())


def _itemsets(opened: OpenDataset, order: bodies.ItemsetsOrder, budget: Budget) -> Expected:
    """From which support on the plan that would run finds the last itemset, where it says so."""
    epsilon = _given(order)
    planned = itemsets_of(order, budget).plan(baskets_of(opened.stand_in))
    says = "nothing is known beforehand of the supports that this method finds"
    if planned.error is not None:
        says = (
            "the support at which the last itemset is found half of the time, if supports "
            "fall as rank^(-1/3)"
        )
    return Expected(epsilon, planned.error, says, _ITEMSETS, planned.to_dict())


def _tables(opened: OpenDataset, order: bodies.TabulateOrder, budget: Budget) -> Expected:
    _, planned = tables_of(opened.stand_in, order, budget)
    says = "the median of the largest error over all cells, in rows"
    if planned.error is None:
        says = "errors stand in the released table"
    seconds = SPARE * planned.seconds
    return Expected(planned.epsilon, planned.error, says, seconds, planned.to_dict())


def _moments(opened: OpenDataset, order: bodies.MomentsOrder, budget: Budget) -> Expected:
    _, planned = moments_of(opened.stand_in, order, budget)
    what = "mean" if "mean" in planned.asked.statistics else "number"
    says = f"the largest standard error of a {what}, in the unit of its column"
    seconds = FLOOR + SPARE * planned.seconds
    return Expected(planned.epsilon, planned.error, says, seconds, planned.to_dict())


def _quantiles(opened: OpenDataset, order: bodies.QuantilesOrder, budget: Budget) -> Expected:
    _, planned = quantiles_of(opened.stand_in, order, budget)
    says = "by how many rows a quantile is off, in root mean square, where rows lie close"
    seconds = FLOOR + SPARE * planned.seconds
    return Expected(planned.epsilon, planned.error, says, seconds, planned.to_dict())


def _histogram(opened: OpenDataset, order: bodies.HistogramOrder, budget: Budget) -> Expected:
    _, planned = histogram_of(opened.stand_in, order, budget)
    says = "the standard error of each count, in rows"
    seconds = FLOOR + SPARE * planned.seconds
    return Expected(planned.epsilon, planned.error, says, seconds, planned.to_dict())


def _described(opened: OpenDataset, order: bodies.DescribeOrder, budget: Budget) -> Expected:
    _, planned = described(opened.stand_in, order, budget)
    says = "the largest standard error of a count, in rows"
    seconds = FLOOR + SPARE * planned.seconds
    return Expected(planned.epsilon, planned.error, says, seconds, planned.to_dict())


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
