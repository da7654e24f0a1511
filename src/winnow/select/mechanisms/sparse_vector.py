"""Sparse vector: which questions lie above a threshold, paying only for those that do."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.frames import Columns, Framed, list_columns
from winnow.core.key import Key
from winnow.core.laws import Law
from winnow.core.noisy_top.filter import Scores
from winnow.core.notebook import Card, InNotebook, columns_card
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Guarantee, Promise, guarantee_of, promise
from winnow.read.scores import SealedScores
from winnow.select.crossing.selection import AboveRun, check_scale, opened_scores


@dataclass(frozen=True)
class AboveAnswer(InNotebook, Framed):
    """Which of the first `answered` questions were reported above the threshold."""

    above: list[Any]
    answered: int

    def to_columns(self) -> Columns:
        """What was reported above the threshold, as one column."""
        return list_columns(self.above)

    def _card(self) -> Card:
        title = f"{len(self.above)} of {self.answered:,} answered are above the threshold"
        return columns_card(title, self.to_columns(), 1)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {"above": self.above, "answered": self.answered}


@dataclass(frozen=True)
class SparseVector:
    """Report, one by one, which values exceed a public threshold, until `cutoff` did.

    Draw rho ~ Lap(b1) once. Value q_i is reported above when
    q_i + nu_i > threshold + rho with fresh nu_i ~ Lap(b2), and the run ends at the
    cutoff-th such report; reports below are free.

    Formal guarantees
        epsilon-DP under the relation of the utility, for adaptively chosen values, with
        epsilon = one_sided/b1 + cutoff * width/b2. Proof: let a neighbour move values by
        -down..+up. Map rho to rho + up: every report below stays below, at a cost of
        up/b1. A report above then needs nu_i shifted by at most up + down = width, at
        width/b2 each, at most cutoff times. In the other direction `down` takes the part
        of `up`. With down = up = Delta this is Lyu-Su-Li 2017, Alg 1 and Thm 2
        (2 cutoff Delta/b2), with monotone values their Thm 3 (cutoff Delta/b2).
        The threshold is public and fixed, so no shift by a constant per person is used.

    epsilon is split between rho and nu as 1 : (cutoff * width/one_sided)^(2/3), which
    minimises the variance of their difference [Lyu-Su-Li 2017, Section 4.2].
    """

    epsilon: Real
    threshold: Real
    cutoff: int = 1
    title: ClassVar[str] = "sparse-vector"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        if abs(exact("threshold", self.threshold)) > 10**280:
            raise ParameterError("the threshold is beyond 1e280; give values in other units")
        set_counts(self, cutoff="cutoff")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return self.title if self.cutoff == 1 else f"{self.title}, cutoff={self.cutoff}"

    def promise(self, relation: Relation) -> Promise:
        """What the whole run is charged, and why."""
        return promise(Law.LAPLACE, "first-above", relation, epsilon=self.epsilon)

    def scales(self, utility: Utility) -> tuple[Fraction, Fraction]:
        """The noise scales (b1, b2) of the threshold and of each value."""
        epsilon = exact("epsilon", self.epsilon)
        weight = Fraction(float(self.cutoff * utility.width / utility.one_sided) ** (2 / 3))
        for_threshold = epsilon / (1 + weight.limit_denominator(1000))
        for_values = epsilon - for_threshold
        return (
            utility.one_sided / for_threshold,
            self.cutoff * utility.width / for_values,
        )

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.check_scales(scores.utility)

    def check_scales(self, utility: Utility) -> None:
        """Refuse noise that float64 could not filter."""
        for scale in self.scales(utility):
            check_scale(scale)

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the whole run states about itself."""
        return guarantee_of(promised.event)

    def drawn(self, scores: SealedScores, key: Key) -> AboveAnswer:
        """The labels of the values that were reported above, asked in their order."""
        reports = AboveRun(self, scores.utility, key.tape).ask(opened_scores(scores, key))
        above = [scores.label(position) for position, report in enumerate(reports) if report]
        return AboveAnswer(above, len(reports))

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Draws on public or made-up values, for audits: a row of reports (1, 0, or -1 unasked)."""
        root = Tape.seeded(seed)
        rows = np.full((draws, len(scores)), -1, np.int64)
        for r in range(draws):
            reports = AboveRun(self, utility, root.child(f"draw-{r}")).ask(scores)
            rows[r, : len(reports)] = reports
        return rows


@dataclass(frozen=True)
class AboveThreshold(SparseVector):
    """The first value above a public threshold: the sparse vector with cutoff 1.

    [Dwork-Roth 2014, Alg 1 and Thm 3.23]
    """

    cutoff: int = field(default=1, init=False)
    title: ClassVar[str] = "above-threshold"
