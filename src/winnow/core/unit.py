"""Whose presence is protected, in the words of a guarantee."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from winnow.core.relation import Relation
from winnow.errors import ParameterError, RelationMismatch
from winnow.foreign import shown


@dataclass(frozen=True)
class Unit:
    """What neighbours differ in: one person, one row, or one visitor with at most 8 pages."""

    name: str = "person"
    bound: str = ""
    """What one of them contributes at most, such as 'with at most 8 pages'."""
    notes: str = field(default="", compare=False, repr=False)
    """What a receipt says of the schema of the data: what becomes of values outside of it."""
    counted: str = field(default="", compare=False, repr=False)
    """What of each of them was counted, such as 'at most 8 pages of each visitor'; empty: all."""
    declared: bool = field(default=True, compare=False, repr=False)
    """Whether it comes with the data; scores that users computed are about whom they say."""

    def __str__(self) -> str:
        return f"{self.name} {self.bound}".rstrip()

    def sentence(self, relation: Relation) -> str:
        """Whom the guarantee protects, the neighbour relation, and what is counted of each."""
        few = self.bound.removeprefix("with ")
        verb = "is" if few.startswith("at most 1 ") else "are"
        limit = f"; {few} of each {verb} counted" if few else ""
        return f"protects each {self.name} ({self._neighbours(relation)}){limit}"

    def _neighbours(self, relation: Relation) -> str:
        """What turns a dataset into its neighbour."""
        match relation:
            case Relation.ADD_REMOVE:
                return "add or remove one"
            case Relation.SUBSTITUTION if self.name in (ROW.name, BASKET.name):
                return "replace one"
            case Relation.SUBSTITUTION:
                return "replace all data of one" if self.bound else "replace one record"
            case never:
                assert_never(never)


def counted(number: int, what: str) -> str:
    """'1 item', '3 items'."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def at_most(name: str, *bounds: tuple[int | None, str]) -> Unit:
    """A unit of this name that has so many of some things at most; None: not bounded.

    The name is that of a column of people; one that names another unit would be taken for it.
    """
    if name in (ROW.name, BASKET.name):
        raise ParameterError(
            f"the column of people is called {name!r}, which is the name of another privacy unit; "
            "rename it"
        )
    few = " and ".join(
        f"at most {counted(most, what)}" for most, what in bounds if most is not None
    )
    if not few:
        return Unit(name)
    return Unit(name, f"with {few}", counted=f"{few} of each {name}")


def about_counted(what: str) -> str:
    """What stands next to numbers of which a bound may have left something out."""
    return f"{what}; errors and intervals are about what was counted"


def within_counted(margin: str) -> str:
    """How far a released number is from the one without noise."""
    return f"within {margin} of what was counted"


PERSON = Unit(declared=False)
ROW = Unit("row")
BASKET = Unit("basket")

_ANYONE = "person"
"""What a budget is about that was declared for people, however columns call them."""


def named(unit: str | Unit) -> Unit:
    """The unit that a budget is declared for."""
    if isinstance(unit, Unit):
        return Unit(unit.name, unit.bound)
    if not isinstance(unit, str) or not unit.strip():
        raise ParameterError(
            f"unit={shown(unit)} is unknown; give 'person', 'row', 'basket' or the name of the "
            "column of people"
        )
    return Unit(unit)


def together(known: Unit | None, charged: Unit) -> Unit | None:
    """What a budget is about that was about ``known`` (None: not said) and pays for ``charged``.

    Guarantees add up for one unit only: somebody with five rows is charged five times by a release
    about rows. Bounds may differ, because what is beyond them does not count; then the name alone
    is told. What users computed themselves is about whom the budget is about, by their word.
    """
    if not charged.declared:
        return known
    if known is None:
        return Unit(charged.name, charged.bound)
    if known.name == charged.name:
        return known if known.bound == charged.bound else Unit(known.name)
    small = (ROW.name, BASKET.name)
    if known.name == _ANYONE and charged.name not in small:
        return Unit(_ANYONE)
    if known.name in small or charged.name in small:
        mend = "or count with person= and max_items=, or read with person= and "
        mend += "max_rows=, so that all releases are about the same people"
    else:
        mend = f"or, if both are the same people, open it with unit={_ANYONE!r}"
    raise RelationMismatch(
        f"this budget protects one {known.name}, and this release one {charged.name}: what is "
        "spent for the one does not limit what is revealed about the other. Charge it to another "
        f"budget (in a ledger, another dataset); {mend}"
    )
