"""Exact draws of a signed query in proportion to exp(beta |miss|), where many are near the best."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.draw_state import (
    CANDIDATE,
    EVALUATIONS,
    SIGN,
    run_on,
)
from winnow.core.noisy_top.proposals import TapeWords
from winnow.core.workloads.forms import Words
from winnow.release.rounds.kernels.distribution import Distribution

_FINEST, _COARSEST = 27, 18  # bits of what the reference weighs in all when it is set;
_DRIFT = 8.0  # it is set anew when the mass has changed by more: sums stay below 2^31
_ALLOWED = 0.25  # in units of ln 2: what a bound may exceed its score by, to move fewer cells


class FollowedSampler:
    """Private state of draws against binary queries, and maintained ones before them.

    ``counts`` are in units, and so are all scores; ``beta`` is the exponent of a unit, and
    ``per_unit`` the same in units of ln 2, rounded up.
    """

    def __init__(
        self, counts: NDArray[np.int64], bits: Words, units: int, beta: Fraction, per_unit: float
    ) -> None:
        from winnow.release.rounds.kernels import followed_draw as kernel
        from winnow.release.rounds.kernels.bit_planes import (
            GROUP,
            GROUPS,
            PLANES,
            in_lines,
            lay_across,
        )

        self._kernel: Any = kernel
        self._units, self._beta, self._per_unit = units, beta, per_unit
        size, cells = len(counts), 64 * bits.shape[1]
        blocks = -(-size // GROUP)
        chunks = -(-len(bits) // (GROUP * GROUPS))
        across = in_lines(chunks * GROUPS * cells)
        lay_across(bits, across, np.zeros(GROUP, np.uint64))
        planes = in_lines(PLANES * GROUPS)
        self._followed = kernel.Followed(
            counts,
            firsts=GROUP * np.arange(blocks, dtype=np.int64),
            evaluated=np.ones(blocks, np.bool_),
            block_bounds=np.zeros(blocks, np.int32),
            bounds=np.zeros(size, np.int32),
            weights=np.zeros(blocks, np.int64),
            beta=float(beta),
            per_unit=per_unit,
            reach=60 - size.bit_length(),
            highest=counts.astype(np.float64),
            bits=bits,
            across=across,
            sums=np.zeros(chunks * GROUPS * GROUP, np.int32),
            reference=np.zeros(cells, np.int32),
            moved=np.zeros(cells, np.int64),
            steps=np.zeros(cells, np.int64),
            starts=np.zeros(PLANES + 1, np.int64),
            places=np.zeros(cells * PLANES // 2 + PLANES, np.int64),
            flips=np.zeros(cells * PLANES // 2 + PLANES, np.int64),
            carries=in_lines(4 * (cells + 2) * GROUPS),
            planes=planes,
            numbers=planes.view(np.uint32).reshape(PLANES, 2 * GROUPS),
            bins=np.zeros(kernel.BINS),
            margin=(float(counts.max(initial=0)) + 4.0 * units) * 2.0**-48,
        )
        self._plain = tuple(self._followed)
        self._state = np.zeros(kernel.STATE, np.int64)
        self._seen: tuple[Distribution, int] | None = None
        # fine enough for the rounding of all cells to move no exponent by more than a part of 1
        bits_wanted = math.ceil(math.log2(2.0 * cells * units * per_unit + 1.0))
        self._reference = 1 << min(_FINEST, max(_COARSEST, bits_wanted))
        self._mass = (1.0, 0)
        """Of the distribution when the reference was set."""

    def draw(self, distribution: Distribution, words: TapeWords) -> tuple[int, int]:
        """A query's place, maintained ones first, and a sign."""
        kernel, state = self._kernel, self._state
        maintained, mass = distribution.maintained_answers()
        answers = maintained, self._units / mass, distribution.whole_weights(self._units)
        if self._seen is None or self._seen != (distribution, distribution.version):
            factor, allowed = self._factor(distribution), _ALLOWED / self._per_unit
            kernel.follow(self._plain, answers, factor, allowed, state)
            self._seen = (distribution, distribution.version)
        run_on(
            lambda buffer, place: kernel.draw(self._plain, answers, buffer, place, state),
            words,
            state,
            lambda _: self._beta,
        )
        return int(state[CANDIDATE]), int(state[SIGN])

    def _factor(self, distribution: Distribution) -> float:
        """From the reference to units: what its mass was, over what it is now."""
        mass, shift = distribution.mass
        if self._seen is not None and self._seen[0] is distribution:
            change = math.ldexp(mass / self._mass[0], min(64, max(-64, shift - self._mass[1])))
            if 1.0 / _DRIFT < change < _DRIFT:
                return self._units / (self._reference * change)
        self._mass = mass, shift
        return self._units / self._reference

    @property
    def _all_evaluations(self) -> int:
        """For benchmarks: it depends on private data."""
        return int(self._state[EVALUATIONS])
