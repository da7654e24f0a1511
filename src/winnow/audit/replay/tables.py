"""Replays of what answers questions about a table: release, wide tables, sessions, the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from winnow.ask.methods import MultiplicativeWeights
from winnow.ask.request import Ask
from winnow.ask.verb import ask, resume
from winnow.audit.replay.compare import FULL_ONLY, Replay, ReplayPlace
from winnow.audit.replay.people import Family, People
from winnow.audit.replay.selections import HOLDERS, counted
from winnow.core.measurement import MEASUREMENTS
from winnow.core.options import AUTO, options
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.workloads.conditions import where
from winnow.core.workloads.tables import marginals, prefixes
from winnow.errors import BudgetExceeded
from winnow.inner_product.crossing import seal_examples
from winnow.inner_product.index.building import FAISS
from winnow.inner_product.methods import INDEX_NAMES
from winnow.inner_product.vectors import seal_query, seal_vectors
from winnow.lp.methods import ScalarSides
from winnow.lp.sealing import lp_problem
from winnow.privacy.ledger import Ledger
from winnow.read.baskets import read_baskets
from winnow.read.crossing import Rows, SealedTable, group
from winnow.read.people import BoundedPeople, PersonBound
from winnow.read.people import People as SomePeople
from winnow.read.scores import seal_scores
from winnow.release.methods import METHODS as METHODS_OF_RELEASE
from winnow.release.methods import MWEM, Adaptive, Graphical
from winnow.release.rounds.mwem import UPDATES
from winnow.release.tables.plan import tabulate as plan_of_tables
from winnow.release.tables.verb import tabulate
from winnow.release.verb import release
from winnow.session import Session

SCHEMA = Schema.parse({"sex": {"values": ["f", "m"]}, "age": {"edges": [0, 30, 60]}})
_ROWS = ((0, 0), (0, 1), (1, 0), (1, 1))
ROWS = Family(
    _ROWS,
    odd=((_ROWS[0],), (_ROWS[0], _ROWS[3], _ROWS[1]), (), (_ROWS[2],) * 4, _ROWS),
    most=5,
)
"""People with one row each over four cells."""

QUESTIONS = [where(sex="f"), where(sex="f", age=(0, 30)), where(sex="f", age=(30, 60))]
QUESTIONS += [where(sex="f")]  # again, for the same answer


def table_of(people: People, relation: Relation) -> SealedTable:
    """A made-up table with a row for each person."""
    codes = np.array(people, np.int32).reshape(-1, 2)
    columns = tuple(np.ascontiguousarray(codes[:, i]) for i in range(2))
    rows: Rows = group(columns, np.ones(len(codes), np.int64), SCHEMA.shape)
    return SealedTable(SCHEMA, Sealed(rows, "rows"), 1, relation)


class _MadeUp(SomePeople):
    """People who each have as many rows as their codes add up to, and one more."""

    def __init__(self, people: People) -> None:
        self._people = people

    def numbers(self) -> dict[int, int]:
        """How many people have 1, 2, 3 rows."""
        return dict(Counter(1 + sum(person) for person in self._people))


def _bounded(people: People) -> BoundedPeople:
    return BoundedPeople(PersonBound("person", "row", 1), Sealed(_MadeUp(people), "people"))


def table_replays() -> Iterator[Replay]:
    """One entry for each variant of asking about a table."""
    yield from _releases()
    yield from _tabulations()
    yield from _sessions()
    yield from _budgets()


def _releases() -> Iterator[Replay]:
    for update in (*UPDATES, "adaptive"):
        for measurement in MEASUREMENTS:
            gaussian = measurement == "gaussian"
            words: dict[str, Any] = {"measurement": measurement}
            words |= {} if update == "adaptive" else {"update": update}
            made: Any = Adaptive if update == "adaptive" else MWEM
            rounds = made(rounds=2, **words)
            sized: dict[str, Any] = {"epsilon": 2.0, "delta": 0.01 if gaussian else 0.0}
            sized |= {"accountant": "zcdp" if gaussian else "pure"}
            known = Relation.SUBSTITUTION
            groups = (int(update == "gap" or not gaussian), 3)
            title = f"{update}, {measurement}"
            yield _release(title, rounds, sized, words=words, relation=known, groups=groups)
            if update in ("gap", "adaptive"):
                rows = 3 if gaussian else None  # else they are measured, too
                title = f"{title}, n private"
                yield _release(title, rounds, sized, rows, words=words, groups=(1, 3))
    pure: dict[str, Any] = {"epsilon": 2.0}
    grouped = MWEM(rounds=[1, 1], groups=[["sex"], ["age"]])
    yield _release("two groups of columns", grouped, pure, 3)
    yield _release("a sampled universe", MWEM(rounds=2, universe=3), pure, 3)
    for delta in (0.0, 0.01):
        sized = {"epsilon": 2.0, "delta": delta}
        title = f"from tables of single columns, delta={delta:g}"
        yield _release(title, MWEM(rounds=1, warm_start=0.3), sized, 3)
        title = f"rounds by the noisy number of rows, delta={delta:g}"
        by_rows = MWEM(update="gap", warm_start=0)
        yield _release(title, by_rows, sized, words={"update": "gap"}, groups=(1, 3))
    for index in INDEX_NAMES:
        word: Any = index
        over = MWEM(rounds=2, index=word, slack=0 if index == "flat" else 0.01)
        replay = _release(f"over an index: {index}", over, pure, 3, words={"index": index})
        yield replace(replay, needs="faiss" if index in FAISS else "")

    yield from _answers()

    pairs = marginals(2)
    for title, model, epsilon, rows in (
        ("one round", Graphical(rounds=1), 20.0, 50),
        ("all at once", Graphical(), 20.0, 5000),
        ("columns alone", Graphical(), 0.5, 20),
    ):
        sized = {"epsilon": epsilon, "delta": 0.01}
        title = f"a graphical model, {title}"
        yield _release(title, model, sized, rows, groups=(0, 1), by=pairs)


def _tabulations() -> Iterator[Replay]:
    both = marginals([1, 2])
    for relation in Relation:
        for delta in (0.0, 0.01):
            options: dict[str, Any] = {"epsilon": 0.2, "delta": delta, "values": ["age"]}

            def call(
                people: People,
                place: ReplayPlace,
                relation: Relation = relation,
                options: dict[str, Any] = options,
            ) -> Any:
                return tabulate(table_of(people, relation), both, seed=place.seed, **options)

            yield Replay("tabulate", f"delta={delta}", call, ROWS, relation, groups=(1, 3))

    for relation in Relation:

        def with_cut(people: People, place: ReplayPlace, relation: Relation = relation) -> Any:
            table = replace(table_of(people, relation), people=_bounded(people))
            return tabulate(table, both, epsilon=0.2, with_cut=0.5, seed=place.seed)

        yield Replay("tabulate", "with_cut", with_cut, ROWS, relation, groups=(1, 3))

    def in_session(people: People, place: ReplayPlace) -> Any:
        table = table_of(people, Relation.ADD_REMOVE)
        with Session(table, epsilon=1.0, seed=place.seed) as session:
            return {"tables": session.tabulate(both, epsilon=1.0), "left": repr(session.budget)}

    yield Replay("Session", "tables", in_session, ROWS, words={"method": "tabulate"})


def _answers() -> Iterator[Replay]:
    """Methods by their names; what "auto" takes of four cells is tables."""
    by_word: dict[str, Any] = {each.word(): each for each in METHODS_OF_RELEASE}
    for word in (AUTO, *by_word):
        rounds = word in ("adaptive", "mwem", "graphical")
        method = by_word[word](rounds=1) if rounds else word
        by = prefixes("age") if word == "toeplitz" else marginals(2)
        sized: dict[str, Any] = {"epsilon": 20.0, "delta": 0.01}
        words = {"method": word}
        yield _release(f"method {word}", method, sized, 50, words=words, groups=(0, 1), by=by)
    for relation in Relation:
        yield _release(
            f"tables, pure, {relation}",
            "tables",
            {"epsilon": 1.0},
            words={"method": "tables"},
            relation=relation,
            groups=(1, 3),
        )


def _release(
    variant: str,
    method: Any,
    options: dict[str, Any],
    rows: int | None = None,
    *,
    words: dict[str, Any] | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    groups: tuple[int, int] = FULL_ONLY,
    by: Any = None,
) -> Replay:
    def call(people: People, place: ReplayPlace) -> Any:
        table = table_of(people, relation).stating(rows)
        return release(table, by or marginals(1), method=method, seed=place.seed, **options)

    return Replay("release", variant, call, ROWS, relation, words or {}, groups)


def _asked(session: Any) -> dict[str, Any]:
    """Some questions, one of them twice, and all that a session then says of itself."""
    answers = [session.ask(question) for question in QUESTIONS]
    before = {"shown": repr(session), "status": session.status, "rounds": session.rounds}
    state = session.state()
    session.close()
    return {
        "answers": answers,
        "texts": [str(answer) for answer in answers],
        "before": before,
        "after": repr(session),
        "plan": session.plan,
        "planned": str(session.plan),
        "state": {"sizes": state["sizes"], "updates": state.get("updates", 0)},
        "receipt": session.receipt,
        "guarantee": session.guarantee,
    }


_OPEN: dict[str, Any] = {"epsilon": 4.0, "delta": 0.01, "max_queries": 8}


def _stated(people: People) -> Any:
    """A table whose true number of rows is private."""
    return table_of(people, Relation.ADD_REMOVE).stating(40)


def _sessions() -> Iterator[Replay]:
    for field in options(Ask):
        for method in field.words if field.name == "method" else ():
            yield _session(method, {"method": method}, (int(method != AUTO), 3))
    for variant, own in (
        ("warm start", {"warm_start": 0.2}),
        ("warm start from columns alone", {"warm_start": 0.2, "memory": "0.008kB"}),
        ("independent answers at the end", {"fallback": 0.2, "updates": 1}),
        ("a sampled universe", {"universe": 3, "smoothness": 0.5}),
        ("an implicit hypothesis", {"memory": "0.008kB"}),
    ):
        chosen: dict[str, Any] = dict(own)
        yield _session(variant, {"method": MultiplicativeWeights(**chosen)})

    def kept(people: People, place: ReplayPlace) -> Any:
        table, state = _stated(people), place.outputs / "kept.session"
        method = MultiplicativeWeights(threshold=0.3)
        first = _asked(ask(table, **_OPEN, method=method, state=state, seed=place.seed))
        return {"first": first, "second": _asked(resume(table, state))}

    yield Replay("resume", "from a state file", kept, ROWS)


def _session(variant: str, words: dict[str, Any], groups: tuple[int, int] = FULL_ONLY) -> Replay:
    def call(people: People, place: ReplayPlace) -> Any:
        return _asked(ask(_stated(people), **_OPEN, **words, seed=place.seed))

    return Replay("ask", variant, call, ROWS, words=words, groups=groups)


def _budgets() -> Iterator[Replay]:
    def spent(people: People, place: ReplayPlace) -> Any:
        """All that a session offers for counts and tables, until its budget refuses."""
        table = table_of(people, Relation.ADD_REMOVE)
        with Session(table, epsilon=2.0, seed=place.seed) as session:
            done: dict[str, Any] = {
                "select": session.select(
                    seal_scores({"f": len(people), "m": 1}, monotone=True), epsilon=0.25
                ),
                "top_k": session.top_k("sex", k=1, epsilon=0.25),
                "above": session.above(
                    seal_scores([len(people)], monotone=True), threshold=2, epsilon=0.25
                ),
                "release": session.release(
                    table.stating(3), marginals(1), epsilon=1.0, method=MWEM(rounds=1)
                ),
            }
            try:
                session.top_k("age", k=1, epsilon=1.0)
            except BudgetExceeded as refusal:
                done["refusal"] = str(refusal)
            return done | {"budget": repr(session.budget), "session": repr(session)}

    words: dict[str, Any] = {"method": ("select", "top_k", "above", "release")}
    yield Replay("Session", "one budget, until it refuses", spent, ROWS, words=words)

    def learned(people: People, place: ReplayPlace) -> Any:
        table = _stated(people)
        baskets = read_baskets(
            [["f" if sex == 0 else "m"] for sex, _ in people], unit="basket", items=["f", "m"]
        )
        cap: dict[str, Any] = {"epsilon": 9.0, "delta": 0.1, "delta_for_events": 0.05}
        with (
            Session(table, **cap, seed=place.seed) as all_,
            Session(**cap, seed=place.seed) as of_baskets,  # another unit is another budget
        ):
            stream = all_.open_above(threshold=1, epsilon=0.5)
            return {
                "above": stream.ask([len(people)]),
                "ask": _asked(all_.ask(**_OPEN)),
                "itemsets": of_baskets.itemsets(
                    baskets, size=1, epsilon=0.5, method="exponential"
                ),
                "learn": all_.learn(table, "sex", method="stumps", epsilon=0.5),
                "lp": all_.lp(
                    lp_problem(
                        [[1.0, 2.0], [2.0, 1.0]], [2.0, 1.0 + len(people)], [1.0, 1.0], opt=1.0
                    ),
                    method=ScalarSides(sensitivity=1, rounds=1),
                    epsilon=0.5,
                ),
                "mips": all_.mips(
                    seal_vectors([[1.0, 0.0], [0.0, 1.0]]),
                    seal_query([float(len(people)), 1.0], sensitivity=1),
                    epsilon=0.5,
                ),
                "boost": all_.boost(
                    seal_examples([[1] * len(people), [-1] * len(people)], [1] * len(people)),
                    rounds=1,
                    epsilon=0.5,
                ),
                "run": all_.run(plan_of_tables(table, ["sex"], epsilon=0.5)),
                "left": repr(all_.budget),
            }  # fmt: skip

    words = {
        "method": ("open_above", "ask", "itemsets", "learn", "lp", "mips", "boost", "run"),
    }
    yield Replay(
        "Session", "one budget for other verbs", learned, ROWS, words=words, groups=FULL_ONLY
    )

    def recorded(people: People, place: ReplayPlace) -> Any:
        table, path = table_of(people, Relation.ADD_REMOVE), place.outputs / "kept.ledger"
        options: dict[str, Any] = {"epsilon": 1.0, "ledger": path, "seed": place.seed}
        for label in ("people", "the same people"):  # the second time with a warning
            with Session(table, dataset=label, **options) as session:
                released = session.top_k("sex", k=1, epsilon=0.75)
        try:
            session.top_k("age", k=1, epsilon=0.75)
        except BudgetExceeded as refusal:
            text = str(refusal)
        ledger = Ledger.open(path)
        entries = [entry.to_dict() for entry in ledger.entries()]
        return {"released": released, "refusal": text, "entries": entries, "all": str(ledger.name)}

    yield Replay("Session", "recorded in a ledger", recorded, ROWS, groups=(1, 3))

    def counts_of_people(people: People, place: ReplayPlace) -> Any:
        with Session(epsilon=1.0, delta=0.1, accountant="zcdp", seed=place.seed) as session:
            released = session.top_k(counted(people), k=2, epsilon=0.5)
            return {"found": released, "spent": str(session.budget.spent)}

    yield Replay("Session", "added up as zCDP", counts_of_people, HOLDERS)
