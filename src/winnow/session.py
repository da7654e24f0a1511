"""Several releases about the same people under one budget."""

from __future__ import annotations

from itertools import count as count_from
from types import TracebackType
from typing import Any

from winnow.domain.checks import Real
from winnow.domain.neighbours import Relation
from winnow.errors import InputError, RelationMismatch
from winnow.mechanisms.sparse_vector import AboveAnswer, SparseVectorStream
from winnow.privacy import Budget
from winnow.random.tape import Randomness
from winnow.released import Released
from winnow.verbs import above, open_above, select, top_k


class Session:
    """One budget and one neighbour relation for several releases about the same people.

    The guarantee of everything released together is the cap (epsilon, delta), whatever
    was asked and in whatever order.
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        delta: Real = 0.0,
        relation: str | Relation = Relation.ADD_REMOVE,
        accountant: str | None = None,
        delta_for_events: Real = 0.0,
        seed: int | None = None,
    ) -> None:
        self.relation = Relation.parse(relation)
        self.budget = Budget(
            epsilon,
            delta,
            self.relation,
            accountant=accountant,
            delta_for_events=delta_for_events,
        )
        if seed is not None:
            Randomness(seed)  # refuses what is not an integer
        self._seeds = None if seed is None else count_from(int(seed) << 32)

    def select(self, scores: Any, *, epsilon: Real, **options: Any) -> Released[Any]:
        """``winnow.select`` charged to this session's budget."""
        return select(scores, epsilon=epsilon, **self._under_this_budget(options))

    def top_k(self, counts: Any, *, k: int, epsilon: Real, **options: Any) -> Released[list[Any]]:
        """``winnow.top_k`` charged to this session's budget."""
        return top_k(counts, k=k, epsilon=epsilon, **self._under_this_budget(options))

    def above(
        self, values: Any, *, threshold: Real, epsilon: Real, **options: Any
    ) -> Released[AboveAnswer]:
        """``winnow.above`` charged to this session's budget."""
        return above(
            values, threshold=threshold, epsilon=epsilon, **self._under_this_budget(options)
        )

    def open_above(self, *, threshold: Real, epsilon: Real, **options: Any) -> SparseVectorStream:
        """``winnow.open_above`` charged to this session's budget."""
        return open_above(threshold=threshold, epsilon=epsilon, **self._under_this_budget(options))

    def _under_this_budget(self, options: dict[str, Any]) -> dict[str, Any]:
        relation = Relation.parse(options.pop("relation", self.relation))
        if relation is not self.relation:
            raise RelationMismatch(
                f"this session speaks of {self.relation} and the call of {relation}; "
                "use one relation for all releases of a session"
            )
        if "budget" in options:
            raise InputError("a session charges its own budget; leave out budget=")
        if "seed" not in options and self._seeds is not None:
            options["seed"] = next(self._seeds)
        return options | {"relation": relation, "budget": self.budget}

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to close: the budget lives as long as the session."""

    def __repr__(self) -> str:
        return f"Session({self.budget!r})"
