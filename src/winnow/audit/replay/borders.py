"""Replays on both sides of every border at which something private chooses between two ways.

A border is moved below and beyond what a group of people and all their neighbours have. Where both
ways promise the same value, all that can be seen has to be the same, to the last byte; where they
promise the same law, all but what is released. Then the border is put between neighbours, so that
one of them goes one way and one the other, which is replayed like any verb.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from winnow.ask.crossing import WIDE_SUM
from winnow.ask.verb import ask
from winnow.audit.replay.compare import Call, Replay, ReplayPlace, ReplayRun, seed_of
from winnow.audit.replay.numbers import PAID, several_quantiles
from winnow.audit.replay.people import Family, People, neighbours
from winnow.audit.replay.programs import LABELLED, labelled_arrays
from winnow.audit.replay.readers import EVENTS, events_of, text_of
from winnow.audit.replay.selections import (
    HOLDERS,
    HOLDERS_OF_TWO,
    ITEMS,
    STEPS,
    counted,
    moved_query,
    sealed,
)
from winnow.audit.replay.tables import ROWS, table_of
from winnow.audit.result import AuditResult, as_twin
from winnow.core.borders import Border
from winnow.core.bounded import FEW_NOISES
from winnow.core.noisy_top.class_counts import AT_ONCE
from winnow.core.noisy_top.filter import FEW_KEYS, FEW_LEFT
from winnow.core.noisy_top.ranking import FEW_VALUES, MANY_EQUAL
from winnow.core.noisy_top.support_classes import NEAR_ZERO
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.utility import Utility
from winnow.core.workloads.arrays import queries, random_queries
from winnow.core.workloads.part import EXACT_FLOAT
from winnow.inner_product.crossing import SCAN_FROM
from winnow.inner_product.methods import Indexed
from winnow.inner_product.verb import mips
from winnow.itemsets.kernels import borders as mining
from winnow.itemsets.verb import itemsets
from winnow.learn.kernels.rule_counts import MANY_ROWS
from winnow.learn.labelled import labelled
from winnow.learn.methods import OneRule
from winnow.learn.verb import learn
from winnow.numbers.crossing.segment import WINDOW
from winnow.read.baskets import read_baskets
from winnow.read.classes import classes
from winnow.read.counts import SealedCounts, counts
from winnow.read.crossing import WIDE_KEYS
from winnow.read.engines.kept import SMALL_CLASS
from winnow.read.engines.private_duck import FEW_ROWS, MOST_PACKED, PART_SHARE
from winnow.read.files import LARGE_FILE, read_scores
from winnow.read.kept import MOST_COLLECTED, MOST_PAIRS
from winnow.read.kernels.csv_states import FEW_BYTES
from winnow.read.options import Pairs, Reading
from winnow.read.scores import seal_scores
from winnow.release.methods import MWEM
from winnow.release.rounds.kernels.clocked_sampler import FOLLOW, LAZY_START
from winnow.release.tables.verb import tabulate
from winnow.release.verb import release
from winnow.select.audit.kept import ListedCounts
from winnow.select.mechanisms.margin_counts import WIDE_GAPS
from winnow.select.mechanisms.margin_search import ONE_BY_ONE
from winnow.select.methods import Lipschitz
from winnow.select.verb import labels, select, top_k

_MOST_GROUPS = 16
"""So many groups of people are tried until one of them meets the border."""
_ALL, _NONE = 2.0**70, -1.0
"""A border beyond, and one below, what a few people have."""


@dataclass(frozen=True)
class BorderReplay:
    """A call that meets a border, and where that is put."""

    border: Border
    verb: str
    call: Call
    family: Family
    between: float
    """Where some people are on one side, and some neighbours of theirs on the other."""
    low: float = _NONE
    high: float = _ALL
    also: tuple[tuple[Border, float], ...] = ()
    """Other borders, moved so that this one is met."""
    quick: bool = True

    @property
    def entry(self) -> Replay:
        """The call, with the border between neighbours."""

        def call(people: People, place: ReplayPlace) -> Any:
            return self.at(self.between, people, place)

        return Replay(self.verb, f"{self.border.name}, both sides of a border", call, self.family)

    def at(self, number: float, people: People, place: ReplayPlace) -> Any:
        """The call with the border somewhere."""
        with ExitStack() as stack:
            for border, where in (*self.also, (self.border, number)):
                stack.enter_context(border.moved_to(where))
            return self.call(people, place)


def _log(**options: Any) -> Call:
    """Counts of an event log, with quotes around a name, and a list drawn from them."""

    def call(people: People, place: ReplayPlace) -> Any:
        text = text_of(("user", "item"), events_of(people))
        source = place.write("data.csv", text.replace("user", '"user"', 1))
        counted = counts(source, item="item", person="user", max_items=2,
                       reading=Reading(salt=f"{place.seed}"), **options)  # fmt: skip
        sized: dict[str, Any] = {} if counted.domain_known else {"delta": 0.2}
        return top_k(counted, k=2, epsilon=2.0, seed=place.seed, with_counts=True, **sized)

    return call


def _weighed(people: People, place: ReplayPlace) -> Any:
    """The people of a log, whose weights are read and added up once more."""
    source = place.write("data.csv", text_of(("user", "item"), events_of(people)))
    counted = counts(source, item="item", person="user", reading=Reading(salt=f"{place.seed}"))
    return labels(counted, epsilon=2.0, delta=0.2, method="weighted-gaussian", seed=place.seed)


def _file_of_counts(people: People, place: ReplayPlace) -> Any:
    rows = [(item, str(number)) for item, number in counted(people).items()]
    source = place.write("data.csv", text_of(("item", "n"), rows))
    names, scores = read_scores(source, label_column="item", score_column="n")
    scores_by_name = dict(zip(list(names), scores.tolist(), strict=True))
    return select(seal_scores(scores_by_name, monotone=True), epsilon=0.5, seed=place.seed)


def _pairs(people: People, place: ReplayPlace) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE log (b INTEGER, i VARCHAR)")
    rows = [(number, item) for number, person in enumerate(people) for item in person]
    if rows:
        connection.executemany("INSERT INTO log VALUES (?, ?)", rows)
    sealed = read_baskets((connection, "log"), unit="basket", layout=Pairs(basket="b", item="i"))
    return itemsets(sealed, size=2, k=2, epsilon=20.0, delta=0.2, supports="winners",
                    method="limited-domain", seed=place.seed)  # fmt: skip


def _mined(base: list[str], size: int, method: str = "joint", **options: Any) -> Call:
    """Itemsets of some public baskets and of those of the people."""

    def call(people: People, place: ReplayPlace) -> Any:
        baskets = [[*map(list, base)], [list(person) for person in people]]
        sealed = read_baskets(baskets[0] + baskets[1], unit="basket", items=[*ITEMS, "d"])
        return itemsets(sealed, size=size, method=method, supports="winners", seed=place.seed,
                        **options)  # fmt: skip

    return call


_RARE = _mined(["abc", *["a"] * 17], 2, k=1, epsilon=0.3)
"""Pairs are rare and items are not, so that a first guess of the largest support is bad."""
_NOISY = _mined([*["abc"] * 3, "ab"], 2, "exponential", k=1, epsilon=0.5)
"""Noise that may reach pairs of nobody, which are drawn by their share."""
_DEEP = _mined([*["abc"] * 60, "abd"], 3, k=3, epsilon=40.0)
"""A list that goes far below the largest support, so that itemsets are mined twice."""


def _tabulated(people: People, place: ReplayPlace) -> Any:
    table = table_of(people, Relation.ADD_REMOVE)
    return tabulate(table, [["sex"], ["sex", "age"]], epsilon=1.0, seed=place.seed)


def _questions(people: People, place: ReplayPlace) -> Any:
    """One question that is given cell by cell."""
    table = table_of(people, Relation.ADD_REMOVE).stating(40)
    session = ask(
        table, epsilon=4.0, delta=0.01, max_queries=2, method="independent", seed=place.seed
    )
    answer = session.ask(queries([[0, 1, 1, 0]]))
    return {"answers": [answer], "receipt": session.receipt}


def _learned(people: People, place: ReplayPlace) -> Any:
    rows = labelled(*labelled_arrays(people), relation="add-remove")
    rule = OneRule(of="stumps", cuts=[0.5], selection="exponential")
    return learn(rows, method=rule, epsilon=1.0, seed=place.seed)


def _released_queries(people: People, place: ReplayPlace) -> Any:
    table = table_of(people, Relation.ADD_REMOVE)
    one = MWEM(rounds=1, total_share=0.1)
    return release(table, random_queries(2_100, seed=1), method=one, epsilon=2.0, seed=place.seed)


def _long_list(**options: Any) -> Call:
    """Many candidates with a few different scores, far down which a draw goes."""
    base = np.arange(20_000) % 31

    def call(people: People, place: ReplayPlace) -> Any:
        scores = base.copy()
        scores[: len(ITEMS)] += np.array(list(counted(people).values()))
        return top_k(scores, seed=place.seed, **options)

    return call


def _crowded(people: People, place: ReplayPlace) -> Any:
    """A few scores that people raise to that of many others, which are drawn from."""
    scores = np.append(np.full(3, 9), np.full(40, 10))
    scores[: len(ITEMS)] += np.array(list(counted(people).values()))
    return top_k(scores, method="joint", epsilon=1.0, k=2, seed=place.seed)


def _selected(people: People, place: ReplayPlace) -> Any:
    return select(sealed(people), epsilon=0.5, seed=place.seed, method=Lipschitz(noise="logistic"))


def _margin(people: People, place: ReplayPlace) -> Any:
    """So many scores that a compiled pass counts their gaps."""
    scores = np.zeros(1 << 18, np.int64)
    scores[: len(ITEMS)] = list(counted(people).values())
    return select(seal_scores(scores, monotone=True), epsilon=4.0, delta=0.1,
                  method="large-margin", seed=place.seed)  # fmt: skip


def _classes(people: People, place: ReplayPlace) -> Any:
    given: list[Any] = [(number, [item]) for item, number in counted(people).items()]
    given.append((0, 1000, lambda uniform: f"other {uniform.below(1000)}"))
    sealed = classes(given, total=len(ITEMS) + 1000, monotone=True)
    return select(sealed, method="large-margin", epsilon=4.0, delta=0.2, seed=place.seed)


def _kept(people: People, place: ReplayPlace) -> Any:
    values: Sealed[Any] = Sealed(ListedCounts(list(counted(people).values())), "counts")
    sealed = SealedCounts(values, ITEMS, Utility.declare(1, monotone=True), 2)
    return top_k(sealed, k=2, epsilon=1.0, delta=0.1, method="gaussian", with_counts=True,
                 seed=place.seed)  # fmt: skip


def _indexed(people: People, place: ReplayPlace) -> Any:
    return mips(*moved_query(people), epsilon=0.5, method=Indexed(index="flat"), seed=place.seed)


_COMPILED = ((mining.PLAIN, _NONE),)
_EACH_PASS = (*_COMPILED, (mining.KEPT_BYTES, 0.0))
_BITSETS = (*_EACH_PASS, (mining.DENSE, _ALL))
_PAIRS = (*_BITSETS, (mining.FEW_ITEMS, 0.0))

_PUBLIC_LOG = _log(items=list(ITEMS))
_FAR_DOWN = _long_list(method="joint", epsilon=1e-3, k=2)
_SHORT_LIST = _long_list(method="oneshot", epsilon=0.5, k=2)
_SPARSE = (*_EACH_PASS, (mining.DENSE, _NONE))


def _mining(border: Border, between: float, call: Call = _RARE, **how: Any) -> BorderReplay:
    return BorderReplay(border, "itemsets", call, HOLDERS, between, **how)


REPLAYS: tuple[BorderReplay, ...] = (
    BorderReplay(MOST_COLLECTED, "top_k", _log(), EVENTS, 1.0, low=0.0, high=1e6),
    BorderReplay(MOST_COLLECTED, "labels", _weighed, EVENTS, 1.0, low=0.0, high=1e6, quick=False),
    BorderReplay(MOST_PAIRS, "itemsets", _pairs, HOLDERS, 3.0, low=0.0, high=1e6,
                 quick=False),
    BorderReplay(FEW_ROWS, "top_k", _PUBLIC_LOG, EVENTS, 3.0, also=((PART_SHARE, 1.6e-7),),
                 quick=False),
    BorderReplay(PART_SHARE, "top_k", _PUBLIC_LOG, EVENTS, 3e-7, low=1e-7, high=1.0,
                 also=((FEW_ROWS, 0.0),), quick=False),
    BorderReplay(MOST_PACKED, "top_k", _PUBLIC_LOG, EVENTS, 2.0, quick=False),
    BorderReplay(SMALL_CLASS, "top_k", _log(keep="engine"), EVENTS, 1.0, quick=False),
    BorderReplay(LARGE_FILE, "select", _file_of_counts, HOLDERS, 19.0),
    BorderReplay(FEW_BYTES, "top_k", _PUBLIC_LOG, EVENTS, 24.0, quick=False),
    BorderReplay(WIDE_KEYS, "tabulate", _tabulated, ROWS, 3.0),
    BorderReplay(EXACT_FLOAT, "tabulate", _tabulated, ROWS, 2.0),
    BorderReplay(WIDE_SUM, "ask", _questions, ROWS, 2.0),
    BorderReplay(MANY_ROWS, "learn", _learned, LABELLED, 2.0),
    BorderReplay(WINDOW, "quantiles", several_quantiles, PAID, -8.0, low=-1e3, high=45.0),
    BorderReplay(FEW_LEFT, "select", _selected, HOLDERS, 2.0),
    BorderReplay(FEW_KEYS, "top_k", _SHORT_LIST, HOLDERS, 8.0),
    BorderReplay(FEW_NOISES, "top_k", _SHORT_LIST, HOLDERS, 4.0),
    BorderReplay(FEW_VALUES, "top_k", _FAR_DOWN, HOLDERS, 1.0),
    BorderReplay(MANY_EQUAL, "top_k", _crowded, HOLDERS, 41.0),
    BorderReplay(WIDE_GAPS, "select", _margin, HOLDERS, 1.0, quick=False),
    BorderReplay(ONE_BY_ONE, "classes", _classes, HOLDERS, 1.0),
    BorderReplay(AT_ONCE, "top_k", _kept, HOLDERS_OF_TWO, 1.0, low=1.0),
    BorderReplay(SCAN_FROM, "mips", _indexed, STEPS, 2.0, low=1e-9),
    BorderReplay(LAZY_START, "release", _released_queries, ROWS, 4.0, quick=False),
    BorderReplay(FOLLOW, "release", _released_queries, ROWS, 4.0, quick=False),
    _mining(mining.PLAIN, 5.0),
    _mining(mining.SHORT, 8.0, also=_COMPILED),
    _mining(mining.SAMPLE, 19.0, also=_EACH_PASS),
    _mining(mining.BITSET_BYTES, 24.0, also=_EACH_PASS),
    _mining(mining.KEPT_BYTES, 1.0, also=_COMPILED),
    _mining(mining.DENSE, 1.0, also=_EACH_PASS),
    _mining(mining.LISTED, 1.0, also=_COMPILED, low=0.0, high=100.0),
    _mining(mining.AHEAD, 3.0, _NOISY, also=_COMPILED, low=0.0, high=100.0),
    _mining(NEAR_ZERO, 0.8, _NOISY, also=(*_COMPILED, (mining.AHEAD, 0.0))),
    _mining(mining.FEW_ITEMS, 2.0, _DEEP, also=_BITSETS),
    _mining(mining.MOST_ITEMS, 2.0, _DEEP, also=_PAIRS),
    _mining(mining.NARROW, 5.0, also=_SPARSE),
)  # fmt: skip
"""One for each border of ``winnow.audit.borders``."""


def borders_replayed(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Every border, in a quick run those whose calls are quick."""
    for each in REPLAYS:
        if each.quick or not quick:
            yield replay_border(each, quick=quick, seed=seed)


def replay_border(each: BorderReplay, *, quick: bool = False, seed: int) -> AuditResult:
    """Some groups of people and all their neighbours, on both sides of a border."""
    entry, border = each.entry, each.border
    run, first = ReplayRun(entry), seed_of(entry, seed)
    problems: list[str] = []
    met = False
    with TemporaryDirectory(prefix="winnow-border-") as folder:
        for number, people in enumerate(each.family.groups(_MOST_GROUPS, first)):
            if met and number >= (1 if quick else 2):
                break
            run.group(people, first + number, Path(folder))
            around = neighbours(people, each.family.universe, entry.relation)
            for group in (people, *around[: 3 if quick else None]):
                before = border.asked
                problems += _both_sides(each, group, first + number, Path(folder))
                met |= border.asked > before
    differences = [*map(str, run.found), *problems]
    if not met:
        differences.append("no call meets the border")
    if not run.done:
        differences.append(f"every call failed: {run.error}")
    same = "the same value" if border.same == "value" else "all but what is released the same"
    return AuditResult(
        "replay",
        f"{border.name}: where {border.decides} decides, both ways leave {same} behind.",
        f"{entry.verb}, {entry.variant}",
        str(entry.relation),
        "",
        0.0,
        float(len(differences)),
        not differences,
        "; ".join([f"{run.pairs} pairs of neighbours", *differences[:3]]),
    )


def _both_sides(each: BorderReplay, people: People, seed: int, folder: Path) -> Iterator[str]:
    """What differs between a border below and a border beyond, for the same people."""
    border, seen = each.border, []
    for number in (each.low, each.high):
        run = ReplayRun(Replay(each.verb, each.border.name, _fixed(each, number), each.family))
        seen.append(run.observed(people, seed, folder))
    run.compare(seen[0], seen[1], people, people)
    differing = [str(difference) for difference in run.found]
    if border.same == "value":
        paths = {**seen[0], **seen[1]}
        differing = [f"{path}: {seen[0].get(path)} below the border, {seen[1].get(path)} beyond"
                     for path in paths if seen[0].get(path) != seen[1].get(path)]  # fmt: skip
    yield from differing


def _fixed(each: BorderReplay, number: float) -> Call:
    return lambda people, place: each.at(number, people, place)


_TWIN = Border(
    3.0,
    "a list turned round",
    decides="how many people there are",
    ways="a list as it was drawn; the other way round",
    same="value",
    because="it does not: it is broken on purpose",
)


def border_twins(*, seed: int) -> Iterator[AuditResult]:
    """A list that has another order beyond a border, which the replays have to catch."""

    def call(people: People, place: ReplayPlace) -> Any:
        drawn = top_k(counted(people), k=2, epsilon=0.5, seed=place.seed)
        value = drawn.value if len(people) <= _TWIN.at else drawn.value[::-1]
        return replace(drawn, value=value)

    broken = BorderReplay(_TWIN, "top_k", call, HOLDERS, 3.0)
    result = replay_border(broken, quick=True, seed=seed)
    yield as_twin("a list has another order beyond a border", "Replay", result)
