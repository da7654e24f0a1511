"""The acceptance of a proposal, decided exactly where the float filter left it open."""

from __future__ import annotations

from fractions import Fraction

from winnow.random.enclosure import Arithmetic, noise_interval
from winnow.random.laws import Law
from winnow.random.tape import Tape


def exact_acceptance(tape: Tape, item: int, exponent: Fraction, bound: int) -> bool:
    """Whether V <= exp(exponent - bound ln 2) for the uniform V of a tape item.

    That is -ln V >= g, g = bound ln 2 - exponent; g is irrational or 0, and -ln V > 0, so
    enough bits and digits always decide.
    """
    if bound == 0 and exponent == 0:
        return True
    digits, bits = 40, 96
    while True:
        arithmetic = Arithmetic(digits)
        clock = noise_interval(arithmetic, Law.EXPONENTIAL, tape, item, bits)
        ln2 = arithmetic.ln(arithmetic.fraction(Fraction(2)))
        gap = arithmetic.subtract(
            arithmetic.times(ln2, Fraction(bound)), arithmetic.fraction(exponent)
        )
        if clock.lo > gap.hi:
            return True
        if clock.hi < gap.lo:
            return False
        digits, bits = 2 * digits, 2 * bits
