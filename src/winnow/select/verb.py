"""``winnow.select``: one candidate, or k at once, by noise on their scores."""

from __future__ import annotations

from typing import Any

from winnow.core.checks import Real, count
from winnow.core.laws import Law
from winnow.core.plan import plan_of
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.run import open_run
from winnow.core.unit import PERSON
from winnow.core.utility import Utility
from winnow.errors import ParameterError, RelationMismatch
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.read.classes import SealedClasses
from winnow.read.counts import SealedCounts
from winnow.read.score_source import ScoreSource
from winnow.read.scores import SealedScores, labels_word, refuse_found_labels, seal_scores
from winnow.select.crossing import SparseVectorStream, check_scale
from winnow.select.mechanism import LipschitzMechanism
from winnow.select.open_selection import OpenSelection
from winnow.select.sparse_vector import AboveAnswer, SparseVector
from winnow.select.table import from_classes_named, prepared


@guarded
def above(
    values: Any,
    *,
    threshold: Real,
    epsilon: Real,
    cutoff: int = 1,
    sensitivity: Real | tuple[Real, Real] = 1.0,
    monotone: bool = False,
    relation: str | Relation | None = None,
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
    unit = relation_of(values, relation)
    utility = Utility.declare(sensitivity, monotone=monotone, relation=unit)
    mechanism = SparseVector(epsilon, threshold, cutoff)
    sealed = seal_scores(values, utility, labels=labels, copy=False)
    return plan_of(mechanism, utility.relation).run(sealed, budget=budget, seed=seed)


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
    """The same for values that come one after another: a stream that is asked until exhausted.

    The whole run is charged now. ``stream.ask(value)`` takes one value or several.
    """
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    mechanism = SparseVector(epsilon, threshold, cutoff)
    mechanism.check_scales(utility)
    plan = plan_of(mechanism, utility.relation)
    return SparseVectorStream(
        mechanism, utility, plan.guarantee, *open_run(plan, PERSON, budget=budget, seed=seed)
    )


@guarded
def open_selection(
    *,
    epsilon: Real,
    mechanism: str = "permute-and-flip",
    noise: str | Law | None = None,
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
    the candidates with the largest noisy scores of all parts, once. The other parameters are those
    of ``winnow.select``; the result is the one that one process would have drawn.
    """
    if k is not None:
        count(k=k)
        k = int(k)
    utility, chosen, plan = prepared(
        mechanism, epsilon, 0.0, k or 1, noise, None, sensitivity, monotone, relation
    )
    if not isinstance(chosen, LipschitzMechanism):
        raise ParameterError(f"{mechanism} needs all scores in one place; use permute-and-flip")
    check_scale(chosen.scale(utility))
    paid = open_run(plan, PERSON, budget=budget, seed=seed)
    return OpenSelection(chosen, utility, plan.guarantee, *paid, single=k is None)


@guarded
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
    relation: str | Relation | None = None,
    labels: Any = None,
    label_column: str | None = None,
    score_column: str | None = None,
    thresholds: str | None = None,
    growth: int | None = None,
    with_leads: bool = False,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[Any]:
    """Select the candidate with the (nearly) highest score, privately.

    ``scores`` is a dict, a list, a NumPy array, a pandas, Polars or Arrow column or table, what
    ``winnow.counts`` made of a table for a public list of items, ``winnow.scores`` of a source of
    any size, or ``winnow.classes`` of a universe that nobody can list. The list of candidates is
    public, their scores are private; ``labels="public"`` says so of a Series with an index, a
    Counter or a table of counts, whose labels could be found in the data.
    ``epsilon`` is the total for the call.

    ``sensitivity`` is the most by which one person can move any score, or (down, up) for
    what adding one person can do; ``monotone=True`` says that adding a person never lowers
    a score (as with counts): under add/remove that halves the noise. ``relation`` is add-remove,
    or that of counts and classes, which have declared it.

    ``mechanism`` is "permute-and-flip" (default), "exponential", "noisy-max",
    "large-margin" (needs delta), or "lipschitz" with ``noise`` one of gumbel, exponential,
    laplace, logistic, half-logistic. With ``k`` the value is a list of the k selected
    labels (the oneshot variant): in order for "exponential", as a set in the order of
    the candidates for the others. Without ``k`` it is one label. Classes take
    "distance-to-instability" and "choosing" (``growth``: how many candidates one person can
    have) too, which may answer None, and no ``k``.

    ``with_leads=True`` releases the list in the order of the noisy scores, as pairs of a label and
    by how much its noisy score leads the next one, for the same epsilon: with "noisy-max" (or
    logistic noise) the last lead, over the best that was not selected, too; with other noises
    that one is None, so ``k`` has to be 2 or more.

    ``budget`` charges a shared budget, whose relation must be the same. ``seed`` makes a
    repeatable result for tests, which carries no privacy, and the receipt says so.
    """
    if k is not None:
        count(k=k)
        k = int(k)
    unit = relation_of(scores, relation)
    if isinstance(scores, SealedClasses):
        refuse_declared_again(
            labels=labels,
            label_column=label_column,
            score_column=score_column,
            monotone=monotone or None,
            sensitivity=None if sensitivity == 1 else sensitivity,
        )
        if k is not None:
            raise ParameterError("several candidates of classes are for winnow.top_k(..., k=)")
        if with_leads:
            raise ParameterError("with_leads is not for classes; leave it out")
        whole = from_classes_named(
            mechanism,
            epsilon=epsilon,
            delta=delta,
            noise=noise,
            thresholds=thresholds,
            growth=growth,
        )
        plan = plan_of(whole, scores.relation)
        return plan.run(scores, budget=budget, seed=seed).map(lambda one: one[0] if one else None)
    if not isinstance(with_leads, bool):
        raise ParameterError("with_leads is True or False")
    if growth is not None:
        raise ParameterError("growth is for choosing among winnow.classes")
    utility, _, planned = prepared(
        mechanism,
        epsilon,
        delta,
        k or 1,
        noise,
        thresholds,
        sensitivity,
        monotone,
        unit,
        with_leads,
    )
    if isinstance(scores, ScoreSource):
        if labels is not None or label_column is not None or score_column is not None:
            raise ParameterError("winnow.scores has its ids and scores; do not give others")
        if with_leads:
            raise ParameterError("with_leads needs all scores in one place; leave it out")
        opened = open_selection(
            epsilon=epsilon,
            mechanism=mechanism,
            noise=noise,
            k=k,
            sensitivity=sensitivity,
            monotone=monotone,
            relation=unit,
            budget=budget,
            seed=seed,
        )
        return opened.finish(opened.contenders(scores))
    word = labels_word(labels)
    if word == "private":
        raise ParameterError(
            "select is for public candidates; for one of the labels found in the data use "
            "winnow.top_k(..., k=1, labels='private', delta=...)"
        )
    if isinstance(scores, SealedCounts):
        scores, utility = _of_counts(scores, utility)
    elif labels is None:
        refuse_found_labels(scores, tables=False)
    sealed = seal_scores(
        scores,
        utility,
        labels=None if word else labels,
        label_column=label_column,
        score_column=score_column,
        copy=False,  # they are released from before this call returns
    )
    released = planned.run(sealed, budget=budget, seed=seed)
    return released if k is not None else released.map(lambda labels: labels[0])


def refuse_declared_again(**given: Any) -> None:
    """Refuse what classes have declared already."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{name} belongs to winnow.classes; give it there")


def relation_of(data: Any, asked: str | Relation | None) -> Relation:
    """The relation that sealed data were declared with, or the one asked for; both must agree."""
    unit = Relation.ADD_REMOVE if asked is None else Relation.parse(asked)
    if not isinstance(data, SealedClasses | SealedCounts | SealedScores):
        return unit
    own = data.utility.relation
    if asked is not None and unit is not own:
        kind = "classes" if isinstance(data, SealedClasses) else "counts"
        raise RelationMismatch(
            f"these {kind} speak of {own} and the call of {unit}; leave out relation="
        )
    return own


def _of_counts(counts: SealedCounts, said: Utility) -> tuple[SealedScores, Utility]:
    """Counts as scores, with their own sensitivity; what was said must not contradict it."""
    if said.one_sided != 1:
        raise ParameterError("counts of people move by 1 for one person; leave out sensitivity=")
    return counts.to_scores(), counts.utility
