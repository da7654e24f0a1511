"""Tables by sum of squares against the best published strategies, at privacy cost 1.

Root mean squared errors of all tables of one, two and three columns, on the domains of ADULT and
of a lender's table: of cells, against the optimum of ResidualPlanner; with prefixes in the place of
the cells of the numbers, against ResidualPlanner+ and HDMM. And the largest error to expect. All of
it follows from public numbers: nothing is drawn.
Run: python benchmarks/optimum.py [--quick]
"""

from __future__ import annotations

import itertools
import math
import time
from functools import reduce
from operator import add, mul
from typing import Any

import winnow as wn
from _common import arguments, report, save
from winnow.core.relation import Relation
from winnow.core.workloads.workload import Maker
from winnow.release.tables.settings import tables_settings
from winnow.release.terms import ReleaseTerms

DOMAINS = {
    "ADULT": (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2),
    "LOANS": (101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15),
}
NUMBERS = {"ADULT": 5, "LOANS": 4}
"""How many of the first columns are numbers."""
PUBLISHED = {
    ("ADULT", "cells"): (3.047, 6.359, 10.515),
    ("LOANS", "cells"): (2.875, 5.634, 8.702),
    ("ADULT", "prefixes"): (5.081, 17.274, 45.223),
}
HDMM = {("ADULT", "prefixes"): (5.648, 21.111, 60.025)}
_MEMORY = "16GB"


def workload(name: str, kind: str, ways: int) -> Maker:
    """All tables of so many columns."""
    if kind == "cells":
        return wn.marginals(ways)

    def one(column: int) -> Maker:
        return wn.prefixes(f"c{column}") if column < NUMBERS[name] else wn.marginals(f"c{column}")

    columns = range(len(DOMAINS[name]))
    chosen = itertools.combinations(columns, ways)
    return reduce(add, (reduce(mul, map(one, each)) for each in chosen))


def measured(name: str, kind: str, ways: int, objective: str) -> dict[str, Any]:
    """What is predicted of one workload, in rows at privacy cost 1."""
    schema = wn.Schema.parse({f"c{i}": size for i, size in enumerate(DOMAINS[name])})
    start = time.perf_counter()
    bound = workload(name, kind, ways).over(schema, memory=_MEMORY)
    terms = ReleaseTerms(bound, 1.0, 1e-6, Relation.ADD_REMOVE, memory=_MEMORY)
    settings = tables_settings(terms, objective=objective)
    taken, plain = settings.strategy, settings.plain
    seconds = time.perf_counter() - start
    unit = math.sqrt(taken.mechanism.size(Relation.ADD_REMOVE))
    row = {
        "domain": name, "asked": kind, "ways": ways, "objective": objective, "by": taken.name,
        "queries": bound.size, "rms": unit * taken.errors.rms,
        "largest": unit * taken.errors.largest, "plain_rms": unit * plain.errors.rms,
        "plain_largest": unit * plain.errors.largest, "seconds": seconds,
    }  # fmt: skip
    for rival, known in (("published", PUBLISHED), ("hdmm", HDMM)):
        if (name, kind) in known and objective == "mean":
            row[rival] = known[name, kind][ways - 1]
            row[f"over_{rival}"] = row["rms"] / row[rival]
    return row


def main() -> None:
    """All workloads."""
    parser = arguments(__doc__ or "", "optimum")
    parser.add_argument("--quick", action="store_true", help="one and two columns only")
    options = parser.parse_args()
    rows = [
        measured(name, kind, ways, objective)
        for name in DOMAINS
        for kind in ("cells", "prefixes")
        for ways in ((1, 2) if options.quick else (1, 2, 3))
        for objective in ("mean", "max", "balanced")
        if (kind, ways) != ("prefixes", 3) or objective == "mean"
    ]
    report(
        "Tables at privacy cost 1",
        ["domain", "asked", "ways", "objective", "rms", "published", "largest", "plain", "s"],
        [
            [r["domain"], r["asked"], str(r["ways"]), r["objective"], f"{r['rms']:.3f}",
             f"{r['published']:.3f}" if "published" in r else "", f"{r['largest']:.1f}",
             f"{r['plain_largest']:.1f}", f"{r['seconds']:.1f}"]
            for r in rows
        ],
    )  # fmt: skip
    save(options.out, {"quick": options.quick, "rows": rows})


if __name__ == "__main__":
    main()
