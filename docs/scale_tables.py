"""The cost model of the page on scale: constants measured on one core, and what follows.

Every constant is read from benchmarks/*.json; the rest is arithmetic on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmark_tables import read
from table_text import power, rounded, short, size, span, table

import winnow as wn

USERS, EVENTS, ITEMS, CORES = 10**9, 20, 10**7, 100
"""The example of the cluster: people, events of each, different items, cores."""


def per_candidate() -> float | None:
    """Seconds per candidate of one selection, on the largest inputs and the slowest scores."""
    rows = (read("selection") or {}).get("results", [])
    mine = [row for row in rows if row["method"] == "winnow permute-and-flip"]
    largest = max((row["d"] for row in mine), default=0)
    return max((row["ns_per_item"] / 1e9 for row in mine if row["d"] == largest), default=None)


def per_call() -> float | None:
    """Seconds of a call on ten thousand candidates: nearly all of it is the fixed cost."""
    rows = (read("selection") or {}).get("results", [])
    return max(
        (row["ns_per_item"] * row["d"] / 1e9 for row in rows
         if row["method"] == "winnow permute-and-flip" and row["d"] == 10_000),
        default=None,
    )  # fmt: skip


def per_row(kind: str) -> float | None:
    """CPU seconds per row of a log that is counted."""
    document = read("counting") or {}
    row = document.get(kind, {}).get("winnow")
    return row["cpu"] / document["rows"] if row else None


def counting_peak() -> float | None:
    """Peak memory of counting in GB, the larger of the two kinds."""
    document = read("counting") or {}
    peaks = [
        document[kind]["winnow"]["peak_gb"]
        for kind in ("whole numbers", "texts")
        if "winnow" in document.get(kind, {})
    ]
    return max(peaks, default=None)


def _largest_log() -> str:
    rows = (read("counting") or {}).get("rows")
    return "–" if rows is None else f"{rows:,}"


def _release_row(m: int, n: int, rounds: int) -> dict[str, Any] | None:
    rows = (read("release") or {}).get("synthetic", [])
    wanted = (m, n, rounds)
    return next((row for row in rows if (row["m"], row["n"], row["rounds"]) == wanted), None)


def per_entry() -> float | None:
    """Seconds per entry of a dense product: what a full scan of a workload would cost."""
    row = _release_row(1_000_000, 32_561, 1000)
    return row["dense_seconds"] / (row["m"] * 3000) if row else None


def _joint(k: int) -> dict[str, Any] | None:
    rows = (read("topk") or {}).get("joint", [])
    return max((r for r in rows if r["k"] == k), key=lambda r: r["joint_ms"], default=None)


def _lp() -> dict[str, Any] | None:
    rows = (read("lp") or {}).get("speed", [])
    return max(rows, key=lambda row: row["m"], default=None)


def _bytes_per_cell() -> float:
    """What a cell of the domain takes in `wn.release`, with all that goes with it."""
    about = wn.plan.table({"a": 100, "b": 100, "c": 100}, rows=10**6)
    plan = wn.plan.mwem_bounds(about, wn.marginals(1), epsilon=1.0, rounds=10)
    return plan.memory / plan.cells


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def scale_costs() -> str:
    """One line for each task: how its cost grows, and the constant that was measured."""
    lines = [
        ["`wn.select`, oneshot `wn.top_k`", "c d + c₀",
         f"c = {span(per_candidate())}, c₀ below {span(per_call())}", "selection.json"],
    ]  # fmt: skip
    for k in (10, 200):
        row = _joint(k)
        if row:
            lines.append(
                [f"`wn.top_k`, joint, k = {k}", "read d, sort a head; worst: sort d",
                 f"{short(row['joint_ms'])} ms at d = {row['d']:,} (a sort: "
                 f"{short(row['argsort_ms'])} ms)", "topk.json"]
            )  # fmt: skip
    for kind in ("whole numbers", "texts"):
        lines.append(
            [f"`wn.counts`, {kind}", "c × rows of the log", f"c = {span(per_row(kind))} of CPU",
             "counting.json"]
        )  # fmt: skip
    for m in (10_000, 100_000, 1_000_000):
        row = _release_row(m, 32_561, 1000)
        if row:
            lines.append(
                [f"`wn.release`, a round, m = {m:,}, 3,000 cells",
                 "the queries that can win; the cells of one",
                 f"{span(row['select_seconds'])} + {span(row['update_seconds'])}", "release.json"]
            )  # fmt: skip
    lines.append(
        ["the same by a full scan", "c m \\|X\\|", f"c = {span(per_entry())}", "release.json"]
    )
    lp = _lp()
    if lp:
        lines.append(
            [f"`wn.lp`, a round, {lp['m']:,} rows", "preparing: c m; a round: as signal asks",
             f"c = {span(lp['setup_s'] / lp['m'])}; {span(lp['ours_us'] / 1e6)} at sensitivity "
             f"{lp['sensitivity']:g}", "lp.json"]
        )  # fmt: skip
    durable = (read("interactive") or {}).get("durable")
    if durable:
        lines.append(
            ["`ask` of a session", "the cells a question touches; a fresh answer: c \\|X\\|",
             f"{span(durable['median_us'] / 1e6)}; fresh {span(durable['fresh_ms'] / 1e3)}",
             "interactive.json"]
        )  # fmt: skip
    return table(["task", "grows with", "measured, one core", "file"], lines)


def scale_machine() -> str:
    """What fits into 16 GB, by what takes the space."""
    memory = 16 * 10**9
    bits = wn.random_queries(1_000_000).memory({"x": 3000}) / 1_000_000
    candidates = memory // 8
    cell = _bytes_per_cell()
    lines = [
        ["candidates or counts (int64)", "8 B each", rounded(candidates),
         f"one selection: {span(_times(per_candidate(), candidates))}"],
        ["cells of a domain in `wn.release`", f"about {cell:.0f} B each", rounded(memory / cell),
         "and the workload beside it"],
        ["random queries over 3,000 cells", f"{bits:.0f} B each", rounded(memory / bits),
         f"a full scan: {span(_times(per_entry(), memory / bits * 3000))} a round; lazy: below"],
        ["rows of a log in `wn.counts`", "not kept", "as many as there are",
         f"peak {short(counting_peak())} GB at {_largest_log()} rows, in parts"],
    ]  # fmt: skip
    return table(["what", "takes", "in 16 GB", ""], lines)


def scale_cluster() -> str:
    """A top 100 of the events of 10^9 people, part by part."""
    rows = USERS * EVENTS
    numbers, texts = per_row("whole numbers"), per_row("texts")
    each = per_candidate()
    lines = [
        ["count people per item, whole numbers", f"{rounded(rows)} rows",
         span(_times(numbers, rows)), span(_times(numbers, rows / CORES))],
        ["the same with texts", f"{rounded(rows)} rows",
         span(_times(texts, rows)), span(_times(texts, rows / CORES))],
        ["pairs that travel between machines", "16 B each", size(16 * rows), "once"],
        ["select from the counts", f"{power(ITEMS)} items", span(_times(each, ITEMS)),
         "not needed"],
        ["select from one score per person", f"{power(USERS)} candidates",
         span(_times(each, USERS)), span(_times(each, USERS / CORES))],
    ]  # fmt: skip
    return table(["step", "size", "one core", f"{CORES} cores"], lines, right=2)


def scale_tried() -> str:
    """How large the inputs were that something was really run on."""
    largest = [
        ("events in a log that was counted", (read("counting") or {}).get("rows")),
        ("candidates of a selection", _largest("selection", "results", "d")),
        ("queries of a release", _largest("release", "synthetic", "m")),
        ("rows of a table that was released", _largest("release", "adult", "n")),
        ("cells of its domain", (read("release") or {}).get("large", {}).get("cells")),
        ("rows of a linear program", _largest("lp", "speed", "m")),
    ]
    lines = [[what, f"{number:,.0f}"] for what, number in largest if number]
    return table(["largest that was tried", "here"], lines, right=1)


_ENGINES = {
    "kept": "a private top 100, counts kept in DuckDB",
    "memory": "the same, counts collected",
    "spark": "the same, counts kept in Spark",
    "scores": "ten of so many scores in a Parquet file",
    "tables": "all pairs of eight columns, rows in DuckDB",
    "rows": "a private top 100 of rows in Parquet files, five items a person",
}


def scale_engines() -> str:
    """What stays in an engine: CPU time and memory of this process."""
    figures = (read("engines") or {}).get("figures", [])
    lines = [
        [_ENGINES[row["case"]], f"{row['size']:,}", span(row["cpu_seconds"]),
         size(row["peak_gb"] * 1e9)]
        for row in sorted(
            (row for row in figures if row["case"] in _ENGINES),
            key=lambda row: (list(_ENGINES).index(row["case"]), row["size"]),
        )
    ]  # fmt: skip
    return table(["what", "items or rows", "CPU time", "peak memory"], lines, right=3)


def scale_counting() -> str:
    """People per item by an engine's own words and by `wn.counts`, in CPU seconds."""
    figures = (read("engines") or {}).get("figures", [])
    lines = []
    for row in figures:
        for each in row.get("counting", []):
            took = each["cpu_seconds"]
            own = took["its own words"]
            ratios = (took[name] / own for name in took if name != "its own words")
            shown = [f"{ratio:.2f}" for ratio in ratios]
            shown += ["–"] * (3 - len(shown))
            lines.append([each["engine"], each["people"], f"{row['size']:,}", span(own), *shown])
    head = ["engine", "people are", "rows", "its own count(distinct)"]
    head += ["`wn.counts`", "at most 5 items each", "the same from a file"]
    return table(head, lines, right=5)


def _largest(name: str, part: str, key: str) -> float | None:
    rows = (read(name) or {}).get(part, [])
    rows = rows.values() if isinstance(rows, dict) else rows
    return max((row[key] for row in rows), default=None)


TABLES: tuple[Callable[[], str], ...] = (
    scale_costs,
    scale_machine,
    scale_cluster,
    scale_tried,
    scale_engines,
    scale_counting,
)
"""Each is written to docs/_generated under its name."""
