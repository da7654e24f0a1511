"""Multiplicative weights against exactly drawn rows: the state around the compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from winnow.core.noisy_top.proposals import TapeWords, exact_acceptance
from winnow.core.tape import Tape
from winnow.errors import InternalError
from winnow.lp.kernels.constraint_program import Floats, Integers, Rows, Shapes
from winnow.lp.kernels.constraint_stages import Course, Speeds, flat, groups, watched

__all__ = ["WAYS", "ConstraintLoop", "Rows", "Shapes", "words_for"]

WAYS: Final = ("flat", "groups", "watched")
_STATE = 24
_WORDS = 1 << 15


class ConstraintLoop:
    """Private state of a run: offsets in steps, keys, epochs.

    ``offsets`` are the private b_i in whole steps of 2^power, ``rate`` is the exponent of one
    step, ``step`` what the loss v_ij is multiplied with in the update. ``ways`` are those of
    ``constraint_stages`` that the run may take, one after the other; the law is the same.
    """

    def __init__(
        self,
        rows: Rows,
        shapes: Shapes,
        scale: Floats,
        offsets: Integers,
        *,
        power: int,
        rate: Fraction,
        step: float,
        rounds: int,
        classes: int = 4,
        ways: tuple[str, ...] = WAYS,
    ) -> None:
        simplex = len(scale)
        z = np.full(simplex, 1.0 / simplex)
        self.chosen = np.zeros(rounds, np.int32)
        """The selected rows, as far as the run went."""
        self._state = np.zeros(_STATE, np.int64)
        self._state[17] = rounds
        self._course = Course(
            rows, shapes, scale, offsets, step, 2.0**-power, rate, np.zeros(simplex), z, z * scale,
            np.zeros(simplex), self.chosen, self._state,
        )  # fmt: skip
        self._classes = classes
        self._speeds: Speeds | None = None
        self._left = [way for way in ways if way != "watched" or len(rows.dense)]
        self._go_on()

    def _go_on(self) -> None:
        """Take the next way."""
        self._way = self._left.pop(0)
        self._state[0] = 0  # a phase belongs to the way that left it
        self._state[11] = bool(self._left)
        if self._way == "flat":
            self._run, self._arguments = flat(self._course)
            return
        if self._speeds is None:
            self._speeds = Speeds.of(self._course, self._classes)
        prepare: Callable[..., Any] = groups if self._way == "groups" else watched
        self._run, self._arguments = prepare(self._course, self._speeds)

    def finish(self, words: TapeWords) -> Floats:
        """All rounds; the mean of the simplex points that rows were selected against."""
        state, course = self._state, self._course
        while True:
            status, words.place = self._run(*self._arguments, words.buffer, words.place, state)
            if status == 0:
                return np.asarray(course.total / course.total.sum())
            if status == 1:
                words.refill()
            elif status == 2:
                exponent, at = course.rate * int(state[8]), words.first + int(state[9])
                kept = exact_acceptance(words.tape, at, exponent, int(state[7]))
                state[0] = 2 if kept else 1
            elif status == 4:
                self._go_on()
            else:
                raise InternalError("a certified bound was exceeded; please report this defect")


def words_for(tape: Tape, rounds: int) -> TapeWords:
    """A cursor with a buffer for as many rounds."""
    return TapeWords(tape, min(_WORDS, 64 + 8 * rounds))
