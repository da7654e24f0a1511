"""How events add up under each accountant of a budget; ``cap`` has the proofs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from winnow.core.checks import exact
from winnow.errors import GuaranteeError
from winnow.privacy.accountants import ZERO, pure_cost, zcdp_cost
from winnow.privacy.discrete_gaussian import normal_delta, normal_epsilon
from winnow.privacy.events import Event
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.limits import Amount, Limit, Split, half_squared, limit_of_rho
from winnow.privacy.residue import taken
from winnow.privacy.rho import randomized_response_rho
from winnow.privacy.rounding import SLACK, at_most
from winnow.privacy.ways import Summed, SummedAlone

if TYPE_CHECKING:
    from winnow.privacy.cap import Cap


class Counting(Protocol):
    """A rule by which charges are counted."""

    unit: str
    """What is shown."""

    def splits(self, epsilon: Fraction, delta: Fraction, reserved: Fraction) -> tuple[Split, ...]:
        """The ways of counting for a cap."""

    def cost(self, cap: Cap, event: Event, used: Amount, stated: Guarantee | None) -> Amount:
        """What an event costs."""

    def decided(self, cap: Cap, used: Amount) -> tuple[Split, ...]:
        """The one split that a sum belongs to."""

    def undecided(self, cap: Cap, after: Amount) -> tuple[Split, ...]:
        """The splits that a sum may belong to."""

    def spent(self, cap: Cap, used: Amount) -> Amount:
        """What is used, in the unit shown."""

    def pure_epsilon(self, rho: Fraction) -> Fraction:
        """About the largest epsilon that costs no more than what is composed; never above it."""


class _OneSplit:
    """There is nothing to decide."""

    unit = "epsilon"

    def decided(self, cap: Cap, used: Amount) -> tuple[Split, ...]:
        return cap.splits

    def undecided(self, cap: Cap, after: Amount) -> tuple[Split, ...]:
        return cap.splits

    def spent(self, cap: Cap, used: Amount) -> Amount:
        return used

    def pure_epsilon(self, rho: Fraction) -> Fraction:
        return epsilon_of_rho(rho)


class _Pure(_OneSplit):
    """Sums of epsilon and of delta."""

    def splits(self, epsilon: Fraction, delta: Fraction, reserved: Fraction) -> tuple[Split, ...]:
        return ((Limit(epsilon, delta),),)

    def cost(self, cap: Cap, event: Event, used: Amount, stated: Guarantee | None) -> Amount:
        pure = pure_cost(event)
        return Amount(pure.epsilon, pure.delta)


class _Zcdp(_OneSplit):
    """Sums of rho, and of the deltas of events."""

    unit = "rho"

    def splits(self, epsilon: Fraction, delta: Fraction, reserved: Fraction) -> tuple[Split, ...]:
        return ((Limit(limit_of_rho(epsilon, delta - reserved), reserved),),)

    def cost(self, cap: Cap, event: Event, used: Amount, stated: Guarantee | None) -> Amount:
        zcdp = zcdp_cost(event)
        return Amount(zcdp.rho, zcdp.delta)


class _Normals(_OneSplit):
    """A squared distance of two normals is kept; ``rho`` is half of it."""

    def pure_epsilon(self, rho: Fraction) -> Fraction:
        """Total variation erf(sqrt(rho)/2) is tanh(epsilon/2)."""
        if rho <= 0:
            return ZERO
        variation = min(math.erf(math.sqrt(at_most(rho)) / 2), 1 - 2.0**-50)
        return Fraction(2 * math.atanh(variation) * (1 - 8 * float(SLACK)))

    def _taken(self, event: Event, limit: Fraction, used: Fraction) -> Fraction:
        """What an event takes of a limit; more than that: it cannot be counted so."""
        try:
            return taken(event, max(2 * (limit - used), ZERO)) / 2
        except GuaranteeError:
            return limit + 1

    def _composed(self, cap: Cap, used: Amount, way: Limit) -> Iterator[Fraction]:
        """The epsilon of what is composed, for the delta that is kept for it."""
        if way.rho is not None and used.rho <= way.rho:
            whole = 2 * way.rho / cap.share
            kept = normal_delta(whole, exact("epsilon", cap.guarantee.epsilon))
            if 0 < kept < 1:
                yield Fraction(normal_epsilon(2 * used.rho, Fraction(kept)))


class _Gaussian(_Normals):
    """The residue filter of two normals alone."""

    def splits(self, epsilon: Fraction, delta: Fraction, reserved: Fraction) -> tuple[Split, ...]:
        return ((Limit(None, reserved, half_squared(epsilon, delta - reserved)),),)

    def cost(self, cap: Cap, event: Event, used: Amount, stated: Guarantee | None) -> Amount:
        (way,) = cap.splits[0]
        assert way.rho is not None
        rho = self._taken(event, way.rho, used.rho)
        whole = exact("epsilon", cap.guarantee.epsilon)
        delta = zcdp_cost(event).delta
        if rho > way.rho:
            return Amount(whole + 1, delta, rho)
        return Amount(next(self._composed(cap, Amount(rho=rho), way), whole), delta, rho)

    def spent(self, cap: Cap, used: Amount) -> Amount:
        (way,) = cap.splits[0]
        amount = next(self._composed(cap, used, way), cap.limit.size) if used.rho else ZERO
        return Amount(min(amount, cap.limit.size), used.delta)


class _Combined(_Normals):
    """Sums of epsilon and of delta, and the residue filter of two normals beside them."""

    def splits(self, epsilon: Fraction, delta: Fraction, reserved: Fraction) -> tuple[Split, ...]:
        """For any mixture; and sums alone, which have all of delta.

        A sixteenth of delta is kept for composition in the first. It was chosen on events of one
        kind at (1, 10^-6): composition then allows as much as rhos do for a quarter of delta.
        """
        kept = delta / 16
        pool = delta - kept
        composed = Limit(None, pool, half_squared(epsilon, kept), pool)
        return (Limit(epsilon, pool, None, pool), composed), (Limit(epsilon, delta, None, delta),)

    def cost(self, cap: Cap, event: Event, used: Amount, stated: Guarantee | None) -> Amount:
        if used == Amount():
            return self._first(cap, event, stated)
        if used.rho:
            return self._mixed(cap, event, used, stated)
        return self._alone(cap, event, used, stated)

    def decided(self, cap: Cap, used: Amount) -> tuple[Split, ...]:
        """What is counted in sums alone has nothing in the composition."""
        return (cap.splits[0] if used.rho else cap.splits[1],)

    def undecided(self, cap: Cap, after: Amount) -> tuple[Split, ...]:
        """The first charge says it by its amount; before it and for a share, either may be."""
        return cap.splits if after == Amount() else self.decided(cap, after)

    def spent(self, cap: Cap, used: Amount) -> Amount:
        ways = [used.size]
        if used.rho:
            ways += list(self._composed(cap, used, cap.splits[0][1]))
        return Amount(min(*ways, cap.limit.size), used.delta)

    def _first(self, cap: Cap, event: Event, stated: Guarantee | None) -> Amount:
        """Sums alone where they could take such a charge more often, or composition not twice."""
        nothing = Amount()
        mixed = self._mixed(cap, event, nothing, stated)
        alone = self._alone(cap, event, nothing, stated)
        if not cap.follows(nothing, alone):
            return mixed
        if not cap.follows(nothing, mixed):
            return alone
        sums, composed = (_times(mixed, way) for way in cap.splits[0])
        often = _times(alone, cap.splits[1][0])
        return alone if composed < 2 or often > max(sums, composed) else mixed

    def _mixed(self, cap: Cap, event: Event, used: Amount, stated: Guarantee | None) -> Amount:
        """Counted in both; what one of them cannot hold is counted in the other alone, for good."""
        sums, composed = cap.splits[0]
        assert composed.rho is not None
        rho = self._taken(event, composed.rho, used.rho)
        amount, first = _admitted(sums, used, Summed(event, sums, used, cap.guarantee, stated), rho)
        if amount is not None:
            return amount
        beyond = exact("epsilon", cap.guarantee.epsilon) + 1
        alone = Amount(beyond, zcdp_cost(event).delta, rho)
        return alone if first is None or composed.admits(used + alone) else first

    def _alone(self, cap: Cap, event: Event, used: Amount, stated: Guarantee | None) -> Amount:
        """Counted in sums of epsilon and delta alone."""
        (sums,) = cap.splits[1]
        ways = SummedAlone(event, sums, used, cap.guarantee, stated)
        amount, first = _admitted(sums, used, ways, ZERO)
        beyond = Amount(exact("epsilon", cap.guarantee.epsilon) + 1, zcdp_cost(event).delta)
        return amount or first or beyond


def _admitted(
    limit: Limit, used: Amount, ways: Summed, rho: Fraction
) -> tuple[Amount | None, Amount | None]:
    """The first way that is admitted, and the first of all."""
    first = None
    for cost in ways.costs(rho):
        if limit.admits(used + cost):
            return cost, first
        first = first or cost
    return None, first


def _times(cost: Amount, way: Limit) -> int:
    """About how often a charge could be had in one way of counting."""
    counted = [(cost.delta, way.delta)]
    if way.rho is not None:
        counted.append((cost.rho, way.rho))
    if way.size is not None:
        counted.append((cost.size, way.size))
        counted.append((cost.delta + cost.converted, way.delta))
    return math.floor(min((most / each for each, most in counted if each), default=ZERO))


def epsilon_of_rho(rho: Fraction) -> Fraction:
    """About the largest epsilon that costs no more than rho; never above it."""
    if rho <= 0:
        return ZERO
    # epsilon tanh(epsilon/2) is at least rho at 2 rho + 2, and at most rho at rho and below.
    low, high = ZERO, Fraction(at_most(2 * rho + 2))
    for _ in range(60):
        middle = Fraction(at_most((low + high) / 2))
        low, high = (middle, high) if randomized_response_rho(middle) <= rho else (low, middle)
    return low


RULES: dict[str, Counting] = {
    "combined": _Combined(),
    "gaussian": _Gaussian(),
    "pure": _Pure(),
    "zcdp": _Zcdp(),
}
"""By the name of the accountant."""
