"""How the cost of a selection grows with the number of queries, drawn from the JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

STYLES = {
    (500, 1000): ("#10406b", "-", "o"),
    (32_561, 1000): ("#c0392b", "--", "s"),
    (32_561, 100): ("#2e8b57", "-.", "^"),
}


def growth(document: dict[str, Any], folder: Path) -> None:
    """Milliseconds per selection against m, ours and a dense scan."""
    rows = document["synthetic"]
    figure, axis = plt.subplots(figsize=(6.4, 4.4))
    for (n, rounds), (colour, line, mark) in STYLES.items():
        chosen = [row for row in rows if (row["n"], row["rounds"]) == (n, rounds)]
        axis.plot(
            [row["m"] for row in chosen],
            [row["select_seconds"] * 1e3 for row in chosen],
            line, color=colour, marker=mark, label=f"lazy, n = {n:,}, T = {rounds:,}",
        )  # fmt: skip
    dense = {row["m"]: row["dense_seconds"] for row in rows}
    axis.plot(list(dense), [1e3 * t for t in dense.values()], ":", color="black", marker="D",
              label="dense float32 scan")  # fmt: skip
    axis.set(
        xscale="log", yscale="log", xlabel="queries m", ylabel="milliseconds per selection",
        title="Random binary queries, 3,000 cells: one private selection",
    )  # fmt: skip
    axis.set_ylim(top=3e4)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "release_growth.png", dpi=130)
    plt.close(figure)
