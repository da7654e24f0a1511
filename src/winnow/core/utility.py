"""How far one person can move a score, computed natively for one neighbour relation.

Monotone and asymmetric sensitivity are handled here, once, and nowhere else:
mechanisms only ask a utility for the number they need.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from winnow.core.checks import Real, exact, kept
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.foreign import shown


@dataclass(frozen=True)
class Utility:
    """A person added (or exchanged) moves every score by -down to +up.

    Three numbers follow, and each mechanism needs one of them:

    - ``half_width`` for shift-invariant selection (an index leaves, and adding one
      constant to all scores changes nothing): moving all scores by a constant per
      person centres the interval, so (down + up)/2 serves as the sensitivity
      [Canonical, Thm A.15, with the sum of the errata]. Monotone counts under
      add/remove have 1/2.
    - ``one_sided`` and ``width`` for comparisons with a public threshold, which are
      not shift-invariant (sparse vector).
    """

    relation: Relation
    down: Fraction
    up: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        for name in ("down", "up"):
            object.__setattr__(self, name, _at_least(name, getattr(self, name)))
        if self.down < 0 or self.up < 0 or self.down + self.up == 0:
            raise ParameterError(
                f"a utility that moves scores by -{self.down} to +{self.up} makes no sense; "
                "give down and up of 0 or more with a positive sum"
            )

    @classmethod
    def declare(
        cls,
        sensitivity: Real | tuple[Real, Real] = 1,
        *,
        monotone: bool = False,
        relation: str | Relation = Relation.ADD_REMOVE,
    ) -> Utility:
        """The utility that a user declares.

        ``sensitivity`` is the most by which one person moves any score, or a pair
        (down, up) for what *adding* one person does. ``monotone=True`` says that
        adding a person never lowers a score (counts) or never raises one.

        Under substitution a pair or a monotone score is translated natively: one
        person leaves (-up..+down) and one comes (-down..+up), so a score moves by up
        to down + up in either direction and the monotone halving is gone.
        """
        relation = Relation.parse(relation)
        if not isinstance(monotone, bool):
            raise ParameterError(f"monotone={shown(monotone)} is not True or False")
        if isinstance(sensitivity, tuple):
            if len(sensitivity) != 2:
                raise ParameterError(
                    f"sensitivity has {len(sensitivity)} parts; give one number, or (down, up)"
                )
            down, up = (_at_least("sensitivity", part) for part in sensitivity)
            if down < 0 or up < 0 or down + up == 0:
                raise ParameterError(
                    f"sensitivity={sensitivity} has a negative part or is zero; "
                    "give (down, up) with both 0 or more and a positive sum"
                )
            if monotone and down > 0 and up > 0:
                raise ParameterError(
                    f"sensitivity={sensitivity} moves both ways, so it is not monotone; "
                    "give monotone=False, or 0 for one part"
                )
            one_way = True
        else:
            bound = _at_least("sensitivity", sensitivity)
            if bound <= 0:
                raise ParameterError(
                    f"sensitivity={sensitivity} is not positive; give a number above 0"
                )
            down, up = (Fraction(0), bound) if monotone else (bound, bound)
            one_way = monotone
        if relation.people == 2 and one_way:  # one comes and another goes
            down = up = down + up
        return cls(relation, down, up)

    @property
    def width(self) -> Fraction:
        """The length of the interval in which one person moves a score."""
        return self.down + self.up

    @cached_property
    def half_width(self) -> Fraction:
        """The sensitivity that shift-invariant selection pays [Canonical, Thm A.15]."""
        return self.width / 2

    @property
    def one_sided(self) -> Fraction:
        """The most by which one person moves a score in either direction."""
        return max(self.down, self.up)


@kept(Relation)
def declared(
    sensitivity: Real | tuple[Real, Real], monotone: bool, relation: str | Relation
) -> Utility:
    """``Utility.declare``, kept for the next call."""
    return Utility.declare(sensitivity, monotone=monotone, relation=relation)


def _at_least(name: str, value: object) -> Fraction:
    """A sensitivity as written or as stored in binary, whichever is larger.

    Scores that are float64 move by binary amounts: 0.1 as a float is a little more than 1/10.
    """
    written = exact(name, value)
    if isinstance(value, float | np.floating):
        return max(written, Fraction(float(value)))
    return written
