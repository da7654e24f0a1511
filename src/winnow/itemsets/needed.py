"""Which support the k-th itemset has to have to be found: what the automatic choice compares.

Nothing is read. What is known is k, epsilon, delta, how many itemsets there are if the items are
public, and what one person can move. How supports fall from rank to rank is private, so one shape
stands for all: support proportional to rank^(-1/3), between dense tables, which fall slower, and
web logs, which fall faster. The choice that follows is measured by ``benchmarks/itemsets.py``.
"""

from __future__ import annotations

import math

from winnow.core.utility import Utility
from winnow.select.ranked import RankedNoisyMax, RankedSelection, Repeated
from winnow.topk.mechanisms.ranked import RankedCanonical, RankedLimitedDomain

FALL = 1 / 3
"""How fast supports fall with the rank, as an exponent."""


def needed_support(selection: RankedSelection, utility: Utility, total: int | None) -> float:
    """The support at the last rank asked for from which on it is about as likely found as not."""
    match selection:
        case RankedLimitedDomain():
            listed = selection._explicit()
            beyond = ((listed.reach or 0) + 1) / selection.k
            return listed.lead(utility) / (1 - math.pow(beyond, -FALL))
        case RankedNoisyMax():
            return _log(total) / float(selection.scale(utility))
        case Repeated():
            return needed_support(selection.inner, utility, total)
        case RankedCanonical():
            return _canonical(selection, utility, total)
    raise TypeError(f"nothing is predicted for a {type(selection).__name__}")


def _log(total: int | None) -> float:
    return math.inf if total is None else math.log(total)


def _canonical(selection: RankedCanonical, utility: Utility, total: int | None) -> float:
    """The h best stay and the others are any of the universe: the worst h decides.

    Such sets lose half of the support at rank h + 1, and there are C(total, k - h) of them.
    """
    if total is None:
        return math.inf
    k, scale = selection.k, float(selection._explicit().scale(utility))
    worst = 0.0
    for kept in range(k):
        sets = _log_binomial(total, k - kept)
        worst = max(worst, 2 * sets / scale * ((kept + 1) / k) ** FALL)
    return worst


def _log_binomial(n: int, k: int) -> float:
    """ln C(n, k); n may be larger than a float holds."""
    k = min(k, n - k)
    return sum(math.log(n - i) - math.log(i + 1) for i in range(k))
