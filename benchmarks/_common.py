"""What every benchmark shares: timing, the machine's description, the table and the JSON."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent


def arguments(description: str, name: str) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=HERE / f"{name}.json", help="JSON to write")
    parser.add_argument("--seed", type=int, default=0, help="seed of the made-up scores")
    return parser


def best_time(
    run: Callable[[], Any],
    repeats: int,
    at_least: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The shortest of several runs in seconds, the usual estimate without disturbance."""
    best, spent = float("inf"), 0.0
    done = 0
    while done < repeats or spent < at_least:
        start = clock()
        run()
        took = clock() - start
        best, spent, done = min(best, took), spent + took, done + 1
    return best


def machine() -> dict[str, Any]:
    """Where and when the figures were taken."""
    import numpy

    import winnow

    model = "unknown"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE
    ).stdout.strip()
    return {
        "cpu": model,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "winnow": winnow.__version__,
        "commit": commit or "unknown",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def report(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table."""
    table = Table(title=title, title_justify="left")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < 2 else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=150).print(table)


def save(path: Path, document: dict[str, Any]) -> None:
    """Write the figures with the machine they were taken on."""
    path.write_text(json.dumps({"machine": machine(), **document}, indent=1) + "\n")
    Console().print(f"written to {path.name}")


def opened(sealed: Any) -> Any:
    """The private value inside: benchmarks know the data that they measure on."""
    return sealed._content
