"""Regret of every automatic choice: each method forced, the default beside them.

Generated families span the regimes (``_choice_data``); what is chosen is chosen on these alone.
Real data (``--data DIR``) are looked at once, at the end. The figures: how often the default is
within 1.15 and 1.5 of the best method forced, the geometric mean and the worst of these ratios, how
often it finds less than the best by .2 or more of what was to be found, how it stands against plain
noise, and how often its predicted error is within 1.3 of what is seen. What is an error:

- top-k, private labels: the mean largest error in people; sets in their best order;
- tables, workloads: the root of largest times mean error over all queries, in rows, each the mean
  of three draws;
- wide: the mean total variation distance of a table, and how it stands against AIM's loop, over a
  graphical model and over residuals (GReM);
- itemsets: the share of the list that is missed;
- sessions: the mean error of an answer, in rows;
- learning: one less balanced accuracy on new rows.

Errors below 1/epsilon people count as equal; so do .1 of a list, and .02 of balanced accuracy.

    python benchmarks/choice.py [--only top-k,tables] [--size .3] [--data DIR]

The whole takes about half an hour on one core. A part alone is measured again with ``--only``; the
others stay as they are in the file. With ``--add`` the settings of a seed are added to those of
others, so that a part may be measured in pieces.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _choice_figures import Seen, Setting, counted, summary
from _choice_picks import itemsets, private_labels, top_k
from _choice_tables import learning, sessions, tables, wide, workloads
from _common import arguments, report, save

PARTS: dict[str, Callable[[int, float], Iterator[Setting]]] = {
    "top-k": top_k,
    "private labels": private_labels,
    "tables": tables,
    "workloads": workloads,
    "wide": wide,
    "itemsets": itemsets,
    "sessions": sessions,
    "learning": learning,
}


def read_back(row: dict[str, Any]) -> Setting:
    """A setting as the file has it."""
    own = {name: row[name] for name in Setting.__dataclass_fields__ if name in row}
    own["methods"] = {word: Seen(**each) for word, each in row["methods"].items()}
    return Setting(**own | {"default": Seen(**row["default"])})


def shown(title: str, parts: dict[str, list[Setting]]) -> dict[str, dict[str, float]]:
    """The figures of all parts, as a table."""
    found = {part: summary(held) for part, held in parts.items() if held}
    heads = list(dict.fromkeys(name for each in found.values() for name in each))
    report(
        title,
        ["part", *heads],
        [[part, *(f"{each[h]:.3g}" if h in each else "-" for h in heads)]
         for part, each in found.items()],
    )  # fmt: skip
    return found


def main() -> None:
    """Measure the parts that were asked for, and write all figures."""
    parser = arguments(__doc__.splitlines()[0], "choice")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    parser.add_argument("--size", type=float, default=1.0, help="how many settings, as a part")
    parser.add_argument("--add", action="store_true", help="to the settings of other seeds")
    parser.add_argument("--data", type=Path, help="a folder of real data: looked at once")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = [name.strip() for name in options.only.split(",")]
    kept = json.loads(options.out.read_text()) if options.out.exists() else {}
    place = "generated" if options.data is None else "real"
    rows: dict[str, list[dict[str, Any]]] = kept.get("settings", {}).get(place, {})
    seconds: dict[str, float] = kept.get("seconds", {}).get(place, {})
    makers = PARTS
    if options.data is not None:
        from _choice_real import real_parts

        makers = real_parts(options.data)
    for name in wanted:
        if name not in makers:
            raise SystemExit(f"{name} is no part; there are {', '.join(makers)}")
        start = time.process_time()
        before = rows.get(name, []) if options.add else []
        taken = seconds.get(name, 0.0) if options.add else 0.0
        made = [each.to_dict() for each in makers[name](options.seed, options.size)]
        rows[name] = before + made
        seconds[name] = round(taken + time.process_time() - start, 1)
    held = {name: [read_back(row) for row in rows[name]] for name in makers if name in rows}
    figures = shown(f"{place}: the default against the best method", held)
    misses = {name: dict(counted(each)) for name, each in held.items()}
    for name, found in misses.items():
        report(name, ["chosen for better", "settings"], [[k, str(v)] for k, v in found.items()])
    kept.pop("machine", None)
    for name, value in (("figures", figures), ("misses", misses), ("seconds", seconds),
                        ("settings", rows)):  # fmt: skip
        kept.setdefault(name, {})[place] = value
    save(options.out, kept)


if __name__ == "__main__":
    main()
