"""How one event may be counted where epsilons and deltas add up; ``cap`` has the proof."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from winnow.core.checks import exact
from winnow.errors import GuaranteeError
from winnow.privacy.accountants import ZERO, epsilon_at, pure_cost, zcdp_cost
from winnow.privacy.events import Event
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.limits import Amount, Limit
from winnow.privacy.pairs import asked_epsilon, delta_beside, delta_of_whole

_LEAST_CONVERTED = Fraction(1, 2**40)
"""The part of what is kept for conversions below which none is made: sums stay short numbers."""


@dataclass(frozen=True)
class Summed:
    """An event, the limit of the sums, what is used of them, and what the plan states."""

    event: Event
    limit: Limit
    used: Amount
    cap: Guarantee
    stated: Guarantee | None

    @property
    def epsilon(self) -> Fraction:
        """What is left of epsilon."""
        assert self.limit.size is not None
        return self.limit.size - self.used.size

    @property
    def pool(self) -> Fraction:
        """What is left of delta, for the event's own and for what it is counted at."""
        assert self.limit.pool is not None
        return self.limit.pool - self.used.delta - self.used.converted

    def costs(self, rho: Fraction) -> Iterator[Amount]:
        """The event at pairs of epsilon and delta that hold, the best first.

        A plan that asked for a part of what is left is counted at no more than it states, or else
        at no more than it asked for, so that parts that add up to a cap fit into it: of such pairs,
        the one that takes the smallest parts of what is left. Otherwise the smallest epsilon for
        little delta; and, because whoever asks for what is left gets it, for more delta, and at all
        of epsilon.
        """
        if self.epsilon < 0:
            return
        own = zcdp_cost(self.event).delta
        for epsilon, delta in self._pairs(own):
            yield Amount(epsilon, min(own, delta), rho, max(delta - own, ZERO))

    def _pairs(self, own: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
        pairs: list[tuple[Fraction, Fraction]] = []
        with suppress(GuaranteeError):
            pure = pure_cost(self.event)
            pairs.append((pure.epsilon, max(pure.delta, own)))
        little = self._little(own)
        stated = epsilon_at(self.event, little) if little else None
        if stated is not None:
            pairs.append((stated, own + little))
        if self.stated is not None:
            asked = asked_epsilon(self.event, self.stated, own)
            said = sorted({exact("epsilon", self.stated.epsilon), asked})
            for epsilon in said:
                pairs.append((epsilon, self._total(epsilon, own)))
            most = exact("delta", self.stated.delta)
            for epsilon in said:
                if epsilon <= self.epsilon and most <= self.pool:
                    within = [pair for pair in pairs if pair[0] <= epsilon and pair[1] <= most]
                    yield from sorted(within, key=self._parts)
        yield from sorted(pairs)
        rest = self.pool - own
        for delta in (rest / 2, rest):
            stated = epsilon_at(self.event, delta) if delta > 0 else None
            if stated is not None:
                yield stated, own + delta
        yield self.epsilon, self._total(self.epsilon, own)

    def _total(self, epsilon: Fraction, own: Fraction) -> Fraction:
        return own + delta_beside(self.event, epsilon)

    def _parts(self, pair: tuple[Fraction, Fraction]) -> Fraction:
        epsilon, delta = pair
        return (epsilon / self.epsilon if epsilon else ZERO) + (
            delta / self.pool if delta else ZERO
        )

    def _little(self, own: Fraction) -> Fraction:
        """A quarter of what is left of a quarter of delta, as a power of two: sums stay short.

        The epsilon grows by the root of a logarithm only, and there is always something left.
        """
        whole = exact("delta", self.cap.delta) / 4
        left = min(whole - self.used.converted, self.pool - own)
        if left <= whole * _LEAST_CONVERTED:
            return ZERO
        quarter, power = left / 4, Fraction(1)
        while power > quarter:
            power /= 2
        return power


class SummedAlone(Summed):
    """Where nothing is composed beside: the delta of an event need not hold its own truncation."""

    def _total(self, epsilon: Fraction, own: Fraction) -> Fraction:
        return delta_of_whole(self.event, epsilon, own)
