"""The process that plans: it knows what is public of the datasets, and nothing else.

It reads tasks from its standard input, answers on its standard output, and ends with its input. It
may be killed at any moment. Its memory has a limit: what needs more is refused, and it ends.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from winnow.errors import ForeignError, WinnowError
from winnow.foreign import reason
from winnow.serve.datasets import OpenDataset
from winnow.serve.expectations import expected
from winnow.serve.orders import Pricing, event_of
from winnow.serve.plan_tasks import (
    Answer,
    Failed,
    Made,
    OutOfMemory,
    PlanTask,
    Refused,
    Step,
    answer_bytes,
    read_frame,
    write_frame,
)
from winnow.serve.problems import refusal_of


def serve(memory: int) -> None:
    """Answer tasks until the input ends; each may use so many bytes more than there are now."""
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not come between the answers
    inbox: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, inbox), daemon=True).start()
    _limit(memory)
    known: dict[str, OpenDataset] = {}
    write_frame(target, b"ready")
    while True:
        answer = _answer(pickle.loads(inbox.get()), known)
        write_frame(target, answer_bytes(answer))
        if isinstance(answer, OutOfMemory):
            os._exit(1)


def _read(source: IO[bytes], inbox: queue.Queue[bytes]) -> None:
    """Tasks go into the queue; the end of the input ends the process, whatever it computes."""
    while (content := read_frame(source)) is not None:
        inbox.put(content)
    os._exit(0)


def _limit(memory: int) -> None:
    """Of the address space: what was mapped before counts for nothing. Not on every system."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _answer(task: PlanTask, known: dict[str, OpenDataset]) -> Answer:
    try:
        if task.outline is not None:
            known[task.mark] = OpenDataset.of_outline(task.outline)
        opened, budget = known[task.mark], Pricing(task.accountant)
        return [_made(opened, step, budget) for step in task.steps]
    except MemoryError:
        return OutOfMemory()
    except WinnowError as error:
        refused = refusal_of(error)
        if refused is not None:
            return Refused(refused.word, refused.detail)
        if isinstance(error, ForeignError) and str(error).startswith("unexpected MemoryError"):
            return OutOfMemory()
        return Failed(f"{type(error).__name__}: {error}")
    except Exception as error:
        return Failed(reason(error))


def _made(opened: OpenDataset, step: Step, budget: Pricing) -> Made:
    outcome = expected(opened, step.order, budget)
    if not step.priced:
        return Made(outcome, None)
    order = msgspec.structs.replace(step.order, epsilon=outcome.epsilon, error=None)
    return Made(outcome, event_of(opened, order, budget))
