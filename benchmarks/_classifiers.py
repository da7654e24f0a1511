"""Private classifiers compared: ours, diffprivlib's and DP-EBM, on tables with a class column.

The number of rounds of boosted rules, their steps and weights were settled on the sets of
``tables``; those of ``fresh`` were looked at afterwards only.

All get the same public schema. diffprivlib gets numbers: codes of ordered columns, one column per
value of the others, with the bounds that the schema implies; classes become their numbers. DP-EBM
(of ``interpret``, where that is installed; two classes only) gets the codes themselves, as numbers
with public bounds or as names, and the same delta.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from _common import opened, report
from _wide_data import Codes, books, movies, retail, steam, supermarket

EPSILONS, SEEDS, DELTA = (0.1, 1.0, 10.0), tuple(range(5)), 1e-6
OTHERS_SEEDS = SEEDS[:3]
"""Other libraries' models are slower."""
CHOICE = "Winnow's choice"
BOOSTED = "DP-EBM, with delta"
RIVALS = ("diffprivlib", "DP-EBM")


def tables(folder: Path, adult: Any) -> dict[str, tuple[Any, Any, dict[str, Any], str]]:
    """Training rows, test rows, schema and target of each set."""
    import pandas as pd

    train, test, schema = adult(folder)
    text = {n: schema[n] for n in schema}
    small = train.sample(400, random_state=0)
    income = pd.DataFrame(
        [dict(part.split("=", 1) for part in line.strip().split("\t"))
         for line in _lines(folder / "income_esl" / "income.tsv.gz")]
    )  # fmt: skip
    names = [c for c in income.columns if income[c].notna().all()]
    income = income[names].astype(str)
    codes = {n: {"values": sorted(set(income[n]))} for n in names}
    order = np.random.default_rng(0).permutation(len(income))
    first, last = income.iloc[order[:5000]], income.iloc[order[5000:]]
    mushrooms, kinds = _mushrooms(folder / "fimi" / "mushroom.dat.gz")
    return {
        "adult, income": (train, test, text, "classification"),
        "adult, 400 rows": (small, test, text, "classification"),
        "adult, marital status (7)": (train, test, text, "marital-status"),
        "income survey, income": (first, last, codes, "income"),
        "income survey, occupation (9)": (first, last, codes, "occupation"),
        "mushroom": (mushrooms[:5000], mushrooms[5000:], kinds, "class"),
        "books, in a series": _coded(books(folder)),
        "movie ratings, drama": _coded(movies(folder)),
        "retail, known customer": _coded(retail(folder)),
    }


def fresh(folder: Path, adult: Any) -> dict[str, tuple[Any, Any, dict[str, Any], str]]:
    """Two further tables, and other columns of known ones as classes."""
    train, test, schema = adult(folder)
    known = {"movies": _coded(movies(folder)), "books": _coded(books(folder)),
             "retail": _coded(retail(folder)), "adult": (train, test, schema, "")}  # fmt: skip
    college = _halved(known["adult"], "education-num", lambda code: code >= 11)
    college[2].pop("education")  # the same in words
    return {
        "steam, Dota 2": _coded(steam(folder)),
        "supermarket, bread and cake": _coded(supermarket(folder)),
        "adult, sex": (train, test, schema, "sex"),
        "adult, college": college,
        "movie ratings, 4 or more": _halved(known["movies"], "rating", lambda code: code >= 7),
        "books, 4 or more": _halved(known["books"], "rating", lambda code: code >= 11),
        "retail, cheap": _halved(known["retail"], "price", lambda code: code <= 5),
    }


def _halved(known: Any, column: str, high: Callable[[Any], Any]) -> Any:
    """The same rows with one of the columns cut in two, as the class."""
    train, test, schema, _ = known
    rows = [part.assign(**{column: part[column].map(high).astype(int)}) for part in (train, test)]
    return rows[0], rows[1], schema | {column: {"values": [0, 1]}}, column


def _coded(codes: Codes) -> tuple[Any, Any, dict[str, Any], str]:
    """Three quarters of at most 40,000 rows to learn from, the others to test on."""
    rows = codes.frame.sample(min(len(codes.frame), 40_000), random_state=0)
    cut = 3 * len(rows) // 4
    schema = {name: {"values": list(range(size))} for name, size in codes.schema.items()}
    return rows.iloc[:cut], rows.iloc[cut:], schema, codes.label


def _lines(path: Path) -> list[str]:
    import gzip

    return gzip.decompress(path.read_bytes()).decode().strip().split("\n")


def _mushrooms(path: Path) -> tuple[Any, dict[str, Any]]:
    """Every line has one code of each of 23 columns; the first is the class."""
    import pandas as pd

    rows = np.array([[int(code) for code in line.split()] for line in _lines(path)])
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    frame = pd.DataFrame(rows, columns=["class", *(f"c{i}" for i in range(1, rows.shape[1]))])
    return frame, {n: {"values": sorted(set(frame[n].tolist()))} for n in frame.columns}


def figures(said: Any, truth: Any) -> tuple[float, float]:
    """Accuracy and balanced accuracy."""
    right = np.asarray(said) == np.asarray(truth)
    return float(right.mean()), float(np.mean([right[truth == c].mean() for c in np.unique(truth)]))


def numbers(frame: Any, schema: dict[str, Any], target: str) -> tuple[Any, Any]:
    """Codes in [0, 1] for ordered columns, 0 and 1 for each value of the others; and classes."""
    table = wn.read_table(frame, schema=schema)
    held, weights = opened(table.rows)  # equal rows stand there once
    codes = [np.repeat(column, weights) for column in held]
    columns = []
    for place, name in enumerate(table.schema.names):
        size = table.schema.column(name).cardinality
        if name == target:
            classes = codes[place]
        elif "edges" in schema[name]:
            columns.append(codes[place] / max(1, size - 1))
        else:
            columns += [(codes[place] == value).astype(float) for value in range(size)]
    return np.array(columns).T, np.asarray(classes)


def others(epsilon: float, seed: int, width: int) -> dict[str, Any]:
    """diffprivlib's classifiers, if it is installed.

    Its logistic regression is not among them: 0.6.6 does not run with scikit-learn 1.8.
    """
    try:
        from diffprivlib import models
    except ImportError:
        return {}
    bounds = (np.zeros(width), np.ones(width))
    shared = {"epsilon": epsilon, "random_state": seed}
    return {
        "diffprivlib naive Bayes": models.GaussianNB(bounds=bounds, **shared),
        "diffprivlib forest": models.RandomForestClassifier(bounds=bounds, max_depth=8, **shared),
    }


def boosted(frame: Any, test: Any, schema: dict[str, Any], target: str) -> Any:
    """DP-EBM's predictions for the test rows by epsilon and seed; None: it is not installed."""
    try:
        from interpret.privacy import DPExplainableBoostingClassifier
    except ImportError:
        return None
    names = [name for name in wn.Schema.parse(schema).names if name != target]
    ordered = ["edges" in schema[name] for name in names]
    (x, y), (held, _) = (coded_rows(rows, schema, target, ordered) for rows in (frame, test))
    bounds = {
        i: (0.0, float(wn.Schema.parse(schema).column(name).cardinality - 1))
        for i, name in enumerate(names)
        if ordered[i]
    }

    def predicted(epsilon: float, seed: int) -> Any:
        model = DPExplainableBoostingClassifier(
            feature_types=["continuous" if each else "nominal" for each in ordered],
            epsilon=epsilon, delta=DELTA, privacy_bounds=bounds, random_state=seed, n_jobs=1,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(x, y).predict(held)

    return predicted


def coded_rows(frame: Any, schema: dict[str, Any], target: str, ordered: list[bool]) -> Any:
    """Codes as numbers or as texts, row by row in the order of ``numbers``; and classes."""
    table = wn.read_table(frame, schema=schema)
    held, weights = opened(table.rows)
    by_name = {n: np.repeat(c, weights) for n, c in zip(table.schema.names, held, strict=True)}
    classes = by_name.pop(target)
    columns = [
        codes.astype(float) if number else codes.astype(str)
        for codes, number in zip(by_name.values(), ordered, strict=True)
    ]
    found = np.empty((len(classes), len(columns)), object)
    for place, column in enumerate(columns):
        found[:, place] = column
    return found, classes


def ours(two: bool) -> dict[str, dict[str, Any]]:
    """Our models: what is learned if nothing is said, and what can be asked for."""
    found: dict[str, dict[str, Any]] = {}
    kinds = {CHOICE: "auto"} if two else {}  # of more classes it is the additive model
    for name, word in (kinds | {"additive": "additive"}).items():
        for more, options in (("", {}), (", with delta", {"delta": DELTA})):
            found[f"{name}{more}"] = {"method": word, **options}
            found[f"{name}, balanced{more}"] = {
                "method": word, "class_weights": "balanced", **options
            }  # fmt: skip
    if two:
        rule = {"method": "conjunctions:2"}
        found["one rule (conjunctions:2)"] = rule
        found["one rule, balanced"] = rule | {"class_weights": "balanced"}
        found["large margin, with delta"] = {
            "method": wn.OneRule(of="conjunctions:2", selection="large-margin"), "delta": DELTA
        }  # fmt: skip
    return found


def compared(
    sets: dict[str, tuple[Any, Any, dict[str, Any], str]], quick: bool, kept: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """A row for each set, epsilon and model: means over seeds, and their ends.

    Rows of other libraries' models that are ``kept`` are not measured again.
    """
    rows = []
    for name, (train, test, schema, target) in sets.items():
        sealed = wn.read_table(train, schema=schema)
        inputs, labels = numbers(train, schema, target)
        held, held_labels = numbers(test, schema, target)
        known = list(wn.Schema.parse(schema).column(target).labels)
        truth = test[target].to_numpy()
        theirs_kept = [r for r in kept if r["data"] == name and r["model"].startswith(RIVALS)]
        rows += theirs_kept
        known_models = {(r["model"], r["epsilon"]) for r in theirs_kept}
        ebm = boosted(train, test, schema, target) if len(known) == 2 else None
        for epsilon in EPSILONS[1:2] if quick else EPSILONS:
            found: dict[str, list[tuple[float, float]]] = {}
            learned_as: dict[str, str] = {}
            for seed in SEEDS[:1] if quick else SEEDS:
                for model, how in ours(len(known) == 2).items():
                    released = wn.learn(sealed, target, epsilon=epsilon, seed=seed, **how)
                    learned_as[model] = released.receipt.mechanism
                    said = released.value.predict(test)
                    found.setdefault(model, []).append(figures(said, truth))
            for seed in OTHERS_SEEDS[:1] if quick else OTHERS_SEEDS:
                for model, theirs in others(epsilon, seed, inputs.shape[1]).items():
                    if (model, epsilon) in known_models:
                        continue
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        said = theirs.fit(inputs, labels).predict(held)
                    found.setdefault(model, []).append(figures(said, held_labels))
                if ebm is not None and (BOOSTED, epsilon) not in known_models:
                    said = ebm(epsilon, seed)
                    found.setdefault(BOOSTED, []).append(figures(said, held_labels))
            rows += [
                {"data": name, "rows": len(train), "classes": len(known), "epsilon": epsilon,
                 "seeds": len(held_out),
                 "model": model, "accuracy": float(np.mean([a for a, _ in held_out])),
                 "balanced": float(np.mean([b for _, b in held_out])),
                 "lowest": min(a for a, _ in held_out), "highest": max(a for a, _ in held_out)}
                | ({"mechanism": learned_as[model]} if model in learned_as else {})
                for model, held_out in found.items()
            ]  # fmt: skip
    report(
        "Test accuracy (balanced accuracy), means of seeds", ["data", "model", "epsilon", "both"],
        [[r["data"], r["model"], f"{r['epsilon']:g}",
          f"{100 * r['accuracy']:.1f} % ({100 * r['balanced']:.1f} %)"] for r in rows],
    )  # fmt: skip
    return rows
