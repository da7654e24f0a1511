"""Private linear programs: time of a selection, violations, cost against the number of rows.

    python benchmarks/lp.py --data DIR [--quick] [--only PART,...]

The setting of FastMWEM, Section 5.3: A ~ N(0, 1), d = 20, b = A x* + |N(0, 1)|/10, T = 5,000,
epsilon = 1, delta = 1e-3, sensitivity 0.1 (where the mechanism is nearly uniform) or 1e-5 (where
privacy allows signal). Times are CPU seconds of this process, which other load disturbs least. The
baseline is what a BLAS product and NumPy's Gumbel noise (not private) take for one selection.
DIR holds groceries/ and the folders lp_*/ of models; without it these parts are left out.
The parts that --only leaves out keep the figures that the JSON holds already.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core for everyone

from _common import arguments, save
from _lp_constraint import all_columns, all_constraint, draw_people
from _lp_models import all_models
from _lp_speed import D, T, against_hnsw, all_speeds, all_violations, draw_to

PARTS = ("speed", "hnsw", "violations", "constraint", "columns", "models")


def wanted(text: str) -> list[str]:
    """The parts in a list with commas."""
    parts = text.split(",")
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise SystemExit(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return parts


def main() -> None:
    parser = arguments(__doc__ or "", "lp")
    parser.add_argument("--data", type=Path, help="folder with groceries/ and lp_*/")
    parser.add_argument("--quick", action="store_true", help="fewer rows, seeds and models")
    parser.add_argument("--figure", type=Path, help="draw the cost against the number of rows")
    parser.add_argument("--people-figure", type=Path, help="draw violations against epsilon")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run")
    args = parser.parse_args()
    quick, parts = args.quick, wanted(args.only)
    document: dict[str, Any] = {}
    if set(parts) != set(PARTS) and args.out.exists():
        document = json.loads(args.out.read_text())
        document.pop("machine")
    document |= {"T": T, "d": D, "quick": quick}
    if "speed" in parts:
        document["speed"] = all_speeds(quick=quick)
    if args.figure is not None:
        draw_to(args.figure, document["speed"])
    if "hnsw" in parts:
        document["hnsw"] = against_hnsw(quick=quick)
    if "violations" in parts:
        document["violations"] = all_violations(quick=quick)
    if "constraint" in parts:
        document["constraint"] = all_constraint(args.data, quick=quick)
    if args.people_figure is not None:
        draw_people(args.people_figure, document["constraint"]["solves"])
    if "columns" in parts:
        document["columns"] = all_columns(quick=quick)
    if "models" in parts and args.data is not None:
        document["models"] = all_models(args.data, quick=quick)
    save(args.out, document)


if __name__ == "__main__":
    main()
