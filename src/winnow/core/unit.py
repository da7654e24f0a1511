"""Whose presence is protected, in the words of a guarantee."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from winnow.core.relation import Relation


@dataclass(frozen=True)
class Unit:
    """What neighbours differ in: one person, one row, or one visitor with at most 8 pages."""

    name: str = "person"
    bound: str = ""
    """What one of them contributes at most, such as 'with at most 8 pages'."""
    notes: str = field(default="", compare=False, repr=False)
    """What a receipt says of the schema of the data: what becomes of values outside of it."""

    def __str__(self) -> str:
        return f"{self.name} {self.bound}".rstrip()

    def sentence(self, relation: Relation) -> str:
        """The neighbour relation in words."""
        match relation:
            case Relation.ADD_REMOVE:
                return f"add or remove one {self}"
            case Relation.SUBSTITUTION if self == ROW:
                return "replace one row"
            case Relation.SUBSTITUTION:
                what = "record" if not self.bound else "data"
                return f"replace one {self.name}'s {what}{f', {self.bound}' if self.bound else ''}"
            case never:
                assert_never(never)


def counted(number: int, what: str) -> str:
    """'1 item', '3 items'."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def at_most(name: str, most: int | None, what: str) -> Unit:
    """A unit of this name that has so many of something at most; None: not bounded."""
    if most is None:
        return Unit(name)
    return Unit(name, f"with at most {counted(most, what)}")


PERSON = Unit()
ROW = Unit("row")
