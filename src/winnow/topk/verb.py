"""``winnow.top_k``: the k items with the highest counts."""

from __future__ import annotations

from typing import Any

from winnow.core.options import takes
from winnow.core.released import Released
from winnow.select.about import sealed_counts
from winnow.topk.request import TopK


@takes(TopK)
def top_k(counts: Any, asked: TopK) -> Released[list[Any]]:
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
    delta); where the labels were found in the data and are private, ``wn.LimitedDomain(reach=)`` or
    ``wn.Stability()``, which need delta and may release fewer than k. A word ("joint") means its
    defaults. "auto" chooses by epsilon, k, delta, ``ordered`` and the items per person, and the
    receipt says why. One of your own derives from ``winnow.topk.methods.TopKMethod``.

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


def most_common(counts: Any, asked: TopK) -> Released[list[Any]]:
    """What a top k releases of sealed counts."""
    return asked.plan(counts).run(counts, budget=asked.budget, seed=asked.seed)
