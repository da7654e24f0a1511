"""Many searches over the same candidates under one charge: for algorithms that go by rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from typing import NoReturn

from winnow.core.checks import set_counts
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.core.unit import counted
from winnow.core.utility import Utility
from winnow.errors import ParameterError, SessionExhausted
from winnow.inner_product.crossing import IndexedSelection
from winnow.inner_product.vectors import SealedQuery, SealedVectors
from winnow.privacy import Promise, Repeat


class IndexedRounds:
    """`rounds` draws of an indexed selection; each query may depend on what was drawn before.

    Formal guarantees
        The draws compose adaptively: `rounds` times the event of one, fixed beforehand and
        charged before the first draw. All queries have the utility that was declared, and a
        query may depend on the data and on earlier draws only.
    """

    def __init__(
        self,
        mechanism: IndexedSelection,
        vectors: SealedVectors,
        utility: Utility,
        rounds: int,
        key: Key,
    ) -> None:
        self.left = int(rounds)
        """How many draws are still allowed."""
        self._mechanism, self._vectors, self._utility = mechanism, vectors, utility
        self._key = key
        self._lock = Lock()

    def next(self, query: SealedQuery) -> list[int]:
        """The positions that the next draw releases."""
        if query.utility != self._utility:
            raise ParameterError("the query has another sensitivity than the one that was charged")
        self._mechanism.check(self._vectors, query)
        with self._lock:
            if self.left == 0:
                raise SessionExhausted("all rounds that were charged are drawn; charge more rounds")
            self.left -= 1
            tape = self._key.tape.child(f"round-{self.left}")
        return self._mechanism.drawn(self._vectors, query, self._key, tape)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("rounds hold secret keys and cannot be pickled or copied")


@dataclass(frozen=True)
class RepeatedSelection:
    """What all rounds of an indexed selection are called and charged together."""

    selection: IndexedSelection
    rounds: int

    def __post_init__(self) -> None:
        set_counts(self, rounds="rounds")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{counted(self.rounds, 'round')} of {self.selection.name}"

    def promise(self, relation: Relation) -> Promise:
        """What all rounds together are charged, and why."""
        each = self.selection.promise(relation)
        return each if self.rounds == 1 else replace(each, event=Repeat(each.event, self.rounds))
