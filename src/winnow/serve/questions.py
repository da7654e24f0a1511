"""Questions to the one interactive session of a dataset: an actor thread with a bounded queue.

All that waits is answered together: one write to the session's journal, one to the ledger and one
to the store for many requests. A full queue is refused before anything is drawn. A session that
cannot be written (a full disk, a lost connection) is closed and gone on with by itself after a
pause that doubles; nothing that was not written down is shown.
"""

from __future__ import annotations

import hashlib
import queue
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from winnow.errors import SessionExhausted, WinnowError
from winnow.interactive.open_session import Answer
from winnow.interactive.opening import Opened
from winnow.interactive.questions import KnownConditions, Question
from winnow.interactive.verb import open_interactive, resume_interactive
from winnow.privacy import Budget
from winnow.read.crossing import SealedTable
from winnow.serve import bodies, replies
from winnow.serve.datasets import Catalogue, OpenDataset
from winnow.serve.declarations import HOUSE, Questions
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
class _Ready:
    waiting: _Waiting
    digest: str
    asked: list[Question]
    left: int | None


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
        turn: Callable[[], None] = lambda: None,
    ) -> None:
        assert opened.declared.questions is not None
        self._opened, self._catalogue, self._requests = opened, catalogue, requests
        self._settings, self._state, self._log = opened.declared.questions, state, log
        self._turn = turn
        """Waits for the moment at which work may begin."""
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
            self._turn()
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
        ready: dict[tuple[str, str], _Ready] = {}
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
                elif waiting.name in ready:  # the same key twice at one moment: one answer
                    check_same_key(waiting.key, ready[waiting.name].digest, digest)
                else:
                    ready[waiting.name] = self._ready(waiting, digest, had)
            except Exception as error:
                self._failed(waiting, error)
        kept = self._asked(list(ready.values()), had)
        try:
            if kept:
                self._requests.answered(
                    [(each.request, each.questions, each.fresh) for each in kept]
                )
        except Exception as error:
            for each in kept:
                self._failed(each.waiting, error)
        for each in kept:
            if not each.waiting.reply.done():
                each.waiting.reply.set_result(each.answer)
        for waiting in batch:
            if not waiting.reply.done():
                _follow(ready[waiting.name].waiting.reply, waiting.reply)

    def _ready(self, waiting: _Waiting, digest: str, had: dict[str, tuple[int, int]]) -> _Ready:
        """A request that may be asked; ``had`` is what each principal has had, and grows."""
        questions, fresh = had[waiting.who]
        number, each = len(waiting.questions), self._settings.each
        if each is not None and questions + number > each:
            raise SessionExhausted(
                f"{number:,} questions, and {max(0, each - questions):,} of your {each:,} are left"
            )
        asked = [self._made.question(conditions_of(given)) for given in waiting.questions]
        had[waiting.who] = questions + number, fresh
        left = None if each is None else each - questions - number
        return _Ready(waiting, digest, asked, left)

    def _asked(self, ready: list[_Ready], had: dict[str, tuple[int, int]]) -> list[_Kept]:
        """Ask all at once, so that the session writes once; or one by one where that is refused."""
        session, most = self._session, self._settings.fresh_each
        if session is None:
            for each in ready:
                self._failed(each.waiting, Refusal("busy", _CLOSED))
            return []
        if most is None and len(ready) > 1:
            try:
                found = iter(session.ask_many([one for each in ready for one in each.asked]))
                return [self._kept(each, list(islice(found, len(each.asked)))) for each in ready]
            except SessionExhausted:
                pass  # for all of them too few are left; some may still fit
            except Exception as error:
                for each in ready:
                    self._failed(each.waiting, error)
                return []
        kept = []
        for each in ready:
            questions, fresh = had[each.waiting.who]
            try:
                limit = None if most is None else max(0, most - fresh)
                kept.append(self._kept(each, session.ask_many(each.asked, fresh=limit)))
                had[each.waiting.who] = questions, fresh + kept[-1].fresh
            except Exception as error:
                self._failed(each.waiting, error)
        return kept

    def _kept(self, ready: _Ready, found: list[Answer]) -> _Kept:
        """The answer to a request, and what is written down of it."""
        waiting = ready.waiting
        new = sum(
            each.kind in ("fresh", "independent") and each.number is not None for each in found
        )
        items = [
            replies.AnswerItem(a.question, a.value, a.count, a.kind, a.error, a.confidence)
            for a in found
        ]
        now = self._requests.now()
        request = Request(
            secrets.token_hex(16), waiting.who, waiting.key, self._opened.name, "questions",
            ready.digest, "", DONE, None, "", now, 0.0, now,
            msgspec.json.encode((items, ready.left)).decode(),
        )  # fmt: skip
        answer = self._reply(items, ready.left)
        return _Kept(waiting, answer, request, len(waiting.questions), new)

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
        budget = self._catalogue.budget(self._opened.name, HOUSE)
        return new_session(table, settings, budget, self._state)


def state_file(home: Path, name: str) -> Path:
    """Where the session of a dataset is kept: a label may hold what a file's name may not."""
    return home / "sessions" / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.session"


def new_session(
    table: SealedTable, settings: Questions, budget: Budget, state: Path | None = None
) -> Opened:
    """The session that a declaration asks for, charged now."""
    return open_interactive(
        table,
        epsilon=settings.epsilon,
        delta=settings.delta,
        method=settings.method,
        max_queries=settings.max_queries,
        rows=settings.rows,
        state=state,
        budget=budget,
    )


def _follow(leader: Future[Any], follower: Future[Any]) -> None:
    error = leader.exception()
    follower.set_exception(error) if error is not None else follower.set_result(leader.result())


def kept_answers(request: Request) -> tuple[list[replies.AnswerItem], int | None]:
    """The answers that were given to a request, and how many questions were left after it."""
    return msgspec.json.decode(
        request.result or "", type=tuple[list[replies.AnswerItem], int | None]
    )
