"""What a verb draws of a table grows with the rows that a person may have: each number of it.

Plans and mechanisms know how many; these tests see that a verb hands it on, down to every draw.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.releasing import flat_release
from winnow import Relation
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.read.crossing import Rows, SealedTable

SHAPE, MANY, DRAWS = (3, 4), 1000, 7
SCHEMA = Schema.parse({"a": SHAPE[0], "b": SHAPE[1]})
CODES = tuple(np.ascontiguousarray(each.ravel(), np.int32) for each in np.indices(SHAPE))
WEIGHTS = np.array([900, *[40] * 11], np.int64)
CELLS = WEIGHTS.reshape(SHAPE)
TOTAL = int(WEIGHTS.sum())


def table(rows_per_person: int, relation: Relation) -> SealedTable:
    return SealedTable(SCHEMA, Sealed(Rows(CODES, WEIGHTS), "rows"), rows_per_person, relation)


def truth(columns: tuple[str, ...]) -> np.ndarray:
    gone = tuple(i for i, name in enumerate(SCHEMA.names) if name not in columns)
    return np.asarray(CELLS.sum(axis=gone))


Noise = dict[str, list[float]]


def by_tables(value: Any) -> Noise:
    found = [np.ravel(t.estimate - truth(tuple(t.columns))) for t in value.tables]
    return {"tables": np.abs(np.concatenate(found)).tolist()}


def by_estimates(value: Any) -> Noise:
    expected = np.concatenate([CELLS.sum(axis=1), CELLS.sum(axis=0), CELLS.ravel()])
    return {"estimates": np.abs(value.total * value.estimates - expected).tolist()}


def by_rounds(value: Any) -> Noise:
    found: Noise = {"total": [abs(value.total - TOTAL)], "first": [], "measured": []}
    for name, counts in zip(SCHEMA.names, value.first_tables, strict=False):
        found["first"] += np.abs(np.array(counts) - truth((name,))).tolist()
    expected = np.concatenate([CELLS.sum(axis=1), CELLS.sum(axis=0), CELLS.ravel()])
    found["measured"] = [abs(each.count - expected[each.query]) for each in value.measurements]
    return found


def by_marginals(value: Any) -> Noise:
    found: Noise = {"first": [], "measured": []}
    for place, each in enumerate(value.marginals):
        far = np.abs(each.counts - truth(each.columns)).ravel().tolist()
        found["first" if place < len(SHAPE) else "measured"] += far
    return found


Verb = Callable[[SealedTable, int], Any]


def asked(verb: Callable[..., Any], **options: Any) -> Verb:
    return lambda held, seed: verb(held, wn.marginals([1, 2]), seed=seed, **options).value


BUDGET: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6}
PURE: dict[str, Any] = {"epsilon": 2.0}
CASES: list[tuple[str, Verb, Callable[[Any], Noise]]] = [
    ("tabulate", asked(wn.tabulate, **BUDGET), by_tables),
    ("tabulate, pure", asked(wn.tabulate, **PURE), by_tables),
    ("tables", asked(wn.release, method="tables", **BUDGET), by_estimates),
    ("explicit", asked(wn.release, method="explicit", **BUDGET), by_estimates),
    ("explicit, pure", asked(wn.release, method="explicit", **PURE), by_estimates),
    *(
        (f"mwem{name}", asked(flat_release, method="mwem", rounds=6, warm_start=0.3, **budget),
         by_rounds)
        for name, budget in (("", BUDGET), (", pure", PURE))
    ),
    ("an index", asked(flat_release, method="mwem", rounds=6, index="flat", **BUDGET), by_rounds),
    ("adaptive", asked(flat_release, method="adaptive", rounds=2, **BUDGET), by_rounds),
    ("adaptive, pure", asked(flat_release, method="adaptive", rounds=2, **PURE), by_rounds),
    ("wide rounds", asked(flat_release, method="graphical", rounds=2, rows=10**9, **BUDGET),
     by_marginals),
    ("wide rounds, pure", asked(flat_release, method="graphical", rounds=2, rows=10**9, **PURE),
     by_marginals),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("verb", "noise_of"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_every_number_has_the_noise_of_all_rows_of_a_person(
    verb: Verb, noise_of: Callable[[Any], Noise], relation: Relation
) -> None:
    """Medians of seven runs: a thousand rows instead of two move them by five hundred times."""
    few, many = (
        [noise_of(verb(table(rows, relation), seed)) for seed in range(DRAWS)] for rows in (2, MANY)
    )
    for name in few[0]:
        small = [size for each in few for size in each[name]]
        large = [size for each in many for size in each[name]]
        if small:
            middle = max if name == "total" else median  # about half of the totals are cut at 1
            assert middle(large) > 60 * max(1.0, middle(small)), (name, middle(small))


CHOOSING: list[tuple[str, Verb, Callable[[Any], Any]]] = [
    ("mwem", asked(flat_release, method="mwem", rounds=1, rows=TOTAL, warm_start=0, epsilon=400.0),
     lambda value: value.measurements[0].query),
    ("an index", asked(flat_release, method="mwem", rounds=1, rows=TOTAL, index="flat",
                       epsilon=400.0), lambda value: value.measurements[0].query),
    ("adaptive", asked(flat_release, method="adaptive", rounds=1, rows=TOTAL, epsilon=400.0),
     lambda value: value.measurements[0].query),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "chosen"), [c[1:] for c in CHOOSING],
                         ids=[c[0] for c in CHOOSING])  # fmt: skip
def test_a_choice_is_by_chance_where_a_person_has_all_rows(
    verb: Verb, chosen: Callable[[Any], Any]
) -> None:
    add = Relation.ADD_REMOVE
    few = {chosen(verb(table(1, add), seed)) for seed in range(12)}
    many = {chosen(verb(table(100 * MANY, add), seed)) for seed in range(12)}
    assert len(few) == 1 and len(many) > 1
