"""kill -9 under load, again and again: whoever asks again under the same key loses nothing."""

import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from serve.loading import process_of, question, running
from winnow.privacy.ledger import Ledger

pytestmark = pytest.mark.extras

KILLS, CLIENTS, REQUESTS = 3, 3, 20


class Asker(threading.Thread):
    """Asks until it is answered, under one key for each request; and asks again what it knows."""

    def __init__(self, number: int, address: str, token: str) -> None:
        super().__init__()
        self._number, self._address, self._token = number, address, token
        self.seen: dict[str, Any] = {}
        self.changed: list[str] = []
        self.chance = random.Random(number)

    def run(self) -> None:
        for asked in range(REQUESTS):
            if asked % 10 == 9:
                order = {"kind": "select", "column": "sex", "epsilon": 0.01}
                self._send(f"r{asked}", "releases", {"order": order})
            else:
                put = question(self.chance.randrange(10**6))
                self._send(f"q{asked}", "questions", {"questions": [put]})
            known = self.chance.choice(list(self.seen))
            self._send(*json.loads(known))

    def _send(self, key: str, what: str, body: dict[str, Any]) -> None:
        name = json.dumps([key, what, body])
        while True:
            try:
                answer = httpx.post(
                    f"{self._address}/v1/datasets/people/{what}", json=body, timeout=20,
                    headers={"authorization": f"Bearer {self._token}",
                             "idempotency-key": f"{self._number} {key}"},
                )  # fmt: skip
            except httpx.HTTPError:
                time.sleep(0.2)
                continue
            if answer.status_code < 400:
                break
            assert answer.status_code in (500, 503), answer.text
            time.sleep(0.1)
        told = answer.json()["id"] if what == "releases" else answer.json()["answers"]
        if self.seen.setdefault(name, told) != told:
            self.changed.append(name)


def test_killed_under_load_every_key_keeps_its_one_answer(tmp_path: Path) -> None:
    settings = {"quantum_ms": 20, "method": "independent", "max_queries": 2000}
    chance = random.Random(7)
    with running(tmp_path, analysts=CLIENTS, **settings) as server:
        address = f"http://127.0.0.1:{server.port}"
        askers = [Asker(i, address, server.tokens[f"a{i}"]) for i in range(CLIENTS)]
        for asker in askers:
            asker.start()
        time.sleep(1 + chance.random())
        server.process.kill()
        server.process.wait()
    for kill in range(KILLS):
        with process_of(tmp_path, server.port) as process:
            if kill < KILLS - 1:
                time.sleep(0.5 + 2 * chance.random())
                process.kill()
                process.wait()
                continue
            for asker in askers:
                asker.join(120)
            assert not any(asker.is_alive() for asker in askers)
            token = {"authorization": f"Bearer {server.tokens['a0']}"}
            for _ in range(200):
                states = [
                    each["state"]
                    for each in httpx.get(f"{address}/v1/jobs", headers=token).json()["jobs"]
                ]
                if states == ["done"] * (REQUESTS // 10):
                    break
                time.sleep(0.2)
            assert states == ["done"] * (REQUESTS // 10)
    assert not [name for asker in askers for name in asker.changed]
    ledger = Ledger.open(tmp_path / "winnow.ledger")
    assert ledger.verify().ok
    assert ledger.dataset("people").charges == 1 + CLIENTS * REQUESTS // 10, (
        "one for the session, and one for each release"
    )
