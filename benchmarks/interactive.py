"""Questions one by one: errors against independent noise, and time per answer.

    n = 48,842 rows, seven columns, 120,960 cells; random conjunctions of three columns, each with
    a random set of its codes; epsilon = 1, delta = 1e-6; sessions sized for k = 1e4, 1e5 and 1e6
    questions, of which 10,000 and 100,000 are asked.

The same on other tables (``TABLES``), sized for 100 to 10^6 questions, at epsilon 0.3 and 1; up to
2,000 are asked, of what the default takes, sessions that start from nothing, independent noise. How
sessions start was chosen on ADULT, income and supermarket at epsilon 1; the others test it.

And questions of somebody who knows the data and wants bad answers (``_hostile_questions``), on some
of these tables and on a made-up one: the default, without its fallback, and independent noise.

Independent noise is that of sessions with method="independent", at the same budget for k answers.
Sessions are seeded, so errors are repeatable; times are not. Needs --data, a folder with adult_pgm,
income_esl, supermarket, online_retail, goodreads_books, movielens_latest_small and steam.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, report, save
from _hostile_questions import histogram, hostile, scattered
from _wide_data import Codes, adult, books, income, movies, retail, steam, supermarket
from winnow import SealedTable, Workload
from winnow.ask.compared import WORDS
from winnow.ask.questions import Question, taken
from winnow.ask.session import WeightsSession
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.read.crossing import unsafe_true_answers

COLUMNS = (
    "workclass", "education-num", "marital-status", "relationship", "race", "sex", "income>50K",
)  # fmt: skip
SIZES = (10**4, 10**5, 10**6)
VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("default", {"method": "multiplicative-weights"}),
    ("proved threshold", {"method": wn.MultiplicativeWeights(threshold="proved")}),
    ("no tables", {"method": wn.MultiplicativeWeights(warm_start=0)}),
    ("threshold 0.08", {"method": wn.MultiplicativeWeights(threshold=0.08)}),
    ("printed constants", {"method": wn.MultiplicativeWeights(calibration="paper")}),
)


TABLES: dict[str, Callable[[Path], Codes]] = {
    "adult": lambda folder: adult(folder, COLUMNS),
    "income": lambda folder: part(income(folder), 8),
    "supermarket": lambda folder: part(supermarket(folder), 14),
    "retail": lambda folder: part(retail(folder), 5),
    "books": lambda folder: part(books(folder), 4),
    "movies": lambda folder: part(movies(folder), 4),
    "steam": lambda folder: part(steam(folder), 12),
}
HOSTILE = (("adult", 10**5), ("retail", 10**5), ("movies", 10**5), ("books", 10**4),
           ("steam", 10**4), ("scattered", 10**5))  # fmt: skip
CHOSEN_ON = ("adult", "income", "supermarket")
QUESTIONS, MANY, EPSILONS = 2_000, (100, 1_000, 10**4, 10**5, 10**6), (0.3, 1.0)


def part(codes: Codes, columns: int) -> Codes:
    """The first columns."""
    names = list(codes.schema)[:columns]
    return Codes(codes.frame[names], {name: codes.schema[name] for name in names}, names[-1])


def compared(
    folder: Path, seed: int, quick: bool, names: Sequence[str] = tuple(TABLES)
) -> list[dict[str, Any]]:
    """A row for each table, epsilon and number of questions."""
    found = []
    for name in names:
        table = table_of(folder, name)
        workload = conjunctions(table, QUESTIONS, seed)
        truth = unsafe_true_answers(table, workload)
        asked = [taken(workload, query) for query in range(QUESTIONS)]
        for epsilon in EPSILONS[1:] if quick else EPSILONS:
            for k in MANY:
                row: dict[str, Any] = {
                    "data": name, "chosen on": name in CHOSEN_ON and epsilon == 1, "n": table.n,
                    "cells": table.schema.cells, "epsilon": epsilon, "k": k,
                }  # fmt: skip
                for word, options in (
                    ("independent", {"method": "independent"}),
                    ("no tables", {"method": wn.MultiplicativeWeights(warm_start=0)}),
                    ("default", {}),
                ):
                    with suppress(wn.InputError):
                        row[word] = errors(
                            table, asked[:k], truth, k, options | {"epsilon": epsilon}
                        )
                found.append(row)
    report(
        "Largest / mean error",
        ["data", "epsilon", "k", "independent", "no tables", "default", "default is"],
        [
            [r["data"], f"{r['epsilon']:g}", f"{r['k']:,}"]
            + [f"{r[w]['max']:.4f} / {r[w]['mean']:.4f}" if w in r else "-"
               for w in ("independent", "no tables", "default")]
            + [r["default"]["method"] if "default" in r else "-"]
            for r in found
        ],
    )  # fmt: skip
    return found


def table_of(folder: Path, name: str) -> SealedTable:
    """One of the tables."""
    codes = TABLES[name](folder)
    return wn.read_table(codes.frame.astype(int), schema=codes.schema)


def besieged(folder: Path, seed: int) -> list[dict[str, Any]]:
    """Sessions under hostile questions, at epsilon 1."""
    found = []
    for name, k in HOSTILE:
        table = scattered(seed) if name == "scattered" else table_of(folder, name)
        held = histogram(table)
        row: dict[str, Any] = {"data": name, "n": table.n, "cells": table.schema.cells, "k": k}
        for word, options in (
            ("independent", {"method": "independent"}),
            ("no fallback", {"method": wn.MultiplicativeWeights(fallback=0)}),
            ("default", {}),
        ):
            row[word] = hostile(table, held, 1.0, k, seed, **options)
        found.append(row)
    report(
        "Hostile questions: largest / mean error (bound)",
        ["data", "k", "independent", "no fallback", "default"],
        [
            [r["data"], f"{r['k']:,}"]
            + [f"{r[w]['max']:.4f} / {r[w]['mean']:.4f} ({r[w]['bound']:.3f})"
               for w in ("independent", "no fallback", "default")]
            for r in found
        ],
    )  # fmt: skip
    return found


def conjunctions(table: SealedTable, number: int, seed: int) -> Workload:
    """Random product sets of three columns each."""
    random, shape = np.random.default_rng(seed), table.schema.shape
    masks = []
    for _ in range(number):
        mask = {}
        for column in random.choice(len(shape), 3, replace=False).tolist():
            held = random.random(shape[column]) < 0.5
            if held.all() or not held.any():
                held = np.arange(shape[column]) == random.integers(shape[column])
            mask[column] = held
        masks.append(mask)
    return Workload(table.schema, (ConjunctionPart(table.schema, tuple(masks)),))


def errors(
    table: SealedTable, asked: list[Question], truth: Any, k: int, options: dict[str, Any]
) -> dict[str, Any]:
    """One session: its errors and its times."""
    options = {"epsilon": 1.0} | options
    session = wn.ask(table, delta=1e-6, max_queries=k, seed=1, **options)
    off = np.empty(len(asked))
    hypothesis: list[float] = []
    fresh: list[float] = []
    for place, question in enumerate(asked):
        start = time.perf_counter()
        answer = session.ask(question)
        took = time.perf_counter() - start
        off[place] = abs(answer.value - truth[place])
        (hypothesis if answer.kind == "hypothesis" else fresh).append(took)
    if not isinstance(session, WeightsSession):
        return {
            "method": session.method,
            "max": float(off.max()),
            "mean": float(off.mean()),
            "bound": session.sizes.bound,
            "median_us": 1e6 * float(np.median(fresh)),
        }
    return {
        "method": session.method,
        "tables": session.sizes.start is not None,
        "fallback": session.sizes.fallback is not None,
        "usual": session.sizes.usual,
        "max": float(off.max()),
        "mean": float(off.mean()),
        "bound": session.sizes.bound,
        "updates": session.updates,
        "cap": session.sizes.rounds.updates,
        "status": session.status,
        "median_us": 1e6 * float(np.median(hypothesis or fresh)),
    }


def written(table: SealedTable, number: int, seed: int) -> float:
    """Median time of ``ask(wn.where(...))``, the reading of the conditions included, in us."""
    random, schema = np.random.default_rng(seed), table.schema
    session = wn.ask(
        table, epsilon=1, delta=1e-6, max_queries=10**6, seed=1, method="multiplicative-weights"
    )
    took = []
    for _ in range(number):
        conditions = {}
        for column in random.choice(len(schema.shape), 3, replace=False).tolist():
            size = schema.shape[column]
            held = random.choice(size, max(1, size // 2), replace=False)
            conditions[schema.names[column]] = held.tolist()
        question = wn.where(conditions)
        start = time.perf_counter()
        answer = session.ask(question)
        if answer.kind == "hypothesis":
            took.append(time.perf_counter() - start)
    return 1e6 * float(np.median(took))


def asked_one_by_one(session: Any, asked: list[Question]) -> tuple[Any, Any]:
    """The time of each answer, and whether it came from the hypothesis."""
    took, quiet = [], []
    for question in asked:
        start = time.perf_counter()
        quiet.append(session.ask(question).kind == "hypothesis")
        took.append(time.perf_counter() - start)
    session.close()
    return np.array(took), np.array(quiet)


def durable(table: SealedTable, asked: list[Question]) -> dict[str, float]:
    """Times of sessions that are kept in a file, without and with a ledger; and of one fsync.

    They start from nothing: from tables there would be no fresh answer to time.
    """
    kept: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "max_queries": 10**6, "seed": 1}
    cold = kept | {"method": wn.MultiplicativeWeights(warm_start=0)}
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        place = Path(folder)
        session = wn.ask(table, state=place / "session", **cold)
        times, quiet = asked_one_by_one(session, asked)
        steward = wn.Session(
            table, epsilon=2, delta=1e-6, delta_for_events=1e-7,
            ledger=place / "ledger.db", dataset="adult",
        )  # fmt: skip
        session = steward.ask(state=place / "recorded", **cold)
        recorded, recorded_quiet = asked_one_by_one(session, asked)
        start = time.perf_counter()
        wn.resume(table, place / "recorded").close()
        resumed = time.perf_counter() - start
        session = wn.ask(
            table, state=place / "single", **kept | {"max_queries": 10**4, "method": "independent"}
        )
        start = time.perf_counter()
        session.ask_all(conjunctions(table, 1000, 5))
        together = (time.perf_counter() - start) / 1000
        session.close()
        syncs = []

        with (place / "file").open("wb") as file:
            for _ in range(50):
                file.write(b"x" * 64)
                file.flush()
                start = time.perf_counter()
                os.fsync(file.fileno())
                syncs.append(time.perf_counter() - start)
    return {
        "median_us": 1e6 * float(np.median(times[quiet])),
        "mean_us": 1e6 * float(times[quiet].mean()),
        "largest_ms": 1e3 * float(times[quiet].max()),
        "fresh_ms": 1e3 * float(np.median(times[~quiet])),
        "fsync_ms": 1e3 * float(np.median(syncs)),
        "ledger_median_us": 1e6 * float(np.median(recorded[recorded_quiet])),
        "ledger_fresh_ms": 1e3 * float(np.median(recorded[~recorded_quiet])),
        "resume_ms": 1e3 * resumed,
        "independent_together_us": 1e6 * together,
    }


def people(folder: Path) -> SealedTable:
    """Seven columns of ADULT."""
    place = folder / "adult_pgm"
    return wn.read_table(
        place / "adult.csv.gz", schema=place / "adult-domain.json", columns=COLUMNS
    )


def times(table: SealedTable, seed: int) -> dict[str, float]:
    """Of 10,000 answers, kept in a file and in memory."""
    workload = conjunctions(table, 10_000, seed)
    asked = [taken(workload, query) for query in range(10_000)]
    return durable(table, asked) | {"where_us": written(table, 10_000, seed)}


def main() -> None:
    """Run everything and write the figures."""
    parser = arguments(__doc__ or "", "interactive")
    parser.add_argument("--data", type=Path, required=True, help="a folder with adult_pgm")
    parser.add_argument("--quick", action="store_true", help="10,000 questions only")
    parser.add_argument(
        "--only-tables", nargs="*", choices=TABLES, help="these, or all; keep the other figures"
    )
    parser.add_argument("--only-times", action="store_true", help="keep all errors")
    parser.add_argument("--only-hostile", action="store_true", help="keep the other figures")
    options = parser.parse_args()
    if options.only_hostile:
        document = json.loads(options.out.read_text())
        document.pop("machine")
        save(options.out, document | {"hostile": besieged(options.data, options.seed)})
        return
    if options.only_times:
        document = json.loads(options.out.read_text())
        document.pop("machine")
        save(options.out, document | {"durable": times(people(options.data), options.seed)})
        return
    names = options.only_tables or list(TABLES)
    others = compared(options.data, options.seed, options.quick, names)
    if options.only_tables is not None:
        kept = json.loads(options.out.read_text())
        rows = [row for row in kept.get("tables", []) if row["data"] not in names]
        save(options.out, {name: value for name, value in kept.items() if name != "machine"}
             | {"tables": rows + others})  # fmt: skip
        return
    table = people(options.data)
    n = table.n
    assert n is not None
    rows, found = [], []
    numbers = (10**4,) if options.quick else (10**4, 10**5)
    for number in numbers:
        workload = conjunctions(table, number, options.seed)
        truth = unsafe_true_answers(table, workload)
        asked = [taken(workload, query) for query in range(number)]
        for k in SIZES:
            if k < number:
                continue
            plan = wn.plan.ask(table, epsilon=1, delta=1e-6, max_queries=k)
            entry: dict[str, Any] = {
                "asked": number,
                "k": k,
                "recommended": WORDS[plan.method],
            }
            entry["independent"] = errors(table, asked, truth, k, {"method": "independent"})
            for name, more in VARIANTS:
                entry[name] = errors(table, asked, truth, k, more)
            ours, theirs = entry["default"], entry["independent"]
            better = "multiplicative weights" if ours["max"] < theirs["max"] else (
                "independent Gaussian noise"
            )  # fmt: skip
            entry["smaller maximum"] = better
            found.append(entry)
            rows.append(
                [f"{number:,}", f"{k:,}", f"{theirs['max']:.3f} / {theirs['mean']:.4f}"]
                + [f"{entry[v]['max']:.3f} / {entry[v]['mean']:.4f}" for v, _ in VARIANTS]
                + [plan.recommended.split()[0], better.split()[0], f"{ours['median_us']:.0f}"]
            )
    attacked = [] if options.quick else besieged(options.data, options.seed)
    kept = times(table, options.seed)
    report(
        "ADULT, errors as fractions of the rows: largest / mean",
        ["asked", "k", "independent", *(name for name, _ in VARIANTS), "recommended",
         "smaller max", "us/answer"],
        rows,
    )  # fmt: skip
    report(
        "Kept in a file; and in memory, written as wn.where",
        list(kept),
        [[f"{value:.3g}" for value in kept.values()]],
    )
    document = {"sessions": found, "tables": others, "durable": kept, "hostile": attacked}
    save(options.out, document | {"cells": table.schema.cells, "n": n})


if __name__ == "__main__":
    main()
