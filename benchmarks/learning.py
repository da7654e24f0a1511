"""Private learning on ADULT: test accuracy against epsilon, and the time for 10^6 hypotheses.

Run: python benchmarks/learning.py [--data DIR] [--figures DIR] [--quick] [--only-classifiers]. DIR
holds the folders adult_raw (training and test rows as text) and adult_pgm (integer codes), and for
the comparison of classifiers income_esl, fimi, goodreads_books, movielens_latest_small,
online_retail, steam and supermarket; --only-classifiers makes that comparison again
and keeps the other figures of the file. The cut points below are round numbers, written down
without looking at the rows. Times are CPU times, because the
machine may have other work.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from _areas import areas
from _classifiers import compared, fresh, tables
from _common import arguments, opened, report, save
from winnow.core.tape import Tape
from winnow.learn.crossing.rows import labelled_table, rule_scores
from winnow.learn.features import cut_features
from winnow.learn.kernels.rule_counts import correct_by_rule
from winnow.learn.rules import RuleClass, rule_class, rules_over
from winnow.select.table import selection_named

CUTS = {
    "age": [0, *range(20, 80, 5), 120],
    "education-num": list(range(1, 18)),
    "capital-gain": [0, 1, 1000, 3000, 5000, 7000, 10_000, 20_000, 100_000],
    "capital-loss": [0, 1, 1000, 1500, 1800, 2000, 2500, 5000],
    "hours-per-week": [*range(0, 80, 5), 100],
}
TARGET = "classification"
DELTA = 1e-6
EPSILONS = (0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0)
MECHANISMS: dict[str, dict[str, Any]] = {
    "permute-and-flip": {},
    "exponential": {},
    "large-margin": {"delta": DELTA, "thresholds": "tight"},
    "large-margin (printed)": {"delta": DELTA, "thresholds": "printed"},
}
SUBSTITUTION = wn.Utility.declare(1, monotone=True, relation="substitution")
Counts = NDArray[np.int64]


def cpu(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def adult(folder: Path) -> tuple[Any, Any, dict[str, Any]]:
    """Training rows, test rows and a schema; the values of a text column are those of either."""
    import pandas as pd

    train, test = (
        pd.read_csv(folder / "adult_raw" / name, skipinitialspace=True)
        for name in ("adult.data.gz", "adult.test.gz")
    )
    schema: dict[str, Any] = {}
    for name in train.columns:
        if name == "fnlwgt":
            continue
        if name in CUTS:
            schema[name] = {"edges": CUTS[name], "clip": True}
        else:
            schema[name] = {"values": sorted({*train[name], *test[name]})}
    return train, test, schema


def accuracies(folder: Path, kind: str, draws: int, seed: int) -> dict[str, Any]:
    """Mean test accuracy of each mechanism at each epsilon, and of the best without privacy."""
    train, test, schema = adult(folder)
    sealed = wn.read_table(train, schema=schema)
    rules = rules_over(kind, sealed.schema.subset([n for n in schema if n != TARGET]))
    scores = opened(rule_scores(labelled_table(sealed, TARGET), rules).values)
    held = wn.read_table(test, schema=schema)
    on_test = opened(rule_scores(labelled_table(held, TARGET), rules).values) / len(test)
    best, root = int(np.argmax(scores)), Tape.seeded(seed)
    rows = []
    for name, options in MECHANISMS.items():
        for epsilon in EPSILONS:
            mechanism = selection_named(name.partition(" ")[0], epsilon=epsilon, **options)
            drawn = np.array(
                [
                    mechanism.of_scores(scores, SUBSTITUTION, root.child(f"{d}")).members[0]
                    for d in range(draws)
                ]
            )
            found = on_test[drawn]
            rows.append(
                {
                    "mechanism": name,
                    "epsilon": epsilon,
                    "test_accuracy": float(found.mean()),
                    "lower": float(np.quantile(found, 0.1)),
                    "upper": float(np.quantile(found, 0.9)),
                    "chance_of_best": float(np.mean(scores[drawn] == scores[best])),
                }
            )
    gaps = np.sort(scores.max() - scores)[1:]
    return {
        "class": kind,
        "hypotheses": len(rules),
        "best_rule": rules.rule(best).text(rules.features, ("<=50K", ">50K")),
        "best_train": float(scores[best] / len(train)),
        "best_test": float(on_test[best]),
        "most_frequent_class": float(on_test[:2].max()),
        "next_gaps": [int(gaps[i]) for i in (0, 9, 99) if i < len(gaps)],
        "rows": rows,
    }


def naive(rules: RuleClass, codes: Any, positive: Any, weights: Counts, sample: int) -> float:
    """CPU seconds for all rules if each is run over the rows, from a sample of them."""
    chosen = np.linspace(0, len(rules) - 1, sample).astype(int)
    start = time.process_time()
    for number in chosen.tolist():
        said = rules.rule(number).positive(codes, len(weights))
        int(weights[said == positive].sum())
    return (time.process_time() - start) / sample * len(rules)


def timings(folder: Path | None, quick: bool) -> list[dict[str, Any]]:
    """Scores of all hypotheses, one private choice, and the naive way."""
    cases: dict[str, tuple[RuleClass, Any, Any, Counts]] = {}
    generator = np.random.default_rng(0)
    n = 50_000
    x = generator.normal(size=n)
    positive = generator.random(n) < 0.3
    line = rule_class("intervals", cut_features(["x"], np.linspace(-3, 3, 1000), named=False))
    cases["intervals, 1,000 cuts, 50,000 rows"] = (
        line, [line.features[0].encode(x)], positive, np.ones(n, np.int64),
    )  # fmt: skip
    if folder is not None:
        train, _, schema = adult(folder)
        kinds = ("conjunctions:2",) if quick else ("conjunctions:2", "conjunctions:3")
        sealed = wn.read_table(train, schema=schema)
        for kind in kinds:
            cases[f"{kind} on ADULT"] = _case(sealed, TARGET, kind)
        import pandas as pd

        codes = pd.read_csv(folder / "adult_pgm" / "adult.csv.gz")
        domain = wn.Schema.parse(folder / "adult_pgm" / "adult-domain.json")
        table = wn.read_table(codes, schema=domain)
        cases["conjunctions:2 on ADULT codes"] = _case(table, "income>50K", "conjunctions:2")
    found = []
    for name, (rules, codes, labels, weights) in cases.items():
        score = partial(correct_by_rule, rules, codes, labels, weights)
        seconds, scores = min((cpu(score) for _ in range(2)), key=lambda pair: pair[0])
        choice = {}
        for word, options in list(MECHANISMS.items())[:3]:
            mechanism = selection_named(word, epsilon=1.0, **options)
            draw_one = partial(mechanism.of_scores, scores, SUBSTITUTION)
            choice[word] = min(cpu(partial(draw_one, Tape.seeded(i)))[0] for i in range(3))
        found.append(
            {
                "case": name,
                "hypotheses": len(rules),
                "rows": int(weights.sum()),
                "scores_seconds": seconds,
                "choice_seconds": choice,
                "naive_seconds": naive(rules, codes, labels, weights, 20 if quick else 100),
                "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    return found


def _case(table: wn.SealedTable, target: str, kind: str) -> tuple[RuleClass, Any, Any, Counts]:
    features = [name for name in table.schema.names if name != target]
    rows = opened(labelled_table(table, target).rows)
    rules = rules_over(kind, table.schema.subset(features))
    return rules, rows.codes, rows.positive, rows.weights


def draw(results: list[dict[str, Any]], folder: Path) -> None:
    """Test accuracy against epsilon, a panel for each class."""
    from winnow.show.plots.figures import STYLES, add_axes, as_file, empty_figure

    figure = empty_figure(7.2 * len(results), 5.6)
    lowest = min(r["test_accuracy"] for found in results for r in found["rows"])
    for place, found in enumerate(results, 1):
        axes = add_axes(figure, (1, len(results), place))
        axes.axhline(
            100 * found["best_test"], color="#222222", linewidth=1.6,
            label="best of the class, not private",
        )  # fmt: skip
        axes.axhline(
            100 * found["most_frequent_class"], color="#888888", linewidth=1.2, linestyle=":",
            label="always the more frequent class",
        )  # fmt: skip
        for i, name in enumerate(MECHANISMS):
            rows = [row for row in found["rows"] if row["mechanism"] == name]
            epsilons = [row["epsilon"] for row in rows]
            axes.fill_between(
                epsilons, [100 * row["lower"] for row in rows],
                [100 * row["upper"] for row in rows], color=STYLES[i]["color"], alpha=0.08,
            )  # fmt: skip
            axes.plot(
                epsilons, [100 * row["test_accuracy"] for row in rows], label=name,
                linewidth=2.2, markersize=7, markeredgecolor="white", markevery=(i % 2, 2),
                **STYLES[i],
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_ylim(100 * lowest - 1, 84)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("privacy loss ε of the call (no unit, log scale)")
        axes.set_ylabel("accuracy on the test rows (%)")
        title = f"ADULT income, {found['class']} ({found['hypotheses']:,} rules)"
        axes.set_title(f"{title}; band: 10–90 % of draws", loc="left")
        axes.grid(color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
        if place == 1:
            handles = axes.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False, handlelength=4)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "learning_accuracy.png").write_bytes(as_file(figure, ".png"))


def classifiers(folder: Path, quick: bool, kept: dict[str, Any]) -> dict[str, Any]:
    """The comparison on the sets that choices were settled on, and on fresh ones."""
    sets = {"classifiers": tables(folder, adult), "fresh": fresh(folder, adult)}
    return {name: compared(own, quick, kept.get(name, [])) for name, own in sets.items()}


def main() -> None:
    parser = arguments(__doc__ or "", "learning")
    parser.add_argument("--data", type=Path, default=None, help="folder of the data sets")
    parser.add_argument("--figures", type=Path, default=None, help="where to draw")
    parser.add_argument("--quick", action="store_true", help="fewer draws, no triples")
    parser.add_argument(
        "--only-classifiers",
        action="store_true",
        help="compare these again; rivals that are known are kept",
    )
    parser.add_argument("--only-areas", action="store_true", help="areas under the curve alone")
    options = parser.parse_args()
    if options.only_areas:
        kept = json.loads(options.out.read_text())
        kept.pop("machine")
        sets = tables(options.data, adult) | fresh(options.data, adult)
        save(options.out, kept | {"areas": areas(sets, kept.get("areas", []))})
        return
    if options.only_classifiers:
        kept = json.loads(options.out.read_text())
        kept.pop("machine")
        save(options.out, kept | classifiers(options.data, options.quick, kept))
        return
    times = timings(options.data, options.quick)
    report(
        "All hypotheses scored (CPU seconds), one private choice, and every rule over every row",
        ["class", "hypotheses", "rows", "scores", "large-margin", "permute-and-flip", "naive"],
        [
            [
                row["case"],
                f"{row['hypotheses']:,}",
                f"{row['rows']:,}",
                f"{row['scores_seconds']:.3f}",
                f"{row['choice_seconds']['large-margin']:.3f}",
                f"{row['choice_seconds']['permute-and-flip']:.3f}",
                f"{row['naive_seconds']:,.0f} (extrapolated)",
            ]
            for row in times
        ],
    )
    results = []
    rows = {} if options.data is None else classifiers(options.data, options.quick, {})
    if options.data is not None:
        draws = 30 if options.quick else 200
        for kind in ("stumps", "conjunctions:2"):
            found = accuracies(options.data, kind, draws, options.seed)
            results.append(found)
            by_name = {
                name: [r for r in found["rows"] if r["mechanism"] == name] for name in MECHANISMS
            }
            report(
                f"{kind} ({found['hypotheses']:,}): mean test accuracy of {draws} draws; best "
                f"without privacy {100 * found['best_test']:.2f} % ({found['best_rule']})",
                ["epsilon", *MECHANISMS],
                [
                    [f"{e:g}", *(f"{100 * by_name[n][i]['test_accuracy']:.2f}" for n in MECHANISMS)]
                    for i, e in enumerate(EPSILONS)
                ],
            )
        if options.figures is not None:
            draw(results, options.figures)
    save(options.out, {"delta": DELTA, "timings": times, "accuracy": results, **rows})


if __name__ == "__main__":
    main()
