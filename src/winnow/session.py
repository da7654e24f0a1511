"""The verbs a user calls: one by one, or under the one budget of a Session."""

from __future__ import annotations

from itertools import count as count_from
from types import TracebackType
from typing import Any

from winnow.domain.checks import Real, count
from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.errors import RelationMismatch
from winnow.mechanisms.naming import selection_named
from winnow.privacy import Budget, single_use_grant
from winnow.random.laws import Law
from winnow.random.tape import Randomness
from winnow.released import Released
from winnow.sealed import seal_scores


def select(
    scores: Any,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    mechanism: str = "permute-and-flip",
    noise: str | Law | None = None,
    k: int | None = None,
    sensitivity: Real | tuple[Real, Real] = 1.0,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    labels: Any = None,
    label_column: str | None = None,
    score_column: str | None = None,
    thresholds: str | None = None,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[Any]:
    """Select the candidate with the (nearly) highest score, privately.

    ``scores`` is a dict, a list, a NumPy array, or a pandas, Polars or Arrow column or
    table. The list of candidates is public, their scores are private. ``epsilon`` is the
    total for the call.

    ``sensitivity`` is the most by which one person can move any score, or (down, up) for
    what adding one person can do; ``monotone=True`` says that adding a person never lowers
    a score (as with counts): under add/remove that halves the noise.

    ``mechanism`` is "permute-and-flip" (default), "exponential", "noisy-max",
    "large-margin" (needs delta), or "lipschitz" with ``noise`` one of gumbel, exponential,
    laplace, logistic, half-logistic. With ``k`` the value is a list of the k selected
    labels (the oneshot variant): in order for "exponential", as a set in the order of
    the candidates for the others. Without ``k`` it is one label.

    ``budget`` charges a shared budget, whose relation must be the same. ``seed`` makes a
    repeatable result for tests, which carries no privacy, and the receipt says so.
    """
    if k is not None:
        count(k=k)
        k = int(k)
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    chosen = selection_named(
        mechanism, epsilon=epsilon, delta=delta, k=k or 1, noise=noise, thresholds=thresholds
    )
    randomness = Randomness(seed)
    sealed = seal_scores(
        scores,
        utility,
        labels=labels,
        label_column=label_column,
        score_column=score_column,
        copy=False,  # they are released from before this call returns
    )
    chosen.check(sealed)
    event = chosen.promise(utility.relation).event
    grant = single_use_grant(event) if budget is None else budget.charge(event)
    released: Released[list[Any]] = chosen.release(sealed, grant, randomness.tape())
    if k is not None:
        return released
    return Released(released.value[0], released.guarantee, released.receipt)


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
        relation = Relation.parse(options.pop("relation", self.relation))
        if relation is not self.relation:
            raise RelationMismatch(
                f"this session speaks of {self.relation} and the call of {relation}; "
                "use one relation for all releases of a session"
            )
        if "seed" not in options and self._seeds is not None:
            options["seed"] = next(self._seeds)
        return select(scores, epsilon=epsilon, relation=relation, budget=self.budget, **options)

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
