"""How good the answers are: Winnow's choice beside every method by name, and beside its rivals.

Workloads (one table, all 2-way and 3-way tables, 2-way tables of 14 columns, prefixes, ranges,
100,000 unstructured queries) over real data sets, epsilon in .1, 1, 10, delta in 0, 1e-6. For
each: `wn.release` with its own choice and with every method that it knows, `wn.tabulate`, noise
on every answer, noise on every cell, HB16 with consistency, and DAWA. Largest, mean and
root-mean-square error in rows, mean of three seeds or of nine; what was predicted; seconds of
planning and of running, of the processor.

The sweep is long. It writes after every line, skips what the JSON has (`--redo METHOD` does it
again), gives up a line after `--seconds`, and `--minutes` ends it.

    python benchmarks/utility.py --data DIR [--quick]      # DIR has adult_pgm, dpbench_1d, ...
    python benchmarks/utility.py --data DIR --only-data adult6 --only-workload 2-way --epsilon 1
    python benchmarks/utility.py --out PART.json ...       # several at once, each its own file,
    python benchmarks/utility.py --merge PART.json ...     # and then together
    python benchmarks/utility.py --summary                 # of the JSON that is there
"""

from __future__ import annotations

import json
import math
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, report, save
from _utility_cases import WORKLOADS, Case, cases, load, names
from _utility_rivals import answer_noise, cell_noise, dawa, hb16

EPSILONS, DELTAS, SEEDS = (0.1, 1.0, 10.0), (0.0, 1e-6), 3
NAMED = ("tables", "toeplitz", "explicit", "adaptive", "mwem", "graphical")
RIVALS = {"noise on answers": answer_noise, "noise on cells": cell_noise, "hb16": hb16,
          "dawa": dawa}  # fmt: skip
PLAIN = ("noise on answers", "noise on cells")
METHODS = ("auto", *NAMED, "tabulate", *RIVALS)
RIVAL_DRAWS = 9
QUICK = 2.0
"""Seconds within which further seeds are tried."""
_KEY = ("data", "workload", "epsilon", "delta", "method")
_MEMORY = "3GB"


class OutOfTime(BaseException):
    """A line took too long."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise OutOfTime

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of this process: others may be busy, too
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def answers_of(value: Any, case: Case) -> np.ndarray:
    """The answers of whatever was released, in rows."""
    if isinstance(value, wn.ReleasedTables):
        return np.concatenate([each.estimate.ravel() for each in value.tables])
    return np.asarray(value.counts(case.queries), np.float64)


def winnow_run(case: Case, method: str, budget: dict[str, float]) -> Callable[[int], np.ndarray]:
    run = wn.Run(memory=_MEMORY)
    if method == "tabulate":
        return lambda seed: answers_of(
            wn.tabulate(case.data.table, case.queries, seed=seed, run=run, **budget).value, case
        )
    if method in ("auto", *NAMED):
        return lambda seed: answers_of(
            wn.release(
                case.data.table, case.queries, seed=seed, method=method, run=run, **budget
            ).value,
            case,
        )
    raise NotImplementedError(f"wn.release has no method {method!r}")


def predicted(case: Case, method: str, budget: dict[str, float]) -> dict[str, Any] | None:
    """What the plan says about the errors, in rows, and what it would choose."""
    if method == "tabulate":
        plan = wn.plan.tabulate(wn.plan.table(case.data.schema), case.queries, **budget)
        return {"largest": plan.error, "mean": plan.compared[0].mean, "chosen": plan.strategy}
    plan = wn.plan.release(
        wn.plan.table(case.data.schema, rows=case.data.rows), case.queries, **budget
    )
    for each in plan.compared:
        if each.method == method or method == "auto":
            return {"largest": each.largest, "mean": each.mean, "kind": each.kind,
                    "chosen": each.method}  # fmt: skip
    return None


def errors_of(found: list[np.ndarray], truth: np.ndarray) -> dict[str, Any]:
    each = [np.abs(answers - truth) for answers in found]
    largest = [float(e.max()) for e in each]
    return {
        "largest": float(np.mean(largest)),
        "mean": float(np.mean([e.mean() for e in each])),
        "rms": math.sqrt(float(np.mean([(e**2).mean() for e in each]))),
        "seeds": len(found),
    }


def measured(case: Case, method: str, epsilon: float, delta: float) -> dict[str, Any] | None:
    """One line; None where the method does not speak of such a workload."""
    if method in RIVALS:
        start, found = time.process_time(), []
        for seed in range(RIVAL_DRAWS):
            errors = RIVALS[method](case, epsilon, delta, np.random.default_rng(seed))
            if errors is None:
                return None
            found.append(errors)
        spent = (time.process_time() - start) / RIVAL_DRAWS
        return {**errors_of(found, np.zeros(1)), "seconds": spent}
    budget = {"epsilon": epsilon, "delta": delta}
    run = winnow_run(case, method, budget)
    start = time.process_time()
    plan = predicted(case, method, budget)
    planned, found = time.process_time(), []
    for seed in range(1, RIVAL_DRAWS + 1):  # quick methods as often as their rivals
        if seed <= SEEDS or time.process_time() - planned < QUICK:
            found.append(run(seed))
    return {
        **errors_of(found, case.truth),
        "predicted": plan,
        "plan_seconds": planned - start,
        "seconds": (time.process_time() - planned) / len(found),
    }


def line(case: Case, method: str, epsilon: float, delta: float, seconds: float) -> dict[str, Any]:
    """One line, or why there is none."""
    key = dict(zip(_KEY, (*case.name, epsilon, delta, method), strict=True))
    key |= {"rows": case.data.rows, "answers": case.queries.size}
    try:
        with limited(seconds):
            found = measured(case, method, epsilon, delta)
    except OutOfTime:
        return {**key, "none": f"more than {seconds:g} seconds"}
    except (wn.WinnowError, MemoryError, NotImplementedError) as error:
        if OutOfTime.__name__ in str(error):  # a verb answers for every error inside it
            return {**key, "none": f"more than {seconds:g} seconds"}
        return {**key, "none": f"{type(error).__name__}: {error}"[:200]}
    return {**key, **(found or {"none": "not for this workload"})}


def settings(lines: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, dict[str, Any]]]:
    """The lines with figures, by all but the method."""
    found: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for each in lines:
        if "none" not in each:
            key = tuple(each[name] for name in _KEY[:-1])
            found.setdefault(key, {})[each["method"]] = each
    return found


def score(each: dict[str, Any]) -> float:
    """What methods are compared by: between the largest and the mean error."""
    return math.sqrt(each["largest"] * each["mean"])


def summary(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Winnow's choice against plain noise, HB16, DAWA and the best of all methods."""
    ratios: dict[str, list[tuple[float, float]]] = {"plain": [], "hb16": [], "dawa": []}
    near, misses, seen = [], [], []
    for key, by in settings(lines).items():
        if "auto" not in by:
            continue
        own = by["auto"]
        plain = min((by[each] for each in PLAIN if each in by), key=score, default=None)
        rivals = {"plain": plain, "hb16": by.get("hb16"), "dawa": by.get("dawa")}
        for name, rival in rivals.items():
            if rival is not None:
                pair = own["largest"] / rival["largest"], own["mean"] / rival["mean"]
                ratios[name].append(pair)
                if name != "dawa" and (pair[0] > 1.1 or pair[1] > 1.0):
                    misses.append([*key, f"{name}: largest x {pair[0]:.2f}, mean x {pair[1]:.2f}"])
        expected = own.get("predicted") or {}
        if expected.get("largest") and expected.get("mean"):
            seen.append((own["largest"] / expected["largest"], own["mean"] / expected["mean"]))
        others = [by[each] for each in NAMED if each in by and each != expected.get("chosen")]
        if not others:  # a line of the method itself, with other seeds, is no other method
            continue
        best = min(others, key=score)
        near.append(score(own) <= 1.1 * score(best))
        if not near[-1]:
            text = f"{best['method']} is better: {score(own):.3g} against {score(best):.3g}"
            misses.append([*key, text])

    def means(pairs: list[tuple[float, float]]) -> dict[str, float]:
        if not pairs:
            return {"settings": 0}
        largest, mean = np.array(pairs).T
        return {
            "settings": len(pairs),
            "largest": float(np.exp(np.log(largest).mean())),
            "mean": float(np.exp(np.log(mean).mean())),
            "largest_at_most_1.1": float((largest <= 1.1).mean()),
            "mean_at_most_1": float((mean <= 1.0).mean()),
            "largest_ratios": [float(largest.min()), float(largest.max())],
            "mean_ratios": [float(mean.min()), float(mean.max())],
        }

    found = {name: means(pairs) for name, pairs in ratios.items()}
    return {
        "auto_over": found,
        "seen_over_predicted": means(seen),
        "settings_with_another_method": len(near),
        "within_10_percent_of_best": float(np.mean(near)) if near else None,
        "misses": misses,
    }


def shown(lines: list[dict[str, Any]]) -> None:
    """One row for each setting, one column for each method: largest / mean error."""
    rows = []
    for (data, workload, epsilon, delta), by in settings(lines).items():
        cells = [f"{by[m]['largest']:.3g}/{by[m]['mean']:.3g}" if m in by else "" for m in METHODS]
        rows.append([data, workload, f"{epsilon:g}, {delta:g}", *cells])
    report("largest/mean error in rows", ["data", "workload", "budget", *METHODS], rows)
    found = summary(lines)
    for name, held in found["auto_over"].items():
        print(f"auto over {name}: {held}")
    print(f"seen over predicted: {found['seen_over_predicted']}")
    near = found["within_10_percent_of_best"]
    print(f"within 10 % of the best, or better: {near} of {found['settings_with_another_method']}")
    for miss in found["misses"]:
        print("  miss:", *miss)


def selected(options: Any) -> Iterator[Case]:
    """The cases that were asked for, and a message for what is missing."""
    for name in options.only_data or names():
        data = load(options.data, name)
        if data is None:
            print(f"{name}: no files in {options.data}, left out")
            continue
        wanted = options.only_workload or list(WORKLOADS)
        yield from cases(data, wanted, 10_000 if options.quick else 100_000)


def again(each: dict[str, Any], options: Any, epsilons: Any) -> bool:
    """Whether a line is to be made again: one of ``--redo``, among those that are selected."""
    return (
        each["method"] in options.redo
        and each["data"] in (options.only_data or names())
        and each["workload"] in (options.only_workload or WORKLOADS)
        and each["epsilon"] in epsilons
    )


def merged(lines: list[dict[str, Any]], files: list[Path]) -> list[dict[str, Any]]:
    """The lines with those of other files, of which the last counts; in the order of the sweep."""
    found = {}
    for each in [*lines, *(one for file in files for one in json.loads(file.read_text())["lines"])]:
        found[tuple(each[name] for name in _KEY)] = each
    places = [names(), WORKLOADS, EPSILONS, DELTAS, METHODS]
    return sorted(found.values(), key=lambda each: tuple(
        order.index(each[name]) for name, order in zip(_KEY, places, strict=True)
    ))  # fmt: skip


def main() -> None:
    """Run what is missing, show and write it."""
    parser = arguments(str(__doc__), "utility")
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="epsilon = 1, 10,000 queries")
    parser.add_argument("--only-data", nargs="*", choices=names())
    parser.add_argument("--only-workload", nargs="*", choices=WORKLOADS)
    parser.add_argument("--epsilon", nargs="*", type=float)
    parser.add_argument("--method", nargs="*", choices=METHODS, default=METHODS)
    parser.add_argument("--redo", nargs="*", choices=METHODS, default=())
    parser.add_argument("--seconds", type=float, default=120.0, help="the most for one line")
    parser.add_argument("--minutes", type=float, default=math.inf, help="the most for this run")
    parser.add_argument("--gigabytes", type=float, default=8.0, help="the most address space")
    parser.add_argument("--summary", action="store_true", help="run nothing")
    parser.add_argument("--merge", nargs="*", type=Path, help="JSONs whose lines are taken over")
    options = parser.parse_args()
    lines: list[dict[str, Any]] = []
    if options.out.exists():
        lines = json.loads(options.out.read_text())["lines"]
    if options.merge:
        lines = merged(lines, options.merge)
        save(options.out, {"quick": options.quick, "summary": summary(lines), "lines": lines})
    if options.summary or options.merge:
        shown(lines)
        return
    if options.data is None:
        parser.error("give the folder of the data sets: --data DIR")
    most = int(options.gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    end = time.monotonic() + 60 * options.minutes
    epsilons = options.epsilon or ((1.0,) if options.quick else EPSILONS)
    lines = [each for each in lines if not again(each, options, epsilons)]
    done = {tuple(each[name] for name in _KEY) for each in lines}
    for case in selected(options):
        for epsilon, delta in ((e, d) for e in epsilons for d in DELTAS):
            for method in options.method:
                if (*case.name, epsilon, delta, method) in done or time.monotonic() > end:
                    continue
                lines.append(line(case, method, epsilon, delta, options.seconds))
                kept = [each for each in lines if "has no method" not in each.get("none", "")]
                document = {"quick": options.quick, "summary": summary(kept), "lines": kept}
                options.out.write_text(json.dumps(document, indent=1) + "\n")
    kept = [each for each in lines if "has no method" not in each.get("none", "")]
    shown(kept)
    save(options.out, {"quick": options.quick, "summary": summary(kept), "lines": kept})


if __name__ == "__main__":
    main()
