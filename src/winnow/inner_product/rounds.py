"""Many searches over the same candidates under one charge: for algorithms that go by rounds."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import NoReturn

from winnow.core.checks import count
from winnow.core.mechanism import spend
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError, SessionExhausted
from winnow.inner_product.crossing import IndexedSelection
from winnow.inner_product.vectors import SealedQuery, SealedVectors
from winnow.privacy import Event, Grant, Repeat


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
        grant: Grant,
        tape: Tape,
    ) -> None:
        promised = replace(
            mechanism.promise(utility.relation), event=rounds_event(mechanism, utility, rounds)
        )
        times = "1 round" if rounds == 1 else f"{rounds} rounds"
        self.left = int(rounds)
        """How many draws are still allowed."""
        self._mechanism, self._vectors, self._utility = mechanism, vectors, utility
        self.receipt = spend(f"{times} of {mechanism.name}", promised, grant, tape)
        self._tape = tape
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
            tape = self._tape.child(f"round-{self.left}")
        return self._mechanism.drawn(self._vectors, query, tape)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("rounds hold secret keys and cannot be pickled or copied")


def rounds_event(mechanism: IndexedSelection, utility: Utility, rounds: int) -> Event:
    """What all rounds together are charged."""
    count(rounds=rounds)
    event = mechanism.promise(utility.relation).event
    return event if rounds == 1 else Repeat(event, rounds)
