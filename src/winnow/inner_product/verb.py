"""``winnow.max_inner_product``: which candidate vector points most along a private query."""

from __future__ import annotations

from typing import Any

import numpy as np

from winnow.core.checks import Real, count, exact
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.utility import Utility
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded, instead, shown
from winnow.inner_product.crossing import IndexedExponential, IndexedSelection, SlackExponential
from winnow.inner_product.vectors import (
    AUTO,
    EXACT,
    SealedQuery,
    SealedVectors,
    seal_query,
    seal_vectors,
    why,
)
from winnow.privacy import Budget


@guarded
def max_inner_product(
    candidates: Any,
    query: Any,
    *,
    epsilon: Real,
    sensitivity: Real | tuple[Real, Real],
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    k: int | None = None,
    signed: bool = False,
    index: str = AUTO,
    head: int | None = None,
    slack: Real = 0,
    upper_bounds: Any = None,
    labels: Any = None,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[Any]:
    """Select the candidate with the (nearly) largest inner product with a private vector.

    ``candidates`` is a matrix with one vector per row, or what ``seal_vectors`` made of one
    (with an index, to be used again); ``query`` is one private vector. ``epsilon`` is the total
    for the call. The value is a label, or a list of k labels in order when ``k`` is given;
    with ``signed`` each is a pair (label, 1 or -1): the vector itself or its negative.

    ``sensitivity`` is the most by which one person can move any inner product: for candidates
    with entries in [-a, a] and a query that one person changes by at most b in the sum of
    absolute differences, a times b. Candidates may depend on the people too, as long as the
    sensitivity covers it; their number and their labels are public.

    The score is the exact inner product of the given float64 numbers, rounded to a public grid
    of about a thousandth of the sensitivity, and the noise is for the sensitivity of the
    rounded score: no rounding error stays unaccounted for.

    ``index`` ("flat", "lsh", "p-stable", "ivf", "hnsw") only makes it faster: the law is that of
    the exponential mechanism in any case, because what the index leaves out is bounded by
    certified bounds. "auto" takes none, and the receipt says why. ``slack`` trusts the index
    further, up to so many nats, for a part of epsilon (2 slack for each of the k draws): Algorithm
    5 of FastMWEM. ``head`` is how many candidates are asked of the index, sqrt(m) by default.
    ``upper_bounds`` are bounds on every inner product (with ``signed`` on its absolute value) that
    the caller certifies. Inner products beyond about 2^52 times the sensitivity are clipped.

    ``budget`` charges a shared budget, whose relation must be the same. ``seed`` makes a
    repeatable result for tests, which carries no privacy, and the receipt says so.
    """
    if k is not None:
        count(k=k)
    if not isinstance(signed, bool):
        raise ParameterError(f"signed={shown(signed)} is not True or False")
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    sealed_query = seal_query(query, utility)
    vectors = seal_vectors(candidates, index=index, labels=labels, copy=False)
    chosen: IndexedSelection
    if exact("slack", slack) == 0:
        chosen = IndexedExponential(epsilon, k or 1, head, signed)
    elif vectors.index == EXACT:
        raise ParameterError(
            f"slack={slack} is for an index, and index='exact' scans all candidates; "
            "leave out slack= or name an index"
        )
    else:
        chosen = SlackExponential(epsilon, k or 1, head, signed, slack)
    if head is not None and vectors.index == EXACT:
        raise ParameterError(
            f"head={head} is asked of an index, and index='exact' has none; leave out head="
        )
    bounds = None if upper_bounds is None else _bounds(upper_bounds, vectors)
    plan: Plan[SealedQuery, list[Any]] = Plan(
        mechanism=chosen,
        relation=utility.relation,
        guarantee=chosen.guarantee(chosen.promise(utility.relation)),
        draw=lambda private, key: chosen.labels(vectors, private, key, bounds),
        check=lambda private: chosen.check(vectors, private),
        reason=why(index, vectors.index),
    )
    released = plan.run(sealed_query, budget=budget, seed=seed)
    return released if k is not None else released.map(lambda labels: labels[0])


def _bounds(upper_bounds: Any, vectors: SealedVectors) -> np.ndarray[Any, np.dtype[np.float64]]:
    with instead(
        DataError("upper_bounds are not numbers; give one for each candidate"),
        TypeError,
        ValueError,
    ):
        bounds = np.asarray(upper_bounds, np.float64)
    if bounds.shape != (vectors.size,):
        raise DataError(
            f"upper_bounds have the shape {bounds.shape} for {vectors.size} candidates; "
            "give one for each"
        )
    if np.isnan(bounds).any():
        raise DataError("upper_bounds contain NaN; give infinity where nothing is known")
    if vectors.index == EXACT:
        raise DataError(
            "upper_bounds are for an index, and index='exact' scans all candidates; "
            "leave them out or name an index"
        )
    return bounds
