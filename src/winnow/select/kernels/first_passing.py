"""The first of very many tests that passes, without looking at them one by one.

Tests l = 1, 2, ... pass when  offset(l) + W + scale * Laplace_l > 0,  with W shared. The tests
come in pieces in which the offset never exceeds the piece's bound u. The tests of a piece that
would pass at u are independent with one probability q, so the first of them is found by
inverting the cumulative hazard, which is linear in a piece: sum of size * -ln(1 - q). Whether
it passes at its own offset too is one more comparison, with probability p(l)/q; if not, the
search goes on behind it (thinning). The law is exactly that of testing one by one. Nothing is
drawn of the tests behind it yet, so they may come in other pieces then, with lower bounds.

Where in a piece of N tests the first one lies, given that there is one, is the remainder of a
geometric variable floor(E/-ln(1-q)) after division by N, as its distribution has no memory.

Which piece is decided in float64 with a bound on the error, or else, like everything here, with
intervals that are refined until they are certain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import Arithmetic, Interval, refined
from winnow.core.bounded import clock_of, noise, noise_interval
from winnow.core.laws import Law
from winnow.core.noisy_top.laplace_tests import LaplaceTests
from winnow.core.tape import Tape

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Piece:
    """Tests first .. first + size - 1, none with an offset above `bound`."""

    first: int
    size: int
    bound: Fraction


def first_passing(
    tests: LaplaceTests,
    first: int,
    pieces: Callable[[int], Sequence[Piece]],
    offset: Callable[[int], Fraction],
    tape: Tape,
) -> int | None:
    """The first test from `first` on that passes, or None if none of the pieces' tests does.

    `pieces(test)` are those from a test on, by what is known when it is called; `offset(test)`
    is the test's own. `tests` gives the scales and the shared noises; each test's own noise is
    implied by `tape` and not by the items of `tests`.
    """
    shared: dict[int, Interval] = {}
    for draw in count():
        left = pieces(first)
        if not left:
            break
        search = _Search(tests, tape.child(f"candidate-{draw}"), shared)
        chosen = search.piece(left)
        if chosen is None:
            break
        piece = left[chosen]
        test = piece.first + search.place(piece)
        if search.passes(piece, offset(test)):
            return test
        first = test + 1
    return None


@dataclass(frozen=True, repr=False)
class _Search:
    """One candidate: which piece, where in it, and whether it passes (items 0, 1 and 2)."""

    tests: LaplaceTests
    tape: Tape
    shared: dict[int, Interval]
    """W by the number of digits: the same for all candidates."""

    def piece(self, pieces: Sequence[Piece]) -> int | None:
        """The first piece with a test that passes at the piece's bound."""
        shared, shared_error = self.tests._shared(self.tests.tape.child("common"))
        scale = float(self.tests.scale)
        bounds = np.array([float(piece.bound) for piece in pieces])
        sizes = np.array([float(piece.size) for piece in pieces])
        x = (bounds + shared) / scale
        # every error of x moves ln(1 - q) by at most twice as much, relative to it
        error = 4.0 * ((2.0**-49 * (np.abs(bounds) + abs(shared)) + shared_error) / scale)
        hazards = sizes * _hazard(x)
        with np.errstate(over="ignore"):
            low = np.cumsum(hazards * np.maximum(0.0, 1.0 - error - 2.0**-34))
            high = np.cumsum(hazards * (1.0 + error + 2.0**-34))
        ids = np.zeros(1, np.int64)
        z, unsure = noise(
            Law.EXPONENTIAL, self.tape.words(0, 1), self.tape.extension(ids, 0)[:, 0], None
        )
        clock, clock_error = float(z[0]), float(unsure[0])
        possible = int(np.searchsorted(high, clock - clock_error))
        certain = int(np.searchsorted(low, clock + clock_error))
        if possible != certain:
            possible = self._exact_piece(pieces, min(certain + 1, len(pieces)))
        return possible if possible < len(pieces) else None

    def _exact_piece(self, pieces: Sequence[Piece], until: int) -> int:
        clock_at = clock_of(self.tape, 0)

        def attempt(a: Arithmetic, bits: int) -> int | None:
            clock = clock_at(a, bits)
            total = a.fraction(Fraction(0))
            for place, piece in enumerate(pieces[:until]):
                hazard = self._hazard_interval(a, piece.bound, bits)
                total = a.add(total, a.times(hazard, Fraction(piece.size)))
                if total.lo > clock.hi:
                    return place
                if not total.hi < clock.lo:
                    break
            else:
                if until == len(pieces):
                    return until
            return None

        return refined(attempt)

    def place(self, piece: Piece) -> int:
        """Where in the piece the candidate is: a geometric variable modulo the size."""
        if piece.size == 1:
            return 0
        clock_at = clock_of(self.tape, 1)

        def attempt(a: Arithmetic, bits: int) -> int | None:
            clock, hazard = clock_at(a, bits), self._hazard_interval(a, piece.bound, bits)
            if not (hazard.lo > 0 and clock.hi.is_finite() and hazard.hi.is_finite()):
                return None
            low = Fraction(clock.lo) // Fraction(hazard.hi)
            high = Fraction(clock.hi) // Fraction(hazard.lo)
            return int(low % piece.size) if low == high else None

        return refined(attempt)

    def passes(self, piece: Piece, offset: Fraction) -> bool:
        """True with probability p/q, p at the offset and q at the bound."""

        def attempt(a: Arithmetic, bits: int) -> bool | None:
            known = self.tape.bits(2, bits)
            v_low, v_high = Fraction(known, 1 << bits), Fraction(known + 1, 1 << bits)
            q = _pass_interval(a, self._point(a, piece.bound, bits))
            p = _pass_interval(a, self._point(a, offset, bits))
            if v_high * Fraction(q.hi) <= Fraction(p.lo):
                return True
            return False if v_low * Fraction(q.lo) >= Fraction(p.hi) else None

        return refined(attempt)

    def _point(self, a: Arithmetic, offset: Fraction, bits: int) -> Interval:
        """(offset + W)/scale."""
        w = self.shared.get(a.digits)
        if w is None:
            common = self.tests.tape.child("common")
            w = a.fraction(Fraction(0))
            for item, scale in enumerate(self.tests.common):
                z = noise_interval(a, Law.LAPLACE, common, item, bits)
                w = a.add(w, a.times(z, scale))
            self.shared[a.digits] = w
        return a.times(a.add(w, a.fraction(offset)), 1 / self.tests.scale)

    def _hazard_interval(self, a: Arithmetic, offset: Fraction, bits: int) -> Interval:
        x = self._point(a, offset, bits)
        if x.lo > 0:  # 1 - q = e^-x/2; subtracting q from 1 would take x/2.3 digits
            return a.add(a.ln(a.fraction(Fraction(2))), x)
        q = _pass_interval(a, x)
        fail = a.subtract(a.fraction(Fraction(1)), q)
        return a.negate(a.ln(fail)) if fail.lo > 0 else Interval(q.lo, _INFINITY)


def _hazard(x: Floats) -> Floats:
    """-ln(1 - q) for q = Pr[x + Laplace > 0], elementwise."""
    with np.errstate(over="ignore"):
        far = -np.log1p(-0.5 * np.exp(np.minimum(x, 0.0)))
        return np.where(x <= 0, far, np.log(2.0) + np.maximum(x, 0.0))


def _pass_interval(a: Arithmetic, x: Interval) -> Interval:
    """q = Pr[x + Laplace > 0], which grows with x."""
    if not (x.lo.is_finite() and x.hi.is_finite()):
        return Interval(_ZERO, _ONE)
    return Interval(max(_ZERO, _pass_at(a, x.lo).lo), min(_ONE, _pass_at(a, x.hi).hi))


def _pass_at(a: Arithmetic, x: Decimal) -> Interval:
    point = Interval(x, x)
    if x <= 0:
        return a.times(a.exp(point), Fraction(1, 2))
    return a.subtract(a.fraction(Fraction(1)), a.times(a.exp(a.negate(point)), Fraction(1, 2)))


_ZERO, _ONE, _INFINITY = Decimal(0), Decimal(1), Decimal("Infinity")
