"""Validation of public parameters: one place, one tone, before anything is charged.

Each check takes its values by keyword, so that the message names what the user
wrote: ``positive(epsilon=-1)`` says ``epsilon=-1 is not positive; ...``.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from winnow.errors import DataError, ParameterError
from winnow.foreign import shown

P = ParamSpec("P")
T = TypeVar("T")

Real = int | float | Fraction | Decimal
"""What a real parameter may be given as."""


def exact(name: str, value: object) -> Fraction:
    """The rational number that the user wrote.

    A float is read as its shortest decimal: ``0.1`` means 1/10, not the binary
    fraction beside it. So ``epsilon=0.1`` is charged and drawn as exactly 1/10. A shorter float
    of NumPy is read as the float64 that it equals; a longer number that no float64 equals is
    refused, because rounding it could go to the unsafe side.
    """
    if type(value) is float and math.isfinite(value):  # the usual cases, first
        return _as_written(value)
    if type(value) is Fraction and type(value.numerator) is type(value.denominator) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise ParameterError(
            f"{name}={shown(value)} is a {type(value).__name__}, not a number; give a number"
        )
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ParameterError(f"{name}={value} is not finite; give a finite number")
        return Fraction(value)
    as_float = float(value)
    if not math.isfinite(as_float):
        raise ParameterError(f"{name}={as_float} is not finite; give a finite number")
    if as_float != value:
        raise ParameterError(
            f"{name} is a {type(value).__name__} with more digits than a float64 holds; give it "
            "as a float, a Fraction or a Decimal"
        )
    return _as_written(as_float)


@lru_cache(maxsize=256)
def _as_written(value: float) -> Fraction:
    return Fraction(repr(value))


def positive(**values: object) -> None:
    """Every value is a finite number above zero."""
    for name, value in values.items():
        if exact(name, value) <= 0:
            raise ParameterError(f"{name}={value} is not positive; give a number above 0")


_FAR = Fraction(10**300)


def positive_float(**values: object) -> None:
    """Every value is above zero, and within what a float64 holds: plans compute with it."""
    positive(**values)
    for name, value in values.items():
        size = exact(name, value)
        if not 1 / _FAR <= size <= _FAR:  # it may be too long to be shown
            where = "above 10^300" if size > 1 else "below 10^-300"
            raise ParameterError(f"{name} is {where}; give a number that a float64 holds")


def nonnegative(**values: object) -> None:
    """Every value is a finite number, zero or more."""
    for name, value in values.items():
        if exact(name, value) < 0:
            raise ParameterError(f"{name}={value} is negative; give 0 or more")


def probability(**values: object) -> None:
    """Every value lies strictly between 0 and 1."""
    for name, value in values.items():
        if not 0 < exact(name, value) < 1:
            raise ParameterError(
                f"{name}={value} is not between 0 and 1; give a value inside (0, 1)"
            )


def delta_range(**values: object) -> None:
    """Every value lies in [0, 1): a delta, where 0 means pure privacy."""
    for name, value in values.items():
        if not 0 <= exact(name, value) < 1:
            raise ParameterError(
                f"{name}={value} is not in [0, 1); give 0 or a small number like 1e-6"
            )


def set_counts(record: object, **fields: str) -> None:
    """Check fields of a frozen dataclass as counts and store them as plain integers.

    ``set_counts(self, kappa="k")`` checks `self.kappa` and calls it k in messages. A NumPy
    integer must not stay: products of small NumPy integers wrap around without a sound.
    """
    for field, name in fields.items():
        value = getattr(record, field)
        count(**{name: value})
        object.__setattr__(record, field, int(value))


def count(**values: object) -> None:
    """Every value is a whole number, one or more."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise ParameterError(
                f"{name}={shown(value)} is not a whole number; give an integer of 1 or more"
            )
        if int(value) < 1:
            raise ParameterError(f"{name}={value} is below 1; give an integer of 1 or more")


def one_of(choices: tuple[str, ...], **values: object) -> None:
    """Every value is one of the named choices."""
    for name, value in values.items():
        if value not in choices:
            raise ParameterError(
                f"{name}={shown(value)} is unknown; choose one of: {', '.join(choices)}"
            )


def public_rows(rows: int | None, known: int | None) -> int | None:
    """The number of rows that is public: as given, or the table's own where that is `known`."""
    if rows is None:
        return known
    count(rows=rows)
    if known is not None and int(rows) != known:
        raise ParameterError(
            f"rows={rows} is not the number of rows of the table, which is public under "
            "substitution; leave rows out"
        )
    return int(rows)


def rows_to_release(rows: int | None, known: int | None) -> int | None:
    """The public number of rows for what takes fractions of them: there has to be a row."""
    count = public_rows(rows, known)
    if count is not None and count < 1:
        raise DataError("the table has no rows; there is nothing to release")
    return count


def flag(**values: object) -> None:
    """Every value is True or False."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise ParameterError(f"{name}={shown(value)} is not True or False")


def kept(*types: type) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A pure function of public parameters whose results are kept: a loop has them checked once.

    Kept are calls with numbers, texts and words of these types, by type and value, because 1 and
    1.0 are written differently. Others, such as a pair of numbers, are worked out each time.
    """
    plain = frozenset({str, int, float, bool, type(None), *types})

    def keeping(function: Callable[P, T]) -> Callable[P, T]:
        remembered: Any = lru_cache(maxsize=256, typed=True)(function)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            if plain.issuperset(map(type, args)) and plain.issuperset(map(type, kwargs.values())):
                result: T = remembered(*args, **kwargs)
                return result
            return function(*args, **kwargs)

        return call

    return keeping
