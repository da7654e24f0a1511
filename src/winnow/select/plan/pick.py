"""What the plans of one candidate and of the k best share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from winnow.core.notebook import InNotebook
from winnow.core.plan import Plan
from winnow.read.counts import SealedCounts
from winnow.select.about import About
from winnow.select.request import Select, TopK


@dataclass(frozen=True, kw_only=True, eq=False)
class PickPlan(Plan[Any, Any], InNotebook):
    """A plan of a selection: it takes the scores, or the counts, that it was made for."""

    about: About = field(repr=False)
    """What is public of the scores."""
    asked: Select | TopK = field(repr=False)

    def ready(self, data: Any) -> Any:
        """The data as the draw takes them, sealed; those of another plan are refused."""
        sealed = self.about.read(data)
        self.about.check(sealed)
        if isinstance(sealed, SealedCounts) and sealed.domain_known:
            return sealed.to_scores()
        return sealed

    @property
    def epsilon(self) -> float:
        """The privacy loss in total."""
        return float(self.asked.epsilon)
