"""What a server and the processes that plan for it send each other."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO, Any

import msgspec

from winnow.privacy import Event, from_json, to_json
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


class _Plain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer as plain data: a server reads nothing from its processes that could be code."""

    kind: str
    made: list[tuple[Expected, dict[str, Any] | None]] = []
    word: str = ""
    text: str = ""


_DECODER = msgspec.msgpack.Decoder(_Plain)


def answer_bytes(answer: Answer) -> bytes:
    """What a process answers, for its server."""
    match answer:
        case Refused(word, detail):
            plain = _Plain("refused", word=word, text=detail)
        case Failed(text):
            plain = _Plain("failed", text=text)
        case OutOfMemory():
            plain = _Plain("memory")
        case made:
            events = [None if each.event is None else to_json(each.event) for each in made]
            expected = [each.expected for each in made]
            plain = _Plain("made", list(zip(expected, events, strict=True)))
    return msgspec.msgpack.encode(plain, enc_hook=float)


def answer_of(content: bytes) -> Answer:
    """The answer that a process wrote."""
    plain = _DECODER.decode(content)
    if plain.kind == "refused":
        return Refused(plain.word, plain.text)
    if plain.kind == "failed":
        return Failed(plain.text)
    if plain.kind == "memory":
        return OutOfMemory()
    return [
        Made(expected, None if event is None else from_json(event))
        for expected, event in plain.made
    ]


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
