"""A Sphinx extension: tables that are written from the code and the benchmark at build time.

They land in docs/_generated, which is not under version control, and pages include them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from winnow.errors import GuaranteeError
from winnow.privacy import (
    ApproxDP,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    calibrate_rounds,
    paper_round_epsilon,
    pure_cost,
    rows,
    zcdp_cost,
)

HERE = Path(__file__).parent
BENCHMARK = HERE.parent / "benchmarks" / "selection.json"


def table(head: Sequence[str], lines: Iterable[Sequence[str]], right: int = 0) -> str:
    """A Markdown table whose last `right` columns are numbers."""
    rule = ["---"] * (len(head) - right) + ["--:"] * right
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines)) + "\n"


def guarantees() -> str:
    """The guarantee table of winnow.privacy, one part for each reduction and what it releases."""
    parts: dict[tuple[str, str, str], list[list[str]]] = {}
    for row in rows():
        holds = " and ".join(row.relations)
        part = parts.setdefault((row.reduction, row.released, holds), [])
        part.append([row.law, f"`{row.charge}`", row.citation])
    return "\n".join(
        f"**{reduction}** releases {released}. Holds under {holds}.\n\n"
        + table(["noise", "charged", "why"], lines)
        for (reduction, released, holds), lines in parts.items()
    )


def events() -> str:
    """What one event of each kind costs, computed by the accountants."""
    relation = "add-remove"
    pure = PureDP(1, relation)
    examples: list[tuple[str, Event]] = [
        ("PureDP(1)", pure),
        ("BoundedRange(1)", BoundedRange(1, relation)),
        ("ApproxDP(1, 1e-6)", ApproxDP(1, 1e-6, relation)),
        ("DiscreteLaplace(1)", DiscreteLaplace(1, relation)),
        ("Gaussian(1)", Gaussian(1, relation)),
        ("CappedRounds(10, 0.03, 56)", CappedRounds(10, 0.03, 56, relation)),
        ("Repeat(BoundedRange(1), 10)", Repeat(BoundedRange(1, relation), 10)),
        (
            "Compose((PureDP(1), BoundedRange(1)))",
            Compose((pure, BoundedRange(1, relation))),
        ),
        ("Truncated(BoundedRange(1), 1e-6)", Truncated(BoundedRange(1, relation), 1e-6)),
    ]
    lines = []
    for name, event in examples:
        try:
            epsilon = f"{float(pure_cost(event).epsilon):.4g}"
        except GuaranteeError:
            epsilon = "refused"
        cost = zcdp_cost(event)
        lines.append([f"`{name}`", epsilon, f"{float(cost.rho):.4g}", f"{float(cost.delta):.4g}"])
    return table(["event", "epsilon (pure)", "rho (zcdp)", "delta"], lines, right=3)


def rounds() -> str:
    """What T rounds of selection and measurement get at (1, 1e-6), by three ways to size them."""
    lines = []
    for count in (10, 100, 1000):
        half = paper_round_epsilon(1, 1e-6, count) / 2
        deviation = math.sqrt(2) / half  # of the Laplace noise that the paper adds
        lines.append([str(count), "FastMWEM, Alg. 1", f"{half:.4f}", f"{deviation:.1f}"])
        for accountant in ("zcdp", "tight"):
            plan = calibrate_rounds(
                count, epsilon=1, delta=1e-6, relation="substitution", accountant=accountant
            )
            noise, selection = plan.noise_multiplier, plan.selection_epsilon
            lines.append([str(count), f"`{accountant}`", f"{selection:.4f}", f"{noise:.1f}"])
    return table(["rounds", "sized by", "selection epsilon", "noise / sensitivity"], lines, right=2)


def performance() -> str:
    """The figures of benchmarks/selection.json, or a sentence that they are missing."""
    if not BENCHMARK.exists():
        return (
            "No figures: `benchmarks/selection.json` is not there. "
            "`make bench` writes it; build the pages again after that.\n"
        )
    document = json.loads(BENCHMARK.read_text())
    results: list[dict[str, Any]] = document["results"]
    sizes = sorted({result["d"] for result in results})
    methods = list(dict.fromkeys(result["method"] for result in results))
    parts = [_machine(document["machine"], document["epsilon"])]
    for d in sizes:
        at = [result for result in results if result["d"] == d]
        shapes = list(dict.fromkeys(result["scores"] for result in at))
        figures = {(result["method"], result["scores"]): result for result in at}
        lines = [
            [method, *(_figure(figures.get((method, shape))) for shape in shapes)]
            for method in methods
            if any((method, shape) in figures for shape in shapes)
        ]
        parts += [f"**{d:,} candidates**\n", table(["ns per item", *shapes], lines, len(shapes))]
    memory = document.get("extra_peak_memory_mb") or {}
    known = [[f"{int(d):,}", f"{mb:.1f}"] for d, mb in memory.items() if mb is not None]
    if known:
        parts += ["**Memory**\n", table(["candidates", "MB"], known, right=2)]
    return "\n".join(parts)


def release_speed() -> str:
    """The figures of benchmarks/release.json, or a sentence that they are missing."""
    path = BENCHMARK.with_name("release.json")
    if not path.exists():
        return "No figures: `benchmarks/release.json` is not there; `make bench` writes it.\n"
    document = json.loads(path.read_text())
    machine = document["machine"]
    lines = [
        [f"{row['m']:,}", f"{row['n']:,}", f"{row['rounds']:,}",
         f"{row['select_seconds'] * 1e6:,.0f}", f"{row['dense_seconds'] * 1e6:,.0f}",
         f"{row['ratio']:,.0f}"]
        for row in document["synthetic"]
    ]  # fmt: skip
    head = ["queries", "rows", "rounds", "lazy, µs", "dense scan, µs", "ratio"]
    parts = [
        f"Taken on {machine['date']}: {machine['cpu']}, one thread.\n",
        "**Random binary queries over 3,000 cells** (mean of a selection over a whole run)\n",
        table(head, lines, right=6),
    ]
    adult = [
        [f"{row['cells']:,}", f"{row['m']:,}", f"{row['select_seconds'] * 1e6:,.0f}",
         f"{row['update_seconds'] * 1e6:,.0f}", f"{row['dense_seconds'] * 1e6:,.0f}",
         f"{row['ratio_select']:,.0f}", f"{row['errors']['lazy']['max']:.4f}",
         f"{row['errors']['scan']['max']:.4f}", f"{row['errors']['uniform']['max']:.4f}"]
        for row in document.get("adult", {}).values()
    ]  # fmt: skip
    if adult:
        head = ["cells", "marginals", "selection, µs", "update, µs", "dense, µs", "ratio",
                "max error", "standard MWEM", "uniform selection"]  # fmt: skip
        parts += ["**ADULT, 2- and 3-way marginals, 100 rounds, (1, 0.001)**\n",
                  table(head, adult, right=9)]  # fmt: skip
    return "\n".join(parts)


def _machine(machine: dict[str, Any], epsilon: float) -> str:
    return (
        f"Taken on {machine['date']}: {machine['cpu']}, Python {machine['python']}, "
        f"NumPy {machine['numpy']}, Winnow {machine['winnow']} at commit "
        f"`{machine['commit']}`, epsilon {epsilon:g}. In brackets: the time relative to Winnow's "
        "exponential mechanism on the same scores.\n"
    )


def _figure(result: dict[str, Any] | None) -> str:
    if result is None:
        return "–"
    return f"{_short(result['ns_per_item'])} ({_short(result['times_winnow_exponential'])})"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def write(_: Sphinx) -> None:
    """Write every table whose text has changed."""
    folder = HERE / "_generated"
    folder.mkdir(exist_ok=True)
    for make in (guarantees, events, rounds, performance, release_speed):
        path, text = folder / f"{make.__name__}.md", make()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the tables to the build."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
