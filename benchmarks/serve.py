"""The server under load, on this machine alone: bounded in count and in time.

    held     connections that ask one question after another, most of them asked before: answers
             a second, the time that one waits, and how many were late
    many     up to 1,000 questions in one request: answers a second
    memory   the server's memory before and after very many questions

A server in a process of its own on made-up data (20,000 rows, 9,600 cells), with the client in
this one: both share the machine, and whoever else uses it. What the server itself needs is its
processor time: ``cpu_share`` says how much of one core it got and used. On a machine that
others use, ``chrt -f 1 python benchmarks/serve.py`` lets server and client go first (``first``).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from _common import HERE, arguments, machine, report, save

sys.path.insert(0, str(HERE.parent / "tests" / "serve"))
from loading import Client, Running, question, running

PARTS = ["held", "many", "memory"]
CONNECTIONS = 64
REPEATED = 0.7


async def held(server: Running, seconds: float, seed: int) -> dict[str, Any]:
    """Each connection asks as soon as it is answered."""
    token = next(iter(server.tokens.values()))
    end = time.perf_counter() + seconds
    waits: list[float] = []
    failed = 0

    async def one(number: int) -> None:
        nonlocal failed
        chance, asked = random.Random(f"{seed} {number}"), 0
        async with Client(server.port, token) as client:
            while time.perf_counter() < end:
                again = chance.random() < REPEATED
                which = chance.randrange(50) if again else chance.randrange(10**6)
                status, took, _ = await client.ask(f"{seed} {number} {asked}", [question(which)])
                asked += 1
                waits.append(took)
                failed += status != 200

    before, begun, cpu = late_answers(server), time.perf_counter(), server.cpu
    await asyncio.gather(*map(one, range(CONNECTIONS)))
    took, cpu = time.perf_counter() - begun, server.cpu - cpu
    waits.sort()
    return {
        "connections": CONNECTIONS,
        "seconds": took,
        "answers": len(waits),
        "failed": failed,
        "answers_per_second": len(waits) / took,
        "p50_ms": 1000 * waits[len(waits) // 2],
        "p99_ms": 1000 * waits[int(0.99 * len(waits))],
        "late_share": (late_answers(server) - before) / len(waits),
        "cpu_ms_per_answer": 1000 * cpu / len(waits),
        "cpu_share": cpu / took,
    }


def late_answers(server: Running) -> float:
    """How many answers left after more than one quantum, as the server counts them."""
    address = f"http://127.0.0.1:{server.metrics}/metrics"
    with urllib.request.urlopen(address, timeout=10) as answer:
        for line in answer.read().decode().split("\n"):
            if line.startswith("winnow_late_answers_total "):
                return float(line.split()[1])
    return 0.0


async def many(server: Running, requests: int, together: int, seed: int) -> dict[str, Any]:
    """Requests with many questions each, on four connections."""
    token = next(iter(server.tokens.values()))
    waits: list[float] = []
    failed = 0

    async def one(number: int) -> None:
        nonlocal failed
        chance = random.Random(f"many {seed} {number}")
        async with Client(server.port, token) as client:
            for asked in range(requests // 4):
                chosen = [question(chance.randrange(10**6)) for _ in range(together)]
                status, took, _ = await client.ask(f"many {number} {asked} {seed}", chosen)
                waits.append(took)
                failed += status != 200

    begun, cpu = time.perf_counter(), server.cpu
    await asyncio.gather(*map(one, range(4)))
    took, cpu = time.perf_counter() - begun, server.cpu - cpu
    waits.sort()
    return {
        "questions_in_a_request": together,
        "requests": len(waits),
        "failed": failed,
        "answers_per_second": len(waits) * together / took,
        "p50_ms": 1000 * waits[len(waits) // 2],
        "cpu_us_per_answer": 1e6 * cpu / (len(waits) * together),
        "cpu_share": cpu / took,
    }


async def warmed(server: Running, seed: int) -> None:
    """It compiles and learns."""
    await held(server, 2.0, seed + 1)


def memory(server: Running, questions: int, seed: int) -> list[dict[str, Any]]:
    """Resident megabytes before, and after each tenth of the questions, 1,000 in a request."""
    rows = [{"questions": 0, "megabytes": server.memory / 2**20}]
    asked, part = 0, max(4, questions // 10_000)
    while asked < questions:
        found = asyncio.run(many(server, part, 1000, seed + asked + 1))
        asked += found["requests"] * 1000
        row = {"questions": asked, "megabytes": server.memory / 2**20, "failed": found["failed"]}
        rows.append({**row, "answers_per_second": found["answers_per_second"]})
    return rows


def main() -> None:
    parser = arguments(__doc__ or "", "serve")
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=PARTS, help="what is measured anew"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="of the held load")
    parser.add_argument("--requests", type=int, default=40, help="with many questions each")
    parser.add_argument("--together", type=int, default=500, help="questions in one of them")
    parser.add_argument("--questions", type=int, default=10**6, help="of the test of memory")
    options = parser.parse_args()
    document: dict[str, Any] = {}
    if options.out.exists():  # parts that are not measured now stay, each with its own machine
        document = json.loads(options.out.read_text())
        document.pop("machine")
    document["quantum_ms"] = 100
    for part in options.parts:
        with tempfile.TemporaryDirectory() as folder, running(Path(folder) / part) as server:
            others = os.getloadavg()[0]
            asyncio.run(warmed(server, options.seed))
            if part == "held":
                rows = [asyncio.run(held(server, options.seconds, options.seed))]
            elif part == "many":
                rows = [asyncio.run(many(server, options.requests, options.together, options.seed))]
            else:
                rows = memory(server, options.questions, options.seed)
        first = os.sched_getscheduler(0) == os.SCHED_FIFO
        document[part] = {"machine": machine(), "others": others, "first": first, "rows": rows}
        shown = [[f"{value:.4g}" for value in row.values()] for row in rows]
        report(part, list(rows[-1]), shown)
        save(options.out, document)


if __name__ == "__main__":
    main()
