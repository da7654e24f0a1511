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
- gaussian: the residue filter of two normals (``residue``), with the lost mass as above. So
  (epsilon, delta_for_events + the delta of these normals at epsilon)-DP holds.
- combined: sums of epsilon and delta are kept, and beside them what the charges take of a
  squared distance; a charge is granted while *either* stays within its limit. Every path then
  ends within the sums (set A) or, if not, within the distance (set Z). Leave out, at every step,
  the mass that the event itself loses (its own delta): the truncation of an event does not depend
  on how it is counted. An event may be counted in A at any (epsilon_i, delta_i) that holds for
  what its own truncation leaves (``pairs``); leave that mass delta_i out as well, on the beginning
  of a path that lies in A. Both masses come from one pool: on every path their sum is at most d,
  so P~ loses at most d. On A it is at most e^epsilon Q, as under pure. On Z it is no more than
  what the interaction that stops where the distance passes its limit would also have done
  (leaving more of P out only lowers what a set gains), so at most e^epsilon Q up to the delta of
  these normals, z. For every set S of outcomes

      P(S) <= d + P~(S and A) + P~(S and Z) <= e^epsilon Q(S) + d + z.

  Sums only grow along a path, so that every beginning of a path in A (in Z) is in A (in Z).
  Which pair an event is counted at depends on the event, on what its plan says was asked for and
  on the sums so far, which follow from what was released; each pair is computed from the event,
  whatever was asked. Whether delta splits into a pool and z, or is all pool with no Z, depends on
  the first event charged, which is chosen before anything was released, and on nothing later: a
  choice that could wait would have to pay for both. (An event that is an interaction itself, such
  as a session, is charged as a whole when it begins. Others may come in between: such bounds
  compose concurrently as well [Vadhan-Zhang 2023].)

  (Datasets of earlier versions have rhos in the place of the distance; the same proof holds.)

All limits are fixed beforehand on purpose. Trading one against delta as one goes, the total
below delta at every moment, is not known to be a filter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from winnow.core.checks import Real, delta_range, exact, one_of, positive
from winnow.core.relation import Relation
from winnow.core.unit import Unit
from winnow.errors import BudgetExceeded, GuaranteeError, ParameterError, RelationMismatch
from winnow.privacy.accountants import pure_cost
from winnow.privacy.counting import RULES, Counting
from winnow.privacy.earlier import EARLIER
from winnow.privacy.events import Event, check_event, describe
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.limits import Amount, Split
from winnow.privacy.refusals import NEED_NOT_ADD_UP, refusal, scaled
from winnow.privacy.rounding import stated_at_least

__all__ = ["BUDGET_ACCOUNTANTS", "Amount", "Cap"]

BUDGET_ACCOUNTANTS = tuple(RULES)

_LEAST_DELTA = Fraction(1, 10**280)


@dataclass(frozen=True)
class Cap:
    """At most (epsilon, delta) under one relation, counted by one accountant."""

    relation: Relation
    accountant: str
    counting: Counting = field(repr=False)
    """How events add up."""
    splits: tuple[Split, ...] = field(repr=False)
    """In the order of preference; the first charge decides between them for good."""
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
        *,
        earlier: bool = False,
    ) -> Cap:
        """The cap for a total of (epsilon, delta); see ``Budget`` for the parameters.

        ``earlier`` is for datasets that an earlier version opened in a ledger.
        """
        positive(epsilon=epsilon)
        delta_range(delta=delta, delta_for_events=delta_for_events)
        size, total = exact("epsilon", epsilon), exact("delta", delta)
        reserved = exact("delta_for_events", delta_for_events)
        if accountant is None:
            accountant = "pure" if not total else "zcdp" if reserved else "combined"
        one_of(BUDGET_ACCOUNTANTS, accountant=accountant)
        related = Relation.parse(relation)
        if accountant in ("pure", "combined") and reserved:
            raise ParameterError(
                f"the {accountant} accountant splits delta by itself; leave delta_for_events out"
            )
        if accountant != "pure" and not reserved < total:
            raise ParameterError(
                f"the {accountant} accountant needs a delta above delta_for_events="
                f"{delta_for_events}, and delta={delta} was given; raise delta, or use "
                "accountant='pure'"
            )
        if accountant in ("combined", "gaussian") and total < _LEAST_DELTA:
            raise ParameterError(
                f"delta={delta} is too small to be split; use accountant='pure' and delta=0"
            )
        counting = EARLIER if earlier and accountant == "combined" else RULES[accountant]
        splits = counting.splits(size, total, reserved)
        rho = splits[0][0].size if accountant == "zcdp" and not reserved else None
        stated = Guarantee(
            stated_at_least(size),
            stated_at_least(total),
            related,
            None if rho is None else stated_at_least(rho),
        )
        return cls(related, accountant, counting, splits, stated)

    @property
    def earlier(self) -> bool:
        """Whether it is counted as by a version that opened it in a ledger."""
        return self.counting is EARLIER

    def about(self, unit: Unit | None) -> Guarantee:
        """The guarantee about a privacy unit; None: nothing has said which."""
        return self.guarantee if unit is None else self.guarantee.about(unit)

    @property
    def unit(self) -> str:
        """What is summed and shown: "epsilon" or "rho"."""
        return self.counting.unit

    @property
    def limit(self) -> Amount:
        """The most that can be used, in the unit shown, and the most delta of events."""
        return self.limit_after(Amount())

    def limit_after(self, used: Amount) -> Amount:
        """The limit when something is used: the first charge decides how delta is split."""
        size = self.splits[0][0].size
        if size is None:
            size = self.share * exact("epsilon", self.guarantee.epsilon)
        return Amount(size, max(way.delta for split in self._open(used) for way in split))

    def part(self, part: Fraction) -> Cap:
        """A part of the cap, for one analyst among several; the guarantee stays the whole's."""
        splits = tuple(tuple(way.times(part) for way in split) for split in self.splits)
        return replace(self, splits=splits, share=self.share * part)

    def cost(self, event: Event, used: Amount, stated: Guarantee | None = None) -> Amount:
        """What the event costs here; an event under another relation is refused.

        ``stated`` is the guarantee of its plan: where epsilons and deltas add up, an event is
        counted at no more than was asked for.
        """
        check_event(event)
        if event.relation is not self.relation:
            raise RelationMismatch(
                f"{describe(event)} cannot be charged to a budget under {self.relation}; read the "
                f"data with relation='{self.relation}' (of a table: table.under), give "
                f"wn.Budget(..., relation='{event.relation}'), or convert an add-remove event "
                "with as_substitution"
            )
        return self.counting.cost(self, event, used, stated)

    def _open(self, used: Amount, after: Amount | None = None) -> tuple[Split, ...]:
        if used != Amount() and self.share == 1:
            return self.counting.decided(self, used)
        # Before the first charge; and for a share, which only divides what the cap allows.
        return self.counting.undecided(self, used if after is None else after)

    def follows(self, used: Amount, after: Amount) -> bool:
        """Whether the sum may grow from one amount to another."""
        return any(way.admits(after) for split in self._open(used, after) for way in split)

    def after(
        self, used: Amount, event: Event, cost: Amount, stated: Guarantee | None = None
    ) -> Amount:
        """What is used once the event is paid for, or a refusal that costs nothing."""
        total = used + cost
        if not self.follows(used, total):
            raise BudgetExceeded(self._refusal(used, event, cost, stated))
        return total

    def fits(self, event: Event, used: Amount, stated: Guarantee | None = None) -> bool:
        """Whether the event could be charged now."""
        return self.follows(used, used + self.cost(event, used, stated))

    def as_stated(self, event: Event, used: Amount, stated: Guarantee, part: Fraction) -> bool:
        """Whether the event would be counted at what its plan states; beside others at ``part``.

        That is ``delta_of_part``. Where sums of epsilon are used up, or none are kept, only what is
        composed counts.
        """
        cost = self.cost(event, used, stated)
        most = part if (used + cost).rho else exact("delta", stated.delta)
        if cost.size <= exact("epsilon", stated.epsilon) and cost.delta + cost.converted <= most:
            return True
        ways = [way for split in self._open(used) for way in split]
        return not any(way.size is not None and way.admits(used) for way in ways)

    def delta_of_part(self, used: Amount, epsilon: Fraction, delta: Fraction) -> Fraction:
        """At how much of a delta to size a part of the cap, so that others fit beside it.

        It takes no larger part of delta than of epsilon. And a part of delta is kept for what is
        composed: the first release goes without it, if it asks for twice as much, and otherwise
        each release without its share.
        """
        sums, whole = self.splits[0][0], exact("delta", self.guarantee.delta)
        if sums.pool is None or sums.size is None or (used != Amount() and not used.rho):
            return delta
        rest, left = sums.pool - used.delta - used.converted, sums.size - used.size
        if rest <= 0 or left <= 0 or not delta:
            return delta
        kept = whole - sums.pool
        first = used == Amount() and delta >= 2 * kept
        part = delta - kept if first else delta * sums.pool / whole
        return min(part, rest * min(epsilon / left, Fraction(1)))

    def spent(self, used: Amount) -> Amount:
        """What is used, in the unit shown: the smaller of the ways of counting."""
        return self.counting.spent(self, used)

    def room(self, used: Amount) -> Amount:
        """What one more charge without a delta may cost, in the unit shown, and the delta left."""
        sizes, deltas = [Fraction(0)], [Fraction(0)]
        for split in self._open(used):
            for way in split:
                if not way.admits(Amount(delta=used.delta)):
                    continue
                pool = way.delta if way.pool is None else way.pool - used.converted
                deltas.append(min(way.delta, pool) - used.delta)
                if way.size is not None:
                    sizes.append(way.size - used.size)
                if way.rho is not None:
                    sizes.append(self.counting.pure_epsilon(way.rho - used.rho))
        return Amount(min(max(sizes), self.limit.size), max(deltas))

    def _refusal(self, used: Amount, event: Event, cost: Amount, stated: Guarantee | None) -> str:
        told = self._told(used, event, cost, stated)
        sum_shown = self.spent(used).size + self.room(used).size
        odd = used != Amount() and abs(sum_shown - self.limit.size) > self.limit.size / 1000
        return f"{told} ({NEED_NOT_ADD_UP})" if odd else told

    def _told(self, used: Amount, event: Event, cost: Amount, stated: Guarantee | None) -> str:
        return refusal(
            event,
            stated=stated,
            asked=cost.size,
            left=self.room(used).size,
            cap=self.limit.size,
            own=cost.delta,
            own_left=self.room(used).delta,
            unit=self.unit,
            exactly=self.unit == "epsilon" and not cost.converted and _is_pure(event, cost.size),
            fits=lambda part: self.fits(scaled(event, part), used),
        )


def _is_pure(event: Event, size: Fraction) -> bool:
    """Whether a charge is counted at the pure epsilon of its event."""
    try:
        return pure_cost(event).epsilon == size
    except GuaranteeError:
        return False
