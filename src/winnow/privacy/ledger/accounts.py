"""What entries say about amounts: exact fractions as text, and integers for the table's check."""

from __future__ import annotations

from fractions import Fraction

from winnow.core.checks import Real
from winnow.privacy.budget import Amount, Cap
from winnow.privacy.ledger.entry import Entry

_UNIT = 10**15
"""The table's own check on sums uses integers of 1/_UNIT, rounded up on both sides."""


def cap_of(entry: Entry) -> Cap:
    """The cap that an opening entry declares."""
    body = entry.body
    return Cap.declare(
        _number(body["epsilon"]),
        _number(body["delta"]),
        body["relation"],
        body["accountant"],
        _number(body["delta_for_events"]),
    )


def _number(value: int | float | str) -> Real:
    return Fraction(value) if isinstance(value, str) else value


def used_of(entry: Entry) -> Amount:
    """What is used of the dataset after an entry."""
    return amount_of(entry.body["used"])


def amount_of(texts: list[str]) -> Amount:
    """An exact amount as it is stored."""
    return Amount(Fraction(texts[0]), Fraction(texts[1]))


def texts_of(amount: Amount) -> list[str]:
    """The same, to be stored."""
    return [str(amount.size), str(amount.delta)]


def in_units(size: Fraction) -> int:
    """In units of the table's own check; beyond its range both sides become the same."""
    return min(-(-size.numerator * _UNIT // size.denominator), 2**63 - 1)
