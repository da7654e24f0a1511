"""``winnow.mips`` and ``winnow.boost``: a vector along a private one, and a vote of learners."""

from __future__ import annotations

from typing import Any

from winnow.core.options import takes
from winnow.core.released import Released
from winnow.inner_product.boosting import Ensemble
from winnow.inner_product.crossing import SealedExamples
from winnow.inner_product.plan import candidates_of, examples_in, query_in
from winnow.inner_product.request import Boost, Mips
from winnow.inner_product.vectors import SealedQuery


@takes(Mips, of=object)
def mips(candidates: Any, query: SealedQuery, asked: Mips) -> Released[Any]:
    """Select the candidate with the (nearly) largest inner product with a private vector.

    ``candidates`` is a matrix with one vector per row, or what ``seal_vectors`` made of one (with
    labels, or with an index to be used again); ``query`` is a private vector with its sensitivity,
    from ``seal_query``. ``epsilon`` is the total for the call. The value is a label, or a list of k
    labels in order when ``k`` is given; with ``signed`` each is a pair (label, 1 or -1): the vector
    itself or its negative.

    The score is the exact inner product of the given float64 numbers, rounded to a public grid
    of about a thousandth of the sensitivity, and the noise is for the sensitivity of the
    rounded score: no rounding error stays unaccounted for. Inner products beyond about 2^52 times
    the sensitivity are clipped.

    ``method`` says how it is searched: ``wn.Scan()``, or ``wn.Indexed(index=, head=, slack=)``,
    which only makes it faster: the law is that of the exponential mechanism in any case, because
    what the index leaves out is bounded by certified bounds. "auto" takes the index that the
    vectors were sealed with; without one it scans, and the receipt says why. ``slack`` trusts the
    index further, up to so many nats, for a part of epsilon (2 slack for each of the k draws):
    Algorithm 5 of FastMWEM.

    ``budget`` charges a shared budget, whose relation must be that of the query. ``seed`` makes a
    repeatable result for tests, which carries no privacy, and the receipt says so.
    """
    return searched(candidates, query, asked)


def searched(candidates: Any, query: SealedQuery, asked: Mips) -> Released[Any]:
    """What a search releases of a private vector."""
    private = query_in(query)
    plan = asked.plan(candidates_of(candidates), private)
    return plan.run(private, budget=asked.budget, seed=asked.seed)


@takes(Boost)
def boost(examples: SealedExamples, asked: Boost) -> Released[Ensemble]:
    """Choose weak learners whose vote classifies private examples well.

    ``examples`` come from ``seal_examples``. Each of ``rounds`` rounds selects, privately, the
    learner that is right most often about the examples that the vote still gets wrong
    (SmoothBoost); ``advantage`` is the edge that learners are expected to have. The whole is
    (epsilon, delta)-DP and charged once, before the first draw.

    ``value.learners`` are the chosen ones (their names, or positions), and
    ``value.vote(predictions)`` classifies other examples. ``method`` is that of ``mips``, with
    slack in nats for each round.
    """
    return boosted(examples, asked)


def boosted(examples: SealedExamples, asked: Boost) -> Released[Ensemble]:
    """What rounds of boosting release of private examples."""
    private = examples_in(examples)
    return asked.plan(private).run(private, budget=asked.budget, seed=asked.seed)
