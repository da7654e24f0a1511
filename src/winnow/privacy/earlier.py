"""How the combined accountant added up in datasets that an earlier version opened in a ledger.

It composed rhos beside epsilons, with a quarter of delta for them. What it granted stays granted,
and what is left of such a dataset is counted in the same way; ``cap`` proves that it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

from winnow.core.checks import exact
from winnow.errors import GuaranteeError
from winnow.privacy.accountants import (
    ZERO,
    ZcdpCost,
    epsilon_at,
    pure_cost,
    zcdp_cost,
    zcdp_delta,
    zcdp_epsilon,
)
from winnow.privacy.counting import epsilon_of_rho
from winnow.privacy.events import Event
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.limits import Amount, Limit, Split, limit_of_rho

if TYPE_CHECKING:
    from winnow.privacy.cap import Cap

_LEAST_CONVERTED = Fraction(1, 2**40)


class _Earlier:
    """Sums of epsilon and sums of rho; a charge is granted while either stays in its limit."""

    unit = "epsilon"

    def splits(self, epsilon: Fraction, delta: Fraction, reserved: Fraction) -> tuple[Split, ...]:
        """For any mixture; and epsilon alone, for a first charge of nearly all of delta."""
        half, quarter = delta / 2, delta / 4
        pool = delta - quarter
        composed = Limit(None, half, limit_of_rho(epsilon, quarter), pool)
        alone = Limit(epsilon, delta, None, delta, unconverted_above=half)
        return (Limit(epsilon, half, None, pool), composed), (alone,)

    def cost(self, cap: Cap, event: Event, used: Amount, stated: Guarantee | None) -> Amount:
        zcdp = zcdp_cost(event)
        ways = sorted(self._ways(cap, event, zcdp, used), key=lambda cost: cost.size)
        if not ways:  # more than there is: from now on only rho counts
            ways = [Amount(cap.limit.size + 1, zcdp.delta, zcdp.rho)]
        for cost in (*ways, *self._last_ways(cap, event, zcdp, used)):
            if cap.follows(used, used + cost):
                return cost
        return ways[0]

    def decided(self, cap: Cap, used: Amount) -> tuple[Split, ...]:
        """By what a stored sum can only have come from."""
        return (self._split_of(cap, used),)

    def undecided(self, cap: Cap, after: Amount) -> tuple[Split, ...]:
        return (*cap.splits, self._composed_only(cap, after.delta))

    def spent(self, cap: Cap, used: Amount) -> Amount:
        if not used.rho:
            return used
        ways = [used.size]
        for way in self._split_of(cap, used):
            if way.rho is not None and used.rho <= way.rho:
                kept = min(zcdp_delta(way.rho / cap.share, cap.guarantee.epsilon), 0.999)
                ways.append(Fraction(zcdp_epsilon(used.rho, kept)))
        return Amount(min(*ways, cap.limit.size), used.delta)

    def pure_epsilon(self, rho: Fraction) -> Fraction:
        return epsilon_of_rho(rho)

    def _ways(self, cap: Cap, event: Event, zcdp: ZcdpCost, used: Amount) -> Iterator[Amount]:
        """The event at its own pure epsilon, and at one for a small part of what delta is left."""
        with suppress(GuaranteeError):
            pure = pure_cost(event)
            yield Amount(pure.epsilon, max(pure.delta, zcdp.delta), zcdp.rho)
        yield from _at(event, zcdp, self._convertible(cap, used, zcdp.delta))

    def _last_ways(self, cap: Cap, event: Event, zcdp: ZcdpCost, used: Amount) -> Iterator[Amount]:
        """For half of what delta is left, or all: whoever asks for what is left gets it."""
        fresh = used == Amount() or cap.share != 1
        splits = self.undecided(cap, _larger(zcdp, used)) if fresh else self.decided(cap, used)
        for split in splits:
            for way in split:
                if way.size is not None and way.pool is not None:
                    left = way.pool - used.delta - used.converted - zcdp.delta
                    yield from _at(event, zcdp, left / 2)
                    yield from _at(event, zcdp, left)

    def _convertible(self, cap: Cap, used: Amount, own: Fraction) -> Fraction:
        """The delta at which the next rho is turned into an epsilon; 0: none is left for it.

        A quarter of what is left of a quarter of delta, as a power of two so that sums stay short.
        """
        pools = [way.pool for way in self._split_of(cap, used) if way.pool is not None]
        whole = min(exact("delta", cap.guarantee.delta) / 4, max(pools, default=ZERO))
        left = min(whole, max(pools, default=ZERO) - used.delta - own) - used.converted
        if left <= whole * _LEAST_CONVERTED:
            return ZERO
        quarter, power = left / 4, Fraction(1)
        while power > quarter:
            power /= 2
        return power

    def _split_of(self, cap: Cap, used: Amount) -> Split:
        """How delta is split, which the first charge decided; before it, the first choice."""
        for split in cap.splits:
            if any(way.admits(used) for way in split):
                return split
        return self._composed_only(cap, used.delta)

    def _composed_only(self, cap: Cap, own: Fraction) -> Split:
        """All of delta for composition, but for what the first charge needs for itself.

        Nothing with a delta of its own is charged afterwards, so that a later sum tells the split.
        """
        whole = exact("delta", cap.guarantee.delta)
        left = whole - own
        if left <= 0 or own > cap.share * whole:
            return ()
        rho = limit_of_rho(exact("epsilon", cap.guarantee.epsilon), left)
        return (Limit(None, own, rho * cap.share),)


def _larger(zcdp: ZcdpCost, used: Amount) -> Amount:
    """The larger delta of events: of this one, or of all so far."""
    return Amount(delta=max(zcdp.delta, used.delta))


def _at(event: Event, zcdp: ZcdpCost, delta: Fraction) -> Iterator[Amount]:
    """The event at the epsilon that it has for a delta besides its own."""
    epsilon = epsilon_at(event, delta) if delta > 0 else None
    if epsilon is not None:
        yield Amount(epsilon, zcdp.delta, zcdp.rho, delta)


EARLIER = _Earlier()
