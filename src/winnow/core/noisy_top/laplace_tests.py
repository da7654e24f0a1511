"""Exact tests of the form  offset + common noise + scale * Laplace_i > 0.

The sparse vector technique and the search of the large margin mechanism compare numbers
with Laplace noise on both sides, and only the outcome leaves. So the noise stays on the
tape: a float64 filter with a proven error decides nearly all tests, and the rest are
refined with more bits until they are certain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import Arithmetic, Interval, is_above
from winnow.core.bounded import STAGE1_ERROR, noise, noise_interval
from winnow.core.laws import Law
from winnow.core.tape import Tape

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LaplaceTests:
    """Tests that share some Laplace noises and have one of their own each.

    `common` are the scales of the shared noises, `scale` that of each test's own. All are
    exact rationals; the laws are symmetric, so signs do not matter.
    """

    tape: Tape
    common: tuple[Fraction, ...]
    scale: Fraction
    stage1_error: float = STAGE1_ERROR

    def outcomes(
        self,
        first: int,
        offsets: Floats,
        offset_errors: Floats,
        exact_offset: Callable[[int], Fraction],
    ) -> NDArray[np.bool_]:
        """Whether tests first, first + 1, ... pass.

        `offsets` are float64 values of the exact offsets, each correct to its entry of
        `offset_errors`; `exact_offset(i)` is the truth for test i, asked only where needed.
        """
        own, common = self.tape.child("own"), self.tape.child("common")
        size = len(offsets)
        shared, shared_error = self._shared(common)
        words = own.words(first, size)
        # Laplace noise never exceeds 32 ln 2 - ln 2 while its first word is not zero
        reach = float(self.scale) * 22.0 + abs(shared) + shared_error
        near = np.abs(offsets) <= reach + offset_errors
        open_places = np.flatnonzero(near | (words == 0) | (words == _ONES))
        passed = offsets > 0
        if len(open_places):
            offset = offsets[open_places]
            ids = first + open_places
            z, error = noise(Law.LAPLACE, words[open_places], own.extension(ids, 0)[:, 0], None)
            error = error * (self.stage1_error / STAGE1_ERROR)
            own_noise = float(self.scale) * z
            value = offset + shared + own_noise
            error = float(self.scale) * error + shared_error + offset_errors[open_places]
            error = error + 2.0**-49 * (np.abs(offset) + abs(shared) + np.abs(own_noise))
            passed[open_places] = value > 0
            for place in open_places[~(np.abs(value) > error)]:
                index = first + int(place)
                passed[place] = self._refine(index, exact_offset(index), own, common)
        return passed

    def bars(self, tests: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The offset that each test has to exceed, and a bound on the error of that."""
        own, (shared, shared_error) = (
            self.tape.child("own"),
            self._shared(self.tape.child("common")),
        )
        words = np.concatenate([own.words(int(test), 1) for test in tests])
        z, error = noise(Law.LAPLACE, words, own.extension(tests, 0)[:, 0], None)
        own_noise = float(self.scale) * z
        error = float(self.scale) * error * (self.stage1_error / STAGE1_ERROR) + shared_error
        return -shared - own_noise, error + 2.0**-49 * (abs(shared) + np.abs(own_noise))

    def _shared(self, common: Tape) -> tuple[float, float]:
        """The sum of the common noises and a bound on its error."""
        count = len(self.common)
        extension = common.extension(np.arange(count), 0)[:, 0]
        z, error = noise(Law.LAPLACE, common.words(0, count), extension, None)
        scales = np.array([float(b) for b in self.common])
        error = error * (self.stage1_error / STAGE1_ERROR)
        total = float(np.sum(scales * z))
        return total, float(np.sum(scales * (error + 2.0**-48 * np.abs(z))))

    def _refine(self, index: int, offset: Fraction, own: Tape, common: Tape) -> bool:
        def value(a: Arithmetic, bits: int) -> Interval:
            z = noise_interval(a, Law.LAPLACE, own, index, bits)
            total = a.add(a.fraction(offset), a.times(z, self.scale))
            for item, scale in enumerate(self.common):
                z = noise_interval(a, Law.LAPLACE, common, item, bits)
                total = a.add(total, a.times(z, scale))
            return total

        return is_above(value, lambda a, _: a.fraction(Fraction(0)))


_ONES = 0xFFFFFFFF
