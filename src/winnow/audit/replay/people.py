"""Small made-up data of a few people each, and all their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from winnow.core.relation import Relation
from winnow.core.tape import Tape

Person = Any
People = tuple[Person, ...]


@dataclass(frozen=True)
class Family:
    """Who a person can be, and odd groups of people that are always looked at."""

    universe: tuple[Person, ...]
    odd: tuple[People, ...]
    most: int = 4
    """So many people at most in a random group."""

    def groups(self, count: int, seed: int) -> list[People]:
        """The odd groups, and random ones, `count` in all."""
        stream = Tape.seeded(seed).stream()
        chosen = list(self.odd[:count])
        while len(chosen) < count:
            size = stream.below(self.most + 1)
            chosen.append(tuple(self.universe[stream.below(len(self.universe))]
                               for _ in range(size)))  # fmt: skip
        return chosen


def neighbours(people: People, universe: tuple[Person, ...], relation: Relation) -> list[People]:
    """Everybody who differs by one person, each group once; a new person comes in the middle."""
    changed = dict.fromkeys(_changed(people, universe, relation))
    changed.pop(people, None)
    return list(changed)


def _changed(people: People, universe: tuple[Person, ...], relation: Relation) -> Iterator[People]:
    places = range(len(people))
    if relation is Relation.ADD_REMOVE:
        for i in places:
            yield (*people[:i], *people[i + 1 :])
        middle = len(people) // 2
        for person in universe:
            yield (*people[:middle], person, *people[middle:])
    else:
        for i, person in product(places, universe):
            yield (*people[:i], person, *people[i + 1 :])
