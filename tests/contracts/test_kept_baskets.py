"""The contract of baskets that stay in an engine: the itemsets of the slow twin, and their laws."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import duckdb
import numpy as np
import pytest

import winnow as wn
from contracts.test_engines import SERVERS, Put, put  # noqa: F401  # the sources of all engines
from reference.audited import FALSE_ALARM, chi_square_p_value
from reference.bounded_counts import PRIME, digits
from reference.inside import Law, Tape, open_sealed
from reference.reading import as_options
from winnow.core.noisy_top.count_classes import ListedClasses
from winnow.errors import DataError, ParameterError
from winnow.itemsets import crossing
from winnow.itemsets.audit.claims import ONE, selections
from winnow.itemsets.audit.model import HELD, PAIRS, OnBaskets
from winnow.read.engines.basket_query import items_of_text, itemset_text
from winnow.read.kept import MOST_PAIRS, KeptBaskets
from winnow.select.audit.kept import ListedCounts
from winnow.select.mechanisms.lipschitz import LipschitzMechanism

ROWS: list[tuple[str | None, int | None, str | None]] = [
    *((f"user {i % 7}", i // 3 % 20, f"item {(i * i + i // 5) % 11}") for i in range(200)),
    *(("user 1", 3, item) for item in ("caf\u00e9", "cafe\u0301", "A", "a", "a ", "\U0001f926")),
    ("user 1", None, "lost"),
    (None, 3, "lost"),
    ("user 2", 3, None),
    ("o'brien; --", 7, "3:quote \" and | bar"),
]  # fmt: skip
TYPES = {"who": "text", "the basket": "whole", "what": "text"}
HOW: dict[str, Any] = {"basket": "the basket", "item": "what", "salt": "s", "keep": "engine"}
PUBLIC = [f"item {i}" for i in range(13)] + ["a", "nobody's", 7]


EVERYWHERE = pytest.mark.parametrize(
    "put",
    ["parquet", "duckdb", *(pytest.param(name, marks=pytest.mark.extras) for name in SERVERS)],
    indirect=True,
)


def held(
    user: bool, max_baskets: int = 1, max_items: int | None = None, items: list[str] | None = None
) -> list[list[str]]:
    """The baskets of the slow twin."""
    key = hashlib.blake2b(b"s").digest()[:32].hex()
    found: dict[str, dict[str, set[str]]] = {}
    for who, basket, item in ROWS:
        listed = items is None or item in items
        if basket is not None and item is not None and (who is not None or not user) and listed:
            of = found.setdefault(str(who) if user else "", {})
            of.setdefault(str(basket), set()).add(item)
    baskets = []
    for who_has, own in found.items():
        ranks = {b: (hashlib.md5(f"{key}{who_has}\x1f{b}".encode()).hexdigest(), b) for b in own}
        for b in sorted(own, key=ranks.__getitem__)[: max_baskets if user else None]:
            name = f"{len(who_has)}:{who_has}{b}" if user else b
            a = digits(f"{key}u{name}", 8)
            places = {i: (a * digits(f"{key}i{i}", 10) % PRIME, i.encode()) for i in own[b]}
            baskets.append(sorted(own[b], key=places.__getitem__)[:max_items])
    return baskets


def supports(baskets: list[list[str]], *sizes: int) -> dict[str, int]:
    sets = (itemset_text(s) for row in baskets for r in sizes for s in combinations(row, r))
    return dict(Counter(sets))


def asked(baskets: wn.SealedBaskets, *sizes: int) -> dict[str, int]:
    """What an engine says of all itemsets, by its classes and their members."""
    content = open_sealed(baskets.data)
    assert isinstance(content, KeptBaskets)
    with content.itemsets(*sizes).snapshot() as snapshot:
        many = snapshot.sizes()
        places = [(n, j) for n in many for j in range(many[n])]
        named = dict(zip(snapshot.members(places), (n for n, _ in places), strict=True))
        assert snapshot.counts_of([*named, "9:not there"]) == [*named.values(), 0]
    return named


def test_an_itemset_has_a_text_of_its_own() -> None:
    for items in ((), ("",), ("", "a"), ("1:a", "a"), ("12", "3"), ("1", "23"), ("a:b", "\u00e9")):
        assert items_of_text(itemset_text(items)) == tuple(sorted(items))


@EVERYWHERE
@pytest.mark.filterwarnings("ignore")
def test_an_engine_has_the_itemsets_of_the_slow_twin(put: Put) -> None:  # noqa: F811
    source = put(ROWS, TYPES)
    of_baskets = wn.read_baskets(source, unit="basket", **as_options(HOW))
    people = wn.read_baskets(source, person="who", max_baskets=2, max_items=3, **as_options(HOW))
    few = wn.read_baskets(source, unit="basket", items=PUBLIC, **as_options(HOW))
    assert asked(of_baskets, 0, 1, 2) == supports(held(False), 0, 1, 2)
    assert asked(people, 3) == supports(held(True, 2, 3), 3)
    texts = [str(item) for item in PUBLIC]
    assert asked(few, 2) == supports(held(False, items=texts), 2)


@EVERYWHERE
@pytest.mark.filterwarnings("ignore")
def test_every_engine_releases_its_itemsets(put: Put) -> None:  # noqa: F811
    source = put(ROWS, TYPES)
    options: dict[str, Any] = {"size": 2, "k": 3, "epsilon": 4.0, "delta": 0.01, "seed": 3}
    kept, memory = (
        wn.read_baskets(source, unit="basket", **as_options(HOW | {"keep": keep}))
        for keep in ("engine", "memory")
    )
    assert "weighted" not in wn.itemsets(kept, **options).receipt.mechanism  # they stay
    assert "weighted" in wn.itemsets(memory, **options).receipt.mechanism
    options |= {"method": "limited-domain"}
    found = [wn.itemsets(b, **options, supports="subsets") for b in (kept, memory)]
    assert found[0].receipt == found[1].receipt
    assert found[0].value.supports[()] == found[1].value.supports[()]  # the same noise
    with pytest.raises(ParameterError, match="max_items="):
        wn.itemsets(kept, size=3, epsilon=1.0, delta=0.01)


def log() -> Any:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE log (b INTEGER, i VARCHAR)")
    rows = [(b, item) for n, item in enumerate("abcdefg") for b in range(3 + n * n)]
    connection.execute(
        "INSERT INTO log SELECT unnest(?), unnest(?)", [*map(list, zip(*rows, strict=True))]
    )
    return connection


@pytest.mark.parametrize(
    ("mechanism", "items", "options"),
    [
        ("limited-domain", None, {"delta": 0.05}),
        ("joint", list("abcdefg"), {}),
        ("canonical", list("abcdefg"), {}),
        ("canonical-adaptive", list("abcdefg"), {}),
    ],
)
def test_duckdb_draws_what_its_baskets_in_memory_would_give(
    mechanism: str, items: Any, options: Any
) -> None:
    """Itemsets of different supports, drawn where noise dominates, from the same classes."""
    connection = log()
    how: dict[str, Any] = {"unit": "basket", "basket": "b", "item": "i", "items": items}
    kept, memory = (
        wn.read_baskets((connection, "log"), **as_options(how, keep=k))
        for k in ("engine", "memory")
    )
    options |= {"size": 1, "k": 3, "epsilon": 0.5, "method": mechanism}
    for seed in range(8):
        lists = [wn.itemsets(b, **options, seed=seed).value for b in (kept, memory)]
        assert lists[0] == lists[1]


def test_pairs_of_an_engine_stay_there_only_where_they_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = log()
    how: dict[str, Any] = {"unit": "basket", "basket": "b", "item": "i"}

    def kept(source: Any) -> bool:
        return isinstance(open_sealed(wn.read_baskets(source, **as_options(how)).data), KeptBaskets)

    frame = connection.table("log").df()
    assert not kept((connection, "log"))
    monkeypatch.setattr(MOST_PAIRS, "_at", 10)
    assert kept((connection, "log")) and kept(connection.table("log")) and not kept(frame)
    many = wn.read_baskets((connection, "log"), **as_options(how))
    options: dict[str, Any] = {"epsilon": 300.0, "delta": 0.01, "seed": 1}
    assert wn.itemsets(many, size=3, **options).value == ("e", "f", "g")  # brought here
    with pytest.raises(ParameterError, match="keep='engine' is for pairs"):
        wn.read_baskets([["a"]], unit="basket", reading=wn.Reading(keep="engine"))
    with pytest.raises(DataError, match="no column 'x'"):
        wn.read_baskets(
            (connection, "log"),
            unit="basket",
            layout=wn.Pairs(basket="x", item="i"),
            reading=wn.Reading(keep="engine"),
        )


def test_the_number_of_pairs_does_not_choose_how_baskets_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Equal baskets are cut alike in memory and apart in an engine: one pair more would show."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE log AS SELECT b, i FROM range(40) t(b), range(2) s(i)")
    how: dict[str, Any] = {"unit": "basket", "basket": "b", "item": "i", "max_items": 1}
    monkeypatch.setattr(MOST_PAIRS, "_at", 80)
    before = asked(wn.read_baskets((connection, "log"), **as_options(how, salt="s")), 1)
    connection.execute("INSERT INTO log VALUES (99, 7)")
    after = asked(wn.read_baskets((connection, "log"), **as_options(how, salt="s")), 1)
    assert after == before | {"1:7": 1}


@EVERYWHERE
def test_people_who_are_numbered_have_baskets_that_are_cut(put: Put) -> None:  # noqa: F811
    """A basket of a person is named by a text, which no engine can read as a number."""
    rows: list[tuple[int, int, str]] = [(n % 5, n % 10, f"item {n % 7}") for n in range(70)]
    source = put(rows, TYPES | {"who": "whole"})
    people = wn.read_baskets(source, person="who", max_baskets=1, max_items=3, **as_options(HOW))
    assert sum(asked(people, 1).values()) == 5 * 3


def test_a_change_between_the_draw_and_its_subsets_fails_the_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = log()
    how: dict[str, Any] = {"unit": "basket", "basket": "b", "item": "i", "keep": "engine"}
    kept, itemsets = wn.read_baskets((connection, "log"), **as_options(how)), KeptBaskets.itemsets

    def written(self: Any, *sizes: int) -> Any:
        if len(sizes) > 1:
            connection.execute("DELETE FROM log WHERE b % 3 = 0")
        return itemsets(self, *sizes)

    monkeypatch.setattr(KeptBaskets, "itemsets", written)
    session = wn.Session(epsilon=300.0, delta=0.1)
    with pytest.raises(DataError, match=r"the source changed .* the charge stands"):
        session.itemsets(kept, size=2, epsilon=200.0, delta=0.01, supports="subsets")
    assert session.budget.left.amount <= 100


@dataclass(frozen=True)
class InEngine(OnBaskets):
    """The same selection where the baskets are in an engine."""

    def simulate(self, scores: Any, utility: Any, draws: int, seed: int) -> Any:
        root, many = Tape.seeded(seed), np.asarray(scores, np.int64) @ HELD
        texts = [itemset_text(map(str, pair)) for pair in PAIRS]
        found = ListedCounts(many[many > 0], [t for t, n in zip(texts, many, strict=True) if n])

        class Baskets(KeptBaskets):
            def __init__(self) -> None:
                pass

            def itemsets(self, *sizes: int) -> Any:
                return found

        rows = np.full((draws, self.model(utility).outcomes(0).shape[1]), -1, np.int64)
        for draw, row in enumerate(rows):
            mined = crossing._InEngine(Baskets(), 2, range(3) if self.known else None)
            tape = root.child(f"draw-{draw}")
            drawn = mined.drawn(lambda ranked, tape=tape: self.inner._draw(ranked, utility, tape))
            numbers = [PAIRS.index(tuple(int(i) for i in itemset)) for _, itemset in drawn]
            row[: len(drawn)] = numbers if self.inner.ordered else sorted(numbers)
        return rows


def p_value(mechanism: OnBaskets, model: Any, draws: int = 600) -> float:
    numbers = np.array([1, 0, 2, 0])  # one of the three pairs is in no basket
    outcomes = model.outcomes(0)
    rows = mechanism.simulate(numbers, ONE.utility, draws, 7)
    same = (rows[:, None, :] == outcomes[None, :, :]).all(axis=2)
    observed = np.append(same.sum(axis=0), draws - same.sum())
    probabilities = np.exp(model.log_probabilities(numbers[None])[0])
    return float(chi_square_p_value(observed, probabilities))


@pytest.mark.slow
@pytest.mark.parametrize("place", range(11))
def test_itemsets_in_an_engine_are_drawn_by_the_exact_law(place: int) -> None:
    """False alarms: 1e-8 for each mechanism."""
    plain = selections(1.0, 1)[place]
    mechanism = InEngine(plain.inner, plain.known)
    assert p_value(mechanism, mechanism.model(ONE.utility)) >= FALSE_ALARM


def test_a_draw_that_forgets_what_nobody_has_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(self: Any, sizes: Any, *_: Any) -> None:
        ListedClasses.__init__(self, sizes)

    monkeypatch.setattr(crossing._Places, "__init__", forgetful)
    mechanism = InEngine(LipschitzMechanism(1.0, Law.GUMBEL))
    assert p_value(mechanism, mechanism.model(ONE.utility)) < FALSE_ALARM
