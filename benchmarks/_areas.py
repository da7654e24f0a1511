"""How well classifiers order new rows: areas under the curve, beside accuracy, for two classes.

Ours are what ``wn.learn`` takes if nothing is said, with and without a delta, and an additive
model; DP-EBM has the same public schema and the same delta (of ``interpret``, where that is
installed).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import winnow as wn
from _classifiers import BOOSTED, CHOICE, DELTA, EPSILONS, OTHERS_SEEDS, coded_rows, figures
from _common import report
from winnow.learn.ruled import RulePredictor

OURS = {
    CHOICE: {},
    f"{CHOICE}, with delta": {"delta": DELTA},
    "additive, with delta": {"delta": DELTA, "method": "additive"},
}


def area(chances: Any, positive: Any) -> float:
    """The chance that a row of the second class has the higher chance; ties count half."""
    distinct, places = np.unique(chances, return_inverse=True)
    no, yes = (np.bincount(places[positive == side], minlength=len(distinct)) for side in (0, 1))
    below = np.cumsum(no) - no
    return float((yes * (below + no / 2)).sum() / (yes.sum() * no.sum()))


def _second(model: Any, test: Any, second: Any) -> Any:
    """What orders the rows: the chance of the second class; of one rule, whether it says so."""
    if isinstance(model, RulePredictor):
        return (np.asarray(model.predict(test)) == second).astype(float)
    return np.asarray(model.predict_proba(test))[:, 1]


def areas(sets: dict[str, Any], kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each set of two classes, epsilon and model: means over seeds.

    Rows of DP-EBM that are ``kept`` stay where it is not installed.
    """
    rows = []
    for name, (train, test, schema, target) in sets.items():
        labels = list(wn.Schema.parse(schema).column(target).labels)
        if len(labels) != 2:
            continue
        truth = test[target].to_numpy()
        positive = (truth == labels[1]).astype(int)
        sealed, found = wn.read_table(train, schema=schema), dict[Any, Any]()
        rival = _rival(train, test, schema, target)
        for epsilon in EPSILONS:
            for seed in OTHERS_SEEDS:
                for model, how in OURS.items():
                    made = wn.learn(sealed, target, epsilon=epsilon, seed=seed, **how).value
                    own = area(_second(made, test, labels[1]), positive)
                    found.setdefault((model, epsilon), []).append(
                        (own, *figures(made.predict(test), truth))
                    )
                if rival is not None:
                    found.setdefault((BOOSTED, epsilon), []).append(rival(epsilon, seed))
        if rival is None:
            rows += [row for row in kept if row["data"] == name and row["model"] == BOOSTED]
        for (model, epsilon), each in found.items():
            ours, accuracy, balanced = (float(np.mean(own)) for own in zip(*each, strict=True))
            rows.append({"data": name, "rows": len(train), "classes": 2, "epsilon": epsilon,
                         "model": model, "seeds": len(each), "area": ours, "accuracy": accuracy,
                         "balanced": balanced})  # fmt: skip
    report(
        "Area under the curve, accuracy and balanced accuracy", ["data", "model", "epsilon", "all"],
        [[r["data"], r["model"], f"{r['epsilon']:g}",
          f"{100 * r['area']:.1f}  {100 * r['accuracy']:.1f}  {100 * r['balanced']:.1f}"]
         for r in rows],
    )  # fmt: skip
    return rows


def _rival(train: Any, test: Any, schema: Any, target: str) -> Any:
    """DP-EBM's area and accuracies by epsilon and seed; None: it is not installed."""
    try:
        from interpret.privacy import DPExplainableBoostingClassifier
    except ImportError:
        return None
    declared = wn.Schema.parse(schema)
    names = [name for name in declared.names if name != target]
    ordered = ["edges" in schema[name] for name in names]
    (x, y), (held, truth) = (coded_rows(rows, schema, target, ordered) for rows in (train, test))
    bounds = {
        place: (0.0, float(declared.column(name).cardinality - 1))
        for place, name in enumerate(names)
        if ordered[place]
    }

    def measured(epsilon: float, seed: int) -> tuple[float, float, float]:
        model = DPExplainableBoostingClassifier(
            feature_types=["continuous" if each else "nominal" for each in ordered],
            epsilon=epsilon, delta=DELTA, privacy_bounds=bounds, random_state=seed, n_jobs=1,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(x, y)
            chances = model.predict_proba(held)[:, 1]
            return area(chances, truth), *figures(model.predict(held), truth)

    return measured
