"""A look at how many people have how many items or rows, and a release under a bound from it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from winnow.core.checks import Real, exact, positive
from winnow.core.key import Key
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.plan import Mechanism
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.errors import ParameterError
from winnow.privacy import AnyOf, Compose, Event, Guarantee, Promise, promise
from winnow.select.crossing.private_labels import noisy_people
from winnow.select.mechanisms.noisy_counts import guarantee_together


@dataclass(frozen=True)
class PeopleLook:
    """How many people have up to each of a few bounds, with discrete Laplace noise.

    The bounds g_1 < ... < g_m are public. A person with d items (or rows) is in one of m + 1
    numbers: that of the least g_i from d on, or the last where d is beyond all of them.

    Formal guarantees
        epsilon-DP under the relation. Whatever somebody has, they are in one number: added or
        removed they move the numbers by 1 in the l1 norm, and replaced by 2 at most. Noise of
        scale 1/epsilon (2/epsilon under substitution) on each number costs epsilon.
        [Dwork-McSherry-Nissim-Smith 2006; discrete law: Canonne-Kamath-Steinke 2020]
    """

    epsilon: Real
    grid: tuple[int, ...]
    title: ClassVar[str] = "look at people"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        if not SMALLEST_SCALE < self.scale(Relation.ADD_REMOVE) < 2**49:
            raise ParameterError(
                "the noise of a look at people does not fit 64 bits; give another epsilon, or a "
                "bound as a number"
            )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, bounds from {self.grid[0]} to {self.grid[-1]:,}"

    def scale(self, relation: Relation) -> Fraction:
        """The scale of the noise on each number of people."""
        return relation.people / exact("epsilon", self.epsilon)

    def promise(self, relation: Relation) -> Promise:
        """What one look is charged, and why."""
        return promise(
            "discrete-laplace",
            "additive",
            relation,
            noise_multiplier=1 / exact("epsilon", self.epsilon),
            moved=relation.people,
        )

    def drawn(self, numbers: Sealed[dict[int, int]], relation: Relation, key: Key) -> list[int]:
        """The noisy numbers of people, those beyond the last bound at the end."""
        return noisy_people(numbers, self.grid, self.scale(relation), key)


@dataclass(frozen=True)
class BoundFromLook:
    """A look at people, and a release under the bound that follows from it.

    Formal guarantees
        Under each bound of the grid the release is a mechanism on all data, fixed beforehand:
        whoever has more is cut by the reader to the bound, by their own items alone. Which of
        them runs depends on the noisy numbers of the look, and on nothing else. So the run costs
        what the look and the dearest of them cost (``AnyOf``, adaptive composition), and both are
        charged before the look.
    """

    look: PeopleLook
    releases: tuple[Mechanism, ...]
    """One for each bound."""
    inner: str
    title: ClassVar[str] = "bound from a look"

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.inner}; {self.look.name}"

    def promise(self, relation: Relation) -> Promise:
        """What both are charged, and why."""
        first = self.look.promise(relation)
        each = [release.promise(relation) for release in self.releases]
        event = Compose((first.event, _any_of([each_event.event for each_event in each])))
        citations = dict.fromkeys(each_event.citation for each_event in each)
        statements = dict.fromkeys(each_event.statement for each_event in each)
        return Promise(
            event,
            "; ".join([*citations, f"the bound: {first.citation}"]),
            f"{first.statement} Then one of: {' '.join(statements)}",
        )

    def guarantee(self, dearest: Guarantee) -> Guarantee:
        """What both state together; ``dearest`` is the largest of the releases."""
        event = self.promise(dearest.relation).event
        return guarantee_together(dearest, event, exact("epsilon", self.look.epsilon))


def _any_of(events: list[Event]) -> Event:
    different = tuple(dict.fromkeys(events))
    return different[0] if len(different) == 1 else AnyOf(different)
