"""Selections over candidates that many processes hold: the list of one process, and no leaks."""

from __future__ import annotations

import multiprocessing
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.audited import chi_square_p_value, general, model_of
from reference.inside import Law
from winnow import Relation
from winnow.core.bounded import noise
from winnow.core.noisy_top.keyed import KeyedTape, Worker
from winnow.errors import DataError, GrantError, ParameterError
from winnow.select.mechanisms.lipschitz import LipschitzMechanism

KEY = bytes(range(64))
ITEMS = [f"item {i}" for i in range(400)] + ["caf\u00e9", "cafe\u0301"]
POINTS = np.random.default_rng(3).normal(0, 4, len(ITEMS))
ANY = general(Relation.ADD_REMOVE)


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("texts", [True, False])
def test_parts_give_the_largest_noisy_scores_of_all(law: Law, texts: bool) -> None:
    """However they are cut, mixed and repeated; against noise on every item."""
    size, k = len(ITEMS), 5
    ids: Any = ITEMS if texts else np.arange(size) * 2**50 - 2**57
    worker = Worker(KEY, "seeded", law, Fraction(1, 4), k)
    tape = KeyedTape(KEY, "seeded", worker._blocks(ids))
    z, _ = noise(law, tape.words(0, size), tape.extension(np.arange(size), 0)[:, 0], None)
    expected = [ids[i] for i in np.argsort(-(POINTS / 4 + z))[:k]]
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(size)
        cuts = [part for part in np.array_split(order, 1 + 3 * seed) for _ in range(1 + seed % 2)]
        parts = [worker.contenders([ids[i] for i in part], POINTS[part]) for part in cuts]
        assert worker.winners([worker.merge(parts[::2]), *parts[1::2]]) == expected


class BrokenSharedNoise(Worker):
    """BROKEN: items are known by 1 bit, so that half of them have the noise of others."""

    def _blocks(self, names: Any) -> Any:
        blocks = super()._blocks(names).copy()
        blocks[:, 0] %= 2
        blocks[:, 1] = 0
        return blocks


@pytest.mark.slow
@pytest.mark.parametrize(("made", "faithful"), [(Worker, True), (BrokenSharedNoise, False)])
def test_workers_draw_the_law_of_the_mechanism(made: type[Worker], faithful: bool) -> None:
    """At a false alarm of 1e-8, on fixed keys."""
    mechanism, scores = LipschitzMechanism(2.0, Law.EXPONENTIAL, 2), np.array([2, 1, 1, 0])
    model = model_of(mechanism, ANY.utility)
    scale = mechanism.scale(ANY.utility)
    drawn = []
    for draw in range(400):
        worker = made(draw.to_bytes(64, "big"), "seeded", Law.EXPONENTIAL, scale, 2)
        parts = [worker.contenders(np.arange(4)[i::2], scores[i::2]) for i in range(2)]
        drawn.append(sorted(worker.winners(parts)))
    outcomes = [list(row) for row in model.outcomes(4).tolist()]
    tallied = [drawn.count(row) for row in outcomes]
    observed = np.array([*tallied, len(drawn) - sum(tallied)])
    probabilities = np.exp(model.log_probabilities(scores[None])[0])
    assert (chi_square_p_value(observed, probabilities) > 1e-8) is faithful


def sources(tmp_path: Path) -> list[Any]:
    frame = pd.DataFrame({"item": ITEMS, "points": POINTS})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    connection = duckdb.connect()
    connection.register("given", frame.sample(frac=1, random_state=1))
    connection.execute("CREATE TABLE given_too AS SELECT * FROM given")
    table = (connection, "given_too")
    return [frame, tmp_path / "a.csv", tmp_path / "a.parquet", table, connection.table("given_too")]


def test_every_source_gives_the_same_list(tmp_path: Path) -> None:
    found = []
    for source in sources(tmp_path):
        scores = wn.scores(source, id="item", score="points")
        assert (
            repr(scores)
            == "<sealed scores in the column 'points' of a source, neighbours: add-remove>"
        )
        many = wn.select(scores, epsilon=1.0, k=4, method="exponential", seed=2)
        one = wn.select(scores, epsilon=1.0, seed=3)
        found.append((many.value, one.value, many.receipt))
    assert all(each == found[0] for each in found)


def test_a_set_is_listed_by_its_ids() -> None:
    frame = pd.DataFrame({"item": ITEMS, "points": POINTS})
    found = wn.select(wn.scores(frame, id="item", score="points"), epsilon=1.0, k=8, seed=1).value
    assert found == sorted(found)


def answer(worker: Worker, start: int) -> bytes:
    return worker.contenders(np.arange(start, start + 500), np.arange(start, start + 500) % 97)


def test_processes_answer_for_one_selection() -> None:
    opened = wn.open_selection(epsilon=1.0, k=3, method="exponential", seed=4)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        parts = pool.starmap(answer, [(opened.worker, 500 * i) for i in range(4)])
    alone = wn.open_selection(epsilon=1.0, k=3, method="exponential", seed=4)
    whole = alone.worker.contenders(np.arange(2000), np.concatenate(
        [np.arange(500 * i, 500 * i + 500) % 97 for i in range(4)]
    ))  # fmt: skip
    assert opened.finish(parts).value == alone.finish([whole]).value
    with pytest.raises(GrantError, match="finished before"):
        opened.finish(parts)
    with pytest.raises(GrantError):
        pickle.dumps(opened)


def test_what_travels_shows_neither_items_nor_scores_nor_the_key() -> None:
    worker = Worker(KEY, "os", Law.GUMBEL, Fraction(1), 3)
    parts = [worker.contenders(ITEMS[: 10 * n], POINTS[: 10 * n]) for n in (1, 1, 30)]
    assert len({len(part) for part in parts}) == 1 and parts[0] != parts[1]
    for part in parts:
        assert b"item" not in part and POINTS[3].tobytes() not in part and KEY not in part
    assert repr(worker) == str(worker) == f"<worker of the draw {worker.draw}>"
    assert pickle.loads(pickle.dumps(worker)).winners(parts) == worker.winners(parts)
    other = Worker(bytes(64), "os", Law.GUMBEL, Fraction(1), 3)
    for wrong in (other.contenders(ITEMS, POINTS), parts[0][:-1], b"", "text"):
        with pytest.raises(DataError, match="another draw, or damaged"):
            worker.winners([wrong])  # type: ignore[list-item]


def test_bad_ids_and_scores_are_refused_without_a_value() -> None:
    worker = Worker(KEY, "os", Law.GUMBEL, Fraction(1), 3)
    bad: list[tuple[Any, Any]] = [
        (["a", 1], [1, 2]), (["a", None], [1, 2]), (["a"], [1, 2]), ([1.5, 2.5], [1, 2]),
        (["a", "b"], [1.0, float("nan")]), (["a", "b"], [None, 987]), ([2**70, 1], [1, 2]),
        (["\ud800", "b"], [1, 2]),
    ]  # fmt: skip
    for ids, scores in bad:
        with pytest.raises(DataError) as caught:
            worker.contenders(ids, scores)
        assert "987" not in str(caught.value)
    with pytest.raises(DataError, match="different types"):
        worker.merge([worker.contenders([1], [1]), worker.contenders(["a"], [1])])


def test_what_cannot_be_selected_is_refused_before_the_charge(tmp_path: Path) -> None:
    frame = pd.DataFrame({"item": ["a", "b"], "points": [1.0, 2.0], "when": ["x", "y"]})
    budget = wn.Budget(epsilon=1.0)
    with pytest.raises(DataError, match="no column 'score'"):
        wn.scores(frame, id="item", score="score")
    with pytest.raises(DataError, match=r"scores are (numbers|missing)"):
        wn.scores(frame, id="item", score="when")
    with pytest.raises(ParameterError, match="both id and score"):
        wn.scores(frame, id="item", score="item")
    scores = wn.scores(frame, id="item", score="points")
    with pytest.raises(ParameterError, match="large-margin"):
        wn.select(scores, epsilon=1.0, delta=1e-6, method="large-margin", budget=budget)
    with pytest.raises(ParameterError, match="pure epsilon-DP"):
        wn.select(scores, epsilon=1.0, delta=1e-6, budget=budget)
    with pytest.raises(ParameterError, match="sealed already"):
        wn.select(wn.seal_scores(scores, labels=["a", "b"]), epsilon=1.0, budget=budget)
    assert budget.spent.amount == 0
    assert wn.select(scores, epsilon=1.0, k=5, seed=1).value == ["a", "b"]


def test_leads_are_refused_where_the_scores_are_not_at_hand() -> None:
    frame = pd.DataFrame({"item": ["a", "b"], "points": [1.0, 2.0]})
    with pytest.raises(ParameterError, match="with_leads"):
        wn.select(wn.scores(frame, id="item", score="points"), epsilon=1.0, k=2, with_leads=True)
    kept = wn.counts(frame, item="item", items=["a", "b"], reading=wn.Reading(keep="engine"))
    with pytest.raises(ParameterError, match="keep='memory'"):
        wn.select(kept, epsilon=1.0, k=2, with_leads=True)
