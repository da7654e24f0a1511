"""Releases, sessions and classifiers: every method forced, the automatic choice beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

import winnow as wn
from _choice_data import KINDS, Codes, labelled, read, ruled, sizes_of, table
from _choice_figures import Seen, Setting
from _wide_loops import Residuals, Truth, aim, all_tables
from winnow.ask.questions import taken
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.workload import Workload
from winnow.read.crossing import unsafe_true_answers
from winnow.release.choice import compare
from winnow.release.methods import METHODS
from winnow.release.plan import terms_of
from winnow.release.prediction import Prediction
from winnow.release.request import Release

LONG = 12.0
"""Seconds: methods that are estimated to take longer are left out, unless they are chosen."""


DRAWS = 3
"""Releases by each method; what is compared are the means of their errors."""


def score(largest: float, mean: float) -> float:
    """What the choice minimises."""
    return float(np.sqrt(largest * mean))


def release_of(
    part: str, data: str, codes: Codes, workload: Any, asked: dict[str, Any], seed: int
) -> Setting | None:
    """Every method that can answer a workload; errors in rows, largest and mean."""
    how = dict(asked)
    relation = how.pop("relation", "substitution")
    sealed = read(codes, relation=relation)
    request = Release(workload=workload, **how)
    try:
        terms = terms_of(request, sealed)
        compared = compare(terms)
        chosen = request.plan(sealed).method.word()
    except wn.InputError:
        return None
    rows = len(codes.frame)
    truth = unsafe_true_answers(sealed, terms.workload)
    predicted = {each.method: each for each in compared.found}
    found, more = {}, {}
    for method in METHODS:
        word, known = method.word(), predicted.get(method.word())
        if known is None or (known.seconds > LONG and word != chosen):
            continue
        start, seen = time.process_time(), []
        with suppress(wn.InputError):
            for draw in range(DRAWS):
                value = wn.release(sealed, workload, **how, method=word, seed=seed + draw).value
                off = rows * np.abs(value.answers() - truth)
                seen.append((off.max(), off.mean()))
            largest, mean = map(float, np.mean(seen, axis=0))
            found[word] = Seen(score(largest, mean), None, known_score(known))
            more[word] = {
                "largest": largest, "mean": mean,
                "predicted largest": known.largest, "predicted mean": known.mean,
                "seconds": time.process_time() - start,
            }  # fmt: skip
    if chosen not in found or len(found) < 2:
        return None
    said = {
        **{name: str(each) if name == "workload" else each for name, each in asked.items()},
        "rows": rows, "sizes": list(codes.schema.values()), "queries": terms.workload.size,
    }  # fmt: skip
    plain = compared.plain.score
    unit = 1 / float(how["epsilon"])
    return Setting(part, data, said, chosen, unit, found, found[chosen], plain, more)


def known_score(known: Prediction) -> float | None:
    """The predicted score, where both parts of it are predicted."""
    return None if known.largest is None or known.mean is None else known.score


def budget_of(random: Any) -> dict[str, Any]:
    """An epsilon and a delta."""
    asked: dict[str, Any] = {"epsilon": float(random.choice([0.1, 0.3, 1.0, 3.0, 10.0]))}
    if random.random() < 0.7:
        asked["delta"] = 1e-6
    if random.random() < 0.2:
        asked["relation"] = "add-remove"
    return asked


def tables(seed: int, size: float) -> Iterator[Setting]:
    """1-, 2- and 3-way tables of narrow domains."""
    for place in range(round(48 * size)):
        random = np.random.default_rng(seed + 1000 * place)
        columns = int(random.integers(3, 10))
        sizes = sizes_of(random, columns, 20, 60_000)
        rows = int(random.choice([300, 3_000, 30_000, 200_000]))
        codes = table(KINDS[(seed + place) % len(KINDS)], rows, sizes, seed + place)
        ways = int(random.choice([1, 2, 2, 3, 3]))
        made = release_of(
            "tables", codes.name, codes, wn.marginals(ways), budget_of(random), seed + place
        )
        if made is not None:
            made.asked["ways"] = ways
            yield made


WORKLOADS = ("prefixes", "ranges", "conjunctions", "mix", "predicates")


def workload_of(kind: str, codes: Codes, random: Any) -> Any:
    """A workload of a kind about some codes."""
    names = list(codes.schema)
    if kind == "prefixes":
        return wn.prefixes(names[0])
    if kind == "ranges":
        return wn.ranges(names[0])
    if kind == "mix":
        return wn.prefixes(names[0]) + wn.marginals(2)
    schema = wn.Schema.parse(codes.schema)
    ways = 2 if kind == "conjunctions" else 3
    masks = []
    for _ in range(int(random.choice([100, 1_000, 5_000]))):
        mask = {}
        for column in random.choice(len(names), min(ways, len(names)), replace=False).tolist():
            held = random.random(schema.shape[column]) < 0.5
            if held.all() or not held.any():
                held = np.arange(schema.shape[column]) == 0
            mask[column] = held
        masks.append(mask)
    return Workload(schema, (ConjunctionPart(schema, tuple(masks)),))


def workloads(seed: int, size: float) -> Iterator[Setting]:
    """Prefixes and ranges of long columns, conjunctions, and mixes."""
    for place in range(round(30 * size)):
        random = np.random.default_rng(seed + 1000 * place + 1)
        kind = WORKLOADS[(seed + place) % len(WORKLOADS)]
        if kind in ("prefixes", "ranges"):
            sizes = [int(random.choice([16, 128, 600]))]
        else:
            sizes = sizes_of(random, int(random.integers(3, 7)), 12, 8_000)
        rows = int(random.choice([300, 3_000, 30_000]))
        codes = table(KINDS[((seed + place) // 2) % len(KINDS)], rows, sizes, seed + place)
        workload = workload_of(kind, codes, random)
        made = release_of(
            "workloads", f"{kind}, {codes.name}", codes, workload, budget_of(random), seed + place
        )
        if made is not None:
            made.asked["kind"] = kind
            yield made


TABLES_SEEN = 60
"""Of the tables that are asked for, so many are looked at."""


def wide(seed: int, size: float) -> Iterator[Setting]:
    """Pairs and triples of tables with more cells than weights, AIM's loop beside them."""
    for place in range(round(24 * size)):
        random = np.random.default_rng(seed + 1000 * place + 2)
        columns = int(random.integers(9, 15))
        sizes = sizes_of(random, columns, 10, 1e18)
        while float(np.prod(np.array(sizes, float))) < 2e6:
            sizes.append(int(random.integers(2, 6)))
        rows = int(random.choice([1_000, 8_000, 40_000]))
        codes = table(KINDS[(seed + place) % len(KINDS)], rows, sizes, seed + place)
        epsilon = float(random.choice([0.1, 1.0, 10.0]))
        yield wide_of(
            "wide", codes.name, codes, 2 + ((seed + place) // 6) % 2, epsilon, seed + place
        )


def wide_of(part: str, data: str, codes: Codes, ways: int, epsilon: float, seed: int) -> Setting:
    """The mean distance of tables: every method that can run, and AIM's loop over two fits."""
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": 1e-9}
    sealed = read(codes)
    truth = Truth(sealed)
    every = list(combinations(range(len(truth.shape)), ways))
    some = np.random.default_rng(0).permutation(len(every))[:TABLES_SEEN]

    def far(said: Callable[[tuple[int, ...]], Any]) -> float:
        apart = [
            np.abs(truth.of(every[i]) / truth.rows - np.asarray(said(every[i])).ravel()).sum()
            for i in some
        ]
        return 0.5 * float(np.mean(apart))

    plan = wn.plan.release(sealed, wn.marginals(ways), **asked)
    found, more = {}, {}
    for word in dict.fromkeys(("tables", "graphical", plan.method.word())):
        start = time.process_time()
        with suppress(wn.InputError):
            value: Any = wn.release(
                sealed, wn.marginals(ways), **asked, method=word, seed=seed
            ).value
            names = value.schema.names
            error = far(lambda columns, v=value, n=names: v.marginal([n[c] for c in columns]))
            found[word] = Seen(error)
            more[word] = {"seconds": time.process_time() - start}
    rivals = {
        "AIM": far(aim(truth, epsilon, 1e-9, seed, ways=ways)),
        "AIM over residuals": far(aim(truth, epsilon, 1e-9, seed, fitted_by=Residuals, ways=ways)),
    }
    plain = far(all_tables(truth, epsilon, 1e-9, seed, len(every)))
    said = {**asked, "rows": truth.rows, "sizes": list(truth.shape), "ways": ways,
            "why": plan.reason}  # fmt: skip
    word = plan.method.word()
    return Setting(
        part, data, said, word, 1 / epsilon / truth.rows, found, found[word], plain, more, rivals
    )


def conjunctions(schema: Any, number: int, seed: int) -> Workload:
    """Random product sets of three columns each."""
    random, masks = np.random.default_rng(seed), []
    for _ in range(number):
        mask = {}
        for column in random.choice(len(schema.shape), 3, replace=False).tolist():
            held = random.random(schema.shape[column]) < 0.5
            if held.all() or not held.any():
                held = np.arange(schema.shape[column]) == random.integers(schema.shape[column])
            mask[column] = held
        masks.append(mask)
    return Workload(schema, (ConjunctionPart(schema, tuple(masks)),))


SESSIONS: dict[str, Callable[[], Any]] = {
    "independent": wn.Independent,
    "weights": wn.MultiplicativeWeights,
    "weights, no tables": lambda: wn.MultiplicativeWeights(warm_start=0),
}


def session_of(
    part: str, data: str, codes: Codes, asked: dict[str, Any], seed: int
) -> Setting | None:
    """Independent noise, and multiplicative weights with tables to start from and without."""
    sealed = read(codes)
    workload = conjunctions(sealed.schema, min(asked["max_queries"], 500), seed)
    truth = unsafe_true_answers(sealed, workload)
    questions = [taken(workload, place) for place in range(workload.size)]
    how = {"delta": 1e-6, "seed": seed, **asked}

    def seen(method: Any) -> Seen:
        session = wn.ask(sealed, method=method, **how)
        off = [
            abs(session.ask(question).value - true)
            for question, true in zip(questions, truth, strict=True)
        ]
        sizes = session.sizes
        session.close()
        return Seen(len(codes.frame) * float(np.mean(off)), None, len(codes.frame) * sizes.typical)

    found = {}
    for word, made in SESSIONS.items():
        with suppress(wn.InputError):
            found[word] = seen(made())
    try:
        plan = wn.plan.ask(sealed, epsilon=asked["epsilon"], delta=1e-6,
                           max_queries=asked["max_queries"])  # fmt: skip
    except wn.InputError:
        return None
    word = "independent" if plan.method == "independent" else "weights"
    said = {**asked, "rows": len(codes.frame), "sizes": list(codes.schema.values())}
    unit = 1 / asked["epsilon"]
    plain = found["independent"].error if "independent" in found else None
    return Setting(part, data, said, word, unit, found, found[word], plain)


def sessions(seed: int, size: float) -> Iterator[Setting]:
    """Questions one by one about tables of all kinds."""
    for place in range(round(36 * size)):
        random = np.random.default_rng(seed + 1000 * place + 3)
        sizes = sizes_of(random, int(random.integers(3, 8)), 16, 60_000)
        rows = int(random.choice([2_000, 20_000, 100_000]))
        codes = table(KINDS[(seed + place) % len(KINDS)], rows, sizes, seed + place)
        asked = {"epsilon": float(random.choice([0.1, 0.3, 1.0, 3.0])),
                 "max_queries": int(random.choice([100, 1_000, 5_000, 50_000]))}  # fmt: skip
        made = session_of("sessions", codes.name, codes, asked, seed + place)
        if made is not None:
            yield made


LEARNT = ("boosted", "one-rule", "additive", "vote-or-additive")
LABELLED = ("given the class", "rules", "xor", "score")


@lru_cache(maxsize=4)
def _halves(
    kind: str, rows: int, columns: int, rare: float, classes: int, seed: int
) -> tuple[Codes, Codes]:
    if kind == LABELLED[0]:  # columns that are independent, given the class
        whole = labelled(rows + 4_000, columns, rare, classes, seed)
    else:
        whole = ruled(kind, rows + 4_000, columns, rare, seed)
    first, last = whole.frame.iloc[:rows], whole.frame.iloc[rows:]
    return (
        Codes(whole.name, first, whole.schema, "label"),
        Codes(whole.name, last, whole.schema, "label"),
    )


def learned_of(
    part: str, train: Codes, test: Codes, asked: dict[str, Any], seed: int
) -> Setting | None:
    """Every method as it is and balanced: one less balanced accuracy on new rows."""
    sealed = read(train)
    features = test.frame.drop(columns=train.label)
    truth = test.frame[train.label].to_numpy()

    def seen(method: str, weights: Any) -> Seen:
        right, every = [], []
        for draw in range(5):  # the least of eight means of few draws is less than any method's own
            value = wn.learn(
                sealed, train.label, method=method, class_weights=weights, seed=seed + draw, **asked
            ).value
            said = np.asarray(value.predict(features))
            right.append(np.mean([(said[truth == c] == c).mean() for c in np.unique(truth)]))
            every.append(float((said == truth).mean()))
        return Seen(1.0 - float(np.mean(right)), float(np.mean(every)))

    found = {}
    for word in LEARNT:
        if word != "additive" and train.schema[train.label] > 2:
            continue
        for weights, named in ((None, ""), ("balanced", ", balanced")):
            with suppress(wn.InputError):
                found[word + named] = seen(word, weights)
    default = seen("auto", "auto")
    shares = np.bincount(train.frame[train.label]) / len(train.frame)
    said = {**asked, "rows": len(train.frame), "rarest": float(shares.min())}
    # two hundredths of balanced accuracy are counted as equal
    return Setting(part, train.name, said, "auto", 0.02, found, default)


def learning(seed: int, size: float) -> Iterator[Setting]:
    """Classes of all shares, few and many rows."""
    for place in range(round(40 * size)):
        random = np.random.default_rng(seed + 1000 * place + 4)
        kind = LABELLED[place % len(LABELLED)]
        classes = 4 if place % 8 == 4 else 2
        rare = float(random.choice([0.02, 0.07, 0.2, 0.4 if classes == 2 else 0.25]))
        rows = int(random.choice([500, 4_000, 30_000]))
        columns = int(random.integers(3, 9))
        train, test = _halves(kind, rows, columns, rare, classes, seed + place)
        asked: dict[str, Any] = {"epsilon": float(random.choice([0.1, 0.5, 2.0, 10.0]))}
        if random.random() < 0.5:
            asked["delta"] = 1e-6
        made = learned_of("learning", train, test, asked, seed + place)
        if made is not None:
            yield made
