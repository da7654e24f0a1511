"""Which mechanism when: the numbers behind the decision table, computed by `winnow.plan`."""

from __future__ import annotations

from math import exp
from typing import Any

from table_text import power, short, table

import winnow as wn
from winnow.ask.compared import WORDS

GAP = 100
"""By how many people the best leads, in the table for one pick."""
ITEMS, TOP = 5_000, 50_000
"""The made-up counts for top k: the r-th of ITEMS items is TOP/r people."""
ROWS, CELLS = 48_842, 120_960
"""The size of the table in the comparison of ways to answer queries: that of ADULT."""

PICKS: dict[str, dict[str, Any]] = {
    "permute-and-flip": {},
    "exponential": {"method": "exponential"},
    "noisy-max": {"method": "noisy-max"},
    "large margin, δ = 10⁻⁶": {"method": "large-margin", "delta": 1e-6},
}
LISTS = {
    "canonical": "canonical (a set)",
    "joint": "joint (a list)",
    "oneshot": "oneshot (a set)",
    "peel-gumbel": "peel-gumbel (a list, δ = 10⁻⁶)",
}


def decision_pick() -> str:
    """The epsilon with which the best of d wins with chance 0.95."""
    lines = []
    for d in (100, 10**4, 10**6, 10**9):
        about = wn.plan.scores(d, gaps=GAP, monotone=True)
        found = [wn.plan.select(about, chance=0.95, **how) for how in PICKS.values()]
        lines.append([power(d), *(short(plan.epsilon) for plan in found)])
    return table(["candidates", *PICKS], lines, right=1 + len(PICKS))


def decision_top_k() -> str:
    """The epsilon with which the true top k comes out with chance 0.9."""
    counts = [round(TOP / rank) for rank in range(1, ITEMS + 1)]
    lines = []
    for k in (3, 10, 30, 100):
        plan = wn.plan.top_k(wn.plan.counts(ITEMS), k=k, epsilon=0.1, delta=1e-6)
        found = plan.simulate(counts, chance=0.9, draws=0)
        lines.append([str(k), *(short(found.row(name).epsilon_for_target) for name in LISTS)])
    return table(["k", *LISTS.values()], lines, right=1 + len(LISTS))


def decision_queries() -> str:
    """What can be promised about all answers at once, by how many there are."""
    lines = []
    for questions in (100, 1000, 10**4, 10**5, 10**6, 10**7):
        plan = wn.plan.ask(
            wn.plan.table(CELLS, rows=ROWS), epsilon=1.0, delta=1e-6, max_queries=questions
        )
        weights, single = plan.compared
        lines.append(
            [power(questions), _part(single.bound), _part(weights.bound),
             _part(weights.usual), WORDS[plan.method]]
        )  # fmt: skip
    head = ["questions", "independent noise", "multiplicative weights", "usually",
            "`wn.plan` recommends"]  # fmt: skip
    rule = ["--:", "--:", "--:", "--:", "---"]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines)) + "\n"


def _part(bound: float) -> str:
    return f"{100 * bound:.2g} %" if bound < 1 else "no promise"


def decision_release() -> str:
    """The noise of one measurement in query release, by the budget."""
    schema = {"age": 20, "job": 20, "town": 30}
    lines = []
    for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0):
        about = wn.plan.table(schema, rows=50_000)
        plan = wn.plan.mwem_bounds(about, wn.marginals(2), epsilon=epsilon, delta=1e-6)
        best = plan.best()
        lines.append(
            [f"{epsilon:g}", f"{plan.rounds:,}", short(best.noise_rows),
             f"{100 * best.noise:.2g} %", best.accountant]
        )  # fmt: skip
    head = ["ε", "rounds", "noise of a count, rows", "of the rows", "accountant"]
    return table(head, lines, right=5)


def odds() -> str:
    """The most that somebody can come to believe, by prior belief and epsilon."""
    lines = []
    for epsilon in (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0):
        shown = [_believes(prior, epsilon) for prior in (0.01, 0.1, 0.5)]
        lines.append([f"{epsilon:g}", short(exp(epsilon)), *shown])
    return table(["ε", "odds times", "from 1 %", "from 10 %", "from 50 %"], lines, right=5)


def _believes(prior: float, epsilon: float) -> str:
    posterior = prior * exp(epsilon) / (1 - prior + prior * exp(epsilon))
    return f"{100 * posterior:.3g} %"


TABLES = (decision_pick, decision_top_k, decision_queries, decision_release, odds)
"""Each is written to docs/_generated under its name."""
