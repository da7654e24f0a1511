"""What `benchmarks/ledger.py` measured, as tables."""

from __future__ import annotations

from benchmark_tables import Document, measured
from table_text import span, table


@measured("ledger")
def ledger_length(document: Document) -> str:
    """The time of a charge against the number of entries."""
    lines = [
        [row["store"], f"{row['entries']:,}",
         *(span(row[name] / 1000) for name in ("charge_ms", "left_ms", "note_data_ms"))]
        for row in document.get("length", [])
    ]  # fmt: skip
    head = ["store", "entries", "a charge", "what is left", "a session on a table"]
    return table(head, lines, right=4)


@measured("ledger")
def ledger_load(document: Document) -> str:
    """Many processes that charge at once."""
    lines = [
        [row["store"], str(row["processes"]), f"{row['a_second']:.0f}", span(row["p50_s"]),
         span(row["p99_s"]), f"{row['granted']:,} of {row['allowed']:,}", str(row["overspent"]),
         str(row["lost"])]
        for row in document.get("load", [])
    ]  # fmt: skip
    head = ["store", "processes", "charges a second", "median wait", "99 of 100 wait at most",
            "granted", "over-spent", "lost"]  # fmt: skip
    races = " ".join(
        f"Of {row['openings']} openings of a new {row['store']} ledger, four at once, "
        f"{row['failed']} failed."
        for row in document.get("race", [])
    )
    met: dict[str, int] = {}
    for row in document.get("damage", []):
        met[row["met"]] = met.get(row["met"], 0) + row["times"]
    errors = ", ".join(f"{times:,} `{name}`" for name, times in sorted(met.items()))
    busy = document.get("others", 0.0)
    days = ", ".join(f"{part} {day}" for part, day in document.get("days", {}).items())
    return (
        f"The load average of the machine was {busy:.1f}. Days of measuring: {days}.\n\n"
        + table(head, lines, right=7)
        + f"\n{races} {sum(met.values()):,} damaged copies of a spent ledger: {errors}; "
        f"{met.get('GRANTED', 0)} granted.\n"
    )


TABLES = (ledger_length, ledger_load)
"""Each is written to docs/_generated under its name."""
