"""``winnow.select``, ``top_k``, ``labels``, ``above``: candidates by noise on their scores."""

from __future__ import annotations

from typing import Any

from winnow.core.checks import Real
from winnow.core.options import takes
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.run import open_run
from winnow.core.tape import Randomness
from winnow.core.unit import PERSON
from winnow.core.utility import declared
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.read.counts import SealedCounts
from winnow.read.scores import SealedScores
from winnow.select.about import AboutScores, sealed_counts, sealed_scores
from winnow.select.crossing.selection import SparseVectorStream, check_scale
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.sparse_vector import AboveAnswer, SparseVector
from winnow.select.methods import PickMethod
from winnow.select.open_selection import OpenSelection
from winnow.select.request import Above, FindLabels, Select, TopK


@takes(Select)
def select(scores: Any, asked: Select) -> Released[Any]:
    """Select the candidate with the (nearly) highest score, privately.

    ``scores`` is a dict, a list, a NumPy array, a pandas, Polars or Arrow column or table, what
    ``winnow.counts`` made of a table for a public list of items, ``winnow.scores`` of a source of
    any size, or ``winnow.classes`` of a universe that nobody can list. The list of candidates is
    public, their scores are private. Of plain numbers one person moves each by at most 1, up or
    down, and is added or removed; anything else is said where scores are sealed:
    ``wn.seal_scores(scores, sensitivity=, monotone=, relation=, labels=)``.

    ``epsilon`` is the total for the call. ``method`` is ``wn.PermuteAndFlip()`` (default),
    ``wn.Exponential()``, ``wn.NoisyMax()``, ``wn.LargeMargin(thresholds=)`` (needs ``delta``), or
    ``wn.Lipschitz(noise=)`` with one of gumbel, exponential, laplace, logistic, half-logistic; a
    word means its defaults. With ``k`` the value is a list of the k selected labels (the oneshot
    variant): in order for the exponential mechanism, as a set in the order of the candidates for
    the others. Without ``k`` it is one label. Classes take ``wn.DistanceToInstability()`` and
    ``wn.Choosing()`` too, which may answer None, and no ``k``.

    ``with_leads=True`` releases the list in the order of the noisy scores, as pairs of a label and
    by how much its noisy score leads the next one, for the same epsilon: with "noisy-max" (or
    logistic noise) the last lead, over the best that was not selected, too; with other noises
    that one is None, so ``k`` has to be 2 or more.

    ``budget`` charges a shared budget, whose relation must be the same. ``seed`` makes a
    repeatable result for tests, which carries no privacy, and the receipt says so.
    """
    return selected(sealed_scores(scores), asked)


def selected(scores: Any, asked: Select) -> Released[Any]:
    """What a selection releases of sealed scores."""
    return asked.plan(scores).run(scores, budget=asked.budget, seed=asked.seed)


@takes(TopK)
def top_k(counts: Any, asked: TopK) -> Released[Any]:
    """The k items with the (nearly) highest counts, privately.

    ``counts`` is a dict, a list, an array, a data frame, what ``winnow.counts`` made of a table,
    or ``winnow.classes`` of a universe that nobody can list. Plain numbers are counts of people:
    one person raises each by at most 1 and lowers none, and is added or removed. Anything else is
    said where counts are sealed: ``wn.seal_counts(counts, labels=, max_items=, sensitivity=)``,
    or ``wn.seal_scores`` for scores that are no counts. ``epsilon`` is the total for the call.

    ``method``: of a public list ``wn.Joint()`` (a list in order), ``wn.Canonical(gamma=, noise=)``
    (a set), ``wn.Oneshot(noise=)`` (a set), ``wn.PeelPermuteAndFlip()``, ``wn.PeelGumbel()`` (needs
    delta), ``wn.Gamma()``, ``wn.Laplace()`` (noise on every count, needs a bound on the items of a
    person), ``wn.Gaussian()`` (needs delta, too), ``wn.OneshotApproximate()`` (small epsilon, needs
    delta); where the labels were found in the data and are private, ``wn.LimitedDomain(reach=)``,
    ``wn.Stability()``, ``wn.WeightedGaussian(cap=, peel=)`` or ``wn.TruncatedLaplace()``, which
    need delta and may release fewer than k. A word ("joint") means its
    defaults. "auto" chooses by epsilon, k, delta, ``ordered`` and the items per person, and the
    receipt says why. One of your own derives from ``winnow.select.top_k_methods.TopKMethod``.

    Of counts of groups, ``wn.counts(log, item=, person=, by="country")``, the value is a list for
    each group, as a mapping, and ``epsilon`` is the total of all of them. Noise on every count is
    drawn over all groups at once; other methods draw in each group, and are composed over as many
    groups as one person is counted in (``wn.Groups(by, most=)``).

    Of classes, joint, canonical, canonical-adaptive (as many as stand out, at most k) and
    limited-domain take k at once, and the methods of ``winnow.select`` one after another.

    ``ordered=True`` asks for a list in order, ``ordered=False`` says that a set is enough.
    ``with_counts=True`` releases noisy counts of the winners too, as pairs: at no cost with
    laplace, gaussian and stability, for half of epsilon with the others. ``with_cut`` (0.05, say)
    is a share of epsilon for an estimate of what the bound of ``winnow.counts`` on a person left
    out: ``released.cut`` says how many people had more items, and how many of theirs were not
    counted.
    """
    return most_common(sealed_counts(counts), asked)


def most_common(counts: Any, asked: TopK) -> Released[Any]:
    """What a top k releases of sealed counts."""
    return asked.plan(counts).run(counts, budget=asked.budget, seed=asked.seed)


@takes(FindLabels)
def labels(counts: Any, asked: FindLabels) -> Released[list[Any]]:
    """The labels that there are in a log, where nobody listed them, privately.

    ``counts`` is what ``winnow.counts(log, item=, person=)`` made of an event log, or ready counts
    of people, ``wn.seal_counts(counts, labels="private", max_items=)``. A label that one person
    alone has is released with a chance of ``delta`` at most; what many have is found.
    ``epsilon`` is the total for the call.

    ``method``: ``wn.WeightedGaussian(cap=, rounds=)`` spreads each person's weight over their
    labels, so that no bound on items is needed; ``wn.TruncatedLaplace()`` is for counts with
    ``max_items=``, and ``wn.OptimalRule()`` for people who have one label each. A word
    ("weighted-gaussian") means its defaults. "auto" takes what is expected to find the most in
    generated logs, by public numbers, and the receipt says why.

    The value is a list of labels: the one with the largest noisy weight or count first, or by their
    text for the optimal rule, which tells no order. ``winnow.top_k`` gives the k most common.
    """
    return discovered(sealed_counts(counts), asked)


def discovered(counts: Any, asked: FindLabels) -> Released[list[Any]]:
    """The labels that are found in sealed counts."""
    return asked.plan(counts).run(counts, budget=asked.budget, seed=asked.seed)


@takes(Above)
def above(values: Any, asked: Above) -> Released[AboveAnswer]:
    """Which of a list of private values lie above a public threshold, in their order.

    The values (a dict, a list, an array, a data frame) are compared one by one with noise on
    both sides, and the run ends when ``cutoff`` of them were reported above: epsilon pays for
    those reports, however many values come out below. ``value.above`` are the labels reported,
    ``value.answered`` how many values were looked at. One person moves a plain number by at most
    1, up or down; ``wn.seal_scores(values, sensitivity=, monotone=, ...)`` says anything else.
    """
    return compared(sealed_scores(values), asked)


def compared(values: Any, asked: Above) -> Released[AboveAnswer]:
    """What a sparse vector releases of sealed values."""
    if isinstance(values, SealedCounts):
        values = values.to_scores()
    if not isinstance(values, SealedScores):
        raise ParameterError("values are compared one by one; give a list, a dict or an array")
    return asked.plan(values).run(values, budget=asked.budget, seed=asked.seed)


@guarded
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
    """Compare values that come one after another with a public threshold, until it is exhausted.

    The whole run is charged now. ``stream.ask(value)`` takes one value or several. What one person
    can do to a value is said here, because the values are still to come.
    """
    asked = Above(threshold=threshold, epsilon=epsilon, cutoff=cutoff)
    utility = declared(sensitivity, monotone, relation)
    plan = asked.plan(AboutScores(utility=utility))
    mechanism = plan.mechanism
    assert isinstance(mechanism, SparseVector)
    paid = open_run(plan, PERSON, budget=budget, tape=Randomness(seed).tape())
    return SparseVectorStream(mechanism, utility, plan.guarantee, *paid)


@guarded
def open_selection(
    *,
    epsilon: Real,
    method: PickMethod | str = "permute-and-flip",
    k: int | None = None,
    sensitivity: Real | tuple[Real, Real] = 1.0,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    budget: Budget | None = None,
    seed: int | None = None,
) -> OpenSelection:
    """A selection over candidates that many processes hold; it is charged now.

    ``.worker`` goes to the processes (it holds the secret key of this one draw, and can be
    pickled): ``worker.contenders(ids, scores)`` gives bytes, encrypted. ``.finish(parts)`` releases
    the candidates with the largest noisy scores of all parts, once. ``method`` and ``k`` are those
    of ``winnow.select``; what one person can do to a score is said here, because the scores are
    still to come. The result is the one that one process would have drawn.
    """
    asked = Select(epsilon=epsilon, method=method, k=k)
    utility = declared(sensitivity, monotone, relation)
    plan = asked.plan(AboutScores(utility=utility))
    chosen = plan.mechanism
    if not isinstance(chosen, LipschitzMechanism):
        raise ParameterError(f"{plan.name} needs all scores in one place; use permute-and-flip")
    check_scale(chosen.scale(utility))
    paid = open_run(plan, PERSON, budget=budget, tape=Randomness(seed).tape())
    return OpenSelection(chosen, utility, plan.guarantee, *paid, single=k is None)
