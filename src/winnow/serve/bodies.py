"""What clients send under /v1: typed, closed, and the source of the OpenAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from winnow.describe.request import Describe
from winnow.itemsets.request import Itemsets
from winnow.numbers.histogram.request import PlannedHistogram
from winnow.numbers.moments.request import PlannedMoments
from winnow.numbers.regress.request import PlannedRegression
from winnow.numbers.request import PlannedQuantiles
from winnow.select.request import FindLabels
from winnow.serve.asked import ReleaseOf, SelectOf, TabulateOf, TopKOf
from winnow.serve.derived import body

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


if TYPE_CHECKING:  # of what is derived, what the server itself reads

    class SelectOrder(Order, kw_only=True, frozen=True):
        """The value of a column, or the item, that most people have."""

        column: str | None
        k: int | None
        delta: float

    class TopKOrder(Order, kw_only=True, frozen=True):
        """The k most common values of a column, or items."""

        column: str | None
        k: int
        delta: float
        with_counts: bool
        with_cut: float

    class TabulateOrder(Order, kw_only=True, frozen=True):
        """Tables of counts, sums and means."""

        by: Workload | None
        delta: float
        values: list[str]
        rows: int | None
else:
    _COLUMN = {"column": Name | None}
    SelectOrder = body("SelectOrder", SelectOf, Order, "select", _COLUMN)
    TopKOrder = body("TopKOrder", TopKOf, Order, "top-k", _COLUMN)
    TabulateOrder = body("TabulateOrder", TabulateOf, Order, "tabulate", {"by": Workload | None})


if TYPE_CHECKING:

    class LabelsOrder(Order, kw_only=True, frozen=True):
        """Read off ``FindLabels``."""

        delta: float
        method: Any

else:
    LabelsOrder = body("LabelsOrder", FindLabels, Order, "labels", {})


if TYPE_CHECKING:

    class ItemsetsOrder(Order, kw_only=True, frozen=True):
        """Read off ``Itemsets``."""

        size: int
        k: int | None
        delta: float
        method: Any
        supports: str | None

else:
    ItemsetsOrder = body("ItemsetsOrder", Itemsets, Order, "itemsets", {})


if TYPE_CHECKING:

    class QuantilesOrder(Order, kw_only=True, frozen=True):
        """Quantiles of a column of numbers."""

        column: str
        quantiles: list[float]
        by: list[str]
        delta: float
        method: Any
else:
    _QUANTILES = {
        "column": Name,
        "quantiles": Annotated[
            list[Annotated[float, Meta(ge=0, le=1)]], Meta(min_length=1, max_length=1000)
        ],
    }
    QuantilesOrder = body("QuantilesOrder", PlannedQuantiles, Order, "quantiles", _QUANTILES)


if TYPE_CHECKING:

    class MomentsOrder(Order, kw_only=True, frozen=True):
        """Counts, sums, means, variances and deviations of columns of numbers."""

        values: list[str]
        statistics: list[str]
        by: list[str]
        delta: float
        level: float
else:
    _MOMENTS = {"values": Annotated[list[Name], Meta(min_length=1, max_length=20)]}
    MomentsOrder = body("MomentsOrder", PlannedMoments, Order, "moments", _MOMENTS)


if TYPE_CHECKING:

    class RegressOrder(Order, kw_only=True, frozen=True):
        """A column of numbers as a linear function of others."""

        target: str
        features: list[str]
        delta: float
        level: float
else:
    RegressOrder = body("RegressOrder", PlannedRegression, Order, "regress", {"target": Name})


if TYPE_CHECKING:

    class HistogramOrder(Order, kw_only=True, frozen=True):
        """Counts of the rows in the bins of a column of numbers."""

        column: str
        bins: int | list[float]
        split: str
else:
    _HISTOGRAM = {
        "column": Name,
        "bins": Annotated[int, Meta(ge=1, le=1000)]
        | Annotated[list[float], Meta(min_length=2, max_length=1001)],
    }
    HistogramOrder = body("HistogramOrder", PlannedHistogram, Order, "histogram", _HISTOGRAM)


if TYPE_CHECKING:

    class DescribeOrder(Order, kw_only=True, frozen=True):
        """Every column of a table."""

        quantiles: list[float] | None
        bins: int
        top: int
else:
    _DESCRIBED = {
        "quantiles": Annotated[list[Annotated[float, Meta(ge=0, le=1)]], Meta(max_length=100)]
        | None,
    }
    DescribeOrder = body("DescribeOrder", Describe, Order, "describe", _DESCRIBED)


if TYPE_CHECKING:  # of what is derived, what the server itself reads

    class ReleaseOrder(Order, kw_only=True, frozen=True):
        """Answers to all queries of a workload, and a synthetic table."""

        workload: Workload
        delta: float
        rows: int | None
else:
    ReleaseOrder = body("ReleaseOrder", ReleaseOf, Order, "release", {"workload": Workload})


AnyOrder = (
    SelectOrder
    | TopKOrder
    | LabelsOrder
    | TabulateOrder
    | MomentsOrder
    | QuantilesOrder
    | HistogramOrder
    | RegressOrder
    | DescribeOrder
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
