"""``winnow.frequent_itemsets``: the itemsets that most baskets hold, privately."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from winnow.core.checks import Real, count, exact
from winnow.core.padding import Padding
from winnow.core.plan import plan_of
from winnow.core.released import Released
from winnow.errors import ParameterError
from winnow.foreign import guarded, shown
from winnow.itemsets.crossing import MOST_ITEMS, FrequentItemsets, universe
from winnow.itemsets.table import choose
from winnow.mechanisms import AUTO
from winnow.privacy import Budget
from winnow.privacy.sizing import rounds_accountant
from winnow.read.baskets import SealedBaskets, read_baskets
from winnow.topk.classes import RankedOptions
from winnow.topk.mechanisms.ranked import items_moved


@guarded
def frequent_itemsets(
    baskets: Any,
    *,
    size: int,
    epsilon: Real,
    delta: Real = 0.0,
    k: int | None = None,
    mechanism: str = AUTO,
    with_counts: bool = False,
    with_subsets: bool = False,
    thresholds: str | None = None,
    growth: int | None = None,
    reach: int | None = None,
    unit: str | None = None,
    items: Any = None,
    max_items: int | None = None,
    budget: Budget | None = None,
    pad_to: Real | None = None,
    seed: int | None = None,
) -> Released[Any]:
    """The itemset of `size` items that (nearly) most baskets hold, or the k best.

    ``baskets`` come from ``winnow.read_baskets``; a list of baskets or a transactions file is
    read with ``unit``, ``items`` and ``max_items`` as there. ``epsilon`` and ``delta`` are for
    the whole call. Without ``k`` the value is one tuple of labels, or None where the mechanism
    answers 'none'; with ``k`` it is a list, which may be shorter.

    ``mechanism``: "auto" (default) takes the one that should find the most by public numbers,
    and the receipt says why; for lists a part of epsilon pays for a look at whether "weighted"
    finds more. "weighted" (baskets of a limited weight, all itemsets with noise) takes a public
    list of items, or private ones with a delta. "limited-domain" (``reach``), "large-margin"
    (``thresholds``), "distance-to-instability" and "choosing" (``growth``, or ``max_items`` of the
    baskets) need a delta and no list of items. "exponential", "permute-and-flip", "noisy-max",
    "joint" (a list), "canonical" (a set) and "canonical-adaptive" (a set of as many as stand out,
    at most k) need the public list of items. With ``k`` above 1 those that release one itemset are
    repeated on what is left, and "exponential" may use a delta to compose.

    ``with_counts=True`` releases noisy supports of the winners too, for half of epsilon.
    ``with_subsets=True`` releases, for the same half, the noisy supports of all subsets of the
    winners and the number of baskets as well: the value is an ``ItemsetSupports``, whose
    ``rules()`` are the association rules among them.

    ``pad_to`` holds the result back (and an error after the charge) until so many seconds after
    the call, or until a multiple of that if it takes longer. How long mining takes depends on the
    baskets, and nothing public bounds it.
    """
    if isinstance(pad_to, str):
        raise ParameterError(
            f"pad_to={shown(pad_to)}: the time of mining has no public bound; give seconds"
        )
    padding = Padding(pad_to)
    count(size=size)
    if int(size) > MOST_ITEMS:
        raise ParameterError(f"size={size} is above {MOST_ITEMS}; give 1 to {MOST_ITEMS}")
    if k is not None:
        count(k=k)
    if not isinstance(with_counts, bool) or not isinstance(with_subsets, bool):
        raise ParameterError("with_counts and with_subsets are True or False")
    counted = with_counts or with_subsets
    most = 1 if k is None else int(k)
    if isinstance(baskets, SealedBaskets):
        if unit is not None or items is not None or max_items is not None:
            raise ParameterError(
                "these baskets are read already; give unit, items, max_items there"
            )
        sealed = baskets
    elif isinstance(baskets, list | tuple | str | Path):
        salt = None if seed is None else f"seed {seed}"
        sealed = read_baskets(baskets, unit=unit, items=items, max_items=max_items, salt=salt)
    else:
        raise ParameterError(
            f"a {type(baskets).__name__} is not sealed baskets; read it with winnow.read_baskets"
        )
    share = exact("epsilon", epsilon) / 2 if counted else epsilon
    moved = items_moved(sealed.max_items, int(size), sealed.max_baskets)
    choice = choose(
        mechanism,
        epsilon=share,
        delta=delta,
        k=most,
        options=RankedOptions(
            thresholds, growth, reach, moved, accountant=rounds_accountant(budget)
        ),
        utility=sealed.utility,
        total=universe(sealed, int(size)),
        weighted=int(size) > 1 and sealed.here,
    )
    chosen = FrequentItemsets(
        choice.selection, int(size), most, share if counted else None, with_subsets
    )
    plan = plan_of(chosen, sealed.relation, reason=choice.reason)
    released = plan.run(sealed, budget=budget, seed=seed, padding=padding)
    if k is not None or with_subsets:
        return released
    return released.map(lambda itemsets: itemsets[0] if itemsets else None)
