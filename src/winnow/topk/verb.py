"""``winnow.top_k``: the k items with the highest counts."""

from __future__ import annotations

from typing import Any

from winnow.core.checks import Real, count
from winnow.core.laws import Law
from winnow.core.plan import plan_of
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.utility import declared
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.privacy.sizing import rounds_accountant
from winnow.read.classes import SealedClasses
from winnow.read.counts import SealedCounts, private_counts
from winnow.read.scores import (
    SealedScores,
    labels_word,
    read_scores_of,
    refuse_found_labels,
    seal_scores,
)
from winnow.select.crossing import FromClasses
from winnow.select.verb import refuse_declared_again, relation_of
from winnow.topk.beside import cut_beside, run_beside
from winnow.topk.classes import RankedOptions, chosen_for_classes
from winnow.topk.table import chosen


@guarded
def top_k(
    counts: Any,
    *,
    k: int,
    epsilon: Real,
    delta: Real = 0.0,
    mechanism: str = "auto",
    ordered: bool | None = None,
    noise: str | Law | None = None,
    gamma: Real | None = None,
    rounded: bool = False,
    reach: int | None = None,
    with_counts: bool = False,
    with_cut: Real = 0.0,
    max_items: int | None = None,
    sensitivity: Real | tuple[Real, Real] = 1,
    monotone: bool = True,
    relation: str | Relation | None = None,
    labels: Any = None,
    label_column: str | None = None,
    score_column: str | None = None,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[list[Any]]:
    """The k items with the (nearly) highest counts, privately.

    ``counts`` is a dict, a list, an array, a data frame, what ``winnow.counts`` made of a table,
    or ``winnow.classes`` of a universe that nobody can list. One person moves every count by at
    most ``sensitivity``, and adding a person never lowers one (``monotone``). ``relation`` is
    add-remove, or that of counts and classes, which have declared it. ``epsilon`` is the total for
    the call.

    ``labels`` names the items of a list or array, or says where those of ready counts come from:
    "public", a list fixed without looking at the data, or "private", found in them, which needs
    a delta. A data frame, a Series with an index and a Counter need that word.

    ``mechanism``: "joint" (a list in order), "canonical" (a set; ``gamma``, ``noise``,
    ``rounded``), "oneshot" (a set; ``noise``), "peel-permute-and-flip", "peel-gumbel" (needs
    delta), "gamma", "laplace" (noise on every count, needs ``max_items``), "gaussian"
    (the same, needs delta), "oneshot-approximate" (small epsilon, needs delta); where the items
    came from the data and are private, "limited-domain" or "stability", which need delta and may
    release fewer than k. "auto" chooses by epsilon, k, delta, ``ordered`` and the items per
    person, and the receipt says why.

    Of classes, "joint", "canonical", "canonical-adaptive" (as many as stand out, at most k) and
    "limited-domain" take k at once, and "exponential",
    "permute-and-flip", "noisy-max", "large-margin", "distance-to-instability" and "choosing" one
    after another; ``max_items`` is then the most candidates that one person has.

    ``with_counts=True`` releases noisy counts of the winners too, as pairs: at no cost with
    "laplace", "gaussian" and "stability", for half of epsilon with the others.

    ``with_cut`` (0.05, say) is a share of epsilon for an estimate of what ``max_items``
    of ``winnow.counts`` left out: ``released.cut`` says how many people had more items, and how
    many of theirs were not counted.
    """
    count(k=k)
    k = int(k)
    if not isinstance(with_counts, bool) or ordered not in (None, True, False):
        raise ParameterError("with_counts and ordered are True or False")
    sealed, unit = counts, relation_of(counts, relation)
    if isinstance(counts, SealedClasses):
        refuse_declared_again(
            labels=labels,
            label_column=label_column,
            score_column=score_column,
            sensitivity=None if sensitivity == 1 else sensitivity,
            monotone=monotone if not monotone else None,
        )
        if with_counts or rounded or with_cut:
            raise ParameterError(
                "with_counts, with_cut and rounded are not for classes; leave them out"
            )
        selection, reason = chosen_for_classes(
            mechanism,
            epsilon=epsilon,
            delta=delta,
            k=k,
            ordered=ordered,
            options=RankedOptions(
                reach=reach,
                moved=max_items,
                gamma=gamma,
                noise=noise,
                accountant=rounds_accountant(budget),
            ),
            total=counts.total,
        )
        plan = plan_of(FromClasses(selection), counts.relation, reason=reason)
        return plan.run(counts, budget=budget, seed=seed)
    if isinstance(counts, SealedCounts):
        bound = counts.max_items
        if max_items is not None and max_items != bound:
            raise ParameterError(
                f"max_items={max_items} was not used when counting; give it to counts(...)"
            )
        max_items = bound
        if counts.domain_known:
            sealed = counts.to_scores()
    if isinstance(sealed, SealedCounts):
        if labels is not None or label_column is not None or score_column is not None:
            raise ParameterError("these counts have their labels already; do not give others")
    else:
        utility = declared(sensitivity, monotone, unit)
        if isinstance(sealed, SealedScores):
            utility = sealed.utility
        word = labels_word(labels)
        if word is None and labels is None:
            refuse_found_labels(sealed, tables=True)
        columns = {"label_column": label_column, "score_column": score_column}
        if word == "private":
            values, names = read_scores_of(sealed, **columns)
            if names is None:
                raise ParameterError("labels='private' needs counts with labels; give a dict")
            sealed = private_counts(names, values, utility, max_items)
        else:
            # they are released from before this call returns, so that no copy is needed
            given = None if word else labels
            sealed = seal_scores(sealed, utility, labels=given, copy=False, **columns)
    beside = cut_beside(
        with_cut, epsilon, counts.people if isinstance(counts, SealedCounts) else None
    )
    own = epsilon if beside is None else beside.rest
    choice = chosen(
        mechanism, own, delta, k, ordered, not isinstance(sealed, SealedCounts), noise, gamma,
        rounded, reach, max_items, with_counts, rounds_accountant(budget),
        sealed.utility, sealed.size if isinstance(sealed, SealedScores) else None,
    )  # fmt: skip
    plan = choice.plan(sealed.relation)
    return run_beside(beside, plan, sealed, budget=budget, seed=seed)
