"""Top-k when the list of items is itself private: labels may leave only with a threshold.

A label that one person alone brought into the data must not appear with them and vanish
without them. Both procedures here pay for that with a delta; their guarantees are proved
below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from winnow.core.checks import exact, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import SMALLEST_SCALE, noisy_top
from winnow.core.noisy_top.integer_noise import LaplaceNoise
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.unit import counted
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Promise, promise
from winnow.select.crossing.private_labels import EVERY, UnknownDomain
from winnow.select.crossing.selection import check_scale
from winnow.select.mechanisms.peeling import calibrated_rounds


@dataclass(frozen=True)
class LimitedDomain(UnknownDomain):
    """Peel the exponential mechanism over the `reach` largest counts and a threshold item.

    The threshold item stands at the (reach+1)-th largest count plus a public lead T. Gumbel
    noise is added to all, and labels are released in order until k are out or the threshold
    item comes up. [Durfee-Rogers 2019, limited domain]

    Formal guarantees
        Let w be the width of the utility (1 for counts under add/remove, 2 under
        substitution), M = min(items per person, reach) (twice the items under substitution), e
        the epsilon of a round and T >= w + w ln(M/b)/e. Then k rounds of e-bounded range, up
        to delta = (k + 1) b.

        Proof. Labels of equal count are in a random order, the same for all data: fix it. Let
        A and B be the domains (the labels with the largest counts) of neighbours h and g, C
        their intersection. A label of A outside B was overtaken by one that was
        outside A, so its count is at most w above the (reach+1)-th: T - w below the threshold
        item. There are at most M such labels. In every round their weight together is at most
        M e^(-e (T - w)/w) <= b of that of the threshold item. So (i) one of them is released
        with probability at most b, because it would have to beat the threshold item; (ii) for
        an outcome o of labels in C, with the weight of the others between 0 and b of a weight
        in the denominator of each of the k rounds, the probability of o lies between (1 + b)^-k
        and 1 times its probability m(o) when only C and the threshold item take part. Let P~
        and Q~ be (1 + b)^-k m on outcomes in C, for h and for g: they are below P and Q, and
        their mass is at least (1 + b)^-k (1 - b) >= 1 - (k + 1) b. And the two m are k rounds
        of the exponential mechanism on one domain, where every score, the threshold's too,
        moves within an interval of length w: e-bounded range each.
    """

    reach: int | None = None
    """How many of the largest counts take part; a public choice, 100 k + 1000 by default.

    The threshold item stands above the count at this rank: a larger reach lowers that count, and
    raises the lead only by its logarithm.
    """
    accountant: str = "best"
    """What sizes the rounds: "pure" under a budget that adds up epsilons."""
    title: ClassVar[str] = "limited-domain"
    endless: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reach is None:
            object.__setattr__(self, "reach", 100 * self.k + 1000)
        set_counts(self, reach="reach")
        if self.with_counts:
            raise ParameterError("limited-domain releases no counts; use method='stability'")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, at most {self.k} of the {self.reach} largest"

    @cached_property
    def epsilon_per_round(self) -> Fraction:
        """The epsilon of a round: half of delta for the truncation, the rest to compose."""
        epsilon, delta = exact("epsilon", self.epsilon), exact("delta", self.delta)
        per_round = calibrated_rounds(
            epsilon, delta, self.k, delta / 2, Relation.ADD_REMOVE, self.accountant
        )
        return exact("epsilon", per_round.parameter)

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(
            Law.GUMBEL,
            "limited-domain",
            relation,
            epsilon=self.epsilon_per_round * self.k,
            delta=exact("delta", self.delta) / 2,
            kappa=self.k,
        )

    def lead(self, utility: Utility) -> int:
        """T, rounded up to whole counts."""
        moved = self.reach or 0
        if self.max_items is not None:
            moved = min(moved, utility.relation.people * self.max_items)
        b = float(exact("delta", self.delta)) / (2 * (self.k + 1))
        needed = float(utility.width) * (1 + math.log(moved / b) / float(self.epsilon_per_round))
        return math.ceil(needed * (1 + 2.0**-40))

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_scale(self.epsilon_per_round / utility.width)
        if self.lead(utility) > 2**61:
            raise ParameterError("epsilon is too small for a threshold of 64 bits; raise it")

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """On the largest counts alone, and then any labels of these counts."""
        reach = self.reach or 0
        leaders = universe.front(reach + 1)
        floor = int(leaders[reach]) if len(leaders) > reach else 0
        leaders = leaders[:reach]
        scores = np.append(leaders, np.int64(floor + self.lead(utility)))
        scale = self.epsilon_per_round / utility.width
        order = noisy_top(scores, tape, Law.GUMBEL, scale, min(self.k + 1, len(scores)))
        before = order.index(len(leaders)) if len(leaders) in order else self.k
        counts = leaders[order[: min(before, self.k)]].tolist()
        return Drawn(universe.take(counts, tape.child("member").stream()))


@dataclass(frozen=True)
class StabilityThreshold(UnknownDomain):
    """Noise on every count that is there, and only labels whose noisy count is large leave.

    Every label in the data gets discrete Laplace noise of scale b = L w'/epsilon; of those
    whose noisy count reaches the threshold the k largest are released, with counts if asked.

    Formal guarantees
        Let one person have at most L labels. The discrete Laplace event with multiplier b
        over the l1 sensitivity (L under add/remove, 2 L under substitution), up to delta,
        when a label with count 1 reaches the threshold with probability at most delta/L:
        Pr[Z >= threshold - 1] = q^(threshold - 1)/(1 + q) <= delta/L, q = e^(-1/b).

        Proof. Labels that only one of two neighbours has come from one person: at most L of
        them, each with count 1. None of them is released with probability at least
        (1 - delta/L)^L >= 1 - delta. Let P~ and Q~ be (1 - delta) times the laws on the labels
        that both have: they are below P and Q, and differ by the Laplace mechanism alone. Equal
        noisy counts are listed in random order, wherever the counts are: post-processing.
        [Korolova et al. 2009; Bun-Nissim-Stemmer 2016]
    """

    title: ClassVar[str] = "stability"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_items is None:
            raise ParameterError(
                "the stability threshold needs a bound on the items of one person; count with "
                "max_items=, or use method='limited-domain'"
            )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        items = counted(self.max_items or 0, "item")
        most = "all" if self.k == EVERY else f"at most {self.k}"
        return f"{self.title}, {most}, {items} per person"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(
            "discrete-laplace",
            "stability-threshold",
            relation,
            noise_multiplier=1 / exact("epsilon", self.epsilon),
            delta=self.delta,
            moved=relation.people * (self.max_items or 1),
        )

    def scale(self, utility: Utility) -> Fraction:
        """b: the l1 sensitivity over epsilon."""
        moved = utility.relation.people * (self.max_items or 1) * utility.one_sided
        return moved / exact("epsilon", self.epsilon)

    def threshold(self, utility: Utility) -> int:
        """The least noisy count that is released; a count exactly there is."""
        b = float(self.scale(utility))
        q = math.exp(-1 / b)
        allowed = float(exact("delta", self.delta)) / (self.max_items or 1)
        beyond = b * math.log(1 / ((1 + q) * allowed))
        return 1 + max(0, math.ceil(beyond * (1 + 2.0**-40) + 2.0**-40))

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        if not SMALLEST_SCALE < self.scale(utility) < 2**50:
            raise ParameterError("epsilon is too small or too large for noisy counts of 64 bits")

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        # a label without people is no label of the data: those of a positive count alone
        noise = LaplaceNoise(self.scale(utility))
        drawn = universe.noisy_counts(noise, self.k, tape, self.threshold(utility))
        return drawn if self.with_counts else Drawn(drawn.found)
