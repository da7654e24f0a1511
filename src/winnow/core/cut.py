"""What a bound left out: a released estimate, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from winnow.core.notebook import Card, InNotebook, pairs_card
from winnow.core.unit import counted

CONFIDENCE = 0.95


@dataclass(frozen=True)
class CutAway(InNotebook):
    """How many people had more than was counted of them, and how much of it was left out.

    All numbers have noise, so that they may be below 0.
    """

    who: str
    """The column of people."""
    what: str
    """What was bounded: 'row', or the column of items."""
    bound: int
    """So many of each person were counted at most."""
    looked_at: int
    """So many of each person were looked at, at most: further ones are not in ``left_out``."""
    whole: int
    """People of whom all was counted."""
    cut: int
    """People of whom something was left out."""
    left_out: int
    """How much was left out, of people who were cut."""
    people_margin: int
    """``whole`` and ``cut`` are each within this with probability 0.95."""
    left_out_margin: int
    """``left_out`` is within this with probability 0.95."""

    def __str__(self) -> str:
        people, more = max(0, self.whole) + max(0, self.cut), counted(self.bound, self.what)
        had, most = _about(self.cut, self.people_margin)
        of_all = f" of about {people:,}" if most <= people else ""  # noise may hide them all
        return (
            f"{had}{of_all} people ({self.who}) had more than {more}; of their {self.what}s, "
            f"{_about(self.left_out, self.left_out_margin)[0]} were left out (at most "
            f"{self.looked_at:,} of each person were looked at)"
        )

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data, ready for JSON, and the sentence."""
        return {**vars(self), "says": str(self)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> CutAway:
        """The estimate that ``to_dict`` wrote."""
        return cls(**{name: value for name, value in document.items() if name != "says"})

    def _card(self) -> Card:
        return pairs_card("Left out by the bound", [("estimate", str(self))])


def _about(number: int, margin: int) -> tuple[str, int]:
    """A number with its error, or only how large it may be where it is not above the noise."""
    if number > margin:
        return f"about {number:,} (± {margin:,})", number
    most = max(0, number) + margin
    return f"at most about {most:,}", most


def laplace_margin(scale: Fraction | float, confidence: float = CONFIDENCE) -> int:
    """The least m with Pr[|Z| <= m] >= confidence, for discrete Laplace noise Z.

    Of scale b it has Pr[|Z| > m] = 2 q^(m+1)/(1+q), q = e^(-1/b).
    """
    b = float(scale)
    q = math.exp(-1 / b)
    beyond = b * math.log(2 / ((1 - confidence) * (1 + q)))
    return max(0, math.ceil(beyond * (1 + 2.0**-40)) - 1)
