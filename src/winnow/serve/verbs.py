"""The verbs that a server offers, a row for each: their data, what their error means, their size.

What is asked is a body (``bodies``), read off the request of the library. All else that a verb
needs over HTTP stands in its row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from winnow.describe.request import Describe
from winnow.errors import ParameterError
from winnow.read.baskets import SealedBaskets
from winnow.read.counts import SealedCounts
from winnow.read.crossing import SealedTable, column_counts
from winnow.read.scores import SealedScores
from winnow.select.plan.top_k.stated import MISS
from winnow.serve import sizes
from winnow.serve.bodies import Order
from winnow.serve.sizes import ResultSize
from winnow.serve.stand_in import Data
from winnow.serve.workloads import workload_of

FLOOR = 1.0
"""No release appears earlier, in seconds: reading and writing take their time, too."""
_MINING = 30.0
"""Nothing public bounds how long mining takes; late results appear at doubled steps."""


def table_of(data: Data, order: Any = None) -> SealedTable:
    """The data, which are a table, with the number of rows that was stated of it."""
    assert isinstance(data, SealedTable)  # by ``fitting``
    rows = getattr(order, "rows", None)
    return data if rows is None else data.stating(rows)


def counts_of(data: Data, column: str | None) -> SealedCounts | SealedScores:
    """The counts of a column, or of the items."""
    if isinstance(data, SealedCounts):
        if column is not None:
            raise ParameterError("events are counted by their items; leave out column")
        return data
    if column is None:
        raise ParameterError("a table has several columns; name one")
    return column_counts(table_of(data), column)


def _counts(data: Data, order: Any) -> SealedCounts | SealedScores:
    return counts_of(data, getattr(order, "column", None))


def _tables(data: Data, order: Any) -> SealedTable | SealedCounts:
    """A table, or counts, which are one by themselves."""
    if not isinstance(data, SealedCounts):
        return table_of(data, order)
    if order.rows is not None:
        raise ParameterError("counts are a table by themselves; leave out rows")
    return data


def _baskets(data: Data, order: Any) -> SealedBaskets:
    assert isinstance(data, SealedBaskets)  # by ``fitting``
    return data


def _described(plan: Any) -> dict[str, Any]:
    details: dict[str, Any] = plan.to_dict()
    return details


@dataclass(frozen=True, kw_only=True)
class ServedVerb:
    """A verb over HTTP."""

    data: Callable[[Data, Any], Any]
    """Of a dataset and an order: what the plan is about."""
    size: Callable[..., ResultSize]
    """Of an open dataset and an order: how large the result can be."""
    says: str | Callable[[Any], str]
    """What the error of a plan means."""
    unknown: str = ""
    """What is said where nothing is known of the error; empty: the same."""
    decode: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Fields that are something else over HTTP than in Python."""
    bounded: bool = True
    """Whether the memory of the run can be bounded."""
    at_least: float = FLOOR
    """Seconds after which the result appears, or later."""
    details: Callable[[Any], dict[str, Any]] = _described
    """What else is told of a plan."""


def kind_of(order: Order) -> str:
    """The word of an order."""
    return str(order.__struct_config__.tag)


def _selected(plan: Any) -> str:
    return (
        "how far a selected one lies behind the best left out, in rows: with probability "
        f"{plan.confidence:g} not further, for any data"
    )


def _moment(plan: Any) -> str:
    what = "mean" if "mean" in plan.asked.statistics else "number"
    return f"the largest standard error of a {what}, in the unit of its column"


def _queries(plan: Any) -> str:
    return f"the largest error over all queries, in rows ({plan.taken.kind})"


SERVED: dict[str, ServedVerb] = {
    "select": ServedVerb(data=_counts, size=sizes.of_list, says=_selected, bounded=False),
    "top-k": ServedVerb(
        data=_counts,
        size=sizes.of_lists,
        says="how far the worst released one lies behind the best left out, in rows: with "
        f"probability {1 - MISS:g} not further, for any data",
        unknown="the items are private: those that few people have are left out",
        bounded=False,
        details=lambda plan: asdict(plan.expected),
    ),
    "labels": ServedVerb(
        data=_counts,
        size=lambda opened, order: ResultSize(0, 0),
        says="the people with one item each, above which an item is found half of the time",
        bounded=False,
    ),
    "tabulate": ServedVerb(
        data=_tables,
        size=sizes.of_tables,
        says="the median of the largest error over all cells, in rows",
        unknown="errors stand in the released table",
        decode={"by": lambda pieces: None if pieces is None else workload_of(pieces)},
    ),
    "moments": ServedVerb(data=table_of, size=sizes.of_moments, says=_moment),
    "quantiles": ServedVerb(
        data=table_of,
        size=sizes.of_quantiles,
        says="by how many rows a quantile is off, in root mean square, where rows lie close",
    ),
    "histogram": ServedVerb(
        data=table_of,
        size=sizes.of_histogram,
        says="the standard error of each count, in rows",
    ),
    "describe": ServedVerb(
        data=table_of,
        size=sizes.of_description,
        says="the largest standard error of a count, in rows",
        decode={"quantiles": lambda said: Describe.quantiles if said is None else said},
    ),
    "regress": ServedVerb(
        data=table_of,
        size=sizes.of_coefficients,
        says="by how much noise moves a prediction, in the unit of the target",
    ),
    "itemsets": ServedVerb(
        data=_baskets,
        size=sizes.of_itemsets,
        says="the support at which the last itemset is found half of the time, if supports "
        "fall as rank^(-1/3)",
        unknown="nothing is known beforehand of the supports that this method finds",
        decode={"k": lambda k: k or 1},  # over HTTP always a list
        bounded=False,
        at_least=_MINING,
    ),
    "release": ServedVerb(
        data=table_of, size=sizes.of_release, says=_queries, decode={"workload": workload_of}
    ),
}
"""By the words of their orders."""
