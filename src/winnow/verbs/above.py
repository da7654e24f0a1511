"""``winnow.above``: which values exceed a public threshold, paying only for those that do."""

from __future__ import annotations

from typing import Any

from winnow.domain.checks import Real
from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.mechanisms.sparse_vector import AboveAnswer, SparseVector, SparseVectorStream
from winnow.privacy import Budget
from winnow.random.tape import Randomness
from winnow.released import Released
from winnow.sealed import seal_scores
from winnow.verbs.charging import grant_for


def above(
    values: Any,
    *,
    threshold: Real,
    epsilon: Real,
    cutoff: int = 1,
    sensitivity: Real | tuple[Real, Real] = 1.0,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    labels: Any = None,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[AboveAnswer]:
    """Which of a list of private values lie above a public threshold, in their order.

    The values (a dict, a list, an array, a data frame) are compared one by one with noise on
    both sides, and the run ends when ``cutoff`` of them were reported above: epsilon pays for
    those reports, however many values come out below. ``value.above`` are the labels reported,
    ``value.answered`` how many values were looked at.
    """
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    mechanism = SparseVector(epsilon, threshold, cutoff)
    randomness = Randomness(seed)
    sealed = seal_scores(values, utility, labels=labels, copy=False)
    mechanism.check(sealed)
    grant = grant_for(mechanism.promise(utility.relation).event, budget)
    return mechanism.release(sealed, grant, randomness.tape())


def open_above(
    *,
    threshold: Real,
    epsilon: Real,
    cutoff: int = 1,
    sensitivity: Real | tuple[Real, Real] = 1.0,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    budget: Budget | None = None,
    seed: int | None = None,
) -> SparseVectorStream:
    """The same for values that come one after another: a stream that is asked until exhausted.

    The whole run is charged now. ``stream.ask(value)`` takes one value or several.
    """
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    mechanism = SparseVector(epsilon, threshold, cutoff)
    randomness = Randomness(seed)
    mechanism.check_scales(utility)
    grant = grant_for(mechanism.promise(utility.relation).event, budget)
    return mechanism.open(utility, grant, randomness.tape())
