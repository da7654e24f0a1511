"""Orders over HTTP as calls of the library: what they would cost, bring and take, and their run.

The price of an order is the event of its plan, made from the stand-in, which has all that is public
of the data. The same plan, made from the data, runs. So what is planned is what is charged,
whatever a verb does to size its noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from winnow.core.plan import Plan
from winnow.core.released import Released
from winnow.core.request import Run
from winnow.core.tape import WrittenKey
from winnow.core.unit import PERSON, Unit
from winnow.errors import BudgetExceeded, GrantError, ParameterError
from winnow.privacy import Event, Grant, Guarantee
from winnow.privacy.budget import Budget
from winnow.privacy.rounding import stated_at_least
from winnow.select.plan.top_k.verb import TopKPlan
from winnow.serve import bodies
from winnow.serve.datasets import Catalogue, OpenDataset, fitting
from winnow.serve.derived import asked_of, offered
from winnow.serve.sizes import ResultSize
from winnow.serve.stand_in import Data
from winnow.serve.verbs import SERVED, kind_of

MEMORY = "1GB"
"""Of one order: what needs more is refused."""


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


def delta_of(order: bodies.AnyOrder) -> float:
    """The delta of an order; some take none."""
    return float(getattr(order, "delta", 0.0))


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
    data, plan = planned(opened.stand_in, order, budget)
    plan.check(plan.ready(data))
    return plan.event


def order_key(order: bodies.Order) -> bytes:
    """A key that equal orders share."""
    return msgspec.json.encode(order)


def planned(data: Data, order: Any, budget: Budget) -> tuple[Any, Plan[Any, Any]]:
    """The data of an order, and its plan, from what is public of them."""
    served, taken = SERVED[kind_of(order)], {field.name for field in offered(order.record)}
    if "error" not in taken:
        epsilon_of(order)
    more = {"run": Run(memory=MEMORY)} if served.bounded else {}
    asked = asked_of(order, served.decode, budget=budget, **more)
    held = served.data(data, order)
    return held, asked.plan(held)


def size_of(opened: OpenDataset, order: bodies.AnyOrder) -> ResultSize:
    """The size of the result of an order; labels that are private count as nothing."""
    return SERVED[kind_of(order)].size(opened, order)


def check_size(opened: OpenDataset, order: bodies.AnyOrder, most: int) -> None:
    """Refuse an order whose result is larger than this many bytes."""
    size = size_of(opened, order)
    if size.bytes > most:
        raise ParameterError(
            f"the result would have {size.answers:,} answers and about {size.bytes / 1e6:,.0f} MB, "
            f"and this server shows at most {most / 1e6:,.0f} MB (limits.result_mb); ask for "
            "fewer or smaller tables, or in several releases"
        )
