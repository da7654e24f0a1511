"""How well a clock tells a fresh answer from a repeated one."""

from __future__ import annotations

import json
import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from serve.loading import Running, question, running

SLEEPING = """
import asyncio, sys, time
from winnow.serve.ticker import Ticker

async def hold(self, arrival):
    self.answers += 1
    await asyncio.sleep(self.due(arrival) - time.monotonic())

Ticker.hold = hold
from winnow.cli import main
sys.argv[0] = "winnow"
sys.argv.insert(1, "serve")
main()
"""
"""A twin of the server in which every answer sleeps for what is left of its quantum."""

KNOWN = 20


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

    def took(self, request: bytes) -> float:
        """Seconds until the answer begins; all of it is read."""
        begun = time.perf_counter()
        self._socket.sendall(request)
        first = self._socket.recv(65_536)
        took = time.perf_counter() - begun
        head, _, body = first.partition(b"\r\n\r\n")
        assert head[9:12] == b"200", head
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += self._socket.recv(65_536)
        return took


def timings(server: Running, number: int, seed: int) -> np.ndarray:
    """Rows of (fresh or not, seconds), in a random order."""
    client, chance = Clocked(server), random.Random(seed)
    for place in range(KNOWN):
        client.took(client.request(f"known {place}", place))
    asked = []
    for place in range(number):
        fresh, old = chance.random() < 0.5, chance.randrange(KNOWN)
        key, which = (
            (f"{seed} {place}", 1000 + 7 * place + seed) if fresh else (f"known {old}", old)
        )
        asked.append((fresh, client.request(key, which)))
    return np.array([(float(fresh), client.took(request)) for fresh, request in asked])


def measured(
    folder: Path, program: list[str] | None, *, number: int, connections: int, quantum_ms: int
) -> np.ndarray:
    """Timings of a server with independent noise on every new question."""
    asked = {"method": "independent", "max_queries": 4 * number, "quantum_ms": quantum_ms}
    with running(folder, program, **asked) as server, ThreadPoolExecutor(connections) as threads:
        each = [
            threads.submit(timings, server, number // connections, s) for s in range(connections)
        ]
        return np.concatenate([found.result() for found in each])


def area(rows: np.ndarray) -> float:
    """The chance that a fresh answer took longer than a repeated one; ties count half."""
    fresh, again = rows[rows[:, 0] == 1, 1], np.sort(rows[rows[:, 0] == 0, 1])
    below = np.searchsorted(again, fresh, "left") + np.searchsorted(again, fresh, "right")
    return float(below.sum() / (2 * len(fresh) * len(again)))


def distance(rows: np.ndarray) -> float:
    """The largest difference between the shares of fresh and of repeated answers up to a time."""
    order = rows[np.argsort(rows[:, 1]), 0]
    shares = [np.cumsum(order == label) / (order == label).sum() for label in (0, 1)]
    return float(np.abs(shares[0] - shares[1]).max())


def told_apart(rows: np.ndarray, seed: int = 1, draws: int = 1000) -> list[str]:
    """By which of the two numbers the kinds differ more than 99.8 % of shuffled labels do."""
    shuffled, chance = rows.copy(), np.random.default_rng(seed)
    areas, distances = [], []
    for _ in range(draws):
        shuffled[:, 0] = chance.permutation(rows[:, 0])
        areas.append(abs(area(shuffled) - 0.5))
        distances.append(distance(shuffled))
    found = (("area", abs(area(rows) - 0.5), areas), ("distance", distance(rows), distances))
    return [
        f"{name} {value:.3f}, chance {np.quantile(by_chance, 0.998):.3f}"
        for name, value, by_chance in found
        if value > np.quantile(by_chance, 0.998)
    ]
