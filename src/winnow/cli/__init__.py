"""The command line ``winnow``: thin shells over the library."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; the entry point of the command ``winnow``."""
    try:
        from winnow.cli.app import app

        for stream in (sys.stdout, sys.stderr):
            # A label that the terminal cannot show must not lose a result already paid for.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        app(prog_name="winnow")
    except KeyboardInterrupt:
        from winnow.cli.reporting import INTERRUPTED, report

        report(INTERRUPTED)
        sys.exit(130)
