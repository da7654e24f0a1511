"""How much a bound left out: people who were cut, and what of theirs, with noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, TypeVar

from winnow.core.checks import Real, exact, positive
from winnow.core.cut import CutAway, laplace_margin
from winnow.core.key import Key
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.plan import Plan, Private
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.errors import ParameterError
from winnow.privacy import Compose, Guarantee, Promise, describe, promise
from winnow.read.people import PersonBound
from winnow.select.crossing.private_labels import noisy_cut
from winnow.select.mechanisms.noisy_counts import guarantee_together

T = TypeVar("T")
D = TypeVar("D", bound=Private)
Numbers = Sealed[dict[int, int]]
"""How many people have 1, 2, ... rows or items; private."""


@dataclass(frozen=True)
class MeasureCut:
    """People kept whole, people cut, and what was left out, with discrete Laplace noise.

    A person with d rows (or items), of which L are counted, is kept whole where d <= L and is
    cut otherwise; min(d, 10 L) - L of the rows are left out then. What a person has beyond 10 L
    is not looked at, because nothing else bounds it.

    Formal guarantees
        epsilon-DP under the relation. One person is in one of the two numbers of people: added or
        removed, they move by 1 in the l1 norm, and replaced by at most 2. With noise of scale
        2/epsilon (4/epsilon under substitution, on two numbers that move by 1) they cost
        epsilon/2. What was left out lies between 0 and 9 L for every person, so it moves by at
        most 9 L under either relation; with noise of scale 18 L/epsilon it costs the other half.
        [Dwork-McSherry-Nissim-Smith 2006; discrete law: Canonne-Kamath-Steinke 2020]
    """

    epsilon: Real
    bound: PersonBound
    title: ClassVar[str] = "cut-away"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        scales = [self.people_scale(Relation.ADD_REMOVE), self.left_out_scale]
        if scales[0] <= SMALLEST_SCALE or 2 * max(scales) >= 2**50:
            raise ParameterError(
                "the noise of with_cut= does not fit 64 bits; give another share or epsilon"
            )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, beyond {self.bound.most} and up to {self.bound.looked_at}"

    @property
    def left_out_scale(self) -> Fraction:
        """The scale of the noise on what was left out."""
        return 2 * (self.bound.looked_at - self.bound.most) / exact("epsilon", self.epsilon)

    def people_scale(self, relation: Relation) -> Fraction:
        """The scale of the noise on each number of people."""
        return 2 * relation.people / exact("epsilon", self.epsilon)

    def promise(self, relation: Relation) -> Promise:
        """What one estimate is charged, and why."""
        multiplier = 2 / exact("epsilon", self.epsilon)
        people, left_out = (
            promise(
                "discrete-laplace", "additive", relation, noise_multiplier=multiplier, moved=moved
            )
            for moved in (relation.people, 1)
        )
        event = Compose((people.event, left_out.event))
        statement = people.statement.replace(describe(people.event), describe(event))
        return Promise(event, people.citation, statement)

    def drawn(self, numbers: Numbers, relation: Relation, key: Key) -> CutAway:
        """The three numbers, with their noise and its margins."""
        scale, bound = self.people_scale(relation), self.bound
        whole, cut, left_out = noisy_cut(numbers, bound, scale, self.left_out_scale, key)
        return CutAway(
            bound.who,
            bound.what,
            bound.most,
            bound.looked_at,
            whole,
            cut,
            left_out,
            laplace_margin(scale),
            laplace_margin(self.left_out_scale),
        )


class Promising(Protocol):
    """A mechanism that says what it is charged."""

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""


@dataclass(frozen=True)
class WithCut:
    """Any release of bounded rows or items, and an estimate of what the bound left out.

    Formal guarantees
        The events of both, composed: both are charged before either is drawn, and each has bits
        of its own. The release has the rest of epsilon, 1 minus the share.
    """

    inner: Promising
    cut: MeasureCut
    title: ClassVar[str] = "with cut"

    @property
    def name(self) -> str:
        """What the receipt calls it, after the name of the release."""
        return self.cut.name

    def promise(self, relation: Relation) -> Promise:
        """What both are charged, and why."""
        first, second = self.inner.promise(relation), self.cut.promise(relation)
        return Promise(
            Compose((first.event, second.event)),
            f"{first.citation}; what was left out: {second.citation}",
            f"{first.statement} {second.statement}",
        )

    def guarantee(self, first: Guarantee) -> Guarantee:
        """What both state together; ``first`` is what the release states about itself."""
        event = self.promise(first.relation).event
        return guarantee_together(first, event, exact("epsilon", self.cut.epsilon))

    def plan(self, inner: Plan[D, T], numbers: Numbers) -> Plan[D, tuple[T, CutAway]]:
        """The plan of both, for the numbers of people that were read for it."""

        def drawn(data: D, key: Key) -> tuple[T, CutAway]:
            value = inner.draw(data, key.child("release"))
            return value, self.cut.drawn(numbers, inner.relation, key.child("cut"))

        return Plan(
            mechanism=self,
            relation=inner.relation,
            guarantee=self.guarantee(inner.guarantee),
            draw=drawn,
            check=inner.check,
            title=f"{inner.name}; {self.name}",
            reason=inner.reason,
            seconds=inner.seconds,
        )
