"""The Lipschitz mechanism: add noise to every score, report the largest.

One proof covers the exponential mechanism (Gumbel noise), permute-and-flip (exponential
noise), report-noisy-max (Laplace noise) and their oneshot variants [Canonical, Def 2.1].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.count_classes import CountClasses, Drawn, noisy_top_places
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.noisy_top.filter import Scores
from winnow.core.noisy_top.rows import noisy_top_rows
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Promise, promise
from winnow.read.scores import SealedScores
from winnow.select.crossing import Selection, check_scale, check_size


@dataclass(frozen=True)
class LipschitzMechanism(Selection):
    """Report the kappa candidates with the largest noisy scores.

    Candidate i gets  epsilon/(2 kappa Delta) * score_i + Z_i  with Z_i independent noise of
    scale 1 whose log-survival function is 1-Lipschitz, and the kappa largest are reported.

    Formal guarantees
        epsilon-DP under the relation of the utility, where Delta is the utility's
        `half_width` for that relation: under add/remove monotone counts have 1/2.
        [Canonical, Def 2.1, Thm 4.1, Thm A.15]
        With Gumbel noise more is known: epsilon-bounded range for kappa = 1, and kappa
        rounds of (epsilon/kappa)-bounded range, order included, for kappa > 1.
        Other noises release the unordered set: it is listed in the candidates' own
        order, because the theorem says nothing about the order of the noisy scores.
    """

    epsilon: Real
    noise: Law = Law.EXPONENTIAL
    kappa: int = 1
    title: ClassVar[str] = "lipschitz"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, kappa="k")
        object.__setattr__(self, "noise", Law.parse(self.noise))

    @property
    def ordered(self) -> bool:
        """Whether the order of the reported candidates is part of the release."""
        return self.kappa == 1 or self.noise is Law.GUMBEL

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        base = f"{self.title} ({self.noise} noise)" if self.title == "lipschitz" else self.title
        return base if self.kappa == 1 else f"oneshot {base}, k={self.kappa}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        reduction = "argmax" if self.kappa == 1 else "top-sequence" if self.ordered else "top-set"
        return promise(self.noise, reduction, relation, epsilon=self.epsilon, kappa=self.kappa)

    def scale(self, utility: Utility) -> Fraction:
        """The factor of the scores before noise of scale 1: epsilon/(2 kappa Delta)."""
        return _scale(self.epsilon, self.kappa, utility.half_width)

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_size(self.kappa, scores)
        check_scale(self.scale(scores.utility))

    def _draw(self, scores: Scores, utility: Utility, tape: Tape) -> list[int]:
        return noisy_top(scores, tape, self.noise, self.scale(utility), self.kappa)

    def _draw_classes(self, classes: CountClasses, utility: Utility, tape: Tape) -> Drawn:
        noise, scale = self.noise.formulas, self.scale(utility)
        return Drawn(noisy_top_places(classes, tape, noise, scale, self.kappa))

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Draws on public or made-up scores, all at once."""
        tape = Tape.seeded(seed)
        rows = noisy_top_rows(scores, tape, self.noise, self.scale(utility), draws, self.kappa)
        return rows if self.ordered else np.sort(rows, axis=1)


@lru_cache(maxsize=256, typed=True)  # a release asks for it three times
def _scale(epsilon: Real, kappa: int, sensitivity: Fraction) -> Fraction:
    return exact("epsilon", epsilon) / (2 * kappa * sensitivity)


@dataclass(frozen=True)
class ExponentialMechanism(LipschitzMechanism):
    """Draw a candidate with probability proportional to exp(epsilon score/(2 Delta)).

    Gumbel noise makes the Lipschitz mechanism the exponential mechanism, and for
    kappa > 1 the peeling of it. [Canonical, Thm A.7; McSherry-Talwar 2007]
    """

    noise: Law = field(default=Law.GUMBEL, init=False)
    title: ClassVar[str] = "exponential"


@dataclass(frozen=True)
class PermuteAndFlip(LipschitzMechanism):
    """Permute-and-flip: never a worse expected score than the exponential mechanism.

    It equals adding exponential noise. It is epsilon-DP and not bounded-range.
    [Canonical, Thm A.5; McKenna-Sheldon 2020]
    """

    noise: Law = field(default=Law.EXPONENTIAL, init=False)
    title: ClassVar[str] = "permute-and-flip"


@dataclass(frozen=True)
class ReportNoisyMax(LipschitzMechanism):
    """Report noisy max with Laplace noise. [Canonical, Thm A.9; Dwork-Roth 2014]"""

    noise: Law = field(default=Law.LAPLACE, init=False)
    title: ClassVar[str] = "noisy-max"
