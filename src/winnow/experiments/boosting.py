"""FastMWEM's future direction: private boosting by the same selection, on ADULT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winnow.experiments.drawing import Series, bound, draw_curves, finish, legend, panels
from winnow.experiments.experiment import (
    Claim,
    Experiment,
    ExperimentRun,
    Findings,
    Judged,
    Rows,
    clock,
    since,
)
from winnow.experiments.sources import ADULT, adult
from winnow.inner_product.crossing import seal_examples
from winnow.inner_product.methods import Indexed, Scan
from winnow.inner_product.verb import boost

if TYPE_CHECKING:
    from matplotlib.figure import Figure


DELTA, ROUNDS, ADVANTAGE = 1e-6, 30, 0.15
_NAMES = {"exact": "wn.boost, scan", "flat": "wn.boost, lazy over a flat index"}


def _learners(codes: list[Any], sizes: list[int]) -> NDArray[np.int8]:
    """Public rules, in both signs: a column has this value, or at most this value."""
    rules = []
    for column, size in zip(codes, sizes, strict=True):
        for value in range(size):
            rules.append(column == value)
            if 0 < value < size - 1:
                rules.append(column <= value)
    signs = 2 * np.array(rules, np.int8) - 1
    return np.concatenate([signs, -signs])


def measure(run: ExperimentRun) -> Findings:
    """Accuracy of the vote on a third of the rows that were held back, against epsilon."""
    sizes, codes, source = adult(run)
    label = ADULT.index("income>50K")
    names = [i for i in range(len(ADULT)) if i != label]
    most = run.pick(6000, len(codes[0]))
    learners = _learners([codes[i][:most] for i in names], [list(sizes.values())[i] for i in names])
    labels = (2 * codes[label][:most] - 1).astype(np.int8)
    train, test = slice(0, 2 * most // 3), slice(2 * most // 3, most)
    alone = ((learners[:, test] == labels[test]).mean(axis=1))[
        int((learners[:, train] == labels[train]).mean(axis=1).argmax())
    ]
    rows: Rows = [
        {"arm": "best rule alone", "accuracy": float(alone)},
        {
            "arm": "larger class",
            "accuracy": float(max((labels[test] == s).mean() for s in (-1, 1))),
        },
    ]
    for epsilon in (0.03, 0.1, 0.3, 1.0, 3.0):
        for index in _NAMES:
            run.progress(f"FastMWEM: boosting, {_NAMES[index]}, epsilon = {epsilon:g}")
            right, took = [], []
            for seed in range(run.pick(2, 5)):
                start = clock()
                examples = seal_examples(learners[:, train], labels[train])
                vote = boost(
                    examples, epsilon=epsilon, delta=DELTA, rounds=ROUNDS, advantage=ADVANTAGE,
                    method=Scan() if index == "exact" else Indexed(index="flat"), seed=seed,
                )  # fmt: skip
                took.append(since(start))
                right.append(float((vote.value.vote(learners[:, test]) == labels[test]).mean()))
            rows.append({"arm": index, "epsilon": epsilon, "accuracy": right,
                         "seconds": float(np.median(took))})  # fmt: skip
    parameters = {"delta": DELTA, "rounds": ROUNDS, "advantage": ADVANTAGE,
                  "learners": len(learners),
                  "rows": most}  # fmt: skip
    return Findings(parameters, rows, source)


def judge(measured: Findings) -> Judged:
    """Whether the primitive extends: a vote by lazy selection is as good as one by a scan."""
    shares = {(r["arm"], r["epsilon"]): float(np.mean(r["accuracy"]))
             for r in measured.results if "epsilon" in r}  # fmt: skip
    flat = {r["arm"]: r["accuracy"] for r in measured.results if "epsilon" not in r}
    levels = sorted({e for _, e in shares})
    apart = max(abs(shares["exact", e] - shares["flat", e]) for e in levels)
    best = max(flat.values())
    claims = (
        Claim(f"lazy selection extends to boosting: the vote is as accurate as by a scan (within "
              f"{apart:.3f} at every epsilon)", apart < 0.02),
        Claim(f"at ε = 1 the vote beats the best rule alone and the larger class "
              f"({shares['flat', 1.0]:.3f} against {best:.3f})",
              shares["flat", 1.0] > best + 0.005),
        Claim(f"accuracy rises with epsilon ({shares['flat', levels[0]]:.3f} to "
              f"{shares['flat', levels[-1]]:.3f})",
              shares["flat", levels[-1]] > shares["flat", levels[0]] + 0.005),
    )  # fmt: skip
    return Judged(claims, ("the paper only names boosting as a direction; it has no numbers",))


def draw(measured: Findings) -> Figure:
    """Accuracy against epsilon."""
    rules = measured.parameters["learners"]
    title = f"FastMWEM, boosting on ADULT: {rules} rules, {ROUNDS} rounds, δ = {DELTA:g}"
    figure, (axis,) = panels(1, 1, width=8.4, height=4.6, title=title)
    names = tuple(_NAMES.values())
    for arm, name in _NAMES.items():
        mine = [r for r in measured.results if r["arm"] == arm]
        spread = [sorted(r["accuracy"]) for r in mine]
        curve = Series([r["epsilon"] for r in mine], np.mean(spread, axis=1),
                       [e[0] for e in spread], [e[-1] for e in spread])  # fmt: skip
        draw_curves(axis, {name: curve}, names)
    for place, row in enumerate(r for r in measured.results if "epsilon" not in r):
        bound(axis, [0.03, 3.0], [row["accuracy"]] * 2, row["arm"], place)
    finish(
        axis, xscale="log", xlabel="privacy loss ε (log scale)", ylabel="accuracy, rows held back"
    )
    legend(figure, [axis], 2)
    return figure


BOOSTING = Experiment("boosting", "Private boosting on ADULT", measure, judge, draw, (4, 20))
