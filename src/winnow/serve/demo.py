"""``winnow serve demo``: a server with made-up data, ready to be tried."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from winnow.cli.demo_log import MOST, write_log
from winnow.cli.demo_table import SCHEMA, write_people
from winnow.errors import DataError
from winnow.serve.app import Server, http_server
from winnow.serve.config import Config, check_config
from winnow.serve.declarations import Declaration, Questions
from winnow.serve.service import Service

DATASETS = {
    "people": Declaration(
        path="people.csv",
        schema=SCHEMA,
        epsilon=10.0,
        delta=1e-6,
        about="4,000 made-up people: how they live, and whether they feed birds",
        questions=Questions(epsilon=2.0, delta=1e-7, max_queries=20_000),
    ),
    "birds": Declaration(
        kind="events",
        path="sightings.csv",
        item="bird",
        person="person",
        max_per_person=MOST,
        epsilon=6.0,
        delta=1e-6,
        about="Birds that made-up people have seen; which birds there are is private, too",
    ),
}


@dataclass(frozen=True)
class Demo:
    """A prepared service, and the tokens that are shown once."""

    service: Service
    tokens: dict[str, str] = field(repr=False)
    _running: list[tuple[uvicorn.Server, threading.Thread]] = field(
        default_factory=list, repr=False
    )

    @property
    def address(self) -> str:
        """Where it is served."""
        return self.service.config.origin

    def start(self) -> None:
        """Serve in a thread of this process, until ``stop``."""
        served = http_server(Server(self.service))
        thread = threading.Thread(target=served.run, name="demo", daemon=True)
        thread.start()
        while not served.started:
            if not thread.is_alive():
                raise DataError(f"the demo could not be served at {self.address}")
            time.sleep(0.01)
        self._running.append((served, thread))

    def stop(self) -> None:
        """End what ``start`` began."""
        while self._running:
            served, thread = self._running.pop()
            served.should_exit = True
            thread.join()


def start_demo(folder: str | Path) -> Demo:
    """A server with made-up data in a thread of this process, to try ``wn.connect`` on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = prepare(Path(folder), port=port)
    made.start()
    return made


def prepare(folder: Path, *, port: int = 8100, quantum_ms: int = 100) -> Demo:
    """Write made-up data into a folder, and make an owner's token and two analysts' tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    write_people(folder)
    write_log(folder / "sightings.csv")
    config = Config(folder=str(folder), listen=f"127.0.0.1:{port}", quantum_ms=quantum_ms)
    check_config(config)
    service = Service(config)
    for name, declared in DATASETS.items():
        service.accounts.add_dataset(name, declared, by="demo")
    people: list[tuple[str, str, tuple[str, ...]]] = [
        ("olga", "owner", ()),
        ("ann", "analyst", tuple(DATASETS)),
        ("bob", "analyst", ("people",)),
    ]
    tokens = {
        name: service.accounts.new_token(name, role, datasets=seen, by="demo")[1]
        for name, role, seen in people
    }
    service.ledger.open_dataset("people", epsilon=10.0, delta=1e-6, relation="substitution")
    service.ledger.set_share("people", "ann", 0.5)
    service.ledger.set_share("people", "bob", 0.4)
    return Demo(service, tokens)
