"""A cap on what may ever be learned: how charges add up, and when one no longer fits.

A cap is a *privacy filter*: each charge, and the decision to stop, may depend on
everything released before. The check comes before the noise. What holds is the cap,
fixed beforehand; the sum that happened to be used at a moment somebody chose to stop is
bookkeeping, not a guarantee, and is shown as such.

Why the cap holds. Fix neighbours and the output laws P, Q of the whole interaction.

- pure: at every step there is P~ <= P of mass >= 1 - delta_i with P~ <= e^epsilon_i Q.
  Multiply along a path: P~ <= e^(sum epsilon_i) Q <= e^epsilon Q on every path, because
  the filter stops every path in time; the mass lost is at most the largest sum of
  delta_i on a path, so at most delta [Rogers-Roth-Ullman-Vadhan 2016].
- zcdp: by induction from the last step back, the integral of P~^a Q~^(1-a) over what can
  follow is at most e^(a (a-1) (cap - rho used so far)), for every a > 1; at the start,
  e^(a (a-1) cap) [Whitehouse-Ramdas-Rogers-Wu 2023]. The lost mass is bounded as above.
  So (epsilon, delta_for_events + zcdp_delta(cap, epsilon))-DP holds.
- combined: both sums are kept, and a charge is granted while *either* stays within its
  limit. Every path then ends within the sum of epsilons (set A) or, if not, within the sum
  of rhos (set Z). Leave out, at every step, the mass that the event itself loses (its own
  delta): the truncation of an event does not depend on how it is counted. An event may be
  counted in A at any (epsilon_i, delta_i) that holds for what its own truncation leaves
  (``epsilon_at``); leave that mass delta_i out as well, on the beginning of a path that lies in
  A. Both masses come from one pool: on every path their sum is at most d, so P~ loses at most d.
  On A it is at most e^epsilon Q, as under pure. On Z it is no more than what the interaction
  that stops where rho passes its limit would also have done (leaving more of P out only lowers
  the integral of P~^a Q~^(1-a)), so at most e^epsilon Q up to zcdp_delta(limit, epsilon). For
  every set S of outcomes

      P(S) <= d + P~(S and A) + P~(S and Z) <= e^epsilon Q(S) + d + zcdp_delta(limit).

  Sums only grow along a path, so that every beginning of a path in A (in Z) is in A (in Z).
  Which pair an event is counted at depends on the event and on the sums so far, which follow
  from what was released; the bound is about the sums, however the pairs were chosen. How delta
  splits into the pool and composition may depend on the first event charged, which is chosen
  before anything was released, and on nothing later. (An event that is an interaction
  itself, such as a session, is charged as a whole when it begins. Others may come in between:
  pure, approximate and zCDP bounds compose concurrently as well [Vadhan-Zhang 2023].)

All limits are fixed beforehand on purpose. Trading rho against delta as one goes, one sum
below delta at every moment, would use another order a on every path, and the induction
is about one a: that rule is not known to be a filter.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from winnow.core.checks import Real, delta_range, exact, one_of, positive
from winnow.core.relation import Relation
from winnow.core.unit import Unit
from winnow.errors import BudgetExceeded, GuaranteeError, ParameterError, RelationMismatch
from winnow.privacy.accountants import (
    ZERO,
    ZcdpCost,
    epsilon_at,
    pure_cost,
    zcdp_cost,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from winnow.privacy.events import Event, check_event, describe
from winnow.privacy.guarantee import ACCOUNTANTS, Guarantee
from winnow.privacy.refusals import refusal, scaled
from winnow.privacy.rho import randomized_response_rho
from winnow.privacy.rounding import at_most, stated_at_least

BUDGET_ACCOUNTANTS = ("combined", *ACCOUNTANTS)

_LEAST_DELTA = Fraction(1, 10**280)
_LEAST_CONVERTED = Fraction(1, 2**40)
"""The part of what is kept for conversions below which none is made: sums stay short numbers."""


@dataclass(frozen=True)
class Amount:
    """An exact sum in the unit of an accountant, and the deltas of events.

    The unit is epsilon (pure, combined) or rho (zcdp). Only the combined accountant keeps
    ``rho`` beside epsilon, and ``converted``: the deltas at which rho was turned into epsilon.
    """

    size: Fraction = ZERO
    delta: Fraction = ZERO
    rho: Fraction = ZERO
    converted: Fraction = ZERO

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.size + other.size,
            self.delta + other.delta,
            self.rho + other.rho,
            self.converted + other.converted,
        )


@dataclass(frozen=True)
class Limit:
    """The most of each part of an amount, for one way of counting; None: it counts another."""

    size: Fraction | None
    delta: Fraction
    rho: Fraction | None = None
    pool: Fraction | None = None
    """The most delta of events and of conversions together; None: nothing is converted."""
    unconverted_above: Fraction | None = None
    """Events with more delta than this come without conversions.

    A ledger of a version that converted less had no such sum but under ``Cap._composed_only``. So a
    stored sum tells its split, whichever version charged it.
    """

    def admits(self, amount: Amount) -> bool:
        """Whether no part that is counted passes its limit."""
        if self.size is not None and amount.size > self.size:
            return False
        if self.rho is not None and amount.rho > self.rho:
            return False
        if self.pool is not None and amount.delta + amount.converted > self.pool:
            return False
        above = self.unconverted_above
        if above is not None and amount.delta > above and amount.converted:
            return False
        return amount.delta <= self.delta

    def times(self, part: Fraction) -> Limit:
        """A part of every limit."""
        return Limit(
            None if self.size is None else self.size * part,
            self.delta * part,
            None if self.rho is None else self.rho * part,
            self.pool if part else ZERO,  # conversions are too large for a small part
            self.unconverted_above,
        )


Split = tuple[Limit, ...]
"""Ways of counting, one of which every path has to end in; their deltas add up to delta."""


@dataclass(frozen=True)
class Cap:
    """At most (epsilon, delta) under one relation, counted by one accountant."""

    relation: Relation
    accountant: str
    splits: tuple[Split, ...] = field(repr=False)
    """In the order of preference; the first one that admits the first charge is kept for good."""
    guarantee: Guarantee
    share: Fraction = field(default=Fraction(1), repr=False)
    """The part of the whole cap that this is."""

    @classmethod
    def declare(
        cls,
        epsilon: Real,
        delta: Real = 0.0,
        relation: str | Relation = Relation.ADD_REMOVE,
        accountant: str | None = None,
        delta_for_events: Real = 0.0,
    ) -> Cap:
        """The cap for a total of (epsilon, delta); see ``Budget`` for the parameters."""
        positive(epsilon=epsilon)
        delta_range(delta=delta, delta_for_events=delta_for_events)
        size, total = exact("epsilon", epsilon), exact("delta", delta)
        reserved = exact("delta_for_events", delta_for_events)
        if accountant is None:
            accountant = "pure" if not total else "zcdp" if reserved else "combined"
        one_of(BUDGET_ACCOUNTANTS, accountant=accountant)
        related = Relation.parse(relation)
        rho = None
        if accountant != "zcdp" and reserved:
            raise ParameterError(
                f"the {accountant} accountant splits delta by itself; leave delta_for_events out"
            )
        if accountant != "pure" and not reserved < total:
            raise ParameterError(
                f"the {accountant} accountant needs a delta above delta_for_events="
                f"{delta_for_events}, and delta={delta} was given; raise delta, or use "
                "accountant='pure'"
            )
        if accountant == "combined" and total < _LEAST_DELTA:
            raise ParameterError(
                f"delta={delta} is too small to be split; use accountant='pure' and delta=0"
            )
        match accountant:
            case "pure":
                splits: tuple[Split, ...] = ((Limit(size, total),),)
            case "zcdp":
                limit = _rho(size, total - reserved)
                splits = ((Limit(limit, reserved),),)
                rho = None if reserved else stated_at_least(limit)
            case _:
                splits = _combined(size, total)
        stated = Guarantee(stated_at_least(size), stated_at_least(total), related, rho)
        return cls(related, accountant, splits, stated)

    def about(self, unit: Unit | None) -> Guarantee:
        """The guarantee about a privacy unit; None: nothing has said which."""
        return self.guarantee if unit is None else self.guarantee.about(unit)

    @property
    def unit(self) -> str:
        """What is summed and shown: "epsilon" or "rho"."""
        return "rho" if self.accountant == "zcdp" else "epsilon"

    @property
    def limit(self) -> Amount:
        """The most that can be used, in the unit shown, and the most delta of events."""
        return self.limit_after(Amount())

    def limit_after(self, used: Amount) -> Amount:
        """The limit when something is used: the first charge decides how delta is split."""
        size = self.splits[0][0].size
        assert size is not None
        return Amount(size, max(way.delta for split in self._open(used) for way in split))

    @property
    def _delta(self) -> Fraction:
        return exact("delta", self.guarantee.delta)

    def part(self, part: Fraction) -> Cap:
        """A part of the cap, for one analyst among several; the guarantee stays the whole's."""
        splits = tuple(tuple(way.times(part) for way in split) for split in self.splits)
        return replace(self, splits=splits, share=self.share * part)

    def cost(self, event: Event, used: Amount) -> Amount:
        """What the event costs here; an event under another relation is refused."""
        check_event(event)
        if event.relation is not self.relation:
            raise RelationMismatch(
                f"{describe(event)} cannot be charged to a budget under {self.relation}; read the "
                f"data with relation='{self.relation}' (of a table: table.under), give "
                f"wn.Budget(..., relation='{event.relation}'), or convert an add-remove event "
                "with as_substitution"
            )
        if self.accountant == "pure":
            pure = pure_cost(event)
            return Amount(pure.epsilon, pure.delta)
        zcdp = zcdp_cost(event)
        if self.accountant == "zcdp":
            return Amount(zcdp.rho, zcdp.delta)
        ways = sorted(self._ways(event, zcdp, used), key=lambda cost: cost.size)
        if not ways:  # more than there is: from now on only rho counts
            ways = [Amount(self.limit.size + 1, zcdp.delta, zcdp.rho)]
        for cost in (*ways, *self._last_ways(event, zcdp, used)):
            if self.follows(used, used + cost):
                return cost
        return ways[0]

    def _ways(self, event: Event, zcdp: ZcdpCost, used: Amount) -> Iterator[Amount]:
        """The event at its own pure epsilon, and at one for a small part of what delta is left."""
        with suppress(GuaranteeError):
            pure = pure_cost(event)
            yield Amount(pure.epsilon, max(pure.delta, zcdp.delta), zcdp.rho)
        yield from _at(event, zcdp, self._convertible(used, zcdp.delta))

    def _last_ways(self, event: Event, zcdp: ZcdpCost, used: Amount) -> Iterator[Amount]:
        """For half of what delta is left, or all: whoever asks for what is left gets it."""
        for split in self._open(used, zcdp.delta):
            for way in split:
                if way.size is not None and way.pool is not None:
                    left = way.pool - used.delta - used.converted - zcdp.delta
                    yield from _at(event, zcdp, left / 2)
                    yield from _at(event, zcdp, left)

    def _convertible(self, used: Amount, own: Fraction) -> Fraction:
        """The delta at which the next rho is turned into an epsilon; 0: none is left for it.

        A quarter of what is left of a quarter of delta, as a power of two so that sums stay short:
        the epsilon grows by the root of a logarithm only, and there is always something left.
        """
        pools = [way.pool for way in self._split_of(used) if way.pool is not None]
        whole = min(self._delta / 4, max(pools, default=ZERO))
        left = min(whole, max(pools, default=ZERO) - used.delta - own) - used.converted
        if left <= whole * _LEAST_CONVERTED:
            return ZERO
        quarter, power = left / 4, Fraction(1)
        while power > quarter:
            power /= 2
        return power

    def _split_of(self, used: Amount) -> Split:
        """How delta is split, which the first charge decided; before it, the first choice."""
        for split in self.splits:
            if any(way.admits(used) for way in split):
                return split
        return self._composed_only(used.delta)

    def _composed_only(self, own: Fraction) -> Split:
        """All of delta for composition, but for what the first charge needs for itself.

        Nothing with a delta of its own is charged afterwards, so that a later sum tells the split.
        """
        left = self._delta - own
        if self.accountant != "combined" or left <= 0 or own > self.share * self._delta:
            return ()
        rho = _rho(exact("epsilon", self.guarantee.epsilon), left)
        return (Limit(None, own, rho * self.share),)

    def _open(self, used: Amount, own: Fraction = ZERO) -> tuple[Split, ...]:
        if used != Amount() and self.share == 1:
            return (self._split_of(used),)
        # Before the first charge; and for a share, which only divides what the cap allows.
        return (*self.splits, self._composed_only(max(own, used.delta)))

    def follows(self, used: Amount, after: Amount) -> bool:
        """Whether the sum may grow from one amount to another."""
        splits = self._open(used, after.delta)
        return any(way.admits(after) for split in splits for way in split)

    def after(self, used: Amount, event: Event, cost: Amount) -> Amount:
        """What is used once the event is paid for, or a refusal that costs nothing."""
        total = used + cost
        if not self.follows(used, total):
            raise BudgetExceeded(self._refusal(used, event, cost))
        return total

    def fits(self, event: Event, used: Amount) -> bool:
        """Whether the event could be charged now."""
        return self.follows(used, used + self.cost(event, used))

    def spent(self, used: Amount) -> Amount:
        """What is used, in the unit shown: the smaller of the ways of counting."""
        if self.accountant != "combined" or not used.rho:
            return used
        ways = [used.size]
        for way in self._split_of(used):
            if way.rho is not None and used.rho <= way.rho:
                kept = min(zcdp_delta(way.rho / self.share, self.guarantee.epsilon), 0.999)
                ways.append(Fraction(zcdp_epsilon(used.rho, kept)))
        return Amount(min(*ways, self.limit.size), used.delta)

    def room(self, used: Amount) -> Amount:
        """What one more charge without a delta may cost, in the unit shown, and the delta left."""
        sizes, deltas = [ZERO], [ZERO]
        for split in self._open(used):
            for way in split:
                if not way.admits(replace(used, size=ZERO, rho=ZERO, converted=ZERO)):
                    continue
                pool = way.delta if way.pool is None else way.pool - used.converted
                deltas.append(min(way.delta, pool) - used.delta)
                if way.size is not None:
                    sizes.append(way.size - used.size)
                if way.rho is not None:
                    sizes.append(_pure_epsilon(way.rho - used.rho))
        return Amount(min(max(sizes), self.limit.size), max(deltas))

    def _refusal(self, used: Amount, event: Event, cost: Amount) -> str:
        return refusal(
            event,
            asked=cost.size,
            left=self.room(used).size,
            cap=self.limit.size,
            own=cost.delta,
            own_left=self.room(used).delta,
            unit=self.unit,
            exactly=self.unit == "epsilon" and not cost.converted and _has_epsilon(event),
            fits=lambda part: self.fits(scaled(event, part), used),
        )


def _combined(epsilon: Fraction, delta: Fraction) -> tuple[Split, ...]:
    """Ways to split delta: for events with one of their own and conversions, for composition.

    The first is for any mixture, the second, sums of epsilon alone, for a first charge that needs
    nearly all of delta itself; ``Cap._composed_only`` for one that takes nearly all of rho. So one
    release that asks for the whole (epsilon, delta) of a cap always fits it.
    """

    half, quarter = delta / 2, delta / 4
    pool = delta - quarter
    composed = Limit(None, half, _rho(epsilon, quarter), pool)
    alone = Limit(epsilon, delta, None, delta, unconverted_above=half)
    return (Limit(epsilon, half, None, pool), composed), (alone,)


@lru_cache(maxsize=256)
def _rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    return exact("rho", zcdp_rho(epsilon, delta))


def _at(event: Event, zcdp: ZcdpCost, delta: Fraction) -> Iterator[Amount]:
    """The event at the epsilon that it has for a delta besides its own."""
    epsilon = epsilon_at(event, delta) if delta > 0 else None
    if epsilon is not None:
        yield Amount(epsilon, zcdp.delta, zcdp.rho, delta)


def _has_epsilon(event: Event) -> bool:
    try:
        pure_cost(event)
    except GuaranteeError:
        return False
    return True


def _pure_epsilon(rho: Fraction) -> Fraction:
    """About the largest epsilon that costs no more than rho; never above it."""
    if rho <= 0:
        return ZERO
    # epsilon tanh(epsilon/2) is at least rho at 2 rho + 2, and at most rho at rho and below.
    low, high = ZERO, Fraction(at_most(2 * rho + 2))
    for _ in range(60):
        middle = Fraction(at_most((low + high) / 2))
        low, high = (middle, high) if randomized_response_rho(middle) <= rho else (low, middle)
    return low
