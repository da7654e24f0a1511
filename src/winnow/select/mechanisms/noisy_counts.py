"""Noisy counts: integer noise on every count, then the k largest, with their counts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.noise import discrete_laplace_array
from winnow.core.noisy_top.integer_noise import IntegerNoise, LaplaceNoise
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.unit import counted
from winnow.core.utility import Utility
from winnow.privacy import Compose, Event, Guarantee, Promise, guarantee_of, promise
from winnow.privacy.rounding import stated_at_least
from winnow.read.scores import SealedScores
from winnow.select.crossing.private_labels import check_noise, check_whole
from winnow.select.crossing.selection import Selection, check_known


@dataclass(frozen=True)
class CountsWithNoise(Selection):
    """Integer noise on every count, then the k largest, in order."""

    epsilon: Real
    k: int
    max_items: int = 1
    with_counts: bool = False
    title: ClassVar[str]

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k", max_items="max_items")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        most = counted(self.max_items, "item")
        return f"{self.title}, k={self.k}, at most {most} per person"

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        super().check(scores)
        check_whole(scores)

    @abstractmethod
    def noise(self, utility: Utility) -> IntegerNoise:
        """The noise of each count."""

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        drawn = universe.noisy_counts(self.noise(utility), self.k, tape)
        return drawn if self.with_counts else Drawn(drawn.found)


@dataclass(frozen=True)
class NoisyCounts(CountsWithNoise):
    """Add discrete Laplace noise to every count and list the k largest.

    For counts to which one person contributes at most `max_items` ones. The noise
    has scale L/epsilon, whatever k is, so it wins where people have few items each; and the
    noisy counts of the winners may be released with them at no further cost.

    Formal guarantees
        epsilon-DP under the relation of the utility, order and noisy counts included: adding
        a person moves at most L counts by at most one_sided each, so the l1 sensitivity is
        L one_sided; replacing a person moves up to 2 L counts by one, so it is 2 L one_sided
        there. [Dwork-McSherry-Nissim-Smith 2006; discrete law: Canonne-Kamath-Steinke 2020]
        Equal noisy counts are listed in random order, wherever the counts are: post-processing.
    """

    title: ClassVar[str] = "laplace"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(
            "discrete-laplace",
            "additive",
            relation,
            noise_multiplier=1 / exact("epsilon", self.epsilon),
            moved=relation.people * self.max_items,
        )

    def scale(self, utility: Utility) -> Fraction:
        """The scale of the noise: l1 sensitivity/epsilon."""
        moved = utility.relation.people * self.max_items * utility.one_sided
        return moved / exact("epsilon", self.epsilon)

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_known(self.name, self.k, total)
        check_noise(self.scale(utility))

    def noise(self, utility: Utility) -> LaplaceNoise:
        """Discrete Laplace noise."""
        return LaplaceNoise(self.scale(utility))


def promise_with_counts(
    first: Promise, relation: Relation, epsilon: Real, moved: int = 1
) -> Promise:
    """What a selection is charged together with noisy counts of what it selected.

    A person moves at most ``moved`` of these counts, all of them alike.
    """
    multiplier = 1 / exact("epsilon", epsilon)
    second = promise(
        "discrete-laplace", "additive", relation, noise_multiplier=multiplier, moved=moved
    )
    return Promise(
        Compose((first.event, second.event)),
        f"{first.citation}; counts: {second.citation}",
        f"{first.statement} {second.statement}",
    )


def guarantee_together(first: Guarantee, event: Event, epsilon: Fraction) -> Guarantee:
    """Of a release with this guarantee and pure noise for epsilon, both of them in the event.

    The better of both accounted together and of the two guarantees added up.
    """
    together = guarantee_of(event, first.delta)
    total = exact("epsilon", first.epsilon) + epsilon
    if total >= exact("epsilon", together.epsilon):
        return together
    return Guarantee(stated_at_least(total), first.delta, event.relation, together.rho)


@dataclass(frozen=True)
class WithCounts(Selection):
    """Any top-k selection, followed by noisy counts of the winners.

    Formal guarantees
        The events of the selection and of discrete Laplace noise on k counts, composed. One
        person moves at most min(k, L) of the winners' counts by one_sided (twice as many, and
        at most k, when a record is replaced). [Canonne-Kamath-Steinke 2020]
    """

    selection: Selection
    epsilon: Real
    """For the counts; the selection has its own."""
    k: int
    max_items: int | None = None
    title: ClassVar[str] = "with counts"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")
        if self.max_items is not None:
            set_counts(self, max_items="max_items")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.selection.name}; counts of the winners with discrete Laplace noise"

    @property
    def ordered(self) -> bool:
        """Whether the selection releases a list in order."""
        return self.selection.ordered

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        first = self.selection.promise(relation)
        return promise_with_counts(first, relation, self.epsilon, self.moved(relation))

    def moved(self, relation: Relation) -> int:
        """How many of the winners' counts one person moves at most."""
        return min(self.k, relation.people * (self.max_items or self.k))

    def total(self, epsilon: Real) -> Fraction:
        """The epsilon of both parts, shared as here, where the selection has this one."""
        chosen: Any = self.selection  # a dataclass with an epsilon
        share = exact("epsilon", self.epsilon) / exact("epsilon", chosen.epsilon)
        return exact("epsilon", epsilon) * (1 + share)

    def scale(self, utility: Utility) -> Fraction:
        """The scale of the noise: l1 sensitivity of k counts/epsilon."""
        return self.moved(utility.relation) * utility.one_sided / exact("epsilon", self.epsilon)

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.selection.check_public(utility, total)
        check_noise(self.scale(utility))

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.selection.check(scores)
        super().check(scores)
        check_whole(scores)

    def guarantee(self, promised: Promise) -> Guarantee:
        """The better of both events accounted together and of the two guarantees added up."""
        first = self.selection.guarantee(self.selection.promise(promised.event.relation))
        return guarantee_together(first, promised.event, exact("epsilon", self.epsilon))

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        found = self.selection._draw(universe, utility, tape.child("selection")).found
        if not self.ordered:
            found = sorted(found, key=lambda pair: pair[1])
        drawn = discrete_laplace_array(tape.child("counts"), len(found), self.scale(utility))
        return Drawn(found, [count + int(z) for (count, _), z in zip(found, drawn, strict=True)])
