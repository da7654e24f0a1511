"""What to expect of an order, from public numbers: its error, or the epsilon of a wanted one.

Nothing here sees the data. Noise is sized as the dataset's account will add it up, so that the
error that is planned is that of the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winnow.core.padding import SPARE
from winnow.privacy.budget import Budget
from winnow.release.graphical.expected import WideExpected
from winnow.serve import bodies
from winnow.serve.datasets import OpenDataset
from winnow.serve.orders import planned
from winnow.serve.verbs import SERVED, kind_of

_DISTANCE = "about the mean total variation distance of the tables from the truth (rule of thumb)"


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
    served = SERVED[kind_of(order)]
    _, made = planned(opened.stand_in, order, budget)
    plan: Any = made
    error, says = plan.error, served.says if isinstance(served.says, str) else served.says(plan)
    if error is None:
        says = served.unknown or says
        if isinstance(getattr(plan, "expected", None), WideExpected):
            error, says = plan.expected.distance, _DISTANCE
    if error is not None and opened.protected.counted:
        says = f"{says}; counted: {opened.protected.counted}"
    epsilon = plan.epsilon if order.epsilon is None else order.epsilon
    seconds = served.at_least + SPARE * plan.seconds
    return Expected(epsilon, error, says, seconds, served.details(plan))
