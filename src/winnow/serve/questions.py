"""Questions to the one interactive session of a dataset: an actor thread with a bounded queue.

All that waits is answered together: one write to the session's journal, one to the ledger and one
to the store for many requests. A full queue is refused before anything is drawn. A session that
cannot be written (a full disk, a lost connection) is closed and gone on with by itself after a
pause that doubles; nothing that was not written down is shown.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from winnow.errors import SessionExhausted, WinnowError
from winnow.interactive.opening import Opened
from winnow.interactive.questions import KnownConditions
from winnow.interactive.verb import open_interactive, resume_interactive
from winnow.serve import bodies, replies
from winnow.serve.datasets import Catalogue, OpenDataset
from winnow.serve.declarations import HOUSE
from winnow.serve.jobs import body_digest, check_same_key, same_request
from winnow.serve.orders import conditions_of
from winnow.serve.problems import Refusal
from winnow.serve.requests import DONE, Request, Requests

_TOGETHER = 256
"""So many requests are answered together at most."""
_LONGEST_PAUSE = 60.0
_CLOSED = "the session of this dataset is not open now; try again later"


@dataclass(frozen=True)
class _Waiting:
    who: str
    key: str
    questions: list[bodies.Where]
    reply: Future[replies.AnswersAnswer]

    @property
    def name(self) -> tuple[str, str]:
        """Under which it is known again."""
        return self.who, self.key

    def digest(self, dataset: str) -> str:
        """What tells it from other requests."""
        return body_digest(dataset, "questions", msgspec.json.encode(self.questions).decode())


@dataclass(frozen=True)
class _Kept:
    waiting: _Waiting
    answer: replies.AnswersAnswer
    request: Request
    questions: int
    fresh: int


class Actor:
    """The only thread that asks the session of one dataset."""

    def __init__(
        self,
        opened: OpenDataset,
        catalogue: Catalogue,
        requests: Requests,
        state: Path,
        *,
        waiting: int,
        log: Callable[[str, BaseException], str],
    ) -> None:
        assert opened.declared.questions is not None
        self._opened, self._catalogue, self._requests = opened, catalogue, requests
        self._settings, self._state, self._log = opened.declared.questions, state, log
        self._queue: queue.Queue[_Waiting | None] = queue.Queue(waiting)
        self._session: Opened | None = None
        self._pause, self._again = 1.0, 0.0
        self._thread = threading.Thread(target=self._run, name=f"questions {opened.name}")
        self._thread.daemon = True
        self.problem = ""
        self._about: tuple[str, dict[str, Any]] = ("", {})
        assert opened.table is not None  # by its declaration
        self._made = KnownConditions(opened.table.schema)

    def start(self) -> None:
        """Open the session, or go on with it, and begin to answer."""
        self._go_on()
        self._thread.start()

    def close(self) -> None:
        """Answer what waits, and close the session; it can be gone on with."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()
        if self._session is not None:
            self._session.close()
            self._session = None

    def public(self) -> dict[str, Any] | None:
        """What analysts may know of the session; all of it was fixed or released before."""
        session = self._session
        if session is None:
            return None
        return {
            "method": session.method,
            "guarantee": str(session.guarantee),
            "status": session.status,
            "asked": session.rounds,
            "max_queries": session.plan.max_queries,
            "each": self._settings.each,
            "fresh_each": self._settings.fresh_each,
        }

    def ask(self, who: str, key: str, questions: list[bodies.Where]) -> Future[Any]:
        """Put questions into the queue; the answer comes when the actor got to them.

        It does nothing that takes time: it may be called in the loop of the server.
        """
        reply: Future[replies.AnswersAnswer] = Future()
        full = False
        try:
            self._queue.put_nowait(_Waiting(who, key, questions, reply))
        except queue.Full:
            full = True
        if full:
            raise Refusal("busy", "as many questions as may wait are waiting; try again later")
        return reply

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            batch = [] if first is None else [first]
            stop = first is None
            while len(batch) < _TOGETHER and not stop:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                stop = more is None
                if more is not None:
                    batch.append(more)
            if batch:
                self._answer(batch)
            if stop:
                return

    def _answer(self, batch: list[_Waiting]) -> None:
        """Answer what waits: asked of the session, written down together, then shown."""
        if self._session is None:
            self._go_on()
        first: dict[tuple[str, str], str] = {}
        kept: list[_Kept] = []
        try:
            before, had = self._requests.asked(self._opened.name, [each.name for each in batch])
        except Exception as error:
            for waiting in batch:
                self._failed(waiting, error)
            return
        for waiting in batch:
            try:
                digest = waiting.digest(self._opened.name)
                if waiting.name in before:
                    found = same_request(before[waiting.name], digest)
                    waiting.reply.set_result(self._stored(found))
                elif waiting.name in first:  # the same key twice at one moment: one answer
                    check_same_key(waiting.key, first[waiting.name], digest)
                else:
                    kept.append(self._answered(waiting, digest, had))
                    first[waiting.name] = digest
            except Exception as error:
                self._failed(waiting, error)
        try:
            if kept:
                self._requests.answered(
                    [(each.request, each.questions, each.fresh) for each in kept]
                )
        except Exception as error:
            for each in kept:
                self._failed(each.waiting, error)
        leaders = {each.waiting.name: each for each in kept}
        for each in kept:
            if not each.waiting.reply.done():
                each.waiting.reply.set_result(each.answer)
        for waiting in batch:
            if not waiting.reply.done():
                _follow(leaders[waiting.name].waiting.reply, waiting.reply)

    def _answered(self, waiting: _Waiting, digest: str, had: dict[str, tuple[int, int]]) -> _Kept:
        """Ask the session; ``had`` is what each principal has had, and grows."""
        session, settings = self._session, self._settings
        if session is None:
            raise Refusal("busy", _CLOSED)
        questions, fresh = had[waiting.who]
        number = len(waiting.questions)
        if settings.each is not None and questions + number > settings.each:
            raise SessionExhausted(
                f"{number:,} questions, and {max(0, settings.each - questions):,} of your "
                f"{settings.each:,} are left"
            )
        asked = [self._made.question(conditions_of(each)) for each in waiting.questions]
        most = None if settings.fresh_each is None else max(0, settings.fresh_each - fresh)
        found = session.ask_many(asked, fresh=most)
        new = sum(
            each.kind in ("fresh", "independent") and each.number is not None for each in found
        )
        had[waiting.who] = questions + number, fresh + new
        items = [
            replies.AnswerItem(
                a.question, a.value, a.count, a.kind, a.error, a.confidence, a.adaptive
            )
            for a in found
        ]
        left = None if settings.each is None else settings.each - questions - number
        now = self._requests.now()
        request = Request(
            secrets.token_hex(16), waiting.who, waiting.key, self._opened.name, "questions",
            digest, "", DONE, None, "", now, 0.0, now, msgspec.json.encode((items, left)).decode(),
        )  # fmt: skip
        return _Kept(waiting, self._reply(items, left), request, number, new)

    def _reply(self, items: list[replies.AnswerItem], left: int | None) -> replies.AnswersAnswer:
        return replies.AnswersAnswer(self._opened.name, items, *self._about, left)

    def _stored(self, request: Request) -> replies.AnswersAnswer:
        return self._reply(*kept_answers(request))

    def _failed(self, asked: _Waiting, error: Exception) -> None:
        """Tell whoever asked; an error that is not public ends this opening of the session."""
        if isinstance(error, WinnowError) and error.public:
            asked.reply.set_exception(error)
            return
        self._log("questions failed", error)
        asked.reply.set_exception(Refusal("busy", "the session was interrupted; try again later"))
        self._let_go()

    def _let_go(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            try:
                session.close()
            except WinnowError as error:
                self._log("a session could not be closed", error)

    def _go_on(self) -> None:
        """Open the session, or go on with it; where that fails, again after a longer pause."""
        if time.monotonic() < self._again:
            return
        try:
            session = self._session = self._opened_session()
            self._about = str(session.guarantee), session.receipt.to_dict()
            self._pause, self.problem = 1.0, ""
        except WinnowError as error:
            self.problem = str(error)
            self._log("a session could not be opened", error)
            self._again = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _opened_session(self) -> Opened:
        table, settings = self._opened.table, self._settings
        assert table is not None
        if self._state.exists():
            return resume_interactive(table, self._state, ledger=self._catalogue.ledger)
        return open_interactive(
            table,
            epsilon=settings.epsilon,
            delta=settings.delta,
            method=settings.method,
            max_queries=settings.max_queries,
            rows=settings.rows,
            state=self._state,
            budget=self._catalogue.budget(self._opened.name, HOUSE),
        )


def _follow(leader: Future[Any], follower: Future[Any]) -> None:
    error = leader.exception()
    follower.set_exception(error) if error is not None else follower.set_result(leader.result())


def kept_answers(request: Request) -> tuple[list[replies.AnswerItem], int | None]:
    """The answers that were given to a request, and how many questions were left after it."""
    return msgspec.json.decode(
        request.result or "", type=tuple[list[replies.AnswerItem], int | None]
    )
