"""Private boosting: the weights, the charge, and a vote that is better than its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.inside import open_sealed
from reference.running import paid_key
from winnow import Utility
from winnow.inner_product.boosting import SmoothBoost
from winnow.inner_product.crossing import SealedExamples, seal_examples
from winnow.inner_product.rounds import IndexedRounds, RepeatedSelection
from winnow.privacy import Repeat


def stumps() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    points = generator.normal(size=(600, 5))
    labels = np.where(points[:, 0] + points[:, 1] + 0.3 * generator.normal(size=600) > 0, 1, -1)
    rows = [np.where(s * (points[:, j] - t) > 0, 1, -1)
            for j in range(5) for t in np.linspace(-1, 1, 9) for s in (1, -1)]  # fmt: skip
    return np.array(rows), labels


@pytest.mark.parametrize("index", ["exact", "lsh"])
def test_the_vote_is_better_than_every_learner(index: str) -> None:
    predictions, labels = stumps()
    examples = wn.seal_examples(predictions, labels)
    method = wn.Scan() if index == "exact" else wn.Indexed(index="lsh")
    found = wn.boost(
        examples, epsilon=2, delta=1e-6, rounds=15, advantage=0.2, method=method, seed=3
    )
    best = max((row == labels).mean() for row in predictions)
    assert (found.value.vote(predictions) == labels).mean() > best + 0.05
    assert len(found.value.learners) == 15
    assert isinstance(found.receipt.event, Repeat) and found.receipt.event.count == 15
    assert found.guarantee.epsilon <= 2 and found.guarantee.delta <= 1e-6


def test_weights_fall_with_the_votes_and_stay_in_the_unit_interval() -> None:
    weights = SmoothBoost(0.2).weights(10)
    assert len(weights) == 21
    assert weights.max() == 1 and weights.min() > 0
    assert np.all(np.diff(weights) <= 0) and weights[10] == 1 and weights[20] < 0.5


def test_one_example_moves_every_score_by_its_own_term_only() -> None:
    predictions, labels = stumps()
    weights, chosen = SmoothBoost(0.3).weights(3), [0, 5, 9]

    def scores(columns: slice) -> np.ndarray:
        examples = seal_examples(predictions[:, columns], labels[columns])
        query = examples.weighed(chosen, weights)
        return predictions[:, columns] @ open_sealed(query.values)

    moved = scores(slice(0, 600)) - scores(slice(1, 600))
    assert np.abs(moved).max() <= 1
    assert SealedExamples.utility(wn.Relation.ADD_REMOVE) == Utility.declare(1)
    assert SealedExamples.utility(wn.Relation.SUBSTITUTION).half_width == 2


def test_rounds_are_charged_once_and_not_exceeded() -> None:
    predictions, labels = stumps()
    examples = seal_examples(predictions, labels)
    utility = SealedExamples.utility(wn.Relation.ADD_REMOVE)
    mechanism = wn.IndexedExponential(0.5)
    key = paid_key(RepeatedSelection(mechanism, 2), wn.Relation.ADD_REMOVE)
    run = IndexedRounds(mechanism, examples.predictions, utility, 2, key)
    query = examples.weighed((), SmoothBoost(0.1).weights(0))
    drawn = [run.next(query), run.next(query)]
    assert drawn[0] != drawn[1] or run.left == 0
    with pytest.raises(wn.GrantError, match="charge more"):
        run.next(query)
    replaced = seal_examples(predictions, labels, relation="substitution")
    other = replaced.weighed((), SmoothBoost(0.1).weights(0))
    with pytest.raises(wn.InputError, match="another sensitivity"):
        run.next(other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0, 1, -1]}, "list of -1 and 1"),
        ({"predictions": [[2, 0, 1]]}, "matrix of -1, 0 and 1"),
        ({"predictions": [[1, 1]]}, "do not have one column"),
        ({"rounds": 0}, "rounds"),
        ({"advantage": 1}, "advantage"),
        ({"slack": 0.1}, "without an index; name one"),
        ({"slack": -0.1}, "below 0"),
        ({"slack": 1.0, "index": "flat"}, "uses up epsilon"),
        ({"names": ["a", "b"]}, "2 labels for 1"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    given = {"predictions": [[1, -1, 1]], "labels": [1, 1, -1], "epsilon": 1, "rounds": 2} | change
    search = {name: given.pop(name) for name in ("index", "slack") if name in given}
    data, names = (given.pop("predictions"), given.pop("labels")), given.pop("names", None)
    with pytest.raises(wn.InputError, match=message):
        wn.boost(
            wn.seal_examples(*data, names=names),
            method=wn.Indexed(**search) if search else "auto",
            **given,
        )
    with pytest.raises(wn.ParameterError, match=r"wn\.seal_examples"):
        wn.boost([[1, -1, 1]], rounds=1, epsilon=1)  # type: ignore[arg-type]
