"""Counts of items, sealed: how many people have each item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winnow.domain.utility import Utility
from winnow.errors import InputError
from winnow.sealed.scores import Scores, SealedScores
from winnow.sealed.seal import Sealed


@dataclass(frozen=True)
class SealedCounts:
    """One private count for each item, to which one person adds at most 1.

    The items are public when the user gave their list; otherwise they came from the data and
    are private too: which of them exist depends on single persons.
    """

    values: Sealed[Scores]
    labels: Sequence[Any] | Sealed[list[Any]]
    utility: Utility
    max_items_per_user: int | None = None
    """The most items that one person was counted for; None: not bounded."""

    @property
    def domain_known(self) -> bool:
        """Whether the list of items is public."""
        return not isinstance(self.labels, Sealed)

    def to_scores(self) -> SealedScores:
        """The counts as scores of a public list of candidates."""
        if isinstance(self.labels, Sealed):
            raise InputError(
                "the items came from the data and are private; give their public list with "
                "items=, or use top_k with delta > 0"
            )
        return SealedScores(self.values, len(self.labels), self.labels, self.utility)

    def __repr__(self) -> str:
        what = (
            f"{len(self.labels)} public items"
            if not isinstance(self.labels, Sealed)
            else ("items that are private too")
        )
        return f"<sealed counts of {what}>"
