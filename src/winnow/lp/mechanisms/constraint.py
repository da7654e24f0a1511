"""Constraint-private linear programs: every row belongs to a person. [FastMWEM, Appendix B.1]"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, one_of, positive, set_counts
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.inner_product.methods import INDEX_NAMES
from winnow.inner_product.problem import fineness_for
from winnow.lp.crossing.constraint import ConstraintRun
from winnow.lp.crossing.rows import SealedRows
from winnow.lp.kernels.dense_projection import L1_ERROR
from winnow.lp.kernels.owned_rows import SUM_ERROR
from winnow.lp.mechanisms.charge import promise_of_rounds
from winnow.privacy import Promise

Floats = NDArray[np.float64]

SELECTIONS = ("dense", "lazy", *INDEX_NAMES)
_LARGEST_DENSITY = 1 << 24


@dataclass(frozen=True)
class ConstraintPrivateLp:
    """`rounds` times: dense weights y on the rows, then a vertex that is good against them.

    The simplex {c'x = OPT, x >= 0} has the vertices (OPT/c_j) e_j. A round draws vertex j with
    probability ~ exp(epsilon q_j/(2 Delta)), q_j = -(OPT/c_j) sum_i y_i A_ij, and every row's
    weight grows by exp(step (A_i x - b_i)). y is the projection of the weights to 1/s-dense
    distributions, s = `density`. Entries are clipped to the public `entries` = (low, high), right
    sides to the public `sides`, so that no row can take the weights out of the range of floats, and
    s rows 0'x <= 0, which all x meet, are added, so that y exists whatever the number of rows.

    `selection` is how the vertex is found: "dense" scores every column, "lazy" only those that
    certified bounds let through (``lp.kernels.lazy_columns``), and the name of an index takes the
    paper's lazy sampler over the columns N_j [Theorem B.6]. That index is made of private rows: it
    is built inside the run, and no guarantee rests on what it answers. The law is the same.

    Formal guarantees
        Neighbours: one row more or less (add/remove), or one row replaced (substitution). The
        weight of a row depends on that row and on released vertices only.
        *Lemma.* Every sum_i y_i A_ij moves by at most (high - low)/s, under both relations.
        *Proof.* y_i = min(1, c w_i)/s for the c with which the y_i sum to 1. The other rows keep
        their w_i, so with c they all grow or all fall, together by what the changed row loses
        or gains: from q to q' say, with q = 0 for an added row and q' = 0 for a removed one.
        Exchange the neighbours so that q >= q'. Then the other rows gain q - q' together, none
        of them loses, and the sum moves by

            (sum over others of gain_i A_ij + q' A'_j) - q A_j,

        a bracket of nonnegative masses q - q' and q' on entries in [low, high], less mass q on
        one more entry: both lie in [q low, q high], and q <= 1/s. (y moves by q in total
        variation, 2q <= 2/s in l1: the corrected Lemma B.3. A replacement seen as one row less
        and one more would pay this twice, but the two moves of the other rows cancel.)
        So every score moves by at most Delta = (OPT/c_min) (high - low)/s: the constant of the
        errata, 1 times A_max for A >= 0 and 2 times for signed A; entries that attain it exist
        under both relations. Floats: y is within 2^-30 in l1 of the exact projection
        (``dense_projection``), sums over rows are within 2^-30 (``owned_rows``),
        both times OPT A_max/c_min; twice that and one step of the grid are added to Delta.
        Bounded range epsilon for each round, `rounds` of them composed adaptively and charged
        once. [FastMWEM, Appendix B.1, H and Lemma B.3, with the errata;
        Hsu-Roth-Roughgarden-Ullman 2014; McSherry-Talwar 2007; Durfee-Rogers 2019]
    With `check_multiplier` each of `searches` solves is followed by a noisy count of the rows that
        the released point violates by more than a public tolerance: whether a row does depends
        on that row and the point only, so the count moves by at most 1 under both relations.
        Discrete Gaussian or Laplace noise. [Canonne-Kamath-Steinke 2020]
    """

    epsilon: Real
    """Of one selection."""
    rounds: int
    density: int
    entries: tuple[Real, Real]
    sides: tuple[Real, Real]
    searches: int = 1
    check_multiplier: Real | None = None
    measurement: str = "gaussian"
    selection: str = "dense"
    title: ClassVar[str] = "constraint-private LP"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, rounds="rounds", density="density", searches="searches")
        one_of(SELECTIONS, selection=self.selection)
        low, high = (exact("entries", end) for end in self.entries)
        if not low < high or low > 0 or high < 0:
            raise ParameterError(
                f"entries=({self.entries[0]}, {self.entries[1]}) is not a public range of the "
                "entries of A with 0 in it; give (low, high) with low <= 0 <= high"
            )
        least, most = (exact("sides", end) for end in self.sides)
        if least > most:
            raise ParameterError(
                f"sides=({self.sides[0]}, {self.sides[1]}) is empty; give (low, high)"
            )  # fmt: skip
        if self.density > _LARGEST_DENSITY:
            raise ParameterError(f"density={self.density} is above {_LARGEST_DENSITY}; lower it")
        if self.check_multiplier is not None:
            positive(check_multiplier=self.check_multiplier)
        elif self.searches > 1:
            raise ParameterError(
                "several solves need a noisy count after each; give check_multiplier"
            )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        text = (
            f"{self.title}, {self.rounds} rounds of dense multiplicative weights (s = "
            f"{self.density}) and the exponential mechanism over vertices"
        )
        if self.selection != "dense":
            text += f" ({self.selection})"
        if self.check_multiplier is None:
            return text
        text += f", then a count with discrete {self.measurement} noise"
        return text if self.searches == 1 else f"{self.searches} times: {text}"

    def promise(self, relation: Relation) -> Promise:
        """What the whole run is charged, and why."""
        return promise_of_rounds(
            self, relation, citation="FastMWEM, Appendix B.1 and Lemma B.3", checked="violated rows"
        )

    def sensitivity(self, scale: Floats) -> Fraction:
        """Delta of the scores in exact arithmetic, under both relations; ``scale`` is OPT/c."""
        low, high = (exact("entries", end) for end in self.entries)
        return Fraction(float(scale.max())) * (high - low) / self.density

    def steps(self, scale: Floats) -> tuple[int, int]:
        """The power of two of the public grid, and Delta in its steps with all rounding."""
        delta = self.sensitivity(scale)
        power = math.frexp(float(delta))[1] - fineness_for(self.epsilon)
        largest = max(abs(exact("entries", end)) for end in self.entries)
        error = Fraction(float(scale.max())) * largest * Fraction(L1_ERROR + 2 * SUM_ERROR)
        moved = delta + 2 * error
        return power, math.ceil(moved / Fraction(2) ** power) + 1

    def drawn(self, rows: SealedRows, key: Key) -> ConstraintRun:
        """The whole run, to be asked for its solves while the key lasts."""
        return ConstraintRun(self, rows, key)
