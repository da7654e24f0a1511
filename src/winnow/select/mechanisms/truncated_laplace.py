"""Labels found in the data with noisy counts: Laplace noise that stays below its threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from winnow.core.checks import exact
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.noisy_top.integer_noise import TruncatedLaplaceNoise
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.unit import counted
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Promise, promise
from winnow.select.crossing.private_labels import EVERY, UnknownDomain

_OUTSIDE = "epsilon is too small or too large for noisy counts of 64 bits"


def mass_at(edge: int, scale: float) -> float:
    """Pr[Z = edge | |Z| <= edge] of discrete Laplace noise, to 45 bits.

    q^K (1 - q)/(1 + q - 2 q^(K + 1)) with q = e^(-1/scale), in sums of positive terms.
    """
    q, step = math.exp(-1 / scale), -math.expm1(-1 / scale)
    return math.exp(-edge / scale) * step / (step - 2 * q * math.expm1(-edge / scale))


@lru_cache(maxsize=256)
def least_edge(scale: float, allowed: float) -> int:
    """The least K with Pr[Z = K | |Z| <= K] <= allowed."""
    if not SMALLEST_SCALE < scale < 2**50:
        raise ParameterError(_OUTSIDE)
    low, high = 0, 1
    while mass_at(high, scale) * (1 + 2.0**-40) > allowed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = mass_at(middle, scale) * (1 + 2.0**-40) <= allowed
        low, high = (low, middle) if enough else (middle, high)
    return high


@dataclass(frozen=True)
class TruncatedLaplace(UnknownDomain):
    """Add bounded Laplace noise to every count, and release the labels above the bound.

    Every label in the data gets discrete Laplace noise Z of scale b = L w'/epsilon, given that
    |Z| <= K; of those whose noisy count is above K the k largest are released, with counts if
    asked.
    It is ``StabilityThreshold`` with a lower threshold and less noise, for the same charge.

    Formal guarantees
        Let one person have at most L labels. The discrete Laplace event with multiplier b over the
        l1 sensitivity (L under add/remove, 2 L under substitution), up to delta, when c = Pr[Z = K]
        <= delta/M, M that sensitivity.

        Proof. One person moves at most M counts, each from some n to n + 1 or back; a label that
        nobody has counts 0, and is never released, since Z <= K. Take from the law of n + Z the
        mass at n - K and from that of n + 1 + Z the mass at n + 1 + K: both are c. What is left of
        the two lies on n - K + 1 .. n + K, with the ratio e^(1/b) up to n and e^(-1/b) above it,
        as much mass up to n (of either) as the laws without a bound have, times 1 - c: it is their
        pair times 1 - c. The M counts are independent, so what is left of all of them is the pair
        of the Laplace mechanism times (1 - c)^M >= 1 - delta. Which labels are released, and in
        which order, follows from the noisy counts; ties are broken by lot.
        [The truncated law: Geng et al. 2020; the noise: Canonne-Kamath-Steinke 2020]
    """

    title: ClassVar[str] = "truncated-laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_items is None:
            raise ParameterError(
                "truncated-laplace needs a bound on the items of one person; count with "
                "max_items=, or use method='weighted-gaussian'"
            )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        items = counted(self.max_items or 0, "item")
        most = "all" if self.k == EVERY else f"at most {self.k}"
        return f"{self.title}, {most}, {items} per person"

    def _moved(self, relation: Relation) -> int:
        return relation.people * (self.max_items or 1)

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(
            "discrete-laplace",
            "stability-threshold",
            relation,
            noise_multiplier=1 / exact("epsilon", self.epsilon),
            delta=self.delta,
            moved=self._moved(relation),
        )

    def scale(self, utility: Utility) -> Fraction:
        """b: the l1 sensitivity over epsilon."""
        return self._moved(utility.relation) / exact("epsilon", self.epsilon)

    def edge(self, utility: Utility) -> int:
        """K: noise is no larger, and noisy counts above it are released."""
        allowed = exact("delta", self.delta) / self._moved(utility.relation)
        return least_edge(float(self.scale(utility)), float(allowed) * (1 - 2.0**-50))

    def threshold(self, utility: Utility) -> int:
        """The least noisy count that is released."""
        return self.edge(utility) + 1

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        if utility.one_sided != 1:
            raise ParameterError(
                "truncated-laplace is for counts of people, which one person moves by 1"
            )
        if not SMALLEST_SCALE < self.scale(utility) < 2**50:
            raise ParameterError(_OUTSIDE)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        noise = TruncatedLaplaceNoise(self.scale(utility), self.edge(utility))
        drawn = universe.noisy_counts(noise, self.k, tape, self.threshold(utility))
        return drawn if self.with_counts else Drawn(drawn.found)
