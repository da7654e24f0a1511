"""Replays of what learns and optimises: labelled, learn, PrivateClassifier, boost, lp."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from winnow.audit.replay.compare import FULL_ONLY, Call, Replay, ReplayPlace, calling, words_said
from winnow.audit.replay.people import Family, People
from winnow.audit.replay.selections import FAISS, searches
from winnow.audit.replay.tables import ROWS, table_of
from winnow.core.relation import Relation
from winnow.inner_product.crossing import seal_examples
from winnow.inner_product.methods import INDEX_NAMES, Scan
from winnow.inner_product.request import Boost
from winnow.inner_product.verb import boost
from winnow.learn.bound import MECHANISMS
from winnow.learn.classifier import PrivateClassifier
from winnow.learn.labelled import labelled
from winnow.learn.methods import Additive, Boosted, LearnMethod, OneRule, VoteOrAdditive
from winnow.learn.verb import learn
from winnow.lp.methods import PersonRows, ScalarSides
from winnow.lp.request import Lp
from winnow.lp.sealing import lp_problem
from winnow.lp.verb import lp

_LABELLED = ((0.0, 0), (0.5, 1), (1.0, 0), (1.0, 1))
LABELLED = Family(
    _LABELLED, odd=((_LABELLED[1],), (*_LABELLED[:3],), (), (_LABELLED[3],) * 3, _LABELLED)
)
"""People with a number and a class; half of them at the cut point."""


def program_replays() -> Iterator[Replay]:
    """One entry for each mechanism, kind of input and neighbour model."""
    yield from _learning()
    yield from _boosting()
    yield from _right_hand_sides()
    yield from _rows_of_people()


def labelled_arrays(people: People) -> tuple[Any, Any]:
    """Their features and their labels."""
    return (
        np.array([x for x, _ in people], np.float64).reshape(-1, 1),
        np.array([y for _, y in people], np.int64),
    )


def _rows(relation: Relation, **about: Any) -> Callable[[People], tuple[Any, ...]]:
    """The labelled rows of people, under a neighbour relation."""
    return lambda people: (labelled(*labelled_arrays(people), relation=relation, **about),)


def _learning() -> Iterator[Replay]:
    for mechanism, relation in product(MECHANISMS, Relation):
        words: dict[str, Any] = {"selection": mechanism}
        cost: dict[str, Any] = {"epsilon": 1.0}
        cost |= {"delta": 0.1} if mechanism == "large-margin" else {}
        quick = (int(relation is Relation.ADD_REMOVE), 4)
        cuts = OneRule(of="stumps", cuts=[0.5], **words)
        functions = OneRule(of=[_zero, _high], **words)
        rows, among = _rows(relation), _predicted(relation)
        counted = OneRule(of="stumps", with_accuracy=True, **words)
        kinds: list[tuple[str, Call, Family, tuple[int, int]]] = [
            ("cut points", calling(learn, rows, method=cuts, **cost), LABELLED, quick),
            ("functions", calling(learn, rows, method=functions, **cost), LABELLED, FULL_ONLY),
            ("predictions", calling(learn, among, method=OneRule(**words), **cost), LABELLED,
             FULL_ONLY),
            ("a table", calling(learn, _table(relation), method=counted, **cost), ROWS, quick),
        ]  # fmt: skip
        for kind, call, family, groups in kinds:
            yield Replay("learn", f"{mechanism}, {kind}", call, family, relation, words, groups)

    for relation in Relation:
        rows, stumps = _rows(relation), OneRule(of="stumps", cuts=[0.5])
        even: dict[str, Any] = {"delta": 0.1, "class_weights": "balanced"}
        models: list[tuple[str, Call, Family]] = [
            ("additive", _with(_rows(relation, classes=(0, 1, 2)), Additive(cuts=[0.5]), **even),
             LABELLED),
            ("class weights", _with(rows, stumps, class_weights=(1, 3)), LABELLED),
            ("balanced rule", _with(rows, stumps, class_weights="balanced"), LABELLED),
            ("boosted rules", _with(rows, Boosted(cuts=[0.5], rounds=3), **even), LABELLED),
            ("vote or additive", _with(rows, VoteOrAdditive(cuts=[0.5]), **even), LABELLED),
            ("calibrated", _with(rows, Boosted(cuts=[0.5], rounds=3), calibrated=True), LABELLED),
            ("auto", calling(learn, _table(relation), epsilon=30.0), ROWS),
        ]  # fmt: skip
        for kind, call, family in models:
            yield Replay("learn", kind, call, family, relation, {}, (1, 4))

    def sealed(people: People, place: ReplayPlace) -> Any:
        (rows,) = _rows(Relation.ADD_REMOVE)(people)
        return {"about": rows.about, "shown": repr(rows)}

    yield Replay("labelled", "arrays", sealed, LABELLED)

    def fitted(people: People, place: ReplayPlace) -> Any:
        model = PrivateClassifier(
            OneRule(of="stumps", cuts=[0.5]), relation="add-remove", seed=place.seed
        )
        model.fit(*labelled_arrays(people))
        said = model.predict(np.array([[0.0], [1.0]])).tolist()
        return {
            "released": model.released_,
            "said": said,
            "features": model.n_features_in_,
            "classes": model.classes_,
            "text": model.rule_,
            "shown": repr(model),
        }

    yield Replay("PrivateClassifier", "fit and predict", fitted, LABELLED)


def _with(given: Callable[[People], tuple[Any, ...]], method: LearnMethod, **more: Any) -> Call:
    return calling(learn, given, method=method, epsilon=1.0, **more)


def _table(relation: Relation) -> Callable[[People], tuple[Any, ...]]:
    return lambda people: (table_of(people, relation), "sex")


def _predicted(relation: Relation) -> Callable[[People], tuple[Any, ...]]:
    def given(people: People) -> tuple[Any, ...]:
        said = np.array([[x > cut for x, _ in people] for cut in (0.25, 0.75)], np.bool_)
        labels = [label for _, label in people]
        return (labelled(y=labels, predictions=said, relation=relation),)

    return given


def _zero(data: Any) -> Any:
    return np.zeros(len(data), np.int64)


def _high(data: Any) -> Any:
    return (np.asarray(data)[:, 0] >= 0.5).astype(np.int64)


_EXAMPLES = (((1, 1), 1), ((1, -1), -1), ((0, -1), 1), ((-1, -1), -1))
EXAMPLES = Family(_EXAMPLES, odd=((_EXAMPLES[0],), _EXAMPLES[:3], (), (_EXAMPLES[1],) * 3))
"""People with what two learners say about them, and a label."""


def examples(people: People) -> tuple[Any, ...]:
    """What the learners say, and the labels."""
    said = np.array([said for said, _ in people], np.int64).reshape(-1, 2).T
    return said, np.array([label for _, label in people], np.int64)


def _sealed(relation: Relation) -> Callable[[People], tuple[Any, ...]]:
    return lambda people: (seal_examples(*examples(people), relation=relation),)


def _boosting() -> Iterator[Replay]:
    for search in searches(slack=0.05):
        asked: dict[str, Any] = {"epsilon": 2.0, "rounds": 2, "method": search}
        words = words_said(Boost(**asked))
        index = words.get("index")
        quick = words["method"] == Scan.word() or index == "flat"
        for relation in Relation:
            yield Replay(
                "boost",
                f"{index} index" if index else words["method"],
                calling(boost, _sealed(relation), **asked),
                EXAMPLES,
                relation,
                words,
                (int(quick and relation is Relation.ADD_REMOVE), 3),
                "faiss" if index in FAISS else "",
            )


_MATRIX = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
_DEMANDS = ((0.0, 0.0, 0.0), (1.0, 0.0, 1.0), (0.5, 1.0, 0.0))
DEMANDS = Family(_DEMANDS, odd=((_DEMANDS[1],), _DEMANDS, (), (_DEMANDS[2],) * 4))
"""People who add at most 1 to each of three right-hand sides."""


def demanded(people: People) -> tuple[Any, ...]:
    """The program with what all of them add."""
    sides = [3.0 + sum(person[i] for person in people) for i in range(3)]
    return _MATRIX, sides, [1.0, 1.0]


def _program(
    given: Callable[[People], tuple[Any, ...]], **about: Any
) -> Callable[[People], tuple[Any, ...]]:
    return lambda people: (lp_problem(*given(people), **about),)


def _right_hand_sides() -> Iterator[Replay]:
    known: dict[str, Any] = {"sensitivity": 1, "monotone": True, "rounds": 3}
    at: dict[str, Any] = {"opt": 3.0}
    variants: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
        ("dense", at, {"selection": "dense"}, {}),
        ("lazy", at, {"selection": "lazy"}, {}),
        ("measured", at, {"measure": True}, {}),
        ("searched", {"opt": (1.0, 5.0)}, {"searches": 2}, {}),
        ("equations", at | {"senses": "="}, {}, {}),
        *((f"{index} index", at, {"index": index}, {}) for index in INDEX_NAMES),
        ("pure sums", at, {}, {"accountant": "pure"}),
        ("zCDP sums", at, {}, {"accountant": "zcdp", "delta": 0.1}),
        ("tight sums", at, {}, {"accountant": "tight", "delta": 0.1}),
    ]
    for variant, about, options, more in variants:
        method = ScalarSides(**known, **options)
        asked: dict[str, Any] = {"method": method, "epsilon": 2.0, **more}
        yield Replay(
            "lp",
            f"private sides, {variant}",
            calling(lp, _program(demanded, **about), **asked),
            DEMANDS,
            words=words_said(Lp(**asked)),
            groups=(int(variant in ("dense", "lazy", "flat index")), 3),
            needs="faiss" if method.index in FAISS else "",
        )


_OWNED = ((1.0, 0.5, 1.0), (0.0, 1.0, 1.0), (5.0, -2.0, 0.25))
OWNED = Family(_OWNED, odd=((_OWNED[0],), _OWNED, (), (_OWNED[1],) * 4, (_OWNED[2],) * 2))
"""People who own a row of two entries and a side; one of them outside of the public ranges."""


def _owned(people: People) -> tuple[Any, ...]:
    matrix = np.array([row[:2] for row in people], np.float64).reshape(-1, 2)
    return matrix, [row[2] for row in people], [1.0, 1.0]


_PUBLIC: dict[str, Any] = {"entries": (0, 1), "sides": (0, 1), "rows": 6, "exceptions": 2}


def _rows_of_people() -> Iterator[Replay]:
    variants: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("dense", {}, {"selection": "dense"}),
        ("lazy", {}, {"selection": "lazy"}),
        ("measured", {"alpha": 0.5}, {"measure": True}),
        ("searched", {"alpha": 0.5}, {"searches": 2}),
        *((f"{index} index", {}, {"index": index}) for index in INDEX_NAMES),
    ]
    for variant, more, options in variants:
        method = PersonRows(**_PUBLIC, rounds=3, **options)
        asked: dict[str, Any] = {"method": method, "epsilon": 2.0, "delta": 0.1, **more}
        opt = (1.0, 5.0) if variant == "searched" else 3.0
        for relation in Relation if variant == "dense" else (Relation.ADD_REMOVE,):
            given = _program(_owned, senses=">=", maximise=False, opt=opt, relation=relation)
            yield Replay(
                "lp",
                f"rows of people, {variant}",
                calling(lp, given, **asked),
                OWNED,
                relation,
                words=words_said(Lp(**asked)),
                groups=(int(variant == "dense" and relation is Relation.ADD_REMOVE), 2),
                needs="faiss" if method.index in FAISS else "",
            )
