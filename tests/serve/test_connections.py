"""Connections: so many at once, the longest idle ones make room, and a log that does not fill."""

import asyncio
import errno
import logging
import socket
import time
from pathlib import Path

import pytest

from serve.served import Served, config_of, serving, write_data
from winnow.serve import wire
from winnow.serve.config import Limits
from winnow.serve.wire import Seldom, most_connections, quiet_handler

ASK = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"


def opened(served: Served) -> socket.socket:
    made = socket.create_connection(served.service.config.address)
    made.settimeout(20)
    return made


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(4096) == b""
    except ConnectionError:
        return True


def test_the_longest_idle_connections_make_room_and_one_line_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_data(tmp_path)
    limits = Limits(connections=8, requests_per_second=1e5, burst=10**5)
    with serving(config_of(tmp_path, limits=limits, datasets={})) as served:
        with caplog.at_level(logging.WARNING):
            kept = opened(served)
            strangers = []
            for _ in range(40):
                strangers.append(opened(served))
                kept.sendall(ASK)  # whoever asks is not idle
                assert kept.recv(4096).startswith(b"HTTP/1.1 200")
            assert all(is_closed(each) for each in strangers[:32])
            newest = opened(served)
            newest.sendall(ASK)
            assert newest.recv(4096).startswith(b"HTTP/1.1 200")
        lines = [each.getMessage() for each in caplog.records]
        assert len(lines) == 1 and "all 8 connections are open" in lines[0]
        for each in (kept, newest, *strangers):
            each.close()


def test_whoever_reads_nothing_of_an_answer_is_cut_off(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "PATIENCE", 0.1)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(served.service.config.address)
        connection.settimeout(20)
        connection.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n" * 200)
        doors = served.server.doors
        number = connection.getsockname()[1]
        deadline = time.monotonic() + 60
        while any(each.client and each.client[1] == number for each in list(doors._open)):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_to_be_short_of_files_is_said_once() -> None:
    now, lines = [0.0], []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    wire.LOG.addHandler(handler)
    try:
        loop = asyncio.new_event_loop()
        handle = quiet_handler()
        for _ in range(10_000):
            handle(loop, {"message": "accept", "exception": OSError(errno.EMFILE, "too many")})
        assert len(lines) == 1 and "EMFILE" in lines[0]
        seldom = Seldom(lambda: now[0])
        for moment in (0.0, 1.0, 59.0, 60.0):
            now[0] = moment
            seldom.warn("full")
        assert [line.count("(2 times more") for line in lines[1:]] == [0, 1]
        loop.close()
    finally:
        wire.LOG.removeHandler(handler)


def test_there_are_no_more_connections_than_files(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    held = [(1152, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: held[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: held.append(pair))
    assert most_connections(512) == 512 and len(held) == 1
    assert most_connections(2000) == 2000 and held[-1] == (2640, 4096)
    assert most_connections(10_000) == 4096 - 640 and held[-1] == (4096, 4096)
