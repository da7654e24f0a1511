"""Plans, in processes of their own: bounded in memory, time and number, ended when nobody waits.

A plan is computed from what is public, so the process never sees the data. It is killed when it
takes too long, when whoever asked has left, and when the server ends.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from winnow.errors import ForeignError, ParameterError
from winnow.privacy import Event, Guarantee, describe
from winnow.serve import bodies, replies
from winnow.serve.datasets import OpenDataset, fitting
from winnow.serve.expectations import Expected
from winnow.serve.orders import Price, check_size, delta_of, order_key
from winnow.serve.plan_tasks import (
    Failed,
    Made,
    OutOfMemory,
    PlanTask,
    Refused,
    Step,
    answer_of,
    read_frame,
    write_frame,
)
from winnow.serve.problems import Refusal
from winnow.serve.turns import Turns
from winnow.serve.verbs import kind_of


class Wait:
    """Somebody who waits for a plan, until they leave."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = False
        self._then: list[Callable[[], None]] = []

    def leave(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self._left, then = True, self._then
            self._then = []
        for each in then:
            each()

    def when_left(self, then: Callable[[], None]) -> None:
        """Do something as soon as nobody waits."""
        with self._lock:
            if not self._left:
                self._then.append(then)
                return
        then()


@dataclass(frozen=True)
class PlannedOrder:
    """What a plan says of an order: what to expect, and the event that would be charged."""

    expected: Expected
    event: Event
    asked: Guarantee
    curve: list[Expected]
    """What to expect at further epsilons."""


@dataclass(eq=False)
class PlanRequest:
    """What somebody wants to have planned, and the promise of it."""

    who: str
    dataset: OpenDataset
    accountant: str
    steps: tuple[Step, ...]
    reply: Future[list[Made]] = field(default_factory=Future)
    ended: Refusal | None = None
    """Why it is not to be done any more."""


class PlanWorkers:
    """Some processes that plan, one plan at a time each; principals are served in turn."""

    def __init__(self, number: int, *, seconds: float, megabytes: int) -> None:
        self._seconds = seconds
        self._idle = [_Worker(megabytes) for _ in range(number)]
        self._lock = threading.Lock()
        self._doing: dict[PlanRequest, _Worker] = {}
        # a process is left for others, whatever one principal asks for
        self._turns: Turns[PlanRequest] = Turns(self._work, number, "plan", max(1, number - 1))

    def start(self) -> None:
        """Start the processes now, so that the first plans need not wait for that."""
        for worker in self._idle:
            worker.start()

    def ask(self, asked: PlanRequest, wait: Wait) -> list[Made]:
        """What is planned, when its turn has come; a refusal where it takes too much."""
        if not self._turns.put(asked.who, asked):
            raise _ending()
        wait.when_left(lambda: self._end(asked, Refusal("busy", "nobody waits for this plan")))
        return asked.reply.result()

    def close(self) -> None:
        """End everything; whoever waits is told so."""
        self._turns.close(0)
        while (left := self._turns.left()) is not None:
            left.reply.set_exception(_ending())
        with self._lock:
            doing = list(self._doing)
            idle, self._idle = self._idle, []
        for asked in doing:
            self._end(asked, _ending())
        self._turns.close()
        for worker in (*idle, *self._idle):
            worker.close()

    def _end(self, asked: PlanRequest, why: Refusal) -> None:
        """Take something out of the queue, or end the process that does it."""
        if self._turns.remove(asked.who, asked):
            asked.reply.set_exception(why)
            return
        with self._lock:
            asked.ended = why
            if asked in self._doing:
                self._doing[asked].kill(why)

    def _work(self, asked: PlanRequest) -> None:
        with self._lock:
            if asked.ended is not None or not self._idle:
                asked.reply.set_exception(asked.ended or _ending())
                return
            worker = self._doing[asked] = self._idle.pop().again()
        late = Refusal(
            "invalid",
            f"this plan takes longer than {self._seconds:g} s (limits.plan_seconds); ask for less",
        )
        timer = threading.Timer(self._seconds, self._end, (asked, late))
        timer.daemon = True
        timer.start()
        made: list[Made] = []
        failure: BaseException | None = None
        try:
            made = worker.made(asked)
        except BaseException as error:
            failure = error
        timer.cancel()
        with self._lock:
            del self._doing[asked]
            self._idle.append(worker.again())
        if failure is not None:
            asked.reply.set_exception(failure)
        else:
            asked.reply.set_result(made)


def _ending() -> Refusal:
    return Refusal("busy", "the server is ending; try again later")


def _too_large() -> Refusal:
    return Refusal(
        "invalid", "this plan needs more memory than one may have (limits.plan_mb); ask for less"
    )


class _Worker:
    """One process, started when it is needed."""

    def __init__(self, megabytes: int) -> None:
        self._megabytes = megabytes
        self._process: subprocess.Popen[bytes] | None = None
        self._known: set[str] = set()
        self._ready = False
        self._why: Refusal | None = None
        self._lock = threading.Lock()

    def again(self) -> _Worker:
        """This process, or a new one in the place of one that ended."""
        if self._why is None and (self._process is None or self._process.poll() is None):
            return self
        self.close()
        return _Worker(self._megabytes)

    def close(self) -> None:
        """End it, and let go of what led to it; nobody reads from it any more."""
        self.kill(_ending())
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with suppress(OSError):  # what was not sent is not missed
                        stream.close()

    def start(self) -> subprocess.Popen[bytes]:
        """The process; it finds the library where this one found it, and nothing else is shared."""
        with self._lock:
            if self._why is not None:
                raise self._why
            if self._process is None:
                code = (
                    f"import sys; sys.path[:] = {sys.path!r}\n"
                    "from winnow.serve.plan_worker import serve\n"
                    f"serve({self._megabytes * 10**6})"
                )
                threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
                self._process = subprocess.Popen(
                    [sys.executable, "-c", code],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=os.environ | dict.fromkeys(threads, "1"),
                    start_new_session=True,  # Ctrl-C is for the server, which ends this
                )
            return self._process

    def kill(self, why: Refusal) -> Refusal:
        """End it now; why it ended first, for whoever waits for it."""
        with self._lock:
            self._why = self._why or why
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            return self._why

    def made(self, asked: PlanRequest) -> list[Made]:
        """What the process answers."""
        process = self.start()
        assert process.stdin is not None and process.stdout is not None
        if not self._ready and read_frame(process.stdout) is None and self._why is None:
            self.kill(_ending())
            raise ForeignError("the process that plans could not be started")
        self._ready = True
        outline = asked.dataset.outline
        mark = hashlib.sha256(outline).hexdigest()
        first = mark not in self._known
        task = PlanTask(mark, outline if first else None, asked.accountant, asked.steps)
        content = None
        try:
            write_frame(process.stdin, pickle.dumps(task))
            content = read_frame(process.stdout)
        except OSError:
            pass  # it has ended: see below
        if content is None:
            raise self.kill(_too_large())
        self._known.add(mark)
        match answer_of(content):
            case Refused(word, detail):
                raise Refusal(word, detail)
            case Failed(text):
                raise ForeignError(f"a plan failed: {text}")
            case OutOfMemory():
                raise self.kill(_too_large())
            case made:
                return made


class OrderPlans:
    """Plans of orders: refused by their public size, looked up where they are known, or made."""

    def __init__(self, workers: PlanWorkers, result_bytes: int) -> None:
        self._workers, self._result_bytes = workers, result_bytes

    def plan(
        self,
        opened: OpenDataset,
        order: bodies.AnyOrder,
        accountant: str,
        who: str,
        wait: Wait,
        curve: Sequence[float] = (),
    ) -> PlannedOrder:
        """What to expect of an order, and at further epsilons; of a wanted error, its epsilon."""
        fitting(opened, kind_of(order))
        if (order.epsilon is None) is (order.error is None):
            raise ParameterError("give epsilon= or error=, one of them")
        check_size(opened, order, self._result_bytes)
        further = [msgspec.structs.replace(order, epsilon=size, error=None) for size in curve]
        wanted = {_key(each, accountant): Step(each, priced=False) for each in further}
        wanted[_key(order, accountant)] = Step(order, priced=True)
        plans = {key: opened.plans.known(key) for key in wanted}
        missing = [key for key in wanted if not _enough(plans[key], wanted[key])]
        if missing:
            steps = tuple(wanted[key] for key in missing)
            asked = PlanRequest(who, opened, accountant, steps)
            for key, made in zip(missing, self._workers.ask(asked, wait), strict=True):
                plans[key] = made
                opened.plans.put(key, made)
        main: Made = plans[_key(order, accountant)]
        assert main.event is not None
        if order.epsilon is None:  # what comes of this error is what comes of its epsilon
            same = msgspec.structs.replace(order, epsilon=main.expected.epsilon, error=None)
            opened.plans.put(_key(same, accountant), main)
        points = [plans[_key(each, accountant)].expected for each in further]
        delta = delta_of(order)
        stated = Guarantee(main.expected.epsilon, delta, main.event.relation)
        return PlannedOrder(main.expected, main.event, stated, points)


def _enough(known: Made | None, step: Step) -> bool:
    return known is not None and not (step.priced and known.event is None)


def _key(order: bodies.AnyOrder, accountant: str) -> Any:
    return order_key(order), accountant


def plan_answer(
    body: bodies.PlanBody, planned: PlannedOrder, priced: Price, used: replies.Used
) -> replies.PlanAnswer:
    """A plan as it is told, with what is left before and after it."""
    outcome = planned.expected
    after = msgspec.structs.replace(
        used, spent=used.spent + priced.cost, left=max(0.0, used.left - priced.cost)
    )
    curve = zip(body.curve, (each.error for each in planned.curve), strict=True)
    return replies.PlanAnswer(
        kind_of(body.order),
        outcome.epsilon,
        delta_of(body.order),
        outcome.error,
        outcome.says,
        list(curve),
        outcome.seconds,
        not priced.refused,
        priced.refused,
        priced.cost,
        None if priced.refused else after,
        describe(priced.event),
        outcome.details,
    )
