"""Bounds that a release chooses by a look at people, against the best fixed bound.

Generated people of ten kinds (one item each, five, geometric, lognormal, Pareto, two sorts, few who
have very many), 1,000 and 30,000 of them; 30 to 10,000 public items whose counts fall as 1/rank.
The error is the mean absolute error of a count, from noise and from what the bound leaves out, by
formula; looks are drawn. The best fixed bound is the best of all for the same data, and pays for no
look. With `--data DIR`, real releases of the logs of `benchmarks/labels.py`.
Run: python benchmarks/bounds.py [--data DIR] [--quick]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from _common import arguments, report, save
from winnow.read.bound_choice import AboutChoice
from winnow.select.auto_bound import share_for
from winnow.select.compared_bounds import NoiseUnderBounds, best, compared

People = NDArray[np.int64]
LISTED = (30, 100, 1000, 10_000)
EPSILONS = (0.3, 2.0)
FIXED = (1, 3, 6, 12, 24, 48, 96)
"""Bounds that are tried on real logs."""


def made_up(rng: np.random.Generator, people: int) -> dict[str, People]:
    """How many items people have."""
    found = {
        "one": np.ones(people),
        "five": np.full(people, 5),
        "geometric, mean 3": rng.geometric(1 / 3, people),
        "geometric, mean 30": rng.geometric(1 / 30, people),
        "lognormal": np.ceil(rng.lognormal(1, 1, people)),
        "lognormal, wide": np.ceil(rng.lognormal(2, 1.5, people)),
        "Pareto, 2": np.floor(rng.pareto(2, people) + 1),
        "Pareto, 1.2": np.floor(rng.pareto(1.2, people) + 1),
        "one in a hundred has 500": np.where(
            rng.random(people) < 0.01, 500, rng.geometric(0.5, people)
        ),
        "half have 40": np.where(rng.random(people) < 0.5, 1, 40),
    }
    return {name: held.astype(np.int64) for name, held in found.items()}


def error(held: People, bound: int, listed: int, scale: float) -> float:
    """The mean absolute error of a count with Laplace noise: of bias b it is b + s e^(-b/s)."""
    shares = 1 / np.arange(1, listed + 1)
    bias = np.maximum(held - bound, 0).sum() * shares / shares.sum()
    return float((bias + scale * np.exp(-bias / scale)).mean())


def looked(
    rng: np.random.Generator, held: People, grid: tuple[int, ...], scale: float
) -> list[int]:
    """The noisy numbers of people that a look sees."""
    counted = np.bincount(np.searchsorted(grid, held), minlength=len(grid) + 1)
    odds = 1 - np.exp(-1 / scale)
    noise = rng.geometric(odds, len(counted)) - rng.geometric(odds, len(counted))
    return list(map(int, counted + noise))


def regrets(rng: np.random.Generator, runs: int) -> list[dict[str, Any]]:
    """The error of the chosen bound over that of the best fixed one."""
    found = []
    for people in (1000, 30_000):
        for kind, everybody in made_up(rng, people).items():
            for listed in LISTED:
                held = np.minimum(everybody, listed)
                grid = AboutChoice.of_items("person", "item", listed).grid
                bounds = sorted({*grid, *range(1, min(listed, 40) + 1)})
                for epsilon in EPSILONS:
                    fixed = min(error(held, b, listed, b / epsilon) for b in bounds)
                    share = float(share_for(listed))
                    rest, scale = epsilon * (1 - share), 1 / (epsilon * share)
                    noise = tuple(b / rest for b in grid)
                    under = NoiseUnderBounds(grid, noise, float(listed))
                    chosen = []
                    for _ in range(runs):
                        noisy = looked(rng, held, grid, scale)
                        bound = best(compared(under, noisy, scale * 2**0.5))
                        chosen.append(error(held, bound, listed, bound / rest))
                    regret = float(np.mean(chosen)) / fixed
                    found.append(
                        {"people": people, "kind": kind, "items": listed, "epsilon": epsilon,
                         "regret": regret}
                    )  # fmt: skip
    return found


def released(folder: Path, runs: int) -> list[dict[str, Any]]:
    """Real releases: counts of all items of a log, as if they were listed."""
    from labels import logs

    found = []
    for name, rows in logs(folder).items():
        items = sorted(rows["item"].unique())
        truth = rows["item"].value_counts().reindex(items).to_numpy()

        def measured(
            bound: int | str,
            rows: Any = rows,
            items: Any = items,
            truth: Any = truth,
        ) -> float:
            errors = []
            for run in range(runs):
                counts = wn.counts(rows, item="item", person="person", max_items=bound, items=items,
                                   reading=wn.Reading(salt=f"{run}"))  # fmt: skip
                table = wn.tabulate(counts, epsilon=1.0, seed=run).value.tables[0]
                estimates = table.to_pandas().set_index("item")["estimate"].reindex(items)
                errors.append(float(np.abs(estimates.to_numpy() - truth).mean()))
            return float(np.mean(errors))

        bounds = [bound for bound in FIXED if bound <= len(items)]
        fixed = {bound: measured(bound) for bound in bounds}
        least = min(fixed, key=lambda bound: fixed[bound])
        found.append({"log": name, "best": least, "error": fixed[least], "auto": measured("auto")})
    return found


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__ or "", "bounds")
    parser.add_argument("--quick", action="store_true", help="few looks")
    parser.add_argument("--data", type=Path, help="a folder with real logs")
    chosen = parser.parse_args()
    rows = regrets(np.random.default_rng(chosen.seed), 4 if chosen.quick else 40)
    lines = []
    for listed in LISTED:
        of = np.array([row["regret"] for row in rows if row["items"] == listed])
        lines.append([f"{listed:,}", f"{of.mean():.2f}", f"{np.quantile(of, 0.9):.2f}",
                      f"{of.max():.2f}", f"{(of <= 1.2).mean():.2f}"])  # fmt: skip
    report("error of the chosen bound over that of the best", ["items", "mean", "90 %", "worst",
           "within 1.2"], lines)  # fmt: skip
    real = [] if chosen.data is None else released(chosen.data, 2)
    if real:
        report("real logs, epsilon 1", ["log", "best bound", "its error", "auto"],
               [[r["log"], f"{r['best']}", f"{r['error']:.2f}", f"{r['auto']:.2f}"] for r in real],
        )  # fmt: skip
    save(chosen.out, {"quick": chosen.quick, "rows": rows, "logs": real})


if __name__ == "__main__":
    main()
