"""Counting people per item with a bound per person, against DuckDB's own unbounded count.

A log is made up in a temporary folder (60 million rows, 2 million people, 200,000 items, whole
numbers and texts), and counted in processes of their own: by DuckDB's count(distinct user) per
item, with the same memory limit (it may spill) and with none, and by `wn.counts` with at most 8
items per person. CPU time is that of the counting process, memory its peak.
Run: python benchmarks/counting.py [--rows N] [--memory 2GB] [--quick]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import arguments, report, save

PEOPLE_PER_ROW, ITEMS, BOUND = 1 / 30, 200_000, 8


def make_log(path: Path, rows: int, *, text: bool) -> None:
    """Items of about power-law popularity; everyone has about 30 rows."""
    import duckdb

    people = max(1, int(rows * PEOPLE_PER_ROW))
    user = f"hash(7 * r + 1) % {people}"
    item = f"floor({ITEMS} * pow((hash(3 * r + 2) % 16777216) / 16777216.0, 3))::INTEGER"
    columns = (
        f"'user-' || ({user}) AS \"user\", 'item-' || ({item}) AS item"
        if text
        else f'({user})::INTEGER AS "user", {item} AS item'
    )
    connection = duckdb.connect(config={"preserve_insertion_order": "false"})
    connection.execute(
        f"COPY (SELECT {columns} FROM range({rows}) t(r)) TO '{path}' (FORMAT parquet)"
    )
    connection.close()


def count_by_duckdb(path: str, memory: str, folder: str) -> int:
    import duckdb

    settings = {"temp_directory": folder, "preserve_insertion_order": "false"}
    if memory != "no limit":
        settings["memory_limit"] = memory
    connection = duckdb.connect(config=settings)
    asked = f"SELECT item, count(DISTINCT \"user\") FROM read_parquet('{path}') GROUP BY item"
    return len(connection.execute(asked).fetchall())


def count_by_winnow(path: str, memory: str, _: str) -> int:
    import winnow as wn

    wn.counts(path, item="item", person="user", max_items=BOUND, reading=wn.Reading(memory=memory))
    return 0


def child(how: str, path: str, memory: str, folder: str) -> None:
    """Count once and print what it took, imports left out."""
    import winnow.read.counts
    import winnow.read.engines.duck  # noqa: F401

    before, start = _cpu(), time.perf_counter()
    {"duckdb": count_by_duckdb, "winnow": count_by_winnow}[how](path, memory, folder)
    took = {"wall": time.perf_counter() - start, "cpu": _cpu() - before}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({**took, "peak_gb": peak}))


def measured(how: str, path: Path, memory: str) -> dict[str, Any]:
    """One run in a process of its own, in an empty folder that is looked at afterwards."""
    with tempfile.TemporaryDirectory(prefix="counting-") as folder:
        command = [sys.executable, str(Path(__file__).resolve()), "--child"]
        ran = subprocess.run(
            [*command, how, str(path), memory, folder],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
            env={**os.environ, "TMPDIR": folder},
        )
        stray = sum(1 for found in Path(folder).rglob("*") if found.is_file())
    figures: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return {**figures, "stray_files": stray}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = arguments(str(__doc__), "counting")
    parser.add_argument("--rows", type=int, default=60_000_000)
    parser.add_argument("--memory", default="2GB", help="the limit of both")
    parser.add_argument("--quick", action="store_true", help="2 million rows")
    options = parser.parse_args()
    rows = 2_000_000 if options.quick else options.rows
    figures: dict[str, Any] = {"rows": rows, "memory": options.memory}
    table: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="log-") as folder:
        for kind in ("whole numbers", "texts"):
            path = Path(folder) / "log.parquet"
            make_log(path, rows, text=kind == "texts")
            runs = {
                "DuckDB, no limit": measured("duckdb", path, "no limit"),
                "DuckDB, same limit": measured("duckdb", path, options.memory),
                "winnow": measured("winnow", path, options.memory),
            }
            own, base = runs["winnow"], runs["DuckDB, same limit"]
            figures[kind] = {
                **runs,
                "cpu_ratio": own["cpu"] / base["cpu"],
                "wall_ratio": own["wall"] / base["wall"],
            }
            for name, run in runs.items():
                table.append(
                    [
                        kind,
                        name,
                        f"{run['cpu']:.1f} s",
                        f"{run['wall']:.1f} s",
                        f"{run['cpu'] / base['cpu']:.2f}",
                        f"{run['wall'] / base['wall']:.2f}",
                        f"{run['peak_gb']:.2f} GB",
                        str(run["stray_files"]),
                    ]
                )
            path.unlink()
    columns = ["ids", "counted by", "CPU", "wall", "CPU ratio", "wall ratio", "peak", "stray files"]
    report(f"People per item, {rows:,} rows, memory {options.memory}", columns, table)
    save(options.out, figures)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:6])
    else:
        main()
