"""A server with a small made-up table, for tests: in this process, with a short quantum."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from serve.canaries import CANARY, Listener
from serve.loading import free_port
from winnow.serve.app import Server, http_server
from winnow.serve.config import Config, Limits, check_config
from winnow.serve.declarations import Declaration, Questions
from winnow.serve.planning import PlanWorkers
from winnow.serve.service import Service

COLOURS = ["red", "green", "blue"]


def write_data(folder: Path) -> None:
    """A table of 300 rows, a log whose items are private, and baskets."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{COLOURS[i * i % 3]},{i % 10},{CANARY}{i}" for i in range(300)]
    (folder / "people.csv").write_text("\n".join(["colour,age,name", *rows]) + "\n")
    log = [f"p{i % 90},item{i % 7 if i % 11 else CANARY}" for i in range(400)]
    (folder / "log.csv").write_text("\n".join(["person,item", *log]) + "\n")
    lines = [",".join({f"b{i % 5}", f"b{i % 3}", CANARY if i == 7 else "b0"}) for i in range(200)]
    (folder / "baskets.csv").write_text("\n".join(lines) + "\n")


SCHEMA = {"colour": {"values": COLOURS}, "age": {"codes": 10}}


def declarations(**questions: Any) -> dict[str, Declaration]:
    """The datasets; the keywords change the session of questions."""
    asked = Questions(**{"epsilon": 4.0, "delta": 1e-6, "max_queries": 500} | questions)
    return {
        "people": Declaration(
            path="people.csv", schema=SCHEMA, epsilon=20.0, delta=1e-4, questions=asked
        ),
        "hidden": Declaration(path="people.csv", schema=SCHEMA, epsilon=1.0),
        "log": Declaration(
            kind="events", path="log.csv", item="item", person="person", max_per_person=3,
            epsilon=5.0, delta=1e-5,
        ),
        "baskets": Declaration(
            kind="baskets", path="baskets.csv", epsilon=5.0, delta=1e-5, max_items=4
        ),
    }  # fmt: skip


def config_of(folder: Path, **settings: Any) -> Config:
    """The configuration of a test's server."""
    limits = Limits(requests_per_second=1e5, burst=10**5, jobs_each=34, plans_each=34)
    given = {"listen": f"127.0.0.1:{free_port()}", "quantum_ms": 10, "limits": limits} | settings
    config = Config(folder=str(folder), **{"datasets": declarations()} | given)
    check_config(config)
    return config


PEOPLE = {
    "olga": ("owner", (), ""),
    "ann": ("analyst", ("people", "log", "baskets"), ""),
    "bob": ("analyst", ("people",), ""),
    "reader": ("analyst", ("people",), "read"),
    "auditor": ("owner", (), "audit"),
}


class Served:
    """Clients of a running server, one for each principal."""

    def __init__(self, server: Server, client: httpx.Client, tokens: dict[str, str]) -> None:
        self.server, self.client, self.tokens = server, client, tokens
        self.service = server.service

    def call(self, who: str | None, method: str, path: str, key: str | None = None, **more: Any):
        """One request."""
        headers = {} if who is None else {"authorization": f"Bearer {self.tokens[who]}"}
        if key is not None:
            headers["idempotency-key"] = key
        return self.client.request(method, path, headers=headers, **more)

    def released(self, who: str, dataset: str, key: str, **order: Any) -> dict[str, Any]:
        """A release, waited for by the clock of the store."""
        answer = self.call(
            who, "POST", f"/v1/datasets/{dataset}/releases", key, json={"order": order}
        )
        assert answer.status_code == 202, answer.text
        return self.waited(who, answer.json()["id"])

    def waited(self, who: str, identity: str) -> dict[str, Any]:
        """A job when it has ended; the clock is moved on instead of waiting for it."""
        for _ in range(2000):
            request = self.service.requests.request(identity)
            if request is not None and request.shown is not None:
                break
            time.sleep(0.01)
        real = self.service.requests.now
        self.service.requests.now = lambda: real() + 1e6
        try:
            return dict(self.call(who, "GET", f"/v1/jobs/{identity}").json())
        finally:
            self.service.requests.now = real


@cache
def shared_workers() -> PlanWorkers:
    """Processes that plan for all servers of a test run: to start some for each takes long."""
    workers = PlanWorkers(2, seconds=60.0, megabytes=2000)
    atexit.register(workers.close)
    return workers


@contextmanager
def serving(config: Config) -> Iterator[Served]:
    """A running server with the principals of ``PEOPLE``."""
    service = Service(config, workers=shared_workers())
    for name, declared in config.datasets.items():
        service.accounts.add_dataset(name, declared, by="test")
    tokens = {}
    for name, (role, datasets, scopes) in PEOPLE.items():
        seen = tuple(each for each in datasets if each in config.datasets)
        _, tokens[name] = service.accounts.new_token(
            name, role, scopes=scopes, datasets=seen, by="test"
        )
    with running(service) as (server, client):
        yield Served(server, client, tokens)


@contextmanager
def running(service: Service) -> Iterator[tuple[Server, httpx.Client]]:
    """A service behind a real socket, in a thread of this process; all that it says is heard."""
    server = Server(service)
    host, port = service.config.address
    http = http_server(server)
    listener = Listener()
    logging.getLogger().addHandler(listener)
    thread = threading.Thread(target=http.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not http.started and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert http.started, "the server did not start"
    hooks = {"response": [listener.answered]}
    try:
        with httpx.Client(
            base_url=f"http://{host}:{port}", timeout=60, trust_env=False, event_hooks=hooks
        ) as client:
            yield server, client
    finally:
        http.should_exit = True
        thread.join(30)
        logging.getLogger().removeHandler(listener)
        listener.measured(server.metrics.registry)
        assert not listener.heard, listener.heard
