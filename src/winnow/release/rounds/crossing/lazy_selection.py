"""The exponential mechanism over signed queries, without looking at every query.

The law is that of the exponential mechanism to the last bit; what is lazy is the work: queries
are proposed under certified bounds on their scores, and only proposed ones are looked at. How
many that are depends on the data and never leaves.

``LazySelector`` has bounds of its own on tables and blocks of queries. ``IndexedSelector`` goes the
way of the paper: an index over the queries, asked for those along the data minus the distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, count, exact, positive
from winnow.core.key import Key
from winnow.core.laws import Law
from winnow.core.noisy_top.proposals import TapeWords
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.core.workloads.workload import Workload
from winnow.errors import DataError, GrantError, ParameterError
from winnow.inner_product.crossing import IndexedSelection
from winnow.inner_product.problem import InnerProductGrid
from winnow.inner_product.vectors import SealedQuery, SealedVectors
from winnow.privacy import Promise, promise
from winnow.release.rounds.kernels.block_sampler import BlockSampler
from winnow.release.rounds.kernels.clocked_sampler import ClockedSampler
from winnow.release.rounds.kernels.distribution import Distribution
from winnow.select.crossing.selection import check_scale

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

    @property
    def name(self) -> str:
        """What a receipt calls it."""
        return self.title

    def promise(self, relation: Relation) -> Promise:
        """What one selection is charged, and why: it is the exponential mechanism."""
        return promise(Law.GUMBEL, "argmax", relation, epsilon=self.epsilon)

    def rate(self, rows_per_person: int) -> Fraction:
        """The factor of a row in the exponent: epsilon/(2 L)."""
        return exact("epsilon", self.epsilon) / (2 * rows_per_person)


class Selector(Protocol):
    """Draws a signed query that a public distribution answers badly. Its state is private."""

    def check(self, total: int) -> None:
        """Refuse what cannot be drawn from, by public numbers only."""
        ...

    def draw(self, distribution: Distribution, words: Tape) -> tuple[int, int]:
        """One query and a sign."""
        ...


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
        key: Key | None = None,
    ) -> None:
        count(sensitivity=sensitivity)
        self._mechanism = LazyExponential(epsilon)
        self._rate = self._mechanism.rate(int(sensitivity))
        self._workload = workload
        self._sealed, self._key = counts, key
        self._sampler: BlockSampler | ClockedSampler | None = None
        self._total = 0
        self._words: TapeWords | None = None

    def check(self, total: int) -> None:
        """Refuse what cannot be drawn from, by public numbers only."""
        _check_total(self._workload, total)
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
        _check_total(self._workload, distribution.total)
        counts = _paid(self._key).open(self._sealed)
        # A total that was measured may be large: a smaller epsilon than was paid for is private.
        rate = min(self._rate, Fraction(_LARGEST_EXPONENT - 1, distribution.total))
        limit = 2 * distribution.total * self._workload.grids
        clipped = np.clip(counts, 0, limit)
        sampler = ClockedSampler if distribution.dense else BlockSampler
        self._sampler = sampler(distribution.arranged(clipped), distribution, rate)
        self._total = distribution.total

    def __repr__(self) -> str:
        return "<lazy selector>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a selector holds private counts and cannot be pickled or copied")


def _paid(key: Key | None) -> Key:
    """The key of a selector that draws; one without a key only checks."""
    if key is None:
        raise GrantError("this selector was made to check, before the charge; it cannot draw")
    return key


def most_rows(workload: Workload) -> int:
    """The most rows that counts may be compared with: a noisy number above it is cut there."""
    return (_LARGEST_TOTAL - 1) // max(part.grid for part in workload.parts)


def _check_total(workload: Workload, total: int) -> None:
    grid = max(part.grid for part in workload.parts)
    if total > most_rows(workload):
        raise DataError(
            f"{total} rows on a grid of {grid} give counts beyond {_LARGEST_TOTAL}; use fewer "
            "rows or a coarser grid"
        )


@dataclass(frozen=True)
class Search:
    """An index over the public queries, and the private table that is compared with them."""

    vectors: SealedVectors
    """Each query written out over the cells, with values in [0, 1]."""
    cells: Sealed[NDArray[np.int64]]
    """How many rows each cell has."""


class IndexedSelector:
    """Selections over an index: the queries with a large inner product with +-(h - N p).

    h are the counts of the cells, clipped to 0 .. 2 N, and N p what the distribution says, rounded
    to a public grid so fine that the differences are float64 without rounding. A row more in one
    cell moves an inner product with a query in [0, 1] by at most 1, and clipping moves no cell
    further: under both relations one person moves it by at most L = ``rows_per_person``, whichever
    sign is asked. So each draw is that of ``mechanism`` with the sensitivity L, and what it
    promises holds whatever the index answers.
    """

    def __init__(
        self,
        search: Search,
        workload: Workload,
        mechanism: IndexedSelection,
        rows_per_person: int,
        key: Key | None = None,
    ) -> None:
        self._search, self._workload, self._mechanism = search, workload, mechanism
        self._key = key
        self._reach = Fraction(rows_per_person)
        self._turn = 0

    def check(self, total: int) -> None:
        """Refuse what cannot be drawn from, by public numbers only."""
        _check_total(self._workload, total)
        grid = InnerProductGrid.of(self._utility(), signed=True)
        check_scale(self._mechanism.scale(grid.utility))

    def draw(self, distribution: Distribution, words: Tape) -> tuple[int, int]:
        """One query and a sign."""
        if distribution.workload is not self._workload:
            raise ParameterError("the distribution answers another workload; make it for this one")
        total, self._turn = distribution.total, self._turn + 1
        self.check(total)
        unit = 2.0 ** min(40, 50 - (2 * total).bit_length())
        said = np.rint(distribution.weights() * total * unit) / unit
        key = _paid(self._key)
        gap = np.clip(key.open(self._search.cells), 0, 2 * total) - said
        query = SealedQuery(Sealed(gap, "a query vector"), len(gap), self._utility())
        tape = words.child(f"round-{self._turn}")
        place = self._mechanism.drawn(self._search.vectors, query, key, tape)[0]
        return place % self._search.vectors.size, 1 if place < self._search.vectors.size else -1

    def _utility(self) -> Utility:
        # a pair (down, up) is doubled under substitution; what is said here holds for both
        return Utility(Relation.ADD_REMOVE, self._reach, self._reach)

    def __repr__(self) -> str:
        return "<indexed selector>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a selector holds private counts and cannot be pickled or copied")
