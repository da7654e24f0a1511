"""The contract of counts that stay in an engine: the same list as from counts in memory.

A draw sees of an engine how many items have each count, and the items at some places. Where both
are those of the slow twin in plain Python, every list is the same for every seed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import md5
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import winnow as wn
from contracts.test_engines import Put, put  # noqa: F401  # the sources of the engines' contract
from reference.bounded_counts import bounded_counts
from reference.inside import Sealed, Tape, open_sealed
from reference.reading import as_options
from reference.running import released
from winnow.core.noisy_top.count_classes import Place
from winnow.errors import DataError, ParameterError
from winnow.read.engines import kept as engine
from winnow.read.kept import MOST_COLLECTED, KeptCounts
from winnow.select.audit.kept import ListedCounts
from winnow.select.mechanisms.unknown_domain import LimitedDomain

TWINS = [("u9", "caf\u00e9"), ("u9", "cafe\u0301"), ("u8", "A"), ("u7", "a"), ("u7", "a ")]
"""Texts that a collation takes for one."""
ROWS = [*((f"u{i % 31}", f"item {(i * i + i // 31) % 47}") for i in range(600)), *TWINS]
ITEMS = [f"item {i}" for i in range(50)] + ["caf\u00e9", "nobody's", "A", "'; --"]


def asked(rows: list[Any], made: Put, **options: Any) -> wn.SealedCounts:
    source = made(rows, {"who": "text", "what it": "text"})
    options = {"max_items": 5, "salt": "s", "keep": "engine", **options}
    return wn.counts(source, item="what it", person="who", **as_options(options))


def by_place(counts: dict[str, int]) -> dict[int, list[str]]:
    """The items of each count in the order of MD5 and text."""
    found: dict[int, list[str]] = {}
    for item in sorted(counts, key=lambda item: (md5(item.encode()).hexdigest()[:4], item)):
        found.setdefault(counts[item], []).append(item)
    return found


def members(counts: wn.SealedCounts, places: Sequence[Place]) -> tuple[dict[int, int], list[Any]]:
    content = open_sealed(counts.values)
    assert isinstance(content, KeptCounts)
    with content.snapshot() as snapshot:
        return snapshot.sizes(), snapshot.members(places)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("small", [engine.SMALL_CLASS.number, 1], ids=["whole classes", "buckets"])
def test_an_engine_has_the_classes_and_places_of_the_slow_twin(
    put: Put,  # noqa: F811
    small: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine.SMALL_CLASS, "_at", small)
    monkeypatch.setattr(engine, "_LEAST_STRETCH", 8)
    expected = by_place(bounded_counts(ROWS, 5, "s"))
    places = [(n, j) for n, items in expected.items() for j in range(len(items))]
    sizes, found = members(asked(ROWS, put), places)
    assert sizes == {count: len(items) for count, items in expected.items()}
    assert found == [expected[n][j] for n, j in places]


@pytest.mark.filterwarnings("ignore")
def test_a_public_list_has_a_class_of_items_that_nobody_has(
    put: Put,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine.SMALL_CLASS, "_at", 3)
    monkeypatch.setattr(engine, "_LEAST_STRETCH", 8)
    held = bounded_counts([row for row in ROWS if row[1] in ITEMS], 5, "s")
    memory = ListedCounts([held.get(item, 0) for item in ITEMS])
    sizes = memory.sizes()
    places = [(n, j) for n in sizes for j in range(sizes[n])]
    assert members(asked(ROWS, put, items=ITEMS), places) == (sizes, memory.members(places))
    assert sizes[0] >= 5


@pytest.mark.filterwarnings("ignore")
def test_every_engine_draws_the_list_of_counts_in_memory(put: Put) -> None:  # noqa: F811
    kept, memory = (asked(ROWS, put, items=ITEMS, keep=keep) for keep in ("engine", "memory"))
    for seed in range(2):
        lists = [wn.top_k(c, k=4, epsilon=0.3, method="joint", seed=seed) for c in (kept, memory)]
        assert lists[0].value == lists[1].value and lists[0].receipt == lists[1].receipt


class _Told(KeptCounts):
    """Counts whose places are noted first, and whose members are told from all of them at once."""

    def __init__(self, engine: KeptCounts) -> None:
        self.places: dict[Place, None] = {}
        self.known: dict[Place, Any] = {}
        with engine.snapshot() as snapshot:
            self.found = snapshot.sizes()
        self.engine = engine

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        yield self

    def sizes(self) -> dict[int, int]:
        return self.found

    def members(self, places: Sequence[Place]) -> list[Any]:
        self.places |= dict.fromkeys(places)
        return [self.known.get(place, 0) for place in places]

    def look(self) -> None:
        places = list(self.places)
        with self.engine.snapshot() as snapshot:
            assert snapshot.sizes() == self.found
            self.known = dict(zip(places, snapshot.members(places), strict=True))


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("put", ["duckdb", "postgres", "spark"], indirect=True)
def test_every_engine_draws_two_hundred_lists_of_counts_in_memory(put: Put) -> None:  # noqa: F811
    """Where noise dominates. An engine is asked once for the places of all lists: Spark is slow."""
    kept, memory = (asked(ROWS, put, items=ITEMS, keep=keep) for keep in ("engine", "memory"))
    content = open_sealed(kept.values)
    assert isinstance(content, KeptCounts)
    told = _Told(content)
    both = (replace(kept, values=Sealed(told, "counts")), memory)
    lists: list[Any] = []
    for counts in (both[0], *both):
        lists.append(
            [
                wn.top_k(counts, k=4, epsilon=0.2, method="joint", seed=seed).value
                for seed in range(200)
            ]
        )
        if not told.known:
            told.look()
    assert lists[1] == lists[2] and len({tuple(each) for each in lists[1]}) > 150


def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE log (u VARCHAR, i VARCHAR)")
    connection.execute(
        "INSERT INTO log SELECT unnest(?), unnest(?)", [*map(list, zip(*ROWS, strict=True))]
    )
    return connection


def kept_log(connection: Any, **options: Any) -> wn.SealedCounts:
    options = {"keep": "engine", "salt": "s", **options}
    return wn.counts((connection, "log"), item="i", person="u", **as_options(options))


@pytest.mark.parametrize(
    ("mechanism", "options", "seeds"),
    [
        ("joint", {}, 4),
        (wn.Canonical(noise="logistic"), {}, 2),
        (wn.Oneshot(noise="gumbel"), {}, 2),
        ("laplace", {"with_counts": True}, 4),
        pytest.param("joint", {}, 200, marks=pytest.mark.extras),
    ],
)
def test_duckdb_draws_what_its_counts_in_memory_would_give(
    mechanism: Any, options: Any, seeds: int
) -> None:
    """At an epsilon where noise dominates, by the same draws from the classes."""
    connection = database()
    kept = kept_log(connection, max_items=5, items=ITEMS)
    held = bounded_counts([row for row in ROWS if row[1] in ITEMS], 5, "s")
    listed: Sealed[Any] = Sealed(ListedCounts([held.get(item, 0) for item in ITEMS]), "counts")
    memory = wn.SealedCounts(listed, ITEMS, kept.utility, 5, kept.unit)
    for seed in range(seeds):
        drawn = [
            wn.top_k(c, k=5, epsilon=0.2, method=mechanism, seed=seed, **options)
            for c in (kept, memory)
        ]
        assert drawn[0].value == drawn[1].value


def test_a_change_during_a_release_fails_it_after_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files know no transactions: the view of a file changes when the file does."""
    connection, path = duckdb.connect(), tmp_path / "log.csv"
    path.write_text("u,i\n" + "".join(f"u{n},i{n % 3}\n" for n in range(30)))
    connection.execute(f"CREATE VIEW log AS SELECT * FROM read_csv('{path}')")
    kept = kept_log(connection, max_items=1, items=["i0", "i1", "i2"])
    names = engine.KeptQuery.names

    def changed(self: Any, wanted: Any, **whole: bool) -> Any:
        path.write_text("u,i\nu1,i1\n")
        return names(self, wanted, **whole)

    monkeypatch.setattr(engine.KeptQuery, "names", changed)
    session = wn.Session(epsilon=1.0)
    with pytest.raises(DataError, match=r"the source changed .* the charge stands"):
        session.top_k(kept, k=2, epsilon=0.75)
    assert session.budget.left.amount == 0.25


def test_the_questions_of_a_release_see_one_state_of_the_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = database()
    kept = kept_log(connection, max_items=5, items=ITEMS)
    before = wn.top_k(kept, k=5, epsilon=1.0, seed=1).value
    names, other = engine.KeptQuery.names, connection.cursor()

    def written(self: Any, wanted: Any, **whole: bool) -> Any:
        other.execute("INSERT INTO log SELECT 'new ' || i, i FROM log")
        return names(self, wanted, **whole)

    monkeypatch.setattr(engine.KeptQuery, "names", written)
    assert wn.top_k(kept, k=5, epsilon=1.0, seed=1).value == before
    assert connection.execute("SELECT COUNT(*) FROM log").fetchone() == (2 * len(ROWS),)


def test_items_that_are_counted_in_parts_have_the_same_classes_and_places() -> None:
    """But not where a person's items compete: there a part of them would choose others."""
    connection = database()
    whole, parts = (kept_log(connection, parts=parts) for parts in (None, 3))
    sizes, _ = members(whole, [])
    places = [(n, j) for n in sizes for j in range(sizes[n])]
    assert members(whole, places) == members(parts, places)
    bounded = [kept_log(connection, parts=n, max_items=2) for n in (None, 4)]
    assert members(bounded[0], []) == members(bounded[1], [])


@pytest.mark.parametrize("bound", [None, 3])
def test_whole_numbers_have_the_places_of_their_texts(bound: int | None) -> None:
    rows = [(i % 17, (i * i) % 130 - 20) for i in range(500)]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE log (u BIGINT, i INTEGER)")
    connection.execute(
        "INSERT INTO log SELECT unnest(?), unnest(?)", [*map(list, zip(*rows, strict=True))]
    )
    expected = by_place(bounded_counts(rows, bound, "s"))
    places = [(n, j) for n, items in expected.items() for j in range(len(items))]
    _, found = members(kept_log(connection, max_items=bound), places)
    assert found == [expected[n][j] for n, j in places]


@pytest.mark.extras
def test_postgres_sees_one_state_and_leaves_the_transaction_of_a_user(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    connection = request.getfixturevalue("empty_postgres")
    connection.execute("DROP TABLE IF EXISTS log")
    connection.execute("CREATE TABLE log (u TEXT, i TEXT)")
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO log VALUES (%s, %s)", ROWS)
    kept = kept_log(connection, max_items=5, items=ITEMS)
    before = wn.top_k(kept, k=5, epsilon=1.0, seed=1).value
    names = engine.KeptQuery.names
    with psycopg.connect(connection.info.dsn, autocommit=True) as other:

        def written(self: Any, wanted: Any, **whole: bool) -> Any:
            other.execute("INSERT INTO log SELECT random()::TEXT, i FROM log")
            return names(self, wanted, **whole)

        monkeypatch.setattr(engine.KeptQuery, "names", written)
        assert wn.top_k(kept, k=5, epsilon=1.0, seed=1).value == before
        with connection.transaction():
            connection.execute("SELECT 1")  # READ COMMITTED: what changed is noticed by its size
            with pytest.raises(DataError, match="the source changed"):
                wn.top_k(kept, k=5, epsilon=1.0, seed=1)
            assert connection.execute("SELECT 2").fetchone() == (2,)
    connection.execute("DROP TABLE log")


def test_the_transaction_of_a_user_is_left_open() -> None:
    connection = database()
    connection.execute("BEGIN TRANSACTION")
    connection.execute("INSERT INTO log VALUES ('x', 'uncommitted')")
    kept = kept_log(connection, max_items=5)
    wn.top_k(kept, k=3, epsilon=1.0, delta=1e-6)
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT COUNT(*) FROM log").fetchone() == (len(ROWS),)


def test_few_items_are_collected_and_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = database()
    source, options = (connection, "log"), {"item": "i", "person": "u"}
    assert not isinstance(open_sealed(wn.counts(source, **as_options(options)).values), KeptCounts)
    monkeypatch.setattr(MOST_COLLECTED, "_at", 10)
    for given in (source, connection.table("log"), connection.table("log").df()):
        many = wn.counts(given, **as_options(options))
        assert isinstance(open_sealed(many.values), KeptCounts)
        assert repr(many) == "<sealed counts of items that are private too, neighbours: add-remove>"
        for more in ({"keep": "memory"}, {"items": ITEMS}):
            held = wn.counts(given, **as_options(options), **as_options(more))
            assert not isinstance(open_sealed(held.values), KeptCounts)


def test_kept_counts_are_refused_where_each_of_them_is_needed() -> None:
    kept = kept_log(database(), items=ITEMS)
    with pytest.raises(ParameterError, match="keep='memory'"):
        wn.open_above(threshold=3, epsilon=1.0, monotone=True).ask(kept.to_scores())
    budget = wn.Budget(epsilon=1)
    with pytest.raises(ParameterError, match="keep='memory'"):
        wn.above(kept, threshold=3, epsilon=1.0, budget=budget)
    assert budget.spent.amount == 0
    with pytest.raises(ParameterError, match="keep='disk'"):
        wn.counts((database(), "log"), item="i", reading=wn.Reading(keep="disk"))


def test_select_takes_counts_wherever_they_are() -> None:
    connection = database()
    for keep in ("engine", "memory"):
        counts = wn.counts(
            (connection, "log"), item="i", person="u", items=ITEMS, reading=wn.Reading(keep=keep)
        )
        assert wn.select(counts, epsilon=50.0, k=2, seed=1).value[0] in ITEMS
        assert wn.select(counts, epsilon=1.0, delta=1e-6, method="large-margin").value in ITEMS
        with pytest.raises(ParameterError, match="sealed already"):
            wn.seal_scores(counts, sensitivity=2)


PRIVATE_LABELS: dict[str, Any] = {
    "stability": lambda c, b: wn.top_k(c, k=2, epsilon=1.0, delta=1e-6, budget=b),
    "with counts": lambda c, b: wn.top_k(
        c, k=2, epsilon=1.0, delta=1e-6, with_counts=True, budget=b
    ),
    "limited-domain": lambda c, b: wn.top_k(
        c, k=2, epsilon=1.0, delta=1e-6, method="limited-domain", budget=b
    ),
    "tabulate": lambda c, b: wn.tabulate(c, epsilon=1.0, delta=1e-6, budget=b),
}


@pytest.mark.parametrize("asked_for", PRIVATE_LABELS)
def test_nobody_at_all_is_no_error_where_labels_are_private(asked_for: str) -> None:
    """One person makes no difference to whether a release fails after its charge."""
    for people, keep in ((0, "engine"), (0, "memory"), (1, "engine")):
        connection = duckdb.connect()
        connection.execute("CREATE TABLE log (u VARCHAR, i VARCHAR)")
        connection.execute("INSERT INTO log SELECT 'u', 'x' FROM range(?)", [people])
        budget = wn.Budget(5, 1e-5)
        held = kept_log(connection, max_items=1, keep=keep)
        PRIVATE_LABELS[asked_for](held, budget)
        assert len(budget.events) == 1


@pytest.mark.extras
def test_of_equal_counts_any_may_take_part_wherever_they_are() -> None:
    """A fixed order, but another in an engine than in memory, was hundreds of labels apart."""
    labels = list("abcdef")
    mechanism = LimitedDomain(0.1, 0.9, 1, 1, reach=2, accountant="pure")
    values = np.full(6, 5, np.int64)
    utility = wn.Utility.declare(1, monotone=True)
    for content in (values, ListedCounts(values, labels)):
        counts = wn.SealedCounts(Sealed(content, "counts"), Sealed(labels, "labels"), utility)
        seen: Counter[str] = Counter()
        for seed in range(400):
            grant = wn.Budget(5, 0.99).charge(mechanism.promise(utility.relation).event)
            seen.update(released(mechanism, counts, grant, Tape.seeded(seed)).value)
        assert set(seen) == set(labels)
        even = seen.total() / 6
        assert sum((n - even) ** 2 / even for n in seen.values()) < 25.7  # false alarms: 1e-4


def test_a_failing_engine_shows_nothing_of_what_was_asked() -> None:
    connection = database()
    kept = kept_log(connection, max_items=5)
    connection.execute("DROP TABLE log")
    with pytest.raises(wn.WinnowError) as caught:
        wn.top_k(kept, k=3, epsilon=1.0, delta=1e-6)
    assert "winnow" not in str(caught.value).lower() and "item" not in str(caught.value)


def plans(session: Any) -> str:
    """What Spark's UI and event log show of the queries so far, less its numbering."""
    listed = session._jsparkSession.sharedState().statusStore().executionsList()
    shown = [listed.apply(i) for i in range(listed.size())]
    text = "\n".join(f"{each.description()} {each.physicalPlanDescription()}" for each in shown)
    return re.sub(r"plan_id=\d+|#\d+L?", "", text)


def shows(written: str, secret: str) -> bool:
    """Whether a word or number stands there, not as a part of another."""
    return re.search(rf"(?<![0-9A-Za-z]){secret}(?![0-9A-Za-z])", written) is not None


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")
def test_spark_writes_down_nothing_of_what_was_drawn(request: pytest.FixtureRequest) -> None:
    """Neither an item nor which counts were touched; and no key, of scores on executors."""
    session = request.getfixturevalue("spark")
    rows = [(f"u{i}", f"canary{i % 2}") for i in range(2 * 1237)]
    frame = session.createDataFrame(rows, "u string, i string")
    kept = wn.counts(frame, item="i", person="u", max_items=1, reading=wn.Reading(keep="engine"))
    assert wn.top_k(kept, k=2, epsilon=50.0, delta=1e-6, seed=1).value[0].startswith("canary")
    opened = wn.open_selection(epsilon=1.0, k=3, seed=5)  # the key of the draws below
    listed = [(f"canary{i}", i % 89) for i in range(300)]
    scored = session.createDataFrame(listed, "i string, s int")
    found = [
        wn.select(wn.scores(each, id="i", score="s"), epsilon=1.0, k=3, seed=5).value
        for each in (scored, scored.repartition(7), scored.toPandas())
    ]
    assert found[0] == found[1] == found[2]
    session.range(9).where("id = 7717").collect()  # what a query holds is seen
    written = plans(session)
    assert "MD5" in written or "md5" in written
    assert "canary" not in written and opened.worker._key.hex() not in written
    assert shows(written, "7717") and not shows(written, "1237")


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")
def test_tasks_of_spark_that_are_repeated_answer_alike(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A partition whose first attempt fails after its answer is answered for again."""
    session = request.getfixturevalue("spark")
    frame = session.range(0, 3000, 1, 3).selectExpr("id AS i", "id % 97 AS s")
    opened = wn.open_selection(epsilon=1.0, k=4, method="exponential", seed=5)
    worker = opened.worker

    def twice(batches: Any) -> Any:
        import pyarrow

        held = list(batches)
        for _ in range(2):  # as a speculative copy would
            part = worker.of_batches(held)
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array([part])], ["part"])

    parts = [bytes(row["part"]) for row in frame.mapInArrow(twice, "part binary").collect()]
    once = wn.select(
        wn.scores(frame, id="i", score="s"), epsilon=1.0, k=4, method="exponential", seed=5
    )
    assert len(parts) == 6 and opened.finish(parts).value == once.value
