"""Counts, scores and tables that stay in an engine: time, and the memory of the driver.

    kept     a private top 100 of 10^6 to 10^8 items whose counts stay in DuckDB with little memory:
             seconds, CPU seconds, peak memory
    spark    the same in Spark
    memory   the same with the counts collected, where that is bearable
    scores   ten of 10^6 to 10^8 candidates with real scores in Parquet files, streamed
    tables   all pairs of eight columns of a table in DuckDB
    counting people per item of a log, by DuckDB and by Spark, in turn: the engine's own
             count(distinct), `wn.counts`, and with at most five items each; least CPU of three
    rows     a private top 100 of 10^9 rows in Parquet files, five items per person, 2 GB allowed

Each case runs in a process of its own, imports left out of its time: its peak memory is that of
the whole process, DuckDB included; of Spark's Java only the driver's Python counts. Generated data.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from _common import arguments, report, save

FIGURES = ("seconds", "cpu_seconds", "peak_gb")
LIMIT = "600MB"
"""What DuckDB may use."""


def connected(folder: Path) -> Any:
    """A DuckDB of the user's own, which may spill."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET memory_limit = '{LIMIT}'")
    connection.execute(f"SET temp_directory = '{folder / 'spilled'}'")
    connection.execute("SET preserve_insertion_order = false")
    return connection


def written(folder: Path, name: str, query: str) -> Path:
    """A generated Parquet file."""
    path = folder / f"{name}.parquet"
    connected(folder).execute(f"COPY ({query}) TO '{path}'")
    return path


def log_of(folder: Path, items: int) -> Path:
    """Every item once, and a fifth as many rows more of the first items."""
    more = f"SELECT CAST(floor(pow(hash(i) % 1000003 / 1000003.0, 6) * {items}) AS BIGINT)"
    return written(
        folder,
        "log",
        f"SELECT i AS item FROM range({items}) a(i) UNION ALL {more} FROM range({items // 5}) b(i)",
    )


def kept(folder: Path, items: int, keep: str = "engine") -> None:
    """A private top 100 of items found in the data."""
    import winnow as wn

    connection = connected(folder)
    source = (connection, f"SELECT * FROM read_parquet('{folder / 'log.parquet'}')")
    counts = wn.counts(
        source, item="item", reading=wn.Reading(keep=keep, parts=max(1, items // 6_000_000))
    )
    assert len(wn.top_k(counts, k=100, epsilon=1.0, delta=1e-9).value) <= 100


def on_spark(folder: Path, items: int) -> None:
    """The same on Spark."""
    import winnow as wn

    frame = session().read.parquet(str(folder / "log.parquet"))
    counts = wn.counts(frame, item="item", reading=wn.Reading(keep="engine"))
    assert len(wn.top_k(counts, k=100, epsilon=1.0, delta=1e-9).value) <= 100


def scores(folder: Path, items: int) -> None:
    """Ten of the candidates of a file."""
    import winnow as wn

    found = wn.scores(folder / "scores.parquet", id="item", score="gain")
    assert len(wn.select(found, epsilon=1.0, k=10).value) == 10


def tables(folder: Path, items: int) -> None:
    """All pairs of eight columns."""
    import winnow as wn

    connection = connected(folder)
    source = (connection, f"SELECT * FROM read_parquet('{folder / 'rows.parquet'}')")
    table = wn.read_table(
        source, schema={f"c{i}": 8 for i in range(8)}, reading=wn.Reading(keep="engine")
    )
    assert len(wn.tabulate(table, wn.marginals(2), epsilon=1.0).value.tables) == 28


def pairs_of(folder: Path, rows: int) -> None:
    """A log of pairs: eight rows for each person, 5,000 items."""
    person = f"(hash(i) % {rows // 8})::BIGINT"
    for name, who in (("pairs", person), ("texts", f"'person ' || {person}")):
        pair = f"{who} AS u, 'item ' || hash(i + 1) % 5000 AS i"
        written(folder, name, f"SELECT {pair} FROM range({rows}) t(i)")


def counting(folder: Path, engine: str, times: int = 3) -> list[dict[str, Any]]:
    """CPU seconds of people per item: by the engine's own words, and by `wn.counts`."""
    import_module("sqlglot.dialects")
    found = []
    for people in ("pairs", "texts"):
        path = str(folder / f"{people}.parquet")
        plain, source, used = duck_ways(folder, path) if engine == "DuckDB" else spark_ways(path)
        ways = {
            "its own words": plain,
            "wn.counts": partial(counted, source, None),
            "at most 5 each": partial(counted, source, 5),
        }
        if engine == "DuckDB":
            ways["at most 5 each, from the file"] = partial(counted, path, 5)
        least = dict.fromkeys(ways, float("inf"))
        for _ in range(times):
            for name, ask in ways.items():
                before = used()
                ask()
                least[name] = min(least[name], used() - before)
        kind = "whole numbers" if people == "pairs" else "texts"
        found.append({"engine": engine, "people": kind, "cpu_seconds": least})
    return found


def counted(source: Any, bound: int | None) -> None:
    """People per item of a log."""
    import winnow as wn

    wn.counts(source, item="i", person="u", max_items=bound, reading=wn.Reading(keep="memory"))


Ways = tuple[Callable[[], Any], Any, Callable[[], float]]
"""The engine's own count, the source, and the CPU time used up to now."""


def duck_ways(folder: Path, path: str) -> Ways:
    """A DuckDB of the user's own."""
    connection, log = connected(folder), f"SELECT * FROM read_parquet('{path}')"
    plain = f"SELECT i, count(DISTINCT u) FROM ({log}) GROUP BY i"
    return lambda: connection.execute(plain).fetchall(), (connection, log), time.process_time


def spark_ways(path: str) -> Ways:
    """Spark on this machine, Java and Python."""
    from pyspark.sql import functions

    spark = session()
    frame = spark.read.parquet(path)
    java = spark.sparkContext._gateway.proc.pid

    def used() -> float:
        ticks = Path(f"/proc/{java}/stat").read_text().rpartition(")")[2].split()
        own = sum(map(int, ticks[11:13])) / os.sysconf("SC_CLK_TCK")
        return own + time.process_time()

    def plain() -> Any:  # a frame that is asked again would answer from what it shuffled before
        return frame.groupBy("i").agg(functions.count_distinct("u")).collect()

    return plain, frame, used


def rows_of_files(folder: Path, items: int) -> None:
    """A private top 100 of a log in files, within the memory that is the default."""
    import winnow as wn

    log = str(folder / "people*.parquet")
    counts = wn.counts(log, item="item", person="user", max_items=5)
    assert len(wn.top_k(counts, k=100, epsilon=1.0, delta=1e-9).value) <= 100


def people_of(folder: Path, rows: int, at_once: int = 10**8) -> None:
    """Files of about 30 rows for each person, and 200,000 items of about power-law popularity."""
    user = f"(hash(7 * r + 1) % {max(1, rows // 30)})::INTEGER"
    item = "floor(200000 * pow((hash(3 * r + 2) % 16777216) / 16777216.0, 3))::INTEGER"
    for first in range(0, rows, at_once):
        some = f"range({first}, {min(first + at_once, rows)}) t(r)"
        columns = f'{user} AS "user", {item} AS item'
        written(folder, f"people{first // at_once}", f"SELECT {columns} FROM {some}")


def session() -> Any:
    """Spark on this machine, with the Java of the wheel."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from servers import java_home, local_session

    home = java_home(Path(tempfile.mkdtemp()))
    os.environ |= {"PYSPARK_PYTHON": sys.executable} | ({"JAVA_HOME": home} if home else {})
    return local_session(cores=2)


CASES: dict[str, Callable[[Path, int], Any]] = {
    "kept": kept,
    "memory": lambda folder, items: kept(folder, items, "memory"),
    "spark": on_spark,
    "scores": scores,
    "tables": tables,
    "counting": lambda folder, items: counting(folder, "DuckDB"),
    "spark counting": lambda folder, items: counting(folder, "Spark"),
    "rows": rows_of_files,
}


def run_case(name: str, folder: Path, items: int) -> None:
    """One case; its figures go to the last line of the output."""
    for module in ("winnow.read.counts", "winnow.read.engines.registry", "winnow.select.verb"):
        import_module(module)
    start, before = time.perf_counter(), time.process_time()
    answer = CASES[name](folder, items)
    figures: dict[str, Any] = {"counting": answer} if answer else {}
    figures |= {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - before,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }
    sys.stdout.write(json.dumps(figures) + "\n")


def measured(name: str, folder: Path, items: int) -> dict[str, Any]:
    """A case in a process of its own."""
    command = [sys.executable, __file__, "--case", name, "--folder", str(folder)]
    done = subprocess.run([*command, "--items", str(items)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} of {items}: {done.stderr[-400:]}")
    return {"case": name, "size": items, **json.loads(done.stdout.splitlines()[-1])}


LARGEST = {"kept": 10**8, "spark": 10**8, "scores": 10**8, "memory": 10**6, "rows": 10**9}
"""How far each case goes; the others to 10^7."""


def all_cases(sizes: list[int], cases: list[str]) -> list[dict[str, Any]]:
    """Every case, from small to large."""
    found = []
    for items in sizes:
        wanted = [name for name in cases if items <= LARGEST.get(name, 10**7)]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            if {"kept", "memory", "spark"} & set(wanted):
                log_of(folder, items)
            if "scores" in wanted:
                gain = "(hash(i) % 1000003) / 1000.0"
                scored = f"SELECT i AS item, {gain} AS gain FROM range({items}) t(i)"
                written(folder, "scores", scored)
            if "tables" in wanted:
                columns = ", ".join(f"(hash(i + {c}) % 8)::INT AS c{c}" for c in range(8))
                written(folder, "rows", f"SELECT {columns} FROM range({items}) t(i)")
            if {"counting", "spark counting"} & set(wanted):
                pairs_of(folder, items)
            if "rows" in wanted:
                people_of(folder, items)
            for name in wanted:
                found.append(measured(name, folder, items))
                sys.stderr.write(f"{found[-1]}\n")
    return found


def main() -> None:
    """Run everything, print the table and write the file."""
    parser = arguments(__doc__ or "", "engines")
    parser.add_argument("--sizes", default="1000000,10000000,100000000", help="how many items")
    parser.add_argument("--cases", default=",".join(CASES), help="which cases")
    parser.add_argument("--case", help="run one case in this process")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--items", type=int)
    given = parser.parse_args()
    if given.case:
        run_case(given.case, given.folder, given.items)
        return
    found = all_cases([int(s) for s in given.sizes.split(",")], given.cases.split(","))
    columns = ["case", "size", "seconds", "CPU seconds", "peak GB"]
    rows = [
        [each["case"], f"{each['size']:,}", *(f"{each[name]:.3g}" for name in FIGURES)]
        for each in found
    ]
    report("counts, scores and tables in an engine", columns, rows)
    others = os.getloadavg()[0]  # of other users of the machine, too
    save(given.out, {"duckdb_memory": LIMIT, "others": others, "figures": found})


if __name__ == "__main__":
    main()
