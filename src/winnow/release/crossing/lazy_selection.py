"""The exponential mechanism over signed queries, without looking at every query.

The law is that of the exponential mechanism to the last bit; what is lazy is the work: queries
are proposed under certified bounds on their scores, and only proposed ones are looked at. How
many that are depends on the data and never leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, count, exact, positive
from winnow.core.laws import Law
from winnow.core.noisy_top.proposals import TapeWords
from winnow.core.opening import open_sealed
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.core.workloads.workload import Workload
from winnow.errors import DataError, ParameterError
from winnow.privacy import Promise, promise
from winnow.release.kernels.block_sampler import BlockSampler
from winnow.release.kernels.clocked_sampler import ClockedSampler
from winnow.release.kernels.distribution import Distribution

_LARGEST_TOTAL = 1 << 45
_LARGEST_EXPONENT = 1 << 28


@dataclass(frozen=True)
class LazyExponential:
    """Draw (i, s), s = +1 or -1, with probability ~ exp(epsilon s (h_i - N g_i a_i)/(2 Delta_i)).

    h_i is the count of query i in units of its grid g_i (1 for binary queries), N g_i a_i what
    the public distribution says, N the public number of rows.

    Formal guarantees
        epsilon-bounded range, so epsilon-DP and epsilon^2/8-zCDP, under add/remove and under
        substitution. A person has at most L rows and a query gives each row 0 .. g_i units,
        so under both relations h_i moves by at most Delta_i = L g_i; the distribution and N are
        public and do not move. The score s (h_i - N g_i a_i) of the sign opposite to s moves
        the other way, so it is not monotone and nothing is halved. [McSherry-Talwar 2007;
        FastMWEM, Section 3; bounded range: Durfee-Rogers 2019, Dong-Durfee-Rogers 2020]

    Exact: scores are whole multiples of 2^-g (the distribution is rounded to that grid, which is
    public), proposals are integer draws and acceptance is an exact comparison; see
    ``core.kernels.envelope`` for the proof that lazy proposals do not change the law.
    """

    epsilon: Real
    title: ClassVar[str] = "lazy exponential"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)

    def promise(self, relation: Relation) -> Promise:
        """What one selection is charged, and why: it is the exponential mechanism."""
        return promise(Law.GUMBEL, "argmax", relation, epsilon=self.epsilon)

    def rate(self, rows_per_person: int) -> Fraction:
        """The factor of a row in the exponent: epsilon/(2 L)."""
        return exact("epsilon", self.epsilon) / (2 * rows_per_person)


class LazySelector:
    """Selections against one workload and its sealed counts. All of its state is private.

    ``sensitivity`` is the number of rows that a person may have: Delta_i = sensitivity * g_i.
    Counts are clipped to 0 .. 2 N g_i, which moves no count by more than it moved before.
    """

    def __init__(
        self,
        counts: Sealed[NDArray[np.int64]],
        workload: Workload,
        epsilon: Real,
        sensitivity: int = 1,
    ) -> None:
        count(sensitivity=sensitivity)
        self._mechanism = LazyExponential(epsilon)
        self._rate = self._mechanism.rate(int(sensitivity))
        self._workload = workload
        self._sealed = counts
        self._sampler: BlockSampler | ClockedSampler | None = None
        self._total = 0
        self._words: TapeWords | None = None

    def check(self, total: int) -> None:
        """Refuse what cannot be drawn from, by public numbers only."""
        grid = max(part.grid for part in self._workload.parts)
        if total * grid >= _LARGEST_TOTAL:
            raise DataError(
                f"{total} rows on a grid of {grid} give counts beyond {_LARGEST_TOTAL}; use fewer "
                "rows or a coarser grid"
            )
        if not self._rate * total < _LARGEST_EXPONENT:
            raise DataError(
                f"epsilon={float(exact('epsilon', self._mechanism.epsilon)):g} is too large for "
                f"{total} rows; lower epsilon"
            )

    def draw(self, distribution: Distribution, words: TapeWords | Tape) -> tuple[int, int]:
        """One query and a sign. Draws from the same tape go on where the last one stopped.

        A tape that is given is used up by this selector: no other draw may read its bits.
        """
        if distribution.workload is not self._workload:
            raise ParameterError("the distribution answers another workload; make it for this one")
        if isinstance(words, Tape):
            words.check_owner()  # a fork has the words that were read already
            if self._words is None or self._words.tape is not words:
                words.claim()
                self._words = TapeWords(words)
            words = self._words
        if self._sampler is None or distribution.total != self._total:
            self._open(distribution)
        assert self._sampler is not None
        place, sign = self._sampler.draw(distribution, words)
        return distribution.query_at(place), sign

    def _open(self, distribution: Distribution) -> None:
        self.check(distribution.total)
        counts = open_sealed(self._sealed)
        limit = 2 * distribution.total * self._workload.grids
        clipped = np.clip(counts, 0, limit)
        sampler = ClockedSampler if distribution.dense else BlockSampler
        self._sampler = sampler(distribution.arranged(clipped), distribution, self._rate)
        self._total = distribution.total

    def __repr__(self) -> str:
        return "<lazy selector>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a selector holds private counts and cannot be pickled or copied")
