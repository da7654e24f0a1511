"""The acceptance of a proposal, decided exactly where the float filter left it open."""

from __future__ import annotations

from fractions import Fraction
from typing import NoReturn

from winnow.core.arithmetic import Arithmetic, Interval, is_above
from winnow.core.bounded import clock_of
from winnow.core.tape import Tape, Words


class TapeWords:
    """A cursor over the items of a tape; every item is handed out once.

    The buffer's size has no influence on what is drawn: a loop that runs out of words in the
    middle of a step returns to the start of that step and reads the same items again.
    """

    __slots__ = ("_size", "buffer", "first", "place", "tape")

    def __init__(self, tape: Tape, size: int = 4096) -> None:
        self.tape = tape
        self._size = size
        self.first = 0
        """The tape item of the buffer's first word."""
        self.place = 0
        """The first unused place in the buffer."""
        self.buffer: Words = tape.words(0, size)

    def refill(self) -> None:
        """Drop what was used and read on; a buffer that was not touched grows."""
        if self.place == 0:
            self._size *= 2
        self.first += self.place
        self.buffer = self.tape.words(self.first, self._size)
        self.place = 0

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("tape words hold secret bits and cannot be pickled or copied")


def exact_acceptance(tape: Tape, item: int, exponent: Fraction, bound: int) -> bool:
    """Whether V <= exp(exponent - bound ln 2) for the uniform V of a tape item.

    That is -ln V >= g, g = bound ln 2 - exponent; g is irrational or 0, and -ln V > 0, so
    enough bits and digits always decide.
    """
    if bound == 0 and exponent == 0:
        return True

    def gap(a: Arithmetic, bits: int) -> Interval:
        ln2 = a.ln(a.fraction(Fraction(2)))
        return a.subtract(a.times(ln2, Fraction(bound)), a.fraction(exponent))

    return is_above(clock_of(tape, item), gap)
