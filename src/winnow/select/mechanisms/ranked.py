"""Selection from a universe that is listed lazily: what its mechanisms have in common.

They see the candidates as a ``Ranked`` universe: classes of equal counts, from the top down as
far as they ask. Where a class of equals is drawn, its member is uniform. That is a mechanism
whose ties are broken by a uniformly random order of the universe, drawn apart from the data: it
is private because it is private for every fixed order.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from winnow.core.checks import Real, exact, positive, probability, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.noisy_top.ranked import Member, Ranked, Without
from winnow.core.noisy_top.support_classes import SupportClasses
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Guarantee, Promise, Repeat, guarantee_of, promise
from winnow.select.crossing.selection import check_scale

Found = tuple[int, Member]
"""A released candidate with its true count, which stays inside."""


class RankedSelection(ABC):
    """A mechanism that releases candidates of a lazily listed universe, and nothing else."""

    title: ClassVar[str]
    endless: ClassVar[bool] = False
    """Whether the universe may be unknown: countably many candidates of count 0."""
    counts_people: ClassVar[bool] = False
    """Whether a count of 0 has to mean that nobody has the candidate."""
    reads_baskets: ClassVar[bool] = False
    """Whether it looks at baskets themselves, and not at counts of candidates alone."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the receipt calls it."""

    @property
    def ordered(self) -> bool:
        """Whether the order of the released candidates is part of the release."""
        return True

    @abstractmethod
    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""

    @abstractmethod
    def check(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""

    @abstractmethod
    def draw(self, ranked: Ranked, utility: Utility, tape: Tape) -> list[Found]:
        """The released candidates; fewer than asked for where the mechanism may fail."""

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return guarantee_of(promised.event)


class OneOf(RankedSelection):
    """A mechanism that releases one candidate, and can be repeated on what is left."""

    @abstractmethod
    def take(self, universe: Without, utility: Utility, tape: Tape) -> Found | None:
        """One candidate, taken out of the universe; None: the mechanism answers 'none'."""

    def draw(self, ranked: Ranked, utility: Utility, tape: Tape) -> list[Found]:
        """One candidate or none."""
        winner = self.take(Without(ranked), utility, tape)
        return [] if winner is None else [winner]


@dataclass(frozen=True)
class RankedNoisyMax(OneOf):
    """Noise on every candidate of a universe of known size, and the largest wins.

    The exponential mechanism (Gumbel noise), permute-and-flip (exponential noise) and
    max-of-Laplaces (Laplace noise) [LMM, Section 2.2; Bhaskar et al. 2010] over all itemsets:
    classes of equal counts get the largest noise of their members at once, and the candidates
    that nobody has are one class. Exact (``core.noisy_top.best_class``).

    Formal guarantees
        epsilon-DP under the relation of the utility, with its `half_width` as sensitivity;
        with Gumbel noise epsilon-bounded range. [Canonical, Def 2.1, Thm 4.1, Thm A.15]
    """

    epsilon: Real
    noise: Law
    title: ClassVar[str] = "noisy-max"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        object.__setattr__(self, "noise", Law.parse(self.noise))

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        known = {
            Law.GUMBEL: "exponential",
            Law.EXPONENTIAL: "permute-and-flip",
            Law.LAPLACE: "noisy-max",
        }
        return known.get(self.noise, f"lipschitz ({self.noise} noise)")

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(self.noise, "argmax", relation, epsilon=self.epsilon)

    def scale(self, utility: Utility) -> Fraction:
        """The factor of the counts before noise of scale 1."""
        return exact("epsilon", self.epsilon) / (2 * utility.half_width)

    def check(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        refuse_endless(self.name, total)
        check_scale(self.scale(utility))

    def take(self, universe: Without, utility: Utility, tape: Tape) -> Found | None:
        """The best class, then a member."""
        scale = self.scale(utility)
        reach = int(min(Fraction(2**62), 40 / scale))
        classes = SupportClasses(universe, scale, reach)
        count = classes.best(self.noise, tape.child("class"))
        return count, universe.take(count, tape.child("member").stream())


@dataclass(frozen=True)
class Repeated(RankedSelection):
    """One candidate, taken out, and again: k times a mechanism that releases one.

    Formal guarantees
        k times the event of the mechanism, by adaptive composition: each round runs on a
        universe without the candidates that were released before.
    """

    inner: OneOf
    k: int
    delta: Real = 0
    """The total delta that the guarantee may use; 0: what the rounds have of their own."""
    title: ClassVar[str] = "repeated"

    @property
    def counts_people(self) -> bool:  # type: ignore[override]
        """Whether one round counts people."""
        return self.inner.counts_people

    def __post_init__(self) -> None:
        set_counts(self, k="k")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.inner.name}, {self.k} times"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        once = self.inner.promise(relation)
        return Promise(
            Repeat(once.event, self.k), once.citation, f"{self.k} rounds: {once.statement}"
        )

    def check(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.inner.check(utility, total)
        refuse_more_than_all(self.k, total)

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return guarantee_of(promised.event, self.delta)

    def draw(self, ranked: Ranked, utility: Utility, tape: Tape) -> list[Found]:
        """k rounds; those that answer 'none' are left out."""
        universe = Without(ranked)
        rounds = (
            self.inner.take(universe, utility, tape.child(f"round-{r}")) for r in range(self.k)
        )
        return [winner for winner in rounds if winner is not None]


def log_counts(sizes: list[int]) -> LogCounts:
    """ln of class sizes with a bound on the error, and the integers themselves."""
    approx = np.array([math.log(size) for size in sizes])
    return LogCounts(approx, 2.0**-48 * (1.0 + np.abs(approx)), tuple(sizes))


def check_delta(delta: Real) -> None:
    """Refuse a delta outside (0, 1), or below what float64 thresholds can hold."""
    probability(delta=delta)
    if exact("delta", delta) < Fraction(1, 10**100):
        raise ParameterError(f"delta={delta} is below 1e-100; give a delta like 1e-9")


def refuse_endless(name: str, total: int | None) -> None:
    """Refuse mechanisms that need to know all candidates where they are not known."""
    if total is None:
        raise ParameterError(
            f"{name} needs the public list of all items, or how many there are; give items= of "
            "baskets or total= of classes, or use large-margin"
        )


def refuse_more_than_all(k: int, total: int | None) -> None:
    """Refuse to release more candidates than there are."""
    if total is not None and k > total:
        raise ParameterError(f"k={k} exceeds the {total} candidates that there are; lower k")
