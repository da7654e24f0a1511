"""The contract of every engine: the same counts and the same table, wherever the rows lie.

Files and data frames are read by a DuckDB of Winnow's own; a connection to DuckDB, Postgres or
Spark by that engine. All give what the slow twin in plain Python gives, and no error shows a value.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from hashlib import md5
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2, hypergeom

import winnow as wn
from contracts.classes import all_classes
from reference.bounded_counts import bounded_counts, weighed_counts
from reference.inside import all_rows, open_sealed
from reference.reading import as_options
from winnow.read.engine import Engine
from winnow.read.engines.joined import JoinedDuck
from winnow.read.engines.private_duck import PrivateDuck
from winnow.read.engines.registry import ENGINES

Put = Callable[[list[tuple[Any, ...]], dict[str, str]], Any]
"""Rows and the types of their columns ('text', 'whole', 'time' and others), made into a source."""

SOURCES = {
    "csv": "DuckFiles",
    "parquet": "DuckFiles",
    "pandas": "DuckFrame",
    "polars": "DuckFrame",
    "arrow": "DuckFrame",
    "duckdb": "DuckTable",
    "postgres": "PostgresTable",
    "spark": "SparkFrame",
}
ELSEWHERE = {"WarehouseTable"}
"""What cannot be run here: tests/read/test_warehouses.py."""
SERVERS = ("postgres", "spark")
_ARROW = {
    "text": pa.string(), "whole": pa.int64(), "real": pa.float64(), "truth": pa.bool_(),
    "time": pa.timestamp("us"),
}  # fmt: skip
_SQL = {
    "text": "text", "whole": "bigint", "real": "float8", "truth": "boolean", "time": "timestamp"
}  # fmt: skip
_SPARK = {
    "text": "string", "whole": "bigint", "real": "double", "truth": "boolean",
    "time": "timestamp_ntz",
}  # fmt: skip


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.extras if name in SERVERS else ()) for name in SOURCES
    ]
)
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Put:
    """Lays rows down in one kind of source."""
    kind: str = request.param

    def made(rows: list[tuple[Any, ...]], types: dict[str, str]) -> Any:
        if kind == "postgres":
            connection = request.getfixturevalue("empty_postgres")
            names = ", ".join(f'"{name}" {_SQL[each]}' for name, each in types.items())
            connection.execute("DROP TABLE IF EXISTS pg_temp.given")
            connection.execute(f"CREATE TEMP TABLE given ({names})")
            with connection.cursor() as cursor:
                marks = ", ".join(["%s"] * len(types))
                cursor.executemany(f"INSERT INTO given VALUES ({marks})", rows)
            return connection, "given"
        if kind == "spark":
            names = ", ".join(f"`{name}` {_SPARK[each]}" for name, each in types.items())
            return request.getfixturevalue("spark").createDataFrame(rows, names)
        columns = zip(*rows, strict=True)
        typed = zip(columns, types.values(), strict=True)
        arrays = [pa.array(column, _ARROW[each]) for column, each in typed]
        table = pa.table(arrays, names=list(types))
        match kind:
            case "arrow":
                return table
            case "polars":
                return pl.from_arrow(table)
            case "pandas":
                return table.to_pandas(types_mapper=pd.ArrowDtype)
            case "duckdb":
                connection = duckdb.connect()
                connection.register("given", table)
                return connection, "given"
        path = tmp_path / f"given.{kind}"
        if kind == "parquet":
            pq.write_table(table, path)
        else:
            pl.from_arrow(table).write_csv(path)
        return path

    return made


TEXTS: list[tuple[str | None, str | None]] = [
    *((f"user {i % 17}", f"item {(i * i + i // 17) % 23}") for i in range(400)),
    (None, "lost"),
    ("user 1", None),
    ("o'brien; --", 'quote " and | bar'),
    ("ünï", "çödé"),
]
WHOLE: list[tuple[int | None, int | None]] = [
    *((i % 17 - 5, (i * i + i // 17) % 23) for i in range(300)),
    *((2**62 + i % 2, i) for i in range(12)),
    (None, 3),
    (4, None),
]


def counted(source: Any, bound: int | None) -> dict[str, int]:
    found = wn.counts(
        source, item="what it", person="who", max_items=bound, reading=wn.Reading(salt="s")
    )
    labels: Any = found.labels
    return dict(zip(open_sealed(labels), open_sealed(found.values).tolist(), strict=True))


LETTERS = (
    "\u00e9",
    "e\u0301",
    "e",
    "E",
    "\u00df",
    "ss",
    "K",
    "\u212a",
    "\ufb01",
    "fi",
    "i\u0307",
    "\u0130",
)
"""Texts that look alike, or are one in other letters: all of them are different."""
TWINS: list[tuple[str | None, str | None]] = [
    *(("e" if i % 5 else LETTERS[i % 12], f"{LETTERS[i * i % 11]}{i % 7}") for i in range(400)),
]
"""One person has nearly all rows."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bound", [None, 1, 40])
def test_letters_that_look_alike_differ_and_one_person_may_have_most_rows(
    put: Put, bound: int | None
) -> None:
    source = put(TWINS, {"who": "text", "what it": "text"})
    assert counted(source, bound) == bounded_counts(TWINS, bound, "s")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bound", [None, 1, 5])
def test_counts_are_those_of_the_slow_twin(put: Put, bound: int | None) -> None:
    source = put(TEXTS, {"who": "text", "what it": "text"})
    assert counted(source, bound) == bounded_counts(TEXTS, bound, "s")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bound", [None, 3])
def test_people_that_are_whole_numbers_are_counted_alike(put: Put, bound: int | None) -> None:
    source = put(WHOLE, {"who": "whole", "what it": "whole"})
    people: Any = WHOLE
    if isinstance(source, Path) and source.suffix == ".csv":  # whose columns have no types
        people = [(None if who is None else str(who), item) for who, item in WHOLE]
    assert counted(source, bound) == bounded_counts(people, bound, "s")


def weighed(source: Any, most: int, within: tuple[str, ...] | None = None) -> dict[str, int]:
    found = wn.counts(source, item="what it", person="who", reading=wn.Reading(salt="s"))
    assert found.weighed is not None
    summed = open_sealed(found.weighed.people).summed(most, within)
    return dict(zip(summed.items, summed.values.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", [TEXTS, WHOLE, TWINS], ids=["texts", "whole", "twins"])
def test_weights_of_people_are_those_of_the_slow_twin(put: Put, rows: Any) -> None:
    kind = "whole" if rows is WHOLE else "text"
    source = put(rows, {"who": kind, "what it": kind})
    people: Any = rows
    if rows is WHOLE and isinstance(source, Path) and source.suffix == ".csv":
        people = [(None if who is None else str(who), item) for who, item in WHOLE]
    for most in (1, 2, 100):  # one item each is a border: no weight depends on others
        assert weighed(source, most) == weighed_counts(people, most, "s")
    some = tuple(sorted(weighed_counts(people, 100, "s"))[:3])
    for most in (2, 5):
        assert weighed(source, most, some) == weighed_counts(people, most, "s", some)


SCHEMA = {
    "age": {"edges": [0, 20, 40, 60.5], "other": True},
    "the sex": {"values": ["Female", "Male", None], "other": "anything else"},
    "rank": 6,
    "ok": {"values": [False, True]},
}
TYPES = {"who": "text", "age": "real", "the sex": "text", "rank": "whole", "ok": "truth"}
ROWS: list[tuple[Any, ...]] = [
    (f"p{i % 7}", None if i % 11 == 0 else 0.5 * i, ["Female", "Male", None, "male"][i % 4],
     i % 6, i % 3 == 0)
    for i in range(150)
]  # fmt: skip


def encoded(row: tuple[Any, ...]) -> tuple[int, ...]:
    """The codes of a row, by the words of the schema."""
    _, age, sex, rank, ok = row
    edges = [0, 20, 40, 60.5]
    inside = age is not None and edges[0] <= age < edges[-1]
    code = sum(age >= edge for edge in edges[1:-1]) if inside else 3
    sexes = ["Female", "Male", None]
    return code, sexes.index(sex) if sex in sexes else 3, rank, int(ok)


def cells(source: Any, schema: Any = SCHEMA, **options: Any) -> Counter[tuple[int, ...]]:
    codes, weights = all_rows(wn.read_table(source, schema=schema, **as_options(options)))
    rows = zip(*(column.tolist() for column in codes), strict=True)
    return Counter(dict(zip(rows, weights.tolist(), strict=True)))


@pytest.mark.filterwarnings("ignore")
def test_a_table_has_the_cells_of_its_rows(put: Put) -> None:
    assert cells(put(ROWS, TYPES)) == Counter(map(encoded, ROWS))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bound", [1, 5])
def test_people_keep_the_same_rows_in_every_engine(put: Put, bound: int) -> None:
    options = {"person": "who", "max_rows": bound, "salt": "s"}
    found = cells(put(ROWS, TYPES), **options)
    frame = pd.DataFrame(ROWS, columns=list(TYPES))
    assert found == cells(frame, **options)
    assert sum(found.values()) == 7 * bound
    assert not found - Counter(map(encoded, ROWS))


OWN = ["A"] * 8 + ["B"] * 3 + ["C"]
"""The rows of each person in the test of samples: 12, of which three are kept."""
PEOPLE, KEPT = 300, 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("keep", ["memory", "engine"])
def test_what_a_bound_keeps_of_a_person_is_a_uniform_sample(put: Put, keep: str) -> None:
    """Chi-square of the letters in all, and of how many A each person keeps.

    Both are tested at 1e-7, so that a fair sample fails one of the sixteen runs with chance 3e-6;
    the salt is fixed. Letters in all have the law of samples without replacement, whose chi-square
    is smaller by (12 - 3) / (12 - 1).
    """
    rows = [(f"p{i}", i, letter) for i in range(PEOPLE) for letter in OWN]
    source = put(rows, {"who": "text", "number": "whole", "x": "text"})
    options: dict[str, Any] = {"person": "who", "max_rows": KEPT, "keep": keep}
    letters = {"x": {"values": ["A", "B", "C"]}}
    alone = cells(source, letters, **options, salt="s")
    both = cells(source, {"number": PEOPLE, **letters}, **options, salt="s")
    assert alone.total() == both.total() == KEPT * PEOPLE
    expected = [KEPT * PEOPLE * OWN.count(letter) / len(OWN) for letter in "ABC"]
    for found in (alone, Counter(row[-1:] for row in both.elements())):
        observed = [found[(code,)] for code in range(3)]
        shrunk = (len(OWN) - KEPT) / (len(OWN) - 1)
        statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True)) / shrunk
        assert chi2.sf(statistic, 2) > 1e-7, observed
    kept_of_a = Counter(both[(number, 0)] for number in range(PEOPLE))
    law = hypergeom(len(OWN), 8, KEPT).pmf(range(KEPT + 1)) * PEOPLE
    observed = [kept_of_a[number] for number in range(KEPT + 1)]
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, law, strict=True))
    assert chi2.sf(statistic, KEPT) > 1e-7, observed


KINDS: dict[str, Any] = {
    "when": {
        "edges": ["2024-01-01", "2024-03-10T02:30", "2025-01-01"],
        "missing": True,
        "other": True,
    },
    "weekday": {"calendar": "weekday", "missing": True},
    "hour": {"calendar": "hour", "values": [*range(6, 18)], "drop": True},
    "street": {"buckets": 7, "trim": True, "na": ["none"], "missing": True},
    "size": {"range": [0, 3], "bins": 4, "clip": True, "missing": True},
}
KIND_TYPES = {"when": "time", "weekday": "time", "hour": "time", "street": "text", "size": "real"}
_FIRST = datetime(2023, 12, 28, 1, 59)
KIND_ROWS: list[tuple[Any, ...]] = [
    (
        None if i % 13 == 0 else _FIRST + timedelta(hours=73 * i),
        None if i % 7 == 0 else _FIRST + timedelta(days=i),
        None if i % 5 == 0 else _FIRST + timedelta(hours=i),
        (None, " Elm", "Elm ", "none", "Oak 5", "\u00fc")[i % 6],
        None if i % 9 == 0 else i / 20 - 1,
    )
    for i in range(140)
]


def kind_of_row(row: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The labels of a row by the words of the schema; None: it is left out."""
    when, weekday, hour, street, size = row
    street = None if street is None or street.strip() == "none" else street.strip()
    if hour is None or not 6 <= hour.hour < 18:
        return None
    edges = [datetime(2024, 1, 1), datetime(2024, 3, 10, 2, 30), datetime(2025, 1, 1)]
    code = 2 if when is None else 3
    if when is not None and edges[0] <= when <= edges[-1]:
        code = int(when >= edges[1])
    return (
        code,
        7 if weekday is None else weekday.isoweekday() - 1,
        hour.hour - 6,
        7 if street is None else int(md5(street.encode()).hexdigest()[:3], 16) % 7,
        4 if size is None else int(min(max(size, 0), 2.999) / 0.75),
    )


@pytest.mark.filterwarnings("ignore")
def test_times_buckets_and_missing_values_are_the_same_in_every_engine(put: Put) -> None:
    source = put(KIND_ROWS, KIND_TYPES)
    found = cells(source, schema=KINDS, relation="add-remove")
    assert found == Counter(row for row in map(kind_of_row, KIND_ROWS) if row is not None)
    kept = {name: KINDS[name] for name in KINDS if name != "hour"}  # which drops rows
    assert cells(source, schema=kept, keep="engine") == cells(source, schema=kept)


@pytest.mark.filterwarnings("ignore")
def test_a_time_with_a_zone_is_refused_because_its_day_depends_on_who_asks() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE given AS SELECT TIMESTAMPTZ '2024-01-01 00:30:00+00' AS t")
    with pytest.raises(wn.InputError, match="without a time zone"):
        wn.read_table((connection, "given"), schema={"t": {"calendar": "hour"}})


CANARY = "canary41729"


def everything_said(error: BaseException | None) -> str:
    said = ""
    while error is not None:
        said += repr(error)
        error = error.__cause__ or error.__context__
    return said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("schema", "types", "value"),
    [
        ({"nope": 6}, {"rank": "text"}, CANARY),
        ({"rank": {"values": ["a", "b"]}}, {"rank": "text"}, CANARY),
        ({"rank": 6}, {"rank": "whole"}, 41_729),
        ({"rank": 6}, {"rank": "text"}, CANARY),
    ],
)
def test_no_error_shows_a_value(
    put: Put, schema: dict[str, Any], types: dict[str, str], value: Any
) -> None:
    source = put([(value,)] * 2, types)
    with pytest.raises(wn.InputError) as caught:
        wn.read_table(source, schema=schema)
    assert "41729" not in everything_said(caught.value)


@pytest.mark.filterwarnings("ignore")
def test_a_column_that_is_not_there_is_refused(put: Put) -> None:
    source = put(TEXTS, {"who": "text", "what it": "text"})
    with pytest.raises(wn.InputError, match="no column"):
        wn.counts(source, item="nope")


def missing(classes: Iterable[type], known: Iterable[str]) -> list[str]:
    abstract = {Engine, PrivateDuck, JoinedDuck}
    engines = {made for made in classes if issubclass(made, Engine)} - abstract
    return sorted({made.__name__ for made in engines} - set(known))


def test_every_engine_is_registered_and_under_the_contract() -> None:
    assert missing(all_classes(), [made.__name__ for made in ENGINES]) == []
    assert missing(ENGINES, {*SOURCES.values(), *ELSEWHERE}) == []
    assert not any(map(inspect.isabstract, ENGINES))


def test_an_engine_that_is_not_registered_is_named() -> None:
    class NewEngine(ENGINES[0]):  # type: ignore[misc,valid-type]
        pass

    assert missing([*ENGINES, NewEngine], {*SOURCES.values(), *ELSEWHERE}) == ["NewEngine"]


def test_baskets_are_those_of_plain_python(put: Put) -> None:
    pairs = [(i // 3, f"item {(i * i + i // 5) % 11}") for i in range(60)]
    source = put([*pairs, (None, "lost"), (7, None)], {"the basket": "whole", "what": "text"})
    found = wn.read_baskets(
        source, unit="basket", layout=wn.Pairs(basket="the basket", item="what")
    )
    held = open_sealed(found.data)
    names: Any = open_sealed(found.labels)
    supports = {names[i]: n for i, n in enumerate(held.supports().tolist())}
    assert supports == Counter(item for _, item in set(pairs))
    assert len(held) == 20
