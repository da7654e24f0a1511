"""What the time of a call tells of the data, as measured by benchmarks/timing.py."""

from __future__ import annotations

from benchmark_tables import Document, measured
from table_text import span, table


@measured("timing")
def call_times(document: Document) -> str:
    """The span of median times, and for each pair of data sets AUC and ratio."""
    results = document.get("results", [])
    pairs = [(pair["one"], pair["other"]) for pair in results[0]["pairs"]] if results else []
    lines = [
        [row["mechanism"], _span(list(row["seconds"].values())),
         *(f"{pair['auc']:.2f} ({pair['ratio']:.2f})" for pair in row["pairs"])]
        for row in results
    ]  # fmt: skip
    head = ["", "median of a call", *(f"{one} / {other}" for one, other in pairs)]
    return (
        f"{document.get('size', 0):,} candidates for the selections. AUC, and in brackets the "
        "ratio of the medians.\n\n" + table(head, lines, right=1 + len(pairs))
    )


def _span(seconds: list[float]) -> str:
    low, high = span(min(seconds)), span(max(seconds))
    return low if low == high else f"{low} to {high}"


TABLES = (call_times,)
"""Each is written to docs/_generated under its name."""
