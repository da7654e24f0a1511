"""``winnow.boost``: a private vote of weak learners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, count, exact, probability
from winnow.core.key import Key
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.inner_product.crossing import (
    IndexedExponential,
    IndexedSelection,
    SealedExamples,
    SlackExponential,
    seal_examples,
)
from winnow.inner_product.rounds import IndexedRounds, RepeatedSelection
from winnow.inner_product.vectors import AUTO, EXACT, SealedQuery, why
from winnow.privacy import BoundedRange, Budget, Repeat, calibrate, guarantee_of
from winnow.privacy.sizing import sizing_accountant


@dataclass(frozen=True)
class Ensemble:
    """The learners that boosting chose, in order; one may stand more than once."""

    learners: tuple[Any, ...]
    positions: tuple[int, ...]
    """Where each stands in the list of learners."""

    def vote(self, predictions: Any) -> NDArray[np.int8]:
        """The majority for each column; `predictions` has a row for every learner of the list.

        Ties go to 1.
        """
        table = np.asarray(predictions)
        total = np.zeros(table.shape[1], np.int64)
        for position in self.positions:
            total += table[position].astype(np.int64)
        return np.where(total >= 0, 1, -1).astype(np.int8)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {"learners": list(self.learners), "positions": list(self.positions)}


_GRID = 2**20


@dataclass(frozen=True)
class SmoothBoost:
    """The booster for weak learners with an edge of `advantage` (gamma)."""

    advantage: Real

    def __post_init__(self) -> None:
        probability(advantage=self.advantage)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"SmoothBoost, advantage={float(exact('advantage', self.advantage)):g}"

    def weights(self, rounds: int) -> NDArray[np.float64]:
        """The weight for each vote -t .. t after t rounds, on a grid of 2^-20."""
        gamma = float(exact("advantage", self.advantage))
        theta = gamma / (2.0 + gamma)
        ahead = [vote - rounds * theta for vote in range(-rounds, rounds + 1)]
        weights = [1.0 if n <= 0 else (1.0 - gamma) ** (n / 2.0) for n in ahead]
        return np.array([round(w * _GRID) / _GRID for w in weights])

    def run(self, rounds: IndexedRounds, examples: SealedExamples, relation: Relation) -> Ensemble:
        """Draw all rounds; the result is computed from what they released."""
        chosen: list[int] = []
        while rounds.left:
            query = examples.weighed(chosen, self.weights(len(chosen)), relation)
            chosen += rounds.next(query)
        labels = tuple(examples.predictions.label(position) for position in chosen)
        return Ensemble(labels, tuple(chosen))


@guarded
def boost(
    predictions: Any,
    labels: Any,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    rounds: int,
    advantage: Real = 0.1,
    relation: str | Relation = Relation.ADD_REMOVE,
    names: Any = None,
    index: str = AUTO,
    slack: Real = 0,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[Ensemble]:
    """Choose weak learners whose vote classifies private examples well.

    ``predictions`` is a matrix of -1, 0 and 1: a row for each weak learner of a public list, a
    column for each private example; ``labels`` are -1 and 1. One example is one person. Each of
    ``rounds`` rounds selects, privately, the learner that is right most often about the
    examples that the vote still gets wrong (SmoothBoost); ``advantage`` is the edge that
    learners are expected to have. The whole is (epsilon, delta)-DP and charged once, before
    the first draw.

    ``value.learners`` are the chosen ones (``names``, or their positions), and
    ``value.vote(predictions)`` classifies other examples. ``index`` and ``slack`` (in nats, for
    each round) are those of ``max_inner_product``.
    """
    count(rounds=rounds)
    relation = Relation.parse(relation)
    booster = SmoothBoost(advantage)
    utility = SealedExamples.utility(relation)
    c = exact("slack", slack)
    if c > 0 and index in (AUTO, EXACT):
        raise ParameterError(
            f"slack={slack} is for an index, and index={index!r} scans all learners; "
            "leave out slack= or name an index"
        )
    if c < 0:
        raise ParameterError(f"slack={slack} is negative; give 0 or more")
    if c > 0:
        paid = Repeat(BoundedRange(2 * c, relation), rounds)
        if exact("epsilon", guarantee_of(paid, delta).epsilon) >= exact("epsilon", epsilon):
            raise ParameterError(
                f"slack={slack} in each of {rounds} rounds uses up epsilon={epsilon}; lower it"
            )

    def mechanism(per_round: Real) -> IndexedSelection:
        if c == 0:
            return IndexedExponential(per_round)
        return SlackExponential(exact("epsilon", per_round) + 2 * c, slack=c)

    found = calibrate(
        lambda per_round: RepeatedSelection(mechanism(per_round), rounds).promise(relation).event,
        epsilon=epsilon,
        delta=delta,
        accountant="best" if budget is None else sizing_accountant(budget, delta),
    )
    chosen = mechanism(found.parameter)
    examples = seal_examples(predictions, labels, index=index, names=names)
    vectors, repeated = examples.predictions, RepeatedSelection(chosen, rounds)

    def vote(_: SealedQuery, key: Key) -> Ensemble:
        return booster.run(IndexedRounds(chosen, vectors, utility, rounds, key), examples, relation)

    plan = Plan(
        mechanism=repeated,
        relation=relation,
        guarantee=found.guarantee,
        draw=vote,
        check=lambda query: chosen.check(vectors, query),
        title=f"{booster.name}; {repeated.name}",
        reason=why(index, vectors.index),
    )
    first = examples.weighed((), booster.weights(0), relation)
    return plan.run(first, budget=budget, seed=seed)
