"""Questions to the one session of a dataset: an actor thread with a bounded queue.

All that waits is answered together: one write to the session's journal, one to the ledger and two
to the store for many requests. It is claimed and counted before it is asked (``claims``), and each
request is settled by itself. A full queue is refused before anything is drawn. A session that
cannot be written (a full disk, a lost connection) is closed and gone on with by itself after a
pause that doubles; nothing that was not written down is shown.
"""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from winnow.ask.open_session import Answer
from winnow.ask.opening import Opened
from winnow.ask.plan import AskPlan
from winnow.ask.questions import KnownConditions, Question
from winnow.ask.verb import resume
from winnow.errors import SessionExhausted, WinnowError
from winnow.privacy import Budget
from winnow.read.crossing import SealedTable
from winnow.serve import bodies, replies
from winnow.serve.claims import Claims, QuestionClaim, Settled, WantedQuestions, other_body
from winnow.serve.datasets import Catalogue, OpenDataset
from winnow.serve.declarations import HOUSE, Questions
from winnow.serve.jobs import body_digest
from winnow.serve.problems import Refusal
from winnow.serve.requests import Request, Requests
from winnow.serve.store import ServerStore
from winnow.serve.workloads import conditions_of

_TOGETHER = 256
"""So many requests are answered together at most."""
_LONGEST_PAUSE = 60.0
_INTERRUPTED = "the session was interrupted; try again later"


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
    wanted: WantedQuestions
    asked: list[Question]


class Actor:
    """The only thread that asks the session of one dataset."""

    def __init__(
        self,
        opened: OpenDataset,
        catalogue: Catalogue,
        store: ServerStore,
        requests: Requests,
        state: Path,
        *,
        waiting: int,
        log: Callable[[str, BaseException], str],
        turn: Callable[[], None] = lambda: None,
    ) -> None:
        assert opened.declared.questions is not None
        self._opened, self._catalogue = opened, catalogue
        settings = self._settings = opened.declared.questions
        self._state, self._log = state, log
        self._claims = Claims(store, requests, opened.name, settings.each, settings.fresh_each)
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
        self._let_go()

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
            "max_queries": session.sizes.max_queries,
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
            raise Refusal("busy", "too many questions are waiting; try again later")
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
        """Answer what waits: claimed, asked of the session, written down together, then shown."""
        if self._session is None:
            self._go_on()
        ready: dict[tuple[str, str], _Ready] = {}
        for waiting in batch:
            try:
                made = self._ready(waiting)
                first = ready.setdefault(waiting.name, made)  # one key twice at one moment
                if first.wanted.digest != made.wanted.digest:
                    raise other_body(waiting.key)
            except Exception as error:
                self._failed(waiting, error)
        try:
            self._settle(ready)
        except Exception as error:  # the store is away: what was not written down is not shown
            for each in ready.values():
                self._failed(each.waiting, error)
        for waiting in batch:
            if not waiting.reply.done():
                _follow(ready[waiting.name].waiting.reply, waiting.reply)

    def _ready(self, waiting: _Waiting) -> _Ready:
        """A request whose questions can be asked of this schema."""
        asked = [self._made.question(conditions_of(given)) for given in waiting.questions]
        digest = waiting.digest(self._opened.name)
        return _Ready(waiting, WantedQuestions(*waiting.name, digest, len(asked)), asked)

    def _settle(self, ready: dict[tuple[str, str], _Ready]) -> None:
        """QuestionClaim, ask, write down and show; what is known or refused is told by itself."""
        session = self._session
        wanted = [each.wanted for each in ready.values()]
        claimed = self._claims.claim(wanted, new=session is not None)
        for name, request in claimed.answered.items():
            ready[name].waiting.reply.set_result(self._stored(request))
        for name, refused in claimed.refused.items():
            self._failed(ready[name].waiting, refused)
        if session is None or not claimed.claims:
            return
        settled = self._asked(session, [(ready[name], c) for name, c in claimed.claims.items()],
                              claimed.fresh)  # fmt: skip
        self._claims.settle(settled)
        for each in settled:
            if each.result is not None:
                reply = ready[each.claim.request.principal, each.claim.request.key].waiting.reply
                reply.set_result(self._reply(*_decoded(each.result)))

    def _asked(
        self, session: Opened, claims: list[tuple[_Ready, QuestionClaim]], had: dict[str, int]
    ) -> list[Settled]:
        """Ask all at once, so that the session writes once; or one by one where that is refused."""
        most = self._settings.fresh_each
        if most is None and len(claims) > 1:
            try:
                answers = iter(session.ask_many([one for each, _ in claims for one in each.asked]))
                return [
                    self._kept(claim, list(islice(answers, len(each.asked))))
                    for each, claim in claims
                ]
            except SessionExhausted:
                pass  # for all of them too few are left; some may still fit
            except Exception as error:
                return [self._broken(each, claim, error) for each, claim in claims]
        settled = []
        for each, claim in claims:
            who = each.waiting.who
            limit = None if most is None else max(0, most - had[who])
            if self._session is None:  # one before it failed
                settled.append(self._broken(each, claim, Refusal("busy", _INTERRUPTED)))
                continue
            try:
                settled.append(self._kept(claim, session.ask_many(each.asked, fresh=limit)))
            except Exception as error:
                settled.append(self._broken(each, claim, error, limit))
            had[who] += settled[-1].fresh
        return settled

    def _kept(self, claim: QuestionClaim, answers: list[Answer]) -> Settled:
        """The answers to a request, as they are written down."""
        new = sum(
            each.kind in ("fresh", "independent") and each.number is not None for each in answers
        )
        items = [
            replies.AnswerItem(a.question, a.value, a.count, a.kind, a.error, a.confidence)
            for a in answers
        ]
        return Settled(claim, new, msgspec.json.encode((items, claim.left)).decode())

    def _broken(
        self, ready: _Ready, claim: QuestionClaim, error: Exception, limit: int | None = None
    ) -> Settled:
        """What was refused, or failed: then as much as may have been drawn counts as drawn."""
        self._failed(ready.waiting, error)
        if is_public(error):
            return Settled(claim, 0, refused=True)
        if self._session is not None:
            self._let_go()
        return Settled(claim, min(claim.questions, claim.questions if limit is None else limit))

    def _reply(self, items: list[replies.AnswerItem], left: int | None) -> replies.AnswersAnswer:
        return replies.AnswersAnswer(self._opened.name, items, *self._about, left)

    def _stored(self, request: Request) -> replies.AnswersAnswer:
        return self._reply(*kept_answers(request))

    def _failed(self, asked: _Waiting, error: Exception) -> None:
        """Tell whoever asked, unless they know; of an error that is not public, only that."""
        if asked.reply.done():
            return
        if not is_public(error):
            self._log("questions failed", error)
            error = Refusal("busy", _INTERRUPTED)
        asked.reply.set_exception(error)

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
            return resume(table, self._state, ledger=self._catalogue.ledger)
        budget = self._catalogue.budget(self._opened.name, HOUSE)
        return session_plan(table, settings, budget).run(table, budget=budget, state=self._state)


def state_file(home: Path, name: str) -> Path:
    """Where the session of a dataset is kept: a label may hold what a file's name may not."""
    return home / "sessions" / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.session"


def session_plan(table: SealedTable, settings: Questions, budget: Budget) -> AskPlan:
    """The plan of the session that a declaration asks for."""
    return settings.asked(budget=budget).plan(table.stating(settings.rows))


def _follow(leader: Future[Any], follower: Future[Any]) -> None:
    error = leader.exception()
    follower.set_exception(error) if error is not None else follower.set_result(leader.result())


def kept_answers(request: Request) -> tuple[list[replies.AnswerItem], int | None]:
    """The answers that were given to a request, and how many questions were left after it."""
    return _decoded(request.result or "")


def _decoded(result: str) -> tuple[list[replies.AnswerItem], int | None]:
    return msgspec.json.decode(result, type=tuple[list[replies.AnswerItem], int | None])


def is_public(error: Exception) -> bool:
    """Whether an error may be told as it is."""
    return isinstance(error, WinnowError) and error.public
