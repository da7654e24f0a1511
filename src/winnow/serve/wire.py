"""Connections: requests that may not dawdle or have no end, and answers that leave in one piece."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from winnow.serve.ticker import Ticker

PATIENCE = 10.0
"""Seconds within which the whole of a request has to be here."""
MOST_HEAD = 64 * 1024
Unreadable = Callable[[], tuple[int, list[tuple[bytes, bytes]], bytes]]


class Wire(HttpToolsProtocol):
    """One connection. Whoever takes too long to ask, or has too much of a head, is cut off."""

    ticker: Ticker
    """Whose answers these are; one class of connections for each server."""
    unreadable: Unreadable
    """What is answered to what cannot be read."""
    _refused: asyncio.Task[None] | None = None
    _slow: asyncio.TimerHandle | None = None
    _unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first request is waited for as long as any other."""
        super().connection_made(_OnePiece(transport, self))  # type: ignore[arg-type]
        self._slow = self.loop.call_later(PATIENCE, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._here()
        super().connection_lost(exc)

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


def wire_of(ticker: Ticker, unreadable: Unreadable) -> type[Wire]:
    """The connections of a server whose answers leave by this ticker."""
    return type("Wire", (Wire,), {"ticker": ticker, "unreadable": staticmethod(unreadable)})


class _OnePiece:
    """A transport that sends what is written in one turn of the loop at once: head and body."""

    def __init__(self, transport: asyncio.Transport, wire: Wire) -> None:
        self._transport, self._loop, self._ticker = transport, wire.loop, wire.ticker
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send it, with what is written next."""
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held and not self._transport.is_closing():
            whole = b"".join(held)
            self._ticker.depart()
            self._transport.write(whole)

    def close(self) -> None:
        """Send what is left, and end."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
