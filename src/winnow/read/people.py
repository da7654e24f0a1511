"""People by how much they have, counted where the rows lie when a release asks for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from winnow.core.sealed import Sealed
from winnow.core.unit import at_most
from winnow.read.engine import refusing

if TYPE_CHECKING:  # they need sqlglot
    from winnow.read.engine import Engine
    from winnow.read.engines.people_query import PeopleQuery
    from winnow.read.engines.query import CountQuery

LOOKED_AT = 10
"""Of each person so many times the bound are looked at: enough to see a bound that keeps a tenth.
Noise on what was left out grows with it, and what people have beyond is not seen."""


class People(ABC):
    """The people of a source, whose rows or items a bound may cut; private."""

    @abstractmethod
    def numbers(self) -> dict[int, int]:
        """How many people have 1, 2, ... rows or items; nobody has more than are looked at."""


class PeopleOfSource(People):
    """The people of a source that an engine reads."""

    def __init__(self, engine: Engine, query: PeopleQuery) -> None:
        self._engine, self._query = engine, query

    def numbers(self) -> dict[int, int]:
        """Asked of the engine now: of rows that changed since they were counted, the new ones."""
        with refusing("the people of the source cannot be counted"):
            counted = self._engine.count(self._query, None, None) or {}
        return {int(number): people for number, people in counted.items()}


class MadeUpPeople(People):
    """Nobody: for plans and prices, which see no data."""

    def numbers(self) -> dict[int, int]:
        """None."""
        return {}


@dataclass(frozen=True)
class PersonBound:
    """What of each person was counted at most; public."""

    who: str
    """The column of people."""
    what: str
    """What is bounded: 'row', or the column of items."""
    most: int

    @property
    def looked_at(self) -> int:
        """So many of each person are looked at."""
        return LOOKED_AT * self.most

    @property
    def counted(self) -> str:
        """What of each person is counted, in the words of a receipt."""
        return at_most(self.who, (self.most, self.what)).counted


@dataclass(frozen=True)
class BoundedPeople:
    """The people whose rows or items were bounded, and by how much."""

    bound: PersonBound
    people: Sealed[People] = field(repr=False)

    @classmethod
    def of_rows(cls, engine: Engine, person: str, most: int) -> BoundedPeople:
        """People with rows of a table."""
        from winnow.read.engines.people_query import PeopleQuery

        bound = PersonBound(person, "row", most)
        query = PeopleQuery(person, person, None, "", by_rows=True, looked_at=bound.looked_at)
        return cls(bound, Sealed(PeopleOfSource(engine, query), "people"))

    @classmethod
    def of_items(cls, engine: Engine, counted: CountQuery) -> BoundedPeople:
        """People with items, of a public list where there is one."""
        from winnow.read.engines.people_query import PeopleQuery

        assert counted.person is not None and counted.items_per_person is not None
        bound = PersonBound(counted.person, counted.item, counted.items_per_person)
        query = PeopleQuery(
            counted.item,
            counted.person,
            None,
            counted.salt,
            counted.items,
            group=counted.group,
            looked_at=bound.looked_at,
        )
        return cls(bound, Sealed(PeopleOfSource(engine, query), "people"))

    def made_up(self) -> BoundedPeople:
        """This bound with nobody under it: for prices, which see no data."""
        return replace(self, people=Sealed(MadeUpPeople(), "people"))
