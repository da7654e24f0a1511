"""What clients send under /v1: typed, closed, and the source of the OpenAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from winnow.describe.request import PlannedDescription
from winnow.itemsets.request import Itemsets
from winnow.numbers.histogram.request import PlannedHistogram
from winnow.numbers.moments.request import PlannedMoments
from winnow.numbers.regress.request import PlannedRegression
from winnow.numbers.request import PlannedQuantiles
from winnow.select.request import FindLabels
from winnow.serve.asked import ReleaseOf, SelectOf, TabulateOf, TopKOf
from winnow.serve.derived import Wire, body

Positive = Annotated[float, Meta(gt=0, le=1e6)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Names = Annotated[list[Name], Meta(min_length=1, max_length=200)]
Value = str | int | float | bool | None
MOST_QUESTIONS = 1000


class Closed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a client sends: names that are not known are refused."""


class Range(Closed, frozen=True):
    """From a value up to, and without, another; null stands for no bound."""

    low: Annotated[str | int | float | None, Meta(description="included")] = msgspec.field(
        default=None, name="from"
    )
    high: Annotated[str | int | float | None, Meta(description="not included")] = msgspec.field(
        default=None, name="to"
    )


Condition = str | int | float | bool | Annotated[list[Value], Meta(min_length=1)] | Range | None
"""A value, a list of values, or a range."""
Where = Annotated[dict[Name, Condition], Meta(min_length=1, max_length=200)]


class WorkloadFactor(Closed, frozen=True):
    """A factor of a product of tables and ranges: exactly one of its fields is given."""

    table: Names | None = None
    """The table of these columns."""
    prefixes: Name | None = None
    """All values up to each value of an ordered column."""
    ranges: Name | None = None
    """All ranges of an ordered column."""


class WorkloadPiece(Closed, frozen=True):
    """A part of a workload: exactly one of its fields is given."""

    marginals: Annotated[int, Meta(ge=1, le=6)] | None = None
    """All k-way tables of the columns."""
    table: Names | None = None
    """The table of these columns."""
    prefixes: Name | None = None
    """All values up to each value of an ordered column."""
    ranges: Name | None = None
    """All ranges of an ordered column."""
    product: Annotated[list[WorkloadFactor], Meta(min_length=2, max_length=6)] | None = None
    """Every query of one factor together with every query of the others."""
    where: Annotated[list[Where], Meta(min_length=1, max_length=MOST_QUESTIONS)] | None = None


Workload = Annotated[list[WorkloadPiece], Meta(min_length=1, max_length=50)]


class Order(Closed, tag_field="kind", frozen=True):
    """What every release has: an epsilon, or for a plan the error that is wanted."""

    epsilon: Positive | None = None
    error: Positive | None = None
    """Only of a plan: the least epsilon that brings this error is found."""


_COLUMN: Wire = {"column": Name | None}
_PARTS = Annotated[float, Meta(ge=0, le=1)]
_WORKLOAD: Wire = {"workload": Workload}
_NUMBERED: Wire = {"column": Name}
_QUANTILES = {"quantiles": Annotated[list[_PARTS], Meta(min_length=1, max_length=1000)]}
_MOMENTS: Wire = {"values": Annotated[list[Name], Meta(min_length=1, max_length=20)]}
_BINS = {
    "bins": Annotated[int, Meta(ge=1, le=1000)]
    | Annotated[list[float], Meta(min_length=2, max_length=1001)]
}
_DESCRIBED: Wire = {"quantiles": Annotated[list[_PARTS], Meta(max_length=100)] | None}

SelectOrder = body("SelectOrder", SelectOf, Order, "select", _COLUMN)
TopKOrder = body("TopKOrder", TopKOf, Order, "top-k", _COLUMN)
LabelsOrder = body("LabelsOrder", FindLabels, Order, "labels", {})
TabulateOrder = body("TabulateOrder", TabulateOf, Order, "tabulate", {"by": Workload | None})
MomentsOrder = body("MomentsOrder", PlannedMoments, Order, "moments", _MOMENTS)
QuantilesOrder = body(
    "QuantilesOrder", PlannedQuantiles, Order, "quantiles", _NUMBERED | _QUANTILES
)
HistogramOrder = body("HistogramOrder", PlannedHistogram, Order, "histogram", _NUMBERED | _BINS)
DescribeOrder = body("DescribeOrder", PlannedDescription, Order, "describe", _DESCRIBED)
RegressOrder = body("RegressOrder", PlannedRegression, Order, "regress", {"target": Name})
ItemsetsOrder = body("ItemsetsOrder", Itemsets, Order, "itemsets", {})
ReleaseOrder = body("ReleaseOrder", ReleaseOf, Order, "release", _WORKLOAD)

if TYPE_CHECKING:
    AnyOrder = Order
else:
    AnyOrder = (
        SelectOrder
        | TopKOrder
        | LabelsOrder
        | TabulateOrder
        | MomentsOrder
        | QuantilesOrder
        | HistogramOrder
        | DescribeOrder
        | RegressOrder
        | ItemsetsOrder
        | ReleaseOrder
    )


class PlanBody(Closed, kw_only=True, frozen=True):
    """A release that is to be planned."""

    order: AnyOrder
    curve: Annotated[list[Positive], Meta(max_length=32)] = []
    """Further epsilons at which the error is wanted, for a plot."""


class ReleaseBody(Closed, kw_only=True, frozen=True):
    """A release that is to be paid for."""

    order: AnyOrder


class QuestionsBody(Closed, kw_only=True, frozen=True):
    """Questions to the session of a dataset: how many rows meet all conditions of each."""

    questions: Annotated[list[Where], Meta(min_length=1, max_length=MOST_QUESTIONS)]


class ShareBody(Closed, kw_only=True, frozen=True):
    """The part of the cap that an analyst may use at most."""

    part: Annotated[float, Meta(ge=0, le=1)]


class TokenBody(Closed, kw_only=True, frozen=True):
    """A token that is to be made."""

    name: Name
    role: Literal["owner", "analyst"] = "analyst"
    scopes: Annotated[list[str], Meta(max_length=10)] = []
    days: Annotated[float, Meta(gt=0, le=3650)] | None = None
    datasets: Annotated[list[Name], Meta(max_length=1000)] = []
