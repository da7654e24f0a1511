"""How well a clock tells a fresh answer from a repeated one: areas under the curve."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import numpy as np

from serve.loading import Client, question, running

TWIN = """
import sys
from winnow.serve.ticker import Ticker

async def hold(self, arrival):
    self.answers += 1

Ticker.hold = hold
from winnow.cli import main
sys.argv[0] = "winnow"
sys.argv.insert(1, "serve")
main()
"""
"""A twin of the server that holds nothing back."""


async def timings(port: int, token: str, number: int, connections: int) -> np.ndarray:
    """Rows of (fresh or not, seconds), in a random order on several connections."""
    known = [question(each) for each in range(20)]
    found: list[tuple[float, float]] = []
    async with Client(port, token) as client:
        for place, each in enumerate(known):
            status, _, _ = await client.ask(f"known {place}", [each])
            assert status == 200

    async def one(which: int) -> None:
        chance = random.Random(which)
        async with Client(port, token) as client:
            for asked in range(number // connections):
                fresh, old = chance.random() < 0.5, chance.randrange(len(known))
                new = question(1000 + which + connections * asked)
                key = f"{which} {asked}" if fresh else f"known {old}"
                status, took, _ = await client.ask(key, [new if fresh else known[old]])
                assert status == 200
                found.append((float(fresh), took))

    await asyncio.gather(*map(one, range(connections)))
    return np.array(found)


def area(rows: np.ndarray) -> float:
    """The chance that a fresh answer took longer than a repeated one; ties count half."""
    fresh, again = rows[rows[:, 0] == 1, 1], rows[rows[:, 0] == 0, 1]
    order = np.sort(again)
    below = np.searchsorted(order, fresh, "left") + np.searchsorted(order, fresh, "right")
    return float(below.sum() / (2 * len(fresh) * len(again)))


def band(rows: np.ndarray, seed: int = 1, draws: int = 2000) -> tuple[float, float]:
    """Between which areas 99.8 % of shuffled labels lie."""
    shuffled, chance = rows.copy(), np.random.default_rng(seed)
    areas = []
    for _ in range(draws):
        shuffled[:, 0] = chance.permutation(rows[:, 0])
        areas.append(area(shuffled))
    return float(np.quantile(areas, 0.001)), float(np.quantile(areas, 0.999))


def measured(
    folder: Path, *, program: list[str] | None, number: int, connections: int, quantum_ms: int
) -> np.ndarray:
    """Timings of a server with independent noise on every new question."""
    settings = {"method": "independent", "max_queries": 4 * number, "quantum_ms": quantum_ms}
    with running(folder, program, **settings) as server:
        return asyncio.run(timings(server.port, server.tokens["a0"], number, connections))
