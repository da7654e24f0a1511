"""One candidate, taken out, and again: a list from a mechanism that releases one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from winnow.core.checks import Real, set_counts
from winnow.core.noisy_top.universe import Drawn, Found, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Guarantee, Promise, Repeat, guarantee_of
from winnow.select.crossing.selection import Pick, check_size


@dataclass(frozen=True)
class Repeated(Pick):
    """One candidate, taken out, and again: k times a mechanism that releases one.

    Formal guarantees
        k times the event of the mechanism, by adaptive composition: each round runs on a
        universe without the candidates that were released before.
    """

    inner: Pick
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

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.inner.check_public(utility, total)
        check_size(self.k, total)

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return guarantee_of(promised.event, self.delta)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """k rounds; those that answer 'none' are left out."""
        left, found = universe.rounds(), list[Found]()
        for number in range(self.k):
            found += self.inner._draw(left, utility, tape.child(f"round-{number}")).found
        return Drawn(found)
