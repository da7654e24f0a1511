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
from winnow.select.mechanisms.lipschitz import LipschitzMechanism


class OpenSelection:
    """A selection that is paid for and waits for the contenders of all parts."""

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
        self._worker = _worker(mechanism, utility, key)
        self._lock, self._owner = Lock(), Owner()
        self._open = True

    @property
    def worker(self) -> Worker:
        """What the processes need that hold the candidates: the key of this draw."""
        return self._worker

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
            value = _winners(self._worker, parts, ordered=self._ordered, single=self._single)
        return Released(value, self._guarantee, self._receipt)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("a selection is not copied or pickled: it is one charge")

    def __repr__(self) -> str:
        state = "open" if self._open else "finished"
        return f"<selection {self._worker.draw}: {state}>"


def selected_of(
    mechanism: LipschitzMechanism, source: ScoreSource, key: Key, *, single: bool
) -> Any:
    """The selected candidates of a source, whose parts answer with encrypted contenders."""
    worker = _worker(mechanism, source.utility, key)
    parts = answers(key.open(source.engine), source, worker)
    return _winners(worker, parts, ordered=mechanism.ordered, single=single)


def _worker(mechanism: LipschitzMechanism, utility: Utility, key: Key) -> Worker:
    scale, secret = mechanism.scale(utility), key.tape.child("keyed")._key
    return Worker(secret, key.tape.kind, mechanism.noise, scale, mechanism.kappa)


def _winners(worker: Worker, parts: Iterable[bytes], *, ordered: bool, single: bool) -> Any:
    winners = worker.winners(parts)
    if not winners:
        raise DataError("there are no candidates; nothing is released and the charge stands")
    value = winners if ordered else sorted(winners)
    return value[0] if single else value
