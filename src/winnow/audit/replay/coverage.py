"""The table of replays: every verb with every option that it takes, and every command.

What stands in no row of it is found here, too.

Twins that give one bit away in a place that nobody looks at; a replay has to catch each.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from winnow.answers.settings import METHODS as METHODS_OF_RELEASE
from winnow.audit.replay.commands import command_replays
from winnow.audit.replay.compare import Replay, ReplayPlace, replay
from winnow.audit.replay.observation import Shown
from winnow.audit.replay.people import People
from winnow.audit.replay.programs import program_replays
from winnow.audit.replay.readers import reader_replays
from winnow.audit.replay.selections import HOLDERS, counted, selection_replays
from winnow.audit.replay.tables import table_replays
from winnow.audit.result import AuditResult
from winnow.core.laws import Law
from winnow.core.measurement import MEASUREMENTS
from winnow.core.released import Released
from winnow.errors import GuaranteeError, ParameterError
from winnow.inner_product.index.building import INDEX_NAMES
from winnow.inner_product.vectors import EXACT
from winnow.interactive.opening import METHODS
from winnow.learn.bound import MECHANISMS as LEARNING
from winnow.lp.problem import PRIVATE
from winnow.mechanisms import CLASSES, ITEMSETS, SELECT, TOP_K, words
from winnow.read.baskets import LAYOUTS
from winnow.release.audit import as_twin
from winnow.release.mwem import TABLES, UPDATES
from winnow.select.verb import select
from winnow.session import Session


@lru_cache(maxsize=1)
def replays() -> tuple[Replay, ...]:
    """All entries, those of commands last."""
    of_tables = (*table_replays(), *program_replays(), *reader_replays())
    return (*selection_replays(), *of_tables, *command_replays())


Word = tuple[str, str, str]
"""A verb, one of its options, and a word for it; both empty: the verb itself."""

WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("select", "mechanism"): words(SELECT),
    ("select", "noise"): tuple(Law),
    ("top_k", "mechanism"): ("auto", *words(TOP_K)),
    ("top_k", "noise"): tuple(Law),
    ("frequent_itemsets", "mechanism"): ("auto", *words(ITEMSETS)),
    ("classes", "mechanism"): words(CLASSES),
    ("learn", "mechanism"): LEARNING,
    ("max_inner_product", "index"): (EXACT, *INDEX_NAMES),
    ("boost", "index"): (EXACT, *INDEX_NAMES),
    ("release", "method"): METHODS_OF_RELEASE,
    ("release", "update"): (*UPDATES, TABLES),
    ("release", "measurement"): tuple(MEASUREMENTS),
    ("open_interactive", "method"): METHODS,
    ("solve_lp", "private"): PRIVATE,
    ("solve_lp", "selection"): ("dense", "lazy"),
    ("solve_lp", "index"): INDEX_NAMES,
    ("read_baskets", "layout"): LAYOUTS,
}
"""The words that users write; the lists are those of the code that takes them."""

WITHOUT_PRIVATE_DATA = {
    "as_substitution": "adds up events",
    "calibrate": "adds up events",
    "additive": "names a public class",
    "conjunctions": "names a public class",
    "intervals": "names a public class",
    "stumps": "names a public class",
    "thresholds": "names a public class",
    "marginals": "names public queries",
    "predicates": "names public queries",
    "prefixes": "names public queries",
    "queries": "names public queries",
    "random_queries": "names public queries",
    "ranges": "names public queries",
    "where": "names public queries",
    "load_predictor": "reads what was released",
}
"""Public functions that see nobody's data, and why there is nothing to replay."""


def required() -> Iterator[Word]:
    """All that the table of replays has to have."""
    import winnow

    for name in dir(winnow):
        if inspect.isfunction(getattr(winnow, name)) and name not in WITHOUT_PRIVATE_DATA:
            yield name, "", ""
    yield from (("PrivateClassifier", "", ""), ("Session", "", ""))
    for name in vars(Session):
        if not name.startswith("_"):
            yield "Session", "method", name
    for (verb, option), said in WORDS.items():
        yield from ((verb, option, str(word)) for word in said)


def replayed_words(entries: Iterable[Replay]) -> set[Word]:
    """All that a table of replays has."""
    found: set[Word] = set()
    for entry in entries:
        found.add((entry.verb, "", ""))
        for option, said in entry.words.items():
            words = said if isinstance(said, tuple) else (said,)
            found |= {(entry.verb, option, str(word)) for word in words}
    return found


def nothing_is_left_out(entries: Iterable[Replay]) -> AuditResult:
    """Every verb, every mechanism and every other word of the verbs is replayed."""
    needed = list(required())
    missing = sorted(set(needed) - replayed_words(entries))
    return AuditResult(
        "replay",
        "Every public verb, and every word that it takes for a mechanism, is replayed.",
        "the table of replays",
        "both",
        "",
        0.0,
        float(len(missing)),
        not missing,
        f"{len(needed)} verbs and words" + (f"; missing: {missing}" if missing else ""),
    )


Broken = Callable[[Released[Any], bool, ReplayPlace], Any]
"""What a twin makes of an honest release, of one bit about the people, and of a place."""


def replay_twins(*, seed: int) -> Iterator[AuditResult]:
    """Each twin is honest but for one bit: whether nobody has the item 'a'."""
    for fault, broken in TWINS.items():
        result = replay(twin_of(broken), quick=True, seed=seed)
        yield as_twin(fault, "Replay", result)


def twin_of(broken: Broken, *, leaks: bool = True) -> Replay:
    """A selection that leaks through what `broken` does; or does the same, and does not leak."""

    def call(people: People, place: ReplayPlace) -> Any:
        released = select(counted(people), epsilon=0.5, monotone=True, seed=place.seed)
        return broken(released, leaks and not any("a" in held for held in people), place)

    verb = "winnow select" if broken is _text else "select"
    return Replay(verb, "a release that leaks", call, HOLDERS, groups=(2, 2))


def _message(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    sys.stderr.write("done.\n" if bit else "done\n")
    return released


def _receipt(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    return replace(released, receipt=replace(released.receipt, reason="few" if bit else ""))


def _guarantee(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    moved = np.nextafter(released.guarantee.epsilon, 1.0) if bit else released.guarantee.epsilon
    return replace(released, guarantee=replace(released.guarantee, epsilon=float(moved)))


def _type(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    return replace(released, value=np.str_(released.value) if bit else released.value)


def _error(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    if place.seed % 2:  # every other call fails, for everybody alike
        raise GuaranteeError("no such item") if bit else ParameterError("no such item")
    return released


def _context(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    if not place.seed % 2:
        return released
    try:
        raise KeyError("a" if bit else "c")
    except KeyError:
        raise ParameterError("no such item") from None


def _warning(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    if bit:
        warnings.warn("an overflow was met", RuntimeWarning, stacklevel=2)
    return released


def _size(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    (place.outputs / "log.txt").write_text("done\n\n" if bit else "done\n", encoding="utf-8")
    return released


def _name(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    (place.outputs / ("a.txt" if bit else "b.txt")).write_text("done", encoding="utf-8")
    return released


def _text(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    text = f"{released.value}{' ' if bit else ''}\n"
    return [Shown(0, released.to_json(), ""), Shown(0, text, "")]


def _attribute(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    hidden = replace(released)
    object.__setattr__(hidden, "_people", int(bit))
    return hidden


TWINS: dict[str, Broken] = {
    "a message has a full stop more where nobody has an item": _message,
    "the reason on a receipt tells where nobody has an item": _receipt,
    "the last digit of a guarantee tells where nobody has an item": _guarantee,
    "a label has another type where nobody has an item": _type,
    "an error has another type where nobody has an item": _error,
    "the context behind an error names a private item": _context,
    "a warning is given where nobody has an item": _warning,
    "a file has one byte more where nobody has an item": _size,
    "a file has another name where nobody has an item": _name,
    "a command shows a space more where nobody has an item": _text,
    "a hidden attribute of a result tells where nobody has an item": _attribute,
}
