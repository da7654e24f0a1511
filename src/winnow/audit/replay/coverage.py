"""The table of replays: every verb with every option that it takes, and every command.

What stands in no row of it is found here, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from functools import lru_cache

from winnow.ask.request import Ask
from winnow.audit.replay.commands import command_replays
from winnow.audit.replay.compare import Replay, words_taken
from winnow.audit.replay.found_labels import label_replays
from winnow.audit.replay.numbers import number_replays
from winnow.audit.replay.programs import program_replays
from winnow.audit.replay.readers import reader_replays
from winnow.audit.replay.selections import selection_replays
from winnow.audit.replay.tables import table_replays
from winnow.audit.replay.universes import universe_replays
from winnow.audit.result import AuditResult
from winnow.core.laws import Law
from winnow.core.measurement import MEASUREMENTS
from winnow.core.options import AUTO, options
from winnow.inner_product.methods import INDEX_NAMES
from winnow.inner_product.request import Boost, Mips
from winnow.learn.bound import MECHANISMS as LEARNING
from winnow.lp.request import Lp
from winnow.mechanisms import CLASSES, ITEMSETS, words
from winnow.read.options import LAYOUTS
from winnow.release.methods import METHODS as METHODS_OF_RELEASE
from winnow.release.rounds.mwem import UPDATES
from winnow.select.label_methods import OF_PRIVATE_LABELS
from winnow.select.methods import OF_SCORES
from winnow.select.request import FindLabels
from winnow.select.top_k_methods import OF_LISTS
from winnow.session import Session


@lru_cache(maxsize=1)
def replays() -> tuple[Replay, ...]:
    """All entries, those of commands last."""
    of_tables = (*table_replays(), *number_replays(), *program_replays(), *reader_replays())
    of_counts = (*selection_replays(), *label_replays(), *universe_replays())
    return (*of_counts, *of_tables, *command_replays())


Word = tuple[str, str, str]
"""A verb, one of its options, and a word for it; both empty: the verb itself."""

WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("select", "method"): tuple(each.word() for each in OF_SCORES),
    ("select", "noise"): tuple(Law),
    ("top_k", "method"): ("auto", *(each.word() for each in (*OF_LISTS, *OF_PRIVATE_LABELS))),
    ("top_k", "noise"): tuple(Law),
    ("itemsets", "method"): ("auto", *words(ITEMSETS)),
    ("itemsets", "noise"): tuple(Law),
    ("classes", "method"): words(CLASSES),
    ("learn", "selection"): LEARNING,
    ("release", "method"): (AUTO, *(each.word() for each in METHODS_OF_RELEASE)),
    ("release", "update"): UPDATES,
    ("release", "measurement"): tuple(MEASUREMENTS),
    ("release", "index"): INDEX_NAMES,
    ("ask", "method"): next(field.words for field in options(Ask) if field.name == "method"),
    ("read_baskets", "layout"): LAYOUTS.words,
    **words_taken("labels", FindLabels),
    **words_taken("lp", Lp),
    **words_taken("mips", Mips),
    **words_taken("boost", Boost),
}
"""The words that users write; the lists are those of the code that takes them."""

WITHOUT_PRIVATE_DATA = {
    "as_substitution": "adds up events",
    "calibrate": "adds up events",
    "marginals": "names public queries",
    "predicates": "names public queries",
    "prefixes": "names public queries",
    "queries": "names public queries",
    "random_queries": "names public queries",
    "ranges": "names public queries",
    "where": "names public queries",
    "connect": "reads what a server released",
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
    every_word: set[Word] = set()
    for entry in entries:
        every_word.add((entry.verb, "", ""))
        for option, said in entry.words.items():
            words = said if isinstance(said, tuple) else (said,)
            every_word |= {(entry.verb, option, str(word)) for word in words}
    return every_word


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
