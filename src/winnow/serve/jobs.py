"""Releases as jobs: written down, charged, drawn, written down, shown at a public time.

1. The request is written down with its body and the sealed key of its noise.
2. It is charged to the ledger under its id, before it is accepted.
3. A thread runs the verb, whose charge is the one that was made, and which draws from that key.
4. The result is written down, and the key forgotten.
5. The result appears at the time that the plan fixed; late ones at twice, four times that time.

Killed anywhere between, the same request is done again when the server starts: before the charge it
is charged now; after it, the ledger knows the charge, and the key brings the same noise. The data
have to be the same, too; where they are not, the release ends as failed, and stays charged. What
failed for another reason is tried again when the server starts.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import msgspec

from winnow.core.released import Released
from winnow.core.saving import with_counted
from winnow.core.tape import WrittenKey
from winnow.core.unit import Unit
from winnow.errors import BudgetExceeded, DataError, LedgerError, ParameterError, WinnowError
from winnow.privacy import Event
from winnow.privacy.ledger import RecordedBudget
from winnow.release.synthetic import SyntheticDistribution
from winnow.serve import bodies, orders, replies
from winnow.serve.datasets import Catalogue, OpenDataset
from winnow.serve.expectations import expected
from winnow.serve.problems import Refusal, refusal_of
from winnow.serve.requests import DONE, FAILED, REFUSED, RUNNING, Request, Requests
from winnow.serve.vault import Vault

Steps = Callable[[str], None]
"""Called between the steps of a release, for tests that end the process there."""


@dataclass(frozen=True)
class Result:
    """What a release leaves behind: a document, and files to download."""

    document: dict[str, Any]
    files: dict[str, str]


class Jobs:
    """Releases on their way, some at a time, each shown at its public time."""

    def __init__(
        self,
        requests: Requests,
        catalogue: Catalogue,
        vault: Vault,
        *,
        at_once: int,
        waiting: int,
        log: Callable[[str, BaseException], str],
        step: Steps = lambda _: None,
    ) -> None:
        self._requests, self._catalogue, self._vault = requests, catalogue, vault
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="release")
        self._most = waiting + at_once
        self._log, self._step = log, step
        self._lock = threading.Lock()
        self._slots = [0.0] * at_once
        """When each slot is free, by the public times of what is in it."""
        self._held: dict[str, float | None] = {}
        """Releases that have not appeared: when they will, or None while that is open."""
        self._closing = threading.Event()

    def order(self, opened: OpenDataset, order: bodies.AnyOrder, who: str, key: str) -> Request:
        """Accept a release, or find the one that its key names; a refusal costs nothing."""
        body = msgspec.json.encode(order).decode()
        digest = body_digest(opened.name, "release", body)
        before = self._requests.requested(who, key)
        if before is not None:
            return same_request(before, digest)
        orders.epsilon_of(order)
        budget = self._catalogue.budget(opened.name, who)
        planned = expected(opened, order, budget)
        priced = orders.price(self._catalogue, opened, order, who)
        if priced.refused:
            raise Refusal("budget", priced.refused)
        identity = secrets.token_hex(16)
        now = self._requests.now()
        due = self._reserve(identity, now, planned.seconds) - now
        written = WrittenKey.fresh()
        sealed = self._vault.seal(written.secret, identity)
        request = Request(
            identity, who, key, opened.name, orders.kind_of(order), digest, body, RUNNING,
            sealed, opened.mark, now, due,
        )  # fmt: skip
        try:
            self._step("before the request is written")
            accepted = self._requests.accept(request)
            if accepted.id != identity:  # the same key came at the same moment
                self._ended(identity, now)
                return same_request(accepted, digest)
            self._charge(accepted, written, priced.event, opened.protected)
        except BaseException:
            self._ended(identity, now)
            raise
        self._pool.submit(self._finish, accepted)
        return accepted

    def _charge(self, request: Request, key: WrittenKey, event: Event, unit: Unit) -> None:
        """Charge now: when a release is begun, which depends on others, shows in no account."""
        self._step("before the charge")
        budget = self._budget(request, key)
        try:
            budget.charge(event, unit=unit)
        except BudgetExceeded:  # somebody else was faster
            self._requests.forget(request.id)
            raise
        except LedgerError as error:  # it may be recorded all the same: the job finds out
            self._log("a charge could not be written down yet", error)
        self._step("after the charge")

    def _budget(self, request: Request, key: WrittenKey) -> RecordedBudget:
        """The account of one release: charged again under its id, it is the same charge."""
        ledger, who = self._catalogue.ledger, request.principal
        return RecordedBudget(ledger, request.dataset, analyst=who, request=request.id, written=key)

    def _reserve(self, identity: str, now: float, seconds: float) -> float:
        """The public time of a job: after those before it, whatever they really take.

        So is whether there is room: a job takes its place until it appears.
        """
        with self._lock:
            self._held = {
                name: until for name, until in self._held.items() if until is None or until > now
            }
            if len(self._held) >= self._most:
                raise Refusal("busy", "as many releases as may wait are waiting; try again later")
            self._held[identity] = None
            slot = min(range(len(self._slots)), key=self._slots.__getitem__)
            self._slots[slot] = max(now, self._slots[slot]) + seconds
            return self._slots[slot]

    def _ended(self, identity: str, shown: float | None) -> None:
        with self._lock:
            self._held[identity] = shown

    def resume(self, dataset: str) -> int:
        """Do what was begun and had not appeared before the server ended, on one dataset."""
        found = self._requests.begin_again(dataset)
        for request in found:
            self._ended(request.id, request.shown)  # complete or not, it has its place until then
            if request.shown is None:
                self._pool.submit(self._finish, request)
        return len(found)

    def close(self) -> None:
        """Wait for what runs; what waits is done when the server starts again."""
        self._closing.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _finish(self, request: Request) -> None:
        """One release, from its charge to its result; nothing leaves this thread but the store.

        Where the ledger or the store cannot be used, the same release is tried again later.
        """
        pause, done = _PAUSE, False
        while not done and not self._closing.is_set():
            try:
                self._complete(request)
                done = True
            except Exception as error:
                self._log("a release waits until it can be written down", error)
                self._closing.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _complete(self, request: Request) -> None:
        state, document, files = self._outcome(request)
        self._step("before the result is written")
        shown = self._shown(request)
        self._requests.finish(request.id, state, json.dumps(document), shown, files)
        self._ended(request.id, shown)
        self._step("after the result is written")

    def _shown(self, request: Request) -> float:
        """When the result appears: at its due time, or at twice, four times as long."""
        wait, now = request.due, self._requests.now()
        while request.accepted + wait < now:
            wait *= 2
        return request.accepted + wait

    def _outcome(self, request: Request) -> tuple[str, dict[str, Any], dict[str, str]]:
        try:
            result = self._released(request)
            return DONE, result.document, result.files
        except LedgerError:
            raise
        except WinnowError as error:
            told = refusal_of(error)
            if told is not None:
                return REFUSED, {"problem": str(told)}, {}
            failure: Exception = error
        except Exception as error:
            failure = error
        identity = self._log("a release failed", failure)
        return FAILED, {"problem": f"the server failed; the owner finds it under {identity}"}, {}

    def _released(self, request: Request) -> Result:
        opened = self._catalogue.get(request.dataset)
        if opened is None or request.tape is None:
            raise DataError(f"the dataset {request.dataset!r} of a release is not open")
        if opened.mark != request.data:
            raise DataError(
                f"the files of {request.dataset!r} were changed before a release of it was "
                "complete; on other data it would be another release"
            )
        order = msgspec.json.decode(request.body, type=bodies.AnyOrder)
        key = WrittenKey(self._vault.unseal(request.tape, request.id))
        budget = self._budget(request, key)
        released = orders.run(opened, order, budget, key)
        margin = orders.margin_of(opened, order, budget, released.receipt.mechanism)
        seed = int.from_bytes(hashlib.blake2b(key.secret, person=b"winnow-sample").digest()[:8])
        return result_of(released, seed, margin)


_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
"""Seconds until a release is tried again, doubled each time."""
_MOST_ROWS = 100_000
"""Of a synthetic table to download."""


def result_of(released: Released[Any], seed: int, margin: int | None = None) -> Result:
    """What is shown of a release; a distribution is shown by its rows and its answers."""
    value, files, counted = released.value, {}, released.receipt.counted
    if isinstance(value, SyntheticDistribution):
        rows = min(value.total, _MOST_ROWS)
        files["synthetic.csv"] = _csv(value.sample(rows, seed=seed))
        shown: Any = {
            "method": getattr(value, "method", "mwem"),
            "total": value.total,
            "rows": rows,
            "columns": list(value.schema.names),
            "measurements": len(value.measurements),
        }
        if hasattr(value, "to_columns"):
            files["answers.csv"] = _csv(with_counted(value.to_columns(), counted))
    else:
        shown = value.to_dict() if hasattr(value, "to_dict") else value
        if hasattr(value, "to_columns"):
            files["table.csv"] = _csv(with_counted(value.to_columns(), counted))
    document = {
        "value": shown,
        "guarantee": released.guarantee.to_dict(),
        "receipt": released.receipt.to_dict(),
        "downloads": sorted(files),
        "margin": margin,
        "cut": None if released.cut is None else released.cut.to_dict(),
    }
    return Result(json.loads(json.dumps(document, default=_plain)), files)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _csv(columns: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(map(_escaped, column) for column in columns.values()), strict=True))
    return text.getvalue()


def _escaped(value: Any) -> Any:
    """A label that a spreadsheet would run as a formula gets a quote before it."""
    if isinstance(value, str) and value[:1] in "=+-@\t\r":
        return f"'{value}"
    return value.item() if hasattr(value, "item") else value


def body_digest(dataset: str, what: str, body: str) -> str:
    """What tells one request from another."""
    return hashlib.sha256(json.dumps([dataset, what, body]).encode()).hexdigest()


def same_request(before: Request, digest: str) -> Request:
    """The request that was made under a key, if it is the same."""
    check_same_key(before.key, before.digest, digest)
    return before


def check_same_key(key: str, before: str, digest: str) -> None:
    """Refuse another body under a key that was used."""
    if before != digest:
        raise Refusal(
            "other-body", f"the key {key!r} was used for another request; choose another key"
        )


def check_key(key: str | None) -> str:
    """The Idempotency-Key of a request that spends something."""
    if key is None:
        raise ParameterError(
            "an Idempotency-Key is needed where something is spent: a text that you choose, so "
            "that the same request again is the same answer"
        )
    if not 1 <= len(key) <= 200 or not key.isascii() or not key.isprintable() or key.strip() != key:
        raise ParameterError("an Idempotency-Key has 1 to 200 printable ASCII characters")
    return key


def job_of(request: Request, now: float) -> replies.JobAnswer:
    """What is told of a release at this time: its state changes at public times only."""
    due = request.accepted + request.due if request.shown is None else request.shown
    while request.shown is None and due < now:
        due = request.accepted + 2 * (due - request.accepted)
    state: Any = request.state if request.shown is not None and request.shown <= now else RUNNING
    document = json.loads(request.result or "{}") if state != RUNNING else {}
    return replies.JobAnswer(
        request.id,
        request.dataset,
        request.kind,
        request.principal,
        state,
        request.accepted,
        due,
        json.loads(request.body),
        document.get("problem", ""),
        f"/v1/releases/{request.id}" if state == DONE else "",
    )


def release_of(request: Request, now: float) -> replies.ReleaseAnswer:
    """A release that is there and may be seen."""
    job = job_of(request, now)
    if job.state == RUNNING:
        raise Refusal("pending", "the release appears at its public time; see its job")
    if job.state != DONE:
        raise Refusal("not-found")
    document = json.loads(request.result or "{}")
    return replies.ReleaseAnswer(
        request.id,
        request.dataset,
        request.kind,
        job.order,
        document["value"],
        document["guarantee"],
        document["receipt"],
        document["downloads"],
        document.get("margin"),
        document.get("cut"),
    )
