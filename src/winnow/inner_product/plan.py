"""What a search for a vector, or a vote of learners, will be charged and how it is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.core.notebook import Listed
from winnow.core.options import takes
from winnow.core.plan import Plan, Private
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.inner_product.boosting import Ensemble, SmoothBoost
from winnow.inner_product.crossing import (
    IndexedExponential,
    IndexedSelection,
    SealedExamples,
    SlackExponential,
)
from winnow.inner_product.methods import Indexed, Scan, SearchMethod
from winnow.inner_product.problem import InnerProductGrid
from winnow.inner_product.request import Boost, Mips
from winnow.inner_product.rounds import IndexedRounds, RepeatedSelection
from winnow.inner_product.vectors import EXACT, SealedQuery, SealedVectors, seal_vectors
from winnow.privacy import BoundedRange, Repeat, calibrate, guarantee_of
from winnow.privacy.sizing import as_all_there_is, sizing_accountant

D = TypeVar("D", bound=Private)
R = TypeVar("R")

_NO_INDEX = (
    "method='auto' takes no index: one was faster only where all candidates have nearly the same "
    "chance"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchPlan(Listed, Plan[D, R]):
    """A search among candidates, or a vote of learners that were searched for one by one."""

    error: float | None = None
    """The inner product of what is drawn is below the largest by at most this on average.

    Of one draw without slack; None for others and for votes. The mean score under the exponential
    mechanism with exponents r x_i is (ln Z - H)/r, where Z >= exp(r max x) and the entropy H is at
    most ln m. So it is at least max x - (ln m)/r; rounding to the grid adds a step.
    """

    heading: ClassVar[str] = "Plan of a search for vectors"

    @property
    def compared(self) -> tuple[Any, ...]:
        """Nothing: every method draws from one law."""
        return ()

    def lines(self) -> list[tuple[str, str]]:
        """The plan as rows of a table."""
        rows = [("privacy", str(self.guarantee)), ("mechanism", self.name)]
        if self.error is not None:
            rows.append(("expected error", f"at most {self.error:.4g} below the largest"))
        return [*rows, *([("because", self.reason)] if self.reason else [])]


def planned_search(
    asked: Mips, candidates: SealedVectors, query: SealedQuery
) -> SearchPlan[SealedQuery, Any]:
    """The plan of a search, from what is public of candidates and query."""
    vectors, reason = _searched(candidates, asked.method)
    k, single = asked.k or 1, asked.k is None
    chosen = _selection(asked.method, asked.epsilon, k, asked.signed)

    def drawn(private: SealedQuery, key: Key) -> Any:
        labels = chosen.labels(vectors, private, key)
        return labels[0] if single else labels

    return SearchPlan(
        mechanism=chosen,
        relation=query.relation,
        guarantee=chosen.guarantee(chosen.promise(query.relation)),
        draw=drawn,
        check=lambda private: chosen.check(vectors, query_in(private)),
        reason=reason,
        error=_error(chosen, vectors, query),
    )


def _error(chosen: IndexedSelection, vectors: SealedVectors, query: SealedQuery) -> float | None:
    if chosen.k > 1 or not isinstance(chosen, IndexedExponential):
        return None
    grid = InnerProductGrid.of(query.utility, signed=chosen.signed)
    size = vectors.size * (2 if chosen.signed else 1)
    return (math.log(size) / float(chosen.scale(grid.utility)) + 1) * 2.0**grid.power


@as_all_there_is
def planned_vote(asked: Boost, examples: SealedExamples) -> SearchPlan[SealedExamples, Ensemble]:
    """The plan of all rounds of boosting, from what is public of the examples."""
    booster, relation, rounds = SmoothBoost(asked.advantage), examples.relation, asked.rounds
    slack = asked.method.slack if isinstance(asked.method, Indexed) else 0
    _refuse_much_slack(asked, exact("slack", slack), relation)
    vectors, reason = _searched(examples.predictions, asked.method)

    def repeated(per_round: Real) -> RepeatedSelection:
        whole = exact("epsilon", per_round) + 2 * exact("slack", slack) if slack else per_round
        return RepeatedSelection(_selection(asked.method, whole), rounds)

    sized = calibrate(
        lambda per_round: repeated(per_round).promise(relation).event,
        epsilon=asked.epsilon,
        delta=asked.delta,
        accountant="best" if asked.budget is None else sizing_accountant(asked.budget, asked.delta),
    )
    mechanism = repeated(sized.parameter)
    chosen, utility = mechanism.selection, SealedExamples.utility(relation)

    def searched(private: SealedExamples) -> SealedVectors:
        if private is examples:
            return vectors  # an index is built once
        return _searched(private.predictions, asked.method)[0]

    def check(private: SealedExamples) -> None:
        chosen.check(searched(examples_in(private)), private.weighed((), booster.weights(0)))

    def vote(private: SealedExamples, key: Key) -> Ensemble:
        return booster.run(IndexedRounds(chosen, searched(private), utility, rounds, key), private)

    return SearchPlan(
        mechanism=mechanism,
        relation=relation,
        guarantee=sized.guarantee,
        draw=vote,
        check=check,
        title=f"{booster.name}; {mechanism.name}",
        reason=reason,
    )


def _refuse_much_slack(asked: Boost, slack: Fraction, relation: Relation) -> None:
    if slack == 0:
        return
    paid = Repeat(BoundedRange(2 * slack, relation), asked.rounds)
    if exact("epsilon", guarantee_of(paid, asked.delta).epsilon) >= exact("epsilon", asked.epsilon):
        raise ParameterError(
            f"slack={float(slack):g} in each of {asked.rounds} rounds uses up "
            f"epsilon={asked.epsilon}; lower it"
        )


def _selection(
    method: SearchMethod | str, epsilon: Real, k: int = 1, signed: bool = False
) -> IndexedSelection:
    """The mechanism of a method; slack is a part of epsilon."""
    if not isinstance(method, Indexed):
        return IndexedExponential(epsilon, k, None, signed)
    if exact("slack", method.slack) == 0:
        return IndexedExponential(epsilon, k, method.head, signed)
    return SlackExponential(epsilon, k, method.head, signed, method.slack)


def _searched(vectors: SealedVectors, method: SearchMethod | str) -> tuple[SealedVectors, str]:
    """The candidates under the index of a method, and why there is none, where nobody said."""
    match method:
        case Scan():
            return vectors.indexed(EXACT), ""
        case Indexed(index=None):
            if vectors.index == EXACT:
                raise ParameterError(
                    "these vectors were sealed without an index; name one: "
                    "method=wn.Indexed(index='flat'), or wn.seal_vectors(..., index='flat')"
                )
            return vectors, ""
        case Indexed(index=str(name)):
            return vectors.indexed(name), ""
    return vectors, _NO_INDEX if vectors.index == EXACT else ""


def candidates_of(candidates: Any) -> SealedVectors:
    """Sealed candidates, from a matrix or as they are."""
    if isinstance(candidates, SealedVectors):
        return candidates
    return seal_vectors(candidates, copy=False)


def query_in(query: Any) -> SealedQuery:
    """A sealed query; a bare vector does not say how far one person moves it."""
    if not isinstance(query, SealedQuery):
        raise ParameterError(
            "the query does not say how far one person moves an inner product; seal it first: "
            "wn.seal_query(query, sensitivity=...)"
        )
    return query


def examples_in(examples: Any) -> SealedExamples:
    """Sealed examples."""
    if not isinstance(examples, SealedExamples):
        raise ParameterError(
            "boosting takes sealed examples; make them with wn.seal_examples(predictions, labels)"
        )
    return examples


@takes(Mips, of=object)
def mips(candidates: Any, query: SealedQuery, asked: Mips) -> SearchPlan[SealedQuery, Any]:
    """What ``wn.mips`` runs: its event, guarantee and expected error. Nothing is spent.

    ``plan.run(query, budget=...)`` is the search, for any query under the same relation.
    """
    return asked.plan(candidates_of(candidates), query_in(query))


@takes(Boost)
def boost(examples: SealedExamples, asked: Boost) -> SearchPlan[SealedExamples, Ensemble]:
    """What ``wn.boost`` runs: its event and guarantee. Nothing is spent.

    ``plan.run(examples, budget=...)`` is the vote.
    """
    return asked.plan(examples_in(examples))
