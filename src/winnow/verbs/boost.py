"""``winnow.boost``: a private vote of weak learners."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from winnow.algorithms.boosting import SmoothBoost
from winnow.domain.checks import Real, count, exact
from winnow.domain.neighbours import Relation
from winnow.errors import InputError
from winnow.mechanisms.indexed_rounds import IndexedRounds, rounds_event
from winnow.mechanisms.indexed_selection import (
    IndexedExponential,
    IndexedSelection,
    SlackExponential,
)
from winnow.privacy import BoundedRange, Budget, Repeat, calibrate, guarantee_of
from winnow.random.tape import Randomness
from winnow.released import Released
from winnow.released.ensemble import Ensemble
from winnow.sealed.examples import SealedExamples, seal_examples
from winnow.sealed.vectors import EXACT
from winnow.verbs.charging import grant_for


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
    index: str = EXACT,
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
    if c > 0 and index == EXACT:
        raise InputError(
            f"slack={slack} is for an index, and index='exact' scans all learners; "
            "leave out slack= or name an index"
        )
    if c < 0:
        raise InputError(f"slack={slack} is negative; give 0 or more")
    if c > 0:
        paid = Repeat(BoundedRange(2 * c, relation), rounds)
        if exact("epsilon", guarantee_of(paid, delta).epsilon) >= exact("epsilon", epsilon):
            raise InputError(
                f"slack={slack} in each of {rounds} rounds uses up epsilon={epsilon}; lower it"
            )

    def mechanism(per_round: Real) -> IndexedSelection:
        if c == 0:
            return IndexedExponential(per_round)
        return SlackExponential(exact("epsilon", per_round) + 2 * c, slack=c)

    found = calibrate(
        lambda per_round: rounds_event(mechanism(per_round), utility, rounds),
        epsilon=epsilon,
        delta=delta,
        accountant="best" if budget is None else budget.accountant,
    )
    chosen = mechanism(found.parameter)
    randomness = Randomness(seed)
    examples = seal_examples(predictions, labels, index=index, names=names)
    first = examples.weighed((), booster.weights(0), relation)
    chosen.check(examples.predictions, first)
    event = rounds_event(chosen, utility, rounds)
    run = IndexedRounds(
        chosen, examples.predictions, utility, rounds, grant_for(event, budget), randomness.tape()
    )
    value = booster.run(run, examples, relation)
    receipt = replace(run.receipt, mechanism=f"{booster.name}; {run.receipt.mechanism}")
    return Released(value, found.guarantee, receipt)
