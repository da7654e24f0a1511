"""The Lipschitz mechanism: add noise to every score, report the largest.

One proof covers the exponential mechanism (Gumbel noise), permute-and-flip (exponential
noise), report-noisy-max (Laplace noise) and their oneshot variants [Canonical, Def 2.1].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.frames import LeadItems
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import contenders
from winnow.core.noisy_top.filter import Scores
from winnow.core.noisy_top.grid import Grid
from winnow.core.noisy_top.in_memory import InMemory
from winnow.core.noisy_top.rows import noisy_top_rows
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Promise, promise
from winnow.read.scores import SealedScores
from winnow.select.crossing.selection import Selection, check_in_memory, check_known, check_scale


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
        Other noises release the unordered set, listed in the candidates' own order, or with
        `in_order` the list by noisy score: the order costs nothing.

        Proof for the order. Every law here has a density f with f(z + t) >= e^-t f(z) for t >= 0.
        Let neighbours' scaled scores differ by d_i within [a, b], b - a = epsilon/kappa. Fix a
        list of kappa winners, and add b - d_i, which is between 0 and b - a, to the noise of each
        winner. Where the list came out before, each winner's noisy score is now b higher than
        it was, and every other one at most b higher than it was: the list comes out on the
        neighbour. The map is a translation that lowers the density by at most e^(kappa (b - a)).
        [for Laplace noise: Ding-Wang-Zhang-Kifer 2019, Thm 2]
    """

    epsilon: Real
    noise: Law = Law.EXPONENTIAL
    kappa: int = 1
    in_order: bool = False
    title: ClassVar[str] = "lipschitz"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, kappa="k")
        object.__setattr__(self, "noise", Law.parse(self.noise))

    @property
    def ordered(self) -> bool:
        """Whether the order of the reported candidates is part of the release."""
        return self.kappa == 1 or self.in_order or self.noise is Law.GUMBEL

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        base = f"{self.title} ({self.noise} noise)" if self.title == "lipschitz" else self.title
        order = ", in order" if self.in_order and self.noise is not Law.GUMBEL else ""
        return base if self.kappa == 1 else f"oneshot {base}{order}, k={self.kappa}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        reduction = "argmax" if self.kappa == 1 else "top-sequence" if self.ordered else "top-set"
        return promise(self.noise, reduction, relation, epsilon=self.epsilon, kappa=self.kappa)

    def scale(self, utility: Utility) -> Fraction:
        """The factor of the scores before noise of scale 1: epsilon/(2 kappa Delta)."""
        return _scale(self.epsilon, self.kappa, utility.half_width)

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_known(self.name, self.kappa, total)
        check_scale(self.scale(utility))

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        return Drawn(universe.noisiest(self.noise, self.scale(utility), self.kappa, tape))

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


@dataclass(frozen=True)
class NoisyTopWithLeads(LipschitzMechanism):
    """The kappa largest noisy scores in order, and by how much each leads the next.

    Leads are differences of noisy scores, in units of the scores, rounded to whole numbers
    (integers) or to the grid of the sensitivity (real scores). They come at no further cost.

    Formal guarantees
        epsilon-DP under the relation of the utility, with its `half_width`, for the list, the
        kappa - 1 leads inside it, and with Laplace or logistic noise the lead of the last winner
        over the best loser, too.

        Proof. The map of the proof for the order adds the same amount to all noisy scores of
        winners, so that the differences between them stay as they are: leads inside the list are
        released with it. [Ding-Wang-Zhang-Kifer 2019, Thm 2, for Laplace noise]
        The lead over the best loser. Fix the noise of the losers, and let their best noisy score
        move by m, which lies in [a, b] as all d_i do. The winners' noises are then determined by
        list and leads; on the neighbour they differ by m - d_i, at most b - a in size, up or
        down. Laplace and logistic noise have a log density that is 1-Lipschitz on the whole line,
        so the density changes by at most e^(kappa (b - a)) = e^epsilon. Exponential, half-logistic
        and Gumbel noise have no such bound below, and their last lead is not released.
    """

    in_order: bool = field(default=True, init=False)
    pairs: ClassVar[type[list[Any]]] = LeadItems

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kappa == 1 and not self.leads_losers:
            raise ParameterError(
                f"with {self.noise} noise no lead over the best loser may be released; give k of "
                "2 or more, or laplace or logistic noise (method='noisy-max')"
            )

    @property
    def leads_losers(self) -> bool:
        """Whether the last winner's lead over the best loser is released."""
        return self.noise in (Law.LAPLACE, Law.LOGISTIC)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        base = f"{self.title} ({self.noise} noise)"
        return f"{base} with leads, k={self.kappa}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(self.noise, "top-leads", relation, epsilon=self.epsilon, kappa=self.kappa)

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        super().check(scores)
        check_in_memory(scores)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """Of scores in memory: a lead is the difference of two noises, and a class has one."""
        if not isinstance(universe, InMemory):
            raise TypeError("leads are taken of scores in memory")
        more = self.kappa + self.leads_losers
        found = contenders(universe.scores, tape, self.noise, self.scale(utility), more)
        order = found.winners()
        # The declared sensitivity decides, not the type of the scores, which may be private.
        whole = utility.down.denominator == utility.up.denominator == 1
        step = Fraction(1) if whole else Fraction(2) ** Grid.fine(utility).power
        leads: list[Any] = found.leads(order, step)
        if not whole:
            leads = [float(lead * step) for lead in leads]
        leads += [None] * (self.kappa - len(leads))
        return Drawn(universe.found(order[: self.kappa]), leads[: self.kappa])
