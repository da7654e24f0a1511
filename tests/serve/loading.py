"""A server in a process of its own, and a client that is small enough to measure it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = {
    "age": {"codes": 20},
    "town": {"codes": 20},
    "job": {"codes": 12},
    "sex": {"values": ["f", "m"]},
}
"""9,600 cells: more different questions than anybody asks."""

ROWS = 20_000


def free_port() -> int:
    """A port on this machine that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass(frozen=True)
class Running:
    """A server that runs: where it is, whose tokens it knows, and its process."""

    port: int
    metrics: int
    tokens: dict[str, str]
    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> int:
        """Resident bytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def write_config(folder: Path, **settings: Any) -> tuple[int, int]:
    """Made-up data and a configuration; the ports of the server and of its metrics."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{i * i % 20},{i % 20},{i * 7 % 12},{'fm'[i % 2]}" for i in range(ROWS)]
    (folder / "people.csv").write_text("\n".join(["age,town,job,sex", *rows]) + "\n")
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    port, metrics = free_port(), free_port()
    lines = {"quantum_ms": 100, "method": "auto", "epsilon": 10.0, "max_queries": 10**7}
    lines |= settings
    (folder / "winnow.toml").write_text(
        f"""
listen = "127.0.0.1:{port}"
metrics = "127.0.0.1:{metrics}"
quantum_ms = {lines["quantum_ms"]}
[limits]
requests_per_second = 100000
burst = 100000
waiting_questions = 4096
[datasets.people]
path = "people.csv"
schema = "schema.json"
epsilon = 100
delta = 1e-6
[datasets.people.questions]
epsilon = {lines["epsilon"]}
delta = 1e-7
max_queries = {lines["max_queries"]}
method = "{lines["method"]}"
"""
    )
    return port, metrics


@contextmanager
def running(
    folder: Path, program: list[str] | None = None, analysts: int = 1, **settings: Any
) -> Iterator[Running]:
    """A server on made-up data, and tokens of analysts; ended at the end."""
    port, metrics = write_config(folder, **settings)
    config = str(folder / "winnow.toml")
    winnow = [sys.executable, "-m", "winnow", "serve"]
    tokens = {}
    for number in range(analysts):
        made = [*winnow, "token", "new", f"a{number}", "--dataset", "people", "--config", config]
        tokens[f"a{number}"] = subprocess.run(
            made, check=True, capture_output=True, text=True
        ).stdout.strip()
    with process_of(folder, port, program) as process:
        yield Running(port, metrics, tokens, process, folder)


@contextmanager
def process_of(
    folder: Path, port: int, program: list[str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """The process of a server that is up; told to stop at the end, if it still runs."""
    words = [*(program or [sys.executable, "-m", "winnow", "serve"])]
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [*words, "--config", str(folder / "winnow.toml")], stdout=log, stderr=log
        )
        try:
            asyncio.run(_until_up(port, process))
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def _until_up(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
            continue
        writer.close()
        return
    raise AssertionError("the server did not start")


class Client:
    """One connection that is kept."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token

    async def __aenter__(self) -> Client:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, key: str, questions: list[dict[str, Any]]) -> tuple[int, float, bytes]:
        """Status, seconds, and body."""
        body = json.dumps({"questions": questions}).encode()
        head = (
            f"POST /v1/datasets/people/questions HTTP/1.1\r\nhost: localhost\r\n"
            f"authorization: Bearer {self._token}\r\nidempotency-key: {key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        begun = time.perf_counter()
        self._writer.write(head.encode() + body)
        first = await self._reader.readuntil(b"\r\n\r\n")
        took = time.perf_counter() - begun
        length = int(first.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return int(first[9:12]), took, await self._reader.readexactly(length)


def question(number: int) -> dict[str, Any]:
    """One of many different questions."""
    return {
        "age": {"from": number % 19, "to": number % 19 + 1 + number // 19 % (20 - number % 19)},
        "town": number // 361 % 20,
        "job": [number // 7220 % 12, number // 86640 % 12],
    }


def main() -> None:
    """Try it: a server that runs until a line comes in."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
        print(server.port, server.tokens)
        sys.stdin.readline()


if __name__ == "__main__":
    main()
