"""Scalar-private linear programs: A and c are public, the right-hand sides are not.

[FastMWEM, Algorithm 3, with the errata: signed scores, and the next point from the next weights]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.errors import DataError, ParameterError
from winnow.inner_product.problem import InnerProductGrid, fineness_for
from winnow.lp.crossing.rows import SealedOffsets
from winnow.lp.crossing.scalar import LARGEST_STEPS, ScalarRun
from winnow.lp.mechanisms.charge import promise_of_rounds
from winnow.privacy import Promise

_LARGEST_EXPONENT = 2.0**28


@dataclass(frozen=True)
class ScalarPrivateLp:
    """`rounds` times: select a row that the point violates much, and step away from it.

    A round draws row i with probability ~ exp(epsilon s_i/(2 Delta)), s_i = [A_i x] - [b_i] in
    whole steps u of a public grid: [A_i x] is rounded deterministically, from public numbers;
    [b_i] = floor(b_i/u + 1/2) after clipping to a public range.

    Formal guarantees
        One person moves every b_i by -down to +up (`utility`, for its relation). Clipping and
        rounding half up commute with shifts by whole steps, so [b_i] moves by -ceil(down/u) to
        +ceil(up/u) steps, and Delta is half the length of that interval: selection does not
        change when all scores are shifted [Canonical, Thm A.15]. Rows of either sign (<= and
        >=) need `mixed`: then both ways are taken for the larger. A and x are public, x being
        made of earlier selections. Every round has bounded range epsilon, so `rounds` of them
        are adaptively composed, charged once before the first draw. [FastMWEM, Section 4;
        McSherry-Talwar 2007; Durfee-Rogers 2019] The index over (A_i, b_i) of the paper would be
        private data; there is none here.
    With `check_multiplier` each of `searches` solves is followed by a noisy look at the largest
        violation, max_i s_i, which moves by at most ceil(max(down, up)/u) steps: discrete
        Gaussian or Laplace noise of that multiple. [Canonne-Kamath-Steinke 2020]
    """

    epsilon: Real
    """Of one selection."""
    rounds: int
    searches: int = 1
    check_multiplier: Real | None = None
    measurement: str = "gaussian"
    title: ClassVar[str] = "scalar-private LP"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, rounds="rounds", searches="searches")
        if self.check_multiplier is not None:
            positive(check_multiplier=self.check_multiplier)
        elif self.searches > 1:
            raise ParameterError(
                "several solves need a noisy look after each; give check_multiplier"
            )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        text = f"{self.title}, {self.rounds} rounds of the exponential mechanism (lazy)"
        if self.check_multiplier is None:
            return text
        return f"{self.searches} times: {text}, then discrete {self.measurement} noise"

    def promise(self, relation: Relation) -> Promise:
        """What the whole run is charged, and why."""
        return promise_of_rounds(
            self, relation, citation="FastMWEM, Alg 3", checked="largest violation"
        )

    def grid(self, offsets: SealedOffsets, *, mixed: bool) -> InnerProductGrid:
        """The public step, and how far one person moves a score in steps."""
        return InnerProductGrid.of(
            offsets.utility, signed=mixed, fineness=fineness_for(self.epsilon)
        )

    def rate(self, grid: InnerProductGrid) -> Fraction:
        """The exponent of one step."""
        return exact("epsilon", self.epsilon) / (2 * grid.utility.half_width)

    def check(self, offsets: SealedOffsets, largest: float, *, mixed: bool) -> None:
        """Refuse what cannot be drawn from, by public numbers only."""
        grid = self.grid(offsets, mixed=mixed)
        steps = largest * 2.0**-grid.power
        if steps > LARGEST_STEPS:
            raise DataError(
                f"rows reach {largest:.3g}, and a sensitivity of "
                f"{float(offsets.utility.one_sided):.3g} is too small beside it; declare a larger "
                "one, or scale the rows"
            )
        if float(self.rate(grid)) * 8 * steps > _LARGEST_EXPONENT:
            raise DataError(
                "epsilon is too large for rows of this size; lower epsilon, declare a larger "
                "sensitivity, or scale the rows"
            )

    def drawn(self, offsets: SealedOffsets, key: Key, *, mixed: bool = False) -> ScalarRun:
        """The whole run, to be asked for its solves while the key lasts."""
        return ScalarRun(self, offsets, self.grid(offsets, mixed=mixed), key)
