"""The command line, run in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any
from unittest.mock import patch

import typer.main

from winnow.cli import main

_made_once = cache(typer.main.get_command)
"""Typer makes all commands anew for each call, which takes half of the time of these tests."""


def winnow(*arguments: object, typed: str = "") -> dict[str, Any]:
    """Run ``winnow`` with arguments: its exit code and what it printed."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    given = io.TextIOWrapper(io.BytesIO(typed.encode()), "utf-8")
    code: Any = 0
    with (
        patch.object(typer.main, "get_command", _made_once),
        patch.object(sys, "argv", ["winnow", *map(str, arguments)]),
        patch.object(sys, "stdin", given),
        patch.object(sys, "stdout", streams[0]),
        patch.object(sys, "stderr", streams[1]),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    printed = {"out": _text(streams[0]), "err": _text(streams[1])}
    return {"exit": code} | {name: text for name, text in printed.items() if text}


def _text(stream: io.TextIOWrapper) -> str:
    held: io.BytesIO = stream.buffer  # type: ignore[assignment]
    return held.getvalue().decode("utf-8")


def in_turn(*lines: Sequence[object]) -> dict[str, Any]:
    """Several commands in one folder."""
    return {" ".join(map(str, line)): winnow(*line) for line in lines}
