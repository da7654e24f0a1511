"""What is asked of ``winnow.mips`` and ``winnow.boost``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from winnow.core.checks import Real
from winnow.core.options import AUTO, EPSILON, Checked, Option
from winnow.inner_product.methods import METHODS, SearchMethod

if TYPE_CHECKING:
    from winnow.inner_product.boosting import Ensemble
    from winnow.inner_product.crossing import SealedExamples
    from winnow.inner_product.plan import SearchPlan
    from winnow.inner_product.vectors import SealedQuery, SealedVectors
    from winnow.privacy import Budget


@dataclass(frozen=True, kw_only=True)
class Mips(Checked):
    """The candidate with the (nearly) largest inner product with a private vector."""

    epsilon: Annotated[Real, EPSILON]
    k: Annotated[
        int | None, Option("Select K vectors instead of one.", "K", flag="-k", least=1)
    ] = None
    signed: Annotated[bool, Option("Every vector is a candidate with its negative, too.")] = False
    method: Annotated[SearchMethod | str, METHODS] = AUTO
    budget: Budget | None = None
    seed: Any = None

    def plan(self, candidates: SealedVectors, query: SealedQuery) -> SearchPlan[SealedQuery, Any]:
        """What is charged and drawn, from what is public of candidates and query."""
        from winnow.inner_product.plan import planned_search

        return planned_search(self, candidates, query)


@dataclass(frozen=True, kw_only=True)
class Boost(Checked):
    """A private vote of weak learners."""

    rounds: Annotated[int, Option("How many learners vote.", "T", least=1)]
    epsilon: Annotated[Real, EPSILON]
    delta: Annotated[
        Real, Option("E.g. 1e-6: each round may then spend more.", "D", least=0, below=1)
    ] = 0.0
    advantage: Annotated[
        Real, Option("By how much learners should be better than guessing.", "G", above=0, below=1)
    ] = 0.1
    method: Annotated[SearchMethod | str, METHODS] = AUTO
    budget: Budget | None = None
    seed: Any = None

    def plan(self, examples: SealedExamples) -> SearchPlan[SealedExamples, Ensemble]:
        """What is charged and drawn, from what is public of the examples."""
        from winnow.inner_product.plan import planned_vote

        return planned_vote(self, examples)
