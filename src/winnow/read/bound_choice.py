"""People whose bound is left to the release: it looks at how much they have, and reads again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from winnow.core.sealed import Sealed
from winnow.core.unit import Unit, at_most
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.read.people import MadeUpPeople, People, PeopleOfSource, PersonBound

if TYPE_CHECKING:  # they need sqlglot
    from winnow.read.engine import Engine
    from winnow.read.engines.query import CountQuery

AUTO_BOUND = "auto"
GRID = (
    1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384,
    512, 640, 768, 1024,
)  # fmt: skip
"""The bounds that are compared: from 3 on at most a third apart, so that none that is left out is
far better. On generated people (``benchmarks/bounds.py``) two thirds of them were worse by 1 % in
the mean, and a third more no better."""


def checked_bound(name: str, bound: object) -> bool:
    """Whether a bound is left to the release; a text that says anything else is refused."""
    if isinstance(bound, str) and bound != AUTO_BOUND:
        raise ParameterError(f"{name}={shown(bound)} is not a bound; give a whole number or 'auto'")
    return bound == AUTO_BOUND


def refuse_choice() -> NoReturn:
    """Refuse a table whose bound is left to a release that does not choose one."""
    raise ParameterError(
        "max_rows='auto' is for wn.tabulate, which knows what noise and cut rows do to its tables; "
        "read the table with a number in its place"
    )


@dataclass(frozen=True)
class AboutChoice:
    """What is public of a bound that is left to the release; plans take it."""

    who: str
    """The column of people."""
    what: str
    """What is bounded: 'row', or the column of items."""
    grid: tuple[int, ...] = GRID
    """The bounds that are compared."""

    @classmethod
    def of_items(cls, who: str, item: str, listed: int | None) -> AboutChoice:
        """Of items, where nobody has more than are listed."""
        if listed is None:
            return cls(who, item)
        most = min(listed, GRID[-1])
        return cls(who, item, (*(bound for bound in GRID if bound < most), most))

    def at(self, most: int) -> PersonBound:
        """One of these bounds."""
        return PersonBound(self.who, self.what, most)

    def unit(self, most: int) -> Unit:
        """Whose presence is protected under a bound."""
        return at_most(self.who, (most, self.what))


@dataclass(frozen=True)
class BoundChoice:
    """The people of a source, and the source under any bound; private."""

    about: AboutChoice
    people: Sealed[People] = field(repr=False)
    under: Callable[[int], Any] = field(repr=False)
    """The sealed counts, or the sealed table, under a bound."""
    numbers: Sealed[dict[int, int]] | None = field(default=None, repr=False)
    """How many people have 1, 2, ... items or rows, once they were read."""

    @classmethod
    def of_items(
        cls, engine: Engine, counted: CountQuery, under: Callable[[int], Any]
    ) -> BoundChoice:
        """People with items, of a public list where there is one."""
        from winnow.read.engines.people_query import PeopleQuery

        assert counted.person is not None
        listed = None if counted.items is None else len(counted.items)
        about = AboutChoice.of_items(counted.person, counted.item, listed)
        query = PeopleQuery(
            counted.item, counted.person, None, counted.salt, counted.items, group=counted.group,
            looked_at=about.grid[-1] + 1,
        )  # fmt: skip
        return cls(about, Sealed(PeopleOfSource(engine, query), "people"), under)

    @classmethod
    def of_rows(cls, engine: Engine, person: str, under: Callable[[int], Any]) -> BoundChoice:
        """People with rows of a table."""
        from winnow.read.engines.people_query import PeopleQuery

        about = AboutChoice(person, "row")
        query = PeopleQuery(person, person, None, "", by_rows=True, looked_at=about.grid[-1] + 1)
        return cls(about, Sealed(PeopleOfSource(engine, query), "people"), under)

    def read(self) -> BoundChoice:
        """With the numbers of people, read from the source now and sealed again."""
        numbers = self.people.map(lambda people: people.numbers(), "numbers of people")
        return replace(self, numbers=numbers)

    def after(self, change: Callable[[Any], Any]) -> BoundChoice:
        """With a change of whatever is read under a bound."""
        return replace(self, under=lambda bound: change(self.under(bound)))

    def made_up(self) -> BoundChoice:
        """Nobody in the place of the people: for prices, which see no data."""
        return replace(self, people=Sealed(MadeUpPeople(), "people"), numbers=None)
