"""Private frequent itemsets: time against a miner in C, memory, and the chance of the best.

Run: python benchmarks/itemsets.py [--data DIR] [--figures DIR] [--quick] [--only-lists]. DIR holds
the folders fimi, groceries, online_retail, and for lists epub, income_esl, msweb and supermarket,
too; --only-lists measures these, or one setting of them, and keeps the other figures, and so do
--only-small and --only-miner. The miner to compare with is Borgelt's eclat (pyfim, extra
`compare`); it mines to the support at the rank at which the private search stopped. Times are CPU
times, because the machine may have other work.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from math import comb
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, opened, report, save
from _itemset_lists import SETTINGS, lists, small_epsilons
from winnow.core.baskets import Baskets
from winnow.core.noisy_top.universe import Left
from winnow.core.tape import Tape
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.itemsets.table import WantedItemsets, itemset_mechanism
from winnow.select.mechanisms.large_margin import LargeMargin

PEOPLE = wn.Utility.declare(1, monotone=True)
EPSILON, DELTA = 1.0, 1e-6


def sources(folder: Path) -> dict[str, Callable[[], wn.SealedBaskets]]:
    def lines(path: str) -> Callable[[], wn.SealedBaskets]:
        return lambda: wn.read_baskets(folder / path, unit="basket")

    return {
        "mushroom": lines("fimi/mushroom.dat.gz"),
        "T10I4D100K": lines("fimi/T10I4D100K.dat.gz"),
        "kosarak, first 36,682": lines("fimi/kosarak_prefix36682.dat.gz"),
        "groceries": lines("groceries/groceries.csv.gz"),
        "online retail": lambda: wn.read_baskets(
            folder / "online_retail" / "online_retail.parquet",
            unit="basket", layout=wn.Pairs(basket="InvoiceNo", item="Description"),
        ),
    }  # fmt: skip


def cpu(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def peak_mb(reset: bool = False) -> float:
    """The peak memory of this process; since the reset, where the system can do that."""
    if reset:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def miner() -> Any:
    try:
        import fim
    except ImportError:
        return None
    return fim


def rows_of(baskets: Baskets) -> list[list[int]]:
    ends, codes = baskets.starts.tolist(), baskets.items.tolist()
    return [codes[a:b] for a, b in pairwise(ends)]


def timed(name: str, baskets: Baskets, size: int, draws: int) -> dict[str, Any]:
    """Median CPU time of a private draw, and of mining down to where it stopped."""
    mechanism, fim = LargeMargin(EPSILON, DELTA), miner()
    rows = rows_of(baskets)
    ours, theirs, ranks, supports, answers = [], [], [], [], []
    for draw in range(draws):
        tape = Tape.seeded(draw)
        universe = ItemsetRanks(baskets, size, known_items=False)
        took, found = cpu(lambda u=universe, t=tape: mechanism._draw(u, PEOPLE, t).found)
        ours.append(took)
        answers.append(found[0][1] if found else None)
        search = mechanism.search(PEOPLE)
        rank = search.stopping_rank(Left(universe), Tape.seeded(draw).child("search"))
        support = 1 if rank is None else max(1, int(universe.scores_at([rank - 1])[0]))
        ranks.append(rank)
        supports.append(support)
        if fim is not None and support not in supports[:-1]:
            mine = partial(fim.eclat, rows, target="s", zmin=size, zmax=size, supp=-support)
            theirs.append((support, min(cpu(mine)[0] for _ in range(3))))
    known = dict(theirs)
    mined = median(known[s] for s in supports) if fim is not None else None
    best = universe.listing(1)[0][1]
    return {
        "data": name,
        "size": size,
        "items": baskets.item_count,
        "itemsets": comb(baskets.item_count, size),
        "private, CPU s": median(ours),
        "miner, CPU s": mined,
        "ratio": None if mined is None else median(ours) / mined,
        "median support at the stop": median(supports),
        "never stopped": sum(rank is None for rank in ranks),
        "best released": sum(a == best for a in answers),
        "draws": draws,
    }


def against_miner(folder: Path, draws: int) -> list[dict[str, Any]]:
    """A row for each set of baskets and size of the itemsets."""
    rows = []
    for name, read in sources(folder).items():
        took, sealed = cpu(read)
        baskets = opened(sealed.data)
        for size in (2, 3, 4):
            timed(name, baskets, size, 1)  # loads the kernels
            rows.append({**timed(name, baskets, size, draws), "reading, CPU s": took})
    report(
        f"Best itemset at epsilon {EPSILON:g}, delta {DELTA:g}, items private (CPU, median)",
        ["data", "size", "private ms", "miner ms", "ratio", "support at the stop", "best released",
         "never stopped", "reading s"],
        [[r["data"], str(r["size"]), f"{1e3 * r['private, CPU s']:.1f}",
          "-" if r["miner, CPU s"] is None else f"{1e3 * r['miner, CPU s']:.1f}",
          "-" if r["ratio"] is None else f"{r['ratio']:.2f}",
          f"{r['median support at the stop']:,.0f}", f"{r['best released']}/{r['draws']}",
          f"{r['never stopped']}/{r['draws']}", f"{r['reading, CPU s']:.2f}"] for r in rows],
    )  # fmt: skip
    return rows


def generated(n: int, seed: int) -> Baskets:
    """17,000 items, popularities like those of a shop, 10 items each on average."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / (1 + np.arange(17_000)) ** 0.9
    codes = rng.choice(17_000, size=(n, 10), p=weights / weights.sum())
    rows = [np.unique(row).astype(np.int32) for row in codes]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Baskets(starts, np.concatenate(rows), 17_000)


def enormous(n: int, seed: int) -> dict[str, Any]:
    """Best triple of 8e11, items public: time and the growth of the peak memory."""
    baskets = generated(n, seed)
    small = ItemsetRanks(generated(3_000, seed), 3, known_items=True)  # loads the kernels
    LargeMargin(0.1, DELTA)._draw(small, PEOPLE, Tape.seeded(seed))
    before = peak_mb(reset=True)
    result = {"baskets": n, "itemsets": comb(17_000, 3)}
    for epsilon in (1.0, 0.1):
        universe = ItemsetRanks(baskets, 3, known_items=True)
        mechanism = LargeMargin(epsilon, DELTA)
        took, found = cpu(
            lambda u=universe, m=mechanism: m._draw(u, PEOPLE, Tape.seeded(seed)).found
        )
        result[f"CPU s at epsilon {epsilon:g}"] = took
        result[f"floor at epsilon {epsilon:g}"] = universe.floor
        result[f"answer in the data at epsilon {epsilon:g}"] = bool(found and found[0][0] > 0)
    result["peak memory grew by MB"] = peak_mb() - before
    return result


CURVES: dict[str, dict[str, Any]] = {
    "exponential": {},
    "permute-and-flip": {},
    "noisy-max": {},
    "large-margin": {},
    "large-margin, printed": {"thresholds": "printed"},
    "distance-to-instability": {},
    "choosing": {},
    "limited-domain": {},
}
LONGEST = 32
"""No basket of groceries has more items."""
PURE = ("exponential", "permute-and-flip", "noisy-max")
"""Those that need the list of items, and no delta."""


def chances(baskets: Baskets, draws: int, epsilons: list[float]) -> dict[str, list[float]]:
    """How often each mechanism releases the true best pair."""
    best = ItemsetRanks(baskets, 2, known_items=True).listing(1)[0][1]
    found: dict[str, list[float]] = {}
    for name, options in CURVES.items():
        mechanism = name.partition(",")[0]
        delta = 0 if mechanism in PURE else DELTA
        universe = ItemsetRanks(baskets, 2, known_items=True)
        found[name] = []
        for epsilon in epsilons:
            wanted = WantedItemsets(epsilon, delta, 1, PEOPLE, universe.total, comb(LONGEST, 2))
            chosen = itemset_mechanism(mechanism, wanted, **options)
            hits = [
                chosen._draw(universe, PEOPLE, Tape.seeded(draw).child(name)).found
                for draw in range(draws)
            ]
            found[name].append(sum(bool(hit) and hit[0][1] == best for hit in hits) / draws)
    return found


def draw_figure(path: Path, epsilons: list[float], found: dict[str, list[float]]) -> None:
    """The chance of the best pair: without a delta on the left, with one on the right."""
    from matplotlib.ticker import LogLocator, NullFormatter

    from winnow.show.plots.figures import STYLES, add_axes, as_file, empty_figure

    figure = empty_figure(15.0, 6.6)
    with_delta = [name for name in found if name not in PURE]
    titles = (
        "Groceries, pairs of 169 public items, no delta",
        "The same with δ = 1e-6; the items may be private",
    )
    for place, names in enumerate((PURE, with_delta), 1):
        axes = add_axes(figure, (1, 2, place))
        if place == 2:
            axes.plot(
                epsilons, found["permute-and-flip"], color="#999999", linewidth=1.6,
                label="permute-and-flip (left)",
            )  # fmt: skip
        for i, name in enumerate(names):
            axes.plot(
                epsilons, found[name], label=name, linewidth=2.2, markersize=7,
                markeredgecolor="white", markeredgewidth=0.7, **STYLES[i],
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlim(epsilons[0], epsilons[-1])
        axes.set_ylim(-0.02, 1.03)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.set_xlabel("privacy loss ε of the call (no unit, log scale)")
        axes.set_ylabel("chance that the best pair is released")
        axes.set_title(titles[place - 1], loc="left")
        axes.grid(color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, frameon=False, handlelength=4
        )
    path.mkdir(parents=True, exist_ok=True)
    (path / "itemsets_chances.png").write_bytes(as_file(figure, ".png"))


def main() -> None:
    parser = arguments(__doc__ or "", "itemsets")
    parser.add_argument("--data", type=Path, help="folder with fimi, groceries, online_retail")
    parser.add_argument("--figures", type=Path, help="where to write the figure")
    parser.add_argument("--quick", action="store_true", help="fewer draws")
    parser.add_argument(
        "--only-lists", nargs="?", const="all", choices=["all", *SETTINGS],
        help="measure the lists again, or those of one setting",
    )  # fmt: skip
    parser.add_argument(
        "--only-miner", action="store_true", help="measure the times beside the miner again"
    )
    parser.add_argument(
        "--only-small", action="store_true", help="measure the lists at small epsilon again"
    )
    options = parser.parse_args()
    if options.only_small:
        kept = json.loads(options.out.read_text())
        kept.pop("machine")
        save(options.out, kept | {"small epsilon": small_epsilons(options.data, options.seed)})
        return
    if options.only_miner:
        kept = json.loads(options.out.read_text())
        kept.pop("machine")
        save(options.out, kept | {"against a miner": against_miner(options.data, kept["draws"])})
        return
    if options.only_lists:
        kept = json.loads(options.out.read_text())
        kept.pop("machine")
        only = None if options.only_lists == "all" else options.only_lists
        found = lists(options.data, options.seed, options.quick, kept.get("lists", []), only)
        save(options.out, kept | {"lists": found})
        return
    draws = 5 if options.quick else 20
    document: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "draws": draws}
    document["17,000 items, triples"] = enormous(10_000 if options.quick else 50_000, options.seed)
    report(
        "17,000 items, triples", ["what", "value"],
        [[k, f"{v:.4g}" if isinstance(v, float) else str(v)]
         for k, v in document["17,000 items, triples"].items()],
    )  # fmt: skip
    if options.data is None:
        save(options.out, document)
        return
    document["against a miner"] = against_miner(options.data, draws)
    groceries = opened(sources(options.data)["groceries"]().data)
    document["lists"] = lists(options.data, options.seed, options.quick, [])
    document["small epsilon"] = small_epsilons(options.data, options.seed)
    epsilons = [round(float(e), 4) for e in np.geomspace(0.004, 0.4, 6 if options.quick else 13)]
    found = chances(groceries, 20 if options.quick else 60, epsilons)
    document["chance of the best pair"] = {"epsilons": epsilons, **found}
    report(
        "Groceries: chance of the best pair", ["mechanism", *(f"{e:g}" for e in epsilons)],
        [[name, *(f"{p:.2f}" for p in line)] for name, line in found.items()],
    )  # fmt: skip
    if options.figures is not None:
        draw_figure(options.figures, epsilons, found)
    save(options.out, document)


if __name__ == "__main__":
    main()
