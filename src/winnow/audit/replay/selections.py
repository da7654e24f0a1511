"""Replays of what selects and counts: select, top_k, above, inner products, itemsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any, get_args

import numpy as np

from winnow.audit.replay.compare import FULL_ONLY, Call, Replay, ReplayPlace, calling, words_said
from winnow.audit.replay.people import Family, People
from winnow.core.checks import Real
from winnow.core.options import AUTO
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.utility import Utility
from winnow.inner_product.methods import Indexed, IndexName, Scan, SearchMethod
from winnow.inner_product.request import Mips
from winnow.inner_product.vectors import seal_query
from winnow.inner_product.verb import mips
from winnow.itemsets.verb import itemsets
from winnow.mechanisms import ITEMSETS, rows, words
from winnow.read.baskets import read_baskets
from winnow.read.counts import SealedCounts, seal_counts
from winnow.read.options import Reading
from winnow.read.score_source import scores
from winnow.read.scores import SealedScores, seal_scores
from winnow.select.audit.kept import ListedCounts
from winnow.select.label_methods import OF_PRIVATE_LABELS, TruncatedLaplace, WeightedGaussian
from winnow.select.methods import (
    OF_SCORES,
    LargeMargin,
    Lipschitz,
    NoiseName,
    PickMethod,
)
from winnow.select.top_k_methods import (
    OF_LISTS,
    Canonical,
    LimitedDomain,
    NoisyCountsMethod,
    Oneshot,
    OneshotApproximate,
    Stability,
    TopKMethod,
    options_of,
)
from winnow.select.verb import above, open_above, open_selection, select, top_k

ITEMS = ("a", "b", "c")
EPSILON = 0.5

_SETS = tuple(each for size in range(4) for each in combinations(ITEMS, size))
HOLDERS = Family(
    _SETS,
    odd=(
        (("a",),),
        (("a",), ("b",), ("c",)),
        (),
        (ITEMS, ITEMS, ITEMS),
        (("b",),) * 4,
        ((), ("a", "b")),
    ),
)
"""People with some of three items."""

HOLDERS_OF_TWO = Family(
    tuple(each for each in _SETS if len(each) <= 2),
    odd=((("a",),), (("a", "b"), ("a", "c"), ("b", "c")), (), (("a", "b"),) * 3),
)
"""People with at most two of three items."""

_MOVES = ((0.0, 0.0, 0.0), (1.0, -1.0, 0.5), (-1.0, 1.0, 1.0), (0.25, -0.75, -1.0), (1.0, 1.0, 1.0))
MOVERS = Family(
    _MOVES, odd=((_MOVES[1],), (_MOVES[1], _MOVES[2]), (), (_MOVES[4],) * 3, (_MOVES[3],) * 2)
)
"""People who move each of three scores by at most 1, up or down."""

_WITH_DELTA = {row.word for row in rows(ITEMSETS) if row.needs_delta}
NOISES = get_args(NoiseName)


def counted(people: People) -> dict[str, int]:
    """How many people have each item of the public list."""
    counts = Counter(item for person in people for item in person)
    return {item: counts[item] for item in ITEMS}


def summed(people: People) -> dict[str, float]:
    """The scores that people add up to."""
    return {item: 2.0 + sum(person[i] for person in people) for i, item in enumerate(ITEMS)}


def sealed(people: People, relation: Relation = Relation.ADD_REMOVE) -> SealedScores:
    """The counts of the public list, sealed."""
    return seal_scores(counted(people), monotone=True, relation=relation)


def selection_replays() -> Iterator[Replay]:
    """One entry for each mechanism of these verbs."""
    yield from _selections()
    yield from _top_k()
    yield from _thresholds()
    yield from _inner_products()
    yield from _itemsets()
    yield from _processes()


def _selections() -> Iterator[Replay]:
    for kind in OF_SCORES:
        methods = [Lipschitz(noise=noise) for noise in NOISES] if kind is Lipschitz else [kind()]
        for method in methods:
            options: dict[str, Any] = {"method": method, "epsilon": EPSILON}
            options |= {"delta": 0.01} if kind is LargeMargin else {}
            yield _select(options)
            yield _select(options, Relation.SUBSTITUTION, FULL_ONLY)
            if kind is LargeMargin:
                more: dict[str, Any] = {"method": LargeMargin(thresholds="printed")}
                yield _select(options | more, groups=FULL_ONLY)
            else:
                yield _select(options | {"k": 2}, groups=FULL_ONLY)
                yield _select(options | {"k": 2, "with_leads": True}, groups=(1, 2))
            yield Replay(
                "select",
                f"{variant_of(options)}, scores",
                calling(select, lambda people: (summed(people),), **options),
                MOVERS,
                words=_words(options),
                groups=(int(kind is not Lipschitz), 4),
            )


def _select(
    options: dict[str, Any],
    relation: Relation = Relation.ADD_REMOVE,
    groups: tuple[int, int] = (1, 6),
) -> Replay:
    return Replay(
        "select",
        f"{variant_of(options)}, counts",
        calling(select, lambda people: (sealed(people, relation),), **options),
        HOLDERS,
        relation,
        _words(options),
        groups,
    )


def _words(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are words, those of the method among them."""
    method = options.get("method")
    if not isinstance(method, PickMethod):
        return options
    return options | {"method": method.word()} | options_of(method)


def variant_of(options: dict[str, Any]) -> str:
    """What tells one replay of a verb from another."""
    return " ".join(
        f"{name}={value}" if not isinstance(value, str) else value
        for name, value in _words(options).items()
        if name not in ("epsilon", "delta") and value is not None
    )


def _top_k() -> Iterator[Replay]:
    of_lists: list[TopKMethod | str] = ["auto", *(each() for each in OF_LISTS)]
    for method in of_lists:
        options: dict[str, Any] = {"method": method, "epsilon": EPSILON, "k": 2}
        needs_delta = isinstance(method, PickMethod) and method.needs_delta
        options |= {"delta": 0.01} if needs_delta else {}
        options |= {"epsilon": 0.2} if isinstance(method, OneshotApproximate) else {}
        most = 2 if isinstance(method, NoisyCountsMethod) else None
        yield _public(options, most)
        if isinstance(method, Canonical | Oneshot):
            for noise in (law for law in NOISES if law != method.noise):
                law = {"method": replace(method, noise=noise)}
                yield _public(options | law, most, groups=FULL_ONLY)
        yield _public(options | {"with_counts": True}, most, groups=FULL_ONLY)
        yield _public(options, most, Relation.SUBSTITUTION, FULL_ONLY)
    rounded = {"method": Canonical(rounded=True), "epsilon": EPSILON, "k": 2}
    yield _public(rounded, None, groups=FULL_ONLY)
    of_labels: list[TopKMethod | str] = ["auto", *(each() for each in OF_PRIVATE_LABELS)]
    for method in of_labels:
        options = {"method": method, "epsilon": 2.0, "delta": 0.2, "k": 2}
        bounded = isinstance(method, Stability | WeightedGaussian | TruncatedLaplace)
        for bound in (2,) if bounded else (None, 2):
            yield _hidden(options, bound)
        if not isinstance(method, LimitedDomain | WeightedGaussian):  # which release no counts
            yield _hidden(options | {"with_counts": True}, 2)
        yield _hidden(options, 2, Relation.SUBSTITUTION, FULL_ONLY)
        yield _hidden(options, 2, kept=True, groups=FULL_ONLY)
    for word in ("joint", "oneshot", "gamma"):
        yield _kept({"method": word, "epsilon": EPSILON, "k": 2, "with_counts": True})


def _kept(options: dict[str, Any]) -> Replay:
    def call(people: People, place: ReplayPlace) -> Any:
        counts = Counter(item for person in people for item in person)
        values: Sealed[Any] = Sealed(ListedCounts([counts[item] for item in ITEMS]), "counts")
        utility = Utility.declare(1, monotone=True)
        return top_k(SealedCounts(values, ITEMS, utility), seed=place.seed, **options)

    variant = f"{variant_of(options)}, public labels, counts kept in an engine"
    return Replay("top_k", variant, call, HOLDERS, words=options, groups=FULL_ONLY)


def _processes() -> Iterator[Replay]:
    def apart(people: People, place: ReplayPlace) -> Any:
        scores_by_id, opened = summed(people), open_selection(epsilon=EPSILON, k=2, seed=place.seed)
        halves = [list(scores_by_id)[i::2] for i in range(2)]
        parts = [opened.worker.contenders(h, [scores_by_id[item] for item in h]) for h in halves]
        shown = repr((opened, opened.worker, [len(part) for part in parts]))
        return {"shown": shown, "released": opened.finish(parts)}

    def streamed(people: People, place: ReplayPlace) -> Any:
        import pyarrow

        scores_by_id = summed(people)
        frame = pyarrow.table({"item": list(scores_by_id), "points": list(scores_by_id.values())})
        source_scores = scores(frame, id="item", score="points")
        picked = select(source_scores, epsilon=EPSILON, k=2, seed=place.seed)
        return {"shown": repr(source_scores), "released": picked}

    yield Replay("open_selection", "two processes", apart, MOVERS, groups=(1, 4))
    yield Replay("scores", "an Arrow table", streamed, MOVERS, groups=(0, 2), needs="pyarrow")


def _public(
    options: dict[str, Any],
    most: int | None,
    relation: Relation = Relation.ADD_REMOVE,
    groups: tuple[int, int] = (1, 6),
) -> Replay:
    def given(people: People) -> tuple[Any, ...]:
        return (seal_counts(counted(people), max_items=most, relation=relation),)

    return Replay(
        "top_k",
        f"{variant_of(options)}, public labels",
        calling(top_k, given, **options),
        HOLDERS if most is None else HOLDERS_OF_TWO,
        relation,
        _words(options),
        groups,
    )


def _hidden(
    options: dict[str, Any],
    bound: int | None,
    relation: Relation = Relation.ADD_REMOVE,
    groups: tuple[int, int] = (1, 6),
    *,
    kept: bool = False,
) -> Replay:
    def call(people: People, place: ReplayPlace) -> Any:
        counts = Counter(item for person in people for item in person)
        labels = sorted(counts)  # as winnow.counts has them: those that somebody has
        values: Any = np.array([counts[label] for label in labels], np.int64)
        if kept:
            values = ListedCounts(values, labels)
        utility = Utility.declare(1, monotone=True, relation=relation)
        sealed_counts = SealedCounts(
            Sealed(values, "counts"), Sealed(labels, "items"), utility, bound
        )
        return top_k(sealed_counts, seed=place.seed, **options)

    limit = "" if bound is None else f", at most {bound} items each"
    return Replay(
        "top_k",
        f"{variant_of(options)}, private labels{limit}{', counts kept' if kept else ''}",
        call,
        HOLDERS if bound is None else HOLDERS_OF_TWO,
        relation,
        _words(options),
        groups,
    )


def _thresholds() -> Iterator[Replay]:
    for cutoff in (1, 2):
        for relation in Relation:
            yield Replay("above", f"cutoff={cutoff}", _above(cutoff, relation), HOLDERS, relation)

    def asked(people: People, place: ReplayPlace) -> Any:
        stream = open_above(threshold=2.0, epsilon=EPSILON, cutoff=2, seed=place.seed)
        answers = []
        for value in summed(people).values():
            if not stream.exhausted:
                answers.append(stream.ask(value))
        return {
            "answers": answers,
            "shown": repr(stream),
            "exhausted": stream.exhausted,
            "answered": stream.answered,
            "guarantee": stream.guarantee,
            "receipt": stream.receipt,
        }

    yield Replay("open_above", "cutoff=2, scores", asked, MOVERS)


def _above(cutoff: int, relation: Relation) -> Call:
    def given(people: People) -> tuple[Any, ...]:
        return (sealed(people, relation),)

    return calling(above, given, threshold=1.5, epsilon=EPSILON, cutoff=cutoff)


_CANDIDATES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]])
_STEPS = ((0.0, 0.0), (1.0, 0.0), (0.0, -1.0), (-0.5, 0.5))
STEPS = Family(_STEPS, odd=((_STEPS[1],), (_STEPS[1], _STEPS[2]), (), (_STEPS[3],) * 3))
"""People who move a vector of two numbers by at most 1 in the sum."""


def moved_query(people: People) -> tuple[Any, ...]:
    """Public vectors, and the sealed vector that people moved together."""
    query = np.array(people, np.float64).reshape(-1, 2).sum(axis=0)
    return _CANDIDATES, seal_query(query, sensitivity=1)


FAISS = ("ivf", "hnsw")
"""The indices that need the extra."""


def searches(slack: Real = 0) -> list[SearchMethod | str]:
    """Every method of a search, with every index."""
    return [AUTO, Scan(), *(Indexed(index=name, slack=slack) for name in get_args(IndexName))]


def _inner_products() -> Iterator[Replay]:
    for search in searches():
        index = search.index if isinstance(search, Indexed) else None
        options: dict[str, Any] = {"method": search, "epsilon": EPSILON}
        variants = [options, options | {"k": 2}, options | {"signed": True}]
        if index is not None:
            variants.append(options | {"method": Indexed(index=index, slack=0.05)})
        for chosen in variants:
            yield Replay(
                "mips",
                variant_of(chosen),
                calling(mips, moved_query, **chosen),
                STEPS,
                words=words_said(Mips(**chosen)),
                groups=(int(chosen is options), 4),
                needs="faiss" if index in FAISS else "",
            )


def _itemsets() -> Iterator[Replay]:
    chosen: dict[str, Any] = {"method": "auto", "size": 2, "k": 2, "epsilon": 20.0, "delta": 0.2}
    yield _mined(chosen, public=False)
    yield _mined(chosen | {"supports": "subsets"}, public=True)
    for method in words(ITEMSETS):
        needs_delta = method in _WITH_DELTA
        options: dict[str, Any] = {"method": method, "epsilon": 2.0, "size": 1}
        options |= {"delta": 0.2, "epsilon": 20.0} if needs_delta else {}
        yield _mined(options, public=not needs_delta)
        counted_too = options | {"k": 2, "supports": "winners"}
        yield _mined(counted_too, public=not needs_delta, groups=FULL_ONLY)
        pairs = options | {"size": 2}
        yield _mined(pairs, public=True, relation=Relation.SUBSTITUTION, groups=FULL_ONLY)
    for noise in NOISES:
        of_sets = {"method": Canonical(gamma=0.75, noise=noise), "epsilon": 2.0, "k": 2, "size": 1}
        yield _mined(of_sets, public=True, groups=FULL_ONLY)


def _mined(
    options: dict[str, Any],
    *,
    public: bool,
    relation: Relation = Relation.ADD_REMOVE,
    groups: tuple[int, int] = (1, 4),
) -> Replay:
    def call(people: People, place: ReplayPlace) -> Any:
        baskets = read_baskets(
            [list(person) for person in people], unit="basket", max_items=2,
            items=list(ITEMS) if public else None, relation=relation,
            reading=Reading(salt=f"{place.seed}"),
        )  # fmt: skip
        return itemsets(baskets, seed=place.seed, **options)

    kind = "public" if public else "private"
    slow = options["method"] == "large-margin"  # some hundred thresholds for each call
    return Replay(
        "itemsets",
        f"{variant_of(options)}, {kind} items",
        call,
        HOLDERS,
        relation,
        _words(options),
        groups=(groups[0], 2) if slow else groups,
    )
