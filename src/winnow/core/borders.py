"""Numbers at which something private chooses between two ways to the same release.

How many different items there are, how many rows, how large a class of equal counts is: such
numbers are private, and one person more can carry them over a border. So both ways have to have
one law. Each border is declared with what decides, its two ways and the reason why they are one;
the list of all of them is in ``winnow.audit.borders``. Audits and tests move a border to a small
number, to stand on both sides of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Same = Literal["value", "law", "charge"]
"""What both ways have in common: the released value for every tape, its distribution, or, where
sums round, a sensitivity that includes what they can be off."""


class Border:
    """A number that is compared with a private one."""

    def __init__(
        self, number: float, name: str, *, decides: str, ways: str, same: Same, because: str
    ) -> None:
        self.number, self.name = number, name
        """What it is, and what audits and documentation call it."""
        self.decides, self.ways = decides, ways
        """The private number, and what is done up to the border and beyond."""
        self.same, self.because = same, because
        """What the ways have in common, and why."""
        self.asked = 0
        """How often it was looked at: an audit that never meets it audits nothing."""
        self._at = number

    @property
    def at(self) -> float:
        """Where it is."""
        self.asked += 1
        return self._at

    @contextmanager
    def moved_to(self, number: float) -> Iterator[None]:
        """Put it somewhere else, for audits and tests. No law depends on where it is."""
        before, self._at = self._at, number
        try:
            yield
        finally:
            self._at = before

    def __repr__(self) -> str:
        return f"<border {self.name!r} at {self._at:g}>"
