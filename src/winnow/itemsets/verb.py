"""``winnow.itemsets``: the itemsets that most baskets hold, privately."""

from __future__ import annotations

from typing import Any

from winnow.core.options import takes
from winnow.core.padding import Padding
from winnow.core.released import Released
from winnow.itemsets.request import Itemsets
from winnow.read.baskets import SealedBaskets


@takes(Itemsets)
def itemsets(baskets: SealedBaskets, asked: Itemsets) -> Released[Any]:
    """The itemset of ``size`` items that (nearly) most baskets hold, or the k best.

    ``baskets`` come from ``winnow.read_baskets``, where whose presence is protected, a public list
    of items and bounds are said. ``epsilon`` and ``delta`` are for the whole call. Without ``k``
    the value is one tuple of labels, or None where the method answers 'none'; with ``k`` it is a
    list, which may be shorter.

    ``method``: "auto" (default) takes the one that should find the most by public numbers, and the
    receipt says why; for lists a part of epsilon pays for a look at whether "weighted" finds more.
    "weighted" (baskets of a limited weight, all itemsets with noise) takes a public list of items,
    or private ones with a delta. "limited-domain" (``wn.LimitedDomain(reach=)``), "large-margin"
    (``wn.LargeMargin(thresholds=)``), "distance-to-instability" and "choosing"
    (``wn.Choosing(growth=)``, or baskets that were read with ``max_items``) need a delta and no
    list of items. "exponential", "permute-and-flip", "noisy-max", "joint" (a list), "canonical"
    (a set; ``wn.Canonical(gamma=, noise=)``) and "canonical-adaptive" (a set of as many as stand
    out, at most k) need the public list of items. With ``k`` above 1 those that release one
    itemset are repeated on what is left, and "exponential" may use a delta to compose.

    ``supports="winners"`` releases noisy supports of the winners too, for half of epsilon.
    ``supports="subsets"`` releases, for the same half, the noisy supports of all subsets of the
    winners and the number of baskets as well: the value is an ``ItemsetSupports``, whose
    ``rules()`` are the association rules among them.

    ``run=wn.Run(pad_to=5)`` holds the result back (and an error after the charge) until so many
    seconds after the call, or until a multiple of that if it takes longer. How long mining takes
    depends on the baskets, and nothing public bounds it.
    """
    return mined(baskets, asked)


def mined(baskets: SealedBaskets, asked: Itemsets) -> Released[Any]:
    """The plan of what is asked, run on the baskets."""
    padding = Padding(None) if asked.run is None else asked.run.padding()
    plan = asked.plan(baskets)
    return plan.run(baskets, budget=asked.budget, seed=asked.seed, padding=padding)
