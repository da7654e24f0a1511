"""What every selection mechanism has in common: check, charge, draw, release, in that order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, positive, set_counts
from winnow.core.noisy_top.draw import LARGEST_SCALE, SMALLEST_SCALE, Scores
from winnow.core.opening import open_sealed
from winnow.core.relation import Relation
from winnow.core.released import Receipt, Released
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import InputError
from winnow.privacy import Grant, Guarantee, Promise, guarantee_of
from winnow.read.scores import SealedScores


class Selection(ABC):
    """A mechanism that releases positions in a public list of candidates, and nothing else."""

    title: ClassVar[str]

    @property
    @abstractmethod
    def name(self) -> str:
        """What the receipt calls it."""

    @property
    @abstractmethod
    def ordered(self) -> bool:
        """Whether the order of the released labels is part of the release."""

    @abstractmethod
    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""

    @abstractmethod
    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""

    @abstractmethod
    def _draw(self, scores: Scores, utility: Utility, tape: Tape) -> list[int]:
        """The selected positions."""

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return guarantee_of(promised.event)

    def release(self, scores: SealedScores, grant: Grant, tape: Tape) -> Released[list[Any]]:
        """Spend the grant on one draw; the value lists the selected labels.

        A set is listed in the candidates' own order: the order of the noisy scores is not
        covered by its theorem and must not leave.
        """
        self.check(scores)
        promised = self.promise(scores.utility.relation)
        guarantee = self.guarantee(promised)
        receipt = Receipt(
            self.name, promised.event, promised.citation, tape.kind, exact=True, ledger=grant.record
        )
        tape.claim()
        grant.redeem(promised.event)
        with np.errstate(all="ignore"):  # a warning about a rounded product would be a leak
            chosen, counts = self._select(open_sealed(scores.values), scores.utility, tape)
        value = [scores.label(position) for position in chosen]
        if counts is not None:
            value = list(zip(value, counts, strict=True))
        return Released(value, guarantee, receipt)

    def _select(
        self, scores: Scores, utility: Utility, tape: Tape
    ) -> tuple[list[int], list[int] | None]:
        """The selected positions as they may be listed, and their noisy counts, if released."""
        chosen = self._draw(scores, utility, tape)
        return (chosen if self.ordered else sorted(chosen)), None

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Draws on public or made-up scores, for audits and plans: a row of positions each."""
        root = Tape.seeded(seed)
        with np.errstate(all="ignore"):
            drawn = [self._draw(scores, utility, root.child(f"draw-{r}")) for r in range(draws)]
        rows = np.array(drawn, np.int64)
        return rows if self.ordered else np.sort(rows, axis=1)


@dataclass(frozen=True)
class TopKList(Selection):
    """What mechanisms that release k labels in order have in common."""

    epsilon: Real
    k: int

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, k={self.k}"

    @property
    def ordered(self) -> bool:
        """The list is released in order."""
        return True


def check_size(k: int, scores: SealedScores) -> None:
    """Refuse to select more candidates than there are."""
    if k > scores.size:
        raise InputError(f"k={k} exceeds {scores.size} candidates; lower k")


def check_scale(scale: Fraction) -> None:
    """Refuse parameters so far apart that no float64 could filter with them."""
    if not SMALLEST_SCALE < scale < LARGEST_SCALE:
        raise InputError(
            "epsilon and sensitivity differ by more than 280 orders of magnitude; "
            "give scores in other units"
        )
