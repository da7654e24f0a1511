"""Replays of the command line: what every command shows and writes, on neighbours under one tape.

A command runs twice with one tape: with --json, where the released value stands in a field of its
own, and without, where everything shown has to follow from that value.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import lru_cache
from pathlib import Path
from typing import Any

from winnow.audit.replay.compare import Replay, ReplayPlace
from winnow.audit.replay.observation import Shown
from winnow.audit.replay.people import Family, People
from winnow.audit.replay.programs import DEMANDS, EXAMPLES, demanded, examples
from winnow.audit.replay.readers import events_of, model_of, text_of
from winnow.audit.replay.selections import HOLDERS, STEPS, counted
from winnow.core.relation import Relation

WITHOUT_PRIVATE_DATA = {
    "audit": "runs on made-up data",
    "demo": "makes its data up",
    "reproduce": "runs on public data",
    "compile": "runs on made-up data",
    "plan select": "takes public numbers",
    "plan top-k": "takes public numbers",
    "plan labels": "takes public numbers",
    "plan margin": "takes public numbers",
    "plan itemsets": "takes public numbers",
    "plan quantiles": "takes a public schema",
    "plan describe": "takes a public schema",
    "plan histogram": "takes a public schema",
    "plan moments": "takes a public schema",
    "plan bounds": "takes a public schema",
    "plan regress": "takes a public schema",
    "plan learn": "takes public numbers",
    "plan tabulate": "takes a public schema",
    "plan release": "takes a public schema",
    "plan ask": "takes a public schema",
    "ledger init": "makes an empty ledger",
    "ledger share": "takes names and public numbers",
    "serve demo": "makes its data up",
    "serve check": "looks at settings and names of files",
    "serve token": "takes names",
    "serve dataset": "takes a declaration; a running server reads the data",
    "serve share": "takes names and public numbers",
}
"""The commands that see nobody's data, and why there is nothing to replay."""

FOR_THE_OWNER = {"schema check": "shows exact numbers of rows, under a banner that says so"}
"""The commands that show private data to whoever holds them, and say so: no release."""

_LOG = Family((("a",), ("b", "a")), odd=((("a",),), (("b", "a"), ("a",)), ()), most=2)
_PEOPLE = Family((("f", "10"), ("m", "60")), odd=((("f", "10"),), (("m", "60"),) * 2), most=3)
_FEW = Family((("m", "60"),), odd=((("f", "10"),),))
_SCHEMA = {"sex": {"values": ["f", "m"]}, "age": {"edges": [0, 30, 60]}}


@lru_cache(maxsize=1)
def _command() -> Any:
    from typer.main import get_command

    from winnow.cli.app import app

    return get_command(app)


def commands() -> list[str]:
    """Every command of the command line, in words."""
    words_of_commands = []
    for name, command in _command().commands.items():
        inner = getattr(command, "commands", None)
        words_of_commands += [name] if inner is None else [f"{name} {each}" for each in inner]
    return words_of_commands


def shown(*words: object) -> Shown:
    """Run a command here, and keep what it shows."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            _command()([str(word) for word in words], prog_name="winnow")
        except SystemExit as end:
            code = end.code or 0
    return Shown(code if isinstance(code, int) else 1, out.getvalue(), err.getvalue())


def command_replays() -> Iterator[Replay]:
    """One entry for each command that reads private data."""
    yield _entry("select", HOLDERS, _select, groups=(1, 3))
    yield _entry("top-k", HOLDERS, _counts, "ready counts", groups=(1, 3))
    yield _entry("top-k", _LOG, _log, "an event log", groups=(1, 2))
    yield _entry("top-k", _LOG, _cut, "an event log, what was left out", groups=(1, 2))
    yield _entry("labels", _LOG, _labels, groups=(1, 2))
    yield _entry("itemsets", _LOG, _itemsets, groups=(1, 2))
    yield _entry("learn", _PEOPLE, _learn, relation=Relation.SUBSTITUTION, groups=(0, 2))
    yield _entry("release", _PEOPLE, _release, groups=(0, 2))
    yield _entry("release", _FEW, _report, "a report", groups=(0, 1), needs="matplotlib")
    yield _entry("tabulate", _PEOPLE, _tabulate, groups=(1, 2))
    yield _entry("quantiles", _PEOPLE, _quantiles, groups=(1, 2))
    yield _entry("histogram", _PEOPLE, _histogram, groups=(1, 2))
    yield _entry("bounds", _PEOPLE, _bounds, groups=(1, 2))
    yield _entry("moments", _PEOPLE, _moments, groups=(1, 2))
    yield _entry("regress", _PEOPLE, _regress, groups=(1, 2))
    yield _entry("describe", _PEOPLE, _describe, groups=(1, 2))
    yield _entry("schema draft", _PEOPLE, _draft, groups=(1, 2))
    yield _entry("ask", _PEOPLE, _ask, groups=(0, 1))
    yield _entry("lp", STEPS, _lp, groups=(0, 2), needs="highspy")
    yield _entry("lp", DEMANDS, _matrix, "a matrix", groups=(0, 2))
    yield _entry(
        "plan lp", DEMANDS, _planned_matrix, "sides that a plan does not look at", groups=(1, 2)
    )
    yield _entry("mips", STEPS, _mips, groups=(1, 2))
    yield _entry("boost", EXAMPLES, _boost, groups=(0, 2))
    for name in ("ledger show", "ledger verify", "ledger export"):
        yield _entry(name, _FEW, _kept(name), groups=(0, 1))


def _entry(
    name: str,
    family: Family,
    call: Callable[[People, ReplayPlace], Any],
    variant: str = "",
    *,
    groups: tuple[int, int],
    relation: Relation = Relation.ADD_REMOVE,
    needs: str = "",
) -> Replay:
    verb, _, inner = name.partition(" ")
    words = {"command": name}
    return Replay(
        f"winnow {verb}", variant or inner or "a file", call, family, relation, words, groups, needs
    )


def _both(place: ReplayPlace, *words: object, out: str = "--out") -> list[Shown]:
    """With --json and a file, then for people to read."""
    words = (*words, "--seed", place.seed)
    return [shown(*words, "--json", out, place.outputs / "released.json"), shown(*words)]


def _select(people: People, place: ReplayPlace) -> Any:
    file = place.write("votes.csv", text_of(("item", "votes"), _texts(counted(people))))
    return _both(place, "select", file, "--epsilon", 0.5, "--monotone")


def _counts(people: People, place: ReplayPlace) -> Any:
    file = place.write("votes.csv", text_of(("item", "votes"), _texts(counted(people))))
    words = (
        "top-k",
        file,
        "--item",
        "item",
        "--count",
        "votes",
        "--labels",
        "public",
        "-k",
        2,
        "--epsilon",
        0.5,
    )
    return _both(place, *words)


def _texts(counts: dict[str, int]) -> Any:
    return [(item, str(number)) for item, number in counts.items()]


def _log(people: People, place: ReplayPlace) -> Any:
    file = place.write("log.csv", text_of(("user", "item"), events_of(people)))
    words = ("top-k", file, "--item", "item", "--person", "user", "-k", 2, "--max-items", 2)
    return _both(place, *words, "--epsilon", 3, "--delta", 0.2, "--with-counts")


def _cut(people: People, place: ReplayPlace) -> Any:
    file = place.write("log.csv", text_of(("user", "item"), events_of(people)))
    words = ("top-k", file, "--item", "item", "--person", "user", "-k", 2, "--max-items", 1)
    return _both(place, *words, "--epsilon", 9, "--delta", 0.2, "--with-cut", 0.5)


def _labels(people: People, place: ReplayPlace) -> Any:
    file = place.write("log.csv", text_of(("user", "item"), events_of(people)))
    words = ("labels", file, "--item", "item", "--person", "user")
    return _both(place, *words, "--epsilon", 3, "--delta", 0.2)


def _itemsets(people: People, place: ReplayPlace) -> Any:
    file = place.write("baskets.csv", "".join(f"{','.join(items)}\n" for items in people))
    words = (
        "itemsets",
        file,
        "--one-basket-per-person",
        "--size",
        1,
        "--max-items",
        2,
        "--method",
        "choosing",
    )
    rules = place.outputs / "rules.csv"
    pairs = (
        "itemsets",
        file,
        "--one-basket-per-person",
        "--size",
        2,
        "--rules",
        rules,
        "--min-confidence",
        0,
    )
    noise = ("--epsilon", 20, "--delta", 0.2)
    return [*_both(place, *words, *noise), *_both(place, *pairs, *noise)]


def _table(people: People, place: ReplayPlace) -> list[object]:
    """A private table and its public schema."""
    schema = place.write("schema.json", json.dumps(_SCHEMA))
    table = place.write("people.csv", text_of(("sex", "age"), people))
    return [table, "--schema", schema, "--one-row-per-person"]


def _learn(people: People, place: ReplayPlace) -> Any:
    table = _table(people, place)
    words = ("--target", "sex", "--method", "stumps", "--epsilon", 1, "--with-accuracy")
    return _both(place, "learn", *table, *words)


_PRIVATE_ROWS = ("--relation", "add-remove", "--rows", 3)
_ROUNDS = ("--workload", "marginals:1", "--epsilon", 2, "--rounds", 1, *_PRIVATE_ROWS)


def _release(people: People, place: ReplayPlace) -> Any:
    words = ("release", *_table(people, place), *_ROUNDS, "--seed", place.seed)
    out, answers = place.outputs / "rows.csv", place.outputs / "answers.csv"
    return [shown(*words, "--json"), shown(*words, "--out", out, "--answers", answers)]


def _tabulate(people: People, place: ReplayPlace) -> Any:
    words = ("tabulate", *_table(people, place), "--by", "sex,age", "--epsilon", 1)
    return _both(place, *words, "--relation", "add-remove")


def _of_ages(
    verb: str, people: People, place: ReplayPlace, which: str = "--column"
) -> tuple[Any, ...]:
    """A command about the ages, as numbers of a grid."""
    columns = _SCHEMA | {
        "age": {"type": "number", "low": 0, "high": 60, "clip": True, "drop": True}
    }
    table, *_ = _table(people, place)
    schema = place.write("numbers.json", json.dumps(columns))
    words = (verb, table, "--schema", schema, "--one-row-per-person", which, "age")
    return (*words, "--epsilon", 1, "--relation", "add-remove")


def _quantiles(people: People, place: ReplayPlace) -> Any:
    return _both(place, *_of_ages("quantiles", people, place), "--by", "sex")


def _describe(people: People, place: ReplayPlace) -> Any:
    return _both(place, *_of_ages("describe", people, place, "--columns"), "--bins", 3)


def _histogram(people: People, place: ReplayPlace) -> Any:
    words = _of_ages("histogram", people, place)
    return _both(place, *words, "--bins", 3, "--split", "quantiles")


def _bounds(people: People, place: ReplayPlace) -> Any:
    return _both(place, *_of_ages("bounds", people, place))


def _moments(people: People, place: ReplayPlace) -> Any:
    return _both(place, *_of_ages("moments", people, place, "--values"), "--by", "sex")


def _regress(people: People, place: ReplayPlace) -> Any:
    return _both(place, *_of_ages("regress", people, place, "--target"))


def _draft(people: People, place: ReplayPlace) -> Any:
    book = place.write("book.csv", "column,type,values\nsex,text,f|m\n")
    table, *_ = _table(people, place)
    words = ("schema", "draft", table, "--from-codebook", book)
    return [shown(*words), shown(*words, "--out", place.outputs / "schema.json")]


def _report(people: People, place: ReplayPlace) -> Any:
    words = ("release", *_table(people, place), *_ROUNDS, "--seed", place.seed)
    page, plot = place.outputs / "page.html", place.outputs / "plot.png"
    return [shown(*words, "--json"), shown(*words, "--report", page, "--plot", plot)]


def _ask(people: People, place: ReplayPlace) -> Any:
    batch = place.write("questions.txt", "sex = f\nsex = f, age = 30..60\nsex = f\n")
    words = ("ask", *_table(people, place), "--epsilon", 4, "--delta", 0.01, "--batch", batch)
    words = (*words, "--max-queries", 8, "--relation", "add-remove", "--rows", 40)
    state = place.outputs / "kept.session"
    return [
        shown(*words, "--json", "--seed", place.seed),
        shown(*words, "--seed", place.seed),
        shown(*words, "--seed", place.seed, "--state", state),
        shown(*words, "--state", state),
    ]


def _lp(people: People, place: ReplayPlace) -> Any:
    model = model_of(people, place.inputs / "model.mps")
    words = ("lp", model, "--method", "scalar-sides", "--sensitivity", 1, "--opt", 3, "--rounds", 3)
    return _both(place, *words, "--epsilon", 2)


def _matrix(people: People, place: ReplayPlace) -> Any:
    return _both(place, "lp", *_of_matrix(people, place))


def _planned_matrix(people: People, place: ReplayPlace) -> Any:
    words = ("plan", "lp", *_of_matrix(people, place))
    return [shown(*words, "--json"), shown(*words)]


def _of_matrix(people: People, place: ReplayPlace) -> tuple[object, ...]:
    a, b, c = (place.inputs / f"{name}.csv" for name in "abc")
    matrix, sides, costs = demanded(people)
    for file, numbers in ((a, matrix), (b, [[side] for side in sides]), (c, [costs])):
        _csv(file, numbers)
    words = (a, "--b", b, "--c", c, "--method", "scalar-sides", "--sensitivity", "0,1")
    return (*words, "--opt", 3, "--rounds", 3, "--epsilon", 2)


def _mips(people: People, place: ReplayPlace) -> Any:
    vectors, query = place.inputs / "vectors.csv", place.inputs / "query.csv"
    _csv(vectors, [[1.0, 0.0], [0.5, -1.0], [-1.0, 0.25]])
    _csv(query, [[sum(person[i] for person in people)] for i in range(2)])
    return _both(place, "mips", vectors, query, "--sensitivity", 2, "--epsilon", 2, "-k", 2)


def _boost(people: People, place: ReplayPlace) -> Any:
    said, labels = place.inputs / "said.csv", place.inputs / "labels.csv"
    matrix, truth = examples(people)
    _csv(said, matrix)
    _csv(labels, [[label] for label in truth])
    return _both(place, "boost", said, "--labels", labels, "--rounds", 2, "--epsilon", 2)


def _csv(file: Path, rows: Any) -> None:
    file.write_text("".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


def _kept(name: str) -> Callable[[People, ReplayPlace], Any]:
    """A ledger after a release and a refusal, as the command shows it."""

    def call(people: People, place: ReplayPlace) -> Any:
        ledger = place.outputs / "kept.ledger"
        cap = ("--dataset", "people", "--epsilon", 3, "--relation", "add-remove")
        words = ("release", *_table(people, place), *_ROUNDS, "--json", "--seed", place.seed)
        words = (*words, "--ledger", ledger, "--dataset", "people")
        return [
            shown("ledger", "init", ledger, *cap),
            shown(*words),
            shown(*words),  # the second one is refused
            shown(*name.split(), ledger, *_how(name, place.outputs)),
        ]

    return call


def _how(name: str, folder: Path) -> tuple[object, ...]:
    return ("--out", folder / "export.json") if name == "ledger export" else ()
