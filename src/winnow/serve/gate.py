"""What stands around every request: a limit on its body, and a clock that tells nothing.

The whole answer is made first, padded and held; then it leaves, in one piece, at its time. This is
as true of errors, refusals and pages as of answers.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response

from winnow.serve.problems import ProblemBody, Refusal, internal, log_failure
from winnow.serve.ticker import Ticker

T = TypeVar("T")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
Direct = Callable[[MutableMapping[str, Any], bytes], Awaitable[Response | None]]
"""The shortest way to an answer; None: it is the application's."""

MOST_BYTES = 64 * 1024
MOST_DEPTH = 32
_PADDED = 512
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.?)*+"?|[][{}]', re.DOTALL)
_PADDABLE = (b"application/json", b"application/problem+json", b"text/html")

HEADERS: dict[str, str] = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""On every answer; pages have a policy of their own."""


_RECEIVE = "winnow.receive"


async def has_left(scope: MutableMapping[str, Any]) -> None:
    """Return when whoever sent the request, which was read whole, has gone."""
    receive: Receive = scope[_RECEIVE]
    while (await receive())["type"] != "http.disconnect":
        pass


class Gate:
    """The outermost application."""

    def __init__(
        self, app: App, direct: Direct, ticker: Ticker, *, tls: bool, counted: Callable[[int], None]
    ) -> None:
        self._app, self._direct, self._ticker, self._counted = app, direct, ticker, counted
        headers = dict(HEADERS)
        if tls:
            headers["strict-transport-security"] = "max-age=31536000"
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One request, or the beginning and the end of the server."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets
            return
        refused: Refusal | None = None
        body = b""
        try:
            body = await _whole_body(scope, receive)
        except Refusal as error:
            refused = error
        except ConnectionError:
            return
        arrival = time.monotonic()
        scope[_RECEIVE] = receive
        answer = _Answer()
        if refused is not None:
            answer.problem(refused.problem)
        else:
            try:
                direct = await self._direct(scope, body)
                if direct is None:
                    await self._app(scope, _replayed(body), answer.take)
                else:
                    answer.whole(direct)
            except Exception as error:
                told = internal()
                log_failure(f"a request failed with {told.id}", error)
                answer = _Answer()
                answer.problem(told)
        start, content = answer.finished(self._headers)
        self._counted(start["status"])
        await self._ticker.hold(arrival)
        await send(start)
        await send({"type": "http.response.body", "body": content})

    def unreadable(self) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """The answer to what is no HTTP: status, headers and body, as of any other refusal."""
        answer = _Answer()
        answer.problem(Refusal("unreadable", "this is not an HTTP/1.1 request").problem)
        start, content = answer.finished(self._headers)
        self._counted(start["status"])
        return start["status"], start["headers"], content


class _Answer:
    """An answer that is collected before any of it is sent."""

    def __init__(self) -> None:
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []

    async def take(self, message: Message) -> None:
        """A piece of the answer, as the application sends it."""
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self._body.append(message.get("body", b""))

    def whole(self, response: Response) -> None:
        """An answer in one piece."""
        self._status, self._headers = response.status_code, response.raw_headers
        self._body = [bytes(response.body)]

    def problem(self, told: ProblemBody) -> None:
        """A problem in the place of an answer."""
        self._status = told.status
        self._headers = [(b"content-type", b"application/problem+json")]
        self._body = [msgspec.json.encode(told)]

    def finished(self, headers: list[tuple[bytes, bytes]]) -> tuple[Message, bytes]:
        """The whole answer: padded, with its length and the headers that all have."""
        content = b"".join(self._body)
        own = {name.lower(): value for name, value in self._headers}
        if own.get(b"content-type", b"").split(b";")[0] in _PADDABLE:
            content += b" " * (-len(content) % _PADDED)
        kept = [(n, v) for n, v in self._headers if n.lower() != b"content-length"]
        kept += [(n, v) for n, v in headers if n not in own]
        kept.append((b"content-length", b"%d" % len(content)))
        return {"type": "http.response.start", "status": self._status, "headers": kept}, content


async def _whole_body(scope: MutableMapping[str, Any], receive: Receive) -> bytes:
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value) > MOST_BYTES):
            raise _too_large()
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        piece = message.get("body", b"")
        size += len(piece)
        if size > MOST_BYTES:
            raise _too_large()
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)


def _too_large() -> Refusal:
    return Refusal("too-large", f"a body has at most {MOST_BYTES:,} bytes")


def _replayed(body: bytes) -> Receive:
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def check_depth(body: bytes) -> None:
    """Refuse JSON that is nested deeper than any body needs, before it is decoded."""
    if body.count(b"[") + body.count(b"{") <= MOST_DEPTH:
        return
    depth = 0
    for bracket in _BRACKETS.finditer(body):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(bracket[0], 0)
        if depth > MOST_DEPTH:
            raise Refusal("unreadable", f"the body is nested deeper than {MOST_DEPTH} levels")


def decoded(decoder: msgspec.json.Decoder[T], content: bytes) -> T:
    """The body of a request; what is wrong with it is said by the names of its fields."""
    check_depth(content)
    problem = ""
    try:
        return decoder.decode(content)
    except msgspec.ValidationError as error:
        word, problem = "invalid", _plainly(str(error))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        word, problem = "unreadable", "the body is not JSON in UTF-8"
    raise Refusal(word, problem)


_WORDS = {
    "float": "a number", "int": "a whole number", "str": "a text", "bool": "true or false",
    "array": "a list", "object": "an object", "null": "nothing",
}  # fmt: skip
_QUOTED = re.compile(r"`(\w+(?: \| \w+)*)`")
_PLACE = re.compile(r"(.*) - at `\$\.?(.*)`$", re.DOTALL)


def _kinds(quoted: re.Match[str]) -> str:
    words = quoted[1].split(" | ")
    return " or ".join(_WORDS[each] for each in words) if set(words) <= set(_WORDS) else quoted[0]


def _plainly(problem: str) -> str:
    """What is wrong with a body, in the words of the documents: first where, then what."""
    match = _PLACE.match(problem)
    what, where = (problem, "") if match is None else match.groups()
    what = _QUOTED.sub(_kinds, what)
    return f"{where}: {what[:1].lower()}{what[1:]}" if where else what
