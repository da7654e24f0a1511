"""Replays of what reads private data: event logs, tables, baskets, scores, vectors."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from winnow.audit.replay.compare import Replay, ReplayPlace
from winnow.audit.replay.people import Family, People
from winnow.audit.replay.selections import HOLDERS, MOVERS, STEPS, counted, summed
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.inner_product.crossing import seal_examples
from winnow.inner_product.vectors import seal_query, seal_vectors
from winnow.itemsets.verb import itemsets
from winnow.lp.files import read_lp
from winnow.lp.sealing import lp_problem
from winnow.read.baskets import read_baskets
from winnow.read.counts import counts, seal_counts
from winnow.read.groups import Groups
from winnow.read.joins import Join
from winnow.read.options import Pairs, Reading
from winnow.read.scores import seal_scores
from winnow.read.table import read_table
from winnow.release.methods import MWEM
from winnow.release.tables.verb import tabulate
from winnow.release.verb import release
from winnow.select.verb import top_k

Rows = Iterable[Sequence[str]]

EVENTS = Family(
    (("a",), ("b", "a", "b"), ("", "unseen"), ("a", "b", "c")),
    odd=((("a",),), (("a", "b", "c"), ("",)), (), (("b", "a", "b"),) * 3),
    most=3,
)
"""People with the items of their events: some twice, some without an item, some unseen before."""

RECORDS = Family(
    (("f", "0"), ("m", "60"), ("", ""), ("new", "-5")),
    odd=((("f", "0"),), (("", ""), ("new", "-5")), (), (("m", "60"),) * 3),
    most=3,
)
"""People with a row each: values at the bounds and outside of them, unseen and missing ones."""

BASKETS = Family(
    (("a", "b"), (), ("a", "a", "new"), ("a", "b", "c")),
    odd=((("a", "b"),), ((), ("a", "b", "c")), (), (("a", "b"),) * 3),
    most=3,
)
"""People with a basket each: empty, with an item twice, longer than the bound."""

_HELD = {"sex": ["f", "m"], "age": ["0", "60"]}
_SCHEMA = {
    "sex": {"values": ["f", "m"], "other": True},
    "age": {"edges": [0, 30, 60], "clip": True, "other": True},
}
_TEXTS = {name: {"values": values, "other": True} for name, values in _HELD.items()}
_STRICT = {"sex": {"values": ["f", "m"]}, "age": {"edges": [0, 30, 60]}}
_DROPS = {
    "sex": {"values": ["f", "m"], "drop": True, "trim": True},
    "age": {"range": [0, 60], "bins": 2, "clip": True, "missing": True},
}
_SLOW = (0, 2)


IN_GROUPS = Family(
    (("x", "a"), ("x", "b", "y", "b"), ("", "a", "z", "a"), ()),
    odd=((("x", "a"),), (("z", "c"), ("y", "a", "x", "a")), (), (("x", "b", "y", "b"),) * 2),
    most=3,
)
"""People with the groups and items of their events: in two groups, without one, in a new one."""


def reader_replays() -> Iterator[Replay]:
    """One entry for each reader and kind of source."""
    yield from _logs()
    yield from _logs_of_groups()
    yield _joined_logs()
    yield from _bounds_from_looks()
    yield from _tables()
    yield from _transactions()
    yield from _in_memory()


def text_of(names: Sequence[str], rows: Rows) -> str:
    """A CSV file with a first line of names."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([names, *rows])
    return text.getvalue()


def events_of(people: People) -> Rows:
    """A row for each event: a person and an item."""
    return ((str(number), item) for number, items in enumerate(people) for item in items)


def _source(kind: str, place: ReplayPlace, names: Sequence[str], rows: Rows) -> Any:
    """Rows of texts, an empty text being a missing one, as a file or a table in memory."""
    if kind == "csv":
        return place.write("data.csv", text_of(names, rows))
    texts = [[text or None for text in row] for row in rows]
    columns = {name: [row[i] for row in texts] for i, name in enumerate(names)}
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(columns, dtype=object)
    import pyarrow
    import pyarrow.parquet

    declared = pyarrow.schema([(name, pyarrow.string()) for name in names])
    path = place.inputs / "data.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns, schema=declared), path)
    return path


_NEEDS = {"csv": "", "pandas": "pandas", "parquet": "pyarrow"}


def _logs() -> Iterator[Replay]:
    for kind, needs in _NEEDS.items():
        for public in (True, False):
            for relation in Relation if kind == "csv" and public else (Relation.ADD_REMOVE,):
                yield Replay(
                    "counts",
                    f"{kind}, {'public' if public else 'private'} items",
                    _counting(kind, relation, public=public),
                    EVENTS,
                    relation,
                    groups=(int(kind == "csv" and not public), 2 if kind == "csv" else 1),
                    needs=needs,
                )


def _counting(kind: str, relation: Relation, *, public: bool) -> Any:
    def call(people: People, place: ReplayPlace) -> Any:
        counted_items = counts(
            _source(kind, place, ("user", "item"), events_of(people)), item="item", person="user",
            max_items=2, items=["a", "b", "c"] if public else None, relation=relation,
            reading=Reading(salt=f"{place.seed}"),
        )  # fmt: skip
        sized: dict[str, Any] = {} if public else {"delta": 0.2}
        top = top_k(counted_items, k=2, epsilon=2.0, seed=place.seed, **sized)
        return {"sealed": counted_items, "shown": repr(counted_items), "top": top}

    return call


def _logs_of_groups() -> Iterator[Replay]:
    ways: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "private groups": ({}, {"delta": 0.2}),
        "private groups, a draw in each": ({}, {"delta": 0.2, "method": "limited-domain"}),
        "public groups": ({"items": ["a", "b", "c"]}, {}),
    }
    for place, (variant, (said, sized)) in enumerate(ways.items()):
        names = ("x", "y") if said else None

        def call(
            people: People,
            place: ReplayPlace,
            said: dict[str, Any] = said,
            sized: dict[str, Any] = sized,
            names: Sequence[str] | None = names,
        ) -> Any:
            rows = [
                (str(number), items[at], items[at + 1])
                for number, items in enumerate(people)
                for at in range(0, len(items), 2)
            ]
            counted_items = counts(
                _source("csv", place, ("user", "group", "item"), rows), item="item", person="user",
                by=Groups("group", names=names, most=1), reading=Reading(salt=f"{place.seed}"),
                **said,
            )  # fmt: skip
            top = top_k(counted_items, k=1, epsilon=2.0, seed=place.seed, **sized)
            return {"sealed": counted_items, "shown": repr(counted_items), "top": top}

        groups = (int(place == 1), 2)
        yield Replay("counts", f"csv, {variant}", call, IN_GROUPS, groups=groups)


def _joined_logs() -> Replay:
    """Two files of the same people, and a public one of items that stands there twice."""

    def call(people: People, place: ReplayPlace) -> Any:
        profiles = ((str(number), items[0]) for number, items in enumerate(people) if items)
        events = place.write("events.csv", text_of(("user", "item"), events_of(people)))
        about = place.write("people.csv", text_of(("user", "first"), profiles))
        topics = place.write("topics.csv", text_of(("item", "topic"), [("a", "t"), ("a", "s")]))
        counted_items = counts(
            Join(events, about, on="user", public={"item": topics}, how="left"),
            item="topic", person="user", by="first", max_items=2,
            reading=Reading(salt=f"{place.seed}"),
        )  # fmt: skip
        top = top_k(counted_items, k=1, epsilon=2.0, delta=0.2, seed=place.seed)
        return {"sealed": counted_items, "shown": repr(counted_items), "top": top}

    return Replay("counts", "csv, joined", call, EVENTS, groups=(0, 2))


def _bounds_from_looks() -> Iterator[Replay]:
    """A log and a table whose bound on a person is chosen by the release."""
    ways: dict[str, dict[str, Any]] = {
        "private items": {"delta": 0.2, "with_counts": True},
        "public items": {},
    }
    for place, (variant, sized) in enumerate(ways.items()):
        public = None if sized else ["a", "b", "c"]

        def call(
            people: People,
            place: ReplayPlace,
            public: list[str] | None = public,
            sized: dict[str, Any] = sized,
        ) -> Any:
            counted_items = counts(
                _source("csv", place, ("user", "item"), events_of(people)), item="item",
                person="user", max_items="auto", items=public,
                reading=Reading(salt=f"{place.seed}"),
            )  # fmt: skip
            top = top_k(counted_items, k=1, epsilon=2.0, seed=place.seed, **sized)
            return {"sealed": counted_items, "shown": repr(counted_items), "top": top}

        groups = (int(place == 1), 2)
        yield Replay("counts", f"csv, {variant}, bound from a look", call, EVENTS, groups=groups)

    def table(people: People, place: ReplayPlace) -> Any:
        rows = [(str(i), sex, age) for i, (sex, age) in enumerate(people) for _ in range(1 + i % 3)]
        read = read_table(
            place.write("data.csv", text_of(("who", "sex", "age"), rows)), schema=_SCHEMA,
            person="who", max_rows="auto", relation=Relation.ADD_REMOVE,
            reading=Reading(salt=f"{place.seed}"),
        )  # fmt: skip
        return tabulate(read, ["sex"], epsilon=2.0, seed=place.seed)

    yield Replay("tabulate", "csv, bound from a look", table, RECORDS, groups=_SLOW)


def _tables() -> Iterator[Replay]:
    for relation in Relation:
        yield _reading("csv, one row each", "csv", _SCHEMA, relation)
    yield _reading("csv, strict", "csv", _STRICT, Relation.SUBSTITUTION)
    yield _reading("csv, rows left out", "csv", _DROPS, Relation.ADD_REMOVE)
    for kind in ("pandas", "parquet"):
        yield _reading(f"{kind}, one row each", kind, _TEXTS, Relation.ADD_REMOVE)

    def owned(people: People, place: ReplayPlace) -> Any:
        ages = ("30", "60")  # two rows each, one too many
        rows = [(str(i), sex, age) for i, (sex, _) in enumerate(people) for age in ages]
        source = place.write("data.csv", text_of(("who", "sex", "age"), rows))
        return _read(source, _SCHEMA, place, person="who", max_rows=1,
                     relation=Relation.ADD_REMOVE)  # fmt: skip

    yield Replay("read_table", "csv, people at their limit", owned, RECORDS, groups=_SLOW)


def _reading(variant: str, kind: str, schema: Any, relation: Relation) -> Replay:
    def call(people: People, place: ReplayPlace) -> Any:
        source = _source(kind, place, ("sex", "age"), people)
        return _read(source, schema, place, relation=relation)

    groups = (int(schema is _SCHEMA and relation is Relation.ADD_REMOVE), 2 if kind == "csv" else 1)
    return Replay("read_table", variant, call, RECORDS, relation, groups=groups, needs=_NEEDS[kind])


def _read(source: Any, schema: Any, place: ReplayPlace, **options: Any) -> Any:
    from winnow.core.workloads.tables import marginals

    table = read_table(source, schema=schema, reading=Reading(salt=f"{place.seed}"), **options)
    shown = {"sealed": table, "shown": repr(table), "rows": table.n}
    if table.n == 0:
        return shown
    known = table.stating(3) if table.n is None else table
    one = MWEM(rounds=1)
    released = release(known, marginals(1), epsilon=1.0, method=one, seed=place.seed)
    return shown | {"measured": released.value.measurements, "receipt": released.receipt}


def _transactions() -> Iterator[Replay]:
    def lines(people: People, place: ReplayPlace, name: str, separator: str) -> Any:
        text = "".join(f"{separator.join(items)}\n" for items in people)
        return _mined(place.write(name, text), place, layout="lines")

    def pairs(people: People, place: ReplayPlace) -> Any:
        source = place.write("data.csv", text_of(("order", "product"), events_of(people)))
        return _mined(source, place, layout=Pairs("order", "product"))

    def users(people: People, place: ReplayPlace) -> Any:
        rows = [
            (str(number), f"{number}-{order}", item)
            for number, items in enumerate(people)
            for order, item in enumerate(items)
        ]
        source = place.write("data.csv", text_of(("user", "order", "product"), rows))
        return _mined(source, place, unit="person", person="user", max_baskets=2,
                      layout=Pairs("order", "product"))  # fmt: skip

    def indicators(people: People, place: ReplayPlace) -> Any:
        rows = [["1" if item in items else "0" for item in ("a", "b", "c")] for items in people]
        source = place.write("data.csv", text_of(("a", "b", "c"), rows))
        return _mined(source, place, layout="indicators")

    def listed(people: People, place: ReplayPlace) -> Any:
        return _mined([list(items) for items in people], place, layout="auto")

    def commas(people: People, place: ReplayPlace) -> Any:
        return lines(people, place, "data.csv", ",")

    def spaces(people: People, place: ReplayPlace) -> Any:
        return lines(people, place, "data.dat", " ")

    yield _basket("auto", "a list", listed, (1, 6))
    yield _basket("lines", "csv", commas, (1, 4))
    yield _basket("lines", "dat", spaces, (1, 4))
    yield _basket("pairs", "csv", pairs)
    yield _basket("pairs", "people at their limit", users)
    yield _basket("indicators", "csv", indicators)


def _basket(layout: str, variant: str, call: Any, groups: tuple[int, int] = _SLOW) -> Replay:
    words = {"layout": layout}
    return Replay("read_baskets", f"{layout}, {variant}", call, BASKETS, words=words, groups=groups)


def _mined(source: Any, place: ReplayPlace, **options: Any) -> Any:
    chosen: dict[str, Any] = {"unit": "basket", "max_items": 2} | options
    chosen["reading"] = Reading(salt=f"{place.seed}")
    sealed = read_baskets(source, **chosen)
    released = itemsets(sealed, size=1, epsilon=20.0, delta=0.2, method="choosing", seed=place.seed)
    return {"sealed": sealed, "shown": repr(sealed), "found": released}


_MODEL = """NAME replay
OBJSENSE
    MAX
ROWS
 N  COST
 L  ONE
 L  TWO
COLUMNS
    X  COST  1.0  ONE  1.0
    X  TWO  1.0
    Y  COST  1.0  ONE  1.0
RHS
    RHS  ONE  {one:g}  TWO  {two:g}
ENDATA
"""


def model_of(people: People, path: Path) -> Path:
    """A linear program whose right-hand sides people move."""
    one, two = (3.0 + sum(person[i] for person in people) for i in range(2))
    path.write_text(_MODEL.format(one=one, two=two), encoding="utf-8")
    return path


def _in_memory() -> Iterator[Replay]:
    def scores(people: People, place: ReplayPlace) -> Any:
        return seal_scores(summed(people), Utility.declare(1))

    def vectors(people: People, place: ReplayPlace) -> Any:
        return seal_vectors(np.array([*people, (0.5, 0.5)], np.float64)[:1], index="flat")

    def model(people: People, place: ReplayPlace) -> Any:
        problem = read_lp(model_of(people, place.inputs / "model.mps"), opt=3.0)
        return {"shown": repr(problem), "senses": problem.senses, "names": problem.names}

    def ready(people: People, place: ReplayPlace) -> Any:
        sealed_counts = seal_counts(counted(people), labels="private", max_items=3)
        return {"sealed": sealed_counts, "shown": repr(sealed_counts)}

    def query(people: People, place: ReplayPlace) -> Any:
        return seal_query([float(len(people)), 1.0], sensitivity=1)

    def labelled(people: People, place: ReplayPlace) -> Any:
        examples = seal_examples([[1] * len(people)], [1] * len(people))
        return {"shown": repr(examples), "learners": examples.predictions.size}

    def program(people: People, place: ReplayPlace) -> Any:
        return lp_problem(np.ones((len(people), 2)), np.ones(len(people)), [1.0, 1.0], opt=1.0)

    yield Replay("seal_scores", "scores", scores, MOVERS)
    yield Replay("seal_counts", "counts of labels that are private", ready, HOLDERS)
    yield Replay("seal_vectors", "vectors that depend on people", vectors, STEPS)
    yield Replay("seal_query", "a query that people move", query, STEPS)
    yield Replay("seal_examples", "examples", labelled, STEPS)
    yield Replay("lp_problem", "rows of people", program, STEPS)
    yield Replay("read_lp", "right-hand sides", model, STEPS, needs="highspy", groups=(1, 2))
