"""What is stated of a top-k mechanism for any data, before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winnow.core.utility import Utility
from winnow.select.counts_margin import counts_margin
from winnow.select.crossing.selection import Selection
from winnow.select.plan.top_k.known import top_k_bound

MISS = 0.01
"""The chance that the error of a top k is larger than its bound."""


@dataclass(frozen=True)
class TopKStated:
    """What a plan states of a top-k mechanism: it holds for any data."""

    method: str
    """The word that a user gives."""
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
    loss: float | None = None
    """What the automatic choice goes by: how much worse than the best, in the mean over public
    profiles of counts; None: it takes no part, or others are never worse."""

    @property
    def error(self) -> float | None:
        """The bound that the plan shows; None: nothing is known."""
        return self.signed_bound if self.tail_bound is None else self.tail_bound


def stated(
    word: str,
    mechanism: Any,
    candidates: int | None,
    utility: Utility,
    loss: float | None = None,
) -> TopKStated:
    """What holds for any data of a mechanism, with so many candidates where that is known."""
    margin = counts_margin(mechanism, utility)
    ordered = getattr(mechanism, "ordered", True)
    if not isinstance(mechanism, Selection) or candidates is None:
        return TopKStated(word, mechanism.name, ordered, margin, loss=loss)
    bound = top_k_bound(mechanism, candidates, utility, MISS)
    return TopKStated(
        word, mechanism.name, ordered, margin, bound.signed, bound.tail, bound.statement,
        bound.citation, loss,
    )  # fmt: skip
