"""One person's value may widen the type of a whole column; nobody else's kept rows may change.

A missing number turns a pandas column of integers into floats, a large one into unsigned or
128-bit integers. With a salt that is kept, what is kept of everybody else stays what it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import winnow as wn
from reference.inside import all_rows, open_sealed
from winnow.errors import DataError

PEOPLE = 400
PAIRS = [(person, item) for person in range(PEOPLE) for item in "xyz"]
LARGE = [2**63, 2**64 - 1, 2**70, -(2**70)]


def counted(source: Any) -> Counter[str]:
    found = wn.counts(source, item="i", person="u", max_items=1, reading=wn.Reading(salt="kept"))
    return Counter(dict(zip(open_sealed(found.labels), open_sealed(found.values), strict=True)))


def frame(rows: list[Any], dtype: Any = None) -> pd.DataFrame:
    made = pd.DataFrame(rows, columns=["u", "i"])
    return made if dtype is None else made.assign(u=made["u"].astype(dtype))


def connected(kind: str) -> Any:
    connection = duckdb.connect()
    connection.register("given", frame(PAIRS))
    connection.execute(f"CREATE TABLE log AS SELECT u::{kind} AS u, i FROM given")
    return connection, "log"


AS_WHOLE: dict[str, Callable[[], Any]] = {
    **{
        name: lambda name=name: frame(PAIRS, name)
        for name in ("int32", "uint16", "uint64", "Int64", "UInt64", "object")
    },
    "polars": lambda: pl.DataFrame(frame(PAIRS)).with_columns(pl.col("u").cast(pl.UInt64)),
    "arrow": lambda: pa.table({"u": pa.array([u for u, _ in PAIRS], pa.uint64()),
                               "i": [i for _, i in PAIRS]}),
    **{
        kind: lambda kind=kind: connected(kind)
        for kind in ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT")
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", AS_WHOLE)
def test_the_items_kept_of_people_are_those_of_their_numbers_whatever_the_type(kind: str) -> None:
    assert counted(AS_WHOLE[kind]()) == counted(frame(PAIRS))


@pytest.mark.parametrize("number", LARGE)
def test_a_person_with_a_large_number_adds_one_count_and_changes_no_other(number: int) -> None:
    before = counted(frame(PAIRS, object))
    after = counted(frame([*PAIRS, (number, "x")]))
    assert after == before + Counter(x=1)


def test_people_beyond_64_bits_are_different_people() -> None:
    rows = [(2**64 + person, "x") for person in range(50)] + [(person, "x") for person in range(50)]
    assert counted(frame(rows, object)) == Counter(x=100)


@pytest.mark.parametrize("value", [None, 1.0, 1.5])
def test_numbers_of_people_that_are_floats_are_refused_whatever_they_are(value: Any) -> None:
    floats = frame([*PAIRS, (value, "x")])
    assert floats["u"].dtype == float
    for read in (
        lambda: counted(floats),
        lambda: wn.read_table(floats, schema={"i": {"values": ["x"], "other": True}}, person="u"),
        lambda: wn.read_baskets(floats, layout=wn.Pairs(basket="u", item="i"), unit="basket"),
    ):
        with pytest.raises(DataError, match="DOUBLE"):
            read()


SCHEMAS = {
    "codes": {"codes": 3, "other": True},
    "categories": {"values": [0, 1, 2], "other": True},
    "fractions": {"values": [0, 1, 2, 0.5], "other": True},
    "edges": {"edges": [0, 1, 2, 3], "other": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("extra", [None, 1.5, 1e300, 2**63, 2**70, 7])
@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_rows_kept_of_people_are_those_of_the_schema_whatever_the_type(
    kind: str, extra: Any
) -> None:
    rows = [(f"p{person}", value) for person in range(PEOPLE) for value in range(3)]

    def cells(*more: tuple[str, Any]) -> Counter[int]:
        table = wn.read_table(
            pd.DataFrame([*rows, *more], columns=["u", "c"]),
            schema={"c": SCHEMAS[kind]}, person="u", max_rows=1, reading=wn.Reading(salt="kept"),
        )  # fmt: skip
        (codes,), weights = all_rows(table)
        return Counter({int(c): int(w) for c, w in zip(codes, weights, strict=True)})

    before = cells()
    added = cells(("q", extra))
    added.subtract(before)
    assert sorted(n for n in added.values() if n) == [1]


@pytest.mark.parametrize("number", [2**63, 2**70])
def test_a_person_with_a_large_number_changes_nobody_elses_basket(number: int) -> None:
    def held(more: list[Any]) -> Any:
        baskets = wn.read_baskets(
            frame([*PAIRS, *more]), layout=wn.Pairs("u", "i"), unit="basket",
            items=list("xyz"), max_items=1, reading=wn.Reading(salt="kept"),
        )  # fmt: skip
        found = wn.itemsets(baskets, size=1, k=3, epsilon=1e9, supports="winners")
        return {str(itemset): count for itemset, count in found.value}

    before, after = held([]), held([(number, "x")])
    changed = {item: after[item] - before[item] for item in before if after[item] != before[item]}
    assert list(changed.values()) == [1]
