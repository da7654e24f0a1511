"""The rows of the guarantee table on small instances, by numerical integration.

The probability that S is the set of the kappa largest noisy scores is the integral of
prod over S of Pr[noise > z - x_i] against the law of the largest noisy score outside S.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from winnow import Relation
from winnow.privacy import BoundedRange, promise, pure_cost

Floats = NDArray[np.float64]

LAWS = {
    "gumbel": stats.gumbel_r,
    "exponential": stats.expon,
    "laplace": stats.laplace,
    "logistic": stats.logistic,
    "half-logistic": stats.halflogistic,
}
CELLS = np.linspace(-35, 55, 181)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def log_set_probabilities(law: str, scores: Floats, kappa: int) -> Floats:
    """log Pr[top set = S] for every S of size kappa; scores already carry their scale."""
    noise = LAWS[law]
    ends = np.union1d(CELLS, scores)  # the laws have kinks at the scores; cells must end there
    half = np.diff(ends)[:, None] / 2
    z = (ends[:-1, None] + half + half * NODES).ravel()
    weights = (half * WEIGHTS).ravel()
    shifted = z[None, :] - scores[:, None]
    density, below, above = noise.pdf(shifted), noise.cdf(shifted), noise.sf(shifted)
    everyone = range(len(scores))
    logs = []
    for chosen in itertools.combinations(everyone, kappa):
        outside = [j for j in everyone if j not in chosen]
        largest_outside = sum(
            density[j] * np.prod(below[[k for k in outside if k != j]], axis=0) for j in outside
        )
        logs.append(
            np.log(np.sum(weights * largest_outside * np.prod(above[list(chosen)], axis=0)))
        )
    return np.array(logs)


SCORES = [
    np.array([0.0, 0.0, 0.0, 0.0]),
    np.array([3.0, 2.0, 1.0, 0.0]),
    np.array([6.0, 0.0, 0.0, 5.0]),
    np.array([9.0, 1.0, 8.0, 0.0]),
]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kappa", [1, 2, 3])
@pytest.mark.parametrize("relation", list(Relation))
def test_top_sets_keep_their_promise(law: str, kappa: int, relation: Relation) -> None:
    epsilon = 1.0
    event = promise(law, "top-set", relation, epsilon=epsilon, kappa=kappa).event
    assert pure_cost(event).epsilon == 1
    # Counts: one person more raises any scores by 1 (half_width 1/2); a replacement moves
    # any scores by -1, 0 or 1 (half_width 1).
    monotone = relation is Relation.ADD_REMOVE
    scale = epsilon / (2 * kappa * (0.5 if monotone else 1.0))
    moves = [0, 1] if monotone else [-1, 1]
    for scores in SCORES:
        log_p = log_set_probabilities(law, scale * scores, kappa)
        assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-10)
        for move in itertools.product(moves, repeat=len(scores)):
            log_q = log_set_probabilities(law, scale * (scores + np.array(move)), kappa)
            assert np.max(np.abs(log_p - log_q)) <= epsilon * (1 + 1e-9)


def ranges(law: str, epsilon: float) -> float:
    """The largest range of log ratios of argmax over the small instances, counts."""
    widest = 0.0
    for scores in SCORES:
        log_p = log_set_probabilities(law, epsilon * scores, 1)
        for move in itertools.product([0, 1], repeat=len(scores)):
            log_q = log_set_probabilities(law, epsilon * (scores + np.array(move)), 1)
            widest = max(widest, float(np.ptp(log_p - log_q)))
    return widest


def test_gumbel_argmax_has_the_promised_range_and_the_other_laws_have_not() -> None:
    assert promise("gumbel", "argmax", "add-remove", epsilon=1).event == BoundedRange(
        1, Relation.ADD_REMOVE
    )
    assert ranges("gumbel", 1.0) == pytest.approx(1.0, abs=1e-9)
    assert ranges("exponential", 1.0) > 1.05
