"""What a server and the processes that plan for it send each other."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO

from winnow.privacy import Event
from winnow.serve import bodies
from winnow.serve.expectations import Expected

_LENGTH = struct.Struct(">Q")


@dataclass(frozen=True)
class Step:
    """One order that is to be looked at, with or without what it would be charged."""

    order: bodies.AnyOrder
    priced: bool


@dataclass(frozen=True)
class PlanTask:
    """What is to be planned: orders of one dataset under one accountant."""

    mark: str
    """Of the outline, which is sent once to each process."""
    outline: bytes | None
    accountant: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Made:
    """What to expect of an order, and the event that it would be charged, where it was asked."""

    expected: Expected
    event: Event | None


@dataclass(frozen=True)
class Refused:
    """A public reason against an order."""

    word: str
    detail: str


@dataclass(frozen=True)
class Failed:
    """An error that is for the owner: its type and its place."""

    text: str


@dataclass(frozen=True)
class OutOfMemory:
    """A plan needs more memory than it may have; the process ends."""


Answer = list[Made] | Refused | Failed | OutOfMemory


def read_frame(source: IO[bytes]) -> bytes | None:
    """One message; None: the other side has ended."""
    head = source.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = source.read(length)
    return content if len(content) == length else None


def write_frame(target: IO[bytes], content: bytes) -> None:
    """One message."""
    target.write(_LENGTH.pack(len(content)) + content)
    target.flush()
