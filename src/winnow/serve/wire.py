"""Connections: requests that may not dawdle or have no end, and answers that leave in one piece."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from winnow.serve.problems import LOG
from winnow.serve.ticker import Ticker

PATIENCE = 10.0
"""Seconds within which the whole of a request has to be here."""
MOST_HEAD = 64 * 1024
Unreadable = Callable[[], tuple[int, list[tuple[bytes, bytes]], bytes]]
BACKLOG = 128
"""Connections that the system holds until they are accepted; a turn of the loop accepts as many."""
_BEGUN = 4 * BACKLOG
"""So many may have been accepted before the first of them is counted, some turns later."""
_OTHER_FILES = 128
"""Left for data, ledger, store, sessions and the processes that plan."""
_SELDOM = 60.0
"""Seconds between two lines of the log about one thing."""
_SHORT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def most_connections(wanted: int) -> int:
    """So many connections as are wanted, or as this process may have files for."""
    with suppress(ImportError):
        import resource

        reserved = _BEGUN + _OTHER_FILES
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < wanted + reserved:
            most = wanted + reserved
            soft = most if hard == resource.RLIM_INFINITY else min(hard, most)
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            return max(4, min(wanted, soft - reserved))
    return wanted


class Seldom:
    """Says something once, and then again at the earliest after a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._again = self._left_out = 0.0

    def warn(self, text: str, *values: object) -> None:
        """Write a line, unless one was written just now."""
        now = self._clock()
        if now < self._again:
            self._left_out += 1
            return
        LOG.warning(f"{text} (%d times more since the last such line)", *values, self._left_out)
        self._again, self._left_out = now + _SELDOM, 0.0


def quiet_handler() -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """What a loop does about its errors: to be short of files is said once, and waited out."""
    seldom = Seldom()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _SHORT_OF:
            seldom.warn("no connection can be accepted now: %s", errno.errorcode[error.errno])
        else:
            loop.default_exception_handler(context)

    return handle


class Doors:
    """All connections of a server: when there are as many as may be, the longest idle one goes.

    Idle is whoever has not sent the whole of a request, or has not read all of an answer.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[Wire] = set()
        self._idle: dict[Wire, None] = {}
        self._seldom = Seldom()

    def opened(self, wire: Wire) -> None:
        """Let a connection in, and another out where there is no room."""
        if len(self._open) >= self._most:
            self._seldom.warn("all %d connections are open; idle ones are closed", self._most)
            goes = next(iter(self._idle), wire)
            self.closed(goes)
            goes.transport.abort()
            if goes is wire:
                return
        self._open.add(wire)
        self._idle[wire] = None

    def closed(self, wire: Wire) -> None:
        """A connection has ended."""
        self._open.discard(wire)
        self._idle.pop(wire, None)

    def busy(self, wire: Wire) -> None:
        """The whole of a request is here."""
        self._idle.pop(wire, None)

    def answered(self, wire: Wire) -> None:
        """An answer was written; the connection waits for its client."""
        if wire in self._open:
            self._idle[wire] = None


class Wire(HttpToolsProtocol):
    """One connection. Whoever takes too long to ask, or has too much of a head, is cut off."""

    ticker: Ticker
    """Whose answers these are; one class of connections for each server."""
    unreadable: Unreadable
    """What is answered to what cannot be read."""
    doors: Doors
    _refused: asyncio.Task[None] | None = None
    _slow: asyncio.TimerHandle | None = None
    _unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first request is waited for as long as any other."""
        super().connection_made(_OnePiece(transport, self))  # type: ignore[arg-type]
        self._slow = self.loop.call_later(PATIENCE, self.transport.abort)
        self.doors.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._here()
        self.doors.closed(self)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """The answer is written, and the connection waits for its client."""
        super().on_response_complete()
        if self.cycle is None or self.cycle.response_complete:
            self.doors.answered(self)

    def sent(self, before: int | None = None) -> None:
        """Cut off whoever reads nothing of an answer for as long as one may take to ask."""
        left = self.transport.get_write_buffer_size()
        if before is not None and left >= before > 0:
            self.transport.abort()
        elif left:
            self.loop.call_later(PATIENCE, self.sent, left)

    def data_received(self, data: bytes) -> None:
        """A part of a request, or all of it, or several."""
        if self._refused is not None:
            return
        super().data_received(data)
        if self._refused is not None:
            return
        head = self.cycle is None or self.cycle.response_complete
        if not head and not self.cycle.more_body:
            self._here()
            self.doors.busy(self)
            return
        self._unread = self._unread + len(data) if head else 0
        if self._unread > MOST_HEAD:
            self.transport.abort()
        elif self._slow is None:
            self._slow = self.loop.call_later(PATIENCE, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read like anything else: padded, at its time; then end."""
        self._here()
        self._refused = self.loop.create_task(self._refuse(time.monotonic()))

    async def _refuse(self, arrival: float) -> None:
        status, headers, content = type(self).unreadable()
        await self.ticker.hold(arrival)
        named = [*self.server_state.default_headers, *headers, (b"connection", b"close")]
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in named)
        self.transport.write(STATUS_LINE[status] + lines + b"\r\n" + content)
        self.transport.close()

    def _here(self) -> None:
        """The whole of a request is here."""
        self._unread = 0
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None


def wire_of(ticker: Ticker, doors: Doors, unreadable: Unreadable) -> type[Wire]:
    """The connections of a server whose answers leave by this ticker."""
    shared = {"ticker": ticker, "doors": doors, "unreadable": staticmethod(unreadable)}
    return type("Wire", (Wire,), shared)


class _OnePiece:
    """A transport that sends what is written in one turn of the loop at once: head and body."""

    def __init__(self, transport: asyncio.Transport, wire: Wire) -> None:
        self._transport, self._wire = transport, wire
        self._loop, self._ticker = wire.loop, wire.ticker
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send it, with what is written next."""
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)

    def _flush(self) -> None:
        waiting, self._held = self._held, []
        if waiting and not self._transport.is_closing():
            whole = b"".join(waiting)
            self._ticker.depart()
            self._transport.write(whole)
            self._wire.sent()

    def close(self) -> None:
        """Send what is left, and end."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
