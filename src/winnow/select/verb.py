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
    """Select the candidate with the (nearly) highest score.

    ``scores`` is a dict, a list, a NumPy array, a pandas, Polars or Arrow column or table, counts
    from ``winnow.counts`` with a public list of items, ``winnow.scores`` of a source of any size,
    or ``winnow.classes``. The list of candidates is public; their scores are private. For plain
    numbers, one person, added or removed, moves each by at most 1, up or down. Declare anything
    else with ``wn.seal_scores(scores, sensitivity=, monotone=, relation=, labels=)``.

    ``epsilon`` is the total for the call. ``method`` is ``wn.PermuteAndFlip()`` (default),
    ``wn.Exponential()``, ``wn.NoisyMax()``, ``wn.LargeMargin(thresholds=)`` (needs ``delta``), or
    ``wn.Lipschitz(noise=)`` with one of gumbel, exponential, laplace, logistic, half-logistic. A
    word means its defaults.

    Without ``k`` the value is one label. With ``k`` it is a list of k labels (the oneshot
    variant): in order for the exponential mechanism, and as a set, in the order of the candidates,
    for the others. Classes take no ``k``, and also ``wn.DistanceToInstability()`` and
    ``wn.Choosing()``, which may answer None.

    ``with_leads=True`` releases the list in the order of the noisy scores, as pairs of a label and
    its lead: by how much its noisy score exceeds the next one. It costs nothing more. The last
    lead, over the best candidate that was not selected, is released with "noisy-max" and logistic
    noise only. With other noises it is None, so ``k`` has to be 2 or more.

    ``budget`` charges a shared budget, whose relation must be the same. ``seed`` makes the result
    repeatable, for tests: it is then not private, and the receipt says so.
    """
    return selected(sealed_scores(scores), asked)


def selected(scores: Any, asked: Select) -> Released[Any]:
    """What a selection releases of sealed scores."""
    return asked.plan(scores).run(scores, budget=asked.budget, seed=asked.seed)


@takes(TopK)
def top_k(counts: Any, asked: TopK) -> Released[Any]:
    """Release the k items with the (nearly) highest counts.

    ``counts`` is a dict, a list, an array, a data frame, counts that ``winnow.counts`` made, or
    classes from ``winnow.classes``. Plain numbers are counts of people: one person, added or
    removed, changes each by at most 1. For anything else declare what one person can change:
    ``wn.seal_counts(counts, labels=, max_items=, sensitivity=)``, or ``wn.seal_scores`` for scores
    that are not counts. ``epsilon`` is the total for the call.

    ``method`` is "auto" (default), a word or an object with options. "auto" chooses by epsilon, k,
    delta, ``ordered`` and the items per person, and the receipt says why.

    - For a public list of items: ``wn.Joint()`` (a list in order), ``wn.Canonical(gamma=,
      noise=)`` (a set), ``wn.Oneshot(noise=)`` (a set), ``wn.PeelPermuteAndFlip()``,
      ``wn.Gamma()``, and ``wn.Laplace()``, which adds noise to every count and needs a bound on
      the items of a person. With a delta also ``wn.PeelGumbel()``, ``wn.Gaussian()`` and
      ``wn.OneshotApproximate()`` (for small epsilon).
    - For private labels, which were found in the data: ``wn.LimitedDomain(reach=)``,
      ``wn.Stability()``, ``wn.WeightedGaussian(cap=, peel=)`` and ``wn.TruncatedLaplace()``. They
      need a delta, and may release fewer than k.
    - Your own method derives from ``winnow.select.top_k_methods.TopKMethod``.

    Counts by group, ``wn.counts(log, item=, person=, by="country")``, give a mapping with a list
    for each group. ``epsilon`` is the total for all of them. Methods that add noise to every count
    do so for all groups together. Other methods draw in each group, and compose over as many
    groups as one person is counted in (``wn.Groups(by, most=)``).

    For classes, joint, canonical, canonical-adaptive (as many as stand out, at most k) and
    limited-domain release all k in one draw. The methods of ``winnow.select`` are repeated.

    ``ordered=True`` asks for a list in order; ``ordered=False`` says that a set is enough.
    ``with_counts=True`` also releases noisy counts of the winners, as pairs: at no cost with
    laplace, gaussian and stability, and for half of epsilon with the others. ``with_cut`` (such as
    0.05) is a share of epsilon for an estimate of what the bound on a person left out:
    ``released.cut`` says how many people had more items, and how many of those were not counted.
    """
    return most_common(sealed_counts(counts), asked)


def most_common(counts: Any, asked: TopK) -> Released[Any]:
    """What a top k releases of sealed counts."""
    return asked.plan(counts).run(counts, budget=asked.budget, seed=asked.seed)


@takes(FindLabels)
def labels(counts: Any, asked: FindLabels) -> Released[list[Any]]:
    """Release the labels that many people have in a log, without a public list of them.

    ``counts`` comes from ``winnow.counts(log, item=, person=)``, or holds ready counts of people,
    ``wn.seal_counts(counts, labels="private", max_items=)``. A label that only one person has is
    released with probability at most ``delta``. ``epsilon`` is the total for the call.

    ``method`` is "auto" (default), a word or an object with options:

    - ``wn.WeightedGaussian(cap=, rounds=)`` spreads the weight of each person over their labels,
      and needs no bound on the items of a person;
    - ``wn.TruncatedLaplace()`` is for counts with ``max_items=``;
    - ``wn.OptimalRule()`` is for people with one label each.

    "auto" takes the method that should find the most labels, by public numbers, and the receipt
    says why.

    The value is a list of labels, from the largest noisy weight or count down. The optimal rule
    gives no order; its labels are sorted by their text. For the k most common labels use
    ``winnow.top_k``.
    """
    return discovered(sealed_counts(counts), asked)


def discovered(counts: Any, asked: FindLabels) -> Released[list[Any]]:
    """The labels that are found in sealed counts."""
    return asked.plan(counts).run(counts, budget=asked.budget, seed=asked.seed)


@takes(Above)
def above(values: Any, asked: Above) -> Released[AboveAnswer]:
    """Report which of a list of private values exceed a public threshold (sparse vector).

    The values (a dict, a list, an array, a data frame) are compared one by one, with noise on both
    sides. The run ends after ``cutoff`` reports. Epsilon pays for these reports, however many
    values are below the threshold. ``value.above`` lists the reported labels, and
    ``value.answered`` is the number of values that were compared. For plain numbers, one person
    moves each by at most 1, up or down. Declare anything else with ``wn.seal_scores(values,
    sensitivity=, monotone=, ...)``.
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
    """Compare values that arrive one after another with a public threshold.

    The whole run is charged now, and ends after ``cutoff`` reports. ``stream.ask(value)`` takes
    one value or several. Because the values are still to come, declare here what one person can
    change.
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
