"""Lists by weighted counts through the verb: the law that their receipts are charged for."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.weighted_lists import LONGEST, Charged, ListLaw, Rows
from winnow.audit.fidelity import chi_square_p_value

NAMES = "abc"
FEW: Rows = [(0, 1)] * 3 + [(1, 2)] * 2 + [(0, 1, 2)] * 5 + [(2,)]
MANY: Rows = [(0, 1)] * 30 + [(1, 2)] * 29 + [(0, 1, 2)] * 40 + [(0,)] * 9
TINY: Rows = [(0, 1), (0, 1), (1, 2)]  # nobody has the third pair
DRAWN, SIMULATED = 1500, 200_000


def at_the_border(times: float) -> Rows:
    """Every item passes the threshold of people that many times as heavy, or does not."""
    kinds = {(0, 1): 5, (1, 2): 4, (0, 1, 2): 5, (2,): 1}
    return [row for row, many in kinds.items() for _ in range(round(times * many))]


def sealed(
    rows: Rows, m: int, relation: str, *, private: bool, max_items: int | None = None
) -> wn.SealedBaskets:
    """Baskets in order: m of them are a person's."""
    pairs = [(b // m, b, NAMES[i]) for b, row in enumerate(rows) for i in row]
    frame = pd.DataFrame(pairs, columns=["who", "basket", "item"])
    how: dict[str, Any] = {"items": None if private else list(NAMES), "relation": relation}
    how["max_items"] = max_items
    how |= {"unit": "basket"} if m == 1 else {"person": "who", "max_baskets": m}
    return wn.read_baskets(frame, layout=wn.Pairs(basket="basket", item="item"), **how)


def compared(
    rows: Rows,
    size: int,
    k: int,
    epsilon: float,
    delta: float,
    m: int,
    relation: str,
    private: bool,
    max_items: int | None = None,
    longest: int | None = None,
) -> float:
    """A bound on the p-value of what the verb draws, were its threshold for that length."""
    baskets = sealed(rows, m, relation, private=private, max_items=max_items)
    asked = {"size": size, "k": k, "epsilon": epsilon, "delta": delta, "method": "weighted"}
    found = [wn.itemsets(baskets, **asked, seed=seed) for seed in range(DRAWN)]
    codes = {name: code for code, name in enumerate(NAMES)}
    seen = Counter(tuple(tuple(codes[i] for i in itemset) for itemset in r.value) for r in found)
    charged = Charged.by(found[0].receipt.event)
    law = ListLaw(charged, size, k, m, replaced=relation == "substitution",
                  longest=longest or max_items or LONGEST)  # fmt: skip
    expected = law.drawn(rows, len(NAMES), SIMULATED, seed=7)
    lists = sorted(expected)
    observed = [seen[each] for each in lists] + [
        sum(seen[each] for each in seen.keys() - set(lists))
    ]
    chances = np.array([expected[each] for each in lists]) / SIMULATED
    return chi_square_p_value(np.array(observed), chances)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "relation"), [(1, "add-remove"), (2, "substitution")])
@pytest.mark.parametrize(
    ("rows", "size", "epsilon", "delta", "private"),
    [
        (TINY, 1, 8.0, 0.0, False),
        (TINY, 2, 2.0, 0.0, False),
        (FEW, 2, 4.0, 0.0, False),
        (MANY, 2, 4.0, 0.0, False),
        (FEW, 2, 4.0, 1e-3, False),
        (MANY, 2, 2.0, 1e-3, False),
        (None, 2, 4.0, 0.2, True),
    ],
)
def test_the_verb_draws_the_law_of_its_receipt(
    rows, size, epsilon, delta, private, m, relation
) -> None:
    if private:
        rows = at_the_border(m * sqrt(2 if relation == "substitution" else 1))
    p = compared(rows, size, 2, epsilon, delta, m, relation, private)
    assert p > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 2])
def test_a_bound_on_baskets_lowers_the_threshold_that_is_drawn(m: int) -> None:
    rows = at_the_border(m)
    asked = (rows, 2, 2, 4.0, 0.2, m, "add-remove", True)
    assert compared(*asked, max_items=3) > 1e-6
    assert compared(*asked, max_items=3, longest=LONGEST) < 1e-9
