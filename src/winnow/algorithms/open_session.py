"""What sessions of every method share: one charge, a lock for threads, a file that is closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import RLock
from typing import Generic, NoReturn, Self, TypeVar

from winnow.algorithms.independent_plan import IndependentPlan
from winnow.algorithms.interactive_plan import InteractivePlan
from winnow.domain.schema import Schema
from winnow.errors import GrantError
from winnow.mechanisms.journal import Journal
from winnow.privacy import Guarantee
from winnow.privacy.ledger.locks import Hold
from winnow.released import Receipt

P = TypeVar("P", bound=IndependentPlan | InteractivePlan)


class OpenSession(ABC, Generic[P]):
    """An open session. It is neither copied nor pickled, and threads that share it take turns."""

    def __init__(
        self,
        plan: P,
        schema: Schema,
        receipt: Receipt,
        journal: Journal | None,
        hold: Hold | None,
    ) -> None:
        self.plan: P = plan
        self.schema = schema
        self.receipt = receipt
        self._journal, self._hold = journal, hold
        self._closed = False
        self._lock = RLock()

    @property
    def guarantee(self) -> Guarantee:
        """What holds of everything that the session will ever release."""
        return self.plan.guarantee

    @property
    @abstractmethod
    def status(self) -> str:
        """'open', 'exhausted' or 'closed'."""

    @property
    def exhausted(self) -> bool:
        """Whether no new question is answered from the data any more."""
        return self.status == "exhausted"

    @abstractmethod
    def _write_end(self, journal: Journal) -> None:
        """Write down how far the session came, and let go of its file."""

    def close(self) -> None:
        """End this process' part; a session with a state file can be opened again."""
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._journal is not None:
                    self._write_end(self._journal)
                if self._hold is not None:
                    self._hold.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("an interactive session is not copied or pickled: it is one charge")
