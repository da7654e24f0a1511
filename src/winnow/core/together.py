"""Several mechanisms on the same data, charged as one event before any of them draws."""

from __future__ import annotations

from dataclasses import dataclass

from winnow.core.plan import Mechanism
from winnow.core.relation import Relation
from winnow.privacy import Compose, Promise

_NAMED = 5
"""Parts that are done alike are named up to so many."""


@dataclass(frozen=True)
class Together:
    """A closed plan of several mechanisms: all parameters are fixed before the first draw.

    A later one may take what an earlier one released, such as edges of bins, as long as its
    promise holds for every such value.

    Formal guarantees
        The events of all of them, composed. Each has random bits of its own, and is as private
        whatever those before it released, which is adaptive composition of a fixed list of events.
        [Dwork-Kenthapadi-McSherry-Mironov-Naor 2006, Theorem 1 for the sum of epsilons]
    """

    title: str
    parts: tuple[tuple[str, Mechanism], ...]
    """What each releases, in words, and how."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        alike: dict[str, list[str]] = {}
        for what, each in self.parts:
            alike.setdefault(each.name, []).append(what)
        listed = (f"{_several(whats)}: {name}" for name, whats in alike.items())
        return "; ".join([self.title, *listed])

    def promise(self, relation: Relation) -> Promise:
        """What all of them are charged, and why."""
        promises = [each.promise(relation) for _, each in self.parts]
        if len(promises) == 1:
            return promises[0]
        cited = "; ".join(dict.fromkeys(each.citation for each in promises))
        stated = " ".join(dict.fromkeys(each.statement for each in promises))
        return Promise(Compose(tuple(each.event for each in promises)), cited, stated)


def _several(words: list[str]) -> str:
    """The first of some words, and how many more there are."""
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more
