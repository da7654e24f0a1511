"""Audit 2: lower bounds on epsilon are proven, and the pairs drawn from are neighbours.

The bounds for the real samplers are those of the whole run, in `test_run_audits`.
"""

import numpy as np

from reference.audited import counts, model_of
from reference.mechanisms import ExponentialMechanism
from winnow import Relation
from winnow.audit.sampling import epsilon_lower_bound, tally, telling_pair


def halves(p: list[float], draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(seed).multinomial(draws, [*p, 0.0], size=2)
    return drawn[0], drawn[1]


def test_the_lower_bound_never_exceeds_the_truth_and_comes_near_it() -> None:
    """Randomized response with epsilon = 1; false alarms have probability 1e-8 each."""
    high = float(np.exp(1) / (1 + np.exp(1)))
    for seed in range(300):
        one, other = halves([high, 1 - high], 400, seed), halves([1 - high, high], 400, seed + 999)
        assert epsilon_lower_bound(one, other)[0] <= 1
    one, other = halves([high, 1 - high], 10**6, 1), halves([1 - high, high], 10**6, 2)
    assert epsilon_lower_bound(one, other)[0] > 0.97


def test_a_delta_is_taken_off_before_the_ratio() -> None:
    one, other = halves([0.1, 0.9], 10**6, 1), halves([0.0, 1.0], 10**6, 2)
    assert epsilon_lower_bound(one, other)[0] > 5
    assert epsilon_lower_bound(one, other, delta=0.11)[0] == 0


def test_an_event_that_one_side_never_shows_gives_a_finite_bound() -> None:
    one, other = halves([0.5, 0.5], 1000, 1), halves([1.0, 0.0], 1000, 2)
    bound, _ = epsilon_lower_bound(one, other)
    assert 2 < bound < 10


def test_equal_distributions_prove_nothing() -> None:
    for seed in range(50):
        one, other = halves([0.3, 0.7], 2000, seed), halves([0.3, 0.7], 2000, seed + 777)
        assert epsilon_lower_bound(one, other)[0] < 0.05


def test_the_pair_to_draw_from_is_a_pair_of_neighbours() -> None:
    declared = counts(Relation.ADD_REMOVE)
    model = model_of(ExponentialMechanism(1.0), declared.utility)
    pair = telling_pair(model, declared.boxes, 10_000)
    moved = np.subtract(pair.neighbour, pair.scores)
    assert set(moved.tolist()) in ({0, 1}, {0, -1})


def test_the_same_seed_gives_the_same_draws_and_another_one_others() -> None:
    utility = counts(Relation.ADD_REMOVE).utility
    arguments = (ExponentialMechanism(1.0), (3, 1, 0), utility, 500)
    first = tally(*arguments, 7)
    tally.cache_clear()
    again, other = tally(*arguments, 7), tally(*arguments, 8)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert sum(int(half.sum()) for half in first) == 500
