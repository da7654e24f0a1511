"""Selections from unknown universes that are wrong on purpose. Reachable from audits only."""

from __future__ import annotations

from dataclasses import dataclass

from winnow.audit.ranked_model import OnUnknownUniverse
from winnow.domain.utility import Utility
from winnow.mechanisms.ranked_conditional import Choosing, DistanceToInstability


@dataclass(frozen=True)
class BrokenNoTest(Choosing):
    """BROKEN: draws among the candidates that somebody has without asking whether it may."""

    def threshold(self, utility: Utility) -> float:
        """Always passed."""
        return -1e6


@dataclass(frozen=True)
class BrokenShortLead(DistanceToInstability):
    """BROKEN: compares the lead with a threshold that knows nothing of delta."""

    def threshold(self) -> float:
        """One person's width, nothing for the tail."""
        return 1.0


def broken_on_unknown_universes() -> list[tuple[str, OnUnknownUniverse, OnUnknownUniverse]]:
    """What is wrong, the twin, and the honest mechanism: enumeration has to tell them apart."""
    return [
        (
            "nobody asks whether a choice among those that are there is allowed",
            OnUnknownUniverse(BrokenNoTest(2.0, 0.05, 1), items=1),
            OnUnknownUniverse(Choosing(2.0, 0.05, 1), items=1),
        ),
        (
            "the lead is compared with a threshold that knows nothing of delta",
            OnUnknownUniverse(BrokenShortLead(1.0, 0.05)),
            OnUnknownUniverse(DistanceToInstability(1.0, 0.05)),
        ),
    ]
