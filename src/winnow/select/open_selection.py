"""A selection over candidates that many processes hold: charged, then drawn, once."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any, NoReturn

import numpy as np

from winnow.core.key import Key
from winnow.core.noisy_top.keyed import Worker
from winnow.core.process import Owner
from winnow.core.released import Receipt, Released
from winnow.core.utility import Utility
from winnow.errors import DataError, GrantError
from winnow.foreign import guarded
from winnow.privacy import Guarantee
from winnow.read.score_source import ScoreSource, answers
from winnow.select.mechanism import LipschitzMechanism


class OpenSelection:
    """A selection that is paid for, and waits for the contenders of all parts: once."""

    def __init__(
        self,
        mechanism: LipschitzMechanism,
        utility: Utility,
        guarantee: Guarantee,
        key: Key,
        receipt: Receipt,
        *,
        single: bool,
    ) -> None:
        self._key, self._receipt = key, receipt
        self._guarantee, self._ordered, self._single = guarantee, mechanism.ordered, single
        scale, secret = mechanism.scale(utility), key.tape.child("keyed")._key
        self._worker = Worker(secret, key.tape.kind, mechanism.noise, scale, mechanism.kappa)
        self._lock, self._owner = Lock(), Owner()
        self._open = True

    @property
    def worker(self) -> Worker:
        """What the processes need that hold the candidates: the key of this draw."""
        return self._worker

    def contenders(self, source: ScoreSource) -> list[bytes]:
        """What the parts of a source answer, encrypted."""
        return answers(self._key.open(source.engine), source, self._worker)

    @guarded
    def finish(self, parts: Iterable[bytes]) -> Released[Any]:
        """Release the selected candidates of all parts.

        A set is listed by its ids: the order of the noisy scores must not leave. Without k it is
        one candidate; where there are fewer than k, it is all of them.
        """
        self._owner.check("this selection", "finish it where it was opened")
        with self._lock:
            if not self._open:
                raise GrantError("this selection was finished before; open another one")
            self._open = False
            self._key.end()
        with np.errstate(all="ignore"):
            found = self._worker.winners(parts)
        if not found:
            raise DataError("there are no candidates; nothing is released and the charge stands")
        value = found if self._ordered else sorted(found)
        return Released(value[0] if self._single else value, self._guarantee, self._receipt)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("a selection is not copied or pickled: it is one charge")

    def __repr__(self) -> str:
        state = "open" if self._open else "finished"
        return f"<selection {self._worker.draw}: {state}>"
