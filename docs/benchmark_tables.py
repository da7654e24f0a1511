"""What `make bench` measured, as tables: one function for each file in benchmarks/.

Nothing is typed: a file that is missing, or that lacks a part, leaves a sentence or a dash.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from table_text import short, size, span, table

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
Document = dict[str, Any]


def read(name: str) -> Document | None:
    """The content of benchmarks/NAME.json, if it is there."""
    path = BENCHMARKS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def measured(name: str) -> Callable[[Callable[[Document], str]], Callable[[], str]]:
    """A table of the file that is named, introduced by where and when it was measured."""

    def decorate(make: Callable[[Document], str]) -> Callable[[], str]:
        @wraps(make)
        def written() -> str:
            document = read(name)
            if document is None:
                return (
                    f"No figures: `benchmarks/{name}.json` is not there; `make bench` writes it.\n"
                )
            return f"{_machine(name, document)}\n\n{make(document)}"

        return written

    return decorate


def _machine(name: str, document: Document) -> str:
    machine = document.get("machine", {})
    quick = ", the reduced run (`--quick`)" if document.get("quick") else ""
    return (
        f"`benchmarks/{name}.json`{quick}: {machine.get('cpu', 'unknown processor')}, Python "
        f"{machine.get('python', '?')}, NumPy {machine.get('numpy', '?')}, Winnow "
        f"{machine.get('winnow', '?')} at commit `{machine.get('commit', '?')}`, "
        f"{machine.get('date', '?')}."
    )


@measured("selection")
def selection_speed(document: Document) -> str:
    """Nanoseconds per candidate by method and shape of the scores."""
    results = document.get("results", [])
    methods = list(dict.fromkeys(row["method"] for row in results))
    parts = [
        f"Epsilon {document.get('epsilon', 1):g}. In brackets: the time relative to Winnow's "
        "exponential mechanism on the same scores.\n"
    ]
    for d in sorted({row["d"] for row in results}):
        at = [row for row in results if row["d"] == d]
        shapes = list(dict.fromkeys(row["scores"] for row in at))
        found = {(row["method"], row["scores"]): row for row in at}
        lines = [
            [method, *(_selection_figure(found.get((method, shape))) for shape in shapes)]
            for method in methods
            if any((method, shape) in found for shape in shapes)
        ]
        parts += [f"**{d:,} candidates**\n", table(["ns per item", *shapes], lines, len(shapes))]
    memory = document.get("extra_peak_memory_mb") or {}
    known = [[f"{int(d):,}", f"{mb:.1f}"] for d, mb in memory.items() if mb is not None]
    if known:
        parts += ["**Memory beyond the scores**\n", table(["candidates", "MB"], known, right=2)]
    return "\n".join(parts)


def _selection_figure(row: Document | None) -> str:
    if row is None:
        return "–"
    return f"{short(row['ns_per_item'])} ({short(row.get('times_winnow_exponential'))})"


@measured("counting")
def counting_speed(document: Document) -> str:
    """How long counting people per item takes, beside DuckDB's own query."""
    lines = [
        [kind, method, span(row.get("cpu")), span(row.get("wall")), f"{row['peak_gb']:.1f} GB"]
        for kind, group in document.items()
        if isinstance(group, dict)
        for method, row in group.items()
        if isinstance(row, dict) and "peak_gb" in row
    ]
    return f"{document.get('rows', 0):,} rows, memory {document.get('memory', '?')}.\n\n" + table(
        ["people and items", "", "CPU", "wall clock", "peak"], lines, right=3
    )


@measured("topk")
def topk_speed(document: Document) -> str:
    """Joint against sorting and the paper's algorithm, Canonical against its classes, oneshot."""
    joint = [
        [f"{row['d']:,}", f"{row['k']:,}", row["counts"], f"{row['epsilon']:g}",
         short(row["joint_ms"]), short(row["argsort_ms"]), short(row.get("paper_ms")),
         short(row.get("times_faster_than_paper"))]
        for row in document.get("joint", [])
    ]  # fmt: skip
    canonical = [
        [f"{row['d']:,}", f"{row['k']:,}", f"{row['epsilon']:g}", short(row["gumbel_ms"]),
         short(row["exponential_ms"]), short(row.get("all_classes_ms")),
         short(row.get("class_loop_ms"))]
        for row in document.get("canonical", [])
    ]  # fmt: skip
    oneshot = [
        [f"{row['d']:,}", f"{row['k']:,}", row["counts"], short(row["oneshot_ms"]),
         short(row.get("numpy_gumbel_argpartition_ms")), short(row.get("opendp_top_k_ms"))]
        for row in document.get("oneshot", [])
    ]  # fmt: skip
    head = ["items", "k", "counts", "ε", "joint, ms", "argsort, ms", "all cells, ms", "ratio"]
    return "\n".join(
        [
            "**Joint**, beside a plain `argsort` of the counts and the paper's algorithm in "
            "NumPy, which weighs all d × k cells\n",
            table(head, joint, right=5),
            "**Canonical**, beside weighing all classes at once and one by one (scaled up from "
            "a part)\n",
            table(["items", "k", "ε", "Gumbel, ms", "exponential, ms", "all classes, ms",
                   "loop, ms"], canonical, right=5),
            "**Oneshot** with exponential noise\n",
            table(["items", "k", "counts", "oneshot, ms", "NumPy, not private, ms",
                   "OpenDP, ms"], oneshot, right=3),
        ]
    )  # fmt: skip


@measured("release")
def release_speed(document: Document) -> str:
    """One private selection in query release against the dense scan of standard MWEM."""
    lines = [
        [f"{row['m']:,}", f"{row['n']:,}", f"{row['rounds']:,}",
         f"{row['select_seconds'] * 1e6:,.0f}", f"{row['dense_seconds'] * 1e6:,.0f}",
         f"{row['ratio']:,.0f}"]
        for row in document.get("synthetic", [])
    ]  # fmt: skip
    head = ["queries", "rows", "rounds", "lazy, µs", "dense scan, µs", "ratio"]
    parts = [
        "**Random binary queries over 3,000 cells** (mean of a selection over a whole run)\n",
        table(head, lines, right=6),
    ]
    adult = [
        [f"{row['cells']:,}", f"{row['m']:,}", f"{row['select_seconds'] * 1e6:,.0f}",
         f"{row['update_seconds'] * 1e6:,.0f}", f"{row['dense_seconds'] * 1e6:,.0f}",
         f"{row['ratio_select']:,.0f}", f"{row['ratio_select_update']:,.0f}",
         f"{row['errors']['lazy']['max']:.4f}",
         f"{row['errors']['scan']['max']:.4f}", f"{row['errors']['uniform']['max']:.4f}"]
        for row in document.get("adult", {}).values()
    ]  # fmt: skip
    if adult:
        head = ["cells", "marginals", "selection, µs", "update, µs", "dense, µs", "ratio",
                "with update", "max error", "standard MWEM", "uniform selection"]  # fmt: skip
        parts += ["**ADULT, 2- and 3-way marginals, 100 rounds, (1, 0.001), update `\"sign\"`**\n",
                  table(head, adult, right=10)]  # fmt: skip
    large = document.get("large")
    if large:
        parts.append(
            f"A whole release of {large['m']:,.0f} queries over {large['cells']:,.0f} cells took "
            f"{large['seconds']:.0f} s and {large['peak_gb']:.2f} GB; largest error "
            f"{100 * large['max_error']:.1f} %, mean {100 * large['mean_error']:.3f} %.\n"
        )
    return "\n".join(parts)


_SHOWN_FROM = 4_000
"""Queries; smaller sizes are in the verdicts."""


@measured("mips")
def mips_speed(document: Document) -> str:
    """What each index found, what could be certified, and what a draw then cost."""
    lines = [
        [f"{row['m']:,}", f"{row['n']:,}", row["index"], _percent(row.get("recall")),
         short(row.get("c_true")), short(row.get("c_known")), span(row["selection_s"]),
         span(row.get("envelope_s")), span(row.get("dense_s")), span(row.get("build_s"))]
        for row in document.get("rows", [])
        if row["m"] >= _SHOWN_FROM
    ]  # fmt: skip
    head = ["queries", "n", "index", "recall", "true c", "certified c", "one draw",
            "envelope", "dense product", "build"]  # fmt: skip
    return (
        f"ε₀ = {document.get('epsilon_0', float('nan')):.4f} for each of "
        f"{document.get('rounds', 0):,} rounds; c in nats.\n\n"
        + table(head, lines, right=7)
        + _mips_verdicts(document.get("verdicts", []))
    )


def _mips_verdicts(verdicts: list[Document]) -> str:
    """From which number of queries on an index is faster."""

    def least(m: int | None) -> str:
        return "never" if m is None else f"{m:,} queries"

    lines = [
        [v["index"], f"{v['n']:,}", f"{v['largest m']:,}", least(v["beats the exact draw from m"]),
         least(v["beats the envelope from m"]), least(v["beats the dense scan from m"])]
        for v in verdicts
        if v["largest m"] is not None
    ]  # fmt: skip
    head = ["index", "n", "tried up to", "faster than no index from", "than the envelope from",
            "than a dense product from"]  # fmt: skip
    return "\n" + table(head, lines, right=5) if lines else ""


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.0f} %"


@measured("wide")
def wide_speed(document: Document) -> str:
    """Accuracy and cost of `wn.Graphical` beside AIM's loop and two plain ways."""
    runs: dict[tuple[str, float, str], list[Document]] = {}
    for row in document.get("results", []):
        runs.setdefault((row["data"], row["epsilon"], row["loop"]), []).append(row)
    lines = []
    for (data, epsilon, loop), own in runs.items():
        if loop != "wn.Graphical":
            continue
        aim, alone, noise, pairs = (
            runs.get((data, epsilon, each), [])
            for each in (
                "AIM",
                "independent columns",
                "all pairs",
                "wn.Graphical, pairs",
            )
        )
        ratios = [
            _ratio(own, aim, "mean_2way"), _ratio(own, aim, "mean_3way"),
            _ratio(own, aim, "mean_2way", "rows_mean_2way"),
            _ratio(own, aim, "mean_3way", "rows_mean_3way"),
            _ratio(own, alone, "mean_2way"), _ratio(pairs, noise, "mean_2way"),
        ]  # fmt: skip
        first = own[0]
        way = "rounds" if "rounds" in first["reason"] else "all at once"
        way = "columns alone" if "column alone" in first["reason"] else way
        way = "all, a model of some" if "a model of some" in first["reason"] else way
        lines.append(
            [f"{data}, {first['columns']} columns", f"{epsilon:g}", way, str(len(own)),
             f"{_mean(own, 'mean_2way'):.4f}", f"{_mean(own, 'mean_3way'):.4f}", *ratios,
             span(_mean(own, "cpu")), size(1e6 * max(row["memory_mb"] for row in own)),
             *(f"{first[name]:.2f}" if name in first else "–"
               for name in ("learnt", "learnt_from_real"))]
        )  # fmt: skip
    head = ["table", "ε", "way", "runs", "2-way", "3-way", "/ AIM, 2-way", "/ AIM, 3-way",
            "rows / AIM, 2-way", "rows / AIM, 3-way", "/ independent", "pairs / noise", "CPU",
            "peak", "learnt", "from real"]  # fmt: skip
    return (
        f"Mean total variation distance, δ = {document.get('delta', 0):g}, over all 2-way tables "
        f"and {document.get('triples', 0)} of the 3-way ones; then divided by that of other ways "
        "with the same budget (below 1: better); 'rows' where the model that draws rows is another "
        "than what answers. 'Pairs / noise' is a release for `wn.marginals(2)` over plain noise on "
        "all pairs. 'Learnt' is the balanced accuracy on real rows "
        "of a boosted classifier that saw synthetic ones, 'from real' of one that saw real ones."
        "\n\n" + table(head, lines, right=13) + _one_fit(document.get("one_fit"))
    )


def _mean(rows: list[Document], name: str) -> float:
    return sum(row[name] for row in rows) / len(rows)


def _ratio(ours: list[Document], theirs: list[Document], name: str, own: str | None = None) -> str:
    """Of the means over the seeds that both have; ours may have another name."""
    both = {row["seed"] for row in ours} & {row["seed"] for row in theirs}
    if not both or name not in theirs[0] or (own or name) not in ours[0]:
        return "–"
    ours, theirs = ([row for row in rows if row["seed"] in both] for rows in (ours, theirs))
    return f"{_mean(ours, own or name) / _mean(theirs, name):.2f}"


def _one_fit(found: Document | None) -> str:
    """A sentence on the fit of released tables beside that of mbi."""
    if not found:
        return ""
    at = f" (run at commit `{found['commit']}`)" if "commit" in found else ""
    return (
        f"\n\nOne fit alone: to the tables that a release of ADULT at ε = 1 had made, the loss was "
        f"{found['loss']:,.0f}. The package `mbi`, fitting the same tables by "
        f"{found['mbi_steps']:,} steps of mirror descent, took {span(found['mbi_cpu'])} of CPU to "
        f"the loss {found['mbi_loss']:,.0f}, peak {size(found['mbi_memory_mb'] * 1e6)}{at}."
    )


@measured("interactive")
def interactive_speed(document: Document) -> str:
    """Errors of sessions by how many questions they are sized for, and the time of an answer."""
    names = ["independent", "default", "no tables", "proved threshold", "threshold 0.08",
             "printed constants"]  # fmt: skip
    lines = [
        [f"{row['k']:,}", f"{row['asked']:,}", *(_errors(row.get(name)) for name in names)]
        for row in document.get("sessions", [])
    ]
    head = ["sized for", "asked", "independent noise", "session", "`warm_start=0`",
            "`threshold=\"proved\"`", "`threshold=0.08`", "printed constants"]  # fmt: skip
    parts = [
        f"ADULT, {document.get('n', 0):,} rows, {document.get('cells', 0):,} cells, random "
        "conjunctions, (1, 1e-6). Largest / mean error as fractions of the rows.\n",
        table(head, lines, right=8),
    ]
    earlier = document.get("sessions at")
    if earlier:
        parts.append(
            f"\nMeasured at commit `{earlier}`, before sessions started from tables; "
            "how they do then, on ADULT and others, is in the table further down.\n"
        )
    durable = document.get("durable")
    if durable:
        parts.append(
            f"An answer from the hypothesis takes {durable['median_us']:.0f} µs (median, kept in a "
            f"file; mean {durable['mean_us']:.0f} µs), {durable['where_us']:.0f} µs with the "
            f"reading of `wn.where`; a fresh answer {durable['fresh_ms']:.1f} ms, while one "
            f"`fsync` takes {durable['fsync_ms']:.1f} ms there. With a ledger: "
            f"{durable['ledger_median_us']:.0f} µs, and a fresh answer "
            f"{durable['ledger_fresh_ms']:.1f} ms. An independent answer, kept in a file, takes "
            f"{durable['independent_together_us'] / 1000:.2f} ms.\n"
        )
    return "\n".join(parts)


def _errors(row: Document | None, digits: int = 3) -> str:
    return "–" if row is None else f"{row['max']:.{digits}f} / {row['mean']:.{digits}f}"


@measured("interactive")
def interactive_tables(document: Document) -> str:
    """Errors of what a session takes by itself on other tables, and of independent noise."""
    rows = document.get("tables", [])
    names = ["independent", "no tables", "default"]
    lines = [
        [row["data"] + ("" if row["chosen on"] else " *"), f"{row['epsilon']:g}", f"{row['k']:,}",
         *(_errors(row.get(name), 4) for name in names),
         "–" if "default" not in row else _way(row["default"])]
        for row in rows
    ]  # fmt: skip
    head = ["table", "ε", "sized for", "independent noise", "`warm_start=0`", "default", "which is"]
    both = [row for row in rows if "default" in row and "independent" in row]
    worse = [
        f"{row['data']} ε = {row['epsilon']:g}, {row['k']:,} questions"
        for row in both
        for name in ("max", "mean")
        if row["default"][name] > row["independent"][name] * 1.0001
    ]
    warm = [row for row in both if row["default"].get("tables") and "no tables" in row]
    gains = {
        name: _geometric([row["default"][name] / row["no tables"][name] for row in warm])
        for name in ("max", "mean")
    } if warm else {}  # fmt: skip
    gained = (
        f" Starting from tables makes the largest error ×{gains['max']:.2f} and the mean error "
        f"×{gains['mean']:.2f} (geometric means of {len(warm)} settings)." if gains else ""
    )  # fmt: skip
    return (
        "Random conjunctions of three columns, δ = 1e-6, largest / mean error as fractions of the "
        "rows; a star marks settings that the rule was not chosen on. Worse than independent noise "
        f"in {len(set(worse))} of {len(both)} settings{_listed(worse)}.{gained}\n\n"
        + table(head, lines, right=5)
    )


def _way(session: Document) -> str:
    if not session.get("tables"):
        return str(session["method"])
    return "tables, then tests" + (", with a fallback" if session.get("fallback") else "")


@measured("interactive")
def interactive_hostile(document: Document) -> str:
    """Errors under questions of somebody who knows the data, and the bounds."""
    names = ["independent", "no fallback", "default"]
    lines = [
        [row["data"], f"{row['n']:,}", f"{row['k']:,}",
         *(f"{_errors(row[name], 4)} ({row[name]['bound']:.3f})" for name in names)]
        for row in document.get("hostile", [])
    ]  # fmt: skip
    head = ["table", "rows", "sized for", "independent noise", "`fallback=0`", "default"]
    return "Largest / mean error (proved bound), ε = 1, δ = 1e-6.\n\n" + table(head, lines, right=5)


def _listed(names: list[str]) -> str:
    return f" ({'; '.join(dict.fromkeys(names))})" if names else ""


def _geometric(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


@measured("lp")
def lp_speed(document: Document) -> str:
    """One round of a linear program against a product and a Gumbel argmax."""
    lines = [
        [f"{row['m']:,}", f"{row['sensitivity']:g}", "printed" if row.get("printed") else "ours",
         span(row["ours_us"] / 1e6), span(row["blas_gumbel_us"] / 1e6), short(row["ratio"]),
         short(row.get("whole_solve_ratio"))]
        for row in document.get("speed", [])
    ]  # fmt: skip
    head = ["rows", "sensitivity", "ε₀ and step", "exact, lazy", "BLAS + Gumbel", "ratio",
            "ratio, whole solve"]  # fmt: skip
    return (
        f"A ~ N(0, 1), {document.get('d', '?')} columns, T = {document.get('T', 0):,}; one round, "
        "one core.\n\n" + table(head, lines, right=4) + _hnsw(document.get("hnsw"))
    )


def _hnsw(row: Document | None) -> str:
    if row is None or "ratio" not in row:
        return ""
    return (
        f"\nFAISS HNSW over {row['m']:,} rows takes {row['query_us']:.0f} µs for the "
        f"{row['neighbours']} nearest, {row['ratio']:,.0f} times as long as a round here, and "
        f"{row['build_s']:.0f} s to build.\n"
    )


@measured("lp")
def lp_people(document: Document) -> str:
    """Covering where every row is a person: what is promised, and what is found."""
    part = document.get("constraint", {})
    lines = [
        [row["program"], f"{row['epsilon']:g}", f"{row['rounds']:,}", f"{row['promised']:.2f}",
         f"{row['all_but_s']:.2f}", f"{100 * row['violated_by_alpha']:.2f} %",
         short(row["objective_to_meet_them"]), short(row["optimum"])]
        for row in part.get("solves", [])
    ]  # fmt: skip
    head = ["program", "ε", "rounds", "promised", "all but s - 1 rows", "rows beyond α",
            "objective that meets them", "optimum, all rows"]  # fmt: skip
    return (
        f"α = {part.get('alpha', 0):g}, s = a twentieth of the rows, δ = 10⁻⁶; violations.\n\n"
        + table(head, lines, right=6)
    )


@measured("lp")
def lp_columns(document: Document) -> str:
    """One round where every row is a person: all columns scored, or lazily."""
    lines = [
        [f"{row['columns']:,}", f"{row['entries_per_row']:,}", f"{row['epsilon']:g}",
         span(row["dense_ms"] / 1e3), span(row["lazy_ms"] / 1e3), short(row["ratio"])]
        for row in document.get("columns", [])
    ]  # fmt: skip
    head = ["columns", "entries per row", "ε", "every column scored", "lazy", "ratio"]
    return "20,000 rows; CPU time of one round.\n\n" + table(head, lines, right=5)


@measured("choice")
def choice_regret(document: Document) -> str:
    """The automatic choice against the best method forced, on generated data."""
    return _regret(document, "generated")


@measured("choice")
def choice_regret_real(document: Document) -> str:
    """The same on real data."""
    return _regret(document, "real")


@measured("fit")
def fit_distances(document: Document) -> str:
    """How far a release and its model are from the truth, and how long it takes."""
    head = ["rows", "columns", "ways", "method", "ε", "answers off", "model off", "CPU s"]
    lines = [
        [f"{row['rows']:,}", str(row["columns"]), str(row["ways"]), row["method"],
         f"{row['epsilon']:g}", short(row["answers"], 2), short(row["model"], 2),
         short(row["seconds"], 2)]
        for row in document.get("rows", [])
    ]  # fmt: skip
    return table(head, lines, right=4)


@measured("choice")
def choice_rivals(document: Document) -> str:
    """Wide tables against AIM's loop over two fits: the ratio of errors."""
    lines = []
    for place, parts in document.get("figures", {}).items():
        found = parts.get("wide", {})
        for word in ("AIM", "AIM over residuals"):
            if f"of {word}" in found:
                both = short(found[f"of {word}"], 3), short(found[f"of {word}, worst"], 3)
                lines.append([place, word, f"{found['settings']:,}", *both])
    return table(["data", "of", "settings", "geometric mean", "worst"], lines, right=3)


@measured("choice")
def choice_misses(document: Document) -> str:
    """What was chosen where another method would have been better by 1.15."""
    lines = [
        [place, part, what, f"{number:,}"]
        for place, parts in document.get("misses", {}).items()
        for part, found in parts.items()
        for what, number in found.items()
    ]
    return table(["data", "part", "chosen for better", "settings"], lines, right=1)


def _regret(document: Document, place: str) -> str:
    figures = document.get("figures", {}).get(place, {})
    names = ("settings", "within 1.15", "within 1.5", "geometric mean", "worst",
             "recall lost by .2", "over plain noise by 1.05", "mean of plain noise",
             "predicted within 1.3")  # fmt: skip
    lines = [
        [part, f"{found['settings']:,.0f}", *(short(found.get(name), 3) for name in names[1:])]
        for part, found in figures.items()
    ]
    return table(["part", *names], lines, len(names))


@measured("itemsets")
def itemset_speed(document: Document) -> str:
    """One private draw of an itemset against mining down to the same support."""
    lines = [
        [row["data"], f"{row['items']:,}", str(row["size"]), span(row["private, CPU s"]),
         span(row.get("miner, CPU s")), short(row.get("ratio"))]
        for row in document.get("against a miner", [])
    ]  # fmt: skip
    head = ["data", "items", "size", "private draw, CPU", "eclat, CPU", "ratio"]
    return (
        f"ε = {document.get('epsilon', 1):g}, δ = {document.get('delta', 0):g}, private items; "
        f"medians of {document.get('draws', 0)} draws.\n\n"
        + table(head, lines, right=4)
        + _triples(document.get("17,000 items, triples"))
    )


def _triples(row: Document | None) -> str:
    if row is None:
        return ""
    return (
        f"\nOn {row['baskets']:,} made-up baskets over 17,000 items ({row['itemsets']:.1e} "
        f"triples, all public) the best triple takes {span(row['CPU s at epsilon 1'])} of CPU at "
        f"ε = 1, and {span(row['CPU s at epsilon 0.1'])} at ε = 0.1, where the search "
        f"goes down to support {row['floor at epsilon 0.1']}; beyond the baskets and the loaded "
        f"kernels the memory grows by {row['peak memory grew by MB']:.0f} MB.\n"
    )


@measured("itemsets")
def itemset_lists(document: Document) -> str:
    """The share of the true top k that the default and the best mechanism find."""
    parts = []
    rows = document.get("lists", [])
    for setting in dict.fromkeys(row["setting"] for row in rows):
        lines = []
        for row in rows:
            if row["setting"] != setting:
                continue
            found = dict(row["recall"])
            auto = found.pop("auto")
            best = max(found, key=lambda word: found[word])
            margin = found.get("large-margin")
            lines.append(
                [row["data"] + ("" if row["chosen on"] else " *"), str(row["k"]),
                 f"{row['epsilon']:g}", f"{100 * auto:.0f} %",
                 f"{100 * found[best]:.0f} % ({best})",
                 "–" if margin is None else f"{100 * margin:.0f} %"]
            )  # fmt: skip
        head = ["baskets", "k", "ε", "default", "best of all", "large margin"]
        parts += [f"**{setting.capitalize()}**\n", table(head, lines, right=5)]
    return "\n".join(parts)


@measured("learning")
def learning_speed(document: Document) -> str:
    """Scoring all rules of a class and choosing one, against running each over the rows."""
    lines = []
    for row in document.get("timings", []):
        choice = row.get("choice_seconds", {})
        lines.append(
            [row["case"], f"{row['hypotheses']:,}", f"{row['rows']:,}", span(row["scores_seconds"]),
             span(choice.get("permute-and-flip")), span(choice.get("large-margin")),
             span(row.get("naive_seconds"))]
        )  # fmt: skip
    head = ["class", "rules", "rows", "scores", "permute-and-flip", "large margin",
            "one by one (scaled up)"]  # fmt: skip
    return table(head, lines, right=6)


_RIVALS = {"naive Bayes": "diffprivlib naive Bayes", "forest": "diffprivlib forest",
           "DP-EBM, δ": "DP-EBM, with delta"}  # fmt: skip
LEARNED = {
    "accuracy": {
        "choice": "Winnow's choice", "choice, δ": "Winnow's choice, with delta",
        "additive": "additive", "additive, δ": "additive, with delta",
        "one rule": "one rule (conjunctions:2)", **_RIVALS,
    },
    "balanced": {
        "choice": "Winnow's choice, balanced", "choice, δ": "Winnow's choice, balanced, with delta",
        "additive": "additive, balanced", "additive, δ": "additive, balanced, with delta",
        "one rule": "one rule, balanced", **_RIVALS,
    },
    "area": {
        "choice": "Winnow's choice", "choice, δ": "Winnow's choice, with delta",
        "additive, δ": "additive, with delta", "DP-EBM, δ": "DP-EBM, with delta",
    },
}  # fmt: skip
"""Columns of the tables of classifiers, and the models of the file."""


def _classifiers(rows: list[dict[str, Any]], figure: str) -> str:
    """A line for each set and epsilon; the largest figure is bold."""
    found = {(row["data"], row["epsilon"], row["model"]): row[figure] for row in rows}
    many = {row["data"] for row in rows if row["classes"] > 2}
    lines = []
    for data, epsilon in dict.fromkeys((row["data"], row["epsilon"]) for row in rows):
        own = {name: found.get((data, epsilon, model)) for name, model in LEARNED[figure].items()}
        if data in many:  # the choice is the additive model, and measured as that
            own |= {"choice": own["additive"], "choice, δ": own["additive, δ"]}
        most = max(round(100 * value, 1) for value in own.values() if value is not None)
        lines.append([data, f"{epsilon:g}", *(_bold(value, most) for value in own.values())])
    lines.sort(key=lambda line: list(dict.fromkeys(r["data"] for r in rows)).index(line[0]))
    return table(["data", "ε", *LEARNED[figure]], lines, right=len(LEARNED[figure]) + 1)


def _bold(value: float | None, most: float) -> str:
    if value is None:
        return "–"
    shown = f"{100 * value:.1f}"
    return f"**{shown}**" if round(100 * value, 1) >= most else shown


@measured("learning")
def learning_classifiers(document: Document) -> str:
    """Accuracy of classifiers, by data and epsilon."""
    return _classifiers(document.get("classifiers", []), "accuracy")


@measured("learning")
def learning_balanced(document: Document) -> str:
    """Balanced accuracy of classifiers, by data and epsilon."""
    return _classifiers(document.get("classifiers", []), "balanced")


@measured("learning")
def learning_fresh(document: Document) -> str:
    """Accuracy on sets that nothing was settled on."""
    return _classifiers(document.get("fresh", []), "accuracy")


@measured("learning")
def learning_areas(document: Document) -> str:
    """Areas under the curve, by data and epsilon."""
    return _classifiers(document.get("areas", []), "area")


@measured("learning")
def learning_best(document: Document) -> str:
    """The best rule of each class without privacy."""
    lines = [
        [row["class"], f"{row['hypotheses']:,}", row["best_rule"].replace("<", "\\<"),
         f"{100 * row['best_test']:.1f} %", f"{100 * row['most_frequent_class']:.1f} %"]
        for row in document.get("accuracy", [])
    ]  # fmt: skip
    head = ["class", "rules", "best rule", "on the test rows", "more frequent class alone"]
    return table(head, lines, right=2)


@measured("accuracy")
def query_errors(document: Document) -> str:
    """Largest and mean error by number of queries, for three ways to answer them."""
    ways = ("release", "independent", "cells")
    lines = [
        [f"{row['queries']:,}", *(_errors(row.get(way)) for way in ways)]
        for row in document.get("rows", [])
    ]
    return (
        f"{document.get('people', 0):,} made-up people, {document.get('cells', 0):,} cells, random "
        f"conjunctions, ({document.get('epsilon', 1):g}, {document.get('delta', 0):g}); means over "
        f"{document.get('seeds', 0)} seeds. Largest / mean error as fractions of the people.\n\n"
        + table(
            ["queries", "`wn.release`", "noise on every answer", "noise on every cell"], lines, 4
        )
    )


@measured("accuracy")
def update_errors(document: Document) -> str:
    """Errors by update rule, and how far the estimate lies from the truth."""
    lines = []
    for row in document.get("updates", []):
        low, high = row["estimate_over_true"]
        lines.append(
            [f'`"{row["update"]}"`', f"{row['queries']:,}", str(row["rounds"]),
             f"{100 * row['max']:.2g} %", f"{100 * row['mean']:.2g} %", f"{low:.2f} to {high:.2f}"]
        )  # fmt: skip
    head = ["update", "queries", "rounds", "largest error", "mean error", "estimate / true"]
    return (
        f"{document.get('people', 0):,} made-up people, all 2- and 3-way marginals of eight "
        f"columns, ({document.get('epsilon', 1):g}, {document.get('delta', 0):g}), "
        f"{document.get('seeds', 0)} seeds.\n\n" + table(head, lines, right=5)
    )


@measured("universes")
def universes(document: Document) -> str:
    """People behind the best and time of a draw, against the number of candidates."""
    rows = document.get("rows", [])
    kinds = list(dict.fromkeys(row["mechanism"] for row in rows))
    lines = []
    for case, power in dict.fromkeys((row["case"], row["log10 candidates"]) for row in rows):
        at = {
            row["mechanism"]: row
            for row in rows
            if (row["case"], row["log10 candidates"]) == (case, power)
        }
        figures = [
            "no answer"
            if at[k]["behind"] is None
            else f"{at[k]['behind']:g} ({at[k]['ms']:.0f} ms)"
            for k in kinds
        ]
        classes = f"{at[kinds[0]]['classes']:,}"
        lines.append([case, f"10<sup>{power:.0f}</sup>", classes, *figures])
    return table(["", "candidates", "classes", *kinds], lines, right=2 + len(kinds))


@measured("gamma")
def canonical_gamma(document: Document) -> str:
    """The epsilon for the true top k by gamma, relative to 1/2."""
    gammas = document.get("gammas", [])
    rows = document.get("rows", [])
    lines = [
        [
            row["profile"],
            str(row["k"]),
            short(row["epsilon"]),
            *("never" if each is None else f"{each:.2f}" for each in row["relative"]),
        ]
        for row in rows
    ]
    heads = ["counts", "k", "ε at 1/2", *(f"γ = {gamma:g}" for gamma in gammas)]
    return table(heads, lines, right=2 + len(gammas))


@measured("items")
def items_per_person(document: Document) -> str:
    """How often each choice is within a tenth of the best, and how far off it is in the mean."""
    lines = [
        [
            row["counts"],
            row["kind"],
            f"{row['delta']:g}",
            f"**{row['choice']}**" if row["choice"] == "auto" else row["choice"],
            f"{row['near']:,} of {row['settings']:,}",
            f"{row['mean factor']:.2f}",
            f"{row['worst factor']:,.0f}",
        ]
        for row in document.get("rows", [])
    ]
    heads = ["counts", "released", "δ", "choice", "within 10 %", "mean factor", "worst factor"]
    return table(heads, lines, right=3)


@measured("speed")
def short_calls(document: Document) -> str:
    """Short calls and single scans: an earlier version, this one, and NumPy's floats."""
    after, before = document.get("after", {}), document.get("before", {})
    lines = []
    for name, row in after.get("rows", {}).items():
        old = before.get("rows", {}).get(name)
        lines.append(
            [
                name,
                "-" if old is None else short(old["ms"]),
                short(row["ms"]),
                f"{row['ms'] / row['anchor_ms']:.2f}",
                short(row.get("opendp_ms")),
                short(row.get("diffprivlib_ms")),
            ]
        )
    rates, old_rates = (each.get("answers_per_second", {}) for each in (after, before))
    for name, rate in rates.items():
        old = old_rates.get(name)
        earlier = "-" if old is None else short(1e3 / old)
        lines.append(
            [f"one of 1,000 durable answers, {name}", earlier, short(1e3 / rate), "–", "–", "–"]
        )
    head = ["", "before, ms", "now, ms", "relative to NumPy", "OpenDP, ms", "diffprivlib, ms"]
    return table(head, lines, right=5)


@measured("curves")
def curves(document: Document) -> str:
    """Each method along each axis: its ends, its memory, its rival, and its cliffs."""
    lines = []
    for curve in document["curves"]:
        first, last = curve["points"][0], curve["points"][-1]
        rival = last.get("rival_seconds")
        steps = [f"{c['times']:.1f} after {c['from']:,}" for c in curve["cliffs"]]
        lines.append(
            [
                f"`{curve['verb']}`, {curve['method']}",
                curve["axis"],
                f"{first['n']:,} to {last['n']:,}",
                f"{short(1e3 * first['seconds'])} to {short(1e3 * last['seconds'])}",
                short(last["peak_mb"]),
                "-" if rival is None else short(last["seconds"] / rival),
                ", ".join(steps) or "-",
            ]
        )
    head = [
        "method",
        "axis",
        "points",
        "ms",
        "peak, MB",
        "relative to the rival",
        "steps above 1.5",
    ]
    return table(head, lines, right=5)


@measured("accounting")
def accounting_year(document: Document) -> str:
    """Twelve programmes of a year: what they were charged, are charged, and cannot go below."""
    lines = [
        [name, *(f"{row[part]:.2f}" for part in ("before", "now", "below"))]
        for name, row in document["programmes"].items()
    ]
    return table(["a year of", "ε before", "ε now", "lower bound"], lines, right=3)


@measured("quantiles")
def quantile_errors(document: Document) -> str:
    """Rank errors of several quantiles, by library and published mechanism."""
    shown = ("winnow", "halving", "joint", "opendp", "diffprivlib")
    lines = [
        [
            row["relation"], row["data"], f"{row['n']:,}", f"{row['epsilon']:g}", str(row["m"]),
            *(short(row[name]["error"]) for name in shown),
        ]
        for row in document.get("rows", [])
        if row["m"] > 1
    ]  # fmt: skip
    heads = ["neighbours", "column", "rows", "epsilon", "quantiles",
             "Winnow", "halving", "joint", "OpenDP", "diffprivlib"]  # fmt: skip
    return table(heads, lines, right=8)


@measured("moments")
def moment_errors(document: Document) -> str:
    """Errors of means and deviations, relative to the better of two other libraries."""
    lines = []
    for row in document.get("rows", []):
        for statistic, error in row["winnow"].items():
            best = min(row[name][statistic] for name in ("opendp", "diffprivlib"))
            lines.append(
                [
                    row["data"], f"{row['n']:,}", f"{row['epsilon']:g}", row["asked"], statistic,
                    f"{error:.3g}", f"{error / best:.2f}",
                ]
            )  # fmt: skip
    heads = ["column", "rows", "epsilon", "asked", "statistic", "Winnow's error", "to the best"]
    return table(heads, lines, right=2)


@measured("regression")
def regression_errors(document: Document) -> str:
    """Errors of predictions by regressions, with and without a delta."""
    names = ("winnow", "diffprivlib", "winnow, delta", "adassp")
    lines = [
        [
            row["data"], f"{row['n']:,}", str(row["features"]), f"{row['epsilon']:g}",
            *(f"{row[name]:.3g}" for name in names),
        ]
        for row in document.get("rows", [])
    ]  # fmt: skip
    heads = ["features", "rows", "how many", "epsilon",
             "Winnow", "diffprivlib", "Winnow, delta", "AdaSSP, delta"]  # fmt: skip
    return table(heads, lines, right=7)


TABLES = (
    moment_errors,
    regression_errors,
    quantile_errors,
    accounting_year,
    short_calls,
    curves,
    universes,
    items_per_person,
    canonical_gamma,
    query_errors,
    update_errors,
    selection_speed,
    counting_speed,
    topk_speed,
    release_speed,
    mips_speed,
    wide_speed,
    interactive_speed,
    interactive_tables,
    interactive_hostile,
    lp_speed,
    lp_people,
    lp_columns,
    choice_regret,
    choice_regret_real,
    choice_rivals,
    fit_distances,
    choice_misses,
    itemset_speed,
    itemset_lists,
    learning_speed,
    learning_best,
    learning_classifiers,
    learning_balanced,
    learning_fresh,
    learning_areas,
)
"""Each is written to docs/_generated under its name."""
