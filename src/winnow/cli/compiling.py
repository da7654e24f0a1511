"""Small programs on made-up data that meet the compiled kernels with the types of releases."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from typing import Any

from winnow.cli.reporting import reported
from winnow.errors import SavingError

EXAMPLES = """\
Examples:

winnow compile

NUMBA_CACHE_DIR=/opt/winnow-kernels winnow compile
"""

Program = tuple[str, Callable[[], Any]]
_TERMS: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "seed": 1}


def programs() -> Iterator[Program]:
    """What is run, and its name for people. Kernels of very large data are left to these."""
    yield from _releases()
    yield "questions", _questions
    yield "quantiles", _quantiles
    yield from _itemsets()
    yield "long lists of gaps", _gaps
    yield "rules", _rules
    yield from _linear_programs()


def _made_up(seed: int, *shape: int) -> Any:
    """Numbers between 0 and 1, the same ones every time."""
    from winnow.core.tape import Tape

    words = Tape.seeded(seed).words(0, math.prod(shape))
    return ((words + 0.5) * 2.0**-32).reshape(shape)


def _table(columns: int, size: int = 5, rows: int = 3_000) -> Any:
    import winnow as wn

    codes = (size * _made_up(columns, columns, rows)).astype(int)
    data = {f"c{place}": column for place, column in enumerate(codes)}
    schema = dict.fromkeys(data, size)
    return wn.read_table(data, schema=schema, relation="substitution")


def _releases() -> Iterator[Program]:
    import winnow as wn

    def released(columns: int, asked: Any, method: Any, size: int = 5) -> Callable[[], Any]:
        return lambda: wn.release(_table(columns, size), asked, method=method, **_TERMS)

    for method in ("graphical", "adaptive", "tables"):
        yield f"releases, {method}", released(5, wn.marginals(2), method)
    yield "releases of wide tables", released(9, wn.marginals(2), "auto")
    yield "models of wide tables", released(16, wn.marginals(2), "graphical", 12)
    rounds = wn.MWEM(rounds=60)
    for name, workload in (
        ("marginals", wn.marginals(2)),
        ("larger marginals", wn.marginals(3)),
        ("ranges", wn.ranges("c0")),
        ("products of codes", wn.where(c0=[0, 2], c1=[1, 3]) + wn.where(c0=[0, 4], c2=[1, 2])),
        ("binary queries", wn.random_queries(3_000, seed=1)),
        ("real queries", wn.random_queries(2_000, kind="real", seed=1)),
    ):
        yield f"rounds over {name}", released(4, workload, rounds)


def _questions() -> None:
    import winnow as wn

    with wn.ask(_table(4), max_queries=40, **_TERMS) as session:
        for place in range(5):
            session.ask(wn.where(c0=place, c1=[0, 1]))


def _quantiles() -> None:
    import winnow as wn

    data = {"x": (100 * _made_up(6, 3_000)).astype(int)}
    schema = {"x": {"type": "number", "low": 0, "high": 99}}
    table = wn.read_table(data, schema=schema, relation="substitution")
    wn.quantiles(table, "x", [0.25, 0.5, 0.75], method="joint", epsilon=1.0, seed=1)


def _itemsets() -> Iterator[Program]:
    import numpy as np

    import winnow as wn

    def mined(items: int, each: int, size: int, **more: Any) -> Callable[[], Any]:
        def run() -> None:
            drawn = (items * _made_up(items, 3_000, each)).astype(int)
            rows = [np.unique(row).tolist() for row in drawn]
            rows += [list(range(size + 1))] * 400
            baskets = wn.read_baskets(rows, unit="basket", max_items=40)
            wn.itemsets(baskets, size=size, **_TERMS, **more)

        return run

    yield "itemsets of dense baskets", mined(40, 20, 3, k=3)
    yield "itemsets of sparse baskets", mined(3_000, 6, 3, method="limited-domain")
    yield "pairs of sparse baskets", mined(30_000, 6, 2, method="limited-domain")
    yield "weighted itemsets", mined(60, 6, 3, method="weighted", k=5)


def _gaps() -> None:
    import winnow as wn

    counts = (5_000 * _made_up(2, 1 << 18)).astype(int)
    wn.select(wn.seal_scores(counts, monotone=True), method="large-margin", **_TERMS)


def _rules() -> None:
    import winnow as wn

    wn.learn(_table(6, 2), "c0", epsilon=1.0, seed=1)


def _linear_programs() -> Iterator[Program]:
    import numpy as np

    import winnow as wn

    def solved(rows: int, columns: int, rounds: int) -> Callable[[], Any]:
        def run() -> None:
            matrix = 4 * _made_up(3, rows, columns) - 2
            point = _made_up(4, columns)
            sides = matrix @ (point / point.sum()) + 0.02 * _made_up(5, rows)
            problem = wn.lp_problem(
                matrix, sides, np.ones(columns), opt=1.0, relation="substitution"
            )
            wn.lp(problem, method=wn.ScalarSides(sensitivity=1e-6, rounds=rounds), **_TERMS)

        return run

    yield "small linear programs", solved(300, 5, 50)
    yield "large linear programs", solved(20_000, 12, 3_000)


@reported()
def compile_all() -> None:
    """Compile what runs fast once, so that no later run waits for it.

    The first release of a kind on a machine compiles some loops, which takes seconds, and keeps
    them beside the package or in NUMBA_CACHE_DIR. This runs small releases of made-up data, which
    compile nearly all of them: about half a minute, once, for example when an image is built for
    machines on which nothing can be written. Nothing private is read, and nothing is charged.
    """
    from winnow.cli.printing import console, counting
    from winnow.core.kernels.compiled import KERNELS

    runs = list(programs())
    with counting("compiling") as progress:
        for place, (_, run) in enumerate(runs):
            run()
            progress(place + 1, len(runs))
    folders = [kernel.stats.cache_path for kernel in KERNELS if kernel.stats.cache_path]
    done = sum(bool(kernel.signatures) for kernel in KERNELS)
    if not folders:
        raise SavingError(
            f"{done} loops were compiled, but no writable folder keeps them; name one "
            "in NUMBA_CACHE_DIR, here and for later runs"
        )
    console().print(f"{done} compiled loops are kept in {os.path.commonpath(folders)}")
