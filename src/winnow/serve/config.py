"""The configuration of a server: one TOML file, checked whole before anything is opened."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from winnow.errors import DataError, ParameterError
from winnow.foreign import instead, reason
from winnow.privacy.ledger.addresses import has_password
from winnow.privacy.ledger.keys import check_private
from winnow.serve.declarations import Declaration, check_declaration
from winnow.serve.line import on_this_machine


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much one principal may ask, and how much waits at once."""

    requests_per_second: float = 50.0
    burst: int = 100
    """So many requests may come at once before the rate binds."""
    jobs: int = 2
    """Releases that are computed at the same time."""
    waiting_jobs: int = 32
    jobs_each: int = 8
    """Releases of one principal that have not appeared."""
    waiting_questions: int = 256
    """Requests with questions that wait for one dataset; a full queue is refused."""
    questions_each: int = 128
    """Waiting requests with questions of one principal."""
    plans: int = 2
    """Processes that plan. With two or more, one principal never has all of them."""
    waiting_plans: int = 32
    plans_each: int = 8
    """Plans and orders of one principal that are worked out or wait for it."""
    plan_seconds: float = 30.0
    plan_mb: int = 2000
    """Memory of one plan."""
    result_mb: int = 64
    """Of the document and of each file of a release: what would be larger is refused."""
    connections: int = 512
    """At once; whoever has been idle the longest makes room for a new one."""
    stop_seconds: float = 10.0
    """So long a server that is told to stop waits for what is on its way."""

    @property
    def result_bytes(self) -> int:
        """The most bytes of a document or a file."""
        return self.result_mb * 10**6


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a server needs to know; all but the folder has a default."""

    folder: str = "."
    """Where the server keeps its files; other paths are relative to it."""
    listen: str = "127.0.0.1:8100"
    metrics: str = ""
    """A second address for metrics, such as 127.0.0.1:8101; empty: none."""
    store: str = "winnow-serve.db"
    """An SQLite file, postgresql://..., or file:PATH of a file that holds the address."""
    ledger: str = "winnow.ledger"
    ledger_key: str = ""
    key: str = "winnow-serve.key"
    """The server's own key: it seals what must survive a crash, and chains the audit log."""
    quantum_ms: int = 100
    """Every answer leaves this long after its request."""
    behind_tls_proxy: bool = False
    """Says that a proxy with TLS stands in front; without it only loopback is served."""
    public_origin: str = ""
    """The address that browsers see, such as https://data.example.org; for checks of origin."""
    keep_answers_days: float = 90.0
    """So long an answer to questions is kept, and known again by its key; releases stay."""
    limits: Limits = Limits()
    datasets: dict[str, Declaration] = {}

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """The settings; an address of a database may hold a password, and is left out."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        for name in ("store", "ledger"):
            if "://" in shown[name]:
                shown[name] = "a database"
        return list(shown.items())

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen on."""
        return _address("listen", self.listen)

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Host and port of the metrics; None: there are none."""
        return _address("metrics", self.metrics) if self.metrics else None

    @property
    def origin(self) -> str:
        """The address under which browsers reach the pages."""
        host, port = self.address
        shown = f"[{host}]" if ":" in host else host
        return self.public_origin.rstrip("/") or f"http://{shown}:{port}"

    @property
    def home(self) -> Path:
        """Where the server keeps its files."""
        return Path(self.folder)

    def path(self, name: str) -> Path:
        """A path of the configuration, relative to the folder."""
        return self.home / name

    def place(self, name: str) -> str:
        """A path, or an address in its place."""
        if "://" in name:
            return name
        if name.startswith("file:"):
            return f"file:{self.path(name.removeprefix('file:'))}"
        return str(self.path(name))


def read_config(path: Path) -> Config:
    """The configuration in a file; what is wrong with it is said with the name of the setting."""
    with (
        instead(
            lambda error: DataError(f"the configuration {path} is not TOML: {reason(error)}"),
            tomllib.TOMLDecodeError,
            UnicodeDecodeError,
        ),
        instead(
            lambda error: DataError(f"cannot read the configuration {path}: {reason(error)}"),
            OSError,
        ),
    ):
        content = tomllib.loads(path.read_text("utf-8"))
    return checked_config(content, path)


def checked_config(content: dict[str, Any], path: Path) -> Config:
    """The configuration that plain data describe, for a file at this path."""
    problem = ""
    try:
        config = msgspec.convert(content, Config)
    except msgspec.ValidationError as error:
        problem = str(error)  # of a public file: it names the setting and the expected type
    if problem:
        raise ParameterError(f"the configuration {path}: {problem}")
    folder = Path(os.path.abspath(path)).parent / config.folder
    config = msgspec.structs.replace(config, folder=str(folder))
    if any("://" in each and has_password(each) for each in (config.store, config.ledger)):
        check_private(path, "the configuration, which holds a password,")
    check_config(config)
    return config


def check_config(config: Config) -> None:
    """Refuse what would be unsafe or could not run."""
    _positive("quantum_ms", config.quantum_ms, 10, 60_000)
    _positive("keep_answers_days", config.keep_answers_days, 1, 36_500)
    limits = config.limits
    _positive("limits.requests_per_second", limits.requests_per_second, 0.01, 1e6)
    _positive("limits.burst", limits.burst, 1, 10**6)
    _positive("limits.jobs", limits.jobs, 1, 64)
    _positive("limits.waiting_jobs", limits.waiting_jobs, 1, 10**4)
    _positive("limits.jobs_each", limits.jobs_each, 1, 10**4)
    _positive("limits.waiting_questions", limits.waiting_questions, 1, 10**5)
    _positive("limits.questions_each", limits.questions_each, 1, 10**5)
    _positive("limits.plans", limits.plans, 1, 64)
    _positive("limits.waiting_plans", limits.waiting_plans, 1, 1000)
    _positive("limits.plans_each", limits.plans_each, 1, 1000)
    _positive("limits.plan_seconds", limits.plan_seconds, 0.1, 3600)
    _positive("limits.plan_mb", limits.plan_mb, 100, 10**6)
    _positive("limits.result_mb", limits.result_mb, 1, 500)
    _positive("limits.connections", limits.connections, 4, 10**5)
    _positive("limits.stop_seconds", limits.stop_seconds, 0.1, 3600)
    host, _ = config.address
    if not config.behind_tls_proxy and not on_this_machine(host):
        raise ParameterError(
            f"listen = {config.listen!r} is not on this machine alone, and tokens would cross the "
            "network in plain text; put a proxy with TLS in front and set behind_tls_proxy = "
            "true, or listen on 127.0.0.1"
        )
    if config.metrics and not on_this_machine(_address("metrics", config.metrics)[0]):
        raise ParameterError(
            f"metrics = {config.metrics!r} is not on this machine alone; metrics have no tokens, "
            "so give a loopback address"
        )
    if config.behind_tls_proxy and not config.public_origin.startswith("https://"):
        raise ParameterError(
            "behind_tls_proxy = true needs public_origin = 'https://...', the address that "
            "browsers see: requests from other origins are refused by it"
        )
    for name, declared in config.datasets.items():
        check_declaration(name, declared)


def _address(name: str, text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not 0 <= int(port) < 65536 or not host:
        raise ParameterError(f"{name} = {text!r} is not host:port; write 127.0.0.1:8100")
    return host.strip("[]"), int(port)


def _positive(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ParameterError(f"{name} = {value} is not between {least:g} and {most:g}")
