"""How well a clock tells a fresh answer from a repeated one."""

from __future__ import annotations

import json
import math
import os
import random
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from serve.loading import Running, question, running
from winnow.serve.ticker import GRID

_TWIN = """
import asyncio, sys, time
from winnow.serve.ticker import Ticker

async def hold(self, arrival):
    self.answers += 1
    await asyncio.sleep(self.due(arrival) - time.monotonic())

Ticker.{name} = {instead}
from winnow.cli import main
sys.argv[0] = "winnow"
sys.argv.insert(1, "serve")
main()
"""
SLEEPING = _TWIN.format(name="hold", instead="hold")
"""A twin of the server in which every answer sleeps for what is left of its quantum."""
AT_ONCE = _TWIN.format(name="wait = Ticker.depart", instead="lambda self: None")
"""A twin that works on questions as they come, also while other answers leave, and in which these
leave when they are written."""

KNOWN = 20
_NAP = 0.002
_OVERSLEPT = 0.001


class Clocked:
    """One connection, on which one request follows the other; all are written beforehand."""

    def __init__(self, server: Running) -> None:
        self._token = server.tokens["a0"]
        self._socket = socket.create_connection(("127.0.0.1", server.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def request(self, key: str, number: int) -> bytes:
        """One question, under a key."""
        body = json.dumps({"questions": [question(number)]}).encode()
        head = (
            "POST /v1/datasets/people/questions HTTP/1.1\r\nhost: localhost\r\n"
            f"authorization: Bearer {self._token}\r\nidempotency-key: {key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def asked(self, request: bytes) -> tuple[float, float]:
        """When it was sent, and when the answer began; all of it is read."""
        begun = time.perf_counter()
        self.send(request)
        return begun, self.answered()

    def send(self, request: bytes) -> None:
        """Send a request without waiting."""
        self._socket.sendall(request)

    def answered(self) -> float:
        """When the answer began; all of it is read."""
        first = self._socket.recv(65_536)
        ended = time.perf_counter()
        head, _, body = first.partition(b"\r\n\r\n")
        assert head[9:12] == b"200", head
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += self._socket.recv(65_536)
        return ended


@dataclass(frozen=True)
class Timings:
    """Answers in their order: which were fresh, when each was asked for, and when it came."""

    fresh: NDArray[np.bool_]
    begun: NDArray[np.float64]
    ended: NDArray[np.float64]
    overslept: float
    """How often a short sleep of the client ended far too late: how busy the machine was."""

    @property
    def took(self) -> NDArray[np.float64]:
        """Seconds."""
        return self.ended - self.begun

    def on_time(self, seconds: float) -> Timings:
        """Without what took longer: late answers leave at twice the quantum, and are counted."""
        kept = self.took < seconds
        return Timings(self.fresh[kept], self.begun[kept], self.ended[kept], self.overslept)


def asked_of(client: Clocked, number: int, seed: int) -> tuple[list[bool], list[bytes]]:
    """Questions in a random order: which are new, and the requests; some are known beforehand."""
    chance = random.Random(seed)
    for place in range(KNOWN):
        client.asked(client.request(f"known {place}", place))
    fresh = [chance.random() < 0.5 for _ in range(number)]
    requests = []
    for place, new in enumerate(fresh):
        old = chance.randrange(KNOWN)
        key, which = (f"new {place}", 1000 + 7 * place) if new else (f"known {old}", old)
        requests.append(client.request(key, which))
    return fresh, requests


@contextmanager
def alone(program: list[str] | None, number: int, quantum_ms: int) -> Iterator[Running]:
    """A server with independent noise on every new question, as alone as this user can make it.

    Whoever attacks may wait for a quiet machine. So disks and other processes are kept out: the
    server's folder is in memory, and with ``going_first`` server and client go first.
    """
    memory = Path("/dev/shm")
    asked = {"method": "independent", "max_queries": 4 * number, "quantum_ms": quantum_ms}
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder,
        running(Path(folder) / "server", program, **asked) as server,
    ):
        yield server


def measured(program: list[str] | None, *, number: int, quantum_ms: int, seed: int = 0) -> Timings:
    """Timings of new and of repeated answers on one connection."""
    with alone(program, number, quantum_ms) as server:
        client = Clocked(server)
        fresh, requests = asked_of(client, number, seed)
        found, naps = [], []
        with going_first(server.process.pid):
            for place, request in enumerate(requests):
                found.append(client.asked(request))
                if place % 10 == 0:
                    naps.append(_overslept())
    begun_at, ended_at = np.array(found).T
    return Timings(np.array(fresh), begun_at, ended_at, float(np.mean(naps)))


def probed(program: list[str] | None, *, number: int, quantum_ms: int, seed: int = 0) -> Timings:
    """When answers leave while a question on another connection, new or repeated, is worked on.

    A probe is sent so that it is due at a tick, and the question just before that tick.
    """
    quantum = quantum_ms / 1000
    with alone(program, number, quantum_ms) as server:
        client, other = Clocked(server), Clocked(server)
        fresh, requests = asked_of(client, number, seed)
        probe = other.request("known 0", 0)
        found, naps = [], []
        with going_first(server.process.pid):
            ends = np.array([other.asked(probe)[1] for _ in range(100)])
            phase = float(np.median(ends % GRID)) - 0.0002  # about when the ticker wakes
            for place, request in enumerate(requests):
                tick = (int(time.perf_counter() / GRID) + 2) * GRID + phase
                leaves = tick + GRID * math.ceil((0.001 + quantum) / GRID)
                _sleep_until(tick + 0.001)
                other.send(probe)
                _sleep_until(leaves - 0.0008)
                client.send(request)
                found.append((leaves, other.answered()))
                client.answered()
                if place % 10 == 0:
                    naps.append(_overslept())
    begun_at, ended_at = np.array(found).T
    return Timings(np.array(fresh), begun_at, ended_at, float(np.mean(naps)))


def _sleep_until(moment: float) -> None:
    """To some microseconds: the last part is spent awake."""
    while (rest := moment - time.perf_counter()) > 0:
        if rest > 0.0004:
            time.sleep(rest - 0.0003)


def _overslept() -> bool:
    begun = time.perf_counter()
    time.sleep(_NAP)
    return time.perf_counter() - begun > _NAP + _OVERSLEPT


@contextmanager
def going_first(server: int) -> Iterator[None]:
    """A server's threads, and then this one, before all other processes; where that is allowed."""
    threads = [int(each) for each in os.listdir(f"/proc/{server}/task")]
    ranks = dict.fromkeys(threads, 2) | {0: 1}
    try:
        for thread, rank in ranks.items():
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(rank))
    except PermissionError:
        pass  # then the machine has to be quiet
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def statistics(timings: Timings) -> dict[str, tuple[str, NDArray[np.float64], int]]:
    """What a clock may show: how it is compared, of which times, and how many answers later.

    Asyncio sleeps for whole milliseconds, and answers leave on a grid: whoever knows that looks at
    the rest, which is a place on a circle.
    """
    took, ended = timings.took, timings.ended
    return {
        "longer": ("area", took, 0),
        "time": ("line", took, 0),
        "part of a millisecond": ("circle", took % 0.001, 0),
        "place in the grid": ("circle", ended % GRID, 0),
        "time of the next": ("line", took, 1),
    }


def differing(how: str, labels: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How far labels, in the order of what they stand for, are from mixed; one number for a row.

    "area": the chance that a fresh answer took longer than a repeated one, without the half.
    "line": the largest difference between the shares of both kinds up to a time (Kolmogorov and
    Smirnov). "circle": the same in both directions (Kuiper), whatever time begins it.
    """
    size = labels.shape[-1]
    fresh = labels.sum(axis=-1, keepdims=True)
    if how == "area":
        ranks = (labels * np.arange(1.0, size + 1)).sum(axis=-1) / fresh[..., 0]
        return np.abs((ranks - (fresh[..., 0] + 1) / 2) / (size - fresh[..., 0]) - 0.5)
    apart = np.cumsum(np.where(labels, 1 / fresh, -1 / (size - fresh)), axis=-1)
    if how == "line":
        return np.abs(apart).max(axis=-1)
    return apart.max(axis=-1) - apart.min(axis=-1)


def told_apart(timings: Timings, seed: int = 1, draws: int = 2500) -> list[str]:
    """By which numbers the kinds differ more than shuffled labels do; false alarms: 1 in 250."""
    chance, found = np.random.default_rng(seed), []
    wanted = statistics(timings)
    for name, (how, times, later) in wanted.items():
        labels, compared = timings.fresh[: len(times) - later], times[later:]
        value = float(differing(how, labels[np.argsort(compared)]))
        shuffled = chance.permuted(np.tile(labels, (draws, 1)), axis=1)
        band = float(np.quantile(differing(how, shuffled), 1 - 0.004 / len(wanted)))
        if value > band:
            found.append(f"{name} {value:.3f}, chance {band:.3f}")
    return found
