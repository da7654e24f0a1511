"""kill -9 at every step under load: whoever asks again under the same key loses nothing."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from serve.loading import question, write_config
from serve.test_crashes import STEPS
from winnow.privacy.ledger import Ledger
from winnow.serve.accounts import Accounts
from winnow.serve.config import read_config
from winnow.serve.service import Service

pytestmark = pytest.mark.extras

CLIENTS = 3
ASKING = (
    "before the session is asked",
    "before the ledger knows of it",
    "after the ledger knows of it",
    "before the answers are written",
    "after the answers are written",
)
"""Of questions; those of releases are ``STEPS``."""
MOMENTS = ("at some moment", "at some other moment")


class Asker(threading.Thread):
    """Asks until it is told to stop, under one key for each request; and again what it knows."""

    def __init__(self, number: int, address: str, token: str, enough: threading.Event) -> None:
        super().__init__()
        self._number = number
        self._client = httpx.Client(
            base_url=f"{address}/v1/datasets/people/", timeout=20, trust_env=False,
            headers={"authorization": f"Bearer {token}"},
        )  # fmt: skip
        self._enough, self.chance = enough, random.Random(number)
        self.seen: dict[str, Any] = {}
        self.changed: list[str] = []
        self.releases = 0

    def run(self) -> None:
        asked = 0
        while not self._enough.is_set():
            if asked % 4 == self._number % 4:
                order = {"kind": "select", "column": "sex", "epsilon": 0.001}
                self._send(f"r{asked}", "releases", {"order": order})
                self.releases += 1
            else:
                put = [question(self.chance.randrange(10**6)) for _ in range(asked % 3 + 1)]
                self._send(f"q{asked}", "questions", {"questions": put})
            self._send(*json.loads(self.chance.choice(list(self.seen))))
            asked += 1
        for known in list(self.seen):
            self._send(*json.loads(known))

    def _send(self, key: str, what: str, body: dict[str, Any]) -> None:
        name = json.dumps([key, what, body])
        while True:
            try:
                named = {"idempotency-key": f"{self._number} {key}"}
                answer = self._client.post(what, json=body, headers=named)
            except httpx.HTTPError:
                time.sleep(0.05)
                continue
            if answer.status_code < 400:
                break
            assert answer.status_code in (500, 503), answer.text
            time.sleep(0.05)
        told = answer.json()["id"] if what == "releases" else answer.json()["answers"]
        if self.seen.setdefault(name, told) != told:
            self.changed.append(name)


def around(owner: Any, name: str, before: str, after: str, step: Callable[[str], None]) -> None:
    """Steps before and after a function."""
    real = getattr(owner, name)

    def called(*given: Any, **named: Any) -> Any:
        step(before)
        found = real(*given, **named)
        step(after)
        return found

    setattr(owner, name, called)


def serve(config: str, last: str) -> None:
    """A server that ends itself when it comes to a step for the second time; empty: it does not."""
    from winnow.ask.independent import IndependentSession
    from winnow.serve.app import Server, http_server
    from winnow.serve.claims import Claims

    left = [2]

    def step(name: str) -> None:
        if last and name == last:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    around(IndependentSession, "ask_many", "before the session is asked", "", step)
    around(Ledger, "note_session", *ASKING[1:3], step)
    around(Claims, "settle", *ASKING[3:], step)
    if last in MOMENTS:
        moment = random.Random(last).uniform(0.3, 0.8)
        threading.Timer(moment, os.kill, (os.getpid(), signal.SIGKILL)).start()
    http_server(Server(Service(read_config(Path(config)), step=step))).run()


def die_at_each_step(config: str) -> None:
    """In a process of its own: one server after the other, of which the last one stays."""
    for last in (*ASKING, *STEPS, *MOMENTS, ""):
        child = os.fork()
        if not child:
            serve(config, last)
            os._exit(0)
        print(last or f"{child}", flush=True)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or not last, last


def test_killed_at_every_step_under_load_every_key_keeps_its_one_answer(tmp_path: Path) -> None:
    port, _ = write_config(tmp_path, quantum_ms=10, method="independent", max_queries=5000)
    config = tmp_path / "winnow.toml"
    service = Service(read_config(config))
    for name, declared in service.config.datasets.items():
        service.accounts.add_dataset(name, declared, by="test")
    tokens = [_token(service.accounts, f"a{number}") for number in range(CLIENTS)]
    enough = threading.Event()
    address = f"http://127.0.0.1:{port}"
    askers = [Asker(i, address, token, enough) for i, token in enumerate(tokens)]
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from serve.test_killed_under_load import die_at_each_step\n"
        f"die_at_each_step({str(config)!r})"
    )
    with (tmp_path / "log.txt").open("wb") as log:
        servers = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert servers.stdout is not None
    try:
        for asker in askers:
            asker.start()
        reached = [servers.stdout.readline().strip() for _ in ASKING + STEPS + MOMENTS]
        assert tuple(reached) == ASKING + STEPS + MOMENTS
        server = int(servers.stdout.readline())  # the last one runs: all before it were killed
        enough.set()
        for asker in askers:
            asker.join(60)
        assert not any(asker.is_alive() for asker in askers)
        for number, token in enumerate(tokens):
            _all_done(address, token, askers[number].releases)
        os.kill(server, signal.SIGTERM)
        servers.wait(30)
    finally:
        enough.set()
        servers.kill()
    assert not [name for asker in askers for name in asker.changed]
    ledger = Ledger.open(tmp_path / "winnow.ledger")
    assert ledger.verify().ok and service.store.verify_audit_log() == ""
    assert ledger.dataset("people").charges == 1 + sum(asker.releases for asker in askers), (
        "one for the session, and one for each release"
    )


def _token(accounts: Accounts, name: str) -> str:
    return accounts.new_token(name, "analyst", datasets=("people",), by="test")[1]


def _all_done(address: str, token: str, number: int) -> None:
    states: list[str] = []
    for _ in range(200):
        told = httpx.get(f"{address}/v1/jobs", headers={"authorization": f"Bearer {token}"})
        states = [each["state"] for each in told.json()["jobs"]]
        if states == ["done"] * number:
            return
        time.sleep(0.1)
    raise AssertionError(f"{number} releases: {states}")
