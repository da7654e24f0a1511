"""Releases as jobs: written down, charged, drawn, written down, shown at a public time.

1. The request is written down with its body and the sealed key of its noise.
2. It is charged to the ledger under its id, before it is accepted.
3. A thread runs the verb, whose charge is the one that was made, and which draws from that key.
4. The result is written down, and the key forgotten.
5. The result appears at the time that the plan fixed; late ones at twice, four times that time.

Killed anywhere between, the same request is done again when the server starts: before the charge it
is charged now; after it, the ledger knows the charge, and the key brings the same noise. The data
have to be the same, too; where they are not, the release ends as failed, and stays charged. What
failed for another reason is tried again when the server starts. Principals are served in turn, and
a release that waits for a store that is away keeps no other one waiting.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from winnow.core.run import charge
from winnow.core.tape import WrittenKey
from winnow.core.unit import Unit
from winnow.errors import BudgetExceeded, DataError, LedgerError, ParameterError, WinnowError
from winnow.foreign import instead
from winnow.privacy.ledger import RecordedBudget
from winnow.serve import bodies, orders, replies
from winnow.serve.claims import other_body
from winnow.serve.config import Limits
from winnow.serve.datasets import Catalogue, OpenDataset
from winnow.serve.documents import Document, document_of
from winnow.serve.planning import OrderPlans, Wait
from winnow.serve.problems import Refusal, refusal_of
from winnow.serve.requests import DONE, FAILED, REFUSED, RUNNING, Request, Requests
from winnow.serve.turns import Timetable, Turns, check_places
from winnow.serve.vault import Vault
from winnow.serve.verbs import kind_of

Steps = Callable[[str], None]
"""Called between the steps of a release, for tests that end the process there."""


class Jobs:
    """Releases on their way, some at a time, each shown at its public time."""

    def __init__(
        self,
        requests: Requests,
        catalogue: Catalogue,
        vault: Vault,
        plans: OrderPlans,
        limits: Limits,
        *,
        log: Callable[[str, BaseException], str],
        step: Steps = lambda _: None,
    ) -> None:
        self._requests, self._catalogue, self._vault = requests, catalogue, vault
        self._plans, self._limits, self._log, self._step = plans, limits, log, step
        self._lock = threading.Lock()
        self._timetable = Timetable(limits.jobs)
        self._held: dict[str, tuple[str, float | None]] = {}
        """Releases that have not appeared: whose, and when they will, or None while it is open."""
        self._pauses: dict[str, float] = {}
        """Of releases that wait for the store: how long they waited the last time."""
        self._turns: Turns[Request] = Turns(
            lambda request: self._finish(request), limits.jobs, "release"
        )

    def order(
        self,
        opened: OpenDataset,
        order: bodies.AnyOrder,
        who: str,
        key: str,
        wait: Wait | None = None,
    ) -> Request:
        """Accept a release, or find the one that its key names; a refusal costs nothing."""
        body = msgspec.json.encode(order).decode()
        digest = body_digest(opened.name, "release", body)
        before = self._requests.requested(who, key)
        if before is not None:
            return same_request(before, digest)
        orders.epsilon_of(order)
        accountant = self._catalogue.budget(opened.name, who).accountant
        planned = self._plans.plan(opened, order, accountant, who, wait or Wait())
        priced = orders.price(self._catalogue, opened, planned.event, planned.asked, who)
        if priced.refused:
            raise Refusal("budget", priced.refused)
        identity = secrets.token_hex(16)
        now = self._requests.now()
        due = self._reserve(who, identity, now, planned.expected.seconds) - now
        written = WrittenKey.fresh()
        sealed = self._vault.seal(written.secret, identity)
        request = Request(
            identity, who, key, opened.name, kind_of(order), digest, body, RUNNING,
            sealed, opened.mark, now, due,
        )  # fmt: skip
        try:
            self._step("before the request is written")
            accepted = self._requests.accept(request)
            if accepted.id != identity:  # the same key came at the same moment
                self._give_back(who, identity)
                return same_request(accepted, digest)
            self._charge(accepted, written, priced, opened.protected)
        except BaseException:
            self._give_back(who, identity)
            raise
        self._turns.put(who, accepted)
        return accepted

    def _charge(self, request: Request, key: WrittenKey, priced: orders.Price, unit: Unit) -> None:
        """Charge now: when a release is begun, which depends on others, shows in no account."""
        self._step("before the charge")
        budget = self._budget(request, key)
        try:
            charge(priced.event, budget, unit, stated=priced.asked, at_once=True)
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

    def _reserve(self, who: str, identity: str, now: float, seconds: float) -> float:
        """The public time of a job: in fair turns with the others, whatever they really take.

        So is whether there is room: a job takes its place until it appears.
        """
        with self._lock:
            self._held = {
                name: (owner, until)
                for name, (owner, until) in self._held.items()
                if until is None or until > now
            }
            limits = self._limits
            mine = sum(owner == who for owner, _ in self._held.values())
            most = limits.waiting_jobs + limits.jobs
            check_places(mine, limits.jobs_each, len(self._held), most, "releases")
            self._held[identity] = who, None
            return self._timetable.add(who, identity, seconds, now)

    def _give_back(self, who: str, identity: str) -> None:
        """A release that was not accepted needs no place and no time."""
        with self._lock:
            self._held.pop(identity, None)
            self._timetable.remove(who, identity, self._requests.now())

    def _ended(self, request: Request, shown: float | None) -> None:
        with self._lock:
            self._held[request.id] = request.principal, shown

    def resume(self, dataset: str) -> int:
        """Do what was begun and had not appeared before the server ended, on one dataset."""
        waiting = self._requests.begin_again(dataset)
        for request in waiting:
            self._ended(request, request.shown)  # complete or not, it has its place until then
            if request.shown is None:
                self._turns.put(request.principal, request)
        return len(waiting)

    def close(self, seconds: float | None = None) -> bool:
        """Wait so long for what runs; whether all of it ended. The next start does the rest."""
        return self._turns.close(seconds)

    def _finish(self, request: Request) -> None:
        """One release, from its charge to its result; nothing leaves this thread but the store.

        Only where the ledger or the store is away the same release is tried again later, and
        others are done meanwhile. Whatever else is wrong with it, it ends as failed.
        """
        try:
            try:
                self._complete(request)
            except LedgerError:
                raise
            except Exception as error:
                identity = self._log("a release could not be written down", error)
                self._write(request, FAILED, json.dumps(_failure(identity)), {})
            self._pauses.pop(request.id, None)
        except Exception as error:
            pause = self._pauses.get(request.id, _PAUSE)
            self._pauses[request.id] = min(2 * pause, _LONGEST_PAUSE)
            self._log("a release waits until it can be written down", error)
            self._turns.put(request.principal, request, pause)

    def _complete(self, request: Request) -> None:
        state, text, files = self._outcome(request)
        self._step("before the result is written")
        self._write(request, state, text, files)
        self._step("after the result is written")

    def _write(self, request: Request, state: str, text: str, files: dict[str, str]) -> None:
        shown = self._shown(request)
        self._requests.finish(request.id, state, text, shown, files)
        self._ended(request, shown)

    def _shown(self, request: Request) -> float:
        """When the result appears: at its due time, or at twice, four times as long."""
        wait, now = request.due, self._requests.now()
        while request.accepted + wait < now:
            wait *= 2
        return request.accepted + wait

    def _outcome(self, request: Request) -> tuple[str, str, dict[str, str]]:
        try:
            document = self._released(request)
            return DONE, document.text, document.files
        except LedgerError:
            raise
        except WinnowError as error:
            told = refusal_of(error)
            if told is not None:
                return REFUSED, json.dumps({"problem": str(told)}), {}
            failure: Exception = error
        except Exception as error:
            failure = error
        return FAILED, json.dumps(_failure(self._log("a release failed", failure))), {}

    def _released(self, request: Request) -> Document:
        opened = self._catalogue.get(request.dataset)
        if opened is None or request.tape is None:
            raise DataError(f"the dataset {request.dataset!r} of a release is not open")
        if opened.mark != request.data:
            raise DataError(
                f"the files of {request.dataset!r} were changed before a release of it was "
                "complete; on other data it would be another release"
            )
        order = msgspec.json.decode(request.body, type=bodies.AnyOrder)
        most = self._limits.result_bytes
        with instead(lambda error: DataError(str(error)), ParameterError):
            orders.check_size(
                opened, order, most
            )  # the limit may be another than when it was ordered
        key = WrittenKey(self._vault.unseal(request.tape, request.id))
        budget = self._budget(request, key)
        made = orders.run(opened, order, budget, key)
        seed = int.from_bytes(hashlib.blake2b(key.secret, person=b"winnow-sample").digest()[:8])
        document = document_of(made.released, seed, made.margin)
        document.check(most)
        return document


_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
"""Seconds until a release is tried again, doubled each time."""


def _failure(identity: str) -> dict[str, str]:
    return {
        "problem": "the server failed, and what was charged stays charged; the owner finds it "
        f"under {identity}"
    }


def body_digest(dataset: str, what: str, body: str) -> str:
    """What tells one request from another."""
    return hashlib.sha256(json.dumps([dataset, what, body]).encode()).hexdigest()


def same_request(before: Request, digest: str) -> Request:
    """The request that was made under a key, if it is the same."""
    if before.digest != digest:
        raise other_body(before.key)
    return before


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
