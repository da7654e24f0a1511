"""What a server says, listened to by its tests: no answer, log or metric may show private text."""

from __future__ import annotations

import logging
import urllib.parse
from typing import Any

import httpx
from prometheus_client import generate_latest

CANARY = "zq7canary"
"""Stands in the private data alone: neither in a schema nor in a list of items."""


class Listener(logging.Handler):
    """Remembers where the canary was seen; what a request itself named may come back."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.heard: list[str] = []
        self.answers = self.lines = 0

    def emit(self, record: logging.LogRecord) -> None:
        """A line of a log, with its traceback if it has one."""
        self.lines += 1
        if CANARY in logging.Formatter().format(record):
            self.heard.append(f"log: {record.name} {record.levelname}")

    def answered(self, response: httpx.Response) -> None:
        """An answer: its head and its body."""
        self.answers += 1
        request = response.request
        asked = urllib.parse.unquote(str(request.url)).encode() + request.read()
        said = response.read() + str(list(response.headers.raw)).encode()
        if CANARY.encode() in said and CANARY.encode() not in asked:
            self.heard.append(f"answer: {request.method} {request.url}")

    def measured(self, registry: Any) -> None:
        """All metrics."""
        if CANARY.encode() in generate_latest(registry):
            self.heard.append("metrics")
