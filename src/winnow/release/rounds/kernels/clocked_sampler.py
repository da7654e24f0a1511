"""Exact draws of a signed query in proportion to exp(beta |miss|), where evaluation is costly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.kernels.draw_state import (
    BEGIN,
    CANDIDATE,
    EVALUATIONS,
    PHASE,
    SCAN,
    SIGN,
    run_on,
)
from winnow.core.noisy_top.proposals import TapeWords
from winnow.core.workloads.bits import LARGEST_COPY
from winnow.core.workloads.forms import BitMatrix, DenseForm, GridMatrix, Words
from winnow.release.rounds.kernels.block_sampler import LARGEST_UNITS, per_unit_of
from winnow.release.rounds.kernels.distribution import Distribution, Region
from winnow.release.rounds.kernels.followed_sampler import FollowedSampler

Integers = NDArray[np.int64]

_LANE = 30  # whole weights of all cells together stay below 2^30, so that they fit int32
_COARSEST = 10
LAZY_START = Border(
    4.0,
    "a lazy start",
    decides="the largest count of a query, times epsilon",
    ways="the first draw proposes from one bound for all queries; after a scan of all",
    same="law",
    because="rejection from any bound that holds gives the exponential mechanism's own law "
    "(winnow.core.kernels.envelope)",
)
"""With less than this to gain or lose, no scan is needed to begin with."""
FOLLOW = Border(
    64.0,
    "queries followed at once",
    decides="the largest count of a query, times epsilon, and how many are near the best",
    ways="binary queries evaluated one by one; all followed together",
    same="law",
    because="rejection from any bound that holds gives the exponential mechanism's own law "
    "(winnow.core.kernels.envelope)",
)
"""With more than this to gain or lose, many binary queries are followed at once."""
_MANY = 2048  # with fewer queries a scan takes no time
_PART, _SMALL_PART = 16, 128  # evaluations allowed in a draw, as a part of all queries
_FREE = 16  # proposals allowed for each evaluation


def dense_fraction_bits(total: int, grid: int) -> int:
    """g: weights and scores are whole multiples of 2^-g rows."""
    narrow = _LANE - total.bit_length()
    if narrow >= _COARSEST and grid << _LANE < LARGEST_UNITS:
        return narrow
    return min(20, LARGEST_UNITS.bit_length() - 1 - (total * grid).bit_length())


class ClockedSampler:
    """Private state of draws against one workload: keys, epochs, and counts in units.

    ``counts`` are whole numbers between 0 and 2 `total` grid, the maintained queries first.
    """

    def __init__(self, counts: Integers, distribution: Distribution, rate: Fraction) -> None:
        from winnow.core.kernels.groups import UNIFORM, new_groups
        from winnow.release.rounds.kernels import clocked_draw as kernel
        from winnow.release.rounds.kernels.clocked_queries import Queries

        self._kernel: Any = kernel
        dense = distribution.dense
        on_grids = [region for region in dense if isinstance(region.form, GridMatrix)]
        grids = [1, *(int(region.part.grid) for region in on_grids)]
        bits = dense_fraction_bits(distribution.total, max(grids))
        self._units = distribution.total << bits
        self._exact = [rate / (grid << bits) for grid in grids]
        firsts = [0, *(distribution.maintained_size + region.base for region in on_grids)]
        self._size = size = len(counts)
        counts = counts << bits
        queries = Queries(
            counts,
            *_joined(dense, distribution.cells),
            np.array(firsts, np.int64),
            np.array([float(beta) for beta in self._exact]),
            np.array([per_unit_of(beta) for beta in self._exact]),
        )
        rounding = int(distribution.slack * self._units + 1)
        slack = distribution.cells + 2 + 2 * rounding if distribution.maintained else 0
        highest = max(
            -(-int(counts[first:stop].max(initial=0)) // grid)
            for first, stop, grid in zip(firsts, [*firsts[1:], size], grids, strict=True)
        )
        # no answer is below 0 or above `units` by more than its rounding and that of the cells
        highest = max(highest, self._units) + distribution.cells + slack + rounding
        per_unit = queries.per_units[0]
        cap = float(per_unit * highest * (1.0 + 2.0**-40) + 1e-9)
        whole = distribution.whole_weights(self._units)
        groups = new_groups(size, cap, kernel.SLOTS, UNIFORM)
        self._clocked = kernel.Clocked(
            queries,
            groups,
            references=np.zeros((kernel.SLOTS, len(whole)), whole.dtype),
            clocks=np.zeros(kernel.SLOTS),
            rate=float(per_unit),
            slack=slack,
            cap=cap,
            bounds=np.zeros(len(groups.counts), np.int64),
            reach=60 - size.bit_length(),
        )
        self._plain = self._clocked.plain
        self._whole = np.zeros_like(whole)
        self._state = np.zeros(kernel.STATE, np.int64)
        self._allowed = self._most = size // _PART + 64
        self._seen: tuple[Distribution, int] | None = None
        self._followed: FollowedSampler | None = None

    def draw(self, distribution: Distribution, words: TapeWords) -> tuple[int, int]:
        """A query's place, maintained ones first, and a sign."""
        if self._followed is not None:
            return self._followed.draw(distribution, words)
        kernel, plain, state = self._kernel, self._plain, self._state
        maintained, mass = distribution.maintained_answers()
        answers = maintained, self._units / mass, self._whole, distribution.unnormalised
        self._allow(self._allowed, _FREE * self._allowed)
        if self._seen is None:
            if self._clocked.cap > FOLLOW.at and self._can_follow:
                return self._follow().draw(distribution, words)
            self._whole[:] = distribution.whole_weights(self._units)
            self._first(answers)
        elif self._seen[0] is not distribution or self._seen[1] != distribution.version:
            state[PHASE] = kernel.RENEW
        self._seen = (distribution, distribution.version)

        def loop(buffer: Any, place: int) -> tuple[int, int]:
            found: tuple[int, int] = kernel.draw(plain, answers, buffer, place, state)
            return found

        scanned = run_on(loop, words, state, self._beta) == SCAN
        if scanned:
            if self._can_follow:
                return self._follow().draw(distribution, words)
            kernel.scan(plain, answers, state)
            self._allow(1 << 62, 1 << 62)
            run_on(loop, words, state, self._beta)
        least = self._size // _SMALL_PART + 64
        self._allowed = (
            max(self._allowed // 2, least) if scanned else min(2 * self._allowed, self._most)
        )
        return int(state[CANDIDATE]), int(state[SIGN])

    @property
    def _can_follow(self) -> bool:
        queries = self._clocked.queries
        many = len(queries.bits) >= _MANY and queries.bits.nbytes <= LARGEST_COPY
        return many and not len(queries.values)

    def _follow(self) -> FollowedSampler:
        """Too many binary queries are near the best to look at one by one: follow all of them."""
        queries = self._clocked.queries
        self._followed = FollowedSampler(
            queries.counts, queries.bits, self._units, self._exact[0], float(queries.per_units[0])
        )
        return self._followed

    def _allow(self, evaluations: int, proposals: int) -> None:
        """Begin to draw, until so many evaluations or proposals were in vain."""
        kernel, state = self._kernel, self._state
        state[PHASE] = BEGIN
        state[kernel.EVALUATED], state[kernel.MOST_EVALUATED] = 0, evaluations
        state[kernel.PROPOSALS_LEFT] = proposals

    def _first(self, answers: tuple[Any, ...]) -> None:
        """No key is known: the bound that holds for every query will do, or a scan."""
        if self._clocked.cap > LAZY_START.at:
            self._kernel.scan(self._plain, answers, self._state)
            return
        self._clocked.references[0, :] = answers[2]
        self._state[self._kernel.CEILING] = self._kernel.arrange_all(self._plain)

    def _beta(self, query: int) -> Fraction:
        """The exponent of one unit of a query's score."""
        firsts = self._clocked.queries.firsts
        return self._exact[int(np.searchsorted(firsts, query, side="right")) - 1]

    @property
    def _all_evaluations(self) -> int:
        """For benchmarks: it depends on private data."""
        return int(self._state[EVALUATIONS])


def _joined(dense: list[Region[DenseForm]], cells: int) -> tuple[Words, NDArray[Any]]:
    """All binary queries in one array and all values on grids in another."""
    bits: list[Words] = []
    values: list[NDArray[Any]] = []
    for region in dense:
        match region.form:
            case BitMatrix():
                bits.append(region.form.bits)
            case GridMatrix():
                values.append(region.form.values)
            case never:
                assert_never(never)
    no_bits = np.zeros((0, -(-cells // 64)), np.uint64)
    joined_bits = bits[0] if len(bits) == 1 else np.concatenate([no_bits, *bits])
    if not values:
        return joined_bits, np.zeros((0, cells), np.uint8)
    return joined_bits, values[0] if len(values) == 1 else np.concatenate(values)
