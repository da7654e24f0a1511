"""Run a command of Winnow in this process."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from typer import testing
from typer.testing import CliRunner, Result

from winnow.cli.app import app

__all__ = ["app", "invoke"]

# Typer's runner makes all commands anew for each call, which takes longer than most of the calls.
testing._get_command = cache(testing._get_command)


def invoke(arguments: Iterable[object], **options: Any) -> Result:
    """What the command with these words says, and its exit code."""
    return CliRunner().invoke(app, [str(word) for word in arguments], **options)
